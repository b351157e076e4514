#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Handlers that leave calls, and Kymo in them, by siglongjmp(): jumps.py KYMO PROGRAM."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import check  # noqa: E402

KYMO, PROGRAM = map(os.path.abspath, sys.argv[1:3])
TURNS = 6  # what a thread does once may be met or not


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


main()
sys.exit(1 if kymotest.wrong else 0)
