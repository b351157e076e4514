#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the benchmarks and prints one table: value, what it is compared with, ratio, mark.

Nothing here passes or fails: figures of a shared machine are for reading. Every comparison is
made within this run, with the two sides taking turns. What is missing is left out with the reason.
"""
import argparse
import datetime
import json
import os
import platform
import sys

import parts


def machine():
    model = "unknown processor"
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        for line in f:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    load = os.getloadavg()[0]
    return (f"{model}, {os.cpu_count()} cores, Linux {platform.release()}, "
            f"load before {load:.2f}, {datetime.date.today()}")


def print_table(rows):
    head = ("quantity", "value", "compared with", "ratio", "mark", "")
    table = [head] + [r.cells() for r in rows]
    widths = [max(len(row[i]) for row in table) for i in range(len(head))]
    for row in table:
        print("  ".join(c.ljust(w) for c, w in zip(row, widths)).rstrip())


def main():
    names = [p.__name__ for p in parts.ALL]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build/release", help="build folder")
    parser.add_argument("--scratch", help="where traces go (default: memory, if there is room)")
    parser.add_argument("--seconds", type=float, default=10, help="length of sustained runs")
    parser.add_argument("--pairs", type=int, default=15, help="sets of OpenCL programs that take turns")
    parser.add_argument("--json", help="write the rows to this file as well")
    parser.add_argument("--commands", action="store_true", help="print every command that is run")
    parser.add_argument("part", nargs="*", help=f"only these: {' '.join(names)}")
    o = parser.parse_args()
    for name in o.part:
        if name not in names:
            parser.error(f"no part '{name}'; there are {' '.join(names)}")
    print(machine())
    rows = []
    with parts.Bench(o) as bench:
        for part in parts.ALL:
            if not o.part or part.__name__ in o.part:
                print(f"... {part.__name__}", file=sys.stderr, flush=True)
                rows += part(bench)
        print(f"traces in {bench.scratch}; commands of the last run of each kind:" if o.commands
              else "(--commands prints what was run)")
        if o.commands:
            for command in bench.commands:
                print(f"  {command}")
    print()
    print_table(rows)
    if o.json:
        with open(o.json, "w", encoding="utf-8") as f:
            json.dump([r.__dict__ for r in rows], f, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
