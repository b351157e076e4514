#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stacks against those that elfutils finds in the stopped process, frame by frame: unwind_truth.py PROGRAM EU_STACK."""
import re
import subprocess
import sys

PROGRAM, EU_STACK = sys.argv[1:3]
OUTERMOST = 1
SCENES = {"sort": 13, "signal": 13, "aside": 13, "tail": 9, "throw": 11, "uncaught": 18, "thread": 43, "bind": 13}  # frames at least


def theirs(pid, tid):
    """Addresses of one thread's frames, innermost first."""
    done = subprocess.run([EU_STACK, "-n", "0", "-p", pid], capture_output=True, text=True, check=False)
    threads = re.split(r"^TID (\d+):$", done.stdout, flags=re.M)
    frames = dict(zip(threads[1::2], threads[2::2])).get(tid, "")
    return [int(x, 16) for x in re.findall(r"^#\d+\s+0x([0-9a-f]+)", frames, re.M)], done.stderr


def scene(name, least):
    with subprocess.Popen([PROGRAM, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        pid, tid, end, *ours = process.stdout.readline().split()
        want, error = theirs(pid, tid)
        process.communicate("x")
    callers = [int(x, 16) for x in ours][1:]
    if not want:
        print(f"skipped: {EU_STACK} tells nothing: {error}")
        sys.exit(77)
    # Theirs begins in read(), and goes through the function that looked, too.
    same = callers[0] in want and want[want.index(callers[0]):] == callers
    print(f"{name}: {len(callers)} callers, {'the same' if same else 'others'}")
    if same and int(end) == OUTERMOST and len(callers) >= least and process.returncode == 0:
        return True
    print(f"  end {end}, status {process.returncode}\n  ours   {[hex(x) for x in callers]}\n  theirs {[hex(x) for x in want]}\n{error}")
    return False


sys.exit(0 if all([scene(*x) for x in SCENES.items()]) else 1)
