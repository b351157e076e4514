#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Other people's tools go on working beside Kymo, in front of it and behind it.

Usage: beside.py BUILD [TESTS...]
"""
import json
import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402

BUILD = os.path.abspath(sys.argv[1])
KYMO = os.path.join(BUILD, "bin", "kymo")
HEAT = os.path.join(BUILD, "bin", "heat")
LIB = os.path.join(BUILD, "lib")
HERE = os.path.join(BUILD, "tests", "harm")
LIBKYMO = os.path.join(LIB, "libkymo.so.1")
COUNT = os.path.join(LIB, "libcountlayer.so")
INTERPOSE = os.path.join(HERE, "libinterpose.so")
RUNTIMES = os.path.join(BUILD, "tests", "register")
KERNEL = "clEnqueueNDRangeKernel"


class Beside(unittest.TestCase):
    def setUp(self):
        self.folder = kymotest.Folder()
        self.out = os.path.join(self.folder.name, "out")

    def tearDown(self):
        self.folder.cleanup()

    def run_program(self, *command, **settings):
        env = {k: v for k, v in os.environ.items()
               if not k.startswith(("KYMO_", "ROCP", "LD_PRELOAD", "OPENCL_LAYERS"))}
        env.update(settings)
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def kymo(self, *command, **settings):
        """What the program wrote, and the calls of each op that Kymo recorded."""
        trace = os.path.join(self.folder.name, "t.kymo")
        output = self.run_program(KYMO, "run", "--no-summary", "-o", trace, *command, **settings)
        if "nothing was recorded" in output and command[-1] == HEAT:
            self.skipTest("no OpenCL device here")
        shown = self.run_program(KYMO, "show", trace)
        calls = {}
        for op in re.findall(r"(?:opencl|hip):(\w+)\(", shown):
            calls[op] = calls.get(op, 0) + 1
        return output, calls

    def heat(self, *prefix, **settings):
        if not os.path.exists(HEAT):
            self.skipTest("built without OpenCL")
        output, calls = self.kymo(*prefix, HEAT, **settings)
        self.assertIn(": correct", output)
        self.assertGreater(calls[KERNEL], 1000)
        return calls

    def counted(self, calls):
        with open(self.out, encoding="utf-8") as file:
            witness = json.load(file)
        for op in (KERNEL, "clEnqueueCopyBuffer", "clWaitForEvents", "clReleaseContext"):
            self.assertEqual(witness["calls"][op], calls[op], op)

    def test_layer_behind(self):
        """The user's layers come after Kymo's in the list."""
        if not os.path.exists(COUNT):
            self.skipTest("built without layers")
        self.counted(self.heat(OPENCL_LAYERS=COUNT, COUNT_OUT=self.out))

    def test_layer_in_front(self):
        if not os.path.exists(COUNT):
            self.skipTest("built without layers")
        self.counted(self.heat("env", f"OPENCL_LAYERS={LIBKYMO}:{COUNT}", COUNT_OUT=self.out))

    def interposed(self):
        with open(self.out, encoding="utf-8") as file:
            kernels, mallocs = re.fullmatch(r"kernels (\d+) mallocs (\d+)\n", file.read()).groups()
        os.remove(self.out)
        self.assertGreater(int(mallocs), 100)
        return int(kernels)

    def test_preload_after(self):
        calls = self.heat(LD_PRELOAD=INTERPOSE, INTERPOSE_OUT=self.out)
        self.assertEqual(self.interposed(), calls[KERNEL])
        self.assertIn(": correct", self.run_program(HEAT, LD_PRELOAD=INTERPOSE,
                                                    INTERPOSE_OUT=self.out))
        self.assertEqual(self.interposed(), calls[KERNEL]) # as without Kymo

    def test_preload_before(self):
        calls = self.heat("sh", "-c", f'LD_PRELOAD="{INTERPOSE}:$LD_PRELOAD" exec "$0"',
                          INTERPOSE_OUT=self.out)
        self.assertEqual(self.interposed(), calls[KERNEL])

    def profiler(self, register, *prefix):
        runtime = os.path.join(RUNTIMES, "linked", "libamdhip64.so.6")
        program = os.path.join(HERE, "own_profiler")
        path = f"{register}:{LIB}"
        plain = self.run_program(program, runtime, LD_LIBRARY_PATH=path)
        self.assertEqual(plain, "tables 1 mallocs 3\n")
        output, calls = self.kymo(program, runtime, LD_LIBRARY_PATH=path)
        self.assertTrue(output.startswith(plain), output)
        return calls

    def test_program_is_a_profiler(self):
        """With Kymo's drop-in both see the calls."""
        self.assertEqual(self.profiler(LIB), {"hipMalloc": 3})

    def test_program_is_a_profiler_of_amds(self):
        """AMD's library knows one profiler, and the program comes first."""
        self.assertEqual(self.profiler(os.path.join(RUNTIMES, "amd")), {})


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[2:], verbosity=1)
