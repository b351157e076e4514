#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that includes follow the order of the layers, and that files stay small.

An include of another layer is written "layer/...". The table says what each layer may use; a layer
may always use itself. Vendor headers may be seen by capture only.
"""
import os
import re
import sys

ALLOWED = {
    "base": set(),
    "record": {"base"},
    "wire": {"base"},
    "core": {"base", "record", "wire"},
    "capture": {"base", "record", "wire", "core"},
    "recorder": set(),
    "register": set(),
    "inject": {"base", "record", "wire", "core", "capture", "recorder"},
    "stream": {"base", "record", "wire"},
    "drain": {"base", "wire"},
    "telemetry": {"base", "wire", "drain"},
    "formats": {"base", "record", "wire", "stream"},
    "analysis": {"base", "record", "wire", "stream", "formats"},
    "report": {"base", "wire", "stream", "formats", "analysis"},
    "cli": {"base", "wire", "stream", "drain", "telemetry", "formats", "analysis", "report"},
}
# Facts that both sides of an interface share: numbers and prototypes without code.
SHARED = {"register/rocprofiler.h"}
VENDOR = re.compile(r"^(CL|cuda|cupti|hip|hsa|level_zero|mpi|omp-tools|nvtx3)\b")
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
LINES_MAX = 1000


def check_file(root, path, layer, problems):
    with open(os.path.join(root, path), encoding="utf-8") as f:
        lines = f.readlines()
    if len(lines) > LINES_MAX:
        problems.append(f"{path}: {len(lines)} lines, more than {LINES_MAX}")
    for number, line in enumerate(lines, 1):
        m = INCLUDE.match(line)
        if not m:
            continue
        used = m.group(2).split("/")[0]
        where = f"{path}:{number}: {m.group(2)}"
        if m.group(1) == '"' and used in ALLOWED:
            if used != layer and used not in ALLOWED[layer] and m.group(2) not in SHARED:
                problems.append(f"{where}: {layer} may not use {used}")
        elif VENDOR.match(m.group(2)) and layer != "capture":
            problems.append(f"{where}: vendor headers belong to capture")


def main():
    root = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else ".")
    problems, files = [], 0
    for layer in ALLOWED:
        for folder, _, names in os.walk(os.path.join(root, "src", layer)):
            for name in names:
                if name.endswith((".c", ".h")):
                    files += 1
                    path = os.path.relpath(os.path.join(folder, name), root)
                    check_file(root, path, layer, problems)
    if not files:
        problems.append(f"{root}: no sources found")
    for p in problems:
        print(p)
    print(f"layers: {files} files, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
