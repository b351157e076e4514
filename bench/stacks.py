#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stacks of samples of real programs, and what they cost: stacks.py [--build DIR] [--turns N] [--rate HZ]. Of LAMMPS, Python and hashcat, as far as they are
installed: the share of samples whose stack reaches the start of its thread (mark: 95 %), why the others end, and processor time by turns without and with
`--sample` (mark: 1.02)."""
import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

LAMMPS = """units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 16 0 16 0 16
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
fix 1 all nve
thermo 100
run 400
"""
PYTHON = """import json, re
def work(n):
    if n:
        return work(n - 1) + 1
    s = 0
    for _ in range(12000):
        s += len(json.dumps({str(i): i * 1.5 for i in range(200)})) + len(re.sub(r"a(b|c)+", "x", "abcbcabca" * 50))
        sorted(range(1000), key=lambda x: -x)
    return s
work(5)
"""
PROGRAMS = {"lammps": ["lmp", "-in", "in.lj", "-log", "none"], "python": ["/usr/bin/python3", "work.py"],
            "hashcat": ["hashcat", "-b", "-m", "0", "--force"]}


def spent(command, folder):
    """User and system time of a run with all its children, s."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def shares(kymo, trace):
    done = subprocess.run([kymo, "summary", "-f", "json", trace], capture_output=True, text=True, check=True)
    tables = {t["name"]: t["rows"] for t in json.loads(done.stdout)["tables"]}
    rows = [r for r in tables.get("stack_ends", []) if r["of"] == "samples"]
    return {r["end"]: r["stacks"] for r in rows}


def program(name, command, options, folder):
    """By turns: nothing, Kymo without samples, with those of the kernel's, with those by signals (which come of all time, also to threads that wait)."""
    kymo = os.path.join(os.path.abspath(options.build), "bin", "kymo")
    run = [kymo, "run", "-f", "--no-summary", "-o", "t.kymo"]
    ways = {"alone": command, "kymo run": run + ["--"] + command, "--sample": run + [f"--sample={options.rate}", "--"] + command,
            "by signals": run + [f"--sample={options.rate}", "--sample-clock", "wall", "--"] + command}
    times, ends = {way: [] for way in ways}, {}
    for turn in range(options.turns + 1):
        for way, words in ways.items():
            t = spent(words, folder)
            if turn:  # the first one warms up
                times[way].append(t)
            if turn and way == "--sample":
                for end, n in shares(kymo, os.path.join(folder, "t.kymo")).items():
                    ends[end] = ends.get(end, 0) + n
    whole = sum(ends.values())
    print(f"{name}: {whole} samples; " + ", ".join(f"{end} {100 * n / whole:.1f} %" for end, n in sorted(ends.items(), key=lambda x: -x[1])))
    if options.turns < 2:
        return
    for way, base in (("kymo run", "alone"), ("--sample", "kymo run"), ("by signals", "kymo run")):
        ratios = [a / b for a, b in zip(times[way], times[base])]
        print(f"  processor time, {way} to {base}: median {statistics.median(ratios):.3f}, mean {statistics.mean(ratios):.3f} "
              f"+- {statistics.stdev(ratios) / len(ratios) ** 0.5:.3f}, {min(ratios):.3f} to {max(ratios):.3f}")


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--build", default="build/release")
    p.add_argument("--turns", type=int, default=5)
    p.add_argument("--rate", type=int, default=100)
    p.add_argument("programs", nargs="*", default=list(PROGRAMS))
    options = p.parse_args()
    with tempfile.TemporaryDirectory(prefix="kymo-stacks-") as folder:
        for name, text in (("in.lj", LAMMPS), ("work.py", PYTHON)):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                f.write(text)
        for name in options.programs:
            if shutil.which(PROGRAMS[name][0]):
                program(name, PROGRAMS[name], options, folder)
            else:
                print(f"{name}: not installed")


main()
sys.exit(0)
