#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that includes follow the order of the layers, and that files stay small.

    layers.py ROOT [BUILD]

The table says what each layer may use; a layer may always use itself. With BUILD, a folder that ninja has
built, it is checked what the compiler read for each object, however it was included; without it, the includes as
they are written, also in files that are not compiled here. Vendors' headers may be seen by capture only, and each of
the other libraries' by the layers that the second table names.
"""
import os
import re
import subprocess
import sys

ALLOWED = {
    "base": set(),
    "record": {"base"},
    "wire": {"base"},
    "topology": {"base"},
    "core": {"base", "record", "wire", "topology"},
    "capture": {"base", "record", "wire", "topology", "core"},
    "recorder": set(),
    "register": set(),
    "inject": {"base", "record", "wire", "topology", "core", "capture", "recorder"},
    "stream": {"base", "record", "wire"},
    "drain": {"base", "wire"},
    "telemetry": {"base", "wire", "drain"},
    "tally": {"base", "record", "wire", "stream"},
    "formats": {"base", "record", "wire", "stream", "tally"},
    "analysis": {"base", "record", "wire", "stream", "tally", "formats"},
    "report": {"base", "record", "wire", "stream", "tally", "formats", "analysis"},
    "cli": {"base", "record", "wire", "topology", "stream", "tally", "drain", "telemetry", "formats", "analysis", "report"},
}
# Facts that both sides of an interface share: numbers and prototypes without code.
SHARED = {"register/rocprofiler.h"}
# Headers that the rooms of a layer have for each other: no other layer sees them.
PRIVATE = re.compile(r"core/(process/process|context/context|ring/ring|define/define|work/origin|deliver/\w+|tool/tool|tally/\w+|"
                     r"sample/host|marker/range)\.h$")
VENDOR = re.compile(r"(^|/)(CL|cuda|cupti|nvtx3|level_zero|hip|hsa|rocprofiler-sdk|mpich|openmpi|omp-tools|ompt|mpi|nvml|papi|"
                    r"ittnotify|ze_|zes_|zet_|Kokkos|kp_)(\b|[a-z_]*\.h$|/)")
# Libraries that are no vendor's: which layers may see their headers.
LIBRARIES = {
    "sqlite3": {"formats", "analysis", "report", "cli"},
    "zstd": {"drain", "formats"}, "xxhash": {"drain", "formats"},
    "jansson": {"formats"}, "protobuf-c": {"formats"},
    "libdw": {"stream"}, "libdwfl": {"stream"}, "libelf": {"stream"}, "gelf": {"stream"}, "dwarf": {"stream"},
    "hwloc": {"topology"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
LINES_MAX = 1000


def check_use(where, layer, used, name, problems):
    """`layer` sees the header `name`, which lies in layer `used`, or (None) outside of the project."""
    if used in ALLOWED:
        if used != layer and used not in ALLOWED[layer] and name not in SHARED:
            problems.add(f"{where}: {layer} may not use {used}")
        elif used != layer and PRIVATE.match(name):
            problems.add(f"{where}: private to {used}")
        return
    if VENDOR.search(name) and layer != "capture":
        problems.add(f"{where}: vendor headers belong to capture")
    library = re.split(r"[/.]", name.replace("elfutils/", ""))[0]
    if library in LIBRARIES and layer not in LIBRARIES[library]:
        problems.add(f"{where}: {layer} may not use {library}")


# ---- as written --------------------------------------------------------------------------------

def check_file(root, path, layer, problems):
    with open(os.path.join(root, path), encoding="utf-8") as f:
        lines = f.readlines()
    if len(lines) > LINES_MAX:
        problems.add(f"{path}: {len(lines)} lines, more than {LINES_MAX}")
    for number, line in enumerate(lines, 1):
        m = INCLUDE.match(line)
        if m:
            used = m.group(2).split("/")[0] if m.group(1) == '"' else None
            check_use(f"{path}:{number}: {m.group(2)}", layer, used, m.group(2), problems)


def check_written(root, problems):
    files = 0
    for layer in sorted(os.listdir(os.path.join(root, "src"))):
        folder = os.path.join(root, "src", layer)
        if os.path.isdir(folder) and layer not in ALLOWED:
            problems.add(f"src/{layer}: a folder that the table of layers does not have")
            continue
        for inside, _, names in os.walk(folder):
            for name in names:
                if name.endswith((".c", ".h", ".inc")):
                    files += 1
                    check_file(root, os.path.relpath(os.path.join(inside, name), root), layer, problems)
    return files


# ---- as the compiler read it -------------------------------------------------------------------

def objects(build):
    """(object, headers and source) of each that ninja knows, paths as the compiler printed them."""
    text = subprocess.run(["ninja", "-C", build, "-t", "deps"], capture_output=True, text=True, check=True).stdout
    for block in text.split("\n\n"):
        lines = block.splitlines()
        if lines and "#deps" in lines[0] and "VALID" in lines[0]:
            yield lines[0].split(":")[0], [line.strip() for line in lines[1:]]


def layer_of(path, top):
    """Layer of a path below `top`/src, or None."""
    parts = os.path.relpath(path, top).split(os.sep)
    return parts[1] if len(parts) > 2 and parts[0] == "src" else None


def outside(path):
    """A header of the system as one would include it."""
    return re.sub(r"^.*/include/(x86_64-linux-gnu/|aarch64-linux-gnu/)?", "", path)


def check_read(root, build, problems):
    count = 0
    for name, files in objects(build):
        layer = layer_of(os.path.join(build, name), build)
        if layer not in ALLOWED:
            continue
        count += 1
        for path in files:
            path = os.path.normpath(os.path.join(build, path))
            used = layer_of(path, build) or layer_of(path, root)
            inner = used and path[path.index(f"/src/{used}/") + len("/src/"):]
            public = path.startswith(os.path.join(root, "include") + os.sep)
            if inner and used not in ALLOWED:
                problems.add(f"{name}: {inner}: a folder that the table of layers does not have")
            elif inner and not path.endswith((".c", ".cpp")):
                check_use(f"{name}: {inner}", layer, used, inner, problems)
            elif not inner and not public:
                check_use(f"{name}: {path}", layer, None, outside(path), problems)
    if not count:
        problems.add(f"{build}: ninja knows no objects")
    return count


def main():
    root = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else ".")
    problems = set()
    files = check_written(root, problems)
    read = check_read(root, os.path.abspath(sys.argv[2]), problems) if len(sys.argv) > 2 else 0
    if not files:
        problems.add(f"{root}: no sources found")
    for p in sorted(problems):
        print(p)
    print(f"layers: {files} files, {read} objects, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
