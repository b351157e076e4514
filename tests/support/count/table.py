#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lists the entries of the OpenCL dispatch table, in order: table.py COMPILER cl_icd.h OUT.

Writes one ENTRY(index, name) for each member of struct _cl_icd_dispatch. The compiler's
preprocessor decides which members there are on this system."""
import re
import subprocess
import sys

compiler, header, out = sys.argv[1:]
text = subprocess.run([compiler, "-E", "-P", "-DCL_TARGET_OPENCL_VERSION=300", header],
                      stdout=subprocess.PIPE, check=True, text=True).stdout
found = re.search(r"typedef\s+struct\s+_cl_icd_dispatch\s*\{(.*?)\}\s*cl_icd_dispatch\s*;", text, re.S)
if not found:
    sys.exit(f"{header}: no struct _cl_icd_dispatch")
names = []
for member in filter(None, map(str.strip, found.group(1).split(";"))):
    name = re.fullmatch(r"\w+\s*\**\s*(cl\w+)", member)
    if not name:
        sys.exit(f"{header}: cannot read the member \"{member}\"")
    names.append(name.group(1))
with open(out, "w") as f:
    f.writelines(f"ENTRY({i}, {name})\n" for i, name in enumerate(names))
