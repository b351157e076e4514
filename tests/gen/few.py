#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write a copy of the API model in which only a few functions are traced, without hooks."""

import json
import pathlib
import sys

KEEP = {
    "clGetPlatformIDs", "clGetDeviceIDs", "clCreateContext", "clCreateBuffer", "clCreateImage",
    "clCreateKernel", "clSetKernelArg", "clFinish", "clEnqueueNDRangeKernel", "clGetDeviceInfo",
    "clSVMAlloc", "clGetExtensionFunctionAddress", "clGetExtensionFunctionAddressForPlatform",
    "clMemFreeINTEL", "clCreateKernelsInProgram", "clCommandCopyBufferKHR",
}


def main():
    source, target = (pathlib.Path(p) for p in sys.argv[1:3])
    target.mkdir(parents=True, exist_ok=True)
    functions = json.loads((source / "functions.json").read_text())
    facts = json.loads((source / "facts.json").read_text())
    rows = functions["functions"] + facts["extra_functions"]
    names = {row["name"] for row in rows}
    facts["untraced"] = {"not in this test": sorted(names - KEEP)}
    facts["hooks"] = {}
    facts["functions"] = {k: v for k, v in facts["functions"].items() if k in KEEP}
    (target / "functions.json").write_text(json.dumps(functions))
    (target / "facts.json").write_text(json.dumps(facts))
    (target / "enums.json").write_text((source / "enums.json").read_text())


if __name__ == "__main__":
    main()
