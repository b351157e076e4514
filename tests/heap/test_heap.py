#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory of malloc() (domain heap): test_heap.py KYMO PROGRAM OWN_PROGRAM ALLOCATOR WHAT

exact      every allocation of two threads at two places, of every function, at the peak, after main(), of short threads
sampled    estimates lie within 6 of the errors that are told
lost       what was lost or overwritten is told, and no errors are
processes  a child of fork() has its own; signals at any moment
beside     with locks and files recorded; behind an allocator that is preloaded; a program's own malloc() is told
allocators jemalloc, tcmalloc with and without libunwind, where they are installed: preloaded, linked; also for Kymo's own processes
profiles   folded stacks and pprof have the same bytes
unasked    nothing is preloaded where heap is not named
"""
import collections
import gzip
import json
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import run  # noqa: E402

KYMO, PROGRAM, OWN, ALLOCATOR = map(os.path.abspath, sys.argv[1:5])
WHAT = sys.argv[5]
del sys.argv[1:]


def of(what):
    return unittest.skipUnless(WHAT == what, "another test")


class Heap(unittest.TestCase):
    def setUp(self):
        scratch = kymotest.Folder()
        self.addCleanup(scratch.cleanup)
        self.trace = os.path.join(os.path.realpath(scratch.name), "t.kymo")
        for variable in [v for v in os.environ if v.startswith("KYMO_")]:
            del os.environ[variable]

    def record(self, *words, interval="1", backends="heap", **more):
        p = run(KYMO, "run", "--no-summary", "-f", "-o", self.trace, "-b", backends, "--heap-interval", interval, "--",
                *words, **more)
        self.assertEqual(p.returncode, 0, p.stderr)
        self.assertNotIn("lost", p.stderr)
        return p.stdout

    def tables(self, name):
        p = run(KYMO, "summary", "--all", "--format", "json", self.trace)
        self.assertEqual(p.returncode, 0, p.stderr)
        return [row for table in json.loads(p.stdout)["tables"] if table["name"] == name for row in table["rows"]]

    def functions(self):
        """Bytes, allocations, bytes and allocations left, at the peak, by function; of one with two lines together."""
        found = collections.defaultdict(lambda: [0, 0, 0, 0, 0])
        for row in self.tables("heap"):
            self.assertTrue(row["error"] is None or row["error"] >= 0, row)
            sums = found[row["site"].split()[0]]
            for i, column in enumerate(("bytes", "allocations", "left_bytes", "left_allocations", "peak_bytes")):
                sums[i] += row[column] or 0
        return found

    def check(self, said):
        found = self.functions()
        for line in said.splitlines():
            name, *numbers = line.split()
            self.assertEqual(found[name][:4], [int(n) for n in numbers], (name, dict(found)))

    @of("exact")
    def test_two(self):
        said = self.record(PROGRAM, "two")
        self.assertEqual(said, run(PROGRAM, "two").stdout)
        self.check(said)
        self.assertTrue(all(not row["error"] for row in self.tables("heap")))

    @of("exact")
    def test_cost(self):
        """What stacks take is overhead: microseconds each, here many times what all the rest takes."""
        self.record(sys.executable, "-c", "for i in range(60000): bytearray(600)")
        (cost,), (count,) = (row.values() for sql in ("SELECT overhead_ns FROM process", "SELECT count(*) FROM heap WHERE size = 601")
                             for row in kymotest.query(KYMO, self.trace, sql))
        self.assertGreaterEqual(count, 120000)
        self.assertGreater(cost, 60000 * 1000)

    @of("exact")
    def test_records(self):
        """Each end is of an allocation before it, at its address, with its stack."""
        self.record(PROGRAM, "two")
        rows = kymotest.query(KYMO, self.trace, "SELECT o.name AS kind, h.* FROM heap h JOIN op o ON o.id = h.op ORDER BY h.rowid")
        alive, threads = {}, set()
        for row in rows:
            key = row["allocation"]
            if row["kind"] == "allocate":
                self.assertNotIn(key, alive)
                alive[key] = row
                threads.add(row["thread"])
                continue
            before = alive.pop(key)
            for same in ("address", "size", "bytes", "objects", "stack"):
                self.assertEqual(row[same], before[same], (same, row, before))
            self.assertLessEqual(before["time"], row["time"])
        self.assertGreaterEqual(len(threads), 2)
        self.assertEqual(sum(row["kind"] == "free" and row["size"] >= 1 for row in rows), 2 * (1500 + 1000))
        values = kymotest.query(KYMO, self.trace, "SELECT v.value FROM counter_value v JOIN counter c ON c.id = v.counter "
                                "WHERE c.name = 'heap in use' ORDER BY v.time")
        self.assertEqual(values[-1]["value"], sum(row["bytes"] for row in alive.values()))

    @of("exact")
    def test_each(self):
        said = self.record(PROGRAM, "each")
        self.assertEqual(said, run(PROGRAM, "each").stdout)
        self.check(said)

    @of("exact")
    def test_peak(self):
        self.record(PROGRAM, "peak")
        found = self.functions()
        self.assertEqual(found["peak_first"], [3000, 1, 0, 0, 3000])
        self.assertEqual(found["peak_second"], [3000, 3, 0, 0, 2000])

    @of("exact")
    def test_late(self):
        self.record(PROGRAM, "late")
        self.assertEqual(self.functions()["late_site"][:4], [155, 2, 78, 1])

    @of("exact")
    def test_threads(self):
        self.check(self.record(PROGRAM, "threads"))

    @of("sampled")
    def test_sampled(self):
        said = self.record(PROGRAM, "much", interval="512K")
        rows = {row["site"].split()[0]: row for row in self.tables("heap")}
        for line in said.splitlines():
            name, size, count, left, _ = line.split()
            row = rows[name]
            error = 6 * row["error"] / 100
            self.assertTrue(abs(row["bytes"] - int(size)) <= error * row["bytes"], row)
            self.assertTrue(abs(row["allocations"] - int(count)) <= error * row["allocations"] + 1, row)
            if int(left):
                self.assertTrue(abs(row["left_bytes"] - int(left)) <= 6 * row["left_error"] / 100 * row["left_bytes"], row)
        # sqrt(T / M), as it is told; and samples are as rare as they should be.
        self.assertTrue(1.8 < rows["much_small"]["error"] < 2.7, rows)
        self.assertTrue(2048 - 6 * 46 < rows["much_small"]["samples"] < 2048 + 6 * 46, rows)

    @of("lost")
    def test_lost(self):
        """Ends that are not recorded are none that did not come: what is missing is told, and no error that would be one of 0."""
        for full, what in (("drop", "lost"), ("overwrite", "overwritten")):
            with self.subTest(full=full):
                for pairs in (20000, 80000, 320000):  # how soon there is room again is a matter of chance
                    p = run(KYMO, "run", "--no-summary", "-f", "-o", self.trace, "-b", "heap", "--heap-interval", "1",
                            "--on-full", full, "--buffer-size", "64K", "--", PROGRAM, "pairs", str(pairs))
                    self.assertEqual(p.returncode, 0, p.stderr)
                    missing = kymotest.query(KYMO, self.trace, f"SELECT {what}_records AS n FROM process")[0]["n"]
                    if missing:
                        break
                self.assertGreater(missing, 0)
                rows = self.tables("heap")
                self.assertTrue(rows)
                for row in rows:
                    self.assertEqual((row["error"], row["left_error"], row["missing_records"]), (None, None, missing), row)
                text = " ".join(run(KYMO, "summary", "--tables", "heap", self.trace).stdout.split())
                self.assertRegex(text, rf"\(heap_program \d+: {missing:,} records were {what}: sizes, the peak and what was left may be wrong\)")
        self.record(PROGRAM, "two")
        self.assertEqual({(row["error"], row["missing_records"]) for row in self.tables("heap")}, {(0, 0)})
        self.assertNotIn("may be wrong", run(KYMO, "summary", "--tables", "heap", self.trace).stdout)

    @of("processes")
    def test_fork(self):
        said = self.record(PROGRAM, "fork")
        child, status = map(int, said.split()[1:])
        self.assertEqual(status, 7)
        rows = kymotest.query(KYMO, self.trace, "SELECT p.pid, o.name AS op, h.size FROM heap h JOIN op o ON o.id = h.op "
                              "JOIN process p ON p.id = h.process WHERE h.size IN (1234, 4321)")
        found = collections.Counter((row["pid"] == child, row["op"], row["size"]) for row in rows)
        self.assertEqual(found, {(False, "allocate", 1234): 2, (False, "free", 1234): 1,
                                 (True, "allocate", 4321): 2, (True, "free", 4321): 1})

    @of("processes")
    def test_signals(self):
        self.assertIn("from_signals", self.record(PROGRAM, "handler", interval="1K"))

    @of("beside")
    def test_beside(self):
        self.check(self.record(PROGRAM, "two", backends="heap,lock,posix"))

    @of("beside")
    def test_allocator(self):
        environment = dict(os.environ, LD_PRELOAD=ALLOCATOR)
        said = self.record(PROGRAM, "two", env=environment)
        self.assertIn("allocator: ", said)  # it was the one that allocated
        self.check("".join(line + "\n" for line in said.splitlines() if not line.startswith("allocator")))

    @of("allocators")
    def test_allocators(self):
        """Twice where it is a matter of chance what a preloaded allocator does in Kymo's own processes."""
        tried = 0
        for name in ("libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libtcmalloc.so.4"):
            environment = dict(os.environ, LD_PRELOAD=name)
            if "cannot be preloaded" in run("true", env=environment).stderr:
                continue
            tried += 1
            for turn in range(2 if name == "libtcmalloc.so.4" else 1):
                with self.subTest(allocator=name, turn=turn):
                    self.check(self.record(PROGRAM, "two", env=environment, timeout=60))
            linked = os.path.join(os.path.dirname(self.trace), "linked")
            source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "program.c")
            p = run("cc", "-g", "-O2", "-fno-builtin", source, "-Wl,--no-as-needed", f"-l:{name}", "-lpthread", "-o", linked)
            self.assertEqual(p.returncode, 0, p.stderr)
            with self.subTest(allocator=name, what="linked"):
                self.check(self.record(linked, "two", timeout=60))
                self.assertIn(name, run("ldd", linked).stdout)
        if not tried:
            self.skipTest("neither jemalloc nor tcmalloc is here")

    @of("beside")
    def test_own(self):
        self.record(OWN)
        p = run(KYMO, "summary", self.trace)
        self.assertIn("has a malloc() of its own", " ".join(p.stdout.split()))

    def flames(self, name, frame):
        """Of a flame graph of the page: the sum of all, and of what lies in frames of functions of that name."""
        out = os.path.join(os.path.dirname(self.trace), "flame.svg")
        p = run(KYMO, "report", "--plot", f"flame_{name}", "-f", "-o", out, self.trace)
        self.assertEqual(p.returncode, 0, p.stderr)
        with open(out, encoding="utf-8") as f:
            told = re.findall(r"<title>([^<:]*)[^<]*?: (\d+) bytes", f.read())
        return (next(int(n) for what, n in told if what == "all"),
                sum(int(n) for what, n in told if what.split()[0] == frame))

    @of("profiles")
    def test_profiles(self):
        self.record(PROGRAM, "two")
        expected = sum(row["bytes"] for row in self.tables("heap"))
        p = run(KYMO, "export", "--to", "folded:heap", "-o", "-", self.trace)
        self.assertEqual(p.returncode, 0, p.stderr)
        lines = [line.rsplit(" ", 1) for line in p.stdout.splitlines()]
        self.assertEqual(sum(int(n) for _, n in lines), expected)
        first = sum(int(n) for stack, n in lines if ";allocate" in stack and ";first_site" in stack)
        self.assertEqual(first, self.functions()["first_site"][0])
        self.assertEqual(self.flames("heap", "first_site"), (expected, first))
        out = os.path.join(os.path.dirname(self.trace), "p.pb.gz")
        p = run(KYMO, "export", "--to", "pprof:heap", "-f", "-o", out, self.trace)
        self.assertEqual(p.returncode, 0, p.stderr)
        with gzip.open(out) as f:
            data = f.read()
        for name in (b"alloc_objects", b"alloc_space", b"inuse_objects", b"inuse_space"):
            self.assertIn(name, data)

    @of("unasked")
    def test_unasked(self):
        pattern = re.compile("libkymo-heap")
        self.assertIsNone(pattern.search(self.record("cat", "/proc/self/maps", backends="all")))
        self.assertIsNotNone(pattern.search(self.record("cat", "/proc/self/maps", backends="all,heap")))


unittest.main()
