#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kymo run --kill: the program and what it started gets the signal when recording is over, not before, and what was recorded is
whole: kill_at_end.py KYMO PERIOD_PROGRAM."""
import glob
import json
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import check, expect, must  # noqa: E402

KYMO, PROGRAM = map(os.path.abspath, sys.argv[1:3])
FOR_EVER = "600000"  # ms; a program that was not ended runs into the test's limit


def gone(pid):
    """Ended, though nobody may have asked for its status."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            return f.read().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def pids_of(ticks):
    return {int(path.rsplit(".", 2)[1]) for path in glob.glob(glob.escape(ticks) + ".[0-9]*")}


def record(folder, name, *options, program=None, env=None):
    """Exit status, what was said, what the program wrote, and how long it took."""
    trace, ticks = os.path.join(folder, f"{name}.kymo"), os.path.join(folder, name)
    began = time.monotonic()
    done = kymotest.run(KYMO, "run", "-f", "--no-summary", *options, "-o", trace, "--", *(program or (PROGRAM, FOR_EVER, ticks, "late")),
                        env=env or kymotest.environment())
    return done.returncode, done.stderr, ticks, time.monotonic() - began


def marks(folder, name):
    return json.loads(must(KYMO, "query", "-f", "json", os.path.join(folder, f"{name}.kymo"),
                           "SELECT p.pid, count(*) AS n, max(m.end) AS last FROM markers m JOIN process p ON p.pid = m.pid GROUP BY 1"))


def ends(folder):
    """Two processes of two threads each; all ways to say when recording ends, and each kind of name of a signal."""
    for name, options, number, least in (("duration", ("--duration", "1500ms", "--kill"), signal.SIGTERM, 1.5),
                                         ("delay", ("--delay", "300ms", "--duration", "1200ms", "--kill=kill"), signal.SIGKILL, 1.5),
                                         ("before", ("--before", "1500ms", "--kill=SIGUSR1"), signal.SIGUSR1, 1.5),
                                         ("first", ("--after", "100ms", "--duration", "1400ms", "--before", "1h", "--kill=2"),
                                          signal.SIGINT, 1.5),
                                         ("period", ("--period", "400ms:400ms:2", "--kill=HUP"), signal.SIGHUP, 1.6)):
        status, said, ticks, took = record(folder, name, *options)
        check(f"{name}: the program's status is that signal", status, -number)
        check(f"{name}: not before", took >= least, True)
        pids = pids_of(ticks)
        check(f"{name}: processes", len(pids), 2)
        for pid in pids:
            kymotest.wait_for(lambda pid=pid: gone(pid), "its end")
        check(f"{name}: it is said", f"signal {int(number)} (" in said and "was sent to 2 processes" in said, True)
        rows = marks(folder, name)
        check(f"{name}: both are recorded", {r["pid"] for r in rows}, pids)
        check(f"{name}: with what they did", all(r["n"] > 5 for r in rows), True)


def obeyed(folder):
    """A program may tidy up, and its own status counts; one that ends by itself is left alone."""
    script = "trap 'exit 7' TERM; echo > \"$0\"; while :; do sleep 0.02; done"
    status, _, _, _ = record(folder, "trap", "--duration", "2s", "--kill", program=("sh", "-c", script, os.path.join(folder, "on")))
    check("its own status", status, 7)
    status, said, _, took = record(folder, "short", "--duration", "1h", "--kill", program=("sh", "-c", "exit 3"))
    check("ended before", (status, "recording was over" in said, took < 600), (3, False, True))
    status, _, ticks, _ = record(folder, "on", "--duration", "100ms", program=(PROGRAM, "400", os.path.join(folder, "on")))
    check("without --kill it runs on", status, 0)
    status, said, _, _ = record(folder, "untraced", "--untraced", "--duration", "200ms", "--kill", program=("sleep", "600"))
    check("whatever the program is", status, -signal.SIGTERM)


def ranks(folder):
    """Each launcher ends its own rank; --before counts from when the first one began."""
    trace, started = os.path.join(folder, "job.kymo"), []
    for rank in (0, 1):
        env = kymotest.environment(SLURM_PROCID=str(rank), SLURM_NTASKS="2", SLURM_JOB_ID="9", SLURM_STEP_ID="0",
                                   SLURM_STEP_NUM_TASKS="2")
        started.append(subprocess.Popen(  # pylint: disable=consider-using-with
            [KYMO, "run", "--before", "2s", "--kill", "--no-summary", "-o", trace, "--", PROGRAM, FOR_EVER, os.path.join(folder, "job")],
            env=env, stderr=subprocess.PIPE, text=True))
        kymotest.wait_for(lambda: os.path.exists(os.path.join(trace, "manifest.json")), "the trace")
    for p in started:
        expect(p.wait(kymotest.WAIT) == -signal.SIGTERM, p.stderr.read())
        p.stderr.close()
    pids = pids_of(os.path.join(folder, "job"))
    check("ranks", (len(pids), {r["pid"] for r in marks(folder, "job")}), (2, pids))


def refused(folder):
    for options, said in ((["--kill"], "say when"), (["--kill", "--start-paused"], "say when"), (["--kill", "--period", "1s:1s"], "say when"),
                          (["--kill", "--period", "1s:1s:0"], "say when"), (["--kill=no", "--duration", "1s"], '"no" is no signal: there are HUP'),
                          (["--kill=0", "--duration", "1s"], "is no signal"), (["--kill=65", "--duration", "1s"], "is no signal"),
                          (["--kill=SIG", "--duration", "1s"], "is no signal"), (["--kill=", "--duration", "1s"], "is no signal")):
        status, err, _, _ = record(folder, "refused", *options, program=("true",))
        check(f"{options}: refused", (status, said in err, os.path.exists(os.path.join(folder, "refused.kymo"))), (2, True, False))


def main():
    with kymotest.Folder() as folder:
        refused(folder)
        ends(folder)
        obeyed(folder)
        ranks(folder)


main()
sys.exit(1 if kymotest.wrong else 0)
