#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs whose main thread leaves first end as they do without Kymo, with all that they recorded.

Usage: ends.py KYMO ENDS TOOL [TEST...]
"""
import os
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402

KYMO, ENDS, TOOL = map(os.path.abspath, sys.argv[1:4])
LIMIT = 120 # seconds, for what takes a tenth of one
SHAPES = {"leave": 2, "leave_detached": 2, "leave_alone": 2, "joined": 2, "cancelled": 2,
          "system_call": 2, "system_call_first": 2, "clone_child": 2, "fork_child": 2,
          "fork_thread": 2}


def run(*words):
    """Status and output; whatever hangs is killed with all its children."""
    p = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                         start_new_session=True)
    try:
        out, err = p.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGKILL)
        p.communicate()
        raise AssertionError(f"{words} did not end") from None
    return p.returncode, out, err


def ask(trace, sql):
    status, out, err = run(KYMO, "query", "--format", "csv", trace, sql)
    assert status == 0, err
    return out.split("\n")[1:-1]


class Ends(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="kymo-ends-")
        self.trace = os.path.join(self.folder, "t.kymo")

    def tearDown(self):
        kymotest.remove(self.folder)

    def compare(self, shape, *options, marks=True):
        kymotest.remove(self.trace, missing_ok=True)
        plain = run(ENDS, shape)
        traced = run(KYMO, "run", "--no-summary", "-o", self.trace, *options, ENDS, shape)
        self.assertEqual(plain[:2], traced[:2], f"{shape} {options}: {traced[2]}")
        if marks:
            got = ask(self.trace, "SELECT count(*) FROM markers")
            self.assertEqual(got, [str(SHAPES[shape])], shape)
            lost = ask(self.trace, "SELECT sum(lost_records) FROM process")
            self.assertEqual(lost, ["0"], shape)
        kymotest.remove(self.trace)
        return traced

    def test_shapes(self):
        for shape in SHAPES:
            with self.subTest(shape):
                self.compare(shape)

    def test_modes(self):
        for options in (["-m", "summary"], ["-m", "full", "--sample=100"],
                        ["--counters", "page-faults"]):
            for shape in ("leave", "system_call", "clone_child"):
                with self.subTest(shape, options=options):
                    self.compare(shape, *options, marks=options[1] != "summary")

    def test_tool(self):
        """A tool's own thread, which nobody can end, and its delivery."""
        for shape in ("leave", "joined"):
            with self.subTest(shape):
                err = self.compare(shape, "--tool", TOOL)[2]
                self.assertEqual(err, "tool: 2\n")

    def test_own_threads(self):
        """They are marked where they are in the trace, and are no threads of the program."""
        done = run(KYMO, "run", "-o", self.trace, "--tool", TOOL, ENDS, "leave_alone")
        self.assertEqual(done[0], 0, done[2])
        self.assertIn("1 process, 1 thread", done[2])
        self.assertEqual(ask(self.trace, "SELECT count(*) FROM threads WHERE own = 0 "
                                         "AND tid IN (SELECT tid FROM markers)"), ["1"])
        self.assertEqual(ask(self.trace, "SELECT count(*) > 0 FROM threads WHERE own = 1"), ["1"])

    def test_signals(self):
        """While the program's last thread waits for ever."""
        for sig in (signal.SIGTERM, signal.SIGINT):
            p = subprocess.Popen([KYMO, "run", "--no-summary", "-o", self.trace, ENDS, "waits"],
                                 stdout=subprocess.PIPE, text=True, start_new_session=True)
            try:
                self.assertEqual(p.stdout.readline(), "ready\n")
                os.killpg(p.pid, sig)
                self.assertEqual(p.wait(timeout=LIMIT), -sig)
            finally:
                if p.poll() is None:
                    os.killpg(p.pid, signal.SIGKILL)
                    p.wait()
                p.stdout.close()
            self.assertEqual(ask(self.trace, "SELECT count(*) FROM markers"), ["2"])
            kymotest.remove(self.trace)


if __name__ == "__main__":
    for variable in [v for v in os.environ if v.startswith("KYMO_")]:
        del os.environ[variable]
    unittest.main(argv=[sys.argv[0]] + sys.argv[4:], verbosity=1)
