#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kymo-synth timed, of which many tests have their traces: each function of domain "test" can be called, any number of times, what it is
handed is what the list says and else nothing; a function that is not there is refused.

    synth_timed.py KYMO SYNTH"""
import collections
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
from kymotest import Checks, Folder, must, run  # noqa: E402

KYMO, SYNTH = map(os.path.abspath, sys.argv[1:3])
OPS, CALLS = ("all_kinds", "open", "launch", "wait", "copy", "query"), 5000
checks = Checks()


def main():
    with Folder() as folder:
        trace = os.path.join(folder, "t.kymo")
        lines = [f"call {i % len(OPS)} {1000 + 900 * i} {100 + i % 7}\n" for i in range(CALLS * len(OPS))]
        must(SYNTH, "timed", trace, input="".join(lines) + "end 99000000\n")
        count, handed = collections.Counter(), collections.defaultdict(set)
        for line in must(KYMO, "show", trace).splitlines():
            found = re.search(r"test:(\w+)\((.*)\)", line)
            if found:
                count[found[1]] += 1
                handed[found[1]].add(found[2])
        checks.equal("calls", count, {op: CALLS for op in OPS})
        checks.equal("of each all are handed the same", {op: len(kinds) for op, kinds in handed.items()}, {op: 1 for op in OPS})
        all_kinds = next(iter(handed["all_kinds"]))
        checks.equal(f"no text, no lists: {all_kinds}", re.findall(r"\b(?:text|sizes|events|bytes)=(\S+?),", all_kinds + ","), ["NULL"] * 4)
        done = run(SYNTH, "timed", os.path.join(folder, "no.kymo"), input=f"call {len(OPS)} 1000 5\nend 9000\n")
        checks.equal("a function that is not there", (done.returncode, "not understood: call 6" in done.stderr), (2, True))
    return checks.status(4)


if __name__ == "__main__":
    sys.exit(main())
