#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""RPD read: what kymo makes of a database of that shape, against what sqlite3 finds in it; databases that are damaged,
hostile, of other versions or wrong are refused with the reason, or what is lost is told.

    rpd.py KYMO"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import databases  # noqa: E402
import kymotest  # noqa: E402
from databases import source  # noqa: E402
from kymotest import Run, check, must  # noqa: E402
import rpd_db  # noqa: E402

KYMO = os.path.abspath(sys.argv[1])
IT = databases.Kymo(KYMO)
query, shown, refused = IT.query, IT.shown, IT.refused


class Place(databases.Place):
    def __init__(self, folder):
        super().__init__(KYMO, folder)
        self.trace = self("a.kymo")
        run = Run([KYMO, "import", self.db, "-o", self.trace])
        check(f"import: {run.err}", (run.status, "rows of rocpd_barrierop (1)" in run.err, "rows of rocpd_stackframe (2)" in run.err),
              (0, True, True))

    def make(self):
        return rpd_db.write(self("a.rpd"))


def same(what, at, ours, theirs):
    """$0 is the first event of the database, a value of a device."""
    origin = source(at.db, "SELECT min(start) FROM (SELECT start FROM rocpd_monitor UNION SELECT start FROM rocpd_api)")[0][0]
    IT.same(what, at, ours, theirs.replace("$0", str(origin)))


def test_calls(at):
    same("calls", at, """SELECT c.start, c.duration, t.tid, p.pid, o.name, d.name FROM call c JOIN op o ON o.id = c.op
        JOIN domain d ON d.id = o.domain JOIN thread t ON t.id = c.thread JOIN process p ON p.id = t.process""",
         """SELECT start - $0, end - start, tid, pid, n.string, d.string FROM rocpd_api JOIN rocpd_string n ON n.id = apiName_id
        JOIN rocpd_string d ON d.id = domain_id WHERE d.string != 'UserMarker'""")
    lines = shown(at.db)[1]
    check("arguments", sum('hipMalloc(args="ptr=0x7000 | size=0x1000")' in line for line in lines), 2)
    check("no arguments", sum("hipLaunchKernel(...)" in line for line in lines), 2)
    rows = query(at.trace, """SELECT o.name, po.name, n.text FROM call c JOIN op o ON o.id = c.op LEFT JOIN call_extra x ON x.id = c.id
        LEFT JOIN call up ON up.id = x.parent LEFT JOIN op po ON po.id = up.op LEFT JOIN marker m ON m.scope = x.scope AND m.process = 1
        LEFT JOIN marker_name n ON n.id = m.name JOIN thread t ON t.id = c.thread WHERE o.name = 'hipMemcpy' AND t.process = 1""")
    check("a copy lies in a call and a range", rows, [("hipMemcpy", "train.py", "load")])


def test_markers(at):
    same("ranges and marks", at, """SELECT m.start, m.duration, p.pid, o.name, n.text FROM marker m JOIN process p ON p.id = m.process
        JOIN op o ON o.id = m.op JOIN marker_name n ON n.id = m.name""",
         """SELECT start - $0, end - start, pid, CASE WHEN start = end THEN 'mark' ELSE 'range' END, a.string FROM rocpd_api
        JOIN rocpd_string n ON n.id = apiName_id JOIN rocpd_ustring a ON a.id = args_id WHERE n.string = 'UserMarker'""")


WHERE = """JOIN process p ON p.id = x.process JOIN queue q ON q.id = x.queue JOIN agent a ON a.id = q.agent
    LEFT JOIN call c ON c.id = x.call LEFT JOIN thread t ON t.id = c.thread"""
FROM = """FROM rocpd_op o JOIN rocpd_api_ops l ON l.op_id = o.id JOIN rocpd_api c ON c.id = l.api_id JOIN rocpd_string t ON t.id = opType_id
    JOIN rocpd_string n ON n.id = description_id"""


def test_work(at):
    same("kernels", at, f"""SELECT x.start, x.duration, p.pid, a.handle, q.handle, s.text, x.global_x, x.global_y, x.local_x, l.static_shared,
        l.local_memory, c.start, t.tid FROM dispatch x {WHERE} JOIN kernel k ON k.id = x.kernel JOIN string s ON s.id = k.name
        JOIN launch l ON l.id = x.id""",
         f"""SELECT o.start - $0, o.end - o.start, pid, gpuId, CASE WHEN stream = '0x0' THEN queueId ELSE 2134814064 END, n.string,
        CASE WHEN gridX = 5 THEN 5 * 64 ELSE 1792 END, gridY * workgroupY, workgroupX, groupSegmentSize, privateSegmentSize, c.start - $0, tid
        {FROM} JOIN rocpd_kernelapi k ON k.api_ptr_id = c.id WHERE t.string = 'KernelExecution'""")
    same("copies", at, f"""SELECT x.start, x.duration, p.pid, o.name, coalesce(x.source_agent, 0) = 0, coalesce(x.destination_agent, 0) = 0, c.start
        FROM copy x {WHERE} JOIN op o ON o.id = x.op""",
         f"""SELECT o.start - $0, o.end - o.start, pid, CASE t.string WHEN 'Memcpy' THEN 'read' WHEN 'FillBuffer' THEN 'fill' ELSE 'write' END,
        t.string = 'CopyHostToDevice', t.string = 'Memcpy', c.start - $0 {FROM} WHERE t.string IN ('Memcpy', 'FillBuffer', 'CopyHostToDevice')""")
    check("bytes, of a split copy once", sorted(query(at.trace, "SELECT o.name, sum(x.bytes), count(*) FROM copy x JOIN op o ON o.id = x.op "
                                                      "GROUP BY o.name")), [("fill", 128, 2), ("read", 2 * 16 * 8, 4), ("write", 8192, 2)])
    same("barriers", at, "SELECT x.start, x.duration, o.name FROM sync x JOIN op o ON o.id = x.op",
         f"SELECT o.start - $0, 0, 'barrier' {FROM} WHERE t.string = 'Barrier'")
    check("memory", sorted(query(at.trace, "SELECT o.name, x.bytes, x.address, x.allocation, co.name FROM allocation x JOIN op o ON o.id = x.op "
                                 "JOIN call c ON c.id = x.call JOIN op co ON co.id = c.op"), key=repr),
          sorted([(op, b, 0x7000, n, call) for n in (1, 2) for op, b, call in (("allocate", 4096, "hipMalloc"), ("free", 0, "hipFree"))],
                 key=repr))


def test_counters(at):
    same("values of devices", at, """SELECT v.time, n.name, n.unit, a.handle, v.value FROM counter_value v JOIN counter n ON n.id = v.counter
        JOIN agent a ON a.id = n.agent""",
         """SELECT start - $0, monitorType, CASE monitorType WHEN 'sclk' THEN 'MHz' ELSE 'W' END, deviceId, CAST(value AS REAL)
        FROM rocpd_monitor""")
    same("counters of kernels", at, """SELECT v.time, n.name, v.value, s.text, c.start FROM counter_value v JOIN counter n ON n.id = v.counter
        JOIN kernel k ON k.id = v.kernel JOIN string s ON s.id = k.name JOIN call c ON c.id = v.call""",
         """SELECT o.end - $0, s.string, value, n.string, c.start - $0 FROM rocpd_counter v JOIN rocpd_op o ON o.id = v.op_id
        JOIN rocpd_string s ON s.id = v.name_id JOIN rocpd_string n ON n.id = description_id JOIN rocpd_api_ops l ON l.op_id = o.id
        JOIN rocpd_api c ON c.id = l.api_id""")


def test_who(at):
    check("processes", sorted(query(at.trace, "SELECT pid FROM process")), [(4000,), (4001,)])
    check("threads", sorted(query(at.trace, "SELECT tid, main FROM thread WHERE tid > 0")), [(4000, 1), (4001, 1), (4050, 0), (4051, 0)])
    check("devices", sorted(query(at.trace, "SELECT DISTINCT name, handle FROM agent")), [("device 2", 2), ("device 3", 3)])
    check("queues of a process", query(at.trace, "SELECT process, count(*) FROM queue GROUP BY 1"), [(1, 3), (2, 3)])
    path = at.changed("nodes.rpd", "UPDATE rocpd_api SET pid = pid + 10000000, tid = tid + 10000000 WHERE pid = 4001",
                      "UPDATE rocpd_op SET gpuId = gpuId + 1000 WHERE id IN (SELECT op_id FROM rocpd_api_ops l JOIN rocpd_api c ON c.id = api_id "
                      "WHERE pid > 10000000)")
    check("two nodes in one file", sorted(query(path, "SELECT pid, hostname FROM process")), [(4000, "node 0"), (4001, "node 1")])
    check("their devices", sorted(query(path, "SELECT p.pid, a.handle FROM agent a JOIN process p ON p.id = a.process")),
          [(4000, 2), (4000, 3), (4001, 2), (4001, 3)])


def test_commands(at):
    check("show: the file and its trace", shown(at.db)[1], shown(at.trace)[1])
    check("info", "Imported of  " + at.db + " (rpd)" in must(KYMO, "info", at.db), True)
    told = must(KYMO, "summary", at.db)
    check("summary", "2 processes, 4 threads, 16 calls, 4 kernels, 6 copies" in told, True)
    check("what is not known", "Imported (rpd): what was lost" in told and "Lost nothing" not in told, True)
    check("export", Run([KYMO, "export", "--to", "csv", "-o", at("csv"), at.db]).status, 0)
    check("compare: too short to judge, and shown", Run([KYMO, "compare", at.db, at.trace]).status, 3)
    check("a device", shown(at.db, "--device", "1")[1] != shown(at.db, "--device", "0")[1], True)
    check("in the list, with what is lost", "without call stacks" in must(KYMO, "list", "formats"), True)


def test_versions(at):
    old = rpd_db.write(at("old.rpd"), version=2)
    domains = query(old, "SELECT d.name, count(*) FROM call c JOIN op o ON o.id = c.op JOIN domain d ON d.id = o.domain GROUP BY 1 ORDER BY 1")
    check("domains by names", domains, [("hip", 14), ("rpd", 2)])
    wanted, got = ([line for line in shown(path)[1] if "python:" not in line and "rpd:" not in line and "counter:dispatch" not in line]
                   for path in (at.db, old))
    check("version 2 has the same", [line.split(" call=")[0] for line in got], [line.split(" call=")[0] for line in wanted])
    whole = at.changed("items.rpd", "UPDATE rocpd_kernelapi SET gridX = 320, gridY = 3 WHERE gridX = 5")
    check("sizes that are all whole numbers of groups are work items",
          sorted(query(whole, "SELECT DISTINCT global_x, global_y FROM dispatch")), [(320, 3), (1792, 2)])
    hsa = at.changed("hsa.rpd", "CREATE TABLE rocpd_hsaApi AS SELECT * FROM rocpd_api WHERE 0",
                     "INSERT INTO rocpd_string VALUES (5, 'hsa_queue_create'); INSERT INTO rocpd_hsaApi (id, pid, tid, start, end, apiName_id, args_id) "
                     f"VALUES (1, 4000, 4000, {rpd_db.START + 700}, {rpd_db.START + 800}, 5, 0)")
    check("calls of HSA", sum("hsa:hsa_queue_create(...)" in line for line in shown(hsa)[1]), 1)


def test_refused(at):
    refused("no ops", at.changed("o.rpd", "DROP TABLE rocpd_op", "CREATE VIEW rocpd_op AS SELECT 1 AS id"), "RPD without its table rocpd_op")
    refused("no strings", at.changed("s.rpd", "DROP TABLE rocpd_string"), "RPD without its table rocpd_string")
    refused("no start", at.changed("c.rpd", "ALTER TABLE rocpd_op RENAME COLUMN start TO began"), "table rocpd_op has no column start")
    refused("no rows", at.changed("z.rpd", *(f"DELETE FROM {t}" for t in rpd_db.SCHEMA)), "no event in it")
    databases.refused_beside_a_log(IT, at, "w.rpd", "-journal")


def test_hostile(at):
    databases.bears_hostile_objects(IT, at, "h.rpd", "rocpd_api", "rocpd_op", "rocpd_hsaApi")
    wanted = shown(at.db)[1]
    path = at.changed("names.rpd", "UPDATE rocpd_string SET string = 'a' || char(10) || char(27) || '[31m\"' WHERE string LIKE 'gemm%'",
                      "UPDATE rocpd_ustring SET string = CAST(x'ff41fe00' AS TEXT) WHERE string = 'load'")
    status, lines, _ = shown(path)
    check("names", (status, len(lines), any("\x1b" in line for line in lines)), (0, len(wanted), False))


def test_wrong_values(at):
    losses = databases.Losses(IT, at)
    call = "WHERE id = (SELECT min(l.api_id) FROM rocpd_api_ops l)"
    losses.differ("text.rpd", 1, "1 value of another type", f"UPDATE rocpd_api SET start = 'soon' {call}")
    losses.differ("range.rpd", 1, "rows with times out of range (1)", f"UPDATE rocpd_api SET end = 9223372036854775807 {call}")
    losses.differ("ends.rpd", 0, "ends before their starts (1)", f"UPDATE rocpd_api SET end = start - 5 {call}")
    losses.differ("links.rpd", 0, "further calls of work that has one (", "INSERT INTO rocpd_api_ops (api_id, op_id) SELECT api_id, op_id FROM rocpd_api_ops")
    losses.differ("alone.rpd", 0, "processes of work that is of none: the first has it (", "DELETE FROM rocpd_api_ops")
    losses.differ("value.rpd", 12, "values of devices that are no numbers (12)", "UPDATE rocpd_monitor SET value = '12 W'")
    losses.differ("nothing.rpd", 2, "counters of nothing (2)", "UPDATE rocpd_counter SET op_id = 5")
    losses.differ("size.rpd", 0, "numbers out of range (", "UPDATE rocpd_copyapi SET size = -1")
    huge = at.changed("huge.rpd", "UPDATE rocpd_op SET gpuId = 9223372036854775807, queueId = -1, description_id = -1, opType_id = 1e300",
                      "UPDATE rocpd_api SET pid = -9223372036854775808, tid = 9223372036854775807", "UPDATE rocpd_metadata SET value = '-5'",
                      "UPDATE rocpd_kernelapi SET gridX = -1, stream = 'zzz', workgroupX = 1e300")
    losses.none(huge)


def test_cut(at):
    databases.told_when_cut(IT, at, "cut.rpd", 25)


databases.run_tests(globals(), Place, sys.argv[2:])
sys.exit(bool(kymotest.wrong))
