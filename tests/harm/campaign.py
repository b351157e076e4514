#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random deaths: the program, the launcher, the drain or all of them are killed at a random moment of a
random load, and what was made must be what was recorded and what was counted as lost.

Usage: campaign.py BUILD [ROUNDS [SEED [FIRST]]]    (each death once takes some 10 s; `make harm-long` has a thousand)

As long as the drain lives this holds to the last record. Where it was killed, what it had not taken is
gone: then what is on the disk must have its names, and nobody may say that nothing was lost.
"""
import os
import random
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402

sys.dont_write_bytecode = True
from account import (WAIT, Failure, alive, await_true, children, counted, drain_of, exact, expect, keeper_of, kill,
                     named, program_of, recorded, state, tell)
import warden
from compare import MODES, all_gone, environment, left_over

BUILD = os.path.abspath(sys.argv[1])
KYMO = BUILD + "/bin/kymo"
LOAD = BUILD + "/tests/harm/load"
FAST, PACED, KERNELS = "fast", "paced", "cl"

# Who dies, and of what; "all" in random order. Who is stopped goes on a little later.
DEATHS = [("program", signal.SIGKILL), ("program", signal.SIGSEGV), ("program", signal.SIGTERM),
          ("launcher", signal.SIGKILL), ("launcher", signal.SIGTERM), ("group", signal.SIGKILL),
          ("group", signal.SIGINT), ("drain", signal.SIGKILL), ("drain", signal.SIGSEGV),
          ("drain and launcher", signal.SIGKILL), ("all", signal.SIGKILL), ("drain", signal.SIGSTOP),
          ("keeper", signal.SIGKILL), ("keeper and drain", signal.SIGKILL), ("program", signal.SIGABRT),
          ("program", signal.SIGSTOP), ("launcher", signal.SIGSTOP), ("keeper", signal.SIGSTOP), ("group", signal.SIGSTOP)]


def load_of(kind, endless):
    many = {FAST: 600000, PACED: 60000, KERNELS: 4000}[kind] * (20 if endless else 1)
    return [str(many), *{FAST: [], PACED: ["100000"], KERNELS: ["cl"]}[kind]]


def victims_of(who, launcher, keeper, drain, program, dice):
    if who == "all":
        everybody = [launcher, keeper, drain, program]
        dice.shuffle(everybody)
        return everybody
    return {"program": [program], "launcher": [launcher], "drain": [drain], "group": [], "keeper": [keeper],
            "keeper and drain": [keeper, drain], "drain and launcher": [drain, launcher]}[who]


def statuses(who, sig):
    """What the launcher may end with: the program had perhaps ended before."""
    if sig == signal.SIGSTOP:
        return {7}
    if who in ("program", "group") or (who == "launcher" and sig != signal.SIGKILL):
        return {-sig, 7}
    return {7} if who in ("drain", "keeper", "keeper and drain") else {7, -signal.SIGKILL}


def stop_and_go_on(pids, group, dice):
    """The others go on meanwhile. A stop of who has just ended does nothing."""
    for pid in pids:
        await_true(lambda one=pid: (state(one) or ("", "Z"))[1] in "TZX", "stops")
    signal.sigtimedwait([], dice.random() * 0.3)
    if group:
        os.killpg(group, signal.SIGCONT)
    for pid in pids:
        kill(pid, signal.SIGCONT)


def strike(p, who, sig, dice):
    keeper, drain, program = keeper_of(p.pid), drain_of(p.pid), program_of(p.pid)
    if not drain or not program:
        return None # all is over already
    stops = sig == signal.SIGSTOP
    if who == "group":
        os.killpg(p.pid, sig)
    if who == "all":
        kill(keeper, signal.SIGSTOP) # it would start another drain
    victims = victims_of(who, p.pid, keeper, drain, program, dice)
    for pid in victims:
        kill(pid, sig)
    if stops:
        stop_and_go_on(victims, p.pid if who == "group" else 0, dice)
    return [p.pid, keeper, drain, program]


def check(trace, kind, who, sig, told):
    case = f"killed: {who} {sig.name}" if sig != signal.SIGSTOP else f"stopped: {who}"
    what = "kernels" if kind == KERNELS else "marks"
    begun, done = counted("counts")
    r = recorded(KYMO, trace)
    if r[what]:
        named(r)
    expect(r[what] <= begun, r, "begun:", begun)
    drain_lives = who not in ("keeper and drain", "all") # or another in its place
    if drain_lives:
        exact(r, what, begun, done, case)
        expect(r["damaged"] == 0, "damage:", r) # else its last block may be torn
        # Who reads the system's counters is the launcher.
        cut = r["endless_telemetry"] if sig == signal.SIGKILL and who in ("launcher", "group", "drain and launcher") else 0
        expect(r["endless"] == cut, "no end:", r)
        return r[what]
    # A process that the drain never wrote, or turned away, has no end either.
    known = r["processes"] and not r["turned_away"] and not r["endless"]
    tell(begun, done, r, what, case, known)
    text = subprocess.run([KYMO, "summary", trace], capture_output=True, text=True, timeout=WAIT,
                          check=False).stdout
    expect(known or "Lost: nothing" not in text, "nothing lost?", r, text)
    if who == "keeper and drain":
        expect("drain ended unexpectedly" in told or known, told)
    return r[what]


def one_round(number, seed):
    dice = random.Random(f"{seed}/{number}")
    who, sig = DEATHS[number % len(DEATHS)]
    # Compilers in OpenCL drivers may catch these and go on.
    kind = dice.choice([FAST, FAST, PACED, FAST if sig in (signal.SIGSEGV, signal.SIGABRT) else KERNELS])
    threads = dice.choice([1, 2, 4])
    # What outlives its launcher or its drain must come to an end of its own.
    endless = who in ("program", "group", "all") and sig != signal.SIGSTOP
    options = dice.choice([[], ["--on-full", "drop"], ["--buffer-size", "1M"], ["--on-full", "overwrite"]])
    options += dice.choice([[], *MODES.values(), *[["--instrument-kernels"]] * (4 if kind == KERNELS else 0)])
    words = [KYMO, "run", "--no-summary", "-o", "t.kymo", *options, LOAD, "counts", str(threads),
             *load_of(kind, endless)]
    about = f"round {number} of seed {seed}: {who} {sig.name}, {' '.join(words[3:])}"
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          start_new_session=True, env=environment(os.getcwd()), preexec_fn=warden.bounded) as p:
        try:
            await_true(lambda: os.path.exists("counts") or p.poll() is not None, "the load")
            goal = dice.choice([1, 100, 10000, 100000]) // (100 if kind == KERNELS else 1)
            await_true(lambda: counted("counts")[1] >= goal or p.poll() is not None, "some calls")
            everybody = strike(p, who, sig, dice)
            out, err = p.communicate(timeout=WAIT)
            await_true(lambda: not any(alive(pid) for pid in everybody or []), "all end")
            expect(everybody is None or p.returncode in statuses(who, sig), "status", p.returncode, err)
            expect("drain" not in who or "launcher" in who or out == "done\n", "the program said", out)
            found = check("t.kymo", kind, who, sig, err)
            all_gone("t.kymo")
            left = left_over(os.getcwd(), "t.kymo")
            # The next run of the user removes what nobody was left to remove (harm.rooms).
            expect(not left or who in ("all", "drain and launcher", "keeper", "keeper and drain"), "left over:", left)
            return about, found
        except Failure as e:
            for pid in [p.pid, *children(p.pid)]:
                kill(pid)
            raise Failure(f"{about}: {e}") from e


def main():
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else len(DEATHS)
    seed = sys.argv[3] if len(sys.argv) > 3 else "1"
    first = int(sys.argv[4]) if len(sys.argv) > 4 else 0
    failed = 0
    for number in range(first, first + rounds):
        with kymotest.Folder(prefix="kymo-campaign-") as folder:
            os.chdir(folder)
            try:
                about, found = one_round(number, seed)
                print(f"{about}: {found} recorded", flush=True)
            except (Failure, OSError, subprocess.SubprocessError) as e:
                failed += 1
                print(f"FAILED: round {number} of seed {seed}, {DEATHS[number % len(DEATHS)]}: {e}", flush=True)
            os.chdir("/")
    print(f"{rounds - failed} of {rounds} rounds passed")
    return failed != 0


if __name__ == "__main__":
    warden.keep()
    sys.exit(main())
