#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Level Zero through the real loader, on a scripted driver that writes down what it did.

test_ze.py BUILD [TESTS...]: the folder cmake built in.
"""
import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402

BUILD = os.path.abspath(sys.argv[1])
HERE = os.path.join(BUILD, "tests", "ze")
KYMO = os.path.join(BUILD, "bin", "kymo")
DRIVER = os.path.join(HERE, "libze_scripted_driver.so")
PROBE = os.path.join(HERE, "probe_ze")
TICK = 80  # ns of the scripted timer
MODE_UNTIMED, LOST_UNTIMED = "5", "3"


def environment(**settings):
    env = {k: v for k, v in os.environ.items()
           if not k.startswith(("KYMO_", "ZE_", "ZET_", "ZES_", "LD_PRELOAD"))}
    env.update({"ZE_ENABLE_ALT_DRIVERS": DRIVER, **settings})
    return env


def run(*command, **settings):
    done = subprocess.run(command, env=environment(**settings), capture_output=True, text=True,
                          timeout=60)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done


class Trace(unittest.TestCase):
    scenario, options, settings = None, (), {}

    @classmethod
    def setUpClass(cls):
        if not cls.scenario:
            raise unittest.SkipTest("only a base")
        cls.folder = kymotest.Folder()
        cls.trace = os.path.join(cls.folder.name, "t.kymo")
        log = os.path.join(cls.folder.name, "log")
        cls.plain = run(PROBE, cls.scenario).stdout
        done = run(KYMO, "run", "-o", cls.trace, *cls.options, PROBE, cls.scenario,
                   SCRIPT_LOG=log, **cls.settings)
        cls.result, cls.output = done.stdout, done.stderr
        cls.log = []
        if os.path.exists(log):
            with open(log, encoding="utf-8") as file:
                cls.log = [line.split() for line in file]

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def rows(self, sql):
        text = run(KYMO, "query", "-f", "csv", self.trace, sql).stdout
        return [tuple(r) for r in list(csv.reader(io.StringIO(text)))[1:]]

    def once(self, sql):
        rows = self.rows(sql)
        self.assertEqual(len(rows), 1, sql)
        return rows[0]

    def done(self, kind):
        return [(name, int(start), int(end)) for k, name, start, end in self.log if k == kind]

    def compare_with_log(self, done):
        """Times as the driver has them: lengths exactly, places as far as clocks can tell."""
        rows = [(name, int(start), int(duration)) for name, start, duration in self.rows(
            "select name, start, duration from kernels where untimed = 0 order by start")]
        self.assertEqual([(n, d) for n, _, d in rows], [(n, (e - s) * TICK) for n, s, e in done])
        for row, true in zip(rows, done):
            self.assertLess(abs((row[1] - rows[0][1]) - (true[1] - done[0][1]) * TICK), 5000)


class Result:
    def test_result(self):
        """The program prints the same, traced or not."""
        self.assertEqual(self.result, self.plain)
        self.assertIn("Lost: nothing.", self.output)


class Basic(Result, Trace):
    scenario = "basic"

    def test_kernels(self):
        self.assertEqual(self.rows("select name, count(*), untimed from kernels group by 1, 3 "
                                   "order by 1"),
                         [("add", "4", "0"), ("scale", "3", MODE_UNTIMED)])
        self.assertEqual(self.rows("select distinct name, grid_x, grid_y, workgroup_x from kernels "
                                   "order by 1, 2"),
                         [("add", "192", "2", "64"), ("add", "448", "2", "64"),
                          ("scale", "160", "2", "32")])

    def test_times(self):
        self.compare_with_log([d for d in self.done("k") if d[0] == "add"])

    def test_correlation(self):
        """A list's work is that of the call that had it executed, each time."""
        for view, name in (("kernels", "region"), ("memory_copies", "region_name")):
            rows = self.rows(f"select {name}, count(*), count(distinct call_id) from {view} group by 1")
            number = "7" if view == "kernels" else "6"
            calls = "4" if view == "kernels" else "3"
            self.assertEqual(rows, [("zeCommandQueueExecuteCommandLists", number, calls)])

    def test_copies(self):
        self.assertEqual(self.rows("select operation, size, untimed, source_kind, "
                                   "destination_kind, count(*) from memory_copies group by 1"),
                         [("read", "10", MODE_UNTIMED, "3", "1", "3"),
                          ("write", "1000", "0", "1", "3", "3")])

    def test_memory(self):
        self.assertEqual(self.rows("select type, kind, size, region_name from memory_allocations "
                                   "order by size, type"),
                         [("ALLOC", "2", "512", "zeMemAllocHost"), ("FREE", "2", "512", "zeMemFree"),
                          ("ALLOC", "5", "2048", "zeMemAllocShared"),
                          ("ALLOC", "3", "4096", "zeMemAllocDevice"),
                          ("FREE", "3", "4096", "zeMemFree")])

    def test_waits(self):
        self.assertEqual(self.rows("select name, region_name, count(*) from syncs group by 1, 2 "
                                   "order by 1, 2"),
                         [("barrier", "zeCommandQueueExecuteCommandLists", "3"),
                          ("events", "zeEventHostSynchronize", "1"),
                          ("queue", "zeCommandQueueSynchronize", "2"),
                          ("queue", "zeFenceHostSynchronize", "1")])

    def test_errors_and_builds(self):
        logs = self.rows("select count(*) from blob where data like '%scripted to fail%'")
        self.assertEqual(logs, [("1",)])
        for code in ("ERROR_OUT_OF_DEVICE_MEMORY", "ERROR_MODULE_BUILD_FAILURE",
                     "ERROR_INVALID_NULL_POINTER"):
            self.assertIn(code, self.output)

    def test_arguments(self):
        """Members of what pointers lead to, names of values."""
        shown = run(KYMO, "show", self.trace).stdout
        line = [x for x in shown.splitlines() if "zeKernelCreate" in x and "scale" in x]
        self.assertEqual(len(line), 1)
        self.assertIn("ZE_STRUCTURE_TYPE_KERNEL_DESC", line[0])
        self.assertRegex(shown, r"zeEventPoolCreate.*ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP.*128")
        self.assertRegex(shown, r"zeCommandListAppendLaunchKernel.*groupCountX\W+5\b")

    def test_agents(self):
        self.assertEqual(self.rows("select type, name, vendor, domain from agent"),
                         [("gpu", "Scripted device", "Intel", "level_zero")])


class Full(Basic):
    """In mode full what has no event, or one without timestamps, is timed too."""
    options = ("--mode", "full")

    def test_kernels(self):
        self.assertEqual(self.rows("select name, count(*), untimed from kernels group by 1, 3 "
                                   "order by 1"), [("add", "4", "0"), ("scale", "3", "0")])

    def test_times(self):
        """Also of an event that is signalled again without having been reset."""
        self.assertNotIn("Without device times", self.output)
        self.compare_with_log(self.done("k"))

    def test_copies(self):
        rows = self.rows("select operation, size, untimed, count(*) from memory_copies group by 1")
        self.assertEqual(rows, [("read", "10", "0", "3"), ("write", "1000", "0", "3")])

    def test_forced_is_told(self):
        self.assertIn("mode full: events have kernel timestamps", run(KYMO, "info", self.trace).stdout)


class Immediate(Result, Trace):
    scenario = "immediate"

    def test_each_is_timed(self):
        self.assertEqual(self.rows("select untimed, count(*) from kernels group by 1"),
                         [("0", "101"), (MODE_UNTIMED, "10")])
        self.compare_with_log(self.done("k")[:100] + self.done("k")[110:])
        self.assertEqual(self.once("select count(distinct call_id) from kernels where "
                                   "region = 'zeCommandListAppendLaunchKernel'"), ("111",))


class Quick(Trace):
    """What is done when a program ends by _exit() is collected."""
    scenario = "quick"

    def test_kernels(self):
        self.assertEqual(self.rows("select untimed, count(*) from kernels group by 1"), [("0", "10")])


class FullImmediate(Trace):
    scenario, options = "immediate", ("--mode", "full")

    def test_no_event(self):
        self.assertEqual(self.rows("select untimed, count(*) from kernels group by 1"),
                         [("0", "111")])
        self.compare_with_log(self.done("k"))


class Wrap(Result, Trace):
    """Kernel timestamps pass the end of their 32 bits; the timer's own 36 do not."""
    end = 1 << 32
    scenario, settings = "batch", {"SCRIPT_TIMER": str(end - 250000)}

    def test_times(self):
        self.assertGreater(self.done("k")[-1][2], self.end)
        self.assertLess(self.done("k")[0][1], self.end)
        self.compare_with_log(self.done("k"))

    def test_counts(self):
        self.assertEqual(self.once("select count(*), count(distinct call_id) from kernels"),
                         ("180", "3"))


class WrapBoth(Wrap):
    """Both the timer and the timestamps wrap."""
    end = 1 << 36
    settings = {"SCRIPT_TIMER": str(end - 250000)}


class Overlapping(Result, Trace):
    """Work whose event was used again before it was read has no times, and none are invented."""
    scenario = "overlapping"

    def test_untimed(self):
        self.assertEqual(self.once("select count(*) from kernels"), ("4",))
        timed = self.rows("select duration from kernels where untimed = 0")
        self.assertEqual(set(timed), {(str(50000 * TICK),)})
        self.assertEqual(set(self.rows("select untimed from kernels where untimed <> 0")),
                         {(LOST_UNTIMED,)})


class Stale(Result, Trace):
    scenario = "stale"

    def test_times(self):
        self.assertEqual(len(self.done("k")), 4)
        self.compare_with_log(self.done("k"))


class Tiles(Result, Trace):
    """Tiles are parts of their device: two of one name, each with two."""
    scenario = "tiles"

    def table(self, name, *words):
        out = run(KYMO, "summary", "-f", "json", "--tables", name, *words, self.trace).stdout
        return [t for t in json.loads(out)["tables"] if t["name"] == name][0]["rows"]

    def test_agents(self):
        self.assertEqual(sorted(self.rows("select p.id is not null, count(*) from agent a left join agent p "
                                          "on p.id = a.parent group by a.parent")),
                         [("0", "2"), ("1", "2"), ("1", "2")])

    def test_by(self):
        def kernels(by):
            return {r[by]: (r["calls"], r["time_ns"]) for r in self.table("kernels", "--by", by)}

        name, group = "Scripted device #", 1000 * TICK
        self.assertEqual(kernels("subdevice"), {
            name + "0 part 0": (1, 3 * group), name + "0 part 1": (1, 4 * group),
            name + "1": (1, 5 * group),
            name + "1 part 0": (1, 1 * group), name + "1 part 1": (1, 2 * group)})
        self.assertEqual(kernels("device"), {name + "0": (2, 7 * group), name + "1": (3, 8 * group)})

    def test_digest(self):
        self.assertEqual(len(self.table("devices")), 2)


class Objects(Trace):
    """What the program made of each kind and did not release, by line."""
    scenario = "objects"
    of_each = (("context", "context"), ("queue", "queue"), ("command list", "list"), ("event pool", "pool"),
               ("event", "event"), ("fence", "fence"), ("module", "module"), ("kernel", "kernel"))

    def found(self):
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "probe.c"), encoding="utf-8") as f:
            lines = [re.search(r"/\* line: (\w+)", line) for line in f]
        out = json.loads(run(KYMO, "summary", "-f", "json", "--tables", "objects", self.trace).stdout)
        found = {}
        for r in out["tables"][0]["rows"] if out["tables"] else []:
            line = lines[int(r["site"].rpartition(":")[2]) - 1]
            if line:
                found[r["kind"].replace("Level Zero ", ""), line[1]] = (r["alive"], r["created"], r["released"])
        return found

    def test_objects(self):
        wanted = {pair: (2, 3, 1) for pair in self.of_each}
        wanted["command list", "immediate"] = wanted["event", "event2"] = (1, 1, 0)
        wanted["sampler", "sampler"] = (1, 2, 1)
        self.assertEqual(self.found(), wanted)


class NoObjects(Objects):
    scenario = "no objects"

    def test_objects(self):
        self.assertEqual(self.found(), {})


class Threads(Result, Trace):
    scenario = "threads"

    def test_counts(self):
        self.assertEqual(self.once("select count(*), count(distinct call_id), min(duration), "
                                   "max(duration) from kernels where untimed = 0"),
                         ("1600", "1600", "80000", "80000"))
        self.assertEqual(self.once("select count(distinct tid) from regions where "
                                   "name = 'zeCommandListAppendLaunchKernel'"), ("8",))


class Fork(Result, Trace):
    scenario = "fork"

    def test_each_has_its_own(self):
        self.assertEqual(self.rows("select name, count(*) from kernels where untimed = 0 "
                                   "group by pid, name order by 1"), [("child", "1"), ("parent", "1")])
        self.assertEqual(self.once("select count(distinct pid) from kernels"), ("2",))


class Everything(Result, Trace):
    """All functions that the installed headers know."""
    scenario, options = "all", ("--mode", "full")

    def test_each_once(self):
        called = int(self.plain)
        self.assertGreater(called, 200)
        rows = self.rows("select name, count(*) from regions group by 1")
        own = {"zeInit", "zeDriverGet", "zeDeviceGet", "zeContextCreate", "zeContextDestroy",
               "zeCommandQueueCreate", "zeCommandQueueDestroy", "zeModuleCreate"}
        self.assertEqual({name for name, n in rows if n != "1"}, {"zeInit"} if as_layer() else set())
        self.assertEqual(len({r[0] for r in rows} - own), called)


class Extension(Result, Trace):
    scenario, options = "extension", ("--mode", "full")

    def test_by_name(self):
        self.assertEqual(self.once("select count(*) from regions where "
                                   "name = 'zeDevicePciGetPropertiesExt'"), ("5",))


class Newer(Result, Trace):
    scenario = "newer"

    untimed = MODE_UNTIMED

    def test_kernels(self):
        self.assertEqual(self.rows("select name, grid_x, grid_y, grid_z, workgroup_x, workgroup_y, "
                                   "workgroup_z, untimed from kernels order by call_id, id"),
                         [("newer", "48", "2", "", "16", "1", "", "0"),
                          ("newer", "24", "8", "2", "8", "4", "2", "0"),
                          ("newer", "8", "8", "2", "8", "4", "2", "0"),
                          ("newer", "8", "8", "2", "8", "4", "2", self.untimed)])

    def test_times(self):
        self.compare_with_log(self.done("k")[:3])

    def test_copies(self):
        self.assertEqual(self.rows("select operation, size, untimed from memory_copies order by start"),
                         [("copy", "100", "0"), ("fill", "50", "0")])

    def test_correlation(self):
        name = "zeCommandListImmediateAppendCommandListsWithParameters"
        for column, view, number in (("region", "kernels", "2"), ("region_name", "memory_copies", "2")):
            self.assertEqual(self.once(f"select count(*), count(distinct call_id) from {view} "
                                       f"where {column} = '{name}'"), (number, "1"))

    def test_failed(self):
        self.assertEqual(self.once("select count(*), sum(status <> 0) from regions where "
                                   "name = 'zeCommandListAppendLaunchKernelWithArguments'"),
                         ("2", "1"))


class FullNewer(Newer):
    """Where shims stand between the wrappers and the functions."""

    options = ("--mode", "full")


class NotRecorded(unittest.TestCase):
    """What a mode leaves out is counted: with it and what is recorded there is what mode full records."""

    def rows(self, sql):
        text = run(KYMO, "query", "-f", "csv", self.trace, sql).stdout
        return [tuple(r) for r in list(csv.reader(io.StringIO(text)))[1:]]

    def counts(self, mode, folder, scenario):
        self.trace = os.path.join(folder, mode + ".kymo")
        self.text = run(KYMO, "run", "--mode", mode, "-o", self.trace, PROBE, scenario).stderr
        calls = {name: int(n) for name, n in self.rows("select name, count(*) from regions group by 1")}
        left_out = {name: int(n) for name, n in self.rows("select name, sum(calls) from not_recorded group by 1")}
        return calls, left_out

    def test_modes(self):
        with kymotest.Folder() as folder:
            for scenario, polled in (("stale", 9), ("threads", 0)):
                full, none = self.counts("full", folder, scenario)
                self.assertEqual(none, {})
                for mode in ("default", "minimal"):
                    calls, left_out = self.counts(mode, folder, scenario)
                    self.assertEqual({n: calls.get(n, 0) + left_out.get(n, 0) for n in {*calls, *left_out}}, full)
                    self.assertEqual(set(calls) & set(left_out), set())
                    self.assertEqual(left_out.get("zeEventQueryStatus", 0), polled)
                    self.assertIn("Not recorded in this mode: ", self.text)
                    for name, n in sorted(left_out.items(), key=lambda x: -x[1])[:1]:
                        self.assertIn(f"{name} {n:,} call", self.text)
                    os.rename(self.trace, f"{self.trace}.{scenario}")
                os.rename(os.path.join(folder, "full.kymo"), os.path.join(folder, scenario))


class Hang(unittest.TestCase):
    """Work that never finishes is told, however the program ends: of two lists, by two threads."""
    WANTED = [("copy", "", "3000", "zeCommandQueueExecuteCommandLists"),
              ("kernel", "endless", "0", "zeCommandListAppendLaunchKernel"),
              ("kernel", "queued", "0", "zeCommandQueueExecuteCommandLists")]

    def setUp(self):
        self.folder = kymotest.Folder()
        self.trace = os.path.join(self.folder.name, "t.kymo")

    def tearDown(self):
        self.folder.cleanup()

    def rows(self, sql):
        text = run(KYMO, "query", "-f", "csv", self.trace, sql).stdout
        return [tuple(r) for r in list(csv.reader(io.StringIO(text)))[1:]]

    def unfinished(self, calls=True):
        rows = self.rows("select operation, name, size, region_name, tid, queue_id, agent_id, age > 0 from "
                         "unfinished order by operation, name")
        self.assertEqual([r[:4 if calls else 3] for r in rows], [w[:4 if calls else 3] for w in self.WANTED])
        self.assertEqual(rows[0][4:6], rows[2][4:6], "the copy behind the kernel")
        self.assertNotEqual(rows[1][4], rows[0][4], "threads")
        self.assertNotEqual(rows[1][5], rows[0][5], "lists")
        self.assertEqual({r[6:] for r in rows}, {("1", "1")}, "device, time")
        self.assertEqual(self.rows("select s.text, sum(t.calls) from tally_dispatch t join kernel k on k.id = "
                                   "t.kernel join string s on s.id = k.name where s.text = 'short'"),
                         [("short", "2")])

    def hang(self, how, *options):
        done = subprocess.run([KYMO, "run", "--no-summary", "-f", "-o", self.trace, *options, PROBE, "hang",
                               str(how)], env=environment(), capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout),
                         (-int(how) if isinstance(how, signal.Signals) else 0, "hangs\n"), done.stderr)

    def test_endings(self):
        for how in (signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGTERM, "_exit", "exit"):
            with self.subTest(how=how):
                self.hang(how)
                self.unfinished()
        self.assertIn("never seen to finish", run(KYMO, "summary", self.trace).stdout)

    def test_modes(self):
        for options in (["--mode", "minimal"], ["--mode", "full"]):
            with self.subTest(options=options):
                self.hang(signal.SIGKILL, *options)
                self.unfinished()
        for options in (["--mode", "summary"], ["--exclude", "Execute|Append"]):
            with self.subTest(options=options):
                self.hang(signal.SIGKILL, *options)
                self.unfinished(calls=False)
        self.hang(signal.SIGKILL, "--start-paused")
        self.assertEqual(self.rows("select * from unfinished"), [])

    def test_live(self):
        program = subprocess.Popen([KYMO, "run", "--no-summary", "-o", self.trace, PROBE, "hang", "live"],
                                   env=environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                   text=True)
        self.assertEqual(program.stdout.readline(), "hangs\n")
        for _ in range(2):
            run(KYMO, "ctl", "flush", self.trace)
            self.unfinished()
        os.kill(int(self.rows("select pid from process")[0][0]), signal.SIGKILL)
        program.communicate(timeout=60)
        self.unfinished()


def as_layer():
    """Whether the loader here must be entered as its layer: it calls zeInit itself for a lone driver."""
    return "/kymo/ze/" in run(KYMO, "run", "--dry-run", "-o", "dry.kymo", "/bin/true").stdout


class Doors(unittest.TestCase):
    """Which programs come through."""

    def calls(self, *command, **settings):
        with kymotest.Folder() as folder:
            trace = os.path.join(folder, "t.kymo")
            run(KYMO, "run", "--mode", "full", "-o", trace, *command, **settings)
            text = run(KYMO, "query", "-f", "csv", trace, "select count(*) from regions where "
                       "name like 'ze%'").stdout
        return int(text.split()[-1])

    def test_late(self):
        self.assertEqual(self.calls(os.path.join(HERE, "late_ze"), "libze_loader.so.1", "late"),
                         8 + as_layer())

    def test_two_drivers(self):
        """The loader's own functions stand above both; each call is recorded once."""
        import shutil
        with kymotest.Folder() as folder:
            second = os.path.join(folder, "libsecond.so")
            shutil.copy(DRIVER, second)
            self.assertEqual(self.calls(os.path.join(HERE, "late_ze"), "libze_loader.so.1", "late",
                                        ZE_ENABLE_ALT_DRIVERS=f"{DRIVER},{second}"),
                             8)

    def test_layers(self):
        for layer in ("ZE_ENABLE_VALIDATION_LAYER", "ZE_ENABLE_TRACING_LAYER",
                      "ZE_ENABLE_LOADER_INTERCEPT"):
            # The program's own layer is not put aside.
            wanted = {"ZE_ENABLE_VALIDATION_LAYER": 0, "ZE_ENABLE_TRACING_LAYER": 9}.get(
                layer, 8) if as_layer() else 8
            self.assertEqual(self.calls(os.path.join(HERE, "late_ze"), "libze_loader.so.1", "late",
                                        **{layer: "1"}), wanted, layer)

    def test_not_asked_for(self):
        with kymotest.Folder() as folder:
            trace = os.path.join(folder, "t.kymo")
            run(KYMO, "run", "-b", "opencl", "-o", trace, PROBE, "basic")
            text = run(KYMO, "query", "-f", "csv", trace, "select count(*) from regions").stdout
        self.assertEqual(text.split()[-1], "0")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[2:], verbosity=2)
