#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""OpenMP through OMPT, on LLVM's runtime: test_openmp.py KYMO WHAT."""
import json
import os
import re
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "annotation"))
import base  # noqa: E402
from base import check, skip  # noqa: E402

FOLDERS = [f"/usr/lib/llvm-{n}/lib" for n in (21, 20, 19, 18)]


class Test(base.Test):
    def clang(self):
        """The compiler, and the folder of its OpenMP runtime."""
        for folder in FOLDERS:
            compiler = os.path.join(os.path.dirname(folder), "bin", "clang")
            if os.path.exists(compiler) and os.path.exists(os.path.join(folder, "libomp.so")):
                return compiler, folder
        return skip("no clang with OpenMP here (packages clang-19 and libomp-19-dev)")

    def program(self, name, *flags):
        compiler, folder = self.clang()
        self.env = {"LD_LIBRARY_PATH": folder, "OMP_NUM_THREADS": "2"}
        return self.compile(name, "-fopenmp", *flags, os.path.join(HERE, name + ".c"),
                            "-L" + folder, compiler=compiler)

    def offload(self, name="target"):
        compiler, folder = self.clang()
        try:
            return self.program(name, "-fopenmp-targets=x86_64-pc-linux-gnu")
        except SystemExit:
            return skip("this clang cannot offload to the processor (package clang-tools-19)")

    def calls(self):
        return {r["name"]: r["n"] for r in self.query(
            "SELECT name, count(*) AS n FROM regions WHERE category = 'openmp' GROUP BY name")}

    def test_host(self):
        self.record(self.program("host"), env=self.env)
        got = self.calls()
        # 9 regions, but for that of the pause: 2 threads, one serial, one nested in two. What
        # primary threads do is in the regions' own records.
        wanted = {"parallel": 8, "implicit_task": 7, "single": 2, "masked": 1, "barrier": 2,
                  "critical": 2, "ordered": 4, "lock": 2, "nest_lock": 2, "sections": 2,
                  "taskloop": 1, "task_create": 9, "dependences": 2, "taskwait": 2,
                  "control_tool": 2, "loop": 6}
        check("calls", {n: got.get(n) for n in wanted}, wanted)
        check("tasks ran", got.get("task", 0) >= 9, True)
        check("chatty ones", [n for n in ("flush", "dispatch", "wait") if n in got], [])
        shown = base.must(self.kymo, "show", self.trace)
        check("open at the end", "was open" in shown, False)
        check("a region's place", bool(re.search(r"openmp:parallel\(.*@ regions host\.c:\d+", shown)), True)
        check("arguments", "threads=2, number=1" in shown and "on=\"inout" in shown, True)

    def test_imbalance(self):
        """Who waited for whom at the end of a region: by the region and the tasks of its workers."""
        self.record(self.program("host"), env=self.env)
        unit = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
        regions = [(float(t) * unit[u], int(w)) for t, u, w in re.findall(
            r"([0-9.]+) (ns|us|ms|s) .*openmp:parallel\(.*threads=2, worked=([0-9]+)\)",
            base.must(self.kymo, "show", self.trace))]
        check("regions of two threads", len(regions), 7)
        check("worked no longer than they took", [r for r in regions if r[1] > r[0] + 1000], [])
        # Of the uneven one: the first thread was there at once, 20 ms before the second.
        check("waited", any(took - worked > 15e6 for took, worked in regions), True)
        tasks = self.query("SELECT max(duration) AS n FROM regions WHERE name = 'implicit_task'")
        check("waited for", tasks[0]["n"] > 15e6, True)

    def test_diagnose(self):
        """One thread has more to do than the other, in every region: it, its place and at least what that costs."""
        self.record(self.program("uneven", "-g"), env=self.env)
        told = json.loads(base.must(self.kymo, "diagnose", "--format", "json", self.trace))
        found = [f for f in told["findings"] if f["rule"] == "imbalance-threads"]
        check("found", len(found), 1)
        check("of it", "uneven" in found[0]["where"], True)
        # Half of 20 times 20 ms; a busy machine adds to it by turns, and it is the same for both.
        gain = found[0]["gain_ns"]
        check("gain", 100e6 < gain, True)

    def test_barriers(self):
        """How long threads waited in barriers, by the region: as its records have it, of two processes that are one line."""
        program = self.program("barriers", "-g")
        self.record("sh", "-c", f"{program} & {program}; wait", env=self.env)
        tables = json.loads(base.must(self.kymo, "summary", "-f", "json", "--tables", "regions", self.trace))["tables"]
        found = {next(n for n in ("one", "two") if n in r["site"]): r for r in tables[0]["rows"]}
        check("places", (sorted(found), len(tables[0]["rows"])), (["one", "two"], 2))
        check("regions", [(found[n]["regions"], found[n]["threads"]) for n in ("one", "two")], [(20, 2), (10, 2)])
        for name, inside in (("one", 0), ("two", 10e6)):
            row = found[name]
            told = self.query(
                "SELECT sum(p.duration) AS time, sum(p.duration - kymo_arg(p.id, 'worked')) AS first, sum(p.end - t.end) AS other "
                "FROM regions p JOIN regions t ON t.name = 'implicit_task' AND t.pid = p.pid AND "
                f"kymo_arg(t.id, 'parallel') = p.id WHERE p.name = 'parallel' AND p.function = '{name}'")[0]
            check(name + ": time", row["time_ns"], told["time"])
            end = told["first"] + max(told["other"], 0)
            check(name + ": at the end", abs(row["end_wait_ns"] - end) <= 0.02 * end + 2e6, True)
            barriers = self.query(
                "SELECT ifnull(sum(b.duration), 0) AS n FROM regions b WHERE b.name = 'barrier' AND EXISTS (SELECT 1 FROM regions p "
                f"WHERE p.name = 'parallel' AND p.function = '{name}' AND p.pid = b.pid AND b.start BETWEEN p.start AND p.end)")[0]["n"]
            check(name + ": in barriers", abs(row["barrier_wait_ns"] - row["end_wait_ns"] - barriers) <= 1e6, True)
            check(name + ": as was planted", barriers >= row["regions"] * inside / 2, True)
            share = 100 * row["barrier_wait_ns"] / (2 * row["time_ns"])
            check(name + ": share", abs(row["percent_of_team"] - share) < 1e-6, True)
        check("planted", found["one"]["end_wait_ns"] >= 20 * 10e6, True)
        text = base.must(self.kymo, "summary", self.trace)
        check("for people", bool(re.search(r"\nOpenMP regions\nregion at .*\n.*\b(one|two)\b.* 2 ", text)), True)

    def test_full(self):
        self.record(self.program("host"), env=self.env, options=["--mode", "full"])
        got = self.calls()
        check("tasks of primary threads", got.get("primary_task"), 8)
        check("chatty ones", [n for n in ("dispatch", "wait", "join_barrier", "single_other",
                                          "lock_init", "lock_destroy", "nest_lock_again")
                              if n not in got], [])

    def test_target(self):
        program = self.offload()
        self.record(program, env=self.env)
        got = self.calls()
        wanted = {"target": 3, "target_enter_data": 1, "target_exit_data": 1, "target_update": 1,
                  "target_submit": 3, "target_alloc": 5, "target_delete": 5,
                  "target_transfer_to": 4, "target_transfer_from": 4}
        check("calls", {n: got.get(n) for n in wanted}, wanted)
        check("kernels", self.query("SELECT count(*) AS n, sum(duration > 0) AS timed FROM kernels"),
              [{"n": 3, "timed": 3}])
        check("copies", self.query("SELECT name, sum(size) AS b, count(*) AS n FROM memory_copies "
                                   "GROUP BY 1 ORDER BY 2"),
              [{"name": "MEMORY_COPY_DEVICE_TO_HOST", "b": 24004, "n": 4}, {"name": "MEMORY_COPY_HOST_TO_DEVICE", "b": 28096, "n": 4}])
        check("memory", self.query("SELECT type, sum(size) AS b FROM memory_allocations "
                                   "GROUP BY 1 ORDER BY 1"),
              [{"type": "ALLOC", "b": 28100}, {"type": "FREE", "b": 28100}])
        check("notes", [t for t in self.notes("openmp")], [])

    def test_regions(self):
        """Regions are told apart, and are the program's own: as many places and kernels as there are."""
        self.offload()
        program = self.program("regions", "-fopenmp-targets=x86_64-pc-linux-gnu")
        said = [l.split() for l in self.record(program, env=self.env).splitlines()]
        times = sorted(int(w[2]) for w in said if len(w) == 3)
        kernels = self.query("SELECT name, count(*) AS n FROM kernels GROUP BY name ORDER BY n")
        check("kernels", [k["n"] for k in kernels], times)
        check("of the program", [k["name"] for k in kernels if "__tgt" in k["name"]], [])
        shown = base.must(self.kymo, "show", self.trace)
        places = re.findall(r"openmp:target\(.*  @ (\S+)", shown)
        check("places", [places.count("one"), places.count("two"), len(places)], [5, 3, 10])
        check("none is Kymo's", "offload.c" in shown, False)

    def test_fallback(self):
        """A region that no device takes: the host computes it, and the trace says so."""
        program = self.offload()
        self.record(program, env=dict(self.env, OMP_TARGET_OFFLOAD="disabled"))
        shown = base.must(self.kymo, "show", self.trace)
        check("on the host", len(re.findall(r"openmp:target\(.*host_fallback=true", shown)), 3)
        check("kernels", self.query("SELECT count(*) AS n FROM kernels"), [{"n": 0}])
        self.record(self.program("nowait", "-L" + self.env["LD_LIBRARY_PATH"], "-lomptarget"),
                    env=dict(self.env, OMP_TARGET_OFFLOAD="disabled"))
        shown = base.must(self.kymo, "show", self.trace)
        check("launched without waiting", len(re.findall(r"openmp:target\(.*host_fallback=true", shown)), 1)
        self.record(program, env=self.env)
        shown = base.must(self.kymo, "show", self.trace)
        check("on the device", "host_fallback=true" in shown, False)

    def test_diagnose_fallback(self):
        """What the host computes instead of a device: all regions of the place, 10 ms each."""
        self.record(self.offload("rests"), env=dict(self.env, OMP_TARGET_OFFLOAD="disabled"))
        told = json.loads(base.must(self.kymo, "diagnose", "--format", "json", self.trace))
        found = [f for f in told["findings"] if f["rule"] == "host-fallback"]
        check("found", [f["count"] for f in found], [20])
        check("at least", found[0]["gain_ns"] >= 19 * 10e6, True)
        check("of it", "rests" in found[0]["where"], True)
        self.record(self.path("rests"), env=self.env)
        told = json.loads(base.must(self.kymo, "diagnose", "--format", "json", self.trace))
        check("on the device", [f for f in told["findings"] if f["rule"] == "host-fallback"], [])

    def test_told_once(self):
        """Of regions that no device takes the runtime tells some itself: each is there once."""
        source = os.path.join(HERE, "failing.c")
        library = self.compile("libomptarget.so", "-shared", "-fPIC", "-DLIBRARY", source, "-ldl")
        program = self.compile("failing", source, library, "-Wl,-rpath," + self.folder)
        self.record(program)
        shown = base.must(self.kymo, "show", self.trace)
        check("on the host", len(re.findall(r"openmp:target\(.*host_fallback=true", shown)), 5)
        check("of the program", len(re.findall(r"openmp:target\(.*  @ main", shown)), 5)
        self.record(program, env={"OMP_TOOL": "disabled"})  # nor does the runtime tell anything
        check("recorded", self.query("SELECT count(*) AS n FROM regions"), [{"n": 0}])

    def test_unconnected(self):
        """libomptarget that does not find its libomp: said, not passed over."""
        program = self.offload()
        folder = self.env.pop("LD_LIBRARY_PATH")
        os.symlink(os.path.join(folder, "libomptarget.so.19.1"),
                   self.path("libomptarget.so.19.1"))
        os.symlink(os.path.join(folder, "libomp.so.5"), self.path("libomp.so.5"))
        self.record(program, env=dict(self.env, LD_LIBRARY_PATH=self.folder))
        check("note", any("libomptarget" in t for t in self.notes("openmp")), True)

    def test_other_tool(self):
        """The user's own tool keeps OMPT's only place."""
        program = self.program("host")
        tool = self.compile("other.so", "-shared", "-fPIC", os.path.join(HERE, "other_tool.c"))
        env = dict(self.env, OMP_TOOL_LIBRARIES=tool)
        told = base.must(self.kymo, "run", "--dry-run", "--", "true", env=dict(os.environ, **env))
        check("after it", re.search(r"OMP_TOOL_LIBRARIES=\S*other\.so:\S*/libkymo\.so\.1", told)
              is not None, True)
        self.record(program, env=dict(env, OTHER_TOOL="1"))
        check("recorded", self.calls(), {})
        check("why", re.findall("another tool has", base.must(self.kymo, "summary", self.trace)),
              ["another tool has"])
        self.record(program, env=dict(env, OTHER_TOOL="1"), options=["--threads"])
        check("note", any("another tool" in t for t in self.notes("openmp")), True)
        self.record(program, env=env, plain=False)  # it declines: our turn
        check("recorded", self.calls().get("parallel"), 8)

    def test_disabled(self):
        self.record(self.program("host"), env=dict(self.env, OMP_TOOL="disabled"))
        check("recorded", self.query("SELECT count(*) AS n FROM regions"), [{"n": 0}])

    def test_gcc(self):
        """GCC's runtime has no OMPT: the program runs as it is."""
        if not shutil.which("gcc"):
            skip("no gcc here")
        program = self.compile("gcc", "-fopenmp", os.path.join(HERE, "gcc.c"), compiler="gcc")
        self.record(program)
        self.record(program, options=["--threads"])
        check("note", any("libgomp" in t for t in self.notes("openmp")), True)
        check("in the summary", "libgomp" in base.must(self.kymo, "summary", self.trace), True)
        check("in doctor", "libgomp" in base.run(self.kymo, "doctor").stdout, True)
        # Whoever loads it with a package has no regions of his own to miss.
        load = "import ctypes; ctypes.CDLL('libgomp.so.1').omp_get_max_threads()"
        self.record(sys.executable, "-c", load, options=["--threads"])
        check("no note", [t for t in self.notes("openmp") if "libgomp" in t], [])


if __name__ == "__main__":
    sys.exit(base.main(Test, HERE))
