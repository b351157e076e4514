#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""OTF2 archives of several programs: otf2-print finds nothing to say, check.py (the library's own reader)
finds what must hold, and the totals that it counts are those that `kymo query` tells.

    test_otf2.py KYMO SYNTH FOLDER-OF-PROGRAMS TELEMETRY-FAKES [MPI-PROGRAMS [CLANG]]
"""
import json
import os
import re
import resource
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


# Arguments by name: how many were there, and the sum of those that are numbers. Other records have fields of these
# names as well, which are parameters too.
ARGUMENTS = """SELECT j.key name, count(*) n, sum(CASE j.type WHEN 'integer' THEN j.value ELSE 0 END) total,
 min(j.type = 'integer') numbers FROM call c, json_each(kymo_args(c.id)) j WHERE j.type != 'null'
 AND j.key NOT IN (SELECT f.name FROM op_field f JOIN op o ON o.id = f.op JOIN domain d ON d.id = o.domain
 WHERE d.name = 'code_object') GROUP BY 1"""
KINDS = """SELECT 'SOURCE_KIND ' || source_kind_name name, count(*) n FROM memory_copies WHERE source_kind GROUP BY 1
 UNION ALL SELECT 'DESTINATION_KIND ' || destination_kind_name, count(*) FROM memory_copies WHERE destination_kind GROUP BY 1"""
FILES = """SELECT sum(c.sent), sum(c.received) FROM comm c JOIN op o ON o.id = c.op WHERE o.name IN ('read', 'write')"""
PATHS = """SELECT count(*) n FROM call c LEFT JOIN call_extra x ON x.id = c.id WHERE coalesce(c.site, 0) OR
 coalesce(x.stack, 0)"""
VALUES = """SELECT n.name, a.label, count(*) n, sum(v.value) total FROM counter_value v JOIN counter n ON n.id = v.counter
 LEFT JOIN agent a ON a.id = v.agent GROUP BY 1, 2"""


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

    def query(self, trace, sql):
        return kymotest.query(self.kymo, trace, sql)

    def details(self, trace, found):
        """Arguments, call paths and kinds of memory are those of the store."""
        kinds = {row["name"]: row["n"] for row in self.query(trace, KINDS)}
        expect(found["kinds"] == kinds, "kinds of memory:", found["kinds"], kinds)
        for row in self.query(trace, ARGUMENTS):
            n, total = found["parameters"].get(row["name"], (0, 0))
            expect(n == row["n"] and (not row["numbers"] or abs(total - row["total"]) <= 1e-12 * abs(total)),
                   f"argument {row['name']}: {n} times, sum {total}, and {row} in the store")
        paths = self.query(trace, PATHS)[0]["n"]
        expect(found["paths"] == paths, "call paths:", found["paths"], paths)

    def values(self, trace, found):
        """Values of counters by what they are of; True where there are some."""
        wanted = self.query(trace, VALUES)
        for row in wanted:
            got = [v for k, v in found["values"].items()
                   if k.split(" of ")[0].split("[")[0] == row["name"] and (not row["label"] or k.endswith(" of " + row["label"]))]
            expect(sum(n for n, _ in got) == row["n"], "values of", row, got)
            expect(abs(sum(s for _, s in got) - row["total"]) <= 1e-9 * abs(row["total"]) + 1e-9, row, got)
        return wanted

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
            for more in ((), ("-G",)):
                text = subprocess.run(["otf2-print", *more, archive], capture_output=True, text=True).stdout
                expect("INVALID <" not in text, "something in it is undefined")
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
        self.details(trace, found)
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
    expect("OTF2 has no place for: numbers of allocations (2), programs (1)\n" in told, told)
    test.details(trace, found)
    notes = test.query(trace, "SELECT text FROM note")
    if shutil.which("otf2-marker"):
        listed = subprocess.run(["otf2-marker", trace[:-5] + ".otf2/traces.otf2"], capture_output=True, text=True,
                                check=True).stdout
        expect(notes and all(f"Text: \"{n['text']}\"" in listed for n in notes), "notes:", listed)


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
    trace = test.record("copies", os.path.join(programs, "ocl_copies"))
    found, _, _ = test.same(trace)
    expect(found["barriers"] > found["implied"] >= 10, "blocking copies are barriers:", found["implied"])
    blocking = test.query(trace, "SELECT count(*) n FROM syncs WHERE name = 'blocking'")[0]["n"]
    expect(found["modes"] == {"1": found["submitted"] - blocking, "2": blocking}, found["modes"], blocking)
    expect(found["bytes"]["to device"] and found["bytes"]["from device"], found["bytes"])
    roles = found["roles"]
    expect(roles["clEnqueueReadBuffer"] == "DATA_TRANSFER", roles)
    expect(roles["clCreateBuffer"] == "ALLOCATE" and roles["clFinish"] == "TASK_WAIT", roles)
    test.same(test.record("ranges", os.path.join(programs, "annotated")))
    many, _, _ = test.same(test.record("many", os.path.join(programs, "ocl_many"),
                                      "--kernels", "1500"))
    expect(many["accelerators"] >= 2, "parts of a device are one group:", many["accelerators"])
    test.same(test.record("nothing", "true"))
    contexts, _, _ = test.same(test.record("contexts", os.path.join(programs, "ocl_contexts")))
    expect(contexts["accelerators"] == 2 and len(contexts["groups"]) == 3 and contexts["locations"] >= 5,
           "two contexts on one device are two groups:", contexts["groups"], contexts["locations"])
    used = [v[0] for k, v in contexts["values"].items() if k.startswith("memory in use: device of ")]
    expect(used == [2, 2], "the memory of each:", contexts["values"])
    os.environ["POCL_DEVICES"] = "pthread pthread"
    two, _, _ = test.same(test.record("two", os.path.join(programs, "ocl_two")))
    del os.environ["POCL_DEVICES"]
    expect(len(set(two["groups"])) == 3 and two["accelerators"] == 2, "two devices of one name:", two["groups"])


def counters(test, programs, fakes):
    """Values of calls and threads, and of devices and hosts over time, are those of the store."""
    trace = test.record("counted", "--counters", "page-faults", os.path.join(programs, "heat"))
    found, _, _ = test.same(trace)
    if not test.values(trace, found):
        print("page-faults cannot be counted here")
    trace = os.path.join(test.work, "telemetry.kymo")
    subprocess.run([test.kymo, "run", "--no-summary", "--telemetry=100", "-o", trace, "sleep", "0.4"], check=True,
                   capture_output=True, env={**os.environ, "LD_LIBRARY_PATH": fakes})
    found, _ = test.export(trace)
    of = {row["label"] for row in test.values(trace, found) if row["name"] == "power"}
    expect({"Fake GPU #0", "Fake GPU #1"} <= of, "devices of one name:", of)
    expect(any(k.startswith("cpu.utilisation of ") for k in found["values"]), "of the host:", found["values"])


def locations(test):
    """Thousands of threads and queues: few files are open at once, and memory stays."""
    threads, queues = 800, 400
    trace = os.path.join(test.work, "locations.json")
    event = {"ph": "X", "pid": 1, "dur": 4}
    with open(trace, "w", encoding="utf-8") as f:
        json.dump([e for i in range(3 * threads) for e in (
            {**event, "tid": i % threads + 1, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 10 * i,
             "args": {"correlation": i + 1}},
            {**event, "tid": 1, "cat": "kernel", "name": "k", "ts": 10 * i + 5,
             "args": {"correlation": i + 1, "device": i % 2, "stream": 7 + i % queues}})], f)

    def few_files():
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

    out = os.path.join(test.work, "locations.otf2")
    p = subprocess.Popen([test.kymo, "export", "--to", "otf2", "-o", out, trace], stderr=subprocess.PIPE, text=True,
                         preexec_fn=few_files)
    told = p.stderr.read()
    _, status, usage = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    expect(p.returncode == 0, told)
    expect(kymotest.SANITIZED or usage.ru_maxrss < 256 << 10, "KiB of memory:", usage.ru_maxrss)
    got = subprocess.run([test.python, os.path.join(HERE, "check.py"), os.path.join(out, "traces.otf2")],
                         capture_output=True, text=True)
    expect(got.returncode == 0, got.stderr, got.stdout[-2000:])
    found = json.loads(got.stdout)
    expect(found["device"] == {"kernel k": 3 * threads} and found["calls"] == {"cudaLaunchKernel": 3 * threads},
           found["device"], found["calls"])
    expect(found["locations"] == threads + queues and found["orphans"] == 0, found["locations"])


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
            trace = test.record(f"mpi-{name}-{n}", run, *more, "-n", str(n), program, f"file-{name}-{n}")
            found, tells, want = test.same(trace)
            expect(found["locations"] >= n and want["sent"], found["locations"])
            expect(found["open requests"] == 0, "requests without an end:", found["open requests"])
            expect(found["unmatched"] == 0, "messages that only one side has:", found["unmatched"])
            told = (found["bytes"]["told SENT"], found["bytes"]["told RECEIVED"])
            moved = tuple(test.query(trace, FILES)[0].values())
            expect(told == moved and min(told) > 0, "bytes of files, told by their calls:", told, moved)
            expect("transfers of files" not in tells, tells)
            fences = test.query(trace, "SELECT count(*) n FROM regions WHERE name = 'MPI_Win_fence'")[0]["n"]
            expect(found["events"].get("RmaCollectiveEnd") == fences >= 4 * n, "fences:", fences, found["events"])
            for what in ("MpiCollectiveBegin", "RmaPut", "RmaGet", "RmaAtomic", "MpiIsend",
                         "NonBlockingCollectiveComplete"):
                expect(found["events"].get(what), "no", what)
            intercommunicators(test, trace)


def printed(archive, *words):
    """What otf2-print says, as lists of a kind of line and the line."""
    got = subprocess.run(["otf2-print", "-Werror", *words, os.path.join(archive, "traces.otf2")], capture_output=True, text=True)
    expect(got.returncode == 0 and not got.stderr and "INVALID <" not in got.stdout, archive, got.stderr)
    return [(line.split(" ", 1)[0], line) for line in got.stdout.splitlines() if line[:1].isupper()]


PEER = re.compile(r'(\S+) +(\d+) +(\d+) +(?:Sender|Receiver): (\d+) \([^<]*<(\d+)>\), Communicator: "[^"]*" <(\d+)>, Tag: (\d+)')


def intercommunicators(test, trace):
    """By OTF2's own definition, if it is asked for, and as one communicator: the same ones send to the same ones."""
    if not shutil.which("otf2-print"):
        return
    peers, comms = {}, test.query(trace, "SELECT size, remote_size, count(*) n FROM communicator WHERE kind = 1 GROUP BY 1, 2")
    expect(comms, "no intercommunicator")
    for to in ("otf2", "otf2:intercomm"):
        out = trace[:-5] + "-" + to[5:]
        subprocess.run([test.kymo, "export", "--to", to, "-f", "-o", out, trace], capture_output=True, check=True)
        found = [line for kind, line in printed(out, "-G") if kind == "INTER_COMM"]
        expect(len(found) == (to != "otf2") and all("Common Communicator: UNDEFINED" in line for line in found), to, found)
        number = re.search(r"INTER_COMM +(\d+)", found[0]).group(1) if found else None
        matches = [(line, PEER.match(line)) for kind, line in printed(out) if kind in ("MPI_SEND", "MPI_RECV")]
        expect(all(m for _, m in matches), to, "a rank that nobody has:", [line for line, m in matches if not m][:3])
        peers[to] = [m.groups() for _, m in matches]
    members = comms[0]["size"]
    inside = [(a, b) for a, b in zip(*peers.values()) if b[5] == number]
    expect(len(inside) == 4 * members, "a send and a receive of each rank of both groups:", inside)
    expect(all(int(b[3]) < members for _, b in inside), "ranks are those of the other group:", inside)
    expect({int(b[3]) for _, b in inside} == set(range(members)), inside)
    for a, b in zip(*peers.values()): # all but the number of the rank
        expect(a[:3] == b[:3] and a[4:] == b[4:], "another peer:", a, b)
    back = trace[:-5] + "-back.kymo"
    subprocess.run([test.kymo, "import", "-o", back, out], capture_output=True, check=True)
    sides = test.query(back, "SELECT size, remote_size, count(*) n FROM communicator WHERE kind = 1 GROUP BY 1, 2")
    expect([(c["size"], c["remote_size"]) for c in sides] == [(members, members)], "read again:", sides, comms)
    sent = "SELECT p.rank, c.peer, sum(c.sent) FROM comm c JOIN process p ON p.id = c.process WHERE c.tag = 6 AND c.sent > 0 GROUP BY 1, 2 ORDER BY 1, 2"
    expect(test.query(back, sent) == test.query(trace, sent), "read again: who sent to whom")


def spawned(test, programs):
    """Ranks of other worlds are not told: they have a place that no rank of this one has."""
    run, program = shutil.which("mpirun.openmpi"), os.path.join(programs, "spawn.openmpi")
    words = [run, "--oversubscribe", "--allow-run-as-root", "-n", "1", program]
    if not run or not os.path.exists(program) or not shutil.which("otf2-print"):
        return
    try:
        plain = subprocess.run(words, capture_output=True, text=True, cwd=test.work, timeout=kymotest.WAIT)
    except subprocess.TimeoutExpired:
        return
    if "spawned" not in plain.stdout: # it cannot here
        return
    trace = test.record("spawned", *words)
    for to in ("otf2", "otf2:intercomm"):
        out = os.path.join(test.work, "spawned-" + to[5:])
        subprocess.run([test.kymo, "export", "--to", to, "-o", out, trace], capture_output=True, check=True)
        lines = printed(out, "-G")
        expect("INTER_COMM" not in {kind for kind, _ in lines}, "of ranks that are not known")
        groups = [line for kind, line in lines if kind == "GROUP" and "COMM_GROUP" in line and '"communicator"' in line]
        expect(groups and all("ranks of other worlds" in line for line in groups), groups)
        for line in groups:
            own = re.findall(r'\d+ \("spawn[^"]*" <(\d+)>\)', line)
            expect(own and len(own) == len(set(own)), "a rank twice:", line)


def hybrid(test, programs):
    """MPI, OpenMP and OpenCL; the launcher's threads do nothing, and so do some of the program's."""
    for name in ("openmpi", "mpich"):
        run, program = shutil.which("mpirun." + name), os.path.join(programs, "drum." + name)
        if not run or not os.path.exists(program):
            continue
        more = ["--oversubscribe", "--allow-run-as-root"] if name == "openmpi" else []
        found, _ = test.export(test.record("hybrid-" + name, run, *more, "-n", "2", program, "256", "5"))
        expect(found["events"].get("MpiIsend") or found["events"].get("MpiSend"), found["events"])


def locks(test, programs):
    for name in ("openmpi", "mpich"):
        run, program = shutil.which("mpirun." + name), os.path.join(programs, "locks." + name)
        if not run or not os.path.exists(program):
            continue
        more = ["--oversubscribe", "--allow-run-as-root"] if name == "openmpi" else []
        found, _, _ = test.same(test.record("locks-" + name, run, *more, "-n", "2", program))
        expect(sorted(found["window locks"].values()) == [2, 4] and len(found["window locks"]) == 2 and
               {k.split(" ")[0] for k in found["window locks"]} == {"EXCLUSIVE", "SHARED"}, found["window locks"])
        expect(found["events"]["RmaRequestLock"] == found["events"]["RmaReleaseLock"] == 6, found["events"])
        expect(found["bytes"]["put"] == 6 * 4, found["bytes"])


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
    kymo, synth, programs, fakes = sys.argv[1:5]
    with kymotest.Folder() as work:
        test = Test(kymo, synth, work)
        demo(test, programs)
        in_flight(test, programs)
        opencl(test, programs)
        counters(test, programs, fakes)
        locations(test)
        samples(test, programs)
        if len(sys.argv) > 5:
            mpi(test, sys.argv[5])
            locks(test, sys.argv[5])
            spawned(test, sys.argv[5])
        hybrid(test, programs)
        if len(sys.argv) > 6:
            openmp(test, programs, sys.argv[6])


if __name__ == "__main__":
    main()
