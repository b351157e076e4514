#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Twins of CUDA kernels, on stand-ins for CUPTI and the driver: test_twins.py KYMO WHAT."""
import json
import os
import shutil
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "annotation"))
import base  # noqa: E402
import kymotest  # noqa: E402
from base import check  # noqa: E402

PTX = os.path.join(HERE, "scale.ptx")
GROUPS, ITEMS = 8, 64
THREADS = GROUPS * ITEMS


class Test(base.Test):
    def build(self):
        flags = ["-std=gnu11", "-Wall", "-Wextra", "-Wno-unused-parameter", "-pthread"]
        self.library = self.compile("libcupti-fake.so", *flags, "-shared", "-fPIC", os.path.join(HERE, "fake.c"),
                                    os.path.join(HERE, "fake_driver.c"))
        self.built = self.compile("program", *flags, os.path.join(HERE, "twins.c"), self.library)

    def scene(self, *words, options=("--instrument-kernels",), env=None):
        more = {"KYMO_CUPTI": self.library, "FAKE_VERSION": "130001", **(env or {})}
        return self.record(self.built, *words, env=more, options=options, plain=False)

    def rows(self, sql):
        return [tuple(r.values()) for r in self.query(sql)]

    def noted(self, words):
        notes = [r[0] for r in self.rows("SELECT text FROM note WHERE part = 'instrument'")]
        check(f"note {words}", [n for n in notes if words in n] != [], True)

    def parts(self):
        return self.rows("SELECT file, line, what, kind, sum(executed), sum(bytes) FROM kernel_parts WHERE what <> 'block' "
                         "GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3")

    def nothing(self, why, launches=3):
        check("no lines", self.parts(), [])
        self.noted(f"launches of _Z5scalePji were not instrumented: {why}")
        check("kernels", self.rows("SELECT count(*) FROM regions WHERE name LIKE 'cuLaunchKernel%'")[0][0] >= 0, True)

    def test_counts(self):
        """Three launches, each with its twin: lines of both files. The program's memory is as without, and its modules are its own."""
        self.build()
        check("memory", self.scene(PTX), "3 117901063, twins 3\n")
        n, source, header = 3 * THREADS, "/src/scale.cu", "/src/more of it.h"
        check("parts", self.parts(), [
            (header, 7, "flop_single", None, 2 * n, 0), (header, 7, "store", "local", n, 4 * n),
            (source, 11, "branch", None, n, 0), (source, 11, "compare", None, n, 0),
            (source, 12, "int32", None, 2 * n, 0), (source, 12, "int64", None, n, 0), (source, 12, "load", "global", n, 8 * n),
            (source, 14, "atomic", "global", n, 8 * n), (source, 14, "compare", None, n, 0),
            (source, 14, "store", "global", n, 4 * n), (source, 16, "barrier", None, n, 0)])
        check("blocks", self.rows("SELECT DISTINCT kind, line FROM kernel_parts WHERE what = 'block' ORDER BY line"),
              [("function", 10), ("rest", 12), ("predicated", 14), ("label", 16)])
        check("of calls", self.rows("SELECT DISTINCT r.name FROM kernel_parts k JOIN regions r ON r.event_id = k.call_id"),
              [("cudaLaunchKernel",)])
        self.noted("launches of kernels ran once more, instrumented; what that had written was put back")

    def test_chosen(self):
        """Only the second launch, which has twice as many threads in all counts as nobody's else."""
        self.build()
        check("memory", self.scene(PTX, options=("--instrument-kernels=scale#2",)), "3 117901063, twins 1\n")
        check("one", self.rows("SELECT count(DISTINCT call_id), max(executed) FROM kernel_parts WHERE what = 'load'"), [(1, THREADS)])

    def test_libraries(self):
        """A kernel of a library is launched by its handle; memory that was allocated unseen is found by the parameters; code that is unloaded is gone."""
        self.build()
        check("library", self.scene(PTX, "library"), "3 117901063, twins 3\n")
        check("lines", {r[1] for r in self.parts()}, {7, 11, 12, 14, 16})
        check("unseen", self.scene(PTX, "unseen"), "3 117901063, twins 3\n")
        check("unload", self.scene(PTX, "unload"), "3 117901063, twins 2\n")
        self.noted("were not instrumented: its module was loaded before its lines were wanted")

    def test_accesses(self):
        """Four words apart: the lines that warps use and those that they need; a launch whose records do not fit runs for some groups at a time."""
        self.build()
        options = ("--instrument-kernels=scale#1", "--lanes", "32")
        check("memory", self.scene(PTX, options=options, env={"FAKE_STRIDE": "4"}), "3 117901063, twins 2\n")
        warps = THREADS // 32
        rows = [(12, "load", "global", THREADS, warps, 2 * warps, 4 * warps),
                (7, "store", "local", THREADS, warps, warps, 4 * warps),
                (14, "store", "global", THREADS, warps, warps, 4 * warps),
                (14, "atomic", "global", THREADS, warps, warps, 4 * warps)]
        found = self.rows("SELECT line, what, kind, accesses, warps, needed, used FROM kernel_accesses")
        check("accesses", sorted(found), sorted(rows))

    def test_blocks(self):
        """
        Blocks, a region and the end of the kernel, by their times: on the fake driver all items of a group are at one mark after the other, and
        each record takes a tick.
        """
        self.build()
        ptx = os.path.join(self.folder, "marked.ptx")
        with open(PTX, encoding="utf-8") as f, open(ptx, "w", encoding="utf-8") as out:
            out.write(f.read().replace("\tcvta.to", "\t// begin inline asm\n\t{.reg .pred kymo_begin_load;}\n\t// end inline asm\n\tcvta.to")
                      .replace("\tadd.s32 \t%r5", "\t{.reg .pred kymo_end_load;}\n\tadd.s32 \t%r5"))
        check("memory", self.scene(ptx, options=("--instrument-kernels=scale#1", "--handlers", "blocks,heatmap")), "3 117901063, twins 2\n")
        def reported(handler):
            tables = json.loads(kymotest.must(self.kymo, "kernels", "-f", "json", "--handler", handler, self.trace))["tables"]
            return {t["name"]: t["rows"] for t in tables}

        tables = reported("blocks")
        columns = ("name", "line", "count", "items", "unfinished", "min_ticks", "p50_ticks", "max_ticks", "mean_ns")
        check("blocks", [tuple(r[c] for c in columns) for r in tables["blocks.blocks"]], [
            (name, line, THREADS, THREADS, 0, *3 * (marks * ITEMS,), None) for name, line, marks in
            (("function", 10, 1), ("rest", 12, 7), ("label", 16, 1))])  # between: 2 marks, 4 accesses, and itself
        check("regions", [tuple(r[c] for c in columns) for r in tables["blocks.regions"]],
              [("load", 12, THREADS, THREADS, 0, *3 * (2 * ITEMS,), None)])
        check("groups", len(tables["blocks.groups"]), 4 * GROUPS)
        heat = reported("heatmap")
        check("pages", [(r["accesses"], r["bytes"]) for r in heat["heatmap.pages"]], [(3 * THREADS, 16 * THREADS)])
        check("what the context has", [r["buffer_bytes"] for r in heat["heatmap.buffers"]], [64, 64, None])
        check("marks are parts", self.rows("SELECT what, kind, sum(executed) FROM kernel_parts WHERE what IN ('begin', 'end') GROUP BY 1"),
              [("begin", "load", THREADS), ("end", "load", THREADS)])

    def test_groups(self):
        """More accesses than there is room for: run by run of some groups, each counted once."""
        self.build()
        out = self.scene(PTX, "large", options=("--instrument-kernels=scale#1", "--lanes", "32"))
        threads = 16384 * ITEMS
        check("accesses", self.rows("SELECT line, accesses, warps, lanes FROM kernel_accesses WHERE what = 'load'"),
              [(12, threads, threads // 32, threads)])
        check("counted once", self.rows("SELECT DISTINCT executed FROM kernel_parts WHERE what = 'load'"), [(threads,)])
        check("runs", (out.split(",")[0], int(out.split()[-1]) > 3), ("3 117901063", True))

    def test_untouched(self):
        """What is no plain launch of a kernel with PTX runs as ever, with the reason."""
        self.build()
        for how, why in (("cooperative", "all of its groups run at once"), ("capture", "they were captured into a graph")):
            check(how, self.scene(PTX, how), "3 117901063, twins 0\n")
            self.nothing(why)
        check("graph", self.scene(PTX, "graph"), "3 117901063, twins 3\n")
        self.noted("graphs were launched, whose kernels are not instrumented")
        check("refused by the driver", self.scene(PTX, env={"FAKE_REFUSE": "load"}), "3 117901063, twins 0\n")
        self.nothing("its rewritten PTX was not loaded: error   : as it was told")
        check("no room", self.scene(PTX, env={"FAKE_MEMORY": "64"}), "3 117901063, twins 0\n")
        self.nothing("the device has no room to put aside what it may write")

    def test_prints(self):
        """A kernel that calls what cannot be done twice; a variable that cannot be got at."""
        self.build()
        with open(PTX, encoding="utf-8") as f:
            text = f.read()
        for name, old, new, why in (
                ("print.ptx", ".visible .global", ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n.visible .global",
                 "it prints"),
                ("hidden.ptx", "level", "another", "its module has a variable that cannot be got at from outside"),
                ("surface.ptx", "bar.sync \t0;", "sust.b.1d.b32.trap [%rd1, {%r1}], {%r2};", "it writes to surfaces"),
                ("cut.ptx", "bar.sync \t0;", "bar.sync (", "its PTX cannot be read")):
            path = self.path(name)
            with open(path, "w", encoding="utf-8") as f:
                f.write(text.replace(old, new).replace("bar.sync \t0;", "call.uni vprintf;" if name == "print.ptx" else "bar.sync \t0;"))
            check(name, self.scene(path), "3 117901063, twins 0\n")
            self.nothing(why)

    def test_triton(self):
        """Machine code: its PTX is that beside the same machine code in Triton's cache; another's is not taken."""
        self.build()
        cache = self.path("cache")
        code = b"\177ELF\2" + bytes(35) + struct.pack("<Q", 81) + bytes(16) + b"some machine code"
        for folder, content in (("a", code[:-1] + b"!"), ("b", code)):
            os.makedirs(os.path.join(cache, folder))
            with open(os.path.join(cache, folder, "_Z5scalePji.cubin"), "wb") as f:
                f.write(content)
        shutil.copy(PTX, os.path.join(cache, "b", "_Z5scalePji.ptx"))
        cubin = os.path.join(cache, "b", "_Z5scalePji.cubin")
        check("found", self.scene(cubin, env={"TRITON_CACHE_DIR": cache}), "3 117901063, twins 3\n")
        check("lines", {r[1] for r in self.parts()}, {7, 11, 12, 14, 16})
        os.rename(os.path.join(cache, "b"), os.path.join(cache, ".b"))
        check("gone", self.scene(os.path.join(cache, ".b", "_Z5scalePji.cubin"), env={"TRITON_CACHE_DIR": cache}),
              "3 117901063, twins 0\n")
        self.nothing("its module is machine code without PTX, and none lies beside it in a cache of Triton's")


if __name__ == "__main__":
    sys.exit(base.main(Test, HERE))
