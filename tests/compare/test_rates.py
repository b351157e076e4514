#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How often `kymo compare` is wrong, over made runs whose noise is known: calls that differ as a lognormal
distribution, that depend on the one before, that come in two kinds, that drift over the run, and runs that
differ among each other. Of pairs of one program at most 5 % may be told of, a kernel that is 5 % slower must
be found in 90 %, and the intervals must hold the truth as often as they say.

    test_rates.py KYMO KYMO_SYNTH [PAIRS [RUNS...]]

The seeds are fixed: it says the same on every machine, however busy."""
import math
import os
import sys

import made
from made import MODELS, kernels, seeded, times

from kymotest import Folder

CENTRES = {"a": 50000, "b": 30000, "c": 20000, "d": 8000}
SLOWER, BETWEEN, CALLS = 1.05, 0.01, 48


def one_run(m, pair, side, run, slower):
    model = MODELS[pair % len(MODELS)]
    chance = seeded("rates", pair, side, run)
    heat = math.exp(chance.gauss(0, 0.005))  # what all that a run does has in common
    values = {k: times(chance, model, c * heat * (slower if k == "a" else 1), CALLS, BETWEEN)
              for k, c in CENTRES.items()}
    return m.trace(kernels(values))


def told(rows):
    return ["%s %s" % (r["item"], r["verdict"]) for t in ("items", "runs") for r in rows[t].values()
            if r["verdict"] in ("slower", "faster", "more", "less")]


def held(rows, truth):
    """Of how many intervals of calls, and how many of them hold the true change."""
    n = hold = 0
    for (item, per), r in rows["items"].items():
        if per == "call" and r["low_percent"] is not None:
            true = 100 * (truth if item == "kernel a" else 0)
            n += 1
            hold += r["low_percent"] <= true <= r["high_percent"]
    return n, hold


def judge(m, pairs, runs):
    """The rates of sets of so many runs; the line of the table."""
    wolves = found = others = n = hold = 0
    for pair in range(pairs):
        sides = [[one_run(m, pair, side, run, SLOWER if side == "slower" else 1) for run in range(runs)]
                 for side in ("a", "same", "slower")]
        _, _, rows = m.compare(sides[0], sides[1])
        wolves += bool(told(rows))
        one = held(rows, 0)
        status, _, rows = m.compare(sides[0], sides[2])
        found += "kernel a slower" in told(rows) and status == 1
        others += any(t.split()[0:2] != ["kernel", "a"] and t.startswith("kernel") for t in told(rows))
        two = held(rows, SLOWER - 1)
        n, hold = n + one[0] + two[0], hold + one[1] + two[1]
    print("| %d | %d of %d (%.1f %%) | %d of %d (%.0f %%) | %d | %d of %d (%.1f %%) |" %
          (runs, wolves, pairs, 100 * wolves / pairs, found, pairs, 100 * found / pairs, others, hold, n,
           100 * hold / n), flush=True)
    return wolves / pairs, found / pairs, hold / n


def main():
    pairs = int(sys.argv[3]) if len(sys.argv) > 3 else 40
    sets = list(map(int, sys.argv[4:])) or [8]
    print("%d pairs; kernel a slower by %.0f %%; runs differ by %.1f %%" %
          (pairs, 100 * SLOWER - 100, 100 * math.hypot(BETWEEN, 0.005)))
    print("| runs a side | same program: told of | slower kernel found | another kernel told of | "
          "95 % intervals that hold the truth |")
    print("|---|---|---|---|---|")
    bad = []
    with Folder() as folder:
        m = made.Maker(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), folder)
        for runs in sets:
            wolves, found, cover = judge(m, pairs, runs)
            if wolves > 0.05:
                bad.append("%d runs: more than 5 %% are told of, of one program" % runs)
            if runs >= 8 and found < 0.9:
                bad.append("%d runs: fewer than 90 %% are found" % runs)
            if cover < 0.92:
                bad.append("%d runs: intervals are too narrow" % runs)
    print("\n".join(bad))
    sys.exit(1 if bad else 0)


main()
