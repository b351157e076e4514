#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs ctest and ends with one line "N passed, N failed[, N skipped]": ctest-summary.py [--shares FILE] ARGS...

Before it a line for each skipped test says why it was skipped, and with a FILE, to which shares.py has added what came before the tests,
tables say what took the time. ARGS are ctest's. The counts come from ctest's JUnit file. Exit status: ctest's own; 1 if that is 0
and yet a test failed or no test ran at all."""
import os
import re
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree

sys.dont_write_bytecode = True
import shares  # noqa: E402  (beside this file)

TEST_ENDED = re.compile(r" *\d+/\d+ +Test +#\d+: (\S+) .*?([0-9.]+) sec")


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


def spent(pid):
    """Processor seconds of the tests that ctest has waited for, and of what they waited for."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


def run(argv):
    """Runs ctest and passes on what it prints. Returns its status and rows of its tests for shares.py: what the processors did since
    the last test's end is said of the one that ends."""
    rows, before = [], 0.0
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, errors="replace", bufsize=1) as ctest:
        for line in ctest.stdout:
            sys.stdout.write(line)
            sys.stdout.flush()
            ended = TEST_ENDED.match(line)
            if ended:
                now = spent(ctest.pid)
                rows.append(("test", ended[1], float(ended[2]), now - before))
                before = now
    return ctest.returncode, rows


def tell_shares(path, rows, wall, busy):
    """Adds the tests to what `path` has and prints it; nothing that goes wrong here fails a check."""
    try:
        shares.add(path, [("step", f"tests ({busy})", wall, sum(row[3] for row in rows))] + rows)
        shares.print_table(path)
    except (OSError, ValueError) as error:
        print(f"no table of what the time went to: {error}", file=sys.stderr)


def main():
    missed, args, path = [], sys.argv[1:], None
    if args[:1] == ["--shares"]:
        path, args = args[1], args[2:]
    start, since = time.monotonic(), shares.ticks()
    with tempfile.TemporaryDirectory() as folder:
        junit = os.path.join(folder, "junit.xml")
        status, rows = run(["ctest", "--output-junit", junit] + args)
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
    if path:
        tell_shares(path, rows, time.monotonic() - start, shares.busy(since))
    for name, why in missed:
        print(f"skipped: {name}: {why}")
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return status or (1 if failed else 0)


sys.exit(main())
