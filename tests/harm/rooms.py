#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Drains with little room, with equals, and killed: nobody is lost unseen, nothing stays behind.

Usage: rooms.py KYMO VICTIM LATE_GREETING [NAME]
"""
import glob
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import Failure, expect, wait_for  # noqa: E402

KYMO, VICTIM, LATE = map(os.path.abspath, sys.argv[1:4])
PATIENCE = 120
MANY = 40
PATIENT, IMPATIENT = 1, 2  # who finds a drain that is busy


def kymo(*words, **options):
    return subprocess.run([KYMO, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, **options)


def query(trace, sql):
    p = kymo("query", "--format", "json", trace, sql)
    expect(p.returncode == 0, p.stderr)
    return json.loads(p.stdout)


def manifests(trace):
    found = []
    for path in glob.glob(f"{trace}/manifest*.json"):
        with open(path, encoding="utf-8") as f:
            found.append(json.load(f))
    return found


# ---- a machine that is busy

ANNOTATIONS = 4 * 6 * 4000 * 2  # of a victim's threads: a mark within a range, again and again


def run_late(**environment):
    """Four threads annotate while Kymo is late to begin in the first of them. Returns recorded, lost, what was said."""
    p = kymo("run", "-f", "--no-summary", "-o", "t.kymo", VICTIM,
             env=dict(os.environ, LD_PRELOAD=LATE, LATE_BEGIN="1", **environment))
    expect(p.returncode == 5, p.returncode, p.stderr)
    row = query("t.kymo", """SELECT count(*) AS recorded,
        (SELECT sum(lost_records) FROM process) AS lost FROM marker""")[0]
    return row["recorded"], row["lost"], p.stderr


def test_threads_wait_for_the_one_that_begins():
    begin = time.monotonic()
    taken, lost, err = run_late(LATE_MS="2500")
    expect(time.monotonic() - begin >= 2.5, "nothing was late")
    expect((taken, lost) == (ANNOTATIONS, 0), taken, lost, err)
    expect(err == "", err)


def test_threads_that_have_waited_in_vain_are_counted():
    taken, lost, err = run_late()  # until the three others have ended, which wait for ten seconds
    expect(lost > 0 and f"{lost:,} records were lost because" in err, lost, err)
    expect(taken + lost == ANNOTATIONS, taken, lost, err)
    notes = kymo("info", "t.kymo").stdout
    expect("more than ten seconds to begin" in notes and "popped" not in notes, notes)


# ---- descriptors

def waiting_at(door):
    """Connections that nobody has accepted: of the door's name, and not yet connected (02)."""
    with open("/proc/net/unix", encoding="utf-8") as f:
        rows = [line.split() for line in f]
    return sum(row[5] == "02" and row[-1] == door for row in rows)


def have_marked():
    return [n for n in glob.glob("go.*") if os.path.getsize(n)]


def all_come_at_once(launcher, patient):
    """
    The drain is busy until others have come and gone, twice each (as what the shell forked, as what that executed),
    and until each of the many has come: as those, and to record. If they are not patient, until they wait no longer.
    """
    drain, (place,) = wait_for(lambda: drain_of(launcher), "the drain"), places()
    with open("begin", "w", encoding="utf-8"): # once the shell is there
        os.kill(drain, signal.SIGSTOP)
        before = waiting_at(place + "/drain")
    wait_for(lambda: waiting_at(place + "/drain") >= before + 5 * MANY, "the processes at the door")
    wait_for(lambda: patient or len(have_marked()) == MANY, "the end of their patience")
    os.kill(drain, signal.SIGCONT)
    wait_for(lambda: waiting_at(place + "/drain") == 0, "the drain") # while all are there


def run_many(soft, hard, late=0, options=(), status=5, at_once=None):
    """Many processes at once under limits of descriptors. Returns what the launcher said."""
    start = "& i=$((i+1)); done"
    others = f"while [ $i -lt {MANY} ]; do /bin/true {start}; wait; i=0; " if at_once else ""
    script = (f"read nothing < begin; i=0; {others}while [ $i -lt {MANY - late} ]; do {VICTIM} wait $PWD/go {start}; "
              f"while set -- go.*; [ $# -lt $i ]; do sleep 0.01; done; "
              f"while [ $i -lt {MANY} ]; do LD_PRELOAD=$LD_PRELOAD:{LATE} LATE_MS=400 {VICTIM} wait $PWD/go {start}; "
              f"wait; exit {0 if options else 5}")
    for name in [*glob.glob("go*"), *glob.glob("begin")]:
        os.unlink(name)
    os.mkfifo("begin")
    p = subprocess.Popen([KYMO, "run", *options, "-f", "-o", "t.kymo", "sh", "-c", script], stderr=subprocess.PIPE, text=True,
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard)))
    if at_once:
        all_come_at_once(p.pid, at_once == PATIENT)
    else:
        with open("begin", "w", encoding="utf-8"):
            pass
    wait_for(lambda: len(have_marked()) == MANY, "the processes")
    with open("go", "w", encoding="utf-8"):
        pass
    err = p.communicate(timeout=PATIENCE)[1]
    expect(p.returncode == status, "status", p.returncode, err)
    for name in glob.glob("go.*"):
        with open(name, encoding="utf-8") as f:
            expect(f.read().strip() == str(soft), "the program's own limit was changed")
    return err


def recorded():
    row = query("t.kymo", """SELECT (SELECT count(*) FROM marker) AS marks, count(*) AS all_of_them,
        sum(how_ended = 6) AS refused, max(CASE WHEN how_ended = 6 THEN exit_status END) AS error FROM process""")[0]
    return row["marks"], row["all_of_them"], row["refused"], row["error"]


def test_soft_limit_is_raised():
    err = run_many(40, min(4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    expect(recorded()[:3] == (MANY, MANY, 0), recorded(), err)
    expect("Lost: nothing." in err, err)


def test_who_is_turned_away_is_counted():
    err = run_many(40, 40)
    marks, everybody, refused, error = recorded()
    expect(everybody == MANY and 0 < refused < MANY and marks + refused == MANY, recorded(), err)
    expect(error == 24, "EMFILE, as errno:", error)
    expect(f"{refused} processes could not be recorded and are lost: Too many open files; raise" in err, err)
    expect(f"Lost: all of {refused} processes" in err and "Lost: nothing" not in err, err)
    said = kymo("summary", "t.kymo").stdout
    expect(f"{refused} processes could not be recorded (Too many open files)" in said and f"Lost: all of {refused} processes" in said, said)
    table = json.loads(kymo("summary", "--format", "json", "t.kymo").stdout)
    expect(json.dumps(table).count(f'"processes_not_recorded": {refused}') == 1, table)
    said = kymo("info", "t.kymo").stdout
    expect(re.search(rf"processes not recorded +{refused}\n", said), said)
    expect(said.count("could not be recorded: Too many open files") > 0, said)
    # They ended at no time that is known: not when the node had run for so long.
    expect(float(re.search(r"Duration +([0-9.]+) s", said)[1]) < PATIENCE, said)
    told = manifests("t.kymo")[0]
    expect(told["totals"]["refused"] == refused and told["totals"]["processes"] == MANY - refused, told["totals"])


def test_busy_drain_turns_away_no_more_than_it_must():
    """Who has come first is recorded, though all others are at the door by then, and many who are gone already."""
    for at_once in (PATIENT, IMPATIENT):
        err = run_many(40, 40, at_once=at_once)
        marks, everybody, refused, error = recorded()
        expect(everybody == MANY and marks + refused == MANY and refused and error == 24, at_once, recorded(), err)
        # Three descriptors each; of the 40 the drain has less than half for itself.
        expect(marks >= 20 // 3, at_once, marks, "are recorded", err)


def test_who_greets_late_is_counted_too():
    """When the drain has no room left."""
    err = run_many(40, 40, late=12)
    marks, everybody, refused, error = recorded()
    expect(everybody == MANY and 0 < refused < MANY and marks + refused == MANY and error == 24, recorded(), err)
    expect(f"Lost: all of {refused} processes" in err and "Lost: nothing" not in err, err)


def test_strict():
    """Who was turned away is a loss to --strict, though the program ends well."""
    run_many(40, 40, options=["--strict"], status=1)
    expect(kymo("summary", "--strict", "t.kymo").returncode == 1, "summary --strict: nothing is lost")


# ---- names

def run_equals(words):
    """Four ranks of a job that all have one host name and one process number."""
    script = f"hostname localhost; exec {KYMO} run --no-summary -o {os.getcwd()}/equals.kymo {VICTIM}"
    ranks = [subprocess.Popen([*words, "sh", "-c", script], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              env={**os.environ, "OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": "4",
                                   "PMIX_NAMESPACE": "equals", "KYMO_JOB": "equals"})
             for rank in range(4)]
    for p in ranks:
        err = p.communicate(timeout=PATIENCE)[1]
        expect(p.returncode == 5, p.returncode, err)


def test_equal_names():
    for words in (["unshare", "-u", "-p", "-f", "--mount-proc"], ["unshare", "-u"]):
        if subprocess.run([*words, "true"], stderr=subprocess.DEVNULL).returncode != 0:
            print("skipped, this user may not make name spaces:", *words)
            continue
        run_equals(words)
        row = query("equals.kymo", """SELECT count(*) AS n, count(DISTINCT rank) AS ranks, (SELECT count(*) FROM marker
            WHERE NOT EXISTS (SELECT 1 FROM process WHERE lost_records)) AS marks FROM process""")[0]
        one = kymo("run", "--no-summary", "-f", "-o", "one.kymo", VICTIM)
        expect(one.returncode == 5, one.stderr)
        marks = query("one.kymo", "SELECT count(*) AS n FROM marker")[0]["n"]
        expect((row["n"], row["ranks"]) == (4, 4) and row["marks"] == 4 * marks, row, marks)
        written = manifests("equals.kymo")
        expect(len(written) == 1, "manifests:", len(written))
        told = [*written, *written[0]["nodes"]]
        expect(len(told) == 4 and all(m["state"] == "complete" for m in told), "manifests:", len(told))
        expect(sum(m["totals"]["processes"] for m in told) == 4, told)
        # What a script reads of the job: all ranks together.
        table = json.loads(kymo("summary", "--format", "json", "equals.kymo").stdout)
        quality = next(t for t in walk(table) if isinstance(t, dict) and "lost_records" in t)
        expect(quality["processes"] == 4 and quality["ranks"] == 4, quality)
        left = [n for n in os.listdir("equals.kymo") if not n.startswith(("manifest", "raw", "store"))]
        expect(not left, left)
        kymotest.remove("equals.kymo")


def walk(x):
    yield x
    for y in x.values() if isinstance(x, dict) else x if isinstance(x, list) else ():
        yield from walk(y)


# ---- what is left behind

def named_child(parent, name):
    for pid in os.listdir("/proc"):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
                text = f.read()
        except OSError:
            continue
        if f"({name})" in text and int(text.rsplit(")", 1)[1].split()[1]) == parent:
            return int(pid)
    return None


def keeper_of(launcher):
    return named_child(launcher, "kymo-keeper")


def drain_of(launcher):
    keeper = keeper_of(launcher)
    return keeper and named_child(keeper, "kymo-drain")


def places():
    return glob.glob(os.environ["XDG_RUNTIME_DIR"] + "/kymo-drain-*")


def left(trace):
    return [n for n in glob.glob(f"{trace}/*") + glob.glob(f"{trace}/.*") + glob.glob(f"{trace}/raw/*") + glob.glob(f"{trace}/raw/.*")
            if "control-" in n or n.endswith((".tmp", ".part"))]


def killed(trace, who):
    """kymo run, of which some are killed at once in mid-run."""
    if os.path.exists("go"):
        os.unlink("go")
    for name in glob.glob("go.*"):
        os.unlink(name)
    p = subprocess.Popen([KYMO, "run", "--no-summary", "-o", trace, VICTIM, "wait", os.getcwd() + "/go"], stderr=subprocess.PIPE, text=True)
    own = wait_for(lambda: glob.glob("go.*"), "the program")
    program, drain = int(own[0].split(".")[1]), wait_for(lambda: drain_of(p.pid), "the drain")
    pids = {"launcher": p.pid, "keeper": keeper_of(p.pid), "drain": drain, "program": program}
    expect(len(places()) == 1 and left(trace), "nothing to be left behind:", places(), os.listdir(trace))
    for name in who:
        os.kill(pids[name], signal.SIGSTOP) # none sees the others die
    for name in who:
        os.kill(pids[name], signal.SIGKILL)
    with open("go", "w", encoding="utf-8"):
        pass
    p.communicate(timeout=PATIENCE)
    for pid in (drain, program):
        wait_for(lambda pid=pid: not os.path.exists(f"/proc/{pid}") or "\nState:\tZ" in open(f"/proc/{pid}/status", encoding="utf-8").read(), "an end")


def test_next_run_cleans():
    for n, who in enumerate((("keeper", "launcher", "drain", "program"), ("keeper", "launcher", "drain"),
                             ("keeper", "drain"), ("drain",), ("drain", "launcher"), ("launcher",))):
        trace = f"killed{n}.kymo"
        killed(trace, who)
        if "launcher" in who and "keeper" in who:
            expect(len(places()) == 1 and left(trace), who, "left nothing: nothing is tested")
            p = kymo("doctor") if n else kymo("run", "--no-summary", "-o", f"next{n}.kymo", "true")
            # Beside it other recordings may have been killed whose place is /tmp.
            mine = f"1 recording was killed; what it left behind in {os.environ['XDG_RUNTIME_DIR']} is removed"
            expect(not n or mine in p.stdout, p.stdout)
        # The others clean up by themselves.
        wait_for(lambda t=trace: not places() and not left(t), f"{who}: {places()}, {left(trace)} stay")


def test_who_runs_is_left_alone():
    if os.path.exists("go"):
        os.unlink("go")
    for name in glob.glob("go.*"):
        os.unlink(name)
    p = subprocess.Popen([KYMO, "run", "--no-summary", "-o", "alive.kymo", VICTIM, "wait", os.getcwd() + "/go"])
    wait_for(lambda: glob.glob("go.*"), "the program")
    for words in (["run", "--no-summary", "-o", "beside.kymo", "true"], ["doctor"]):
        kymo(*words)
    expect(len(places()) == 1 and left("alive.kymo"), "a recording under way was taken for left over")
    q = kymo("ctl", "flush", "alive.kymo")
    expect(q.returncode == 0, q.stderr)
    with open("go", "w", encoding="utf-8"):
        pass
    expect(p.wait(PATIENCE) == 5, p.returncode)
    wait_for(lambda: not places(), "the place stays")


def test_killed_while_compressing():
    """At the moment when the compressed file is being written: it has no name yet, and nothing stays of it."""
    for attempt in range(20):
        trace = f"compress{attempt}.kymo"
        p = subprocess.Popen([KYMO, "run", "--no-summary", "-o", trace, VICTIM], stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE, text=True)
        drain = wait_for(lambda: drain_of(p.pid) or p.poll() is not None, "the drain")
        keeper = keeper_of(p.pid)
        if drain is True or not keeper:
            p.communicate(timeout=PATIENCE)
            continue # it was quicker
        limit, found = time.monotonic() + PATIENCE, False
        while not found and p.poll() is None and time.monotonic() < limit:
            found = kymotest.compresses(drain, trace)
        if found: # the launcher must not see it die
            for pid, number in ((drain, signal.SIGSTOP), (keeper, signal.SIGKILL), (p.pid, signal.SIGKILL), (drain, signal.SIGKILL)):
                try:
                    os.kill(pid, number)
                except ProcessLookupError:
                    pass # too late
        p.communicate(timeout=PATIENCE)
        if found and places():
            break
    expect(places(), "the moment was not met")
    expect(not left(trace) and len(os.listdir(trace + "/raw")) == 1, left(trace), os.listdir(trace + "/raw"))
    # Where the file system has no files without names.
    with open(f"{trace}/raw/x.kyr.{places()[0][-6:]}.tmp", "w", encoding="utf-8"):
        pass
    # Readers do not stumble over it.
    marks = query(trace, "SELECT count(*) AS n, (SELECT count(*) FROM process) AS p FROM marker")[0]
    expect(marks["p"] == 1 and marks["n"] > 90000, marks)
    kymo("run", "--no-summary", "-o", "after.kymo", "true")
    wait_for(lambda: not places() and not left(trace), "it stays")


def main():
    bad = 0
    for name, fn in list(globals().items()):
        if not name.startswith("test_") or (len(sys.argv) > 4 and sys.argv[4] not in name):
            continue
        with kymotest.Folder() as folder, kymotest.Folder() as runtime:
            os.environ["XDG_RUNTIME_DIR"] = runtime
            os.chdir(folder)
            try:
                fn()
                print("ok  ", name, flush=True)
            except (Failure, subprocess.TimeoutExpired) as e:
                bad += 1
                print("FAIL", name + ":", e, flush=True)
            os.chdir("/")
    return 1 if bad else 0


sys.exit(main())
