#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares a test program's own counts with the counting layer's: check_counts.py LAYER PROGRAM.

Two independent counts that agree are taken for the truth when traces are checked."""
import collections
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "base"))
import kymotest  # noqa: E402
from kymotest import SKIPPED  # noqa: E402


def main():
    layer, program = sys.argv[1:]
    with kymotest.Folder() as folder:
        own, seen = os.path.join(folder, "own.json"), os.path.join(folder, "seen.%p.json")
        args = [program, "--counts", own]
        if os.path.basename(program) == "ocl_many":
            args += ["--kernels", "20000"]
        env = dict(os.environ, OPENCL_LAYERS=layer, COUNT_OUT=seen)
        env.pop("LD_PRELOAD", None)
        process = subprocess.Popen(args, env=env, stdout=subprocess.DEVNULL)
        status = process.wait()
        if status == SKIPPED:
            return SKIPPED
        if status:
            print(f"{program} ended with {status}")
            return 1
        return compare(load(own), load(seen.replace("%p", str(process.pid))))


def load(name):
    with open(name) as f:
        return json.load(f)


def compare(own, seen):
    kernels = collections.Counter()
    for kernel in own["kernels"]:
        kernels[kernel["name"]] += kernel["count"]
    native = kernels.pop("native", 0)  # native kernels have no kernel object
    pairs = [(f"calls of {name}", own["calls"].get(name, 0), seen["calls"].get(name, 0))
             for name in sorted(own["calls"].keys() | seen["calls"].keys())]
    pairs += [(f"kernels {name}", kernels[name], seen["kernels"].get(name, 0))
              for name in sorted(kernels.keys() | seen["kernels"].keys())]
    pairs.append(("native kernels", native, seen["calls"].get("clEnqueueNativeKernel", 0)))
    for kind in "read", "write":
        mine = own["copies"].get(kind, {"bytes": 0})["bytes"]
        pairs.append((f"bytes of {kind}", mine, seen[f"{kind}_bytes"]))
    wrong = [p for p in pairs if p[1] != p[2]]
    for what, mine, theirs in wrong:
        print(f"{what}: the program counts {mine}, the layer {theirs}")
    print(f"{len(pairs) - len(wrong)} of {len(pairs)} counts agree")
    return 1 if wrong or len(pairs) < 10 else 0


sys.exit(main())
