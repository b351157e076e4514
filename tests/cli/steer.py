#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kymo ctl pause, resume and flush reach every process there is, used or not, and those that come:
steer.py KYMO STEER_PROGRAM."""
import os
import subprocess
import sys
import tempfile
import time

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
        while not self.drained() and time.monotonic() < deadline:
            time.sleep(0.01)  # the program may be there before the drain is

    def drained(self):
        return any(name.startswith("control-") for name in os.listdir(self.trace))

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


def main():
    with tempfile.TemporaryDirectory() as folder:
        tests = [before_any_call, paused_and_used, children, pause_then_fork,
                 start_paused_then_exec, first_use_in_children,
                 fork_in_delay, child_has_a_delay, own_pause_counts, two_launchers, nobody]
        for test in tests:
            test(folder)
    return checks.status(60)


sys.exit(main())
