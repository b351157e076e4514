#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Summary, info and SQL say the same of one trace: records by thread and domain, overhead, what gave way.

    same_numbers.py KYMO ANNOTATED OCL_MANY OPENMP_SOURCE"""
import json
import math
import os
import re
import sqlite3
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import check, must  # noqa: E402

KYMO, ANNOTATED, OCL_MANY, OPENMP = map(os.path.abspath, sys.argv[1:5])
LLVM = ["/usr/lib/llvm-%d" % n for n in (21, 20, 19, 18)]
# Tables of records that the programs here make; `loss` and the tallies are no records.
RECORDS = ("call", "dispatch", "copy", "allocation", "sync", "comm", "activity", "marker", "sample")


def query(trace, sql):
    return kymotest.query(KYMO, trace, sql)


def quality(trace):
    tables = json.loads(must(KYMO, "summary", "-f", "json", trace))["tables"]
    return [t["rows"][0] for t in tables if t["name"] == "quality"][0]


def rows_by_thread(trace):
    every = " UNION ALL ".join(f"SELECT thread FROM {table}" for table in RECORDS)
    return {r["thread"]: r["n"] for r in query(trace, f"SELECT thread, count(*) AS n FROM ({every}) GROUP BY 1")}


def compare(name, trace, overwritten=False):
    raw = quality(trace) # from the raw files: no store is there yet
    info = must(KYMO, "info", trace)
    threads = query(trace, "SELECT id, tid, records FROM threads ORDER BY id")
    rows = rows_by_thread(trace)
    check(f"{name}: SQL's threads and its records", {t["id"]: t["records"] for t in threads},
          {t["id"]: rows.get(t["id"], 0) for t in threads})
    told = [(int(tid), int(n)) for tid, n in re.findall(r"^  (\d+) of \d+ .* (\d+) records?", info, re.M)]
    check(f"{name}: info's threads", told, [(t["tid"], t["records"]) for t in threads])
    check(f"{name}: info's sum", int(re.search(r"^Records +(\d+)", info, re.M).group(1)), sum(rows.values()))
    check(f"{name}: there are records", sum(rows.values()) > 0, True)
    stored = quality(trace)
    cost = query(trace, "SELECT sum(measured_ns) AS ns, sum(variance_ns2) AS variance, sum(waiting_ns) AS waiting, "
                        "sum(beside_ns) AS beside, sum(loading_ns) AS loading FROM overhead")[0]
    parts = query(trace, "SELECT sum(calls_cost_ns + overhead_ns + loading_ns + record_cost_ns * (SELECT count(*) FROM "
                         "marker m JOIN thread t ON t.id = m.thread WHERE t.process = p.id)) AS ns, min(loading_ns) AS "
                         "loading, min(beside_ns) AS own FROM process p WHERE id > 0")[0]
    check(f"{name}: overhead is the sum of its parts", round(parts["ns"], 1), round(cost["ns"], 1))
    check(f"{name}: Kymo was loaded, its threads have run", (parts["loading"] > 0, parts["own"] > 0), (True, True))
    for what, q in (("raw", raw), ("stored", stored)):
        # The summary tells the middle of low and high, where low is no less than 0.
        spread = 2 * math.sqrt(cost["variance"])
        check(f"{name}: high overhead, {what}", round(q["overhead_high_ns"] - spread, 1), round(cost["ns"], 1))
        check(f"{name}: waiting and beside, {what}",
              (round(q["overhead_waiting_ns"], 1), round(q["overhead_beside_ns"], 1)),
              (round(cost["waiting"], 1), round(cost["beside"], 1)))
        check(f"{name}: loading, {what}", round(q["overhead_loading_ns"], 1), round(cost["loading"], 1))
    counts = query(trace, "SELECT sum(overwritten_records) AS overwritten, sum(lost_records) AS lost FROM process")[0]
    found = re.search(r"^  overwritten records +(\d+)", info, re.M)
    check(f"{name}: overwritten in info, summary, SQL",
          (int(found.group(1)) if found else 0, stored["overwritten_records"]), (counts["overwritten"],) * 2)
    check(f"{name}: some gave way", counts["overwritten"] > 0, overwritten)
    gaps = re.search(r"^  gaps of missing chunks +(\d+)", info, re.M)
    check(f"{name}: gaps in info and summary", int(gaps.group(1)) if gaps else 0, stored["unmeasured_gaps"])
    check(f"{name}: lost", (stored["lost_records"], int(re.search(r"^  lost records +(\d+)", info, re.M).group(1))),
          (counts["lost"],) * 2)


def forked(trace):
    """A child has what it did itself; only exec() loads Kymo once more."""
    loaded = query(trace, "SELECT p.loading_ns > 0 AS loaded, count(*) AS n FROM process p WHERE id > 0 GROUP BY 1")
    check("fork: loaded", {r["loaded"]: r["n"] for r in loaded}, {0: 2, 1: 2})
    line = [l for l in must(KYMO, "summary", trace).splitlines() if l.startswith("Overhead: ")][0]
    check("fork: loading is told", " of it to load Kymo" in line, True)


def at_once_over(trace):
    """A program that does nothing: what Kymo needed to be loaded, to begin and to end is in the whole of which its share is told."""
    row, = query(trace, "SELECT calls_cost_ns + overhead_ns + loading_ns AS cost, end - start + loading_ns AS whole "
                        "FROM process WHERE id > 0")
    share = 100 * row["cost"] / row["whole"]
    check("true: of the whole", 0 < share < 100, True)
    for table, pattern in (("quality", r"in the program's threads, ([0-9.]+) % of their time"),
                           ("processes", r"overhead at least [^;]*\(([0-9.]+) %\)")):
        told = re.search(pattern, " ".join(must(KYMO, "summary", "--tables", table, trace).split()))
        check(f"true: the share below {table}", abs(float(told.group(1)) - share) <= 0.5, True)
    check("true: it has no queue", "given profiling" in must(KYMO, "summary", trace), False)


def half_nanoseconds(trace):
    """The clocks' errors are half the width of a comparison: one number in text and table."""
    store = os.path.join(trace, "store.db")
    query(trace, "SELECT 1")
    with sqlite3.connect(store) as db:
        db.execute("UPDATE process SET clock_error_ns = 30.5 WHERE id > 0")
    db.close()
    check("half: the digest's notes", re.findall(r"host within (\S+ \S+)[,.]", must(KYMO, "summary", store)), ["31 ns"])
    check("half: the table", re.findall(r"host clock error +(.*)", must(KYMO, "summary", "--tables", "quality", store)),
          ["31 ns"])


def record(folder, name, command, *options, **more):
    trace = os.path.join(folder, name + ".kymo")
    must(KYMO, "run", "--no-summary", *options, "-o", trace, "--", *command, **more)
    return trace


def openmp(folder):
    """A program whose main thread has records after its end is told; None: no compiler for it."""
    for llvm in LLVM:
        compiler, lib = os.path.join(llvm, "bin", "clang"), os.path.join(llvm, "lib")
        if os.path.exists(compiler) and os.path.exists(os.path.join(lib, "libomp.so")):
            program = os.path.join(folder, "openmp")
            must(compiler, "-O1", "-fopenmp", OPENMP, "-o", program, "-L" + lib)
            return record(folder, "openmp", [program],
                          env=dict(os.environ, LD_LIBRARY_PATH=lib, OMP_NUM_THREADS="2"))
    return None


with kymotest.Folder() as folder:
    trace = record(folder, "opencl", [ANNOTATED])
    if not query(trace, "SELECT 1 FROM dispatch LIMIT 1"):
        print("skipped: no OpenCL device here")
        sys.exit(77)
    trace = record(folder, "opencl", [ANNOTATED], "-f")
    compare("opencl", trace)
    half_nanoseconds(trace)
    at_once_over(record(folder, "true", ["true"], "-b", "posix"))
    compare("overwrite", record(folder, "overwrite", [OCL_MANY, "--threads", "2", "--queues", "1", "--kernels", "20000"],
                                "--on-full", "overwrite", "--buffer-size", "1M"), overwritten=True)
    forked(record(folder, "forked", [os.path.join(os.path.dirname(OCL_MANY), "ocl_fork")]))
    trace = openmp(folder)
    if trace:
        compare("openmp", trace)
    else:
        print("without OpenMP: no clang with its runtime here (packages clang-19 and libomp-19-dev)")
sys.exit(1 if kymotest.wrong else 0)
