#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CUDA where a part is recorded alone (--range, --during, -k): test_source.py KYMO WHAT."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import test_cuda  # noqa: E402
from test_cuda import HERE, base, check, must  # noqa: E402


class Test(test_cuda.Test):
    def test_source(self):
        """What is recorded of ranges and kernels alone is what is selected from all. CUPTI tells of it later."""
        counts = ("SELECT name, count(*) FROM regions WHERE category <> 'code_object' GROUP BY 1 UNION SELECT name || ' ran', count(*) "
                  "FROM kernels GROUP BY 1 UNION SELECT operation, count(*) FROM memory_copies GROUP BY 1 ORDER BY 1")
        self.built = self.program()

        def recorded(*options):
            self.scene("steps", options=["--mode", "full", *options])
            check(f"{options}: nothing lost", self.lost_records(), 0)
            return self.rows(counts)

        def selected(*options):
            return [tuple(r.values()) for r in json.loads(must(self.kymo, "query", "-f", "json", *options, whole, counts))]

        recorded()
        whole = self.path("whole.kymo")
        os.rename(self.trace, whole)
        for numbers in ("step", "step#3", "step#3,5-7", "end"):
            wanted = selected("--range", numbers)
            check(f"{numbers}: something", len(wanted) > 6, True)
            check(f"--range {numbers}", recorded("--range", numbers), wanted)
            check(f"--during {numbers}", recorded("--during", numbers), wanted)
        work = dict(selected("-d", "dispatch,copy"))
        check("all kernels", work, {"add(float*, float*, int) ran": 8, "mul(float*, float*, int) ran": 8, "between ran": 8, "node ran": 8,
                                    "write": 18, "fill": 18})
        # What a graph will run is not known when it is launched.
        got = {name: n for name, n in recorded("-k", "mul") if name in work}
        check("-k: a kernel", got, {"mul(float*, float*, int) ran": 8, "node ran": 8})
        # Nor is it among the executions that are counted, though it is afterwards.
        for options in (("-k", "mul#3,5-7"), ("-k", "mul#2-20", "--exclude-kernel", "mul#4"), ("-k", "mul#4-6", "--range", "step#5")):
            wanted = {name: n for name, n in selected("-d", "dispatch", *options) if name in work}
            check(f"{options}: something", len(wanted), 1)
            got = {name: n for name, n in recorded(*options) if name in work and name != "node ran"}
            check(f"{options}: executions", got, wanted)
        got = {name: n for name, n in recorded("--exclude-kernel", "mul|add") if name in work}
        check("--exclude-kernel", got, {k: n for k, n in work.items() if "mul" not in k and "add" not in k})
        got = {name: n for name, n in recorded("-k", "between", "--range", "step") if name in work}
        check("-k in a range", got, {"node ran": 8})
        before = {"add(float*, float*, int) ran": 1, "mul(float*, float*, int) ran": 1, "between ran": 1, "node ran": 1, "write": 2, "fill": 2}
        for device in ("0", "1"):
            got = {name: n for name, n in recorded("--device", device) if name in work}
            # Which device it is CUPTI tells with its first records, in the second step.
            check(f"--device {device}", got, work if device == "0" else before)

    def counted(self):
        return self.rows("SELECT name, region, count(*) FROM kernels GROUP BY 1, 2 ORDER BY 1, 2")

    def said(self, out):
        return [line.split()[-1] for line in out.splitlines() if line.startswith("listened")]

    def test_pauses(self):
        """In pauses nothing is listened to that the recording does not need, and what the program does itself shows."""
        self.built = self.program()
        for option in ("--during", "--range"):
            out = self.scene("pauses", options=[option, "step"])
            check(f"{option}: the driver", self.said(out), ["0", "0"])
            check(f"{option}: kernels", self.counted(), [("inside", "cudaLaunchKernel", 3)])
            out = self.scene("pauses", "direct", options=[option, "step"])
            check(f"{option}: the driver, used", self.said(out), ["1", "1"])
            check(f"{option}: kernels by both", self.counted(), [("inside", "cuLaunchKernel", 1), ("inside", "cudaLaunchKernel", 3)])

    def test_beside(self):
        """Another tool gets all kernels, also those of pauses of the recorder."""
        self.built = self.program()
        tool = self.compile("beside.so", "-std=gnu11", "-shared", "-fPIC", "-I", self.source + "/include",
                            os.path.join(HERE, "beside.c"), self.lib)
        path = self.path("heard")
        for scene, inside in (("pauses", 3), ("late_pause", 1000)):
            for options in ([], ["--during", "step"], ["--range", "step"], ["--during", "step", "--backends", "cuda"]):
                for calls in ({}, {"TOOL_CALLS": "1"}):
                    self.scene(scene, options=options, env={"KYMO_TOOLS": tool, "TOOL_OUT": path, **calls})
                    with open(path, encoding="utf-8") as f:
                        heard = f.read()
                    check(f"{scene} {options} {calls}: the tool's", heard, f"told {2003 if calls else 0} delivered 2003\n")
                    check(f"{scene} {options} {calls}: the recorder's", self.one("SELECT count(*) FROM kernels"),
                          inside if options else 2003)
                    check(f"{scene} {options} {calls}: notes", self.notes("cuda"), {})

    def test_repeats(self):
        """A number of two calls tells neither, though one is in a pause; what may be recorded is not lost."""
        self.built = self.program()
        for option in ("--during", "--range"):
            self.scene("repeats", options=[option, "step"])
            check(f"{option}: kernels", self.counted(), [("first", None, 1), ("fourth", None, 1)])
            check(f"{option}: note", [n.split()[0] for n in self.numbers_shared()], ["2"])

    def test_across(self):
        """A call that began in the range of another thread keeps its work when that ends."""
        self.built = self.program()
        self.scene("across", options=["--during", "step"])
        check("kernels", self.rows("SELECT name, call_id & 0xffffffffff > 0 FROM kernels"), [("across", 1)])

    def test_profiler(self):
        """cudaProfilerStart and Stop, cuProfilerStart and Stop: what is done until a stop is recorded though CUPTI has it still."""
        self.built = self.program()
        everything = {"before": 5, "inside": 3, "nested": 7, "other": 2, "after": 4, "driver": 1, "end": 6}

        def recorded(*names):
            return [(name, everything[name]) for name in sorted(names)]

        # Records that were switched off and on again would be missing of threads that were in a launch.
        for options, names in ((["--start-paused"], ["inside", "driver"]),
                               ([], ["before", "inside", "driver"]),
                               (["--start-paused", "--pauses", "count"], ["inside", "nested", "other", "driver"]),
                               (["--pauses", "count"], list(everything)),
                               (["--pauses", "ignore"], list(everything))):
            out = self.scene("controlled", options=options)
            check(f"{options}: kernels", self.rows("SELECT name, count(*) FROM kernels GROUP BY 1 ORDER BY 1"), recorded(*names))
            check(f"{options}: each with its call", self.one("SELECT count(*) FROM kernels WHERE call_id IS NULL"), 0)
            check(f"{options}: nothing else lost", self.lost_records(), 0)
            check(f"{options}: CUPTI goes on with its records", out.split()[-1], "1")

    def test_dropped(self):
        """What CUPTI dropped is counted though nothing is recorded when it says so."""
        self.built = self.program()
        for option in ("--during", "--range"):
            self.scene("drop", options=[option, "step"])
            check(f"{option}: kernels", self.one("SELECT count(*) FROM kernels"), 10)
            check(f"{option}: lost", self.lost_records(), 123)


if __name__ == "__main__":
    sys.exit(base.main(Test, HERE))
