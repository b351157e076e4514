#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generate Level Zero's tables from api/ze: descriptions, the doors, and what runs before calls.

Run by the build: gen_ze.py --api api/ze --out FOLDER. Writes
  model.c   the description of all functions, and of the tables that they lie in
  ops.h     numbers of ops and of the fields of those ops that the backend looks at
  door.c    a function for each zeGet...ProcAddrTable
  shim.c    functions that stand between Kymo's wrappers and the driver
  layer.c   the library that stands in the place of the loader's layer
Of facts.json: `after` have a hook in C that runs when they returned, `before` one that runs before
the driver's function, `signal` take an event that Kymo may supply, `forced` a description of which
Kymo may hand on a changed copy.
"""

import argparse
import json
import pathlib
import re
import sys

import gen_table
from gen_table import ModelError
from packed import Packed

FIELDS_MAX = 38   # of an op
MEMBERS_MAX = 14  # of a structure
C_TYPES = {("unsigned", 1): "uint8_t", ("bool", 1): "uint8_t", ("unsigned", 2): "uint16_t",
           ("unsigned", 4): "uint32_t", ("enum", 4): "uint32_t", ("flags", 4): "uint32_t",
           ("signed", 4): "int32_t", ("unsigned", 8): "uint64_t", ("size", 8): "size_t",
           ("float", 4): "float", ("float", 8): "double"}


class Model(gen_table.Model):
    def __init__(self, folder):
        def read(name):
            return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))

        self.functions, self.facts, types = read("functions"), read("facts"), read("types")
        self.domain, self.tables = self.functions["domain"], self.functions["tables"]
        self.members, self.all_sets = types["structs"], types["sets"]
        self.types = {**types["types"], "const char *": ["string", 8]}
        self.facts["structs"] = {n: {"bytes": s["bytes"], "members": self.by_value(s)}
                                 for n, s in types["structs"].items()}
        self.sets = {"status": self.functions["status"]}
        self.by_name = {f["name"]: f for f in self.ops()}
        self.out, self.behind = set(), {}
        self.packed, self.names = Packed(), {}
        self.add_sets()
        self.check()
        for part in ("signal", "before", "forced", "used"):
            for name in self.facts[part]:
                if name not in self.by_name:
                    raise ModelError(f"{part}: no function {name}")

    def by_value(self, struct):
        """Members of a structure that is passed by value, if they are all that it has."""
        rows = [(m, t) for m, t, _ in struct["members"] if self.types.get(t)]
        total = sum(self.types[t][1] for _, t in rows)
        return rows if total == struct["bytes"] else []

    def field(self, name, ctype, flags=()):
        values = self.type_of(ctype)[2]
        if values and values not in self.sets:
            self.sets[values] = self.all_sets[values]
            self.packed.add_set(values, values, list(self.sets[values].items()))
        row = super().field(name, ctype, flags)
        self.names[row] = name
        return row

    def argument(self, function, param):
        target = re.sub(r"\s*\*$", "", param["type"])
        scalar = self.types.get(target) or (["pointer", 8] if target.endswith("*") else 0)
        if "*" in param["type"] and "out" in param["direction"] and "array" not in param and scalar \
                and target != "void":
            return [self.field(param["name"], target, ["OUT"])], (8, 1)
        return super().argument(function, param)

    def pointed(self, function):
        """Members of the structures that pointers lead to: (field, offset)."""
        for param in function["params"]:
            m = re.fullmatch(r"(?:const )?(\w+) \*", param["type"])
            if not m or m[1] not in self.members or param["direction"] != "in" or "array" in param:
                continue
            for member, ctype, offset in self.members[m[1]]["members"][:MEMBERS_MAX]:
                ctype = re.sub(r"\s*\*", " *", ctype, count=1)
                if member != "pNext" and self.type_of(ctype):
                    yield self.field(f"{param['name']}->{member}", ctype, ["DEREF"]), offset

    def layout(self, function):
        known = super().layout(function)
        if known is None:
            return None
        fields, args = known
        more = list(self.pointed(function))[:FIELDS_MAX - len(fields)]
        self.behind[function["name"]] = [0] * len(fields) + [at for _, at in more] if more else []
        return fields + [f for f, _ in more], args

    def c_type(self, ctype):
        if "*" in ctype:
            return "void *"
        if ctype in self.types:
            kind, size = self.types[ctype][:2]
            return C_TYPES.get((kind, size), "void *")
        return f"struct bytes{self.members[ctype]['bytes']}"


def emit_op(model, function):
    """Adds the op; its arguments, and where its fields lie behind pointers."""
    args = gen_table.emit_op(model, function)
    return args, model.behind.get(function["name"], [])


def emit_behind(lists):
    """Row 0 is nobody's: an op whose first is 0 has none."""
    rows, firsts = [0], []
    for behind in lists:
        firsts.append(len(rows) if behind else 0)
        rows += behind
    return ["static const uint16_t behind_rows[] = {", "\t" + ", ".join(map(str, rows)) + "};",
            "static const uint16_t behind[] = {", "\t" + ", ".join(map(str, firsts)) + "};", ""]


HEAD = ["/* SPDX-License-Identifier: Apache-2.0 */",
        "/* Generated by tools/gen/gen_ze.py from api/ze; do not edit. */"]


def emit_model(model):
    ops = [emit_op(model, f) for f in model.ops()]
    lines = HEAD + ['#include "capture/ze/ze.h"', ""]
    lines += [""] + gen_table.emit_packed(model, len(ops)) + gen_table.emit_args([o[0] for o in ops])
    lines += emit_behind([o[1] for o in ops])
    lines += [f"static struct table_after after[{len(model.facts['after']) + 1}];", "",
              "void ze_after_fill(void)", "{", "\tstruct table_after *a = after;", ""]
    lines += [f'\t*a++ = (struct table_after){{"{n}", ze_after_{n}}};' for n in model.facts["after"]]
    lines += ["}", "",
              "struct table_model ze_model = {.packed = &described_rows.head, .args = args,",
              "\t.arg_rows = arg_rows, .behind = behind, .behind_rows = behind_rows,",
              "\t.after = after, .keep_after = true};", "", "const struct ze_table ze_tables[] = {"]
    first = 0
    for table in model.tables:
        lines.append(f'\t{{"{table["name"]}", {first}, {len(table["functions"])}}},')
        first += len(table["functions"])
    return lines + ["};"]


def field_names(model, name):
    rows, _ = model.layout(model.by_name[name])
    return [model.names[r] for r in rows]


def emit_ops(model):
    facts = model.facts
    lines = HEAD + ["#ifndef CAPTURE_ZE_OPS_H", "#define CAPTURE_ZE_OPS_H", "", "enum {"]
    lines += [f"\tZE_OP_{f['name']}," for f in model.ops()] + ["\tZE_OPS", "};", ""]
    lines += ["enum {", "".join(f"\tZE_TABLE_{t['name']},\n" for t in model.tables)
              + "\tZE_TABLES", "};", ""]
    for name in facts["after"]:
        names = [n.replace("->", "_").replace(".", "_") for n in field_names(model, name)]
        lines.append("enum { " + ", ".join(f"{name}_{n}" for n in names) + " };")
    lines += [""] + [f"void ze_after_{n}(const struct table_call *call);" for n in facts["after"]]
    lines += [""] + [f"void ze_before_{n}({parameters(model, n)});" for n in facts["before"]]
    return lines + ["", "#endif"]


def parameters(model, name, names=True):
    return ", ".join(f"{model.c_type(p['type'])} {p['name']}".replace("* ", "*")
                     if names else model.c_type(p["type"])
                     for p in model.by_name[name]["params"])


def emit_shim(model, name):
    passed = ", ".join(p["name"] for p in model.by_name[name]["params"])
    lines = [f"static uint32_t shim_{name}({parameters(model, name)})", "{",
             f"\tuint32_t (*next)({parameters(model, name, False)});", "\tuint32_t result;"]
    if name in model.facts["forced"]:
        lines.append("\tvoid *forced = ze_forced(desc);")
    lines += ["", f"\tmemcpy(&next, &ze_next[ZE_OP_{name}], sizeof(next));"]
    if name in model.facts["before"]:
        lines.append(f"\tze_before_{name}({passed});")
    if name in model.facts["signal"]:
        lines.append("\thSignalEvent = ze_signal(hCommandList, hSignalEvent);")
    if name in model.facts["forced"]:
        changed = passed.replace(" desc,", " forced,")
        lines += [f"\tif (forced) {{\n\t\tresult = next({changed});",
                  "\t\tif (ze_forced_done(result))", "\t\t\treturn result;", "\t}"]
    lines += [f"\tresult = next({passed});"]
    if name in model.facts["signal"]:
        lines.append("\tze_signal_done(result);")
    return lines + ["\treturn result;", "}", ""]


def emit_shims(model):
    names = sorted(set(model.facts["signal"] + model.facts["before"] + model.facts["forced"]))
    lines = HEAD + ["#include <string.h>", "", '#include "capture/ze/ze.h"', ""]
    for name in names:
        lines += emit_shim(model, name)
    lines += ["void (*ze_shim_of(uint32_t op))(void)", "{", "\tswitch (op) {"]
    for n in names:
        lines += [f"\tcase ZE_OP_{n}:", f"\t\treturn (void (*)(void))shim_{n};"]
    lines += ["\tdefault:", "\t\treturn NULL;", "\t}", "}", "",
              "const uint16_t ze_used[] = {"]
    lines += [f"\tZE_OP_{n}," for n in model.facts["used"]]
    return lines + ["};", f"const unsigned ze_used_count = {len(model.facts['used'])};"]


def emit_door(model, header, call):
    """Functions that fill tables: as the loader finds them, or as those of its layer."""
    lines = HEAD + [f'#include "{header}"', ""]
    for table in model.tables:
        getter = table["name"]
        lines += [f"__attribute__((visibility(\"default\"))) uint32_t {getter}(uint32_t version, "
                  "void *table);",
                  f"uint32_t {getter}(uint32_t version, void *table)", "{",
                  f"\treturn {call.format(table='ZE_TABLE_' + getter)};", "}", ""]
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--api", required=True, type=pathlib.Path)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    try:
        model = Model(args.api)
        files = {"model.c": emit_model(model), "ops.h": emit_ops(model),
                 "shim.c": emit_shims(model),
                 "door.c": emit_door(model, "capture/ze/ze.h",
                                     "ze_take({table}, version, table, __builtin_return_address(0))"),
                 "layer.c": emit_door(model, "capture/ze/ze.h",
                                      "kymo_ze_layer({table}, version, table)")}
    except (ModelError, KeyError, ValueError) as e:
        sys.exit(f"{args.api}: {e}")
    for name, lines in files.items():
        path, text = args.out / name, "\n".join(lines) + "\n"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
