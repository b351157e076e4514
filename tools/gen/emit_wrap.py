# SPDX-License-Identifier: Apache-2.0
"""Emitters of code that runs in the traced program: wrappers, hooks' prototypes, the table."""

import re

from emit import arguments, declare, head, parameters, wrap
from emit_desc import plain_type


# ---- encoding of fields ----

def encode(field, index):
    """C statement that encodes one field as field number `index`."""
    x = field.param
    if field.how in ("scalar", "member", "result"):
        statement = encode_scalar(field, index, x)
    elif field.how == "string":
        statement = f"wire_string(&e, {index}, full ? {x} : NULL, {field.cap});"
    elif field.how in ("list", "pairs"):
        step = 2 if field.how == "pairs" else 1
        statement = (f"wire_array(&e, {index}, full ? {x} : NULL, ocl_list({x}, {step}), "
                     f"{field.size}, {field.cap});")
    else:
        statement = f"wire_array(&e, {index}, {x}, {field.count}, {field.size}, {field.cap});"
        return guard(statement, ["full"] + (["ok"] if field.out else []) + [x])
    return guard(statement, (["ok"] if field.out else []) + ([field.when] if field.when else []))


def guard(statement, conditions):
    conditions = [c for c in conditions if c]
    if not conditions:
        return wrap(statement, "\t\t")
    return (f"\t\tif ({' && '.join(conditions)})\n" + wrap(statement, "\t\t\t"))


def encode_scalar(field, index, x):
    if field.kind in ("pointer", "handle"):
        cast = f"(const void *)(uintptr_t){x}" if "(*)" in field.ctype else x
        return f"wire_pointer(&e, {index}, {cast});"
    if field.kind == "signed":
        return f"wire_signed(&e, {index}, {x}, {field.size});"
    if field.kind == "enum" and field.size == 4:
        return f"wire_unsigned(&e, {index}, (uint32_t){x});"
    return f"wire_unsigned(&e, {index}, (uint64_t){x});"


# ---- wrappers ----

def args_struct(model, op):
    values = []
    for p in op.params:
        value = p["name"]
        if "*" in p["type"]:
            plain = plain_type(model, p["type"])
            value = f"({plain}){value}"
        values.append(f".{p['name']} = {value}")
    return ", ".join([".struct_size = sizeof(a)"] + values)


def status_lines(op):
    if op.status == "return":
        return ["\tcap_status(f, result, CL_SUCCESS);"]
    if op.status == "errcode":
        return ["\tcap_status(f, *errcode_ret, CL_SUCCESS);"]
    return []


def ok_expression(op):
    if op.status != "none":
        return "!f->has_status"
    return "result != NULL" if op.result != "void" else "true"


def out_parameters(op):
    """Give the call a place for what the wrapper must know although the program does not ask."""
    lines, local = [], []
    if op.status == "errcode":
        local.append("\tcl_int error = CL_SUCCESS;")
        lines += ["\tif (!errcode_ret)", "\t\terrcode_ret = &error;"]
    types = {p["name"]: p["type"] for p in op.params}
    for array, counter in op.returned.items():
        local.append(f"\t{types[counter].replace('*', '').strip()} returned = 0;")
        lines += [f"\tif ({array} && !{counter})", f"\t\t{counter} = &returned;"]
    return local, lines


def record_lines(op):
    """The part that writes the record."""
    body = [encode(field, i) for i, field in enumerate(op.fields)]
    text = "\n".join(body)
    lines = [f"\tif (cap_likely(f->buffers) && ocl_begin(f, &e, {len(op.fields)})) {{"]
    if " full" in text or "(full" in text:
        lines.append("\t\tconst bool full = cap_args(f) > 1;")
    if "(ok" in text or " ok" in text:
        lines.append(f"\t\tconst bool ok = {ok_expression(op)};")
    if len(lines) > 1:
        lines.append("")
    return lines + body + ["\t\tcap_commit(f, &e);", "\t}"]


def call_lines(op):
    if "call" in op.hooks:
        call = f"ocl_call_{op.name}({arguments(op, ['f', 'next'])})"
    else:
        call = f"next({arguments(op)})"
    if op.lookup:
        call = f"ocl_lookup(func_name, {call})"
    return [wrap(f"result = {call};" if op.result != "void" else f"{call};", "\t")]


def emit_wrapper(model, op):
    """The traced form of one op, with its callee as a parameter."""
    result = op.result != "void"
    local, substitute = out_parameters(op)
    plain = f"next({arguments(op)});"
    if op.lookup:
        plain = f"ocl_lookup(func_name, next({arguments(op)}));"
    pass_through = ["return " + plain] if result else [plain, "return;"]
    lines = [wrap(f"static inline __attribute__((always_inline)) {declare(op.result, 'trace_')}"
                  f"{op.name}({parameters(op, ['ocl_pfn_' + op.name + ' next', 'const void *site'])})"),
             "{", f"\tstruct kymo_opencl_{op.name}_args a;",
             f"\tstruct cap_frame *f = cap_enter(&ocl_ops[{op.symbol}], site);",
             "\tstruct wire_enc e;"] + local
    if result:
        lines.append(f"\t{declare(op.result, 'result')};")
    lines += ["", "\tif (cap_unlikely(!f))" + ("" if result else " {")]
    lines += [wrap(line, "\t\t") for line in pass_through]
    lines += [] if result else ["\t}"]
    lines += ["\tif (cap_unlikely(f->callbacks)) {",
              wrap(f"a = (struct kymo_opencl_{op.name}_args){{{args_struct(model, op)}}};", "\t\t"),
              "\t\tcap_callbacks(f, &a, CAP_ENTER);", "\t}"]
    lines += substitute
    if "pre" in op.hooks:
        lines.append(wrap(f"ocl_pre_{op.name}({arguments(op, ['f'])});", "\t"))
    lines += call_lines(op) + ["\tcap_leave(f);"] + status_lines(op)
    lines += ["\tif (cap_unlikely(f->callbacks)) {"]
    lines += ["\t\ta.result = result;"] if result else []
    lines += given_places(model, op)
    lines += ["\t\tcap_callbacks(f, &a, CAP_EXIT);", "\t}"] + record_lines(op)
    if "post" in op.hooks:
        tail = ["result"] if result else []
        lines.append(wrap(f"ocl_post_{op.name}({', '.join([arguments(op, ['f'])] + tail)});",
                          "\t"))
    lines.append("\tcap_done(f);")
    return lines + (["\treturn result;"] if result else []) + ["}", ""]


def given_places(model, op):
    """Tools see how much the call returned also where the program did not ask for it."""
    names = sorted(set(op.returned.values()))
    types = {p["name"]: p["type"] for p in op.params}
    return [wrap(f"a.{n} = ({plain_type(model, types[n])}){n};", "\t\t") for n in names]


def otherwise(field, index):
    """Records have 0 where there is no number; tools are told that there is none."""
    if field.how not in ("scalar", "member", "result") or not (field.out or field.when):
        return ""
    return f"\n\t\telse\n\t\t\te->absent |= 1ull << {index};"


def emit_encoder(model, op):
    """
    Encodes the argument structure that tools are given, as the wrapper encodes the arguments. What
    the call wrote is looked at only after it: then the places that it counts into are there.
    """
    if not op.fields:
        return []
    body = [encode(field, i) + otherwise(field, i) for i, field in enumerate(op.fields)]
    text = "\n".join(body).replace("&e,", "e,")
    lines = [f"static void encode_{op.name}(const struct kymo_opencl_{op.name}_args *a, bool ok,",
             "\t\t\t\tstruct wire_enc *e)", "{"]
    names = [p["name"] for p in op.params]
    used = lambda name: re.search(rf"\b{name}\b", text)
    for p in op.params:
        if used(p["name"]):
            declared = declare(p["type"], p["name"])
            cast = p["type"] if "(*" not in p["type"] else "void *"
            lines.append(wrap(f"{declared} = ({cast})a->{p['name']};", "\t"))
    if used("result") and "result" not in names:
        lines.append(f"\t{declare(op.result, 'result')} = ({op.result})a->result;")
    if used("full"):
        lines.append("\tconst bool full = true;")
    if not used("ok"):
        lines += ["", "\t(void)ok;"]
    lines += [""] + [line[1:] if line.startswith("\t") else line
                     for line in text.split("\n")] + ["}", ""]
    return lines


def emit_encoders(model):
    """One function that finds the encoder of an op."""
    lines = []
    for op in model.ops:
        lines += emit_encoder(model, op)
    lines += ["void ocl_encode(const struct cap_domain_info *info, uint32_t op, const void *args, "
              "bool ok,", "\t\tstruct wire_enc *e)", "{",
              "\tswitch (op) {"]
    for op in model.ops:
        if op.fields:
            lines += [f"\tcase {op.symbol}:", f"\t\tencode_{op.name}(args, ok, e);", "\t\tbreak;"]
    return lines + ["\t}", "}", ""]


def emit_links(op, links):
    """One entry for each link: the first has the wrapper inlined, the others share one copy."""
    give = "return " if op.result != "void" else ""
    at = f"{op.symbol} * OCL_LINKS_PER_OP"
    site = "__builtin_return_address(0)"
    lines = [wrap(f"static {declare(op.result, 'CL_API_CALL link0_')}{op.name}({parameters(op)})"),
             "{",
             wrap(f"{give}trace_{op.name}("
                  f"{arguments(op, [f'(ocl_pfn_{op.name})ocl_slots[{at}].next', site])});", "\t"),
             "}", ""]
    extra = ["ocl_pfn_" + op.name + " next", "const void *site"]
    lines += [wrap(f"static __attribute__((noinline, cold)) {declare(op.result, 'shared_')}{op.name}"
                   f"({parameters(op, extra)})"), "{",
              wrap(f"{give}trace_{op.name}({arguments(op, ['next', 'site'])});", "\t"), "}", ""]
    for link in range(1, links):
        callee = f"(ocl_pfn_{op.name})ocl_slots[{at} + {link}].next"
        lines += [wrap(f"static {declare(op.result, 'CL_API_CALL link%d_' % link)}{op.name}"
                       f"({parameters(op)})"), "{",
                  wrap(f"{give}shared_{op.name}({arguments(op, [callee, site])});", "\t"), "}", ""]
    return lines


def emit_slots(model, links):
    lines = ["struct cap_op ocl_ops[OCL_OP_COUNT];", "",
             "/* Read by the thunks by address; the name must survive link-time optimisation. */",
             "__attribute__((used)) struct cap_slot ocl_slots[OCL_LINKS] = {"]
    for op in model.ops:
        for link in range(links):
            lines.append(f"\t{{.wrapper = (void *)link{link}_{op.name}, .op = {op.symbol}}},")
    return lines + ["};", ""]


def emit_thunks(model, links):
    """Thunks in assembly where we know how, else in C."""
    names = [f"ocl_thunk_{op.name}_{link}" for op in model.ops for link in range(links)]
    lines = ["#ifdef OCL_THUNK"]
    lines += [f"OCL_THUNK({name}, {index});" for index, name in enumerate(names)]
    lines.append("#else /* correct, but call sites may be wrong without optimisation */")
    for number, op in enumerate(model.ops):
        give = "return " if op.result != "void" else ""
        for link in range(links):
            slot = f"ocl_slots[{number * links + link}].target"
            lines += [wrap(f"static {declare(op.result, 'CL_API_CALL ')}"
                           f"ocl_thunk_{op.name}_{link}({parameters(op)})"), "{",
                      wrap(f"{give}((ocl_pfn_{op.name})atomic_load_explicit(&{slot}, "
                           f"memory_order_relaxed))({arguments(op)});", "\t"), "}"]
    lines += ["#endif", "", "void *const ocl_thunks[OCL_LINKS] = {"]
    return lines + [f"\t(void *){name}," for name in names] + ["};", ""]


def emit_wrap(model, links):
    """opencl_wrap.c: wrappers, slots, thunks."""
    lines = head("Wrappers, the slots they are reached through, and the thunks handed out.",
                 ['"capture/opencl/encode.h"', '"capture/opencl/table.h"',
                  '"capture/opencl/thunk.h"', '"opencl_args.h"', '"opencl_hooks.h"',
                  '"opencl_ops.h"'])
    for op in model.ops:
        lines += emit_wrapper(model, op) + emit_links(op, links)
    return lines + emit_encoders(model) + emit_slots(model, links) + emit_thunks(model, links)


def emit_hooks(model):
    """opencl_hooks.h: prototypes of the hand-written hooks that the facts name."""
    lines = head("Hooks written by hand. `pre` runs before the call, `call` makes it, `post` runs "
                 "after the\n * record was written; errcode_ret is never NULL in `call` and "
                 "`post`.", ['"opencl_ops.h"'], "OPENCL_HOOKS_H")
    for op in model.ops:
        frame = "struct cap_frame *f"
        result = [declare(op.result, "result")] if op.result != "void" else []
        for hook in op.hooks:
            if hook == "call":
                text = (f"{declare(op.result, 'ocl_call_' + op.name)}"
                        f"({parameters(op, [frame, f'ocl_pfn_{op.name} next'])});")
            else:
                tail = result if hook == "post" else []
                text = f"void ocl_{hook}_{op.name}({', '.join([parameters(op, [frame])] + tail)});"
            lines.append(wrap(text))
    return lines + ["", "#endif"]


# ---- dispatch table and names ----

def emit_table(model):
    """opencl_table.c: what each table entry is, and the ops by name."""
    lines = head("The dispatch table's entries in order, and the ops by name.",
                 ['"capture/opencl/table.h"', '"opencl_ops.h"'])
    untraced = []
    for index, name in enumerate(model.table):
        row = model.signatures[name]
        if name not in model.later or "return" not in row:
            continue
        untraced.append(name)
        params = ", ".join(declare(p["type"], p["name"]) for p in row["params"]) or "void"
        names = ", ".join(p["name"] for p in row["params"])
        lines += [wrap(f"static {declare(row['return'], 'CL_API_CALL untraced_')}{name}({params})"),
                  "{",
                  wrap(f"typedef {declare(row['return'], '(CL_API_CALL *pfn)')}({params});", "\t"),
                  "", f'\tcap_count_untraced("opencl", "{name}");',
                  wrap(f"return ((pfn)ocl_untraced_next[{index}])({names});", "\t"), "}", ""]
    lines += ["const struct ocl_entry ocl_entries[OCL_TABLE_ENTRIES] = {"]
    for name in model.table:
        op = model.by_name.get(name)
        function = f"(void *)untraced_{name}" if name in untraced else "NULL"
        lines.append(f'\t{{"{name}", {op.symbol if op else -1}, {function}}},')
    lines += ["};", "", "/* Sorted by name; op -1: known, but traced in a later version. */",
              "const struct ocl_name ocl_names[] = {"]
    lookups = ", ".join(op.symbol for op in model.ops if op.lookup)
    everything = sorted([op.name for op in model.ops] + model.later)
    for name in everything:
        op = model.by_name.get(name)
        lines.append(f'\t{{"{name}", {op.symbol if op else -1}}},')
    return lines + ["};", "", f"const unsigned ocl_name_count = {len(everything)};",
                    f"const uint16_t ocl_lookup_ops[OCL_LOOKUP_OPS] = {{{lookups}}};"]
