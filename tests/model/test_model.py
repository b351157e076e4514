#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The ring's protocol, checked by spin in all orders of its steps: test_model.py [all].

A few worlds of one size each; `all`: larger ones, which take minutes. Of each step that the protocol needs one is left out, which
must be found.
"""
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "base"))
import kymotest  # noqa: E402

ONE, SMALL = "-DTHREADS=1", "-DRECORDS=1"
RIGHT = {
    "two threads": [SMALL],
    "a thread, three chunks' worth": [ONE, "-DRECORDS=3"],
    "waiting for room": ["-DWAIT", ONE, "-DRECORDS=3", "-DCHUNKS=1"],
    "waiting for room, two threads": ["-DWAIT", SMALL, "-DCHUNKS=1"],
    "program killed": ["-DKILL_PROGRAM", ONE, "-DRECORDS=3"],
    "drain killed": ["-DKILL_DRAIN", ONE, "-DRECORDS=2"],
    "both killed": ["-DKILL_PROGRAM", "-DKILL_DRAIN", ONE, SMALL],
    "flight recorder": ["-DRECORDER", ONE, "-DRECORDS=4"],
    "flight recorder, program killed": ["-DRECORDER", "-DKILL_PROGRAM", ONE, "-DRECORDS=3"],
}
LARGER = {
    "both killed, two records": ["-DKILL_PROGRAM", "-DKILL_DRAIN", ONE, "-DRECORDS=2"],
    "two threads, two records": [],
    "waiting for room, two threads, two records": ["-DWAIT"],
    "program killed, two threads": ["-DKILL_PROGRAM", SMALL],
    "drain killed, three chunks' worth": ["-DKILL_DRAIN", ONE, "-DRECORDS=3"],
    "flight recorder, two threads": ["-DRECORDER"],
    "flight recorder, drain killed": ["-DRECORDER", "-DKILL_DRAIN", ONE, "-DRECORDS=3"],
}
WRONG = {
    "BROKEN_ORDER": [ONE, "-DRECORDS=3"],
    "BROKEN_WAKE": ["-DWAIT", ONE, "-DRECORDS=3", "-DCHUNKS=1"],
    "BROKEN_BELL": ["-DWAIT", ONE, "-DRECORDS=3", "-DCHUNKS=1"],
    "BROKEN_HANDED": ["-DWAIT", SMALL, "-DCHUNKS=1"],
    "BROKEN_STAMP": ["-DRECORDER", ONE, "-DRECORDS=4"],
    "BROKEN_CLAIM": ["-DRECORDER", ONE, "-DRECORDS=4"],
    "BROKEN_TAKEN": ["-DRECORDER", "-DKILL_PROGRAM", ONE, "-DRECORDS=3"],
    "BROKEN_COMMIT": ["-DKILL_PROGRAM", ONE, SMALL],
    "BROKEN_LEFT": ["-DKILL_PROGRAM", ONE, SMALL],
    "BROKEN_KNOWN": ["-DKILL_PROGRAM", "-DKILL_DRAIN", ONE, SMALL],
}
WRONG_LARGER = {"BROKEN_TAG": []}


def searched(folder, flags, level):
    """(errors, states) of all orders. Killing stops processes at any step, which partial orders must not leave out."""
    compiler = ["gcc", level, "-w", "-DSAFETY", "-DCOLLAPSE", "-DMEMLIM=4096"]
    if any("KILL" in f for f in flags):
        compiler.append("-DNOREDUCE")
    for command in (["spin", *flags, "-a", os.path.join(HERE, "ring.pml")], [*compiler, "-o", "pan", "pan.c"]):
        subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    out = subprocess.run(["./pan", "-E", "-m1000000"], cwd=folder, check=True, capture_output=True, text=True).stdout
    kymotest.expect("search depth too small" not in out and "out of memory" not in out, out)
    return tuple(int(re.search(p, out)[1]) for p in (r"errors: (\d+)", r"(\d+) states, stored"))


def main():
    if not shutil.which("spin"):
        kymotest.skip("spin is not here")
    larger = "all" in sys.argv[1:]
    worlds, wrong = ({**RIGHT, **LARGER}, {**WRONG, **WRONG_LARGER}) if larger else (RIGHT, WRONG)
    level = "-O2" if larger else "-O0"  # compiling takes longer than the search in small worlds
    with kymotest.Folder() as folder:
        for name, flags in worlds.items():
            errors, states = searched(folder, flags, level)
            print(f"{name}: {states:,} states", flush=True)
            kymotest.check(name, errors, 0)
        for name, flags in wrong.items():
            kymotest.expect(searched(folder, [*flags, f"-D{name}"], level)[0] > 0, name, "was not found")


if __name__ == "__main__":
    main()
