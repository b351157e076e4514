#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kymo run --period: what is in a window is recorded, what is not is a pause that everything tells of; processes,
children, late ones and ranks are in the same window: period.py KYMO PERIOD_PROGRAM."""
import glob
import json
import os
import re
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import check, expect, must  # noqa: E402

KYMO, PROGRAM = map(os.path.abspath, sys.argv[1:3])
MS = 1000000
EDGE = 100 * MS  # a thread may be kept from going on while all is switched over
# Of a window's edge: when it was due and when the thread that waited for it ran.
LATE = 900 * MS


def rows(trace, text):
    return json.loads(must(KYMO, "query", "-f", "json", trace, text))


def record(trace, *options, program, env=None):
    done = kymotest.run(KYMO, "run", "-f", *options, "-o", trace, "--", *program, env=env or kymotest.environment())
    expect(done.returncode == 0, done.stderr)
    return done.stderr


class Truth:
    """What the program says that it did."""

    def __init__(self, prefix):
        self.began, self.ticks = set(), {}
        for path in glob.glob(glob.escape(prefix) + ".[0-9]*"):
            with open(path, encoding="utf-8") as f:
                began, realtime, raw = map(int, next(f).split())
                self.began.add(began)
                self.began_raw = raw - (realtime - began)
                for line in f:
                    name, before, after = line.split()
                    self.ticks[name] = int(before), int(after)
        self.pids = {int(name.split(".")[0]) for name in self.ticks}


def compare(what, trace, truth, cycle, delay, repeat=0):
    """The trace has the ticks of its windows, all of them and no others, and its windows are those that were asked for."""
    marks = {r["name"]: r["start"] for r in rows(trace, "SELECT name, start FROM markers WHERE kind = 'mark'")}
    check(f"{what}: ticks are the program's", sorted(set(marks) - set(truth.ticks)), [])
    offset = statistics.median(start - truth.ticks[name][0] for name, start in marks.items())
    pauses = rows(trace, "SELECT p.pid, x.start, x.end FROM pause x JOIN process p ON p.id = x.process ORDER BY 1, 2")
    check(f"{what}: processes", {r["pid"] for r in pauses} >= truth.pids, True)
    origin = rows(trace, "SELECT min(start) AS at FROM process")[0]["at"]
    wrong, missing, stray = [], [], []
    for name, (before, after) in truth.ticks.items():
        pid = int(name.split(".")[0])
        mine = [(r["start"], r["end"]) for r in pauses if r["pid"] == pid]
        inside = [s <= before + offset and after + offset <= e for s, e in mine]
        touches = [s <= after + offset + EDGE and before + offset - EDGE <= e for s, e in mine]
        if any(inside) and name in marks and not any(s - EDGE <= marks[name] <= s + EDGE or
                                                     e - EDGE <= marks[name] <= e + EDGE for s, e in mine):
            stray.append(name)
        if not any(touches) and name not in marks:
            missing.append(name)
    check(f"{what}: recorded in a pause", stray[:5], [])
    check(f"{what}: not recorded in a window", missing[:5], [])
    for r in pauses:
        begins = r["start"] - offset - truth.began_raw
        if r["start"] > origin and begins > 0 and begins % cycle > LATE and begins // cycle < (repeat or 1e9):
            wrong.append(("pause", r["pid"], begins % cycle))
        ends = r["end"] - offset - truth.began_raw
        if any(r["pid"] == o["pid"] and o["start"] > r["end"] for o in pauses) and ends % cycle < delay - 2 * MS:
            wrong.append(("window", r["pid"], ends % cycle))
    check(f"{what}: edges", wrong, [])
    check(f"{what}: something recorded and something not", (len(marks) > 20, len(marks) < len(truth.ticks) - 20), (True, True))
    return marks, pauses


def told(what, trace, said, pauses, pids):
    """How much was recorded is the same in the summary, in its tables, in info and in SQL."""
    lived = rows(trace, "SELECT sum(recorded) AS recorded, sum(end - start) AS lived FROM processes WHERE pid IN "
                 f"({','.join(map(str, pids))})")[0]
    row = json.loads(must(KYMO, "summary", "-f", "json", "--tables", "quality", trace))["tables"][0]["rows"][0]
    seconds = sum(r["end"] - r["start"] for r in pauses if r["pid"] in pids) / 1e9
    head = re.search(r"Recorded: ([0-9.]+) s of (?:the )?([0-9.]+) s.*paused (\d+) times", said)
    expect(head, said)
    check(f"{what}: pauses", (int(head[3]), row["pauses"]), (len(pauses), len(pauses)))
    check(f"{what}: time", abs(float(head[2]) - float(head[1]) - seconds) < 0.01, True)
    check(f"{what}: quality", abs((row["lived_ns"] - row["recorded_ns"]) / 1e9 - seconds) < 0.01, True)
    check(f"{what}: view", abs((lived["lived"] - lived["recorded"]) / 1e9 - seconds) < 0.01, True)
    check(f"{what}: which", "--period '" in said and "--period '" in must(KYMO, "info", trace), True)
    check(f"{what}: what bounds it", "cannot be told" in said, True)


def windows(folder):
    for name, period, cycle, delay, repeat, ms in (("ever", "1s:500ms", 1500 * MS, 1000 * MS, 0, 4000),
                                                   ("twice", "1.5:300ms:2", 1800 * MS, 1500 * MS, 2, 4500)):
        trace, ticks = os.path.join(folder, f"{name}.kymo"), os.path.join(folder, name)
        late = () if repeat else ("late",)  # it would come after all windows
        said = record(trace, "--period", period, program=(PROGRAM, str(ms), ticks, *late))
        truth = Truth(ticks)
        check(f"{name}: processes", len(truth.pids), 1 if repeat else 2)  # the late one has its parent's number
        marks, pauses = compare(name, trace, truth, cycle, delay, repeat)
        check(f"{name}: threads", {n.split(".")[1] for n in marks}, {n.split(".")[1] for n in truth.ticks})
        check(f"{name}: of the program", len({n.split(".")[1] for n in truth.ticks}), 2 if repeat else 4)
        check(f"{name}: both processes", {int(n.split(".")[0]) for n in marks}, truth.pids)
        told(name, trace, said, pauses, truth.pids)
        if repeat:
            late = max(truth.ticks[n][0] for n in marks) - truth.began_raw
            check(f"{name}: is over", late < repeat * cycle + LATE, True)


def ranks(folder):
    """Ranks with launchers of their own count from when the first one began."""
    trace, ticks = os.path.join(folder, "job.kymo"), os.path.join(folder, "job")
    started = []
    for rank in (0, 1):
        env = kymotest.environment(SLURM_PROCID=str(rank), SLURM_NTASKS="2", SLURM_JOB_ID="7", SLURM_STEP_ID="0",
                                   SLURM_STEP_NUM_TASKS="2")
        started.append(subprocess.Popen(  # pylint: disable=consider-using-with
            [KYMO, "run", "--period", "1s:1s", "--no-summary", "-o", trace, "--", PROGRAM, "3000", ticks], env=env,
            stderr=subprocess.PIPE, text=True))
        kymotest.wait_for(lambda: os.path.exists(os.path.join(trace, "manifest.json")), "the trace")
        if rank == 0:
            kymotest.wait_for(lambda: glob.glob(glob.escape(ticks) + ".[0-9]*"), "its program")
    for p in started:
        expect(p.wait(kymotest.WAIT) == 0, p.stderr.read())
        p.stderr.close()
    truth = Truth(ticks)
    check("ranks: processes", len(truth.pids), 2)
    check("ranks: began together", len(truth.began), 1)
    compare("ranks", trace, truth, 2000 * MS, 1000 * MS)


def none(folder):
    trace, ticks = os.path.join(folder, "none.kymo"), os.path.join(folder, "none")
    said = record(trace, "--period", "1h:1s", program=(PROGRAM, "10", ticks))
    check("no window came", "--before and --period leave" in said, True)
    check("nor is it in a summary", "--before and --period left." in must(KYMO, "summary", trace), True)
    record(trace, "--period", "0:1h:3", program=(PROGRAM, "10", ticks + "0"))
    check("without a pause all is recorded", len(rows(trace, "SELECT name FROM markers")), len(Truth(ticks + "0").ticks))
    check("without a pause", rows(trace, "SELECT count(*) AS n FROM pause"), [{"n": 0}])


def refused(folder):
    trace = os.path.join(folder, "refused.kymo")
    for option, said in ((["--period", "1s"], "is not DELAY:DURATION[:REPEAT]"), (["--period", ""], "is not DELAY"),
                         (["--period", "soon:1s"], "begins with no duration"), (["--period", "1s:"], "has no duration"),
                         (["--period=-1s:1s"], "begins with no duration"),
                         (["--period", "1s:1s:"], "no number of windows"), (["--period", "1s:1s:2:3"], "no number of windows"),
                         (["--period", "1s:1s:-1"], "no number of windows"),
                         (["--period", "1s:1s:99999999999999999999"], "no number of windows"),
                         (["--period", "1s:0"], "records for less than 1ms"), (["--period", "1us:1s"], "pauses for less than 1ms"),
                         (["--period", "1s:1s", "--delay", "1s"], "--period has a delay and a duration of its own"),
                         (["--period", "1s:1s", "--duration", "1s"], "--period has a delay and a duration of its own"),
                         (["--period", "1s:1s", "--before", "1s"], "--period has a delay and a duration of its own"),
                         (["--period", "1s:1s", "--start-paused"], "--start-paused leaves the time")):
        done = kymotest.run(KYMO, "run", *option, "-o", trace, "--", "true")
        check(f"{option}: refused", (done.returncode, said in done.stderr, os.path.exists(trace)), (2, True, False))
    done = kymotest.run(KYMO, "run", "-o", trace, "--", "true", env=kymotest.environment(KYMO_PERIOD="1s"))
    check("of the environment", (done.returncode, "KYMO_PERIOD: \"1s\" is not" in done.stderr), (2, True))


def main():
    with kymotest.Folder() as folder:
        refused(folder)
        none(folder)
        windows(folder)
        ranks(folder)


main()
sys.exit(1 if kymotest.wrong else 0)
