#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sleeps and polls (domain wait): test_waits.py KYMO PROGRAM IDLE_PROGRAM WHAT

each       every function, whose limits and answers the program knows; the table
two        two threads at once
results    calls return what they do without Kymo, are interrupted and cancelled as without; masks are kept
idle       a device that idles while its thread sleeps, polls, waits for a lock: the cause is told
unasked    nothing is preloaded where wait is not named
"""
import collections
import json
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import run  # noqa: E402

KYMO, PROGRAM, IDLE = map(os.path.abspath, sys.argv[1:4])
WHAT = sys.argv[4]
del sys.argv[1:]


class Waits(unittest.TestCase):
    def setUp(self):
        scratch = kymotest.Folder()
        self.addCleanup(scratch.cleanup)
        self.trace = os.path.join(os.path.realpath(scratch.name), "t.kymo")
        for variable in [v for v in os.environ if v.startswith("KYMO_")]:
            del os.environ[variable]

    def record(self, *words, backends="wait", status=0, options=()):
        p = run(KYMO, "run", "--no-summary", "-f", "-o", self.trace, "-b", backends, *options, "--", *words)
        self.assertEqual(p.returncode, status, p.stderr)
        self.assertNotIn("lost", p.stderr)
        return p.stdout

    def calls(self):
        return kymotest.query(KYMO, self.trace, "SELECT name, tid, duration, status, kymo_arg(id, 'timeout') AS timeout, "
                              "coalesce(kymo_arg(id, 'ready'), kymo_arg(id, 'signal'), kymo_arg(id, 'child')) AS answer, "
                              "kymo_arg(id, 'kinds') AS kinds, kymo_arg(id, 'count') AS count, "
                              "kymo_arg(id, 'timed_out') AS timed_out FROM regions "
                              "WHERE category = 'wait' ORDER BY start")

    def tables(self, name):
        p = run(KYMO, "summary", "--all", "--format", "json", self.trace)
        self.assertEqual(p.returncode, 0, p.stderr)
        return [row for table in json.loads(p.stdout)["tables"] if table["name"] == name for row in table["rows"]]

    def check(self, said, rows):
        """Each line of the program against the call of its thread, in order."""
        mine = collections.defaultdict(list)
        for r in rows:
            mine[r["tid"]].append(r)
        for name, tid, limit, answer, kinds in said:
            r = mine[int(tid)].pop(0)
            self.assertEqual(r["name"], name, r)
            if limit.startswith("~"):
                self.assertTrue(0 <= int(r["timeout"]) <= int(limit[1:]), r)
                limit = r["timeout"]
            self.assertEqual("-" if r["timeout"] in (None, -1) else str(r["timeout"]), str(limit), r)
            self.assertEqual("-" if r["answer"] is None or r["status"] else str(r["answer"]), answer, r)
            if kinds != "?":
                self.assertEqual((r["kinds"] or "-").replace(" ", ""), kinds, r)
            if name.endswith("sleep"):  # whatever the machine does meanwhile, none is shorter
                self.assertGreaterEqual(r["duration"], int(limit) * 0.98, r)
        self.assertEqual([], [r for left in mine.values() for r in left])

    def check_table(self, rows):
        expected = collections.defaultdict(lambda: [0, 0, 0])
        for r in rows:
            e = expected[r["name"], r["kinds"] or ""]
            e[0] += 1
            e[1] += r["duration"]
            e[2] += max(0, int(r["timeout"] or 0))
        found = collections.defaultdict(lambda: [0, 0, 0])
        for t in self.tables("waits"):
            f = found[t["call"], t["descriptors"] or ""]
            f[0] += t["calls"]
            f[1] += t["ns"]
            f[2] += t["asked_ns"] or 0
            self.assertIn("program.c:", t["site"], t)
        self.assertEqual({k: tuple(v) for k, v in found.items()}, {k: tuple(v) for k, v in expected.items()})

    @unittest.skipUnless(WHAT == "each", "another test")
    def test_each(self):
        said = [line.split() for line in self.record(PROGRAM, "each", options=("--mode", "full")).splitlines()]
        rows = self.calls()
        self.check(said, rows)
        self.check_table(rows)
        # None of these is an error, what its limit ended neither.
        self.assertEqual([r for r in rows if r["status"]] + self.tables("errors"), [])
        self.assertEqual([r["name"] for r in rows if r["timed_out"]], ["sigtimedwait", "futex"])
        by = collections.defaultdict(lambda: [0, 0, 0])
        for t in self.tables("waits"):
            by[t["call"]] = [a + b for a, b in zip(by[t["call"]], (t["calls"], t["timed_out"], t["interrupted"]))]
        self.assertEqual(by["poll"], [3, 2, 0])
        self.assertEqual(by["nanosleep"], [1, 1, 0])
        self.assertEqual(by["sigtimedwait"], [1, 1, 0])
        self.assertEqual(by["futex"], [1, 1, 0])
        self.assertEqual(by["epoll_wait"], [1, 0, 0])

    @unittest.skipUnless(WHAT == "each", "another test")
    def test_yields_are_counted(self):
        """sched_yield is chatty: counted by mode default, recorded by mode full alone."""
        self.record(PROGRAM, "each")
        self.assertNotIn("sched_yield", [r["name"] for r in self.calls()])
        self.assertEqual([r["calls"] for r in self.tables("not_recorded") if "sched_yield" in r.values()], [1])

    @unittest.skipUnless(WHAT == "two", "another test")
    def test_two(self):
        said = [line.split() for line in self.record(PROGRAM, "two").splitlines()]
        self.assertEqual((len(said), len({s[1] for s in said})), (6, 2))
        rows = self.calls()
        self.check(said, rows)
        self.check_table(rows)

    @unittest.skipUnless(WHAT == "results", "another test")
    def test_results(self):
        self.assertEqual(self.record(PROGRAM, "results"), run(PROGRAM, "results").stdout)
        sleeps = [(t["calls"], t["timed_out"], t["interrupted"]) for t in self.tables("waits") if t["call"] == "sleep"]
        self.assertEqual([sum(column) for column in zip(*sleeps)], [2, 0, 2])
        self.assertEqual(self.record(PROGRAM, "cancelled"), "cancelled 1\n" * 2)

    @unittest.skipUnless(WHAT == "results", "another test")
    def test_programs(self):
        """Programs of others, whose shells and interpreters wait for processes."""
        script = "import subprocess, time, select; time.sleep(0.01); subprocess.run(['true']); select.select([], [], [], 0.01); print('ok')"
        self.assertEqual(self.record(sys.executable, "-c", script), "ok\n")
        self.assertEqual(self.record("sh", "-c", "sleep 0.01 & wait; echo ok"), "ok\n")
        # A shell asks until there is nobody left to wait for: that is no mistake of its.
        self.assertEqual(self.record("bash", "-c", "for i in 1 2 3 4; do (exit 0); x=$(echo $i); done; echo ok"), "ok\n")
        failed, = kymotest.query(KYMO, self.trace, "SELECT count(*) AS n FROM regions WHERE name = 'waitpid' AND status_name = 'ECHILD'")
        self.assertGreaterEqual(failed["n"], 3)
        self.assertNotIn("waitpid fails", run(KYMO, "diagnose", self.trace).stdout)

    @unittest.skipUnless(WHAT == "idle", "another test")
    def test_idle(self):
        for how, column, words in (("sleep", "idle_sleep_ns", "host sleeps"), ("poll", "idle_poll_ns", "host polls"),
                                   ("lock", "idle_threads_ns", "other threads"), ("file", "idle_io_ns", "files and sockets")):
            self.record(IDLE, "300", how, backends="all,lock,wait,posix")
            device, = self.tables("devices")
            self.assertTrue(250e6 <= device[column] <= device["idle_ns"], (how, device))
            p = run(KYMO, "summary", self.trace)
            self.assertRegex(" ".join(p.stdout.split()), rf" idle [0-9.]+ % \([^)]*\): .*{words} [0-9.]+ m?s")
            told = [f for f in json.loads(run(KYMO, "diagnose", "-f", "json", self.trace).stdout)["findings"] if f["rule"] == "host-waits"]
            self.assertEqual(len(told), 1, (how, told))

    @unittest.skipUnless(WHAT == "idle", "another test")
    def test_idle_without_a_processor(self):
        """The same from the kernel's records of switches, where no function is stood before."""
        probe = run(KYMO, "run", "--off-cpu", "--no-summary", "-f", "-o", self.trace, "true")
        if "error: --off-cpu" in probe.stderr:
            self.skipTest(probe.stderr)
        for how, column in (("sleep", "idle_sleep_ns"), ("lock", "idle_threads_ns")):
            self.record(IDLE, "300", how, backends="all", options=("--off-cpu",))
            device, = self.tables("devices")
            self.assertTrue(200e6 <= device[column] <= device["idle_ns"], (how, device))
            told = [f for f in json.loads(run(KYMO, "diagnose", "-f", "json", self.trace).stdout)["findings"] if f["rule"] == "host-waits"]
            self.assertEqual(len(told), 1, (how, told))
            stacks = self.tables("off_cpu_stacks")
            longest = {"sleep": "nanosleep", "lock": "pthread_mutex_lock"}[how]
            self.assertTrue(any(re.search(rf"(^|;)main;.*{longest}", row["stack"]) and row["longest_ns"] > 200e6 for row in stacks), stacks)
            self.assertFalse([row for row in stacks if "core_life_sleep" in row["stack"]])

    @unittest.skipUnless(WHAT == "idle", "another test")
    def test_no_wait_of_the_feeder(self):
        """Threads that wait for each other hold up no device: nothing is told of them; idle pools stand below all else."""
        self.record(IDLE, "100", "beside", backends="all,lock")
        findings = json.loads(run(KYMO, "diagnose", "-f", "json", self.trace).stdout)["findings"]
        self.assertEqual([f for f in findings if f["rule"] == "host-waits"], [])
        locks = self.tables("locks")
        pools = [row["kind"].endswith(", idle pool") for row in locks]
        self.assertEqual(pools, sorted(pools), locks)
        self.assertTrue(any(row["kind"] == "mutex" and row["ns"] > 50e6 for row in locks), locks)

    @unittest.skipUnless(WHAT == "unasked", "another test")
    def test_unasked(self):
        self.assertNotIn("libkymo-wait", self.record("cat", "/proc/self/maps", backends="all"))
        self.assertIn("libkymo-wait", self.record("cat", "/proc/self/maps", backends="all,wait"))


unittest.main()
