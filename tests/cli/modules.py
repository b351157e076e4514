#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names of code in libraries that were opened late and by relative paths, closed, and replaced by another one at the same address, in
programs that end or are killed: modules.py KYMO PROGRAM FOLDER."""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import expect  # noqa: E402

KYMO, PROGRAM, FOLDER = map(os.path.abspath, sys.argv[1:4])
CALLS = {"first_calls": 3, "second_calls": 5, "first_more": 7}


def record(trace, how, what, *options):
    p = subprocess.run([KYMO, "run", "--no-summary", *options, "-o", trace, PROGRAM, how, what], cwd=FOLDER, stdin=subprocess.DEVNULL, capture_output=True,
                       text=True, timeout=100, check=False)
    expect(p.returncode == (0 if how == "exit" else -9), how, p)
    return p.stdout.split()


def tables(trace, *words):
    return {t["name"]: t["rows"] for t in json.loads(kymotest.must(KYMO, "summary", "-f", "json", *words, trace, stdin=subprocess.DEVNULL))["tables"]}


def calls(trace, how):
    opened, same = record(trace, how, "calls", "--backends", "posix", "--stacks=^open$")
    expect(int(opened) == sum(CALLS.values()), opened)
    modules = kymotest.query(KYMO, trace, "SELECT path, count(*) AS n FROM module WHERE path LIKE '%modules\\_%.so' ESCAPE '\\' GROUP BY path")
    expect({m["path"]: m["n"] for m in modules} == {f"{FOLDER}/modules_first.so": 2, f"{FOLDER}/modules_second.so": 1} or same == "0", how, modules)
    stacks = [re.findall(r"(\w+) modules_\w+\.c:\d+", r["stack"]) + [r["calls"]] for r in tables(trace, "--by", "stack,op")["posix"] if r["op"] == "open"]
    expect(sorted(stacks) == sorted(["open_files", f, "use", "main", n] for f, n in CALLS.items()), how, stacks)
    return same == "1"


def functions(trace, how, what):
    record(trace, how, what, "--sample=200")
    return {(r["function"], r["module"]): r["samples"] for r in tables(trace)["functions"]}


def samples(trace, how):
    rows = functions(trace, how, "burn")
    expect(rows.get(("first_burn", "modules_first.so"), 0) >= 10, how, rows)


def vdso(trace):
    """The code that the kernel maps, if it maps any; of some kernels' it has functions beside those that have names."""
    rows = functions(trace, "exit", "clock")
    mapped = kymotest.query(KYMO, trace, "SELECT path FROM module WHERE path LIKE 'linux-vdso%'")
    found = {f: n for (f, m), n in rows.items() if m.startswith("linux-vdso") and n}
    expect(not mapped or any("clock_gettime" in f for f in found) and all("clock_gettime" in f or f == "(no name)" for f in found), rows)


with kymotest.Folder() as folder:
    at_one_place = [calls(f"{folder}/calls-{how}.kymo", how) for how in ("exit", "kill")]
    expect(any(at_one_place), "libraries never lay where another one had been")
    for end in ("exit", "kill"):
        samples(f"{folder}/burn-{end}.kymo", end)
    vdso(f"{folder}/clock.kymo")
    print("ok")
