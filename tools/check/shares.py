#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the time of a check goes to: setup, build and its folders, tests by group, the slowest tests; and when what it leaves out last ran.

    shares.py step FILE NAME COMMAND...    run it, add its seconds to FILE (tab-separated: kind, name, wall, processor)
    shares.py build FILE FOLDER            add what ninja's last run in FOLDER made, by folder
    shares.py table FILE                   print the tables

A test's seconds come from ctest-summary.py, which calls add(). Processor seconds are of what was waited for: those of
drains, which outlive what started them, are missing. Exit status: the command's."""
import collections
import os
import re
import subprocess
import sys
import time

import ran  # (beside this file)

SLOWEST = 15


def add(path, rows):
    with open(path, "a", encoding="utf-8") as f:
        f.writelines("\t".join((kind, name, f"{wall:.2f}", f"{processor:.2f}")) + "\n" for kind, name, wall, processor in rows)


def ticks():
    """All that processors did, and what of it was nothing."""
    with open("/proc/stat", encoding="utf-8") as f:
        fields = [int(x) for x in f.readline().split()[1:9]]
    return sum(fields), fields[3] + fields[4]


def busy(since):
    """What part of the processors' time was used, by anybody, since ticks()."""
    total, idle = (now - then for now, then in zip(ticks(), since))
    return f"processors {100 * (total - idle) // total if total else 0} % busy"


def step(path, name, command):
    start, before, since = time.monotonic(), os.times(), ticks()
    status = subprocess.call(command)
    after = os.times()
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    add(path, [("step", f"{name} ({busy(since)})", time.monotonic() - start, after.children_user + after.children_system
                - before.children_user - before.children_system)])
    return status


def built(log, folder):
    """Seconds and outputs by folder of ninja's last run, from its log: a command that makes several is there once for each."""
    last, commands = -1, {}
    seconds, count = collections.Counter(), collections.Counter()
    for line in log:
        field = line.split("\t")
        if len(field) != 5:
            continue
        begin, end = int(field[0]), int(field[1])
        if end < last:  # ninja writes in the order of ends: another run begins
            commands.clear()
        last = end
        commands[(begin, end, field[4])] = field[3]
    for (begin, end, _), output in commands.items():
        place = os.path.relpath(os.path.join(folder, re.sub(r"CMakeFiles/[^/]+\.dir/", "", output)), folder)
        group = "generated code" if "gen" in place.split("/") and not place.endswith(".o") else "/".join(os.path.dirname(place).split("/")[:2])
        seconds[group] += (end - begin) / 1000
        count[group] += 1
    return [("build", f"{group} ({count[group]} steps)", spent, 0) for group, spent in seconds.most_common()]


def group_of(test):
    words = test.split(".")
    return ".".join(words[:2]) if words[0] == "cli" and len(words) > 2 else words[0]


def rows_of(lines, kind):
    for line in lines:
        field = line.rstrip("\n").split("\t")
        if len(field) == 4 and field[0] == kind:
            yield field[1], float(field[2]), float(field[3])


def print_rows(title, rows):
    if rows:
        print(f"\n{title:44} {'wall s':>8} {'proc. s':>8}")
        for name, wall, processor in rows:
            print(f"{name:44} {wall:8.1f} " + (f"{processor:8.1f}" if processor else f"{'':8}"))


def by_group(tests, of=group_of):
    groups = collections.defaultdict(lambda: [0, 0.0, 0.0])
    for name, wall, processor in tests:
        for i, x in enumerate((1, wall, processor)):
            groups[of(name)][i] += x
    rows = [(f"{name} ({n})", wall, processor) for name, (n, wall, processor) in groups.items()]
    return sorted(rows, key=lambda row: -row[1])


def small_as_one(rows, share=0.01):
    """Rows of less than `share` of all together as one."""
    least = share * sum(wall for _, wall, _ in rows)
    small = [row for row in rows if row[1] < least]
    big = [row for row in rows if row[1] >= least]
    return big + ([(f"{len(small)} others", sum(r[1] for r in small), sum(r[2] for r in small))] if small else [])


def print_table(path):
    with open(path, encoding="utf-8") as f:
        lines = f.readlines()
    tests = sorted(rows_of(lines, "test"), key=lambda row: -row[1])
    steps = list(rows_of(lines, "step"))
    print_rows("what the time went to", steps + [("all of it", sum(s[1] for s in steps), sum(s[2] for s in steps))])
    print_rows("building, by folder (seconds of its steps)", small_as_one(list(rows_of(lines, "build"))))
    print_rows("tests, by group (number)", small_as_one(by_group(tests)))
    print_rows(f"the {SLOWEST} slowest tests", tests[:SLOWEST])
    print()
    ran.table()
    print(flush=True)


def main():
    what, path, *rest = sys.argv[1:]
    if what == "step":
        return step(path, rest[0], rest[1:])
    if what == "build":
        with open(os.path.join(rest[0], ".ninja_log"), encoding="utf-8") as f:
            add(path, built(f, os.path.abspath(rest[0])))
    elif what == "table":
        print_table(path)
    else:
        sys.exit(__doc__)
    return 0


if __name__ == "__main__":
    sys.exit(main())
