#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Paraver's files, read by its published description alone, against SQL over the same trace: order of time, objects,
intervals of calls, kernels, copies and ranges, messages; of two processes, two devices, two ranks.

    paraver.py KYMO KYMO_SYNTH HEAT OCL_TWO ANNOTATED FOLDER-OF-PROGRAMS"""
import collections
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import expect  # noqa: E402

KYMO, SYNTH, HEAT, TWO, ANNOTATED, PROGRAMS = (os.path.abspath(p) for p in sys.argv[1:7])
KERNEL, COPY, COPY_BYTES, ALLOCATED, FREED, RANGE, MARK = range(63100000, 63100007)


def run(*words, status=0, **more):
    p = subprocess.run(words, capture_output=True, text=True, check=False, **more)
    expect(p.returncode == status, words, "gave", p.returncode, p.stderr)
    return p


def query(trace, sql):
    return [tuple(r.values()) for r in json.loads(run(KYMO, "query", "--format", "json", trace, sql).stdout)]


class Paraver:
    """A folder of Paraver files: header, objects by their names, events, states and messages."""

    def __init__(self, folder):
        self.names, self.labels, self.values = {}, {}, collections.defaultdict(dict)
        self.events, self.states, self.messages = collections.defaultdict(list), [], []
        self.state_names = {}
        with open(f"{folder}/trace.prv", encoding="utf-8") as f:
            self.read_header(f.readline().rstrip("\n"))
            self.read_lines(f)
        self.read_names(folder)
        self.read_legend(folder)

    def read_header(self, line):
        m = re.fullmatch(r"#Paraver \(\d\d/\d\d/\d\d at \d\d:\d\d\):(\d+)_ns:(\d+)\(([\d,]+)\):1:(\d+)\(([\d:,]+)\)", line)
        expect(m, line)
        self.length = int(m[1])
        cpus = [int(x) for x in m[3].split(",")]
        self.tasks = [tuple(map(int, x.split(":"))) for x in m[5].split(",")]
        expect(len(cpus) == int(m[2]) and len(self.tasks) == int(m[4]) and sum(cpus) == len(self.tasks), line)
        self.cpus = sum(cpus)

    def known(self, cpu, application, task, thread):
        expect(application == 1 and 1 <= task <= len(self.tasks) and 1 <= thread <= self.tasks[task - 1][0] and
               1 <= cpu <= self.cpus, "no such object", cpu, task, thread)
        return task, thread

    def read_lines(self, f):
        last = 0
        for line in f:
            kind, *x = (int(n) for n in line.split(":"))
            what = self.known(*x[:4])
            expect(last <= x[4] <= self.length, "order of time", line)
            last = x[4]
            if kind == 1:
                expect(x[4] < x[5] <= self.length, line)
                self.states.append((what, x[4], x[5], x[6]))
            elif kind == 2:
                for i in range(5, len(x), 2):
                    self.events[what, x[i]].append((x[4], x[i + 1]))
            else:
                expect(kind == 3 and len(x) == 14, line)
                self.messages.append((what, self.known(*x[6:10]), x[4], x[10], x[12], x[13]))

    def read_names(self, folder):
        with open(f"{folder}/trace.row", encoding="utf-8") as f:
            levels = {m[1]: m[3].split("\n")[:int(m[2])]
                      for m in re.finditer(r"LEVEL (\w+) SIZE (\d+)\n(.*?)(?=\nLEVEL|\Z)", f.read(), re.S)}
        expect(len(levels["TASK"]) == len(self.tasks), levels)
        self.task_names = levels["TASK"]
        names = iter(levels["THREAD"])
        for task, (threads, _) in enumerate(self.tasks, 1):
            for thread in range(1, threads + 1):
                self.names[task, thread] = next(names)
        expect(next(names, None) is None, levels)

    def read_legend(self, folder):
        with open(f"{folder}/trace.pcf", encoding="utf-8") as f:
            text = f.read()
            for line in text.split("\nSTATES\n")[1].split("\n\n")[0].splitlines():
                number, name = line.split(" ", 1)
                self.state_names[int(number)] = name
            for part in re.split(r"\nEVENT_TYPE\n", text)[1:]:
                head, *rest = part.strip("\n").split("\n")
                _, number, name = head.split(" ", 2)
                self.labels[int(number)] = name
                for line in rest[1:]:
                    value, name = line.split(" ", 1)
                    self.values[int(number)][int(value)] = name

    def total(self, label):
        """Sum of the values of a type."""
        kind = next((k for k, name in self.labels.items() if name == label), None)
        return sum(v for (_, k), events in self.events.items() if k == kind for _, v in events)

    def intervals(self, kind):
        """(task, thread, value) -> how often, how long: of values that nest, and end with the one around them."""
        out = collections.defaultdict(lambda: [0, 0])
        for (what, number), events in self.events.items():
            if number != kind:
                continue
            under_way = []
            for time, value in events:
                if under_way and value == (under_way[-2][1] if len(under_way) > 1 else 0):
                    began, which = under_way.pop()
                    out[what, self.values[kind][which]][1] += time - began
                else:
                    under_way.append((time, value))
                    out[what, self.values[kind][value]][0] += 1
            expect(not under_way, "left open", what, under_way)
        return {k: tuple(v) for k, v in out.items()}


def by_pid(trace, paraver):
    """pid -> task."""
    pids = [int(n.split(" ")[-1]) for n in paraver.task_names]
    expect(sorted(pids) == sorted(p for p, in query(trace, "SELECT pid FROM process")), pids)
    return {pid: i for i, pid in enumerate(pids, 1)}


def check_calls(trace, p):
    tasks, tids = by_pid(trace, p), {}
    for (task, thread), name in p.names.items():
        tids[task, name.split(" ")[-1]] = thread
    for domain, title in query(trace, "SELECT DISTINCT d.name, d.title FROM call c JOIN op o ON o.id = c.op "
                                      "JOIN domain d ON d.id = o.domain"):
        kind = next(n for n, label in p.labels.items() if label == title)
        wanted = {((tasks[pid], tids[tasks[pid], str(tid)]), name): (n, ns) for pid, tid, name, n, ns in query(
            trace, f"""SELECT p.pid, t.tid, o.name, count(*), sum(c.duration) FROM call c JOIN thread t ON t.id = c.thread
                JOIN process p ON p.id = t.process JOIN op o ON o.id = c.op JOIN domain d ON d.id = o.domain
                WHERE d.name = '{domain}' GROUP BY 1, 2, 3""")}
        expect(wanted and p.intervals(kind) == wanted, domain, p.intervals(kind), wanted)


def check_devices(trace, p):
    spent = {}
    for kind, sql in ((KERNEL, "SELECT name, count(*), sum(duration) FROM kernels GROUP BY 1"),
                      (COPY, "SELECT operation, count(*), sum(duration) FROM memory_copies GROUP BY 1")):
        got = collections.defaultdict(lambda: (0, 0))
        for (_, name), (n, ns) in p.intervals(kind).items():
            got[name] = (got[name][0] + n, got[name][1] + ns)
        wanted = {name: (n, ns) for name, n, ns in query(trace, sql)}
        expect(wanted and got == wanted, p.labels[kind], got, wanted)
        spent[kind] = sum(ns for _, ns in wanted.values())
    moved = collections.Counter()
    for (_, kind), events in p.events.items():
        moved[kind] += sum(v for _, v in events)
    expect(moved[COPY_BYTES] == query(trace, "SELECT sum(size) FROM memory_copies")[0][0], "bytes", moved)
    for axis in "xyz":
        for label, column in (("Work items", "global"), ("Group", "local"), ("Offset", "offset")):
            wanted = query(trace, f"SELECT total({column}_{axis}) FROM dispatch")[0][0]
            expect(p.total(f"{label}, {axis}") == wanted, label, axis, wanted)
    expect(p.total("Address") == query(trace, "SELECT sum(address) FROM allocation")[0][0], "addresses")
    waits = query(trace, "SELECT count(*), sum(duration), total(events) FROM sync")[0]
    kind = next(k for k, label in p.labels.items() if label == "Waits")
    got = list(p.intervals(kind).values())
    expect((sum(n for n, _ in got), sum(ns for _, ns in got), p.total("Events waited for")) == waits, "waits", got, waits)
    states = collections.Counter()
    for _, start, end, state in p.states:
        states[state] += end - start
    expect(states == {1: spent[KERNEL], 17: spent[COPY]}, "states", states, spent)
    expect((p.state_names[1], p.state_names[17]) == ("Running", "Memory transfer"), "names of states", p.state_names)
    return collections.Counter(p.names.values())


def test_work():
    run(KYMO, "run", "--no-summary", "-o", "a.kymo", HEAT, "--size", "64", "--frames", "3")
    run(KYMO, "run", "--no-summary", "-o", "b.kymo", TWO, env=dict(os.environ, POCL_DEVICES="pthread pthread"))
    run(KYMO, "merge", "-o", "all.kymo", "a.kymo", "b.kymo")
    run(KYMO, "export", "--to", "paraver", "-o", "out", "all.kymo")
    p = Paraver("out")
    check_calls("all.kymo", p)
    queues = check_devices("all.kymo", p)
    expect(sum("queue" in name for name in queues) >= 3, "queues of two devices and two processes", queues)
    expect(sorted(os.listdir("out")) == ["trace.pcf", "trace.prv", "trace.row"], os.listdir("out"))
    again = run(KYMO, "export", "--to", "paraver", "-o", "out", "all.kymo", status=3)
    expect("File exists" in again.stderr, again.stderr)


def check_messages(mpi):
    mpirun, program = shutil.which("mpirun." + mpi), os.path.join(PROGRAMS, "drum." + mpi)
    if not mpirun or not os.path.exists(program):
        return
    more = ["--oversubscribe", "--allow-run-as-root"] if mpi == "openmpi" else []
    run(KYMO, "run", "--no-summary", "-o", f"{mpi}.kymo", mpirun, *more, "-n", "3", program)
    told = run(KYMO, "export", "--to", "paraver", "-o", mpi, f"{mpi}.kymo").stderr
    p = Paraver(mpi)
    ranks = {i: int(n.split(" ")[1]) for i, n in enumerate(p.task_names, 1) if n.startswith("rank ")}
    expect(ranks == {1: 0, 2: 1, 3: 2}, p.task_names)
    wanted = sorted(query(f"{mpi}.kymo", """SELECT s.rank AS sender, r.rank AS receiver, s.start, r.end, s.sent, s.tag FROM messages s
        JOIN messages r ON r.match = s.match AND r.kind = 'receive' WHERE s.kind = 'send'"""))
    got = sorted((ranks[s[0]], ranks[r[0]], start, end, size, tag) for s, r, start, end, size, tag in p.messages)
    expect(len(wanted) > 100 and got == wanted, "messages", got[:4], wanted[:4], len(got), len(wanted))
    named = query(f"{mpi}.kymo", "SELECT count(*) FROM comm WHERE communicator OR datatype")[0][0]
    left = re.findall(r"[^,:\n]*transfers[^,\n]*", told)
    expect(named and left == [f" communicators and types of transfers ({named})"], left, named)
    # What has no other end: as intervals on its thread, with its sizes.
    others = "FROM comm c JOIN op o ON o.id = c.op WHERE c.match IS NULL OR c.match = 0"
    wanted = dict((name, (n, ns)) for name, n, ns in query(
        f"{mpi}.kymo", f"SELECT o.name, count(*), sum(c.duration) {others} GROUP BY 1"))
    got = collections.defaultdict(lambda: (0, 0))
    for (_, name), (n, ns) in p.intervals(next(k for k, label in p.labels.items() if label == "Messages")).items():
        got[name] = (got[name][0] + n, got[name][1] + ns)
    expect("collective" in wanted and got == wanted, "transfers", got, wanted)
    sent, received = query(f"{mpi}.kymo", f"SELECT sum(sent), sum(received) {others}")[0]
    expect((p.total("Sent [bytes]"), p.total("Received [bytes]")) == (sent, received), "sizes", sent, received)


def test_messages():
    for mpi in ("openmpi", "mpich"):
        check_messages(mpi)


def test_time():
    run(SYNTH, "growth", "mpi.kymo", "mpi", "200")
    told = run(KYMO, "export", "--to", "paraver", "-o", "out", "mpi.kymo").stderr
    expect(f"call sites ({query('mpi.kymo', 'SELECT count(*) FROM call')[0][0]})" in told, told)
    check_calls("mpi.kymo", Paraver("out"))


def test_ranges():
    run(KYMO, "run", "--no-summary", "-o", "r.kymo", ANNOTATED)
    told = run(KYMO, "export", "--to", "paraver", "-o", "out", "r.kymo").stderr
    p = Paraver("out")
    began = collections.Counter()
    for (_, kind), events in p.events.items():
        if kind == RANGE:
            began.update(p.values[RANGE][v] for _, v in events if v)
    wanted = collections.Counter(dict(query("r.kymo", "SELECT name, count(*) FROM markers WHERE kind LIKE '%range%' GROUP BY 1")))
    expect(wanted and set(began) == set(wanted) and all(began[k] >= n for k, n in wanted.items()), "ranges", began, wanted)
    marks = sum(len(e) for (_, kind), e in p.events.items() if kind == MARK)
    expect(marks == query("r.kymo", "SELECT count(*) FROM markers WHERE kind NOT LIKE '%range%'")[0][0], "marks", marks, told)


def test_open_and_untimed():
    run(SYNTH, "demo", "demo.kymo")
    told = run(KYMO, "export", "--to", "paraver", "-o", "out", "demo.kymo").stderr
    for what in ("calls that never returned (2)", "negative statuses (1)", "notes of where records were lost (2)",
                 "device work without device times or queue (1)"):
        expect(what in told, what, told)
    p = Paraver("out")
    expect(sorted(size for size, _ in p.tasks) == [1, 5], "threads and queues", p.tasks)
    began = sum(1 for events in p.events.values() for _, value in events if value)
    expect(began > 20, began)


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
