#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""NVTX, from the program to the trace: test_nvtx.py KYMO WHAT."""
import glob
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "annotation"))
import base  # noqa: E402
from base import check, skip  # noqa: E402

RECORD = {"small": 200, "number": -5, "value": 2.5, "text": "eight ch", "pointer": "behind",
          "point.x": 1, "point.y": 2, "mode": "busy", "list[0]": 7, "list[1]": 8, "list[2]": 9}


def headers():
    """Where NVTX's own headers are: the variable NVTX_INCLUDE, CUDA, the system."""
    for folder in [os.environ.get("NVTX_INCLUDE", "-"), "/usr/include", "/usr/local/include",
                   *sorted(glob.glob("/usr/local/cuda*/include"))]:
        if os.path.exists(os.path.join(folder, "nvtx3", "nvToolsExtCounters.h")):
            return folder
    return None


class Test(base.Test):
    def program(self):
        return self.compile("program", "-std=gnu11", "-Wall", "-DFAKE", "-pthread",
                            os.path.join(HERE, "program.c"), "-ldl")

    def real(self):
        folder = headers()
        if not folder:
            skip("NVTX's headers are not here (set NVTX_INCLUDE to the folder with nvtx3 in it)")
        return self.compile("program", "-std=gnu11", "-isystem", folder, "-pthread",
                            os.path.join(HERE, "program.c"), "-ldl")

    def everything(self, program):
        self.record(program)
        check("ranges", self.tree(), {
            "outer": 1, "outer/wide α": 1, "outer/full": 1, "across": 1, "": 1, "my lock": 2,
            "by our clock": 1, "by the wall clock": 1, "by its own clock": 1, "first of two": 1})
        m = self.markers()
        check("mark", m["inside"], [("mark", "nvtx", "", None)])
        check("full", m["full"], [("range", "library", "io", {"payload": -3})])
        check("registered", m["registered"], [("mark", "library", "8", {"payload": 0.5})])
        check("across", m["across"], [("process_range", "nvtx", "", None)])
        check("structured", [x[3] for x in m["structured"]], [RECORD, {"small": 200}])
        check("pushed and popped", m[""][0][3], RECORD)
        bad = m["bad pointer"]
        check("bad pointer", bad[0][3], dict(RECORD, pointer=8))
        check("no layout", [x[3] for x in bad[1:]], [None, None])
        check("no value", [x[2:] for x in m["temperature"]], [("counter", {"value": "unavailable"})])
        self.deferred(m)
        self.counters()
        check("lock", [x[2] for x in m["my lock"]],
              ["acquire", "release", "acquire", "not acquired"])
        colors = self.query("SELECT color FROM markers WHERE name = 'full'")
        check("color", colors, [{"color": 0xff112233}])
        check("thread", self.thread_names(), {"nvtx main"})
        check("notes", self.notes("marker"), {
            "a range was submitted with times that cannot be; shown as a mark": 3})

    def deferred(self, m):
        """Events with times of the program's own are where they were, whatever clock it took."""
        rows = self.query("SELECT m.name, m.start - o.start AS start, m.duration FROM markers m, "
                          "markers o WHERE o.name = 'origin' AND m.kind LIKE 'submitted%'")
        names = {"by our clock", "by the wall clock", "by its own clock", "first of two", "a moment"}
        check("submitted", {r["name"] for r in rows}, names)
        for r in rows:
            length = 0 if r["name"] == "a moment" else 1e6
            check(r["name"], (abs(r["start"] - 2e6) < 3e5, abs(r["duration"] - length) < 1e5),
                  (True, True))
        check("values", [m[n][0][:2] + (m[n][0][3],) for n in ("first of two", "a moment")],
              [("submitted_range", "library", {"step": 3}), ("submitted_mark", "library", {"step": 3})])
        check("impossible", [(m[n][0][0], m[n][0][3]["times"], m[n][0][3]["step"])
                             for n in ("backwards", "in days", "long ago")],
              [("mark", "impossible", 3)] * 3)
        check("as it was said", (m["long ago"][0][3]["begin"], m["long ago"][0][3]["end"]), (5, 6))
        shown = base.must(self.kymo, "summary", self.trace)
        check("in the summary", ("by its own clock" in shown, "a moment" in shown), (True, True))

    def counters(self):
        rows = self.query("SELECT name, provider, value FROM counters ORDER BY name, time, value")
        check("counters", [(r["name"], r["provider"], r["value"]) for r in rows],
              [("cache.hits", "library", 7), ("cache.hits", "library", 8),
               ("cache.hits", "library", 7)] +
              [("cache.rate", "library", 0.5), ("cache.rate", "library", 0.25),
               ("cache.rate", "library", 0.5)] +
              [("temperature", "library", 42), ("temperature", "library", 42.5)])
        check("in the summary", "temperature" in base.must(self.kymo, "summary", self.trace), True)
        track = self.path("track.json")
        base.must(self.kymo, "export", "--to", "perfetto", "-o", track, self.trace)
        with open(track, "rb") as f:
            data = f.read()
        check("in Perfetto", (b"temperature" in data, b"by its own clock" in data), (True, True))

    def test_fake(self):
        self.everything(self.program())

    def test_real(self):
        self.everything(self.real())

    def test_domains(self):
        """Ranges and marks of some domains alone: what is recorded is what a recording of all has of these."""
        program = self.program()

        def said(*options):
            self.record(program, options=options)
            self.tree()  # no range lies in one that is not there
            return sorted((r["kind"], r["domain"], r["name"] or "", r["payload"] or "") for r in
                          self.query("SELECT kind, domain, name, CASE WHEN payload LIKE '%begin%' THEN '' ELSE payload END AS payload FROM markers"))

        everything = said()
        check("two domains", {r[1] for r in everything}, {"nvtx", "library"})
        for options, wanted in ((["--annotations", "^lib"], {"library"}), (["--annotations", "nvtx"], {"nvtx"}),
                                (["--exclude-annotations", "library"], {"nvtx"}), (["--exclude-annotations", "^nvtx$"], {"library"}),
                                (["--annotations", "lib|nvtx", "--exclude-annotations", "lib"], {"nvtx"}),
                                (["--annotations", "nothing"], set())):
            check(f"{options}", said(*options), [r for r in everything if r[1] in wanted])
            check(f"{options}: told", f"{options[0]} '{options[1]}'" in base.must(self.kymo, "info", self.trace) or not wanted, True)
            check(f"{options}: notes", any("popped" in n or "stopped" in n for n in self.notes("marker")), False)

    def test_hostile(self):
        self.record(self.program(), "hostile")
        check("notes", self.notes("marker"), {
            "a range was popped that was not pushed": 3,
            "a range was stopped that was not open": 1,
            "a text longer than 512 bytes was cut": 1,
            "an annotation was given no text, or invalid values": 5})
        check("sizes", {(n or "")[:11] for n in self.markers()}, {"", "A" * 11, "long struct"})

    def test_threads(self):
        self.record(self.program(), "5000")
        n = self.query("SELECT count(*) AS n, count(DISTINCT tid) AS t FROM markers")[0]
        check("ranges and threads", (n["n"], n["t"] > 4000), (5000, True))
        check("lost", self.lost(), 0)

    def test_user(self):
        """A variable that the user set is another tool's; nothing is recorded, nothing breaks."""
        self.record(self.program(), env={"NVTX_INJECTION64_PATH": "/nonexistent/tool.so"})
        check("warned", "NVTX_INJECTION64_PATH is set to /nonexistent/tool.so" in self.stderr, True)
        runs = self.kymo, "run", "--dry-run", "--", "true"
        told = base.must(*runs, env=dict(os.environ, NVTX_INJECTION64_PATH="/tool.so"))
        check("not set", "NVTX_INJECTION64_PATH" in told, False)
        check("set", "NVTX_INJECTION64_PATH" in base.must(*runs), True)
        check("not wanted", "NVTX_INJECTION64_PATH" in base.must(
            self.kymo, "run", "--dry-run", "-b", "opencl", "--", "true"), False)


if __name__ == "__main__":
    sys.exit(base.main(Test, HERE))
