#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kymo top shows exactly what programs have done so far that wait, however they are named; what ended, was killed,
is damaged or is nobody's is told: top.py KYMO TOP_PROGRAM."""
import json
import os
import signal
import struct
import subprocess
import time

from top_programs import KYMO, Recording, kymotest
from kymotest import check, expect, must, run, wait_for

TWO = kymotest.environment(POCL_DEVICES="pthread pthread")


def look(*operands, env=None, delay="0"):
    return json.loads(must(KYMO, "top", "--once", "--json", "-d", delay, *operands, env=env))


def by(rows, key, value):
    return {r[key]: r[value] for r in rows}


def union(spans):
    total, end = 0, 0
    for start, stop in sorted(spans):
        total += max(0, stop - max(start, end))
        end = max(end, stop)
    return total


# ---- numbers -----------------------------------------------------------------------------------

def known(p):
    """Two devices of one name, kernels, copies, memory: every number."""
    p.tell("calls 1234", "kernels 0 first 7", "kernels 1 second 11", "kernels 1 first 2", "write 0 1000 3",
           "write 1 24 1", "read 1 500 2", "allocate 4096", "allocate 100000", "free")
    now = look(p.trace)
    check("running", (now["running"], now["processes_running"], now["processes_ended"]), (True, 1, 0))
    check("no second look", (now["interval_ns"], now["calls_per_s"], now["devices"][0]["interval_busy_share"]), (None, None, None))
    calls = by(now["top_calls"], "name", "count")
    wanted = {"clGetDeviceInfo": 1234, "clEnqueueNDRangeKernel": 20, "clEnqueueWriteBuffer": 4, "clEnqueueReadBuffer": 2,
              "clFinish": 3, "clCreateBuffer": 3, "clReleaseMemObject": 1, "clCreateKernel": 3, "clBuildProgram": 1}
    check("calls", {name: calls.get(name) for name in wanted}, wanted)
    check("all calls", (now["calls"], now["processes"][0]["calls"]), (sum(calls.values()),) * 2)
    check("kernels", (by(now["top_kernels"], "name", "count"), now["kernels"]), ({"first": 9, "second": 11}, 20))
    check("devices", [(d["number"], d["kernels"]) for d in now["devices"]], [(0, 7), (1, 13)])
    check("one name", len({d["device"] for d in now["devices"]}), 1)
    check("nothing under way", [d["under_way"] for d in now["devices"]], [0, 0])
    check("copies", [(c["direction"], c["count"], c["bytes"]) for c in sorted(now["copies"], key=lambda c: c["direction"])],
          [("device to host", 2, 1000), ("host to device", 4, 3024)])
    check("memory", [(m["kind"], m["bytes"], m["peak_bytes"]) for m in now["memory"]],
          [("device", (1 << 20) + 4096, (1 << 20) + 104096)])
    check("nothing lost", (now["lost_records"], now["damaged_blocks"], now["read_share"], now["age_ns"]), (0, 0, 1, 0))
    check("process", (now["processes"][0]["pid"], now["processes"][0]["rank"], now["processes"][0]["memory_seen"]),
          (p.pids[0], None, True))
    return now


def counts(now):
    """What does not change while programs wait; times follow the calibration of clocks."""
    return ([now[k] for k in ("calls", "kernels", "memory", "lost_records")],
            [sorted((r.get("name", r.get("direction")), r["count"], r.get("bytes")) for r in now[k])
             for k in ("top_kernels", "top_calls", "copies")])


def same(a, b):
    return counts(a) == counts(b)


def exact(folder):
    p = Recording(folder, "exact", env=TWO)
    now = known(p)
    for name, operand in (("the program", p.pids[0]), ("the launcher", p.process.pid)):
        check(f"by {name}", same(now, look(str(operand))), True)
    rates = look(p.trace, delay="150ms")
    check("it waits", (same(now, rates), rates["calls_per_s"], rates["kernels_per_s"], rates["written_bytes_per_s"] < 1e6),
          (True, 0, 0, True))
    check("interval", rates["interval_ns"] >= 150e6, True)
    p.tell("calls 66", "kernels 0 second 1")
    more = look(p.trace)
    check("more", (by(more["top_calls"], "name", "count")["clGetDeviceInfo"], more["kernels"], more["devices"][0]["kernels"]),
          (1300, 21, 8))
    p.tell("kernels 1 _Z5scaleIfEvPT_ 4")
    more = look(p.trace)
    check("a kernel of C++", by(more["top_kernels"], "name", "count").get("void scale<float>(float*)"), 4)
    line = next(w for w in must(KYMO, "top", "--once", "-d", "0", p.trace).splitlines() if "scale" in w).split()
    check("as it is short", (line[0], line[2]), ("scale<float>", "4"))
    must(KYMO, "ctl", "flush", p.trace)  # all of it is in the file now, and in memory as well
    check("flushed", same(more, look(p.trace)), True)
    lines = subprocess.Popen([KYMO, "top", "--json", "-d", "50ms", p.trace], stdout=subprocess.PIPE, text=True)
    first = json.loads(lines.stdout.readline())
    check("a line", (first["running"], first["calls"]), (True, more["calls"]))
    p.end()
    rest = [json.loads(line) for line in lines.communicate(timeout=kymotest.WAIT)[0].splitlines()]
    check("it ends with the recording", (lines.returncode, rest[-1]["running"], rest[-1]["processes_ended"]), (0, False, 1))
    check("time ends with the last process", rest[-1]["elapsed_ns"], rest[-1]["processes"][0]["elapsed_ns"])
    check("overhead is of a time that has the loading", 0 < rest[-1]["overhead_share"] < rest[-1]["overhead_ns"] / rest[-1]["elapsed_ns"], True)
    as_the_trace(p.trace, rest[-1])


def as_the_trace(trace, last):
    """The last picture has what the store has."""
    rows = kymotest.query(KYMO, trace, "SELECT o.name, count(*) AS n, sum(c.duration) AS ns FROM call c "
                                       "JOIN op o ON o.id = c.op GROUP BY 1")
    check("calls of the trace", by(last["top_calls"], "name", "count"), by(rows, "name", "n"))
    for r in rows:
        ns = by(last["top_calls"], "name", "time_ns")[r["name"]]
        expect(abs(ns - r["ns"]) <= 0.002 * r["ns"] + 100 * r["n"], r, ns)
    rows = kymotest.query(KYMO, trace, "SELECT agent, start, duration FROM dispatch")
    for device, agent in zip(last["devices"], sorted({r["agent"] for r in rows})):
        spans = [(r["start"], r["start"] + r["duration"]) for r in rows if r["agent"] == agent]
        check("kernel time", device["kernel_time_ns"], sum(b - a for a, b in spans))
        expect(abs(device["busy_ns"] - union(spans)) <= 0.001 * union(spans) + 1000, "busy", device, union(spans))


def estimated(folder):
    """More than a look takes in: what cannot be added up from a part is not known, instead of too little."""
    p = Recording(folder, "estimated")
    p.tell("kernels 0 first 5")
    now = look(p.trace)
    check("all of it", (now["read_share"], now["devices"][0]["busy_ns"] > 0, now["devices"][0]["busy_share"] > 0), (1, True, True))
    p.tell("calls 5000000")
    now = look(p.trace)
    expect(now["read_share"] < 1, "it is a part", now["read_share"])
    check("a part", [now["devices"][0][k] for k in ("busy_ns", "busy_share", "interval_busy_share")], [None] * 3)
    p.end()


def threads_of(pid):
    """Of each thread its name, state, how often it was taken off a processor, ns on one: the same, it did not run meanwhile."""
    seen = {}
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/status", encoding="utf-8", errors="replace") as f:
            lines = [line.strip() for line in f if line.startswith(("Name", "State", "voluntary", "nonvoluntary"))]
        with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as f:
            seen[thread] = (*lines, f.read().split()[0])
    return seen


def asleep(pid):
    """All of its threads wait, and have since it was looked at before."""
    before, now = threads_of(pid), threads_of(pid)
    return before == now and all("State:\tS (sleeping)" in thread for thread in now.values())


def shared_memory_of(pid):
    """All that the program can write to and others see: by address, bytes."""
    found = {}
    with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as maps, open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in maps:
            if " rw-s " in line and "memfd:kymo" in line:
                start, end = (int(v, 16) for v in line.split()[0].split("-"))
                memory.seek(start)
                found[start] = memory.read(end - start)
    return found


def costs_nothing(folder):
    """However often it is looked at, the program does not run for it, and in the memory that it shares nothing changes but the
    second at which the drain was last there, which it writes as well when nobody looks. So a running program has nothing to see."""
    p = Recording(folder, "costs")
    p.tell("calls 30000", "kernels 0 first 5")
    must(KYMO, "ctl", "flush", p.trace)  # the drain has given back all that it had taken
    wait_for(lambda: not look(p.trace)["devices"][0]["under_way"] and asleep(p.pids[0]), "the program waits")
    threads, memory, second = threads_of(p.pids[0]), shared_memory_of(p.pids[0]), int(time.monotonic())
    check("it has threads and memory", (len(threads) > 1, sum(map(len, memory.values())) > 1 << 20), (True, True))
    for _ in range(5):
        check("what there is to see", (look(p.trace)["calls"] > 30000, look(str(p.pids[0]))["processes"][0]["memory_seen"]), (True, True))
    check("no thread of it ran", threads_of(p.pids[0]), threads)
    places = set()
    for start, now in shared_memory_of(p.pids[0]).items():
        before = memory[start]
        for at in (at for at in range(0, len(now), 4096) if now[at:at + 4096] != before[at:at + 4096]):
            places |= {i for i in range(at, at + 4096, 8) if now[i:i + 8] != before[i:i + 8]}
        for i in places:
            expect(second - 1 <= struct.unpack_from("<Q", now, i)[0] <= time.monotonic(), "changed by a look", i, before[i:i + 8], now[i:i + 8])
    expect(len(places) <= 1, "one second, in memory that is mapped at more than one place", places)
    p.end()


def two_processes(folder):
    """Ranks, one of which waits in a call that is open."""
    p = Recording(folder, "two", count=2, before="KYMO_JOB=top OMPI_COMM_WORLD_RANK={i} OMPI_COMM_WORLD_SIZE=2")
    p.tell("kernels 0 first 5", "calls 10")
    p.tell("kernels 0 first 6", "calls 20", "write 0 8 2", "block", to=1)
    wait_for(lambda: look(p.trace)["processes"][1]["open_call"], "it waits")
    now = look(p.trace, delay="100ms")
    check("sums", (by(now["top_calls"], "name", "count")["clGetDeviceInfo"], by(now["top_kernels"], "name", "count"),
                   by(now["copies"], "direction", "bytes")), (30, {"first": 11}, {"host to device": 16}))
    check("each", [(q["pid"], q["rank"], q["kernels"], q["copied_bytes"], q["open_call"], q["threads"])
                   for q in now["processes"]],
          [(p.pids[0], 0, 5, 0, None, 1), (p.pids[1], 1, 6, 16, "clWaitForEvents", 2)])
    check("one device", [(d["number"], d["kernels"]) for d in now["devices"]], [(0, 11)])
    check("ranks", (now["slowest_rank"], now["fastest_rank"], now["processes"][0]["interval_waiting_share"]), (0, 1, 0))
    share = now["processes"][1]["interval_waiting_share"]
    expect(0.49 < share < 0.51, "one of two threads waits", share)
    text = must(KYMO, "top", "--once", "-d", "100ms", p.trace)
    check("text", [w in text for w in ("2 processes (2 ranks)", "slowest 0 (waits 0.0 %), fastest 1", "in clWaitForEvents",
                                       f"rank 1, {p.pids[1]} top_program")], [True] * 4)
    p.tell("unblock", to=1)
    p.end()


def summary_mode(folder):
    """Tallies are looked at where they are counted."""
    p = Recording(folder, "summary", "--mode", "summary")
    p.tell("kernels 0 first 9", "calls 500", "write 0 64 3")
    now = look(p.trace)
    calls = by(now["top_calls"], "name", "count")
    check("calls", {n: calls.get(n) for n in ("clEnqueueNDRangeKernel", "clFinish", "clEnqueueWriteBuffer", "clGetDeviceInfo")},
          {"clEnqueueNDRangeKernel": 9, "clFinish": 1, "clEnqueueWriteBuffer": 3, "clGetDeviceInfo": None})
    check("left out", now["calls_left_out"] >= 500, True)
    check("work", (by(now["top_kernels"], "name", "count"), by(now["copies"], "direction", "bytes")),
          ({"first": 9}, {"host to device": 192}))
    lines = subprocess.Popen([KYMO, "top", "--json", "-d", "50ms", p.trace], stdout=subprocess.PIPE, text=True)
    lines.stdout.readline()
    p.tell("kernels 0 first 1")
    p.end()
    last = json.loads(lines.communicate(timeout=kymotest.WAIT)[0].splitlines()[-1])
    check("at the end", (by(last["top_calls"], "name", "count")["clEnqueueNDRangeKernel"], last["kernels"]), (10, 10))


# ---- which recording ---------------------------------------------------------------------------

def all_of_them(folder):
    runtime = os.path.join(folder, "runtime")
    os.mkdir(runtime, 0o700)
    env = kymotest.environment(XDG_RUNTIME_DIR=runtime)
    p, q = Recording(folder, "p", env=env), Recording(folder, "q", env=env, words=("\x1b[2J\u202e",))
    p.tell("calls 3")
    q.tell("calls 4")
    now = look(env=env)
    check("both", {r["trace"] for r in now["recordings"]} >= {p.trace, q.trace}, True)
    counts = {x["trace"]: x["calls"] for x in now["processes"]}
    check("apart", counts[q.trace] - counts[p.trace], 1)
    text = run(KYMO, "top", "--once", "-d", "0", q.trace).stdout
    check("hostile names", ["\x1b" in text, "\u202e" in text, "\\x1b[2J" in text], [False, False, True])
    p.end()
    check("one is left", [r["trace"] for r in look(env=env)["recordings"] if r["trace"] in (p.trace, q.trace)], [q.trace])
    q.end()


class Others(Exception):
    """Somebody else of this user records on this machine."""


def let_go(folder):
    """Tried again where others record meanwhile, who are in all sums as well."""
    for i in range(5):
        before = len(Recording.all)
        try:
            return let_go_alone(folder, i)
        except Others:
            print("let_go: others record meanwhile")
            for p in Recording.all[before:]:
                p.let_go()
    raise kymotest.Failure("let_go: others record on this machine all the time")


def let_go_alone(folder, i):
    """Of all recordings one that ends is shown once more and let go, with all that it added; the last one stays."""
    runtime = os.path.join(folder, f"runtime_let_go{i}")
    os.mkdir(runtime, 0o700)
    env = kymotest.environment(XDG_RUNTIME_DIR=runtime)
    p, q = Recording(folder, f"goes{i}", env=env), Recording(folder, f"stays{i}", env=env)
    p.tell("calls 300", "kernels 0 first 5", "kernels 0 second 2", "write 0 1000 3", "allocate 5000")
    q.tell("calls 40", "kernels 0 first 3", "write 0 10 1")
    lines = subprocess.Popen([KYMO, "top", "--json", "-d", "50ms"], stdout=subprocess.PIPE, text=True, env=env)

    def until(what, holds):
        for line in lines.stdout:
            now = json.loads(line)
            now["traces"] = {r["trace"]: r["running"] for r in now["recordings"] if r["trace"] in (p.trace, q.trace)}
            if not all(r["trace"].startswith(folder) for r in now["recordings"]):
                lines.kill()
                lines.communicate()
                raise Others
            if holds(now):
                return now
        raise kymotest.Failure(what)
    alone = look(q.trace)
    both = until("both", lambda now: len(now["traces"]) == 2 and now["kernels"] == 10)
    check("kernels of both", by(both["top_kernels"], "name", "count"), {"first": 8, "second": 2})
    check("busy of both", both["devices"][0]["busy_ns"] > 0, True)
    p.end()
    until("it is shown as ended", lambda now: now["traces"].get(p.trace) is False)
    left = until("let go", lambda now: p.trace not in now["traces"])
    check("numbers of the one that is left", counts(left), counts(alone))
    check("no rate below zero", [left[k] >= 0 for k in ("calls_per_s", "kernels_per_s", "written_bytes_per_s")], [True] * 3)
    check("its processes", [(x["pid"], x["running"]) for x in left["processes"]], [(q.pids[0], True)])
    check("not known of a device that both used", [(d["kernels"], d["busy_ns"], d["busy_share"]) for d in left["devices"]],
          [(3, None, None)])
    held = [os.path.realpath(f"/proc/{lines.pid}/fd/{n}") for n in os.listdir(f"/proc/{lines.pid}/fd")]
    check("its files are closed", [name for name in held if name.startswith(p.trace)], [])
    q.tell("calls 2")
    more = until("it goes on", lambda now: now["calls"] == left["calls"] + 2)
    check("more", by(more["top_calls"], "name", "count")["clGetDeviceInfo"], 42)
    q.end()
    last = until("the last one stays", lambda now: now["traces"] == {q.trace: False})
    check("its last numbers", (last["running"], last["kernels"], last["processes_ended"]), (False, 3, 1))
    r = Recording(folder, f"comes{i}", env=env)
    r.tell("calls 7")
    new = until("another comes", lambda now: not now["traces"] and now["kernels"] == 0 and now["running"])
    check("of that alone", [x["trace"] for x in new["recordings"]], [r.trace])
    r.end()
    lines.kill()
    lines.communicate()


def below(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as f:
        for child in f.read().split():
            yield int(child)
            yield from below(child)


def stopped_drain(folder):
    """A drain that does not answer is told, and looks do not wait for it again and again; it is heard when it goes on."""
    p = Recording(folder, "stopped")
    p.tell("calls 5")
    programs = set(p.pids)
    drains = [p.process.pid] + [x for x in below(p.process.pid) if x not in programs and os.path.realpath(f"/proc/{x}/exe") == KYMO]
    stop = [x for x in drains if x != p.process.pid] or drains
    lines = subprocess.Popen([KYMO, "top", "--json", "-d", "100ms", p.trace], stdout=subprocess.PIPE, text=True)
    now = json.loads(lines.stdout.readline())
    check("it answers", (now["recordings"][0]["drain_silent_ns"], now["processes"][0]["memory_seen"]), (0, True))
    for x in stop:
        os.kill(x, signal.SIGSTOP)
    p.tell("calls 6")
    for line in lines.stdout:
        now = json.loads(line)
        if now["recordings"][0]["drain_silent_ns"]:
            break
    check("silent for a second", (now["recordings"][0]["drain_silent_ns"] >= 1e9, now["calls"] >= 11), (True, True))
    text = must(KYMO, "top", "--once", "-d", "0", p.trace)
    check("text of silence", [w in text for w in ("No answer from the drain for ", "(stopped?)", "stopped.kymo")], [True] * 3)
    for x in stop:
        os.kill(x, signal.SIGCONT)
    for line in lines.stdout:
        now = json.loads(line)
        if not now["recordings"][0]["drain_silent_ns"]:
            break
    p.end()
    last = json.loads(lines.communicate(timeout=kymotest.WAIT)[0].splitlines()[-1])
    check("it goes on", (last["running"], by(last["top_calls"], "name", "count")["clGetDeviceInfo"]), (False, 11))


def killed(folder):
    p = Recording(folder, "killed")
    p.tell("calls 100", "kernels 0 first 4")
    lines = subprocess.Popen([KYMO, "top", "--json", "-d", "50ms", p.trace], stdout=subprocess.PIPE, text=True)
    before = json.loads(lines.stdout.readline())
    os.kill(p.pids[0], signal.SIGKILL)
    p.process.wait(timeout=kymotest.WAIT)
    last = json.loads(lines.communicate(timeout=kymotest.WAIT)[0].splitlines()[-1])
    check("killed", (last["running"], last["processes_ended"], last["calls"], last["kernels"], last["lost_records"]),
          (False, 1, before["calls"], 4, 0))
    p.end()


def refused(what, status, text, *words, env=None):
    done = run(KYMO, "top", *words, env=env, stdin=subprocess.DEVNULL)
    check(what, (done.returncode, text in done.stderr, done.stdout), (status, True, ""))
    if text not in done.stderr:
        print(done.stderr)


def refusals(folder):
    p = Recording(folder, "over")
    p.end()
    wait_for(lambda: not any(n.startswith("control-") for n in os.listdir(p.trace)), "the drain has ended")
    refused("a trace that ended", 3, "the recording has ended; `kymo summary` shows the trace", "--once", p.trace)
    refused("no trace", 3, "not a Kymo trace", "--once", folder)
    refused("nothing", 3, "No such file", "--once", folder + "/nothing")
    refused("not recorded", 3, "it is not being recorded", "--once", str(os.getpid()))
    refused("no process", 3, "there is none", "--once", "4194305")
    refused("two", 2, "one process or trace", "--once", p.trace, p.trace)
    refused("no terminal", 2, "needs a terminal", p.trace)
    if os.geteuid() == 0 and run("setpriv", "--version").returncode == 0:
        mine = Recording(folder, "mine")
        os.chmod(folder, 0o755)
        for operand in (mine.trace, str(mine.pids[0])):
            done = run("setpriv", "--reuid", "65534", "--clear-groups", KYMO, "top", "--once", operand)
            check("another user's", (done.returncode, "another user's" in done.stderr or "Permission denied" in done.stderr),
                  (3, True))
        mine.end()


# ---- damage ------------------------------------------------------------------------------------

def blocks(path):
    """(offset of the payload, type, type of chunk, bytes) of a raw file."""
    with open(path, "rb") as f:
        data = f.read()
    at = struct.unpack_from("<I", data, 12)[0]
    while at + 56 <= len(data):
        kind, _, _, chunk = struct.unpack_from("<HHII", data, at + 4)
        stored = struct.unpack_from("<I", data, at + 40)[0]
        yield at + 56, kind, chunk, stored
        at += 56 + stored


def damaged(folder):
    """A block of the file that is wrong is told; what is in memory is there all the same."""
    p = Recording(folder, "damaged")
    p.tell("calls 1000")
    before = look(p.trace)
    must(KYMO, "ctl", "flush", p.trace)
    name, = os.listdir(p.trace + "/raw")
    path = os.path.join(p.trace, "raw", name)
    at, size = max(((at, size) for at, kind, chunk, size in blocks(path) if kind == 5 and chunk == 1), key=lambda b: b[1])
    with open(path, "r+b") as f:
        f.seek(at + size // 2)
        byte = f.read(1)[0]
        f.seek(at + size // 2)
        f.write(bytes([byte ^ 1]))
    now = look(p.trace)
    check("damage", now["damaged_blocks"], 1)
    check("text of damage", "Damaged: 1 blocks" in must(KYMO, "top", "--once", "-d", "0", p.trace), True)
    check("before", before["damaged_blocks"], 0)
    p.end()


def no_files(folder):
    """What is no file is passed by, and not waited for; the program beside it is seen."""
    p = Recording(folder, "pipes")
    p.tell("calls 1000")
    before = look(p.trace)["calls"]
    name, = os.listdir(p.trace + "/raw")
    start = os.path.join(p.trace, "raw", name.rsplit("-", 2)[0])
    os.mkfifo(start + "-1-0.kyr")
    os.mkdir(start + "-2-0.kyr")
    os.symlink("/dev/zero", start + "-3-0.kyr")
    done = run(KYMO, "top", "--once", "--json", "-d", "0", p.trace, timeout=kymotest.WAIT)
    check("beside a pipe, a folder, a link to a device", (done.returncode, json.loads(done.stdout)["calls"]), (0, before))
    for number in "13":
        os.unlink(f"{start}-{number}-0.kyr")
    os.rmdir(start + "-2-0.kyr")
    p.end()


def main():
    if run("clinfo", "-l").returncode and not os.path.isdir("/etc/OpenCL/vendors"):
        kymotest.skip("no OpenCL")
    with kymotest.Folder() as folder:
        try:
            for test in (exact, estimated, costs_nothing, two_processes, summary_mode, all_of_them, let_go, stopped_drain, killed, refusals, damaged,
                         no_files):
                begun = time.monotonic()
                test(folder)
                print(f"{test.__name__}: {time.monotonic() - begun:.1f} s", flush=True)
        finally:
            for p in Recording.all:
                p.let_go()
    return 1 if kymotest.wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
