#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mode summary counts what mode default records: the same calls and errors by function.

    summary_mode.py KYMO FOLDER PROGRAM...

Programs that call many functions need more tallies than one chunk of memory holds.
"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402

from traced import Checks


def counts(kymo, trace):
    """Calls, errors and whether the times hold together, by domain and function."""
    out = subprocess.run([kymo, "summary", "--format", "json", trace], check=True,
                         capture_output=True, text=True).stdout
    rows = {}
    for table in json.loads(out)["tables"]:
        for row in table["rows"]:
            if "op" in row and "calls" in row:
                rows[table["name"], row["op"]] = row
    return rows


def record(kymo, mode, trace, program):
    kymotest.remove(trace, missing_ok=True)
    subprocess.run([kymo, "run", "--no-summary", "--include", ".*", "--mode", mode, "-o", trace, "--", program],
                   check=True, capture_output=True)
    text = subprocess.run([kymo, "summary", trace], check=True, capture_output=True, text=True).stdout
    if ": ." in " ".join(text.split()):
        sys.exit(f"{trace}: a sentence without its end: {text[:800]}")
    return counts(kymo, trace)


def main():
    kymo, folder = sys.argv[1:3]
    checks = Checks()
    most = 0
    os.makedirs(folder, exist_ok=True)
    for program in sys.argv[3:]:
        name = os.path.basename(program)
        recorded = record(kymo, "default", f"{folder}/{name}-default.kymo", program)
        tallied = record(kymo, "summary", f"{folder}/{name}-summary.kymo", program)
        most = max(most, len(tallied))
        for what in ("calls", "errors"):
            checks.equal_counts(f"{name} {what}", {k: r.get(what, 0) for k, r in tallied.items()},
                                {k: r.get(what, 0) for k, r in recorded.items()})
        for key, row in tallied.items():
            if row["min_ns"] is None:  # device work that has no times
                continue
            checks.equal(f"{name} {key} times", row["calls"] * row["min_ns"] <= row["time_ns"] * 1.001
                         and row["time_ns"] <= row["calls"] * row["max_ns"] * 1.001 + 1000, True)
    checks.equal("a program calls more than 12 functions", most > 12, True)
    return checks.status(60)


if __name__ == "__main__":
    sys.exit(main())
