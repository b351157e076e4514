#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""OCCA's calls, kernels and memory: test_occa.py KYMO FOLDER WHAT

FOLDER has the programs, and in plain/, inlined/, lacks/ and static/ the fakes of libocca that they are run with.

counted   a C++ program of several devices counts what it does, in each mode, and so does the trace and its tables
inlined   the same where the compiler has inlined kernel::run()
c         the C interface: counts, and the lines that call
linked    OpenCL's kernels have OCCA's names, and lie in OCCA's calls
chosen    options by kernel, device, memory, line
left      functions that an exception, longjmp or the end of a thread leaves
lacks     a libocca without some of the functions
absent    a program without OCCA; the backend not wanted
ranks     two ranks
"""
import csv
import json
import os
import shutil
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import run  # noqa: E402

KYMO, PROGRAMS = map(os.path.abspath, sys.argv[1:3])
WHAT = sys.argv[3]
del sys.argv[1:]
PROGRAM = os.path.join(PROGRAMS, "occa_program")
RACE_PROGRAM = os.path.join(PROGRAMS, "occa_race")
LEFT_PROGRAM = os.path.join(PROGRAMS, "occa_left")
C_PROGRAM = os.path.join(PROGRAMS, "occa_c_program")


def only(what):
    return unittest.skipUnless(WHAT == what, "another test")


class Occa(unittest.TestCase):
    def setUp(self):
        scratch = kymotest.Folder()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name
        self.trace = os.path.join(self.folder, "t.kymo")
        self.source = os.path.join(os.path.realpath(self.folder), "kernels.okl")
        with open(self.source, "w", encoding="ascii"):
            pass

    def environment(self, library):
        return kymotest.environment(LD_LIBRARY_PATH=os.path.join(PROGRAMS, library), POCL_DEVICES="pthread pthread")

    def plain(self, *words, library="plain"):
        p = run(*words, cwd=self.folder, env=self.environment(library))
        self.assertEqual(p.returncode, 0, p.stderr)
        return p.stdout

    def record(self, *words, library="plain", options=(), before=()):
        p = run(*before, KYMO, "run", "--no-summary", "-f", "-o", self.trace, *options, "--", *words, cwd=self.folder,
                env=self.environment(library))
        self.assertEqual(p.returncode, 0, p.stderr)
        self.assertNotIn("lost", p.stderr)
        return p

    def query(self, sql):
        p = run(KYMO, "query", "--format", "csv", self.trace, sql)
        self.assertEqual(p.returncode, 0, p.stderr)
        return [tuple(row) for row in csv.reader(p.stdout.splitlines())][1:]

    def table(self, name, *options):
        p = run(KYMO, "summary", "--format", "json", "--tables", name, *options, self.trace)
        self.assertEqual(p.returncode, 0, p.stderr)
        tables = [t for t in json.loads(p.stdout)["tables"] if t["name"] == name]
        return tables[0]["rows"] if tables else []

    # ---- what a program says, against the trace -----------------------------------------------------

    def compare(self, said):
        lines = [line.split() for line in said.splitlines()]
        calls = {w[1]: int(w[2]) for w in lines if w[0] == "call"}
        found = {name: int(n) for name, n in self.query("select name, count(*) from regions where category = 'occa' "
                                                        "group by name")}
        self.assertEqual(found, calls)
        self.compare_kernels([w for w in lines if w[0] == "kernel"], [w for w in lines if w[0] == "device"])
        self.compare_devices([w for w in lines if w[0] == "device"])

    @staticmethod
    def labels(devices):
        """By the program's number: OCCA has none for these, so those of a mode are counted."""
        made, labels = {}, {}
        for _, n, mode, *_ in devices:
            labels[n] = f"OCCA {mode} #{made.get(mode, 0)}"
            made[mode] = made.get(mode, 0) + 1
        return labels

    def compare_kernels(self, kernels, devices):
        labels = self.labels(devices)
        wanted = {(w[2], labels[w[1]]): int(w[3]) for w in kernels}
        rows = self.table("occa_kernels")
        self.assertEqual({(r["kernel"], r["device"]): r["launches"] for r in rows}, wanted)
        self.assertEqual({(r["kernel"], r["device"]): r["dispatches"] for r in rows}, wanted)
        self.assertEqual({r["source"] for r in rows}, {self.source, "/cache/string_source.cpp"})
        for r in rows:
            self.assertGreater(r["device_ns"], 0, r)
            self.assertGreater(r["host_ns"], 0, r)
        dispatched = {name: int(n) for name, n in self.query("select name, count(*) from kernels group by name")}
        launches = {}
        for w in kernels:
            launches[w[2]] = launches.get(w[2], 0) + int(w[3])
        self.assertEqual(dispatched, launches)

    def compare_devices(self, devices):
        labels = self.labels(devices)
        wanted = {labels[n]: (mode, *map(int, rest)) for _, n, mode, *rest in devices}
        self.assertEqual({r["device"]: (r["mode"], r["launches"], r["to_bytes"], r["from_bytes"], r["peak_bytes"],
                                        r["left_bytes"]) for r in self.table("occa_devices")}, wanted)

    def compare_modes(self, library, *modes):
        words = (PROGRAM, self.source, *modes)
        p = self.record(*words, library=library)
        self.assertEqual(p.stdout, self.plain(*words, library=library))
        self.compare(p.stdout)

    @only("counted")
    def test_modes(self):
        for modes in (("Serial",), ("OpenMP", "OpenMP"), ("OpenCL", "Serial"), ("Serial", "OpenCL", "OpenCL")):
            with self.subTest(modes=modes):
                self.compare_modes("plain", *modes)

    @only("counted")
    def test_summary_mode(self):
        """Counted in the program, nothing recorded: the same kernels."""
        p = self.record(PROGRAM, self.source, "Serial", "OpenCL", options=("--mode", "summary"))
        launches = {}
        for w in (line.split() for line in p.stdout.splitlines()):
            if w[0] == "kernel":
                launches[w[2]] = launches.get(w[2], 0) + int(w[3])
        self.assertEqual({r["op"]: r["calls"] for r in self.table("kernels")}, launches)

    @only("counted")
    def test_host_work(self):
        """Copies and memory of the host's modes, by device; streams."""
        self.record(PROGRAM, self.source, "Serial", "OpenMP")
        self.assertEqual(self.query("select name, count(*), sum(size) from memory_copies group by name"),
                         [("MEMORY_COPY_DEVICE_TO_HOST", "4", "1024"), ("MEMORY_COPY_HOST_TO_DEVICE", "8", "1536")])
        self.assertEqual(self.query("select agent_name, type, count(*), sum(size) from memory_allocations group by 1, 2"),
                         [("OCCA OpenMP #0", "ALLOC", "4", "1280"), ("OCCA OpenMP #0", "FREE", "3", "1024"),
                          ("OCCA Serial #0", "ALLOC", "4", "1280"), ("OCCA Serial #0", "FREE", "4", "1280"),
                          ("OCCA Serial #1", "ALLOC", "1", "16"), ("OCCA Serial #1", "FREE", "1", "16")])
        self.assertEqual(self.query("select agent_name, stream, count(*) from kernels group by 1, 2"),
                         [("OCCA OpenMP #0", "stream 1", "20"), ("OCCA OpenMP #0", "stream 2", "1"),
                          ("OCCA Serial #0", "stream 1", "10"), ("OCCA Serial #0", "stream 2", "1")])
        self.assertEqual(self.query("select kymo_arg(id, 'stream'), count(*) from regions where name = 'kernel::run' group by 1"),
                         [("stream 1", "30"), ("stream 2", "2")])

    @only("counted")
    def test_timeline(self):
        """As CSV."""
        self.record(PROGRAM, self.source, "Serial", "OpenCL")
        out = os.path.join(self.folder, "csv")
        p = run(KYMO, "export", "--to", "csv", "-o", out, self.trace)
        self.assertEqual(p.returncode, 0, p.stderr)
        with open(os.path.join(out, "dispatches.csv"), encoding="utf-8") as f:
            rows = list(csv.DictReader(f))
        found = {}
        for r in rows:
            found[r["kernel"]] = found.get(r["kernel"], 0) + 1
            self.assertEqual(int(r["end"]) - int(r["start"]), int(r["duration"]))
        self.assertEqual(found, {"fill": 30, "add": 2})

    @only("inlined")
    def test_inlined(self):
        for modes in (("Serial",), ("OpenMP", "OpenCL")):
            with self.subTest(modes=modes):
                self.compare_modes("inlined", *modes)

    @only("c")
    def test_c(self):
        for library in ("plain", "inlined"):
            for mode in ("Serial", "OpenCL"):
                with self.subTest(library=library, mode=mode):
                    p = self.record(C_PROGRAM, mode, 7, library=library)
                    self.assertEqual(p.stdout, "result 6\n")
                    self.assertEqual(dict(self.query("select name, count(*) from regions where category = 'occa' group by 1")),
                                     {"device::setup": "1", "device::buildKernel": "1", "device::malloc": "1",
                                      "memory::copyFrom": "1", "memory::copyTo": "1", "kernel::run": "7",
                                      "device::finish": "1", "buffer::allocate": "1", "buffer::free": "1",
                                      "memory::free": "1", "kernel::free": "1", "device::free": "1"})
                    self.assertEqual(self.query("select name, count(*), function from regions where category = 'occa' and "
                                                "name in ('kernel::run', 'device::malloc', 'buffer::free', 'device::setup') "
                                                "group by 1, 3"),
                                     [("buffer::free", "1", "main"), ("device::malloc", "1", "main"),
                                      ("device::setup", "1", "main"), ("kernel::run", "7", "launch")])

    # ---- names, and what lies below -----------------------------------------------------------------

    @only("linked")
    def test_linked(self):
        self.record(PROGRAM, self.source, "OpenCL")
        self.assertEqual(self.query("select k.name, c.name, p.name, kymo_arg(p.id, 'kernel'), count(*) from kernels k "
                                    "join regions c on c.id = k.call_id join regions p on p.id = "
                                    "(c.id & ~0xffffffffff | c.parent_stack_id) group by 1, 2, 3, 4"),
                         [("add", "clEnqueueNDRangeKernel", "kernel::run", "add", "1"),
                          ("fill", "clEnqueueNDRangeKernel", "kernel::run", "fill", "10")])
        self.assertEqual(self.query("select kernel_name, display_name, framework, source_file, framework_device "
                                    "from kernel_symbols order by 2"),
                         [("_occa_add_0", "add", "occa", "/cache/string_source.cpp", "OCCA OpenCL #0"),
                          ("_occa_fill_0", "fill", "occa", self.source, "OCCA OpenCL #0")])

    @only("linked")
    def test_race(self):
        """Threads that build kernels of one name at once: each is told with the device and the file that it was built for."""
        for mode in ("OpenCL", "Serial"):
            with self.subTest(mode=mode):
                self.record(RACE_PROGRAM, 4, mode)
                rows = self.table("occa_kernels")
                self.assertEqual({(r["source"], r["launches"], r["dispatches"]) for r in rows},
                                 {(f"/file_{n}.okl", 10 * n, 10 * n) for n in (1, 2, 3, 4)})
                self.assertEqual(len({r["device"] for r in rows}), 4)

    @only("linked")
    def test_lines(self):
        """Who calls: the program's functions, not libocca's, also of kernels."""
        self.record(PROGRAM, self.source, "OpenCL", "Serial")
        sites = {r["site"].split()[0]: r["calls"] for r in self.table("kernels", "--by", "site")}
        self.assertEqual(sites, {"launch": 30, "use": 2})
        memory = self.table("occa_memory")
        self.assertEqual({(r["site"].split()[0], r["what"], r["device"], r["bytes"], r["buffers"], r["freed"]) for r in memory},
                         {("allocate", "memory", "OCCA OpenCL #0", 256, 2, 2),
                          ("use_pool", "pool", "OCCA OpenCL #0", 512, 1, 1),
                          ("use_pool", "pool", "OCCA OpenCL #0", 256, 1, 1),
                          ("allocate", "memory", "OCCA Serial #0", 256, 2, 1),
                          ("use_pool", "pool", "OCCA Serial #0", 512, 1, 1),
                          ("use_pool", "pool", "OCCA Serial #0", 256, 1, 1),
                          ("use_host_memory", "wrapped", "OCCA Serial #0", 256, 1, 1),
                          ("use_default", "memory", "OCCA Serial #1", 16, 1, 1)})
        other = self.trace + ".copy"
        shutil.copytree(self.trace, other)
        self.assertEqual([r["bytes"] for r in self.table("occa_memory", other)], [r["bytes"] for r in memory] * 2)
        for traces, columns in ([self.trace], ["what", "on"]), ([self.trace, other], ["trace", "what", "on"]):
            said = run(KYMO, "summary", "--tables", "occa_memory", *traces).stdout.splitlines()
            self.assertEqual(said[said.index("OCCA memory") + 1].split()[:len(columns)], columns)

    @only("linked")
    def test_headers(self):
        """The program's lines, not those of OCCA's headers or of libocca that was opened."""
        for program in ("occa_sites_0", "occa_sites_2", "occa_opened"):
            with self.subTest(program=program):
                p = self.record(os.path.join(PROGRAMS, program))
                memory = [f"{r['site']} {r['bytes']}" for r in self.table("occa_memory")]
                self.assertEqual(sorted(memory), sorted(p.stdout.splitlines()))
        self.assertEqual([r["site"].split()[0] for r in self.table("kernels", "--by", "site")], ["launch"])

    # ---- choosing -----------------------------------------------------------------------------------

    @only("chosen")
    def test_kernel(self):
        for mode in ("Serial", "OpenCL"):
            self.record(PROGRAM, self.source, mode, options=("--kernel", "^fill$"))
            self.assertEqual(self.query("select name, count(*) from kernels group by 1"), [("fill", "10")])

    @only("chosen")
    def test_device(self):
        self.record(PROGRAM, self.source, "Serial", "OpenMP", "OpenCL", options=("--device", "OCCA OpenMP #0"))
        self.assertEqual(self.query("select agent_name, count(*) from kernels group by 1"), [("OCCA OpenMP #0", "21")])

    def chosen(self, *options):
        """Kernels by the device that they were built for, and how many copies there are."""
        p = run(KYMO, "query", "--format", "csv", *options, self.trace, "select s.device, count(*) from dispatch d join kernel s on s.id = d.kernel group by 1 order by 1")
        self.assertEqual(p.returncode, 0, p.stderr)
        copies = run(KYMO, "query", "--format", "csv", *options, self.trace, "select count(*) from memory_copies")
        return dict((d, int(n)) for d, n in list(csv.reader(p.stdout.splitlines()))[1:]), int(copies.stdout.split()[-1])

    @only("devices")
    def test_devices(self):
        """OCCA's own numbers; two devices of one mode and one device made twice are told apart; --device has them here and afterwards."""
        words = (PROGRAM, self.source, "OpenCL:1", "OpenCL:0", "Serial", "Serial", "OpenCL:1")
        labels = {"OCCA OpenCL #1": 11, "OCCA OpenCL #0": 21, "OCCA Serial #0": 31, "OCCA Serial #1": 41, "OCCA OpenCL #1 (2)": 51}
        copies = {label: 6 for label in labels}
        self.record(*words)
        self.assertEqual(self.chosen(), (labels, sum(copies.values())))
        self.assertEqual({r["device"] for r in self.table("occa_devices")}, {*labels, "OCCA Serial #2"})
        hardware = [r[0] for r in self.query("select distinct a.label from kernels k join agent a on a.label = k.agent_name order by 1")]
        self.assertEqual([h[-3:] for h in hardware], [" #0", " #1"] * 2, hardware)
        wanted = (("OCCA OpenCL #0", ["OCCA OpenCL #0"]), ("OCCA OpenCL #1", ["OCCA OpenCL #1", "OCCA OpenCL #1 (2)"]),
                  ("OCCA OpenCL #1$", ["OCCA OpenCL #1"]), ("OCCA Serial #1", ["OCCA Serial #1"]), ("OCCA OpenCL", [k for k in labels if "CL" in k]),
                  ("1", ["OCCA OpenCL #1", "OCCA OpenCL #1 (2)", "OCCA Serial #1"]), ("0", ["OCCA OpenCL #0", "OCCA Serial #0"]))
        for device, names in wanted:
            self.assertEqual(self.chosen("--device", device)[0], {n: labels[n] for n in names}, device)
        for device, names in wanted:
            self.record(*words, options=("--device", device))
            self.assertEqual(self.chosen(), ({n: labels[n] for n in names}, sum(copies[n] for n in names)), device)

    @only("chosen")
    def test_ops(self):
        self.record(PROGRAM, self.source, "Serial", options=("--include", "memory::copy"))
        self.assertEqual(self.query("select name, count(*) from regions where category = 'occa' group by 1"),
                         [("memory::copyFrom", "4"), ("memory::copyTo", "2")])

    @only("chosen")
    def test_afterwards(self):
        self.record(PROGRAM, self.source, "Serial", "OpenCL")
        p = run(KYMO, "show", "--site", "launch", "--domain", "occa", self.trace)
        self.assertEqual(len(p.stdout.splitlines()), 30, p.stderr)
        handle = self.query("select kymo_arg(id, 'buffer') from regions where name = 'buffer::allocate' limit 1")[0][0]
        p = run(KYMO, "show", "--memory", handle, self.trace)
        self.assertEqual(p.returncode, 0, p.stderr)
        self.assertIn("allocation", p.stdout)

    @only("objects")
    def test_memory(self):
        """An occa::memory is found in all modes: what makes it, copies, kernels that it is an argument of, and their work."""
        for mode in ("Serial", "OpenCL"):
            self.record(PROGRAM, self.source, mode)
            a, b = (r[0] for r in self.query("select kymo_arg(id, 'memory') from regions where name = 'device::malloc' order by start limit 2"))
            # fill(a), 10 times, add(a, b); a is read twice, b is written four times.
            for handle, calls, kernels, copies in (
                    (a, {"device::malloc": 1, "kernel::run": 11, "memory::copyTo": 2}, {"fill": 10, "add": 1}, 2),
                    (b, {"device::malloc": 1, "kernel::run": 1, "memory::copyFrom": 4, "memory::free": 1}, {"add": 1}, 4)):
                # The address is used again for others once it is gone.
                end = self.query("select min(start) from regions where name in ('device::wrapMemory', 'device::free')")[0][0]
                got, *work = self.selected("--memory", handle, "--before", end + "ns")
                for reused in ("buffer::allocate", "buffer::free", "memoryPool::reserve"):
                    got.pop(reused, None)
                self.assertEqual((got, *work), (calls, kernels, copies), (mode, handle))
            p = run(KYMO, "show", "--memory", "0x1", self.trace)
            self.assertEqual((p.returncode, "no allocation has that number" in p.stderr), (2, True))

    @only("objects")
    def test_sites(self):
        """What a function calls of OCCA, and what devices do for that, whoever lies between."""
        for mode in ("Serial", "OpenCL"):
            self.record(PROGRAM, self.source, mode)
            self.assertEqual(self.selected("--site", "launch"), ({"kernel::run": 10}, {"fill": 10}, 0), mode)
            self.assertEqual(self.selected("--site", "copy_both_ways"), ({"memory::copyFrom": 4, "memory::copyTo": 2}, {}, 6), mode)

    def selected(self, *options):
        def rows(sql):
            p = run(KYMO, "query", "--format", "csv", *options, self.trace, sql)
            self.assertEqual(p.returncode, 0, p.stderr)
            return {name: int(n) for name, n in list(csv.reader(p.stdout.splitlines()))[1:]}

        return (rows("select name, count(*) from regions where category = 'occa' group by 1"), rows("select name, count(*) from kernels group by 1"),
                sum(rows("select operation, count(*) from memory_copies group by 1").values()))

    # ---- left in other ways than by returning --------------------------------------------------------

    def left(self, how, library="plain"):
        """What follows is recorded; the call that was left: its name, kernel, bytes, whether it is told that it was left."""
        p = self.record(LEFT_PROGRAM, how, library=library)
        self.assertEqual(p.stdout, "done\n")
        counts = {name: int(n) for name, n in self.query("select name, count(*) from regions where category = 'occa' group by 1")}
        left = "memory::copyFrom" if how in ("frames", "stacks") else "kernel::run"
        wanted = {"device::setup": 1, "device::malloc": 1, "buffer::allocate": 1, "device::buildKernel": 2, "device::finish": 1,
                  "kernel::run": 20 + (how in ("kernel", "thread", "jump")), "buffer::free": 1}
        if left == "memory::copyFrom":
            wanted[left] = 1
        self.assertEqual(counts, wanted)
        self.assertEqual(self.query("select count(*) from kernels where name = 'fill'"), [("20",)])
        found = self.query("select r.name, kymo_arg(r.id, 'kernel'), kymo_arg(r.id, 'bytes') from regions r join call_extra x on x.id = r.id "
                           "where x.unwound")
        return found

    @only("left")
    def test_exceptions(self):
        """The call ends where it is left, with what is known of it; nothing that follows lies in it or is lost."""
        for how in ("frames", "stacks", "kernel"):
            for library in ("plain", "inlined"):
                with self.subTest(how=how, library=library):
                    found = self.left(how, library)
                    self.assertEqual(found, [("kernel::run", "hook", "")] if how == "kernel" else [("memory::copyFrom", "", "512")])
                    self.assertEqual(self.query("select m.parent_stack_id, m.start >= x.\"end\" from regions m, regions x join call_extra e "
                                                "on e.id = x.id and e.unwound where m.name = 'clUnloadPlatformCompiler'"), [("0", "1")])

    @only("left")
    def test_thread_ends(self):
        """A thread that ends inside of a kernel."""
        self.assertEqual(self.left("thread"), [("kernel::run", "hook", "")])

    @only("left")
    def test_longjmp(self):
        """Nobody is told of it: the next call ends it, on another stack nothing does. What follows is recorded all the same."""
        self.assertEqual(self.left("jump"), [("kernel::run", "", "")])
        self.assertEqual(self.left("jump-stacks"), [])

    # ---- what is not there --------------------------------------------------------------------------

    @only("lacks")
    def test_lacks(self):
        p = self.record(PROGRAM, self.source, "Serial", library="lacks")
        calls = {w[1]: w[2] for w in map(str.split, p.stdout.splitlines()) if w[0] == "call"}
        self.assertEqual(dict(self.query("select name, count(*) from regions where category = 'occa' group by 1")), calls)
        notes = " ".join(row[0] for row in self.query("select text from note where part = 'occa'"))
        self.assertIn("_ZN4occa6device10wrapStreamEPvRKNS_4jsonE", notes)
        self.assertIn("occaMalloc", notes)
        self.assertNotIn("_ZNK4occa6kernel3runEv", notes)

    @only("lacks")
    def test_nothing_lacks(self):
        self.record(PROGRAM, self.source, "Serial")
        self.assertEqual(self.query("select text from note where part = 'occa'"), [])

    @only("absent")
    def test_unwanted(self):
        p = self.record(PROGRAM, self.source, "OpenCL", options=("--backends", "opencl"))
        self.assertEqual(p.stdout, self.plain(PROGRAM, self.source, "OpenCL"))
        self.assertEqual(self.query("select name, count(*) from kernels group by 1"), [("_occa_add_0", "1"), ("_occa_fill_0", "10")])
        self.assertEqual(self.query("select count(*) from regions where category = 'occa'"), [("0",)])

    @only("absent")
    def test_without(self):
        p = run(KYMO, "run", "-o", self.trace, "true", cwd=self.folder, env=kymotest.environment())
        self.assertEqual(p.returncode, 0, p.stderr)
        self.assertNotIn("OCCA", p.stdout + p.stderr)

    @only("absent")
    def test_doctor(self):
        p = run(KYMO, "doctor")
        self.assertRegex(p.stdout, "OCCA .*libocca.so")

    @only("ranks")
    def test_ranks(self):
        mpirun = next((m for m in ("mpirun.openmpi", "mpirun.mpich") if shutil.which(m)), None)
        if not mpirun:
            kymotest.skip("no mpirun is here")
        root = ("--allow-run-as-root", "--oversubscribe") if mpirun.endswith("openmpi") else ()
        self.record(PROGRAM, self.source, "Serial", "OpenCL", before=(mpirun, *root, "-n", "2"))
        self.assertEqual(self.query("select rank, count(*) from kernels k join processes p on p.pid = k.pid group by 1"),
                         [("0", "32"), ("1", "32")])
        self.assertEqual({(r["kernel"], r["device"]): r["launches"] for r in self.table("occa_kernels")},
                         {("fill", "OCCA Serial #0"): 20, ("add", "OCCA Serial #0"): 2,
                          ("fill", "OCCA OpenCL #0"): 40, ("add", "OCCA OpenCL #0"): 2})


if __name__ == "__main__":
    unittest.main()
