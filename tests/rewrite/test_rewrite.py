#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""OpenCL programs that `kymo rewrite` makes count: their counts are the closed forms', or those that the kernels keep themselves.

test_rewrite.py KYMO LAUNCH NAME: the tests of class NAME. LAUNCH runs a kernel as it is and rewritten, and compares what both write.
"""
import collections
import os
import re
import shutil
import subprocess
import sys
import unittest
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "base"))
sys.path.insert(0, HERE)
import kymotest  # noqa: E402
import made_kernels  # noqa: E402

KYMO, LAUNCH, NAME = sys.argv[1:4]
Block = collections.namedtuple("Block", "function kind line column file")
Site = collections.namedtuple("Site", "block kind space bytes count line column file")


class Result:
    """What `kymo rewrite` wrote."""

    def __init__(self, text):
        head, _, rest = text.partition("\nsource ")
        self.text, self.source = text, rest.partition("\n")[2]
        self.kernels, self.refused, self.blocks, self.sites, self.work = [], {}, [], [], []
        for line in head.splitlines()[2:]:
            word, *rest = [urllib.parse.unquote(w) for w in line.split(" ")]
            if word == "kernel":
                self.kernels.append(rest[0])
            elif word == "refused":
                self.refused[rest[0]] = rest[1]
            elif word == "block":
                assert int(rest[0]) == len(self.blocks), line
                self.blocks.append(Block(rest[1], rest[2], int(rest[3]), int(rest[4]), rest[5]))
            elif word == "site":
                assert int(rest[0]) == len(self.sites), line
                self.sites.append(Site(int(rest[1]), rest[2], rest[3], *map(int, rest[4:8]), rest[8]))
            elif word == "work":
                self.work.append((int(rest[0]), rest[1], int(rest[2]), int(rest[3])))


def rewrite(source, *options):
    p = subprocess.run([KYMO, "rewrite", *options], input=source, capture_output=True, text=True, timeout=60)
    if p.returncode == 3 and "clang" in p.stderr:
        kymotest.skip("no libclang")
    assert p.returncode == 0, p.stderr
    return Result(p.stdout)


class Launch:
    """A kernel run both ways."""

    def __init__(self, source, kernel, sizes, arguments, mode="own", options="", way="count", records=0, groups=0):
        with kymotest.Folder() as folder:
            self.result = rewrite(source, "--mode", way, "--options", options)
            assert not self.result.refused, self.result.refused
            for name, text in (("source", source), ("result", self.result.text)):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                    f.write(text)
            p = subprocess.run([LAUNCH, os.path.join(folder, "source"), os.path.join(folder, "result"), options, kernel, *sizes,
                                mode, *arguments], capture_output=True, text=True, timeout=120,
                               env=dict(os.environ, RECORDS=str(records), GROUPS=str(groups)))
        if p.returncode == 77:
            kymotest.skip("no OpenCL")
        assert p.returncode == 0, p.stderr
        self.out = p.stdout
        self.counts = {int(b): int(n) for b, n in re.findall(r"^count (\d+) (\d+)$", p.stdout, re.M)}
        self.equal = "equal 1\n" in p.stdout
        shown = re.search(r"^argument 0 (.*)$", p.stdout, re.M)
        self.shown = [int(n) for n in shown[1].split()] if shown else []
        self.records = [tuple(map(int, r)) for r in
                        re.findall(r"^record (\d+) (\d+) (\d+) (\d+) (\d+)$", p.stdout, re.M)]

    def totals(self):
        """Bytes by space and kind, operations by class."""
        out = collections.Counter()
        for s in self.result.sites:
            out[f"{s.space} {s.kind}"] += s.bytes * s.count * self.counts[s.block]
        for block, name, n, _ in self.result.work:
            out[name] += n * self.counts[block]
        return {k: v for k, v in out.items() if v and not k.startswith(("int", "compare", "branch"))}


def read(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as f:
        return f.read()


class Closed(unittest.TestCase):
    """Bytes and operations are what the kernel's formula says."""

    def check(self, kernel, sizes, arguments, wanted, mode="own"):
        run = Launch(read("kernels.cl"), kernel, sizes, arguments, mode)
        self.assertEqual(run.totals(), wanted, kernel)
        self.assertTrue(run.equal, f"{kernel}: other results")

    def test_copy(self):
        self.check("copy", ("4096", "64"), ("float:4096", "float:4096"), {"global load": 4 * 4096, "global store": 4 * 4096})

    def test_saxpy(self):
        for mode in ("own", "shared"):
            self.check("saxpy", ("1024", "64"), ("int=1000", "float=3", "float:1024", "float:1024"),
                       {"global load": 8 * 1000, "global store": 4 * 1000, "flop_single": 2 * 1000}, mode)

    def test_strided(self):
        self.check("strided", ("256", "32"), ("int=3", "float:4096", "float:256"), {"global load": 4 * 256, "global store": 4 * 256})

    def test_naive(self):
        n = 24
        self.check("naive", (f"{n}x{n}", "8x4"), (f"int={n}", *[f"float:{n * n}"] * 3),
                   {"global load": 8 * n ** 3, "global store": 4 * n ** 2, "flop_single": 2 * n ** 3})

    def test_tiled(self):
        n, tile = 32, 8
        for mode in ("own", "shared"):
            self.check("tiled", (f"{n}x{n}", f"{tile}x{tile}"), (f"int={n}", *[f"float:{n * n}"] * 3),
                       {"global load": 8 * n ** 3 // tile, "global store": 4 * n ** 2, "local load": 8 * n ** 3,
                        "local store": 8 * n ** 3 // tile, "flop_single": 2 * n ** 3, "barrier": 2 * n ** 3 // tile}, mode)

    def test_transpose(self):
        n = 32
        self.check("transpose", (f"{n}x{n}", "8x8"), (f"int={n}", *[f"float:{n * n}"] * 2, "local:256"),
                   {f"{space} {kind}": 4 * n ** 2 for space in ("global", "local") for kind in ("load", "store")} | {"barrier": n ** 2})

    def test_stencil(self):
        n = 16
        inner = (n - 2) ** 2
        self.check("stencil", (f"{n}x{n}", "8x8"), (f"int={n}", *[f"float:{n * n}"] * 2),
                   {"global load": 4 * (4 * inner + n * n - inner), "global store": 4 * n * n, "flop_single": 4 * inner})


class Own(unittest.TestCase):
    """Kernels that count themselves: HIT(n) is an atomic access, whose count is that of the number that it makes."""

    def check(self, source, run):
        lines = source.split("\n")
        ours, sites = collections.Counter(), collections.defaultdict(list)
        for s in run.result.sites:
            if s.kind == "atomic":
                sites[s.line].append((s.column, run.counts[s.block]))
        for line, found in sites.items():
            hits = re.findall(r"HIT\((\d+)\)", re.sub(r"sizeof\(.*?\)\]\)", "", lines[line - 1]))
            hits = [int(h) for h in hits for _ in range(1 + ("TWICE" in lines[line - 1]))]
            self.assertEqual(len(hits), len(found), f"line {line}: {lines[line - 1]}")
            for hit, (_, count) in zip(hits, sorted(found)):
                ours[hit] += count
        wrong = {h: (n, run.shown[h]) for h, n in ours.items() if n != run.shown[h]}
        self.assertEqual(wrong, {}, "HIT: (ours, the kernel's)\n" + source)
        self.assertEqual(sum(run.shown), sum(ours.values()))
        self.assertTrue(run.equal, "other results\n" + source)
        return ours

    def test_statements(self):
        source = read("statements.cl")
        for way, records in (("count", 0), ("address", 10000)):
            run = Launch(source, "statements", ("16", "8"), ("zero!:1024", "int:64", "zero:4096"), "shared", way=way, records=records)
            hits = self.check(source, run)
            self.assertEqual(sorted(hits), [n for n in range(62) if n != 53])  # that one is in a sizeof
        self.assertEqual(run.result.kernels, ["inner_kernel", "statements"])


class Made(Own):
    """The same with kernels that nobody has thought of."""

    def test_statements(self):
        for seed in (1, 14):
            source = made_kernels.make(seed)
            run = Launch(source, "made", ("24", "8"), ("zero!:8000", "int:64"), ("own", "shared")[seed % 2],
                         way="address" if seed == 14 else "count", records=100 if seed == 14 else 0)
            self.assertGreater(len(self.check(source, run)), 10, source)


class Accesses(unittest.TestCase):
    """Each line says what it accesses."""

    def test_lines(self):
        source = read("accesses.cl")
        result = rewrite(source)
        self.assertEqual(result.kernels, ["accesses", "images"])
        found = collections.defaultdict(list)
        for s in result.sites:
            found[s.line].append(f"{s.kind} {s.space} {s.bytes}")
        for number, line in enumerate(source.split("\n")[1:], 2):
            wanted = line.partition("// ")[2]
            wanted = sorted(wanted.split(", ")) if wanted else []
            if "async" in line:
                wanted = ["load global 4", "store local 4"]
            elif "**ee = e" in line:
                wanted = sorted(wanted + ["load private 8"] * 2)
            elif "s[0].far ?" in line:  # the condition's, and one that is not always
                wanted = ["load global 8", "load global 8"]
            self.assertEqual(sorted(found[number]), wanted, f"line {number}: {line}")

    def test_addresses(self):
        """As many records of each site as its block has runs, each within the buffer or a local array."""
        size = ("8", "8")  # one group: items write what others read
        arguments = ("float:64", "float:1024", "int:64", "local:256", "zero:4096", "zero:4096", "zero:1024", "zero:1024", "zero:64",
                     "zero:1024")
        run = Launch(read("accesses.cl").split("__kernel void images")[0], "accesses", size, arguments, way="address", records=5000)
        of = collections.defaultdict(list)
        for site, group, item, times, address in run.records:
            self.assertEqual((times, group, item < 8), (0, 0, True))
            of[site].append((item, address))
        for i, s in enumerate(run.result.sites):
            copied = run.result.blocks[s.block].kind == "copy"
            self.assertEqual(len(of[i]), 0 if copied else run.counts[s.block], s)
            if copied:
                self.assertEqual(run.counts[s.block], 8)  # elements, by all items together
        first = sorted(of[0])
        self.assertEqual([a - first[0][1] for _, a in first], [16 * i for i in range(8)])
        self.assertEqual([b - a for (_, a), (_, b) in zip(first, sorted(of[1]))], [8] * 8)  # .zw
        self.assertTrue(run.equal)

    def test_groups(self):
        """Only those that are asked for are recorded; all are counted."""
        run = Launch(read("kernels.cl"), "copy", ("64", "8"), ("float:64", "float:64"), way="address", records=500, groups=2 | 3 << 32)
        self.assertEqual(collections.Counter(r[1] for r in run.records), {2: 16, 3: 16, 4: 16})
        self.assertEqual(run.totals(), {"global load": 256, "global store": 256})

    def test_no_room(self):
        """What has no room is counted."""
        run = Launch(read("kernels.cl"), "copy", ("64", "8"), ("float:64", "float:64"), way="address", records=5)
        self.assertEqual((len(run.records), "records 130\n" in run.out), (5, True))  # those of two arguments with them


class Forms(unittest.TestCase):
    """Dialects, options, what is refused."""

    def refused(self, source, *options):
        return rewrite(source, *options).refused.get("*", "")

    def good(self, source, standard, *options):
        result = rewrite(source, "--std", standard, *options)
        self.assertEqual(result.refused, {}, source)
        clang = shutil.which("clang-19") or shutil.which("clang")
        p = subprocess.run([clang, "-x", "cl", f"-cl-std={standard}", "-fsyntax-only", "-target", "spir64", "-w", "-"],
                           input=result.source, capture_output=True, text=True, timeout=60)
        self.assertEqual(p.stderr, "", result.source)
        return result

    def test_standards(self):
        plain = "__kernel void k(__global int *a) { a[get_global_id(0)] += 1; }\n"
        for standard in ("CL1.0", "CL1.1", "CL1.2", "CL2.0", "CL3.0"):
            result = self.good(plain, standard)
            self.assertEqual([(s.kind, s.space) for s in result.sites], [("rw", "global")])
        generic = "__kernel void k(__global int *a) { int *p = a; __local atomic_int n; *p += atomic_fetch_add(&n, 1); " \
                  "work_group_barrier(CLK_LOCAL_MEM_FENCE); a[1] = work_group_reduce_add(a[0]); }\n"
        result = self.good(generic, "CL2.0")
        self.assertEqual([(s.kind, s.space) for s in result.sites],
                         [("rw", "generic"), ("atomic", "local"), ("store", "global"), ("load", "global")])
        self.assertEqual(rewrite(generic, "--options", "-cl-std=CL2.0").refused, {})
        self.assertNotEqual(self.refused(generic), "")

    def test_preprocessor(self):
        source = "#define f(x) f(x + 1)\n#include \"part.h\"\n#ifdef cl_khr_fp16\n#error half\n#endif\n" \
                 "#ifndef M_PI\n#error no pi\n#endif\n" \
                 "#line 7 \"other kernel.py\"\nfloat f(float x) { return x * WIDE; }\n" \
                 "__kernel void k(__global float *a)\n{\n#pragma unroll 4\n\tfor (int i = 0; i < N; i++)\n\t\ta[i] = f(a[i]) * PART;\n}\n"
        with kymotest.Folder() as folder:
            inside = os.path.join(folder, "with space")
            os.mkdir(inside)
            with open(os.path.join(inside, "part.h"), "w", encoding="utf-8") as f:
                f.write("#define PART part(a)\nfloat part(__global float *p)\n{\n\treturn p[0];\n}\n")
            options = f"-D N=3 -DWIDE=\"2.0f\" -g -I \"{inside}\" -cl-fast-relaxed-math -w"
            result = self.good(source.replace("float f(float x)", "float (f)(float x)"), "CL1.2", "--options", options,
                               "--extensions", "cl_khr_fp64 cl_khr_int64_base_atomics")
            self.assertEqual([(s.line, s.file) for s in result.sites],
                             [(4, os.path.join(inside, "part.h")), (12, "other kernel.py"), (12, "other kernel.py")])
            self.assertEqual(result.kernels, ["k"])
            self.assertIn("\noptions -cl-fast-relaxed-math -w\n", result.text)
            self.assertIn("#pragma unroll 4\n", result.source)
            self.assertIn("clang: half", self.refused(source, "--options", options))

    def test_single_quotes(self):
        """They are no quotes to runtimes: PoCL hands them on as they are."""
        self.assertIn("o[0] = '3';", self.good("kernel void k(global int *o) { o[0] = N; }", "CL1.2", "--options", "-DN='3'").text)

    def test_refused(self):
        kernel = "__kernel void k(__global int *a) { %s }\n"
        for source, reason in ((kernel % "a[0] = ;", "line 1: clang: expected expression"),
                               ("#error \"no\"\n", "clang: \"no\""),
                               ("#include \"none.h\"\n", "clang: 'none.h' file not found"),
                               (kernel % "a[0] = a[1] ?: 2;", "a ?: without its middle")):
            self.assertIn(reason, self.refused(source))
        block = kernel % "int (^b)(int) = ^(int n) { return n; }; a[0] = b(1);"
        self.assertIn("a block: ^{ }", self.refused(block, "--std", "CL2.0"))
        pipes = "__kernel void k(__read_only pipe int p, __global int *a) { read_pipe(p, a); }\n"
        self.assertIn("pipes", self.refused(pipes, "--std", "CL2.0"))
        self.assertIn("C++", self.refused(kernel % "", "--options", "-cl-std=CLC++"))

    def test_empty(self):
        """A body of nothing at all: its counts begin before they are handed over."""
        for source in ("__kernel void k(void){}\n", "__kernel void k(){}\n", "#define E {}\n__kernel void k(void) E\n",
                       "void f(void){}\n__kernel void k(int n){if(n){}f();}\n", "__kernel void k(int n){if(n)return;}\n"):
            for mode in ("count", "address", "block", "both"):
                result = self.good(source, "CL1.2", "--mode", mode)
                self.assertEqual(result.kernels, ["k"])
                count = result.source.rindex("kymo_n[", 0, result.source.rindex("volatile __global ulong *kymo_c"))
                self.assertLess(result.source.index("__private ulong kymo_n["), count)

    def test_own_names(self):
        """Whatever the rewritten text calls something is nothing that the program has, unless only in a text or a comment."""
        ours = set()
        for name in ("accesses.cl", "statements.cl", "kernels.cl"):
            for mode in ("count", "both"):
                ours |= set(re.findall(r"\b(?:kymo|KYMO)_\w+", rewrite(read(name), "--mode", mode).source))
        ours -= {"kymo_region_begin", "kymo_region_end", "kymo_name"}  # declared, for marks of regions
        self.assertLess({"kymo_n", "kymo_context", "kymo_c", "kymo_p", "kymo_d", "kymo_o", "kymo_t", "kymo_end", "KYMO_CLOCK"}, ours)
        for name in sorted(ours):
            self.assertEqual(self.refused(f"__kernel void k(__global int *a)\n{{\n\tint {name} = 1;\n\ta[0] = {name};\n}}\n"),
                             f"line 3: {name} is a name that the rewritten program has")
        self.assertIn("line 2: kymo_n is", self.refused("#define N kymo_n\n__kernel void k(__global int *N) { N[0] = 1; }\n"))
        self.good("/* kymo_n */ __constant char s[] = \"kymo_n \\\" kymo_c\", c = '\"', d = '\\'';\n"
                  "__kernel void k(__global int *my_kymo_n) { my_kymo_n[0] = s[0] + c + d; /* kymo_n */ }\n"
                  "__kernel void kymo_mine(__global int *kymo_n1) { kymo_n1[0] = 1; }\n", "CL1.2", "--mode", "both")

    def test_unused(self):
        """Functions that no kernel can call are left out, with what they call."""
        source = "int f(__global int *a);\n#define G static __attribute__((always_inline)) inline int g(__global int *a)\nG;\n" \
                 "int f(__global int *a)\n{\n\treturn a[1] + g(a);\n}\nG { return a[2]; }\nint h(__global int *a) { return a[3]; }\n" \
                 "__kernel void k(__global int *a) { a[0] = h(a); }\n"
        result = self.good(source, "CL1.2")
        self.assertEqual([(s.line, s.kind) for s in result.sites], [(9, "load"), (10, "store")])
        self.assertEqual([b.function for b in result.blocks], ["h", "k"])

    def test_work(self):
        """Operations and branches, by line."""
        source = "float f(float x)\n{\n\treturn x\n\t\t* 2.0f + (1.0f + 2.0f);\n}\n__kernel void k(__global float4 *a, __global int *n, double d)\n{\n" \
                 "\ta[0] = fma(a[1], a[2], a[3]) - a[4];\n\tn[0] = (n[1] & n[2]) << 3;\n\tn[0]++;\n\td = d * n[1] + f(dot(a[0], a[1]));\n" \
                 "\tif (n[3] > 2 && d < 1)\n\t\tn[4] = n[5] ? 1 : (int)d;\n\tfor (int i = 0; i < 4; i++)\n\t\tbarrier(1);\n\twhile (1)\n\t\tbreak;\n}\n"
        work = collections.Counter()
        for _, name, n, line in rewrite(source).work:
            work[f"{line} {name}"] += n
        self.assertEqual(dict(work), {
            "3 flop_single": 2, "8 flop_single": 12, "9 int32": 2, "10 int32": 1, "11 flop_double": 2, "11 flop_single": 7,
            "12 compare": 2, "12 branch": 2, "13 branch": 1, "14 compare": 1, "14 branch": 1, "14 int32": 1, "15 barrier": 1})

    def test_chosen(self):
        source = read("kernels.cl")
        self.assertEqual(rewrite(source, "--functions-only", "^t").kernels, ["tiled", "transpose"])

    def test_versions(self):
        """Older libraries, where newer ones cannot be loaded, find the same; with none there is a reason."""
        source = read("accesses.cl") + read("statements.cl").replace("state", "other")
        newest, last = rewrite(source), None
        self.assertGreater(len(newest.sites), 100)
        with kymotest.Folder() as folder:
            for version in range(19, 13, -1):
                with open(os.path.join(folder, f"libclang-{version}.so.1"), "w", encoding="utf-8"):
                    pass
                last = subprocess.run([KYMO, "rewrite"], input=source, capture_output=True, text=True, timeout=60,
                                      env=dict(os.environ, LD_LIBRARY_PATH=folder))
                if last.returncode == 0:
                    result = Result(last.stdout)
                    self.assertLess(int(re.search(r"^clang (\d+)", last.stdout, re.M)[1]), version)
                    self.assertEqual((result.refused, result.blocks, result.sites, result.work),
                                     ({}, newest.blocks, newest.sites, newest.work))
        self.assertEqual((last.returncode, last.stdout), (3, ""))
        self.assertRegex(last.stderr, "kymo: error: rewriting the program: .*libclang")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], NAME], verbosity=2)
