#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What of calls' arguments `kymo run --args` records: all, numbers and handles alone, nothing.

    args.py KYMO HEAT"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
import traced  # noqa: E402

KYMO, HEAT = (os.path.abspath(p) for p in sys.argv[1:3])
LISTS = r"(\w+)=(\[[^]]*\]|\"[^\"]*\"|NULL|[.]{3})"
# What is asked for without room for it, and what fails.
ASKS = """
import ctypes as c
cl = c.CDLL("libOpenCL.so.1")
n, p, b, s = c.c_uint(0), (c.c_void_p * 4)(), c.create_string_buffer(b"unset", 8), c.c_size_t(7)
cl.clGetPlatformIDs(0, None, c.byref(n))
cl.clGetPlatformIDs(0, p, c.byref(n))
cl.clGetPlatformIDs(4, p, c.byref(n))
f = cl.clGetPlatformInfo
f.argtypes = [c.c_void_p, c.c_uint, c.c_size_t, c.c_void_p, c.c_void_p]
f(p[0], 0xdead, 8, b, c.byref(s))
f(p[0], 0x902, 0, None, c.byref(s))
f(p[0], 0x902, 1, b, None)
"""
checks = traced.Checks()


def calls(folder, level, *program, mode="default"):
    """Each call's name, and arguments with what differs between runs left out."""
    trace = os.path.join(folder, level + ".kymo")
    run = traced.Run([KYMO, "run", "-f", "--no-summary", "--args", level, "--mode", mode, "-o", trace, *program])
    shown = traced.Run([KYMO, "show", "-i", "^opencl:", trace])
    checks.equal(f"{level}: status", (run.status, shown.status), (0, 0))
    return [(name, re.sub(r"0x[0-9a-f]+", "POINTER", args)) for name, args in re.findall(r"opencl:(\w+)\((.*?)\) = ", shown.out)]


with kymotest.Folder() as scratch:
    full, scalars, none = (calls(scratch, level, HEAT, "--size", "64", "--frames", "2") for level in ("full", "scalars", "none"))
    asked = [re.sub(r"(num_platforms|_ret)=[1-9]\d*", r"\1=N", args) for name, args in calls(scratch, "full", sys.executable, "-c", ASKS, mode="full")]

checks.equal("what was written, and what was not", asked, [
    "num_entries=0, platforms=NULL, *num_platforms=N", "num_entries=0", "num_entries=4, platforms=[POINTER], *num_platforms=N",
    "platform=POINTER, param_name=POINTER, param_value_size=8",
    "platform=POINTER, param_name=CL_PLATFORM_NAME, param_value_size=0, *param_value=NULL, *param_value_size_ret=N",
    "platform=POINTER, param_name=CL_PLATFORM_NAME, param_value_size=1"])
checks.equal("the same calls", ([n for n, _ in scalars], [n for n, _ in none]), ([n for n, _ in full],) * 2)
checks.equal("lists and texts", {name for name, args in full if re.search(r"[\[\"]", args)} >= {"clBuildProgram", "clEnqueueNDRangeKernel"}, True)
checks.equal("none of them", [c for c in scalars if re.search(r"[\[\"]", c[1])], [])
checks.equal("all else", [(n, re.sub(LISTS, r"\1", a)) for n, a in scalars if n == "clEnqueueNDRangeKernel"],
             [(n, re.sub(LISTS, r"\1", a)) for n, a in full if n == "clEnqueueNDRangeKernel"])
checks.equal("what was not recorded is not said to be none", [(n, a) for n, a in scalars if n == "clEnqueueNDRangeKernel" and not re.search(r"global_work_size=[.]{3}, local_work_size=[.]{3}", a)], [])
checks.equal("a pointer is", any("host_ptr=NULL" in a for n, a in scalars if n == "clCreateBuffer"), True)
checks.equal("a number", any("work_dim=2" in a for _, a in scalars), True)
checks.equal("nothing", {a for _, a in none if a}, {"..."})
sys.exit(checks.status(13))
