#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names of kernels as they were written, and with --mangled as the linker has them: mangled.py KYMO KYMO_SYNTH"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import check, must, run  # noqa: E402

KYMO, SYNTH = map(os.path.abspath, sys.argv[1:3])
NAMES = {"_Z3addPfi": "add(float*, int)", "_Z3addPdi": "add(double*, int)", "plain": "plain", "_Znonsense": "_Znonsense"}


def summary(*words):
    tables = json.loads(must(KYMO, "summary", "-f", "json", "--tables", "kernels", *words, "t.kymo"))["tables"]
    return {r["op"]: r["calls"] for t in tables for r in t["rows"]}


def chrome(*words):
    events = json.loads(must(KYMO, "export", "--to", "chrome", "-o", "-", *words, "t.kymo"))["traceEvents"]
    return {e["name"] for e in events if e.get("cat") == "kernel"}


def sql(question, *words):
    return [tuple(r.values()) for r in json.loads(must(KYMO, "query", "-f", "json", *words, "t.kymo", question))]


with kymotest.Folder() as folder:
    os.chdir(folder)
    subprocess.run([SYNTH, "timed", "t.kymo"], check=True, text=True, input="".join(
        f"kernel {name} 64 {1000 * (i + 1)} 100 1 {i + 1} 10\n" for i, name in enumerate(NAMES)) + "end 20000\n")
    counts = dict(zip(NAMES, range(1, 5)))
    check("written", summary(), {NAMES[n]: c for n, c in counts.items()})
    check("mangled", summary("--mangled"), counts)
    check("chosen by the linker's name", summary("--mangled", "-k", "^_Z3addPd"), {"_Z3addPdi": 2})
    check("chosen by the written name", summary("-k", "add[(]double"), {"add(double*, int)": 2})
    check("that is not there then", run(KYMO, "summary", "--mangled", "-k", "add[(]double", "t.kymo").returncode, 2)
    check("timeline", (chrome(), chrome("--mangled")), (set(NAMES.values()), set(NAMES)))
    show = must(KYMO, "show", "--mangled", "t.kymo")
    check("show", [n for n in NAMES if n not in show] + [n for n in ("add(", "(double") if n in show], [])
    kernels = "SELECT name, count(*) FROM kernels GROUP BY 1 ORDER BY 2"
    check("query", sql(kernels), [(NAMES[n], c) for n, c in counts.items()])
    check("query --mangled", sql(kernels, "--mangled"), list(counts.items()))
    check("query again", sql(kernels), [(NAMES[n], c) for n, c in counts.items()])
    check("both", dict(sql("SELECT kernel_name, display_name FROM kernel_symbols")), NAMES)
    os.chdir("/")
sys.exit(1 if kymotest.wrong else 0)
