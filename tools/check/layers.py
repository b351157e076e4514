#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that includes follow the order of the layers, that files stay small, that backends have one shape.

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
    "lanes": {"base"},
    "ptx": {"base"},
    "handlers": {"base", "lanes"},
    "wire": {"base"},
    "topology": {"base"},
    "core": {"base", "lanes", "handlers", "record", "wire", "topology"},
    "capture": {"base", "ptx", "record", "wire", "topology", "register", "core"},
    "launch": {"base"},
    "attach": {"base", "wire"},
    "recorder": set(),
    "register": set(),
    "inject": {"base", "lanes", "record", "wire", "topology", "core", "capture", "recorder"},
    "stream": {"base", "record", "wire"},
    "drain": {"base", "wire"},
    "telemetry": {"base", "wire", "drain"},
    "tally": {"base", "record", "wire", "stream"},
    "sql": {"base"},
    "formats": {"base", "record", "wire", "stream", "tally", "sql"},
    "follow": {"base", "record", "wire", "stream", "drain", "formats"},
    "analysis": {"base", "record", "wire", "sql", "stream", "functions", "tally", "formats"},
    "report": {"base", "record", "wire", "sql", "stream", "tally", "formats", "analysis"},
    "roofs": {"base", "topology"},
    "metrics": {"base", "record", "wire", "sql", "stream", "tally", "formats", "analysis", "roofs"},
    "page": {"base", "record", "wire", "sql", "stream", "tally", "formats", "analysis", "metrics", "report", "roofs"},
    "rewrite": {"base"},
    "functions": {"base", "record", "wire", "stream"},
    "cli": {"base", "lanes", "handlers", "record", "wire", "sql", "topology", "stream", "tally", "drain", "telemetry", "formats", "follow", "analysis", "metrics", "report", "roofs",
            "page", "functions", "ptx", "rewrite", "launch", "attach"},
}
# Headers that the rooms of a layer have for each other: no other layer sees them.
PRIVATE = {f"core/{name}.h" for name in (
    "process/process", "context/context", "ring/ring", "define/define", "activity/submission", "deliver/deliver",
    "deliver/pass", "tool/tool", "tally/tally", "sample/host", "marker/range")}
VENDOR = re.compile(r"(^|/)(CL|rdma|cuda|cupti|nvtx3|level_zero|hip|hsa|rocprofiler-sdk|mpich|openmpi|omp-tools|ompt|mpi|nvml|papi|"
                    r"ittnotify|ze_|zes_|zet_|Kokkos|kp_)(\b|[a-z_]*\.h$|/)")
# Libraries that are no vendor's: which layers may see their headers.
LIBRARIES = {
    "sqlite3": {"sql", "formats", "analysis", "metrics", "report", "page", "cli"},
    "zstd": {"drain", "formats"}, "xxhash": {"drain", "formats", "follow"},
    "jansson": {"formats", "roofs"}, "protobuf-c": {"formats"},
    "libdw": {"stream", "attach"}, "libdwfl": {"stream", "attach"}, "libelf": {"stream", "attach"}, "gelf": {"stream", "attach"}, "dwarf": {"stream"},
    "hwloc": {"topology"}, "curses": {"cli"}, "microhttpd": {"page"}, "capstone": {"functions"}, "yaml": {"metrics"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
LINES_MAX = 1000


# Folders of these layers are leaves: none is built on another.
LEAVES = {"capture", "formats"}
# Layers in which no file with its header depends on itself by way of others.
NO_CIRCLES = {"capture"}
# What of a backend is compiled into the command line: it sees that, its own folder, and nothing else of capture.
LAUNCH = re.compile(r"^capture/[^/]+/launch\.c$")


def check_inner(where, place, used, problems):
    """The file `place` sees `used`; both are paths below src."""
    layer, other = place.split("/")[0], used.split("/")[0]
    same_folder = place.split("/")[:2] == used.split("/")[:2]
    leaf = layer in LEAVES and place.count("/") > 1 and used.count("/") > 1
    if LAUNCH.match(place):
        layer = "launch"
    elif other == "launch" and layer == "capture":
        layer = "what runs in programs"
    if layer == other and leaf and not same_folder:
        problems.add(f"{where}: {'/'.join(place.split('/')[:2])} may not use {'/'.join(used.split('/')[:2])}: no "
                     f"folder of {layer} uses another")
    elif layer != other and not same_folder and other not in ALLOWED.get(layer, ()):
        problems.add(f"{where}: {layer} may not use {other}")
    elif layer != other and used in PRIVATE:
        problems.add(f"{where}: private to {other}")


def check_use(where, place, used, name, problems):
    """The file `place` sees the header `name`, which is `used` below src, or (None) outside of the project."""
    layer = place.split("/")[0]
    if used and used.split("/")[0] in ALLOWED:
        check_inner(where, place, used, problems)
        return
    # Roofs need declarations of OpenCL's, whose library is loaded by its name.
    if VENDOR.search(name) and layer != "capture" and not (layer == "roofs" and name.startswith("CL/")):
        problems.add(f"{where}: vendor headers belong to capture")
    library = re.split(r"[/.]", name.replace("elfutils/", ""))[0]
    if library in LIBRARIES and layer not in LIBRARIES[library]:
        problems.add(f"{where}: {layer} may not use {library}")


# ---- as written --------------------------------------------------------------------------------

def check_file(root, path, problems):
    """Returns the headers of the project that the file includes, as paths in `root`."""
    with open(os.path.join(root, path), encoding="utf-8") as f:
        lines = f.readlines()
    if len(lines) > LINES_MAX:
        problems.add(f"{path}: {len(lines)} lines, more than {LINES_MAX}")
    own = []
    for number, line in enumerate(lines, 1):
        m = INCLUDE.match(line)
        if m:
            used = m.group(2) if m.group(1) == '"' else None
            check_use(f"{path}:{number}: {m.group(2)}", path[len("src/"):], used, m.group(2), problems)
            if used:
                own.append("src/" + used)
    return own


def check_circles(includes, problems, what="includes"):
    """No file may include itself by way of others: `includes` has for each what it includes."""
    done = set()

    def visit(path, way):
        if path in way:
            problems.add(f"circle of {what}: " + " -> ".join(way[way.index(path):] + [path]))
        elif path not in done:
            for other in includes.get(path, ()):
                visit(other, way + [path])
            done.add(path)

    for path in sorted(includes):
        visit(path, [])


def units(includes):
    """A file and its header are a unit; those of layers that have no circles of units."""
    out = {}
    for path, used in includes.items():
        if path.split("/")[1] in NO_CIRCLES:
            unit = os.path.splitext(path)[0]
            out.setdefault(unit, set()).update({os.path.splitext(u)[0] for u in used} - {unit})
    return {unit: sorted(used) for unit, used in out.items()}


def check_backends(root, problems):
    """All folders of capture have one shape (src/capture/README.md), and say which file plays which part."""
    capture = os.path.join(root, "src", "capture")
    if not os.path.exists(os.path.join(capture, "backends.list")):
        return
    with open(os.path.join(capture, "backends.list"), encoding="utf-8") as f:
        listed = {line.split()[0] for line in f if line.strip() and not line.startswith("#")}
    folders = {name for name in os.listdir(capture) if os.path.isdir(os.path.join(capture, name))}
    problems |= {f"src/capture/{name}: in backends.list, and no folder" for name in listed - folders}
    for name in sorted(folders):
        names = os.listdir(os.path.join(capture, name))
        for needed in ["README.md"] + (["launch.c", "door.c"] if name in listed else []):
            if needed not in names:
                problems.add(f"src/capture/{name}: no {needed}")
        if "README.md" not in names:
            continue
        with open(os.path.join(capture, name, "README.md"), encoding="utf-8") as f:
            said = set(re.findall(r"`([\w.]+)`", f.read()))
        for source in names:
            if source.endswith(".c") and source not in said:
                problems.add(f"src/capture/{name}/README.md: does not say what {source} is for")
        for source in said:
            if source.endswith(".c") and source not in names:
                problems.add(f"src/capture/{name}/README.md: there is no {source}")


def check_written(root, problems):
    includes = {}
    for layer in sorted(os.listdir(os.path.join(root, "src"))):
        folder = os.path.join(root, "src", layer)
        if os.path.isdir(folder) and layer not in ALLOWED:
            problems.add(f"src/{layer}: a folder that the table of layers does not have")
            continue
        for inside, _, names in os.walk(folder):
            for name in names:
                if name.endswith((".c", ".h", ".inc")):
                    path = os.path.relpath(os.path.join(inside, name), root)
                    includes[path] = check_file(root, path, problems)
    check_circles(includes, problems)
    check_circles(units(includes), problems, "units")
    return len(includes)


# ---- as the compiler read it -------------------------------------------------------------------

def objects(build):
    """(object, headers and source) of each that ninja knows, paths as the compiler printed them."""
    text = subprocess.run(["ninja", "-C", build, "-t", "deps"], capture_output=True, text=True, check=True).stdout
    for block in text.split("\n\n"):
        lines = block.splitlines()
        if lines and "#deps" in lines[0] and "VALID" in lines[0]:
            yield lines[0].split(":")[0], [line.strip() for line in lines[1:]]


def place_of(path, *tops):
    """The path below src of one of these folders, or None."""
    for top in tops:
        parts = os.path.relpath(path, top).split(os.sep)
        if len(parts) > 2 and parts[0] == "src":
            return "/".join(parts[1:])
    return None


def outside(path):
    """A header of the system as one would include it."""
    return re.sub(r"^.*/include/(x86_64-linux-gnu/|aarch64-linux-gnu/)?", "", path)


def check_read(root, build, problems):
    count = 0
    for name, files in objects(build):
        files = [os.path.normpath(os.path.join(build, path)) for path in files]
        made = place_of(os.path.join(build, name), build)  # what is generated belongs where it is compiled
        place = made and (place_of(files[0], root) or made)
        if not place or place.split("/")[0] not in ALLOWED:
            continue
        count += 1
        for path in files:
            used = place_of(path, build, root)
            public = path.startswith(os.path.join(root, "include") + os.sep)
            if used and used.split("/")[0] not in ALLOWED:
                problems.add(f"{name}: {used}: a folder that the table of layers does not have")
            elif used and not path.endswith((".c", ".cpp")):
                check_use(f"{name}: {used}", place, used, used, problems)
            elif not used and not public:
                check_use(f"{name}: {path}", place, None, outside(path), problems)
    if not count:
        problems.add(f"{build}: ninja knows no objects")
    return count


# ---- as it is explained -------------------------------------------------------------------------

def check_explained(root, problems):
    """The tables of docs/architecture.md: | `layer` | what it is | what it may use |, and | `room` | ... of core."""
    page = "docs/architecture.md"
    if not os.path.exists(os.path.join(root, page)):
        return
    with open(os.path.join(root, page), encoding="utf-8") as f:
        text = f.read()
    rows = re.search(r"^\| folder of `src` .*\n\|.*\n((\|.*\n)+)", text, re.M)
    shown = {}
    for name, used in re.findall(r"^\| `(\w+)[^`]*` \|.*\| (.*) \|$", rows[1] if rows else "", re.M):
        shown[name] = {word.strip() for word in used.split(",")} - {"-"}
    for layer in sorted(set(shown) | set(ALLOWED)):
        if layer not in shown:
            problems.add(f"{page}: {layer} is not in the table of folders")
        elif shown[layer] != ALLOWED.get(layer):
            problems.add(f"{page}: {layer} may use {', '.join(sorted(shown[layer])) or 'nothing'}: layers.py has another answer")
    rooms = re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", text, re.M)))
    core = os.path.join(root, "src", "core")
    for room in sorted(os.listdir(core) if os.path.isdir(core) else ()):
        if os.path.isdir(os.path.join(core, room)) and room not in rooms:
            problems.add(f"{page}: {room} is not in the table of core's rooms")


def main():
    root = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else ".")
    problems = set()
    files = check_written(root, problems)
    check_explained(root, problems)
    check_backends(root, problems)
    read = check_read(root, os.path.abspath(sys.argv[2]), problems) if len(sys.argv) > 2 else 0
    if not files:
        problems.add(f"{root}: no sources found")
    for p in sorted(problems):
        print(p)
    print(f"layers: {files} files, {read} objects, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
