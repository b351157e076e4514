#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ITT, from the program to the trace: test_itt.py KYMO WHAT."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "annotation"))
import base  # noqa: E402
from base import check, skip  # noqa: E402


class Test(base.Test):
    def program(self):
        return self.compile("program", "-std=gnu11", "-Wall", "-DFAKE", "-pthread",
                            os.path.join(HERE, "program.c"), "-ldl")

    def sources(self):
        """With the sources of ITT in ITTAPI; None: they are not there."""
        source = os.environ.get("ITTAPI", "")
        static = os.path.join(source, "src", "ittnotify", "ittnotify_static.c")
        if not source or not os.path.exists(static):
            return None
        return self.compile("program", "-I" + os.path.join(source, "include"),
                            "-I" + os.path.dirname(static), os.path.join(HERE, "program.c"), static,
                            "-pthread", "-ldl")

    def everything(self, program):
        self.record(program)
        check("ranges", self.tree(), {
            "outer": 1, "outer/inner": 1, "first": 1, "second": 1, "region": 1, "library": 1,
            "my lock": 2, "event": 1, "seen": 1, "frames": 2})
        m = self.markers()
        check("inner", m["inner"], [("range", "library", "", {
            "rows": 77, "part[0]": 0.5, "part[1]": 0.25, "text": "value"})])
        check("here", m["here"], [("mark", "library", "process marker", None)])
        check("overlapped", [m[n][0][:3] for n in ("first", "second", "region", "library")],
              [("process_range", "library", c) for c in ("task", "task", "region", "frame")])
        check("relation", list(m["is child of"][0][3]), ["to", "from"])
        rows = self.query("SELECT name, provider, value, time AS start FROM counters ORDER BY name, time")
        check("counters", [(r["name"], r["provider"], r["value"]) for r in rows],
              [("heat", "library", 36.5), ("late", "library", 9), ("queue length", "library", 5),
               ("queue length", "library", 4)])
        frames = self.query("SELECT start, duration FROM markers WHERE name = 'frames' AND "
                            "kind = 'submitted_range' ORDER BY duration")
        check("frames begin together", len({r["start"] for r in frames}), 1)
        check("their lengths", (frames[0]["duration"], frames[1]["duration"] >= 2000000),
              (1000000, True))
        check("a value of then", rows[1]["start"], frames[0]["start"])
        check("impossible ones", [(x[0], x[2], x[3]["times"]) for x in m["wrong"]],
              [("mark", "frame", "impossible")] * 2)
        check("lock", [x[2] for x in m["my lock"]],
              ["acquire", "release", "acquire", "not acquired"])
        check("paused", "hidden" in m, False)
        check("thread", self.thread_names(), {"itt main"})
        check("memory", self.query("SELECT type, size FROM memory_allocations ORDER BY start"),
              [{"type": "ALLOC", "size": 4096}, {"type": "FREE", "size": 4096}])
        check("notes", self.notes("marker"), {
            "a range was submitted with times that cannot be; shown as a mark": 2})

    def test_fake(self):
        self.everything(self.program())

    def test_real(self):
        """oneTBB as the distribution builds it, with Intel's own static part in it."""
        program = self.sources()
        if program:
            self.everything(program)
        if not os.path.exists("/usr/include/oneapi/tbb/profiling.h"):
            skip("no oneTBB here (package libtbb-dev)")
        program = self.compile("tbb", os.path.join(HERE, "tbb.cpp"), "-ltbb", compiler="c++")
        check("output", self.record(program), "1285\n")
        rows = {(r["domain"], r["name"]): r["n"] for r in self.query(
            "SELECT domain, name, count(*) AS n FROM markers WHERE kind <> 'mark' GROUP BY 1, 2")}
        wanted = {("tbb.flow", "body"): 20, ("tbb.flow", "pipeline"): 20}
        check("ranges", {k: rows.get(k) for k in wanted}, wanted)
        check("tasks, as often as it pleases", [rows.get(("tbb", n), 0) > 0 for n in (
            "tbb_flow_graph", "tbb_parallel_for")], [True, True])
        check("its locks", any(d == "itt" for d, _ in rows), True)
        m = self.markers("domain = 'tbb.flow' AND kind = 'mark'")
        check("events of the program", [x[3]["user_event"] for x in m["user_event"]],
              ["FGA::DATAID::tick"] * 10)
        check("names of nodes", sorted(x[3]["object_name"] for x in m["object_name"]),
              ["add", "pipeline", "square"])
        check("notes", self.notes("marker"), {})

    def test_domains(self):
        """ITT's own functions skip what a domain says that is not followed."""
        program = self.program()

        def said(*options):
            self.record(program, options=options)
            self.tree()
            return sorted((r["kind"], r["domain"], r["name"]) for r in self.query("SELECT kind, domain, name FROM markers"))

        everything = said()
        domains = {r[1] for r in everything}
        check("domains", len(domains) > 1 and "library" in domains, True)
        for options, wanted in ((["--annotations", "^library$"], {"library"}), (["--exclude-annotations", "^library$"], domains - {"library"})):
            check(f"{options}", said(*options), [r for r in everything if r[1] in wanted])

    def test_hostile(self):
        self.record(self.program(), "hostile")
        notes = self.notes("marker")
        cut = [n for n in notes if n.startswith("a value longer than 256 bytes")]
        first = '; the first was "%s" of %d bytes, cut: make it' % ("A" * 60, (10 << 20) - 1)
        check("what was cut", [(notes.pop(n), first in n or n) for n in cut], [(1, True)])
        check("notes", notes, {
            "a range was popped that was not pushed": 1,
            "a range was stopped that was not open": 3,
            "a text longer than 512 bytes was cut": 1})

    def test_threads(self):
        self.record(self.program(), "5000")
        n = self.query("SELECT count(*) AS n, count(DISTINCT tid) AS t FROM markers")[0]
        check("tasks and threads", (n["n"], n["t"] > 4000), (5000, True))
        check("lost", self.lost(), 0)


if __name__ == "__main__":
    sys.exit(base.main(Test, HERE))
