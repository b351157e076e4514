#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`kymo kernels` on made-up kernels and counters, whose metrics are computed here by hand.

    kernels.py PART KYMO KYMO_SYNTH [FILE]"""
import csv
import io
import json
import math
import os
import re
import shutil
import sqlite3
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
import view  # noqa: E402
from kernels_store import H200, MI300, Store, empty  # noqa: E402
from kymotest import Checks, must, run  # noqa: E402

PART, KYMO, SYNTH = sys.argv[1], *map(os.path.abspath, sys.argv[2:4])
checks = Checks()
NAMES = {
    "time": "gpu__time_duration.sum", "cycles": "sm__cycles_elapsed.max", "active": "sm__cycles_active.avg",
    "compute": "sm__throughput.avg.pct_of_peak_sustained_elapsed", "memory": "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
    "fadd": "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", "fmul": "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum",
    "ffma": "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", "inst": "smsp__inst_executed.sum", "warps": "smsp__warps_launched.sum",
    "sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "l1": "l1tex__t_sectors.sum", "l1hit": "l1tex__t_sectors_lookup_hit.sum", "l2": "lts__t_sectors.sum", "l2hit": "lts__t_sectors_lookup_hit.sum",
    "read": "dram__bytes_read.sum", "written": "dram__bytes_write.sum",
    "passes_ld": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", "passes_st": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "lost_ld": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum", "lost_st": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "fma": "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active",
    "local_pipe": "l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_active", "items": "smsp__thread_inst_executed.sum",
    "spill_ld": "smsp__inst_executed_op_local_ld.sum", "spill_st": "smsp__inst_executed_op_local_st.sum",
    "spilled_ld": "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum", "spilled_st": "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum"}


def counters(**values):
    return {NAMES[k]: v for k, v in values.items()}


def rows(path, *options):
    """By kernel, device and id."""
    report = json.loads(must(KYMO, "kernels", "-f", "json", *options, path))
    return {(r.get("kernel"), r["device"], r["id"]): r for t in report["tables"] for r in t["rows"] if "id" in r}


def near(a, b):
    return a is not None and math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)


def check_values(what, got, wanted):
    for key, value in wanted.items():
        r = got.get(key)
        checks.equal(f"{what} {key}: {r and (r['value'], r['note'])}", bool(r) and (r["value"] is None if value is None else near(r["value"], value)), True)


# ---- values ----------------------------------------------------------------------------------------

def part_values(folder):
    """Two kernels, of which one runs on two devices of one name; sums over sums, not averages of ratios."""
    s = Store(empty(KYMO, SYNTH, folder), folder + "/a.db")
    first, second = "NVIDIA H200 #0", "NVIDIA H200 #1"
    s.device(first)
    s.device(second)
    s.dispatch("gemm", first, counters=counters(
        time=1000, cycles=1500, active=1200, compute=80, memory=40, fadd=100, fmul=200, ffma=1000, inst=640, warps=128, sectors=800, requests=100,
        l1=1000, l1hit=250, l2=600, l2hit=300, read=3000, written=1000, passes_ld=90, passes_st=30, lost_ld=20, lost_st=10, fma=70))
    s.dispatch("gemm", first, items=(8192,), counters=counters(
        time=3000, cycles=4500, active=4200, compute=60, memory=80, fadd=300, fmul=0, ffma=5000, inst=1920, warps=256, sectors=1600, requests=400,
        l1=3000, l1hit=1500, l2=1000, l2hit=900, read=9000, written=3000, passes_ld=50, passes_st=30, lost_ld=0, lost_st=0, fma=90))
    s.dispatch("gemm", second, counters=counters(time=500, compute=10, memory=20, read=100, written=400))
    s.dispatch("copy", second, 2000, items=(1000, 3, 5), group=(128, 2, 1), registers=40, shared=1024, dynamic=512, local=24)
    s.dispatch("copy", second, 4000, items=(1000, 3, 5), group=(128, 2, 1), registers=40, shared=1024, dynamic=512, local=24)
    s.dispatch("narrow", second, 100, group=(32,), registers=88)
    path = s.done()
    flops = (100 + 200 + 2 * 1000) + (300 + 2 * 5000)
    got = rows(path)
    check_values("gemm on #0", got, {("gemm", first, i): v for i, v in {
        "2.1.1": (80 * 1000 + 60 * 3000) / 4000, "2.1.2": (40 * 1000 + 80 * 3000) / 4000, "2.1.3": None, "2.2.1": flops / 4000,
        "2.2.8": 132 * 5400 / 6000, "2.2.18": 30 / 170, "2.2.19": 100 * 1750 / 4000, "2.2.21": 100 * 1200 / 1600, "2.2.23": 12000 / 4000, "2.2.24": 4000 / 4000,
        "3.1.3": 43.75, "3.1.7": 12000 / 2, "3.1.11": 30 / 2, "4.1.5": 16000 / 2, "6.1.2": 384 / 2, "7.1.1": 6144, "7.1.3": 24, "7.1.4": (128 + 256) / 2,
        "7.2.1": 100, "7.3.1": 2000, "7.3.2": 3000, "7.3.3": 2560 / 384, "10.1.1": 2560 / 2, "10.2.1": 200, "11.1.1": (70 * 1000 + 90 * 3000) / 4000,
        "11.2.1": flops / 2, "12.1.4": 100 * 30 / 200, "12.2.4": 30 / 170, "16.1.1": 43.75, "16.1.3": 2400 / 500, "17.1.1": 75, "30.1.3": 16000 / 4000}.items()})
    r = got["gemm", first, "2.1.1"]
    checks.equal("least, most, peak, share", (r["min"], r["max"], r["peak"], r["share_percent"], r["dispatches"], r["of"]), (60, 80, 100, 65, 2, 2))
    checks.equal("peak of memory", got["gemm", first, "2.2.23"]["peak"], 4800)
    check_values("the other device", got, {("gemm", second, "2.1.1"): 10, ("gemm", second, "30.1.3"): 1, ("gemm", second, "2.2.1"): None})
    groups = 8 * 2 * 5
    # 256 items are 8 warps of 40 registers, 1280 for each; 1024 + 512 + 1024 bytes are 20 portions of 128.
    check_values("copy", got, {("copy", second, i): v for i, v in {
        "7.3.1": 3000, "7.1.1": 15000, "7.1.2": 256, "7.1.3": groups, "7.1.4": groups * 8, "7.1.5": 40, "7.1.8": 1024, "7.1.9": 512, "7.1.10": 24,
        "7.1.11": groups / 132, "7.1.12": groups / (132 * 6), "7.1.13": 100 * groups / (132 * 6), "7.2.1": 100 * 6 * 8 / 64, "7.2.2": 6, "7.2.3": 91,
        "7.2.4": 8, "7.2.5": 32, "2.1.1": None}.items()})
    # Of each quarter of 65536 registers five warps of 2816; a warp is a group.
    check_values("narrow", got, {("narrow", second, i): v for i, v in {"7.2.2": 20, "7.2.1": 100 * 20 / 64, "7.2.5": 32, "7.2.4": 64}.items()})
    note = got["copy", second, "2.1.1"]["note"]
    checks.equal(f"what is missing is named: {note}", all(w in note for w in ("N/A: not recorded: kymo run --counters", NAMES["compute"])), True)
    checks.equal("no formula for it", "AMD" in got["gemm", first, "2.2.13"]["note"] or "10.1.7" in got["gemm", first, "2.2.13"]["note"], True)
    for how, wanted in {"per_group": 16000 / 48, "per_wave": 16000 / 384, "per_cycle": 16000 / 6000, "per_second": 16000 / 4e-6}.items():
        got = rows(path, "--normalize", how, "--panel", "4.1.5")
        check_values(how, got, {("gemm", first, "4.1.5"): wanted})
        checks.equal(f"unit {how}", got["gemm", first, "4.1.5"]["unit"], "bytes / " + how[4:].replace("second", "s"))
    got = rows(path, "--spec", "cu_count=10", "--spec", "memory_bandwidth=6", "--panel", "2.2.8,30.1.3")
    check_values("specs", got, {("gemm", first, "2.2.8"): 9})
    checks.equal("share of a peak that is said", near(got["gemm", first, "30.1.3"]["share_percent"], 100 * 4 / 6), True)
    checks.equal("only what is asked for", {k[2] for k in got}, {"2.2.8", "30.1.3"})
    top = {(r["kernel"], r["device"]): r for r in next(t for t in json.loads(must(KYMO, "kernels", "-f", "json", path))["tables"] if t["name"] == "0.1")["rows"]}
    checks.equal("times of the runtime", [top["copy", second][n] for n in ("dispatches", "sum_ns", "mean_ns", "median_ns", "min_ns", "max_ns", "timed")],
                 [2, 6000, 3000, 3000, 2000, 4000, 2])
    checks.equal("share of all", near(top["copy", second]["share_percent"], 100 * 6000 / 10600), True)
    checks.equal("times that were counted", [top["gemm", first][n] for n in ("dispatches", "sum_ns", "mean_ns", "min_ns", "max_ns", "timed")], [2, 4000, 2000, 1000, 3000, 2])
    listed = next(t for t in json.loads(must(KYMO, "kernels", "-f", "json", "--panel", "0.2", path))["tables"] if t["name"] == "0.2")["rows"]
    checks.equal("dispatches", [tuple(r[n] for n in ("kernel", "dispatch", "duration_ns", "items", "groups", "group_size", "registers", "local_bytes")) for r in listed[:2]],
                 [("copy", 1, 2000, 15000, groups, 256, 40, 1536), ("copy", 2, 4000, 15000, groups, 256, 40, 1536)])
    text = must(KYMO, "kernels", path)
    drawn = text[text.index("3.1 Memory chart: gemm (NVIDIA H200 #0)"):].splitlines()[2:10]
    checks.equal("the chart has its width", {len(line) for line in drawn[:4]}, {119})
    for words in ("| hits  43.75 % |", "| hits     75 % |", "< reads     6000 -- |  memory  |", "-- writes    2000 > |          |", "conflicts 15"):
        checks.equal(f"{words} in the chart: {drawn}", any(words in line for line in drawn), True)
    for form, begin in (("md", "\n```\n"), ("html", "</h2>\n<pre>")):
        told = must(KYMO, "kernels", "-f", form, "--panel", "3.1", path)
        title = told.index("3.1 Memory chart: gemm")
        checks.equal(f"{form}: as it is drawn", (told.index(begin, title) - title < 60, told.count("3.1 Memory chart: gemm (NVIDIA H200 #0)"), told.count("(NVIDIA H200 #0), in numbers")), (True, 2, 1))
    table = list(csv.DictReader(io.StringIO(must(KYMO, "kernels", "-f", "csv", "--panel", "7.3.1", path))))
    checks.equal("csv", [(r["kernel"], r["device"], r["value"]) for r in table],
                 [("copy", second, "3000"), ("gemm", first, "2000"), ("gemm", second, "500"), ("narrow", second, "100")])


def part_places(folder):
    """Whose dispatches are; kernels of one name from two programs; launches of nothing; what others have; tables that are N/A are there once."""
    s = Store(empty(KYMO, SYNTH, folder), folder + "/a.db")
    d = "NVIDIA H200 #0"
    s.device(d)
    s.dispatch("same", d, 100, items=(1000,), group=(10,), counters={"mine": 1})
    s.dispatch("same", d, 100, items=(0,), group=(10,))
    s.dispatch("same", d, 100, items=(3000,), group=(10,))
    s.dispatch("huge", d, 100, items=(2 ** 40, 2 ** 30), group=(1, 1))
    for n in range(20):
        s.dispatch(f"k{n}", d, 100)
    s.db.execute("DELETE FROM program")
    for n in (1, 2):
        source = s.db.execute("INSERT INTO blob(process, what, stored, total, data) VALUES(1, 'source', 1, 1, ?)", (str(n),)).lastrowid
        s.db.execute("INSERT INTO program(id, process, source, handle, domain, kind) VALUES(?,1,?,1,'cuda','source')", (n, source))
    other = len(s.kernels) + 1
    s.db.execute("INSERT INTO kernel(id, process, program, domain, name) SELECT ?, 1, 2, domain, name FROM kernel WHERE id = ?", (other, s.kernels["same"]))
    s.db.execute("UPDATE kernel SET program = 1 WHERE id = ?", (s.kernels["same"],))
    s.db.execute("UPDATE dispatch SET kernel = ?, queue = 2 WHERE id = 3", (other,))
    path = s.done()
    tables = {t["name"]: t for t in json.loads(must(KYMO, "kernels", "-f", "json", "--panel", "0", path))["tables"]}
    checks.equal("dispatches of a name", [(r["process"], r["queue"], r["program"], r["items"]) for r in tables["0.2"]["rows"] if r["kernel"] == "same"],
                 [(1, 1, 1, 1000), (1, 1, 1, None), (1, 2, 2, 3000)])
    checks.equal("too large for a count", [r["items"] for r in tables["0.2"]["rows"] if r["kernel"] == "huge"], [None])
    text = must(KYMO, "kernels", "--panel", "0", path)
    checks.equal(f"told: {text}", (text.count("kernels of several programs have this name"), "same: kernels of several programs" in text), (1, True))
    got = rows(path, "--panel", "7.1.1,7.1.3")
    checks.equal("launches of nothing", [(got["same", d, i]["value"], got["same", d, i]["dispatches"], got["same", d, i]["of"]) for i in ("7.1.1", "7.1.3")], [(2000, 2, 3), (200, 2, 3)])
    file = folder + "/own.yaml"
    with open(file, "w") as f:
        f.write("panels:\n  - id: 90\n    title: T\n    tables:\n      - {id: 1, title: T, metrics: [{id: 1, name: N, formulas: [{for: any, value: SUM(mine)}]}]}\n")
    got = rows(path, "--metrics-file", file, "--panel", "90")
    note = got["k3", d, "90.1.1"]["note"]
    checks.equal(f"left out: {note}", (got["same", d, "90.1.1"]["value"], "of other kernels it was: --count-kernel left this one out" in note), (1, True))
    report = json.loads(must(KYMO, "kernels", "-f", "json", path))
    names = [t["name"] for t in report["tables"]]
    checks.equal("a table without values is there once", (names.count("12.1"), names.count("7.1"), any("shown once" in line and "12.1" in line for line in report["foot"])), (1, 22, True))


# ---- the roofline --------------------------------------------------------------------------------------

def operations(**values):
    """Counters of a kernel: operations of all types, those not given 0; bytes at each level."""
    made = {f"smsp__sass_thread_inst_executed_op_{t}{op}_pred_on.sum": values.get(t + op, 0) for t in "fdh" for op in ("add", "mul", "fma")}
    return {**made, NAMES["time"]: values["time"], "l1tex__t_bytes.sum": values["l1"], "lts__t_bytes.sum": values["l2"],
            NAMES["read"]: values["read"], NAMES["written"]: values["written"]}


def roofs_of(*devices):
    """As `kymo calibrate -f json` writes them: of each device its name and the bytes a second of its memory."""
    def roof(name, kind, value):
        return {"name": name, "type": name, "kind": kind, "unit": "", "value": value, "interval": value / 100}

    return {"devices": [{"api": "cuda", "type": "gpu", "name": name, "roofs": [
        roof("memory", "bandwidth", memory), roof("l2", "bandwidth", 2 * memory), roof("fp32", "compute", 50e9)]} for name, memory in devices]}


def part_roofline(folder):
    """Points of two kernels of one device at three levels, below the roofs of that device; what another device does is not in it."""
    s = Store(empty(KYMO, SYNTH, folder), folder + "/a.db")
    for device in ("NVIDIA H200 #0", "NVIDIA L4 #0"):
        s.device(device)
    # 2,300 operations in 1,000 ns; 11,000 in 2,000 ns, as two dispatches of it together.
    s.dispatch("gemm", "NVIDIA H200 #0", counters=operations(time=1000, fadd=100, fmul=200, ffma=1000, l1=4600, l2=2300, read=1000, written=150))
    for n in (1, 2):
        s.dispatch("saxpy", "NVIDIA H200 #0", counters=operations(time=1000, dfma=1000 * n, dadd=1000, hadd=1500, l1=100000, l2=55000, read=100000, written=10000))
    s.dispatch("other", "NVIDIA L4 #0", counters=operations(time=900, ffma=5, l1=10, l2=10, read=10, written=10))
    for name in ("copy", "turn"):
        s.dispatch(name, "NVIDIA H200 #0", counters=operations(time=1, l1=10, l2=10, read=10, written=10))
    path, roofs, picture = s.done(), folder + "/roofs.json", folder + "/a.svg"
    with open(roofs, "w") as f:
        json.dump(roofs_of(("NVIDIA L4", 1e9), ("NVIDIA H200", 10e9)), f)
    p = run(KYMO, "kernels", "--roofline", "-", "--roofs", roofs, path)
    checks.equal(f"status: {p.stderr}", (p.returncode, "is that of NVIDIA H200 #0" in p.stderr), (0, True))
    checks.equal(f"what did none: {p.stderr}", "no floating-point operations: copy, turn\n" in p.stderr or "operations: turn, copy\n" in p.stderr, True)
    checks.equal("they are not drawn", ("copy" in p.stdout, "turn" in p.stdout), (False, False))
    told = {re.sub(r":.*", "", line[2:]): line for line in p.stdout.splitlines() if re.match(r"[12] \w", line)}
    flops = 2 * 3000 + 2000 + 3000
    for kernel, rate, share, at in (
            ("gemm", 2.3, 33, {"l1": (0.5, None), "l2": (1, 2.3 / 20), "memory": (2, 2.3 / 20)}),
            ("saxpy", flops / 2000, 67, {"l1": (flops / 2e5, None), "l2": (0.1, 5.5 / 2), "memory": (0.05, 5.5 / 0.5)})):
        line = " ".join(told.get(kernel, "").split())
        checks.equal(f"{kernel}: {line}", all(w in line for w in (f"{rate:.3g}", f"{share} % of time")), True)
        for level, (intensity, attained) in at.items():
            said = re.search(rf"{level} ([\d.e-]+)(?: \((\d+) %\))?", line)
            checks.equal(f"{kernel} at {level}: {line}", bool(said) and (float(said[1]), said[2] and int(said[2])),
                         (float(f"{intensity:.3g}"), attained and round(100 * attained)))
    checks.equal("not the other's", "other" in p.stdout, False)
    s = Store(folder + "/empty.kymo/store.db", folder + "/c.db")
    s.device("NVIDIA L4 #0")
    s.dispatch("other", "NVIDIA L4 #0", counters=operations(time=900, ffma=5, l1=10, l2=10, read=10, written=10))
    lone = s.done()
    must(KYMO, "kernels", "--roofline", picture, "--roofs", roofs, lone)
    with open(picture) as f:
        svg = f.read()
    checks.equal("the other's picture", ("other" in svg, "gemm" in svg), (True, False))
    with open(roofs, "w") as f:
        json.dump(roofs_of(("NVIDIA L4", 1e9)), f)
    on_processors(folder)
    s = Store(folder + "/empty.kymo/store.db", folder + "/b.db")
    s.device("NVIDIA H200 #0")
    s.dispatch("bare", "NVIDIA H200 #0", 1000)
    bare = s.done()
    s = Store(folder + "/empty.kymo/store.db", folder + "/d.db")
    s.device("NVIDIA H200 #0")
    s.dispatch("copy", "NVIDIA H200 #0", counters=operations(time=1, l1=10, l2=10, read=10, written=10))
    copies = s.done()
    for words, status, error in ((["--roofline", "-", "--roofs", roofs, path], 3, "NVIDIA H200"), (["--roofline", "-", "--roofs", roofs, bare], 3, "--metrics 4"),
                                 (["--roofline", "-", "--roofs", roofs, copies], 3, "did no floating-point operations: copy"),
                                 (["--roofline", "a.doc", path], 2, ".svg, .png"), (["--roofs", roofs, path], 2, "--roofline FILE"),
                                 (["--roofline", picture, "--roofs", roofs, lone], 3, "File exists")):
        p = run(KYMO, "kernels", *words)
        checks.equal(f"{words}: {p.stderr}", (p.returncode, error in p.stderr), (status, True))


def on_processors(folder):
    """The file of docs/roofline.md gives processors a roofline; a point above its roof, and a busy machine, are told."""
    with open(sys.argv[4] + "/docs/roofline.md", encoding="utf-8") as f:
        own = re.search(r"```yaml\n(.*?)```", f.read(), re.S)[1]
    with open(folder + "/own.yaml", "w") as f:
        f.write(own)
    s = Store(folder + "/empty.kymo/store.db", folder + "/p.db")
    s.device("pthread", "AuthenticAMD", "cpu", "opencl", {})
    s.dispatch("fma", "pthread", 1000, counters={"papi:PAPI_SP_OPS": 3000, "papi:PAPI_DP_OPS": 1000, "perf:cache-misses": 10})
    path = s.done()
    roofs = {"devices": [{"api": "opencl", "type": "cpu", "name": "pthread", "units": 2, "load": 9.5, "roofs": [
        {"name": n, "type": n, "kind": k, "unit": "", "value": v, "interval": v / 100} for n, k, v in (("memory", "bandwidth", 1e9), ("fp32", "compute", 2e9))]}]}
    with open(folder + "/p.json", "w") as f:
        json.dump(roofs, f)
    told = must(KYMO, "kernels", "--roofline", "-", "--roofs", folder + "/p.json", "--metrics-file", folder + "/own.yaml", path)
    checks.equal(f"a point on a processor: {told}", ("memory 6.25 (200 %)" in told, "4 GFLOP/s" in told), (True, True))
    checks.equal("notes", ("busy when roofs were measured (load 9.50, 2 units)" in told, "1 of 1 points above 100 %" in told), (True, True))
    must(KYMO, "kernels", "--roofline", folder + "/p.svg", "--roofs", folder + "/p.json", "--metrics-file", folder + "/own.yaml", path)
    with open(folder + "/p.svg", encoding="utf-8") as f:
        checks.equal("in the picture", "the machine was busy" in f.read(), True)


# ---- every formula ------------------------------------------------------------------------------------

class Column:
    """A number of each dispatch, for the expressions of metrics as Python has them."""

    def __init__(self, values):
        self.values = values

    def of(self, other, how):
        other = other.values if isinstance(other, Column) else [other] * len(self.values)
        return Column([how(a, b) for a, b in zip(self.values, other)])

    def __bool__(self):
        assert len(set(self.values)) == 1, "dispatches of which a condition holds for some alone"
        return bool(self.values[0])

    __add__ = __radd__ = lambda a, b: a.of(b, lambda x, y: x + y)
    __mul__ = __rmul__ = lambda a, b: a.of(b, lambda x, y: x * y)
    __sub__ = lambda a, b: a.of(b, lambda x, y: x - y)
    __truediv__ = lambda a, b: a.of(b, lambda x, y: x / y if y else math.nan)
    __rsub__ = lambda a, b: a.of(b, lambda x, y: y - x)
    __rtruediv__ = lambda a, b: a.of(b, lambda x, y: y / x)
    __gt__ = lambda a, b: a.of(b, lambda x, y: x > y)


def each(how):
    def of(*args):
        columns = [a for a in args if isinstance(a, Column)]
        if not columns:
            return how(*args)
        n = len(columns[0].values)
        return Column([how(*row) for row in zip(*(a.values if isinstance(a, Column) else [a] * n for a in args))])
    return of


PYTHON = {"SUM": lambda c: sum(c.values) if isinstance(c, Column) else 2 * c, "AVG": lambda c: sum(c.values) / len(c.values), "MIN2": each(min), "MAX2": each(max),
          "CEIL": each(math.ceil), "FLOOR": each(math.floor)}
NAME = re.compile(r'"([^"]+)"|\$?\b[A-Za-z_][A-Za-z0-9_.]*(?:[-:][A-Za-z0-9_.]+)*')


class Expressions:
    """What a device of a class has, computed as the formulas say, by this file's own means."""

    def __init__(self, listed, device, properties, columns):
        self.device, self.properties, self.columns = device, properties, columns
        self.variables = {}
        for r in listed:
            if r["id"].startswith("$") and r["device"] in (device, "any") and r["value"]:
                self.variables.setdefault(r["id"][1:], {}).setdefault(r["device"], r["value"])

    def value(self, text):
        names = {}

        def put(match):
            word = match[1] or match[0]
            if word in PYTHON or word in ("if", "else"):
                return word
            names["v%d" % len(names)] = self.name(word)
            return "v%d" % (len(names) - 1)
        python = NAME.sub(put, text)
        return eval(python, {**PYTHON, **names, "__builtins__": {}})  # noqa: S307 of Kymo's own files

    def name(self, word):
        if not word.startswith("$"):
            return self.columns[word]
        word = "per_kernel" if word == "$denom" else word[1:]
        if word in self.variables:
            of = self.variables[word]
            return self.value(of.get(self.device) or of["any"])
        return float(self.properties[word])


def made_up(name, dispatch):
    return 1 + (sum(map(ord, name)) * 7 + 3 * len(name)) % 89 + 100 * dispatch


def part_every(folder):
    """All formulas of Kymo's, with a value of its own for each counter, computed twice."""
    listed = json.loads(must(KYMO, "list", "metrics", "-f", "json"))["tables"][0]["rows"]
    s = Store(empty(KYMO, SYNTH, folder), folder + "/a.db")
    known = {"start", "end", "duration", "items", "group_size", "groups", "registers", "static_shared", "dynamic_shared", "local_bytes", "private_bytes"}
    devices = {"nvidia": ("NVIDIA H200 #0", "NVIDIA", H200), "amd": ("AMD Instinct #0", "AMD", {**MI300, "total_l2_channels": 16, "memory_bandwidth_gb_s": 5300})}
    columns = {}
    for device, (label, vendor, properties) in devices.items():
        s.device(label, vendor=vendor, properties=properties)
        names = sorted({n for r in listed if r["device"] in (device, "any") for n in (r["needs"] or "").split(",") if n} - known)
        for i in range(2):
            s.dispatch("k", label, 1000 + i, items=(4096, 2), group=(64, 2), registers=40, shared=256, dynamic=64, local=8,
                       counters={n: made_up(n, i) for n in names})
        columns[device] = {n: Column([made_up(n, i) for i in range(2)]) for n in names}
        columns[device].update({n: Column(v) for n, v in {
            "duration": [1000, 1001], "items": [8192] * 2, "group_size": [128] * 2, "groups": [64] * 2, "registers": [40] * 2,
            "static_shared": [256] * 2, "dynamic_shared": [64] * 2, "local_bytes": [320] * 2, "private_bytes": [8] * 2}.items()})
    got, done, lacking = rows(s.done()), set(), []
    for device, (label, _, properties) in devices.items():
        own = Expressions(listed, device, properties, columns[device])
        for r in listed:
            key = ("k" if not r["id"].startswith("1.") else None, label, r["id"])
            if r["device"] not in (device, "any") or r["none"] or r["id"].startswith("$") or (device, r["id"]) in done:
                continue
            if r["device"] == "any" and any(x["id"] == r["id"] and x["device"] == device for x in listed):
                continue
            done.add((device, r["id"]))
            row = got.get(key) or got[("k", label, r["id"])]
            try:
                wanted = own.value(r["value"]) if r["value"] else own.value(r["each"])
                peak = own.value(r["peak"]) if r["peak"] else None
            except KeyError as e:
                lacking.append((device, r["id"], str(e)))
                checks.equal(f"{device} {r['id']}, of what it does not have", row["value"], None)
                continue
            if isinstance(wanted, Column):
                wanted = sum(wanted.values) / len(wanted.values)
            checks.equal(f"{device} {r['id']} {r['value']}: {row['value']}, {wanted}", near(row["value"], wanted), True)
            checks.equal(f"{device} {r['id']} peak", row["peak"] == peak if peak is None else near(row["peak"], peak), True)
            if not r["each"] and not r["source"] and r["id"].split(".")[0] not in ("1", "7"):
                checks.equal(f"{r['id']} says where it is from", r["source"], "something")
    print(len(done), "formulas; of what a device does not have:", lacking)
    checks.equal("how many", len(done) > 200 and len(lacking) < 12, True)


# ---- what is not whole --------------------------------------------------------------------------------

def part_missing(folder):
    """Counters of some dispatches, of none together, of calls with several kernels; times that are not there; zeros."""
    template = empty(KYMO, SYNTH, folder)
    s = Store(template, folder + "/a.db")
    d = "NVIDIA H200 #0"
    s.device(d)
    for i in range(4):
        s.dispatch("part", d, 1000, counters=counters(l1=100, **({"l1hit": 10 * i} if i % 2 else {})))
    s.dispatch("apart", d, 1000, counters=counters(l2=100))
    s.dispatch("apart", d, 1000, counters=counters(l2hit=100))
    s.dispatch("zero", d, 1000, counters=counters(l2=0, l2hit=0))
    s.dispatch("twice", d, 1000, call=900, counters=counters(l2=7, l2hit=7))
    s.dispatch("twice", d, 1000, call=900)
    s.dispatch("untimed", d)
    s.dispatch("graph", d, 1000, group=(0,), launch=False)
    path = s.done()
    got = rows(path, "--panel", "7,16,17")
    r = got["part", d, "17.1.1"]
    checks.equal("never recorded", r["value"], None)
    r = got["part", d, "16.1.1"]
    checks.equal("n of m", (r["value"], r["dispatches"], r["of"]), (20, 2, 4))
    checks.equal("of no dispatch together", got["apart", d, "17.1.1"]["note"], "N/A: no dispatch has all counters that it is made of")
    checks.equal("by zero", got["zero", d, "17.1.1"]["note"], "N/A: it cannot be computed of these values (a division by zero)")
    checks.equal("whose it is", got["twice", d, "17.1.1"]["value"], None)
    checks.equal("is said", "are of calls that submitted several kernels" in must(KYMO, "kernels", path), True)
    checks.equal("no time", "have no times: not asked for" in got["untimed", d, "7.3.1"]["note"]
                 or "not recorded: kymo run --counters gpu__time" in got["untimed", d, "7.3.1"]["note"], True)
    checks.equal("no group size", got["graph", d, "7.1.3"]["note"], "N/A: the runtime does not tell: groups")
    checks.equal("no registers", got["graph", d, "7.1.5"]["value"], None)
    text = must(KYMO, "kernels", "--panel", "16.1", path)
    checks.equal("people are told n of m", [line.split()[-2:] for line in text.splitlines() if line.startswith("16.1.1 ")][0], ["2", "4"])
    once = must(KYMO, "kernels", "--panel", "5,16.1", path)
    checks.equal("tables without a value for the same reasons stand once", [once.count("\n5.1 Command processor: "), once.count("\n16.1 L1 cache: ") > 1, "so shown once: 5.1" in once], [1, True, True])
    checks.equal("programs have them all", {k[0] for k in rows(path, "--panel", "5")}, {k[0] for k in got if k[0]})
    checks.equal("panels without any value are named as a whole", ", 5 Command processor, 6 Group scheduler, " in must(KYMO, "kernels", "--top", "1", path), True)
    checks.equal("no inf, no nan", any(w in (must(KYMO, "kernels", "-f", "json", path) + text).lower().replace("nanosec", "") for w in (" inf", " nan", ":nan", ":inf")), False)
    # A device that tells nothing, and one that is no GPU.
    s = Store(template, folder + "/b.db")
    s.device("NVIDIA Old", properties={})
    s.device("EPYC", vendor="AuthenticAMD", kind="cpu", domain="opencl", properties={"compute_units": 2, "clock_mhz": 2000})
    s.device("Some FPGA", vendor="Xilinx", kind="fpga", domain="opencl", properties={})
    for device in ("NVIDIA Old", "EPYC", "Some FPGA"):
        s.dispatch("k", device, 1000, counters={"task-clock": 5000, "perf:instructions": 30, "perf:cycles": 20} if device == "EPYC" else {})
    got = rows(s.done())
    note = got["k", "NVIDIA Old", "7.2.1"]["note"]
    checks.equal(f"what the device does not tell: {note}", "--spec" in note and "registers_per_multiprocessor" in note, True)
    check_values("a processor", got, {("k", "EPYC", "2.2.15"): 1.5, ("k", "EPYC", "7.3.8"): 5000, ("k", "EPYC", "7.3.2"): 20, ("k", "EPYC", "2.1.1"): None})
    checks.equal("of processors", got["k", "EPYC", "7.2.1"]["note"], "N/A: a processor takes group after group")
    checks.equal("of another", got["k", "Some FPGA", "2.1.1"]["note"], "N/A: no formula for this device (any)")


# ---- AMD --------------------------------------------------------------------------------------------------

def part_amd(folder):
    """Formulas of AMD's counters, which say that nobody has seen them at work."""
    s = Store(empty(KYMO, SYNTH, folder), folder + "/a.db")
    d = "AMD Instinct MI300X #0"
    s.device(d, vendor="AMD", domain="hip", properties=MI300)
    s.dispatch("k", d, 1000, counters={
        "SQ_INSTS_VALU_ADD_F32": 10, "SQ_INSTS_VALU_MUL_F32": 20, "SQ_INSTS_VALU_TRANS_F32": 5, "SQ_INSTS_VALU_FMA_F32": 100, "GRBM_GUI_ACTIVE": 8000,
        "SQ_LDS_BANK_CONFLICT": 20, "SQ_LDS_IDX_ACTIVE": 120, "TCC_HIT_sum": 30, "TCC_MISS_sum": 10, "SQ_ACTIVE_INST_VALU": 152000,
        "TCC_EA0_RDREQ_32B_sum": 2, "TCC_EA0_RDREQ_sum": 10, "TCC_BUBBLE_sum": 1, "TCC_EA0_WRREQ_64B_sum": 3, "TCC_EA0_WRREQ_sum": 5})
    got = rows(s.done())
    check_values("AMD", got, {("k", d, i): v for i, v in {
        "2.2.1": 64 * (35 + 200) / 1000, "2.2.10": 100 * 152000 / (1000 * 304), "2.2.17": 100 * 4 * 32 / 1000, "2.2.18": 20 / 100, "2.2.21": 75,
        "7.3.2": 1000, "12.1.4": 100 * 20 / 120, "30.1.1": (2 * 32 + 7 * 64 + 128) / 1000, "30.1.2": (3 * 64 + 2 * 32) / 1000, "2.1.1": None}.items()})
    checks.equal("unproven", got["k", d, "2.2.1"]["note"], "unproven: never compared with such a device")
    checks.equal("theoretical peak", got["k", d, "2.2.1"]["peak"], 2100 * 304 * 256 / 1000)


# ---- findings ------------------------------------------------------------------------------------------------

def part_findings(folder):
    """Each rule says its thing of a kernel made for it, and nothing of one that has nothing of it."""
    s = Store(empty(KYMO, SYNTH, folder), folder + "/a.db")
    d = "NVIDIA H200 #0"
    s.device(d)
    used = "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct"
    big = {"items": (256 * 132 * 80,)}
    s.dispatch("memory", d, 9000, **big, counters={**counters(compute=30, memory=85, time=9000), used: 100})
    s.dispatch("compute", d, 8000, **big, counters=counters(compute=90, memory=20, time=8000))
    s.dispatch("latency", d, 7000, **big, counters=counters(compute=10, memory=20, time=7000))
    s.dispatch("registers", d, 6000, items=(256 * 132 * 80,), registers=255, counters=counters(time=6000))
    s.dispatch("strided", d, 5000, **big, counters={**counters(time=5000), used: 12.5})
    levels = {"l1tex__throughput.avg.pct_of_peak_sustained_active": 98, "lts__throughput.avg.pct_of_peak_sustained_elapsed": 49,
              "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed": 40}
    s.dispatch("lines", d, 4700, **big, counters={**counters(compute=7, memory=98, time=4700), **levels, used: 12.5})
    s.dispatch("pipes", d, 4600, **big, counters={**counters(compute=56, memory=98, time=4600), **levels, used: 12.5})
    s.dispatch("sectors", d, 4500, **big, counters=counters(time=4500, sectors=3200, requests=100))
    s.dispatch("banks", d, 4000, **big, counters=counters(time=4000, passes_ld=100, passes_st=0, lost_ld=75, lost_st=0))
    s.dispatch("busy banks", d, 3900, **big, counters=counters(time=3900, passes_ld=80, passes_st=20, lost_ld=60, lost_st=15, local_pipe=80))
    slots = 4 * 132 * 100  # of instructions in 100 cycles
    s.dispatch("parted", d, 3800, **big, counters=counters(time=3800, cycles=100, inst=0.8 * slots, items=16 * 0.8 * slots))
    s.dispatch("idly parted", d, 3700, **big, counters=counters(time=3700, cycles=100, inst=0.4 * slots, items=16 * 0.4 * slots))
    s.dispatch("full", d, 3600, **big, counters=counters(time=3600, cycles=100, inst=0.8 * slots, items=31 * 0.8 * slots))
    s.dispatch("spilled", d, 3500, **big, counters=counters(
        time=3500, cycles=100, inst=0.8 * slots, spill_ld=0.1 * slots, spill_st=0.06 * slots, spilled_ld=30, spilled_st=10, l1=100))
    s.dispatch("few spills", d, 3400, **big, counters=counters(time=3400, inst=100, spill_ld=8, spill_st=4))
    s.dispatch("small", d, 3000, items=(256 * 12,), counters=counters(time=3000))
    s.dispatch("small and busy", d, 2900, items=(256 * 12,), counters=counters(time=2900, compute=12.5, memory=65))
    s.dispatch("tail", d, 2000, items=(256 * (132 * 8 + 1),), counters=counters(time=2000))
    for groups in (132 * 8 * 5 // 4, 132 * 8 * 3 // 2):
        s.dispatch("tails", d, 900, items=(256 * groups,), counters=counters(time=900))
    path = s.done()
    report = json.loads(must(KYMO, "kernels", "-f", "json", path))
    found = {(r["kernel"], r["rule"]): (r["finding"], r["panel"]) for t in report["tables"] if t["name"] == "findings" for r in t["rows"]}

    def most(times, when):
        return f"; at most {times:.2f} times as fast {when}"

    def memory_bound(memory, compute):
        return (f"memory bound: memory and caches at {memory:.1f} % of their peak, computing at {compute:.1f} %" + most(100 / memory, "if it moves as much")
                + most(100 / compute, "if it moves less and computes as much"), "30")
    parted = "divergence: 16.0 of 32 work items of a wave are active on average"
    small = "small grid: 12 groups for 132 units leave 90.9 % of them empty"
    spread = "on all units, if the time of one goes with its work"
    wanted = {("memory", "memory-bound"): memory_bound(85, 30), ("lines", "memory-bound"): memory_bound(98, 7), ("pipes", "memory-bound"): memory_bound(98, 56),
              ("small and busy", "memory-bound"): memory_bound(65, 12.5),
              ("compute", "compute-bound"): ("compute bound: a pipe at 90.0 % of its peak, memory and caches at 20.0 %" + most(100 / 90, "if it computes as much")
                                             + most(5, "if it computes less and moves as much"), "11"),
              ("latency", "latency-bound"): ("latency bound: computing at 10.0 %, memory and caches at 20.0 % of their peak" + most(5, "with the same work"), "7.2"),
              ("registers", "low-occupancy"): ("occupancy can be 12.5 % at most: registers leave room for 1 group of a unit", "7.2"),
              ("strided", "uncoalesced"): ("uncoalesced access: 12.5 % of what global loads bring in is used", "16"),
              **{(name, "uncoalesced"): ("uncoalesced access: 12.5 % of what global loads bring in is used; L1 is at 98.0 % of its peak, what comes "
                                         f"next at {busy} %: up to {gain} times as fast without", "16") for name, busy, gain in (("lines", "49.0", "2.0"), ("pipes", "56.0", "1.8"))},
              ("sectors", "uncoalesced"): ("uncoalesced access: a global load takes 32.0 sectors, where 16 bytes of each work item take 16", "16"),
              ("banks", "bank-conflicts"): ("bank conflicts: 75.0 % of the passes of local memory are repetitions", "12"),
              ("busy banks", "bank-conflicts"): ("bank conflicts: 75.0 % of the passes of local memory are repetitions"
                                                 + most(1 / (1 - 0.75 * 0.8), "without, if all units have as many"), "12"),
              ("spilled", "spills"): ("spills: 40.0 % of the sectors of L1 are of spilled registers or of arrays of work items"
                                      + most(1 / (0.8 - 0.16), "without, if all other instructions stay"), "10.3"),
              ("few spills", "spills"): ("spills: 12.0 % of the instructions load and store spilled registers or arrays of work items", "10.3"),
              ("parted", "divergence"): (parted + most(1 / (0.5 * 0.8), "with full waves, if work items execute as many instructions"), "11"),
              ("idly parted", "divergence"): (parted, "11"),
              ("small", "few-groups"): (small + most(11, spread), "7.1"), ("small and busy", "few-groups"): (small + most(100 / 65, spread), "7.1"),
              ("tail", "tail"): ("tail: 1.00 rounds of groups fill 50.0 % of the room that 2 have"
                                 + most(2 * 132 * 8 / (132 * 8 + 1), "with full rounds, if groups take equally long"), "7.1"),
              ("tails", "tail"): ("tail: 1.38 rounds of groups fill 68.8 % of the room that 2 have"  # the bound is that of the worse
                                  + most(8 / 5, "with full rounds, if groups take equally long"), "7.1")}
    checks.equal("findings", found, wanted)
    gains = {(r["kernel"], r["rule"]): r["at_most"] for t in report["tables"] if t["name"] == "findings" for r in t["rows"]}
    checks.equal("for programs", [gains[k] and round(gains[k], 6) for k in (("memory", "memory-bound"), ("registers", "low-occupancy"), ("busy banks", "bank-conflicts"))],
                 [round(100 / 30, 6), None, 2.5])
    ids = {r["id"].split(".")[0] for r in json.loads(must(KYMO, "list", "metrics", "-f", "json"))["tables"][0]["rows"]}
    checks.equal("panels that they name", {p.split(".")[0] for _, p in wanted.values()} - ids, set())


def part_diagnose(folder):
    """`kymo diagnose` tells them of a trace that has counters of kernels: of a ROCpd database, with counters of an AMD GPU."""
    trace, path = folder + "/t.kymo", folder + "/t.db"
    must(SYNTH, "timed", trace, input="range r 100 15000 5\n" + "in 5\nkernel k 64 2000 1000\nkernel k 64 4000 1000\nend 20000\n")
    must(KYMO, "export", "--to", "rocpd", "-o", path, trace)
    db = sqlite3.connect(path)
    table = {n: next(t for t, in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'") if t.startswith(f"rocpd_{n}_"))
             for n in ("kernel_dispatch", "info_pmc", "pmc_event", "info_agent")}
    db.execute(f"UPDATE \"{table['info_agent']}\" SET vendor_name = 'AMD'")
    of = db.execute(f"SELECT nid, pid, agent_id FROM \"{table['kernel_dispatch']}\"").fetchone()
    for number, name in ((1, "SQ_LDS_BANK_CONFLICT"), (2, "SQ_LDS_IDX_ACTIVE")):
        db.execute(f"INSERT INTO \"{table['info_pmc']}\"(id, nid, pid, agent_id, target_arch, name, symbol) VALUES(?,?,?,?,'GPU',?,?)", (number, *of, name, name))
    for event, in db.execute(f"SELECT event_id FROM \"{table['kernel_dispatch']}\"").fetchall():
        for pmc, value in ((1, 60), (2, 80)):
            db.execute(f"INSERT INTO \"{table['pmc_event']}\"(event_id, pmc_id, value) VALUES(?,?,?)", (event, pmc, value))
    db.commit()
    db.close()
    found = json.loads(must(KYMO, "diagnose", "-f", "json", path))["findings"]
    mine = [f for f in found if f["rule"] == "bank-conflicts"]
    checks.equal("findings", [f["title"] for f in mine], ["bank conflicts: 75.0 % of the passes of local memory are repetitions"])
    checks.equal("what to do next", "kymo kernels --panel 12 " in json.dumps(mine), True)
    checks.equal("the rule is known", run(KYMO, "diagnose", "--rule", "bank-conflicts", "--fail-on", "bank-conflicts", path).returncode, 1)
    checks.equal("and listed", "\n  by its own measure: below a tenth of the passes nothing is won\n" in must(KYMO, "list", "rules"), True)
    checks.equal("without counters nothing", "bank-conflicts" in must(KYMO, "diagnose", trace), False)
    r = next(v for k, v in rows(path).items() if k[0] == "k" and k[2] == "12.1.4")
    checks.equal("the same in panels", (r["value"], r["dispatches"]), (75, 2))


def part_samples(folder):
    """Samples by line, with the line's text where its file can be read."""
    s, source = Store(empty(KYMO, SYNTH, folder), folder + "/a.db"), folder + "/k.cu"
    with open(source, "w") as f:
        f.write("one\n\tx = y; // the line\nthree")
    s.device("NVIDIA H200 #0")
    s.dispatch("k", "NVIDIA H200 #0", 1000)
    name = s.db.execute("SELECT name FROM kernel").fetchone()[0]
    files = [s.db.execute("INSERT INTO string(text) VALUES(?)", (path,)).lastrowid for path in (source, "/no/such/file.cu")]
    reasons = [s.db.execute("INSERT INTO marker_name(text, length, total) VALUES(?, 1, 1)", (r,)).lastrowid for r in ("selected", "long_scoreboard", "barrier")]
    for file, line in ((files[0], 2), (files[1], 7), (files[0], 99)):
        s.db.execute("INSERT INTO device_code(process, function, file, line, module, offset) VALUES(1,?,?,?,0,0)", (name, file, line))
    for code, reason, samples, idle in ((1, 0, 50, 0), (1, 1, 10, 10), (1, 2, 20, 20), (2, 1, 15, 5), (3, 0, 5, 0)):
        s.db.execute("INSERT INTO device_sample(process, time, duration, call, agent, code, reason, samples, idle, cycles) VALUES(1,0,0,0,1,?,?,?,?,1)",
                     (code, reasons[reason], samples, idle))
    got = next(t for t in json.loads(must(KYMO, "kernels", "-f", "json", s.done()))["tables"] if t["name"] == "21.1")["rows"]
    checks.equal("lines", [[r[n] for n in ("function", "file", "line", "samples", "share_percent", "stall", "source")] for r in got],
                 [["k", source, 2, 80, 80, "barrier", "x = y; // the line"], ["k", "/no/such/file.cu", 7, 15, 15, "long_scoreboard", None],
                  ["k", source, 99, 5, 5, None, None]])
    checks.equal("idle", [round(r["idle_percent"], 3) for r in got], [37.5, 33.333, 0])
    checks.equal("without samples", "kymo run --pc-sampling" in must(KYMO, "kernels", "--panel", "21", folder + "/empty.kymo"), True)


def part_real(folder):
    """A program on the processor: the same kernels, times and selections as the summary has."""
    trace = folder + "/h.kymo"
    must(KYMO, "run", "--no-summary", "-o", trace, sys.argv[5], "--size", "64", "--frames", "4")
    wanted = next(t for t in json.loads(must(KYMO, "summary", "-f", "json", trace))["tables"] if t["name"] == "kernels")["rows"]
    got = next(t for t in json.loads(must(KYMO, "kernels", "-f", "json", trace))["tables"] if t["name"] == "0.1")["rows"]
    checks.equal("kernels", {r["kernel"]: (r["dispatches"], r["sum_ns"], r["min_ns"], r["max_ns"]) for r in got},
                 {r["op"]: (r["calls"], r["time_ns"], r["min_ns"], r["max_ns"]) for r in wanted})
    all_of, some = (rows(trace, *o, "--panel", "7.3.1,7.1.1") for o in ((), ("--kernel", got[0]["kernel"] + "#2-3")))
    checks.equal("selected", {(k[0], r["of"]) for k, r in some.items()}, {(got[0]["kernel"], 2)})
    checks.equal("time", {k: near(r["value"], next(g["sum_ns"] / g["dispatches"] for g in got if g["kernel"] == k[0])) for k, r in all_of.items() if k[2] == "7.3.1"},
                 {k: True for k in all_of if k[2] == "7.3.1"})
    # What is missing is told as it must be asked for, of kernels; so asked for it is there, of each kernel that has any of it.
    missing = rows(trace, "--panel", "7.3.8")
    checks.equal("missing", {r["note"] for r in missing.values()}, {"N/A: not recorded: kymo run --counters task-clock:kernel"})
    p = run(KYMO, "run", "-f", "--no-summary", "--metrics", "7.3.8,17,7.3.9", "-o", folder + "/m.kymo", sys.argv[5], "--size", "64", "--frames", "4")
    if p.returncode == 0 and "task-clock is not counted" not in p.stderr:
        checks.equal(f"what no device here has: {p.stderr}", "left out, as the devices of this machine have no formulas for it: 17\n" in p.stderr, True)
        counted = rows(folder + "/m.kymo", "--panel", "7.3.8")
        checks.equal("kernels that were counted", {k[0]: r["of"] for k, r in counted.items()}, {k[0]: r["of"] for k, r in missing.items()})
        roofs_of_views(folder, folder + "/m.kymo")
        some = rows(folder + "/m.kymo", "--panel", "7.3.8", "--kernel", got[0]["kernel"] + "#2-3")
        checks.equal("counters of what is selected", {(k[0], r["of"], r["dispatches"]) for k, r in some.items()}, {(got[0]["kernel"], 2, 2)})
        others = rows(folder + "/m.kymo", "--panel", "7.3.8", "--exclude-kernel", got[0]["kernel"])
        checks.equal("counters of the others", {k: r["value"] for k, r in others.items()}, {k: r["value"] for k, r in counted.items() if k[0] != got[0]["kernel"]})
        checks.equal("processor time", {k: r["value"] is not None and r["value"] > 0 for k, r in counted.items()}, {k: True for k in counted})
    file = folder + "/own.yaml"
    with open(file, "w") as f:
        f.write("panels:\n  - id: 90\n    title: T\n    tables:\n      - {id: 1, title: T, metrics: [{id: 1, name: N, formulas: [{for: any, value: SUM(duration)}]}]}\n")
    must(KYMO, "report", "-o", folder + "/a.md", "--metrics-file", file, trace)
    with open(folder + "/a.md", encoding="utf-8") as f:
        checks.equal("a report with metrics of a file", "90.1 T: " + got[0]["kernel"] in f.read(), True)
    with open(file, "w") as f:
        f.write("panels:\n  - {id: 90}\n")
    p = run(KYMO, "report", "-o", folder + "/b.md", "--metrics-file", file, trace)
    checks.equal(f"its mistakes: {p.stderr}", (p.returncode, f"--metrics-file {file}:2: " in p.stderr, os.path.exists(folder + "/b.md")), (2, True, False))
    p = run(KYMO, "run", "-o", folder + "/c.kymo", "--counters", "page-faults:kernel", "--count-kernel", "no-such", sys.argv[5], "--size", "64", "--frames", "1")
    checks.equal(f"nothing is called so: {p.stdout}{p.stderr}", (p.returncode, "No kernel was counted: --count-kernel no-such names none that ran" in p.stdout + p.stderr), (0, True))
    p = run(KYMO, "kernels", "--kernel", "none-of-them", trace)
    checks.equal(f"nothing selected: {p.stderr}", (p.returncode, "no records that match --kernel" in p.stderr), (2, True))
    must(KYMO, "run", "--no-summary", "--sample", "-o", folder + "/none.kymo", "--", "sh", "-c", "for i in 1 2 3; do :; done")
    p = run(KYMO, "kernels", folder + "/none.kymo")
    checks.equal(f"no kernels: {p.stderr}", (p.returncode, "there are no kernels in the trace" in p.stderr), (3, True))


def roofs_of_views(folder, trace):
    """What `kymo view` has prepared is made anew once roofs are measured, of a trace with kernels alone."""
    os.environ["XDG_CACHE_HOME"] = folder + "/cache"
    view.KYMO = KYMO
    made = []
    for roofs in (False, False, True):
        if roofs:
            os.makedirs(folder + "/cache/kymo/roofs")
            with open(folder + "/cache/kymo/roofs/a.json", "w") as f:
                json.dump({"devices": []}, f)
        with view.View(trace) as v:
            v.prepared()
        made.append(os.stat(trace + "/page.data").st_ino)
    checks.equal("prepared anew", [made[1] == made[0], made[2] == made[0]], [True, False])


# ---- baselines --------------------------------------------------------------------------------------------------

def part_baseline(folder):
    template = empty(KYMO, SYNTH, folder)
    device = "NVIDIA H200 #0"

    def made(name, times, hits, label=device, kernels=("k", "z")):
        s = Store(template, folder + "/" + name)
        s.device(label, *(("AMD", "gpu", "hsa") if label.startswith("gfx") else ()))
        for t in times:
            s.dispatch(kernels[0], label, t, counters=counters(l2=100, l2hit=hits))
        s.dispatch(kernels[1], label, 10, counters=counters(l2=100, l2hit=0))
        return s.done()
    a, b, c = made("a.db", (1000, 1200), 50), made("b.db", (880, 880), 0), made("c.db", (1100,), 50, "NVIDIA H200 #1", ("k", "only-here"))
    got = rows(a, "--baseline", b, "--baseline", c, "--panel", "7.3.1,17.1.1")
    r = got["k", device, "7.3.1"]
    checks.equal("changes", (r["value"], r["base_1"], r["change_1_percent"], r["base_2"], r["change_2_percent"], r["changed_1"]), (1100, 880, 25, 1100, 0, "+25.0 %"))
    r = got["k", device, "17.1.1"]
    checks.equal("a base of 0", (r["value"], r["base_1"], r["change_1_percent"], r["changed_1"], r["changed_2"]), (50, 0, None, "was 0", "+0.0 %"))
    r = got["z", device, "17.1.1"]
    checks.equal("0 and 0; no such kernel", (r["change_1_percent"], r["changed_2"]), (0, "no such kernel"))
    got_of_c = rows(a, "--baseline", c, "--panel", "7.3.1")["k", device, "7.3.1"]
    # Colons stand between paths, and in them.
    os.makedirs(folder + "/x:y")
    shutil.copy(b, folder + "/x:y/b.db")
    got = rows(a, "--baseline", folder + "/x:y/b.db", "--baseline", c, "--panel", "7.3.1")["k", device, "7.3.1"]
    checks.equal("a path with a colon", (got["base_1"], got["base_2"]), (880, 1100))
    # People read times in the unit that fits the row's value, and its base, least and most in the same.
    told = must(KYMO, "kernels", "--baseline", b, "--panel", "7.3.1", "--top", "1", a)
    checks.equal(f"times: {told}", re.search(r"7\.3\.1 +Time +(\S+) +(\S+) +(\S+) % +(\S+) +(\S+) +(\S+)", told).groups(), ("1.1", "0.88", "+25.0", "1", "1.2", "us"))
    for limit, status in (("7.3.1>20%", 1), ("7.3.1>25", 0), ("Time>24.9", 1), ("7.3.1<-5", 0), ("17.1.1>0", 0), ("17.1.1>1,7.3.1>24", 1), ("2.1.1>5", 3), ("7.3.1>1,2.1.1>5", 3)):
        p = run(KYMO, "kernels", "--baseline", b, "--fail-on", limit, a)
        checks.equal(f"--fail-on {limit}: {p.stderr}", p.returncode, status)
    shutil.copy(a, folder + "/same.db")
    for limit in "7.3.1<0", "7.3.1>0":
        p = run(KYMO, "kernels", "--baseline", folder + "/same.db", "--fail-on", limit, a)
        checks.equal(f"no change, --fail-on {limit}: {p.stderr}", p.returncode, 0)
    p = run(KYMO, "kernels", "--baseline", a, "--fail-on", "7.3.1<-15", b)
    checks.equal("fell", (p.returncode, "7.3.1 Time of k (NVIDIA H200 #0): -20.0 % against" in p.stderr), (1, True))
    checks.equal(f"the limit is named: {p.stderr}", ", which 7.3.1<-15 forbids" in p.stderr, True)
    without = made("w.db", (), 0)  # its k is gone
    got = rows(without, "--baseline", a)
    p = run(KYMO, "kernels", "--baseline", a, "--fail-on", "7.3.1>5%", without)
    checks.equal(f"a kernel that is gone: {p.stderr}", (p.returncode, f"--fail-on: k ({device}) is in {a} and not here" in p.stderr), (1, True))
    for options, want in (((without, a), [("k", device, a, 2)]), ((a, without), [("k", device, "this trace", 2)]), ((a, b), None)):
        tables = {t["name"]: t["rows"] for t in json.loads(must(KYMO, "kernels", "-f", "json", "--baseline", options[1], options[0]))["tables"]}
        told = tables.get("only_in_one")
        checks.equal(f"only in one {options}", told and [(r["kernel"], r["device"], r["trace"], r["dispatches"]) for r in told], want)
    # Now it has no value, and had one.
    r = rows(made("n.db", (None,), 0), "--baseline", a, "--panel", "7.3.1")["k", device, "7.3.1"]
    checks.equal(f"N/A now: {r}", (r["value"], r["base_1"], r["change_1_percent"], r["changed_1"], r["note"][:4]), (None, 1100, None, "N/A", "N/A:"))
    # On another device: said, and not judged.
    far = made("f.db", (5000,), 50, "NVIDIA L4 #0")
    r = rows(a, "--baseline", far, "--panel", "7.3.1")["k", device, "7.3.1"]
    checks.equal("another device", (r["base_1"], r["base_1_device"]), (5000, "NVIDIA L4 #0"))
    checks.equal("of one model", got_of_c["base_1_device"], None)
    p = run(KYMO, "kernels", "--baseline", far, "--fail-on", "7.3.1>5%", a)
    checks.equal(f"not judged: {p.stderr}", (p.returncode, f"k, which was on NVIDIA L4 #0 in {far}" in p.stderr), (3, True))
    amd = made("amd.db", (5000,), 50, "gfx90a #0")
    r = rows(a, "--baseline", amd, "--panel", "7.3.1")["k", device, "7.3.1"]
    checks.equal("of another kind", (r["base_1"], r["changed_1"], r["base_1_device"]), (None, "on another device", "gfx90a #0"))
    for options, words in ((["--fail-on", "7.3.1>5"], "against which --baseline"), (["--baseline", a, "--fail-on", "nothing>5"], 'there is no metric "nothing"'),
                           (["--baseline", a, "--fail-on", "7.3.1"], "there is a change in per cent"), (["--baseline", a, "--fail-on", "7.3.1>x"], "in per cent"),
                           (["--panel", "99"], 'there is no "99"'), (["--panel", "2.1.99"], 'there is no "2.1.99"'), (["--spec", "cu_count"], "is not NAME=NUMBER"),
                           (["--spec", "cu_count=x"], "is not NAME=NUMBER"), (["--baseline", folder + "/none.db"], "none.db")):
        p = run(KYMO, "kernels", *options, a)
        checks.equal(f"{options}: {p.stderr}", (p.returncode in (2, 3), words in p.stderr, p.stdout), (True, True, ""))


# ---- files ----------------------------------------------------------------------------------------------------------

def part_files(folder):
    """Files of one's own: what they add and replace, and how their mistakes are told."""
    s = Store(empty(KYMO, SYNTH, folder), folder + "/a.db")
    d = "NVIDIA H200 #0"
    s.device(d)
    s.dispatch("k", d, 1000, counters={"mine": 6, "mine.too": 3, "hollow": math.nan})
    s.dispatch("k", d, 3000, counters={"mine": 10, "mine.too": 1})
    path, file = s.done(), folder + "/own.yaml"

    def write(text):
        with open(file, "w") as f:
            f.write(text)
    write("""
panels:
  - id: 90
    title: Mine
    tables:
      - id: 1
        title: Mine
        metrics:
          - {id: 1, name: ratio, unit: x, formulas: [{for: any, value: SUM(mine) / SUM(mine.too), each: mine / mine.too}]}
          - {id: 2, name: functions, formulas: [{for: any, value: "MEDIAN(duration) + STD(mine) + QUANTILE(mine, 0.25) + COUNT(mine) + MAX(mine) - MIN(mine)"}]}
          - {id: 3, name: rows, formulas: [{for: any, value: "SUM((MIN2(mine, 8) if mine.too > 2 else MAX2(mine, 20)) * $twice)"}]}
          - {id: 4, name: left out, formulas: [{for: any, value: SUM(mine if mine > 6 else NA)}]}
          - {id: 5, name: whole, formulas: [{for: any, each: "ROUND(mine / 4) + TO_INT(2.9) + FLOOR(1.5) + CEIL(0.1) + ABS(-1) + MOD(7, 4)"}]}
          - {id: 6, name: one way or the other, formulas: [{for: nvidia, value: SUM(no-such)}, {for: any, value: SUM(mine)}]}
          - {id: 7, name: of a variable, formulas: [{for: any, value: SUM(mine) * $most}]}
  - id: 7
    title: Launch
    tables:
      - {id: 3, title: Replaced, metrics: [{id: 1, name: Time, unit: us, formulas: [{for: any, value: AVG(duration) / 1000}]}]}
variables:
  - {name: twice, formulas: [{for: nvidia, value: "2"}, {for: any, value: "3"}]}
  - {name: most, formulas: [{for: any, value: MAX(no-such)}, {for: any, value: MAX(mine)}]}
""")
    got = rows(path, "--metrics-file", file)
    std = math.sqrt(8)
    check_values("own", got, {("k", d, i): v for i, v in {
        "90.1.1": 4, "90.1.2": 2000 + std + 7 + 2 + 4, "90.1.3": (6 + 20) * 2, "90.1.4": 10, "90.1.5": ((2 + 8) + (3 + 8)) / 2, "90.1.6": 16, "90.1.7": 16 * 10, "7.3.1": 2,
        "7.1.1": 4096}.items()})
    checks.equal("each", (got["k", d, "90.1.1"]["min"], got["k", d, "90.1.1"]["max"]), (2, 10))
    checks.equal("those of a conditional", (got["k", d, "90.1.4"]["dispatches"], got["k", d, "90.1.4"]["of"]), (1, 2))
    checks.equal("the other tables stay", ("k", d, "7.3.2") in got, False)
    p = run(KYMO, "kernels", "--metrics-file", file, "--panel", "90.1,90.9", path)
    checks.equal("no such panel", (p.returncode, 'there is no "90.9"' in p.stderr, p.stdout), (2, True, ""))
    listed = json.loads(must(KYMO, "list", "metrics", "--metrics-file", file, "-f", "json"))["tables"][0]["rows"]
    checks.equal("needs", [r["needs"] for r in listed if r["id"] == "90.1.3"], ["mine,mine.too"])
    head, metric = "panels:\n  - id: 1\n    title: T\n    tables:\n      - id: 1\n        title: T\n        metrics:\n", "          - {id: 1, name: N, formulas: [{for: any, value: %s}]}\n"
    for text, words in (
            (head + metric % "SUM(a", ":8: metric N: a parenthesis is not closed"), (head + metric % "a / b", ":8: metric N: value is a number for each dispatch"),
            (head + metric % "'NONE(a)'", ":8: metric N: there is no such function"), (head + metric % "'SUM(a, b)'", ":8: metric N: a function has another number of arguments"),
            (head + metric % "'SUM($)'", ":8: metric N: a name is missing after $"),
            (head + "          - {id: 1, name: N}\n", ":8: metric N: formulas is missing"), (head + metric % "SUM(a)" * 2, "metric 1 is there twice"),
            (head + "          - {id: 1, name: N, formulas: [{for: intel, value: '1'}]}\n", ':8: metric N: "intel" is none of any, nvidia, amd, cpu'),
            (head + "          - {id: 1, name: N, formulas: [{for: any}]}\n", ":8: metric N: a formula has a value"),
            (head + "          - {id: 1, name: N, formula: []}\n", ':8: metric N: there is no key "formula" here, but: id, name, unit'),
            (head + "          - {id: -1, name: N, formulas: []}\n", ":8: metric N: a number from 0 to 9999"), ("panels: [\n", ":2: this is no YAML"), ("", "there is nothing in it"),
            ("x: 1\n", ':1: there is no key "x" here, but: panels, variables'), ("panels: 3\n", ":1: a list"),
            ("variables:\n  - {name: v, formulas: [{for: any, each: a}]}\n", ":2: a variable has a value alone"),
            (head + metric % "SUM(a)" + head.partition("\n")[2] + metric % "SUM(a)", ":2: panel 1 is there twice"),
            (head + metric % "SUM(a)" + head.partition("tables:\n")[2] + metric % "SUM(a)", ":5: table 1 is there twice"),
            (head + metric % ("(" * 40 + "1" + ")" * 40), "nested too deeply"), (head + metric % ("'1" + " + 1" * 300 + "'"), "it is too long"),
            (head + "          - {id: 1, name: N, formulas: [&x {for: any, value: '1'}, *x]}\n", ":8: metric N: aliases are not taken")):
        write(text)
        p = run(KYMO, "kernels", "--metrics-file", file, path)
        checks.equal(f"{words!r}: {p.stderr}", (p.returncode, f"{file}:" in p.stderr, words in p.stderr, p.stdout), (2, True, True, ""))
    p = run(KYMO, "kernels", "--metrics-file", folder + "/none", path)
    checks.equal("no file", (p.returncode, "none cannot be read: No such file" in p.stderr), (2, True))
    # Variables that are made of each other.
    write("variables:\n  - {name: a, formulas: [{for: any, value: $b + 1}]}\n  - {name: b, formulas: [{for: any, value: $a + $a + $a}]}\n" + head + metric % "SUM($a)")
    p = run(KYMO, "kernels", "--metrics-file", file, path)
    checks.equal(f"a circle: {p.stderr}", (p.returncode, f"{file}:2: variable a is made of itself" in p.stderr), (2, True))
    reasons(s, folder, path, file, write, head, metric)


def reasons(s, folder, path, file, write, head, metric):
    """Why there is no value: what could not be computed, what the formula says, what a name may have meant."""
    d = "NVIDIA H200 #0"
    for value, words in (("SUM(mine) / 0", "(a division by zero)"), ("1e308 * 10", "(a number becomes too large)"), ("1e308 * 10 - 1e308 * 10", "(a number becomes too large)"),
                         ("'QUANTILE(mine, 2)'", "(QUANTILE() takes a share from 0 to 1)"), ("NA", "(it says NA where this is so)"),
                         ("SUM(mine if mine > 100 else NA)", "(it says NA where this is so)"), ("SUM(itemz)", 'kymo run --counters itemz; did you mean "items"?'),
                         ("'SUM(\"a b\")'", "kymo run --counters 'a b'"), ("$one + $two", "does not tell $one, $two of this device: --spec one=NUMBER --spec two=NUMBER"),
                         ("SUM(hollow)", "the trace has no number of it"), ("'MOD(5, 0)'", "(a division by zero)")):
        write(head + metric % value)
        note = rows(path, "--metrics-file", file, "--panel", "1.1.1")["k", d, "1.1.1"]["note"]
        checks.equal(f"{value}: {note}", (words in note, "division" in note), (True, "division" in words))
    for peak, words in (("$nope", "no peak: the trace does not tell $nope of this device: --spec nope=NUMBER"), ("0", "no peak: it would be 0"), ("-3", "no peak: it would be -3")):
        write(head + f"          - {{id: 1, name: N, formulas: [{{for: any, value: 5, peak: {peak}}}]}}\n")
        r = rows(path, "--metrics-file", file, "--panel", "1.1.1")["k", d, "1.1.1"]
        checks.equal(f"peak {peak}: {r['note']}", (r["value"], r["peak"], r["share_percent"], r["note"]), (5, None, None, words))
    write(head + metric % ("'" + " + ".join(f"SUM(smsp__sass_thread_inst_executed_op_{i}_pred_on.sum)" for i in range(8)) + "'"))
    note = rows(path, "--metrics-file", file, "--panel", "1.1.1")["k", d, "1.1.1"]["note"]
    checks.equal(f"no guess at a long list: {note}", ("op_7_pred_on.sum" in note, "did you mean" in note), (True, False))
    note = rows(path, "--panel", "4.1.1")["k", d, "4.1.1"]["note"]
    checks.equal(f"what to do is not cut: {note}", (len(note) > 150, note in must(KYMO, "kernels", "--panel", "4.1.1", path)), (True, True))
    for text, words in ((head.replace("        metrics:\n", ""), ':5: metrics are missing: the table "T" would be empty'), (head + metric % "1 +", 'at the end of "1 +"')):
        write(text)
        p = run(KYMO, "kernels", "--metrics-file", file, path)
        checks.equal(f"{words}: {p.stderr}", (p.returncode, words in p.stderr), (2, True))
    for style in ("chart", "kernels", "dispatches", "samples", "instructions", "lines"):
        write(head.replace("        title: T\n", f"        title: T\n        style: {style}\n") + metric % "5")
        p = run(KYMO, "kernels", "--metrics-file", file, path)
        checks.equal(f"{style}: {p.stderr}", (p.returncode, f'{file}:5: table "T": style {style} is of a table of Kymo' in p.stderr), (2, True))
    for spec, words in (("cu_cuont=3", 'no formula takes $cu_cuont; did you mean "cu_count"?'), ("cu_count=0", "cu_count=0: a number above 0"), ("max_clock=-5", "max_clock=-5: a number above 0")):
        p = run(KYMO, "kernels", "--spec", spec, path)
        checks.equal(f"{spec}: {p.stderr}", (p.returncode, words in p.stderr), (2, True))
    checks.equal("spaces in a list", {k[2] for k in rows(path, "--panel", " 7.3.1 , 7.1.1")}, {"7.3.1", "7.1.1"})
    for option in ("--panel", "--fail-on"):
        p = run(KYMO, "kernels", "--baseline", path, option, "", path)
        checks.equal(f"{option} '': {p.stderr}", (p.returncode, f"{option}: it is empty" in p.stderr), (2, True))


# ---- what there is -----------------------------------------------------------------------------------------------------

def part_lists(folder):
    """Of each panel and metric of the reference there is NVIDIA's counterpart and AMD's formula, or why not; keys are those of the schema."""
    listed = json.loads(must(KYMO, "list", "metrics", "-f", "json"))["tables"][0]["rows"]
    with open(sys.argv[4] + "/tests/cli/kernels_reference.txt", encoding="utf-8") as f:
        wanted = [line.strip() for line in f if not line.startswith("#")]
    covered = {}
    for r in listed:
        for c in (r["covers"] or "").split("; "):
            covered.setdefault(c, []).append(r)
    for w in wanted:
        devices = {r["device"] for r in covered.get(w, ())}
        told = all(r["value"] or r["each"] or r["none"] for r in covered.get(w, ()))
        checks.equal(f"{w}: {sorted(devices)}", bool(devices) and told and ("any" in devices or {"nvidia", "amd"} <= devices), True)
    checks.equal("nothing else is said to be covered", set(covered) - set(wanted) - {""},
                 {c for c in covered if c.startswith(("10.2 VALU arithmetic: ", "14 Requests by size: "))} - set(wanted))
    for r in listed:
        checks.equal(f"{r['id']}: what counters mean is said by somebody", bool(r["source"] or r["none"] or not set("_:") & set((r["needs"] or "").replace("_shared", "")
                     .replace("group_size", "").replace("_bytes", "")) or r["id"].startswith("$per")), True)
    # For people the same: the source in brackets behind a formula, nothing behind one that has none.
    text = must(KYMO, "list", "metrics").splitlines()
    checks.equal("sources for people", [r["device"] + ": " + r["source"] for r in listed if r["source"]],
                 [re.sub(r": .* \[(.*)\]$", r": \1", line.strip()) for line in text if line.endswith("]")])
    checks.equal("AMD's are unproven", {r["unproven"] for r in listed if r["device"] == "amd" and any(c.isupper() for c in r["needs"] or "")}, {"yes"})
    with open(sys.argv[4] + "/metrics/metrics.schema.json", encoding="utf-8") as f:
        schema = json.load(f)
    formula, file = {"for": "any", "value": "1"}, folder + "/f.yaml"
    metric = {"id": 1, "name": "N", "formulas": [formula]}
    table = {"id": 1, "title": "T", "metrics": [metric]}
    panel, variable = {"id": 1, "title": "T", "tables": [table]}, {"name": "v", "formulas": [formula]}
    root = {"panels": [panel], "variables": [variable]}
    for name, where in (("", root), ("panel", panel), ("table", table), ("metric", metric), ("variable", variable), ("formula", formula)):
        own = schema["$defs"][name] if name else schema
        where["unknown"] = 1
        with open(file, "w") as f:
            json.dump(root, f)  # YAML as well
        del where["unknown"]
        p = run(KYMO, "list", "metrics", "--metrics-file", file)
        checks.equal(f"keys of a {name}", set(p.stderr.strip().rpartition("but: ")[2].split(", ")), set(own["properties"]))
        for key in own.get("required", ()):
            kept = where.pop(key)
            with open(file, "w") as f:
                json.dump(root, f)
            where[key] = kept
            checks.equal(f"{key} of a {name} must be there", f"{key} is missing" in run(KYMO, "list", "metrics", "--metrics-file", file).stderr, True)
    for of, key in (("formula", "for"), ("table", "style")):
        for word in schema["$defs"][of]["properties"][key]["enum"]:
            {"formula": formula, "table": table}[of][key] = word
            with open(file, "w") as f:
                json.dump(root, f)
            reserved = word in ("chart", "kernels", "dispatches", "samples", "instructions", "lines")
            checks.equal(f"{key} {word}", run(KYMO, "list", "metrics", "--metrics-file", file).returncode, 3 if reserved else 0)
    counters_of = lambda *words: re.search(r"KYMO_COUNTERS=(\S+)", must(KYMO, "run", "--dry-run", *words, "--", "true"))[1].split(",")
    checks.equal("--metrics", counters_of("--metrics", "nvidia:17.1.1,nvidia:7.3.1", "--counters", "task-clock"),
                 ["lts__t_sectors_lookup_hit.sum", "lts__t_sectors.sum", NAMES["time"], "task-clock"])
    checks.equal("--metrics of processors", counters_of("--metrics", "cpu:7.3.8"), ["task-clock:kernel"])
    for words, error in ((["--metrics", "nvidia:99"], 'there is no "99"'), (["--metrics", "cpu:2.1"], "have no counters for it"),
                         (["--metrics", "2", "--metrics-file", folder + "/none"], "cannot be read")):
        p = run(KYMO, "run", "--dry-run", *words, "--", "true")
        checks.equal(f"{words}: {p.stderr}", (p.returncode, error in p.stderr), (2, True))


with kymotest.Folder() as main_folder:
    globals()["part_" + PART](str(main_folder))
sys.exit(checks.status(2))
