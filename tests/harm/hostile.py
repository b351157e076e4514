#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What stands in the memory that a program shares with its drain does the program no harm.

Usage: hostile.py KYMO HOSTILE VICTIM
HOSTILE is a drain that writes into that memory all the time. Whatever it writes, the program's output
and status are what they are without Kymo, and it ends.
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402

KYMO, HOSTILE, VICTIM = map(os.path.abspath, sys.argv[1:4])
ATTACKS = ("geometry", "lists", "header", "control", "chunks", "all")
MODES = (["--mode", "default"], ["--mode", "summary"], ["--on-full", "overwrite", "--buffer-size", "1M"],
         ["--on-full", "drop", "--buffer-size", "1M"])
PATIENCE = 300


def environment_of(options):
    """What `kymo run` would give the program."""
    p = subprocess.run([KYMO, "run", "--dry-run", "--block-time", "1us", *options, "true"],
                       capture_output=True, text=True, timeout=60, check=True)
    words = [line.removesuffix(" \\") for line in p.stdout.splitlines()[:-1]]
    return dict(w.replace("'", "").split("=", 1) for w in words)


def one(folder, seed, attack, options, plain):
    path = f"{folder}/drain-{seed}"
    drain = subprocess.Popen([HOSTILE, path, str(seed), attack, "1"], stdout=subprocess.PIPE, text=True)
    assert drain.stdout.readline() == "ready\n"
    env = {**os.environ, **environment_of(options), "KYMO_DRAIN": path, "KYMO_TRACE": f"{folder}/none.kymo"}
    p = subprocess.run([VICTIM], env=env, capture_output=True, text=True, timeout=PATIENCE)
    said = drain.communicate(timeout=PATIENCE)[0]
    good = (p.returncode, p.stdout, p.stderr) == plain and drain.returncode == 0
    print(f"seed {seed} {' '.join(options)}: {said.strip()}", "" if good else
          f"\n  HARM: {p.returncode} {p.stdout!r} {p.stderr!r}, without Kymo {plain}", flush=True)
    return good


def main():
    p = subprocess.run([VICTIM], capture_output=True, text=True, timeout=PATIENCE)
    plain = (p.returncode, p.stdout, p.stderr)
    assert p.returncode == 5, plain
    seed, bad = int(os.environ.get("TEST_SEED", "1")), 0
    with kymotest.Folder() as folder:
        for attack in ATTACKS:
            for options in MODES:
                bad += not one(folder, seed, attack, options, plain)
                seed += 1
    print(f"{seed - 1} attacks, {bad} did harm")
    return 1 if bad else 0


sys.exit(main())
