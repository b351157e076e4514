#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the overhead that a summary tells against the truth: bench/overhead.py KYMO [-n TURNS] [-m MODES]
[NAME ...].

Programs that know nothing of Kymo run by turns, without it and with it, in an order that changes; the
truth is the difference of the processor time of the program (user and system, of all its threads; the
drain is another process). Of each mode: the median of the differences and
its quartiles, what Kymo told (medians of its bounds; what is told is a floor), and their ratio.

A difference of two processor times is no better than what the program itself varies by: `noise` is the
half distance of the quartiles of its untraced turns."""
import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
# name: command, environment, what it needs
PROGRAMS = {
    "hashcat": (["hashcat", "--potfile-disable", "--force", "-m", "0", "-a", "3", "--self-test-disable",
                 "900150983cd24fb0d6963f7d28e17f72", "?l?l?l?l"], {}, "package hashcat"),
    "clblast": (["clblast_tuner_copy_fast"], {}, "package libclblast-bin"),
    "heat": (["{bin}/heat", "--schedule", "overlap"], {}, "bundled"),
    "many": (["{bin}/ocl_many", "--kernels", "20000"], {}, "bundled"),
    "lammps": (["lmp", "-in", "{folder}/in.lj"], {"OMP_NUM_THREADS": "1"}, "package lammps"),
    "netpipe": (["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", "{kymo}", "NPopenmpi",
                 "-u", "65536", "-o", "/dev/null"], {}, "packages netpipe-openmpi"),
}
LJ = """units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 8 0 8 0 8
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
fix 1 all nve
run 300
"""


TIMED = ["bash", "-c", 'TIMEFORMAT="%3U %3S"; { time "$@" >/dev/null 2>&1; } 2>took', "bash"]


def processor_time(run, command, env, folder):
    """Of the command and all that it waited for, seconds; what runs it (`run`) does not count."""
    done = subprocess.run(run + TIMED + command, cwd=folder, env=dict(os.environ, **env),
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, timeout=600)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(run + command)}: exit status {done.returncode}")
    with open(os.path.join(folder, "took"), encoding="utf-8") as f:
        return sum(float(word) for word in f.read().split())


def told(kymo, trace):
    """Low and high, in seconds."""
    out = subprocess.run([kymo, "summary", "--format", "json", trace], stdout=subprocess.PIPE,
                         check=True).stdout
    row = [t for t in json.loads(out)["tables"] if t["name"] == "quality"][0]["rows"][0]
    return [row[k] / 1e9 for k in ("overhead_low_ns", "overhead_high_ns")]


def quartiles(values):
    q = statistics.quantiles(values, n=4) if len(values) > 2 else [min(values)] * 3
    return q[0], statistics.median(values), q[2]


def measure(kymo, name, modes, turns, folder):
    command, env, needs = PROGRAMS[name]
    place = {"bin": os.path.dirname(os.path.realpath(kymo)), "folder": folder, "kymo": ""}
    command = [w.format(**place) for w in command]
    command = [w for w in command if w]
    if not shutil.which(command[0]):
        print(f"{name}: skipped, {command[0]} is not here ({needs})")
        return
    bare, traced, says = [], {m: [] for m in modes}, {m: [] for m in modes}
    for turn in range(turns):
        order = [None] + list(modes)
        random.shuffle(order)
        took = {}
        for mode in order:
            trace = os.path.join(folder, "t.kymo")
            shutil.rmtree(trace, ignore_errors=True)
            run = [kymo, "run", "--no-summary", "--mode", mode, "-o", trace, "--"] if mode else []
            took[mode] = processor_time(run, command, env, folder)
            if mode:
                says[mode].append(told(kymo, trace))
        bare.append(took[None])
        for mode in modes:
            traced[mode].append(took[mode] - took[None])
    low, middle, high = quartiles(bare)
    print(f"{name}: {turns} turns, alone {middle:.3f} s, noise {(high - low) / 2 * 1e3:.1f} ms")
    for mode in modes:
        first, truth, third = quartiles(traced[mode])
        low = statistics.median(s[0] for s in says[mode])
        high = statistics.median(s[1] for s in says[mode])
        print(f"  {mode:8} truth {truth * 1e3:9.2f} ms [{first * 1e3:.2f}, {third * 1e3:.2f}]  told "
              f"{low * 1e3:.2f} to {high * 1e3:.2f} ms  "
              f"told / truth {(low + high) / 2 / truth:.2f}" if truth > 0 else "", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kymo")
    parser.add_argument("-n", "--turns", type=int, default=15)
    parser.add_argument("-m", "--modes", default="default,full,summary")
    parser.add_argument("names", nargs="*", help=", ".join(PROGRAMS))
    o = parser.parse_intermixed_args()
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "in.lj"), "w", encoding="utf-8") as f:
            f.write(LJ)
        for name in o.names or PROGRAMS:
            measure(os.path.abspath(o.kymo), name, o.modes.split(","), o.turns, folder)


main()
