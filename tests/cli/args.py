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
checks = traced.Checks()


def calls(folder, level):
    """Each call's name, and arguments with what differs between runs left out."""
    trace = os.path.join(folder, level + ".kymo")
    run = traced.Run([KYMO, "run", "--no-summary", "--args", level, "-o", trace, HEAT, "--size", "64", "--frames", "2"])
    shown = traced.Run([KYMO, "show", "-i", "^opencl:", trace])
    checks.equal(f"{level}: status", (run.status, shown.status), (0, 0))
    return [(name, re.sub(r"0x[0-9a-f]+", "POINTER", args)) for name, args in re.findall(r"opencl:(\w+)\((.*?)\) = ", shown.out)]


with kymotest.Folder() as scratch:
    full, scalars, none = (calls(scratch, level) for level in ("full", "scalars", "none"))

checks.equal("the same calls", ([n for n, _ in scalars], [n for n, _ in none]), ([n for n, _ in full],) * 2)
checks.equal("lists and texts", {name for name, args in full if re.search(r"[\[\"]", args)} >= {"clBuildProgram", "clEnqueueNDRangeKernel"}, True)
checks.equal("none of them", [c for c in scalars if re.search(r"[\[\"]", c[1])], [])
checks.equal("all else", [(n, re.sub(LISTS, r"\1", a)) for n, a in scalars if n == "clEnqueueNDRangeKernel"],
             [(n, re.sub(LISTS, r"\1", a)) for n, a in full if n == "clEnqueueNDRangeKernel"])
checks.equal("what was not recorded is not said to be none", [(n, a) for n, a in scalars if n == "clEnqueueNDRangeKernel" and not re.search(r"global_work_size=[.]{3}, local_work_size=[.]{3}", a)], [])
checks.equal("a pointer is", any("host_ptr=NULL" in a for n, a in scalars if n == "clCreateBuffer"), True)
checks.equal("a number", any("work_dim=2" in a for _, a in scalars), True)
checks.equal("nothing", {a for _, a in none if a}, {"..."})
sys.exit(checks.status(11))
