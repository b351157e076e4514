#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables of devices over the run, of times without device work, of messages under way: against SQL over the same
trace. idle_tables.py KYMO HEAT TWO_DEVICES [LAUNCHER PROGRAM]
"""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import check, expect  # noqa: E402

KYMO, HEAT, TWO = map(os.path.abspath, sys.argv[1:4])
JOB = sys.argv[4:6]
PARTS, KEPT = 24, 1000


def kymo(*words):
    return kymotest.must(KYMO, *words, stdin=subprocess.DEVNULL)


def tables(trace, *words):
    return {t["name"]: t["rows"] for t in json.loads(kymo("summary", "-f", "json", *words, trace))["tables"]}


def query(trace, sql):
    return kymotest.query(KYMO, trace, sql)


def united(times):
    out = []
    for start, end in sorted(t for t in times if t[1] > t[0]):
        if out and start <= out[-1][1]:
            out[-1][1] = max(out[-1][1], end)
        else:
            out.append([start, end])
    return out


def length(times):
    return sum(end - start for start, end in times)


def within(times, start, end):
    return sum(max(0, min(end, e) - max(start, s)) for s, e in times)


def common(a, b):
    return sum(within(b, s, e) for s, e in a)


def work(trace):
    """Device: kernels, everything, as (start, end, name)."""
    found = {}
    for r in query(trace, "SELECT agent_name, start, end, name FROM kernels"):
        kernels, everything = found.setdefault(r["agent_name"], ([], []))
        kernels.append((r["start"], r["end"]))
        everything.append((r["start"], r["end"], r["name"]))
    for r in query(trace, "SELECT src_device, dst_device, start, end, operation FROM memory_copies"):
        device = r["dst_device"] if r["dst_device"] in found else r["src_device"]
        name = {"fill": "fill", "map": "map", "unmap": "map"}.get(r["operation"], "copy")
        found[device][1].append((r["start"], r["end"], name))
    return found


def device_use(trace, run, found):
    rows = {r["device"]: r for r in tables(trace)["device_use"]}
    check("devices", sorted(rows), sorted(found))
    for device, (kernels, everything) in found.items():
        busy, row = united([w[:2] for w in everything]), rows[device]
        curve = [int(n) for n in row["busy_curve_ns"].split()]
        wanted = [within(busy, int(run * i / PARTS), int(run * (i + 1) / PARTS)) for i in range(PARTS)]
        expect(len(curve) == PARTS and all(abs(a - b) <= 2 for a, b in zip(curve, wanted)), curve, wanted)
        others = united([w[:2] for w in everything if w[:2] not in set(kernels)])
        for column, times in (("kernels_percent", united(kernels)), ("transfers_percent", others), ("busy_percent", busy)):
            expect(abs(row[column] - 100 * length(times) / run) < 1e-4, device, column, row, 100 * length(times) / run)
    return rows


def picture(trace, rows, run):
    """A full character is a part that was busy all along."""
    for locale, steps in (("C.UTF-8", "▁▂▃▄▅▆▇█"), ("C", "_.:-=+*#")):
        p = subprocess.run([KYMO, "summary", "--tables", "device_use", "--names", "full", trace], stdin=subprocess.DEVNULL,
                           capture_output=True, encoding="utf-8", check=True, env={**os.environ, "LC_ALL": locale})
        pictures = re.findall(rf"  ([{re.escape(steps)}]{{{PARTS}}})$", p.stdout, re.M)
        check("pictures", len(pictures), len(rows))
        for row, line in zip(rows, pictures):
            for n, character in zip(map(int, row["busy_curve_ns"].split()), line):
                height = 6 * n / (run / PARTS)
                expect(steps.index(character) in ({0} if n == 0 else {1 + int(height - .001), 1 + int(height + .001)}), n, line)


def gaps_of(everything, run):
    out, until = [], 0
    for start, end, name in sorted(everything):
        if start > until:
            out.append((start - until, until, name))
        until = max(until, end)
    return [*out, (run - until, until, None)] if run > until else out


def gaps(trace, run, found):
    rows = tables(trace, "--tables", "gaps")["gaps"]
    expect("gaps" not in tables(trace), "it is long: for who asks for it")
    wanted = []
    for device, (_, everything) in found.items():
        longest = sorted(gaps_of(everything, run), key=lambda g: (-g[0], g[1]))[:KEPT]
        wanted += [(-n, start, device, name) for n, start, name in longest]
    check("gaps", [(-r["length_ns"], r["start_ns"], r["device"]) for r in rows], [w[:3] for w in sorted(wanted, key=lambda w: w[:3])])
    names = {w[:3]: w[3] for w in wanted}
    for r in rows:
        name = names[-r["length_ns"], r["start_ns"], r["device"]]
        expect(r["next"] == name, r, name)
        expect(0 < r["cause_ns"] <= r["length_ns"], r)
    for device in tables(trace)["devices"]:
        own = [r for r in rows if r["device"] == device["device"]]
        for cause, column in (("start-up", "idle_startup_ns"), ("after the last work", "idle_end_ns")):
            check(cause, [r["cause_ns"] for r in own if r["cause"] == cause], [device[column]])
        if len(own) < KEPT:
            check("all", sum(r["length_ns"] for r in own), device["idle_ns"])
    return rows


def hosts(trace, rows):
    """The outermost call that covers most of a gap, of the thread that submits what ends it (there is one thread)."""
    calls = [(r["start"], r["end"], r["name"]) for r in query(trace, "SELECT start, end, name FROM regions WHERE parent_stack_id = 0")]
    seen = 0
    for r in rows[:20]:
        start, end = r["start_ns"], r["start_ns"] + r["length_ns"]
        if r["next"] is None:
            expect(r["call"] is None, r)
            continue
        most = max(((min(e, end) - max(s, start), name) for s, e, name in calls), default=(0, None))
        if most[0] > 5000: # shorter ones may be kept as several
            check("call", (r["call"], r["call_ns"]), (most[1], most[0]))
            seen += 1
    expect(seen > 1, rows[:20])


def limit(folder):
    """Of more gaps than are kept the longest are there, and it is said."""
    trace = folder + "/many.kymo"
    kymo("run", "--no-summary", "-o", trace, HEAT, "--size", "256", "--frames", "80")
    run = tables(trace)["quality"][0]["duration_ns"]
    rows = gaps(trace, run, work(trace))
    check("kept", len(rows), KEPT)
    text = kymo("summary", "--tables", "gaps", trace)
    expect("of each device the 1000 longest" in text, text)
    shown = re.search(r"kymo show --after ([0-9.]+)s --before ([0-9.]+)s (\S+)\)", text)
    check("command", [round(float(shown[1]) * 1e6), round(float(shown[2]) * 1e6), shown[3]],
          [round(rows[0]["start_ns"] / 1e3), round((rows[0]["start_ns"] + rows[0]["length_ns"]) / 1e3), trace])
    hosts(trace, rows)


def two(folder):
    trace = folder + "/two.kymo"
    os.environ["POCL_DEVICES"] = "pthread pthread"
    kymo("run", "--no-summary", "-o", trace, TWO)
    del os.environ["POCL_DEVICES"]
    run, found = tables(trace)["quality"][0]["duration_ns"], work(trace)
    check("devices", len(found), 2)
    rows = device_use(trace, run, found)
    picture(trace, [rows[d] for d in sorted(rows)], run)
    gaps(trace, run, found)


def messages(folder):
    trace = folder + "/job.kymo"
    kymotest.must(*JOB[0].split(), "-n", "2", KYMO, "run", "--no-summary", "-o", trace, JOB[1], stdin=subprocess.DEVNULL)
    kinds = {r["kind"]: r["n"] for r in query(trace, "SELECT kind, count(*) AS n FROM messages GROUP BY 1")}
    head = kymo("summary", trace).split("\n\n")[0].replace("\n", " ")
    expect({"send", "receive"} <= kinds.keys(), kinds)
    for kind, words in (("send", "sends"), ("receive", "receives"), ("collective", "parts in collectives")):
        expect((f", {kinds.get(kind)} {words}" in head) == (kind in kinds), kind, head)
    expect("message" not in head, head)
    expect("outside of MPI" in kymo("summary", trace), "its own time")
    rows = {r["rank"]: r for r in tables(trace)["overlap"]}
    check("ranks", sorted(rows), ["0", "1"])
    for rank, row in rows.items():
        def times(sql, rank=rank):
            return united([(r["start"], r["end"]) for r in query(trace, sql.format(rank))])
        sent = times("SELECT start, end FROM messages WHERE rank = {}")
        kernels = times("SELECT k.start, k.end FROM kernels k JOIN processes p ON p.pid = k.pid WHERE p.rank = {}")
        calls = times("SELECT r.start, r.end FROM regions r JOIN processes p ON p.pid = r.pid WHERE r.category = 'mpi' AND p.rank = {}")
        check("under way", row["under_way_ns"], length(sent))
        check("kernels", row["kernels_ns"], length(kernels))
        check("beside", row["beside_kernels_ns"], common(sent, kernels))
        expect(abs(row["beside_kernels_percent"] - 100 * common(sent, kernels) / length(sent)) < 1e-4, row)
        # Short calls are kept as one: where in it they were is not known.
        expect(0 < common(sent, kernels) < length(kernels), rank, kernels)
        outside = length(sent) - common(sent, calls)
        expect(outside > 0 and abs(row["outside_ns"] - outside) < 0.1 * length(sent), row, outside)


with kymotest.Folder() as scratch:
    two(scratch)
    limit(scratch)
    if JOB:
        messages(scratch)
    sys.exit(1 if kymotest.wrong else 0)
