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
import shutil
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
    "agent_info": "Node_Id Logical_Node_Id Agent_Type Cpu_Cores_Count Simd_Count Cpu_Core_Id_Base Simd_Id_Base Max_Waves_Per_Simd "
                  "Lds_Size_In_Kb Gds_Size_In_Kb Num_Gws Wave_Front_Size Num_Xcc Cu_Count Array_Count Num_Shader_Banks "
                  "Simd_Arrays_Per_Engine Cu_Per_Simd_Array Simd_Per_Cu Max_Slots_Scratch_Cu Gfx_Target_Version Vendor_Id Device_Id "
                  "Location_Id Domain Drm_Render_Minor Num_Sdma_Engines Num_Sdma_Xgmi_Engines Num_Sdma_Queues_Per_Engine "
                  "Num_Cp_Queues Max_Engine_Clk_Ccompute Max_Engine_Clk_Fcompute Sdma_Fw_Version Fw_Version Capability Cu_Per_Engine "
                  "Max_Waves_Per_Cu Family_Id Workgroup_Max_Size Grid_Max_Size Local_Mem_Size Hive_Id Gpu_Id Workgroup_Max_Dim_X "
                  "Workgroup_Max_Dim_Y Workgroup_Max_Dim_Z Grid_Max_Dim_X Grid_Max_Dim_Y Grid_Max_Dim_Z Name Vendor_Name Product_Name "
                  "Model_Name",
    "kernel_stats": "Name Calls TotalDurationNs AverageNs Percentage MinNs MaxNs StdDev",
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
    expect({x["Agent_Id"] for x in two} == {"Agent 1", "Agent 2"}, "devices", {x["Agent_Id"] for x in two})
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


def document(name):
    with open(name, encoding="utf-8") as f:
        return json.load(f)["rocprofiler-sdk-tool"]


def check_sums(pid, process):
    """Sums of a list are those of its records, and the same in the CSV files."""
    records = process["buffer_records"]["kernel_dispatch"]
    lengths = [r["end_timestamp"] - r["start_timestamp"] for r in records]
    sums = {x["domain"]: x["stats"] for x in process["summary"]}["KERNEL_DISPATCH"]
    mean = sum(lengths) / len(lengths)
    variance = sum((x - mean) ** 2 for x in lengths) / (len(lengths) - 1)
    expect((sums["count"], sums["sum"], sums["min"], sums["max"]) == (len(lengths), sum(lengths), min(lengths), max(lengths)), sums)
    expect(abs(sums["variance"] - variance) <= 1e-6 * variance, sums, variance)
    rows_of = {x["Name"]: x for x in rows("out", "kernel_stats")[pid]}
    for x in sums["operations"]:
        row, value = rows_of[x["key"]], x["value"]
        expect((int(row["Calls"]), int(row["TotalDurationNs"]), int(row["MinNs"]), int(row["MaxNs"])) ==
               (value["count"], value["sum"], value["min"], value["max"]), row, x)
        expect(abs(float(row["StdDev"]) - value["stddev"]) < 0.01, row, x)
        expect(abs(float(row["Percentage"]) - 100 * value["sum"] / sums["sum"]) < 0.001, row, x)
    expect(sum(int(x["TotalDurationNs"]) for x in rows_of.values()) == sum(lengths), rows_of)


def check_members(process):
    """Numbers of kinds, operations, kernels and devices lead to what has them."""
    kinds = process["strings"]["buffer_records"]
    lists = process["buffer_records"]
    agents = {a["id"]["handle"]: a for a in process["agents"]}
    for r in lists["kernel_dispatch"]:
        info = r["dispatch_info"]
        expect(kinds[r["kind"]]["kind"] == "KERNEL_DISPATCH" and kinds[r["kind"]]["operations"][r["operation"]].endswith("COMPLETE"), r)
        expect(process["kernel_symbols"][info["kernel_id"]]["kernel_id"] == info["kernel_id"], info)
        expect(agents[info["agent_id"]["handle"]]["node_id"] > 0 and info["queue_id"]["handle"] > 0, info)
    for r in lists["memory_copy"]:
        ends = [agents[r[side]["handle"]]["node_id"] > 0 for side in ("src_agent_id", "dst_agent_id")]
        name = kinds[r["kind"]]["operations"][r["operation"]]
        expect(name == "MEMORY_COPY_%s_TO_%s" % tuple("DEVICE" if x else "HOST" for x in ends), name, r)
    calls = collections.Counter(kinds[r["kind"]]["operations"][r["operation"]] for r in lists["opencl_api"])
    expect(all(kinds[r["kind"]]["kind"] == "OPENCL_API" for r in lists["opencl_api"]), "kinds")
    return calls


def test_json():
    run(KYMO, "run", "--no-summary", "-o", "a.kymo", HEAT, "--size", "64", "--frames", "3")
    run(KYMO, "run", "--no-summary", "-o", "b.kymo", TWO, env=dict(os.environ, POCL_DEVICES="pthread pthread"))
    run(KYMO, "merge", "-o", "all.kymo", "a.kymo", "b.kymo")
    run(KYMO, "export", "--to", "csv", "--layout", "rocprofv3", "-o", "out", "all.kymo")
    run(KYMO, "export", "--to", "json", "--layout", "rocprofv3", "all.kymo")
    processes = document("all_results.json")
    pids = {r["pid"] for r in query("SELECT pid FROM process")}
    expect({p["metadata"]["pid"] for p in processes} == pids and len(pids) == 2, pids)
    calls = collections.Counter()
    for p in processes:
        pid = p["metadata"]["pid"]
        check_sums(pid, p)
        calls += check_members(p)
        got = {"kernel_trace": "kernel_dispatch", "memory_copy_trace": "memory_copy", "opencl_api_trace": "opencl_api",
               "memory_allocation_trace": "memory_allocation"}
        for name, key in got.items():
            ends = sorted((int(x["Start_Timestamp"]), int(x["End_Timestamp"]), int(x["Correlation_Id"]))
                          for x in rows("out", name).get(pid, []))
            expect(ends == sorted((r["start_timestamp"], r["end_timestamp"], r["correlation_id"]["internal"])
                                  for r in p["buffer_records"][key]) and ends, name)
        copied = query("SELECT sum(c.bytes) AS n FROM copy c JOIN process p ON p.id = c.process JOIN op o ON o.id = c.op "
                       f"WHERE p.pid = {pid} AND c.start IS NOT NULL AND o.name <> 'fill'")[0]["n"]
        expect(sum(r["bytes"] for r in p["buffer_records"]["memory_copy"]) == copied, copied)
    wanted = {r["name"]: r["n"] for r in query(
        "SELECT o.name, count(*) AS n FROM call c JOIN op o ON o.id = c.op JOIN domain m ON m.id = o.domain "
        "WHERE m.name = 'opencl' GROUP BY 1")}
    expect(calls == wanted, calls, wanted)
    told = run(KYMO, "export", "--to", "perfetto", "--layout", "rocprofv3", "all.kymo", status=2).stderr
    expect("--layout is for --to csv and --to json" in told, told)


def test_one_number():
    """Processes of one number have files of their own."""
    run(KYMO, "run", "--no-summary", "-o", "a.kymo", HEAT, "--size", "64", "--frames", "3")
    shutil.copytree("a.kymo", "b.kymo")
    run(KYMO, "merge", "-o", "two.kymo", "a.kymo", "b.kymo")
    run(KYMO, "export", "--to", "rocprofv3", "-o", "out", "two.kymo")
    files = sorted(glob.glob("out/**/*_kernel_trace.csv", recursive=True))
    expect(len(files) == 2, files)


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
