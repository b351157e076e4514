#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""OTF2 archives of several programs: otf2-print finds nothing to say, check.py (the library's own reader)
finds what must hold, and the totals that it counts are those that `kymo query` tells.

    test_otf2.py KYMO SYNTH FOLDER-OF-PROGRAMS [MPI-PROGRAMS [CLANG]]
"""
import json
import os
import shutil
import sqlite3
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "base"))
import kymotest  # noqa: E402
from kymotest import expect  # noqa: E402

TOTALS = """SELECT
 (SELECT count(*) FROM call) calls,
 (SELECT count(*) FROM open_call) opened,
 (SELECT count(*) FROM dispatch) kernels,
 (SELECT coalesce(sum(duration), 0) FROM dispatch) kernel_busy,
 (SELECT count(*) FROM copy) copies,
 (SELECT coalesce(sum(duration), 0) FROM copy) copy_busy,
 (SELECT coalesce(sum(bytes), 0) FROM copy) copied,
 (SELECT count(*) FROM sync) syncs,
 (SELECT count(*) FROM marker) markers,
 (SELECT coalesce(sum(sent), 0) FROM comm JOIN op ON op.id = comm.op WHERE op.name = 'send') sent,
 (SELECT coalesce(sum(received), 0) FROM comm JOIN op ON op.id = comm.op WHERE op.name = 'receive') received
"""


def reader():
    """A Python that has the library's binding."""
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import otf2"], capture_output=True).returncode == 0:
            return python
    return kymotest.skip("no python3-otf2")


class Test:
    def __init__(self, kymo, synth, work):
        self.kymo, self.synth, self.work, self.python = kymo, synth, work, reader()

    def record(self, name, *words):
        trace = os.path.join(self.work, name + ".kymo")
        got = subprocess.run([self.kymo, "run", "--no-summary", "-o", trace, *words],
                             capture_output=True, text=True, cwd=self.work)
        expect(os.path.isdir(trace), name, got.stderr)
        return trace

    def totals(self, trace):
        out = subprocess.run([self.kymo, "query", "--format", "json", trace, TOTALS],
                             capture_output=True, text=True, check=True).stdout
        return json.loads(out)[0]

    def export(self, trace):
        """What the library's reader finds in the archive, and what the export told."""
        out = trace[:-5] + ".otf2"
        told = subprocess.run([self.kymo, "export", "--to", "otf2", "-o", out, trace],
                              capture_output=True, text=True)
        expect(told.returncode == 0, trace, told.stderr)
        archive = os.path.join(out, "traces.otf2")
        if shutil.which("otf2-print"):
            got = subprocess.run(["otf2-print", "--silent", "-Werror", archive],
                                 capture_output=True, text=True)
            expect(got.returncode == 0 and not got.stderr, trace, "otf2-print:", got.stderr)
            text = subprocess.run(["otf2-print", archive], capture_output=True, text=True).stdout
            expect("INVALID" not in text, "something in it is undefined")
        got = subprocess.run([self.python, os.path.join(HERE, "check.py"), archive],
                             capture_output=True, text=True)
        expect(got.returncode == 0, trace, got.stderr, got.stdout[-2000:])
        return json.loads(got.stdout), told.stderr

    def same(self, trace):
        """Totals from the archive are those of the store."""
        found, told = self.export(trace)
        want = self.totals(trace)
        own = ("sync ", "code_object ", "marker ")
        calls = sum(n for name, n in found["calls"].items() if not name.startswith(own))
        kernels = sum(n for name, n in found["device"].items() if name.startswith("kernel "))
        copies = sum(n for name, n in found["device"].items() if name.startswith("copy "))
        sent = sum(n for name, n in found["messages"].items() if name.endswith(" sent"))
        received = sum(n for name, n in found["messages"].items() if name.endswith(" received"))
        for what, got, wanted in (
                ("calls", calls, want["calls"] + want["opened"] + want["markers"]),
                ("kernels", kernels, want["kernels"]), ("copies", copies, want["copies"]),
                ("busy with kernels", found["busy"].get("kernel", 0), want["kernel_busy"]),
                ("busy with copies", found["busy"].get("copy", 0), want["copy_busy"]),
                ("bytes copied", found["bytes"].get("device", 0), want["copied"]),
                ("bytes sent", sent, want["sent"]), ("bytes received", received, want["received"])):
            expect(got == wanted, f"{os.path.basename(trace)}: {what}: {got}, and {wanted} in the store")
        expect(found["orphans"] == 0, "work whose submission is not there:", found["orphans"])
        return found, told, want


def demo(test, programs):
    trace = os.path.join(test.work, "demo.kymo")
    subprocess.run([test.synth, "demo", trace], check=True)
    found, told = test.export(trace)  # its two processes lost records: calls are not all there
    want = test.totals(trace)
    expect(found["bytes"]["device"] == want["copied"], found["bytes"])
    expect(found["busy"]["kernel"] == want["kernel_busy"], found["busy"])
    expect(found["accelerators"] == 2 and found["untimed"] == 1, found)
    expect(found["barriers"] == found["waits"] == 1, found["barriers"], found["waits"])
    expect(found["events"]["BufferFlush"] == 2, "losses:", found["events"])
    expect("OTF2 has no place for: " in told and "call sites (12)" in told, told)


def in_flight(test, programs):
    """A kernel that has no times stands where it was submitted, also behind the wait that nothing came after."""
    trace, database = (os.path.join(test.work, "flight" + suffix) for suffix in (".json", ".rpdb"))
    event = {"ph": "X", "pid": 1, "tid": 1}
    with open(trace, "w", encoding="utf-8") as f:
        json.dump([{**event, "cat": category, "name": name, "ts": ts, "dur": dur, "args": {"correlation": correlation, **args}}
                   for category, name, ts, dur, correlation, args in (
                       ("cuda_runtime", "cudaLaunchKernel", 1, 2, 1, {}), ("kernel", "first", 10, 10, 1, {"device": 0, "stream": 7}),
                       ("cuda_runtime", "cudaDeviceSynchronize", 30, 30, 2, {}),
                       ("cuda_sync", "Context Sync", 30, 30, 2, {"device": 0}),
                       ("cuda_runtime", "cudaLaunchKernel", 100, 2, 3, {}), ("kernel", "second", 101, 1, 3, {"device": 0, "stream": 7}))], f)
    subprocess.run([test.kymo, "export", "--to", "rocpd", "-o", database, trace], check=True, stderr=subprocess.DEVNULL)
    db = sqlite3.connect(database)
    (table,), = db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'rocpd_kernel_dispatch%'").fetchall()
    db.execute(f"UPDATE [{table}] SET extdata = json_object('untimed', 'never completed', 'submit', start) WHERE start = "
               f"(SELECT max(start) FROM [{table}])")
    db.commit()
    db.close()
    found, told = test.export(database)
    expect(found["untimed"] == 1 and found["barriers"] == 0 and "barriers without time" in told, found, told)


def opencl(test, programs):
    found, _, want = test.same(test.record("heat", os.path.join(programs, "heat")))
    expect(found["accelerators"] == 1 and want["kernels"] > 1000, found)
    expect(found["metrics"] == {"memory in use: device": 0}, found["metrics"])
    found, _, _ = test.same(test.record("copies", os.path.join(programs, "ocl_copies")))
    expect(found["barriers"] >= 10, "blocking copies are barriers:", found["barriers"])
    expect(found["bytes"]["to device"] and found["bytes"]["from device"], found["bytes"])
    roles = found["roles"]
    expect(roles["clEnqueueReadBuffer"] == "DATA_TRANSFER", roles)
    expect(roles["clCreateBuffer"] == "ALLOCATE" and roles["clFinish"] == "TASK_WAIT", roles)
    test.same(test.record("ranges", os.path.join(programs, "annotated")))
    many, _, _ = test.same(test.record("many", os.path.join(programs, "ocl_many"),
                                      "--kernels", "8000"))
    expect(many["accelerators"] >= 2, "parts of a device are one group:", many["accelerators"])
    test.same(test.record("nothing", "true"))


def samples(test, programs):
    trace = os.path.join(test.work, "samples.kymo")
    subprocess.run([test.kymo, "run", "--no-summary", "--sample=200", "-o", trace,
                    os.path.join(programs, "heat")], capture_output=True, check=True)
    count = kymotest.query(test.kymo, trace, "SELECT count(*) n FROM sample")[0]["n"]
    if not count:
        return  # where the system lets nobody sample
    test.same(trace)
    archive = os.path.join(trace[:-5] + ".otf2", "samples.otf2")
    if shutil.which("otf2-print"):
        subprocess.run(["otf2-print", "--silent", "-Werror", archive], capture_output=True,
                       check=True)
    got = subprocess.run([test.python, os.path.join(HERE, "check.py"), archive],
                         capture_output=True, text=True, check=True)
    events = json.loads(got.stdout)["events"]
    expect(events == {"CallingContextSample": count}, events, count)


def mpi(test, programs):
    for n in (2, 4):
        for name in ("openmpi", "mpich"):
            run = shutil.which("mpirun." + name)
            program = os.path.join(programs, "traffic." + name)
            if not run or not os.path.exists(program):
                continue
            more = ["--oversubscribe", "--allow-run-as-root"] if name == "openmpi" else []
            trace = test.record(f"mpi-{name}-{n}", run, *more, "-n", str(n), program)
            found, _, want = test.same(trace)
            expect(found["locations"] >= n and want["sent"], found["locations"])
            expect(found["open requests"] == 0, "requests without an end:", found["open requests"])
            for what in ("MpiCollectiveBegin", "RmaPut", "RmaGet", "RmaAtomic", "MpiIsend",
                         "NonBlockingCollectiveComplete"):
                expect(found["events"].get(what), "no", what)


def openmp(test, programs, clang):
    source = os.path.join(HERE, "..", "openmp", "host.c")
    program = os.path.join(test.work, "host")
    got = subprocess.run([clang, "-fopenmp", "-O1", "-w", "-o", program, source],
                         capture_output=True, text=True)
    if got.returncode:
        return
    found, _, _ = test.same(test.record("openmp", program))
    events = found["events"]
    expect(events["ThreadFork"] == events["ThreadJoin"] > 0, events)
    expect(events["ThreadTeamBegin"] == events["ThreadTeamEnd"] > 0, events)
    expect(events["ThreadTaskCreate"] > 0 and
           events["ThreadTaskSwitch"] == events["ThreadTaskComplete"] > 0, events)
    expect(events["ThreadAcquireLock"] >= events["ThreadReleaseLock"] > 0, events)


def main():
    kymo, synth, programs = sys.argv[1:4]
    with kymotest.Folder() as work:
        test = Test(kymo, synth, work)
        demo(test, programs)
        in_flight(test, programs)
        opencl(test, programs)
        samples(test, programs)
        if len(sys.argv) > 4:
            mpi(test, sys.argv[4])
        if len(sys.argv) > 5:
            openmp(test, programs, sys.argv[5])


if __name__ == "__main__":
    main()
