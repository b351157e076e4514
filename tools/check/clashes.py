#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Functions and variables of one name that two parts of one program define: the linker takes the first and says nothing.

    clashes.py BUILD [--all]

A part is an object, or an object of a static library; what BUILD, a folder of ninja's, links together is in its build.ninja. The
linker complains of two objects that it takes, not of an object in a library that it passes over since the name is known already.
With --all what is
intended is told, too. Exit status: 1 if there is one that INTENDED does not have, or INTENDED has one that there is not."""
import collections
import os
import re
import subprocess
import sys

# Two definitions on purpose: (what links them, the name) as regular expressions, and why. The first in the order of linking counts.
INTENDED = [
    ("bin/test_jit", "cap_sample_place", "the test asks what would be sampled, not the recording of samples"),
]
LINK = re.compile(r"^build ([^|:]+?)(?: \|[^:]*)?: (?:C|CXX)_(?:EXECUTABLE|SHARED_LIBRARY|SHARED_MODULE|MODULE_LIBRARY)_LINKER\S* (.*)$")
KINDS = set("TDBRCS")  # neither weak nor local


def links(build):
    """(what is linked, the objects and static libraries that it is made of)."""
    with open(os.path.join(build, "build.ninja"), encoding="utf-8") as f:
        for line in f:
            found = LINK.match(line)
            if found:
                words = found[2].replace("$ ", " ").split()
                yield found[1].split()[0], sorted({w for w in words if w.endswith((".o", ".a"))})


def definitions(build, files):
    """What each file defines: {file: {name: [member]}}; a file that is not there defines nothing."""
    out = {name: collections.defaultdict(set) for name in files}
    there = [name for name in files if os.path.exists(os.path.join(build, name))]
    for at in range(0, len(there), 500):
        told = subprocess.run(["nm", "-A", "-g", "--defined-only", *there[at:at + 500]], cwd=build, capture_output=True, text=True, check=True).stdout
        for line in told.splitlines():
            words = line.split()
            if len(words) == 3 and words[1] in KINDS:
                place, _, _ = words[0].rpartition(":")
                name, _, member = place.partition(":")
                out[name][words[2]].add(member)
    return out


def clashes(build):
    """{(name, the parts that define it): what links them}."""
    linked = list(links(build))
    known = definitions(build, sorted({part for _, parts in linked for part in parts}))
    found = collections.defaultdict(set)
    for target, parts in linked:
        where = collections.defaultdict(set)
        for part in parts:
            for symbol, members in known[part].items():
                where[symbol] |= {f"{part}:{m}" if m else part for m in members}
        for symbol, places in where.items():
            if len(places) > 1:
                found[symbol, tuple(sorted(places))].add(target)
    return len(linked), found


def main():
    build = os.path.abspath(sys.argv[1])
    intended = [] if "--all" in sys.argv else INTENDED
    count, found = clashes(build)
    used, problems = set(), []
    for (symbol, places), targets in sorted(found.items()):
        left = set()
        for target in targets:
            reasons = [i for i, (where, name, _) in enumerate(intended) if re.fullmatch(where, target) and re.fullmatch(name, symbol)]
            used.update(reasons)
            if not reasons:
                left.add(target)
        if left:
            problems.append(f"{symbol} is defined by {' and '.join(places)}, linked together in {', '.join(sorted(left)[:3])}"
                            + (f" and {len(left) - 3} more" if len(left) > 3 else ""))
    problems += [f"INTENDED has {where}, {name}: there is none" for i, (where, name, _) in enumerate(intended) if i not in used]
    if not count:
        problems.append(f"{build}: ninja links nothing")
    print("\n".join(problems + [f"{count} programs and libraries, {len(found)} names defined twice, {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
