#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The list of `make quick` (tests/quick.list) as one regular expression for ctest; with a build folder, whether
each of its lines is the name of a test there.

    quick.py [BUILD]"""

import os
import re
import subprocess
import sys

LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "quick.list")


def main():
    with open(LIST, encoding="utf-8") as f:
        lines = [x.strip() for x in f if x.strip() and not x.startswith("#")]
    if len(sys.argv) == 1:
        print("^(" + "|".join(lines) + ")$")
        return 0
    listed = subprocess.run(["ctest", "--test-dir", sys.argv[1], "-N"], capture_output=True, text=True, check=True).stdout
    names = re.findall(r"Test +#\d+: (\S+)", listed)
    idle = [x for x in lines if not any(re.fullmatch(x, n) for n in names)]
    print("\n".join(f"no test is called {x}" for x in idle) or f"{len(lines)} lines, all with tests")
    return 1 if idle else 0


if __name__ == "__main__":
    sys.exit(main())
