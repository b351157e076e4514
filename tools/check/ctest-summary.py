#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs ctest and ends with one line "N passed, N failed[, N skipped]": ctest-summary.py ARGS...

Before it a line for each skipped test says why it was skipped. ARGS are ctest's. The counts come from ctest's JUnit file. Exit status: ctest's own; 1 if that is 0
and yet a test failed or no test ran at all."""
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree


def count(junit):
    """Passed, failed and skipped tests of a JUnit file."""
    counts = {"run": 0, "fail": 0, "notrun": 0, "disabled": 0}
    for case in ElementTree.parse(junit).getroot().iter("testcase"):
        status = case.get("status")
        # Tests whose program is missing are "notrun", as skipped ones are: only these say SKIP.
        if status == "notrun" and not is_skipped(case):
            status = "fail"
        counts[status] = counts.get(status, 0) + 1
    return counts["run"], counts["fail"], counts["notrun"] + counts["disabled"]


def is_skipped(case):
    skipped = case.find("skipped")
    return skipped is not None and "SKIP_" in skipped.get("message", "")


def reason(case):
    """What a skipped test said of it: its last line that speaks of skipping, else its last."""
    if case.get("status") == "disabled":
        return "disabled"
    lines = [line.strip() for line in (case.findtext("system-out") or "").splitlines() if line.strip()]
    told = [line for line in lines if re.search("skip", line, re.I)]
    return (told or lines or ["it does not say why"])[-1][:200]


def skipped_tests(junit):
    """Name and reason of each skipped test."""
    return [(case.get("name"), reason(case)) for case in ElementTree.parse(junit).getroot().iter("testcase")
            if case.get("status") == "disabled" or (case.get("status") == "notrun" and is_skipped(case))]


def main():
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        junit = os.path.join(folder, "junit.xml")
        status = subprocess.call(["ctest", "--output-junit", junit] + sys.argv[1:])
        try:
            passed, failed, skipped = count(junit)
            missed = skipped_tests(junit)
        except (OSError, ElementTree.ParseError) as error:
            print(f"ctest left no readable result: {error}", file=sys.stderr)
            passed, failed, skipped = 0, 1, 0
    if not passed and not failed:
        print("no test ran", file=sys.stderr)
        status = status or 1
    sys.stderr.flush()
    for name, why in missed:
        print(f"skipped: {name}: {why}")
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return status or (1 if failed else 0)


sys.exit(main())
