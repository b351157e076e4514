#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The commands of docs/questions.md are commands of Kymo: questions.py KYMO OCL_ERRORS QUESTIONS.

SQL is asked of a small trace, so that its tables and columns must be there. The other commands are given
a trace that does not exist: a wrong option is told (2) before that is (3), and names that only the page's
own traces have are no matter.
"""

import os
import shlex
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
import traced  # noqa: E402

KYMO, PROGRAM, PAGE = (os.path.abspath(p) for p in sys.argv[1:4])
checks = traced.Checks()


def commands():
    with open(PAGE, encoding="utf-8") as f:
        return [shlex.split(line)[2:] for line in f if line.startswith("$ kymo ")]


def main():
    with kymotest.Folder(prefix="kymo-questions-") as folder:
        trace, missing = folder + "/small.kymo", folder + "/missing.kymo"
        recorded = traced.record(KYMO, trace, ["sh", "-c", f"{PROGRAM} >/dev/null"], folder)
        if recorded.status == traced.SKIPPED:
            return traced.SKIPPED
        checks.equal("the program", recorded.status, 0)
        found = commands()
        for words in found:
            wanted, operand = (0, trace) if words[0] == "query" else (3, missing)
            run = traced.Run([KYMO, *(operand if w.endswith(".kymo") else w for w in words)], folder)
            checks.equal(f"kymo {shlex.join(words)}: {run.err.strip()}", run.status, wanted)
        checks.equal("more than 20 commands in the page", len(found) > 20, True)
    return checks.status(22)


if __name__ == "__main__":
    sys.exit(main())
