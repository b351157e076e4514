#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts what commands that read traces execute for each call of a trace, of programs of different kinds.

What a call costs is the difference of two sizes, and has a baseline. A second difference, of larger sizes, must be no dearer:
what grows faster than the trace is found whatever the baseline says. bench/growth.py has times and memory.
"""
import os
import sys

import baseline
import kymotest

SIZES = (5000, 20000, 80000)
TOLERANCE = 0.05
LINEAR = 1.25  # logarithms, tables that have outgrown what they began with
KINDS = ("host", "submit", "ranges", "mpi", "ranks", "names")
COMMANDS = {"digest": ["summary", "--tables", "digest"], "all": ["summary", "--all"], "diagnose": ["diagnose"],
            "compare": ["compare"]}


def executed(o, folder, kind, command, calls):
    trace = os.path.join(folder, f"{kind}-{calls}")
    twice = [trace] * (command == "compare")
    if not os.path.isdir(trace):
        baseline.run([o.synth, "growth", trace, kind, str(calls)])
    return baseline.collected(baseline.run(
        baseline.callgrind(os.devnull, o.kymo, *COMMANDS[command], trace, *twice), env=kymotest.environment(), timeout=300))


def measure(o):
    o.steps = {}
    with kymotest.Folder() as folder:
        for kind in KINDS:
            for command in COMMANDS:
                counts = [executed(o, folder, kind, command, n) for n in SIZES]
                o.steps[f"{kind} {command}"] = [(more - less) / (m - n) for less, more, n, m in
                                                zip(counts, counts[1:], SIZES, SIZES[1:])]
    return {kind: round(steps[-1], 1) for kind, steps in o.steps.items()}


def steeper(o, _):
    bad = [kind for kind, (first, then) in o.steps.items() if then > LINEAR * first]
    for kind in bad:
        first, then = o.steps[kind]
        print(f"{kind}: not linear: {first:.1f} instructions a call up to {SIZES[1]} calls, {then:.1f} up to {SIZES[2]}")
    return bad


def main():
    p = baseline.parser(__doc__)
    p.add_argument("kymo")
    p.add_argument("synth")
    return baseline.test(p.parse_args(), "growth.json", measure, TOLERANCE, steeper)


if __name__ == "__main__":
    sys.exit(main())
