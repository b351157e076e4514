# SPDX-License-Identifier: Apache-2.0
"""What the tests of XSpace share: running kymo, asking traces, and a made-up program of two processes, two threads each, two
devices of one name, ranges with XLA's names."""
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
import xspace  # noqa: E402
from kymotest import expect  # noqa: E402

KYMO = os.path.abspath(sys.argv[1])
BASE = 1700000000123456789


def run(*words, status=0):
    p = subprocess.run([KYMO, *words], capture_output=True, text=True, check=False, errors="replace")
    expect(status is None or p.returncode == status, words, "gave", p.returncode, p.stdout[:500], p.stderr[:1500])
    return p


def query(trace, sql):
    return [tuple(row.values()) for row in json.loads(run("query", "--format", "json", trace, sql).stdout)]


def made(name, events, **more):
    """A trace of these events of Chrome's form."""
    with open(name + ".json", "w", encoding="utf-8") as f:
        json.dump({"traceEvents": events, "baseTimeNanoseconds": BASE, **more}, f)
    shutil.rmtree(name + ".kymo", ignore_errors=True)
    run("import", name + ".json", "-o", name + ".kymo")
    return name + ".kymo"


def exported(trace, name, *options):
    said = run("export", "--to", "xspace", "-f", "-o", name, *options, trace).stderr
    return xspace.read(name), said


def complete(category, name, pid, tid, ts, dur, **args):
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


def kernel(name, device, stream, ts, dur, correlation, **more):
    return complete("kernel", name, device, stream, ts, dur, device=device, stream=stream, correlation=correlation,
                    **{"grid": [4, 2, 1], "block": [32, 1, 1], "registers per thread": 40, "shared memory": 512, **more})


def launched(pid, tid, at, correlation, name="k", device=0, stream=7, later=5, dur=2.001):
    return [complete("cuda_runtime", "cudaLaunchKernel", pid, tid, at, 0.5, correlation=correlation, size=7),
            kernel(name, device, stream, at + later, dur, correlation)]


def memory(pid, tid, at, address, size, device=0):
    return {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": pid, "tid": tid, "ts": at,
            "args": {"Addr": address, "Bytes": size, "Device Type": 1, "Device Id": device}}


DEVICES = [{"id": i, "name": "Made-up GPU", "numSms": 10 + i, "totalGlobalMem": 1 << 34} for i in range(2)]


def two_of_everything():
    """Correlations and, as Kymo numbers ranges in each process, scope ids are the same in both processes."""
    events = []
    for pid, shift in ((500, 0), (900, 2000.003)):
        device = pid // 500 - 1 if pid == 500 else 1
        for thread, tid in enumerate((pid, pid + 1)):
            at = 1000 + 500 * thread + shift
            c = 10 * thread
            events += [
                complete("user_annotation", "outer", pid, tid, at, 100),
                complete("user_annotation", "inner", pid, tid, at + 1, 20),
                *launched(pid, tid, at + 2, c + 1, f"kernel of {pid}", device, 7 + thread),
                complete("cuda_runtime", "cudaMemcpyAsync", pid, tid, at + 4, 1, correlation=c + 2),
                complete("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", device, 7 + thread, at + 30.5, 3, device=device,
                         stream=7 + thread, correlation=c + 2, bytes=4096 + pid),
                complete("cuda_runtime", "cudaMemsetAsync", pid, tid, at + 6, 1, correlation=c + 3),
                complete("gpu_memset", "Memset (Device)", device, 7 + thread, at + 35, 1, device=device, stream=7 + thread,
                         correlation=c + 3, bytes=64),
                memory(pid, tid, at + 8, 4096 * tid, 1024 + tid, device),
                memory(pid, tid, at + 9, 4096 * tid, -1024 - tid, device),
                complete("user_annotation", "outer", pid, tid, at + 150, 10),
                complete("cuda_sync", "Stream Sync", device, 7 + thread, at + 120, 6, device=device, stream=7 + thread, correlation=c + 4),
                complete("cuda_runtime", "cudaStreamSynchronize", pid, tid, at + 119, 8, correlation=c + 4),
            ]
    return made("two", events, deviceProperties=DEVICES)


SUMS = """SELECT (SELECT count(*) FROM call), (SELECT sum(duration) FROM call), (SELECT sum(start) FROM call), (SELECT sum(id) FROM call) AS ids,
    (SELECT count(*) FROM dispatch) AS n, (SELECT sum(start) FROM dispatch) AS s, (SELECT sum(duration) FROM dispatch) AS d,
    (SELECT sum(global_x * 7 + global_y * 5 + local_x) FROM dispatch) AS g, (SELECT sum(call) FROM dispatch) AS c,
    (SELECT sum(queued) FROM dispatch) AS qd, (SELECT sum(bytes * (2 + length(o.name))) FROM copy JOIN op o ON o.id = copy.op) AS b,
    (SELECT sum(start) FROM copy) AS cs, (SELECT sum(source_kind + 7 * destination_kind) FROM copy) AS ck, (SELECT count(*) FROM marker) AS m,
    (SELECT sum(duration) FROM marker) AS md, (SELECT sum(scope * 3 + coalesce(parent, 0)) FROM marker) AS mp,
    (SELECT sum(scope) FROM call_extra) AS sc, (SELECT sum(bytes + address + 5 * kind + 11 * what) FROM allocation) AS a,
    (SELECT sum(allocation) FROM allocation) AS al, (SELECT count(*) FROM sync) AS y, (SELECT sum(duration) FROM sync) AS yd,
    (SELECT count(queue) FROM sync) AS yq, (SELECT sum(value) FROM counter_value) AS v, (SELECT sum(handle) FROM queue) AS q,
    (SELECT sum(registers + 3 * dynamic_shared) FROM launch) AS l, (SELECT sum(tid) FROM thread) AS t, (SELECT count(*) FROM process) AS p,
    (SELECT sum(pid) FROM process) AS pid, (SELECT sum(start_realtime) FROM process) AS real"""


def main(tests):
    bad = 0
    for name, fn in list(tests.items()):
        if not name.startswith("test_"):
            continue
        with kymotest.Folder() as folder:
            os.chdir(folder)
            try:
                fn()
                print("ok  ", name, flush=True)
            except (kymotest.Failure, xspace.Damaged) as e:
                bad += 1
                print("FAIL", name + ":", str(e)[:2500], flush=True)
            os.chdir("/")
    return 1 if bad else 0
