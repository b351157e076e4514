#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each promise of docs/security.md names the test that shows it, and there is such a test.

    security_doc.py SOURCE BUILD CTEST

A promise is a row of a table, or a paragraph that names tests. A test is what `ctest -R` takes; a
name in backquotes behind it is a function in a file under tests/.
"""
import os
import re
import subprocess
import sys

SOURCE, BUILD, CTEST = sys.argv[1:4]
TEST = r"\b((?:unit|cli|harm|fuzz|abi|mpi)\.[a-z_.]*[a-z_])"


def functions():
    found = set()
    for folder, _, names in os.walk(os.path.join(SOURCE, "tests")):
        for name in names:
            if name.endswith((".py", ".c")):
                with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as f:
                    found.update(re.findall(r"^(?:def|static void) (\w+)\(", f.read(), re.M))
    return found


def promises(text):
    """Pairs of what is promised and where tests are named."""
    for line in text.splitlines():
        cells = [c.strip() for c in line.strip().strip("|").split(" | ")]
        if line.startswith("|") and not set(line) <= set("|-") and cells[-1] != "test":
            yield cells[0], cells[-1]
    for part in text.split("\n\n"):
        if not part.startswith("|") and re.search(TEST, part):
            yield part[:60], part


def main():
    listed = subprocess.run([CTEST, "--test-dir", BUILD, "-N"], capture_output=True, text=True, check=True).stdout
    tests = set(re.findall(r"Test +#\d+: (\S+)", listed))
    known, bad, count = functions(), [], 0
    with open(os.path.join(SOURCE, "docs", "security.md"), encoding="utf-8") as f:
        text = f.read()
    for what, where in promises(text):
        named = re.findall(TEST, where)
        count += 1
        if not named:
            bad.append("no test is named: " + what)
        bad += ["no such test: %s (%s)" % (t, what) for t in named if t not in tests]
        # Names behind a test; others are of fields and files.
        for part in re.findall(TEST + r"((?:[ ,\n]+(?:and )?`\w+`)*)", where):
            bad += ["no such function: %s (%s)" % (n, what) for n in re.findall(r"`(\w+)`", part[1]) if n not in known]
    if count < 15:
        bad.append("only %d promises were found" % count)
    print("\n".join(bad) or "%d promises" % count)
    return 1 if bad else 0


sys.exit(main())
