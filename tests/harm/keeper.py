#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The drain is killed and another one goes on in its place: nothing that was in shared memory is lost, nothing
is there twice.

Usage: keeper.py BUILD [TEST]
"""
import glob
import json
import os
import random
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402

sys.dont_write_bytecode = True
from account import (WAIT, Failure, alive, await_true, counted, drain_of, exact, expect, keeper_of, kill,
                     named, recorded, state)

BUILD = os.path.abspath(sys.argv[1])
KYMO = BUILD + "/bin/kymo"
LOAD = BUILD + "/tests/harm/load"
INJECT = BUILD + "/lib/libkymo-inject.so"
SEED = int(os.environ.get("TEST_SEED", "20"))
# Whoever finds no room waits for the drain, be it another one.
WAITS = ("--block-time", "60s", "--buffer-size", "1M")


def start(*load, options=WAITS, trace="t.kymo", command=None, **popen):
    return subprocess.Popen([KYMO, "run", "--no-summary", "-o", trace, *options, *(command or (LOAD, "counts", *load))],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, **popen)


def finish(p, status=7):
    out, err = p.communicate(timeout=WAIT)
    expect(p.returncode == status, "the program gave", p.returncode, out, err)
    return err


def kill_drain(p, sig=signal.SIGKILL, last=None):
    """Another than `last`; the one that was killed."""
    def other():
        expect(p.poll() is None, "the run is over")
        drain = drain_of(p.pid)
        return drain != last and drain
    drain = await_true(other, "a drain")
    kill(drain, sig)
    return drain


def after(calls, name="counts"):
    await_true(lambda: counted(name)[1] >= calls, f"{calls} calls of {name}")


def go(*names):
    """Lets loads make the calls that they hold back, so that none is over before its drain was killed."""
    for name in names or ("counts",):
        open(name + ".go", "w", encoding="utf-8").close()


def manifest(trace="t.kymo"):
    with open(trace + "/manifest.json", encoding="utf-8") as f:
        return json.load(f)


def said(*words):
    p = subprocess.run([KYMO, *words], capture_output=True, text=True, timeout=WAIT, check=False)
    return p.stdout + p.stderr


def all_there(calls, trace="t.kymo", processes=1):
    r = recorded(KYMO, trace)
    named(r)
    expect(r["marks"] == calls and r["lost"] == 0 and r["damaged"] == 0 and r["endless"] == 0 and
           r["processes"] == processes, "not all of", calls, "marks of", processes, "processes:", r)


def left(trace="t.kymo"):
    return [n for n in glob.glob(f"{trace}/*") + glob.glob(f"{trace}/.*") + glob.glob(f"{trace}/raw/*") +
            glob.glob(f"{trace}/raw/.*") if "control-" in n or n.endswith((".tmp", ".part")) or "/.manifest" in n]


def restarts_told(times, reason="was ended by signal 9", node="", trace="t.kymo"):
    """A number of the drain, however many processes it recorded; in summary, info, SQL, and the manifest."""
    text = f"drain: the drain{node} {reason}; another went on in its place"
    often = f" ({times} times)" if times > 1 else ""
    for words in (("summary", trace), ("info", trace)):
        lines = [x.strip() for x in said(*words).splitlines() if "another went on" in x]
        expect(len(lines) == 1 and lines[0].endswith(text + often), words, "said", lines, "not", text + often)
    rows = json.loads(said("query", "-f", "json", trace, "SELECT process, text, count FROM note WHERE part = 'drain'"))
    expect(rows == [{"process": 0, "text": text[7:], "count": times}], "SQL has", rows)
    if os.path.exists(trace + "/manifest.json"):
        found = manifest(trace)
        expect(found["drain"]["restarts"] == times == found["totals"]["drain_restarts"], found)


def steer(what):
    p = subprocess.run([KYMO, "ctl", what, "t.kymo"], capture_output=True, text=True, timeout=WAIT, check=False)
    expect(p.returncode == 0, what, "gave", p.returncode, p.stderr)


# ---- once, twice

def test_killed():
    p = start("2", "200000", "0", "100000")
    after(50000)
    kill_drain(p)
    go()
    err = finish(p)
    expect("(signal 9, Killed) and was started again, 1 time;" in err, "the launcher said", err)
    all_there(400000)
    expect(manifest()["totals"]["drain_restarts"] == 1, manifest()["totals"])
    restarts_told(1)
    expect("Lost: nothing." in said("summary", "t.kymo"), said("summary", "t.kymo"))
    strict = subprocess.run([KYMO, "summary", "--strict", "t.kymo"], capture_output=True, timeout=WAIT, check=False)
    expect(strict.returncode == 0, "a drain that was started again is no loss")
    expect(not left(), left())


def test_killed_twice():
    """Of one reason, of two; two deaths are two, of however many processes."""
    for sig, reason in ((signal.SIGKILL, "was ended by signal 9"), (signal.SIGSEGV, "ended unexpectedly")):
        script = f"{LOAD} counts2 1 200000 100000 & {LOAD} counts3 1 200000 100000 & " \
                 f"{LOAD} counts 2 200000 100000 100000; wait; exit 7"
        p = start(options=("-f", *WAITS), command=("sh", "-c", script))
        for name in ("counts2", "counts3"):
            after(1, name)
        after(50000)
        first = kill_drain(p)
        after(150000)
        kill_drain(p, sig, first)
        go()
        expect("started again, 2 times;" in finish(p), "not said")
        all_there(800000, processes=3)
        restarts_told(2, reason)
        for name in ("counts", "counts2", "counts3", "counts.go"):
            os.unlink(name)


def test_killed_at_the_start():
    """Before there was a process to record."""
    p = start(command=("sh", "-c", f"until [ -e go ]; do sleep 0.01; done; exec {LOAD} counts 1 1000"))
    drain = kill_drain(p)
    await_true(lambda: drain_of(p.pid) not in (None, False, drain), "another drain")
    expect("has no end" not in said("summary", "t.kymo"), "it is being recorded")
    open("go", "w", encoding="utf-8").close()
    expect("(signal 9, Killed) and was started again, 1 time;" in finish(p), "not said")
    all_there(1000)
    restarts_told(1)


def held_at_header():
    """A run whose drain stands still where it writes the header of its first raw file."""
    hold = os.path.join(os.getcwd(), "hold")
    p = start("1", "1000", env=dict(os.environ, LD_PRELOAD=BUILD + "/tests/harm/hold.so", HOLD=hold, HOLD_NAME=".kyr"))
    await_true(lambda: os.path.exists(hold + ".there"), "the header of a raw file")
    return p


def test_killed_at_a_header():
    """No file without a header is in a trace at any time, whether another drain goes on or none."""
    p = held_at_header()
    expect(glob.glob("t.kymo/raw/*.kyr") == [], "files:", glob.glob("t.kymo/raw/*.kyr"))
    kill_drain(p)
    go("hold")
    finish(p)
    all_there(1000)
    expect(left() == [], "left over:", left())


def test_killed_with_keeper_at_a_header():
    p = held_at_header()
    drain = drain_of(p.pid)
    for pid in (keeper_of(p.pid), drain):
        kill(pid)
    go("hold")
    finish(p)
    expect(all(os.path.getsize(n) for n in glob.glob("t.kymo/raw/*.kyr")), "empty files")
    for _ in ("of the files", "of the store"):
        text = said("summary", "t.kymo")
        expect("Nothing was recorded.\n  The recording has no end: its drain was killed" in text and "Lost: nothing" not in text and
               "Lost: the end of 1 recording is missing: what was lost after 0.000 s is not known" in text, text)
        said("query", "t.kymo", "SELECT 1")
    finish(start("1", "1000", trace="other.kymo"))
    expect(left() == [], "not swept:", left())


def test_told_of_each_node():
    """Two launchers, each with a drain, on nodes of their own: two numbers. Without manifests files tell it."""
    if subprocess.run(["unshare", "--uts", "hostname", "other"], stderr=subprocess.DEVNULL, check=False).returncode:
        return "there can be no other host name here"
    job = dict(os.environ, OMPI_COMM_WORLD_SIZE="2", OMPI_MCA_ess_base_jobid="77")
    ps = []
    for rank, host in enumerate(("first", "second")):
        ps.append(subprocess.Popen(["unshare", "--uts", "sh", "-c", f'hostname {host}; exec "$@"', "sh", KYMO, "run",
                                    "--no-summary", "-o", "t.kymo", *WAITS, LOAD, f"counts{rank}", "1", "400000", "100000", "200000"],
                                   stderr=subprocess.PIPE, text=True, env=dict(job, OMPI_COMM_WORLD_RANK=str(rank))))
    for rank, times in ((0, 1), (1, 2)):
        last = None
        for n in range(times):
            after(50000 * (n + 1), f"counts{rank}")
            last = kill_drain(ps[rank], last=last)
    go("counts0", "counts1")
    for p in ps:
        finish(p)
    all_there(800000, processes=2)
    for manifests in (True, False):
        text = said("summary", "t.kymo")
        for host, often in (("first", "\n"), ("second", " (2 times)\n")):
            expect(f"drain: the drain of {host} was ended by signal 9; another went on in its place{often}" in text,
                   [x for x in text.splitlines() if "drain:" in x])
        if manifests:
            for path in glob.glob("t.kymo/manifest*.json") + ["t.kymo/store.db"]:
                if os.path.exists(path):
                    os.unlink(path)
    return None


def test_at_any_moment():
    dice = random.Random(SEED)
    began = time.monotonic()
    for n in range(30):
        options = dice.choice([WAITS, WAITS, (), ("--on-full", "drop", "--buffer-size", "1M"),
                               ("--on-full", "overwrite", "--buffer-size", "1M")])
        threads = dice.choice([1, 3])
        p = start(str(threads), "100000", options=("-f", "--no-compress", *options))
        await_true(lambda: os.path.exists("counts") or p.poll() is not None, "the load")
        signal.sigtimedwait([], dice.random() * 0.1)
        drain = drain_of(p.pid)
        if drain:
            kill(drain)
        finish(p)
        begun, done = counted("counts")
        r = recorded(KYMO, "t.kymo")
        named(r)
        try:
            exact(r, "marks", begun, done)
            expect(r["damaged"] == 0 and r["endless"] == 0, "damage:", r)
            expect(r["marks"] + r["lost"] + r["overwritten"] == done, "made:", done, "accounted for:", r)
            expect(options != WAITS or r["lost"] == 0, "lost:", r)
        except Failure as e:
            raise Failure(f"round {n} of TEST_SEED={SEED}, {options}, {threads} threads: {e}") from e
        os.unlink("counts")
        if time.monotonic() - began > 30 and n >= 3:
            break


def is_blocked():
    """No thread gets on: there is no room."""
    before = counted("counts")[1]
    signal.sigtimedwait([], 0.02)
    return counted("counts")[1] == before


def test_killed_while_the_program_waits_for_it():
    """Whoever has found no room waits for the next drain, as for one that is busy."""
    for _ in range(20):
        p = start("2", "200000", options=("-f", *WAITS))
        after(1000)
        keeper = await_true(lambda: drain_of(p.pid) and keeper_of(p.pid), "the drain")
        at = time.monotonic()
        kill(keeper, signal.SIGSTOP) # the next one is late
        kill_drain(p)
        await_true(is_blocked, "no room")
        signal.sigtimedwait([], 0.1) # whoever waits looks meanwhile
        kill(keeper, signal.SIGCONT)
        quick = time.monotonic() - at < 1 # the next one must not be taken for one that never comes
        finish(p)
        if quick:
            all_there(400000)
            return None
        os.unlink("counts")
    return "the machine is too busy"


# ---- processes

def test_processes_that_come_later():
    """Four at work when the drain is killed, forty come after it, one after the other: some in that moment."""
    script = f"for i in 1 2 3 4; do {LOAD} counts$i 2 200000 0 100000 & done; " \
             f"for i in $(seq 5 44); do {LOAD} counts$i 1 1000 || [ $? -eq 7 ] || exit 1; done; wait; exit 5"
    p = start(command=("sh", "-c", script))
    await_true(lambda: counted("counts8")[1] == 1000, "the eighth")
    kill_drain(p)
    go("counts1", "counts2", "counts3", "counts4")
    finish(p, 5)
    all_there(4 * 2 * 200000 + 40 * 1000, processes=44)
    restarts_told(1)


def test_without_launcher():
    mark = f"TEST_MARK={os.getpid()}"

    def marked(name):
        for path in glob.glob("/proc/[0-9]*"):
            try:
                with open(path + "/environ", "rb") as f:
                    own = mark.encode() in f.read().split(b"\0")
            except OSError:
                continue
            pid = int(path.rsplit("/", 1)[1])
            if own and (state(pid) or ("", "Z"))[0] == name and alive(pid):
                return pid
        return None

    p = subprocess.Popen([LOAD, "counts", "1", "200000", "100000", "100000"], stdout=subprocess.DEVNULL,
                         env=dict(os.environ, LD_PRELOAD=INJECT, KYMO_TRACE=os.getcwd() + "/t.kymo",
                                  KYMO_BIN=KYMO, TEST_MARK=str(os.getpid())))
    after(1000)
    keeper, drain = marked("kymo-keeper"), marked("kymo-drain")
    expect(keeper and drain, "no keeper, or no drain:", keeper, drain)
    kill(drain)
    await_true(lambda: marked("kymo-drain") not in (None, drain), "another drain")
    go()
    p.wait(WAIT)
    await_true(lambda: manifest()["state"] == "complete" and not alive(keeper), "the end")
    all_there(200000)


# ---- steering

def test_steered():
    """What was asked for before holds for who comes later; what is asked after is done."""
    script = f"{LOAD} counts 1 1; until [ -e go ]; do sleep 0.01; done; {LOAD} later 1 1000; " \
             f"until [ -e on ]; do sleep 0.01; done; {LOAD} counts 1 1000"
    p = start(command=("sh", "-c", script))
    after(1)
    steer("pause")
    kill_drain(p)
    open("go", "w", encoding="utf-8").close()
    await_true(lambda: counted("later")[1] == 1000, "a process that is paused")
    steer("resume")
    open("on", "w", encoding="utf-8").close()
    finish(p)
    r = recorded(KYMO, "t.kymo")
    expect(r["marks"] == 1001 and r["lost"] == 0, r)


# ---- the end

def test_killed_at_the_end():
    """While it compresses; while it brings files from the node's disk; nothing half made stays."""
    for what, is_at_it, options in (
            ("compressing", lambda drain: kymotest.compresses(drain, "t.kymo"), ()),
            ("compressing there", lambda drain: kymotest.compresses(drain, "disk"), ("--node-local", "disk")),
            ("collecting", lambda drain: glob.glob("t.kymo/raw/.*.part"), ("--node-local", "disk", "--no-compress"))):
        met = False
        for _ in range(20):
            p = start("4", "200000", options=("-f", "--buffer-size", "512M", *options))
            drain = await_true(lambda: drain_of(p.pid) or p.poll() is not None, "the drain")
            limit = time.monotonic() + WAIT
            while not met and p.poll() is None and time.monotonic() < limit:
                met = bool(is_at_it(drain))
            if met:
                kill(drain)
            finish(p)
            all_there(800000)
            await_true(lambda: not kymotest.writers("."), "the end of compression")
            expect(not left() and not glob.glob("disk/*"), what, "left", left(), glob.glob("disk/*"))
            met = manifest()["totals"]["drain_restarts"] == 1
            if met:
                restarts_told(1)
                break
        expect(met, what, "was never met")
        packed = os.path.getsize(glob.glob("t.kymo/raw/*.kyr")[0])
        expect((packed < 5000000) == (what != "collecting"), what, packed, "bytes")


def test_three_die_at_once():
    """Then there is no other, and nobody waits for one."""
    p = start("2", "300000", "100000", "200000", options=("--buffer-size", "1M", "--block-time", "90s"))
    after(100000)
    drain = None
    for _ in range(3):
        drain = kill_drain(p, last=drain)
    go()
    began = time.monotonic()
    err = finish(p)
    took = time.monotonic() - began
    expect("drain ended unexpectedly; the trace ends" in err, err)
    expect(counted("counts")[1] == 600000 and took < 60, "waited for a dead drain:", took, "s")
    r = recorded(KYMO, "t.kymo")
    named(r)
    expect(0 < r["marks"] <= 600000, r)


def test_keeper_alone_is_killed():
    p = start("2", "200000", "0", "100000")
    after(10000)
    kill(await_true(lambda: keeper_of(p.pid), "the keeper"))
    go()
    err = finish(p)
    expect("drain" not in err, err)
    all_there(400000)


# ---- what is lost meanwhile

def test_losses_survive():
    """What the file system refused before the drain was killed is counted after."""
    os.mkdir("full")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", "full"],
                      stderr=subprocess.DEVNULL, check=False).returncode:
        return "tmpfs cannot be mounted here"
    try:
        # Who waits long enough loses nothing before the drain has found out why it cannot write.
        p = start("2", "600000", "0", "300000", trace="full/t.kymo", options=(*WAITS, "--no-compress"))
        await_true(lambda: os.statvfs("full").f_bavail == 0, "a full file system")
        at = counted("counts")[1]
        after(min(at + 100000, 600000))
        # Names have taken what was kept for them, so that the next drain cannot keep as much.
        await_true(lambda: os.stat(glob.glob("full/t.kymo/raw/*.kyr")[0]).st_size > (4 << 20) - (20 << 10) or
                   counted("counts")[1] >= 600000, "a file that is full")
        kill_drain(p)
        go()
        err = finish(p)
        expect("cut short: No space left" in err and "was started again" in err, err)
        expect("because the file system took no more" in err and "buffer was full" not in err, err)
        subprocess.run(["mv", "full/t.kymo", "moved.kymo"], check=True)
        r = recorded(KYMO, "moved.kymo")
        expect(r["lost"] > 100000 and r["marks"] + r["lost"] == counted("counts")[1] == 1200000, r)
    finally:
        subprocess.run(["umount", "-l", "full"], check=True)
    return None


def memory_of(drain):
    """How many processes share memory with a drain."""
    try:
        return sum("memfd:" in os.readlink(path) for path in glob.glob(f"/proc/{drain}/fd/*"))
    except OSError:
        return 0


def test_who_has_greeted_is_known():
    """Two processes are there and use nothing that is recorded; their drain is killed meanwhile."""
    p = subprocess.Popen([KYMO, "run", "-o", "t.kymo", "sh", "-c", "cat; exit 3"], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    await_true(lambda: memory_of(drain_of(p.pid)) == 2, "both have greeted")
    killed = kill_drain(p)
    await_true(lambda: drain_of(p.pid) not in (None, killed), "another drain")
    _, err = p.communicate("", timeout=WAIT)
    expect(p.returncode == 3 and "was started again" in err, p.returncode, err)
    expect("used an interface that is recorded" in err and "loaded into no process" not in err, err)


def test_flight_recorder():
    p = start("2", "600000", "0", "200000", options=("--on-full", "overwrite", "--buffer-size", "1M"))
    after(100000)
    kill_drain(p)
    after(500000)
    steer("flush")
    go()
    finish(p)
    r = recorded(KYMO, "t.kymo")
    named(r)
    exact(r, "marks", *counted("counts"))
    expect(r["lost"] == 0 and r["overwritten"] > 0 and r["damaged"] == 0, r)


def main():
    failed = 0
    selected = sys.argv[2:]
    for name, test in list(globals().items()):
        if not name.startswith("test_") or (selected and name not in selected):
            continue
        began = time.monotonic()
        with kymotest.Folder(prefix="kymo-keeper-") as folder:
            os.chdir(folder)
            try:
                skipped = test()
                print(f"{name}: {'skipped: ' + skipped if skipped else 'passed'} in {time.monotonic() - began:.1f} s",
                      flush=True)
            except (Failure, OSError, KeyError, subprocess.SubprocessError) as e:
                failed += 1
                print(f"{name}: FAILED: {e}", flush=True)
            os.chdir("/")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
