#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lists the entries of the OpenCL dispatch table, in order: table.py cl_icd.h OUT.

Writes one ENTRY(index, name) for each member of struct _cl_icd_dispatch."""
import re
import sys

header, out = sys.argv[1:]
with open(header) as f:
    found = re.search(r"typedef struct _cl_icd_dispatch\s*\{(.*?)\}\s*cl_icd_dispatch;", f.read(), re.S)
if not found:
    sys.exit(f"{header}: no struct _cl_icd_dispatch")
body = re.sub(r"/\*.*?\*/|//[^\n]*|^#[^\n]*", "", found.group(1), flags=re.S | re.M)
names = []
for member in filter(None, map(str.strip, body.split(";"))):
    name = re.fullmatch(r"\w+\s*\**\s*(cl\w+)", member)
    if not name:
        sys.exit(f"{header}: cannot read the member \"{member}\"")
    names.append(name.group(1))
with open(out, "w") as f:
    f.writelines(f"ENTRY({i}, {name})\n" for i, name in enumerate(names))
