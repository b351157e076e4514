#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CTF: what Kymo writes against what stands in the trace and what babeltrace2 counts, back again; traces as LTTng and THAPI have
them; damaged ones.

    ctf.py KYMO SYNTH [HEAT]"""
import collections
import glob
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
from ctf import Hex, Sizes, Trace  # noqa: E402
from kymotest import Failure, Folder, expect  # noqa: E402

KYMO, SYNTH = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
HEAT = os.path.abspath(sys.argv[3]) if len(sys.argv) > 3 and sys.argv[3] else None


def run(*words, status=0):
    p = subprocess.run([KYMO, *words], capture_output=True, text=True, check=False, errors="replace")
    expect(status is None or p.returncode == status, words, "gave", p.returncode, p.stdout[:500], p.stderr[:1500])
    return p


def query(trace, sql):
    return [tuple(row.values()) for row in json.loads(run("query", "--format", "json", trace, sql).stdout)]


def equal(what, got, wanted):
    expect(got == wanted, what, "is", got, "and should be", wanted)


# ---- round trips -------------------------------------------------------------------------------

def events_of(folder):
    """How many events of each name babeltrace2 finds; None: it is not there."""
    if not shutil.which("babeltrace2"):
        return None
    out = subprocess.run(["babeltrace2", folder, "--no-delta", "--clock-seconds"], capture_output=True, text=True, check=True).stdout
    return collections.Counter(re.match(r"\[\S+\] (?:\S+ )?(\S+:\S+): \{", line)[1] for line in out.splitlines())


# What says the same in both, however it is numbered.
SAME = ["SELECT count(*) FROM call", "SELECT count(*), sum(duration), sum(global_x) FROM dispatch",
        "SELECT o.name, count(*), sum(c.bytes), sum(c.duration) FROM copy c JOIN op o ON o.id = c.op GROUP BY 1 ORDER BY 1", "SELECT count(*), sum(bytes), sum(address) FROM allocation",
        "SELECT count(*), sum(value) FROM counter_value", "SELECT count(*), sum(sent), sum(received), count(match) FROM comm",
        "SELECT s.text, count(*) FROM kernel k JOIN string s ON s.id = k.name GROUP BY 1 ORDER BY 1", "SELECT name, unit FROM counter ORDER BY name",
        "SELECT pid, exe, hostname, rank FROM process ORDER BY pid", "SELECT tid, name FROM thread ORDER BY tid",
        "SELECT name, vendor, type FROM agent ORDER BY name"]


def lines(shown):
    """What traces that are made of files cannot say is left away: since when records were lost, and shared memory of kernels of the op that has none."""
    return sorted(re.sub(r"lost since .*| dynamic_shared=\d+", "", line) for line in shown.splitlines())


def round_trip(name, trace):
    before = run("show", trace).stdout
    said = run("export", "--to", "ctf", "-o", name + ".ctf", trace).stderr
    counted = events_of(name + ".ctf")
    if counted is not None:
        equal(name + ": events", sum(n for k, n in counted.items() if not k.startswith("kymo:") or k == "kymo:open_call"), int(re.search(r"([0-9]+) record", said)[1]))
        calls = dict(query(trace, "SELECT d.name || ':' || o.name AS n, count(*) FROM call c JOIN op o ON o.id = c.op JOIN domain d ON d.id = o.domain GROUP BY 1"))
        expect(calls or name == "timed", name, "has no call")
        equal(name + ": calls", {k: counted[k] for k in calls}, calls)
    run("import", name + ".ctf", "-o", name + ".back")
    before, after = lines(before), lines(run("show", name + ".back").stdout)
    differ = [(a, b) for a, b in zip(before, after) if a != b]
    expect(before == after, name, "differs in", len(differ), "lines:", differ[:2], len(before), len(after))
    for sql in SAME:
        equal(name + ": " + sql, query(name + ".back", sql), query(trace, sql))
    refused = run("export", "--to", "ctf", "-o", name + ".ctf", trace, status=None)
    expect(refused.returncode and "is there" in refused.stderr or "exists" in refused.stderr, refused.stderr)


def test_round_trips():
    subprocess.run([SYNTH, "demo", "demo"], check=True)
    subprocess.run([SYNTH, "timed", "timed"], check=True, text=True, input="range r 100 15000 5\nwrite 1234567 5000 100\nwrite 500 7000 100\nend 20000\n")
    for name in ("demo", "timed"):
        round_trip(name, name)
    if HEAT:  # arguments that are not there, arrays, names of values
        run("run", "-o", "heat", HEAT)
        round_trip("heat", "heat")


def test_losses_are_counted():
    subprocess.run([SYNTH, "losses", "losses", "300", "2000"], check=True)
    lost = sum(row[0] for row in query("losses", "SELECT lost_records FROM process"))
    expect(lost > 0, "the trace lost nothing")
    run("export", "--to", "ctf", "-o", "losses.ctf", "losses")
    run("import", "losses.ctf", "-o", "losses.back")
    equal("lost", sum(row[0] for row in query("losses.back", "SELECT lost_records FROM process")), lost)
    if shutil.which("babeltrace2"):
        said = subprocess.run(["babeltrace2", "losses.ctf"], capture_output=True, text=True, check=True).stderr
        told = sum(int(n) for n in re.findall(r"Tracer discarded (\d+) event", said))
        expect(told > 0, "babeltrace2 was told of no loss", said)


# ---- LTTng, THAPI ------------------------------------------------------------------------------

def command(t, pid, tid, at, name, event, device_at=None, **fields):
    """A call of OpenCL with an event; its times are told 900 ns later, by the runtime's thread."""
    t.event(f"lttng_ust_opencl:{name}_entry", pid, tid, at, **fields)
    t.event("lttng_ust_opencl_profiling:event_profiling", pid, tid, at + 50, status=0, event=Hex(event))
    t.event(f"lttng_ust_opencl:{name}_exit", pid, tid, at + 100, errcode_ret_val=0, event=Hex(event))
    if device_at is None:
        return
    t.event("lttng_ust_opencl_profiling:event_profiling_results", pid, tid + 1, at + 900, event=Hex(event), event_command_exec_status=0,
            queued_status=0, queued=device_at, submit_status=0, submit=device_at + 10, start_status=0, start=device_at + 200, end_status=0,
            end=device_at + 260)


def thapi(folder):
    """Two processes of two devices each; handles are the same in both."""
    t = Trace()
    for n, pid in enumerate((100, 200)):
        at = 1000000 * (n + 1)
        for k in range(2):
            t.event("lttng_ust_opencl:clCreateCommandQueue_entry", pid, pid, at, context=Hex(1), device=Hex(0xd0 + k))
            t.event("lttng_ust_opencl:clCreateCommandQueue_exit", pid, pid, at + 10, command_queue=Hex(0x90 + k), errcode_ret_val=0)
            at += 20
        for k, kernel in enumerate(("scale", "add")):
            t.event("lttng_ust_opencl:clCreateKernel_entry", pid, pid, at, program=Hex(5), kernel_name_val=kernel)
            t.event("lttng_ust_opencl:clCreateKernel_exit", pid, pid, at + 10, kernel=Hex(0x40 + k), errcode_ret_val=0)
            at += 20
        for k in range(6):
            command(t, pid, pid, at, "clEnqueueNDRangeKernel", 0x1000 + k % 2, 5000000 + 1000 * k, command_queue=Hex(0x90 + k % 2), kernel=Hex(0x40 + k % 2),
                    work_dim=2, global_work_size_vals=Sizes((64, 4 + n)), local_work_size_vals=Sizes(()))
            at += 1000
        command(t, pid, pid, at, "clEnqueueWriteBuffer", 0x2000, 6000000, command_queue=Hex(0x90), size=4096)
        command(t, pid, pid, at + 1000, "clEnqueueReadBuffer", 0x2001, 7000000, command_queue=Hex(0x91), size=100)
        command(t, pid, pid, at + 2000, "clEnqueueReadBuffer", 0x2002, None, command_queue=Hex(0x91), size=100)
        t.event("lttng_ust_opencl:clFlush_entry", pid, pid, at + 3000, command_queue=Hex(0x90))
        t.event("lttng_ust_opencl:clFlush_exit", pid, pid, at + 3010, errcode_ret_val=-36)
        t.event("lttng_ust_ze:zeInit_entry", pid, pid + 2, at + 3020, flags=1)
        t.event("lttng_ust_ze:zeInit_exit", pid, pid + 2, at + 3030, zeResult=0x78000001)
        t.event("my:note", pid, pid, at + 4000, text="" if n else "hello", number=-3 - n)
        t.event("lttng_ust_opencl:clFinish_entry", pid, pid, at + 5000, command_queue=Hex(0x90))
        t.event("lttng_ust_opencl:clRelease_exit", pid, pid, at + 6000, errcode_ret_val=0)
        t.event("lttng_ust_opencl:clFinish_exit", pid + 7, pid + 7, at + 5001, errcode_ret_val=0)
    t.discarded = 4
    return t.write(folder, packets=3)


def test_thapi():
    os.makedirs("thapi/host/job")
    thapi("thapi/host/job/ust/uid/0/64-bit")
    said = run("import", "thapi", "-o", "thapi.kymo").stderr
    expect("ends of calls that did not begin in the trace (2)" in said, said)
    calls = dict(query("thapi.kymo", "SELECT o.name, count(*) FROM call c JOIN op o ON o.id = c.op GROUP BY 1"))
    equal("calls", calls, {"clCreateCommandQueue": 4, "clCreateKernel": 4, "clEnqueueNDRangeKernel": 12, "clEnqueueWriteBuffer": 2,
                           "clEnqueueReadBuffer": 4, "clFlush": 2, "zeInit": 2})
    equal("kernels", query("thapi.kymo", "SELECT p.pid, s.text AS what, a.name AS place, count(*), sum(d.duration), min(d.global_x), min(d.global_y) FROM dispatch d "
                           "JOIN kernel k ON k.id = d.kernel JOIN string s ON s.id = k.name JOIN agent a ON a.id = d.agent JOIN process p ON p.id = d.process GROUP BY 1, 2, 3 ORDER BY 1, 2"),
          [(pid, k, f"device 0x{d:x}", 3, 180, 64, y) for pid, y in ((100, 4), (200, 5)) for k, d in (("add", 0xd1), ("scale", 0xd0))])
    equal("bytes", query("thapi.kymo", "SELECT o.name, count(*), sum(c.bytes), sum(c.duration) FROM copy c JOIN op o ON o.id = c.op GROUP BY 1 ORDER BY 1"),
          [("read", 4, 400, 120), ("write", 2, 8192, 120)])  # of two the times never came
    equal("kernels without the call that submitted them", query("thapi.kymo", "SELECT count(*) FROM dispatch d LEFT JOIN call c ON c.id = d.call WHERE c.id IS NULL "
                                                                  "OR d.start < c.start"), [(0,)])
    shown = run("show", "thapi.kymo").stdout
    expect('"my:note" {text="hello", number=-3}' in shown and '"my:note" {text="", number=-4}' in shown, shown[-3000:])
    expect("clFlush(command_queue=0x90, errcode_ret_val=-36)" in shown, [x for x in shown.splitlines() if "clFlush" in x])
    equal("failed", query("thapi.kymo", "SELECT count(*) FROM call WHERE status <> 0"), [(4,)])
    equal("never returned", query("thapi.kymo", "SELECT count(*) FROM open_call"), [(2,)])
    equal("exits of nothing, which are marks", shown.count('marker:mark "lttng_ust_opencl:clRelease_exit"'), 2)
    # Of the stream 4 were discarded before its second packet; 2 ends have no begin.
    equal("lost", query("thapi.kymo", "SELECT sum(lost_records) FROM process"), [(6,)])


def test_functions_nest():
    t = Trace()
    for tid in (7, 8):
        for depth, at in enumerate((100, 200, 300)):
            t.event("lttng_ust_cyg_profile:func_entry", 7, tid, at + tid, addr=Hex(0x10 + depth), call_site=Hex(1))
        for depth, at in ((2, 400), (1, 600), (0, 900)):
            t.event("lttng_ust_cyg_profile:func_exit", 7, tid, at + tid, addr=Hex(0x10 + depth), call_site=Hex(1))
    t.write("functions")
    run("import", "functions", "-o", "functions.kymo")
    equal("functions", query("functions.kymo", "SELECT o.name, c.duration, p.duration AS around FROM call c JOIN op o ON o.id = c.op LEFT JOIN call_extra x ON x.id = c.id "
                             "LEFT JOIN call p ON p.id = x.parent ORDER BY c.thread, c.start"),
          2 * [("0x10", 800, None), ("0x11", 400, 800), ("0x12", 100, 400)])


# ---- damage ------------------------------------------------------------------------------------

def damaged(name, change):
    folder = os.path.join("damaged", name)
    thapi(folder)
    change(folder)
    p = run("import", folder, "-o", folder + ".kymo", status=None)
    expect(p.returncode in (0, 1, 3, 4) or p.returncode < 64, name, p.returncode)
    expect(p.returncode >= 0, name, "died of signal", -p.returncode, p.stderr)
    if p.returncode:
        expect("error" in p.stderr and len(p.stderr.splitlines()) <= 3, name, p.stderr)
        expect(not os.path.exists(folder + ".kymo"), name, "left a trace")
    return p


def rewrite(folder, name, change):
    with open(os.path.join(folder, name), "rb") as f:
        data = f.read()
    with open(os.path.join(folder, name), "wb") as f:
        f.write(change(data))


def test_damage():
    expect(damaged("syntax", lambda f: rewrite(f, "metadata", lambda d: d + b"event { name = ")).returncode, "no error of a cut text")
    expect(damaged("cut", lambda f: rewrite(f, "channel0_0", lambda d: d[:-10])).returncode, "no error of a cut packet")
    damaged("length", lambda f: rewrite(f, "channel0_0", lambda d: d[:24] + b"\xff" * 16 + d[40:]))
    damaged("array", lambda f: rewrite(f, "metadata", lambda d: d.replace(b"u64 events_discarded;", b"u64 events_discarded[1073741824];")))
    damaged("integer", lambda f: rewrite(f, "metadata", lambda d: d.replace(b"size = 32", b"size = 65")))
    damaged("frequency", lambda f: rewrite(f, "metadata", lambda d: d.replace(b"freq = 1000000000", b"freq = 0")))
    damaged("offset", lambda f: rewrite(f, "metadata", lambda d: d.replace(b"offset = 17", b"offset = 9917")))
    damaged("empty", lambda f: rewrite(f, "channel0_0", lambda d: b""))
    damaged("recursion", lambda f: rewrite(f, "metadata", lambda d: d + b"struct a {" * 20000))


def test_files_that_are_gone():
    """Records of a stream that is not there, or empty, are told; of two processes each in turn."""
    subprocess.run([SYNTH, "demo", "gone"], check=True)
    run("export", "--to", "ctf", "-o", "gone.ctf", "gone")
    whole = int(re.search(r": (\d+) records", run("import", "gone.ctf", "-o", "whole.kymo").stderr)[1])
    before = query("whole.kymo", "SELECT sum(lost_records) FROM process")[0][0]
    files = sorted(glob.glob("gone.ctf/records_*"))
    expect(len(files) == 2, files)
    for i, change in enumerate((os.remove, lambda f: os.truncate(f, 0))):
        shutil.copytree("gone.ctf", f"gone{i}.ctf")
        change(files[i].replace("gone.ctf", f"gone{i}.ctf"))
        done = run("import", f"gone{i}.ctf", "-o", f"gone{i}.kymo")
        said = re.search(r"records whose files are not there or cut \((\d+)\)", done.stderr)
        read = int(re.search(r": (\d+) records? of", done.stderr)[1])
        expect(said and int(said[1]) == whole - read > 0, whole, read, done.stderr)
        lost = query(f"gone{i}.kymo", "SELECT sum(lost_records) FROM process")[0][0]
        expect(lost == before + whole - read, "lost", lost, before, whole, read)


def test_damage_of_ours():
    subprocess.run([SYNTH, "demo", "ours"], check=True)
    run("export", "--to", "ctf", "-o", "ours.ctf", "ours")
    with open("ours.ctf/definitions", "rb") as f:
        data = f.read()
    records = sorted(glob.glob("ours.ctf/records_*"))[0]
    for n, at in enumerate(range(200, len(data), len(data) // 25)):
        shutil.copytree("ours.ctf", f"ours{n}")
        with open(f"ours{n}/definitions", "wb") as f:
            f.write(data[:at] + bytes(x ^ 0xa5 for x in data[at:at + 6]) + data[at + 6:])
        rewrite(f"ours{n}", os.path.basename(records), lambda d: d[:4000] + b"\xff" * 40 + d[4040:] if len(d) > 5000 and n % 2 else d)  # noqa: B023
        p = run("import", f"ours{n}", "-o", f"ours{n}.kymo", status=None)
        expect(p.returncode >= 0, n, "died of signal", -p.returncode, p.stderr)
        expect(p.returncode or run("summary", f"ours{n}.kymo").stdout, n)


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
