# SPDX-License-Identifier: Apache-2.0
"""What the tests share that count instructions under callgrind: a test of the present counts against those of a file.

Time on a shared machine says little; instruction counts do not depend on who else is running. They do depend on the
compiler, so a file has the counts for each: {compiler: {kind: instructions}}. `--write` makes the present counts the
baseline (run it when a change is meant to alter them, and say why in the commit).

Exit status of test(): 0 within the tolerance, 1 not, 77 cannot be measured here (says why).
"""
import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))  # kymotest

HERE = os.path.dirname(os.path.abspath(__file__))


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def run(command, **how):
    """Standard error of a command that has to succeed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, **how)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr}")
    return done.stderr


def callgrind(out, *command):
    return ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", *command]


def collected(printed):
    """All instructions of a run, by every thread, from what valgrind printed."""
    found = re.search(r"Collected : (\d+)", printed)
    if not found:
        sys.exit(f"valgrind printed no count:\n{printed}")
    return int(found.group(1))


def own_cost(path):
    """Instructions by Kymo's libraries, from callgrind's file: lines of cost of their objects."""
    names, cost, mine, called = {}, 0, False, False
    with open(path, encoding="utf-8", errors="replace") as f:
        for line in f:
            found = re.match(r"ob=\((\d+)\)(?: (.*))?", line)
            if found:
                if found.group(2):
                    names[found.group(1)] = "libkymo" in os.path.basename(found.group(2))
                mine = names.get(found.group(1), False)
            elif line.startswith("cob="):  # of the function that is called; it may be the first
                found = re.match(r"cob=\((\d+)\) (.*)", line)
                if found:
                    names[found.group(1)] = "libkymo" in os.path.basename(found.group(2))
            elif line.startswith("calls="):
                called = True  # the next line is what the call cost
            elif line[0] in "+-*0123456789":
                if mine and not called:
                    cost += int(line.split()[1])
                called = False
    return cost


def parser(doc):
    p = argparse.ArgumentParser(description=doc.splitlines()[0])
    p.add_argument("--write", action="store_true", help="make the present counts the baseline")
    p.add_argument("--compiler", required=True, help="for example gcc-12")
    return p


def compare(counts, expected, tolerance, wider):
    """Kinds that are not what is expected, but for `tolerance` (or that of `wider`) of that and one instruction at least."""
    bad = []
    for kind, now in counts.items():
        then = expected.get(kind)
        if then is None:
            verdict, then = "NO BASELINE", 0.0
        elif abs(now - then) <= max(1.0, wider.get(kind, tolerance) * then):
            verdict = "ok"
        else:
            verdict = "MORE" if now > then else "FEWER"
        print(f"{kind:24} {now:8.1f} instructions, baseline {then:8.1f}  {verdict}")
        if verdict != "ok":
            bad.append(kind)
    return bad


def test(o, name, measure, tolerance, also=lambda o, counts: [], wider=()):
    """
    Counts `measure(o)` against the file `name`. `also` returns which of them are wrong whatever the file says.
    """
    path = os.path.join(HERE, name)
    if not shutil.which("valgrind"):
        skip("valgrind is not installed")
    if platform.machine() != "x86_64":
        skip(f"the baselines are for x86_64, not {platform.machine()}")
    with open(path, encoding="utf-8") as f:
        baseline = json.load(f)
    if o.compiler not in baseline and not o.write:
        skip(f"no baseline for {o.compiler} in {path}; --write adds one")
    counts = measure(o)
    if o.write:
        baseline.setdefault(o.compiler, {}).update(counts)
        with open(path, "w", encoding="utf-8") as f:
            json.dump(baseline, f, indent=2, sort_keys=True)
            f.write("\n")
        print(f"{path}: {o.compiler}: {counts}")
        return 0
    bad = compare(counts, baseline[o.compiler], tolerance, dict(wider))
    if bad:
        print(f"changed: {', '.join(bad)}. If that is meant: {sys.argv[0]} --write {' '.join(sys.argv[1:])}")
    return 1 if also(o, counts) or bad else 0
