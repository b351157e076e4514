# SPDX-License-Identifier: Apache-2.0
"""Tests of one program that is recorded into a folder of their own: what early.py and forks.py share."""
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402

KYMO = os.path.abspath(sys.argv[1])


class Recorded(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="kymo-harm-")
        self.trace = os.path.join(self.folder, "t.kymo")

    def tearDown(self):
        kymotest.remove(self.folder)

    def ask(self, sql):
        """The rows as lines of CSV."""
        done = subprocess.run([KYMO, "query", "--format", "csv", self.trace, sql], timeout=120,
                              capture_output=True, text=True, check=True)
        return done.stdout.split("\n")[1:-1]

    def run_recorded(self, program, *options, env=None):
        return subprocess.run([KYMO, "run", "--no-summary", "-o", self.trace, *options, program], timeout=240,
                              env={**os.environ, **(env or {})}, capture_output=True, text=True, check=False)


def main(arguments):
    """Tests that are named come after so many arguments."""
    for variable in [v for v in os.environ if v.startswith("KYMO_")]:
        del os.environ[variable]
    unittest.main(module="__main__", argv=[sys.argv[0]] + sys.argv[1 + arguments:], verbosity=1)
