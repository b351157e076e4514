#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What programs publish: publish.py KYMO CHECKER ACCELERATOR LATE.

The kernels and copies of a device that Kymo knows nothing of, on a clock of its own that drifts, lie
inside the calls that launched them within the error that the trace states. Late records of two tracks
come out in order everywhere, on their tracks, with nothing lost."""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402

import traced

WORK = """SELECT x.start, x.start + x.duration AS end, x.early, c.start AS from_, c.start + c.duration AS until,
    o.name FROM (SELECT call, start, duration, early FROM dispatch UNION ALL
    SELECT call, start, duration, early FROM copy) x
    JOIN call c ON c.id = x.call JOIN op o ON o.id = c.op"""
ERROR = """SELECT c.error_ns + p.clock_error_ns AS ns, c.syncs FROM clock c JOIN process p ON p.id = c.process"""
LATE = """SELECT s.text AS name, o.name AS op, count(*) AS n, min(c.duration) AS least, max(c.duration) AS most,
    sum(c.status <> 0) AS failed, max(c.start) - min(c.start) AS span
    FROM call c JOIN thread t ON t.id = c.thread JOIN op o ON o.id = c.op
    JOIN string s ON s.id = t.name GROUP BY 1, 2 ORDER BY 1, 2"""
PARENT = "SELECT parent FROM call_extra WHERE parent <> 0"
VALUES = """SELECT v.value, v.time - (SELECT min(start) FROM call WHERE op = (SELECT id FROM op WHERE name = 'work')
    AND start > 0) AS time, v.duration, c.name, s.text AS track FROM counter_value v JOIN counter c ON c.id = v.counter
    JOIN thread t ON t.id = v.thread JOIN string s ON s.id = t.name ORDER BY v.time"""
SAMPLES = """SELECT x.time - (SELECT min(start) FROM call WHERE op = (SELECT id FROM op WHERE name = 'work')
    AND start > 0) AS time, x.weight, s.text AS track FROM sample x JOIN thread t ON t.id = x.thread
    JOIN string s ON s.id = t.name ORDER BY x.time"""
STEPS = 3000


def export(kymo, trace, to, out):
    subprocess.run([kymo, "export", "--to", to, "-o", out, trace], check=True, stderr=subprocess.DEVNULL)
    return out


def perfetto(checker, path):
    done = subprocess.run([sys.executable, checker, path], stdout=subprocess.PIPE, text=True)
    return done.returncode, json.loads(done.stdout)


def summary(kymo, trace):
    done = traced.Run([kymo, "summary", trace])
    return [line for line in done.out.splitlines()
            if re.match(r"(toy_|work|alarm|scale|smooth|read|write)", line)]


def accelerator(checks, kymo, checker, program, folder):
    trace = os.path.join(folder, "a.kymo")
    checks.equal("status", traced.record(kymo, trace, [program], folder).status, 0)
    from_raw = summary(kymo, trace)
    rows = traced.query(kymo, trace, WORK)
    error = traced.query(kymo, trace, ERROR)[0]
    checks.equal("kernels and copies with their calls", len(rows), 400)
    checks.equal("the clock was compared often", error["syncs"] > 20, True)
    checks.equal("the stated error is small", 0 < error["ns"] < 5000, True)
    checks.equal("work outside its call", [r for r in rows if r["start"] < r["from_"] - error["ns"]
                                           or r["end"] > r["until"] + error["ns"]], [])
    checks.equal("flagged as early", sum(r["early"] for r in rows), 0)
    checks.equal("lines of the summary", len(from_raw), 7)
    checks.equal("summary of the store", summary(kymo, trace), from_raw)
    code, report = perfetto(checker, export(kymo, trace, "perfetto", os.path.join(folder, "a.pftrace")))
    checks.equal("problems of the file", (code, report["problems"]), (0, []))
    checks.equal("flows", (report["totals"]["flows"], report["totals"]["flows_backwards"]), (400, 0))
    (queue,) = [k for k in report["tracks"] if k.endswith('Toy accelerator > queue 0 (engine)')]
    checks.equal("slices", report["tracks"][queue]["names"],
                 {"scale": 100, "smooth": 100, "read": 100, "write": 100})
    return error


def chosen(checks, kymo, program, folder):
    """Options that choose among calls choose among published ones, and leave device work alone."""
    for name, options, calls in (("exclude", ["--exclude", "toy_run"], 200), ("backends", ["-b", "opencl"], 0),
                                 ("include", ["--include", "^toy_read$"], 100)):
        trace = os.path.join(folder, f"{name}.kymo")
        ran = traced.Run([kymo, "run", "--no-summary", *options, "-o", trace, "--", program], folder)
        got = traced.query(kymo, trace, "SELECT (SELECT count(*) FROM call) AS c, (SELECT count(*) FROM dispatch) AS d")
        checks.equal(name, (ran.status, got[0]["c"], got[0]["d"]), (0, calls, 200))


def late(checks, kymo, checker, program, folder):
    trace = os.path.join(folder, "l.kymo")
    ran = traced.record(kymo, trace, [program], folder)
    checks.equal("status", ran.status, 0)
    shown = traced.Run([kymo, "show", trace]).out.splitlines()
    steps = [(m.group(1), int(m.group(2))) for m in
             (re.search(r"(left|right) arm.* robot:work\(step=(\d+)\)", line) for line in shown) if m]
    for arm in ("left", "right"):
        of_arm = [n for a, n in steps if a == arm and n != 9999]
        checks.equal(f"{arm} arm in order", of_arm, list(range(STEPS)))
    from_raw = summary(kymo, trace)
    rows = {(r["name"], r["op"]): r for r in traced.query(kymo, trace, LATE)}
    for arm in ("left arm", "right arm"):
        r = rows[arm, "work"]
        extra = arm == "left arm" and r["n"] > STEPS  # the one on a clock of its own
        checks.equal(f"records of {arm}", r["n"], STEPS + extra)
        checks.equal(f"length of {arm}", (r["least"], r["most"]), (1500, 1500))
        checks.equal(f"failed of {arm}", r["failed"], STEPS // 100)
    checks.equal("span", rows["right arm", "work"]["span"], (STEPS - 1) * 1000)
    checks.equal("a record's parent", [r["parent"] & 0xffffffff for r in traced.query(kymo, trace, PARENT)],
                 [int(ran.out)])
    checks.equal("summary of the store", summary(kymo, trace), from_raw)
    checks.equal("lines of the summary", len(from_raw), 3)  # "work" among the errors too
    wanted = [{"value": 0.5 * i, "time": 100000 * i, "duration": 7, "name": "torque", "track": "left arm"}
              for i in range(10)]
    checks.equal("values of a counter", traced.query(kymo, trace, VALUES), wanted)
    wanted = [{"time": 100000 * i, "weight": 100000, "track": "left arm"} for i in range(10)]
    checks.equal("samples", traced.query(kymo, trace, SAMPLES), wanted)
    ordered = [line for line in shown if "torque" in line]
    checks.equal("values as text, in order", (len(ordered), ordered), (10, sorted(ordered)))
    losses = traced.query(kymo, trace, traced.LOSSES)[0]
    checks.equal("lost", (losses["in_band"], losses["records"]), (0, 0))
    checks.equal("a clock that was never compared is named",
                 "1 device clock not aligned" in traced.Run([kymo, "summary", trace]).out, True)
    code, report = perfetto(checker, export(kymo, trace, "perfetto", os.path.join(folder, "l.pftrace")))
    checks.equal("problems of the file", (code, report["problems"]), (0, []))
    tracks = [v for k, v in report["tracks"].items() if "left arm" in k]
    checks.equal("slices of the left arm", sum(t.get("names", {}).get("work", 0) for t in tracks), STEPS + 1)
    lines = open(export(kymo, trace, "json", os.path.join(folder, "l.json")), encoding="utf-8").read()
    checks.equal("records in JSON", lines.count('"op":"work"'), 2 * STEPS + 1)


def main():
    kymo, checker, toy, program = sys.argv[1:]
    checks = traced.Checks()
    with kymotest.Folder() as folder:
        error = accelerator(checks, kymo, checker, toy, folder)
        chosen(checks, kymo, toy, folder)
        late(checks, kymo, checker, program, folder)
        print(f"clock error {error['ns']:.0f} ns")
    return checks.status(least=25)


sys.exit(main())
