#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the overhead that a summary tells against the truth:
  bench/overhead.py KYMO [-n TURNS] [-t SECONDS] [-m MODES] [NAME ... | -- COMMAND ...]

Programs that know nothing of Kymo (or a command of yours) run by turns, without it and with it, in an
order that changes. The truth is the difference of the processor time (user and system) of the program
and of all that it started; the drain is another process. Told is what the summary says of the program's
threads, and of Kymo's own threads among them. Each is a median; the truth comes with the 95 % interval
of its median. `noise` is the half distance of the quartiles of the untraced turns: no difference is known
better than that over the root of the number of turns. Where threads spin while they wait for each other,
what one of them loses is lost by all of them, and the truth counts that.

The last column: `within` if the truth's interval and what is told have values in common (what CUPTI is
said to take counts), `above` if Kymo takes more than it tells, `below` if less."""
import argparse
import json
import math
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
MPIRUN = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", "2"]
TORCH = os.environ.get("PYTHON", "python3")
# name: command, environment, what it needs
PROGRAMS = {
    "hashcat": (["hashcat", "--potfile-disable", "--force", "-m", "0", "-a", "3", "--self-test-disable",
                 "900150983cd24fb0d6963f7d28e17f72", "?l?l?l?l"], {}, "package hashcat"),
    "clblast": (["clblast_tuner_copy_fast"], {}, "package clblast-utils"),
    "heat": (["{bin}/heat", "--schedule", "overlap"], {}, "bundled"),
    "many": (["{bin}/ocl_many", "--kernels", "20000"], {}, "bundled"),
    "lammps": (MPIRUN + ["lmp", "-in", "{folder}/in.lj", "-log", "none"], {"OMP_NUM_THREADS": "1"},
               "package lammps"),
    "netpipe": (MPIRUN + ["NPopenmpi", "-u", "65536", "-n", "400", "-o", "/dev/null"], {},
                "package netpipe-openmpi"),
    "openmp": (["{folder}/jacobi", "128", "5000"], {"OMP_NUM_THREADS": "2"}, "packages clang-19, libomp-19-dev"),
    "generate": ([TORCH, f"{ROOT}/tests/cuda/gpu/generate.py", "100"], {}, "PyTorch, transformers and a GPU"),
    "step": ([TORCH, f"{ROOT}/tests/cuda/gpu/train.py", "small", "200"], {}, "PyTorch and a GPU"),
}
LJ = """units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 6 0 6 0 6
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
    """Low and high, in seconds, and the same of what CUPTI takes."""
    out = subprocess.run([kymo, "summary", "--format", "json", trace], stdout=subprocess.PIPE,
                         check=True).stdout
    row = [t for t in json.loads(out)["tables"] if t["name"] == "quality"][0]["rows"][0]
    if row["overhead_low_ns"] is None:
        sys.exit("nothing is recorded of it, so nothing is told")
    own = row["overhead_beside_ns"] - row["overhead_drain_ns"]
    return [(row[f"overhead_{k}_ns"] + own) / 1e9 for k in ("low", "high")] + \
        [row[f"overhead_cupti_{k}_ns"] / 1e9 for k in ("low", "high")]


def median_interval(values):
    """That holds the median of what the values were drawn from in 95 of 100 cases (of few: their range)."""
    values, n = sorted(values), len(values)
    below, rank = 0.0, 0
    while rank < n // 2:
        below += math.comb(n, rank) / 2 ** n
        if below > 0.025:
            break
        rank += 1
    rank = max(rank - 1, 0)
    return values[rank], values[n - 1 - rank]


def verdict(truth, low, high):
    return "above" if truth[0] > high else "below" if truth[1] < low else "within"


def prepare(name, folder):
    """Whether there is everything that the program needs."""
    if name == "lammps":
        with open(os.path.join(folder, "in.lj"), "w", encoding="utf-8") as f:
            f.write(LJ)
    if name == "openmp" and shutil.which("clang-19"):
        subprocess.run(["clang-19", "-O2", "-fopenmp", "-o", os.path.join(folder, "jacobi"),
                        f"{ROOT}/tests/openmp/jacobi.c", "-lm"], check=True)
    if name in ("generate", "step"):
        return shutil.which("nvidia-smi") is not None
    return True


def turns_of(kymo, command, env, folder, modes, limits):
    """Processor times without Kymo; by mode the differences and what was told."""
    bare, traced, says = [], {m: [] for m in modes}, {m: [] for m in modes}
    begin = time.monotonic()
    while len(bare) < limits[0] and time.monotonic() - begin < limits[1]:
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
    return bare, traced, says


def measure(kymo, name, program, modes, limits, folder):
    command, env, needs = program
    place = {"bin": os.path.dirname(os.path.realpath(kymo)), "folder": folder}
    command = [w.format(**place) for w in command] if name else command
    words = command[len(MPIRUN):] if command[:len(MPIRUN)] == MPIRUN else command
    if not prepare(name, folder) or not shutil.which(words[0]):
        print(f"{name}: skipped, {words[0]} cannot run here (needs {needs})")
        return
    bare, traced, says = turns_of(kymo, command, env, folder, modes, limits)
    q = statistics.quantiles(bare, n=4) if len(bare) > 2 else [min(bare), bare[0], max(bare)]
    print(f"{name or ' '.join(command)}: {len(bare)} turns, alone {statistics.median(bare):.3f} s, "
          f"noise {(q[2] - q[0]) / 2 * 1e3:.1f} ms")
    for mode in modes:
        truth = median_interval(traced[mode])
        low, high, least, most = (statistics.median(s[k] for s in says[mode]) * 1e3 for k in range(4))
        print(f"  {mode:8} truth {statistics.median(traced[mode]) * 1e3:8.1f} ms [{truth[0] * 1e3:.1f}, "
              f"{truth[1] * 1e3:.1f}]  told {low:.2f} to {high:.2f} ms"
              f"{f', CUPTI {least:.0f} to {most:.0f} ms' if most else ''}  "
              f"{verdict([t * 1e3 for t in truth], low + least, high + most)}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kymo")
    parser.add_argument("-n", "--turns", type=int, default=15)
    parser.add_argument("-t", "--seconds", type=float, default=1e9, help="no new turn of a program after these")
    parser.add_argument("-m", "--modes", default="default,full,summary")
    parser.add_argument("names", nargs="*", help=", ".join(PROGRAMS))
    cut = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    command = sys.argv[cut + 1:]
    o = parser.parse_intermixed_args(sys.argv[1:cut])
    programs = {"": (command, {}, "to be found")} if command else {n: PROGRAMS[n] for n in o.names or PROGRAMS}
    with tempfile.TemporaryDirectory() as folder:
        for name, program in programs.items():
            measure(os.path.abspath(o.kymo), name, program, o.modes.split(","), (o.turns, o.seconds), folder)


main()
