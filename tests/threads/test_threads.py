#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Threads and processes that use nothing that is traced: test_threads.py KYMO WHAT."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "annotation"))
import base  # noqa: E402
from base import check  # noqa: E402


class Test(base.Test):
    def program(self):
        return self.compile("program", "-std=gnu11", "-pthread", os.path.join(HERE, "program.c"))

    def threads(self):
        rows = self.query("SELECT pid, name, count(*) AS n FROM threads GROUP BY pid, name")
        by = {}
        for r in rows:
            by.setdefault(r["pid"], {})[r["name"]] = r["n"]
        return sorted(by.values(), key=lambda x: (-sum(x.values()), str(x)))

    def test_processes(self):
        """fork, fork and end, fork and exec, vfork and exec, posix_spawn: each in the one trace."""
        self.record(self.program(), options=["--threads"])
        two = {"program": 1, "given name": 1, "eleven": 1}
        forked, one = {"program": 1}, {"true": 1}
        check("threads of processes", self.threads(), [two, two, {**forked, **one}, forked, one, one])
        calls = self.query("SELECT name, count(*) AS n FROM regions GROUP BY name ORDER BY name")
        check("calls", calls, [{"name": "pthread_create", "n": 4}, {"name": "pthread_join", "n": 2}])
        check("lost", self.lost(), 0)
        check("notes", self.notes("core"), {})
        check("ranks", self.query("SELECT DISTINCT rank FROM processes"), [{"rank": None}])

    def test_sampled(self):
        """What samples threads makes one of its own in each forked child, while that is brought in order."""
        self.record(self.program(), options=["--threads", "--backends", "wait", "--sample=100"])
        two = {"program": 1, "given name": 1, "eleven": 1}
        forked, one = {"program": 1}, {"true": 1}
        check("threads of processes", self.threads(), [two, two, {**forked, **one}, forked, one, one])
        check("lost", self.lost(), 0)

    def test_daemon(self):
        self.record(self.program(), "daemon", options=["--threads"])
        names = [n for p in self.threads() for n in p]
        check("program, what it forks, and the daemon", names, ["program"] * 3)

    def test_many(self):
        self.record(self.program(), "5000", options=["--threads"])
        check("threads", self.query("SELECT count(*) AS n FROM threads"), [{"n": 5001}])
        check("lost", self.lost(), 0)

    def test_unasked(self):
        """Without --threads such a program costs nothing and leaves nothing."""
        self.record(self.program())
        check("raw files", os.listdir(os.path.join(self.trace, "raw")), [])
        self.record(self.program(), options=["--threads"])
        check("raw files", len(os.listdir(os.path.join(self.trace, "raw"))) >= 5, True)


if __name__ == "__main__":
    sys.exit(base.main(Test, HERE))
