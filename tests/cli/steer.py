#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kymo ctl pause, resume and flush reach every process there is, used or not, and those that come; when
recording was on is told, by all outputs the same: steer.py KYMO STEER_PROGRAM."""
import csv
import fcntl
import json
import os
import re
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402

import traced

KYMO, PROGRAM = sys.argv[1:3]
PATIENCE = 120
checks = traced.Checks()


class Program:
    """The program of the test in a recording, which does what it is told."""

    def __init__(self, folder, name, *options, trace=None, command=(PROGRAM,)):
        self.trace = os.path.join(folder, trace or f"{name}.kymo")
        self.name = name
        self.process = subprocess.Popen(
            [KYMO, "run", "--no-summary", "--mode", "full", *options, "-o", self.trace, "--", *command],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        checks.equal(f"{name}: started", self.process.stdout.readline(), "ready\n")
        deadline = time.monotonic() + PATIENCE
        while not self.has_drain(): # the program may be there before it; of one job all launchers have the same
            assert time.monotonic() < deadline, f"{name}: no drain has come"
            time.sleep(0.01)

    def has_drain(self):
        return os.path.isdir(self.trace) and any(name.startswith("control-") for name in os.listdir(self.trace))

    def __call__(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def ctl(self, what, status=0, text=None):
        done = traced.Run([KYMO, "ctl", "--timeout", "60s", what, self.trace], timeout=PATIENCE)
        said = done.err.replace(self.trace, "TRACE").strip().splitlines()
        checks.equal(f"{self.name}: status of {what}", (done.status, done.err if done.status != status
                                                        else ""), (status, ""))
        if text is not None:
            checks.equal(f"{self.name}: {what} says", said, text)

    def end(self):
        out, err = self.process.communicate(timeout=PATIENCE)
        checks.equal(f"{self.name}: ended", (self.process.returncode, out.strip()[-4:]), (0, "over"))
        self.err = err
        return self

    def marks(self, *wanted):
        rows = traced.query(KYMO, self.trace, "SELECT name FROM markers ORDER BY name")
        checks.equal(f"{self.name}: marks", [r["name"] for r in rows], sorted(wanted))

    def calls(self, wanted):
        rows = traced.query(KYMO, self.trace, "SELECT count(*) AS n FROM regions")
        checks.equal(f"{self.name}: calls", rows[0]["n"], wanted)


def note(n, done):
    return f"kymo: TRACE: {n} process{'' if n == 1 else 'es'} {done}"


def later(n, done):
    return (f"kymo: TRACE: {n} process{' uses' if n == 1 else 'es use'} no runtime yet, and will be {done} "
            f"when {'it does' if n == 1 else 'they do'}")


def before_any_call(folder):
    """Nothing has been used: the resume holds for what is used first."""
    p = Program(folder, "before_any_call", "--start-paused")
    p.ctl("flush", 0, ["kymo: TRACE: nothing to flush: 1 process has recorded nothing so far"])
    p.ctl("resume", 0, [later(1, "recorded again")])
    p("mark first")
    p("cl")
    p.ctl("resume", 0, [note(1, "recorded again")])
    p.end().marks("first")
    p.calls(2)


def paused_and_used(folder):
    """What was used is paused: somebody has to listen, though there is no record."""
    p = Program(folder, "paused_and_used", "--start-paused")
    p("mark lost")
    p("cl")
    p.ctl("flush", 0, ["kymo: TRACE: nothing to flush: 1 process has recorded nothing so far"])
    p.ctl("resume", 0, [note(1, "recorded again")])
    p("mark first")
    p.ctl("flush", 0, [note(1, "flushed")])
    p("cl")
    p.ctl("pause", 0, [note(1, "paused")])
    p("mark lost")
    p("cl")
    p.ctl("resume")
    p("mark second")
    p.end().marks("first", "second")
    p.calls(2)


def children(folder):
    """Of two that are there, one has used nothing, and one of both ends."""
    p = Program(folder, "children", "--start-paused")
    checks.equal("first child", p("fork"), "0")
    p("mark lost")
    checks.equal("second child", p("fork"), "1")
    p.ctl("resume", 0, [note(2, "recorded again"), later(1, "recorded again")])
    for who in ("", "0 ", "1 "):
        p(f"{who}mark on{who.strip()}")
    p.ctl("pause", 0, [note(3, "paused")])
    checks.equal("third child", p("fork"), "2")
    for who in ("", "0 ", "1 ", "2 "):
        p(f"{who}mark lost")
    p("0 end")
    p.ctl("resume", 0, [note(3, "recorded again")])
    for who in ("", "1 ", "2 "):
        p(f"{who}mark again{who.strip()}")
        p(f"{who}cl")
    p.end().marks("on", "on0", "on1", "again", "again1", "again2")
    p.calls(6)


def pause_then_fork(folder):
    """Children that come in a pause are paused, those of after it are not, and exec changes nothing."""
    p = Program(folder, "pause_then_fork")
    p("mark on")
    p.ctl("pause", 0, [note(1, "paused")])
    p("fork")
    p("0 mark lost")
    p("fork")
    p("1 exec")
    checks.equal("after exec", p("1 mark lost"), "done")
    p.ctl("resume")
    p("0 mark zero")
    p("1 mark one")
    p("fork")
    p("2 mark two")
    p.end().marks("on", "zero", "one", "two")


def start_paused_then_exec(folder):
    p = Program(folder, "start_paused_then_exec", "--start-paused")
    p.ctl("resume")
    p("fork")
    p("0 exec")
    p("0 mark zero")
    p("mark on")
    p.ctl("pause", 0, [note(2, "paused")])
    p("0 mark lost")
    p.end().marks("on", "zero")


def first_use_in_children(folder):
    """Children in a pause are brought in order by whoever comes first: the thread that listens, or the program."""
    p = Program(folder, "first_use_in_children")
    p("mark on")
    p.ctl("pause")
    for _ in range(40):
        p("fork")
        checks.equal("first_use_in_children: used", p("0 mark lost"), "done")
        p("0 end")
        p("forget")
    p.end().marks("on")


def fork_in_delay(folder):
    """The user counts more than a --delay, in who is forked before it is over, too."""
    p = Program(folder, "fork_in_delay", "--delay", "1h")
    p("mark lost")
    p("fork")
    p.ctl("resume", 0, [note(2, "recorded again")])
    p("mark on")
    p("0 mark zero")
    p.end().marks("on", "zero")


def windows():
    """How many threads of the program wait for the begin or the end of a window."""
    names = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.path.samefile(f"/proc/{process}/exe", PROGRAM):
                for task in os.listdir(f"/proc/{process}/task"):
                    with open(f"/proc/{process}/task/{task}/comm", encoding="utf-8") as f:
                        names.append(f.read().strip())
        except OSError:
            pass  # it has ended, or is another user's
    return names.count("kymo-window")


def pause_in_delay(folder):
    """What the program has stopped the end of a delay does not start; what it resumes waits for that."""
    p = Program(folder, "pause_in_delay", "--delay", "500ms")
    p("pause")
    deadline = time.monotonic() + PATIENCE
    while windows() and time.monotonic() < deadline:
        time.sleep(0.01)
    checks.equal("pause_in_delay: the delay is over", windows(), 0)
    p("mark lost")
    p("resume")
    p("mark on")
    p.end().marks("on")
    p = Program(folder, "resume_in_delay", "--delay", "1h")
    p("resume")
    p("mark lost")
    p.end().marks()


def range_in_child(folder):
    """A child counts ranges from 1, though a thread of Kymo's is the first to find out that it is one."""
    p = Program(folder, "range_in_child", "--range", "a#1")
    p("range a")
    p("range a")
    p.ctl("pause")
    p("fork")
    p.ctl("resume")  # a thread of Kymo's obeys, in the child as well
    p("0 range a")
    p("0 range a")
    p.end().marks("a", "a")


def child_has_a_delay(folder):
    """Who is forked before a --delay is over has one of its own, though it uses nothing that is traced."""
    p = Program(folder, "child_has_a_delay", "--delay", "2s")
    p("mark lost")
    p("fork")
    deadline = time.monotonic() + PATIENCE
    rows = []
    while len(rows) < 2 and time.monotonic() < deadline:
        p("mark on")
        p("0 mark zero")
        p.ctl("flush")
        rows = traced.query(KYMO, p.trace, "SELECT DISTINCT name FROM markers")
    checks.equal("child_has_a_delay: marks", sorted(r["name"] for r in rows), ["on", "zero"])
    p.end()


def period(folder):
    """The user counts more than a --period, in who is forked meanwhile, too; and so do the program's own pauses."""
    p = Program(folder, "resume_in_period", "--period", "1h:1h")
    p("mark lost")
    p("resume")  # the program cannot open a window
    p("mark lost")
    p("fork")
    p.ctl("resume", 0, [note(2, "recorded again")])
    p("mark on")
    p("0 mark zero")
    p.end().marks("on", "zero")
    p = Program(folder, "pause_in_period", "--period", "0:1h")
    p("mark on")
    p("pause")
    p("mark lost")
    p("resume")
    p("mark again")
    p.ctl("pause", 0, [note(1, "paused")])
    p("fork")
    p("0 mark lost")
    p.end().marks("again", "on")


def own_pause_counts(folder):
    """What the program did of itself after a resume is what its children inherit."""
    p = Program(folder, "own_pause_counts")
    p("mark on")
    p.ctl("pause")
    p.ctl("resume")
    p("pause")
    p("fork")
    p("0 mark lost")
    p("0 resume")
    p("0 mark zero")
    p("mark lost")
    p.end().marks("on", "zero")


def two_launchers(folder):
    """One trace of two launchers, of which one records nothing yet."""
    os.environ["KYMO_JOB"] = "steer"
    p = Program(folder, "first", "--start-paused", trace="job.kymo")
    q = Program(folder, "second", "--start-paused", trace="job.kymo")
    del os.environ["KYMO_JOB"]
    p("mark lost")
    p.ctl("resume", 0, [note(1, "recorded again"), later(1, "recorded again")])
    p("mark p")
    q("mark q")
    p.ctl("flush", 0, [note(2, "flushed")])
    p.end()
    q.end().marks("p", "q")


def nobody(folder):
    """A process that has become a program in which Kymo is not."""
    p = Program(folder, "nobody", command=["env", "-u", "LD_PRELOAD", PROGRAM])
    for what, done in (("resume", "recorded again"), ("pause", "paused"), ("flush", "flushed")):
        p.ctl(what, 3, [f"kymo: error: TRACE: no process is there that could be {done}: try again once the "
                        "program has started. Programs that are linked statically, run setuid or clear "
                        "their environment have no Kymo in them"])
    p.end()


def near(what, got, least, most):
    """In nanoseconds; a clock of the test's and one of Kymo's may be a millisecond apart."""
    checks.equal(f"{what}: {got} is from {least} to {most}", least - 1e6 <= got <= most + 1e6, True)


def recorded_by_outputs(trace, folder):
    """{output: [(lived, recorded, pauses, filters) by process]}; and the tables of the summary."""
    raw = json.loads(traced.Run([KYMO, "summary", "--format", "json", trace]).out)
    told = {"SQL": [(r["lived"], r["recorded"], r["pauses"], r["filters"] or "") for r in traced.query(
        KYMO, trace, "SELECT lived, recorded, pauses, filters FROM processes ORDER BY id")]}
    store = json.loads(traced.Run([KYMO, "summary", "--format", "json", trace]).out)
    checks.equal("summary of raw and of the store", raw, store)
    out = trace + ".json"
    traced.Run([KYMO, "export", "--to", "json", "-o", out, trace])
    told["JSON"] = [(p["lived"], p["recorded"], len(p["pauses"]), p["filters"])
                    for p in traced.load(out)["end"]["processes"] if p]
    out = trace + ".csv"
    traced.Run([KYMO, "export", "--to", "csv", "-o", out, trace])
    with open(os.path.join(out, "processes.csv"), newline="") as f:  # no formula for a spreadsheet: '-x
        told["CSV"] = [(int(r["lived"]), int(r["recorded"]), int(r["pauses"]), re.sub("^'-", "-", r["filters"]))
                       for r in csv.DictReader(f)]
    for output, rows in told.items():
        checks.equal(f"{output} and SQL", rows, told["SQL"])
    return told["SQL"], {t["name"]: t["rows"] for t in raw["tables"]}, raw["head"]


def two_pauses(folder):
    """Of two processes one pauses itself, both are paused from outside; shares are of what was recorded."""
    p = Program(folder, "two_pauses", "-x", "^clGet")
    clock = time.monotonic_ns
    p("fork")
    p("0 fill")
    p("fill")
    times = {"own": [clock(), p("0 pause") and clock()]}
    time.sleep(0.2)  # what is measured, not waited for
    times["own"] += [clock(), p("0 resume") and clock()]
    times["all"] = [clock(), p.ctl("pause") or clock()]
    time.sleep(0.3)
    times["all"] += [clock(), p.ctl("resume") or clock()]
    p("0 fill")
    p("mark over")
    p.end()
    rows, tables, head = recorded_by_outputs(p.trace, folder)
    pauses = {k: (v[2] - v[1], v[3] - v[0]) for k, v in times.items()}
    checks.equal("pauses", [r[2] for r in rows], [1, 2])
    checks.equal("filters", [r[3] for r in rows], ["-x '^clGet'"] * 2)
    near("first process", rows[0][0] - rows[0][1], *pauses["all"])
    near("second process", rows[1][0] - rows[1][1], pauses["all"][0] + pauses["own"][0],
         pauses["all"][1] + pauses["own"][1])
    quality, = tables["quality"]
    checks.equal("quality", [quality[k] for k in ("lived_ns", "recorded_ns", "pauses", "filters")],
                 [sum(r[0] for r in rows), sum(r[1] for r in rows), 3, "-x '^clGet'"])
    checks.equal("head", [line.split(" s of")[0] for line in head if line.startswith("Recorded:")],
                 [f"Recorded: {quality['recorded_ns'] / 1e9:.3f}"])
    checks.equal("head: filters", "Recorded with: -x '^clGet'" in head, True)
    info = traced.Run([KYMO, "info", p.trace]).out
    checks.equal("info", re.findall(r"recorded (\S+) s of (\S+) s, paused (\d+) time", info),
                 [(f"{r[1] / 1e9:.6f}", f"{r[0] / 1e9:.6f}", str(r[2])) for r in rows])
    spans = traced.query(KYMO, p.trace, "SELECT process, start, end FROM pause ORDER BY process, start")
    users = traced.query(KYMO, p.trace, "SELECT DISTINCT a.label || ' ' || q.label AS name, q.process FROM queue q "
                         "JOIN agent a ON a.id = q.agent")
    for row in tables["queues"]:  # what a process with such a queue did not record is not counted for its queue
        of = {u["process"] for u in users if u["name"] == row["queue"]}
        run = len(of) * quality["duration_ns"] - sum(s["end"] - s["start"] for s in spans if s["process"] in of)
        checks.equal(f"share of the run of {len(of)}", round(row["percent_of_run"], 6),
                     round(100 * row["time_ns"] / run, 6))
    checks.equal("queues of one and of two", sorted({len([u for u in users if u["name"] == row["queue"]])
                                                     for row in tables["queues"]}), [1, 2])
    checks.equal("rows of queues", len(tables["queues"]) > 0, True)


def asked_meanwhile(folder):
    """Answers of a trace that is still being written say so; afterwards they do not."""
    p = Program(folder, "asked")
    p("mark on")
    p.ctl("flush")
    for command in (["query", p.trace, "SELECT name FROM markers"], ["summary", p.trace]):
        done = traced.Run([KYMO, *command], timeout=PATIENCE)
        checks.equal(f"{command[0]}: still recording", "still recording (last data" in done.err + done.out, True)
    # An export says it on the way, and what is made of its output that it was made then.
    out = os.path.join(folder, "asked.ctf")
    done = traced.Run([KYMO, "export", "--to", "ctf", "-o", out, p.trace], timeout=PATIENCE)
    if "there is no format" not in done.err:  # it needs libbabeltrace2
        checks.equal("export: still recording", "1 process is still recording (last data" in done.err
                     and "the output is of what was written so far" in done.err, True)
        done = traced.Run([KYMO, "import", "-o", out + ".kymo", out], timeout=PATIENCE)
        checks.equal("import: was recording", "made while 1 process was still recording" in done.err, True)
    done = traced.Run([KYMO, "export", "--to", "json", "-o", out + ".json", p.trace], timeout=PATIENCE)
    checks.equal("export: still recording", "the output is of what was written so far" in done.err, True)
    p.end()
    done = traced.Run([KYMO, "export", "-f", "--to", "json", "-o", out + ".json", p.trace], timeout=PATIENCE)
    checks.equal("export: recorded", (done.status, "recording" in done.err), (0, False))
    done = traced.Run([KYMO, "query", p.trace, "SELECT name FROM markers"], timeout=PATIENCE)
    checks.equal("recorded", ("still recording" in done.err, done.out.split()), (False, ["name", "on"]))
    # A drain at work that has not written of all processes yet: none of those it knows is recording.
    place = os.path.join(folder, "place")
    os.mkdir(place)
    os.symlink(os.path.join(place, "socket"), os.path.join(p.trace, f"control-{socket.gethostname()}-1"))
    at = os.open(place, os.O_RDONLY)
    fcntl.flock(at, fcntl.LOCK_EX)
    for held in True, False:
        done = traced.Run([KYMO, "query", p.trace, "SELECT name FROM markers"], timeout=PATIENCE)
        checks.equal(f"a drain at work: {held}", ("still being written" in done.err, done.out.split()), (held, ["name", "on"]))
        fcntl.flock(at, fcntl.LOCK_UN)
    os.close(at)


def never_paused(folder):
    """Nothing is said where there is nothing to say; a --start-paused is a pause."""
    p = Program(folder, "never_paused")
    p("mark on")
    p.end()
    rows, tables, head = recorded_by_outputs(p.trace, folder)
    checks.equal("never paused", (rows[0][0] == rows[0][1] > 0, rows[0][2:]), (True, (0, "")))
    checks.equal("never paused: head", [line for line in head if line.startswith("Recorded")], [])
    p = Program(folder, "start_paused", "--start-paused")
    before = time.monotonic_ns()
    time.sleep(0.2)
    p.ctl("resume")
    p("mark on")
    after = time.monotonic_ns()
    p.end()
    rows, tables, head = recorded_by_outputs(p.trace, folder)
    checks.equal("started paused", rows[0][2], 1)
    checks.equal("started paused: at least", rows[0][0] - rows[0][1] >= 200e6, True)
    start, = traced.query(KYMO, p.trace, "SELECT s.end - p.start AS ns, s.start - p.start AS first FROM pause s "
                          "JOIN process p ON p.id = s.process")
    checks.equal("started paused: from the start", start["first"], 0)
    checks.equal("started paused: till", start["ns"] >= 200e6 and after > before, True)


def queue_of_before(folder):
    """A queue that was made while recording was off has no times: that is the reason that is told."""
    p = Program(folder, "queue_of_before", "--start-paused")
    p("fill again")
    p.ctl("resume")
    p("fill again")
    p.end()
    rows = traced.query(KYMO, p.trace, "SELECT untimed_name AS why, count(*) AS n FROM memory_copies GROUP BY 1")
    checks.equal("queue_of_before: SQL", [(r["why"], r["n"]) for r in rows], [("no profiling queue", 1)])
    text = traced.Run([KYMO, "summary", p.trace]).out
    checks.equal("queue_of_before: summary", ("made while recording was off" in text, "gave no times" in text),
                 (True, False))


def main():
    with kymotest.Folder() as folder:
        tests = [before_any_call, paused_and_used, children, pause_then_fork,
                 start_paused_then_exec, first_use_in_children,
                 fork_in_delay, child_has_a_delay, pause_in_delay, period, range_in_child, own_pause_counts, two_launchers, nobody, two_pauses,
                 never_paused, asked_meanwhile, queue_of_before]
        for test in tests:
            test(folder)
    return checks.status(60)


sys.exit(main())
