#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The list of `make quick` (tests/quick.list) as one regular expression for ctest; with a build folder, whether
each of its lines, and each alternative in them, is the name of a test there.

    quick.py [BUILD]"""

import os
import re
import subprocess
import sys

LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "quick.list")


def alternatives(line):
    """What a line names one by one: `a\\.(x|y)` is `a\\.x` and `a\\.y`. A group holds no other one."""
    group = re.search(r"\(([^()]*)\)", line)
    if not group:
        return [line]
    return [x for word in group[1].split("|") for x in alternatives(line[:group.start()] + word + line[group.end():])]


def main():
    with open(LIST, encoding="utf-8") as f:
        lines = [x.strip() for x in f if x.strip() and not x.startswith("#")]
    if len(sys.argv) == 1:
        print("^(" + "|".join(lines) + ")$")
        return 0
    listed = subprocess.run(["ctest", "--test-dir", sys.argv[1], "-N"], capture_output=True, text=True, check=True).stdout
    names = re.findall(r"Test +#\d+: (\S+)", listed)
    wanted = [x for line in lines for x in alternatives(line)]
    idle = [x for x in wanted if not any(re.fullmatch(x, n) for n in names)]
    print("\n".join(f"no test is called {x}" for x in idle) or f"{len(wanted)} names, all of tests")
    return 1 if idle else 0


if __name__ == "__main__":
    sys.exit(main())
