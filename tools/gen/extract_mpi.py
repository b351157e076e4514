#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Extracts the functions of MPI from the headers of its implementations into api/mpi.

extract_mpi.py --out api/mpi MPICH-COMPILER OPENMPI-COMPILER

Each compiler is the implementation's own (mpicc.mpich, mpicc.openmpi): it knows where mpi.h is. The
first one that has a function gives its parameters; `in` says who has it. What converts handles
between languages is left out: it is no communication, and the Fortran bindings call it on each call.
"""

import argparse
import json
import re
import subprocess
from pathlib import Path

LEFT_OUT = re.compile(r"MPI_(\w+_(f2c|c2f|f2f08|f082f|c2f08|f082c)|DUP_FN|\w*NULL_(COPY|DELETE|DUP)_FN"
                      r"|CONVERSION_FN_NULL\w*|(Comm|Type|Win)_(null|dup)_\w*fn|COMM_\w+_FN|WIN_\w+_FN|TYPE_\w+_FN)")
ATTRIBUTE = re.compile(r"__attribute__\s*\(\(")


def closing(text, at):
    """Index after the parenthesis that closes the one at `at`."""
    depth = 0
    for i in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return i + 1
    raise SystemExit("extract_mpi.py: unbalanced parenthesis")


def without_attributes(text):
    out, at = [], 0
    for m in iter(lambda: ATTRIBUTE.search(text, at), None):
        out.append(text[at:m.start()])
        at = closing(text, text.index("(", m.start()))
    return "".join(out) + text[at:]


def parameter(text, number):
    text = " ".join(text.split())
    if text == "...":
        return {"name": "...", "type": "..."}
    m = re.fullmatch(r"(.*?[\s*])(\w+)((?:\[\w*\])*)", text)
    if not m or m.group(2) in ("int", "char", "void"):
        return {"name": f"arg{number}", "type": text}
    ctype, name, brackets = m.group(1).strip(), m.group(2), m.group(3)
    if brackets:
        ctype += " (*)[3]" if brackets.count("[") > 1 else " *"
    ctype = re.sub(r"\s*\*", " *", ctype).replace("* *", "**")
    return {"name": name, "type": ctype}


def functions(compiler):
    text = subprocess.run([compiler, "-E", "-P", "-x", "c", "-"], input="#include <mpi.h>\n", text=True,
                          check=True, capture_output=True).stdout
    text = without_attributes(text)
    found = {}
    for m in re.finditer(r"\b(MPI_\w+)\s*\(", text):
        end = closing(text, m.end() - 1)
        start = max(text.rfind(c, 0, m.start()) for c in ";}") + 1
        result = " ".join(text[start:m.start()].replace("extern", "").split())
        if text[end:].lstrip()[:1] != ";" or "typedef" in result or not result:
            continue
        name, inside = m.group(1), text[m.end():end - 1].strip()
        if "(" in result or LEFT_OUT.fullmatch(name):
            continue
        params = [] if inside in ("", "void") else [
            parameter(p, i) for i, p in enumerate(inside.split(","))]
        found[name] = {"name": name, "return": result, "params": params}
    return found


def error_classes(compiler):
    """Names of error classes by value: each implementation has its own numbers."""
    text = subprocess.run([compiler, "-E", "-dM", "-x", "c", "-"], input="#include <mpi.h>\n",
                          text=True, check=True, capture_output=True).stdout
    rows = re.findall(r"^#define (MPI_(?:ERR|T_ERR|SUCCESS)\w*)\s+\(?(\d+)\)?\s", text, re.M)
    return {name: int(value) for name, value in sorted(rows, key=lambda r: (int(r[1]), r[0]))
            if not name.endswith("LASTCODE")}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("compilers", nargs=2)
    args = parser.parse_args()
    mpich, openmpi = (functions(c) for c in args.compilers)
    rows = []
    for name in sorted(mpich | openmpi):
        row = dict(mpich.get(name) or openmpi[name])
        row["in"] = [i for i, has in (("mpich", mpich), ("openmpi", openmpi)) if name in has]
        rows.append(row)
    lines = ",\n".join("  " + json.dumps(r) for r in rows)
    (args.out / "functions.json").write_text('{"functions": [\n' + lines + "\n]}\n")
    errors = {n: error_classes(c) for n, c in zip(("mpich", "openmpi"), args.compilers)}
    (args.out / "errors.json").write_text(json.dumps(errors, indent=1) + "\n")
    print(f"{len(rows)} functions, {len(mpich)} in MPICH, {len(openmpi)} in Open MPI")


if __name__ == "__main__":
    main()
