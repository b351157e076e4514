#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every extension function of OpenCL through the real loader, on a fake for a driver.

test_extensions.py KYMO PROBE DRIVER ARGUMENTS: the program prints the same with and without Kymo, and the trace
has each call once, with its status, its arguments, and what it did besides: memory, waits, copies, kernels.
"""
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
import traced  # noqa: E402

KYMO, PROBE, DRIVER, ARGUMENTS = sys.argv[1:5]
ENVIRONMENT = {"OCL_ICD_VENDORS": DRIVER, "OCL_ICD_FILENAMES": DRIVER}


class Extensions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = kymotest.Folder()
        cls.trace = os.path.join(cls.folder.name, "t.kymo")
        cls.plain = traced.Run([PROBE], env=ENVIRONMENT, timeout=60)
        cls.run_ = traced.record(KYMO, cls.trace, [PROBE], None, ENVIRONMENT)
        cls.said = dict(line.rsplit(" ", 1) for line in cls.plain.out.splitlines())

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def rows(self, sql):
        return [tuple(row.values()) for row in traced.query(KYMO, self.trace, sql)]

    def test_result(self):
        self.assertEqual(self.plain.status, 0, self.plain.err)
        self.assertEqual((self.run_.status, self.run_.out, self.run_.err),
                         (0, self.plain.out, self.plain.err))
        self.assertEqual(self.said["no such function:"], "1")

    def test_calls(self):
        """Each once; the one that was also called through the loader's own function twice."""
        calls = dict(self.rows("select name, count(*) from regions where category = 'opencl' "
                               "group by 1"))
        wanted = [n for n in self.said if n.startswith("cl") and n != "clFinish"]
        self.assertGreater(len(wanted), 100)
        self.assertEqual({n: calls.get(n) for n in wanted},
                         {n: 2 if n == "clEnqueueAcquireGLObjects" else 1 for n in wanted})

    def test_status(self):
        """Errors are those that the program saw."""
        failed = {name for name, in self.rows(
            "select o.name from call c join op o on o.id = c.op where c.status <> o.status_ok")}
        self.assertIn("clEnqueueCommandBufferKHR", failed)
        self.assertIn("clCreateSemaphoreWithPropertiesKHR", failed)
        for name, result in self.said.items():
            if name.endswith("KHR") and not name.startswith(("clCreate", "clRemap", "clSVMAlloc")):
                self.assertEqual(name in failed, result != "0", name)

    def test_arguments(self):
        """Numbers and arrays of them are those that the program gave, each under its name."""
        with open(ARGUMENTS, encoding="utf-8") as f:
            wanted = {name: given for name, given in json.load(f).items() if given}
        self.assertIn("clCommandNDRangeKernelKHR", wanted)
        calls = {}
        for name, text in self.rows("select name, kymo_args(id) from regions where category = 'opencl' order by start"):
            calls.setdefault(name, json.loads(text or "{}"))
        for name, given in wanted.items():
            self.assertEqual({k: calls[name].get(k) for k in given}, {k: str(v) if isinstance(v, list) else v for k, v in given.items()}, name)

    def test_queue(self):
        """It is of the device and the context; that it was given profiling is Kymo's doing, and told with the overhead."""
        self.assertEqual(self.rows("select q.context = c.id, q.agent = a.id, q.flags, q.properties, q.name, q.number "
                                   "from queue q, device_context c, agent a where c.id > 0 and a.id > 0"), [(1, 1, 2, 0, "", 0)])
        done = traced.Run([KYMO, "summary", self.trace], timeout=60)
        self.assertIn("as no program can measure it in itself: what queues take that were given profiling.", done.out)

    def test_device(self):
        """Its address is the one that the driver tells."""
        (told,), = self.rows("select properties from agent where id > 0")
        told = json.loads(told)
        self.assertEqual((told["pci"], told["compute_units"], told["extensions"]),
                         ("fffe:3b:1f.7", 4, "cl_khr_pci_bus_info cl_khr_device_uuid"))

    def test_nothing_untraced(self):
        self.assertEqual(self.rows("select sum(untraced_calls) from process"), [(0,)])

    def test_memory(self):
        rows = self.rows("select region_name from memory_allocations where type = 'ALLOC'")
        made = {n for n, in rows}
        for name in ("clCreateFromGLBuffer", "clCreateFromGLTexture", "clCreateFromGLTexture2D",
                     "clCreateFromGLTexture3D", "clCreateFromGLRenderbuffer",
                     "clCreateFromEGLImageKHR", "clCreateFromVA_APIMediaSurfaceINTEL",
                     "clCreateBufferNV", "clCreateBufferWithPropertiesINTEL", "clImportMemoryARM",
                     "clSVMAllocWithPropertiesKHR", "clSVMAllocARM", "clHostMemAllocINTEL",
                     "clDeviceMemAllocINTEL", "clSharedMemAllocINTEL"):
            self.assertIn(name, made)
        self.assertEqual(len(rows), len(made))

    def test_waits(self):
        rows = self.rows("select name, region_name, count(*) from syncs where name not in "
                         "('queue', 'blocking') group by 1, 2 order by 1, 2")
        kinds = ("EGLObjectsKHR", "ExternalMemObjectsKHR", "GLObjects", "GrallocObjectsIMG",
                 "VA_APIMediaSurfacesINTEL")
        wanted = [("acquire", f"clEnqueueAcquire{k}", 2 if k == "GLObjects" else 1) for k in kinds]
        wanted += [("release", f"clEnqueueRelease{k}", 1) for k in kinds]
        wanted += [("semaphore_signal", "clEnqueueSignalSemaphoresKHR", 1),
                   ("semaphore_wait", "clEnqueueWaitSemaphoresKHR", 1)]
        self.assertEqual(rows, wanted)

    def test_work(self):
        self.assertEqual(self.rows("select region, untimed from kernels order by 1"),
                         [("clEnqueueNDCountKernelINTEL", 0)])
        copies = dict(self.rows("select region_name, operation from memory_copies"))
        self.assertEqual(copies["clEnqueueReadHostPipeINTEL"], "read")
        self.assertEqual(copies["clEnqueueWriteHostPipeINTEL"], "write")

    def test_counted(self):
        """Kernels that follow a wait for semaphores are not counted, and it is told why: those who signal them may come later."""
        trace = os.path.join(self.folder.name, "counted.kymo")
        done = traced.Run([KYMO, "run", "--no-summary", "--counters", "nvcsw:kernel", "-o", trace, "--", PROBE, "launch"], None,
                          dict(ENVIRONMENT, FAKE_PROCESSOR="1"), timeout=60)
        self.assertEqual((done.status, done.out), (0, self.plain.out), done.err)
        counted = traced.query(KYMO, trace, "select distinct kernel_name as k from counters where kind = 'dispatch'")
        self.assertEqual([r["k"] for r in counted], ["before"])
        said = [r["text"] for r in traced.query(KYMO, trace, "select text from note")]
        self.assertTrue(any(t.startswith("2 launches") and "semaphores" in t for t in said), said)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:], verbosity=2)
