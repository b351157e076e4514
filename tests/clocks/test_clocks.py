#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clocks that step while a program runs: test_clocks.py KYMO WHAT."""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "annotation"))
import base  # noqa: E402
from base import check  # noqa: E402

SHORT, LONG = 9_900_000, 4_000_000_000  # ns; the ranges take 10 ms, a step is 5 s


class Test(base.Test):
    def stepped(self, ticks, clock, seconds):
        """Durations of the three ranges, and the error that the trace admits."""
        self.record(self.program, clock, seconds, env={"KYMO_CLOCK": ticks})
        rows = self.query("SELECT duration FROM scopes ORDER BY scope")
        error = self.query("SELECT clock_error_ns AS e FROM process")[0]["e"]
        return [r["duration"] for r in rows], error

    def build(self):
        self.program = self.compile("stepping", "-rdynamic", "-I" + os.path.join(self.source, "include"),
                                    os.path.join(HERE, "stepping.c"), "-ldl")

    def test_stepping(self):
        """The wall clock may step as it likes: no time depends on it."""
        self.build()
        for ticks in ("tsc", "monotonic"):
            for seconds in ("3600", "-3600"):
                durations, error = self.stepped(ticks, "realtime", seconds)
                check(f"{ticks}, wall clock {seconds} s", ([SHORT <= d < LONG for d in durations], error < 1e6),
                      ([True] * 3, True))

    def test_leaping(self):
        """CLOCK_MONOTONIC_RAW itself: times are right, or the trace says by how much they may be wrong."""
        self.build()
        for seconds in ("5", "-5"):
            durations, error = self.stepped("monotonic", "raw", seconds)
            check(f"monotonic {seconds} s", [SHORT <= d < LONG for d in durations], [True] * 3)
            durations, error = self.stepped("tsc", "raw", seconds)
            check(f"tsc {seconds} s, three ranges", len(durations), 3)
            check(f"tsc {seconds} s, admitted", 4.9e9 < error < 5.2e9, True)
            said = re.search(r"host within ([\d.]+) s", base.must(self.kymo, "summary", self.trace))
            check(f"tsc {seconds} s, in the summary", said and 4.9 < float(said[1]) < 5.2, True)
        _, error = self.stepped("tsc", "raw", "0")
        check("without a step", error < 1e6, True)


if __name__ == "__main__":
    sys.exit(base.main(Test, HERE))
