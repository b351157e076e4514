# SPDX-License-Identifier: Apache-2.0
"""What run_all.py checks of kernels by line: numbers that follow from how kernels are launched, of PTX in programs, NVRTC's and Triton's."""
import json
import pathlib
import sys

GPU = pathlib.Path(__file__).resolve().parent.parent.parent / "tests" / "cuda" / "gpu"
THREADS, SIDE, TURNS = 1 << 16, 1024, 37
REGION_THREADS = 1 << 14
WARPS, ELEMENTS = THREADS // 32, SIDE * SIDE
ROWS = ELEMENTS // 32  # warps of a transpose
PARTS = ("SELECT sum(executed) FROM kernel_parts WHERE what = '{what}' AND kernel_name LIKE '{kernel}%'")
ACCESSES = ("SELECT what, kind, accesses, needed, used FROM kernel_accesses WHERE kernel_name LIKE '{kernel}%' AND line = {line}")


def line_of(file, mark):
    with open(GPU / file, encoding="utf-8") as f:
        return next(i for i, line in enumerate(f, 1) if mark in line)


class Lines:
    """Needs run_all.Bench: say(), check(), trace(), sql(), one(), run(), programs."""

    def lines(self):
        plain = self.run([self.programs / "lines"]).stdout
        path, done = self.trace("lines", [self.programs / "lines"], "--instrument-kernels", "--lanes", "32")
        self.check("lines: results with and without", plain and done.stdout == plain, f"{len(plain.splitlines())} sums")
        self.strides(path)
        self.transposes(path)
        for kernel, what, times in (("loop", "flop_single", 2 * THREADS * TURNS), ("odd", "atomic", THREADS),
                                    ("calls", "load", 2 * THREADS)):
            got = self.one(path, PARTS.format(what=what, kernel=kernel))
            self.check(f"lines: {kernel}, {what}", got == times, f"{got} of {times}")
        got = self.sql(path, ACCESSES.format(kernel="calls", line=line_of("lines.cu", "the function's line")))
        # Two words a thread: 256 bytes of a warp, which the second call has begin within a line.
        self.check("lines: a function that is called twice", got == [["load", "global", 2 * THREADS, 2 * WARPS, 5 * WARPS]], got)
        self.nvrtc_lines()
        self.triton_lines()
        self.regions()

    def strides(self, path):
        got = self.sql(path, ACCESSES.format(kernel="strided", line=line_of("lines.cu", "the strided load")) +
                       " AND what = 'load' ORDER BY used")
        want = sorted([["load", "global", THREADS, WARPS, WARPS * min(s, 32)] for s in (1, 2, 4, 8, 16, 32, 64)])
        self.check("lines: strides use min(s, 32) lines a warp", got == want, [r[-1] // WARPS for r in got])

    def transposes(self, path):
        got = self.sql(path, ACCESSES.format(kernel="transpose_naive", line=line_of("lines.cu", "the naive line")))
        self.check("lines: a naive transpose stores 32 lines a warp",
                   ["store", "global", ELEMENTS, ROWS, 32 * ROWS] in got and ["load", "global", ELEMENTS, ROWS, ROWS] in got, got)
        for kernel, conflicts in (("tiled", 31), ("padded", 0)):
            got = self.sql(path, ACCESSES.format(kernel=f"transpose_{kernel}", line=line_of("lines.cu", "the tile's line")))
            self.check(f"lines: the {kernel} transpose has {conflicts} conflicts a warp",
                       ["load", "local", ELEMENTS, ROWS, ROWS * (conflicts + 1)] in got, got)

    def nvrtc_lines(self):
        path, done = self.trace("nvrtc", [self.programs / "nvrtc"], "--instrument-kernels", "--lanes", "32")
        got = self.sql(path, ACCESSES.format(kernel="twice", line=5))
        self.check("lines: NVRTC", done.stdout.strip() == "twice 999000.0" and got == 2 * [
            ["load", "global", 1000, 32, 32], ["store", "global", 1000, 32, 32]], got)

    def triton_lines(self):
        program = GPU / "triton_lines.py"
        plain = self.run([sys.executable, "-B", program], timeout=180)
        if plain.returncode:
            self.say("lines: Triton", plain.stderr.strip()[-60:], "skipped")
            return
        path, done = self.trace("triton-lines", [sys.executable, "-B", program], "--instrument-kernels=^transpose|^add|gemm|cutlass",
                                "--lanes", "32")
        self.check("lines: Triton's results with and without", done.stdout == plain.stdout, done.stdout.replace("\n", " "))
        for kernel, mark, what in (("transpose", "the transposed load", "load"), ("add", "the sum", "store")):
            line = line_of("triton_lines.py", f"# {mark}")
            got = self.one(path, f"SELECT sum(accesses) FROM kernel_accesses WHERE kernel_name = '{kernel}' AND what = '{what}' "
                                 f"AND kind = 'global' AND line = {line} AND file LIKE '%triton_lines.py'")
            self.check(f"lines: Triton's {kernel} by its line of Python", bool(got), f"line {line}: {got}")
        note = str(self.one(path, "SELECT group_concat(text, '; ') FROM note WHERE part = 'instrument'"))
        self.check("lines: cuBLAS is told as without PTX", "its module has no PTX" in note, note[-120:])

    def regions(self):
        """What handlers report of a kernel of CUDA: one region waits for 20,000 ticks, the other one stores a word."""
        plain = self.run([self.programs / "regions"]).stdout
        path, done = self.trace("regions", [self.programs / "regions"], "--handlers", "blocks,heatmap")
        self.check("lines: regions: results with and without", plain and done.stdout == plain, plain.strip())
        rows = {}
        for handler in ("blocks", "heatmap"):
            said = self.run([self.kymo, "kernels", "-f", "json", "--handler", handler, path]).stdout
            rows.update({t["name"]: t["rows"] for t in json.loads(said)["tables"]})
        got = {r["name"]: (r["count"], r["unfinished"], r["min_ticks"]) for r in rows["blocks.regions"]}
        self.check("lines: regions: each thread once", [v[:2] for v in got.values()] == 2 * [(REGION_THREADS, 0)], got)
        self.check("lines: regions: the wait takes its 20,000 ticks, the store less than a tenth", got["the_wait"][2] >= 20000 and
                   got["store"][2] < 2000, got)
        pages = sum(r["accesses"] for r in rows["heatmap.pages"])
        want = self.one(path, "SELECT sum(executed) FROM kernel_parts WHERE what IN ('load', 'store', 'rw', 'atomic') AND kind <> 'private'")
        self.check("lines: the heat map has all accesses", pages == want == 2 * REGION_THREADS, (pages, want))
        known = [(r["buffer_bytes"], r["accesses"]) for r in rows["heatmap.buffers"] if r["accesses"]]
        self.check("lines: and the memory that they are in", known == 2 * [(4 * REGION_THREADS, REGION_THREADS)], known)
