#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is recorded first may be on a thread with the smallest stack there is, in every mode.

Usage: small_stack.py KYMO INJECT PROGRAM [TEST...]
"""
import glob
import os
import resource
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402

KYMO, INJECT, PROGRAM = map(os.path.abspath, sys.argv[1:4])
MODES = ([], ["-m", "full"], ["-m", "summary"], ["-m", "minimal"], ["--on-full", "overwrite"],
         ["--stacks"], ["--sample=100"], ["--counters", "page-faults"], ["--threads"])
RECORDS = {"marker": 20 * 200, "children": 20 * 200, "nvtx": 20 * 300, "opencl": 20 * 100}


class SmallStack(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="kymo-stack-")
        self.trace = os.path.join(self.folder, "t.kymo")

    def tearDown(self):
        kymotest.remove(self.folder)

    def count(self, trace, what):
        sql = ("SELECT count(*) FROM regions WHERE name = 'clGetPlatformIDs'" if what == "opencl"
               else "SELECT count(*) FROM markers")
        done = subprocess.run([KYMO, "query", "--format", "csv", trace, sql], timeout=120,
                              capture_output=True, text=True, check=True)
        return int(done.stdout.split()[1])

    def traced(self, what, options, size=None):
        kymotest.remove(self.trace, missing_ok=True)
        words = [what] + ([str(size)] if size else [])
        done = subprocess.run([KYMO, "run", "--no-summary", "-o", self.trace, *options, PROGRAM,
                               *words], timeout=240, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 5, f"{words} {options}: {done.stderr}")
        chatty = what == "opencl" and options != ["-m", "full"]
        if not chatty and options not in (["-m", "summary"], ["-m", "minimal"]):
            self.assertEqual(self.count(self.trace, what), RECORDS[what], f"{what} {options}")

    def test_readers(self):
        """libdw takes 150 KiB for a table of lines."""
        if subprocess.run([PROGRAM, "opencl", str(1 << 20)], timeout=120, check=False, capture_output=True).returncode == 77:
            self.skipTest("there is no OpenCL here")
        self.traced("opencl", ["-m", "full"], 1 << 20)
        for words in (["summary", "-f", "json", "--all"], ["show"], ["query", "--", "SELECT 1"], ["diagnose"], ["report", "-o", self.trace + ".html"], ["export", "--to", "json", "-o", "-"]):
            with self.subTest(words):
                at = words.index("--") + 1 if "--" in words else len(words)
                done = subprocess.run([KYMO, *words[:at], self.trace, *words[at:]], timeout=120, capture_output=True, text=True, check=False,
                                      preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, (128 << 10, 128 << 10)))
                self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r'"file":"[^"]*small_stack\.c"')

    def test_annotations(self):
        for what in ("marker", "children", "nvtx"):
            for options in MODES:
                with self.subTest(what, options=options):
                    self.traced(what, options)

    def test_opencl(self):
        """No more than the loader and the driver need themselves, and a page."""
        size = 16384
        while True:
            status = subprocess.run([PROGRAM, "opencl", str(size)], timeout=120, check=False,
                                    capture_output=True).returncode
            if status == 77:
                self.skipTest("there is no OpenCL here")
            if status == 5:
                break
            size += 4096
            if size > 1 << 20:
                self.skipTest("the OpenCL driver does not run on any such thread")
        for options in MODES:
            with self.subTest(options=options):
                self.traced("opencl", options if options else ["-m", "full"], size + 4096)

    def manifests(self):
        text = ""
        for path in glob.glob(os.path.join(self.trace, "manifest*.json")):
            with open(path, encoding="utf-8") as f:
                text += f.read()
        return text

    def test_by_hand(self):
        """The thread starts the drain as well."""
        env = {**os.environ, "LD_PRELOAD": INJECT, "KYMO_BIN": KYMO, "KYMO_TRACE": self.trace}
        subprocess.run([PROGRAM, "marker"], env=env, timeout=120, check=False)
        # The drain goes on for a while after the program.
        end = time.monotonic() + 120
        while '"complete"' not in self.manifests() and time.monotonic() < end:
            time.sleep(0.05)
        self.assertIn('"complete"', self.manifests())


if __name__ == "__main__":
    for variable in [v for v in os.environ if v.startswith("KYMO_")]:
        del os.environ[variable]
    unittest.main(argv=[sys.argv[0]] + sys.argv[4:], verbosity=1)
