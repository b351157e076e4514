#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Objects that were never released, by the line that made them, and the rule about them: objects.py KYMO PROGRAM."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import expect  # noqa: E402

KYMO, PROGRAM = map(os.path.abspath, sys.argv[1:3])
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "objects_program.c")
LINES = {m[1]: n for n, line in enumerate(open(SOURCE, encoding="ascii"), 1) if (m := re.search(r"/\* line: (\w+)", line))}
NAMES = {n: name for name, n in LINES.items()}


def named(site):
    return NAMES[int(site.rpartition(":")[2])] if ":" in site else None


def record(folder, how, *options):
    trace = f"{folder}/{how}{len(options)}.kymo"
    kymotest.must(KYMO, "run", "--no-summary", *options, "-o", trace, PROGRAM, how)
    return trace


def objects(trace, *words):
    out = kymotest.must(KYMO, "summary", "-f", "json", *words, trace)
    rows = [r for t in json.loads(out)["tables"] if t["name"] == "objects" for r in t["rows"]]
    return [(r["kind"], named(r["site"]), r["alive"], r["created"], r["released"]) for r in rows]


def findings(trace):
    out = kymotest.must(KYMO, "diagnose", "-f", "json", trace)
    return [f for f in json.loads(out)["findings"] if f["rule"] == "object-leak"]


FOUND = {("OpenCL kernel", "second", 4, 5, 1), ("OpenCL kernel", "first", 3, 3, 0),
         ("OpenCL queue", "queue", 1, 1, 0), ("OpenCL sampler", "sampler", 1, 1, 0)}

# What is alive and was retained, and what each line has of it.
COUNTED = {"OpenCL kernel": (7, 2), "OpenCL event": (50, 5)}
WITH = {"first": 3, "second": 4, "event": 50, "write": 0}

with kymotest.Folder() as folder:
    full = record(folder, "leaks", "--mode", "full")
    got = objects(full)
    expect(got[0] == ("OpenCL event", "event", 50, 100, 50), got)
    expect(set(got[1:]) == FOUND and got[1][2] == 4, got)
    (finding,) = findings(full)
    expect(finding["count"] == 50 and f"objects_program.c:{LINES['event']}" in json.dumps(finding), finding)
    # Where releases and references are only counted it is known how many there are at least, less the references.
    default = record(folder, "leaks")
    got = objects(default)
    expect({r for r in FOUND if r[0] not in COUNTED} == {r for r in got if r[0] not in COUNTED}, got)
    for kind, (alive, kept) in COUNTED.items():
        rows = [r for r in got if r[0] == kind]
        expect(sum(r[2] for r in rows) == alive - kept, got)
        expect(all(r[2] <= WITH.get(r[1], alive) for r in rows), got)
    for options in (), ("--mode", "full"):
        clean = record(folder, "clean", *options)
        expect(objects(clean) == [] and findings(clean) == [], objects(clean), findings(clean))
    both = kymotest.must(KYMO, "summary", "--tables", "objects", full, default)
    expect(both.count("OpenCL sampler") == 2, both)
    # A part of the run says nothing of what is alive.
    expect(objects(full, "--after", "50%") == [], "of a part")
    print("ok")
