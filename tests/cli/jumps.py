#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Handlers that leave calls, and Kymo in them, by siglongjmp(): jumps.py KYMO PROGRAM STEPS [1: after each instruction]."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import check  # noqa: E402

KYMO, PROGRAM, STEPS = map(os.path.abspath, sys.argv[1:4])
ALL = int(sys.argv[4]) if len(sys.argv) > 4 else 0
TURNS = 6  # what a thread does once may be met or not


def steps(folder, stride, *after):
    """After each instruction of a call, or each so many: the next call is recorded."""
    trace = os.path.join(folder, "s.kymo")
    done = kymotest.run(KYMO, "run", "-f", "-b", "posix", "--include", "^p?write$", "-o", trace, "--", "timeout", "-s", "KILL", 100, STEPS, stride, *after)
    if done.returncode == 77:
        return
    what = f"steps {after}:"
    check(f"{what} it ends as without Kymo", done.returncode, 0)
    last = int((re.search(r"^(\d+)$", done.stdout, re.M) or [0, 0])[1])
    check(f"{what} instructions", last > 200, True)
    rows = kymotest.query(KYMO, trace, "SELECT kymo_arg(id, 'offset') AS jump FROM regions WHERE name = 'pwrite' ORDER BY start")
    check(f"{what} calls after jumps", [int(r["jump"]) for r in rows], list(range(1, last + 1, stride)))


def main():
    with kymotest.Folder() as folder:
        trace = os.path.join(folder, "t.kymo")
        for _ in range(TURNS):
            done = kymotest.run(KYMO, "run", "-f", "--backends", "posix", "-o", trace, "--", "timeout", "-s", "KILL", 60, PROGRAM)  # one that hangs goes on otherwise
            check("it ends as without Kymo", done.returncode, 0)
            if done.returncode:
                return
            calls, jumps = (sum(int(n) for n in column) for column in zip(*re.findall(r"^(\d+) (\d+)$", done.stdout, re.M)))
            recorded = kymotest.query(KYMO, trace, "SELECT count(*) AS n FROM regions WHERE name IN ('write', 'lseek')")[0]["n"]
            untraced = re.search(r"came while Kymo recorded ran untraced \(([\d,]+) times\)", done.stdout + done.stderr)
            found = recorded + (int(untraced[1].replace(",", "")) if untraced else 0)
            # A call that was left may have come back to Kymo, or not have come to it yet.
            check(f"each of {calls} calls is recorded or counted: {found}", calls - jumps <= found <= calls + jumps, True)
        steps(folder, ALL or 7)
        steps(folder, ALL or 13, "deep")
        steps(folder, ALL or 3, "mark")


main()
sys.exit(1 if kymotest.wrong else 0)
