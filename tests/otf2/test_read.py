#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""OTF2 archives read: one as Score-P writes it, with the counts of the script that wrote it; recordings that
were exported, against themselves; damaged ones, that end in an error or in what could be read.

    test_read.py KYMO FOLDER-OF-PROGRAMS [MPI-PROGRAMS]
"""
import json
import os
import random
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "base"))
import kymotest  # noqa: E402
from kymotest import expect  # noqa: E402

MESSAGES = """SELECT op.name name, count(*) n, sum(sent) sent, sum(received) received, count(DISTINCT tag) tags
 FROM comm JOIN op ON op.id = comm.op GROUP BY 1"""
# What OTF2 carries as it was.
SAME = {
    "calls": "SELECT op.name name, count(*) n, sum(duration) time FROM call c JOIN op ON op.id = c.op GROUP BY 1",
    "failed": "SELECT op.name name, c.status status, count(*) n FROM call c JOIN op ON op.id = c.op "
              "WHERE c.status != op.status_ok GROUP BY 1, 2",
    "kernels": "SELECT s.text name, o.name of, count(*) n, sum(d.duration) time, sum(global_x) items, "
               "sum(d.submit != c.start) elsewhere FROM dispatch d JOIN kernel k ON k.id = d.kernel "
               "JOIN string s ON s.id = k.name LEFT JOIN call c ON c.id = d.call LEFT JOIN op o ON o.id = c.op GROUP BY 1, 2",
    "copies": "SELECT op.name name, o.name of, count(*) n, sum(t.duration) time, sum(bytes) bytes, sum(blocking) blocking, "
              "sum(source_agent = 0) of_host, sum(destination_agent = 0) to_host FROM copy t JOIN op ON op.id = t.op "
              "LEFT JOIN call c ON c.id = t.call LEFT JOIN op o ON o.id = c.op GROUP BY 1, 2",
    "allocations": "SELECT op.name name, count(*) n, sum(bytes) bytes FROM allocation a JOIN op ON op.id = a.op GROUP BY 1",
    "waits": "SELECT op.name name, count(*) n, sum(s.duration) time FROM sync s JOIN op ON op.id = s.op GROUP BY 1",
    "ranges": "SELECT n.text name, op.name op, count(*) n, sum(m.duration) time, sum(m.scope) scopes, sum(m.parent) parents "
              "FROM marker m JOIN op ON op.id = m.op JOIN marker_name n ON n.id = m.name GROUP BY 1, 2",
    "arguments": "SELECT op.name name, count(kymo_arg(c.id, 'size')) sizes, sum(kymo_arg(c.id, 'size')) size, "
                 "sum(kymo_arg(c.id, 'offset')) offsets FROM call c JOIN op ON op.id = c.op GROUP BY 1",
    "call sites": "SELECT op.name name, f.text function, p.text file, s.line line, count(*) n FROM call c JOIN op ON op.id = c.op "
                  "JOIN site s ON s.id = c.site JOIN string f ON f.id = s.function JOIN string p ON p.id = s.file GROUP BY 1, 2, 3, 4",
    "queueing": "SELECT s.text name, sum(d.start - d.queued) queued, sum(d.start - d.submitted) submitted FROM dispatch d "
                "JOIN kernel k ON k.id = d.kernel JOIN string s ON s.id = k.name GROUP BY 1",
    "copied": "SELECT op.name name, sum(t.start - t.queued) queued, sum(t.start - t.submitted) submitted, sum(source_kind) kinds, "
              "sum(destination_kind) others FROM copy t JOIN op ON op.id = t.op GROUP BY 1",
    "payloads": "SELECT n.text name, m.start start, d.text domain, c.text category, m.color color, m.left_open open, m.extra extra "
                "FROM marker m JOIN marker_name n ON n.id = m.name LEFT JOIN marker_name d ON d.id = m.domain "
                "LEFT JOIN marker_name c ON c.id = m.category",
    "external": "SELECT external, count(*) n FROM call_extra WHERE external IS NOT NULL GROUP BY 1",
    "notes": "SELECT part, text, severity FROM note",
    "samples": "SELECT p.rank rank, t.tid = p.pid main, count(*) n, count(DISTINCT s.thread) threads, sum(s.time) time, "
               "sum(s.weight) weight FROM sample s JOIN thread t ON t.id = s.thread "
               "JOIN process p ON p.id = s.process GROUP BY 1, 2",
    # Of an intercommunicator the archive has one of its two groups.
    "messages": "SELECT p.rank rank, op.name name, count(*) n, sum(sent) sent, sum(received) received, sum(comm.tag) tags "
                "FROM comm JOIN op ON op.id = comm.op JOIN process p ON p.id = comm.process GROUP BY 1, 2",
}


def reader():
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import otf2"], capture_output=True).returncode == 0:
            return python
    return None


class Test:
    def __init__(self, kymo, work):
        self.kymo, self.work = kymo, work

    def one(self, trace, sql):
        return kymotest.query(self.kymo, trace, sql)[0]

    def rows(self, trace, sql):
        return kymotest.query(self.kymo, trace, sql + " ORDER BY 1, 2")

    def record(self, name, *words):
        trace = os.path.join(self.work, name + ".kymo")
        got = subprocess.run([self.kymo, "run", "--no-summary", "-o", trace, *words], capture_output=True, text=True,
                             cwd=self.work)
        expect(os.path.isdir(trace), name, got.stderr)
        return trace

    def export(self, trace):
        archive = trace[:-5] + ".otf2"
        subprocess.run([self.kymo, "export", "--to", "otf2", "-o", archive, trace], capture_output=True, check=True)
        return archive

    def there_and_back(self, trace):
        archive = self.export(trace)
        back = trace[:-5] + ".back.kymo"
        subprocess.run([self.kymo, "import", "-o", back, archive], capture_output=True, check=True)
        found = 0
        for what, sql in SAME.items():
            want, got = self.rows(trace, sql), self.rows(back, sql)
            expect(got == want, f"{os.path.basename(trace)}: {what}: {got}, and {want} in the recording")
            found += len(want)
        expect(found > 0, "there is nothing in", trace)
        return archive


def scorep(test, python):
    archive = os.path.join(test.work, "scorep")
    want = json.loads(subprocess.run([python, os.path.join(HERE, "scorep.py"), archive], capture_output=True, text=True,
                                     check=True).stdout)
    calls = test.one(archive, "SELECT count(*) n FROM call")["n"]
    expect(calls == want["calls"], calls)
    got = test.one(archive, "SELECT count(*) n, sum(duration) ns, count(DISTINCT queue) queues, count(DISTINCT agent) agents, "
                            "count(DISTINCT call) calls FROM dispatch")
    expect((got["n"], got["ns"]) == (want["kernels"], want["kernel_us"] * 1000), got)
    expect((got["queues"], got["agents"], got["calls"]) == (8, 4, want["kernels"]), "of each rank its own:", got)
    late = test.one(archive, "SELECT count(*) n FROM dispatch d JOIN call c ON c.id = d.call "
                             "WHERE d.start - c.start = 20000")["n"]
    expect(late == want["kernels"], "each is of the launch before it:", late)
    devices = test.one(archive, "SELECT count(DISTINCT uuid) n FROM agent")["n"]
    expect(devices == 2, devices)
    copies = {r["name"]: r for r in test.rows(archive, SAME["copies"])}
    expect((copies["write"]["n"], copies["write"]["bytes"]) == (want["writes"], want["written"]), copies)
    expect((copies["read"]["n"], copies["read"]["bytes"]) == (want["reads"], want["read"]), copies)
    expect(copies["write"]["of_host"] == want["writes"] and copies["read"]["to_host"] == want["reads"], copies)
    messages = {r["name"]: r for r in test.rows(archive, MESSAGES)}
    expect((messages["send"]["n"], messages["send"]["sent"]) == (want["sends"], want["sent"]), messages)
    expect((messages["receive"]["n"], messages["receive"]["received"]) == (want["receives"], want["received"]), messages)
    expect(messages["collective"]["n"] == want["collectives"], messages)
    expect((messages["put"]["n"], messages["put"]["sent"]) == (want["puts"], 333), messages)
    peers = test.rows(archive, "SELECT p.rank rank, c.name name, comm.peer peer, count(*) n FROM comm JOIN op ON op.id = comm.op "
                               "JOIN process p ON p.id = comm.process JOIN communicator c ON c.id = comm.communicator "
                               "WHERE op.name = 'receive' GROUP BY 1, 2, 3")
    expect(peers == [{"rank": 1, "name": n, "peer": 0, "n": 5} for n in ("MPI_COMM_WORLD", "turned")],
           "ranks are those of the world:", peers)
    ranges = test.one(archive, "SELECT count(*) n, sum(duration) ns FROM marker")
    expect(ranges == {"n": want["ranges"], "ns": 2 * 8899000}, ranges)
    values = {r["name"]: (r["n"], r["sum"]) for r in test.rows(
        archive, "SELECT c.name name, count(*) n, sum(v.value) sum FROM counter_value v JOIN counter c ON c.id = v.counter GROUP BY 1")}
    expect(values == {"CUDA memory": (3, 24576), "PAPI_FP_OPS": (3, 300), "power": (3, 4.5)}, values)
    text = subprocess.run([test.kymo, "summary", archive], capture_output=True, text=True, check=True)
    expect("2 ranks" in text.stdout and "heat -n 'two words'" in text.stdout and "paused 2 times" in text.stdout, text.stdout)
    expect("had nothing to do (2)" in text.stderr, text.stderr)
    return archive


def messages(test, python):
    """The two ends of a message find each other where all that both ranks sent is there."""
    archive = os.path.join(test.work, "messages")
    want = json.loads(subprocess.run([python, os.path.join(HERE, "scorep.py"), archive, "messages"], capture_output=True, text=True, check=True).stdout)
    joined = test.one(archive, "SELECT count(*) n, count(match) ends, count(DISTINCT match) both FROM comm")
    expect(want["receives"] > 1 and joined == {"n": 2 * want["receives"], "ends": 2 * want["receives"], "both": want["receives"]}, joined, want)
    sizes = test.rows(archive, "SELECT a.sent sent, b.received received FROM comm a JOIN comm b ON b.match = a.match AND b.id <> a.id WHERE a.sent > 0")
    expect(len(sizes) == want["receives"] and all(r["sent"] == r["received"] for r in sizes), sizes)


def contexts(test, python):
    archive = os.path.join(test.work, "contexts")
    subprocess.run([python, os.path.join(HERE, "scorep.py"), archive, "contexts"], capture_output=True, check=True)
    calls = {r["name"]: (r["n"], r["time"]) for r in test.rows(archive, SAME["calls"])}
    expect(calls == {"main": (1, 90000), "work": (4, 20000)}, calls)
    inner = test.one(archive, "SELECT count(*) n FROM call c JOIN call_extra x ON x.id = c.id JOIN call p ON p.id = x.parent")["n"]
    expect(inner == 4, inner)


    samples = test.rows(archive, "SELECT s.time time, s.weight weight, c.start call, f.depth depth, n.text function, p.text file, "
                                 "i.line line FROM sample s JOIN call c ON c.id = s.call JOIN stack_frame f ON f.stack = s.stack "
                                 "JOIN site i ON i.id = f.site JOIN string n ON n.id = i.function LEFT JOIN string p ON p.id = i.file")
    of = {"weight": 1000000}
    want = []
    for t in (22000, 32000, 42000, 52000):
        want += [{"time": t - 10000, **of, "call": t - 12000, "depth": 0, "function": "work", "file": "work.c", "line": 42},
                 {"time": t - 10000, **of, "call": t - 12000, "depth": 1, "function": "main", "file": None, "line": 0}]
    expect(sorted(samples, key=lambda s: (s["time"], s["depth"])) == want, samples)


def others(test, python):
    """Events that have no place are counted, each kind of them."""
    archive = os.path.join(test.work, "others")
    want = json.loads(subprocess.run([python, os.path.join(HERE, "scorep.py"), archive, "others"], capture_output=True, text=True,
                                     check=True).stdout)
    got = subprocess.run([test.kymo, "summary", archive], capture_output=True, text=True, check=True).stderr
    for what, n in want.items():
        found = re.search(what + r"[^()]* \((\d+)\)", got)
        expect(found and int(found[1]) == n, what, n, got)




def every_kind(test, programs):
    """A trace with one record of each kind, of two processes."""
    trace = os.path.join(test.work, "every.kymo")
    subprocess.run([os.path.join(programs, "every_kind"), trace], capture_output=True, check=True)
    test.export(trace)
    back = trace[:-5] + ".back.kymo"
    subprocess.run([test.kymo, "import", "-o", back, trace[:-5] + ".otf2"], capture_output=True, check=True)
    for what in ("payloads", "external", "notes", "call sites"):
        want, got = test.rows(trace, SAME[what]), test.rows(back, SAME[what])
        expect(got == want and want, f"every kind: {what}: {got}, and {want}")
    sums = [test.one(t, "SELECT count(*) n, sum(samples) samples, sum(idle) idle, sum(cycles) cycles, count(DISTINCT agent) agents, "
                        "count(DISTINCT process) processes FROM device_sample") for t in (trace, back)]
    expect(sums[0] == sums[1] and sums[0]["agents"] == 2, "samples of kernels:", sums)
    counted = [test.rows(t, "SELECT value, duration FROM counter_value") for t in (trace, back)]
    expect(counted[0] == counted[1] and counted[0], "counters:", counted)
    more = [test.rows(t, "SELECT id, address, cause, faults FROM copy_extra") for t in (trace, back)]
    expect(more[0] == more[1] and more[0], "migrations, faults:", more)


def recordings(test, programs, mpi):
    archive = test.there_and_back(test.record("heat", "--sample=500", os.path.join(programs, "heat")))
    for name in ("ocl_copies", "annotated"):
        if os.path.exists(os.path.join(programs, name)):
            test.there_and_back(test.record(name, os.path.join(programs, name)))
    for name in ("openmpi", "mpich"):
        run, program = shutil.which("mpirun." + name), os.path.join(mpi or "", "traffic." + name)
        if run and os.path.exists(program):
            more = ["--oversubscribe", "--allow-run-as-root"] if name == "openmpi" else []
            test.there_and_back(test.record("mpi-" + name, run, *more, "-n", "2", program))
    return archive


def damage(test, archive, rounds):
    """Whatever is in the files, it ends with a message or in a trace."""
    chance = random.Random(7)
    files = sorted(os.path.relpath(os.path.join(d, f), archive) for d, _, names in os.walk(archive) for f in names)
    ends = set()
    for n in range(rounds):
        copy = os.path.join(test.work, "damaged")
        shutil.copytree(archive, copy)
        name = os.path.join(copy, chance.choice(files))
        with open(name, "r+b") as f:
            data = bytearray(f.read())
            if n % 4 == 0 or not data:
                data = data[:chance.randrange(len(data) + 1)]
            for _ in range(1 + n % 8 if data else 0):
                data[chance.randrange(min(len(data), 400 if n % 2 else len(data)))] = chance.choice((0, 1, 255, chance.randrange(256)))
            f.seek(0)
            f.truncate()
            f.write(data)
        if n % 10 == 9:
            os.remove(name)
        got = subprocess.run([test.kymo, "summary", copy], capture_output=True, text=True, errors="replace")
        expect(0 <= got.returncode < 100, name, n, got.returncode, got.stderr)
        expect(got.returncode == 0 or "kymo: error: " in got.stderr, name, n, got.stderr)
        expect("[OTF2]" not in got.stderr, "libotf2 speaks itself:", got.stderr)
        ends.add(got.returncode == 0)
        kymotest.remove(copy)
    expect(ends == {True, False}, "some can be read, some not:", ends)


def pipes(test, archive):
    """What is no file in an archive is told, not waited for."""
    copy = os.path.join(test.work, "pipes")
    first = min(f for f in os.listdir(os.path.join(archive, "traces")) if f.endswith(".evt"))
    for name in ("traces.otf2", "traces.def", "traces.marker", os.path.join("traces", first)):
        shutil.copytree(archive, copy)
        for there in (name, "samples.otf2"):
            if os.path.exists(os.path.join(copy, there)):
                os.remove(os.path.join(copy, there))
        os.mkfifo(os.path.join(copy, name))
        got = subprocess.run([test.kymo, "summary", copy], capture_output=True, text=True, timeout=60, check=False)
        expect(got.returncode == 3 and (name == "traces.otf2" or f"{name}: it is no file" in got.stderr), name, got)
        kymotest.remove(copy)


def main():
    kymo, programs = (os.path.abspath(p) for p in sys.argv[1:3])
    python = reader()
    with kymotest.Folder() as work:
        test = Test(kymo, work)
        every_kind(test, programs)
        archive = recordings(test, programs, sys.argv[3] if len(sys.argv) > 3 else None)
        pipes(test, archive)
        if python:
            scorep(test, python)
            contexts(test, python)
            messages(test, python)
            others(test, python)
            damage(test, os.path.join(work, "scorep"), 120)
        else:
            damage(test, archive, 40)
    if not python:
        kymotest.skip("no python3-otf2: archives as Score-P writes them were not read")


if __name__ == "__main__":
    main()
