#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stacks of samples beside gdb's, of the same moments: gdb_stacks.py [--build DIR] [--stops N] [--after S] PROGRAM [ARGUMENT ...]

The program is sampled by signals. gdb stops it at each signal before the sample is taken, walks the stack, and lets it go on: both have seen the same
stack. Compared are addresses of all frames, and which functions are inlined where. Frames that gdb reconstructs of calls that were jumps are left out: there
is nothing on the stack. Where Kymo has Python's functions gdb has the evaluation loop that runs them: one such frame stands for the functions next to each
other. Exit status: 0 all are equal, 1 not."""
import argparse
import collections
import csv
import io
import json
import os
import subprocess
import sys
import tempfile
import time

INSIDE = """
import gdb, json
stops = []
gdb.execute("set pagination off")
gdb.execute("handle SIG%(signal)d stop print pass")
for _ in range(%(stops)d):
    gdb.execute("continue", to_string=True)
    if not gdb.selected_thread():
        break
    frame, frames = gdb.newest_frame(), []
    while frame is not None:
        if frame.type() != gdb.TAILCALL_FRAME:
            frames.append((frame.pc(), frame.type() == gdb.INLINE_FRAME, frame.name() == "_PyEval_EvalFrameDefault"))
        frame = frame.older()
    stops.append((gdb.selected_thread().ptid[1], frames))
with open(%(out)r, "w") as f:
    json.dump(stops, f)
if gdb.selected_thread():
    gdb.execute("detach")
"""


SYSCALL = b"\x0f\x05"
PYTHON = [0, False]
FRAMES = """SELECT f.stack, s.address, s.caller, coalesce(n.text LIKE 'py::%', 0) FROM stack_frame f JOIN site s ON s.id = f.site
LEFT JOIN string n ON n.id = s.function ORDER BY f.stack, f.depth"""


def signal_of(pid):
    """The highest signal that it handles: Kymo's."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as f:
        caught = next(line for line in f if line.startswith("SigCgt:"))
    return int(caught.split()[1], 16).bit_length()


def child_of(pid, name):
    """The program, which `kymo run` has started."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as f:
                for child in f.read().split():
                    with open(f"/proc/{child}/comm", encoding="utf-8") as comm:
                        if comm.read().strip() == name[:15]:
                            return int(child)
        time.sleep(0.01)
    sys.exit(f"{name} did not start")


def query(kymo, trace, sql):
    done = subprocess.run([kymo, "query", "--format", "csv", trace, sql], capture_output=True, text=True, check=True)
    return list(csv.reader(io.StringIO(done.stdout)))[1:]


def samples(kymo, trace):
    """By thread, in their order: program counter, and frames as gdb's."""
    stacks, found = collections.defaultdict(list), collections.defaultdict(list)
    for stack, address, caller, python in query(kymo, trace, FRAMES):
        frame = PYTHON if python == "1" else [int(address), caller not in ("", "0")]
        if frame is not PYTHON or stacks[stack][-1:] != [PYTHON]:
            stacks[stack].append(frame)
    for tid, pc, stack in query(kymo, trace, "SELECT t.tid, s.pc, s.stack FROM sample s JOIN thread t ON t.id = s.thread ORDER BY s.time"):
        found[int(tid)].append((int(pc), stacks[stack]))
    return found


def as_kymo(frames, pc):
    """The innermost function's address is the sample's `pc`, and its next byte stands for it: as that of a call would."""
    return [PYTHON if loop else [pc + 1 if at == frames[0][0] else at, inlined] for at, inlined, loop in frames]


def compare(stops, found):
    counts, at = collections.Counter(), collections.Counter()
    for tid, frames in stops:
        pcs = (frames[0][0], frames[0][0] - len(SYSCALL))  # a system call may be begun anew behind the signal
        here = [i for i in range(at[tid], len(found[tid])) if found[tid][i][0] in pcs]
        equal = [i for i in here if found[tid][i][1] == as_kymo(frames, found[tid][i][0])]
        counts["equal" if equal else "different" if here else "without a sample"] += 1
        if equal:
            at[tid] = equal[0] + 1
        elif here:
            print("gdb: ", [(hex(pc), inlined) for pc, inlined in as_kymo(frames, frames[0][0])])
            print("kymo:", [(hex(pc), inlined) for pc, inlined in found[tid][here[0]][1]])
    return counts


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--build", default="build/release")
    p.add_argument("--stops", type=int, default=200)
    p.add_argument("--after", type=float, default=2, help="seconds before the first stop")
    p.add_argument("command", nargs=argparse.REMAINDER)
    o = p.parse_args()
    kymo = os.path.join(os.path.abspath(o.build), "bin", "kymo")
    with tempfile.TemporaryDirectory(prefix="kymo-gdb-") as folder:
        trace, out = f"{folder}/t.kymo", f"{folder}/stops.json"
        with subprocess.Popen([kymo, "run", "--no-summary", "-o", trace, "--sample=200", "--sample-clock", "wall", "--backends", "none", "--",
                               *o.command], stdout=subprocess.DEVNULL) as run:
            pid = child_of(run.pid, os.path.basename(o.command[0]))
            time.sleep(o.after)
            with open(f"{folder}/inside.py", "w", encoding="utf-8") as f:
                f.write(INSIDE % {"signal": signal_of(pid), "stops": o.stops, "out": out})
            subprocess.run(["gdb", "-batch", "-p", str(pid), "-x", f"{folder}/inside.py"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                           check=True)
        with open(out, encoding="utf-8") as f:
            stops = json.load(f)
        counts = compare(stops, samples(kymo, trace))
    threads = len({tid for tid, _ in stops})
    print(f"{len(stops)} stops of {threads} threads, {sum(len(frames) for _, frames in stops)} frames: {counts['equal']} equal, "
          f"{counts['different']} different, {counts['without a sample']} without a sample")
    return 1 if counts["different"] or not counts["equal"] else 0


sys.exit(main())
