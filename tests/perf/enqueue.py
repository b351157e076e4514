#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions that Kymo adds to a kernel, from its enqueue to its record.

bench_cl runs under callgrind on the fake driver, recorded; what counts is what Kymo's own library
executes, with the records of the calls: of an enqueue with a finish every hundred, of one with its
finish, and of both where calls are counted (mode summary), which must not be more. The baseline is
enqueue.json.

Exit status: 0 within the tolerance, 1 not, 77 cannot be measured here (says why).
"""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import baseline  # noqa: E402
import kymotest  # noqa: E402

KINDS = {"batch": ("batch", []), "kernels": ("kernels", []),
         "batch_summary": ("batch", ["--mode", "summary"]),
         "kernels_summary": ("kernels", ["--mode", "summary"])}
FEW, MANY = 1000, 4000
WARM = 1.1  # bench_cl runs a tenth as many before
TOLERANCE = 0.05  # a look at all queues every 50 ms is in it


def instructions(o, kind, rounds):
    what, options = KINDS[kind]
    with kymotest.Folder() as tmp:
        baseline.run([o.kymo, "run", "--no-summary", "--no-compress", *options, "-o", f"{tmp}/t.kymo", "--",
                      *baseline.callgrind(f"{tmp}/out", o.program, what, str(rounds))], timeout=300,
                     env=kymotest.environment(KYMO_CLOCK="tsc", OCL_ICD_VENDORS=o.driver, OCL_ICD_FILENAMES=o.driver))
        return baseline.own_cost(f"{tmp}/out")


def measure(o):
    return {kind: round((instructions(o, kind, MANY) - instructions(o, kind, FEW)) / ((MANY - FEW) * WARM), 1)
            for kind in KINDS}


def counting_is_dearer(_, counts):
    bad = [kind for kind in ("batch", "kernels") if counts[kind + "_summary"] > counts[kind]]
    for kind in bad:
        print(f"{kind}: counted calls cost more than recorded ones")
    return bad


def main():
    parser = baseline.parser(__doc__)
    parser.add_argument("kymo")
    parser.add_argument("program", help="bench_cl")
    parser.add_argument("driver")
    return baseline.test(parser.parse_args(), "enqueue.json", measure, TOLERANCE, counting_is_dearer)


if __name__ == "__main__":
    sys.exit(main())
