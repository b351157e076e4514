#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CSV files with rocprofv3's names and columns, against SQL over the same trace: of two processes, one of which has two
devices.

    rocprofv3.py KYMO KYMO_SYNTH HEAT OCL_TWO"""
import collections
import csv
import glob
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import expect  # noqa: E402

KYMO, SYNTH, HEAT, TWO = (os.path.abspath(p) for p in sys.argv[1:5])

COLUMNS = {
    "kernel_trace": "Kind Agent_Id Queue_Id Stream_Id Thread_Id Dispatch_Id Kernel_Id Kernel_Name Correlation_Id "
                    "Start_Timestamp End_Timestamp LDS_Block_Size Scratch_Size VGPR_Count Accum_VGPR_Count SGPR_Count "
                    "Workgroup_Size_X Workgroup_Size_Y Workgroup_Size_Z Grid_Size_X Grid_Size_Y Grid_Size_Z",
    "memory_copy_trace": "Kind Direction Stream_Id Source_Agent_Id Destination_Agent_Id Correlation_Id Start_Timestamp "
                         "End_Timestamp",
    "memory_allocation_trace": "Kind Operation Agent_Id Allocation_Size Address Correlation_Id Start_Timestamp End_Timestamp",
    "opencl_api_trace": "Domain Function Process_Id Thread_Id Correlation_Id Start_Timestamp End_Timestamp",
}


def run(*words, status=0, **more):
    p = subprocess.run(words, capture_output=True, text=True, check=False, **more)
    expect(p.returncode == status, words, "gave", p.returncode, p.stderr)
    return p


def query(sql):
    return json.loads(run(KYMO, "query", "--format", "json", "all.kymo", sql).stdout)


def rows(folder, name):
    """Rows of a kind by process."""
    out = {}
    for path in glob.glob(f"{folder}/*_{name}.csv"):
        with open(path, encoding="utf-8", newline="") as f:
            reader = csv.DictReader(f)
            out[int(os.path.basename(path).split("_")[0])] = list(reader)
            if name in COLUMNS:
                expect(" ".join(reader.fieldnames) == COLUMNS[name], name, reader.fieldnames)
    return out


def spent(table):
    return {pid: (len(r), sum(int(x["End_Timestamp"]) - int(x["Start_Timestamp"]) for x in r)) for pid, r in table.items()}


def check_work():
    kernels = rows("out", "kernel_trace")
    wanted = {r["pid"]: (r["n"], r["ns"]) for r in query(
        "SELECT p.pid, count(*) AS n, sum(d.duration) AS ns FROM dispatch d JOIN process p ON p.id = d.process "
        "WHERE d.start IS NOT NULL GROUP BY 1")}
    expect(len(wanted) == 2 and spent(kernels) == wanted, "kernels", spent(kernels), wanted)
    names = collections.Counter(x["Kernel_Name"] for r in kernels.values() for x in r)
    expect(names == {r["name"]: r["n"] for r in query("SELECT name, count(*) AS n FROM kernels GROUP BY 1")}, "names", names)
    for r in kernels.values():
        expect([int(x["Dispatch_Id"]) for x in r] == list(range(1, len(r) + 1)), "numbers of dispatches")
    two = max(kernels.values(), key=lambda r: len({x["Agent_Id"] for x in r}))
    expect({x["Agent_Id"] for x in two} == {"Agent 0", "Agent 1"}, "devices", {x["Agent_Id"] for x in two})
    sizes = query("SELECT sum(global_x) AS x, sum(ifnull(global_y, 1)) AS y, sum(local_x) AS l FROM dispatch")[0]
    got = [sum(int(x[c]) for r in kernels.values() for x in r) for c in ("Grid_Size_X", "Grid_Size_Y", "Workgroup_Size_X")]
    expect(got == [sizes["x"], sizes["y"], sizes["l"]], "sizes", got, sizes)
    copies = spent(rows("out", "memory_copy_trace"))
    wanted = {r["pid"]: (r["n"], r["ns"]) for r in query(
        "SELECT p.pid, count(*) AS n, sum(c.duration) AS ns FROM copy c JOIN process p ON p.id = c.process "
        "JOIN op o ON o.id = c.op WHERE c.start IS NOT NULL AND o.name <> 'fill' GROUP BY 1")}
    expect(copies == wanted and wanted, "copies", copies, wanted)
    directions = collections.Counter(x["Direction"] for r in rows("out", "memory_copy_trace").values() for x in r)
    ops = {r["name"]: r["n"] for r in query("SELECT o.name, count(*) AS n FROM copy c JOIN op o ON o.id = c.op GROUP BY 1")}
    expect(directions["MEMORY_COPY_DEVICE_TO_HOST"] == ops.get("read", 0) + ops.get("map", 0), directions, ops)
    expect(directions["MEMORY_COPY_HOST_TO_DEVICE"] == ops.get("write", 0) + ops.get("unmap", 0), directions, ops)


def check_calls():
    calls = spent(rows("out", "opencl_api_trace"))
    wanted = {r["pid"]: (r["n"], r["ns"]) for r in query(
        "SELECT p.pid, count(*) AS n, sum(c.duration) AS ns FROM call c JOIN thread h ON h.id = c.thread JOIN process p ON p.id = h.process "
        "JOIN op o ON o.id = c.op JOIN domain m ON m.id = o.domain WHERE m.name = 'opencl' GROUP BY 1")}
    expect(calls == wanted and len(wanted) == 2, "calls", calls, wanted)
    memory = rows("out", "memory_allocation_trace")
    bytes_of = collections.Counter()
    for r in memory.values():
        for x in r:
            bytes_of[x["Operation"]] += int(x["Allocation_Size"])
    wanted = {r["name"]: r["n"] for r in query(
        "SELECT o.name, sum(a.bytes) AS n FROM allocation a JOIN op o ON o.id = a.op GROUP BY 1")}
    expect(bytes_of == {"MEMORY_ALLOCATION_" + k.upper(): v for k, v in wanted.items()}, "memory", bytes_of, wanted)
    # A launch and its kernel have one correlation id.
    kernels = {(pid, x["Correlation_Id"]) for pid, r in rows("out", "kernel_trace").items() for x in r}
    launches = {(pid, x["Correlation_Id"]) for pid, r in rows("out", "opencl_api_trace").items() for x in r
                if x["Function"] in ("clEnqueueNDRangeKernel", "clEnqueueTask")}
    expect(kernels and kernels <= launches, "correlation ids", len(kernels), len(launches))


def test_totals():
    run(KYMO, "run", "--no-summary", "-o", "a.kymo", HEAT, "--size", "64", "--frames", "3")
    run(KYMO, "run", "--no-summary", "-o", "b.kymo", TWO, env=dict(os.environ, POCL_DEVICES="pthread pthread"))
    run(KYMO, "merge", "-o", "all.kymo", "a.kymo", "b.kymo")
    told = run(KYMO, "export", "--to", "rocprofv3", "-o", "out", "all.kymo").stderr
    check_work()
    check_calls()
    expect(len(rows("out", "agent_info")) == 2, "agents")
    expect("rocprofv3 has no CSV file for: " in told, told)
    left = dict(re.findall(r"(\w+) \((\d+)\)", told))
    for kind in ("sync", "sample"):
        wanted = query(f"SELECT count(*) AS n FROM {kind}")[0]["n"]
        expect(int(left.get(kind, 0)) == wanted, kind, told, wanted)
    expect(int(left["sync"]) > 0, told)
    p = run(KYMO, "export", "--to", "rocprofv3", "-o", "out", "all.kymo", status=3)
    expect("File exists" in p.stderr, p.stderr)


def test_names():
    """Quotes, commas, line breaks in names stay within a cell."""
    run(SYNTH, "names", "n.kymo", 'a "b", c', "line\nbreak")
    run(KYMO, "export", "--to", "rocprofv3", "-o", "n", "n.kymo")
    kernels = [x["Kernel_Name"] for r in rows("n", "kernel_trace").values() for x in r]
    expect(set(kernels) <= {'a "b", c', "line break"} and 'a "b", c' in kernels, kernels)


def test_no_text():
    """Bytes that are no UTF-8 are replaced: readers of the format take nothing else."""
    run(SYNTH, "names", "b.kymo", b"\xff\xe9t\xc3\xa9\xc3", b"fine")
    run(KYMO, "export", "--to", "rocprofv3", "-o", "b", "b.kymo")
    kernels = {x["Kernel_Name"] for r in rows("b", "kernel_trace").values() for x in r}
    expect("\ufffd\ufffdt\u00e9\ufffd" in kernels, kernels)


def main():
    bad = 0
    for name, fn in list(globals().items()):
        if not name.startswith("test_"):
            continue
        with kymotest.Folder() as folder:
            os.chdir(folder)
            try:
                fn()
                print("ok  ", name, flush=True)
            except kymotest.Failure as e:
                bad += 1
                print("FAIL", name + ":", str(e)[:1500], flush=True)
            os.chdir("/")
    return 1 if bad else 0


sys.exit(main())
