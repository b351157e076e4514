#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Children write nothing into what their parent records, with the kernel's help and without it.

Usage: forks.py KYMO FORKS NO_WIPE [TEST...]
"""
import os
import sys

import recorded

FORKS, NO_WIPE = map(os.path.abspath, sys.argv[2:4])
NAMES = ["parent"] + ["child"] * 3 + ["grandchild"] * 3


class Forks(recorded.Recorded):
    def check(self, env):
        done = self.run_recorded(FORKS, env=env)
        self.assertEqual(done.returncode, 5, done.stderr)
        rows = self.ask("SELECT name, count(*) FROM markers GROUP BY pid, name ORDER BY name")
        self.assertEqual(sorted(rows), sorted(f"{name},2000" for name in NAMES))
        self.assertEqual(self.ask("SELECT sum(lost_records) FROM process"), ["0"])

    def test_kernel(self):
        self.check({})

    def test_emulator(self):
        self.check({"LD_PRELOAD": NO_WIPE})


if __name__ == "__main__":
    recorded.main(3)
