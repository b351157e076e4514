#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random deaths: the program, the launcher, the drain or all of them are killed at a random moment of a
random load, and what was made must be what was recorded and what was counted as lost.

Usage: campaign.py BUILD [ROUNDS [SEED]]    (12 rounds take some 10 s; run thousands before a release)

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
                     named, program_of, recorded, state)

BUILD = os.path.abspath(sys.argv[1])
KYMO = BUILD + "/bin/kymo"
LOAD = BUILD + "/tests/harm/load"
FAST, PACED, KERNELS = "fast", "paced", "cl"

# Who dies, and of what; "all" in random order.
DEATHS = [("program", signal.SIGKILL), ("program", signal.SIGSEGV), ("program", signal.SIGTERM),
          ("launcher", signal.SIGKILL), ("launcher", signal.SIGTERM), ("group", signal.SIGKILL),
          ("group", signal.SIGINT), ("drain", signal.SIGKILL), ("drain", signal.SIGSEGV),
          ("drain and launcher", signal.SIGKILL), ("all", signal.SIGKILL), ("drain", signal.SIGSTOP),
          ("keeper", signal.SIGKILL), ("keeper and drain", signal.SIGKILL)]


def load_of(kind, endless):
    many = {FAST: 1500000, PACED: 60000, KERNELS: 4000}[kind] * (1000 if endless else 1)
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
    if who in ("program", "group") or (who == "launcher" and sig != signal.SIGKILL):
        return {-sig, 7}
    return {7} if who in ("drain", "keeper", "keeper and drain") else {7, -signal.SIGKILL}


def strike(p, who, sig, dice):
    keeper, drain, program = keeper_of(p.pid), drain_of(p.pid), program_of(p.pid)
    if not drain or not program:
        return None # all is over already
    if who == "group":
        os.killpg(p.pid, sig)
    if who == "all":
        kill(keeper, signal.SIGSTOP) # it would start another drain
    for pid in victims_of(who, p.pid, keeper, drain, program, dice):
        kill(pid, sig)
    if sig == signal.SIGSTOP:
        await_true(lambda: (state(drain) or ("", "Z"))[1] in "TZX", "the drain stops")
        signal.sigtimedwait([], dice.random() * 0.3) # the load goes on
        kill(drain, signal.SIGCONT)
    return [p.pid, keeper, drain, program]


def check(trace, kind, who, sig, told):
    what = "kernels" if kind == KERNELS else "marks"
    begun, done = counted("counts")
    r = recorded(KYMO, trace)
    if r[what]:
        named(r)
    expect(r[what] <= begun, r, "begun:", begun)
    drain_lives = who not in ("keeper and drain", "all") # or another in its place
    if drain_lives:
        exact(r, what, begun, done)
        expect(r["damaged"] == 0, "damage:", r) # else its last block may be torn
        expect(r["endless"] == 0, "no end:", r)
        return r[what]
    text = subprocess.run([KYMO, "summary", trace], capture_output=True, text=True, timeout=WAIT,
                          check=False).stdout
    expect(r["endless"] == 0 or "Lost: nothing" not in text, "nothing lost?", text)
    if who == "keeper and drain":
        expect("drain ended unexpectedly" in told or r["endless"] == 0, told)
    return r[what]


def one_round(number, seed):
    dice = random.Random(f"{seed}/{number}")
    who, sig = DEATHS[number % len(DEATHS)]
    # Compilers in OpenCL drivers may catch a SIGSEGV and go on.
    kind = dice.choice([FAST, FAST, PACED, FAST if sig == signal.SIGSEGV else KERNELS])
    threads = dice.choice([1, 2, 4])
    # What outlives its launcher or its drain must come to an end of its own.
    endless = who in ("program", "group", "all")
    options = dice.choice([[], [], ["--on-full", "drop"], ["--buffer-size", "1M"], ["--on-full", "overwrite"]])
    words = [KYMO, "run", "--no-summary", "-o", "t.kymo", *options, LOAD, "counts", str(threads),
             *load_of(kind, endless)]
    about = f"round {number} of seed {seed}: {who} {sig.name}, {' '.join(words[3:])}"
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          start_new_session=True) as p:
        try:
            await_true(lambda: os.path.exists("counts") or p.poll() is not None, "the load")
            goal = dice.choice([1, 100, 10000, 100000]) // (100 if kind == KERNELS else 1)
            await_true(lambda: counted("counts")[1] >= goal or p.poll() is not None, "some calls")
            everybody = strike(p, who, sig, dice)
            out, err = p.communicate(timeout=WAIT)
            await_true(lambda: not any(alive(pid) for pid in everybody or []), "all end")
            expect(everybody is None or p.returncode in statuses(who, sig), "status", p.returncode, err)
            expect("drain" not in who or "launcher" in who or out == "done\n", "the program said", out)
            return about, check("t.kymo", kind, who, sig, err)
        except Failure as e:
            for pid in [p.pid, *children(p.pid)]:
                kill(pid)
            raise Failure(f"{about}: {e}") from e


def main():
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else len(DEATHS)
    seed = sys.argv[3] if len(sys.argv) > 3 else "1"
    failed = 0
    for number in range(rounds):
        with kymotest.Folder(prefix="kymo-campaign-") as folder:
            os.chdir(folder)
            try:
                about, found = one_round(number, seed)
                print(f"{about}: {found} recorded", flush=True)
            except (Failure, OSError, subprocess.SubprocessError) as e:
                failed += 1
                print(f"FAILED: {e}", flush=True)
            os.chdir("/")
    print(f"{rounds - failed} of {rounds} rounds passed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
