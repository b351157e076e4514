#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stacks of samples of real programs, and what they cost: stacks.py [--build DIR] [--turns N] [--rate HZ] [PROGRAM ...]. Of a loop, LAMMPS, Python, a step of
PyTorch's training and hashcat, as far as they are installed: the share of samples whose stack reaches the start of its thread (mark: 95 %), why the others end,
and processor time (mark: 2 %).

Processor time is that of the program and of all that was started for it, Kymo's threads and the process that writes the trace included. All ways of a turn
run at the same time, so that what else the machine does is the same for all of them; what one takes more than another is in percent of the program's own
time: the median of the turns, and its interval of 95 %."""
import argparse
import ctypes
import json
import math
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
run 60
"""
PYTHON = """import json, re
def work(n):
    if n:
        return work(n - 1) + 1
    s = 0
    for _ in range(1500):
        s += len(json.dumps({str(i): i * 1.5 for i in range(200)})) + len(re.sub(r"a(b|c)+", "x", "abcbcabca" * 50))
        sorted(range(1000), key=lambda x: -x)
    return s
work(5)
"""
LOOP = """int main(void)
{
	volatile unsigned long x = 0;
	for (unsigned long i = 0; i < 1500000000; i++)
		x = x * 3 + i;
	return 0;
}
"""
STEP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch_step.py")
PR_SET_CHILD_SUBREAPER = 36
PROGRAMS = {"loop": ["./loop"], "torch": ["/usr/bin/python3", STEP, "10"], "lammps": ["lmp", "-in", "in.lj", "-log", "none"], "python": ["/usr/bin/python3", "work.py"],
            "hashcat": ["hashcat", "-b", "-m", "0", "--force"]}


def runs(command, folder, out):
    """In a process of its own, which gets those that are left behind, too: user and system time of all, s."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    try:
        while True:
            os.wait()
    except ChildProcessError:
        pass
    all_of_them = resource.getrusage(resource.RUSAGE_CHILDREN)
    os.write(out, f"{all_of_them.ru_utime + all_of_them.ru_stime}".encode())


def spent(commands, folder):
    """Processor time of each with all its children, all at the same time."""
    started = {}
    for way, command in commands.items():
        back, out = os.pipe()
        pid = os.fork()
        if not pid:
            runs(command, folder, out)
            os._exit(0)
        os.close(out)
        started[way] = (pid, back)
    times = {}
    for way, (pid, back) in started.items():
        with open(back, encoding="ascii") as f:
            times[way] = float(f.read())
        os.waitpid(pid, 0)
    return times


def median_interval(values):
    """Median, and the values that enclose the median of all there might be with 95 %."""
    v = sorted(values)
    n = len(v)
    k = max(0, math.floor(n / 2 - 0.98 * math.sqrt(n)))
    return statistics.median(v), v[k], v[n - 1 - k]


def shares(kymo, trace):
    done = subprocess.run([kymo, "summary", "-f", "json", trace], capture_output=True, text=True, check=True)
    tables = {t["name"]: t["rows"] for t in json.loads(done.stdout)["tables"]}
    rows = [r for r in tables.get("stack_ends", []) if r["of"] == "samples"]
    return {r["end"]: r["stacks"] for r in rows}


def program(name, command, options, folder):
    """In each turn: nothing, Kymo without samples, with them (of Python by signals, of others from the kernel)."""
    kymo = os.path.join(os.path.abspath(options.build), "bin", "kymo")

    def run(way, *more):
        return [kymo, "run", "-f", "--no-summary", "-o", f"{way}.kymo", *more, "--", *command]

    ways = {"alone": command, "kymo run": run("run"), "--sample": run("sample", f"--sample={options.rate}")}
    turns, ends = [], {}
    for turn in range(options.turns + 1):
        times = spent(ways, folder)
        if not turn:  # the first one warms up
            continue
        turns.append(times)
        for end, n in shares(kymo, os.path.join(folder, "sample.kymo")).items():
            ends[end] = ends.get(end, 0) + n
        print(f"{name} {turn}: " + ", ".join(f"{way} {t:.3f} s" for way, t in times.items()), file=sys.stderr, flush=True)
    whole = sum(ends.values())
    print(f"{name}: {whole} samples; " + ", ".join(f"{end} {100 * n / whole:.1f} %" for end, n in sorted(ends.items(), key=lambda x: -x[1])))
    for way, base in (("kymo run", "alone"), ("--sample", "alone"), ("--sample", "kymo run")):
        middle, low, high = median_interval([100 * (t[way] - t[base]) / t["alone"] for t in turns])
        print(f"  processor time, {way} above {base}, {len(turns)} turns: {middle:+.2f} % [{low:+.2f}, {high:+.2f}]")


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--build", default="build/release")
    p.add_argument("--turns", type=int, default=15)
    p.add_argument("--rate", type=int, default=100)
    p.add_argument("programs", nargs="*", default=list(PROGRAMS))
    options = p.parse_args()
    with tempfile.TemporaryDirectory(prefix="kymo-stacks-") as folder:
        for name, text in (("in.lj", LAMMPS), ("work.py", PYTHON)):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                f.write(text)
        compiled = subprocess.run(["cc", "-O1", "-x", "c", "-o", f"{folder}/loop", "-"], input=LOOP, text=True, check=False)
        for name in options.programs:
            if name == "loop" and not compiled.returncode or shutil.which(PROGRAMS[name][0]):
                program(name, PROGRAMS[name], options, folder)
            else:
                print(f"{name}: not installed")


main()
sys.exit(0)
