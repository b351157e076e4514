#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Perfetto traces of other tools' shape, and damaged ones, read: what Kymo makes of them, against what stands in them. The
files are stand-ins, made here as the tools' sources describe them.

    perfetto_read.py KYMO SYNTH"""
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import time
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import expect  # noqa: E402

import perfetto_file as pf  # noqa: E402
from perfetto_file import BEGIN, CLEARED, END, INSTANT, NEEDS  # noqa: E402

KYMO, SYNTH = (os.path.abspath(a) for a in sys.argv[1:3])
S = 1000000000

CALLS = """SELECT p.pid, t.tid, d.name AS domain, o.name AS op, c.duration FROM call c JOIN op o ON o.id = c.op JOIN domain d ON d.id = o.domain
    JOIN thread t ON t.id = c.thread JOIN process p ON p.id = t.process ORDER BY c.start, c.id"""
KERNELS = """SELECT s.text, a.name AS agent, q.number, d.duration, o.name AS op, d.global_x, d.local_x FROM dispatch d
    JOIN kernel k ON k.id = d.kernel JOIN string s ON s.id = k.name LEFT JOIN agent a ON a.id = d.agent LEFT JOIN queue q ON q.id = d.queue
    LEFT JOIN call c ON c.id = d.call LEFT JOIN op o ON o.id = c.op ORDER BY d.start"""
COPIES = """SELECT m.name, c.bytes, x.name AS source, y.name AS destination, c.duration, o.name AS op FROM copy c JOIN op m ON m.id = c.op
    LEFT JOIN agent x ON x.id = c.source_agent LEFT JOIN agent y ON y.id = c.destination_agent
    LEFT JOIN call h ON h.id = c.call LEFT JOIN op o ON o.id = h.op ORDER BY c.start"""
MARKERS = """SELECT t.tid, o.name, n.text AS name_, d.text AS domain, m.duration FROM marker m JOIN op o ON o.id = m.op LEFT JOIN marker_name n ON n.id = m.name
    LEFT JOIN marker_name d ON d.id = m.domain LEFT JOIN thread t ON t.id = m.thread ORDER BY m.start, m.duration DESC"""
VALUES = """SELECT k.name, k.unit, a.name AS agent, v.value FROM counter_value v JOIN counter k ON k.id = v.counter LEFT JOIN agent a ON a.id = v.agent
    ORDER BY v.time, v.id"""


def run(*words, status=0):
    p = subprocess.run([KYMO, *words], capture_output=True, text=True, check=False, errors="replace", timeout=300)
    expect(status is None or p.returncode == status, words, "gave", p.returncode, p.stdout[:500], p.stderr[:1500])
    return p


def query(trace, sql):
    return [tuple(row.values()) for row in json.loads(run("query", "--format", "json", trace, sql).stdout)]


def imported(name, data=None, status=0):
    """The trace, and what was said on the way."""
    if data is not None:
        with open(name, "wb") as f:
            f.write(data)
    trace = name.split(".")[0] + ".kymo"
    shutil.rmtree(trace, ignore_errors=True)
    said = run("import", name, "-o", trace, status=status).stderr
    return trace, said


def same(what, got, wanted):
    expect(got == wanted, what, "\n  got   ", got, "\n  wanted", wanted)


# ---- the SDK's means -----------------------------------------------------------------------------

def sdk():
    """Interned names, defaults, a clock of its own that counts on, extra counters, nested annotations, flows."""
    d = pf.snapshot({pf.BOOTTIME: 50 * S, pf.REALTIME: 1700000050 * S, pf.MONOTONIC: 40 * S}, pf.BOOTTIME)
    d += pf.process(1, 10, "app") + pf.thread(2, 1, 10, 11, "main") + pf.counter(3, "cycles", 2, unit="cyc") + pf.counter(4, "load", 1)
    d += pf.counter(5, "sum", 1, multiplier=4, incremental=True)
    defaults = pf.put(59, pf.put(58, 64) + pf.put(11, pf.put(11, 2) + pf.put(31, 3)))
    d += pf.packet(defaults, pf.put(6, pf.put(1, pf.put(1, pf.BOOTTIME) + pf.put(2, 60 * S)) + pf.put(1, pf.put(1, 64) + pf.put(2, 0) + pf.put(3, 1) + pf.put(4, 1000))),
                   pf.put(42, 1), seq=7, flags=CLEARED)
    names = pf.interned(names={1: "work", 2: "step"}, categories={1: "app"}, annotations={1: "size", 2: "deep"})
    extra = pf.put(12, 500)
    body = lambda kind, *more: pf.put(11, pf.put(9, kind) + b"".join(more))  # noqa: E731
    d += pf.packet(names, body(BEGIN, pf.put(10, 1), pf.put(3, 1), pf.put(4, pf.put(1, 1) + pf.put(3, 77)),
                               pf.put(4, pf.note(2, {"a": [1, 2], "b": "x"})), extra), ts=100, seq=7, flags=NEEDS)
    d += pf.packet(body(BEGIN, pf.put(10, 2)), ts=10, seq=7, flags=NEEDS)
    d += pf.packet(body(END), ts=20, seq=7, flags=NEEDS)  # step: 20 us
    d += pf.packet(body(INSTANT, pf.put(23, "here")), ts=5, seq=7, flags=NEEDS)
    d += pf.packet(body(END, pf.put(4, pf.note("late", 1.5)), pf.put(12, 900)), ts=15, seq=7, flags=NEEDS)  # work: 50 us
    d += pf.value(4, 0.25, 61 * S) + pf.value(5, 2, 61 * S + 1) + pf.value(5, 3, 61 * S + 2) + pf.value(5, 1, 61 * S + 3, seq=8)
    # other clocks of the system, one state that is lost, and one that is cleared: number 1 is another name then
    d += pf.packet(pf.event(INSTANT, 2, "monotonic"), ts=52 * S, clock=pf.MONOTONIC)
    d += pf.packet(pf.event(INSTANT, 2, 9), ts=63 * S, seq=9, flags=NEEDS)
    d += pf.packet(pf.put(42, 1), pf.event(INSTANT, 2, 1), ts=1, seq=7, flags=NEEDS)
    d += pf.packet(defaults, pf.interned(names={1: "again"}), seq=7, flags=CLEARED)
    d += pf.packet(pf.event(INSTANT, 2, 1), ts=63 * S, clock=pf.BOOTTIME, seq=7, flags=NEEDS)
    # one row, written by two sequences whose packets do not come in order
    d += pf.packet(pf.event(END, 2), ts=65 * S, seq=21) + pf.packet(pf.event(BEGIN, 2, "handed over"), ts=64 * S, seq=22)
    d += pf.packet(pf.put(1, b""), ts=1)  # of ftrace
    # a legacy slice with a duration, of a thread that its sequence names
    d += pf.packet(pf.put(44, pf.put(1, 10) + pf.put(2, 12) + pf.put(5, "old")), seq=30)
    d += pf.packet(pf.put(11, pf.put(23, "whole") + pf.put(6, pf.put(2, ord("X")) + pf.put(3, 250))), ts=66 * S, seq=30)
    for k in "be":
        d += pf.packet(pf.put(11, pf.put(23, "async") + pf.put(6, pf.put(2, ord(k)) + pf.put(11, 5))), ts=67 * S + (k == "e") * 40, seq=30)
    return d


def test_sdk():
    trace, said = imported("sdk.pftrace", sdk())
    for what in ("events whose interned data or time is not known (2)", "packets of ftrace (1)", "dropped packets at 1 places"):
        expect(what in said, what, said)
    same("markers", query(trace, MARKERS), [
        (11, "range", "work", "app", 50000), (11, "range", "step", None, 20000), (11, "mark", "here", None, 0), (11, "mark", "monotonic", None, 0),
        (11, "mark", "again", None, 0), (11, "range", "handed over", None, S), (12, "range", "whole", None, 250000), (12, "process_range", "async", None, 40)])
    same("counters", query(trace, VALUES), [("cycles", "cyc", None, 500), ("cycles", "cyc", None, 900), ("load", "", None, 0.25), ("sum", "", None, 8), ("sum", "", None, 20),
                                                ("sum", "", None, 4)])
    shown = run("show", trace).stdout
    for what in ("size=77", "deep=\"{a: [1, 2], b: x}\"", "late=1.5"):
        expect(what in shown, what, shown)
    # 100 of the sequence's clock, in us, after 60 s; MONOTONIC is 10 s behind
    same("times", query(trace, "SELECT m.start - p.start + p.start_realtime FROM marker m JOIN process p ON p.id = m.process JOIN marker_name n ON n.id = m.name "
                        "WHERE n.text IN ('work', 'monotonic') ORDER BY 1"), [(1700000060 * S + 100000,), (1700000062 * S,)])
    same("nesting", query(trace, "SELECT n.text FROM marker m JOIN marker_name n ON n.id = m.name WHERE m.parent <> 0 ORDER BY m.start"), [("step",), ("here",)])


# ---- rocprofv3, rocprofiler-systems --------------------------------------------------------------

def roc(prefix="", api="hip_api"):
    d = pf.process(1, 100, "train") + pf.thread(2, 1, 100, 100, "train") + pf.track(3, "THREAD 1 (107)", 1)
    rows = {(a, q): 10 + 2 * a + q for a in (1, 2) for q in (0, 1)}
    for (a, q), uuid in rows.items():
        d += pf.track(uuid, f"COMPUTE AGENT [{a}] STREAM [{q}] (GPU)" if not prefix else f"GPU Kernel Dispatch [{a}] Queue {q}", 1)
    d += pf.track(30, "COPY to AGENT [2] STREAM [0] (GPU)" if not prefix else "GPU Memory Copy to Agent [2] Thread 0", 1)
    n = 0
    for (a, q), uuid in rows.items():
        n += 1
        at = n * 10000
        more = {"tid": 100, "kind": 7, "operation": 3, "corr_id": n, "begin_ns": at, "end_ns": at + 100, "delta_ns": 100}
        d += pf.slice_(2 if n % 2 else 3, "hipLaunchKernel", at, at + 100, prefix + api, flows=[n], **more)
        d += pf.slice_(uuid, "add(int*)", at + 500, at + 500 + n, prefix + "kernel_dispatch", ends=[n], corr_id=n, agent=f"agent-{a}", queue=q, kernel_id=4,
                       private_segment_size=16, group_segment_size=512, workgroup_size=64, grid_size=4096)
    d += pf.slice_(2, "hipMemcpy", 60000, 61000, prefix + api, flows=[9], corr_id=9)
    d += pf.slice_(30, "MEMORY_COPY_HOST_TO_DEVICE", 60100, 60900, prefix + "memory_copy", ends=[9], corr_id=9, src_agent="agent-0", dst_agent="agent-2", copy_bytes=12345)
    d += pf.slice_(2, "epoch", 5000, 70000, prefix + "marker_api")
    d += pf.slice_(2, "MPI_Barrier", 71000, 72000, "mpi") + pf.slice_(2, "main", 1000, 90000, "host")
    d += pf.counter(40, "GPU [2] Power (S)", 1, unit="W") + pf.value(40, 300.5, 80000)
    d += pf.slice_(50, "orphan", 85000, 86000, "host")
    return d


def check_roc(trace, said):
    same("calls", query(trace, CALLS), [(100, 100 if n % 2 else 107, "hip", "hipLaunchKernel", 100) for n in (1, 2, 3, 4)] +
         [(100, 100, "hip", "hipMemcpy", 1000), (100, 100, "mpi", "MPI_Barrier", 1000)])
    same("kernels", query(trace, KERNELS), [("add(int*)", f"device {a}", q, n, "hipLaunchKernel", 4096, 64)
                                            for n, (a, q) in enumerate([(1, 0), (1, 1), (2, 0), (2, 1)], 1)])
    same("copies", query(trace, COPIES), [("write", 12345, None, "device 2", 800, "hipMemcpy")])
    same("launch", query(trace, "SELECT DISTINCT static_shared, local_memory FROM launch"), [(512, 16)])
    same("ranges", [r[1:3] for r in query(trace, MARKERS)], [("range", "main"), ("range", "epoch"), ("process_range", "orphan")])
    same("counters", query(trace, VALUES), [("GPU [2] Power (S)", "W", "device 2", 300.5)])
    same("processes", query(trace, "SELECT count(*) FROM process"), [(1,)])
    expect("slices have no end" not in said, said)


def test_rocprofv3():
    check_roc(*imported("v3.pftrace", roc()))


def test_rocprof_sys():
    check_roc(*imported("perfetto-trace-1.proto", roc("rocm_")))


def test_packed():
    """The same compressed: as a whole, or in packets of several kinds."""
    plain = roc()
    with open("all.pftrace.gz", "wb") as f:
        f.write(gzip.compress(plain))
    check_roc(*imported("all.pftrace.gz"))
    cut = len(pf.process(1, 100, "train"))
    check_roc(*imported("deflated.pftrace", plain[:cut] + pf.put(1, pf.put(50, zlib.compress(plain[cut:])))))
    if shutil.which("zstd"):
        for options in ([], ["--no-content-size"]):
            z = subprocess.run(["zstd", "-q", *options], input=plain[cut:], stdout=subprocess.PIPE, check=True).stdout
            said = imported("zstd.pftrace", plain[:cut] + pf.put(1, pf.put(133, z)), status=None)[1]
            if "cannot be unpacked" not in said:  # built without libzstd
                check_roc("zstd.kymo", said)


# ---- iprof ---------------------------------------------------------------------------------------

def test_iprof():
    d, uuid = b"", 1
    for host in ("x1", "x2"):
        base = uuid
        d += pf.track(base, f"Hostname {host}") + pf.track(base + 1, "Process 500", base) + pf.track(base + 2, "Thread 501", base + 1)
        d += pf.track(base + 3, "Device 0", base + 2) + pf.track(base + 4, "SubDevice 1", base + 3) + pf.track(base + 5, "SubDevice 1", base + 3)
        d += pf.track(base + 6, "Device 1", base + 2) + pf.track(base + 7, "SubDevice 0", base + 6)
        d += pf.slice_(base + 2, "zeCommandListAppendLaunchKernel", 1000, 1100, correlation=3)
        d += pf.slice_(base + 2, "MPI_Send", 2000, 2100) + pf.slice_(base + 2, "clFinish", 3000, 3100) + pf.slice_(base + 2, "user", 4000, 4100)
        # two rows of one name: what overlaps
        d += pf.slice_(base + 4, "kernel", 1200, 1300, correlation=3) + pf.slice_(base + 5, "kernel", 1250, 1350) + pf.slice_(base + 7, "kernel", 1400, 1500)
        d += pf.slice_(base + 4, "zeCommandListAppendMemoryCopy(M2D)", 1600, 1700)
        d += pf.slice_(base + 4, "clEnqueueUnmapMemObject", 1800, 1807) + pf.slice_(base + 4, "clEnqueueMapBuffer", 1900, 1905)
        d += pf.track(base + 10, "Sampling", base) + pf.track(base + 11, "ZE", base + 10) + pf.track(base + 12, "Device 0", base + 11)
        d += pf.track(base + 13, "SubDevice 1", base + 12) + pf.counter(base + 14, "Frequency", base + 13) + pf.value(base + 14, 1600.0, 5000)
        uuid += 20
    trace, _ = imported("out.pftrace", d)
    same("processes", query(trace, "SELECT p.pid, p.hostname, t.tid FROM process p JOIN thread t ON t.process = p.id WHERE t.tid <> 0 ORDER BY p.hostname"),
         [(500, "x1", 501), (500, "x2", 501)])
    same("calls", sorted(query(trace, CALLS)), sorted(2 * [(500, 501, "ze", "zeCommandListAppendLaunchKernel", 100), (500, 501, "mpi", "MPI_Send", 100),
                                                          (500, 501, "opencl", "clFinish", 100)]))
    same("kernels", [k[:5] for k in query(trace, KERNELS)], 2 * [("kernel", "device 0 part 1", 0, 100, "zeCommandListAppendLaunchKernel")] +
         2 * [("kernel", "device 0 part 1", 0, 100, None)] + 2 * [("kernel", "device 1 part 0", 0, 100, None)])
    same("copies", [c[:2] + c[4:5] for c in query(trace, COPIES)], [(op, 0, ns) for op, ns in (("write", 100), ("unmap", 7), ("map", 5)) for _ in range(2)])
    same("where to", query(trace, COPIES)[:2], 2 * [("write", 0, None, "device 0 part 1", 100, None)])
    same("ranges", [m[2] for m in query(trace, MARKERS)], ["user", "user"])
    same("values", query(trace, VALUES), 2 * [("Frequency [part 1]", "", "device 0", 1600)])
    same("devices of a host", query(trace, "SELECT count(*) FROM agent a JOIN process p ON p.id = a.process WHERE p.hostname = 'x1' AND p.pid = 500"), [(4,)])


def test_stages():
    """GpuRenderStageEvent, of two devices."""
    spec = pf.put(12, pf.put(24, pf.put(1, 5) + pf.put(2, "Compute")))
    launch = pf.put(21, pf.put(1, pf.put(1, 4) + pf.put(2, 2)) + pf.put(2, pf.put(1, 32)))
    d = pf.packet(spec, seq=3, flags=CLEARED) + pf.process(1, 10, "app")
    for gpu in (0, 1):
        d += pf.packet(pf.put(53, pf.put(1, 1) + pf.put(2, 70 + gpu) + pf.put(13, 9) + pf.put(14, 5) + pf.put(11, gpu)), ts=1000 + gpu, seq=3)
    d += pf.packet(pf.put(53, pf.put(1, 2) + pf.put(2, 9) + pf.put(13, 9) + pf.put(17, "gemm") + launch), ts=3000, seq=3)
    trace, _ = imported("stage.pftrace", d)
    same("kernels", query(trace, KERNELS), [("Compute", "device 0", 0, 70, None, 0, 0), ("Compute", "device 1", 0, 71, None, 0, 0), ("gemm", "device 0", 0, 9, None, 128, 32)])


def test_rows():
    """Flows alone tie work to calls, and may be used again once ended; rows that are drawn as one are one queue, devices of one name two."""
    d = pf.process(1, 10, "app") + pf.thread(2, 1, 10, 11, "main")
    apart = pf.put(15, 2)
    for device in (20, 30):
        d += pf.track(device, "gpu X", 1, apart) + pf.track(device + 1, "queue 0", device) + pf.track(device + 2, "queue 0", device) + pf.track(device + 3, "queue 1", device)
    for n, row in enumerate((21, 22, 23, 31)):
        d += pf.slice_(2, f"hipLaunch{n}", 1000 * n + 100, 1000 * n + 200, "hip", flows=[7])
        d += pf.slice_(row, f"k{n}", 1000 * n + 300, 1000 * n + 400, "kernel_dispatch", ends=[7])
    d += pf.slice_(21, "k4", 9000, 9100, "kernel_dispatch", ends=[7])  # of nothing
    trace, _ = imported("rows.pftrace", d)
    same("kernels", query(trace, "SELECT s.text, a.handle, q.number, o.name FROM dispatch d JOIN kernel k ON k.id = d.kernel JOIN string s ON s.id = k.name "
                          "JOIN agent a ON a.id = d.agent JOIN queue q ON q.id = d.queue LEFT JOIN call c ON c.id = d.call LEFT JOIN op o ON o.id = c.op ORDER BY d.start"),
         [("k0", 20, 0, "hipLaunch0"), ("k1", 20, 0, "hipLaunch1"), ("k2", 20, 1, "hipLaunch2"), ("k3", 30, 0, "hipLaunch3"), ("k4", 20, 0, None)])
    same("devices, queues", query(trace, "SELECT (SELECT count(*) FROM agent) AS a, (SELECT count(*) FROM queue) AS q"), [(2, 4)])


def test_samples():
    """PerfSample, and StreamingProfilePacket of the sequence's thread: stacks of frames in files, outermost first."""
    put = pf.put
    data = put(16, put(1, 1) + put(2, b"\x12\x34")) + put(17, put(1, 1) + put(2, "/opt/app")) + put(17, put(1, 2) + put(2, "/lib/libc.so"))
    data += put(19, put(1, 1) + put(2, 1) + put(7, 1)) + put(19, put(1, 2) + put(7, 2)) + put(5, put(1, 1) + put(2, "main"))
    data += put(5, put(1, 2) + put(2, "0x7f12")) + put(18, put(1, 1) + put(2, "/src/app.c"))
    for iid, mapping, at in ((1, 1, 0x100), (2, 1, 0x200), (3, 2, 0x300)):
        data += put(6, put(1, iid) + put(2, 2) + put(3, mapping) + put(4, at))
    data += put(6, put(1, 4) + put(2, 1) + put(4, 0x400) + put(5, 1) + put(6, 42))  # by its function alone
    data += put(6, put(1, 5) + put(2, 1) + put(3, 1) + put(4, 0x500) + put(5, 1) + put(6, 43))
    data += put(6, put(1, 6) + put(2, 2) + put(4, 0x600))  # an address in no file
    data += put(7, put(1, 1) + put(2, 1) + put(2, 2) + put(2, 3)) + put(7, put(1, 2) + put(2, 6) + put(2, 5) + put(2, 4))
    d = pf.process(1, 10, "app") + pf.thread(2, 1, 10, 11, "main") + pf.packet(put(12, data), put(44, put(1, 10) + put(2, 12)),
                                                                                       put(59, put(12, put(1, put(2, 250) + put(4, 1)))), seq=4, flags=CLEARED)
    d += pf.slice_(2, "work", 500, 1500, "app")
    for at, stack, mode in ((1000, 1, 2), (2000, 1, 1), (3000, 2, 2)):
        d += pf.packet(put(66, put(1, 3) + put(2, 10) + put(3, 11) + put(4, stack) + put(5, mode)), ts=at, seq=4, flags=NEEDS)
    d += pf.packet(put(54, put(1, 1) + put(1, 1) + put(2, 1) + put(2, 2)), ts=10000, seq=4, flags=NEEDS)
    trace, said = imported("samples.pftrace", d)
    expect("frames of stacks that have neither a file nor a function (1)" in said, said)
    same("samples", query(trace, "SELECT t.tid, s.time, s.cpu, s.kernel, s.scope IS NOT NULL AS inside, s.stack IS NOT NULL AS stack, s.weight FROM sample s JOIN thread t ON t.id = s.thread ORDER BY s.time"),
         [(11, 500, 3, 0, 1, 1, 4000000), (11, 1500, 3, 1, 0, 1, 4000000), (11, 2500, 3, 0, 0, 1, 4000000), (12, 10500, 0, 0, 0, 1, 4000000),
          (12, 12500, 0, 0, 0, 1, 4000000)])
    same("frames", query(trace, "SELECT f.depth, m.path, s.address & 4095 AS at FROM stack_frame f JOIN site s ON s.id = f.site JOIN module m ON m.id = s.module "
                         "WHERE f.stack = (SELECT min(stack) FROM sample WHERE stack <> 0) ORDER BY f.depth"),
         [(0, "/lib/libc.so", 0x300), (1, "/opt/app", 0x200), (2, "/opt/app", 0x100)])
    same("functions", query(trace, "SELECT f.depth, n.text, p.text AS file, s.line, m.path FROM stack_frame f JOIN site s ON s.id = f.site JOIN string n ON n.id = s.function "
                            "JOIN string p ON p.id = s.file LEFT JOIN module m ON m.id = s.module WHERE f.stack = (SELECT max(stack) FROM sample) ORDER BY f.depth"),
         [(0, "main", "/src/app.c", 42, None), (1, "main", "/src/app.c", 43, "/opt/app")])


# ---- Kymo's own ----------------------------------------------------------------------------------

def test_own():
    """Ours, exported, read, against the trace itself. What differs is listed."""
    run_synth = subprocess.run([SYNTH, "demo", "demo.kymo"], capture_output=True, check=False)
    expect(run_synth.returncode == 0, run_synth.stderr)
    run("export", "--to", "perfetto", "-o", "own.pftrace", "demo.kymo")
    trace, said = imported("own.pftrace")
    for what, sql in (("calls", "SELECT d.name, o.name AS op, count(*), sum(c.duration), sum(c.status <> o.status_ok) FROM call c JOIN op o ON o.id = c.op "
                       "JOIN domain d ON d.id = o.domain GROUP BY 1, 2 ORDER BY 1, 2"),
                      ("kernels", "SELECT s.text, q.number, count(*), sum(d.duration), sum(d.call <> 0), sum(d.global_x), sum(d.local_x), sum(d.untimed <> 0), sum(d.start - d.queued) AS waited FROM dispatch d "
                       "JOIN kernel k ON k.id = d.kernel JOIN string s ON s.id = k.name LEFT JOIN queue q ON q.id = d.queue GROUP BY 1, 2 ORDER BY 1, 2"),
                      ("copies", "SELECT o.name, q.number, count(*), sum(c.bytes), sum(c.duration), sum(c.call <> 0), sum(c.source_agent <> 0), sum(c.destination_agent <> 0), "
                       "sum(c.source_kind), sum(c.destination_kind) FROM copy c JOIN op o ON o.id = c.op LEFT JOIN queue q ON q.id = c.queue GROUP BY 1, 2 ORDER BY 1, 2"),
                      ("ranges", "SELECT o.name, n.text, d.text AS domain, count(*), sum(m.duration), sum(m.parent <> 0) FROM marker m JOIN op o ON o.id = m.op "
                       "LEFT JOIN marker_name n ON n.id = m.name LEFT JOIN marker_name d ON d.id = m.domain GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"),
                      ("waits", "SELECT o.name, count(*), sum(s.duration), sum(s.call <> 0) FROM sync s JOIN op o ON o.id = s.op GROUP BY 1 ORDER BY 1"),
                      ("allocations", "SELECT o.name, g.label, m.kind, m.what, m.bytes, m.address, m.allocation, m.parent, m.call <> 0, m.time - p.start - "
                       "(SELECT min(x.time - y.start) FROM allocation x JOIN thread z ON z.id = x.thread JOIN process y ON y.id = z.process) FROM allocation m JOIN op o ON o.id = m.op "
                       "LEFT JOIN agent g ON g.id = m.agent JOIN thread t ON t.id = m.thread JOIN process p ON p.id = t.process ORDER BY m.time, m.allocation, m.address"),
                      ("messages", "SELECT o.name, peer, tag, count(*), sum(sent), sum(received) FROM comm m JOIN op o ON o.id = m.op GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"),
                      ("processes", "SELECT pid, rank, hostname FROM process ORDER BY pid, hostname"),
                      ("threads", "SELECT p.pid, t.tid FROM thread t JOIN process p ON p.id = t.process WHERE t.tid <> 0 ORDER BY 1, 2"),
                      ("open calls", "SELECT o.name, count(*) FROM open_call c JOIN op o ON o.id = c.op GROUP BY 1 ORDER BY 1"),
                      ("devices", "SELECT DISTINCT a.label FROM agent a JOIN dispatch d ON d.agent = a.id ORDER BY 1"),
                      ("queues", "SELECT p.pid, a.label, q.number FROM queue q JOIN agent a ON a.id = q.agent JOIN process p ON p.id = q.process ORDER BY 1, 2, 3")):
        ours, theirs = query("demo.kymo", sql), query(trace, sql)
        expect(ours or what in ("ranges", "waits", "messages"), "nothing of", what)
        same(what, theirs, ours)
    expect("left out of what was read: code_object (1)\n" in said, said)
    expect(not query(trace, "SELECT 1 FROM counter_value v JOIN counter k ON k.id = v.counter WHERE k.name LIKE 'memory in use%'"), "what is in use is there twice")
    run("export", "--to", "perfetto", "--no-args", "-f", "-o", "own.pftrace", "demo.kymo")
    trace, said = imported("own.pftrace")
    left_out = {name: int(n) for name, n in re.findall(r"(\w+) \((\d+)\)", said.split("left out of what was read:")[1].splitlines()[0])}
    same("allocations without arguments", left_out["allocation"], query("demo.kymo", "SELECT count(*) FROM allocation")[0][0])
    expect(query(trace, "SELECT 1 FROM counter_value v JOIN counter k ON k.id = v.counter WHERE k.name LIKE 'memory in use%'"), "no curve of memory")


# ---- damaged and hostile -------------------------------------------------------------------------

def test_damaged():
    whole = roc()
    for n in (1, 7, len(whole) // 3, len(whole) // 2, len(whole) - 1):
        with open("cut.pftrace", "wb") as f:
            f.write(whole[:n])
        said = run("summary", "cut.pftrace", status=None)
        expect(said.returncode in (0, 1, 2, 3), n, said.returncode, said.stderr)
        expect("not whole" in said.stderr, n, said.stderr)
    with open("cut.pftrace.gz", "wb") as f:
        f.write(gzip.compress(whole)[:300])
    expect("ends too early" in run("summary", "cut.pftrace.gz", status=None).stderr)
    expect("there is no event" in imported("empty.pftrace", b"", status=None)[1])
    expect("there is no event" in imported("none.pftrace", pf.process(1, 2, "x"), status=None)[1])


def test_hostile():
    bomb = zlib.compress(bytes(100 << 20))
    d = roc() + pf.put(1, pf.put(50, bomb)) + pf.put(1, pf.put(50, b"nonsense")) + pf.put(1, pf.put(133, b"nonsense"))
    # tracks that lie in each other and in themselves
    d += pf.track(201, "a", 202) + pf.track(202, "b", 203) + pf.track(203, "c", 201) + pf.track(204, "d", 204)
    for uuid in (201, 202, 203, 204):
        d += pf.slice_(uuid, "round", 100000, 100001)
    d += pf.packet(pf.event(END, 2), ts=200000)  # of nothing
    d += pf.packet(pf.event(END, 2), ts=1)  # before all
    d += pf.packet(pf.event(BEGIN, 3, "never ends", "host"), ts=150000)
    d += pf.packet(pf.event(BEGIN, 4, "far"), ts=1 << 63)
    d += pf.packet(pf.event(BEGIN, 4, "clock"), ts=5, clock=70)
    d += pf.packet(pf.interned(names={1: "first"}), pf.interned(names={1: "second"}), seq=50, flags=CLEARED)
    d += pf.packet(pf.event(INSTANT, 2, 1), ts=160000, seq=50, flags=NEEDS)
    d += pf.packet(pf.put(11, pf.put(9, "text") + pf.put(11, 2.5) + pf.put(6, 3)), ts=170000)
    d += pf.packet(pf.put(8, "text"), pf.put(10, b"x"))
    trace, said = imported("hostile.pftrace", d)
    for what in ("3 compressed packets", "tracks that lie in themselves (1)", "ends without a begin (2)", "1 slices have no end", "times out of range (1)",
                 "events whose interned data or time is not known (2)", "fields of another type"):
        expect(what in said, what, said)
    same("the slices in circles", query(trace, "SELECT count(*) FROM marker m JOIN marker_name n ON n.id = m.name WHERE n.text = 'round'"), [(4,)])
    same("the first of two", query(trace, "SELECT n.text FROM marker m JOIN marker_name n ON n.id = m.name WHERE n.text IN ('first', 'second')"), [("second",)]
         if query(trace, "SELECT count(*) FROM marker m JOIN marker_name n ON n.id = m.name WHERE n.text = 'second'")[0][0] else [("first",)])
    same("the open one", query(trace, "SELECT m.left_open FROM marker m JOIN marker_name n ON n.id = m.name WHERE n.text = 'never ends'"), [(1,)])
    same("calls", len(query(trace, CALLS)), 6)


def many(n):
    """Each thing once: a track, a name, a category, an annotation for each slice."""
    parts = [pf.process(1, 10, "app"), pf.thread(2, 1, 10, 11, "main")]
    for i in range(n):
        parts.append(pf.track(100 + i, f"row {i}", 99 + i if i else 1))
        parts.append(pf.packet(pf.interned(names={i + 1: f"name {i}"}, categories={i + 1: f"category {i}"}, annotations={i + 1: f"note {i}"}),
                               pf.event(BEGIN, 100 + i, i + 1, i + 1), ts=1000 + i))
        parts.append(pf.slice_(2, f"call{i}", 1000 + i, 1000 + i, f"hip{i}", corr_id=i + 1))
        parts.append(pf.packet(pf.event(END, 100 + i), ts=2000 + i))
    return b"".join(parts)


def test_many():
    """A chain of tracks as deep as there are, and as many names: four times as much takes about four times as long."""
    took = []
    for n in (10000, 40000):
        with open("many.pftrace", "wb") as f:
            f.write(many(n))
        at = time.process_time_ns(), os.times().children_user
        run("export", "--to", "json", "-f", "-o", "many.json", "many.pftrace")
        took.append(os.times().children_user - at[1])
        same("all there", sum(1 for line in open("many.json", encoding="utf-8") if '"call' in line and "hip" in line) >= n, True)
    expect(took[1] < 10 * took[0] + 1, "of 10,000 and of 40,000:", took)


def main():
    with kymotest.Folder() as folder:
        os.chdir(folder)
        for name, test in sorted(globals().items()):
            if name.startswith("test_") and (len(sys.argv) < 4 or name[5:] in sys.argv[3:]):
                test()
                print("passed", name[5:])


main()
