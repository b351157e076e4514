#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The launchers of a job on one node have one drain, and whatever becomes of any of them, none waits for another's
program, none ends another's recording, and all that was recorded is there once.

Usage: node.py BUILD [TEST]
"""
import glob
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402

sys.dont_write_bytecode = True
from account import (WAIT, Failure, alive, await_true, counted, drain_of, expect, keeper_of, kill, named,
                     recorded)

BUILD = os.path.abspath(sys.argv[1])
KYMO = BUILD + "/bin/kymo"
LOAD = BUILD + "/tests/harm/load"
SEED = int(os.environ.get("TEST_SEED", "20"))
# Whoever finds no room waits for the drain, be it another one.
WAITS = ("--block-time", "60s", "--buffer-size", "1M")
STATUS = 7  # of a load


def start(rank, calls=20000, held=1000, job="j", ranks=4, options=WAITS, trace="t.kymo", prefix=()):
    """A rank's launcher. Its program makes its last calls when it is let go."""
    environment = dict(os.environ, KYMO_JOB=job, PMIX_RANK=str(rank), OMPI_COMM_WORLD_SIZE=str(ranks))
    return subprocess.Popen([*prefix, KYMO, "run", "--no-summary", "-o", trace, *options, LOAD, f"{job}{rank}", "2",
                             str(calls), "0", str(held)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            start_new_session=True, env=environment)


def begun(*names, calls=2000):
    for name in names:
        await_true(lambda name=name: counted(name)[1] >= calls, f"{calls} calls of {name}")


def go(*names):
    for name in names:
        open(name + ".go", "w", encoding="utf-8").close()


def finish(p, status=STATUS):
    out, err = p.communicate(timeout=WAIT)
    expect(p.returncode == status, "a launcher gave", p.returncode, out, err)
    return err


def keepers(*launchers):
    return [k for k in (keeper_of(p.pid) for p in launchers) if k]


def first_of(*launchers):
    """The one that has started the drain, and the others."""
    first, = [p for p in launchers if keeper_of(p.pid)]
    return first, [p for p in launchers if p is not first]


def manifests(trace="t.kymo"):
    """With those that were put into the first one's."""
    found = []
    for name in sorted(glob.glob(trace + "/manifest*.json")):
        with open(name, encoding="utf-8") as f:
            one = json.load(f)
            found += [one, *one.pop("nodes", [])]
    return found


def one_manifest(drains, trace="t.kymo"):
    """All of several drains are in one."""
    names = [os.path.basename(n) for n in glob.glob(trace + "/manifest*") + glob.glob(trace + "/.manifest*")]
    expect(names == ["manifest.json"], "manifests:", names)
    expect(len(manifests(trace)) == drains, "drains:", manifests(trace))
    for words in (("info",), ("summary", "--strict"), ("query", "SELECT count(*) FROM process")):
        p = subprocess.run([KYMO, words[0], trace, *words[1:]], capture_output=True, text=True, timeout=WAIT, check=False)
        expect(p.returncode == 0 and p.stderr == "", words, "gave", p.returncode, p.stderr)


def ended(trace="t.kymo"):
    """Of a drain whose last launcher was killed nobody tells the end."""
    await_true(lambda: all(m["state"] == "complete" for m in manifests(trace)), "the end of the recording")


def all_there(marks, processes, trace="t.kymo"):
    r = recorded(KYMO, trace)
    named(r)
    expect(r["marks"] == marks and r["lost"] == 0 and r["damaged"] == 0 and r["endless"] == 0 and
           r["processes"] == processes, "not all of", marks, "marks of", processes, "processes:", r)
    left = [n for n in glob.glob(f"{trace}/*") + glob.glob(f"{trace}/.*") + glob.glob(f"{trace}/raw/*")
            if "control-" in n or n.endswith((".tmp", ".part"))]
    expect(left == [], "left over:", left)


def test_one_drain():
    runs = [start(rank) for rank in range(4)]
    begun("j0", "j1", "j2", "j3")
    expect(len(keepers(*runs)) == 1, "keepers:", keepers(*runs))
    expect(len(glob.glob("t.kymo/control-*")) == 1, glob.glob("t.kymo/control-*"))
    await_true(lambda: len(manifests()[0]["launchers"]) == 4, "all in the manifest")
    expect(all(x["launcher"] == "recording" for x in manifests()[0]["launchers"]), manifests())
    go("j0", "j1", "j2", "j3")
    for p in runs:
        expect(finish(p) == "", "a launcher said something")
    all_there(4 * 40000, 4)
    found, = manifests()
    expect(found["state"] == "complete" and len(found["processes"]) == 4 and found["totals"]["processes"] == 4, found)
    expect(sorted(x["rank"] for x in found["launchers"]) == [0, 1, 2, 3], found["launchers"])
    expect(all(x["launcher"] == "complete" and x["status"] == STATUS for x in found["launchers"]), found["launchers"])
    expect(sorted(x["rank"] for x in found["processes"]) == [0, 1, 2, 3], found["processes"])


def test_nobody_waits_for_others():
    """Whose program has ended ends, the one that started the drain too."""
    runs = [start(rank) for rank in range(3)]
    begun("j0", "j1", "j2")
    first, others = first_of(*runs)
    drain = drain_of(first.pid)
    names = {p: f"j{rank}" for rank, p in enumerate(runs)}
    go(names[others[0]])
    finish(others[0])
    expect(first.poll() is None and others[1].poll() is None, "another rank is over, too")
    states = sorted(x["launcher"] for x in manifests()[0]["launchers"])
    expect(states == ["complete", "recording", "recording"], states)
    go(names[first])
    finish(first)
    expect(others[1].poll() is None and alive(drain), "the drain went with who started it")
    p = subprocess.run([KYMO, "ctl", "flush", "t.kymo"], capture_output=True, text=True, timeout=WAIT, check=False)
    expect(p.returncode == 0, "kymo ctl:", p.stdout, p.stderr)
    go(names[others[1]])
    finish(others[1])
    all_there(3 * 40000, 3)
    expect(len(manifests()) == 1 and manifests()[0]["state"] == "complete", manifests())


def test_first_launcher_killed():
    runs = [start(rank) for rank in range(3)]
    begun("j0", "j1", "j2")
    first, others = first_of(*runs)
    kill(first.pid)
    first.wait(WAIT)  # its program runs on
    go("j0", "j1", "j2")
    for p in others:
        expect(finish(p) == "", "a launcher said something")
    ended()
    all_there(3 * 40000, 3)
    expect(len(manifests()) == 1, manifests())


def test_joined_launcher_killed():
    """The last one, at that: nobody is there to be told, and all is done all the same."""
    runs = [start(rank) for rank in range(2)]
    begun("j0", "j1")
    first, others = first_of(*runs)
    go("j0" if first is runs[0] else "j1")
    finish(first)
    kill(others[0].pid)
    others[0].wait(WAIT)
    go("j0", "j1")
    ended()
    all_there(2 * 40000, 2)


def test_late():
    """One comes when the first is gone and others are there, one when all are gone."""
    runs = [start(rank) for rank in range(2)]
    begun("j0", "j1")
    first, others = first_of(*runs)
    go("j0" if first is runs[0] else "j1")
    finish(first)
    late = start(2)
    begun("j2")
    expect(keeper_of(late.pid) is None, "another drain was started")
    go("j0", "j1", "j2")
    finish(others[0])
    finish(late)
    expect(len(manifests()) == 1, manifests())
    last = start(3)
    begun("j3")
    expect(keeper_of(last.pid), "no drain was started")
    go("j3")
    finish(last)
    one_manifest(2)
    all_there(4 * 40000, 4)


def test_rush():
    """Whoever comes while the drain ends is let in or starts another, in any order."""
    rng = random.Random(SEED)
    runs = []
    for rank in range(24):
        runs.append(start(rank, calls=10, held=0, ranks=24))
        time.sleep(rng.random() * 0.03)  # so that some come late
    for p in runs:
        expect(finish(p) == "", "a launcher said something")
    all_there(24 * 20, 24)
    launchers = [x for m in manifests() for x in m["launchers"]]
    expect(sorted(x["rank"] for x in launchers) == list(range(24)), launchers)


def meeting_places():
    with open("/proc/net/unix", encoding="utf-8") as f:
        return [line.split()[-1][1:] for line in f if "@kymo-node-" in line]


def meeting_place_of(drain):
    fds = f"/proc/{drain}/fd/"
    inodes = [os.readlink(fds + fd).strip("socket:[]") for fd in os.listdir(fds)]
    with open("/proc/net/unix", encoding="utf-8") as f:
        name, = {w[-1][1:] for w in map(str.split, f) if w[-1].startswith("@kymo-node-") and w[-2] in inodes}
    return name


def test_launcher_comes_while_the_drain_ends():
    """Its name is just being taken away: who comes is let in, and `kymo ctl` finds the drain as before."""
    hold = os.path.join(os.getcwd(), "hold")
    first = start(0, prefix=("env", f"LD_PRELOAD={BUILD}/tests/harm/hold.so", f"HOLD={hold}", "HOLD_NAME=/drain"))
    begun("j0")
    place = meeting_place_of(drain_of(first.pid))
    go("j0")
    await_true(lambda: os.path.exists(hold + ".there"), "the end of the drain")
    late = start(1)
    await_true(lambda: meeting_places().count(place) > 1, "the late launcher")
    go("hold")
    finish(first)
    begun("j1")
    expect(len(keepers(late)) == 0, "another drain was started")
    p = subprocess.run([KYMO, "ctl", "flush", "t.kymo"], capture_output=True, text=True, timeout=WAIT, check=False)
    expect(p.returncode == 0, "kymo ctl:", p.stdout, p.stderr)
    go("j1")
    finish(late)
    all_there(2 * 40000, 2)
    expect(len(manifests()) == 1 and len(manifests()[0]["launchers"]) == 2, manifests())


def test_two_jobs():
    one = [start(rank, job="one", trace="one.kymo") for rank in range(2)]
    two = [start(rank, job="two", trace="two.kymo") for rank in range(2)]
    begun("one0", "one1", "two0", "two1")
    expect(len(keepers(*one)) == 1 and len(keepers(*two)) == 1, "keepers:", keepers(*one, *two))
    go("one0", "one1")
    for p in one:
        finish(p)
    expect(all(p.poll() is None for p in two), "the other job is over, too")
    go("two0", "two1")
    for p in two:
        finish(p)
    all_there(2 * 40000, 2, "one.kymo")
    all_there(2 * 40000, 2, "two.kymo")


def test_two_kinds():
    """Who wants something else done with the files has another drain, and the trace is one."""
    runs = [start(0), start(1), start(2, options=(*WAITS, "--no-compress")), start(3, options=(*WAITS, "--no-compress"))]
    begun("j0", "j1", "j2", "j3")
    expect(len(keepers(*runs)) == 2, "keepers:", keepers(*runs))
    go("j0", "j1", "j2", "j3")
    for p in runs:
        finish(p)
    one_manifest(2)
    all_there(4 * 40000, 4)


def test_missing_file_of_another_drain():
    """What the first one's manifest has of others' counts as ever."""
    runs = [start(0), start(1, options=(*WAITS, "--no-compress"))]
    begun("j0", "j1")
    go("j0", "j1")
    for p in runs:
        finish(p)
    one_manifest(2)
    for process in [x for m in manifests() for x in m["processes"]]:
        os.rename("t.kymo/raw/" + process["file"], "kept")
        p = subprocess.run([KYMO, "summary", "t.kymo"], capture_output=True, text=True, timeout=WAIT, check=False)
        expect(p.returncode == 3 and "lists this file and it is not there" in p.stderr, p)
        rows = subprocess.run([KYMO, "query", "-f", "csv", "t.kymo",
                               "SELECT rank FROM process WHERE file_state <> 0"], capture_output=True, text=True,
                              timeout=WAIT, check=False).stdout.split()
        expect(rows[1:] == [str(process["rank"])], "the rank that is missing:", rows, process)
        os.rename("kept", "t.kymo/raw/" + process["file"])


def test_lost_node_is_seen():
    """Of a drain that was killed with its keeper the manifest stays, and says that it was recording."""
    runs = [start(0), start(1, options=(*WAITS, "--no-compress"))]
    begun("j0", "j1")
    lost = runs[1].pid
    for pid in (keeper_of(lost), drain_of(lost)):
        kill(pid)
    go("j0", "j1")
    for p in runs:
        finish(p)
    names = sorted(os.path.basename(n) for n in glob.glob("t.kymo/manifest*"))
    expect(len(names) == 2 and sorted(m["state"] for m in manifests()) == ["complete", "recording"], names)


def test_two_process_namespaces():
    """Who does not see the others' processes has a drain of his own."""
    apart = ("unshare", "--pid", "--fork", "--mount-proc")
    if subprocess.run([*apart, "true"], capture_output=True, check=False).returncode:
        print("skipped: no namespaces here (unshare --pid)")
        return
    runs = [start(0), start(1, prefix=apart)]
    begun("j0", "j1")
    expect(len(keepers(runs[0])) == 1, "no keeper")
    go("j0", "j1")
    for p in runs:
        finish(p)
    one_manifest(2)
    all_there(2 * 40000, 2)


SQUAT = """
import os, socket, sys
os.setgid(65534)
os.setuid(65534)
kept = []
for name in sys.argv[1:]:
    kept.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
    kept[-1].bind("\\0" + name)
    kept[-1].listen()
print("there", flush=True)
sys.stdin.read()
"""


def test_name_taken_by_another_user():
    """Then each has a drain of its own, and nothing is given to the other user."""
    if os.geteuid():
        print("skipped: only root can be two users")
        return
    run = start(0)
    begun("j0")
    others = meeting_places()
    go("j0")
    finish(run)
    free = [n for n in others if n not in meeting_places()]  # of other jobs here, too
    expect(free, "the name is not free:", others)
    with subprocess.Popen([sys.executable, "-c", SQUAT, *free], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as stranger:
        expect(stranger.stdout.readline() == "there\n", "the name cannot be taken")
        runs = [start(1), start(2)]
        begun("j1", "j2")
        expect(len(keepers(*runs)) == 2, "keepers:", keepers(*runs))
        go("j1", "j2")
        for p in runs:
            expect(finish(p) == "", "a launcher said something")
        stranger.stdin.close()
    all_there(3 * 40000, 3)


def test_drain_killed():
    """It is started again, for all, and one launcher says so."""
    runs = [start(rank, calls=60000) for rank in range(3)]
    begun("j0", "j1", "j2", calls=20000)
    first, _ = first_of(*runs)
    kill(drain_of(first.pid))
    go("j0", "j1", "j2")
    said = [finish(p) for p in runs]
    expect(sum("was started again, 1 time;" in err for err in said) == 1, "the launchers said", said)
    all_there(3 * 120000, 3)
    found, = manifests()
    expect(found["totals"]["drain_restarts"] == 1 and len(found["launchers"]) == 3, found)


def test_drain_killed_after_some_have_ended():
    runs = [start(rank) for rank in range(4)]
    begun("j0", "j1", "j2", "j3")
    first, others = first_of(*runs)
    names = {p: f"j{rank}" for rank, p in enumerate(runs)}
    keeper, drain = keeper_of(first.pid), drain_of(first.pid)
    for p in (first, others[0]):
        go(names[p])
        finish(p)
    kill(drain)
    late = start(4)  # which meets the new one
    begun("j4")
    expect(keeper_of(late.pid) is None and alive(keeper), "another drain was started")
    for p in others[1:]:
        go(names[p])
        finish(p)
    go("j4")
    finish(late)
    all_there(5 * 40000, 5)
    expect(len(manifests()) == 1 and len(manifests()[0]["launchers"]) == 5, manifests())


def test_drain_and_keeper_killed():
    """Every launcher says it, none hangs, and the programs' statuses are theirs."""
    runs = [start(rank) for rank in range(3)]
    begun("j0", "j1", "j2")
    first, _ = first_of(*runs)
    keeper, drain = keeper_of(first.pid), drain_of(first.pid)
    kill(keeper)
    kill(drain)
    go("j0", "j1", "j2")
    for p in runs:
        expect("the drain ended unexpectedly" in finish(p), "a launcher did not say it")


def test_losses_are_told_by_whose_they_are():
    """A full buffer of one rank's program is that launcher's to tell, and no other's."""
    small = ("--on-full", "drop", "--buffer-size", "1M")
    runs = [start(0, calls=2000, held=100), start(1, calls=300000, held=100, options=small)]
    begun("j0", "j1", calls=1000)
    first, _ = first_of(*runs)
    drain = drain_of(first.pid)
    os.kill(drain, signal.SIGSTOP)  # so that the buffer gets full
    begun("j1", calls=590000)
    os.kill(drain, signal.SIGCONT)
    go("j0", "j1")
    said = [finish(p) for p in runs]
    expect("records" in said[1] and "were lost because the buffer was full" in said[1], said)
    expect(said[0] == "", "of another's losses was said", said[0])
    r = recorded(KYMO, "t.kymo")
    expect(r["marks"] + r["lost"] == 2 * (2000 + 300000) and r["lost"] > 0, r)


def test_program_that_cannot_be_started():
    """The others' trace stays. A file that somebody writes is not executed, which only the kernel knows."""
    run = start(0)
    begun("j0")
    shutil.copy(LOAD, "busy")
    with open("busy", "ab"):
        p = subprocess.run([KYMO, "run", "--no-summary", "-o", "t.kymo", "./busy"], capture_output=True, text=True,
                           timeout=WAIT, check=False, env=dict(os.environ, KYMO_JOB="j", PMIX_RANK="1"))
    expect(p.returncode == 126 and "cannot be executed" in p.stderr and os.path.exists("t.kymo/manifest.json"), p)
    expect(run.poll() is None, "the other rank is over, too")
    go("j0")
    finish(run)
    all_there(40000, 1)


def main():
    failed = 0
    selected = sys.argv[2:]
    for name, test in list(globals().items()):
        if not name.startswith("test_") or (selected and name not in selected):
            continue
        began = time.monotonic()
        with kymotest.Folder(prefix="kymo-node-") as folder:
            os.chdir(folder)
            try:
                test()
                print(f"{name}: passed in {time.monotonic() - began:.1f} s", flush=True)
            except (Failure, OSError, KeyError, ValueError, subprocess.SubprocessError) as e:
                failed += 1
                print(f"{name}: FAILED: {e}", flush=True)
            os.chdir("/")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
