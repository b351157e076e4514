# SPDX-License-Identifier: Apache-2.0
"""Reads the record model (model/*.rec; the words are in model/README.md) into plain objects."""

import os
import re
import sys

# Type of a field: kind on the wire, bytes, name, and the C type of a typed record's member.
TYPES = {
    "u64": ("UNSIGNED", 8, "u64", "uint64_t"),
    "u32": ("UNSIGNED", 4, "u32", "uint32_t"),
    "i64": ("SIGNED", 8, "i64", "int64_t"),
    "i32": ("SIGNED", 4, "i32", "int32_t"),
    "double": ("FLOAT", 8, "double", "double"),
    "bool": ("BOOL", 1, "bool", "bool"),
    "pointer": ("POINTER", 8, "void *", "uint64_t"),
    "handle": ("HANDLE", 8, None, "uint64_t"),
    "ns": ("TIME", 8, "ns", "int64_t"),
    "tick": ("UNSIGNED", 8, "tick", "uint64_t"),
    "bytes": ("SIZE", 8, "bytes", "uint64_t"),
    "text": ("STRING", 1, "char *", "const char *"),
    "blob": ("BYTES", 1, None, "const uint8_t *"),
    "u32[3]": ("ARRAY", 4, "u32[]", "uint32_t"),
}
C_TYPES = {"u8": "uint8_t", "u32": "uint32_t", "i64": "int64_t", "bool": "bool",
           "thread": "uint32_t", "op": "uint32_t", "count": "uint64_t"}


class ModelError(Exception):
    pass


class Field:
    """A field of a layout: its name, how it lies on the wire, where a reader puts it."""

    def __init__(self, name, spec, target, comment, enumerator):
        self.name, self.spec, self.comment = name, spec, comment
        self.enumerator = enumerator or name.upper()
        self.element, self.set = None, None
        m = re.fullmatch(r"(\w+(?:\[3\])?)(?::(\w+))?(?:\((\w+)\))?", spec)
        if not m:
            raise ModelError(f"{name}: type {spec}")
        base, of, shown = m.groups()
        self.base, self.of = base, of
        if base in ("ref", "ref4"):
            self.kind, self.size, self.type = "REF", 8 if base == "ref" else 4, of
            self.c_type = "uint64_t" if of == "call" else "uint32_t"
        elif base == "enum":
            self.kind, self.size, self.type, self.set = "ENUM", 4, of, of
            self.c_type = "uint32_t"
        elif base in TYPES:
            self.kind, self.size, self.type, self.c_type = TYPES[base]
            if base == "u32[3]":
                self.element = "UNSIGNED"
        else:
            raise ModelError(f"{name}: type {spec}")
        self.type = shown or self.type
        self.target, self.conversion = None, None
        if target:
            self.target, _, conversion = target.partition(":")
            self.conversion = conversion or None
            if self.conversion:
                self.c_type = C_TYPES[self.conversion]


class Layout:
    def __init__(self, prefix, comment):
        self.prefix, self.comment, self.fields = prefix, comment, []
        self.extends, self.most = None, None


class Domain:
    def __init__(self, name, title, comment):
        self.name, self.title, self.comment = name, title, comment
        self.builtin, self.short = None, name  # bit CAP_ACTIVITY_*, core_SHORT_ops
        self.known = False
        self.record, self.finish = None, False  # struct of a reader's records
        self.elsewhere = []  # fields that say when its records were, and on which device's clock
        self.aliases, self.parts = [], {}
        self.own = {}  # by format: members that its own code shows or leaves out
        self.op_prefix, self.ops = None, []     # (name, enumerator, layout, object, timed, comment)
        self.layouts = {}
        self.derived = Layout("DERIVED", "")  # what readers add
        self.tables = []


class Table:
    """A table of the store that holds records of a domain, all of them or those for which `when` holds."""

    def __init__(self, name, comment):
        self.name, self.comment = name, comment
        self.when = None      # C, of the record `r`
        self.columns = []     # (name, member, rule, what follows the type in SQL)


class Tally:
    """What records are added up by (keys), and into what (members of struct tally)."""

    def __init__(self, name, table, comment):
        self.name, self.table, self.comment = name, table, comment
        self.keys = []     # (name, what it is the index of, or None)
        self.columns = []  # (name, member)
        self.wire = []     # names

    def line(self, w):
        if w[0] == "keys":
            self.keys += [(k.partition(":")[0], k.partition(":")[2] or None) for k in w[1:]]
        elif w[0] == "wire":
            self.wire += w[1:]
        elif w[0] == "columns":
            self.columns += [(c.partition("=")[0], c.partition("=")[2] or c) for c in w[1:]]
        else:
            raise ModelError(f"unknown word {w[0]}")


class EnumSet:
    def __init__(self, name, prefix):
        self.name, self.prefix, self.values = name, prefix, []  # (text, number, suffix, comment)


class Model:
    def __init__(self):
        self.domains, self.enums, self.layouts = [], {}, {}
        self.tallies = []

    @property
    def timed(self):
        return self.layouts["TIMED"]

    def records(self):
        """Domains whose records have a struct of their own."""
        return [d for d in self.domains if d.record and d.record != "rec"]


def words(text):
    return [w.strip('"') for w in re.findall(r'"[^"]*"|\S+', text)]


class Reader:
    def __init__(self, model):
        self.model, self.domain, self.block = model, None, None
        self.above = []  # lines of comment before what comes next

    def line(self, text):
        code, _, comment = text.partition("#") if "#" in text else (text, "", "")
        comment = comment.strip()
        if not code.strip():
            self.above = self.above + [comment] if comment else []
            return
        if code[0] not in " \t":
            self.top(words(code), comment)
        elif self.block:
            self.block(words(code), comment)
        else:
            raise ModelError("a line that belongs to nothing")

    def top(self, w, comment):
        handler = getattr(self, "top_" + w[0], None)
        if not handler:
            raise ModelError(f"unknown word {w[0]}")
        self.block = None
        handler(w[1:], comment)
        self.above = []

    def top_domain(self, w, comment):
        self.domain = Domain(w[0], w[1], comment)
        self.model.domains.append(self.domain)

    def top_builtin(self, w, _comment):
        self.domain.builtin = w[0]
        self.domain.short = w[1] if len(w) > 1 else self.domain.name

    def top_known(self, _w, _comment):
        self.domain.known = True

    def top_alias(self, w, _comment):
        self.domain.aliases += w

    def top_record(self, w, _comment):
        self.domain.record, self.domain.finish = w[0], "finish" in w[1:]

    def top_elsewhere(self, w, _comment):
        if not w:
            raise ModelError("elsewhere: which fields say it?")
        self.domain.elsewhere = w

    def top_own(self, w, _comment):
        self.domain.own[w[0]] = w[1:]

    def top_part(self, w, comment):
        self.domain.parts[w[0]] = (w[1], comment)

    def top_enum(self, w, _comment):
        e = self.model.enums[w[0]] = EnumSet(w[0], w[1])
        self.block = lambda v, c: e.values.append((v[0], int(v[1]), v[2], c))

    def top_ops(self, w, _comment):
        d = self.domain
        d.op_prefix = w[0]

        def op(v, c):
            name = v[v.index("as") + 1] if "as" in v else v[0].upper()
            d.ops.append((v[0], name, v[1], "object" in v[2:], "timed" in v[2:], c))
        self.block = op

    def top_table(self, w, _comment):
        t = Table(w[0], self.above)
        if w[1:] and w[1] == "when":
            t.when = " ".join(w[2:])
        elif w[1:] and w[1] == "unless":
            t.when = f"!({' '.join(w[2:])})"
        self.domain.tables.append(t)
        self.block = lambda v, c: t.columns.append(
            (v[0], v[1], v[2] if len(v) > 2 else "plain", " ".join(v[3:])))

    def top_tally(self, w, _comment):
        t = Tally(w[0], w[1], self.above)
        self.model.tallies.append(t)
        self.block = lambda v, c: t.line(v)

    def top_fields(self, w, comment):
        layout = Layout(w[0], comment)
        if len(w) > 2 and w[1] == "most":
            layout.most = int(w[2])
        if len(w) > 2 and w[1] == "extends":
            layout.extends = self.model.layouts[w[2]]
            layout.fields = list(layout.extends.fields)
        self.model.layouts[w[0]] = layout
        if self.domain:
            self.domain.layouts[w[0]] = layout
        self.block = lambda v, c: self.field(layout, v, c)

    def top_derived(self, _w, _comment):
        self.block = lambda v, c: self.field(self.domain.derived, v, c)

    def field(self, layout, v, comment):
        if v[0] == "like":
            known = {f.name: f for o in self.domain.layouts.values() for f in o.fields}
            layout.fields += [known[n] for n in v[1:]]
            return
        name, spec, rest = v[0], v[1], v[2:]
        enumerator = rest[rest.index("as") + 1] if "as" in rest else None
        target = rest[rest.index("->") + 1] if "->" in rest else None
        layout.fields.append(Field(name, spec, target, comment, enumerator))


def check(model):
    for d in model.domains:
        for name, _, layout, *_ in d.ops:
            if layout not in model.layouts:
                raise ModelError(f"{d.name}.{name}: no fields {layout}")
        known = {f.name for layout in d.layouts.values() for f in layout.fields}
        for field in d.elsewhere:
            if field not in known:
                raise ModelError(f"{d.name}: elsewhere: no field {field}")
    for layout in model.layouts.values():
        names = [f.name for f in layout.fields]
        if len(set(names)) != len(names):
            raise ModelError(f"{layout.prefix}: a field twice")
        if layout.most and len(names) > layout.most:
            raise ModelError(f"{layout.prefix}: more than {layout.most} fields")
        for f in layout.fields:
            if f.set and f.set not in model.enums:
                raise ModelError(f"{layout.prefix} {f.name}: no enum {f.set}")


def files_of(folder):
    with open(os.path.join(folder, "records.list"), encoding="utf-8") as f:
        return [os.path.join(folder, line.strip() + ".rec") for line in f
                if line.strip() and not line.startswith("#")]


def read(folder):
    model = Model()
    for path in files_of(folder):
        reader = Reader(model)
        with open(path, encoding="utf-8") as f:
            for number, text in enumerate(f, 1):
                try:
                    reader.line(text.rstrip("\n"))
                except (ModelError, KeyError, IndexError, ValueError) as e:
                    sys.exit(f"{path}:{number}: {e}")
    try:
        check(model)
    except ModelError as e:
        sys.exit(f"{folder}: {e}")
    return model
