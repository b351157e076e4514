#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions that Kymo adds to a kernel, from its enqueue to its record.

bench_cl runs under callgrind on the fake driver, recorded; what counts is what Kymo's own library
executes, with the records of the calls: of an enqueue with a finish every hundred, of one with its
finish, and of both where calls are counted (mode summary), which must not be more. As hotpath.py it
compares with a baseline for each compiler (enqueue.json), and `--write` makes a new one.

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

BASELINE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "enqueue.json")
KINDS = {"batch": ("batch", []), "kernels": ("kernels", []),
         "batch_summary": ("batch", ["--mode", "summary"]),
         "kernels_summary": ("kernels", ["--mode", "summary"])}
FEW, MANY = 1000, 4000
WARM = 1.1  # bench_cl runs a tenth as many before
TOLERANCE = 0.05  # a look at all queues every 50 ms is in it


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def own_cost(path):
    """Instructions by Kymo's libraries, from callgrind's file: lines of cost of their objects."""
    names, cost, mine, called = {}, 0, False, False
    with open(path, encoding="utf-8", errors="replace") as f:
        for line in f:
            found = re.match(r"ob=\((\d+)\)(?: (.*))?", line)
            if found:
                if found.group(2):
                    names[found.group(1)] = "libkymo" in os.path.basename(found.group(2))
                mine = names.get(found.group(1), False)
            elif line.startswith("cob="):  # of the function that is called; it may be the first
                found = re.match(r"cob=\((\d+)\) (.*)", line)
                if found:
                    names[found.group(1)] = "libkymo" in os.path.basename(found.group(2))
            elif line.startswith("calls="):
                called = True  # the next line is what the call cost
            elif line[0] in "+-*0123456789":
                if mine and not called:
                    cost += int(line.split()[1])
                called = False
    return cost


def instructions(o, kind, rounds):
    what, options = KINDS[kind]
    with tempfile.TemporaryDirectory() as tmp:
        command = [o.kymo, "run", "--no-summary", "--no-compress", *options, "-o",
                   os.path.join(tmp, "t.kymo"), "--", "valgrind", "--tool=callgrind",
                   f"--callgrind-out-file={tmp}/out", o.program, what, str(rounds)]
        run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300,
                             env=dict(os.environ, KYMO_CLOCK="tsc", OCL_ICD_VENDORS=o.driver,
                                      OCL_ICD_FILENAMES=o.driver))
        if run.returncode != 0:
            sys.exit(f"{' '.join(command)}: exit status {run.returncode}\n{run.stderr}")
        return own_cost(os.path.join(tmp, "out"))


def measure(o):
    counts = {}
    for kind in KINDS:
        more = instructions(o, kind, MANY) - instructions(o, kind, FEW)
        counts[kind] = round(more / ((MANY - FEW) * WARM), 1)
    return counts


def compare(counts, expected):
    bad = []
    for kind in KINDS:
        now, then = counts[kind], expected[kind]
        verdict = "ok" if abs(now - then) <= TOLERANCE * then else "MORE" if now > then else "FEWER"
        print(f"{kind:16} {now:8.1f} instructions, baseline {then:8.1f}  {verdict}")
        if verdict != "ok":
            bad.append(kind)
    for kind in ("batch", "kernels"):
        if counts[kind + "_summary"] > counts[kind]:
            print(f"{kind}: counted calls cost more than recorded ones")
            bad.append(kind + "_summary")
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="make the present counts the baseline")
    parser.add_argument("--compiler", required=True, help="for example gcc-12")
    parser.add_argument("kymo")
    parser.add_argument("program", help="bench_cl")
    parser.add_argument("driver")
    o = parser.parse_args()
    if not shutil.which("valgrind"):
        skip("valgrind is not installed")
    if platform.machine() != "x86_64":
        skip(f"the baselines are for x86_64, not {platform.machine()}")
    with open(BASELINE, encoding="utf-8") as f:
        baseline = json.load(f)
    if o.compiler not in baseline and not o.write:
        skip(f"no baseline for {o.compiler} in {BASELINE}; --write adds one")
    counts = measure(o)
    if o.write:
        baseline[o.compiler] = counts
        with open(BASELINE, "w", encoding="utf-8") as f:
            json.dump(baseline, f, indent=2, sort_keys=True)
            f.write("\n")
        print(f"{BASELINE}: {o.compiler}: {counts}")
        return 0
    bad = compare(counts, baseline[o.compiler])
    if bad:
        print(f"changed: {', '.join(bad)}. If that is meant: tests/perf/enqueue.py --write "
              f"--compiler {o.compiler} {o.kymo} {o.program} {o.driver}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
