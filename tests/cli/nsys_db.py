#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Databases of the shape that Nsight Systems exports: tables and columns as its published schema has them, with made-up
events. Two processes on one node, two devices of one name, two streams, two threads.

    nsys_db.py FILE [LAUNCHES]"""
import os
import sqlite3
import sys

NAMES = ("", "cudaLaunchKernel_v7000", "cudaMemcpyAsync_v3020", "cudaMemsetAsync_v3020", "cudaStreamSynchronize_v3020",
         "cudaMalloc_v3020", "cudaFree_v3020", "cuLaunchKernel", "void gemm<float>(int)", "gemm", "_Z4gemmIfEvi",
         "void axpy(double, double*)", "axpy", "_Z4axpydPd", "read", "MPI_Send", "MPI_Recv", "worker", "step", "load",
         "cublasSgemm_v2", "made-up domain", "I/O", "cuda_main", "main", "step()", "fill(double*, int)", "copy_page",
         "0x7fff00001234", "/opt/lib/libmade-up.so", "[kernel.kallsyms]", "/opt/app", "MPI_Bcast", "MPI_Allreduce", "MPI_Isend", "MPI_Wait", "MPI_Barrier",
         "MPI_Send_init", "MPI_Sendrecv", "MPI_Comm_rank")
ID = {name: i + 100 for i, name in enumerate(NAMES)}

WORK = ("start INTEGER NOT NULL, -- Event start timestamp (ns).\n end INTEGER NOT NULL, -- It's the end, (ns).\n"
        " deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL,\n"
        " correlationId INTEGER, -- REFERENCES CUPTI_ACTIVITY_KIND_RUNTIME(correlationId)\n globalPid INTEGER")
CALL = "start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER"
ENUM = "id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT"

SCHEMA = {
    "StringIds": "-- Consolidation of repetitive string values.\n\n id INTEGER NOT NULL PRIMARY KEY, -- ID reference value.\n"
                 " value TEXT NOT NULL -- String value.\n",
    "ThreadNames": "nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER",
    "PROCESSES": "globalPid INTEGER, pid INTEGER, name TEXT",
    "ANALYSIS_DETAILS": "globalVid INTEGER NOT NULL, duration INTEGER NOT NULL, startTime INTEGER NOT NULL, "
                        "stopTime INTEGER NOT NULL",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs INTEGER, utcTime TEXT, localTime TEXT",
    "TARGET_INFO_GPU": "vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT, busLocation TEXT, isDiscrete INTEGER, "
                       "l2CacheSize INTEGER, totalMemory INTEGER, memoryBandwidth INTEGER, clockRate INTEGER, smCount INTEGER, "
                       "pwGpuId INTEGER, uuid TEXT, luid INTEGER, chipName TEXT, cuDevice INTEGER, threadsPerWarp INTEGER",
    "TARGET_INFO_CUDA_DEVICE": "gpuId INTEGER NOT NULL, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL, uuid TEXT",
    "TARGET_INFO_SYSTEM_ENV": "globalVid INTEGER, devStateName TEXT NOT NULL, name TEXT NOT NULL, nameEnum INTEGER NOT NULL, "
                              "value TEXT NOT NULL",
    "META_DATA_EXPORT": "name TEXT NOT NULL, value TEXT",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, "
                                   "correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, "
                                   "callchainId INTEGER",
    "CUPTI_ACTIVITY_KIND_KERNEL": WORK + ", demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER, "
        "launchType INTEGER, cacheConfig INTEGER, registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER "
        "NOT NULL, gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL, "
        "staticSharedMemory INTEGER NOT NULL, dynamicSharedMemory INTEGER NOT NULL, localMemoryPerThread INTEGER NOT NULL, "
        "localMemoryTotal INTEGER NOT NULL, gridId INTEGER NOT NULL, sharedMemoryExecuted INTEGER, graphNodeId INTEGER, "
        "graphId INTEGER, clusterX INTEGER, clusterY INTEGER, clusterZ INTEGER",
    "CUPTI_ACTIVITY_KIND_MEMCPY": WORK + ", bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, deprecatedSrcId INTEGER, "
        "srcKind INTEGER, dstKind INTEGER, srcDeviceId INTEGER, srcContextId INTEGER, dstDeviceId INTEGER, dstContextId INTEGER, "
        "migrationCause INTEGER, graphNodeId INTEGER, virtualAddress INTEGER",
    "CUPTI_ACTIVITY_KIND_MEMSET": WORK + ", value INTEGER NOT NULL, bytes INTEGER NOT NULL, graphNodeId INTEGER, memKind INTEGER",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": WORK + ", syncType INTEGER NOT NULL, eventId INTEGER NOT NULL",
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT": "timestamp INTEGER, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT "
        "NULL, correlationId INTEGER, globalPid INTEGER, eventId INTEGER NOT NULL",
    "CUDA_UM_CPU_PAGE_FAULT_EVENTS": "start INTEGER NOT NULL, globalPid INTEGER NOT NULL, address INTEGER NOT NULL, CpuInstruction INTEGER",
    "CUDA_UM_GPU_PAGE_FAULT_EVENTS": "start INTEGER NOT NULL, end INTEGER NOT NULL, globalPid INTEGER NOT NULL, deviceId INTEGER NOT NULL, "
        "address INTEGER NOT NULL, numberOfPageFaults INTEGER NOT NULL, faultAccessType INTEGER",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": WORK.replace(" greenContextId INTEGER,", "") + ", graphId INTEGER NOT NULL, "
        "graphExecId INTEGER NOT NULL",
    "CUDA_GPU_MEMORY_USAGE_EVENTS": "start INTEGER NOT NULL, globalPid INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId "
        "INTEGER NOT NULL, address INTEGER NOT NULL, pc INTEGER NOT NULL, bytes INTEGER NOT NULL, memKind INTEGER NOT NULL, "
        "memoryOperationType INTEGER NOT NULL, name TEXT, correlationId INTEGER, streamId INTEGER",
    "NVTX_EVENTS": "start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, category INTEGER, color "
        "INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, uint64Value INTEGER, "
        "int64Value INTEGER, doubleValue REAL, uint32Value INTEGER, int32Value INTEGER, floatValue REAL, jsonTextId INTEGER, "
        "jsonText TEXT, binaryData TEXT",
    "OSRT_API": "start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, nameId INTEGER "
                "NOT NULL, returnValue INTEGER NOT NULL, nestingLevel INTEGER, callchainId INTEGER NOT NULL",
    "MPI_P2P_EVENTS": CALL + ", textId INTEGER, domainId INTEGER, commHandle INTEGER, tag INTEGER, remoteRank INTEGER, size INTEGER, "
                      "requestHandle INTEGER",
    "MPI_COLLECTIVES_EVENTS": CALL + ", textId INTEGER, commHandle INTEGER, rootRank INTEGER, size INTEGER, recvSize INTEGER, requestHandle INTEGER",
    "MPI_START_WAIT_EVENTS": CALL + ", textId INTEGER, requestHandle INTEGER",
    "MPI_OTHER_EVENTS": CALL + ", textId INTEGER",
    "MPI_COMMUNICATORS": "rank INTEGER, timestamp INTEGER, commHandle INTEGER, parentHandle INTEGER, localRank INTEGER, size INTEGER, groupRoot "
                         "INTEGER, groupRootUid INTEGER, members TEXT, commUid INTEGER",
    "MPI_RANKS": "globalTid INTEGER, rank INTEGER",
    "CUBLAS_EVENTS": CALL + ", nameId INTEGER NOT NULL",
    "PROFILER_OVERHEAD": CALL + ", nameId INTEGER NOT NULL",
    "SCHED_EVENTS": "start INTEGER NOT NULL, cpu INTEGER NOT NULL, isSchedIn INTEGER NOT NULL, globalTid INTEGER",
    "COMPOSITE_EVENTS": "id INTEGER NOT NULL PRIMARY KEY, start INTEGER NOT NULL, cpu INTEGER NOT NULL, threadState INTEGER, globalTid "
                        "INTEGER, cpuCycles INTEGER NOT NULL",
    "SAMPLING_CALLCHAINS": "id INTEGER NOT NULL, symbol INTEGER, module INTEGER, kernelMode INTEGER, thumbCode INTEGER, unresolved "
                           "INTEGER, specialEntry INTEGER, originalIP INTEGER, unwindMethod INTEGER, stackDepth INTEGER NOT NULL, "
                           "PRIMARY KEY (id, stackDepth)",
    "TARGET_INFO_GPU_METRICS": "typeId INTEGER NOT NULL, sourceId INTEGER NOT NULL, typeName TEXT NOT NULL, metricId INTEGER NOT "
                               "NULL, metricName TEXT NOT NULL",
    "GPU_METRICS": "rawTimestamp INTEGER NOT NULL, timestamp INTEGER NOT NULL, typeId INTEGER NOT NULL, metricId INTEGER NOT NULL, "
                   "value INTEGER NOT NULL",
    "DIAGNOSTIC_EVENT": "timestamp INTEGER NOT NULL, timestampType INTEGER NOT NULL, source INTEGER NOT NULL, severity INTEGER NOT NULL, "
                        "text TEXT NOT NULL, globalPid INTEGER",
    "ENUM_DIAGNOSTIC_SEVERITY_LEVEL": ENUM, "ENUM_CUDA_MEMCPY_OPER": ENUM, "ENUM_CUDA_MEM_KIND": ENUM, "ENUM_CUPTI_SYNC_TYPE": ENUM, "ENUM_NSYS_EVENT_TYPE": ENUM,
    "ENUM_CUDA_DEV_MEM_EVENT_OPER": ENUM,
}

ENUMS = {
    "ENUM_CUDA_MEMCPY_OPER": ["CUDA_MEMCPY_KIND_" + n for n in ("UNKNOWN", "HTOD", "DTOH", "HTOA", "ATOH", "ATOA", "ATOD", "DTOA",
                                                               "DTOD", "HTOH", "PTOP", "UVM_HTOD", "UVM_DTOH", "UVM_DTOD")],
    "ENUM_CUDA_MEM_KIND": ["CUDA_MEMOPR_MEMORY_KIND_" + n for n in ("PAGEABLE", "PINNED", "DEVICE", "ARRAY", "MANAGED",
                                                                   "DEVICE_STATIC", "MANAGED_STATIC", "UNKNOWN")],
    "ENUM_CUPTI_SYNC_TYPE": ["CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_" + n for n in
                             ("UNKNOWN", "EVENT_SYNCHRONIZE", "STREAM_WAIT_EVENT", "STREAM_SYNCHRONIZE", "CONTEXT_SYNCHRONIZE")],
    "ENUM_DIAGNOSTIC_SEVERITY_LEVEL": ["Unknown", "Information", "Warning", "Error"],
    "ENUM_CUDA_DEV_MEM_EVENT_OPER": ["CUDA_DEV_MEM_EVENT_OPR_ALLOCATION", "CUDA_DEV_MEM_EVENT_OPR_DEALLOCATION"],
}
EVENT_TYPES = {33: "NvtxCategory", 34: "NvtxMark", 59: "NvtxPushPopRange", 60: "NvtxStartEndRange", 75: "NvtxDomainCreate"}

MACHINE = 0x12
PIDS = (4000, 4001)
UTC = 1700000000123456789
BOOT, STOP = 35255823190, 10**9  # on the system's clock the session began; of the session its end


def pid(p):
    return (MACHINE << 48) + (p << 24)


def tid(p, t):
    return pid(p) + t


class Database:
    def __init__(self, path):
        if os.path.exists(path):
            os.remove(path)
        self.db = sqlite3.connect(path)
        for table, columns in SCHEMA.items():
            self.db.execute(f"CREATE TABLE {table} ({columns}\n)")
        self.columns = {t: [c[1] for c in self.db.execute(f"PRAGMA table_info({t})")] for t in SCHEMA}

    def add(self, table, **values):
        """A row; columns that are not named are NULL, or 0 where they may not be."""
        names = ", ".join(values)
        self.db.execute(f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(values))})", list(values.values()))

    def close(self):
        self.db.commit()
        self.db.close()


def definitions(d):
    for name, i in ID.items():
        d.add("StringIds", id=i, value=name)
    for table, names in ENUMS.items():
        for i, name in enumerate(names):
            d.add(table, id=i, name=name, label=name.title())
    for i, name in EVENT_TYPES.items():
        d.add("ENUM_NSYS_EVENT_TYPE", id=i, name=name, label=name)
    d.add("META_DATA_EXPORT", name="EXPORT_SCHEMA_VERSION", value="3.16.1")
    d.add("TARGET_INFO_SESSION_START_TIME", utcEpochNs=UTC, utcTime="", localTime="")
    d.add("ANALYSIS_DETAILS", globalVid=MACHINE << 48, duration=STOP, startTime=BOOT, stopTime=BOOT + STOP)
    d.add("TARGET_INFO_SYSTEM_ENV", globalVid=MACHINE << 48, devStateName="", name="Hostname", nameEnum=1, value="node7")
    for i in range(2):
        d.add("TARGET_INFO_GPU", vmId=MACHINE, id=i, name="Made-up GPU", totalMemory=1 << 34, smCount=10 + i, cuDevice=i,
              uuid=f"GPU-0000000{i}-1111-2222-3333-444444444444", threadsPerWarp=32)
        for p in PIDS:
            # The second process sees the devices the other way round.
            d.add("TARGET_INFO_CUDA_DEVICE", gpuId=i, cudaId=i if p == PIDS[0] else 1 - i, pid=p, uuid="")
    for k, p in enumerate(PIDS):
        d.add("PROCESSES", globalPid=pid(p), pid=p, name=f"/opt/app{k}")
        d.add("MPI_RANKS", globalTid=tid(p, p), rank=k)
        d.add("ThreadNames", nameId=ID["cuda_main"], priority=0, globalTid=tid(p, p))
        d.add("ThreadNames", nameId=ID["worker"], priority=0, globalTid=tid(p, p + 50))
    d.add("PROCESSES", globalPid=pid(1), pid=1, name="/sbin/init")


def work(p, device, stream, start, end, correlation, **more):
    return dict(start=start, end=end, deviceId=device, contextId=1, streamId=stream, correlationId=correlation, globalPid=pid(p),
                **more)


def call(d, p, t, name, start, end, correlation, value=0):
    d.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=start, end=end, eventClass=0 if name.startswith("cuda") else 1,
          globalTid=tid(p, t), correlationId=correlation, nameId=ID[name], returnValue=value)


def kernel(d, p, device, stream, start, end, correlation, name="void gemm<float>(int)", short="gemm", mangled="_Z4gemmIfEvi", **more):
    sizes = dict(registersPerThread=40, gridX=4, gridY=2, gridZ=1, blockX=32, blockY=2, blockZ=1, staticSharedMemory=128,
                 dynamicSharedMemory=512, localMemoryPerThread=16, localMemoryTotal=1 << 20, gridId=correlation)
    sizes.update(more)
    d.add("CUPTI_ACTIVITY_KIND_KERNEL", demangledName=ID[name], shortName=ID[short], mangledName=ID[mangled],
          **work(p, device, stream, start, end, correlation, **sizes))


def copy(d, p, device, stream, start, end, correlation, size, way, kinds, **more):
    d.add("CUPTI_ACTIVITY_KIND_MEMCPY", bytes=size, copyKind=way, srcKind=kinds[0], dstKind=kinds[1],
          **work(p, device, stream, start, end, correlation, **more))


def process(d, p, at):
    """Correlations are the same in both processes."""
    main, worker = p, p + 50
    call(d, p, main, "cudaMalloc_v3020", at + 1000, at + 2000, 1)
    d.add("CUDA_GPU_MEMORY_USAGE_EVENTS", start=at + 1900, globalPid=pid(p), deviceId=0, contextId=1, address=0x7000, pc=0,
          bytes=4096, memKind=2, memoryOperationType=0, correlationId=1)
    call(d, p, main, "cudaMemcpyAsync_v3020", at + 3000, at + 4000, 2)
    copy(d, p, 0, 7, at + 3500, at + 5500, 2, 4096, 1, (1, 2))
    call(d, p, main, "cudaLaunchKernel_v7000", at + 5000, at + 5100, 3)
    kernel(d, p, 0, 7, at + 5600, at + 9601, 3)
    call(d, p, worker, "cudaLaunchKernel_v7000", at + 5050, at + 5200, 4)
    kernel(d, p, 1, 13, at + 6000, at + 8003, 4, "void axpy(double, double*)", "axpy", "_Z4axpydPd", graphNodeId=9, graphId=3,
           clusterX=2, clusterY=1, clusterZ=1)
    call(d, p, main, "cudaMemsetAsync_v3020", at + 6000, at + 6500, 5)
    d.add("CUPTI_ACTIVITY_KIND_MEMSET", value=0, bytes=64, memKind=2, **work(p, 0, 7, at + 9700, at + 9800, 5))
    call(d, p, main, "cuLaunchKernel", at + 6600, at + 6700, 6)
    copy(d, p, 0, 7, at + 9900, at + 9999, 6, 100, 10, (2, 2), srcDeviceId=0, dstDeviceId=1)
    copy(d, p, 0, 7, at + 10000, at + 10500, 6, 2048, 2, (2, 0))
    copy(d, p, 0, 7, at + 10600, at + 10700, 0, 8192, 11, (4, 4), virtualAddress=0x1234, migrationCause=3)
    d.add("CUPTI_ACTIVITY_KIND_CUDA_EVENT", timestamp=at + 10800, deviceId=0, contextId=1, streamId=7, correlationId=7, globalPid=pid(p),
          eventId=78)
    d.add("CUPTI_ACTIVITY_KIND_CUDA_EVENT", timestamp=0, deviceId=0, contextId=1, streamId=7, globalPid=pid(p), eventId=79)
    d.add("CUDA_UM_CPU_PAGE_FAULT_EVENTS", start=at + 10850, globalPid=pid(p), address=0x8000)
    d.add("CUDA_UM_GPU_PAGE_FAULT_EVENTS", start=at + 10860, end=at + 10890, globalPid=pid(p), deviceId=1, address=0x9000,
          numberOfPageFaults=17)
    call(d, p, main, "cudaStreamSynchronize_v3020", at + 7000, at + 11000, 7)
    d.add("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", syncType=3, eventId=0, **work(p, 0, 7, at + 7100, at + 10900, 7))
    d.add("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", syncType=2, eventId=77, **work(p, 0, 7, at + 7200, at + 7300, 7))
    d.add("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", graphId=5, graphExecId=6, **work(p, 1, 13, at + 12000, at + 12500, 3))
    call(d, p, main, "cudaFree_v3020", at + 13000, at + 14000, 8, value=1)
    d.add("CUDA_GPU_MEMORY_USAGE_EVENTS", start=at + 13500, globalPid=pid(p), deviceId=0, contextId=1, address=0x7000, pc=0,
          bytes=4096, memKind=2, memoryOperationType=1, correlationId=8)
    d.add("OSRT_API", start=at + 100, end=at + 900, eventClass=27, globalTid=tid(p, main), nameId=ID["read"], returnValue=4096,
          nestingLevel=0, callchainId=0)
    d.add("MPI_P2P_EVENTS", start=at + 20000, end=at + 21000, globalTid=tid(p, main),
          textId=ID["MPI_Send" if p == PIDS[0] else "MPI_Recv"], commHandle=1, tag=3, remoteRank=1 - PIDS.index(p), size=800)
    d.add("CUBLAS_EVENTS", start=at + 4900, end=at + 5150, globalTid=tid(p, main), nameId=ID["cublasSgemm_v2"])
    nvtx(d, p, at)


def nvtx(d, p, at):
    main = tid(p, p)
    d.add("NVTX_EVENTS", start=at, eventType=75, textId=ID["made-up domain"], domainId=1, globalTid=main)
    d.add("NVTX_EVENTS", start=at, eventType=33, text="loading", category=4, domainId=1, globalTid=main)
    d.add("NVTX_EVENTS", start=at + 500, end=at + 15000, eventType=59, textId=ID["step"], globalTid=main, domainId=0, color=0xff112233)
    d.add("NVTX_EVENTS", start=at + 2500, end=at + 6900, eventType=59, text="inner \"x\"", globalTid=main, domainId=1, category=4,
          int64Value=-7)
    d.add("NVTX_EVENTS", start=at + 600, end=at + 16000, eventType=60, textId=ID["load"], rangeId=1, globalTid=main,
          endGlobalTid=tid(p, p + 50), domainId=0, doubleValue=2.5)
    d.add("NVTX_EVENTS", start=at + 700, eventType=34, textId=ID["I/O"], globalTid=main, domainId=0)
    d.add("NVTX_EVENTS", start=at + 30000, eventType=59, text="never popped", globalTid=tid(p, p + 50), domainId=0)


def sample(d, i, at, thread, *frames, cpu=1):
    """Frames from the innermost out: name, module, address."""
    d.add("COMPOSITE_EVENTS", id=i, start=at, cpu=cpu, threadState=0, globalTid=thread, cpuCycles=1000 + i)
    for depth, (name, module, address) in enumerate(frames):
        d.add("SAMPLING_CALLCHAINS", id=i, symbol=ID[name], module=ID[module], kernelMode=int(module == "[kernel.kallsyms]"), thumbCode=0,
              unresolved=int(name.startswith("0x")), specialEntry=0, originalIP=address, stackDepth=depth)


def samples(d):
    """Both processes have the functions of the same names, at addresses of their own."""
    for k, p in enumerate(PIDS):
        app, at = "/opt/app", 1000000 * k
        main, step = ("main", app, 0x400100 + k), ("step()", app, 0x400200 + k)
        fill, other = ("fill(double*, int)", "/opt/lib/libmade-up.so", 0x7f0000000300), ("0x7fff00001234", "/opt/lib/libmade-up.so", 0x7fff00001234)
        sample(d, 10 * k + 1, at + 150, tid(p, p), step, main)
        sample(d, 10 * k + 2, at + 5060, tid(p, p), fill, step, main, cpu=3)
        sample(d, 10 * k + 3, at + 5070, tid(p, p + 50), other, main)
        sample(d, 10 * k + 4, at + 40000, tid(p, p), fill, step, main)
        sample(d, 10 * k + 5, at + 41000, tid(p, p), ("copy_page", "[kernel.kallsyms]", 1 << 62), step, main)


def messages(d):
    """Besides those of process(); for a database of its own."""
    for k, p in enumerate(PIDS):
        at, main, other = 2000000 + 1000 * k, tid(p, p), 1 - k

        def mpi(table, name, start, **more):
            d.add(f"MPI_{table}_EVENTS", start=at + start, end=at + start + 50, globalTid=main, textId=ID[name], **more)

        # What a rank calls 1 is the world, 2 a part of the other order, 3 itself.
        d.add("MPI_COMMUNICATORS", rank=k, timestamp=0, commHandle=1, localRank=k, size=2, commUid=70)
        d.add("MPI_COMMUNICATORS", rank=k, timestamp=0, commHandle=2, parentHandle=1, localRank=other, size=2, commUid=71)
        d.add("MPI_COMMUNICATORS", rank=k, timestamp=0, commHandle=3, parentHandle=1, localRank=0, size=1, commUid=72 + k)
        mpi("P2P", "MPI_Isend", 0, commHandle=1, tag=5, remoteRank=other, size=64, requestHandle=900 + k)
        mpi("P2P", "MPI_Recv", 100, commHandle=1, tag=5, remoteRank=other, size=64)
        mpi("START_WAIT", "MPI_Wait", 200, requestHandle=900 + k)
        mpi("P2P", "MPI_Send", 300, commHandle=2, tag=6, remoteRank=k, size=32)
        mpi("P2P", "MPI_Send", 400, commHandle=1, tag=7, remoteRank=-2, size=16)
        mpi("P2P", "MPI_Send_init", 500, commHandle=1, tag=8, remoteRank=other, size=16, requestHandle=950)
        mpi("P2P", "MPI_Sendrecv", 600, commHandle=1, tag=8, remoteRank=other, size=16)
        mpi("COLLECTIVES", "MPI_Bcast", 700, commHandle=1, rootRank=1, size=4096)
        mpi("COLLECTIVES", "MPI_Allreduce", 800, commHandle=1, size=8, recvSize=24)
        mpi("COLLECTIVES", "MPI_Barrier", 900, commHandle=3)
        mpi("OTHER", "MPI_Comm_rank", 950)


def metrics(d):
    for gpu in range(2):
        for m, name in ((1, "SMs Active [Throughput %]"), (2, "DRAM Read Bandwidth [Throughput %]")):
            d.add("TARGET_INFO_GPU_METRICS", typeId=0xab00 + gpu, sourceId=1, typeName="GPU Metrics", metricId=m, metricName=name)
            for k in range(5):
                d.add("GPU_METRICS", rawTimestamp=0, timestamp=1000 * k + 50, typeId=0xab00 + gpu, metricId=m,
                      value=10 * gpu + m + k)


def write(path, change=None):
    d = Database(path)
    definitions(d)
    for k, p in enumerate(PIDS):
        process(d, p, 1000000 * k)
    metrics(d)
    samples(d)
    for k, text in enumerate(("Profiling has begun.", "Not all NVTX events were collected.", "CUDA\nfailed.")):
        d.add("DIAGNOSTIC_EVENT", timestamp=k, timestampType=1, source=1, severity=k + 1, text=text)
    d.add("PROFILER_OVERHEAD", start=5, end=6, globalTid=tid(PIDS[0], PIDS[0]), nameId=ID["read"])
    for k in range(3):
        d.add("SCHED_EVENTS", start=k, cpu=0, isSchedIn=1, globalTid=tid(PIDS[0], PIDS[0]))
    if change:
        change(d)
    d.close()
    return path


def write_many(path, launches):
    """For measurements: launches and kernels, a range for every hundred."""
    d = Database(path)
    definitions(d)
    calls, kernels, ranges = [], [], []
    for i in range(launches):
        p, at = PIDS[i & 1], i * 2000
        calls.append((at, at + 900, 0, tid(p, p), i + 1, ID["cudaLaunchKernel_v7000"], 0, None))
        kernels.append((at + 1000, at + 2900, i % 2, 1, 7 + i % 3, i + 1, pid(p), ID["void gemm<float>(int)"], ID["gemm"], 40, 4, 2, 1,
                        32, 1, 1, 0, 512, 0, 0, i))
        if i % 100 == 0:
            ranges.append((at - 10, at + 190000, 59, ID["step"], tid(p, p), 0))
    d.db.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?,?,?,?,?,?,?,?)", calls)
    d.db.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, correlationId, globalPid, "
                     "demangledName, shortName, registersPerThread, gridX, gridY, gridZ, blockX, blockY, blockZ, staticSharedMemory, "
                     "dynamicSharedMemory, localMemoryPerThread, localMemoryTotal, gridId) VALUES (" + ",".join("?" * 21) + ")", kernels)
    d.db.executemany("INSERT INTO NVTX_EVENTS (start, end, eventType, textId, globalTid, domainId) VALUES (?,?,?,?,?,?)", ranges)
    d.close()


if __name__ == "__main__":
    if len(sys.argv) > 2:
        write_many(sys.argv[1], int(sys.argv[2]))
    else:
        write(sys.argv[1])
