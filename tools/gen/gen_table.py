#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generate the description of a runtime's tables from api/NAME.

Run by the build: gen_table.py --api api/NAME --backend FOLDER --out FILE.c. The tables' functions
need no wrappers of their own (src/capture/table has one for all), only a description of their
arguments. A function with an argument of a type that neither functions.json nor facts.json lists
gets none: it runs and is counted. What is generated is declared in src/capture/FOLDER/models.h.
"""

import argparse
import json
import pathlib
import re
import sys

KINDS = {"unsigned": "UNSIGNED", "signed": "SIGNED", "float": "FLOAT", "pointer": "POINTER",
         "handle": "HANDLE", "enum": "ENUM", "bool": "BOOL", "string": "STRING", "size": "SIZE"}
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
        c_set = f"&set_{values}" if values else "NULL"
        all_flags = " | ".join("KYMO_FIELD_" + f for f in flags) or "KYMO_FIELD_IN"
        return f'{{"{name}", "{ctype}", {c_set}, KYMO_KIND_{KINDS[kind]}, 0, {size}, {all_flags}}}'

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


def emit_sets(model):
    lines = []
    for name, values in model.sets.items():
        lines.append(f"static const kymo_enum_value_t values_{name}[] = {{")
        lines += [f'\t{{"{label}", {value}}},' for label, value in values.items()]
        title = model.facts.get("status_type") if name == "status" else name
        lines += ["};", f'static const kymo_enum_set_t set_{name} = {{"{title}", values_{name}, '
                        f"{len(values)}}};", ""]
    return lines


def emit_op(model, function):
    """Lines of fields and arguments, the op's row and the row of its arguments."""
    name, layout = function["name"], model.layout(function)
    status = function.get("return") == model.facts.get("status_type", "")
    c_status = "&set_status" if status and "status" in model.sets else "NULL"
    row = f'\t{{"{name}", %s, %d, {model.flags(name)}, {c_status}, 0}},'
    if layout is None:
        return [], row % ("NULL", 0), "\t{NULL, 0},"
    fields, args = layout
    lines = [f"static const kymo_field_t fields_{name}[] = {{"]
    lines += [f"\t{f}," for f in fields or ['{NULL, NULL, NULL, 0, 0, 0, 0}']] + ["};"]
    if not any(n != 1 for _, n in args):
        return lines, row % (f"fields_{name}", len(fields)), "\t{NULL, 0},"
    pairs = ", ".join(f"{{{size}, {n}}}" for size, n in args)
    lines.append(f"static const struct table_arg args_{name}[] = {{{pairs}}};")
    return lines, row % (f"fields_{name}", len(fields)), f"\t{{args_{name}, {len(args)}}},"


def emit(model, backend):
    d = model.domain
    lines = ["/* SPDX-License-Identifier: Apache-2.0 */",
             f"/* Generated by tools/gen/gen_table.py from api/{d}; do not edit.",
             " * What the functions of the tables are and take.", " */",
             f'#include "capture/{backend}/models.h"', ""] + emit_sets(model)
    rows, args, first = [], [], 0
    for function in model.ops():
        text, row, arg = emit_op(model, function)
        lines += text
        rows.append(row)
        args.append(arg)
    lines += ["", "static const kymo_op_desc_t ops[] = {"] + rows + ["};", ""]
    lines += ["static const kymo_domain_desc_t desc = {",
              f'\tsizeof(desc), "{d}", "{model.facts["title"]}", {model.facts["version"]}, '
              f"{len(rows)}, ops}};", ""]
    lines += ["static const struct table_args args[] = {"] + args + ["};", ""]
    after = model.facts.get("after", [])
    if after:
        lines += [f"static const struct table_after after_{d}[] = {{"]
        lines += [f'\t{{"{n}", {backend}_after_{n}}},' for n in after] + ["\t{NULL, NULL}};", ""]
    lines += [f"struct table_model {backend}_model_{d} = {{.desc = &desc, .args = args,"
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
