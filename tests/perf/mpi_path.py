#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions of recorded MPI calls under callgrind, as hotpath.py does of others.

The programs call an MPI that does next to nothing (fake_mpi.c), so that what is counted is Kymo's. Besides
the baselines: a transfer must not cost more the more are under way, one handle for all or one for each.
In every run the records are counted, so that nothing gets cheaper by not being recorded.

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

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import hotpath  # noqa: E402
import kymotest  # noqa: E402

# Calls and messages of a round.
WHAT = {"rank": (1, 0), "exchange": (3, 2), "same": (1, 1), "distinct": (1, 1)}
FEW, MANY = 1000, 4000
UNDER_WAY = (100, 10000)
MORE = 1.25  # a transfer may cost at the larger of UNDER_WAY; it would be 100 if it were looked for one by one


def run_kymo(kymo, *arguments):
    run = subprocess.run([kymo, *arguments], capture_output=True, text=True, env=kymotest.environment(KYMO_CLOCK="tsc"))
    if run.returncode != 0:
        sys.exit(f"kymo {' '.join(arguments)}: exit status {run.returncode}\n{run.stderr}")
    return run


def check_counts(kymo, trace, what, rounds, batch):
    """What was called is recorded, or counted as lost."""
    tables = {t["name"]: t["rows"] for t in json.loads(run_kymo(kymo, "summary", "-f", "json", trace).stdout)["tables"]}
    lost = tables["quality"][0]["lost_records"]
    calls, messages = (sum(row["calls"] for row in tables.get(name, ())) for name in ("mpi", "messages"))
    expected = [rounds * n for n in WHAT[what]]
    expected[0] += rounds // batch if what in ("same", "distinct") else 0
    expected[0] += 2  # MPI_Init and MPI_Finalize
    if lost or [calls, messages] != expected:
        sys.exit(f"{what}: {calls} calls and {messages} messages are recorded, made were {expected}; lost: {lost}")


def instructions(o, program, what, rounds, batch, options):
    with kymotest.Folder() as tmp:
        trace = f"{tmp}/t.kymo"
        command = ["run", "--no-summary", "--no-compress", "-o", trace, *options, "--", "valgrind", "--tool=callgrind",
                   f"--callgrind-out-file={tmp}/out", program, what, str(rounds), str(batch)]
        run = run_kymo(o.kymo, *command)
        check_counts(o.kymo, trace, what, rounds, batch)
        found = re.search(r"Collected : (\d+)", run.stderr)
        if not found:
            sys.exit(f"valgrind printed no count:\n{run.stderr}")
        return int(found.group(1))


def of_one(o, program, what, few, many, batch, options=()):
    more = instructions(o, program, what, many, batch, options) - instructions(o, program, what, few, batch, options)
    return round(more / (many - few), 1)


def measure(o, name, program):
    summary = ["--mode", "summary"]
    return {f"mpi.{name}.rank": of_one(o, program, "rank", FEW, MANY, 1000),
            f"mpi.{name}.exchange": of_one(o, program, "exchange", FEW, MANY, 1000),
            f"mpi.{name}.exchange.summary": of_one(o, program, "exchange", FEW, MANY, 1000, summary)}


def grows(o, name, program):
    """True: it costs more the more are under way."""
    bad = False
    for what in ("same", "distinct"):
        few, many = (of_one(o, program, what, max(n, FEW), 2 * max(n, FEW), n) for n in UNDER_WAY)
        verdict = "ok" if many <= MORE * few else "MORE"
        print(f"mpi.{name}.{what}: {few:.1f} instructions where {UNDER_WAY[0]} are under way, "
              f"{many:.1f} where {UNDER_WAY[1]} are  {verdict}")
        bad = bad or verdict != "ok"
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="make the present counts the baseline")
    parser.add_argument("--compiler", required=True, help="for example gcc-12")
    parser.add_argument("--kymo", required=True)
    parser.add_argument("name", help="of the implementation whose mpi.h the program was built with")
    parser.add_argument("program")
    o = parser.parse_args()
    if not shutil.which("valgrind"):
        hotpath.skip("valgrind is not installed")
    if platform.machine() != "x86_64":
        hotpath.skip(f"the baselines are for x86_64, not {platform.machine()}")
    with open(hotpath.BASELINE, encoding="utf-8") as f:
        expected = json.load(f).get(o.compiler)
    if not expected and not o.write:
        hotpath.skip(f"no baseline for {o.compiler} in {hotpath.BASELINE}; --write adds one")
    counts = measure(o, o.name, o.program)
    if o.write:
        hotpath.write(o.compiler, counts)
        return 0
    bad = hotpath.compare(counts, expected)
    if bad:
        print(f"changed: {', '.join(bad)}. If that is meant: tests/perf/mpi_path.py --write --kymo {o.kymo} "
              f"--compiler {o.compiler} {o.name} {o.program}")
    return 1 if grows(o, o.name, o.program) or bad else 0


if __name__ == "__main__":
    sys.exit(main())
