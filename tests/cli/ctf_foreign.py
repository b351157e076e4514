#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Traces as LTTng's programs and kernel, and THAPI (iprof), have them, written by tests/base/ctf.py.

    ctf_foreign.py KYMO"""
import json
import os
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
from ctf import INTERVAL, NONE, SUM, Hex, Sizes, Trace, pack  # noqa: E402
from kymotest import Failure, Folder, expect  # noqa: E402

KYMO = os.path.abspath(sys.argv[1])


def run(*words, status=0):
    p = subprocess.run([KYMO, *words], capture_output=True, text=True, check=False, errors="replace")
    expect(p.returncode == status, words, "gave", p.returncode, p.stdout[:500], p.stderr[:1500])
    return p


def query(trace, sql):
    return [tuple(row.values()) for row in json.loads(run("query", "--format", "json", trace, sql).stdout)]


def equal(what, got, wanted):
    expect(got == wanted, what, "is", got, "and should be", wanted)


CALLS = "SELECT d.name || ':' || o.name AS n, count(*), sum(c.duration) FROM call c JOIN op o ON o.id = c.op JOIN domain d ON d.id = o.domain GROUP BY 1 ORDER BY 1"
MARKS = "SELECT name, count(*) FROM markers GROUP BY 1 ORDER BY 1"


# ---- programs ----------------------------------------------------------------------------------

def test_programs():
    """The thread that dumps the state is no thread of the program; a fast exit does not name its function."""
    t = Trace()
    for pid in (70, 80):
        t.event("lttng_ust_statedump:start", pid, pid + 1, pid)
        t.event("lttng_ust_statedump:procname", pid, pid + 1, pid + 1, procname=f"program{pid}")
        for tid in (pid, pid + 2):
            for depth, at in enumerate((100, 200)):
                t.event("lttng_ust_cyg_profile_fast:func_entry", pid, tid, at + tid, addr=Hex(0x10 + depth))
            for at in (500, 700):
                t.event("lttng_ust_cyg_profile_fast:func_exit", pid, tid, at + tid)
    t.write("programs")
    run("import", "programs", "-o", "programs.kymo")
    equal("processes", query("programs.kymo", "SELECT pid, exe, hostname FROM process ORDER BY 1"), [(70, "program70", "node1"), (80, "program80", "node1")])
    equal("threads", query("programs.kymo", "SELECT t.tid, s.text FROM thread t LEFT JOIN string s ON s.id = t.name ORDER BY 1, 2"), [(tid, "app") for tid in (70, 72, 80, 82)])
    equal("functions", query("programs.kymo", CALLS), [("functions:0x10", 4, 2400), ("functions:0x11", 4, 1200)])
    equal("lost", query("programs.kymo", "SELECT sum(lost_records) FROM process"), [(0,)])


def test_memory():
    """Of two processes with the same addresses; what was asked for before the trace is freed in it."""
    t = Trace()
    for n, pid in enumerate((70, 80)):
        at = 100 * (n + 1)
        t.event("own:work_entry", pid, pid, at)
        t.event("lttng_ust_libc:malloc", pid, pid, at + 1, size=100 + n, ptr=Hex(0x10))
        t.event("lttng_ust_libc:calloc", pid, pid, at + 2, nmemb=3, size=10, ptr=Hex(0x20))
        t.event("own:work_exit", pid, pid, at + 3)
        t.event("lttng_ust_libc:realloc", pid, pid, at + 4, in_ptr=Hex(0x10), size=500, ptr=Hex(0x30))
        t.event("lttng_ust_libc:posix_memalign", pid, pid, at + 5, out_ptr=Hex(0x40), alignment=64, size=64, result=0)
        t.event("lttng_ust_libc:free", pid, pid, at + 6, ptr=Hex(0x20))
        t.event("lttng_ust_libc:free", pid, pid, at + 7, ptr=Hex(0x99))
        t.event("lttng_ust_libc:free", pid, pid, at + 8, ptr=Hex(0))
        t.event("lttng_ust_libc:malloc", pid, pid, at + 9, size=2**40, ptr=Hex(0))
    t.write("memory")
    run("import", "memory", "-o", "memory.kymo")
    rows = query("memory.kymo", "SELECT p.pid, o.name, a.bytes, a.address, a.call IS NOT NULL AS within FROM allocation a JOIN op o ON o.id = a.op JOIN thread t ON t.id = a.thread "
                 "JOIN process p ON p.id = t.process ORDER BY p.pid, a.time, o.name DESC")
    equal("allocations", rows, [row for n, pid in enumerate((70, 80)) for row in (
        (pid, "allocate", 100 + n, 0x10, 1), (pid, "allocate", 30, 0x20, 1), (pid, "free", 100 + n, 0x10, 0), (pid, "allocate", 500, 0x30, 0),
        (pid, "allocate", 64, 0x40, 0), (pid, "free", 30, 0x20, 0), (pid, "free", 0, 0x99, 0))])
    equal("marks", query("memory.kymo", MARKS), [("lttng_ust_libc:free", 2), ("lttng_ust_libc:malloc", 2)])
    equal("in use at the end", query("memory.kymo", "SELECT sum(bytes) FROM tally_leak"), [(2 * 564,)])


# ---- the kernel --------------------------------------------------------------------------------

def switch(t, at, processor, before, after, state):
    t.put("sched_switch", b"\0", at, processor, prev_comm=before[1], prev_tid=before[0], prev_prio=20, prev_state=state,
          next_comm=after[1], next_tid=after[0], next_prio=20)


def kernel(folder):
    """On two processors: 11 (of process 10) reads, sleeps meanwhile, and wakes up on the other; 20 is preempted."""
    idle = [(0, "swapper/0"), (0, "swapper/1")]
    reader, worker = (11, "reader"), (20, "worker")
    t = Trace(domain="kernel", context=NONE)
    t.put("lttng_statedump_process_state", b"\0", 50, 0, tid=11, pid=10, name="reader")
    t.put("syscall_entry_read", b"\0", 1000, 0, fd=3, count=64)  # who reads is known only by the switch that follows
    switch(t, 1100, 0, reader, idle[0], 1)
    t.put("irq_handler_entry", b"\0", 1150, 0, irq=9, name="disk")
    t.put("irq_handler_exit", b"\0", 1170, 0, irq=9, ret=1)
    switch(t, 1200, 1, idle[1], worker, 0)
    t.put("syscall_entry_write", b"\0", 1250, 1, fd=1, count=8)
    switch(t, 1300, 1, worker, reader, 0)
    t.put("syscall_exit_read", b"\0", 1400, 1, ret=64)
    t.put("sched_process_fork", b"\0", 1420, 1, parent_tid=11, child_tid=30, child_pid=10, child_comm="child")
    switch(t, 1450, 1, reader, worker, 1)
    t.put("syscall_exit_write", b"\0", 1500, 1, ret=-32)
    t.put("syscall_entry_exit_group", b"\0", 1600, 1, error_code=0)
    switch(t, 1650, 1, worker, (30, "child"), 64)
    t.put("syscall_exit_clone", b"\0", 1660, 1, ret=0)  # on the child's side
    t.put("syscall_entry_clone", b"\0", 1670, 1, flags=0)
    t.put("syscall_exit_clone", b"\0", 1680, 1, ret=-5000)  # no error number
    t.put("syscall_entry_close", b"\0", 1700, 1, fd=3, count=0)
    t.put("syscall_exit_close", b"\0", 1720, 1, ret=0)
    t.put("syscall_exit_exit_group", b"\0", 1730, 1, ret=0)  # of no call that began
    return t.write(folder, packets=2)


def test_kernel():
    kernel("kernel")
    run("import", "kernel", "-o", "kernel.kymo")
    equal("calls", query("kernel.kymo", "SELECT t.tid, p.pid, o.name, c.start - (SELECT min(start) FROM call), c.duration, c.status FROM call c JOIN op o ON o.id = c.op "
                         "JOIN thread t ON t.id = c.thread JOIN process p ON p.id = t.process ORDER BY c.start"),
          [(11, 10, "read", 0, 400, 0), (11, 10, "waiting", 100, 200, 0), (0, 0, "irq_handler", 150, 20, 0), (20, 20, "write", 250, 250, -32),
           (20, 20, "preempted", 300, 150, 0), (30, 10, "clone", 670, 10, 0), (30, 10, "close", 700, 20, 0)])
    equal("what lies in what", query("kernel.kymo", "SELECT o.name, p.name AS around FROM call c JOIN op o ON o.id = c.op JOIN call_extra x ON x.id = c.id JOIN call u ON u.id = (c.id >> 40 << 40 | x.parent) "
                                     "JOIN op p ON p.id = u.op ORDER BY 1"), [("preempted", "write"), ("waiting", "read")])
    equal("threads", query("kernel.kymo", "SELECT t.tid, s.text FROM thread t LEFT JOIN string s ON s.id = t.name ORDER BY 1, 2"), [(0, "swapper/0"), (0, "swapper/1"), (11, "reader"), (20, "worker"), (30, "child")])
    equal("processes", query("kernel.kymo", "SELECT pid, exe FROM process ORDER BY 1"), [(0, "swapper/0"), (10, "reader"), (20, "worker")])
    equal("under way at the end", query("kernel.kymo", "SELECT t.tid, o.name FROM open_call c JOIN op o ON o.id = c.op JOIN thread t ON t.id = c.thread"), [(20, "exit_group")])
    equal("marks", query("kernel.kymo", MARKS), [("sched_process_fork", 1)])


def test_old_system_calls():
    t = Trace(domain="kernel", context=NONE)
    for processor, (at, tid) in enumerate(((100, 7), (101, 8))):
        switch(t, at, processor, (0, "swapper"), (tid, "old"), 0)
        t.put("sys_read", b"\0", at + 10, processor, fd=3)
        t.put("irq_handler_entry", b"\0", at + 20, processor, irq=1, name="disk")
        t.put("irq_handler_exit", b"\0", at + 25, processor, irq=1, ret=1)
        t.put("exit_syscall", b"\0", at + 60, processor, ret=-9)
        t.put("exit_syscall", b"\0", at + 70, processor, ret=0)  # of none
    t.write("old")
    expect("did not begin in the trace (2)" in run("import", "old", "-o", "old.kymo").stderr, "ends of nothing are not told")
    equal("calls", query("old.kymo", CALLS), [("kernel:irq_handler", 2, 10), ("kernel:read", 2, 100)])
    equal("failed", query("old.kymo", "SELECT t.tid, c.status FROM call c JOIN thread t ON t.id = c.thread WHERE c.status ORDER BY 1"), [(7, -9), (8, -9)])


def test_losses_are_told():
    t = Trace(domain="kernel", context=NONE)
    for processor in (0, 1):
        for i in range(6):
            t.put("timer_start", b"\0", 100 + 10 * i + processor, processor, number=i)
    t.discarded, t.packets_lost = 5, 2
    t.write("losing", packets=2)
    said = run("import", "losing", "-o", "losing.kymo").stderr
    expect("events that the tracer discarded (10)" in said, said)
    expect("packets that the tracer lost (each counts as one record) (4)" in said, said)
    equal("lost", query("losing.kymo", "SELECT sum(lost_records) FROM process"), [(14,)])
    equal("marks", query("losing.kymo", MARKS), [("timer_start", 12)])
    equal("processors", query("losing.kymo", "SELECT t.tid, s.text FROM thread t LEFT JOIN string s ON s.id = t.name ORDER BY 1, 2"), [(0, "processor 0"), (1, "processor 1")])


# ---- THAPI -------------------------------------------------------------------------------------

def results(t, pid, tid, at, event, queued):
    t.event("lttng_ust_opencl_profiling:event_profiling_results", pid, tid, at, event=Hex(event), event_command_exec_status=0, queued_status=0,
            queued=queued, submit_status=0, submit=queued + 10, start_status=0, start=queued + 200, end_status=0, end=queued + 260)


def submitted(t, pid, at, event):
    t.event("lttng_ust_opencl_profiling:event_profiling", pid, pid, at, status=0, event=Hex(event))


def thapi(t, pid):
    """A runtime that is done before the call returns, and uses handles of events again at once."""
    t.event("lttng_ust_opencl_devices:device_name", pid, pid, 10, device=Hex(0xd0), name="some device")
    t.event("lttng_ust_opencl:clCreateCommandQueue_entry", pid, pid, 20, context=Hex(1), device=Hex(0xd0))
    t.event("lttng_ust_opencl:clCreateCommandQueue_exit", pid, pid, 30, command_queue=Hex(0x90), errcode_ret_val=0)
    t.event("lttng_ust_opencl_arguments:kernel_info", pid, pid, 40, kernel=Hex(0x40), function_name="scale", num_args=2)
    for k, early in enumerate((True, False, True)):
        at = 1000 * (k + 1)
        t.event("lttng_ust_opencl:clEnqueueNDRangeKernel_entry", pid, pid, at, command_queue=Hex(0x90), kernel=Hex(0x40), work_dim=1, global_work_size_vals=Sizes((64,)))
        if early:
            results(t, pid, pid + 1 if k else pid, at + 20, 0x77, 50000 + at)
        submitted(t, pid, at + 30, 0x77)
        t.event("lttng_ust_opencl:clEnqueueNDRangeKernel_exit", pid, pid, at + 40, errcode_ret_val=0)
        if not early:
            results(t, pid, pid + 1, at + 90, 0x77, 50000 + at)
    for k, name in enumerate(("clEnqueueMarker", "clEnqueueReadBuffer")):
        at = 5000 + 1000 * k
        t.event(f"lttng_ust_opencl:{name}_entry", pid, pid, at, command_queue=Hex(0x90), size=100)
        submitted(t, pid, at + 30, 0x78)  # of the copy nothing more is heard
        t.event(f"lttng_ust_opencl:{name}_exit", pid, pid, at + 40, errcode_ret_val=0)
        if not k:
            results(t, pid, pid + 1, at + 90, 0x78, 60000)
    results(t, pid, pid + 1, 9000, 0x79, 70000)


def test_thapi():
    t = Trace()
    for pid in (100, 200):
        thapi(t, pid)
    t.write("thapi")
    said = run("import", "thapi", "-o", "thapi.kymo").stderr
    expect("device times of commands that are no kernels and no copies (2)" in said, said)
    expect("device times of no command (2)" in said, said)
    equal("kernels", query("thapi.kymo", "SELECT p.pid, s.text, a.name, d.start - c.start AS after, d.duration FROM dispatch d JOIN kernel k ON k.id = d.kernel JOIN string s ON s.id = k.name "
                           "JOIN agent a ON a.id = d.agent JOIN process p ON p.id = d.process JOIN call c ON c.id = d.call ORDER BY p.pid, d.start"),
          [(pid, "scale", "some device", 200, 60) for pid in (100, 200) for k in range(3)])
    equal("copies", query("thapi.kymo", "SELECT o.name, count(*), sum(c.bytes), sum(c.duration), count(c.call) FROM copy c JOIN op o ON o.id = c.op GROUP BY 1"), [("read", 2, 200, None, 2)])
    equal("without times", query("thapi.kymo", "SELECT sum(untimed) FROM tally_copy"), [(2,)])


def interval(t, name, host, pid, tid, at, /, **fields):
    t.put(name, pack(host) + struct.pack("<qQqq", pid, tid, at, 2), at, 0, **fields)


def test_intervals():
    """What iprof saves has no clock; devices' names lie in a trace beside it that has one."""
    named = Trace("n0")
    intervals = Trace("", context=INTERVAL, clock=False)
    zero = 1700000000 * 10**9
    for n, (host, pid) in enumerate((("n0", 100), ("n0", 200), ("n1", 100))):
        if host == "n0":
            named.event("lttng_ust_opencl_devices:device_name", pid, pid, 10 + n, device=Hex(0xd0), name="some device")
        for k in range(3):
            at = zero + 5000 - 1000 * k  # they come as they end
            interval(intervals, "lttng:host", host, pid, pid + k % 2, at, name="clEnqueueNDRangeKernel", dur=50 + n, err=int(k == 1))
            interval(intervals, "lttng:device", host, pid, pid, at + 200, name="scale", dur=60, did=0xd0, sdid=0, err=0, metadata="")
        interval(intervals, "lttng:device", host, pid, pid, zero + 9000, name="clEnqueueReadBuffer", dur=7, did=0xd0, sdid=0, err=0, metadata="")
        interval(intervals, "lttng:device", host, pid, pid, zero + 9000, name="clEnqueueMarkerWithWaitList", dur=7, did=0xd0, sdid=0, err=0, metadata="")
        interval(intervals, "lttng:traffic", host, pid, pid, zero + 9000, name="clEnqueueReadBuffer", size=100, metadata="")
    named.write("intervals/node/ust")
    intervals.write("intervals/trace")
    said = run("import", "intervals", "-o", "intervals.kymo").stderr
    expect("device times of commands that are no kernels and no copies (3)" in said, said)
    equal("calls", query("intervals.kymo", "SELECT p.hostname, p.pid, t.tid, count(*), sum(c.duration), sum(c.status <> 0) FROM call c JOIN thread t ON t.id = c.thread "
                         "JOIN process p ON p.id = t.process GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"),
          [("n0", 100, 100, 2, 100, 0), ("n0", 100, 101, 1, 50, 1), ("n0", 200, 200, 2, 102, 0), ("n0", 200, 201, 1, 51, 1), ("n1", 100, 100, 2, 104, 0), ("n1", 100, 101, 1, 52, 1)])
    equal("kernels", query("intervals.kymo", "SELECT p.hostname, p.pid, a.name, count(*), sum(d.duration) FROM dispatch d JOIN agent a ON a.id = d.agent JOIN process p ON p.id = d.process "
                           "GROUP BY 1, 2, 3 ORDER BY 1, 2"),
          [("n0", 100, "some device", 3, 180), ("n0", 200, "some device", 3, 180), ("n1", 100, "device 0xd0", 3, 180)])
    equal("copies", query("intervals.kymo", "SELECT count(*), sum(duration) FROM copy"), [(3, 21)])
    equal("bytes, which no copy is told of", run("show", "intervals.kymo").stdout.count('"lttng:traffic" {name="clEnqueueReadBuffer", size=100'), 3)


def sum_of(t, kind, pid, tid, name, numbers, **fields):
    t.put("aggreg:" + kind, pack("n0") + struct.pack("<qQ", pid, tid) + pack(name) + struct.pack("<4Q", *numbers), 0, 0, **fields)


def test_sums():
    """What iprof keeps by default: sums, of which bytes may come before the copies that they are of, or alone."""
    t = Trace("", context=SUM, clock=False)
    for pid in (100, 200):
        for tid in (pid, pid + 1):
            sum_of(t, "host", pid, tid, "clFinish", (5, 50, 60, 3), backend=2, err_count=1)
        sum_of(t, "device", pid, pid, "scale", (10, 30, 100, 7), did=0xd0, sdid=0, metadata="")
        sum_of(t, "device", pid, pid, "clEnqueueMarkerWithWaitList", (1, 1, 1, 1), did=0xd0, sdid=0, metadata="")
        sum_of(t, "traffic", pid, pid, "clEnqueueReadBuffer", (4, 8, 20, 4), backend=2, metadata="")
        for did in (0xd0, 0xd1):
            sum_of(t, "device", pid, pid, "clEnqueueReadBuffer", (1, 2, 6, 4), did=did, sdid=0, metadata="")
        sum_of(t, "device", pid, pid, "clEnqueueWriteBuffer", (3, 3, 9, 3), did=0xd0, sdid=0, metadata="")
        sum_of(t, "traffic", pid, pid, "clEnqueueWriteBuffer", (16, 16, 48, 3), backend=2, metadata="")
        sum_of(t, "traffic", pid, pid, "clEnqueueFillBuffer", (64, 64, 128, 2), backend=2, metadata="")
    t.write("sums/trace")
    said = run("import", "sums", "-o", "sums.kymo").stderr
    expect("device times of commands that are no kernels and no copies (2)" in said, said)
    equal("calls", query("sums.kymo", "SELECT p.pid, t.tid, o.name, c.calls, c.errors, c.total, c.min, c.max FROM tally_call c JOIN op o ON o.id = c.op JOIN thread t ON t.id = c.thread "
                         "JOIN process p ON p.id = c.process ORDER BY 2"), [(tid // 100 * 100, tid, "clFinish", 3, 1, 60, 5, 50) for tid in (100, 101, 200, 201)])
    equal("kernels", query("sums.kymo", "SELECT p.pid, s.text, d.calls, d.total, d.min, d.max FROM tally_dispatch d JOIN kernel k ON k.id = d.kernel JOIN string s ON s.id = k.name "
                           "JOIN process p ON p.id = d.process ORDER BY 1"), [(pid, "scale", 7, 100, 10, 30) for pid in (100, 200)])
    equal("copies", query("sums.kymo", "SELECT o.name, sum(c.calls) AS calls, sum(c.total) AS ns, sum(c.bytes) AS bytes, sum(c.untimed) AS untimed FROM tally_copy c JOIN op o ON o.id = c.op "
                          "GROUP BY 1 ORDER BY 1"), [("fill", 4, 0, 256, 4), ("read", 16, 24, 40, 0), ("write", 6, 18, 96, 0)])
    shown = run("summary", "sums").stdout
    line = next(x for x in shown.splitlines() if x.startswith("clFinish"))
    equal("no percentiles, which nobody told", line.split(), ["clFinish", "240", "ns", "100.0", "12", "20", "ns", "5", "ns", "50", "ns", "4"])


def main():
    with Folder() as folder:
        os.chdir(folder)
        try:
            for name, test in sorted(globals().items()):
                if name.startswith("test_"):
                    test()
                    print(name, "holds")
        except Failure as e:
            print(e)
            return 1
        finally:
            os.chdir("/")
    return 0


if __name__ == "__main__":
    sys.exit(main())
