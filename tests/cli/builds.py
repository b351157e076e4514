#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds by program, of two devices at once, against SQL over the same trace: builds.py KYMO PROGRAM."""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import expect  # noqa: E402

KYMO, PROGRAM = map(os.path.abspath, sys.argv[1:3])


def run(*words, **environment):
    p = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100, check=False,
                       env={**os.environ, **environment})
    expect(p.returncode == 0, words, p.returncode, p.stdout, p.stderr)
    return p.stdout


with kymotest.Folder() as folder:
    trace = folder + "/t.kymo"
    run(KYMO, "run", "--no-summary", "-o", trace, PROGRAM, POCL_DEVICES="pthread pthread")
    (found,) = [t["rows"] for t in json.loads(run(KYMO, "summary", "-f", "json", trace))["tables"] if t["name"] == "builds"]
    told = json.loads(run(KYMO, "query", "--format", "json", trace,
                          "SELECT program, count(*) AS builds, sum(length) AS time, max(length) AS longest, sum(status <> 0) AS failed FROM "
                          "(SELECT DISTINCT kymo_arg(op, args, 'program') AS program, kymo_arg(op, args, 'status') AS status, "
                          "start, duration AS length FROM activity WHERE op IN (SELECT id FROM op WHERE name = 'build')) "
                          "GROUP BY program ORDER BY time DESC"))
    expect(len(found) == 3 and sum(r["builds"] for r in found) == 4, found)
    expect([(r["program"], r["builds"], r["time_ns"], r["max_ns"], r["failed"]) for r in found] ==
           [(r["program"], r["builds"], r["time"], r["longest"], r["failed"]) for r in told], found, told)
    by = {r["kernels"]: r for r in found}
    expect(len(by) == 3 and by["twice"]["builds"] == 2 and by["twice"]["failed"] == 0, found)
    (four,) = [k for k in by if re.fullmatch(r"[abcd], [abcd], [abcd], \.\.\. \(4 kernels\)", k)]
    expect(by[four]["builds"] == 1 and by[four]["status"] is None and by[four]["log"] is None, found)
    broken = by[""]
    expect((broken["builds"], broken["failed"], broken["status"]) == (1, 1, -11) and "no_such_name" in broken["log"], broken)
    for words in ((), ("--tables", "builds")):
        text = run(KYMO, "summary", *words, trace)
        expect("\nBuilds by program\n" in text, text)
        expect(re.search(rf"^\(program {broken['program']} failed to build \(-11\); its log:\)\n\(.*", text, re.M), text)
        expect(re.search(r"^\( .*no_such_name", text, re.M), text)
    print("ok")
