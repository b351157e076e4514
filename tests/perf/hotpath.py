#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions of the hot path under callgrind and compares them with baseline.json.

Exit status: 0 within the tolerance, 1 not, 77 cannot be measured here (says why).
"""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import baseline  # noqa: E402
import kymotest  # noqa: E402

KINDS = ["plain", "unwanted", "left_out", "summary", "traced", "activity", "counted", "range"]
FEW, MANY = 1000, 5000
TOLERANCE = 0.03
WIDER = {"range": 0.06}  # its text is compared: near the end of a page strcmp() takes 11 instructions more


def instructions(program, kind, calls):
    with kymotest.Folder() as tmp:
        return baseline.collected(baseline.run(baseline.callgrind(f"{tmp}/out", program, kind, str(calls)),
                                               env=kymotest.environment(KYMO_CLOCK="tsc")))


def measure(o):
    return {kind: round((instructions(o.program, kind, MANY) - instructions(o.program, kind, FEW)) / (MANY - FEW), 1)
            for kind in KINDS}


def main():
    parser = baseline.parser(__doc__)
    parser.add_argument("program")
    return baseline.test(parser.parse_args(), "baseline.json", measure, TOLERANCE, wider=WIDER)


if __name__ == "__main__":
    sys.exit(main())
