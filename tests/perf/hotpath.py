#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions of the hot path under callgrind and compares them with baseline.json.

Time on a shared machine says little; instruction counts do not depend on who else is running.
They do depend on the compiler, so there is a baseline for each. `--write` makes the present
counts the baseline (run it when a change is meant to alter them, and say why in the commit).

Exit status: 0 within the tolerance, 1 not, 77 cannot be measured here (says why).
"""
import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
BASELINE = os.path.join(HERE, "baseline.json")
KINDS = ["plain", "unwanted", "left_out", "summary", "traced", "activity", "counted", "range"]
FEW, MANY = 1000, 5000
TOLERANCE = 0.03  # and at least one instruction


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def instructions(program, kind, calls):
    """All instructions of a run, by every thread."""
    with tempfile.TemporaryDirectory() as tmp:
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={tmp}/out", program,
                   kind, str(calls)]
        run = subprocess.run(command, capture_output=True, text=True,
                             env=dict(os.environ, KYMO_CLOCK="tsc"))
        if run.returncode != 0:
            sys.exit(f"{' '.join(command)}: exit status {run.returncode}\n{run.stderr}")
        found = re.search(r"Collected : (\d+)", run.stderr)
        if not found:
            sys.exit(f"valgrind printed no count:\n{run.stderr}")
        return int(found.group(1))


def measure(program):
    counts = {}
    for kind in KINDS:
        more = instructions(program, kind, MANY) - instructions(program, kind, FEW)
        counts[kind] = round(more / (MANY - FEW), 1)
    return counts


def compare(counts, expected):
    bad = []
    for kind, now in counts.items():
        then = expected[kind]
        slack = max(1.0, TOLERANCE * then)
        verdict = "ok" if abs(now - then) <= slack else "MORE" if now > then else "FEWER"
        print(f"{kind:10} {now:8.1f} instructions, baseline {then:8.1f}  {verdict}")
        if verdict != "ok":
            bad.append(kind)
    return bad


def write(compiler, counts):
    with open(BASELINE, encoding="utf-8") as f:
        baseline = json.load(f)
    baseline.setdefault(compiler, {}).update(counts)
    with open(BASELINE, "w", encoding="utf-8") as f:
        json.dump(baseline, f, indent=2, sort_keys=True)
        f.write("\n")
    print(f"{BASELINE}: {compiler}: {counts}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="make the present counts the baseline")
    parser.add_argument("--compiler", required=True, help="for example gcc-12")
    parser.add_argument("program")
    o = parser.parse_args()
    if not shutil.which("valgrind"):
        skip("valgrind is not installed")
    if platform.machine() != "x86_64":
        skip(f"the baselines are for x86_64, not {platform.machine()}")
    with open(BASELINE, encoding="utf-8") as f:
        baseline = json.load(f)
    if o.compiler not in baseline and not o.write:
        skip(f"no baseline for {o.compiler} in {BASELINE}; --write adds one")
    counts = measure(o.program)
    if o.write:
        write(o.compiler, counts)
        return 0
    bad = compare(counts, baseline[o.compiler])
    if bad:
        print(f"changed: {', '.join(bad)}. If that is meant: tests/perf/hotpath.py --write "
              f"--compiler {o.compiler} {o.program}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
