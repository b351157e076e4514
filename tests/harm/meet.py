#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two threads need a definition for the first time, one is stopped at each step of making it, all are
killed: what the other's records refer to is in the trace. Usage: meet.py KYMO MEET
"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402

KYMO, MEET = map(os.path.abspath, sys.argv[1:3])
MOST = 200  # locks that one step takes
# Records of the second thread, and those that refer to something that is not there.
SQL = {
    "name": "SELECT count(*) AS records, sum(n.text IS NULL) AS bad FROM marker m "
            "LEFT JOIN marker_name n ON n.id = m.name WHERE n.text IS NULL OR n.text = 'meet'",
    "blob": "SELECT count(*) AS records, sum(b.data IS NULL OR b.data NOT LIKE '%met%') AS bad "
            "FROM program p LEFT JOIN blob b ON b.id = p.source WHERE p.id > 0",
    "site": "SELECT count(*) AS records, sum(s.address IS NULL) AS bad FROM call c JOIN op o ON o.id = c.op "
            "LEFT JOIN site s ON s.id = c.site AND s.id > 0 WHERE o.name = 'clCreateProgramWithSource'",
    "kernel": "SELECT count(*) AS records, sum(name IS NULL OR name <> 'native kernel') AS bad FROM kernels",
}


def main():
    failed = False
    with kymotest.Folder() as folder:
        trace = os.path.join(folder, "t.kymo")
        for what, sql in SQL.items():
            stops = met = 0
            for n in range(1, MOST):
                done = subprocess.run([KYMO, "run", "--no-summary", "-o", trace, MEET, what, str(n)],
                                      capture_output=True, text=True, timeout=300)
                if done.returncode == 77:
                    print("skipped: no OpenCL device")
                    return 77
                if done.returncode == 3:
                    break
                row = json.loads(subprocess.run([KYMO, "query", "--format", "json", trace, sql], text=True,
                                                capture_output=True, timeout=300, check=True).stdout)[0]
                kymotest.remove(trace)
                stops += 1
                met += (row["records"] or 0) > 0
                if done.returncode != -9 or row["bad"]:
                    failed = True
                    print(f"{what}: stopped at lock {n}: status {done.returncode}, {row} {done.stderr}", flush=True)
            kymotest.remove(trace, missing_ok=True)
            print(f"{what}: {stops} stops, in {met} of them the other thread went on")
            failed |= not met or stops == MOST - 1
    return 1 if failed else 0


sys.exit(main())
