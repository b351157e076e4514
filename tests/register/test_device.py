#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What Kymo makes of HIP's and HSA's calls: dispatches, copies, allocations, waits, objects.

test_device.py BUILD [TESTS...]: the folder cmake built in. The runtimes are a fake.
"""
import csv
import io
import json
import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402

BUILD = os.path.abspath(sys.argv[1])
LIB = os.path.join(BUILD, "lib")
HERE = os.path.join(BUILD, "tests", "register")
KYMO = os.path.join(BUILD, "bin", "kymo")
RUNTIME = os.path.join(HERE, "device", "libamdhip64.so.7")
NO_TIMER = "8"


def environment(**settings):
    env = {k: v for k, v in os.environ.items()
           if not k.startswith(("KYMO_", "ROCP", "LD_PRELOAD", "OPENCL_LAYERS"))}
    env.update(LD_LIBRARY_PATH=LIB, PROBE_RUNTIME=RUNTIME, **settings)
    return env


def run(*command, **settings):
    done = subprocess.run(command, env=environment(**settings), capture_output=True, text=True,
                          timeout=60)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


class Trace(unittest.TestCase):
    scenario = None
    settings = {}

    @classmethod
    def setUpClass(cls):
        if not cls.scenario:
            raise unittest.SkipTest("only a base")
        cls.folder = kymotest.Folder()
        cls.trace = os.path.join(cls.folder.name, "t.kymo")
        cls.summary = run(KYMO, "run", "-o", cls.trace, os.path.join(HERE, "probe_device"),
                          cls.scenario, **cls.settings)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def rows(self, sql):
        text = run(KYMO, "query", "-f", "csv", self.trace, sql)
        return [tuple(r) for r in list(csv.reader(io.StringIO(text)))[1:]]

    def once(self, sql):
        rows = self.rows(sql)
        self.assertEqual(len(rows), 1, sql)
        return rows[0]


class NotRecorded(unittest.TestCase):
    """What a mode leaves out is counted: with it and what is recorded there is what mode full records."""

    def counts(self, mode, folder, scenario):
        trace = os.path.join(folder, f"{mode}-{scenario}.kymo")
        self.text = run(KYMO, "run", "--mode", mode, "-o", trace, os.path.join(HERE, "probe_device"), scenario)
        found = []
        for sql in ("select name, count(*) from regions group by 1",
                    "select name, sum(calls) from not_recorded group by 1"):
            text = run(KYMO, "query", "-f", "csv", trace, sql)
            found.append({r[0]: int(r[1]) for r in list(csv.reader(io.StringIO(text)))[1:]})
        return found

    def test_modes(self):
        with kymotest.Folder() as folder:
            for scenario, chatty in (("hip", "hipSetDevice"), ("hsa", "hsa_agent_get_info")):
                full, none = self.counts("full", folder, scenario)
                self.assertEqual(none, {})
                for mode in ("default", "minimal"):
                    calls, left_out = self.counts(mode, folder, scenario)
                    self.assertEqual({n: calls.get(n, 0) + left_out.get(n, 0) for n in {*calls, *left_out}}, full)
                    self.assertEqual(left_out.get(chatty, 0), full[chatty], mode)
                    self.assertGreater(full[chatty], 0)
                    self.assertIn("Not recorded in this mode: ", self.text)


class Objects(Trace):
    """Who made what was never released, of each kind of HIP's."""
    scenario = "objects"
    kinds = ("context", "event", "executable graph", "graph", "memory pool", "module", "stream")

    def found(self):
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "probe_device.c"), encoding="ascii") as f:
            names = {n: m[1] for n, line in enumerate(f, 1) if (m := re.search(r"/\* line: (\w+)", line))}
        out = json.loads(run(KYMO, "summary", "--tables", "objects", "--format", "json", self.trace))
        return sorted((r["kind"], names.get(int(r["site"].rpartition(":")[2])), r["alive"], r["created"], r["released"])
                      for t in out["tables"] for r in t["rows"])

    def test_objects(self):
        self.assertEqual(self.found(), [row for k in self.kinds for row in (
            (f"HIP {k}", "first", 1, 2, 1), (f"HIP {k}", "second", 1, 1, 0))])


class NoObjects(Objects):
    scenario = "no objects"

    def test_objects(self):
        self.assertEqual(self.found(), [])


class Profiler(unittest.TestCase):
    def test_profiler(self):
        """hipProfilerStart and Stop begin and pause recording, though HIP refuses them."""
        for options, kernels in (([], [("add(float*, float*, int)", "2"), ("scale", "1")]),
                                 (["--start-paused"], [("add(float*, float*, int)", "2")]),
                                 (["--pauses", "ignore"], [("add(float*, float*, int)", "2"), ("scale", "2")])):
            with kymotest.Folder() as folder:
                trace = os.path.join(folder, "t.kymo")
                run(KYMO, "run", *options, "-o", trace, os.path.join(HERE, "probe_device"), "hip_profiler")
                text = run(KYMO, "query", "-f", "csv", trace, "select name, count(*) from kernels group by 1 order by 1")
            self.assertEqual([tuple(r) for r in list(csv.reader(io.StringIO(text)))[1:]], kernels, options)


class Hip(Trace):
    scenario = "hip"

    def test_kernels_by_name(self):
        self.assertEqual(self.rows("select name, count(*) from kernels group by 1 order by 1"),
                         [("(HIP graph)", "1"), ("add(float*, float*, int)", "3"),
                          ("reduce", "3"), ("scale", "4")])

    def test_sizes(self):
        grids = self.rows("select distinct name, grid_x, grid_y, workgroup_x from kernels "
                          "where name in ('scale', 'reduce')")
        self.assertIn(("scale", "256", "2", "64"), grids)
        self.assertIn(("reduce", "64", "4", "32"), grids)
        self.assertEqual({g[1] for g in grids if g[0] == "reduce"}, {"64", "256"})
        shown = run(KYMO, "show", self.trace)
        self.assertRegex(shown, r"scale global=256x2 local=64x1 dynamic_shared=4096 "
                                r"\[no device time: no device timer\]")

    def test_no_time_is_invented(self):
        for view in ("kernels", "memory_copies"):
            self.assertEqual(self.rows(f"select distinct duration, untimed from {view}"),
                             [("", NO_TIMER)])
        self.assertIn("Without device times: 21.", self.summary)

    def test_correlation(self):
        """Each record's call is the one that submitted it."""
        self.assertEqual(self.rows("select distinct region from kernels order by 1"),
                         [("hipExtModuleLaunchKernel",), ("hipGraphLaunch",), ("hipLaunchKernel",),
                          ("hipModuleLaunchKernel",)])
        for view, name in (("kernels", "region"), ("memory_copies", "region_name"),
                           ("memory_allocations", "region_name"), ("syncs", "region_name")):
            bad = self.rows(f"select a.id from {view} a left join regions r on r.id = a.call_id "
                            f"where r.name is not a.{name} or r.name not like 'hip%'")
            self.assertEqual(bad, [], view)
        calls = self.rows("select count(distinct call_id), count(*) from kernels")
        self.assertEqual(calls, [("11", "11")])

    def test_bytes_by_direction(self):
        self.assertEqual(self.rows("select operation, sum(size), count(*) from memory_copies "
                                   "group by 1 order by 1"),
                         [("copy", "2064", "2"), ("fill", "4136", "2"), ("read", "2024", "2"),
                          ("write", "4584", "4")])
        pinned = self.once("select operation, source_kind, destination_kind from memory_copies "
                           "where size = 1024")
        self.assertEqual(pinned, ("read", "3", "2"))
        peer = self.once("select src_device, dst_device from memory_copies where size = 64")
        self.assertEqual(peer, ("Fake 0", "Fake 1"))

    def test_blocking(self):
        self.assertEqual(self.rows("select blocking, count(*) from memory_copies group by 1"),
                         [("0", "4"), ("1", "6")])
        self.assertEqual(self.rows("select name, count(*) from syncs group by 1 order by 1"),
                         [("barrier", "1"), ("blocking", "6"), ("device", "1"),
                          ("event_record", "1"), ("events", "1"), ("queue", "1")])

    def test_allocations(self):
        kinds = self.rows("select kind, what, size, agent_name from memory_allocations "
                          "where type = 'ALLOC' and size < 3000 order by size")
        self.assertEqual(kinds, [("3", "1", "100", "Fake 0"), ("3", "7", "333", "Fake 0"),
                                 ("4", "1", "512", "Fake 0"), ("3", "3", "512", "Fake 0"),
                                 ("2", "9", "700", ""), ("2", "1", "1024", ""),
                                 ("2", "1", "1024", ""), ("3", "1", "1536", "Fake 0"),
                                 ("3", "1", "2048", "Fake 0"),
                                 ("3", "1", "2048", "Fake 1")])

    def test_leaks(self):
        leaks = self.rows("select size from memory_allocations group by allocation "
                          "having count(*) <> 2")
        self.assertEqual(leaks, [("100",)])

    def test_streams(self):
        """A handle that is used again is another stream."""
        queues = self.rows("select count(distinct id), count(distinct handle) from queue "
                           "where handle <> 0")
        self.assertEqual(queues, [("4", "2")])
        used = self.rows("select count(distinct queue_id) from kernels where name like 'add%'")
        self.assertEqual(used, [("3",)])
        self.assertEqual(self.once("select agent_name from kernels where name = 'scale' and "
                                   "stream = 'default stream' and grid_x = 64"), ("Fake 1",))

    def test_captured_work_is_not_run(self):
        self.assertEqual(self.once("select count(*) from regions where name = 'hipLaunchKernel'"),
                         ("10",))  # one failed, two were captured
        self.assertEqual(self.once("select count(*) from kernels where region = 'hipLaunchKernel'"),
                         ("7",))

    def test_programs(self):
        self.assertEqual(self.rows("select domain, kind from code_objects"),
                         [("hip", "binary"), ("hip", "binary")])
        self.assertEqual(self.once("select code_object_id from kernel_symbols "
                                   "where kernel_name = 'reduce'"), ("2",))

    def test_agents(self):
        self.assertEqual(self.rows("select type, name, vendor, domain from agent"),
                         [("gpu", "Fake 0", "AMD", "hip"), ("gpu", "Fake 1", "AMD", "hip")])


class Hsa(Trace):
    scenario = "hsa"

    def test_copies(self):
        self.assertEqual(self.rows("select operation, size, src_device, dst_device from "
                                   "memory_copies order by size"),
                         [("read", "1500", "gfx900", ""), ("write", "4000", "", "gfx900")])

    def test_memory(self):
        self.assertEqual(self.rows("select size, kind, count(*) from memory_allocations "
                                   "group by allocation order by size"),
                         [("50", "3", "1"), ("6000", "3", "2")])

    def test_objects(self):
        self.assertEqual(self.once("select g.domain, s.kernel_name from kernel_symbols s join "
                                   "code_objects g on g.id = s.code_object_id where "
                                   "s.kernel_name = 'sum.kd'"), ("hsa", "sum.kd"))
        self.assertEqual(self.rows("select domain, count(*) from queue group by 1"), [("hsa", "1")])
        self.assertEqual(self.rows("select name, count(*) from syncs group by 1"), [("events", "1")])


class Layered(Trace):
    """HIP on HSA: what HIP does through HSA is recorded once, as HIP's."""
    scenario = "layered"

    def test_once(self):
        self.assertEqual(self.rows("select region_name, size from memory_allocations where "
                                   "type = 'ALLOC' order by size"),
                         [("hipMalloc", "1111"), ("hipMallocManaged", "2222"),
                          ("hsa_amd_memory_pool_allocate", "3333")])
        self.assertEqual(self.rows("select region_name, size from memory_copies order by size"),
                         [("hipMemcpyAsync", "500"), ("hipMemcpy", "1000")])
        self.assertEqual(self.rows("select name, region_name from syncs"),
                         [("blocking", "hipMemcpy")])

    def test_calls_stay(self):
        self.assertEqual(self.once("select count(*) from regions where "
                                   "name = 'hsa_amd_memory_pool_allocate'"), ("3",))


class Threads(Trace):
    scenario = "threads"

    def test_lifetimes(self):
        """Addresses go from thread to thread; each lifetime has one beginning and one end."""
        self.assertEqual(self.rows("select count(*), count(distinct allocation) from "
                                   "memory_allocations"), [("32000", "16000")])
        self.assertEqual(self.rows("select allocation from memory_allocations group by allocation "
                                   "having count(*) <> 2 or min(type) = max(type)"), [])
        self.assertEqual(self.once("select count(*), count(distinct queue_id) from kernels"),
                         ("160", "160"))


class Reused(Trace):
    scenario = "reused"

    def test_new_owner(self):
        """Memory that somebody has again is not freed by the call that freed it before."""
        self.assertEqual(self.rows("select allocation, type, size from memory_allocations "
                                   "order by 1, 2"),
                         [("1", "ALLOC", "64"), ("1", "FREE", "64"), ("2", "ALLOC", "65"),
                          ("2", "FREE", "65")])
        last = self.once("select region_name, start > (select max(start) from memory_allocations "
                         "where type = 'ALLOC') from memory_allocations where allocation = 2 "
                         "and type = 'FREE'")
        self.assertEqual(last, ("hipFree", "1"))
        calls = self.rows("select id from regions where name = 'hipFree' order by start")
        self.assertEqual(self.once("select call_id from memory_allocations where allocation = 2 "
                                   "and type = 'FREE'"), calls[-1])


class Descriptors(Trace):
    """2D copies by descriptor: direction, kinds and devices of both sides."""
    scenario = "descriptors"
    PAGEABLE, PINNED, DEVICE, MANAGED = "1", "2", "3", "4"

    def test_sides(self):
        on = "HIP device 0"
        self.assertEqual(self.rows(
            "select size, operation, source_kind, destination_kind, src_device, dst_device "
            "from memory_copies order by size"), [
                ("100", "write", self.PAGEABLE, self.DEVICE, "", on),
                ("101", "read", self.DEVICE, self.PAGEABLE, on, ""),
                ("102", "write", self.PAGEABLE, self.DEVICE, "", on),
                ("103", "read", self.DEVICE, self.PAGEABLE, on, ""),
                ("104", "read", self.DEVICE, self.PAGEABLE, on, ""),
                ("105", "write", self.PINNED, self.DEVICE, "", on),
                ("106", "read", self.MANAGED, self.PAGEABLE, on, ""),
                ("107", "write", self.PAGEABLE, self.MANAGED, "", on),
                ("108", "copy", self.DEVICE, self.DEVICE, on, on),
                ("109", "write", self.PAGEABLE, self.MANAGED, "", on),
                ("110", "write", self.PAGEABLE, self.DEVICE, "", "HIP device 1"),
                ("1010", "read", self.DEVICE, self.PAGEABLE, on, ""),
                ("10100", "read", self.DEVICE, self.PAGEABLE, on, "")])

    def test_memory(self):
        """What was allocated is what is copied: array, device memory, managed memory, pinned."""
        self.assertEqual(self.once("select count(*) from memory_allocations where type = 'ALLOC'"),
                         ("5",))


class OldDescriptors(Descriptors):
    """Before HIP 6 the types had other numbers."""
    settings = {"FAKE_VERSION": "50700"}


class Fork(Trace):
    scenario = "fork"

    def test_child(self):
        self.assertEqual(self.rows("select name, count(*) from kernels group by pid"),
                         [("scale", "1"), ("scale", "1")])
        self.assertEqual(self.rows("select type, size from memory_allocations order by id"),
                         [("ALLOC", "99"), ("FREE", "99")])


class Tool(unittest.TestCase):
    """A tool that knows no runtime: what it tells of HIP, and of OpenCL where there is one."""

    HIP = {"LD_PRELOAD": os.path.join(LIB, "libkymo.so.1"),
           "ROCPROFILER_REGISTER_FORCE_LOAD": "1"}

    def with_tool(self, source, *program, **settings):
        with kymotest.Folder() as folder:
            tool = os.path.join(folder, "tool.so")
            root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
            run("cc", "-shared", "-fPIC", f"-I{root}/include", os.path.join(root, source), "-o",
                tool, f"-L{LIB}", "-lkymo")
            return run(*program, KYMO_TOOLS=tool, **settings)

    def histogram(self, *program, **settings):
        text = self.with_tool("examples/tools/kernel_histogram.c", *program, **settings)
        counts = {}
        for line in text.splitlines():
            if " ns and more: " in line:
                name = line[:24].strip()
                counts[name] = counts.get(name, 0) + int(line.rsplit(":", 1)[1])
        return counts

    def test_hip(self):
        counts = self.histogram(os.path.join(HERE, "probe_device"), "hip", **self.HIP)
        self.assertEqual(counts, {"scale": 4, "_Z3addPfS_i": 3, "reduce": 3, "(HIP graph)": 1})

    def test_objects(self):
        """Begin and end of streams, programs, kernels; the runtimes."""
        text = self.with_tool("tests/register/tool_objects.c", os.path.join(HERE, "probe_device"),
                              "hip", **self.HIP)
        for line in ("stream 5 4 0", "code_object 0 2 2", "kernel_symbol 3 3 0", "runtime_init 3 "):
            self.assertIn(line, text)

    def test_opencl(self):
        """The same tool, as it is."""
        heat = os.path.join(BUILD, "bin", "heat")
        with kymotest.Folder() as folder:
            trace = os.path.join(folder, "t.kymo")
            done = subprocess.run([KYMO, "run", "-o", trace, heat], env=environment(), timeout=60,
                                  capture_output=True, text=True)
            if not os.path.exists(heat) or done.returncode != 0:
                self.skipTest("no OpenCL program runs here")
            text = run(KYMO, "query", "-f", "csv", trace,
                       "select name, count(*) from kernels group by 1")
        expected = {r[0]: int(r[1]) for r in list(csv.reader(io.StringIO(text)))[1:]}
        self.assertTrue(expected)
        self.assertEqual(self.histogram(heat, OPENCL_LAYERS=os.path.join(LIB, "libkymo.so.1")),
                         expected)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[2:], verbosity=2)
