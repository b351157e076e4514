# SPDX-License-Identifier: Apache-2.0
"""Emitters of what describes the domain: op numbers, descriptors and argument structures."""

import re

from emit import declare, head, wrap
from packed import Packed

FLAG_ORDER = ["CHATTY", "SUBMITS", "WAITS", "MINIMAL", "ALLOCATES"]


def emit_ops(model, links):
    """opencl_ops.h: op numbers, types of the functions, slots."""
    lines = head("Numbers of the ops, types of their functions, the slots behind the thunks.",
                 ['"capture/opencl/cl.h"', '"core/capture.h"'], "OPENCL_OPS_H")
    lines.append("enum ocl_op {")
    lines += [f"\t{op.symbol} = {number}," for number, op in enumerate(model.ops)]
    lines += [f"\tOCL_OP_COUNT = {len(model.ops)}", "};", ""]
    lines += ["/* An op can be reached through several pointers, its links: the dispatch table and",
              " * what platforms hand out by name. A link has a slot and a thunk. A function that an",
              " * extension has changed has links of its own for its older form. */",
              f"#define OCL_LINKS_PER_OP {links}u",
              f"#define OCL_OLDER_COUNT {len(model.older)}u",
              "#define OCL_LINKS ((OCL_OP_COUNT + OCL_OLDER_COUNT) * OCL_LINKS_PER_OP)", "",
              "/* Entries of the dispatch table that the model knows; the headers' may have more. */",
              f"#define OCL_TABLE_ENTRIES {len(model.table)}u", "",
              "extern struct cap_op ocl_ops[OCL_OP_COUNT];",
              "extern struct cap_slot ocl_slots[OCL_LINKS] __attribute__((visibility(\"hidden\")));",
              "void *ocl_thunk(unsigned link); /* what leads to the slot of that number */",
              "void ocl_slots_fill(void); /* before the first slot is opened */",
              "extern const struct ocl_rows ocl_rows;",
              "#define OCL_PACKED ((const struct packed *)&ocl_rows)", ""]
    for op in model.ops:
        params = ", ".join(declare(p["type"], p["name"]) for p in op.params) or "void"
        lines.append(wrap(f"typedef {declare(op.result, '(CL_API_CALL *ocl_pfn_' + op.name)})"
                          f"({params});"))
    for older in model.older:
        params = ", ".join(declare(p["type"], p["name"]) for p in older.params)
        lines.append(wrap(f"typedef {declare(older.result, '(CL_API_CALL *ocl_older_' + older.name)})"
                          f"({params});"))
    lines += ["", "/* The function that the table's link of an op leads to, traced or not. */",
              "#define OCL_NEXT(name)                                                          \\",
              "\t((ocl_pfn_##name)ocl_slots[OCL_OP_##name * OCL_LINKS_PER_OP].next)", "", "#endif"]
    return lines


def emit_desc(model):
    """opencl_desc.c: enum sets, fields, ops, the domain."""
    packed, facts = Packed(), model.facts
    for name, values in model.used_sets.items():
        packed.add_set(name, name, values)
    for op in model.ops:
        flags = " | ".join("KYMO_OP_" + f for f in FLAG_ORDER if f in op.flags) or "0"
        status = facts["status_set"] if op.status != "none" else None
        packed.add_op(op.name, [field_row(packed, f) for f in op.fields] or None, flags, status)
    packed.add_domain(facts["domain"], facts["title"], facts["version"], len(model.ops))
    return head("Description of the domain: enum sets, fields, operations.",
                ['"base/packed.h"', '"opencl_ops.h"']) + packed.emit("ocl")


def field_row(packed, field):
    flags = [name for name, on in (("KYMO_FIELD_OUT", field.out),
                                   ("KYMO_FIELD_DEREF", field.deref),
                                   ("KYMO_FIELD_RESULT", field.how == "result")) if on]
    return packed.field(field.name, field.ctype, field.set, field.kind, field.element, field.size,
                        " | ".join(flags) or "KYMO_FIELD_IN")


# ---- argument structures ----

def plain_type(model, ctype):
    """The type without the vendor's headers; what only the vendor can describe is void."""
    if "(*)" in ctype:
        return "void (*)(void)"
    base = re.sub(r"\bconst\b|\*", "", ctype).strip()
    stars = ctype.count("*")
    constant = "const " in ctype
    known = model.types.get(base)
    if not stars:
        return known.plain
    plain = known.plain if known else ("char" if base == "char" else "void")
    if base == "unsigned char":
        plain = "unsigned char"
    if plain.endswith("*"):
        return f"{plain}const *" if constant else f"{plain}*"
    return f"{'const ' if constant else ''}{plain} {'*' * stars}"


def emit_args(model):
    """opencl_args.h: the argument structures that tools see; needs no vendor header."""
    lines = head("Arguments of the ops as callbacks get them. Handles are void pointers. "
                 "`result` is valid\n * on exit only.", ["<stddef.h>", "<stdint.h>"],
                 "KYMO_OPENCL_ARGS_H")
    for op in model.ops:
        lines += [f"struct kymo_opencl_{op.name}_args {{", "\tsize_t struct_size; /* of this structure, for later versions */"]
        lines += [f"\t{declare(plain_type(model, p['type']), p['name'])};" for p in op.params]
        if op.result != "void":
            lines.append(f"\t{declare(plain_type(model, op.result), 'result')};")
        lines += ["};", ""]
    return lines + ["#endif"]
