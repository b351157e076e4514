#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Extract the functions of libraries that are entered by their exported names, from their headers.

A developer's step, run by hand when the headers move on:

    extract_exports.py --include FOLDER [--include FOLDER ...] --out api

Looks in the folders for nccl.h, cublas_api.h, cublasLt.h, cufft.h, nvrtc.h, hiprtc.h and cuDNN's headers, and writes
functions.json of api/nccl, api/cublas, api/cublaslt, api/cufft, api/nvrtc, api/hiprtc and api/cudnn: functions by name, the
types of their parameters, names of enum values. What no header says is in facts.json beside them.
"""

import argparse
import json
import pathlib
import re
import sys

from extract_rocm import enum_values, parameter, read, split_params

DOMAINS = {
    "nccl": (["nccl.h"], "nccl", "ncclResult_t"),
    "cublas": (["cublas_api.h"], "cublas(?!Lt)", "cublasStatus_t"),
    "cublaslt": (["cublasLt.h"], "cublasLt", "cublasStatus_t"),
    "cufft": (["cufft.h", "cufftXt.h"], "cufft", "cufftResult"),
    "nvrtc": (["nvrtc.h"], "nvrtc", "nvrtcResult"),
    "hiprtc": (["hiprtc.h"], "hiprtc", "hiprtcResult"),
    "cudnn": (["cudnn_graph_v9.h", "cudnn_ops_v9.h", "cudnn_cnn_v9.h", "cudnn_adv_v9.h"], "cudnn",
              "cudnnStatus_t"),
}
ALSO = {"cublaslt": ["cublas_api.h"]}  # for its types
SCALARS = {"int": ["signed", 4], "unsigned": ["unsigned", 4], "unsigned int": ["unsigned", 4],
           "int64_t": ["signed", 8], "uint64_t": ["unsigned", 8], "long long int": ["signed", 8],
           "long long": ["signed", 8], "uint32_t": ["unsigned", 4], "size_t": ["size", 8],
           "unsigned long long": ["unsigned", 8], "float": ["float", 4], "double": ["float", 8],
           "const char *": ["string", 8]}


def plain(ctype):
    """A type passed by value has no use for const."""
    return ctype if "*" in ctype else re.sub(r"\bconst\b\s*", "", ctype).strip()


def declared(text, prefix):
    """Name, result and parameters of the functions, each once, by name."""
    found = {}
    for statement in re.split(r"[;{}]", text):
        m = re.match(r"\s*([\w\s*\"]+?)\b(" + prefix + r"\w+)\s*\((.*)\)\s*$", statement, flags=re.S)
        if not m or not m.group(1).strip() or re.search(r"\b(typedef|return|static|inline)\b", m.group(1)):
            continue
        result = re.sub(r"\b(\w*WINAPI|CUFFTAPI|extern)\b|\"C\"", "", m.group(1))
        result = re.sub(r"\s+", " ", re.sub(r"\s*\*", " *", result)).strip()
        params = [parameter(p, i) for i, p in enumerate(split_params(m.group(3)))]
        for p in params:
            p["type"] = plain(p["type"])
        found[m.group(2)] = {"name": m.group(2), "return": result, "params": params}
    return [found[n] for n in sorted(found)]


def type_row(ctype, text):
    """Kind and bytes of a type, and the set of its values; None: not passed by value."""
    if ctype in SCALARS:
        return SCALARS[ctype], None
    name = re.escape(ctype)
    body = re.search(r"typedef\s+enum\s*\w*\s*(\{[^}]*\})\s*" + name + r"\s*;", text)
    if body:
        values = enum_values("enum " + body.group(1), r"\w+")
        return (["enum", 4, ctype], values) if values else (["signed", 4], None)
    if re.search(r"typedef\s+(?:const\s+)?(?:struct\s+)?\w+\s*\*\s*" + name + r"\s*;", text):
        return ["handle", 8], None
    if re.search(r"typedef\s+\w+\s*\(\s*\*\s*" + name + r"\s*\)", text):
        return ["pointer", 8], None
    if re.search(r"typedef\s+int\s+" + name + r"\s*;", text):
        return ["signed", 4], None
    return None, None


def extract(domain, find):
    headers, prefix, status = DOMAINS[domain]

    def texts(names):
        return re.sub(r"CUDNN_DEPRECATED\w*", "", "\n".join(read(find(n)) for n in names))

    text = texts(headers)
    types_text = text + texts(ALSO.get(domain, []))
    functions = declared(text, prefix)
    types, sets, out = {}, {}, []
    for f in functions:
        for ctype in {p["type"] for p in f["params"]} | {f["return"]}:
            target = re.sub(r"\s*\*$", "", ctype)
            for one in (ctype, target):
                row, values = type_row(one, types_text)
                if row and one != status:
                    types[one] = row
                if values and one == ctype and one != status:
                    sets[one] = values
        out += [f"{f['name']}.{p['name']}" for p in f["params"]
                if types.get(re.sub(r"\s*\*$", "", p["type"]), [""])[0] == "handle" and
                p["type"].endswith("*") and "const" not in p["type"]]
    body = re.search(r"typedef\s+enum\s*\w*\s*(\{[^}]*\})\s*" + status + r"\s*;", types_text)
    return {"domain": domain, "tables": [{"name": domain, "functions": functions}],
            "status": enum_values("enum " + body.group(1), r"\w+"),
            "types": dict(sorted(types.items())), "sets": dict(sorted(sets.items())), "out": out}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--include", required=True, action="append", type=pathlib.Path)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    args = parser.parse_args()

    def find(name):
        for folder in args.include:
            if (folder / name).exists():
                return folder / name
        return sys.exit(f"no {name}")

    for domain in DOMAINS:
        model = extract(domain, find)
        (args.out / domain).mkdir(exist_ok=True)
        path = args.out / domain / "functions.json"
        path.write_text(json.dumps(model, indent=1) + "\n", encoding="utf-8")
        print(path, len(model["tables"][0]["functions"]), "functions", len(model["status"]), "codes",
              len(model["types"]), "types")


if __name__ == "__main__":
    main()
