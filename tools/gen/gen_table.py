#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generate the description of a runtime's tables from api/NAME.

Run by the build: gen_table.py --api api/NAME --backend FOLDER --out FILE.c. The tables' functions
need no wrappers of their own (src/core/table has one for all), only a description of their
arguments. A function with an argument of a type that neither functions.json nor facts.json lists
gets none: it runs and is counted. What is generated is declared in src/capture/FOLDER/models.h.
"""

import argparse
import json
import pathlib
import re
import sys

from packed import Packed

FLAGS = ["chatty", "submits", "waits", "allocates", "minimal"]


class ModelError(Exception):
    pass


class Model:
    def __init__(self, folder):
        self.functions = json.loads((folder / "functions.json").read_text(encoding="utf-8"))
        self.facts = json.loads((folder / "facts.json").read_text(encoding="utf-8"))
        self.domain = self.functions["domain"]
        self.tables = self.functions["tables"]
        self.types = {**self.functions.get("types", {}), **self.facts["types"]}
        self.sets = {**self.functions.get("sets", {}), **self.facts.get("sets", {})}
        self.out = set(self.functions.get("out", [])) | set(self.facts.get("out", []))
        if self.functions["status"]:
            self.sets["status"] = self.functions["status"]
        self.check()
        self.packed = Packed()
        self.add_sets()

    def add_sets(self):
        for name, values in self.sets.items():
            title = self.facts.get("status_type") if name == "status" else name
            self.packed.add_set(name, title, list(values.items()))

    def ops(self):
        return [f for t in self.tables for f in t["functions"]]

    def check(self):
        """A rule that matches nothing is a mistake."""
        names = {f["name"] for f in self.ops()}
        known = {f"{f['name']}.{p['name']}" for f in self.ops() for p in f.get("params", [])}
        for rule in self.out - known:
            raise ModelError(f"out: no parameter {rule}")
        for flag in FLAGS + ["after"]:
            for pattern in self.facts.get(flag, []):
                if not any(re.fullmatch(pattern, n) for n in names):
                    raise ModelError(f"{flag}: no function {pattern}")

    def type_of(self, ctype):
        """Kind, bytes and set of a type passed by value, or None."""
        known = self.types.get(ctype)
        if known:
            return known[0], known[1], known[2] if len(known) > 2 else None
        if "*" in ctype:
            return "pointer", 8, None
        return None

    def field(self, name, ctype, flags=()):
        kind, size, values = self.type_of(ctype)
        all_flags = " | ".join("KYMO_FIELD_" + f for f in flags) or "KYMO_FIELD_IN"
        return self.packed.field(name, ctype, values, kind, None, size, all_flags)

    def argument(self, function, param):
        """Fields and (bytes, number of fields) of one argument, or None."""
        name, ctype = param["name"], param["type"]
        struct = self.facts.get("structs", {}).get(ctype)
        if struct:
            rows = [self.field(f"{name}.{m}", t) for m, t in struct["members"]]
            return rows, (struct["bytes"], len(rows))
        if f"{function['name']}.{name}" in self.out:
            target = re.sub(r"\s*\*$", "", ctype)
            if not self.type_of(target):
                target = "void *" if target.endswith("*") else None
            if not target:
                raise ModelError(f"out: {function['name']}.{name}: unknown type {ctype}")
            return [self.field(name, target, ["OUT"])], (8, 1)
        known = self.type_of(ctype)
        return ([self.field(name, ctype)], (known[1], 1)) if known else None

    def layout(self, function):
        """Fields and arguments of a function, or None where something is not known."""
        if "params" not in function:
            return None
        fields, args = [], []
        for param in function["params"]:
            one = self.argument(function, param)
            if not one:
                return None
            fields += one[0]
            args.append(one[1])
        result = function["return"]
        if result not in ("void", self.facts.get("status_type")):
            if not self.type_of(result):
                return None
            fields.append(self.field("result", result, ["RESULT"]))
        return fields, args

    def flags(self, name):
        on = [f for f in FLAGS if any(re.fullmatch(p, name) for p in self.facts.get(f, []))]
        if "minimal" not in on and set(on) & {"submits", "waits", "allocates"}:
            on.append("minimal")
        return " | ".join("KYMO_OP_" + f.upper() for f in on) or "0"


def emit_op(model, function):
    """Adds the op; its arguments as (bytes, fields), none if each field that is one is one."""
    name, layout = function["name"], model.layout(function)
    status = function.get("return") == model.facts.get("status_type", "") and "status" in model.sets
    fields, args = layout or (None, [])
    model.packed.add_op(name, fields, model.flags(name), "status" if status else None)
    return args if any(n != 1 for _, n in args) else []


def emit_args(lists):
    rows, ops = [], []
    for args in lists:
        ops.append(f"\t{{{len(rows)}, {len(args)}}},")
        rows += args
    pairs = ", ".join(f"{{{size}, {n}}}" for size, n in rows) or "{0, 0}"
    return ["static const struct table_arg arg_rows[] = {", f"\t{pairs}}};",
            "static const struct table_args args[] = {"] + ops + ["};", ""]


def emit_packed(model, ops):
    model.packed.add_domain(model.domain, model.facts["title"], model.facts["version"], ops)
    return model.packed.emit("described", "static ")


def emit(model, backend):
    d = model.domain
    lines = ["/* SPDX-License-Identifier: Apache-2.0 */",
             f"/* Generated by tools/gen/gen_table.py from api/{d}; do not edit.",
             " * What the functions of the tables are and take.", " */",
             f'#include "capture/{backend}/models.h"', ""]
    first, args = 0, [emit_op(model, function) for function in model.ops()]
    lines += emit_packed(model, len(args)) + emit_args(args)
    after = model.facts.get("after", [])
    if after:
        lines += [f"static const struct table_after after_{d}[] = {{"]
        lines += [f'\t{{"{n}", {backend}_after_{n}}},' for n in after] + ["\t{NULL, NULL}};", ""]
    lines += [f"struct table_model {backend}_model_{d} = {{.packed = &described_rows.head, .args = args, .arg_rows = arg_rows,"
              f" .after = {'after_' + d if after else 'NULL'}, .keep_after = {str(bool(after)).lower()}}};", "",
              f"const struct table_piece {backend}_tables_{d}[] = {{"]
    for table in model.tables:
        lines.append(f'\t{{"{table["name"]}", {first}, {len(table["functions"])}}},')
        first += len(table["functions"])
    lines += ["};", f"const unsigned {backend}_table_count_{d} = {len(model.tables)};"]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--api", required=True, type=pathlib.Path)
    parser.add_argument("--backend", required=True)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    args = parser.parse_args()
    try:
        text = emit(Model(args.api), args.backend)
    except (ModelError, KeyError, ValueError) as e:
        sys.exit(f"{args.api}: {e}")
    args.out.parent.mkdir(parents=True, exist_ok=True)
    if not args.out.exists() or args.out.read_text(encoding="utf-8") != text:
        args.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
