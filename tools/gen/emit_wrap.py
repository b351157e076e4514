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

class Form:
    """One way in which an op is called: as it is now, or as it was."""

    def __init__(self, op, number, older=None):
        kind = "older_" if older else ""
        self.op, self.older, self.of = op, older, older or op
        self.pfn = f"ocl_older_{op.name}" if older else f"ocl_pfn_{op.name}"
        self.trace = f"trace_{kind}{op.name}"
        self.shared = f"shared_{kind}{op.name}"
        self.number = number    # its links are the OCL_LINKS_PER_OP from number times that
        self.first = (f"(OCL_OP_COUNT + {number}) * OCL_LINKS_PER_OP" if older
                      else f"{op.symbol} * OCL_LINKS_PER_OP")

    def link(self, number):
        return f"link{number}_{'older_' if self.older else ''}{self.op.name}"

    def thunk(self, number):
        return f"ocl_thunk_{'older_' if self.older else ''}{self.op.name}_{number}"


def forms(model):
    """All forms in the order of their links."""
    changed = [op for op in model.ops if op.older]
    return ([Form(op, i) for i, op in enumerate(model.ops)] +
            [Form(op, i, op.older) for i, op in enumerate(changed)])


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
    lines = [f"\tif (ocl_begin(t, f, &e, {len(op.fields)}, straight)) {{"]
    if " full" in text or "(full" in text:
        lines.append("\t\tconst bool full = ocl_args(f, straight) > 1;")
    if "(ok" in text or " ok" in text:
        lines.append(f"\t\tconst bool ok = {ok_expression(op)};")
    if len(lines) > 1:
        lines.append("")
    return lines + body + ["\t\tocl_commit(t, f, &e, straight);", "\t}"]


def looked_up(op, call):
    """A pointer that the call hands out, led through a thunk."""
    platform = "platform" if any(p["name"] == "platform" for p in op.params) else "NULL"
    return f"ocl_lookup({platform}, func_name, {call})"


def call_lines(op, older):
    if older:
        call = f"next({arguments(older)})"
    elif "call" in op.hooks:
        call = f"ocl_call_{op.name}({arguments(op, ['f', 'next'])})"
    else:
        call = f"next({arguments(op)})"
    if op.lookup:
        call = looked_up(op, call)
    return [wrap(f"result = {call};" if op.result != "void" else f"{call};", "\t")]


PLACE = ["const void *site", "const void *sp"]  # return address of the call, cap_sp() of what it called


def pass_through(call, condition, result):
    """Leaves the wrapper by that call."""
    if result:
        return [f"\tif (cap_unlikely({condition}))", wrap(f"return {call};", "\t\t")]
    return [f"\tif (cap_unlikely({condition})) {{", wrap(f"{call};", "\t\t"), "\t\treturn;", "\t}"]


def emit_wrapper(model, op, form):
    """The traced form of one op, with its callee as a parameter."""
    result = op.result != "void"
    older = form.older
    local, substitute = out_parameters(op)
    types = {p["name"]: p["type"] for p in op.params}
    if older:
        local += [f"\t{declare(types[name], name)} = {value};"
                  for name, value in older.values.items()]
    plain = f"next({arguments(form.of)})"
    if op.lookup:
        plain = looked_up(op, plain)
    rest = f"{form.shared}({arguments(form.of, ['next', 'site', 'sp'])})"
    lines = [wrap(f"static {declare(op.result, form.shared)}"
                  f"({parameters(form.of, [form.pfn + ' next'] + PLACE)});"), "",
             wrap(f"static inline __attribute__((always_inline)) {declare(op.result, form.trace)}"
                  f"({parameters(form.of, [form.pfn + ' next'] + PLACE + ['const bool straight'])})"),
             "{", f"\tstruct kymo_opencl_{op.name}_args a;",
             wrap(f"struct cap_frame *f = ocl_enter(&ocl_ops[{op.symbol}], site, sp, straight);", "\t"),
             "\tstruct cap_thread *t;", "\tstruct wire_enc e;"] + local
    if result:
        lines.append(f"\t{declare(op.result, 'result')};")
    lines += [""] + pass_through(rest, f"!f && straight && !cap_passes(&ocl_ops[{op.symbol}])", result)
    lines += pass_through(plain, "!f", result)
    lines += ["\tif (!straight && cap_unlikely(f->callbacks)) {",
              wrap(f"a = (struct kymo_opencl_{op.name}_args){{{args_struct(model, op)}}};", "\t\t"),
              "\t\tcap_callbacks(f, &a, CAP_ENTER);", "\t}"]
    lines += substitute
    if "pre" in op.hooks:
        lines.append(wrap(f"ocl_pre_{op.name}({arguments(op, ['f'])});", "\t"))
    lines += call_lines(op, older) + ["\tt = ocl_leave(f, straight);"] + status_lines(op)
    lines += ["\tif (!straight && cap_unlikely(f->callbacks)) {"]
    lines += ["\t\ta.result = result;"] if result else []
    lines += given_places(model, op)
    lines += ["\t\tcap_callbacks(f, &a, CAP_EXIT);", "\t}"] + record_lines(op)
    if "post" in op.hooks:
        tail = ["result"] if result else []
        lines.append(wrap(f"ocl_post_{op.name}({', '.join([arguments(op, ['f'])] + tail)});",
                          "\t"))
    lines.append("\tocl_done(t, f, straight);")
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


def emit_links(form, links):
    """
    One entry for each link: the first has the straight path inlined; the others, and what cannot take it, share one
    copy of the whole.
    """
    of = form.of
    give = "return " if of.result != "void" else ""
    site, sp = "__builtin_return_address(0)", "cap_sp()"
    lines = [wrap(f"static {declare(of.result, 'CL_API_CALL ' + form.link(0))}({parameters(of)})"),
             "{",
             wrap(f"{give}{form.trace}("
                  f"{arguments(of, [f'({form.pfn})ocl_slots[{form.first}].next', site, sp, 'true'])});", "\t"),
             "}", ""]
    lines += [wrap(f"static __attribute__((noinline)) {declare(of.result, form.shared)}"
                   f"({parameters(of, [form.pfn + ' next'] + PLACE)})"), "{",
              wrap(f"{give}{form.trace}({arguments(of, ['next', 'site', 'sp', 'false'])});", "\t"), "}", ""]
    for link in range(1, links):
        callee = f"({form.pfn})ocl_slots[{form.first} + {link}].next"
        lines += [wrap(f"static {declare(of.result, 'CL_API_CALL ' + form.link(link))}"
                       f"({parameters(of)})"), "{",
                  wrap(f"{give}{form.shared}({arguments(of, [callee, site, sp])});", "\t"), "}", ""]
    return lines


def emit_slots(model, links):
    lines = ["struct cap_op ocl_ops[OCL_OP_COUNT];", "",
             "/* Read by the thunks by address; the name must survive link-time optimisation. */",
             "__attribute__((used)) struct cap_slot ocl_slots[OCL_LINKS];", "",
             "/* Code, for a table would be relocated in every process. */",
             "void ocl_slots_fill(void)", "{", "\tstruct cap_slot *s = ocl_slots;", ""]
    for form in forms(model):
        for link in range(links):
            lines.append(f"\tocl_slot_fill(s++, (void *){form.link(link)}, {form.op.symbol});")
    return lines + ["}", ""]


def emit_thunks(model, links):
    """Thunks in assembly where we know how, else in C."""
    names = [form.thunk(link) for form in forms(model) for link in range(links)]
    lines = ["#ifdef OCL_THUNK", "OCL_THUNKS_BEGIN;"]
    lines += [f"OCL_THUNK({name}, {index});" for index, name in enumerate(names)]
    lines += ["", "void *ocl_thunk(unsigned link)", "{",
              "\treturn (void *)((uintptr_t)ocl_thunks + (size_t)link * OCL_THUNK_BYTES);", "}"]
    lines.append("#else /* correct, but call sites may be wrong without optimisation */")
    for number, form in enumerate(forms(model)):
        of = form.of
        give = "return " if of.result != "void" else ""
        for link in range(links):
            slot = f"ocl_slots[{number * links + link}].target"
            lines += [wrap(f"static {declare(of.result, 'CL_API_CALL ')}"
                           f"{form.thunk(link)}({parameters(of)})"), "{",
                      wrap(f"{give}(({form.pfn})atomic_load_explicit(&{slot}, "
                           f"memory_order_relaxed))({arguments(of)});", "\t"), "}"]
    lines += ["", "void *ocl_thunk(unsigned link)", "{", "\tstatic void *const thunks[OCL_LINKS] = {"]
    lines += [f"\t\t(void *){name}," for name in names]
    return lines + ["\t};", "", "\treturn thunks[link];", "}", "#endif", ""]


def emit_wrap(model, links):
    """opencl_wrap.c: wrappers, slots, thunks."""
    lines = head("Wrappers, the slots they are reached through, and the thunks handed out.",
                 ['"capture/opencl/encode.h"', '"capture/opencl/table.h"',
                  '"capture/opencl/thunk.h"', '"opencl_args.h"', '"opencl_hooks.h"',
                  '"opencl_ops.h"'])
    for form in forms(model):
        lines += emit_wrapper(model, form.op, form) + emit_links(form, links)
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
        if name not in model.untraced or "return" not in row:
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
        lines.append(f"\t{{{op.symbol if op else -1}, {function}}}, /* {name} */")
    lines += ["};", "", "/* Functions that an extension has changed: until when, and their links. */"]
    lines += ["const struct ocl_older ocl_olders[] = {"]
    for number, was in enumerate(model.older):
        version = ", ".join(str(part) for part in was.before)
        lines += [f'\t{{"{was.extension}", CL_MAKE_VERSION({version}), '
                  f"(OCL_OP_COUNT + {number}) * OCL_LINKS_PER_OP}}, /* {was.name} */"]
    lines += ["};", "", "/* Sorted by name; op -1: known, and not traced. */",
              "const struct ocl_name ocl_names[] = {"]
    lookups = ", ".join(op.symbol for op in model.ops if op.lookup)
    everything = sorted([op.name for op in model.ops] + model.untraced)
    older, at, texts = {was.name: n for n, was in enumerate(model.older, 1)}, 0, []
    for name in everything:
        op = model.by_name.get(name)
        was = older[name] if op and op.older else 0
        lines.append(f"\t{{{at}, {op.symbol if op else -1}, {was}}}, /* {name} */")
        texts.append(f'\t"{name}\\0"')
        at += len(name) + 1
    return lines + ["};", "const char ocl_name_text[] ="] + texts + ["\t;", "", f"const unsigned ocl_name_count = {len(everything)};",
                    f"const uint16_t ocl_lookup_ops[OCL_LOOKUP_OPS] = {{{lookups}}};"]
