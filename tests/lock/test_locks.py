#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Waits of threads for threads (domain lock): test_locks.py KYMO PROGRAM IDLE_PROGRAM WHAT

each       every function, whose waits the program knows: calls, owners, who woke, the table
two        two locks of two threads at once
kinds      mutexes of each kind return what they do without Kymo; cancelled threads end as without
idle       a device that idles while its thread waits for a lock: the cause is told
unasked    nothing is preloaded where lock is not named; Kymo's own calls can be told
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

KINDS = {"pthread_mutex_lock": "mutex", "pthread_rwlock_rdlock": "readers/writer", "pthread_rwlock_wrlock": "readers/writer",
         "pthread_cond_wait": "condition", "pthread_barrier_wait": "barrier", "sem_wait": "semaphore"}
HOUR = 3600 * 10**9


class Locks(unittest.TestCase):
    def setUp(self):
        scratch = kymotest.Folder()
        self.addCleanup(scratch.cleanup)
        self.trace = os.path.join(os.path.realpath(scratch.name), "t.kymo")
        for variable in [v for v in os.environ if v.startswith("KYMO_")]:
            del os.environ[variable]

    def record(self, *words, backends="lock", status=0):
        p = run(KYMO, "run", "--no-summary", "-f", "-o", self.trace, "-b", backends, "--", *words)
        self.assertEqual(p.returncode, status, p.stderr)
        self.assertNotIn("lost", p.stderr)
        return p.stdout

    def calls(self):
        rows = kymotest.query(KYMO, self.trace, "SELECT name, pid, tid, start, end, duration, status, "
                              "kymo_arg(id, 'object') AS object, kymo_arg(id, 'owner') AS owner, "
                              "kymo_arg(id, 'woken_by') AS woken_by, kymo_arg(id, 'held') AS held, "
                              "kymo_arg(id, 'timed_out') AS timed_out FROM regions "
                              "WHERE category = 'lock' ORDER BY start")
        for row in rows:
            self.assertEqual(row["status"], 0, row)
            self.assertTrue(0 <= row["duration"] < HOUR, row)
        return rows

    def table(self):
        return self.tables("locks")

    def tables(self, name):
        """Rows of the table of that name; hidden ones too."""
        p = run(KYMO, "summary", "--all", "--format", "json", self.trace)
        self.assertEqual(p.returncode, 0, p.stderr)
        return [row for table in json.loads(p.stdout)["tables"] if table["name"] == name for row in table["rows"]]

    def check_unlocks(self, rows, said):
        """Who let go while another waited had the lock since before that wait; who had waited may have left one more."""
        waits = [r for r in rows if r["name"] == "pthread_mutex_lock"]
        found = [r for r in rows if r["name"] == "pthread_mutex_unlock"]
        for name, tid, object_, _ in said:
            if name != "pthread_mutex_unlock":
                continue
            mine = [r for r in found if (r["tid"], r["object"]) == (tid, object_)]
            self.assertTrue(mine, (tid, object_, found))
            for r in mine:
                self.assertTrue(any(w["object"] == object_ and r["start"] - int(r["held"]) <= w["start"] <= r["end"]
                                    for w in waits), (r, waits))
        holders = {(tid, object_) for name, tid, object_, _ in said if name == "pthread_mutex_unlock"}
        for r in found:
            if (r["tid"], r["object"]) not in holders:
                self.assertTrue(any(w["tid"] == r["tid"] for w in rows if w is not r), r)

    def check_table(self, rows):
        expected = collections.defaultdict(list)
        for r in rows:
            if r["name"] in KINDS:
                expected[r["object"], KINDS[r["name"]]].append(r)
        # Who waits in these for half of its short life may be taken for one of a pool.
        found = {(t["lock"], re.sub("^(condition|semaphore), idle pool$", r"\1", t["kind"])): t for t in self.table()}
        self.assertEqual(found.keys(), expected.keys())
        for key, calls in expected.items():
            row, by = found[key], collections.Counter()
            for c in calls:
                other = c["owner"] or c["woken_by"]
                if other:
                    by[int(other)] += c["duration"]
            self.assertEqual((row["waits"], row["ns"], row["longest_ns"]),
                             (len(calls), sum(c["duration"] for c in calls), max(c["duration"] for c in calls)), key)
            held = [int(r["held"]) for r in rows if r["name"] == "pthread_mutex_unlock" and r["object"] == key[0]
                    and r["held"] and key[1] == "mutex"]
            self.assertEqual((row["held_ns"], row["longest_held_ns"]), (sum(held), max(held)) if held else (None, None), key)
            most = by.most_common(1)
            self.assertEqual((int(row["thread"].split()[0]), row["thread_ns"]) if row["thread"] else None,
                             most[0] if most else None, key)
            self.assertIn("program.c:", row["site"], key)

    @unittest.skipUnless(WHAT == "each", "another test")
    def test_each(self):
        said = [(n, int(t), o, int(w)) for n, t, o, w in (line.split() for line in self.record(PROGRAM, "each").splitlines())]
        rows = self.calls()
        self.assertEqual(sorted((n, t, o, w) for n, t, o, w in said if n != "pthread_mutex_unlock"),
                         sorted((r["name"], r["tid"], r["object"], int(r["owner"] or r["woken_by"] or 0))
                                for r in rows if r["name"] != "pthread_mutex_unlock"))
        self.check_unlocks(rows, said)
        self.check_table(rows)

    @unittest.skipUnless(WHAT == "two", "another test")
    def test_two(self):
        said = [line.split()[1:] for line in self.record(PROGRAM, "two").splitlines()]
        self.assertEqual(len(said), 3)
        rows = self.calls()
        for tid, object_, owner in said:
            waits = [r for r in rows if r["name"] == "pthread_mutex_lock" and r["tid"] == int(tid)]
            self.assertEqual([(r["object"], r["owner"]) for r in waits if r["owner"] == int(owner)], [(object_, int(owner))])
        self.check_table(rows)

    @unittest.skipUnless(WHAT == "kinds", "another test")
    def test_kinds(self):
        self.assertEqual(self.record(PROGRAM, "kinds"), run(PROGRAM, "kinds").stdout)
        text = self.record(PROGRAM, "cancelled")
        self.assertEqual(re.findall("^[a-z]+ [0-9]$", text, re.M), ["unlock 0", "cancelled 1", "cancelled 1"])
        self.assertEqual(sum(r["name"] == "pthread_mutex_lock" for r in self.calls()), 3)

    @unittest.skipUnless(WHAT == "kinds", "another test")
    def test_limits(self):
        """A wait that its limit ends is no error, and says what ended it."""
        self.record(PROGRAM, "timed")
        found = collections.Counter((r["name"], r["timed_out"]) for r in self.calls())
        self.assertEqual(found, {(name, 1): 2 for name in KINDS if name != "pthread_barrier_wait"})
        self.assertEqual(self.tables("errors"), [])
        self.record(PROGRAM, "each")
        self.assertEqual([r for r in self.calls() if r["timed_out"]], [])

    @unittest.skipUnless(WHAT == "kinds", "another test")
    def test_free(self):
        """Who gets a lock at once leaves nothing."""
        self.record(PROGRAM, "free", "1000")
        p = run(KYMO, "summary", self.trace)
        self.assertNotIn("pthread_mutex", p.stdout)

    @unittest.skipUnless(WHAT == "idle", "another test")
    def test_idle(self):
        self.record(IDLE, "300", backends="all,lock")
        wait, = kymotest.query(KYMO, self.trace, "SELECT max(duration) AS ns FROM regions WHERE name = 'pthread_mutex_lock'")
        self.assertGreater(wait["ns"], 200e6)
        devices = self.tables("devices")
        self.assertEqual(len(devices), 1)
        self.assertTrue(wait["ns"] <= devices[0]["idle_threads_ns"] + 10e6, devices)
        self.assertGreaterEqual(devices[0]["idle_ns"], devices[0]["idle_threads_ns"], devices)
        p = run(KYMO, "summary", self.trace)
        self.assertRegex(" ".join(p.stdout.split()), r" idle [0-9.]+ % \([^)]*\): .*other threads [0-9.]+ m?s")
        told = run(KYMO, "diagnose", self.trace).stdout
        self.assertIn("kymo summary --tables locks", " ".join(told.split()))
        host, = self.tables("hosts")
        self.assertGreaterEqual(host["threads_ns"], wait["ns"])
        self.assertGreater(host["building_ns"], 0)  # no thread of a pool, which waits longer

    @unittest.skipUnless(WHAT == "unasked", "another test")
    def test_unasked(self):
        self.assertNotIn("libkymo-lock", self.record("cat", "/proc/self/maps", backends="all"))
        self.assertIn("libkymo-lock", self.record("cat", "/proc/self/maps", backends="all,lock"))

    @unittest.skipUnless(WHAT == "unasked", "another test")
    def test_own_calls(self):
        """Kymo's calls return into Kymo, by which they are known: none is a jump at the end of a function."""
        library = os.path.join(os.path.dirname(KYMO), "..", "lib", "libkymo.so")
        text = run("objdump", "-d", "--no-show-raw-insn", library).stdout
        self.assertRegex(text, r"call\S* +[0-9a-f]+ <pthread_mutex_unlock@plt>")
        self.assertEqual(re.findall(r"jmp\S* +[0-9a-f]+ <((?:pthread_|sem_|read|write|open|close|mmap)\w*)@plt>", text), [])


unittest.main()
