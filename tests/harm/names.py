#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All threads of a process die at once, again and again: what its records refer to is in the trace.

Usage: names.py KYMO NAMES [KILLS]
"""
import json
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402

KYMO, NAMES = map(os.path.abspath, sys.argv[1:3])
KILLS = int(sys.argv[3]) if len(sys.argv) > 3 else 200
TOGETHER = 10  # processes of one trace
# Each is killed.
PROGRAM = ["sh", "-c", f'for rounds; do {NAMES} $rounds; [ $? = 137 ] || exit 1; done', "sh"]
SQL = """SELECT count(*) AS marks, sum(n.text LIKE 'name %') AS named FROM marker m
    LEFT JOIN marker_name n ON n.id = m.name"""


def main():
    bad = marks = 0
    seed = random.randrange(1 << 30)
    choose = random.Random(seed)
    with kymotest.Folder() as folder:
        trace = os.path.join(folder, "t.kymo")
        for i in range(KILLS // TOGETHER):
            rounds = [str(choose.randrange(2, 60)) for _ in range(TOGETHER)]
            done = subprocess.run([KYMO, "run", "--no-summary", "-o", trace, *PROGRAM, *rounds],
                                  capture_output=True, text=True, timeout=120)
            row = json.loads(subprocess.run([KYMO, "query", "--format", "json", trace, SQL], capture_output=True,
                                            text=True, timeout=120, check=True).stdout)[0]
            marks += row["marks"]
            if done.returncode != 0 or row["marks"] != row["named"]:
                bad += 1
                print("trace", i, "seed", seed, "status", done.returncode, row, done.stderr, flush=True)
            kymotest.remove(trace)
    print(f"{KILLS} kills, {marks} marks, {bad} traces with marks that have no name")
    return 1 if bad or not marks else 0


sys.exit(main())
