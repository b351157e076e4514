#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ROCTx where AMD's libraries are not, and all kinds of annotations at once: test_annotation.py KYMO WHAT."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import base  # noqa: E402
from base import check  # noqa: E402


class Test(base.Test):
    def folder_rocm(self):
        return os.path.join(os.path.dirname(self.lib), "kymo", "rocm")

    def expect(self):
        check("ranges", self.tree(), {"outer": 1, "outer/inner": 1, "across": 1})
        m = self.markers()
        check("marks", (m["here"], "hidden" in m, "seen" in m),
              ([("mark", "roctx", "", None)], False, True))
        check("thread", self.thread_names(), {"roctx main"})

    def test_roctx(self):
        source = os.path.join(HERE, "roctx.c")
        for name in ("libroctx64.so.4", "librocprofiler-sdk-roctx.so.1"):
            library = os.path.join(self.folder_rocm(), name)
            program = self.compile("linked", source, "-Wl,--no-as-needed", library, "-Wl,-rpath," + self.folder_rocm(),
                                   "-ldl")
            check("levels", self.record(program), "levels 0 1 1 0 -1\n")
            self.expect()
            self.record(self.compile("opened", source, "-ldl"), library)
            self.expect()

    def test_together(self):
        """What one interface pauses another resumes; names given to objects of another runtime."""
        library = os.path.join(self.folder_rocm(), "librocprofiler-sdk-roctx.so.1")
        program = self.compile("together", "-I" + os.path.join(self.source, "include"), "-I" + HERE,
                               os.path.join(HERE, "together.c"), "-lOpenCL", "-ldl", "-pthread")
        if base.run(program, library).returncode == base.SKIPPED:
            base.skip("no OpenCL device here")
        self.record(program, library)
        m = self.markers()
        check("marks", sorted(n for n in m if not n.startswith(("across", "hidden 3"))),
              ["fifth", "first", "fourth", "second", "third"])
        check("ranges", self.tree(), {"across": 1, "across/hidden 3": 1})
        check("queues", sorted(r["name"] for r in self.query("SELECT name FROM queue")),
              ["my other queue", "my queue"])
        check("device", [(r["given"], r["label"].endswith(" (my device)"), r["label"].startswith(r["name"]))
                         for r in self.query("SELECT name, given, label FROM agent WHERE domain = 'opencl'")],
              [("my device", True, True)])
        check("context", self.query("SELECT name FROM device_context"), [{"name": "my context"}])

    def test_roctx_versioned(self):
        """A program that was linked with AMD's older library, where that is and where it is gone."""
        source = os.path.join(HERE, "roctx_amd.c")
        library = self.compile("libroctx64.so.4", source, "-shared", "-fPIC",
                               "-Wl,-soname,libroctx64.so.4",
                               "-Wl,--version-script=" + os.path.join(HERE, "roctx_amd.map"))
        program = self.compile("versioned", "-DROCTX_PROGRAM", source, library,
                               "-Wl,-rpath," + self.folder)
        expected = "version 4.%d\nlevels 0 1%s 1 0\n"
        # AMD's library tells the program of its marks; it gives way to Kymo's where the backend is named.
        for options, own in (([], (3, " (told of 7: here)")), (["-b", "roctx"], (1, ""))):
            check("output", self.record(program, plain=not options, options=options), expected % own)
            check("loader", "version information" in self.stderr, False)
        self.expect_ranges()
        os.remove(library)
        env = {"LD_LIBRARY_PATH": self.folder_rocm()}
        check("Kymo's alone", self.record(program, env=env, options=["-b", "roctx"]), expected % (1, ""))
        check("loader", "version information" in self.stderr, False)
        self.expect_ranges()

    def expect_ranges(self):
        check("ranges", self.tree(), {"outer": 1, "outer/inner": 1, "across": 1})

    def test_roctx_preloaded(self):
        """The older library: its place is taken when the backend is named."""
        program = self.compile("plain", os.path.join(HERE, "roctx.c"), "-ldl")
        self.record(program, plain=False, options=["-b", "roctx"])
        self.expect()
        told = base.must(self.kymo, "run", "--dry-run", "--", "true")
        check("not unasked", "libroctx64" in told, False)


if __name__ == "__main__":
    sys.exit(base.main(Test, HERE))
