#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions that Kymo adds to calls and messages of MPI.

The programs run under callgrind and call an MPI that does next to nothing (fake_mpi.c), recorded; what counts is
what Kymo's libraries execute. Besides the baseline, mpi.json: a call that is counted (mode summary) must not cost
more than one that is recorded, and a transfer not more the more are under way, one handle for all or one for each.
In every run the records are counted, so that nothing gets cheaper by not being recorded.

Exit status: 0 within the tolerance, 1 not, 77 cannot be measured here (says why).
"""
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)),
                os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base")]
import baseline  # noqa: E402
import kymotest  # noqa: E402

# Calls and messages of a round.
WHAT = {"rank": (1, 0), "send": (1, 1), "exchange": (3, 2), "same": (1, 1), "distinct": (1, 1)}
SUMMARY = ("--mode", "summary")
FEW, MANY = 1000, 4000
UNDER_WAY = (100, 10000)
MORE = 1.25  # a transfer may cost at the larger of UNDER_WAY; it would be 100 if it were looked for one by one
TOLERANCE = 0.03


def check_counts(o, trace, what, rounds, batch):
    """What was called is recorded, or counted as lost."""
    told = subprocess.run([o.kymo, "summary", "-f", "json", trace], capture_output=True, text=True, check=True,
                          env=kymotest.environment())
    tables = {t["name"]: t["rows"] for t in json.loads(told.stdout)["tables"]}
    lost = tables["quality"][0]["lost_records"]
    found = [sum(row["calls"] for row in tables.get(name, ())) for name in ("mpi", "messages")]
    made = [rounds * n for n in WHAT[what]]
    made[0] += rounds // batch if what in ("same", "distinct") else 0
    made[0] += 2  # MPI_Init and MPI_Finalize
    if lost or found != made:
        sys.exit(f"{what}: {found[0]} calls and {found[1]} messages are recorded, made were {made}; lost: {lost}")


def instructions(o, what, rounds, batch, options):
    with kymotest.Folder() as tmp:
        trace = f"{tmp}/t.kymo"
        baseline.run([o.kymo, "run", "--no-summary", "--no-compress", "-o", trace, *options, "--",
                      *baseline.callgrind(f"{tmp}/out", o.program, what, str(rounds), str(batch))],
                     timeout=300, env=kymotest.environment(KYMO_CLOCK="tsc"))
        check_counts(o, trace, what, rounds, batch)
        return baseline.own_cost(f"{tmp}/out")


def of_one(o, what, few, many, batch, options=()):
    more = instructions(o, what, many, batch, options) - instructions(o, what, few, batch, options)
    return round(more / (many - few), 1)


def measure(o):
    counts = {}
    for what in ("rank", "send", "exchange"):
        counts[f"{o.name}.{what}"] = of_one(o, what, FEW, MANY, 1000)
        counts[f"{o.name}.{what}.summary"] = of_one(o, what, FEW, MANY, 1000, SUMMARY)
    return counts


def dearer(o, counts):
    """What costs more where it is only counted, or the more transfers are under way."""
    bad = [kind for kind in counts if counts.get(f"{kind}.summary", 0) > counts[kind]]
    for kind in bad:
        print(f"{kind}: what is counted costs more than what is recorded")
    for what in ("same", "distinct"):
        few, many = (of_one(o, what, max(n, FEW), 2 * max(n, FEW), n) for n in UNDER_WAY)
        verdict = "ok" if many <= MORE * few else "MORE"
        print(f"{o.name}.{what}: {few:.1f} instructions where {UNDER_WAY[0]} are under way, "
              f"{many:.1f} where {UNDER_WAY[1]} are  {verdict}")
        bad += [what] if verdict != "ok" else []
    return bad


def main():
    parser = baseline.parser(__doc__)
    parser.add_argument("--kymo", required=True)
    parser.add_argument("name", help="of the implementation whose mpi.h the program was built with")
    parser.add_argument("program")
    return baseline.test(parser.parse_args(), "mpi.json", measure, TOLERANCE, dearer)


if __name__ == "__main__":
    sys.exit(main())
