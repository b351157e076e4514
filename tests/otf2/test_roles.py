#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each operation of each model has a role and a side; what names say of them is what they have.

    test_roles.py PROGRAM SOURCE
"""
import glob
import json
import os
import re
import subprocess
import sys

DOMAINS = {"ze": "level_zero"}
KNOWN = {
    "cuda cuLaunchKernel": ("TASK_CREATE", "1"), "cuda_runtime cudaMemcpyAsync": ("DATA_TRANSFER", "2"),
    "cuda cuMemAlloc_v2": ("ALLOCATE", "0"), "cuda cuMemFree_v2": ("DEALLOCATE", "0"),
    "cuda cuStreamSynchronize": ("TASK_WAIT", "0"), "cuda cuCtxSynchronize": ("BARRIER", "0"),
    "cuda cuGraphLaunch": ("TASK_CREATE", "4"), "cuda cuGraphCreate": ("WRAPPER", "0"),
    "cuda cuMemsetD8_v2": ("DATA_TRANSFER", "3"), "cuda cuLaunchHostFunc": ("TASK_CREATE", "5"),
    "hip hipLaunchKernel": ("TASK_CREATE", "1"), "hip hipMalloc": ("ALLOCATE", "0"),
    "hip hipDeviceSynchronize": ("BARRIER", "0"), "hip hipModuleLaunchKernel": ("TASK_CREATE", "1"),
    "opencl clEnqueueNDRangeKernel": ("TASK_CREATE", "1"), "opencl clFinish": ("TASK_WAIT", "0"),
    "opencl clEnqueueReadBuffer": ("DATA_TRANSFER", "2"), "opencl clGetDeviceInfo": ("WRAPPER", "0"),
    "mpi MPI_Send": ("POINT2POINT", "0"), "mpi MPI_Allreduce": ("COLL_ALL2ALL", "0"),
    "mpi MPI_Bcast": ("COLL_ONE2ALL", "0"), "mpi MPI_Reduce": ("COLL_ALL2ONE", "0"),
    "mpi MPI_Barrier": ("BARRIER", "0"), "mpi MPI_Put": ("RMA", "0"), "mpi MPI_Init": ("WRAPPER", "0"),
    "openshmem shmem_team_sync": ("BARRIER", "0"), "openshmem shmem_info_get_name": ("WRAPPER", "0"),
    "openshmem shmem_int_g": ("RMA", "0"), "openshmem shmem_getmem": ("RMA", "0"), "openshmem shmem_free": ("DEALLOCATE", "0"),
    "ucx ucp_get_version_string": ("WRAPPER", "0"), "ucx ucp_get_nbx": ("RMA", "0"), "ucx ucp_tag_send_nbx": ("POINT2POINT", "0"),
    "oneccl ccl::reduce_scatter": ("COLL_ALL2ALL", "1"), "oneccl ccl::reduce (host)": ("COLL_ALL2ONE", "1"),
    "numa numa_alloc_onnode": ("ALLOCATE", "0"), "numa numa_max_node": ("WRAPPER", "0"),
    "mpi MPI_File_write_at": ("FILE_IO", "0"), "mpi MPI_Scan": ("COLL_OTHER", "0"),
    "mpi MPI_Ibarrier": ("BARRIER", "0"), "mpi MPI_Get_count": ("WRAPPER", "0"),
    "openmp parallel": ("PARALLEL", "0"), "openmp barrier": ("BARRIER", "0"),
    "openmp implicit_barrier": ("IMPLICIT_BARRIER", "0"), "openmp task": ("TASK", "0"),
    "nccl ncclAllReduce": ("COLL_ALL2ALL", "1"), "nccl ncclSend": ("POINT2POINT", "1"),
    "hsa hsa_amd_memory_async_copy": ("DATA_TRANSFER", "2"),
    "level_zero zeMemAllocDevice": ("ALLOCATE", "0"),
    "level_zero zeCommandQueueExecuteCommandLists": ("TASK_CREATE", "1"),
}
RULES = [  # (names, role)
    (r"cu(da)?Memcpy.*|hipMemcpy.*|clEnqueue(Read|Write|Copy|Map|Unmap|Migrate)\w*", "DATA_TRANSFER"),
    (r"cudaMalloc(3D|Managed|Async|Host|Pitch)?|clCreateBuffer.*|clSVMAlloc.*", "ALLOCATE"),
    (r"cudaFree(Async|Host)?|clSVMFree|hipFree(Async)?", "DEALLOCATE"),
    (r"cu(da)?(Stream|Event)Synchronize.*|hip(Stream|Event)Synchronize.*", "TASK_WAIT"),
    (r"MPI_I?send(_c)?", "POINT2POINT"),
]


def names_in(value):
    """All functions' names below a list or table called functions or tables."""
    if isinstance(value, dict):
        if isinstance(value.get("name"), str) and ("params" in value or "return" in value or
                                                   "parameters" in value or "args" in value):
            yield value["name"]
        for v in value.values():
            yield from names_in(v)
    elif isinstance(value, list):
        for v in value:
            yield from names_in(v)


def operations(source):
    for path in sorted(glob.glob(os.path.join(source, "api", "*", "*.json"))):
        if os.path.basename(path) in ("facts.json", "enums.json", "types.json", "errors.json"):
            continue
        model = json.load(open(path, encoding="utf-8"))
        folder = os.path.basename(os.path.dirname(path))
        domain = DOMAINS.get(folder, model.get("domain", folder))
        if "ops" in model:
            yield from ((domain, op[1]) for op in model["ops"])
        elif "functions" in model or "tables" in model:
            found = sorted(set(names_in(model.get("functions", model.get("tables")))))
            assert found, f"{path}: no functions found"
            yield from ((domain, name) for name in found)


def main():
    program, source = sys.argv[1:3]
    listed = list(operations(source))
    asked = "".join(f"{d} {n}\n" for d, n in listed)
    asked += "".join(f"{k}\n" for k in KNOWN) + "own thing\n"
    out = subprocess.run([program], input=asked, capture_output=True, text=True, check=True).stdout
    answers, problems = {}, []
    for line in out.splitlines():
        domain, name, role, side, task = line.split("\t")
        answers[f"{domain} {name}"] = (role, task, side)
    if answers.pop("own thing")[0] != "none":
        problems.append("an unknown domain has a role")
    for domain, name in listed:
        role, _, side = answers[f"{domain} {name}"]
        if role in ("none", "UNKNOWN") or side != "host":
            problems.append(f"{domain} {name}: {role}, {side}")
        for pattern, wanted in RULES:
            if re.fullmatch(pattern, name) and role != wanted:
                problems.append(f"{domain} {name}: {role}, not {wanted}")
    for what, wanted in KNOWN.items():
        if answers[what][:2] != wanted:
            problems.append(f"{what}: {answers[what]}, not {wanted}")
    print(f"{len(listed)} operations of {len({d for d, _ in listed})} domains")
    for p in problems[:40]:
        print(p)
    assert len(listed) > 3000, "models are missing"
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
