# SPDX-License-Identifier: Apache-2.0
"""Outputs of rocprofv3 as different versions lay them out, made here: JSON documents and folders of CSV files."""
import csv
import json
import os

KINDS = ("NONE HSA_CORE_API HSA_AMD_EXT_API HSA_IMAGE_EXT_API HSA_FINALIZE_EXT_API HIP_RUNTIME_API HIP_COMPILER_API MARKER_CORE_API "
         "MARKER_CONTROL_API MARKER_NAME_API MEMORY_COPY KERNEL_DISPATCH SCRATCH_MEMORY CORRELATION_ID_RETIREMENT RCCL_API OMPT "
         "MEMORY_ALLOCATION RUNTIME_INITIALIZATION ROCDECODE_API ROCJPEG_API HIP_STREAM HIP_RUNTIME_API_EXT HIP_COMPILER_API_EXT "
         "ROCDECODE_API_EXT KFD_EVENT_PAGE_MIGRATE KFD_EVENT_PAGE_FAULT KFD_EVENT_QUEUE KFD_EVENT_UNMAP_FROM_GPU "
         "KFD_EVENT_DROPPED_EVENTS KFD_PAGE_MIGRATE KFD_PAGE_FAULT KFD_QUEUE MARKER_CORE_RANGE_API").split()
OPERATIONS = {
    "HSA_CORE_API": ["hsa_init", "hsa_queue_create"],
    "MARKER_CONTROL_API": ["roctxProfilerPause", "roctxProfilerResume"],
    "MARKER_CORE_RANGE_API": ["roctxMarkA", "roctxThreadRangeA", "roctxProcessRangeA"],
    "MEMORY_COPY": ["MEMORY_COPY_NONE", "MEMORY_COPY_HOST_TO_HOST", "MEMORY_COPY_HOST_TO_DEVICE", "MEMORY_COPY_DEVICE_TO_HOST",
                    "MEMORY_COPY_DEVICE_TO_DEVICE"],
    "KERNEL_DISPATCH": ["KERNEL_DISPATCH_NONE", "KERNEL_DISPATCH_ENQUEUE", "KERNEL_DISPATCH_COMPLETE"],
    "RCCL_API": ["ncclAllReduce", "ncclBroadcast"],
    "MEMORY_ALLOCATION": ["MEMORY_ALLOCATION_NONE", "MEMORY_ALLOCATION_ALLOCATE", "MEMORY_ALLOCATION_VMEM_ALLOCATE",
                          "MEMORY_ALLOCATION_FREE", "MEMORY_ALLOCATION_VMEM_FREE"],
    "HIP_RUNTIME_API_EXT": ["hipMalloc", "hipLaunchKernel", "hipMemcpy", "hipFree"],
}
HOST, FIRST, SECOND = 1001, 1002, 1003
KERNELS = {1: ("_Z5scalePfi", "scale(float*, int)", 12), 2: ("gemm", "gemm", 96)}


def handle(v):
    return {"handle": v}


def record(kind, operation, start, end, correlation, thread, **more):
    return {"size": 64, "kind": KINDS.index(kind), "operation": OPERATIONS[kind].index(operation),
            "correlation_id": {"internal": correlation, "external": 0, "ancestor": 0}, "start_timestamp": start, "end_timestamp": end,
            "thread_id": thread, **more}


def dims(x, y=1, z=1):
    return {"x": x, "y": y, "z": z}


def info(number, kernel, agent=FIRST, queue=1):
    return {"size": 128, "agent_id": handle(agent), "queue_id": handle(queue), "kernel_id": kernel, "dispatch_id": number,
            "private_segment_size": 16 * kernel, "group_segment_size": 512 * kernel, "workgroup_size": dims(64, 2),
            "grid_size": dims(1024, 128, kernel)}


def hip(operation, start, end, correlation, thread, retval=0, **args):
    return record("HIP_RUNTIME_API_EXT", operation, start, end, correlation, thread, stream_id=handle(0),
                  args=[{"type": "m", "name": n, "value": v} for n, v in args.items()], retval={"hipError_t_retval": retval})


def agents():
    return [{"size": 312, "id": handle(h), "type": t, "node_id": n, "logical_node_id": n, "name": name, "product_name": product,
             "vendor_name": "AMD", "model_name": "", "gpu_index": n - 1}
            for n, (h, t, name, product) in enumerate([(HOST, 1, "EPYC", "AMD EPYC"), (FIRST, 2, "gfx942", "AMD Instinct MI300X"),
                                                       (SECOND, 2, "gfx942", "AMD Instinct MI300X")])]


def process(pid, t=1_000_000, counters=True):
    """A process with two devices, two streams, and one of each kind of record at least."""
    tid = pid + 1
    kernels = [record("KERNEL_DISPATCH", "KERNEL_DISPATCH_COMPLETE", t + 300 + 100 * i, t + 350 + 110 * i, 10 + i, tid,
                      dispatch_info=info(i + 1, 1 + i % 2, (FIRST, SECOND)[i % 2], 1 + i % 2), stream_id=handle(1 + i % 2)) for i in range(4)]
    copy = {"dst_agent_id": handle(FIRST), "src_agent_id": handle(HOST), "bytes": 4096, "stream_id": handle(1)}
    back = {"dst_agent_id": handle(HOST), "src_agent_id": handle(SECOND), "bytes": 1024, "stream_id": handle(2)}
    over = {"dst_agent_id": handle(SECOND), "src_agent_id": handle(FIRST), "bytes": 64, "stream_id": handle(2)}
    memory = {"agent_id": handle(FIRST), "address": "0x00007f0000001000", "allocation_size": 4096, "stream_id": handle(0)}
    values = [{"thread_id": tid, "stream_id": handle(1 + i % 2), "dispatch_data": {
        "size": 168, "correlation_id": r["correlation_id"], "start_timestamp": r["start_timestamp"], "end_timestamp": r["end_timestamp"],
        "dispatch_info": r["dispatch_info"]}, "records": [{"counter_id": handle(7), "value": 10.5 * (i + 1)},
                                                          {"counter_id": handle(8), "value": float(i)}]}
        for i, r in enumerate(kernels)]
    return {
        "metadata": {"node": {"hostname": f"node{pid % 2}"}, "pid": pid, "init_time": t, "fini_time": t + 5000,
                     "command": ["./solver", "-n", str(pid)], "config": {}},
        "agents": agents(),
        "counters": [{"agent_id": handle(FIRST), "id": handle(i), "name": n, "description": n.lower()} for i, n in ((7, "SQ_WAVES"), (8, "GRBM_COUNT"))],
        "strings": {"callback_records": [], "buffer_records": [{"kind": k, "operations": OPERATIONS.get(k, [])} for k in KINDS],
                    "marker_api": [{"key": 50, "value": "step \"1\""}, {"key": 51, "value": "over all"}, {"key": 52, "value": "here"}]},
        "code_objects": [], "host_functions": [],
        "kernel_symbols": [{"kernel_id": 0, "kernel_name": "", "formatted_kernel_name": ""}] + [
            {"kernel_id": i, "kernel_name": m, "formatted_kernel_name": n, "arch_vgpr_count": v} for i, (m, n, v) in KERNELS.items()],
        "callback_records": {"counter_collection": values if counters else []},
        "buffer_records": {
            "kernel_dispatch": kernels,
            "hip_api": [hip("hipMalloc", t + 100, t + 120, 5, tid, size="4096")] + [
                hip("hipLaunchKernel", t + 200 + 10 * i, t + 205 + 10 * i, 10 + i, tid, stream="0x0", shared="0") for i in range(4)] + [
                hip("hipMemcpy", t + 1000, t + 1200, 20, tid, kind="1"), hip("hipMemcpy", t + 1300, t + 1400, 21, tid, 1, kind="2"),
                hip("hipMemcpy", t + 1500, t + 1600, 22, tid), hip("hipFree", t + 2000, t + 2020, 30, tid)],
            "hsa_api": [record("HSA_CORE_API", "hsa_init", t + 10, t + 50, 1, tid)],
            "marker_api": [record("MARKER_CORE_RANGE_API", "roctxThreadRangeA", t + 90, t + 1250, 50, tid),
                           record("MARKER_CORE_RANGE_API", "roctxProcessRangeA", t + 90, t + 3000, 51, pid),
                           record("MARKER_CORE_RANGE_API", "roctxMarkA", t + 95, t + 95, 52, tid),
                           record("MARKER_CONTROL_API", "roctxProfilerPause", t + 2500, t + 2501, 53, tid)],
            "rccl_api": [record("RCCL_API", "ncclAllReduce", t + 2600, t + 2700, 54, tid)],
            "memory_copy": [record("MEMORY_COPY", "MEMORY_COPY_HOST_TO_DEVICE", t + 1050, t + 1150, 20, tid, **copy),
                            record("MEMORY_COPY", "MEMORY_COPY_DEVICE_TO_HOST", t + 1310, t + 1390, 21, tid, **back),
                            record("MEMORY_COPY", "MEMORY_COPY_DEVICE_TO_DEVICE", t + 1510, t + 1520, 22, tid, **over)],
            "memory_allocation": [record("MEMORY_ALLOCATION", "MEMORY_ALLOCATION_ALLOCATE", t + 102, t + 118, 5, tid, **memory),
                                  record("MEMORY_ALLOCATION", "MEMORY_ALLOCATION_FREE", t + 2002, t + 2018, 30, tid,
                                         **{**memory, "agent_id": handle(0), "allocation_size": 0})],
            "scratch_memory": [{"kind": 12, "operation": 1}],
            "pc_sample_host_trap": [{}, {}],
        },
    }


def document(path, *processes):
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"rocprofiler-sdk-tool": list(processes)}, f, indent=1)
    return path


def table(path, names, *rows):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="") as f:
        csv.writer(f, quoting=csv.QUOTE_NONNUMERIC).writerows([names.split(), *rows])


CALL = "Domain Function Process_Id Thread_Id Correlation_Id Start_Timestamp End_Timestamp"
LONG = "void f<int>(float*, \"x\", 3)"


def old(folder, pid):
    """ROCm 6.2: nodes are numbers, markers are functions, counters have no times."""
    t = 9_000_000_000
    table(f"{folder}/{pid}_hip_api_trace.csv", CALL, ["HIP_RUNTIME_API", "hipLaunchKernel", pid, pid, 3, t + 10, t + 20],
          ["HIP_RUNTIME_API", "hipMemcpy", pid, pid, 4, t + 200, t + 300], ["HIP_COMPILER_API", "__hipPushCallConfiguration", pid, pid, 2, t, t + 1])
    table(f"{folder}/{pid}_marker_api_trace.csv", CALL, ["MARKER_CORE_API", "a range", pid, pid, 1, t - 5, t + 400],
          ["MARKER_CORE_API", "a mark", pid, pid, 9, t + 7, t + 7], ["MARKER_CORE_API", "roctxGetThreadId", pid, pid, 10, t + 8, t + 9])
    table(f"{folder}/{pid}_kernel_trace.csv",
          "Kind Agent_Id Queue_Id Kernel_Id Kernel_Name Correlation_Id Start_Timestamp End_Timestamp Private_Segment_Size Group_Segment_Size "
          "Workgroup_Size_X Workgroup_Size_Y Workgroup_Size_Z Grid_Size_X Grid_Size_Y Grid_Size_Z Dispatch_Id",
          ["KERNEL_DISPATCH", 1, 2, 16, LONG, 3, t + 50, t + 90, 24, 128, 64, 1, 1, 256, 1, 1, 1])
    table(f"{folder}/{pid}_memory_copy_trace.csv",
          "Kind Direction Source_Agent_Id Destination_Agent_Id Correlation_Id Start_Timestamp End_Timestamp",
          ["MEMORY_COPY", "HOST_TO_DEVICE", 0, 1, 4, t + 210, t + 290])
    table(f"{folder}/{pid}_counter_collection.csv",
          "Correlation_Id Dispatch_Id Agent_Id Queue_Id Process_Id Thread_Id Grid_Size Kernel_Name Workgroup_Size LDS_Block_Size Scratch_Size "
          "VGPR_Count SGPR_Count Counter_Name Counter_Value", [3, 1, 1, 2, pid, pid, 256, LONG, 64, 0, 0, 8, 16, "SQ_WAVES", 4],
          [4, 77, 1, 2, pid, pid, 256, LONG, 64, 0, 0, 8, 16, "SQ_WAVES", 4])
    table(f"{folder}/{pid}_agent_info.csv", "Node_Id Logical_Node_Id Agent_Type Name Vendor_Name Product_Name Cu_Count Wave_Front_Size Max_Engine_Clk_Fcompute "
          "Simd_Per_Cu Max_Waves_Per_Simd Num_Xcc",
          [0, 0, "CPU", "EPYC", "AMD", "AMD EPYC", 0, 0, 0, 0, 0, 0], [1, 1, "GPU", "gfx90a", "AMD", "AMD Instinct MI250X", 110, 64, 1700, 4, 8, 1])
    table(f"{folder}/{pid}_kernel_stats.csv", "Name Calls TotalDurationNs AverageNs Percentage MinNs MaxNs StdDev", [LONG, 1, 40, 40, 100, 40, 40, 0])


def counters_alone(folder, pid):
    """ROCm 6.4: of counters alone, which have the times of their kernels."""
    t = 12_000_000_000
    names = ("Correlation_Id Dispatch_Id Agent_Id Queue_Id Process_Id Thread_Id Grid_Size Kernel_Id Kernel_Name Workgroup_Size LDS_Block_Size "
             "Scratch_Size VGPR_Count Accum_VGPR_Count SGPR_Count Counter_Name Counter_Value Start_Timestamp End_Timestamp")
    table(f"{folder}/{pid}_counter_collection.csv", names,
          *([d, d, "Agent 1", 1, pid, pid, 256, 3, "k", 64, 0, 0, 8, 0, 16, name, value, t + 100 * d, t + 100 * d + 60]
            for d in (1, 2) for name, value in (("SQ_WAVES", 4.0), ("GRBM_COUNT", 1e7 * d))))
