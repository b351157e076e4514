#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Samples as other tools read them, against SQL over the same trace: folded stacks, speedscope, pprof (as protoc
decodes it). Two processes with two threads each.

    profiles.py KYMO PROGRAM PROFILE_PROTO"""
import collections
import gzip
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import expect  # noqa: E402

KYMO, PROGRAM, PROTO = (os.path.abspath(p) for p in sys.argv[1:4])


def run(*words, status=0, **more):
    p = subprocess.run(words, capture_output=True, check=False, **more)
    expect(p.returncode == status, words, "gave", p.returncode, p.stderr)
    return p


def export(to, name, trace="two.kymo"):
    return run(KYMO, "export", "--to", to, "-o", name, trace, text=True).stderr


def by_thread():
    """(pid, tid) -> samples, nanoseconds; pid -> number of its threads with samples."""
    out = run(KYMO, "query", "--format", "json", "two.kymo",
              """SELECT p.pid, t.tid, count(*) AS n, sum(s.weight) AS ns FROM sample s
                 JOIN thread t ON t.id = s.thread JOIN process p ON p.id = s.process GROUP BY s.thread""", text=True).stdout
    return {(r["pid"], r["tid"]): (r["n"], r["ns"]) for r in json.loads(out)}


def check_folded(wanted):
    told = export("folded", "a.folded")
    calls = json.loads(run(KYMO, "query", "-f", "json", "two.kymo", "SELECT count(*) AS n FROM call").stdout)[0]["n"]
    expect(f"profiles have no place for: calls ({calls})" in told and calls > 0, told, calls)
    expect(f"a.folded: wrote {sum(n for n, _ in wanted.values())} of " in told and told.count("calls (") == 1, "records that were written", told)
    expect("; no whole records: times and processors of samples (" in told, "what samples lack", told)
    got, inside, seen = collections.Counter(), collections.Counter(), []
    with open("a.folded", encoding="utf-8") as f:
        for line in f:
            stack, _, ns = line.rstrip("\n").rpartition(" ")
            seen.append((stack.split(";")[1], -int(ns), stack))
            frames = stack.split(";")
            pid, tid = int(frames[0].split(" ")[-1]), int(frames[1].split(" ")[-1])
            got[pid, tid] += int(ns)
            inside[frames[1].rsplit(" ", 1)[0], "in_other" in frames, "in_main" in frames] += int(ns)
    expect(got == {k: ns for k, (_, ns) in wanted.items()}, "folded", got, wanted)
    # Loops have several instructions, and functions many places that call: one line has them all.
    rows = json.loads(run(KYMO, "query", "-f", "json", "two.kymo",
                          "SELECT count(*) AS n FROM (SELECT DISTINCT thread, stack FROM sample)").stdout)[0]["n"]
    expect(len({stack for _, _, stack in seen}) == len(seen) < rows, "stacks twice", len(seen), rows, sorted(x[2] for x in seen)[:5])
    for thread in {t for t, _, _ in seen}:
        expect([n for t, n, _ in seen if t == thread] == sorted(n for t, n, _ in seen if t == thread), "the heaviest first", thread)
    expect(("semi,colon", True, False) in inside and ("profiles_progra", False, True) in inside, inside)
    expect(not any(other and own for _, other, own in inside), "a stack in both functions", inside)


def check_speedscope(wanted):
    export("speedscope", "a.json")
    with open("a.json", encoding="utf-8") as f:
        d = json.load(f)
    expect(d["$schema"] == "https://www.speedscope.app/file-format-schema.json", d["$schema"])
    names = [f["name"] for f in d["shared"]["frames"]]
    got = {}
    for p in d["profiles"]:
        pid, tid = re.fullmatch(r"profiles_program\[(\d+)\] (?:profiles_progra|semi;colon) (\d+)", p["name"]).groups()
        expect(p["type"] == "sampled" and p["unit"] == "nanoseconds" and p["startValue"] == 0, p)
        expect(len(p["samples"]) == len(p["weights"]) and p["endValue"] == sum(p["weights"]), p["name"])
        expect(all(0 <= f < len(names) for s in p["samples"] for f in s) and all(p["samples"]), "frames")
        mine = "in_other" if "semi;colon" in p["name"] else "in_main"
        expect(any(mine in [names[f].split("(")[0] for f in s] for s in p["samples"]), p["name"], "never in", mine)
        got[int(pid), int(tid)] = p["endValue"]
    expect(got == {k: ns for k, (_, ns) in wanted.items()}, "speedscope", got, wanted)
    place = next(f for f in d["shared"]["frames"] if f["name"].startswith("in_other"))
    expect(place["file"].endswith("profiles_program.c") and place["line"] > 20, place)


def message(lines):
    """A message as protoc prints it, as a list of (field, value or message)."""
    out = []
    for line in lines:
        line = line.strip()
        if line == "}":
            return out
        if line.endswith("{"):
            out.append((line[:-1].strip(), message(lines)))
        else:
            name, _, value = line.partition(": ")
            out.append((name, value))
    return out


def check_pprof(wanted):
    export("pprof", "a.pb.gz")
    with open("a.pb.gz", "rb") as f:
        plain = gzip.decompress(f.read())
    text = run("protoc", "-I", os.path.dirname(PROTO), "--decode=kymo_pprof.Profile", os.path.basename(PROTO),
               input=plain).stdout.decode()
    fields = message(iter(text.splitlines()))
    strings = [json.loads(v) for k, v in fields if k == "string_table"]
    expect(strings[0] == "" and len(set(strings)) == len(strings), "texts", strings[:5])
    types = [(strings[int(dict(v)["type"])], strings[int(dict(v)["unit"])]) for k, v in fields if k == "sample_type"]
    expect(types == [("samples", "count"), ("cpu", "nanoseconds")], types)
    locations = {dict(v)["id"]: dict(v) for k, v in fields if k == "location"}
    functions = {dict(v)["id"]: strings[int(dict(v)["name"])] for k, v in fields if k == "function"}
    expect(len(functions) == len({v for k, v in fields if k == "function" for k, v in v if k == "id"}), "functions")
    got, inside = collections.defaultdict(lambda: [0, 0]), collections.Counter()
    for k, v in fields:
        if k != "sample":
            continue
        labels = {strings[int(dict(x)["key"])]: dict(x) for f, x in v if f == "label"}
        key = int(labels["process"]["num"]), int(labels["tid"]["num"])
        values = [int(x) for f, x in v if f == "value"]
        got[key] = [a + b for a, b in zip(got[key], values)]
        frames = [functions.get(dict(locations[x].get("line", [])).get("function_id")) for f, x in v if f == "location_id"]
        inside[strings[int(labels["thread"]["str"])]] += any(f and f.startswith(("in_main", "in_other")) for f in frames)
    expect({k: tuple(v) for k, v in got.items()} == wanted, "pprof", dict(got), wanted)
    expect(inside["semi;colon"] and inside["profiles_progra"], inside)


def test_profiles():
    for name in ("a.kymo", "b.kymo"):
        run(KYMO, "run", "--no-summary", "--sample=997", "--threads", "-o", name, PROGRAM)
    run(KYMO, "merge", "-o", "two.kymo", "a.kymo", "b.kymo")
    wanted = by_thread()
    expect(len(wanted) == 4, "samples", wanted)
    formats = run(KYMO, "list", "formats", text=True).stdout
    check_folded(wanted)
    check_speedscope(wanted)
    if "pprof" in formats and shutil.which("protoc"):
        check_pprof(wanted)


def test_no_samples():
    run(KYMO, "run", "--no-summary", "-o", "none.kymo", "true")
    for to in ("folded", "speedscope"):
        p = run(KYMO, "export", "--to", to, "-o", "none." + to, "none.kymo", status=3, text=True)
        expect("record it with --sample" in p.stderr and not os.path.exists("none." + to), p.stderr)


def main():
    bad = 0
    for name, fn in list(globals().items()):
        if not name.startswith("test_"):
            continue
        with kymotest.Folder() as folder:
            os.chdir(folder)
            try:
                fn()
                print("ok  ", name, flush=True)
            except kymotest.Failure as e:
                bad += 1
                print("FAIL", name + ":", str(e)[:1500], flush=True)
            os.chdir("/")
    return 1 if bad else 0


sys.exit(main())
