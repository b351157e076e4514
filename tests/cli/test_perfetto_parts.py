#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What Perfetto files say beside slices, and files in parts: test_perfetto_parts.py KYMO HEAT ANNOTATED.

Samples and paths of scopes against SQL on the store. Of an export in parts: each part opens alone, its
slices lie in its time, and together they are those of the one file, with the same times."""
import collections
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden"))
import kymotest  # noqa: E402
import perfetto_check  # noqa: E402

import traced

SAMPLES = """SELECT p.pid, t.tid, s.time, s.stack, s.kernel, s.cpu FROM sample s JOIN thread t ON t.id = s.thread
    JOIN process p ON p.id = s.process ORDER BY s.time"""
# Kymo's own code has one frame, by whichever of its libraries.
FUNCTIONS = """SELECT CASE WHEN module LIKE '%/libkymo%' THEN '(Kymo)' ELSE function END AS function,
    CASE WHEN module NOT LIKE '%/libkymo%' THEN module END AS module, count(*) AS n
    FROM sample_functions WHERE function <> '' GROUP BY 1, 2"""
# Paths as the tree of ranges has them, by an independent walk in SQL.
SCOPES = """WITH RECURSIVE path(process, scope, text) AS (
    SELECT m.process, m.scope, s.text FROM marker m JOIN marker_name s ON s.id = m.name
        WHERE m.scope IS NOT NULL AND m.parent IS NULL
    UNION ALL SELECT m.process, m.scope, p.text || '/' || s.text FROM marker m JOIN path p
        ON p.process = m.process AND p.scope = m.parent JOIN marker_name s ON s.id = m.name
        WHERE m.scope IS NOT NULL)"""
CALLS = SCOPES + """SELECT o.name, p.text, count(*) AS n FROM call c JOIN thread t ON t.id = c.thread JOIN op o ON o.id = c.op
    JOIN call_extra x ON x.id = c.id JOIN path p ON p.process = t.process AND p.scope = x.scope GROUP BY 1, 2"""
KERNELS = SCOPES + """SELECT s.text AS name, p.text, count(*) AS n FROM dispatch d JOIN call_extra c ON c.id = d.call
    JOIN kernel k ON k.id = d.kernel JOIN string s ON s.id = k.name
    JOIN path p ON p.process = d.process AND p.scope = c.scope GROUP BY 1, 2"""


def export(kymo, trace, out, *options):
    return subprocess.run([kymo, "export", "--to", "perfetto", "-o", out, *options, trace],
                          stderr=subprocess.PIPE, text=True)


def pieces(trace):
    """(track's path, name, start, end, args) of slices."""
    stacks, found = collections.defaultdict(list), []
    for e in sorted(trace.events, key=lambda e: e["time"]):
        if e["type"] == perfetto_check.BEGIN:
            stacks[e["track"]].append(e)
        elif e["type"] == perfetto_check.END:
            b = stacks[e["track"]].pop()
            found.append((trace.path(e["track"]), b["name"], b["time"], e["time"], b["args"], e["args"]))
    return found


def whole(parts):
    """Slices of all parts as they were before: those that go on are joined, by where and when they began."""
    going, found = {}, []
    for part in parts:
        for path, name, start, end, args, end_args in sorted(pieces(part), key=lambda s: s[3]):
            begin = args["start_ns"] if args.get("continued") else start
            if args.get("continued"):
                if going.pop((path, name, begin), None) != start:
                    return "nothing went on as " + name
            if end_args.get("goes_on"):
                going[path, name, begin] = end
            else:
                found.append((path, name, begin, end))
    return sorted(found) if not going else "%d slices never went on" % len(going)


def read_parts(checks, folder):
    parts = []
    for name in sorted(os.listdir(folder)):
        part = perfetto_check.read(os.path.join(folder, name))
        checks.equal("problems of " + name, part.report()["problems"], [])
        checks.equal(name + " knows the wall clock", part.realtime is not None, True)
        parts.append(part)
    return parts


def counters_go_on(checks, parts):
    """Each begins with what the one before ended with."""
    last, compared = {}, 0
    for part in parts:
        begun = set()
        for e in sorted(part.events, key=lambda e: e["time"]):
            if e["type"] != perfetto_check.COUNTER:
                continue
            if e["track"] in last and e["track"] not in begun:
                checks.equal("a counter goes on", e["value"], last[e["track"]])
                compared += 1
            begun.add(e["track"])
            last[e["track"]] = e["value"]
        checks.equal("counters that are left out", set(last) - begun, set())
    checks.equal("counters were compared", compared > 0, True)


def in_parts(checks, kymo, trace, folder):
    one = perfetto_check.read(os.path.join(folder, "h.pftrace"))
    wanted = sorted(p[:4] for p in pieces(one))
    begin = min(e["time"] for e in one.events)
    length = (max(e["time"] for e in one.events) - begin) // 7
    size = os.path.getsize(os.path.join(folder, "h.pftrace"))
    for what, split in (("time", f"{length / 1e6:.3f}ms"), ("bytes", f"{size // 5}B")):
        out = os.path.join(folder, "by-" + what)
        checks.equal("export by " + what, export(kymo, trace, out, "--split", split).returncode, 0)
        parts = read_parts(checks, out)
        checks.equal("several parts by " + what, len(parts) > 3, True)
        checks.equal("slices by " + what, whole(parts), wanted)
        counters_go_on(checks, parts)
        flows = sum(len(e["flows"]) for p in parts for e in p.events)
        checks.equal("flows by " + what, flows, sum(len(e["flows"]) for e in one.events))
        spans = [(min(e["time"] for e in p.events), max(e["time"] for e in p.events)) for p in parts if p.events]
        checks.equal("parts do not overlap", [b for a, b in zip(spans, spans[1:]) if b[0] < a[1]], [])
        if what == "time":
            checks.equal("no part is longer", [s for s in spans if s[1] - s[0] > length + 1000], [])
        else:
            sizes = [os.path.getsize(os.path.join(out, n)) for n in os.listdir(out)]
            checks.equal("no part is much larger", [s for s in sizes if s > 2 * (size // 5)], [])


def without_arguments(checks, kymo, trace, folder):
    one = perfetto_check.read(os.path.join(folder, "h.pftrace"))
    out = os.path.join(folder, "bare.pftrace")
    checks.equal("export --no-args", export(kymo, trace, out, "--no-args").returncode, 0)
    bare = perfetto_check.read(out)
    checks.equal("problems without arguments", bare.report()["problems"], [])
    checks.equal("slices without arguments", sorted(p[:4] for p in pieces(bare)), sorted(p[:4] for p in pieces(one)))
    checks.equal("arguments that are left", [e["args"] for e in bare.events if e["type"] == 1 and e["args"]], [])
    checks.equal("arguments there were", any(e["args"] for e in one.events), True)
    ends = [e["args"].get("lost_records") for e in bare.events if e.get("name") == "end of process"]
    checks.equal("what was lost is told", ends, [0])


def refused(checks, kymo, trace, folder):
    for words, options in (("--split is for perfetto", ["--to", "csv", "--split", "1s"]),
                           ("--no-args is for perfetto", ["--to", "chrome", "--no-args"]),
                           ("neither a time", ["--split", "many"]),
                           ("neither a time", ["--split", "0s"]),
                           ("more than 9999 parts", ["--split", "1ns"]),
                           ("standard output", ["--split", "1s", "-o", "-"])):
        done = subprocess.run([kymo, "export", *(options if "-o" in options else options + ["-o", folder + "/no"]), trace],
                              stderr=subprocess.PIPE, text=True)
        checks.equal("refused: " + words, (done.returncode != 0, words in done.stderr), (True, True))
        checks.equal("nothing is left", os.path.exists(folder + "/no"), False)


def function_of(name, module):
    return name.removesuffix(" (inlined)"), module if name != "(Kymo)" else None


def samples(checks, kymo, heat, folder):
    trace, out = os.path.join(folder, "s.kymo"), os.path.join(folder, "s.pftrace")
    subprocess.run([kymo, "run", "--no-summary", "--sample", "-o", trace, heat, "--size", "512", "--frames", "40"],
                   check=True, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    rows = traced.query(kymo, trace, SAMPLES)
    if not rows:
        print("samples: skipped, there are none here")
        return
    checks.equal("export of samples", export(kymo, trace, out).returncode, 0)
    got = perfetto_check.read(out)
    checks.equal("problems of samples", got.report()["problems"], [])
    origin = min(r["time"] for r in rows)
    first = min(s["time"] for s in got.samples)
    checks.equal("samples", sorted((s["pid"], s["tid"], s["time"] - first, s["kernel"], s["cpu"]) for s in got.samples),
                 sorted((r["pid"], r["tid"], r["time"] - origin, bool(r["kernel"]), r["cpu"]) for r in rows))
    stacks = collections.Counter(r["stack"] for r in rows if r["stack"])
    checks.equal("samples by stack", sorted(collections.Counter((s["pid"], s["callstack"]) for s in got.samples if s["callstack"]).values()),
                 sorted(stacks.values()))
    own = [f for s in got.samples for f in s["stack"] if os.path.basename(f[1]) == os.path.basename(heat)]
    checks.equal("the program's functions have a build id", {bool(f[2]) for f in own} - {True}, set())
    inner = collections.Counter(function_of(*s["stack"][-1][:2]) for s in got.samples if s["stack"])
    wanted = {(r["function"], r["module"]): r["n"] for r in traced.query(kymo, trace, FUNCTIONS)}
    checks.equal("samples of functions", {k: inner.get(k) for k in wanted}, wanted)


def scopes(checks, kymo, annotated, folder):
    trace, out = os.path.join(folder, "a.kymo"), os.path.join(folder, "a.pftrace")
    checks.equal("annotated", traced.record(kymo, trace, [annotated], folder).status, 0)
    checks.equal("export of scopes", export(kymo, trace, out).returncode, 0)
    got = perfetto_check.read(out)
    found = collections.Counter((e["name"], e["args"]["scopes"]) for e in got.events
                                if e["type"] == perfetto_check.BEGIN and e["args"].get("scopes"))
    for what, sql in (("calls", CALLS), ("kernels", KERNELS)):
        rows = {(r["name"], r["text"]): r["n"] for r in traced.query(kymo, trace, sql)}
        checks.equal("scopes of " + what, {k: found.get(k) for k in rows}, rows)
        checks.equal(what + " lie in some", bool(rows), True)


def main():
    kymo, heat, annotated = sys.argv[1:]
    checks = traced.Checks()
    with kymotest.Folder() as folder:
        trace = os.path.join(folder, "h.kymo")
        checks.equal("heat", traced.record(kymo, trace, [heat, "--size", "256", "--frames", "40"], folder).status, 0)
        checks.equal("export", export(kymo, trace, os.path.join(folder, "h.pftrace")).returncode, 0)
        in_parts(checks, kymo, trace, folder)
        without_arguments(checks, kymo, trace, folder)
        refused(checks, kymo, trace, folder)
        samples(checks, kymo, heat, folder)
        scopes(checks, kymo, annotated, folder)
    return checks.status(least=60)


sys.exit(main())
