#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Extract the facts about OpenCL that its headers state.

A developer's step, run by hand when the headers move on: it reads the installed Khronos headers and
writes api/opencl/functions.json (functions in the order of the ICD dispatch table, then the
extension functions) and api/opencl/enums.json (named values by the type they belong to). What no
header says (directions, lengths, classes of work, prototypes that have changed) is kept by hand in api/opencl/facts.json.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

HEADERS = ["cl.h", "cl_ext.h", "cl_gl.h", "cl_egl.h", "cl_ext_intel.h", "cl_icd.h", "cl_layer.h"]
ENUM_HEADERS = ["cl.h", "cl_ext.h", "cl_ext_intel.h", "cl_gl.h", "cl_egl.h"]
CONTINUES = "..."  # a comment inside a set that does not end it
VERSIONS = ["1_0", "1_1", "1_2", "2_0", "2_1", "2_2"]


def preprocess(include, compiler):
    """All headers as one text without comments and macros."""
    source = "".join(f"#include <CL/{name}>\n" for name in HEADERS)
    defines = ["-DCL_TARGET_OPENCL_VERSION=300", "-DCL_ENABLE_BETA_EXTENSIONS"]
    defines += [f"-DCL_USE_DEPRECATED_OPENCL_{v}_APIS" for v in VERSIONS]
    command = [compiler, "-E", "-P", "-x", "c", f"-I{include}", *defines, "-"]
    done = subprocess.run(command, input=source, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"extract_opencl: {compiler} failed:\n{done.stderr}")
    return strip_attributes(done.stdout)


def strip_attributes(text):
    """Drop __attribute__((...)), whose parentheses nest."""
    out = []
    at = 0
    for match in re.finditer(r"__attribute__\s*\(", text):
        if match.start() < at:
            continue
        out.append(text[at:match.start()])
        depth, at = 1, match.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            at += 1
    out.append(text[at:])
    return re.sub(r"__extension__", "", "".join(out))


def tidy(ctype):
    """One spelling for a C type: single blanks, stars together after one blank."""
    ctype = " ".join(ctype.split())
    ctype = re.sub(r"\s*\*\s*", "*", ctype)
    ctype = re.sub(r"(?<![*\s])\*", " *", ctype)
    ctype = re.sub(r"\*(?=\w)", "* ", ctype)
    return ctype.strip()


def split_arguments(text):
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += {"(": 1, ")": -1}.get(c, 0)
        if c == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    parts.append(text[start:])
    return [p.strip() for p in parts]


def parse_argument(text, position):
    """A parameter's name and type; an array is given as the pointer that it is."""
    callback = re.match(r"(.*)\(\s*\*\s*(\w*)\s*\)\s*\((.*)\)$", text, re.S)
    if callback:
        result, name, args = callback.groups()
        inner = ", ".join(" ".join(a.split()) for a in split_arguments(args))
        inner = re.sub(r"\s*\*\s*", " *", inner)
        return {"name": name or f"arg{position}", "type": f"{tidy(result)} (*)({inner})"}
    array = re.match(r"(.*?)(\w+)\s*\[\s*\d*\s*\]$", text, re.S)
    if array:
        return {"name": array.group(2), "type": tidy(array.group(1) + " *")}
    plain = re.match(r"(.*?[\s*])(\w+)$", text, re.S)
    if plain and not re.fullmatch(r"(const|unsigned|struct)\s*", plain.group(1)):
        return {"name": plain.group(2), "type": tidy(plain.group(1))}
    return {"name": f"arg{position}", "type": tidy(text)}


def parse_arguments(text):
    if text.strip() in ("", "void"):
        return []
    return [parse_argument(a, i) for i, a in enumerate(split_arguments(text))]


def balanced(text, start):
    """The text between the parenthesis at start and its partner."""
    depth, at = 0, start
    while True:
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
        if depth == 0:
            return text[start + 1:at - 1]


def parse_functions(text):
    """name -> {return, params}: prototypes first, else the function pointer types."""
    found = {}
    pointer = r"typedef\s+([\w\s*]+?)\(\s*\*\s*(?:cl_api_)?(cl[A-Z]\w*?)(?:_fn)?\s*\)\s*\("
    for pattern in (r"extern\s+([\w\s*]+?[\s*])(cl[A-Z]\w*)\s*\(", pointer):
        for match in re.finditer(pattern, text):
            result, name = match.groups()
            params = parse_arguments(balanced(text, match.end() - 1))
            old = found.get(name)
            if old is None or any(p["name"].startswith("arg") and p["name"][3:].isdigit()
                                  for p in old["params"]):
                found[name] = {"return": tidy(result), "params": params}
    return found


def parse_table(text):
    """Names of the dispatch table's entries in order."""
    body = re.search(r"typedef\s+struct\s+_cl_icd_dispatch\s*\{(.*?)\}\s*cl_icd_dispatch", text,
                     re.S)
    entries = [line.strip() for line in body.group(1).split(";") if line.strip()]
    return [re.search(r"(\w+)$", entry).group(1) for entry in entries]


def evaluate(text, known):
    text = re.sub(r"/\*.*?\*/|//.*", "", text).strip()
    text = re.sub(r"\(cl_\w+\)", "", text)
    text = re.sub(r"(?<=[0-9a-fA-F])(u|U|l|L)+\b", "", text)
    text = re.sub(r"\bCL_\w+\b", lambda m: str(known.get(m.group(0), "?")), text)
    if not re.fullmatch(r"[0-9a-fA-FxX\s()<|+*-]+", text):
        return None
    try:
        return int(eval(text, {"__builtins__": {}}))
    except (SyntaxError, TypeError, NameError):
        return None


def set_of_comment(comment):
    """The enum type a header comment announces, or None."""
    comment = " ".join(comment.split())
    lower = comment.lower()
    if re.match(r"(additional )?error codes?", lower):
        return "cl_status"
    if lower.startswith("command execution status"):
        return "cl_execution_status"
    query = re.search(r"clGet(Device|Platform|Program|Context|Event|Kernel)Info", comment)
    if query:
        return f"cl_{query.group(1).lower()}_info"
    named = re.match(r"(?:accepted as .*|bitfield type for )?\(?(cl_[a-z0-9_]+)\b", comment)
    if named:
        return named.group(1)
    return CONTINUES if re.match(r"(reserved|0x|used in|these enumerants)", lower) else None


def parse_enums(include):
    """Sets in header order: type -> {bitfield, values}. A comment names the set of what follows."""
    sets, known = {}, {}
    for header in ENUM_HEADERS:
        text = (include / "CL" / header).read_text()
        text = re.sub(r"\\\n", " ", text)
        current = None
        token = re.compile(r"/\*(.*?)\*/|^[ \t]*#[ \t]*define[ \t]+(CL_\w+)[ \t]+([^\n]+)$"
                           r"|^(typedef|extern)\b", re.S | re.M)
        for match in token.finditer(text):
            comment, name, value, code = match.groups()
            if comment is not None:
                announced = set_of_comment(comment)
                if announced == CONTINUES:
                    continue
                current = announced
                if current and "bitfield" in comment:
                    sets.setdefault(current, {"bitfield": True, "values": {}})["bitfield"] = True
            elif code:
                current = current if code == "typedef" else None
            else:
                number = evaluate(value, known)
                if number is None:
                    continue
                known[name] = number
                if current:
                    entry = sets.setdefault(current, {"bitfield": False, "values": {}})
                    entry["values"].setdefault(name, number)
    return {k: v for k, v in sets.items() if v["values"]}, known


# Where values go whose comment names no set, or the wrong one: name pattern -> set.
STRAYS = [
    (r"CL_DEVICE_(TERMINATE|SPIR|PROFILING|TOPOLOGY_AMD|BOARD|GLOBAL|SIMD|WAVEFRONT|LOCAL_MEM|THREAD"
     r"|GFXIP|AVAILABLE_ASYNC|PREFERRED|MAX_WORK|PCIE|PARENT|PARTITION_(TYPES|STYLE)|AFFINITY_DOMAINS"
     r"|REFERENCE|CXX|EXT_MEM|PAGE|UUID|LUID|NODE|COMPUTE_UNITS|NUM_SIMUL|SUB_GROUP|PLANAR|AVC|IMAGE"
     r"|COMPUTE_CAP|REGISTERS|WARP|GPU_OVERLAP|KERNEL_EXEC|INTEGRATED|HALF_FP)\w*", "cl_device_info"),
    (r"CL_DRIVER_UUID_KHR", "cl_device_info"),
    (r"CL_COMMAND_(SVM|ACQUIRE|RELEASE|GENERATE|MIGRATE|GL|EGL)_\w+", "cl_command_type"),
    (r"CL_QUEUE_(PRIORITY|THROTTLE)_KHR|CL_QUEUE_JOB_SLOT_ARM", "cl_queue_properties"),
    (r"CL_CONTEXT_(MEMORY_INITIALIZE|TERMINATE)_KHR|CL_CONTEXT_SHOW_DIAGNOSTICS_INTEL"
     r"|CL_CONTEXT_OFFLINE_DEVICES_AMD|CL_PRINTF_\w+_ARM|CL_(GL_CONTEXT|EGL_DISPLAY|GLX_DISPLAY)_KHR",
     "cl_context_properties"),
    (r"CL_PROGRAM_BINARY_TYPE_INTERMEDIATE", "cl_program_binary_type"),
    (r"CL_KERNEL_(SPILL|COMPILE_SUB)\w+_INTEL", "cl_kernel_work_group_info"),
    (r"CL_KERNEL_EXEC_INFO_\w+", "cl_kernel_exec_info"),
    (r"CL_(YUYV|UYVY|YVYU|VYUY|NV12)_INTEL", "cl_channel_order"),
    (r"CL_MEM_(USE_PERSISTENT_MEM_AMD|NO_ACCESS_INTEL|ACCESS_FLAGS_UNRESTRICTED_INTEL"
     r"|SVM_\w+_ARM|PROTECTED_ALLOC_ARM)", "cl_mem_flags"),
    (r"CL_MEM_CHANNEL_INTEL", "cl_mem_properties"),
    (r"CL_(ON_DEVICE|OUT_OF_ORDER|QUEUE_THREAD_LOCAL_EXEC_ENABLE_INTEL|QUEUE_NO_SYNC\w+)",
     "cl_command_queue_properties"),
    (r"CL_QUEUE_PROPERTIES", "cl_queue_properties"),
]


def claim_strays(sets, known):
    """Put values where STRAYS says; a negative value that nobody claimed is an error code."""
    claimed = {name for entry in sets.values() for name in entry["values"]}
    for name, value in known.items():
        for pattern, target in STRAYS:
            if re.fullmatch(pattern, name) and name not in sets[target]["values"]:
                if name != "CL_QUEUE_PROPERTIES":
                    for entry in sets.values():
                        entry["values"].pop(name, None)
                sets[target]["values"][name] = value
                break
        else:
            if name not in claimed and value < -1:
                sets["cl_status"]["values"][name] = value


def write_json(path, value):
    path.write_text(json.dumps(value, indent="\t") + "\n")
    print(f"wrote {path}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--include", type=pathlib.Path, default=pathlib.Path("/usr/include"))
    parser.add_argument("--compiler", default="cc")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    args = parser.parse_args()

    text = preprocess(args.include, args.compiler)
    functions = parse_functions(text)
    table = parse_table(text)
    rows = []
    for index, name in enumerate(table):
        known = functions.pop(name, None)
        row = {"name": name, "table": index}
        rows.append({**row, **known} if known else row)
    for name in sorted(functions):
        if name not in ("clGetLayerInfo", "clInitLayer"):
            rows.append({"name": name, **functions[name]})
    sets, known = parse_enums(args.include)
    claim_strays(sets, known)
    write_json(args.out / "functions.json", {"domain": "opencl", "functions": rows})
    write_json(args.out / "enums.json", {"domain": "opencl", "sets": dict(sorted(sets.items()))})


if __name__ == "__main__":
    main()
