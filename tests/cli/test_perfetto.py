#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The numbers of a Perfetto file against SQL on the store: test_perfetto.py KYMO CHECKER HEAT.

The file is read by an independent decoder (tests/golden/perfetto_check.py). Slices and their summed
durations on each queue and on the host, flows, and counters that return to zero must be those of
the store."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402

import traced

DEVICE = """SELECT q.number AS queue, sum(n) AS n, sum(ns) AS ns FROM
    (SELECT queue, count(*) AS n, sum(duration) AS ns FROM dispatch GROUP BY queue UNION ALL
     SELECT queue, count(*) AS n, sum(duration) AS ns FROM copy GROUP BY queue)
    JOIN queue q ON q.id = queue GROUP BY q.number"""
HOST = """SELECT (SELECT count(*) FROM call) AS calls, (SELECT sum(duration) FROM call) AS call_ns,
    (SELECT count(*) FROM dispatch) + (SELECT count(*) FROM copy) AS device"""
NAMES = """SELECT o.name, count(*) AS n FROM call c JOIN op o ON o.id = c.op GROUP BY 1"""


def main():
    kymo, checker, heat = sys.argv[1:]
    checks = traced.Checks()
    with kymotest.Folder() as folder:
        trace, out = os.path.join(folder, "t.kymo"), os.path.join(folder, "t.pftrace")
        program = [heat, "--size", "256", "--frames", "40"]
        checks.equal("status", traced.record(kymo, trace, program, folder).status, 0)
        subprocess.run([kymo, "export", "--to", "perfetto", "-o", out, trace], check=True,
                       stderr=subprocess.DEVNULL)
        done = subprocess.run([sys.executable, checker, out], stdout=subprocess.PIPE, text=True)
        report = json.loads(done.stdout)
        checks.equal("problems of the file", (done.returncode, report["problems"]), (0, []))
        tracks = report["tracks"]
        for row in traced.query(kymo, trace, DEVICE):
            (name,) = [k for k in tracks if k.endswith(f"> queue {row['queue']}")]
            checks.equal(f"slices of {name}", tracks[name]["slices"], row["n"])
            checks.equal(f"time of {name}", tracks[name]["duration_ns"], row["ns"])
        host = traced.query(kymo, trace, HOST)[0]
        (thread,) = [k for k in tracks if k == "heat > heat"]
        for row in traced.query(kymo, trace, NAMES):
            checks.equal(f"calls of {row['name']}", tracks[thread]["names"].get(row["name"]), row["n"])
        checks.equal("flows", report["totals"]["flows"], host["device"])
        checks.equal("flows backwards", report["totals"]["flows_backwards"], 0)
        counters = [t for t in tracks.values() if "last" in t]
        checks.equal("there are counters", len(counters) >= 2, True)
        for c in counters:
            checks.equal("a counter's last value", c["last"], 0)
    return checks.status(least=20)


sys.exit(main())
