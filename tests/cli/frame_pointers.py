#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Flame graphs of a program that was built without frame pointers and with them are the same: frame_pointers.py KYMO WITHOUT WITH."""
import collections
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import check, expect, must  # noqa: E402

KYMO, *PROGRAMS = map(os.path.abspath, sys.argv[1:4])
# Of the main thread's turns, by who calls the loop.
SHARES = {"deep(int)": 0.4, "Grid::~Grid()": 0.3, "compare(void const*, void const*)": 0.2, "solve()": 0.1}


def clean(frames):
    names = [name.replace("(anonymous namespace)::", "") for name in frames]
    return tuple(name for name in names if name != "[kernel]")


def folded(trace):
    """Weights of stacks from the thread's first function on."""
    found = collections.Counter()
    for line in must(KYMO, "export", "-f", "--to", "folded", "-o", "-", trace).splitlines():
        stack, weight = re.fullmatch(r"(.*) (\d+)", line).groups()
        found[clean(stack.split(";")[2:])] += int(weight)
    return found


def speedscope(trace):
    document = json.loads(must(KYMO, "export", "-f", "--to", "speedscope", "-o", "-", trace))
    found = collections.Counter()
    for profile in document["profiles"]:
        for stack, weight in zip(profile["samples"], profile["weights"]):
            found[clean(document["shared"]["frames"][frame]["name"] for frame in stack)] += weight
    return found


def large(stacks):
    """Of the program's own stacks those with a fortieth of the whole: the least has a fourteenth, some 50 samples."""
    whole = sum(stacks.values())
    return {stack for stack, weight in stacks.items() if weight >= whole / 40 and {"main", "other(void*)"} & set(stack)}


def sampled(trace, program, words):
    must(KYMO, "run", "-f", "--no-summary", "--sample=1000", *words, "-o", trace, "--", program)
    stacks = folded(trace)
    check("speedscope", set(speedscope(trace)), set(stacks))
    return stacks


def shares(stacks, interval):
    """Of processor time, within six times what chance makes of them."""
    main = {stack: weight for stack, weight in stacks.items() if "main" in stack and stack[-1] == "burn(unsigned long)"}
    whole = sum(main.values())
    if not whole:
        expect(False, "no samples of the loop below main()", list(stacks))
        return
    for caller, share in SHARES.items():
        found = sum(weight for stack, weight in main.items() if stack[-2] == caller) / whole
        expect(abs(found - share) < 6 * (share * (1 - share) * interval / whole) ** 0.5, caller, found, share, whole)


def main():
    with kymotest.Folder() as folder:
        trace = os.path.join(folder, "t.kymo")
        done = kymotest.run(KYMO, "run", "--no-summary", "--sample", "-o", os.path.join(folder, "can.kymo"), "--", "true")
        if done.returncode == 2:
            kymotest.skip(done.stderr)
        for words in ((), ("--sample-clock", "wall")):
            without, beside = (sampled(trace, program, words) for program in PROGRAMS)
            check(f"{words}: large stacks", large(without), large(beside))
            check("their callers", {stack[-2] for stack in large(without)}, {*SHARES, "other(void*)"})
            check("all of the recursion", {stack.count("deep(int)") for stack in large(without)}, {0, 41})
            for stacks in (without, beside):
                if not words:
                    shares(stacks, 1000000)


main()
sys.exit(1 if kymotest.wrong else 0)
