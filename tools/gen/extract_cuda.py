#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Extract facts of CUDA's driver and runtime API: names, numbers, arguments and where they lie.

Run by hand when the headers move on:
    extract_cuda.py --include /usr/local/cuda/include --out api/cuda
Numbers are those by which CUPTI calls back; offsets are of the structures in which it hands over the
arguments, measured with the C compiler. Functions without a known structure have no arguments.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

from extract_rocm import read

DOMAINS = {
    "cuda": {"cbids": ("cupti_driver_cbid.h", "CUPTI_DRIVER_TRACE_CBID_"),
             "metas": ["generated_cuda_meta.h"], "status": ("CUresult", "CUDA_")},
    "cuda_runtime": {"cbids": ("cupti_runtime_cbid.h", "CUPTI_RUNTIME_TRACE_CBID_"),
                     "metas": ["generated_cuda_runtime_api_meta.h"],
                     "status": ("cudaError_t", "cuda")},
}
TYPE_HEADERS = ["cuda.h", "driver_types.h", "cuda_runtime_api.h", "library_types.h",
                "surface_types.h", "texture_types.h"]


def numbers(path, prefix):
    text = read(path)
    rows = re.findall(re.escape(prefix) + r"(\w+)\s*=\s*(\d+)", text)
    return [(n, int(v)) for n, v in rows if n not in ("INVALID", "SIZE", "FORCE_INT")]


def param_structs(text):
    """Members of NAME_params: (type, name) in order."""
    structs = {}
    for body, name in re.findall(r"typedef struct \w+ \{(.*?)\}\s*(\w+)_params;", text, flags=re.S):
        members = []
        for line in body.split(";"):
            line = re.sub(r"\s+", " ", line).strip()
            m = re.match(r"(.*[\s*])(\w+)\s*((?:\[\w*\])*)$", line)
            if m:
                members.append((m.group(1).strip() + (" *" if m.group(3) else ""), m.group(2)))
            elif line:
                sys.exit(f"{name}: cannot read {line!r}")
        structs[name] = members
    return structs


def plain(ctype):
    ctype = re.sub(r"\b(enum|struct|union)\s+", "", ctype)
    return re.sub(r"\s*\*", " *", re.sub(r"\s+", " ", ctype)).replace("* *", "**").strip()


def enums(text):
    """Values of every named enum, by type name; numbers the compiler knows are left to it."""
    found = {}
    pattern = (r"(?:typedef\s+)?enum\s*(?:__device_builtin__\s+)?(\w*)\s*\{(.*?)\}"
               r"\s*(\w*)\s*;")
    for tag, body, alias in re.findall(pattern, text, flags=re.S):
        names = [re.match(r"\s*(\w+)", i) for i in body.split(",")]
        names = [m.group(1) for m in names if m]
        if alias or tag:
            found[alias or tag] = names
        if tag:
            found[re.sub(r"_enum$", "", tag)] = names
    for tag, alias in re.findall(r"typedef\s+(?:__device_builtin__\s+)?enum\s+(\w+)\s+(\w+)\s*;", text):
        if tag in found:
            found[alias] = found[tag]
    return found


def handles(text):
    return set(re.findall(r"typedef\s+(?:__device_builtin__\s+)?struct\s+\w+\s*\*\s*(\w+)\s*;", text))


def compile_and_run(include, lines):
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "probe.c")
        source.write_text("\n".join(lines) + "\n", encoding="utf-8")
        program = pathlib.Path(folder, "probe")
        subprocess.run(["cc", "-w", "-D__CUDA_API_VERSION_INTERNAL", "-I", str(include), str(source), "-o", str(program)], check=True)
        return subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout


def measure(include, metas, structs):
    """Offset and size of each member, by function."""
    lines = ["#include <stdio.h>", "#include <stddef.h>", "#include <cuda.h>",
             "#include <cuda_runtime_api.h>"] + [f"#include <{m}>" for m in metas]
    lines += ["#define M(s, m) printf(\"%s %s %zu %zu\\n\", #s, #m, offsetof(s##_params, m), "
              "sizeof(((s##_params *)0)->m));", "int main(void) {"]
    lines += [f"M({name}, {member})" for name, members in structs.items() for _, member in members]
    out = {}
    for line in compile_and_run(include, lines + ["return 0; }"]).splitlines():
        name, member, offset, size = line.split()
        out[name, member] = int(offset), int(size)
    return out


def enum_numbers(include, names):
    lines = ["#include <stdio.h>", "#include <cuda.h>", "#include <cuda_runtime_api.h>",
             "int main(void) {"]
    lines += [f'printf("%s %lld\\n", "{n}", (long long){n});' for n in sorted(names)]
    out = compile_and_run(include, lines + ["return 0; }"])
    return {n: int(v) for n, v in (line.split() for line in out.splitlines())}


def extract(include, domain, spec, known_enums, known_handles):
    text = "\n".join(read(include / m) for m in spec["metas"])
    structs = param_structs(text)
    places = measure(include, spec["metas"], structs)
    functions, sets = [], set()
    for name, number in numbers(include / spec["cbids"][0], spec["cbids"][1]):
        row = {"name": name, "cbid": number}
        if name in structs:
            row["params"] = []
            for ctype, member in structs[name]:
                ctype = plain(ctype)
                offset, size = places[name, member]
                param = {"name": member, "type": ctype, "offset": offset, "size": size}
                base = re.sub(r"\bconst\b|\*", "", ctype).strip()
                if base in known_enums:
                    param["enum"] = base
                    sets.add(base)
                elif base in known_handles:
                    param["handle"] = base
                row["params"].append(param)
        functions.append(row)
    sets.add(spec["status"][0])
    return {"domain": domain, "functions": functions}, sets


def write(path, value):
    text = json.dumps(value, indent=None, separators=(",", ":"))
    text = re.sub(r'(\{"name":"[^"]+","cbid")', r"\n\1", text)
    path.write_text(text + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--include", required=True, type=pathlib.Path)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    args = parser.parse_args()
    text = "\n".join(read(args.include / h) for h in TYPE_HEADERS)
    known_enums, known_handles = enums(text), handles(text)
    used = set()
    for domain, spec in DOMAINS.items():
        model, sets = extract(args.include, domain, spec, known_enums, known_handles)
        write(args.out / f"{domain}.json", model)
        used |= sets
        print(domain, len(model["functions"]), "functions,",
              sum("params" in f for f in model["functions"]), "with arguments")
    names = {n for s in used for n in known_enums[s] if not re.search(r"FORCE_INT|_MAX$", n)}
    values = enum_numbers(args.include, names)
    sets = {s: {n: values[n] for n in known_enums[s] if n in values} for s in sorted(used)}
    text = json.dumps({"sets": sets}, separators=(",", ":"))
    (args.out / "enums.json").write_text(re.sub(r'("\w+":\{)', r"\n\1", text) + "\n",
                                         encoding="utf-8")


if __name__ == "__main__":
    main()
