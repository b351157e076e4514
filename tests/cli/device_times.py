#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times of devices on the host's scale, as a tool is told them: device_times.py KYMO TOOL PROGRAM.
With one device of PoCL and with two, each of which has a clock of its own."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402

LAUNCHES = 60


def main():
    kymo, tool, program = sys.argv[1:]
    wrong = 0
    for devices in ("pthread", "pthread pthread"):
        with kymotest.Folder() as folder:
            out = os.path.join(folder, "out")
            done = subprocess.run([kymo, "run", "--no-summary", "-o", os.path.join(folder, "t.kymo"), "--tool", tool,
                                   "--", program], env=dict(os.environ, POCL_DEVICES=devices, DEVICE_TIMES_OUT=out),
                                  capture_output=True, text=True, timeout=200)
            if done.returncode == 77:
                print("skipped: no OpenCL device here")
                return 77
            if done.returncode:
                print(done.stdout + done.stderr)
                return 1
            with open(out, encoding="utf-8") as told:
                agents = [[int(n) for n in line.split()] for line in told]
        expected = int(done.stdout.split()[0])
        print(f"{devices}: {expected} devices; kernels, wrong, largest error: {agents}")
        if len(agents) != expected or any(a[0] != LAUNCHES or a[1] or not 0 < a[2] < 100_000_000 for a in agents):
            wrong += 1
    return 1 if wrong else 0


sys.exit(main())
