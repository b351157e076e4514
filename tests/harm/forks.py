#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Children write nothing into what their parent records, with the kernel's help and without it.

Usage: forks.py KYMO FORKS NO_WIPE [TEST...]
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

KYMO, FORKS, NO_WIPE = map(os.path.abspath, sys.argv[1:4])
NAMES = ["parent"] + ["child"] * 3 + ["grandchild"] * 3


class Forks(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="kymo-forks-")
        self.trace = os.path.join(self.folder, "t.kymo")

    def tearDown(self):
        shutil.rmtree(self.folder)

    def ask(self, sql):
        done = subprocess.run([KYMO, "query", "--format", "csv", self.trace, sql], timeout=120,
                              capture_output=True, text=True, check=True)
        return done.stdout.split("\n")[1:-1]

    def check(self, env):
        done = subprocess.run([KYMO, "run", "--no-summary", "-o", self.trace, FORKS], timeout=120,
                              env={**os.environ, **env}, capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 5, done.stderr)
        rows = self.ask("SELECT name, count(*) FROM markers GROUP BY pid, name ORDER BY name")
        self.assertEqual(sorted(rows), sorted(f"{name},2000" for name in NAMES))
        self.assertEqual(self.ask("SELECT sum(lost_records) FROM process"), ["0"])

    def test_kernel(self):
        self.check({})

    def test_emulator(self):
        self.check({"LD_PRELOAD": NO_WIPE})


if __name__ == "__main__":
    for variable in [v for v in os.environ if v.startswith("KYMO_")]:
        del os.environ[variable]
    unittest.main(argv=[sys.argv[0]] + sys.argv[4:], verbosity=1)
