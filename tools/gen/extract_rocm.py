#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Extract the facts about HIP's and HSA's dispatch tables that their public headers state.

A developer's step, run by hand when the headers move on:

    extract_rocm.py --hip FOLDER --hsa FOLDER --out api

FOLDER of hip holds hip_api_trace.hpp and hip_runtime_api.h, that of hsa the headers of the HSA
runtime. Writes api/hip, api/hip_compiler and api/hsa functions.json: functions in the order of
their tables, and the names of the status codes. What no header says is in facts.json beside them.
"""

import argparse
import json
import pathlib
import re
import sys

HSA_TABLES = [("core", "CoreApiTable"), ("amd_ext", "AmdExtTable"),
              ("finalizer", "FinalizerExtTable"), ("image", "ImageExtTable"),
              ("tools", "ToolsApiTable"), ("pc_sampling", "PcSamplingExtTable")]
HSA_HEADERS = ["hsa.h", "hsa_ext_amd.h", "hsa_ext_finalize.h", "hsa_ext_image.h",
               "hsa_ven_amd_pc_sampling.h", "hsa_amd_tool.h", "hsa_api_trace.h"]


def read(path):
    """A header without comments, macros and line breaks inside declarations."""
    text = path.read_text(encoding="utf-8", errors="replace").replace("\\\n", " ")
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"//[^\n]*", " ", text)
    return re.sub(r"^\s*#[^\n]*$", "", text, flags=re.M)


def split_params(text):
    """Parameters at commas outside of parentheses."""
    parts, depth, part = [], 0, ""
    for c in text:
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += c
    return [p for p in (re.sub(r"\s+", " ", p).strip() for p in parts + [part])
            if p and p != "void"]


def parameter(text, number):
    text = re.sub(r"\s*=[^,]*$|__dparm\(.*\)$|\b(struct|enum)\b", "", text).strip()
    text = re.sub(r"\s+", " ", text)
    m = re.match(r"(.*\(\s*\*)\s*(\w*)\s*(\).*)$", text)
    if m:  # pointer to a function
        return {"name": m.group(2) or f"arg{number}", "type": "void (*)()"}
    m = re.match(r"(.*[\s*])(\w+)\s*(\[\w*\])?$", text)
    if not m or m.group(2) in ("int", "unsigned", "long", "char", "float", "double"):
        return {"name": f"arg{number}", "type": text.strip()}
    ctype = m.group(1).strip() + (" *" if m.group(3) else "")
    return {"name": m.group(2), "type": re.sub(r"\s*\*", "*", ctype).replace("*", " *", 1)}


def function(name, result, params):
    result = re.sub(r"\b(HSA_API|extern|struct|enum|HSA_DEPRECATED)\b", "", result)
    result = re.sub(r"\s+", " ", result).strip()
    return {"name": name, "return": re.sub(r"\s*\*", " *", result, count=1),
            "params": [parameter(p, i) for i, p in enumerate(split_params(params))]}


def members(text, struct):
    body = re.search(r"struct\s+" + struct + r"\s*\{(.*?)\n\};", text, flags=re.S)
    if not body:
        sys.exit(f"no struct {struct}")
    return re.findall(r"(\w+)_fn\s*;", body.group(1))


def enum_values(text, pattern):
    """Names and numbers of the values that match, from all enums of the text."""
    values = {}
    for body in re.findall(r"enum[^{;]*\{(.*?)\}", text, flags=re.S):
        number = -1
        for item in body.split(","):
            m = re.match(r"\s*(\w+)\s*(?:=\s*(.+))?$", item.strip(), flags=re.S)
            if not m:
                continue
            if m.group(2) is None:
                number += 1
            elif re.match(r"^-?(0x[0-9a-fA-F]+|\d+)$", m.group(2).strip()):
                number = int(m.group(2).strip(), 0)
            else:
                continue
            if re.match(pattern, m.group(1)):
                values.setdefault(m.group(1), number)
    return values


def extract_hip(folder):
    trace = read(folder / "hip_api_trace.hpp")
    types = {m.group(2): (m.group(1), m.group(3)) for m in
             re.finditer(r"typedef\s+([^;(]+?)\(\*t_(\w+)\)\s*\(([^;]*)\)\s*;", trace)}
    status = enum_values(read(folder / "hip_runtime_api.h"), r"hip(Success|Error)")
    for domain, struct in (("hip", "HipDispatchTable"),
                           ("hip_compiler", "HipCompilerDispatchTable")):
        names = members(trace, struct)
        yield domain, {"domain": domain, "tables": [{"name": domain, "functions":
                       [function(n, *types[n]) for n in names]}], "status": status}


def extract_hsa(folder):
    texts = [read(folder / h) for h in HSA_HEADERS]
    everything = "\n".join(texts)
    trace = texts[-1]
    status = enum_values(everything, r"HSA_(EXT_|AMD_)?STATUS_")
    tables = []
    for name, struct in HSA_TABLES:
        functions = []
        for member in members(trace, struct):
            m = re.search(r"((?:[\w]+[\s*]+)+?)(?:HSA_API\s+)?\b" + member + r"\s*\(([^;{]*)\)\s*"
                          r"(?:HSA_\w+\s*)*;", everything)
            functions.append(function(member, m.group(1), m.group(2)) if m
                             else {"name": member})
        tables.append({"name": name, "functions": functions})
    yield "hsa", {"domain": "hsa", "tables": tables, "status": status}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hip", required=True, type=pathlib.Path)
    parser.add_argument("--hsa", required=True, type=pathlib.Path)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    args = parser.parse_args()
    for extract, folder in ((extract_hip, args.hip), (extract_hsa, args.hsa)):
        for domain, model in extract(folder):
            (args.out / domain).mkdir(exist_ok=True)
            path = args.out / domain / "functions.json"
            path.write_text(json.dumps(model, indent=1) + "\n", encoding="utf-8")
            print(path, {t["name"]: len(t["functions"]) for t in model["tables"]},
                  len(model["status"]), "codes")


if __name__ == "__main__":
    main()
