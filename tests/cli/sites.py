#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The summary by call site, stack, library, kernel and grid: two processes, two devices of one name, and
lines whose number of calls is known.

Usage: sites.py KYMO PROGRAM SOURCE
"""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import check  # noqa: E402

KYMO, PROGRAM, SOURCE = map(os.path.abspath, sys.argv[1:4])
PROCESSES = 2
# Calls by each line for each device of each process; the function that has the line.
LAUNCHES = {"wide": ("work", 3), "narrow": ("more", 5), "library": ("more", 7), "nccl": ("more", 2), "tensile": ("more", 1)}


def lines():
    with open(SOURCE, encoding="utf-8") as f:
        return {m.group(1): n for n, line in enumerate(f, 1) if (m := re.search(r"/\* site (\w+) \*/", line))}


def kymo(*words):
    return kymotest.must(KYMO, *words, stdin=subprocess.DEVNULL)


def tables(trace, *words):
    return {t["name"]: t["rows"] for t in json.loads(kymo("summary", "-f", "json", *words, trace))["tables"]}


def counts(rows, *keys):
    out = {}
    for r in rows:
        key = tuple(r[k] for k in keys)
        out[key if len(keys) > 1 else key[0]] = out.get(key if len(keys) > 1 else key[0], 0) + r["calls"]
    return out


def site(at, name):
    return f"{LAUNCHES[name][0]} sites_program.c:{at[name]}"


def by_site(trace, at, times, stacks):
    """Work is at the line that submitted it; what a library has launched is the line's that called it, where that is known."""
    found = tables(trace, "--by", "site,op")
    wanted = {site(at, n): c * times for n, (_, c) in LAUNCHES.items()}
    if not stacks:
        wanted["library_launch sites_library.c:11"] = wanted.pop(site(at, "library"))
    check("kernels", counts(found["kernels"], "site"), wanted)
    mine = {k: v for k, v in counts(found["opencl"], "site", "op").items() if k[1] == "clEnqueueNDRangeKernel"}
    check("calls", mine, {(k, "clEnqueueNDRangeKernel"): v for k, v in wanted.items()})
    write = f"copies sites_program.c:{at['write']}"
    (copy,) = found["copies"]
    check("copies", (copy["site"], copy["calls"], copy["bytes"]), (write, 4 * times, 4 * times * 4096))
    waits = counts(found["waiting"], "site", "op")
    check("waits", (waits[write, "blocking"], waits[f"work sites_program.c:{at['finish']}", "queue"]), (4 * times, times))
    leaks = {r["site"]: r for r in found["allocations"] if "forget" in r["site"]}
    check("allocations", {k: (r["allocations"], r["bytes"]) for k, r in leaks.items()},
          {f"forget sites_program.c:{at['leak']}": (2 * PROCESSES, 2000 * PROCESSES),
           f"forget sites_program.c:{at['large']}": (PROCESSES, 5000 * PROCESSES)})
    check("builds", [r["site"].split(":")[0] for r in found["code_object"]], ["main sites_program.c"])
    sql = kymotest.query(KYMO, trace, "SELECT function, file, line, count(*) AS n, sum(duration) AS ns FROM regions GROUP BY 1, 2, 3")
    check("every call, by SQL", {(r["site"], r["calls"], r["time_ns"]) for r in tables(trace, "--by", "site")["opencl"]} if not stacks else 0,
          {(f"{r['function']} {os.path.basename(r['file'])}:{r['line']}", r["n"], r["ns"]) for r in sql} if not stacks else 0)


def leaks(trace, at):
    """What was never freed, by the line that allocated it; what was freed is not there."""
    wanted = {f"forget sites_program.c:{at['leak']}": (2, 2000), f"forget sites_program.c:{at['large']}": (1, 5000)}
    rows = tables(trace)["leaks"]
    check("leaks", [(r["site"], r["op"], r["allocations"], r["bytes"]) for r in rows],
          [(k, "buffer", n * PROCESSES, b * PROCESSES) for k, (n, b) in sorted(wanted.items(), key=lambda x: -x[1][1])])
    rows = tables(trace, "--by", "process")["leaks"]
    check("leaks by process", sorted((r["site"], r["allocations"], r["bytes"]) for r in rows),
          sorted((k, n, b) for k, (n, b) in wanted.items() for _ in range(PROCESSES)))
    sql = kymotest.query(KYMO, trace, "SELECT sum(bytes) AS b, min(a.time) AS first FROM allocation a JOIN op o ON o.id = a.op WHERE o.name = 'allocate' "
                                      "AND NOT EXISTS (SELECT 1 FROM allocation f JOIN op p ON p.id = f.op JOIN thread t ON t.id = f.thread "
                                      "JOIN thread u ON u.id = a.thread WHERE p.name = 'free' AND f.allocation = a.allocation AND t.process = u.process)")
    check("leaks by SQL", (sum(r["bytes"] for r in rows), min(r["first_ns"] for r in rows)), (sql[0]["b"], sql[0]["first"]))
    kept = kymotest.query(KYMO, trace, "SELECT sum(allocations) AS n, sum(bytes) AS b, sum(site = 0) AS nowhere FROM tally_leak")
    check("leaks in the store", [tuple(r.values()) for r in kept], [(sum(r["allocations"] for r in rows), sql[0]["b"], 0)])


def by_stack(trace, at, times, stacks):
    rows = counts(tables(trace, "--by", "stack")["kernels"], "stack")
    wanted = {}
    for n, (_, c) in LAUNCHES.items():
        key = site(at, n) if stacks or n != "library" else "library_launch sites_library.c:11"
        wanted[key] = c * times
    short = {k.split(" < ")[0]: v for k, v in rows.items()}
    check("kernels by stack", short, wanted)
    tails = {re.sub(r":\d+$", "", k.split(" < ", 1)[1]) for k in rows if " < " in k}
    check("what is around them", tails, {"main sites_program.c"} if stacks else set())


def by_library(trace, times):
    found = tables(trace, "--by", "library")
    check("kernels by library", counts(found["kernels"], "library"),
          {"(the program)": 8 * times, "cuBLAS": 7 * times, "NCCL": 2 * times, "rocBLAS": times})
    check("copies by library", counts(found["copies"], "library"), {"(the program)": 4 * times})
    check("kernels of libraries by their names", {r["op"]: r["library"] for r in tables(trace)["kernels"]},
          {"mine": None, "ncclDevKernel_Sum": "NCCL", "Cijk_Ailk": "rocBLAS"})
    both = counts(tables(trace, "--by", "library,kernel")["kernels"], "library", "kernel")
    check("library and kernel", both, {("(the program)", "mine"): 8 * times, ("cuBLAS", "mine"): 7 * times,
                                       ("NCCL", "ncclDevKernel_Sum"): 2 * times, ("rocBLAS", "Cijk_Ailk"): times})


def by_grid(trace, times):
    found = tables(trace, "--by", "kernel,grid")
    check("tables by grid", {"opencl", "copies", "waiting", "allocations", "kernels", "memory", "queues"} & set(found), {"kernels"})
    check("kernels and grids", counts(found["kernels"], "kernel", "grid"),
          {("mine", "(4,2,1) x (16,2,1)"): 3 * times, ("mine", "(3,1,1) x (32,1,1)"): 5 * times, ("mine", "(8,1,1) items"): 7 * times,
           ("ncclDevKernel_Sum", "(96,1,1) items"): 2 * times, ("Cijk_Ailk", "(96,1,1) items"): times})
    sql = kymotest.query(KYMO, trace, "SELECT name, grid_x, grid_y, workgroup_x AS w, sum(duration) AS ns FROM kernels GROUP BY 1, 2, 3, 4")
    check("times by SQL", sorted(r["time_ns"] for r in found["kernels"]), sorted(r["ns"] for r in sql))


def by_all(trace, times):
    """Words together, and with those that tallies know."""
    rows = tables(trace, "--by", "process,device,site,stack,library,grid,kernel,scope")["kernels"]
    check("all words", (sum(r["calls"] for r in rows), len({r["process"] for r in rows})), (18 * times, PROCESSES))
    whole = tables(trace)["kernels"]
    check("time", sum(r["time_ns"] for r in rows), sum(r["time_ns"] for r in whole))


def main():
    os.environ["POCL_DEVICES"] = "pthread pthread"
    at = lines()
    with kymotest.Folder() as folder:
        for name, words in (("plain", ()), ("stacks", ("--stacks=clEnqueueNDRange",))):
            trace = os.path.join(folder, name + ".kymo")
            out = kymo("run", "--no-summary", *words, "-o", trace, "sh", "-c", f"'{PROGRAM}' & '{PROGRAM}'; wait")
            devices = [int(n) for n in out.split()]
            check("processes", len(devices), PROCESSES)
            if devices != [2, 2] and not kymotest.wrong:
                kymotest.skip("the first OpenCL platform is no PoCL that makes two devices")
            times = sum(devices)
            for store in (False, True):
                by_site(trace, at, times, bool(words))
                by_stack(trace, at, times, bool(words))
                leaks(trace, at)
                by_library(trace, times)
                by_grid(trace, times)
                by_all(trace, times)
                if not store:
                    kymotest.query(KYMO, trace, "SELECT 1")
    print("%d failed" % len(kymotest.wrong))
    sys.exit(1 if kymotest.wrong else 0)


main()
