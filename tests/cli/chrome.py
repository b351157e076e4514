#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Chrome traces read: what kymo makes of files of Kineto's shape and of others, against what the files say.

    chrome.py KYMO EVERY_KIND"""
import gzip
import json
import os
import resource
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import expect  # noqa: E402

KYMO, EVERY_KIND = (os.path.abspath(word) for word in sys.argv[1:3])
BASE = 1700000000123456789


def run(*words, status=0):
    p = subprocess.run([KYMO, *words], capture_output=True, text=True, check=False)
    expect(status is None or p.returncode == status, words, "gave", p.returncode, p.stdout, p.stderr)
    return p


def write(name, text):
    with (gzip.open(name, "wt") if name.endswith(".gz") else open(name, "w", encoding="utf-8")) as f:
        f.write(text if isinstance(text, str) else json.dumps(text))
    return name


def imported(name, text, status=0):
    """The trace, and what was said on the way."""
    trace = name.split(".")[0] + ".kymo"
    said = run("import", write(name, text), "-o", trace, status=status).stderr
    return trace, said


def query(trace, sql):
    return [tuple(row.values()) for row in json.loads(run("query", "--format", "json", trace, sql).stdout)]


def complete(category, name, pid, tid, ts, dur, **args):
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


def kernel(name, device, stream, ts, dur, correlation, **more):
    return complete("kernel", name, device, stream, ts, dur, device=device, stream=stream, correlation=correlation,
                    **{"External id": correlation, "grid": [4, 2, 1], "block": [32, 1, 1], "registers per thread": 40,
                       "shared memory": 512, **more})


def kineto():
    """Two devices of one name, two threads, not sorted: children stand in front of their parents."""
    return {
        "deviceProperties": [{"id": i, "name": "Made-up GPU", "numSms": 10 + i, "totalGlobalMem": 1 << 34} for i in range(2)],
        "traceEvents": [
            complete("cuda_runtime", "cudaLaunchKernel", 500, 500, 1012.5, 4, correlation=7, cbid=211, **{"External id": 3}),
            kernel("void gemm<float>(int)", 0, 7, 1030.001, 20.002, 7),
            complete("cpu_op", "aten::mm", 500, 500, 1010, 10, **{"External id": 3, "Input Dims": [[2, 3]]}),
            complete("user_annotation", "step", 500, 500, 1000, 100),
            complete("python_function", "train.py(3): main", 500, 500, 990, 200, **{"Python id": 1}),
            complete("cuda_runtime", "cudaMemcpyAsync", 500, 501, 1100, 5, correlation=8, **{"External id": 4}),
            complete("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 1, 20, 1108, 3, device=1, stream=20, correlation=8, bytes=4096),
            complete("gpu_memset", "Memset (Device)", 1, 20, 1112, 1, device=1, stream=20, correlation=9, bytes=64),
            complete("cuda_runtime", "cudaMemsetAsync", 500, 501, 1106, 1, correlation=9),
            complete("cuda_sync", "Stream Sync", 0, 7, 1120, 6, device=0, stream=7, correlation=10),
            complete("cuda_runtime", "cudaStreamSynchronize", 500, 500, 1119, 8, correlation=10),
            complete("gpu_user_annotation", "step", 0, 7, 1030, 21),
            {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 500, "tid": 500, "ts": 1015,
             "args": {"Addr": 4096, "Bytes": 1024, "Device Type": 1, "Device Id": 0}},
            {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 500, "tid": 500, "ts": 1016,
             "args": {"Addr": 4096, "Bytes": -1024, "Device Type": 1, "Device Id": 0}},
            {"ph": "s", "id": 7, "cat": "ac2g", "name": "ac2g", "pid": 500, "tid": 500, "ts": 1012.5},
            {"ph": "f", "id": 7, "cat": "ac2g", "name": "ac2g", "pid": 0, "tid": 7, "ts": 1030.001, "bp": "e"},
            {"ph": "s", "id": 1, "cat": "fwdbwd", "name": "fwdbwd", "pid": 500, "tid": 500, "ts": 1010},
            {"ph": "O", "cat": "x", "name": "y", "pid": 500, "tid": 500, "ts": 1010},
            {"ph": "M", "name": "process_name", "pid": 500, "args": {"name": "python3"}},
            {"ph": "M", "name": "process_labels", "pid": 0, "args": {"labels": "GPU 0"}},
            {"ph": "M", "name": "thread_name", "pid": 500, "tid": 501, "args": {"name": "thread 501 (worker)"}},
            {"ph": "M", "name": "thread_name", "pid": 1, "tid": 20, "args": {"name": "stream 20 "}},
            complete("Trace", "PyTorch Profiler (0)", "Spans", "PyTorch Profiler", 900, 400),
            {}, # as writers end a list of which each has a comma behind it
        ],
        "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8},
        "baseTimeNanoseconds": BASE,
    }


def test_lists_that_begin_with_nothing():
    """As writers begin a list of which each has a comma in front; numbers may be texts."""
    events = ",\n".join(json.dumps({"ph": "X", "name": "work", "pid": "7", "tid": str(tid), "ts": "1000", "dur": "20"}) for tid in (7, 8))
    with open("list.json", "w", encoding="utf-8") as f:
        f.write("[ {}\n," + events + "\n]\n")
    run("import", "list.json", "-o", "list.kymo")
    rows = query("list.kymo", "SELECT tid, name, duration FROM markers ORDER BY 1")
    expect(rows == [(7, "work", 20000), (8, "work", 20000)], rows)


def test_kineto():
    trace, said = imported("kineto.json.gz", kineto())
    expect('not taken: events of phase "O" (1)' in said, said)
    expect('not taken: flow events of category "fwdbwd" (1)' in said, said)
    expect(said.count("not taken") == 2 and "passed over" not in said, said)
    rows = query(trace, """SELECT s.text, d.start, d.duration, d.global_x, d.global_y, d.local_x, l.registers, l.dynamic_shared, a.handle,
        q.handle AS stream, o.name, t.tid FROM dispatch d JOIN launch l ON l.id = d.id JOIN kernel k ON k.id = d.kernel JOIN string s ON s.id = k.name
        JOIN agent a ON a.id = d.agent JOIN queue q ON q.id = d.queue JOIN call c ON c.id = d.call JOIN op o ON o.id = c.op
        JOIN thread t ON t.id = c.thread""")
    expect(rows == [("void gemm<float>(int)", 130001, 20002, 128, 2, 32, 40, 512, 0, 7, "cudaLaunchKernel", 500)], rows)
    rows = query(trace, """SELECT o.name, x.bytes, x.start, x.duration, a.handle, c.start AS called FROM copy x JOIN op o ON o.id = x.op
        LEFT JOIN agent a ON a.id = x.destination_agent JOIN call c ON c.id = x.call ORDER BY x.start""")
    expect(rows == [("write", 4096, 208000, 3000, 1, 200000), ("fill", 64, 212000, 1000, 1, 206000)], rows)
    rows = query(trace, "SELECT d.queued, d.submitted, c.start FROM dispatch d JOIN call c ON c.id = d.call")
    expect(rows == [(112500, 112500, 112500)], "queued when its call began", rows)
    rows = query(trace, """SELECT x.source_agent = x.destination_agent FROM copy x JOIN op o ON o.id = x.op WHERE o.name = 'fill'""")
    expect(rows == [(1,)], "a fill is within its device", rows)
    rows = query(trace, "SELECT o.name, s.duration, s.queue IS NOT NULL FROM sync s JOIN op o ON o.id = s.op")
    expect(rows == [("queue", 6000, 1)], rows)
    rows = query(trace, """SELECT n.text, d.text AS domain, m.duration, p.text AS outer FROM marker m JOIN marker_name n ON n.id = m.name
        JOIN marker_name d ON d.id = m.domain LEFT JOIN marker up ON up.scope = m.parent
        LEFT JOIN marker_name p ON p.id = up.name ORDER BY m.start, m.duration DESC""")
    expect(rows == [("train.py(3): main", "python", 200000, None), ("step", "torch", 100000, "train.py(3): main"),
                    ("aten::mm", "torch", 10000, "step"), ("step", "torch on device", 21000, None)], rows)
    rows = query(trace, """SELECT n.text FROM call c JOIN op o ON o.id = c.op JOIN call_extra x ON x.id = c.id JOIN marker m ON m.scope = x.scope
        JOIN marker_name n ON n.id = m.name WHERE o.name = 'cudaLaunchKernel'""")
    expect(rows == [("aten::mm",)], "the launch lies in", rows)
    rows = query(trace, "SELECT o.name, x.bytes, x.allocation, x.agent FROM allocation x JOIN op o ON o.id = x.op ORDER BY x.time")
    expect(rows == [("allocate", 1024, 1, 1), ("free", 1024, 1, 1)], rows)
    rows = query(trace, "SELECT pid, rank, start, start_realtime FROM process")
    expect(rows == [(500, 3, 0, BASE + 900000)], rows)
    rows = query(trace, "SELECT t.tid, t.main, s.text FROM thread t LEFT JOIN string s ON s.id = t.name ORDER BY t.tid")
    expect((501, 0, "worker") in rows and any(r[:2] == (500, 1) for r in rows), rows)


def test_what_users_see():
    trace, _ = imported("seen.json", kineto())
    info = run("info", trace).stdout
    expect("Imported of  seen.json (chrome)" in info, info)
    expect("Made-up GPU #0" in info and "Made-up GPU #1" in info and "stream 20" in info, info)
    expect("clock within" not in info, info)
    for path in (trace, "seen.json"):  # of the file itself there is a trace for as long as the command
        told = run("summary", path).stdout
        expect(f"{path}: python3\n" in told and "1 kernel, 1 copy" in told, told)
        expect("Imported (chrome): what was lost" in told and "Lost nothing" not in told, told)
        expect("clocks within" not in told and "was still running" not in told, told)
        expect("kymo-import" not in told + run("diagnose", path).stdout, told)
    expect(run("show", "seen.json").stdout == run("show", trace).stdout, "the file shows other records than its trace")
    expect(query("seen.json", "SELECT count(*) FROM dispatch") == [(1,)], "a question to the file")
    shown = run("show", "--device", "1", "seen.json").stdout
    expect("gemm" not in shown and "4096" in shown, shown)
    run("compare", "seen.json", trace, status=None)


def test_phases():
    """Begins and ends, asynchronous pairs, marks, counters: in a list without an object, and without its end."""
    events = [
        {"ph": "B", "name": "outer", "cat": "app", "pid": 1, "tid": 1, "ts": 0},
        {"ph": "B", "name": "inner", "cat": "app", "pid": 1, "tid": 1, "ts": 2},
        {"ph": "B", "name": "elsewhere", "cat": "app", "pid": 2, "tid": 1, "ts": 1},
        {"ph": "E", "pid": 1, "tid": 1, "ts": 5},
        {"ph": "E", "pid": 1, "tid": 1, "ts": 9},
        {"ph": "E", "pid": 1, "tid": 1, "ts": 10},
        {"ph": "b", "name": "load", "cat": "net", "id": "0x1", "pid": 1, "tid": 1, "ts": 3},
        {"ph": "b", "name": "load", "cat": "net", "id": "0x2", "pid": 1, "tid": 1, "ts": 4},
        {"ph": "e", "name": "load", "cat": "net", "id": "0x1", "pid": 1, "tid": 1, "ts": 13},
        {"ph": "e", "name": "load", "cat": "net", "id": "0x2", "pid": 1, "tid": 1, "ts": 6},
        {"ph": "i", "name": "tick", "cat": "app", "pid": 2, "tid": 1, "ts": 7},
        {"ph": "C", "name": "heap", "pid": 1, "tid": 1, "ts": 8, "args": {"used": 12.5, "free": 3}},
        {"ph": "C", "name": "heap", "pid": 2, "tid": 1, "ts": 8, "args": {"used": 7}},
    ]
    text = json.dumps(events)
    trace, said = imported("phases.json", text[:-1] + ",")  # its writer was stopped
    expect("the list of events has no end" in said and "ends (phase E) without a begin (1)" in said, said)
    rows = query(trace, """SELECT p.pid, o.name, n.text, m.start, m.duration, m.left_open FROM marker m JOIN op o ON o.id = m.op
        JOIN process p ON p.id = m.process JOIN marker_name n ON n.id = m.name ORDER BY m.start""")
    expect(rows == [(1, "range", "outer", 0, 9000, 0), (2, "range", "elsewhere", 1000, 12000, 1), (1, "range", "inner", 2000, 3000, 0),
                    (1, "process_range", "load", 3000, 10000, 0), (1, "process_range", "load", 4000, 2000, 0),
                    (2, "mark", "tick", 7000, 0, 0)], rows)
    rows = query(trace, """SELECT p.pid, k.name, v.value FROM counter_value v JOIN counter k ON k.id = v.counter
        JOIN process p ON p.id = v.process ORDER BY 1, 2""")
    expect(sorted(rows) == [(1, "heap free", 3), (1, "heap used", 12.5), (2, "heap used", 7)], rows)


def test_times_are_exact():
    """Microseconds of today with three places are more than a double holds."""
    events = [f'{{"ph":"X","cat":"c","name":"n{i}","pid":1,"tid":1,"ts":{1712195495505543 + i}.{i:03d},"dur":0.{i:03d}}}' for i in range(200)]
    trace, _ = imported("exact.json", '{"traceEvents":[' + ",".join(events) + "]}")
    rows = query(trace, "SELECT start, duration FROM marker ORDER BY start")
    expect(rows == [(1001 * i, i) for i in range(200)], "times are not exact")


def test_two_processes_of_one_correlation():
    """Traces of two ranks in one file: their correlations, threads, devices and streams have the same numbers."""
    events = []
    for pid, at in ((100, 0), (200, 1000)):
        events += [complete("cuda_runtime", "cudaLaunchKernel", pid, 9, at + 1, 1, correlation=5), kernel(f"k{pid}", 0, 7, at + 5, 2, 5)]
    trace, _ = imported("two.json", {"traceEvents": events})
    rows = query(trace, """SELECT p.pid, s.text FROM dispatch d JOIN process p ON p.id = d.process JOIN kernel k ON k.id = d.kernel
        JOIN string s ON s.id = k.name JOIN call c ON c.id = d.call JOIN thread t ON t.id = c.thread AND t.process = p.id ORDER BY 1""")
    expect(rows == [(100, "k100"), (200, "k200")], rows)
    # Two calls that claim one correlation in one process: both stay.
    trace, said = imported("again.json", {"traceEvents": events[:1] + events[:1]})
    expect(query(trace, "SELECT count(*), count(DISTINCT id) FROM call") == [(2, 2)] and "another call has" in said, said)


def test_bad_input():
    good = json.dumps(kineto())
    for name, text, said in (("empty.json", '{"traceEvents": []}', "no event in it"),
                             ("other.json", '{"a": 1}', "not a trace"),
                             ("depth.json", '{"traceEvents": [' + "[" * 100000, "no event in it"),
                             ("types.json", '{"traceEvents": [1, "x", {"ph": 3}, {"ph": "X", "ts": "a"}, {"ph": "X", "ts": 1e300, "dur": 1}]}',
                              "no event in it")):
        _, told = imported(name, text, status=None)
        expect(said in told, name, told)
        expect(not os.path.exists(name.split(".")[0] + ".kymo"), name, "left a trace")
    _, told = imported("cut.json", good[:len(good) // 2])
    expect("the list of events has no end" in told, told)
    with open("whole.json.gz", "wb") as f:
        f.write(gzip.compress(good.encode()))
    whole = os.path.getsize("whole.json.gz")
    with open("whole.json.gz", "rb") as f, open("half.json.gz", "wb") as out:
        out.write(f.read()[:whole - 200])
    told = run("import", "half.json.gz", status=None).stderr
    expect("compressed data ends too early" in told, told)
    hostile = "\x1b[31m\u202e\0" + "n" * 5000
    trace, _ = imported("hostile.json", {"traceEvents": [complete("\x1b[0m", hostile, 1, 1, 1, 1, **{"\x1b": hostile})]})
    expect("\x1b" not in run("summary", trace).stdout + run("show", trace).stdout, "an escape came through")


def test_what_is_wrong_is_told():
    one = complete("cpu_op", "a", 1, 1, 1, 1)
    for name, text, said, records in (
            ("trail.json", json.dumps([one]) + "GARBAGE" + json.dumps([one]), "what comes after its end is not read", 1),
            ("trail2.json", json.dumps({"traceEvents": [one]}) + "{}", "what comes after its end is not read", 1),
            ("grid.json", [kernel("k", 0, 7, 1, 1, 1, grid=[4, -1, 1], block="x", **{"shared memory": -5})],
             "read as 0 (3)", 1),
            ("bytes.json", [complete("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 0, 7, 1, 1, device=0, stream=7, bytes=-4)],
             "read as 0 (1)", 1),
            ("back.json", [one, complete("cpu_op", "b", 1, 1, 5, -2)], "complete events that end before they begin (1)", 1)):
        trace, told = imported(name, text)
        expect(said in told and "passed over" not in told, name, told)
        expect(f": {records} record" in told, name, told)
        if "not taken" in told or "not read" in told:  # and stays with the trace
            expect("1 damaged block" in run("summary", trace).stdout or "end before they begin" in run("summary", trace).stdout, trace)
    _, told = imported("fine.json", [kernel("k", 0, 7, 1, 1, 1, grid=None)])
    expect("warning" not in told, told)
    _, told = imported("mark.json", "\ufeff" + json.dumps([one]))
    expect("warning" not in told and ": 1 record" in told, told)
    _, told = imported("late.json", json.dumps({"other": ["x" * 1000] * 5000, "traceEvents": [one]}))
    expect("warning" not in told and ": 1 record" in told, told)
    packed = bytearray(gzip.compress(json.dumps(kineto()).encode()))
    for at in (-8, len(packed) // 2):  # its checksum; a byte in it
        broken = packed[:]
        broken[at] ^= 0xff
        with open("broken.json.gz", "wb") as f:
            f.write(broken)
        told = run("import", "broken.json.gz", "-o", f"broken{at}.kymo", status=None).stderr
        expect("its compressed data is damaged" in told and "not a trace" not in told, told)


# Runs a command: kilobytes, status, what it said.
MEMORY = "import resource, subprocess, sys; p = subprocess.run(sys.argv[1:], capture_output=True, text=True); " \
         "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, p.returncode, p.stderr)"


def test_memory_of_large_values():
    """A value of a hundred megabytes is passed over in the memory that others take."""
    with gzip.open("bomb.json.gz", "wt", compresslevel=1) as f:
        f.write('{"traceEvents": [' + json.dumps(complete("a", "b", 1, 1, 1, 1)) + ', {"ph": "X", "name": "')
        for _ in range(100):
            f.write("n" * 1000000)
        f.write('"}]}')
    p = subprocess.run([sys.executable, "-c", MEMORY, KYMO, "import", "bomb.json.gz"], capture_output=True, text=True, check=True)
    expect((int(p.stdout.split()[0]) < 150000 or kymotest.SANITIZED) and "larger than 32 MB" in p.stdout and p.stdout.split()[1] == "0", p.stdout)


def test_memory_of_many_threads():
    """Of sixty thousand threads that take turns not each has a chunk in memory; nothing of them is lost or out of its place."""
    n = 60000
    with open("turns.json", "w", encoding="utf-8") as f:
        json.dump({"traceEvents": [complete("a", f"b{i % 3}", 1, 1 + i % n, i, 1 + i % 7) for i in range(2 * n)]}, f)
    p = subprocess.run([sys.executable, "-c", MEMORY, KYMO, "import", "turns.json"], capture_output=True, text=True, check=True)
    expect(p.stdout.split()[1] == "0" and int(p.stdout.split()[0]) < 200000, p.stdout)
    rows = query("turns.kymo", "SELECT count(*), count(DISTINCT thread), sum(duration) FROM marker")
    expect(rows == [(2 * n, n, 1000 * sum(1 + i % 7 for i in range(2 * n)))], rows)
    rows = query("turns.kymo", "SELECT thread, group_concat(start) FROM marker WHERE thread < 50 OR thread > 59950 GROUP BY thread")
    expect(len(rows) > 90 and all(int(b) - int(a) == 1000 * n for _, both in rows for a, b in [both.split(",")]), rows)


def test_memory_of_kernels():
    """What is known of kernels stays in the file: a hundred and twenty bytes an event, and what a command takes by itself."""
    with open(KYMO, "rb") as f:
        if b"__asan_init" in f.read():  # its own tables lie in memory that is limited here
            return
    n = 100000
    launch = complete("cuda_runtime", "cudaLaunchKernel", 1, 1, 0, 1)
    with open("kernels.json", "w", encoding="utf-8") as f:
        f.write('{"traceEvents": [' + json.dumps(launch))
        for i in range(1, n):
            f.write(',\n{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":%d,"dur":1,"args":{"correlation":%d}}' % (2 * i, i))
            f.write(',\n{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":%d,"dur":1,"args":{"device":0,"stream":7,"correlation":%d,'
                    '"grid":[4,1,1],"block":[32,1,1]}}' % (2 * i + 1, i))
        f.write("]}")
    limit = 30000000 + 2 * n * 120
    p = subprocess.run([KYMO, "import", "kernels.json"], capture_output=True, text=True, check=False,
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)))
    expect(p.returncode == 0, p.stderr)
    rows = query("kernels.kymo", "SELECT count(*), sum(call), sum(start) - count(*) * min(start) FROM dispatch")
    expect(rows == [(n - 1, n * (n - 1) // 2, 1000 * (n - 2) * (n - 1))], rows)


SUMS = """SELECT (SELECT count(*) FROM call), (SELECT sum(duration) FROM call), (SELECT sum(start) FROM call), (SELECT sum(id) FROM call) AS ids,
    (SELECT count(*) FROM dispatch) AS n, (SELECT sum(start) FROM dispatch) AS s, (SELECT sum(duration) FROM dispatch) AS d,
    (SELECT sum(global_x * 7 + global_y * 5 + local_x) FROM dispatch) AS g, (SELECT sum(call) FROM dispatch) AS c,
    (SELECT sum(bytes * (1 + op)) FROM copy) AS b, (SELECT sum(start) FROM copy) AS cs, (SELECT count(*) FROM marker) AS m,
    (SELECT sum(duration) FROM marker) AS md, (SELECT sum(bytes + address) FROM allocation) AS a, (SELECT count(*) FROM sync) AS y,
    (SELECT sum(duration) FROM sync) AS yd, (SELECT sum(value) FROM counter_value) AS v, (SELECT count(*) FROM queue) AS q,
    (SELECT sum(registers + 3 * dynamic_shared) FROM launch) AS l"""


def processor_seconds(*words):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(*words)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime


def test_time_grows_with_the_number_of_events():
    """Of what lies in each other, eight times as much takes eight times as long, not 64 times."""
    for kind, event in (("open", lambda i: {"ph": "B", "name": "b", "pid": 1, "tid": 1, "ts": i}),
                        ("same", lambda i: {"ph": "X", "name": "b", "pid": 1, "tid": 1, "ts": 5, "dur": 10})):
        seconds = []
        for count in (10000, 80000):
            write(f"{kind}{count}.json", json.dumps([event(i) for i in range(count)]))
            seconds.append(processor_seconds("import", "--no-compress", "-o", f"{kind}{count}.kymo", f"{kind}{count}.json"))
        expect(seconds[1] < 24 * seconds[0] + 1, kind, seconds)
    seconds = []
    for count in (2000, 16000):
        events = [complete("kernel", "k", i, 7, i, 1, device=i, stream=7) for i in range(count)]
        write(f"devices{count}.json", json.dumps({"traceEvents": events}))
        seconds.append(processor_seconds("summary", f"devices{count}.json"))
    expect(seconds[1] < 24 * seconds[0] + 1, "summary of devices", seconds)


def test_calls_and_ranges_in_each_other():
    """What is around a call: the innermost call and the innermost range, however many of the other kind are between."""
    kinds = {"r": "user_annotation", "c": "cuda_runtime"}
    names = ("r1", "r2", "c3", "c4", "r5", "r6", "c7")
    trace, _ = imported("nested.json", [complete(kinds[name[0]], name, 1, 1, i, 100 - 10 * i, correlation=i)
                                        for i, name in enumerate(names)])
    rows = query(trace, """SELECT o.name, up.name AS up, n.text FROM call c JOIN op o ON o.id = c.op LEFT JOIN call_extra e ON e.id = c.id
        LEFT JOIN call p ON p.id = e.parent LEFT JOIN op up ON up.id = p.op LEFT JOIN marker m ON m.scope = e.scope
        LEFT JOIN marker_name n ON n.id = m.name ORDER BY c.start""")
    expect(rows == [("c3", None, "r2"), ("c4", "c3", "r2"), ("c7", "c4", "r6")], rows)
    rows = query(trace, """SELECT n.text, up.text AS up FROM marker m JOIN marker_name n ON n.id = m.name LEFT JOIN marker o ON o.scope = m.parent
        LEFT JOIN marker_name up ON up.id = o.name ORDER BY m.start""")
    expect(rows == [("r1", None), ("r2", "r1"), ("r5", "r2"), ("r6", "r5")], rows)


def exported(trace, name):
    run("export", "--to", "chrome", "-f", "-o", name, trace)
    with (gzip.open(name, "rt") if name.endswith(".gz") else open(name, encoding="utf-8")) as f:
        return json.load(f)


def test_written_and_read_again():
    """What goes out as Chrome's JSON comes back as it was, compressed or not."""
    mixed = kineto()
    mixed["traceEvents"] += [
        {"ph": "C", "name": "heap", "pid": 500, "tid": 500, "ts": 1001, "args": {"value": 12.1}},
        {"ph": "b", "name": "load \" \u2028", "cat": "net", "id": "0x1", "pid": 500, "tid": 500, "ts": 1003},
        {"ph": "e", "name": "load", "cat": "net", "id": "0x1", "pid": 500, "tid": 500, "ts": 1013},
    ]
    trace, _ = imported("once.json", mixed)
    doc = exported(trace, "twice.json.gz")
    with open("twice.json.gz", "rb") as f:
        expect(f.read(2) == b"\x1f\x8b", "the file is not compressed")
    again, said = "twice.kymo", run("import", "twice.json.gz", "-o", "twice.kymo").stderr
    expect("not taken" not in said, said)
    expect(query(trace, SUMS) == query(again, SUMS), query(trace, SUMS), "became", query(again, SUMS))
    events = [sorted(json.dumps(e) for e in d["traceEvents"]) for d in (doc, exported(again, "thrice.json"))]
    expect(events[0] == events[1], "the second time another file is written:", set(events[0]) ^ set(events[1]))
    by = {(e["ph"], e.get("cat")): e for e in doc["traceEvents"]}
    k = by["X", "kernel"]
    expect((k["pid"], k["ts"], k["dur"]) == (0, 130.001, 20.002), k)
    expect(k["args"]["grid"] == [4, 2, 1] and k["args"]["block"] == [32, 1, 1] and k["args"]["correlation"] == 7, k)
    flows = [(e["ph"], e["id"], e["pid"]) for e in doc["traceEvents"] if e["ph"] in "sf"]
    expect(sorted(flows) == [("f", 7, 0), ("f", 8, 1), ("f", 9, 1), ("s", 7, 500), ("s", 8, 500), ("s", 9, 500)], flows)
    expect(doc["distributedInfo"] == {"rank": 3, "world_size": 8} and doc["baseTimeNanoseconds"] == BASE + 900000, "head")
    expect([d["numSms"] for d in doc["deviceProperties"]] == [10, 11], doc["deviceProperties"])
    names = {(e["pid"], e["args"]["name"]) for e in doc["traceEvents"] if e["name"] == "thread_name"}
    expect((1, "stream 20") in names and (500, "worker") in names, names)


def test_samples():
    """Samples with their stacks, of two processes with functions of one name: read, written and read again; deep ones are cut from outside."""
    def sample(pid, ts, stack, **args):
        return {"ph": "P", "name": "s", "cat": "x", "pid": pid, "tid": pid, "ts": ts, "stack": stack, "args": args}
    deep = [f"f{i}" for i in range(300)]
    events = [sample(500, 1, ["main", "work a.c:12"], weight=2000, cpu=3, pc=77),
              sample(500, 2, ["main", "work a.c:12"], weight=3000), sample(500, 3, ["main", "work a.c:13"]),
              sample(600, 4, ["main", "work a.c:12"], weight=5000), sample(600, 5, deep), {"ph": "P", "name": "s", "pid": 600, "tid": 600, "ts": 6}]
    trace, said = imported("samples.json", {"traceEvents": events})
    expect("samples without a stack (1)" in said and "frames of deep stacks (44)" in said, said)
    sql = """SELECT p.pid, s.time - (SELECT min(time) FROM sample), s.weight, s.cpu, s.pc, (SELECT group_concat(f.function || ':' || f.line, '<') FROM
        (SELECT n.text AS function, coalesce(nullif(i.line, 0), '') AS line FROM stack_frame f JOIN site i ON i.id = f.site JOIN string n ON n.id = i.function
        WHERE f.stack = s.stack ORDER BY f.depth LIMIT 3) f) FROM sample s JOIN process p ON p.id = s.process ORDER BY 2"""
    wanted = [(500, 0, 2000, 3, 77, "work:12<main:"), (500, 1000, 3000, 0, 0, "work:12<main:"), (500, 2000, 0, 0, 0, "work:13<main:"),
              (600, 3000, 5000, 0, 0, "work:12<main:"), (600, 4000, 0, 0, 0, "f299:<f298:<f297:")]
    expect(query(trace, sql) == wanted, query(trace, sql))
    exported(trace, "samples2.json")
    run("import", "samples2.json", "-o", "samples2.kymo")
    expect(query("samples2.kymo", sql) == wanted, query("samples2.kymo", sql))


def test_written_of_two_processes():
    """Numbers of calls that two processes have are tied to the work of each."""
    events = []
    for pid, at in ((100, 0), (200, 1000)):
        events += [complete("cuda_runtime", "cudaLaunchKernel", pid, 9, at + 1, 1, correlation=5), kernel(f"k{pid}", 0, 7, at + 5, 2, 5)]
    trace, _ = imported("ranks.json", {"traceEvents": events})
    flows = [(e["ph"], e["id"]) for e in exported(trace, "out.json")["traceEvents"] if e["ph"] in "sf"]
    expect(sorted(flows) == [("f", "100.5"), ("f", "200.5"), ("s", "100.5"), ("s", "200.5")], flows)
    again, _ = imported("outagain.json", exported(trace, "out.json"))
    expect(query(again, SUMS)[0][4:9] == query(trace, SUMS)[0][4:9], "other kernels")
    run("export", "--to", "chrome", "-o", "out.json", trace, status=3)


def of_two_recordings():
    """As Kymo writes them: calls of two processes have the same numbers and work at once on one device, and two that count have counters of one name there."""
    def meta(event, pid, **args):
        return {"ph": "M", "name": event, "pid": pid, "tid": 0, "ts": 0, "args": args}

    events = [meta("process_name", pid, name=name) for pid, name in ((100, "one"), (200, "two"), (110, "telemetry"), (210, "telemetry"), (0, "GPU"), (1, "eth0"))]
    events += [meta("process_labels", 0, labels="cpu", **{"kymo device": 0}), meta("process_labels", 1, labels="nic", **{"kymo device": 1})]
    for pid, at in ((100, 0), (200, 2)): # by correlations and times alone the first kernel of 100 would be of 200
        events += [complete("cuda_runtime", "cudaLaunchKernel", pid, pid, at + 1, 1, correlation=5),
                   kernel(f"k{pid}", 0, pid // 100, at + 10, pid, 5, **{"kymo process": pid}),
                   {"ph": "i", "cat": "device_sample", "name": "k", "pid": 0, "tid": 0, "ts": at + 11, "s": "t", "args": {"kymo process": pid, "samples": pid}}]
    for pid, apart in ((110, {}), (210, {"id": 7})):
        events.append(meta("kymo counter", 1, name="net.sent, bytes", process=pid, thread=pid + 1, device=1, **apart))
        events += [{"ph": "C", "name": "net.sent, bytes", "pid": 1, "tid": 0, "ts": ts, "args": {"value": pid + ts}, **apart} for ts in (20, 30)]
    return {"deviceProperties": [{"id": 0, "name": "GPU", "runtime": "cuda", "type": "cpu"}, {"id": 1, "name": "eth0", "runtime": "telemetry", "type": "nic"}],
            "traceEvents": events}


def test_two_recordings_there_and_back():
    """Devices are no processes, whatever stands in their rows, and what does is of the process that did it."""
    asked = {
        "processes": "SELECT pid FROM process ORDER BY 1",
        "threads": "SELECT p.pid, t.tid FROM thread t JOIN process p ON p.id = t.process ORDER BY 1, 2",
        "kernels": "SELECT p.pid, n.text, q.pid AS caller FROM dispatch d JOIN process p ON p.id = d.process JOIN kernel k ON k.id = d.kernel "
                   "JOIN string n ON n.id = k.name LEFT JOIN call c ON c.id = d.call LEFT JOIN thread h ON h.id = c.thread LEFT JOIN process q ON q.id = h.process "
                   "ORDER BY 1",
        "counters": "SELECT p.pid, t.tid, c.name, a.name AS device, a.type, v.value FROM counter_value v JOIN counter c ON c.id = v.counter JOIN agent a ON a.id = v.agent "
                    "JOIN process p ON p.id = v.process JOIN thread t ON t.id = v.thread ORDER BY 1, 6",
        "marks": "SELECT p.pid, n.text FROM marker m JOIN process p ON p.id = m.process JOIN marker_name n ON n.id = m.name ORDER BY 1",
    }
    trace, _ = imported("both.json", of_two_recordings())
    first = {name: query(trace, sql) for name, sql in asked.items()}
    wanted = {"processes": [(100,), (110,), (200,), (210,)], "threads": [(100, 0), (100, 100), (110, 111), (200, 0), (200, 200), (210, 211)],
              "kernels": [(100, "k100", 100), (200, "k200", 200)],
              "counters": [(pid, pid + 1, "net.sent, bytes", "eth0", "nic", float(pid + ts)) for pid in (110, 210) for ts in (20, 30)],
              "marks": [(100, "k"), (200, "k")]}
    for name, rows in wanted.items():
        expect(first[name] == rows, name, first[name])
    exported(trace, "both2.json")
    again, _ = imported("bothagain.json", json.load(open("both2.json", encoding="utf-8")))
    for name, sql in asked.items():
        expect(name == "threads" or query(again, sql) == first[name], "there and back:", name, query(again, sql), first[name])
    # Viewers draw a counter a name: of two of one name the second has a number.
    with open("both2.json", encoding="utf-8") as f:
        counters = [e for e in json.load(f)["traceEvents"] if e["ph"] == "C"]
    expect(sorted({("id" in e, e["args"]["value"] - e["ts"] > 150) for e in counters}) == [(False, False), (True, True)], counters)


def test_every_kind_there_and_back():
    """Records of every kind, of two processes with the same numbers: the processes stay two, and counters and device work theirs."""
    subprocess.run([EVERY_KIND, "every.kymo"], stdout=subprocess.DEVNULL, check=True)
    exported("every.kymo", "every.json")
    run("import", "every.json", "-o", "again.kymo")
    for what in ("SELECT pid FROM process ORDER BY 1", "SELECT p.pid, count(*) FROM dispatch d JOIN process p ON p.id = d.process GROUP BY 1 ORDER BY 1",
                 "SELECT p.pid, count(*), sum(bytes) FROM copy c JOIN process p ON p.id = c.process GROUP BY 1 ORDER BY 1",
                 "SELECT p.pid, v.value FROM counter_value v JOIN process p ON p.id = v.process ORDER BY 1, 2"):
        before, after = query("every.kymo", what), query("again.kymo", what)
        expect(len(before) >= 2 and before == after, what, before, "became", after)


MESSAGES = """SELECT p.pid, p.rank, p.ranks, p.rank_by, o.name, m.start - (SELECT min(start) FROM comm) AS start, m.duration, c.name AS communicator, c.size, m.peer, m.tag,
    m.sent, m.received, s.text AS datatype, m.request, m.state, h.name AS call, k.name AS completed, b.id IS NOT NULL AS probed, m.partitions, m.match
    FROM comm m JOIN op o ON o.id = m.op JOIN process p ON p.id = m.process LEFT JOIN communicator c ON c.id = m.communicator
    LEFT JOIN marker_name s ON s.id = m.datatype LEFT JOIN call a ON a.id = m.call LEFT JOIN op h ON h.id = a.op LEFT JOIN call e ON e.id = m.completed_by
    LEFT JOIN op k ON k.id = e.op LEFT JOIN call b ON b.id = m.probe ORDER BY m.start, p.pid"""


def of_two_ranks():
    """As Kymo writes messages, communicators and ranks: two processes that use the same numbers, two communicators of one name."""
    events, ids = [], iter(range(100))

    def message(pid, name, ts, dur, **args):
        number = hex(next(ids))
        events.append({"ph": "b", "cat": "comm", "name": name, "pid": pid, "tid": pid, "ts": ts, "id": number, "args": {"sent": 0, "received": 0, **args}})
        events.append({"ph": "e", "cat": "comm", "name": name, "pid": pid, "tid": pid, "ts": ts + dur, "id": number})

    for rank, pid in ((1, 100), (0, 200)):
        events.append({"ph": "M", "name": "process_labels", "pid": pid, "args": {"labels": f"CPU, rank {rank}", "rank": rank, "ranks": 2, "rank by": "MPI", "mpi": "Any",
                                                                                "rank stage": 3, "thread level": 0}})
        for number in (1, 2):
            events.append({"ph": "M", "name": "kymo communicator", "pid": pid, "args": {"name": "row", "id": number, "kind": 0, "size": 2 + number, "remote size": 0,
                                                                                       "key": 77 + number, "handle": 5, "own rank": rank}})
        events.append(complete("mpi_runtime", "MPI_Isend" if rank else "MPI_Recv", pid, pid, 10 + rank, 5, correlation=3))
        events.append(complete("mpi_runtime", "MPI_Wait", pid, pid, 20 + rank, 5, correlation=4))
    message(100, "send", 11, 14, correlation=3, **{"sent": 4096, "peer": 0, "tag": 9, "communicator id": 2, "datatype": "MPI_INT", "completed by": 4, "request": 6})
    message(200, "receive", 10, 15, correlation=3, **{"received": 4096, "peer": 1, "tag": 9, "communicator id": 2, "datatype": "MPI_INT"})
    message(200, "put", 30, 5, correlation=4, **{"sent": 8, "state": "left", "communicator id": 1, "partitions": 5, "probe": 3, "completed by": 999})
    return {"traceEvents": events}


def test_messages_and_ranks():
    trace, said = imported("job.json", of_two_ranks())
    expect("warning" not in said, said)
    sent, received, put = (dict(zip(("pid", "rank", "ranks", "by", "op", "start", "duration", "communicator", "size", "peer", "tag", "sent", "received", "datatype",
                                     "request", "state", "call", "completed", "probed", "partitions", "match"), row)) for row in
                           sorted(query(trace, MESSAGES), key=lambda r: (r[4] != "send", r[4] != "receive")))
    wanted = {"pid": 100, "rank": 1, "ranks": 2, "by": "MPI", "start": 1000, "duration": 14000, "communicator": "row", "size": 4, "peer": 0, "tag": 9, "sent": 4096,
              "received": 0, "datatype": "MPI_INT", "request": 6, "state": 0, "call": "MPI_Isend", "completed": "MPI_Wait", "probed": 0}
    expect(wanted.items() <= sent.items(), "sent", sent)
    wanted = {"pid": 200, "rank": 0, "start": 0, "duration": 15000, "size": 4, "peer": 1, "received": 4096, "call": "MPI_Recv", "completed": None, "request": None}
    expect(wanted.items() <= received.items(), "received", received)
    wanted = {"pid": 200, "size": 3, "peer": None, "tag": None, "sent": 8, "state": 3, "call": "MPI_Wait", "completed": None, "probed": 1, "partitions": 5}
    expect(wanted.items() <= put.items(), "put", put)
    expect(not query(trace, "SELECT 1 FROM marker"), "messages are ranges as well")
    exported(trace, "job2.json")
    again, said = imported("job2again.json", json.load(open("job2.json", encoding="utf-8")))
    expect(query(again, MESSAGES) == query(trace, MESSAGES) and "warning" not in said, query(again, MESSAGES), said)


def test_texts_of_many_ranks():
    """Lists grow while a rank's texts are added to them: each rank has its own in the end."""
    ranks = 700
    said = [("MPI", f"library {rank}") if rank % 2 else (f"launcher {rank}", "") for rank in range(ranks)]
    events = [{"ph": "M", "name": "process_labels", "pid": 1000 + rank, "args": {"labels": f"CPU, rank {rank}", "rank": rank, "ranks": ranks, "rank by": by, "mpi": mpi}}
              for rank, (by, mpi) in enumerate(said)]
    events += [{"ph": "M", "name": "kymo communicator", "pid": 1000 + rank, "args": {"name": f"row {rank}", "id": 1, "kind": 0, "size": 2, "remote size": 0,
                                                                                    "key": rank + 1, "handle": 5, "own rank": 0}} for rank in range(ranks)]
    events += [complete("mpi_runtime", "MPI_Barrier", 1000 + rank, 1000 + rank, 10, 5) for rank in range(ranks)]
    write("many.json", {"traceEvents": events})
    found = query("many.json", "SELECT rank, pid, rank_by, mpi FROM process WHERE rank IS NOT NULL ORDER BY rank")
    expect(found == [(rank, 1000 + rank, *said[rank]) for rank in range(ranks)], len(found), found[:3])
    found = query("many.json", "SELECT p.rank, c.name FROM communicator c JOIN process p ON p.id = c.process ORDER BY p.rank")
    expect(found == [(rank, f"row {rank}") for rank in range(ranks)], len(found), found[:3])


def test_what_other_tools_do_not_say():
    """Calls of MPI without messages are told once; pairs that only look like messages are ranges."""
    events = [complete("mpi_runtime", "MPI_Send", pid, pid, 10 * i, 5, correlation=i + 1) for i, pid in enumerate((100, 200, 100))]
    events += [{"ph": phase, "cat": "comm", "name": "send", "pid": 100, "tid": 100, "ts": ts, "id": "0x1", "args": {"sent": "much"}} for phase, ts in (("b", 50), ("e", 60))]
    trace, said = imported("other.json", events)
    expect(said.count("neither messages nor ranks") == 1, said)
    expect(query(trace, "SELECT count(*) FROM marker") == [(1,)] and not query(trace, "SELECT 1 FROM comm"), "it is no range")


def test_work_that_never_finished():
    """Kymo's instants of work without times, of work that never finished, and calls without an end: no finished work, no marks."""
    def untimed(name, ts, why, **args):
        return {"ph": "i", "cat": "untimed", "name": name, "pid": 0, "tid": 7, "ts": ts, "args": {"device": 0, "stream": 7, "untimed": why, **args}}
    events = [complete("opencl_runtime", "clEnqueue", 500, 501, 10 * i, 5, correlation=i) for i in range(1, 6)]
    events += [untimed("endless", 12, "never completed", correlation=1, unfinished=1, op="kernel"),
               untimed("fill", 22, "never completed", correlation=2, unfinished=1, op="fill", bytes=4096),
               untimed("quick", 32, "command failed", correlation=3, grid=[2, 1, 1], block=[32, 1, 1]),
               untimed("Memcpy HtoD (Pageable -> Device)", 42, "no device timer", correlation=4, op="write", bytes=8),
               kernel("k", 0, 7, 56, 2, 5), {"ph": "B", "cat": "opencl_runtime", "name": "clFinish", "pid": 500, "tid": 501, "ts": 70, "args": {"correlation": 6}},
               {"ph": "i", "cat": "untimed", "name": "a mark", "pid": 500, "tid": 501, "ts": 71}]
    first, said = imported("open.json", {"traceEvents": events})
    expect("warning" not in said, said)
    exported(first, "open2.json")
    for trace in (first, imported("open2again.json", json.load(open("open2.json", encoding="utf-8")))[0]):
        rows = query(trace, "SELECT operation, name, size, tid, region_name FROM unfinished ORDER BY operation")
        expect(rows == [("fill", None, 4096, 501, "clEnqueue"), ("kernel", "endless", 0, 501, "clEnqueue")], trace, rows)
        rows = query(trace, "SELECT s.text, d.start, d.untimed, d.global_x FROM dispatch d JOIN kernel k ON k.id = d.kernel JOIN string s ON s.id = k.name ORDER BY s.text")
        expect([(r[0], r[1] is not None, r[2], r[3]) for r in rows] == [("k", True, 0, 128), ("quick", False, 2, 64)], trace, rows)
        rows = query(trace, "SELECT o.name, c.bytes, c.start, c.untimed FROM copy c JOIN op o ON o.id = c.op")
        expect(rows == [("write", 8, None, 8)], trace, rows)
        rows = query(trace, "SELECT o.name FROM open_call c JOIN op o ON o.id = c.op")
        expect(rows == [("clFinish",)], trace, rows)
        expect(query(trace, "SELECT text FROM marker m JOIN marker_name n ON n.id = m.name") == [("a mark",)], trace, "other marks")


def main():
    bad = 0
    for name, fn in list(globals().items()):
        if not name.startswith("test_"):
            continue
        with kymotest.Folder() as folder:
            os.chdir(folder)
            try:
                fn()
                print("ok  ", name, flush=True)
            except kymotest.Failure as e:
                bad += 1
                print("FAIL", name + ":", str(e)[:1500], flush=True)
            os.chdir("/")
    return 1 if bad else 0


sys.exit(main())
