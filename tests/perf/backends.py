#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts what Kymo adds to calls of backends whose wrappers are not generated, and to work of devices.

CUDA through a fake of its driver (cuda.c), a table of functions (table.c): what counts is what Kymo's
own libraries execute on the program's thread and where CUPTI delivers, recorded, without arguments, and counted
(mode summary). And what is told besides calls (work.c): recorded, recorded in mode summary, and counted in a rank
of a job. Mode summary must never be dearer than mode default.
"""
import glob
import os
import re
import sys

import baseline
import kymotest

FEW, MANY = 1024, 3072  # CUPTI delivers every 512
TOLERANCE = 0.03
# Where its count lies in the job's table depends on numbers of the process: 256, 267, 280 and 283 were seen of one program.
# Likewise 491, 503 and 509 of a kernel, 507, 519 and 525 of a copy.
WIDER = {"work wait job": 0.12, "work kernel job": 0.06, "work copy job": 0.06}
# Marks compare their text with the one before: near the end of a page the C library's strcmp() takes 11 instructions more.
WIDER.update({f"work {what} {mode}": 0.06 for what in ("mark", "range") for mode in ("default", "summary", "job")})
MODES = {"default": [], "bare": ["--args", "none"], "summary": ["--mode", "summary"]}
CALLS = [("cuda", scene, mode) for scene in ("call", "copy", "launch", "extended") for mode in ("default", "summary")]
CALLS += [("cuda", "call", "bare")]
CALLS += [("table", shape, mode) for shape in ("values", "many", "out", "text") for mode in ("default", "summary")]
CALLS += [("table", "values", "bare"), ("table", "chatty", "default"), ("table", "paused", "default")]
WORK = ("kernel", "copy", "wait", "allocation", "message", "mark", "range")
COUNTED = {"summary": "default", "job": "default"}


def counts_here(path):
    """Of the threads: the program's, and those on which records of work are delivered; not who looks now and then."""
    if path.endswith("-01"):
        return True
    with open(path, encoding="utf-8", errors="replace") as f:
        return re.search(r"fn=\(\d+\) cuda_buffer_complete$", f.read(), re.MULTILINE) is not None


def recorded(o, program, scene, mode, rounds):
    with kymotest.Folder() as tmp:
        out = os.path.join(tmp, "out")
        baseline.run([o.kymo, "run", "--no-summary", "--no-compress", *MODES[mode], "-o", os.path.join(tmp, "t.kymo"),
                      "--", *baseline.callgrind(out, "--separate-threads=yes", getattr(o, program), scene,
                                                str(rounds))],
                     env=kymotest.environment(KYMO_CLOCK="tsc", KYMO_CUPTI=o.cupti), timeout=300)
        return sum(baseline.own_cost(path) for path in glob.glob(out + "-*") if counts_here(path))


def worked(o, mode, what, rounds):
    with kymotest.Folder() as tmp:
        return baseline.collected(baseline.run(
            baseline.callgrind(os.path.join(tmp, "out"), o.work, mode, what, str(rounds)),
            env=kymotest.environment(KYMO_CLOCK="tsc"), timeout=300))


def each(count):
    return round((count(MANY) - count(FEW)) / (MANY - FEW), 1)


def measure(o):
    counts = {}
    for program, scene, mode in CALLS:
        counts[f"{program} {scene} {mode}"] = each(lambda n, c=(program, scene, mode): recorded(o, *c, n))
    for what in WORK:
        for mode in ("default", "summary", "job"):
            counts[f"work {what} {mode}"] = each(lambda n, c=(mode, what): worked(o, *c, n))
    return counts


def dearer(o, counts):
    """What is counted and costs more than its record; the same code differs by an instruction or two from run to run."""
    bad = []
    for kind, cost in counts.items():
        what, mode = kind.rsplit(" ", 1)
        if mode in COUNTED and cost > 1.01 * counts[f"{what} {COUNTED[mode]}"] + 2:
            print(f"{kind}: {cost} instructions, more than the {counts[f'{what} {COUNTED[mode]}']} of mode "
                  f"{COUNTED[mode]}")
            bad.append(kind)
    return bad


def main():
    p = baseline.parser(__doc__)
    for name in ("kymo", "cuda", "cupti", "table", "work"):
        p.add_argument(name)
    o = p.parse_args()
    return baseline.test(o, "backends.json", measure, TOLERANCE, dearer, WIDER)


if __name__ == "__main__":
    sys.exit(main())
