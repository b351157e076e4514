#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Annotations, from the program to the trace: test_marker.py SOURCE KYMO LIBRARY WHAT.

Programs are built here as a user builds them: with the header alone. WHAT is a front end (c, cpp,
fortran, python), `start_paused`, `hostile`, `late` or `device` (LIBRARY: the bundled example). Exit status 77: there is no compiler for it."""
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import SKIPPED, check, must, run, skip, wrong  # noqa: E402


class Test:
    def __init__(self, source, kymo, library, folder):
        self.source, self.kymo, self.library, self.folder = source, kymo, library, folder
        self.here = os.path.join(source, "tests/marker")
        self.include = "-I" + os.path.join(source, "include")
        self.trace = os.path.join(folder, "t.kymo")

    def path(self, name):
        return os.path.join(self.folder, name)

    def compile(self, compiler, out, *arguments):
        words = compiler.split()
        if not shutil.which(words[0]):
            skip(f"no {words[0]} here")
        must(*words, "-O2", "-Wall", "-Wextra", "-Werror", self.include, *arguments, "-o",
             self.path(out))
        return self.path(out)

    def c(self, out, *files, flags=()):
        return self.compile(os.environ.get("CC", "cc"), out, "-std=c11", "-D_GNU_SOURCE",
                            "-Wno-unused-parameter", "-pthread", *flags,
                            *[os.path.join(self.here, f) for f in files])

    def record(self, *argv, env=None):
        environment = dict(os.environ, **(env or {}))
        plain = must(*argv, env=environment)
        recorded = must(self.kymo, "run", "--no-summary", "-o", self.trace, "--", *argv,
                        env=environment)
        return plain, recorded

    def query(self, sql):
        return json.loads(must(self.kymo, "query", "--format", "json", self.trace, sql))

    def tree(self):
        """Ranges as "parent/child" with how often each was, by the ids of scopes."""
        rows = self.query("SELECT scope, parent, name, process FROM scopes")
        scopes = {(r["process"], r["scope"]): r for r in rows}
        check("scope ids are unique", len(scopes), len(rows))
        counts = {}
        for r in rows:
            path, up = r["name"], r
            while up["parent"]:
                up = scopes.get((r["process"], up["parent"]))
                if not up:
                    wrong.append("parent")
                    print(f"the parent of {path} is not in the trace")
                    break
                path = f"{up['name']}/{path}"
            counts[path] = counts.get(path, 0) + 1
        return counts

    def marks(self):
        return {r["name"]: r["n"] for r in self.query(
            "SELECT name, count(*) AS n FROM markers WHERE kind = 'mark' GROUP BY name")}

    def names(self):
        return {r["name"] for r in self.query("SELECT name FROM threads WHERE name <> ''")}

    def one(self, name):
        rows = self.query(f"SELECT * FROM markers WHERE name = '{name}'")
        check(f"one {name}", len(rows), 1)
        return rows[0] if rows else {}

    def full(self, name, payload, color=0xff112233):
        row = self.one(name)
        check("domain", row.get("domain"), "library")
        check("category", row.get("category"), "io")
        check("color", row.get("color"), color)
        got = row.get("payload")
        check("payload", json.loads(got) if isinstance(got, str) else got, payload)

    def shown(self, *words):
        """What people see: the range in `show` and in `summary`."""
        for command in ("show", "summary"):
            text = must(self.kymo, command, self.trace)
            for word in words:
                check(f"{word} in {command}", word in text, True)

    # ---- one method a test ----

    def test_c(self):
        for flags in ((), ("-flto",), ("-ffunction-sections", "-Wl,--gc-sections"), ("-no-pie",)):
            kymotest.remove(self.trace, missing_ok=True)
            self.record(self.c("front", "front.c", "second.c", flags=flags))
            check("ranges", self.tree(),
                  {"whole": 1, "whole/often": 3, "whole/often/second file": 3, "whole/full": 1,
                   "whole/full/crosses": 1, "whole/across": 1, "on worker": 1})
            check("marks", self.marks(), {"inside": 1})
        self.full("full", {"n": -3, "x": 0.5, "t": "text", "b": "010002", "big": 1 << 63,
                           "more": 1})
        check("threads", self.names(), {"c main", "c worker"})
        row = self.one("across")
        check("started and stopped by two", row["starter_tid"] not in (None, row["tid"]), True)
        self.shown("whole", "library", "across")
        if "perfetto" in must(self.kymo, "list", "formats"):
            file = self.path("t.pftrace")
            must(self.kymo, "export", "--to", "perfetto", "-o", file, self.trace)
            # The ranges, and the time in which nothing was recorded.
            must(sys.executable, "-B", os.path.join(self.source, "tests/golden/perfetto_check.py"),
                 file, "--expect", "totals.slices=12", "totals.unfinished=0")
        nm = must("nm", "-D", self.path("front"))
        check("symbols of Kymo that the program needs", [w for w in nm.split() if "kymo" in w], [])

    def test_start_paused(self):
        program = self.c("paused", "paused.c")
        must(self.kymo, "run", "--no-summary", "--start-paused", "-o", self.trace, "--", program)
        check("marks", self.marks(), {"after": 1})
        check("ranges", [r["name"] for r in self.query("SELECT name FROM scopes")], ["inside"])

    def test_pauses(self):
        """--pauses: one resume ends all pauses, or they count, in the process and in each thread, or are nothing."""
        program = self.c("pauses", "pauses.c")
        ran = ["resumed twice", "thread, resumed twice", "main"]
        nested = "thread, resumed once"
        everything = ["first", *ran, nested, "thread, paused twice", "paused once", "paused twice", "paused three times", "last"]
        for options, marks in (((), ["first", *ran, nested, "last"]),
                               (("--start-paused",), [*ran, nested, "last"]),
                               # Recorded while resumes, and one where it begins recording, are more than pauses.
                               (("--pauses", "count"), ["first", *ran, "paused once", "paused twice", "last"]),
                               (("--pauses", "count", "--start-paused"), [*ran, "paused once"]),
                               (("--pauses", "ignore"), everything)):
            kymotest.remove(self.trace, missing_ok=True)
            must(self.kymo, "run", "--no-summary", *options, "-o", self.trace, "--", program)
            check(f"{options}", self.marks(), {name: 1 for name in marks})
        done = run(self.kymo, "run", "--pauses", "counted", "-o", self.trace, "--", program)
        check("no such mode", (done.returncode, "last|count|ignore" in done.stderr), (2, True))

    def test_depth(self):
        """Ranges below --max-depth count for the range there, of two threads; their sum stays."""
        self.record(self.c("front", "depth.c"))

        def marks(*options):
            report = json.loads(must(self.kymo, "summary", "--by", "scope,op", "-f", "json", *options, self.trace))
            rows = next(t["rows"] for t in report["tables"] if t["name"] == "marks")
            return {r["scope"]: r["calls"] for r in rows if r["op"] == "here"}

        whole = {"a": 1, "a/b": 2, "a/b/c": 4, "a/b/c/b": 8, "a/d": 16, "x": 32, "x/b": 64, "x/b/c": 128, "x/b/c/b": 256}
        check("all", marks(), whole)
        check("0 is all", marks("--max-depth", "0"), whole)
        for depth in (1, 2, 3, 4, 100000):
            wanted = {}
            for path, n in whole.items():
                cut = "/".join(path.split("/")[:depth])
                wanted[cut] = wanted.get(cut, 0) + n
            check(f"depth {depth}", marks("--max-depth", str(depth)), wanted)
        done = run(self.kymo, "summary", "--max-depth", "2", self.trace)
        check("without scopes", (done.returncode, "goes with --by scope" in done.stderr), (2, True))

    def test_cpp(self):
        program = self.compile(os.environ.get("CXX", "c++"), "front", "-std=c++11", "-pedantic",
                               "-pthread", os.path.join(self.here, "front.cpp"))
        self.record(program)
        check("ranges", self.tree(),
              {"whole": 1, "whole/often": 1, "whole/full": 1, "whole/full/other domain": 1,
               "whole/fails": 1, "whole/across": 1})
        check("marks", self.marks(), {"inside": 1, "caught": 1})
        self.full("full", {"n": -3, "x": 0.5, "t": "text", "b": "0102"})
        check("names of threads", "cpp worker" in self.names(), True)
        self.shown("whole", "other domain")

    def test_fortran(self):
        if not shutil.which("gfortran"):
            skip("no gfortran here (package gfortran)")
        fortran = os.path.join(self.source, "fortran")
        must("cc", "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-c", self.include,
             os.path.join(fortran, "kymo_fortran.c"), "-o", self.path("shim.o"))
        must("gfortran", "-std=f2008", "-Wall", "-J", self.folder,
             os.path.join(fortran, "kymo.f90"), os.path.join(self.here, "front.f90"),
             self.path("shim.o"), "-pthread", "-o", self.path("front"))
        self.record(self.path("front"))
        check("ranges", self.tree(), {"whole": 1, "whole/step": 1, "whole/across": 1})
        check("marks", self.marks(), {"inside": 1})
        self.full("step", {"n": -3, "x": 0.5, "t": "text"}, 1122867)
        check("threads", self.names(), {"fortran main"})
        self.shown("whole", "step")

    def test_python(self):
        program = [sys.executable, "-B", os.path.join(self.here, "front.py"), "say"]
        plain, recorded = self.record(*program, env={
            "PYTHONPATH": os.path.join(self.source, "python")})
        check("without Kymo", plain, "not tracing\n")
        check("with it", recorded, "tracing\n")
        check("ranges", self.tree(),
              {"whole": 1, "whole/decorated": 1, "whole/decorated/decorated": 1, "whole/full": 1,
               "whole/fails": 1, "whole/across": 1})
        check("marks", self.marks(), {"inside": 1, "caught": 1})
        row = self.one("full")
        got = row.get("payload")
        check("payload", json.loads(got) if isinstance(got, str) else got,
              {"n": -3, "x": 0.5, "t": "text", "b": "010002", "big": 1 << 63, "more": 1})
        check("names", {"python main", "python worker"} <= self.names(), True)
        self.shown("decorated", "whole")

    def test_device(self):
        """Device work belongs to the scope it was submitted from."""
        program = self.library  # the bundled example
        if run(program).returncode == SKIPPED:
            skip("no OpenCL device here")
        self.record(program)
        summary = json.loads(must(self.kymo, "summary", "--by", "scope,op", "--format", "json",
                                  self.trace))
        tables = summary["tables"]
        rows = tables if isinstance(tables, dict) else {t["name"]: t for t in tables}
        got = {(r["scope"], r["op"]): r["calls"] for r in rows["kernels"]["rows"]}
        check("kernels by scope", got, {("solve/step", "scale"): 5,
                                        ("solve/step/shift", "shift"): 5})
        got = {r["scope"]: r["calls"] for r in rows["copies"]["rows"]}
        check("copies by scope", got, {"solve": 1, "(no scope)": 1})
        got = {r["scope"] for r in rows["opencl"]["rows"]}
        check("calls by scope", got, {"(no scope)", "setup", "setup/build", "solve", "solve/step",
                                      "solve/step/shift"})
        rows = self.query("SELECT s.name, k.name AS kernel, count(*) AS n FROM kernels k JOIN "
                          "scopes s ON s.scope = k.scope AND s.pid = k.pid GROUP BY 1, 2")
        check("kernels joined to scopes", {(r["name"], r["kernel"]): r["n"] for r in rows},
              {("step", "scale"): 5, ("shift", "shift"): 5})
        payloads = self.query("SELECT payload FROM markers WHERE name = 'step' ORDER BY start")
        check("numbers of steps", [json.loads(r["payload"]) if isinstance(r["payload"], str)
                                   else r["payload"] for r in payloads],
              [{"number": i} for i in range(5)])
        queues = self.query("SELECT name FROM queue WHERE name <> ''")
        check("name of the queue", queues, [{"name": "work"}])

    def test_named(self):
        """Names of processes, threads, devices, contexts and queues are in every output."""
        program = self.c("named", "named.c", flags=("-Wl,--no-as-needed", "-lOpenCL"))
        if run(program).returncode == SKIPPED:
            skip("no OpenCL device here")
        self.record(program)
        names = {w + " of mine" for w in ("solver", "chief", "cruncher", "world", "lane")}
        outputs = {"info": must(self.kymo, "info", self.trace), "show": must(self.kymo, "show", self.trace),
                   "store": json.dumps(self.query(
                       "SELECT name FROM process UNION ALL SELECT name FROM threads UNION ALL SELECT name "
                       "FROM agent UNION ALL SELECT given FROM agent UNION ALL SELECT name FROM device_context UNION ALL SELECT name FROM queue"))}
        for form in ("text", "json", "csv", "md"):
            outputs["summary " + form] = "".join(must(
                self.kymo, "summary", "--format", form, "--by", by, self.trace)
                for by in ("process", "thread", "device", "queue"))
        for form in ("json", "csv", "perfetto"):
            file = self.path("out." + form)
            must(self.kymo, "export", "--to", form, "-o", file, self.trace)
            files = [os.path.join(file, f) for f in os.listdir(file)] if os.path.isdir(file) else [file]
            outputs[form] = ""
            for part in files:
                with open(part, "rb") as f:
                    outputs[form] += f.read().decode(errors="replace")
        for output, text in outputs.items():
            missing = {n for n in names if n not in text}
            # Rows of summaries and lines of records are not told by context.
            check(f"not in {output}", missing - (
                {"world of mine"} if output == "show" or output.startswith("summary") else set()), set())

    def test_hostile(self):
        program = self.c("hostile", "hostile.c")
        plain, recorded = self.record(program)
        check("output", recorded, plain)
        notes = {r["text"]: r["count"] for r in self.query(
            "SELECT text, sum(count) AS count FROM note WHERE part = 'marker' GROUP BY text")}
        for text, count in (("a range was popped that was not pushed", 4),
                            ("a range was stopped that was not open", 3),
                            ("a range was nested deeper than 256 and not recorded", 44),
                            ("a range was started while 65536 were open and not recorded", 464),
                            ("a text longer than 512 bytes was cut", 2)):
            check(text, notes.get(text), count)
        ranges = {r["name"]: (r["n"], r["open"]) for r in self.query(
            "SELECT substr(name, 1, 15) AS name, count(*) AS n, sum(left_open) AS open "
            "FROM markers WHERE kind <> 'mark' AND name NOT LIKE 'name %' GROUP BY 1")}
        for name, wanted in (("A" * 15, (2, 0)), ("deep", (256, 0)), ("after deep", (1, 0)),
                             ("held by main", (1, 0)), ("before fork", (1, 0)),
                             ("in child", (1, 0)), ("many", (65536, 0)), ("short", (2000, 0)),
                             ("left by thread", (1, 1)), ("left by process", (1, 1)),
                             ("left by main", (1, 1)), ("never stopped", (1, 1))):
            check(name, ranges.get(name), wanted)
        names = self.query("SELECT count(*) AS n, count(DISTINCT name) AS different FROM markers "
                           "WHERE name LIKE 'name %'")
        check("names, numbered and not", names, [{"n": 70000, "different": 70000}])
        big = self.query("SELECT n.length, n.total FROM marker_name n WHERE n.length > 500")
        check("the long text", big, [{"length": 512, "total": 1 << 20}])
        lost = self.query("SELECT sum(lost_records) AS n FROM process")
        check("lost records", lost, [{"n": 0}])
        check("ranges beyond limits", "Lost: 508 unrecorded ranges." in must(self.kymo, "summary", self.trace), True)

    def test_storm(self):
        """Thousands of threads annotate at once, for the first time: each range is there, or counted as lost."""
        program = self.c("storm", "storm.c")
        for _ in range(3):
            kymotest.remove(self.trace, missing_ok=True)
            plain, recorded = self.record(program)
            check("output", recorded, plain)
            there = self.query("SELECT count(*) AS n FROM markers WHERE name = 'work'")[0]["n"]
            lost = self.query("SELECT sum(lost_records) AS n FROM process")[0]["n"]
            check("ranges, there or lost", there + lost, 5000)
            check("most are there", there > 1000, True)
            check("notes", self.query("SELECT text FROM note WHERE part = 'marker'"), [])

    def test_late(self):
        program = self.c("late", "late.c")
        plugin = self.c("plugin.so", "second.c", flags=("-shared", "-fPIC"))
        said = must(program, self.library, plugin).split("\n")
        check("what the tool heard", said[:-1],
              ["before: -1", "enter range outer", "after: 0", "mark mark in 1",
               "enter range second file", "exit range second file word 2",
               "enter range second file", "exit range second file word 3",
               "exit range outer word 1", "unbalanced: -2", "3 3 1"])


def main():
    source, kymo, library, what = sys.argv[1:5]
    with kymotest.Folder() as folder:
        getattr(Test(source, kymo, library, folder), "test_" + what)()
    print("wrong: " + ", ".join(wrong) if wrong else f"{what}: all as expected")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
