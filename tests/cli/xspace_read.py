#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles of JAX's shape, and damaged ones, read: what Kymo makes of them, against what stands in them.

    xspace_read.py KYMO"""
import os
import shutil
import subprocess
import sys

from xspace_traces import BASE, KYMO, main, query, run
import xspace
from xspace import Plane, Unsigned, number, put
from kymotest import SANITIZED, expect

TREE = "/host:__ScopeRangeCallStack__"
NS = 1000


def imported(name, planes=None, hostnames=("node1",), status=0):
    """The trace, and what was said on the way."""
    if planes is not None:
        xspace.write(name, planes, hostnames)
    trace = name.split(".")[0] + ".kymo"
    said = run("import", name, "-o", trace, status=status).stderr
    return trace, said


def scope_tree(edges):
    p = Plane(TREE)
    p.tail = b"".join(put(6, put(1, child) + put(4, parent)) for child, parent in edges)
    return p


def kernel_details(regs=40):
    return f"regs:{regs} static_shared:16 dynamic_shared:512 grid:4,2,1 block:32,1,1 occ_pct:50"


def gpu(number_, edges=(), shift=0, modules=True):
    """Two executions of a module that nothing but their scopes tells apart; ids beyond 48 bits, and negative ones."""
    p = Plane(f"/device:GPU:{number_}", number_, {"device_vendor": "Nvidia", "core_count": Unsigned(132), "memory_size": Unsigned(80 << 30),
                                                   "compute_cap_major": Unsigned(9), "compute_cap_minor": Unsigned(0), "clock_rate": Unsigned(1980000)})
    scope = (1 << 48) + 10 * number_
    more = {"hlo_module": "jit_f", "hlo_op": "fusion.1", "program_id": 3, "tf_op": ["XlaModule:"]} if modules else {}
    one = p.event("fusion_1", (1000 + shift) * NS + 999, 100 * NS, correlation_id=Unsigned(10 + number_), kernel_details=kernel_details(),
                  scope_range_id=scope + 1, theoretical_occupancy_pct=50.0, **more)
    two = p.event("fusion_1", (1101 + shift) * NS, 50 * NS, correlation_id=Unsigned(20 + number_), kernel_details=kernel_details(), scope_range_id=-5 - number_,
                  **more)
    copy = p.event("MemcpyH2D", (900 + shift) * NS, 30 * NS, correlation_id=Unsigned(30 + number_),
                   memcpy_details="kind_src:pinned kind_dst:device size:4096 dest:0 async:1")
    fill = p.event("Memset", (940 + shift) * NS, 10 * NS, correlation_id=Unsigned(40 + number_), Memset_details="kind:device num_bytes:64 async:1")
    p.line(7, "Stream #7(Kernel)", BASE, [one, two])
    p.line(13, "Stream #13(MemcpyH2D,Memset)", BASE, [copy, fill])
    p.line(0xdeadbeef + 4, "XLA Modules", BASE, [p.event("jit_f(3)", 1000 * NS, 151 * NS)])
    return p


def host(shift=0):
    p = Plane("/host:CPU")
    calls = []
    for n in range(2):
        calls += [p.event("cuLaunchKernel", (500 + 10 * n + shift) * NS, 5 * NS, correlation_id=Unsigned(10 + n), context_id=["$$1"]),
                  p.event("cuLaunchKernel", (520 + 10 * n + shift) * NS, 5 * NS, correlation_id=Unsigned(20 + n)),
                  p.event("cuMemcpyHtoDAsync_v2", (540 + 10 * n + shift) * NS, 5 * NS, correlation_id=Unsigned(30 + n)),
                  p.event("cuMemsetD32Async", (560 + 10 * n + shift) * NS, 5 * NS, correlation_id=Unsigned(40 + n))]
    steps = [p.event("train", (400 + shift) * NS, 300 * NS, step_num=7, _r=1), p.event("PjitFunction(f)", (490 + shift) * NS, 100 * NS)]
    p.line(4711, "python3", BASE, steps + calls)
    p.line(4712, "tf_XLAEigen/2", BASE, [p.event("ThunkExecutor::Execute", (600 + shift) * NS, 80 * NS, run_id=5)])
    p.line(4713, "python", BASE, [p.event("$train.py:3 main", (300 + shift) * NS, 500 * NS)])
    return p


def tree():
    return scope_tree([((1 << 48) + 1, (1 << 48)), ((1 << 48) + 11, (1 << 48) + 10), (-5, -7), (-6, -8)])


def jax():
    return [host(), gpu(0), gpu(1, shift=10), tree(), Plane("Task Environment", 0, {"profile_start_time": Unsigned(BASE), "profile_stop_time": Unsigned(BASE + 5000)})]


def test_jax():
    trace, said = imported("jax.xplane.pb", jax())
    rows = query(trace, """SELECT s.text, d.start, d.duration, d.global_x, d.global_y, d.local_x, l.registers, l.static_shared, l.dynamic_shared,
        a.handle, q.handle AS stream, o.name, t.tid FROM dispatch d JOIN launch l ON l.id = d.id JOIN kernel k ON k.id = d.kernel
        JOIN string s ON s.id = k.name JOIN agent a ON a.id = d.agent JOIN queue q ON q.id = d.queue JOIN call c ON c.id = d.call
        JOIN op o ON o.id = c.op JOIN thread t ON t.id = c.thread ORDER BY a.handle, d.start""")
    launch = ("cuLaunchKernel", 4711)
    expect(rows == [("fusion_1", s, d, 128, 2, 32, 40, 16, 512, device, 7, *launch)
                    for device in (0, 1) for s, d in ((1000 + 10 * device, 100), (1101 + 10 * device, 50))], rows)
    rows = query(trace, """SELECT o.name, x.bytes, x.start, x.duration, x.source_kind, x.destination_kind, a.handle, q.handle AS stream, c.start AS called
        FROM copy x JOIN op o ON o.id = x.op JOIN agent a ON a.id = x.destination_agent JOIN queue q ON q.id = x.queue
        JOIN call c ON c.id = x.call ORDER BY a.handle, x.start""")
    expect(rows == [r for d in (0, 1) for r in (("write", 4096, 900 + 10 * d, 30, 2, 3, d, 13, 540 + 10 * d),
                                                ("fill", 64, 940 + 10 * d, 10, 0, 3, d, 13, 560 + 10 * d))], rows)
    rows = query(trace, """SELECT n.text, d.text AS domain, m.duration, p.text AS outer, t.tid FROM marker m JOIN marker_name n ON n.id = m.name
        JOIN marker_name d ON d.id = m.domain JOIN thread t ON t.id = m.thread LEFT JOIN marker up ON up.scope = m.parent
        LEFT JOIN marker_name p ON p.id = up.name WHERE d.text <> 'xla scope' ORDER BY m.start""")
    expect(rows == [("$train.py:3 main", "python", 500, None, 4713), ("train", "xla", 300, None, 4711), ("PjitFunction(f)", "xla", 100, "train", 4711),
                    ("ThunkExecutor::Execute", "xla", 80, None, 4712)], rows)
    rows = query(trace, """SELECT start, start_realtime, "end" FROM process""")
    expect(rows == [(0, BASE, 5000)], "begin and end of recording", rows)
    rows = query(trace, """SELECT n.text FROM call c JOIN call_extra x ON x.id = c.id JOIN marker m ON m.scope = x.scope JOIN marker_name n ON n.id = m.name""")
    expect(rows == [("PjitFunction(f)",)] * 8, "calls lie in", rows)
    expect(query(trace, "SELECT count(*), sum(duration) FROM call") == [(8, 40)], "calls")
    properties = query(trace, "SELECT properties FROM agent ORDER BY handle")
    expect(len(properties) == 2 and '"multiprocessors":132' in properties[0][0] and '"compute_capability":"9.0"' in properties[0][0] and
           '"memory_bytes":85899345920' in properties[0][0] and '"clock_khz":1980000' in properties[0][0], properties)
    for told in ("events of lines that others make (XLA Modules, Steps, ...) (2)", "theoretical_occupancy_pct (2)"):
        expect(told in said, told, said)
    expect(said.count("warning") == 1 and "tf_op" not in said, said)


def test_scopes_without_ranges():
    """Work that has a scope of which no event tells: the scope is there, with that above it, as long as its work."""
    trace, _ = imported("jax.xplane.pb", jax())
    rows = query(trace, """SELECT m.scope, coalesce(m.parent, 0), n.text, m.start, m.duration FROM marker m JOIN marker_name n ON n.id = m.name
        JOIN marker_name d ON d.id = m.domain WHERE d.text = 'xla scope' ORDER BY m.scope""")
    big = 1 << 48
    want = [(-8, 0, "jit_f", 1111, 50), (-7, 0, "jit_f", 1101, 50), (-6, -8, "fusion.1", 1111, 50), (-5, -7, "fusion.1", 1101, 50),
            (big, 0, "jit_f", 1000, 100), (big + 1, big, "fusion.1", 1000, 100), (big + 10, 0, "jit_f", 1010, 100),
            (big + 11, big + 10, "fusion.1", 1010, 100)]
    expect(rows == want, rows)
    text = run("summary", "--by", "scope", trace).stdout
    expect("jit_f" in text, text)
    run("export", "--to", "xspace", "-o", "again.xplane.pb", trace)
    space = xspace.read("again.xplane.pb")
    edges = {c: p for x in space.planes if x.name == TREE for c, p, _ in x.edges}
    expect(edges.items() >= {(big + 1, big), (big + 11, big + 10), (-5, -7), (-6, -8)}, edges)
    ids = sorted(e.stats["scope_range_id"] for x in space.planes for y in x.lines for e in y.events if "kernel_details" in e.stats)
    expect(ids == [-6, -5, big + 1, big + 11], "ids of kernels", ids)


def test_parents():
    """A parent that has no work and no range, a scope with two parents, circles: told, and nothing runs for ever."""
    p = Plane("/device:GPU:0")
    p.line(1, "Stream #1(Kernel)", BASE, [p.event("k", 1000 * i, 500, kernel_details="regs:1", scope_range_id=s) for i, s in enumerate((1, 10, 20, 30))])
    edges = [(1, 2), (2, 3), (10, 11), (11, 10), (20, 20), (30, 31), (30, 32), (5, 0)]
    trace, said = imported("odd.xplane.pb", [p, scope_tree(edges)])
    rows = dict(query(trace, "SELECT scope, coalesce(parent, 0) FROM marker"))
    expect({k: rows[k] for k in (1, 2, 3, 30, 31)} == {1: 2, 2: 3, 3: 0, 30: 31, 31: 0}, rows)
    expect(sorted((rows[10], rows[11])) in ([0, 10], [0, 11]) and rows[20] == 0, rows)
    for told in ("scopes that would lie in themselves (2)", "second parents of scopes (1)", "edges of the tree of scopes without two ends (1)"):
        expect(told in said, told, said)
    deep = [(i, i + 1) for i in range(1, 50000)]
    trace, said = imported("deep.xplane.pb", [p, scope_tree(deep)])
    expect("times of scopes above more than 1,024 others" in said, said)


def test_hosts():
    """A folder of profiles: each host a process of its own, whose correlations and scopes are its own."""
    os.makedirs("logs/plugins/profile/2024_01_01")
    for i, name in enumerate(("alpha.xplane.pb", "beta.xplane.pb.gz")):
        xspace.write("logs/plugins/profile/2024_01_01/" + name, [host(100 * i), gpu(0, shift=100 * i, modules=False), tree()], (name.split(".")[0],))
    for path in ("logs", "logs/plugins/profile/2024_01_01", "logs/"):
        trace = f"t{len(path)}.kymo"
        run("import", path, "-o", trace)
        rows = query(trace, """SELECT p.hostname, count(*), min(k.start), min(c.start), min(a.process = p.id) FROM dispatch k JOIN process p ON p.id = k.process
            JOIN call c ON c.id = k.call JOIN thread t ON t.id = c.thread AND t.process = p.id JOIN agent a ON a.id = k.agent GROUP BY p.hostname ORDER BY 1""")
        expect([r[:2] for r in rows] == [("alpha", 2), ("beta", 2)] and rows[1][2] - rows[0][2] == 100 and rows[1][3] - rows[0][3] == 100, path, rows)
    expect("2 processes" in run("summary", "logs").stdout, "a folder as it is")
    os.makedirs("named")
    for name, hostnames in (("n1.xplane.pb", ()), ("n2.xplane.pb.gz", ()), ("n3.xplane.pb", ("other",))):
        xspace.write("named/" + name, [host(), gpu(0, modules=False), tree()], hostnames)
    run("import", "named", "-o", "named.kymo")
    rows = query("named.kymo", "SELECT p.hostname, count(*) FROM dispatch k JOIN process p ON p.id = k.process GROUP BY 1 ORDER BY 1")
    expect([tuple(r) for r in rows] == [("n1", 2), ("n2", 2), ("other", 2)], "a file is named like its host", rows)
    shutil.copy("named/n1.xplane.pb", "profile.xplane.pb")
    run("import", "profile.xplane.pb", "-o", "alone.kymo")
    expect([tuple(r) for r in query("alone.kymo", "SELECT DISTINCT hostname FROM process")] in ([("",)], [(None,)]), "one alone may have any name")
    os.makedirs("logs/plugins/profile/2024_01_02")
    told = run("import", "logs", "-o", "x.kymo", status=None)
    expect(told.returncode != 0 and "2 runs" in told.stderr and "name one, as" in told.stderr, told.stderr)
    os.makedirs("empty/plugins/profile")
    told = run("import", "empty", "-o", "x.kymo", status=None)
    expect(told.returncode != 0 and "no run" in told.stderr, told.stderr)
    expect(not os.path.exists("x.kymo"), "left a trace")


def test_times_since_the_begin():
    """Times that are since the begin of recording, as newer writers have them, become times of day by the profile's own begin."""
    p = Plane("/host:CPU")
    p.line(5, "t", 1000, [p.event("a", 500 * NS, 100 * NS)])
    trace, _ = imported("rel.xplane.pb", [p, Plane("Task Environment", 0, {"profile_start_time": Unsigned(BASE)})])
    expect(query(trace, "SELECT m.start, p.start_realtime FROM marker m JOIN process p ON p.id = m.process") == [(1500, BASE)], "dated")
    trace, _ = imported("unknown.xplane.pb", [p])
    expect(query(trace, "SELECT m.duration, p.start_realtime FROM marker m JOIN process p ON p.id = m.process") == [(100, 0)], "not dated")
    p = Plane("/host:CPU")
    p.line(5, "t", BASE, [p.event("a", -1500, 999), p.event("b", 0, 1)])
    trace, _ = imported("ps.xplane.pb", [p])
    expect(query(trace, "SELECT start, duration FROM marker ORDER BY start, id") == [(0, 1), (2, 0)], query(trace, "SELECT start, duration FROM marker"))


def test_tpu_and_others():
    p = Plane("/device:TPU:0")
    p.line(1, "XLA Modules", BASE, [p.event("jit_f(3)", 0, 100 * NS)])
    p.line(2, "XLA Ops", BASE, [p.event("%fusion = f32[8]{0} fusion()", 10 * NS, 20 * NS, hlo_category="loop fusion")])
    q = Plane("/device:CUSTOM:Mine")
    q.line(1, "what it does", BASE, [q.event("x", 0, 10 * NS)])
    c = Plane("/host:CPU")
    c.line(9, "_counters_", BASE, [c.event("load", 5 * NS, 0, load=0.5), c.event("n", 6 * NS, 0, n=Unsigned(7)), c.event("none", 7 * NS, 0)])
    meta = Plane("/host:metadata")
    meta.event("jit_f(3)", 0, 0)
    strange = Plane("/something")
    strange.line(1, "x", BASE, [strange.event("y", 0, 1)])
    trace, said = imported("tpu.xplane.pb", [p, q, c, meta, strange])
    expect(query(trace, "SELECT s.text, a.type, d.duration FROM dispatch d JOIN kernel k ON k.id = d.kernel JOIN string s ON s.id = k.name JOIN agent a ON a.id = d.agent "
                 "ORDER BY 1") == [("%fusion = f32[8]{0} fusion()", "accelerator", 20), ("x", "accelerator", 10)], "kernels")
    expect(query(trace, "SELECT n.text, d.text AS d, m.duration FROM marker m JOIN marker_name n ON n.id = m.name JOIN marker_name d ON d.id = m.domain") ==
           [("jit_f(3)", "XLA Modules", 100)], "modules")
    expect(sorted(query(trace, "SELECT c.value FROM counter_value c")) == [(0.5,), (7.0,)], "counters")
    for told in ("counters without a number (1)", "hlo_category (1)", "events of planes that are no host's or device's (1)",
                 "names, and what they have, of planes that are no host's or device's (2)"):
        expect(told in said, told, said)


def test_messages_memory_waits():
    """What Kymo's own files have besides; those of two devices, and of a number that is both a queue's and a device's."""
    c = Plane("/host:CPU", 0, {"process_id": Unsigned(77), "rank": Unsigned(3), "ranks": Unsigned(8)})
    c.line(78, "worker", BASE, [c.event("MPI_Send", 1000 * NS, 50 * NS, correlation_id=Unsigned(5), domain="mpi", status=-2),
                                c.event("MemAlloc", 1010 * NS, 0, memalloc_details="kind:device num_bytes:17", device_id=Unsigned(1), what="pool",
                                        address=Unsigned(4096), allocation=Unsigned(9)),
                                c.event("MemFree", 1020 * NS, 0, MemFree_details="kind:pinned num_bytes:18", allocation=Unsigned(9)),
                                c.event("wait: queue", 1030 * NS, 5 * NS, sync="queue", stream=Unsigned(1), device_id=Unsigned(1), events=Unsigned(2))])
    c.line(0x41000001, "Messages", BASE, [c.event("send", 1000 * NS, 70 * NS, sent=Unsigned(640), received=Unsigned(0), peer=2, tag=6, call=Unsigned(5), datatype="int")])
    devices = [Plane(f"/device:GPU:{i}", i, {"gpu_device_name": "Made-up"}) for i in range(2)]
    for i, d in enumerate(devices):
        d.line(1 + i, "Stream #1(Kernel)", BASE, [d.event("k", (1100 + i) * NS, 7 * NS, kernel_details="regs:0", process_id=Unsigned(77))])
    trace, said = imported("own.xplane.pb", [c, *devices])
    expect("warning" not in said, said)
    expect(query(trace, "SELECT o.name, c.sent, c.received, c.peer, c.tag, c.call & 255 AS call, c.duration, n.text, t.tid FROM comm c JOIN op o ON o.id = c.op "
                 "JOIN marker_name n ON n.id = c.datatype JOIN thread t ON t.id = c.thread") == [("send", 640, 0, 2, 6, 5, 70, "int", 78)],
           query(trace, "SELECT * FROM comm"))
    expect(query(trace, "SELECT o.name, a.bytes, a.kind, a.what, a.address, a.allocation, g.handle, a.call & 255 AS call FROM allocation a JOIN op o ON o.id = a.op "
                 "LEFT JOIN agent g ON g.id = a.agent ORDER BY a.time") == [("allocate", 17, 3, 7, 4096, 9, 1, 5), ("free", 18, 2, 0, 0, 9, None, 5)],
           query(trace, "SELECT * FROM allocation"))
    expect(query(trace, "SELECT o.name, s.duration, s.events, q.handle, a.handle AS device FROM sync s JOIN op o ON o.id = s.op JOIN queue q ON q.id = s.queue "
                 "JOIN agent a ON a.id = q.agent") == [("queue", 5, 2, 1, 0)], "waits")
    expect(query(trace, "SELECT pid, rank FROM process") == [(77, 3)], "rank")
    expect(query(trace, "SELECT count(*) FROM queue") == [(2,)], "two queues of one number")
    expect(query(trace, "SELECT status FROM call") == [(-2,)], "status")


def event_bytes(*fields_):
    return b"".join(put(f, v) for f, v in fields_)


def bad(name, line_events, names=True, plane_more=b"", status=0):
    p = Plane("/host:CPU")
    good = p.event("good", 1000, 1000)
    p.line(1, "t", BASE, [good] + line_events)
    p.tail += plane_more
    if not names:
        p.events = {}
    return imported(name + ".xplane.pb", [p], status=status)


def test_impossible_times():
    big = (1 << 63) - 1
    events = [event_bytes((1, 1), (2, -big), (3, 5)), event_bytes((1, 1), (2, big), (3, big)), event_bytes((1, 1), (2, 5), (3, -5)),
              event_bytes((1, 1), (5, 17), (3, 100)), event_bytes((1, 1), (2, 5000), (3, 1000))]
    trace, said = bad("times", events)
    expect("events at impossible times (2)" in said and "events that are a number of occurrences (1)" in said, said)
    info = run("info", trace).stdout
    expect("3 records" in info and "lost" in info.lower() and "not taken: events at impossible times" in info, info)
    expect(query(trace, "SELECT count(*) FROM marker")[0][0] == 3, query(trace, "SELECT start, duration FROM marker"))
    p = Plane("/host:CPU")
    p.line(1, "t", (1 << 63) - 1, [p.event("a", 1000 * NS, 1)])
    p.line(2, "u", -(1 << 63), [p.event("a", 0, 1)])
    _, said = imported("lines.xplane.pb", [p], status=None)
    expect("events at impossible times (2)" in said and "no event in it" in said, said)


def test_wrong_types_and_lengths():
    """A field of another type is passed over, a part longer than what it lies in is cut there; both are counted."""
    trace, said = bad("types", [event_bytes((1, b"x"), (2, 5000), (3, 1000)), event_bytes((1, 1), (2, 2.5), (3, 1000)),
                                event_bytes((1, 1), (2, 9000), (3, 10)) + put(4, put(1, 1) + put(2, 5))])
    expect("fields of a wrong type" in said and "names of events that are not in the table (1)" in said, said)
    expect(query(trace, "SELECT count(*) FROM marker")[0][0] == 4, "events")
    bomb = event_bytes((1, 1), (2, 5000)) + number(4 << 3 | 2) + number((1 << 62))
    trace, said = bad("bomb", [bomb])
    expect("parts that end too early" in said, said)
    trace, said = bad("group", [event_bytes((1, 1), (2, 5000)) + number(9 << 3 | 3)])
    expect("parts that end too early" in said, said)
    with open("huge.xplane.pb", "wb") as f:
        f.write(number(1 << 3 | 2) + number((1 << 63) - 1) + b"\x12\x09/host:CPU")
    _, said = imported("huge.xplane.pb", status=None)
    expect("it is cut, or no profile, from byte" in said and "no event" in said, said)


def test_cut():
    """Wherever a file ends: what stands before is read, or it is said that there is nothing; never a crash, never silence."""
    xspace.write("whole.xplane.pb", jax())
    with open("whole.xplane.pb", "rb") as f:
        data = f.read()
    read = 0
    for n in list(range(0, len(data), max(1, len(data) // 60))):
        with open("cut.xplane.pb", "wb") as f:
            f.write(data[:n])
        p = subprocess.run([KYMO, "import", "cut.xplane.pb", "-o", f"cut{n}.kymo"], capture_output=True, text=True, check=False, errors="replace")
        expect(p.returncode in (0, 3), n, p.returncode, p.stderr)
        expect("no event" in p.stderr or "is cut" in p.stderr or p.returncode == 0, n, p.stderr)
        expect(("no event" in p.stderr) is not os.path.exists(f"cut{n}.kymo"), n, "a trace of nothing, or none", p.stderr)
        read += os.path.exists(f"cut{n}.kymo")
    expect(read > 5, "parts of it were read", read)
    xspace.write("w.xplane.pb.gz", jax())
    with open("w.xplane.pb.gz", "rb") as f:
        packed = f.read()
    with open("half.xplane.pb.gz", "wb") as f:
        f.write(packed[:len(packed) - 100])
    _, said = imported("half.xplane.pb.gz", status=None)
    expect("compressed data ends too early" in said, said)


def test_metadata_of_one_id():
    extra = put(4, put(1, 1) + put(2, put(1, 1) + put(2, "later"))) + put(5, put(1, 1) + put(2, put(1, 1) + put(2, "a"))) * 2
    trace, said = bad("twice", [], plane_more=extra)
    expect("names whose number another one has (2)" in said, said)
    rows = query(trace, "SELECT n.text FROM marker m JOIN marker_name n ON n.id = m.name")
    expect(rows == [("later",)], "as in every map of the format the last one holds", rows)
    _, said = bad("nameless", [], names=False)
    expect("names of events that are not in the table (1)" in said, said)


def test_a_million_stats():
    p = Plane("/host:CPU")
    one = p.event("many", 0, 1000) + p_stats(p, 1000000)
    call = p.event("cuMany", 2000, 1000, correlation_id=Unsigned(1)) + p_stats(p, 1000000)
    p.line(1, "t", BASE, [one, call])
    code = "import resource, subprocess, sys; p = subprocess.run(sys.argv[1:], capture_output=True, text=True); " \
           "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, p.returncode, p.stderr)"
    xspace.write("many.xplane.pb", [p])
    got = subprocess.run([sys.executable, "-c", code, KYMO, "import", "many.xplane.pb"], capture_output=True, text=True, check=True).stdout
    expect(got.split()[1] == "0" and "arguments of calls that have too many (999936)" in got, got)
    expect(SANITIZED or int(got.split()[0]) < 100000 + os.path.getsize("many.xplane.pb") // 1024, got)
    expect(query("many.kymo", "SELECT (SELECT count(*) FROM call), (SELECT count(*) FROM marker)") == [(1, 1)], "both are there")


def test_many_planes():
    """Thousands of processes and of devices are not as many devices as both together."""
    planes = []
    for i in range(2500):
        planes.append(Plane("/host:CPU", i, {"process_id": Unsigned(i + 1)}))
        d = Plane(f"/device:GPU:{i}", i)
        d.line(1, "Stream #1(Kernel)", BASE, [d.event("k", 1000 * NS, 7 * NS, kernel_details="regs:0", process_id=Unsigned(i + 1))])
        planes.append(d)
    trace, _ = imported("planes.xplane.pb", planes)
    expect(query(trace, "SELECT (SELECT count(*) FROM agent), (SELECT count(DISTINCT process) FROM dispatch), (SELECT count(DISTINCT agent) FROM dispatch)") ==
           [(2500, 2500, 2500)], "devices")


def p_stats(p, n):
    stat = put(4, p.stat("x", 5))
    return stat * n


def test_what_it_is():
    """By content; a pprof profile, which is a message as well, is none."""
    xspace.write("plain", jax())
    expect("(xspace)" in run("import", "plain", "-o", "a.kymo").stderr, "by content")
    with open("other", "wb") as f:
        f.write(put(1, put(1, 1) + put(2, 2)) + put(6, ""))
    told = run("import", "other", "-o", "b.kymo", status=None)
    expect(told.returncode != 0, told)
    with open("empty.xplane.pb", "wb"):
        pass
    _, said = imported("empty.xplane.pb", status=None)
    expect("there is no event in it" in said, said)
    for name in ("jax.xplane.pb", "jax.xplane.pb.gz"):
        xspace.write(name, jax())
        expect("fusion_1" in run("summary", name).stdout, name)
    os.mkdir("pipes")
    os.mkfifo("pipes/node1.xplane.pb")
    expect("it is no file" in run("summary", "pipes", status=3).stderr, "a pipe, which is not waited for")


sys.exit(main(globals()))
