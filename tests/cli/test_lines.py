#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Call sites have function, file and line whoever compiled the program: test_lines.py KYMO.

With gcc and each clang that is installed, DWARF 4 and 5, with and without optimisation, as program and
as shared library, and with files of both compilers in one program."""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402

import traced

HEAD = """#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include "inner.h"
"""
FIRST = HEAD + """
void second(void);
__attribute__((noinline)) void first(void)
{
	cl_uint n;
	clGetPlatformIDs(0, 0, &n); /* first */
	inner();
}
int main(void)
{
	first();
	second();
	return 0;
}
"""
SECOND = HEAD + """
/* Another file, so that its unit is another. */


__attribute__((noinline)) void second(void)
{
	volatile int no_tail_call;
	clUnloadCompiler(); /* second */
	no_tail_call = 0;
	(void)no_tail_call;
}
"""
INNER = """static inline __attribute__((always_inline)) void inner(void)
{
	cl_platform_id platform;
	cl_uint devices;
	clGetPlatformIDs(1, &platform, 0);
	clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, 0, &devices); /* inner */
}
"""
SQL = """SELECT r.name AS call, n.text AS function, f.text AS file, s.line FROM call c JOIN op r ON r.id = c.op
    JOIN site s ON s.id = c.site LEFT JOIN string n ON n.id = s.function LEFT JOIN string f ON f.id = s.file"""


def line_of(text, mark):
    return next(i for i, line in enumerate(text.splitlines(), 1) if f"/* {mark} */" in line)


WANTED = {("clGetPlatformIDs", "first", "first.c", line_of(FIRST, "first")),
          ("clGetDeviceIDs", "inner", "inner.h", line_of(INNER, "inner")),
          ("clUnloadCompiler", "second", "second.c", line_of(SECOND, "second"))}


def compilers():
    names = ["gcc", "clang", *(f"clang-{v}" for v in range(14, 22))]
    return list({os.path.realpath(shutil.which(n)): n for n in names if shutil.which(n)}.values())


def build(folder, first, second, flags, shared):
    """The files one by one, as they may be of two compilers."""
    def compile_file(compiler, name):
        subprocess.run([compiler, "-g", "-fPIC", *flags, "-Wno-deprecated-declarations",
                        "-DCL_USE_DEPRECATED_OPENCL_1_1_APIS", "-c", name + ".c"], cwd=folder, check=True)
    compile_file(first, "first")
    compile_file(second, "second")
    if shared:
        subprocess.run([second, "-shared", "-o", "libsecond.so", "second.o", "-lOpenCL"], cwd=folder, check=True)
        rest = ["-L.", "-lsecond", "-Wl,-rpath," + folder]
    else:
        rest = ["second.o"]
    subprocess.run([first, "-o", "program", "first.o", *rest, "-lOpenCL"], cwd=folder, check=True)
    return os.path.join(folder, "program")


def look(checks, kymo, folder, what, program):
    trace = os.path.join(folder, "t.kymo")
    kymotest.remove(trace, missing_ok=True)
    traced.Run([kymo, "run", "--no-summary", "--mode", "full", "-o", trace, program])
    rows = {(r["call"], r["function"], os.path.basename(r["file"] or ""), r["line"])
            for r in traced.query(kymo, trace, SQL)}
    checks.equal(what, WANTED - rows, set())
    checks.equal(f"{what}: no site without a line", {r for r in rows if not r[2] or not r[3]}, set())
    text = traced.Run([kymo, "show", trace]).out
    checks.equal(f"{what}: show", bool(re.search(rf"second second\.c:{line_of(SECOND, 'second')}\b", text)), True)


def main():
    kymo = os.path.abspath(sys.argv[1])
    checks = traced.Checks()
    names = compilers()
    if not any(n.startswith("clang") for n in names):
        print("skipped: no clang is installed")
        return 77
    with kymotest.Folder() as folder:
        for name, text in (("first.c", FIRST), ("second.c", SECOND), ("inner.h", INNER)):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                f.write(text)
        for name in names:
            for dwarf, optimised in (("4", "-O2"), ("5", "-O2"), ("5", "-O0")):
                program = build(folder, name, name, [f"-gdwarf-{dwarf}", optimised], optimised == "-O2")
                look(checks, kymo, folder, f"{name} DWARF {dwarf} {optimised}", program)
        clang = next(n for n in names if n.startswith("clang"))
        if "gcc" in names:
            for pair in (("gcc", clang), (clang, "gcc")):
                look(checks, kymo, folder, " and ".join(pair), build(folder, *pair, [], False))
    return checks.status(12)


sys.exit(main())
