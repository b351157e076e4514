#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports of Nsight Systems read: what kymo makes of a database of that shape, against what sqlite3 finds in it; databases
that are damaged, hostile, of other versions or wrong are refused with the reason, or what is lost is told.

    nsys.py KYMO"""
import json
import os
import re
import sqlite3
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import databases  # noqa: E402
import kymotest  # noqa: E402
from kymotest import Run, check, must  # noqa: E402
import nsys_db  # noqa: E402

KYMO = os.path.abspath(sys.argv[1])
IT = databases.Kymo(KYMO)
query, shown, refused, same = IT.query, IT.shown, IT.refused, IT.same
TOLD = "events whose time was not collected (2)"
TOLD_TOO = "rows of PROFILER_OVERHEAD (1), rows of SCHED_EVENTS (3)"


class Place(databases.Place):
    def __init__(self, folder):
        super().__init__(KYMO, folder)
        self.trace = self("a.kymo")
        run = Run([KYMO, "import", self.db, "-o", self.trace])
        check(f"import: {run.err}", (run.status, TOLD in run.err, TOLD_TOO in run.err), (0, True, True))

    def make(self):
        return nsys_db.write(self("a.sqlite"))


PLAIN = "replace(replace(s.value, '_v3020', ''), '_v7000', '')"


def test_calls(at):
    same("calls of CUDA", at, """SELECT c.start, c.duration, t.tid, p.pid, o.name, d.name, coalesce(c.status, 0) FROM call c
        JOIN op o ON o.id = c.op JOIN domain d ON d.id = o.domain JOIN thread t ON t.id = c.thread JOIN process p ON p.id = t.process
        WHERE d.name LIKE 'cuda%'""",
         f"""SELECT start, end - start, globalTid % 0x1000000, globalTid / 0x1000000 % 0x1000000, {PLAIN},
        CASE WHEN s.value LIKE 'cuda%' THEN 'cuda_runtime' ELSE 'cuda' END, returnValue FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds s ON s.id = nameId""")
    for table, domain, name in (("OSRT_API", "osrt", "nameId"), ("MPI_P2P_EVENTS", "mpi", "textId"), ("CUBLAS_EVENTS", "cublas", "nameId")):
        same(table, at, f"""SELECT c.start, c.duration, t.tid, o.name FROM call c JOIN op o ON o.id = c.op JOIN domain d ON d.id = o.domain
            JOIN thread t ON t.id = c.thread WHERE d.name = '{domain}'""",
             f"SELECT start, end - start, globalTid % 0x1000000, s.value FROM {table} JOIN StringIds s ON s.id = {name}")
    lines = shown(at.db)[1]
    check("what the system's call gave", sum("osrt:read(return=4096)" in line for line in lines), 2)
    check("what was sent", sum("mpi:MPI_Send(comm=1, tag=3, remote_rank=1, size=800, request=0)" in line for line in lines), 1)
    rows = query(at.trace, """SELECT o.name, po.name, n.text FROM call c JOIN op o ON o.id = c.op LEFT JOIN call_extra x ON x.id = c.id
        LEFT JOIN call up ON up.id = x.parent LEFT JOIN op po ON po.id = up.op LEFT JOIN marker m ON m.scope = x.scope AND m.process = 1
        LEFT JOIN marker_name n ON n.id = m.name WHERE c.start = 5000 AND o.name = 'cudaLaunchKernel'""")
    check("a launch lies in a call and a range", rows, [("cudaLaunchKernel", "cublasSgemm_v2", "inner \"x\"")])


WHERE = """JOIN process p ON p.id = x.process LEFT JOIN queue q ON q.id = x.queue LEFT JOIN device_context v ON v.id = q.context
    LEFT JOIN call c ON c.id = x.call LEFT JOIN thread t ON t.id = c.thread"""
FROM = """LEFT JOIN CUPTI_ACTIVITY_KIND_RUNTIME c ON c.correlationId = k.correlationId AND c.globalTid / 0x1000000 = k.globalPid / 0x1000000
    JOIN TARGET_INFO_CUDA_DEVICE d ON d.cudaId = k.deviceId AND d.pid = k.globalPid / 0x1000000 % 0x1000000"""


def test_work(at):
    same("kernels", at, f"""SELECT x.start, x.duration, p.pid, a.handle, q.handle & 0xffffffff, v.handle, s.text, x.global_x, x.global_y,
        x.local_x, x.local_y, l.registers, l.static_shared, l.dynamic_shared, l.local_memory, coalesce(l.graph_node, 0), c.start, t.tid
        FROM dispatch x {WHERE} JOIN agent a ON a.id = x.agent JOIN kernel k ON k.id = x.kernel JOIN string s ON s.id = k.name
        JOIN launch l ON l.id = x.id WHERE l.registers > 0""",
         f"""SELECT k.start, k.end - k.start, k.globalPid / 0x1000000 % 0x1000000, d.gpuId, streamId, contextId, s.value, gridX * blockX,
        gridY * blockY, blockX, blockY, registersPerThread, staticSharedMemory, dynamicSharedMemory, localMemoryPerThread,
        coalesce(graphNodeId, 0), c.start, c.globalTid % 0x1000000 FROM CUPTI_ACTIVITY_KIND_KERNEL k {FROM}
        JOIN StringIds s ON s.id = demangledName""")
    same("graphs", at, f"""SELECT x.start, x.duration, p.pid, s.text, l.graph, c.start FROM dispatch x {WHERE} JOIN kernel k ON k.id = x.kernel
        JOIN string s ON s.id = k.name JOIN launch l ON l.id = x.id WHERE s.text LIKE 'CUDA graph%'""",
         f"""SELECT k.start, k.end - k.start, k.globalPid / 0x1000000 % 0x1000000, 'CUDA graph ' || graphId, graphExecId, c.start
        FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE k {FROM}""")
    ways = "CASE copyKind WHEN 1 THEN 'write' WHEN 2 THEN 'read' WHEN 11 THEN 'migrate' ELSE 'copy' END"
    same("copies", at, f"""SELECT x.start, x.duration, p.pid, o.name, x.bytes, a.handle, b.handle, c.start FROM copy x {WHERE}
        JOIN op o ON o.id = x.op LEFT JOIN agent a ON a.id = x.source_agent LEFT JOIN agent b ON b.id = x.destination_agent
        WHERE o.name NOT IN ('fill', 'fault')""",
         f"""SELECT k.start, k.end - k.start, k.globalPid / 0x1000000 % 0x1000000, {ways}, bytes,
        CASE WHEN copyKind IN (1, 11) THEN NULL WHEN copyKind = 10 THEN CASE WHEN d.pid = 4000 THEN 0 ELSE 1 END ELSE d.gpuId END,
        CASE WHEN copyKind = 2 THEN NULL WHEN copyKind = 10 THEN CASE WHEN d.pid = 4000 THEN 1 ELSE 0 END ELSE d.gpuId END, c.start
        FROM CUPTI_ACTIVITY_KIND_MEMCPY k {FROM}""")
    same("fills", at, f"SELECT x.start, x.duration, p.pid, x.bytes, c.start FROM copy x {WHERE} JOIN op o ON o.id = x.op WHERE o.name = 'fill'",
         f"""SELECT k.start, k.end - k.start, k.globalPid / 0x1000000 % 0x1000000, bytes, c.start FROM CUPTI_ACTIVITY_KIND_MEMSET k {FROM}""")
    same("faults", at, """SELECT x.start, x.duration, p.pid, e.address, e.faults, coalesce(a.handle, -1) FROM copy x JOIN op o ON o.id = x.op
        JOIN process p ON p.id = x.process JOIN copy_extra e ON e.id = x.id LEFT JOIN agent a ON a.id = x.source_agent WHERE o.name = 'fault'""",
         """SELECT start, 0, globalPid / 0x1000000 % 0x1000000, address, 1, -1 FROM CUDA_UM_CPU_PAGE_FAULT_EVENTS UNION ALL
        SELECT start, end - start, d.pid, address, numberOfPageFaults, d.gpuId FROM CUDA_UM_GPU_PAGE_FAULT_EVENTS
        JOIN TARGET_INFO_CUDA_DEVICE d ON d.cudaId = deviceId AND d.pid = globalPid / 0x1000000 % 0x1000000""")
    check("why pages moved", query(at.trace, "SELECT DISTINCT e.cause, e.address FROM copy_extra e JOIN copy x ON x.id = e.id JOIN op o "
                                   "ON o.id = x.op WHERE o.name = 'migrate'"), [(3, 0x1234)])
    check("clusters, graphs", sorted(query(at.trace, "SELECT DISTINCT coalesce(cluster_x, 0), coalesce(graph, 0) FROM launch WHERE registers > 0")),
          [(0, 0), (2, 3)])
    same("events", at, "SELECT x.start, x.duration, x.event, c.start FROM sync x JOIN op o ON o.id = x.op JOIN call c ON c.id = x.call "
         "WHERE o.name = 'event_record'",
         f"""SELECT timestamp, 0, eventId, c.start FROM CUPTI_ACTIVITY_KIND_CUDA_EVENT k {FROM} WHERE timestamp > 0""")
    kinds = query(at.trace, "SELECT DISTINCT source_kind, destination_kind FROM copy x JOIN op o ON o.id = x.op WHERE o.name IN ('write', 'migrate')")
    check("memory kinds", sorted(kinds), [(2, 3), (4, 4)])
    same("waits", at, "SELECT x.start, x.duration, o.name, c.start FROM sync x JOIN op o ON o.id = x.op JOIN call c ON c.id = x.call "
         "WHERE o.name != 'event_record'",
         f"""SELECT k.start, CASE WHEN syncType = 2 THEN 0 ELSE k.end - k.start END, CASE WHEN syncType = 2 THEN 'barrier' ELSE 'queue' END, c.start
        FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION k {FROM}""")
    same("memory", at, """SELECT x.time, o.name, x.bytes, x.address, a.handle, c.start FROM allocation x JOIN op o ON o.id = x.op
        JOIN agent a ON a.id = x.agent JOIN call c ON c.id = x.call""",
         f"""SELECT k.start, CASE WHEN memoryOperationType THEN 'free' ELSE 'allocate' END, bytes, address, d.gpuId, c.start
        FROM CUDA_GPU_MEMORY_USAGE_EVENTS k {FROM}""")
    check("work is of the thread of its call", query(at.trace, " UNION ALL ".join(
        f"SELECT '{kind}', count(*) FROM {kind} x JOIN call c ON c.id = x.call WHERE x.thread != c.thread OR x.thread IS NULL"
        for kind in ("dispatch", "sync", "allocation"))), [("dispatch", 0), ("sync", 0), ("allocation", 0)])
    check("lifetimes", query(at.trace, "SELECT allocation, count(*) FROM allocation GROUP BY 1"), [(1, 2), (2, 2)])


def test_markers(at):
    same("ranges and marks", at, """SELECT m.start, m.duration, p.pid, o.name, n.text, d.text FROM marker m JOIN process p ON p.id = m.process
        JOIN op o ON o.id = m.op JOIN marker_name n ON n.id = m.name LEFT JOIN marker_name d ON d.id = m.domain""",
         f"""SELECT n.start, CASE WHEN eventType = 34 THEN 0 ELSE coalesce(n.end, {nsys_db.STOP}) - n.start END, globalTid / 0x1000000 % 0x1000000,
        CASE eventType WHEN 34 THEN 'mark' WHEN 59 THEN 'range' ELSE 'process_range' END, coalesce(n.text, s.value),
        CASE WHEN domainId = 1 THEN 'made-up domain' ELSE NULL END FROM NVTX_EVENTS n LEFT JOIN StringIds s ON s.id = textId WHERE eventType IN (34, 59, 60)""")
    lines = shown(at.db)[1]
    check("category, value", sum("domain=made-up domain category=loading {value=-7}" in line for line in lines), 2)
    check("color", sum("color=0xff112233" in line for line in lines), 2)
    check("a double", sum('"load" {value=2.5}' in line for line in lines), 2)
    check("left open", query(at.trace, "SELECT count(*) FROM marker JOIN marker_name n ON n.id = name WHERE n.text = 'never popped'"), [(2,)])


def test_counters(at):
    same("metrics", at, """SELECT v.time, n.name, n.unit, a.handle, v.value FROM counter_value v JOIN counter n ON n.id = v.counter
        JOIN agent a ON a.id = n.agent""",
         """SELECT timestamp, metricName, '%', m.typeId & 0xff, value * 1.0 FROM GPU_METRICS m JOIN TARGET_INFO_GPU_METRICS t
        ON t.typeId = m.typeId AND t.metricId = m.metricId""")


def test_samples(at):
    """Frames stand from the innermost out; folded lines from the outermost in."""
    path = at("folded")
    must(KYMO, "export", "--to", "folded", "-f", "-o", path, at.db)
    with open(path, encoding="utf-8") as f:
        lines = sorted(line.rstrip() for line in f)
    one = ["main;step() 1", "main;step();copy_page;[kernel] 1", "main;step();fill(double*, int) 2"]
    check("folded, without processes and threads", sorted(re.sub("^[^;]*;[^;]*;", "", line) for line in lines),
          sorted(2 * one + 2 * ["main;0x7fff00001234 1"]))
    check("a line has the thread", len({line.split(";")[1] for line in lines}), 4)
    same("samples", at, """SELECT x.time, p.pid, t.tid, x.cpu, x.pc, x.kernel FROM sample x JOIN process p ON p.id = x.process
        JOIN thread t ON t.id = x.thread""",
         """SELECT start, e.globalTid / 0x1000000 % 0x1000000, e.globalTid % 0x1000000, cpu,
        (SELECT originalIP FROM SAMPLING_CALLCHAINS c WHERE c.id = e.id AND NOT kernelMode ORDER BY stackDepth LIMIT 1),
        (SELECT max(kernelMode) FROM SAMPLING_CALLCHAINS c WHERE c.id = e.id) FROM COMPOSITE_EVENTS e""")


def samples_of(path):
    """Stacks, and what was said."""
    run = Run([KYMO, "export", "--to", "folded", "-o", "-", path])
    return run.status, sorted(line.split(";", 2)[2] for line in run.out.splitlines()), run.err


def test_samples_hostile(at):
    wanted = samples_of(at.db)[1]
    check("there are some", len(wanted), 8)
    chains = "SAMPLING_CALLCHAINS"
    path = at.changed("back.sqlite", f"CREATE TABLE x AS SELECT * FROM {chains} ORDER BY id DESC, stackDepth DESC; DELETE FROM {chains}; "
                      f"INSERT INTO {chains} SELECT * FROM x; DROP TABLE x")
    check("frames in another order", samples_of(path)[:2], (0, wanted))
    deep = "WITH RECURSIVE n(i) AS (SELECT 3 UNION ALL SELECT i + 1 FROM n WHERE i < 299) "
    path = at.changed("deep.sqlite", f"INSERT INTO {chains} (id, symbol, stackDepth) {deep} SELECT 15, {nsys_db.ID['main']}, i FROM n")
    status, lines, err = samples_of(path)
    check(f"a deep one: {err}", (status, ";".join(254 * ["main"] + ["step()", "copy_page", "[kernel]"]) + " 1" in lines, "frames of deep stacks (44)" in err), (0, True, True))
    path = at.changed("apart.sqlite", f"INSERT INTO {chains} (id, symbol, stackDepth) VALUES (1, {nsys_db.ID['main']}, 2), (99, 100, 0), (1, 100, 3)")
    status, lines, err = samples_of(path)
    check(f"frames apart: {err}", (status, lines, "stacks in several parts: the first is taken (2)" in err), (0, wanted, True))
    path = at.changed("bare.sqlite", f"DELETE FROM {chains} WHERE id IN (1, 11)")
    status, lines, err = samples_of(path)
    check(f"no frames: {err}", (status, len(lines), "samples without a stack (2)" in err), (0, 6, True))
    path = at.changed("gone.sqlite", "UPDATE COMPOSITE_EVENTS SET globalTid = NULL WHERE id = 1", "DROP TABLE NVTX_EVENTS")
    check("no thread", "samples without a thread (1)" in samples_of(path)[2], True)
    path = at.changed("twice.sqlite", "ALTER TABLE COMPOSITE_EVENTS RENAME TO x; CREATE TABLE COMPOSITE_EVENTS (id, start, cpu, globalTid); "
                      "INSERT INTO COMPOSITE_EVENTS SELECT 2, start, cpu, globalTid FROM x; DROP TABLE x")
    check("one number for all", "samples without a stack (9)" in samples_of(path)[2], True)
    path = at.changed("none.sqlite", f"DROP TABLE {chains}")
    check("no table of frames", "samples without a stack (10)" in samples_of(path)[2], True)
    path = at.changed("alone.sqlite", "DROP TABLE COMPOSITE_EVENTS")
    check("no table of samples", "frames of samples that are not there (26)" in shown(path)[2], True)
    path = at.changed("only.sqlite", *(f"DROP TABLE {t}" for t in nsys_db.SCHEMA if t not in ("StringIds", "COMPOSITE_EVENTS", chains)))
    check("nothing but samples", samples_of(path)[:2], (0, wanted))
    path = at.changed("names.sqlite", f"UPDATE {chains} SET symbol = -5, module = 'x', unresolved = NULL, originalIP = NULL WHERE stackDepth = 0")
    check("frames of no name", samples_of(path)[0], 0)


def test_messages(at):
    path, trace = nsys_db.write(at("m.sqlite"), nsys_db.messages), at("m.kymo")
    run = Run([KYMO, "import", path, "-o", trace])
    check(f"import: {run.err}", (run.status, "ranks in communicators that are a part of the job (2)" in run.err, "MPI_" in run.err), (0, True, False))
    rows = query(trace, """SELECT x.start - 1000 * p.rank, p.rank, o.name, op.name, x.peer, x.tag, x.sent, x.received, x.request, x.duration,
        m.handle, m.size FROM comm x JOIN process p ON p.id = x.process JOIN op o ON o.id = x.op JOIN call c ON c.id = x.call
        JOIN op ON op.id = c.op LEFT JOIN communicator m ON m.id = x.communicator WHERE x.start >= 2000000 ORDER BY 1, 2""")
    check("messages", rows, sorted((row for k in (0, 1) for row in (
            (2000000, k, "send", "MPI_Isend", 1 - k, 5, 64, 0, 900 + k, 50, 1, 2),
            (2000100, k, "receive", "MPI_Recv", 1 - k, 5, 0, 64, None, 50, 1, 2),
            (2000300, k, "send", "MPI_Send", None, 6, 32, 0, None, 50, 2, 2),
            (2000700, k, "collective", "MPI_Bcast", 1, None, 4096 * k, 4096 * (1 - k), None, 50, 1, 2),
            (2000800, k, "collective", "MPI_Allreduce", None, None, 8, 24, None, 50, 1, 2),
            (2000900, k, "collective", "MPI_Barrier", None, None, 0, 0, None, 50, 3, 1))), key=lambda r: r[:2]))
    check("a message's two ends", query(at.trace, "SELECT op.name, x.peer, x.tag, x.sent, x.received FROM comm x JOIN call c ON c.id = x.call "
                                        "JOIN op ON op.id = c.op ORDER BY x.start"), [("MPI_Send", 1, 3, 800, 0), ("MPI_Recv", 0, 3, 0, 800)])
    calls = query(trace, "SELECT o.name, count(*) FROM call c JOIN op o ON o.id = c.op JOIN domain d ON d.id = o.domain WHERE d.name = 'mpi' "
                         "AND c.start >= 2000000 GROUP BY 1 ORDER BY 1")
    check("all are calls", calls, [(n, 2) for n in ("MPI_Allreduce", "MPI_Barrier", "MPI_Bcast", "MPI_Comm_rank", "MPI_Isend", "MPI_Recv")] +
          [("MPI_Send", 4)] + [(n, 2) for n in ("MPI_Send_init", "MPI_Sendrecv", "MPI_Wait")])
    check("communicators are of their process, the same one has one key", query(trace, """SELECT a.handle, a.key = b.key FROM communicator a
        JOIN communicator b ON b.handle = a.handle AND b.process > a.process ORDER BY 1"""), [(1, 1), (2, 1), (3, 0)])
    db = sqlite3.connect(path)
    db.executescript("UPDATE MPI_COMMUNICATORS SET size = -1; UPDATE MPI_P2P_EVENTS SET size = -5, tag = 1 << 40, remoteRank = 1 << 40")
    db.close()
    err = shown(path)[2]
    check(f"numbers out of range: {err}", ("communicators of no size or rank (6)" in err, "numbers out of range (10)" in err), (True, True))


def test_who(at):
    check("processes", sorted(query(at.trace, "SELECT pid, rank, exe, hostname, start_realtime FROM process")),
          [(4000, 0, "/opt/app0", "node7", nsys_db.UTC), (4001, 1, "/opt/app1", "node7", nsys_db.UTC)])
    check("threads", sorted(query(at.trace, "SELECT t.tid, t.main, s.text FROM thread t JOIN string s ON s.id = t.name WHERE t.tid > 0")),
          [(4000, 1, "cuda_main"), (4001, 1, "cuda_main"), (4050, 0, "worker"), (4051, 0, "worker")])
    check("two devices of one name stay two", sorted(query(at.trace, "SELECT DISTINCT name, handle FROM agent")),
          [("Made-up GPU", 0), ("Made-up GPU", 1)])
    busy = must(KYMO, "show", at.db)
    check("the device of both", all(f"Made-up GPU #{i}/queue" in busy for i in range(2)) and "GPU #2" not in busy, True)
    check("each process has two queues", query(at.trace, "SELECT process, count(*) FROM queue GROUP BY 1"), [(1, 2), (2, 2)])


def test_commands(at):
    check("show: the file and its trace", shown(at.db)[1], shown(at.trace)[1])
    check("info", "Imported of  " + at.db + " (nsys)" in must(KYMO, "info", at.db), True)
    info = must(KYMO, "info", at.db)
    check("what the tool says of itself", ("warning nsys: Not all NVTX events were collected." in info, "error   nsys: CUDA" in info,
                                           "Profiling has begun" in info), (True, True, False))
    told = must(KYMO, "summary", at.db)
    check("summary", "2 ranks, 2 processes, 4 threads, 22 calls, 6 kernels, 12 copies" in told, True)
    check("what is not known", "came from another tool (nsys): what was lost" in told and "Lost: 2 records." in told and
          "nsys: not taken: rows of SCHED_EVENTS (3 times)" in told and "Lost nothing" not in told, True)
    check("a question", query(at.db, "SELECT count(*) FROM dispatch"), [(6,)])
    check("export", Run([KYMO, "export", "--to", "csv", "-o", at("csv"), at.db]).status, 0)
    run = Run([KYMO, "compare", at.db, at.trace])
    check("compare: too short to judge, and shown", (run.status, "4.001 us  4.001 us" in run.out), (3, True))
    check("a device", shown(at.db, "--device", "1")[1] != shown(at.db, "--device", "0")[1], True)
    one, two = (json.loads(must(KYMO, "summary", "-f", "json", *paths))["tables"]
                for paths in ((at.db,), (at.db, nsys_db.write(at("b.sqlite")))))
    one, two = ([r["time_ns"] for t in tables if t["name"] == "kernels" for r in t["rows"]] for tables in (one, two))
    check("two files", (two, len(one)), ([2 * v for v in one], 3))
    check("in the list, with what is lost", "without scheduling" in must(KYMO, "list", "formats"), True)


def test_versions(at):
    """Columns that a version has not, numbers that one gives otherwise."""
    wanted = shown(at.db)[1]
    path = at.changed("e.sqlite", "UPDATE ENUM_CUDA_MEMCPY_OPER SET id = id + 100; UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET copyKind = copyKind + 100",
                      "UPDATE ENUM_NSYS_EVENT_TYPE SET id = id + 200; UPDATE NVTX_EVENTS SET eventType = eventType + 200")
    check("other numbers with names", shown(path)[1], wanted)
    path = at.changed("n.sqlite", *(f"DROP TABLE {t}" for t in nsys_db.SCHEMA if t.startswith("ENUM_")))
    check("no names of numbers", shown(path)[1], wanted)
    path = at.changed("i.sqlite", "ALTER TABLE StringIds RENAME TO x", "CREATE TABLE StringIds (id INT NOT NULL PRIMARY KEY, value TEXT NOT NULL)",
                      "INSERT INTO StringIds SELECT id, value FROM x ORDER BY id DESC", "DROP TABLE x")
    check("ids that are no row numbers", shown(path)[1], wanted)
    path = at.changed("o.sqlite", *(f"ALTER TABLE CUPTI_ACTIVITY_KIND_{t} DROP COLUMN globalPid" for t in ("KERNEL", "MEMSET")),
                      "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN greenContextId",
                      "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN mangledName")
    check("processes by the calls alone", shown(path)[1], wanted)
    path = at.changed("g.sqlite", "DROP TABLE TARGET_INFO_GPU", "DROP TABLE TARGET_INFO_CUDA_DEVICE")
    lines = shown(path)[1]
    check("devices that are not described", (len(lines), any("device 1/queue" in line for line in lines)), (len(wanted), True))
    path = at.changed("u.sqlite", "UPDATE TARGET_INFO_GPU SET uuid = NULL")
    check("devices without uuid", shown(path)[1], wanted)
    path = at.changed("d.sqlite", "DROP TABLE ANALYSIS_DETAILS", "DROP TABLE TARGET_INFO_SESSION_START_TIME")
    check("no session", (shown(path)[0], len(shown(path)[1])), (0, len(wanted)))
    path = at.changed("open.sqlite", "UPDATE NVTX_EVENTS SET end = -1 WHERE end IS NULL AND eventType = 59")
    check("no end is -1", shown(path)[1], wanted)


def test_refused(at):
    refused("no strings", at.changed("s.sqlite", "DROP TABLE StringIds", "CREATE VIEW StringIds AS SELECT 1 AS id, 'x' AS value"),
            "StringIds, which has all names, is missing")
    refused("no start", at.changed("c.sqlite", "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME COLUMN start TO began"), "no column start")
    keep = ("StringIds", "META_DATA_EXPORT")
    path = at.changed("v.sqlite", *(f"DROP TABLE {t}" for t in nsys_db.SCHEMA if t not in keep),
                      "CREATE VIEW NVTX_EVENTS AS SELECT 1 AS start, 2 AS end, 59 AS eventType")
    refused("views alone", path, "no table of Nsight Systems with events")
    path = at.changed("z.sqlite", *(f"DELETE FROM {t}" for t in nsys_db.SCHEMA if t not in keep))
    refused("no rows", path, "no event in it")
    databases.refused_beside_a_log(IT, at, "w.sqlite", "-wal")


def test_hostile(at):
    databases.bears_hostile_objects(IT, at, "h.sqlite", "NVTX_EVENTS", "StringIds", "CUDNN_EVENTS",
                                    "CREATE VIEW CUPTI_ACTIVITY_KIND_EVIL AS SELECT load_extension('x') AS id, 1 AS start")
    wanted = shown(at.db)[1]
    path = at.changed("names.sqlite", "UPDATE StringIds SET value = 'a' || char(10) || char(27) || '[31m' || char(0) || '\"' WHERE value LIKE 'void%'",
                      "INSERT INTO StringIds VALUES (5, CAST(x'ff41fe' AS TEXT)); UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET nameId = 5")
    status, lines, _ = shown(path)
    check("names", (status, len(lines), any("\x1b" in line for line in lines)), (0, len(wanted), False))
    path = at.changed("many.sqlite", *(f"CREATE TABLE t{i}(x); INSERT INTO t{i} VALUES (1);" for i in range(210)))
    status, lines, err = shown(path)
    check("many tables", (status, lines == wanted, "rows of t0 (1)" in err, "other things (193)" in err), (0, True, True, True))
    path = at.changed("less.sqlite", "CREATE TABLE CUDNN_EVENTS(start, end, globalTid, nameId) ", "CREATE TABLE MPI_X_EVENTS(start, end, globalTid, "
                      "nameId, PRIMARY KEY (start)) WITHOUT ROWID; INSERT INTO MPI_X_EVENTS VALUES (1, 2, 3, 4)")
    status, lines, err = shown(path)
    check("tables without rows of numbers", (status, lines, "could not be read" in err), (0, wanted, True))


def test_wrong_values(at):
    losses = databases.Losses(IT, at)
    one = "WHERE rowid = (SELECT min(rowid) FROM CUPTI_ACTIVITY_KIND_RUNTIME)"
    losses.differ("text.sqlite", 1, "1 value of another type", f"UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET start = 'soon' {one}")
    losses.differ("range.sqlite", 1, "rows with times out of range (1)", f"UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET end = 9223372036854775807 {one}")
    losses.differ("low.sqlite", 1, "rows with times out of range (1)", f"UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET start = -9223372036854775808 {one}")
    losses.differ("ends.sqlite", 0, "ends before their starts (1)", f"UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET end = start - 5 {one}")
    losses.differ("thread.sqlite", 1, "calls without a thread (1)", f"UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET globalTid = NULL {one}")
    losses.differ("twice.sqlite", 0, "numbers of calls that another call has (", "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET correlationId = 3")
    losses.differ("types.sqlite", 2, "NVTX events of other types (2)", "UPDATE NVTX_EVENTS SET eventType = 99 WHERE eventType = 34")
    losses.differ("ways.sqlite", 0, "directions of copies that are not known (8)", "UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET copyKind = 77")
    losses.differ("size.sqlite", 0, "numbers out of range (8)", "UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET bytes = -1")
    losses.differ("none.sqlite", 0, "processes of work that is of none: the first has it (2)",
            "UPDATE CUPTI_ACTIVITY_KIND_MEMSET SET globalPid = NULL, correlationId = 999")
    huge = at.changed("huge.sqlite", "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET deviceId = 9223372036854775807, streamId = -1, gridX = 1e300, demangledName = -1",
                      "UPDATE PROCESSES SET pid = -1", "UPDATE MPI_RANKS SET rank = 9223372036854775807",
                      "UPDATE TARGET_INFO_SESSION_START_TIME SET utcEpochNs = 9223372036854775807",
                      "UPDATE ANALYSIS_DETAILS SET startTime = 9223372036854775807, stopTime = -9223372036854775808")
    losses.none(huge)


def test_cut(at):
    data = databases.told_when_cut(IT, at, "cut.sqlite", 25)
    with open(at("cut.sqlite"), "wb") as f:
        f.write(data[:-2 * 4096])
    check("how much is missing", "cut, 2 pages are missing" in shown(at("cut.sqlite"))[2], True)


databases.run_tests(globals(), Place, sys.argv[2:])
sys.exit(bool(kymotest.wrong))
