#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the constructors and destructors of libraries do is recorded like the rest.

Usage: early.py KYMO INJECT PROGRAM HAVE_OPENCL [TEST...]
"""
import os
import subprocess
import sys
import time

import recorded

INJECT, PROGRAM = map(os.path.abspath, sys.argv[2:4])
OPENCL = sys.argv[4] == "1"
MARKS, KERNELS = "SELECT count(*) FROM markers", "SELECT count(*) FROM kernels"


class Early(recorded.Recorded):
    def count(self, sql):
        return int(self.ask(sql)[0])

    def record(self, only, *options):
        env = {"EARLY_ONLY": only} if only else {}
        status = subprocess.run([PROGRAM], env={**os.environ, **env}, timeout=240, check=False).returncode
        if status == 77:
            self.skipTest("no OpenCL device")
        done = self.run_recorded(PROGRAM, *options, env=env)
        self.assertEqual((status, done.returncode), (5, 5), done.stderr)

    def test_marker(self):
        self.record("marker")
        self.assertEqual(self.count(MARKS), 15)

    def test_opencl(self):
        if not OPENCL:
            self.skipTest("there is no OpenCL here")
        self.record("opencl", "-m", "full")
        self.assertEqual(self.count(KERNELS), 15)
        self.assertEqual(self.count("SELECT count(*) FROM regions WHERE "
                                    "name = 'clEnqueueNDRangeKernel'"), 15)
        self.assertEqual(self.count("SELECT sum(untraced_calls + lost_records) AS n "
                                    "FROM process"), 0)

    def test_both(self):
        if not OPENCL:
            self.skipTest("there is no OpenCL here")
        self.record(None)
        self.assertEqual((self.count(MARKS), self.count(KERNELS)), (15, 15))

    def test_by_hand(self):
        """The drain is found although the constructor that finds its place has not run."""
        env = {**os.environ, "LD_PRELOAD": INJECT, "KYMO_BIN": "", "EARLY_ONLY": "marker",
               "KYMO_TRACE": self.trace}
        subprocess.run([PROGRAM], env=env, timeout=120, check=False)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline: # the drain ends after the program
            if os.path.exists(os.path.join(self.trace, "manifest.json")):
                break
            os.sched_yield()
        self.assertEqual(self.count(MARKS), 15)


if __name__ == "__main__":
    recorded.main(4)
