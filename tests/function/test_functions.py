#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Functions of the program (domain function): test_functions.py KYMO COMPILER WHAT

hooks      -finstrument-functions: counts are the program's own, its output is as without Kymo; two threads, recursion, longjmp, signals
mcount     the same with -pg
fentry     the same with -pg -mfentry
patched    the same of a program that was built for nothing of the kind
leaving    exceptions, cancelled threads, contexts, stacks that are looked at: all four ways
short      shorter calls are counted, not recorded; what has calls inside is recorded
"""
import json
import os
import re
import shutil
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "base"))
import kymotest  # noqa: E402
from kymotest import run  # noqa: E402

import planned  # noqa: E402

KYMO = os.path.abspath(sys.argv[1])
COMPILER, WHAT = sys.argv[2:4]
del sys.argv[1:]

HOOKS = ["-finstrument-functions"]
MCOUNT = ["-pg", "-fno-optimize-sibling-calls", "-fno-inline"]
FENTRY = [*MCOUNT, "-mfentry"]
PLAIN = ["-fno-optimize-sibling-calls", "-fno-inline"]
HOOKED = "fib|leaf|jumper|inlined|sum|tail|end|handler|deep|mixed"
HOUR = 3600 * 10**9
LEAVING = "thrower|catcher|rethrower|waiter|ender|yielder|looker"


class Functions(unittest.TestCase):
    def setUp(self):
        scratch = kymotest.Folder()
        self.addCleanup(scratch.cleanup)
        self.folder = os.path.realpath(scratch.name)
        self.trace = os.path.join(self.folder, "t.kymo")
        for variable in [v for v in os.environ if v.startswith("KYMO_")]:
            del os.environ[variable]

    def build(self, source, *flags):
        compiler = COMPILER
        if source.endswith(".cpp"):
            compiler = shutil.which(re.sub(r"cc$", "c++", re.sub(r"gcc(-\d+)?$", r"g++\1", COMPILER)))
            if not compiler:
                self.skipTest("no C++ compiler")
        program = os.path.join(self.folder, "program")
        kymotest.must(compiler, "-O2", "-g", "-pthread", *flags, os.path.join(HERE, source), "-o", program)
        return program

    def trace_it(self, program, names, patched=False, more=(), **variables):
        """What it prints, which must be what it prints by itself, with the words of the first lines."""
        alone = run(program, cwd=self.folder)
        plan = os.path.join(self.folder, "plan")
        environment = kymotest.environment(**variables)
        words = ["--functions", f"^({names})\\b", "--functions-min-instructions", "0"] if patched else []
        if not patched:
            planned.write(plan, f"^({names})\\b", program)
            environment["KYMO_FUNCTIONS_PLAN"] = plan
        p = run(KYMO, "run", "--no-summary", "-f", "-o", self.trace, *words, *more, "--", program, cwd=self.folder,
                env=environment)
        self.assertEqual((p.returncode, p.stdout), (alone.returncode, alone.stdout), p.stderr)
        self.assertNotIn("lost", p.stderr)
        return p.stdout

    def counts(self):
        """Calls by function, of those that were recorded."""
        rows = kymotest.query(KYMO, self.trace, "SELECT name, count(*) AS n FROM regions WHERE category = 'function' GROUP BY name")
        return {re.sub(r"\(.*", "", row["name"]): row["n"] for row in rows}

    def table(self):
        """The same by the summary, which adds those that were counted."""
        p = run(KYMO, "summary", "--all", "--format", "json", self.trace)
        self.assertEqual(p.returncode, 0, p.stderr)
        rows = [row for table in json.loads(p.stdout)["tables"] if table["name"] == "function" for row in table["rows"]]
        for row in rows:
            self.assertTrue(0 <= row["min_ns"] <= row["max_ns"] <= row["time_ns"] < HOUR, row)
            self.assertLessEqual(row["self_ns"], row["time_ns"], row)
        return {row["op"]: row["calls"] for row in rows}

    def told(self, out, names):
        return {k: int(v) for k, v in re.findall(rf"^({names}) (\d+)$", out, re.M)}

    def counted(self, flags, patched=False):
        out = self.trace_it(self.build("hooked.c", *flags), HOOKED, patched)
        wanted = self.told(out, HOOKED)
        if "-fno-inline" in flags:
            wanted.pop("inlined")  # always inlined: there is no such function
        self.assertEqual(len(wanted), 10 - ("-fno-inline" in flags))
        self.assertEqual(self.table(), wanted)
        recorded = self.counts()
        deep = recorded.pop("deep")  # 601 calls inside each other: the last ones are counted
        self.assertTrue(0 < deep < wanted.pop("deep"), deep)
        for function in wanted:
            # Those that the deepest ones call are counted as well.
            self.assertTrue(recorded[function] == wanted[function] or function == "leaf", (function, recorded))
        self.nested()

    def nested(self):
        """Calls of tail() have no others around them, those of leaf() in sum() and jumper() have them."""
        rows = kymotest.query(KYMO, self.trace, "SELECT c.name AS name, p.name AS around, count(*) AS n FROM regions c LEFT JOIN "
                              "regions p ON p.stack_id = c.parent_stack_id AND p.pid = c.pid WHERE c.category = 'function' GROUP BY 1, 2")
        around = {}
        for row in rows:
            around.setdefault(row["name"], set()).add(row["around"])
        if WHAT != "hooks":  # what was left is known by where the hook was called, which may be above it
            self.assertEqual(around["sum"], {None})
        self.assertEqual(around["tail"], {None})
        self.assertLessEqual({"jumper", "handler"}, around["leaf"])
        self.assertEqual(around["handler"], {None})

    @unittest.skipUnless(WHAT == "hooks", "")
    def test_hooks(self):
        self.counted(HOOKS)

    @unittest.skipUnless(WHAT == "mcount", "")
    def test_mcount(self):
        self.counted(MCOUNT)

    @unittest.skipUnless(WHAT == "fentry", "")
    def test_fentry(self):
        self.counted(FENTRY)

    @unittest.skipUnless(WHAT == "patched", "")
    def test_patched(self):
        self.counted(PLAIN, patched=True)

    @unittest.skipUnless(WHAT == "patched", "")
    def test_backends(self):
        """What --functions asks for is recorded beside the backends that are named; it cannot be taken out."""
        program = self.build("hooked.c", *PLAIN)
        for backends in ("none", "wait"):
            with self.subTest(backends):
                wanted = self.told(self.trace_it(program, HOOKED, True, ["--backends", backends]), HOOKED)
                self.assertEqual(self.table()["fib"], wanted["fib"])
        p = run(KYMO, "run", "-o", self.trace, "--functions", ".", "--backends=-function", "--", program, cwd=self.folder)
        self.assertEqual(p.returncode, 2)
        self.assertIn("--functions records what --backends -function leaves out", p.stderr)

    @unittest.skipUnless(WHAT == "leaving", "")
    def test_leaving(self):
        for flags in (HOOKS, MCOUNT, FENTRY, PLAIN):
            with self.subTest(flags):
                out = self.trace_it(self.build("leaving.cpp", *flags), LEAVING, patched=flags is PLAIN)
                wanted = self.told(out, LEAVING)
                self.assertEqual(len(wanted), 7)
                self.assertEqual(self.counts(), wanted)

    @unittest.skipUnless(WHAT == "short", "")
    def test_short(self):
        out = self.trace_it(self.build("hooked.c", *HOOKS), HOOKED, KYMO_FUNCTIONS_MIN="3600000000000ns")
        wanted = self.told(out, HOOKED)
        self.assertEqual(self.table(), wanted)
        left = wanted.pop("jumper")  # by longjmp: recorded whatever their length
        self.assertEqual(self.counts(), {"jumper": left})
        self.assertIn(f"{sum(wanted.values())} calls of functions", run(KYMO, "summary", "--all", self.trace).stdout)


if __name__ == "__main__":
    unittest.main()
