#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generate the description of CUDA's two APIs from api/cuda.

Run by the build: gen_cuda.py --api api/cuda --out FILE.c. CUPTI hands over each call's arguments in
a structure; what is generated says where in it each recorded value lies, and which calls allocate,
free, wait or record events.
"""

import argparse
import json
import pathlib
import re
import sys

from packed import KINDS, Packed

FLAGS = ["chatty", "submits", "waits", "allocates", "minimal"]
MEMORY = {"device": ("DEVICE", "BUFFER"), "managed": ("MANAGED", "BUFFER"),
          "pinned": ("HOST_PINNED", "BUFFER"), "registered": ("HOST_PINNED", "REGISTERED"),
          "pool": ("DEVICE", "POOL"), "physical": ("DEVICE", "PHYSICAL")}
NAMES = {("unsigned", 4): "unsigned int", ("size", 4): "unsigned int", ("size", 8): "size_t",
         ("pointer", 8): "void *", ("handle", 8): "CUstream"}  # types of members
FIELDS_MAX = 40
CONFIG_BYTES = 56  # of the configuration of a launch, in both APIs


class ModelError(Exception):
    pass


class Model:
    """One of the two domains."""

    def __init__(self, folder, name, facts, sets):
        self.name, self.facts, self.sets = name, facts, sets
        self.about = facts["domains"][name]
        self.functions = json.loads((folder / f"{name}.json").read_text("utf-8"))["functions"]
        self.matched = set()
        self.name_ops()

    def name_ops(self):
        """Names as users know them; of several versions the newest gets the plain one."""
        strip, newest = self.about.get("strip"), {}
        for f in self.functions:
            f["op"] = re.sub(strip, "", f["name"]) if strip else f["name"]
            f["base"] = re.sub(r"(_v\d+|_ptsz|_ptds)+$", "", f["name"])
            newest[f["op"]] = f
        for f in self.functions:
            if newest[f["op"]] is not f:
                f["op"] = f["name"]

    def any_of(self, patterns, base):
        hits = [p for p in patterns if re.fullmatch(p, base)]
        self.matched |= set(hits)
        return bool(hits)

    def has_status(self, f):
        return not re.fullmatch(self.about.get("no_status", "^$"), f["base"])

    def flags(self, f):
        on = [x for x in FLAGS if self.any_of(self.facts[x], f["base"])]
        if "minimal" not in on and set(on) & {"submits", "waits", "allocates"}:
            on.append("minimal")
        if {"chatty", "minimal"} <= set(on):
            on.remove("chatty")
        return " | ".join("KYMO_OP_" + x.upper() for x in on) or "0"

    def kind_of(self, ctype, size):
        base = ctype.replace("const ", "").strip()
        if ctype == "const char *":
            return "string"
        if "*" in ctype:
            return "pointer"
        if base in self.facts["types"]:
            return self.facts["types"][base]
        if base in self.sets:
            return "enum"
        if size == 8 and re.match(r"(CU|cuda)", base) and not re.search(r"(flags|Location)", base):
            return "handle"
        return "unsigned" if size in (1, 2, 4, 8) else None

    def is_out(self, f, p):
        if "const " in p["type"] or "*" not in p["type"]:
            return False
        target = re.sub(r"\s*\*$", "", p["type"])
        if not ("handle" in p or "enum" in p or target in self.facts["out_types"]):
            return False
        if self.any_of(self.facts["not_out"], f["base"]):
            return False
        return self.any_of(self.facts["out"], f"{p['type']} {p['name']}")

    def rows(self, f):
        """(name, type, kind, size, set, flags, how, offset, inner) of each field."""
        out = []
        for p in f.get("params", []):
            ctype, name, at = p["type"], p["name"], p["offset"]
            base = ctype.replace("const ", "").strip()
            members = self.facts["structs"].get(base)
            config = self.facts["launch_config"]["members"].get(ctype)
            if members:
                out += [(f"{name}.{m}", NAMES[k, s], k, s, None, "IN", "PLAIN", at + o, 0)
                        for m, o, s, k in members]
            elif config:
                out += [(m, NAMES[k, s], k, s, None, "IN", "INSIDE", at, o)
                        for m, o, s, k in config]
            elif self.is_out(f, p):
                target = re.sub(r"\s*\*$", "", ctype)
                size = 4 if target in ("int", "unsigned int", "float", "CUdevice",
                                       "CUdeviceptr_v1") or target in self.sets else 8
                kind = self.kind_of(target, size)
                out.append((name, target, kind, size, target if kind == "enum" else None, "OUT",
                            "AFTER", at, 0))
            else:
                kind = self.kind_of(ctype, p["size"])
                if kind:
                    out.append((name, ctype, kind, p["size"], base if kind == "enum" else None,
                                "IN", "PLAIN", at, 0))
        if len(out) > FIELDS_MAX:
            raise ModelError(f"{f['name']}: {len(out)} fields")
        return out

    def role(self, f):
        for rule in self.facts["roles"]:
            if not re.fullmatch(rule["ops"], f["base"]):
                continue
            self.matched.add(rule["ops"])
            params = {p["name"]: p for p in f.get("params", [])}
            words = {"role": "CUDA_ROLE_" + rule["role"].upper()}
            for part in ("queue", "object", "bytes", "rows"):
                name = rule.get(part)
                if name is None:
                    continue
                if name not in params:
                    return None
                words[part] = f"{params[name]['offset']} + 1"
                if "*" in params[name]["type"] and params[name]["type"] != "void *":
                    words["after_" + part] = "true"
            if "kind" in rule:
                kind, what = MEMORY[rule["kind"]]
                words["kind"], words["what"] = f"MEMORY_{kind}", f"ALLOCATION_{what}"
            words["narrow"] = "true" if re.fullmatch(r"cuMemAlloc|cuMemAllocPitch|cuMemFree",
                                                     f["name"]) else "false"
            return ", ".join(f".{k} = {v}" for k, v in words.items())
        return None


def add_sets(packed, models, sets):
    used = {m.about["status"] for m in models}
    used |= {r[4] for m in models for f in m.functions for r in m.rows(f) if r[4]}
    for name in sorted(used):
        packed.add_set(name, name, list(sets[name].items()))


def way_of(kind, size, how, inner):
    """How the encoder takes the value (src/wire/place.h); it reads eight bytes, whatever the size."""
    if how == "AFTER" or kind == "string" or (how == "INSIDE" and inner + 8 > CONFIG_BYTES):
        return "WIRE_OTHER"
    way = "WIRE_ADDRESS" if kind in ("pointer", "handle") else "WIRE_NUMBER"
    return f"WIRE_INSIDE | {way}" if how == "INSIDE" else way


def emit_domain(m, packed):
    d, places, firsts, numbers, roles = m.name, [], [], [], []
    for i, f in enumerate(m.functions):
        rows = m.rows(f)
        firsts.append(f"\t{len(places)}, /* {f['op']} */")
        fields = [packed.field(name, ctype, values, kind, None, size, f"KYMO_FIELD_{flags}")
                  for name, ctype, kind, size, values, flags, *_ in rows]
        places += [f"\t{{{{{at}, {inner}, {size}, {way_of(kind, size, how, inner)}}}, "
                   f"KYMO_KIND_{KINDS[kind]}, CUDA_{how}}},"
                   for _, _, kind, size, _, _, how, at, inner in rows]
        status = m.about["status"] if m.has_status(f) else None
        packed.add_op(f["op"], fields or None, m.flags(f), status)
        numbers.append(f"\t{f['cbid']},")
        role = m.role(f)
        if role:
            roles.append(f"\t[{i}] = {{{role}}},")
    count = len(m.functions)
    packed.add_domain(d, m.about["title"], m.about["version"], count)
    lines = [f"static const struct cuda_place places_{d}[] = {{"] + places + ["};", ""]
    lines += [f"static const uint16_t first_places_{d}[] = {{"] + firsts + ["};", ""]
    lines += [f"static const uint16_t cbids_{d}[] = {{"] + numbers + ["};", ""]
    lines += [f"static const struct cuda_role roles_{d}[{count}] = {{"] + roles + ["};", ""]
    return lines + [f"static struct cap_op caps_{d}[{count}];", ""]


def emit(models, sets):
    lines = ["/* SPDX-License-Identifier: Apache-2.0 */",
             "/* Generated by tools/gen/gen_cuda.py from api/cuda; do not edit.",
             " * The calls of CUDA's driver and runtime, and where their arguments lie.", " */",
             '#include "capture/cuda/model.h"', ""]
    packed = Packed()
    add_sets(packed, models, sets)
    for m in models:
        lines += emit_domain(m, packed)
    lines += packed.emit("cuda")
    lines.append("struct cuda_model cuda_models[CUDA_APIS] = {")
    for m in models:
        d = m.name
        most = max(f["cbid"] for f in m.functions)
        lines.append(f"\t{{NULL, caps_{d}, places_{d}, first_places_{d}, cbids_{d}, roles_{d}, {most}}},")
    return "\n".join(lines + ["};"]) + "\n"


def check(models, facts):
    """A rule that matches nothing is a mistake."""
    hit = set().union(*(m.matched for m in models))
    for part in FLAGS + ["out", "not_out"]:
        for pattern in facts[part]:
            if pattern not in hit:
                raise ModelError(f"facts.json: {part}: {pattern} matches nothing")
    for rule in facts["roles"]:
        if rule["ops"] not in hit:
            raise ModelError(f"facts.json: roles: {rule['ops']} matches nothing")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--api", required=True, type=pathlib.Path)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    args = parser.parse_args()
    try:
        facts = json.loads((args.api / "facts.json").read_text("utf-8"))
        sets = json.loads((args.api / "enums.json").read_text("utf-8"))["sets"]
        models = [Model(args.api, d, facts, sets) for d in facts["domains"]]
        text = emit(models, sets)
        check(models, facts)
    except (ModelError, KeyError, ValueError) as e:
        sys.exit(f"{args.api}: {e}")
    args.out.parent.mkdir(parents=True, exist_ok=True)
    if not args.out.exists() or args.out.read_text(encoding="utf-8") != text:
        args.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
