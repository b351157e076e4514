#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kernels that are instrumented: instrument.py KYMO OCL_LINES OCL_REPLAY OCL_TWO OCL_ONCE SMALL_GROUPS.

What OCL_LINES does is known by a formula, line by line. All compute the same with and without Kymo."""
import csv
import io
import json
import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import Checks, must  # noqa: E402

KYMO, LINES, REPLAY, TWO, ONCE, SMALL = sys.argv[1:]
N, SIDE, TILES, HITS = 4096, 32, 4, sum(i % 17 / 4 > 2 for i in range(4096))
CUBE, SQUARE = SIDE ** 3, SIDE ** 2
DONE = {  # what each kernel does in all; what is not named is 0
    "copy": {"global_loads": N, "global_stores": N},
    "saxpy": {"global_loads": 2 * N, "global_stores": N, "flops_single": 2 * N},
    "stencil": {"global_loads": 3 * (N - 2), "global_stores": N - 2, "flops_single": 2 * (N - 2)},
    "strided": {"global_loads": N, "global_stores": N},
    "tally": {"global_loads": N, "global_atomics": HITS},
    "grow": {"global_loads": N, "global_stores": N, "flops_single": N},
    "says": {"global_loads": N, "global_stores": N, "flops_single": N},
    "naive": {"global_loads": 2 * CUBE, "global_stores": SQUARE, "flops_single": 2 * CUBE},
    "tiled": {"global_loads": 2 * SQUARE * TILES, "global_stores": SQUARE, "local_loads": 2 * CUBE, "local_stores": 2 * SQUARE * TILES,
              "flops_single": 2 * CUBE, "barriers": 2 * SQUARE * TILES}}
COUNTED = {name for done in DONE.values() for name in done}
checks = Checks()


def record(trace, *words):
    return must(KYMO, "run", "--force", "--no-summary", "-o", trace, *words)


def query(trace, sql):
    return json.loads(must(KYMO, "query", "--format", "json", trace, sql))


def counters(trace):
    out = {}
    for r in query(trace, "SELECT kernel_name, name, value FROM counters WHERE kind = 'dispatch' AND provider = 'instrument'"):
        checks.equal(f"{r['kernel_name']} {r['name']}: once", r["name"] in out.setdefault(r["kernel_name"], {}), False)
        out[r["kernel_name"]][r["name"]] = r["value"]
    return out


def notes(trace):
    return {r["text"]: r["count"] for r in query(trace, "SELECT text, count FROM note WHERE part = 'instrument'")}


def moved(done):
    return 4 * sum(done.get(k, 0) * times for k, times in (("global_loads", 1), ("global_stores", 1), ("global_atomics", 2)))


def check_totals(trace):
    got = counters(trace)
    checks.equal("kernels", sorted(got), sorted(DONE))
    for kernel, done in DONE.items():
        checks.equal(kernel, {k: v for k, v in got[kernel].items() if k in COUNTED}, {k: done.get(k, 0) for k in COUNTED})
        checks.equal(f"{kernel}: bytes", got[kernel]["global_load_bytes"], 4 * done["global_loads"])


def check_metrics(trace):
    report = json.loads(must(KYMO, "kernels", "-f", "json", "--panel", "4", trace))
    got = {(r["kernel"], r["id"]): r["value"] for t in report["tables"] for r in t["rows"]}
    for kernel, done in DONE.items():
        flops = done.get("flops_single", 0)
        checks.equal(f"{kernel}: roofline", [got[kernel, i] for i in ("4.1.2", "4.1.5")], [flops, moved(done)])
        checks.equal(f"{kernel}: intensity {got[kernel, '4.1.8']}", math.isclose(got[kernel, "4.1.8"], flops / moved(done)), True)


def check_lines(trace):
    report = json.loads(must(KYMO, "kernels", "-f", "json", "--panel", "22", trace))
    rows = {(r["kernel"], r["source"]): r for t in report["tables"] for r in t["rows"]}
    wanted = {("tiled", "sum += ta[ly * 8 + k] * tb[k * 8 + lx];"): {"line": 29, "executed": CUBE, "loads": 2 * CUBE, "local_bytes": 8 * CUBE},
              ("tiled", "ta[ly * 8 + lx] = a[y * n + t + lx];"): {"line": 25, "executed": SQUARE * TILES, "global_bytes": 4 * SQUARE * TILES,
                                                                "local_bytes": 4 * SQUARE * TILES},
              ("naive", "for (int k = 0; k < n; k++)"): {"line": 14, "executed": SQUARE * (SIDE + 1), "branches": SQUARE * (SIDE + 1)},
              ("saxpy", "y[i] = a * x[i] + y[i];"): {"line": 8, "executed": N, "flops": 2 * N, "global_bytes": 12 * N},
              ("stencil", "b[i] = a[i - 1] + a[i] + a[i + 1];"): {"line": 38, "executed": N - 2, "flops": 2 * (N - 2)},
              ("tally", "atomic_inc(hits);"): {"line": 47, "executed": HITS, "atomics": HITS, "global_bytes": 8 * HITS}}
    for key, values in wanted.items():
        checks.equal(f"{key}", {k: rows.get(key, {}).get(k) for k in values}, values)
    shown = must(KYMO, "kernels", "--panel", "22", trace)
    checks.equal("of one process its number is not shown", [t for t in shown.splitlines() if "pid" in t.split()], [])
    checks.equal("lines are those of the kernel alone", {r["line"] for k, r in rows.items() if k[0] == "copy"} <= {2, 3}, True)


def check_all(folder, alone):
    trace = folder + "/all"
    checks.equal("the same results", record(trace, "--instrument-kernels", LINES), alone)
    check_totals(trace)
    check_metrics(trace)
    check_lines(trace)
    checks.equal("one dispatch each", [r["n"] for r in query(trace, "SELECT count(*) AS n FROM dispatch GROUP BY kernel")], [1] * len(DONE))
    instead = {r["kernel_name"] for r in query(trace, "SELECT DISTINCT kernel_name FROM kernel_parts WHERE instead")}
    checks.equal("only what prints ran instrumented alone", instead, {"says"})
    said = notes(trace)
    checks.equal("notes", sorted(said.values()), [1, len(DONE) - 1])
    checks.equal("of what prints", any(t.startswith("launches of says ran instrumented and not as they are") and "printf" in t for t in said), True)
    shown = [r["kernel_name"] for r in query(trace, "SELECT DISTINCT kernel_name FROM kernel_parts")]
    checks.equal("kernels with parts", sorted(shown), sorted(DONE))
    selected = must(KYMO, "show", "--kernel", "saxpy", trace)
    checks.equal("selected: its blocks alone", ("saxpy:" in selected, "copy:" in selected), (True, False))


def check_free_groups(folder):
    """The runtime chooses the size of groups."""
    trace = folder + "/free"
    alone = must(LINES, "--group", "1")
    checks.equal("groups of any size: the same results", record(trace, "--instrument-kernels", LINES, "--group", "1"), alone)
    check_totals(trace)


def check_large_groups(folder, alone):
    """A twin needs more registers than the kernel: it is compiled for the groups of the launch."""
    trace = folder + "/large"
    below = ["sh", "-c", 'OPENCL_LAYERS="$0:$OPENCL_LAYERS" exec "$@"', SMALL, LINES]
    checks.equal("few registers: the same results", record(trace, "--instrument-kernels", *below), alone)
    checks.equal("few registers: what prints alone is told", [t for t in notes(trace) if "larger" in t], [])
    check_totals(trace)
    checks.equal("a limit that says nothing", record(trace, "--instrument-kernels", "env", "SMALL_GROUPS=all", *below), alone)
    check_totals(trace)
    record(trace, "--instrument-kernels=copy", *below[:-1], LINES, "--group", "1")  # the runtime chooses: nothing to compile for
    checks.equal("groups that the runtime chooses", sorted(counters(trace)), ["copy"])


def check_chosen(folder, alone):
    trace = folder + "/chosen"
    checks.equal("the same results", record(trace, "--instrument-kernels=^(copy|naive)#1", "--counters", "page-faults:kernel", LINES), alone)
    checks.equal("kernels that were chosen", sorted(counters(trace)), ["copy", "naive"])
    counted = query(trace, "SELECT count(*) AS n FROM counters WHERE kind = 'dispatch' AND name = 'page-faults'")[0]["n"]
    checks.equal("counters of all kernels beside", counted, len(DONE))
    missed = "No kernel was instrumented: --instrument-kernels {} names none that ran"
    checks.equal("some were", "No kernel was instrumented" in must(KYMO, "summary", trace), False)
    for words in ("copy#2", "no-such"):
        record(trace, "--instrument-kernels=" + words, LINES)
        checks.equal(f"{words}: nothing was counted", counters(trace), {})
        checks.equal(f"{words}: told", missed.format(words) in must(KYMO, "summary", trace), True)


def check_processes(folder):
    """Two processes that run the same: each has rows of its own, and all forms tell which."""
    trace = folder + "/processes"
    record(trace, "--instrument-kernels=^saxpy$", "sh", "-c", '"$0" && "$0"', LINES)
    pids = [r["pid"] for r in query(trace, "SELECT DISTINCT pid FROM kernel_parts ORDER BY pid")]
    checks.equal("processes that ran kernels", len(pids), 2)
    form = lambda name: must(KYMO, "kernels", "-f", name, "--panel", "22", trace)
    rows = [(r["pid"], r["executed"]) for t in json.loads(form("json"))["tables"] for r in t["rows"] if r["line"] == 8]
    checks.equal("a row each", rows, [(p, N) for p in pids])
    rows = [(int(r["pid"]), int(r["executed"])) for r in csv.DictReader(io.StringIO(form("csv"))) if r["line"] == "8"]
    checks.equal("a row each, as CSV", rows, [(p, N) for p in pids])
    rows = [words[:2] for words in map(str.split, form("text").splitlines()) if "saxpy" in words]
    checks.equal("each row, as text", sorted({tuple(w) for w in rows}), [(str(p), "saxpy") for p in pids])


def check_refused(folder, alone):
    trace = folder + "/refused"
    checks.equal("no kymo: the same results", record(trace, "--instrument-kernels", "env", "KYMO_BIN=/nowhere/kymo", LINES), alone)
    checks.equal("no kymo: nothing counted", counters(trace), {})
    said = notes(trace)
    checks.equal("no kymo: each kernel's reason once", len(said), len(DONE))
    checks.equal("no kymo: the reason", all("the program kymo was not found" in t for t in said), True)
    checks.equal("no rewriter: the same results", record(trace, "--instrument-kernels", "env", "KYMO_BIN=/bin/false", LINES), alone)
    checks.equal("no rewriter: the reason", all("kymo rewrite ended without a result" in t for t in notes(trace)), True)


def check_others(folder):
    """Programs that check themselves; each launch is counted by itself."""
    trace = folder + "/others"
    checks.equal("ocl_replay: the same results", record(trace, "--instrument-kernels", REPLAY), must(REPLAY))
    checks.equal("ocl_replay: what clang does not take", all("read_write" in t for t in notes(trace)), True)
    checks.equal("ocl_two: the same results", record(trace, "--instrument-kernels", TWO), must(TWO))
    launches = query(trace, "SELECT count(DISTINCT call_id) AS n FROM kernel_parts")[0]["n"]
    checks.equal("ocl_two: launches", launches, query(trace, "SELECT count(*) AS n FROM dispatch")[0]["n"])
    for case, reason in (("binary", "source is not known: it was made from a binary"), ("svm", "SVM"), ("user_event", "user events")):
        record(trace, "--instrument-kernels", ONCE, "--case", case)  # it checks itself that each ran once
        checks.equal(f"ocl_once: {case}", any(reason in t for t in notes(trace)), True)


def main():
    done = kymotest.run(KYMO, "rewrite", "--options=", "--extensions=", input="kernel void k() {}")
    if done.returncode:
        kymotest.skip(done.stderr)
    with kymotest.Folder() as folder:
        alone = must(LINES)
        check_all(folder, alone)
        check_free_groups(folder)
        check_large_groups(folder, alone)
        check_chosen(folder, alone)
        check_processes(folder)
        check_refused(folder, alone)
        check_others(folder)
    return checks.status(40)


sys.exit(main())
