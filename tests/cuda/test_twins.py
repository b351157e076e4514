#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Twins of CUDA kernels, on stand-ins for CUPTI and the driver: test_twins.py KYMO WHAT."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "annotation"))
import base  # noqa: E402
from base import check  # noqa: E402

PTX = os.path.join(HERE, "scale.ptx")
GROUPS, ITEMS = 8, 64
THREADS = GROUPS * ITEMS


class Test(base.Test):
    def build(self):
        flags = ["-std=gnu11", "-Wall", "-Wextra", "-Wno-unused-parameter", "-pthread"]
        self.library = self.compile("libcupti-fake.so", *flags, "-shared", "-fPIC", os.path.join(HERE, "fake.c"),
                                    os.path.join(HERE, "fake_driver.c"))
        self.built = self.compile("program", *flags, os.path.join(HERE, "twins.c"), self.library)

    def scene(self, *words, options=("--instrument-kernels",), env=None):
        more = {"KYMO_CUPTI": self.library, "FAKE_VERSION": "130001", **(env or {})}
        return self.record(self.built, *words, env=more, options=options, plain=False)

    def rows(self, sql):
        return [tuple(r.values()) for r in self.query(sql)]

    def noted(self, words):
        notes = [r[0] for r in self.rows("SELECT text FROM note WHERE part = 'instrument'")]
        check(f"note {words}", [n for n in notes if words in n] != [], True)

    def test_counts(self):
        """Three launches, each with its twin; the program's memory is as without."""
        self.build()
        check("memory", self.scene(PTX), "3 117901063, twins 3\n")
        check("blocks", self.rows("SELECT DISTINCT function, kind, line FROM kernel_places WHERE what = 'block' ORDER BY line"), [])


if __name__ == "__main__":
    sys.exit(base.main(Test, HERE))
