#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Samples of threads in kernels that PoCL runs on the processor, by lines of their source: kernel_lines.py KYMO PROGRAM."""
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import check, must  # noqa: E402

KYMO, PROGRAM = map(os.path.abspath, sys.argv[1:3])
TURNS = "4000"
HOT = {"heat": (5, "for (int i = 0; i < n; i++) x = x / (x * x + 1.0f) + 1.5f;"),
       "melt_workgroup": (12, "for (int i = 0; i < n; i++) x = x / (x * x + 2.0f) + 2.5f;")}


def tables(trace):
    return {t["name"]: t for t in json.loads(must(KYMO, "summary", "--tables", "functions,kernel_lines", "-f", "json", trace))["tables"]}


def recorded(folder, name, flags):
    trace, cache = os.path.join(folder, name + ".kymo"), os.path.join(folder, name)
    env = kymotest.environment(POCL_CACHE_DIR=cache, POCL_EXTRA_BUILD_FLAGS=flags)
    built = kymotest.run(PROGRAM, "1", env=env)  # the compiler is not sampled
    if built.returncode == 77 or not any(f.endswith(".so") for _, _, files in os.walk(cache) for f in files):
        kymotest.skip("the first OpenCL platform is no PoCL with a processor: " + built.stderr)
    done = kymotest.run(KYMO, "run", "-f", "--no-summary", "--sample=997", "-o", trace, "--", PROGRAM, TURNS, env=env)
    if done.returncode == 2:
        kymotest.skip(done.stdout + done.stderr)
    check(f"{name}: status", done.returncode, 0)
    return trace


def functions(trace, table):
    """Kernels have the names of their dispatches, in tables and in flame graphs."""
    found = {r["function"]: r["samples"] for r in table["rows"]}
    check("functions", set(HOT) <= set(found), True)
    check("no names of PoCL's", [f for f in found if "_pocl_kernel" in f], [])
    tops = {line.rpartition(" ")[0].split(";")[-1] for line in must(KYMO, "export", "--to", "folded", "-o", "-", trace).splitlines()}
    check("on top of stacks", set(HOT) <= tops, True)
    return found


def instructions(trace):
    table = next(t for t in json.loads(must(KYMO, "summary", "--tables", "kernel_instructions", "-f", "json", trace))["tables"])
    return table["rows"], must(KYMO, "summary", "--tables", "kernel_instructions", trace)


def check_instructions(folder, trace, found):
    """Beside each line the machine code, as objdump has it of the object in PoCL's cache."""
    rows, text = instructions(trace)
    check("all have a text", [r for r in rows if not r["instruction"]], [])
    check("hottest first", [r["samples"] for r in rows], sorted((r["samples"] for r in rows), reverse=True))
    total = sum(found[n] for n in HOT)
    check("of all samples", [round(r["percent"], 3) for r in rows], [round(100 * r["samples"] / total, 3) for r in rows])
    check("the line", all(r["line"] == f"{r['kernel']}.cl:{HOT[r['kernel']][0]}" for r in rows[:2]), True)
    check("in the summary it does not stand by itself", "Instructions of kernels" in must(KYMO, "summary", trace), False)
    if shutil.which("objdump"):
        known = {}
        for path, _, files in os.walk(os.path.join(folder, "lines")):
            for f in files:
                if f.endswith(".so"):
                    said = subprocess.run(["objdump", "-d", "-M", "intel", "--no-show-raw-insn", os.path.join(path, f)], capture_output=True, text=True, check=True).stdout
                    known[f[:-3]] = dict(re.findall(r"^ +([0-9a-f]+):\t(\S+)", said, re.MULTILINE))
        check("where objdump has them", [r for r in rows if r["address"][2:] not in known[r["kernel"]]], [])
        others = [r for r in rows if r["instruction"].split()[0] != known[r["kernel"]].get(r["address"][2:])]
        check(f"as objdump has it, but for a few that it calls by other names: {others}", 5 * len(others) < len(rows), True)
    os.rename(os.path.join(folder, "lines"), os.path.join(folder, "moved"))
    without, text = instructions(trace)
    check("without the cache", [(r["kernel"], r["address"], r["samples"], r["instruction"]) for r in without],
          [(r["kernel"], r["address"], r["samples"], None) for r in rows])
    check("the reason", f"text of {len(rows)} instructions N/A: PoCL's cache does not have" in text, True)


def main():
    with kymotest.Folder() as folder:
        trace = recorded(folder, "lines", "-g -cl-opt-disable")
        both = tables(trace)
        found, table = functions(trace, both["functions"]), both["kernel_lines"]
        of = {name: [r for r in table["rows"] if r["kernel"] == name] for name in HOT}
        for name, (line, source) in HOT.items():
            top, samples = of[name][0], sum(r["samples"] for r in of[name])
            check(f"{name}: enough", samples > 30, True)
            check(f"{name}: the line", (top["line"], top["source"]), (f"{name}.cl:{line}", source))
            check(f"{name}: its share", top["samples"] >= 0.9 * samples, True)
            check(f"{name}: all samples", samples, found[name])
        shares = sum(r["percent"] for r in table["rows"])
        check_instructions(folder, trace, found)
        check("shares", abs(shares - 100) < 0.1 * len(table["rows"]), True)

        trace = recorded(folder, "plain", "")
        both = tables(trace)
        found, table = functions(trace, both["functions"]), both["kernel_lines"]
        check("without lines", {(r["kernel"], r["line"], r["source"], r["samples"]) for r in table["rows"]},
              {(name, None, None, found[name]) for name in HOT})
        check("what to do", f"{sum(found[n] for n in HOT)} samples have no line: run with POCL_EXTRA_BUILD_FLAGS"
              in must(KYMO, "summary", "--tables", "kernel_lines", trace), True)


main()
sys.exit(1 if kymotest.wrong else 0)
