#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Extract the functions of libraries that are recorded where they are named, from their headers.

A developer's step, run by hand when the headers move on:

    extract_named.py [--include FOLDER ...] --out api DOMAIN ...

DOMAIN is numa (numa.h, numaif.h), ucx (ucp/api/ucp.h), openshmem (shmem.h), vaapi (va/va.h and the headers of displays) or
oneccl (oneapi/ccl.hpp). The C preprocessor ($CC) reads the headers, for oneCCL the C++ compiler ($CXX) names the functions.
Writes functions.json of api/DOMAIN, as extract_exports.py does; what no header says is in facts.json beside them.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys

from extract_exports import SCALARS, declared
from extract_rocm import enum_values, parameter, split_params

# Headers, functions, those left out (arguments of no fixed number, what a program may replace), status and its codes.
DOMAINS = {
    "numa": (["numa.h", "numaif.h"], r"(?:numa_|mbin|[gs]et_mempolic|move_page|migrate_page)",
             r"numa_(error|warn)|\w*_int|numa_(get|set)_bind_policy", None, None),
    "ucx": (["ucp/api/ucp.h"], "ucp_", r"\w+_print(_info)?", "ucs_status_t", "enum"),
    # Atomics by type and in contexts, and names that OpenSHMEM 1.4 replaced, are too many for what they tell.
    "openshmem": (["shmem.h"], "shmem_", r"shmem_ctx_\w+_(atomic_\w+|i(?:put|get))|shmem_ctx_i?(put|get)\d+(_nbi)?|shmem_u?longlong_atomic_\w+|"
                  r"shmem_(ctx_)?(schar|uchar|ushort|u?int(8|16|32|64)|longdouble|ptrdiff)_\w+|"
                  r"shmem_\w*(fadd|finc|cswap|cache\w*|udcflush\w*)|shmem_(int|long|longlong|float|double)_(add|inc|set|fetch|swap)",
                  None, None),
    "vaapi": (["va/va.h", "va/va_drm.h", "va/va_x11.h", "va/va_wayland.h"], "va[A-Z]", r"va\w+(Callback|Info\w*Log)", "VAStatus",
              r"VA_STATUS_\w+"),
}
CTYPES = {"char": ["signed", 1], "signed char": ["signed", 1], "unsigned char": ["unsigned", 1],
          "short": ["signed", 2], "short int": ["signed", 2], "signed short int": ["signed", 2], "unsigned short": ["unsigned", 2],
          "unsigned short int": ["unsigned", 2], "long": ["signed", 8], "long int": ["signed", 8],
          "unsigned long": ["unsigned", 8], "unsigned long int": ["unsigned", 8],
          "unsigned long long int": ["unsigned", 8], "_Bool": ["unsigned", 1], **SCALARS}

# oneCCL: name for people, result, parameters. A result of a class is a pointer to where it goes, passed first.
CCL_COMM = "const ccl::communicator &comm"


def ccl_functions():
    """Collectives on untyped memory, each with and without a stream; groups, start, barrier, sending."""
    shapes = {
        "allgather": "const void *send_buf, void *recv_buf, size_t send_count, ccl::datatype dtype, C",
        "allgatherv": "const void *send_buf, size_t send_count, void *recv_buf, "
                      "const ccl::vector_class<size_t> &recv_counts, ccl::datatype dtype, C",
        "allreduce": "const void *send_buf, void *recv_buf, size_t count, ccl::datatype dtype, "
                     "ccl::reduction rtype, C",
        "alltoall": "const void *send_buf, void *recv_buf, size_t count, ccl::datatype dtype, C",
        "alltoallv": "const void *send_buf, const ccl::vector_class<size_t> &send_counts, void *recv_buf, "
                     "const ccl::vector_class<size_t> &recv_counts, ccl::datatype dtype, C",
        "barrier": "C",
        "broadcast": "void *buf, size_t count, ccl::datatype dtype, int root, C",
        "recv": "void *recv_buf, size_t recv_count, ccl::datatype dtype, int peer, C",
        "reduce": "const void *send_buf, void *recv_buf, size_t count, ccl::datatype dtype, "
                  "ccl::reduction rtype, int root, C",
        "reduce_scatter": "const void *send_buf, void *recv_buf, size_t recv_count, ccl::datatype dtype, "
                          "ccl::reduction rtype, C",
        "send": "void *send_buf, size_t send_count, ccl::datatype dtype, int peer, C",
    }
    yield "ccl::group_start", "void", ""
    yield "ccl::group_end", "void", ""
    yield "ccl::init", "void", "const ccl::init_attr &attr"
    for name, shape in shapes.items():
        kind = "pt2pt" if name in ("send", "recv") else name
        rest = f", const ccl::{kind}_attr &attr, const ccl::vector_class<ccl::event> &deps"
        for stream in (", const ccl::stream &stream", ""):
            yield f"ccl::{name}{'' if stream else ' (host)'}", "ccl::event", shape.replace("C", CCL_COMM) + stream + rest


def run(words, text):
    done = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout


def preprocessed(headers, folders, *options):
    compiler = os.environ.get("CC", "cc").split()
    text = "".join(f"#if __has_include(<{h}>)\n#include <{h}>\n#endif\n" for h in headers)
    return run([*compiler, "-E", "-P", *options, *[f"-I{f}" for f in folders], "-xc", "-"], text)


def without_attributes(text):
    text = re.sub(r"__attribute__\s*\(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\)", " ", text)
    return re.sub(r"__(?:extension|restrict|inline)(?:__)?|\brestrict\b", " ", text)


def type_row(ctype, text, depth=0):
    """Kind and bytes of a type, and the set of its values; None: not passed by value, or a plain pointer."""
    if ctype in CTYPES:
        return CTYPES[ctype], None
    if "*" in ctype or depth > 8 or not re.match(r"[\w ]+$", ctype):
        return None, None
    name = re.escape(ctype)
    body = re.search(r"typedef\s+enum\s*\w*\s*(\{[^}]*\})\s*" + name + r"\s*;", text)
    if body:
        values = enum_values("enum " + body.group(1), r"\w+")
        return (["enum", 4, ctype], values) if values else (["signed", 4], None)
    if re.search(r"typedef\s+enum\s+\w+\s+" + name + r"\s*;", text):
        return ["signed", 4], None
    if re.search(r"typedef\s+[\w\s*]+\(\s*\*\s*" + name + r"\s*\)", text):
        return ["pointer", 8], None
    base = re.search(r"typedef\s+([^;{}()]+?|struct\s*\{[^}]*\}\s*)(\*?)\s*\b" + name + r"\s*;", text)
    if base and base.group(2):
        return ["handle", 8], None
    if not base:
        return None, None
    return type_row(re.sub(r"\s+", " ", base.group(1)).strip(), text, depth + 1)


def described(domain, functions, text, status):
    types, sets, out = {}, {}, []
    for f in functions:
        for ctype in {p["type"] for p in f["params"]} | {f["return"]}:
            for one in (ctype, re.sub(r"\s*\*$", "", ctype)):
                row, values = type_row(one, text)
                if row and one != status:
                    types[one] = row
                if values and one == ctype and one != status:
                    sets[one] = values
        out += [f"{f['name']}.{p['name']}" for p in f["params"]
                if types.get(re.sub(r"\s*\*$", "", p["type"]), [""])[0] == "handle" and
                p["type"].endswith("*") and "const" not in p["type"]]
    return {"domain": domain, "tables": [{"name": domain, "functions": functions}], "status": {},
            "types": dict(sorted(types.items())), "sets": dict(sorted(sets.items())), "out": out}


def status_codes(how, status, text, headers, folders):
    if not how:
        return {}
    if how == "enum":
        body = re.search(r"typedef\s+enum\s*\w*\s*(\{[^}]*\})\s*" + status + r"\s*;", text)
        return enum_values("enum " + body.group(1), r"\w+")
    macros = preprocessed(headers, folders, "-dM")
    found = re.findall(r"#define (" + how + r") (0x[0-9a-fA-F]+|\d+)\s*$", macros, flags=re.M)
    return {n: int(v, 0) for n, v in sorted(found, key=lambda x: int(x[1], 0)) if int(v, 0) < 1 << 31}


def extract_c(domain, folders):
    headers, prefix, but, status, how = DOMAINS[domain]
    text = without_attributes(preprocessed(headers, folders))
    functions = [f for f in declared(text, prefix) if not re.fullmatch(but, f["name"])
                 and not any("..." in p["type"] for p in f["params"])]
    model = described(domain, functions, text, status)
    model["status"] = status_codes(how, status, text, headers, folders)
    return model


def mangled(signatures, folders):
    """The exported name of each function, as the compiler has it."""
    source = "#include <oneapi/ccl.hpp>\n"
    for i, (name, result, params) in enumerate(signatures):
        plain = name.replace(" (host)", "")
        source += f"extern {result} (*f{i})({params});\n{result} (*f{i})({params}) = &{plain};\n"
    compiler = os.environ.get("CXX", "c++").split()
    text = run([*compiler, "-S", "-fno-pie", "-o", "-", *[f"-I{f}" for f in folders], "-xc++", "-std=c++17", "-"], source)
    found = dict(re.findall(r"^f(\d+):\s*\n\s*\.quad\s+(\w+)", text, flags=re.M))
    return [found[str(i)] for i in range(len(signatures))]


def extract_ccl(folders):
    signatures = list(ccl_functions())
    functions = []
    for (name, result, params), symbol in zip(signatures, mangled(signatures, folders)):
        rows = [parameter(p.replace("&", "*").replace("ccl::", ""), i) for i, p in enumerate(split_params(params))]
        if result != "void":
            rows.insert(0, {"name": "event", "type": "void *"})
        functions.append({"name": name, "symbol": symbol, "return": "void", "params": rows})
    header = next(pathlib.Path(f) / "oneapi/ccl/types.hpp" for f in folders)
    text = re.sub(r"CCL_\w+|enum\s+class\s+(\w+)\s*:\s*int", r"enum \1", header.read_text(encoding="utf-8"))
    sets = {n: {k: v for k, v in enum_values(re.search(r"enum\s+" + n + r"\s*\{[^}]*\}", text).group(0), r"\w+").items()
                if k != "last_predefined"} for n in ("datatype", "reduction")}
    return {"domain": "oneccl", "tables": [{"name": "oneccl", "functions": sorted(functions, key=lambda f: f["symbol"])}],
            "status": {}, "types": {n: ["enum", 4, n] for n in sets} | {"size_t": ["size", 8], "int": ["signed", 4]},
            "sets": sets, "out": []}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--include", default=[], action="append", type=pathlib.Path)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("domains", nargs="+", choices=[*DOMAINS, "oneccl"])
    args = parser.parse_args()
    for domain in args.domains:
        model = extract_ccl(args.include) if domain == "oneccl" else extract_c(domain, args.include)
        (args.out / domain).mkdir(exist_ok=True)
        path = args.out / domain / "functions.json"
        path.write_text(json.dumps(model, indent=1) + "\n", encoding="utf-8")
        print(path, len(model["tables"][0]["functions"]), "functions", len(model["status"]), "codes",
              len(model["types"]), "types")


if __name__ == "__main__":
    main()
