# SPDX-License-Identifier: Apache-2.0
"""The API model that a generator works on: extracted facts and hand-written facts, resolved.

An op has parameters (as the API has them) and fields (as a record has them). Everything a header or
a person stated is checked here, so that a mistake in the facts stops the build with its place.
"""

import json
import re

HOOKS = ("pre", "call", "post")
ARRAY_CAP = 16    # elements of an array that a record holds
BYTES_CAP = 32    # bytes of untyped data
STRING_CAP = 256  # characters of a string
LIST_CAP = 32     # elements of a zero-terminated list


class ModelError(Exception):
    pass


class Type:
    """A scalar C type: how it is recorded and what it is without the vendor's headers."""

    def __init__(self, name, kind, size, plain, enum_set=None):
        self.name, self.kind, self.size, self.plain, self.set = name, kind, size, plain, enum_set


class Field:
    """One field of a record and the facts that its encoder needs."""

    def __init__(self, name, ctype, kind, size, how, param, **facts):
        self.name, self.ctype, self.kind, self.size = name, ctype, kind, size
        self.how = how          # scalar, string, array, bytes, list, pairs, member, result
        self.param = param      # C expression of the parameter
        self.element = facts.get("element")
        self.set = facts.get("set")
        self.out = facts.get("out", False)
        self.deref = facts.get("deref", False)
        self.count = facts.get("count")
        self.cap = facts.get("cap")
        self.when = facts.get("when")


class Op:
    def __init__(self, name, result, params):
        self.name, self.result, self.params = name, result, params
        self.fields = []
        self.table = None       # index in the vendor's dispatch table
        self.flags = set()
        self.work = None        # class of the work it submits
        self.status = "none"    # none, return, errcode
        self.hooks = ()
        self.lookup = False     # hands out function pointers
        self.older = None       # the prototype it had in older versions of its extension
        self.returned = {}      # array parameter -> parameter that says how many were written

    @property
    def symbol(self):
        return "OCL_OP_" + self.name


class Older:
    """What a function looked like before a version of its extension."""

    def __init__(self, op, rule, params, values):
        self.name, self.result = op.name, op.result
        self.params = params    # as they were
        self.values = values    # of the parameters that were not there yet, as C expressions
        self.extension = rule["extension"]
        self.before = rule["before"]


class Model:
    def __init__(self, folder):
        functions = json.loads((folder / "functions.json").read_text())
        self.facts = json.loads((folder / "facts.json").read_text())
        self.sets = json.loads((folder / "enums.json").read_text())["sets"]
        for name, values in self.facts["values"].items():
            self.sets[name]["values"].update(values)
        self.prefix = self.facts["prefix"]
        self.types = {name: Type(name, *row) for name, row in self.facts["types"].items()}
        rows = functions["functions"] + self.facts["extra_functions"]
        self.table = [r["name"] for r in rows if "table" in r]
        self.ops, self.untraced, self.signatures = [], [], {}
        for row in sorted(rows, key=self.generation):
            self.signatures[row["name"]] = row
            if self.is_untraced(row):
                self.untraced.append(row["name"])
            else:
                self.ops.append(self.make_op(row))
        self.older = [op.older for op in self.ops if op.older]
        self.by_name = {op.name: op for op in self.ops}
        self.check_facts()
        self.used_sets = self.find_used_sets()

    def generation(self, row):
        """Ops keep their numbers: those of functions traced later come after all others."""
        for number, patterns in enumerate(self.facts["added"].values()):
            if any(re.fullmatch(p, row["name"]) for p in patterns):
                return number + 1
        return 0

    def is_untraced(self, row):
        patterns = [p for group in self.facts["untraced"].values() for p in group]
        if any(re.fullmatch(p, row["name"]) for p in patterns):
            return True
        if "return" not in row:
            raise ModelError(f"{row['name']}: no prototype known and not marked as untraced")
        return False

    def check_facts(self):
        for name, facts in self.facts["functions"].items():
            if name not in self.by_name:
                raise ModelError(f"facts.json: function {name} is not in the model")
            params = {p["name"] for p in self.by_name[name].params}
            for param in facts.get("params", {}):
                if param not in params:
                    raise ModelError(f"facts.json: {name} has no parameter {param}")
        for part in ("hooks", "groups", "submits", "untraced", "added"):
            for patterns in self.facts[part].values():
                for pattern in patterns:
                    if not any(re.fullmatch(pattern, name) for name in self.signatures):
                        raise ModelError(f"facts.json: {part}: {pattern} matches no function")

    # ---- one op ----

    def make_op(self, row):
        params = [{**p, "type": self.facts["retyped"].get(p["type"], p["type"])}
                  for p in row["params"]]
        op = Op(row["name"], row["return"], params)
        self.shape(op)
        own = self.facts["functions"].get(op.name, {})
        op.table = row.get("table")
        op.lookup = own.get("lookup", False)
        if op.result == self.facts["status_type"]:
            op.status = "return"
        for param in op.params:
            op.fields += self.fields_of(op, param, self.rule_for(param, own))
        if op.status != "return" and op.result != "void":
            op.fields.append(self.scalar("result", op.result, "result", how="result"))
        self.classify(op)
        if len(op.fields) > 40:
            raise ModelError(f"{op.name}: {len(op.fields)} fields, a record holds 40")
        return op

    def shape(self, op):
        """Give the op its newest parameters, and those that it had before."""
        for rule in self.facts["reshaped"]:
            if not any(re.fullmatch(p, op.name) for p in rule["functions"]):
                continue
            gained = rule.get("gained")
            if gained:
                then = [p for p in op.params if p["name"] != gained["name"]]
                new = {"name": gained["name"], "type": gained["type"]}
                op.params = then[:gained["at"]] + [new] + then[gained["at"]:]
                values = {gained["name"]: "NULL"}
            else:
                op.params, then, values = rule["now"], rule["then"], rule["values"]
            op.older = Older(op, rule, then, values)

    def rule_for(self, param, own):
        if param["name"] in own.get("params", {}):
            return own["params"][param["name"]]
        rule = self.facts["params"].get(param["name"], {})
        wanted = rule.get("type")
        pointer = "*" in param["type"] and "(" not in param["type"]
        return rule if pointer and wanted in (None, param["type"]) else {}

    def classify(self, op):
        def any_of(patterns):
            return any(re.fullmatch(p, op.name) for p in patterns)

        groups = self.facts["groups"]
        op.hooks = tuple(hook for hook in HOOKS if any_of(self.facts["hooks"].get(hook, ())))
        work = [k for k, patterns in self.facts["submits"].items() if any_of(patterns)]
        if len(work) > 1:
            raise ModelError(f"{op.name}: submits {' and '.join(work)}")
        op.work = work[0] if work else None
        for group, flag in (("chatty", "CHATTY"), ("waits", "WAITS"), ("allocates", "ALLOCATES")):
            if any_of(groups[group]):
                op.flags.add(flag)
        if op.work:
            op.flags.add("SUBMITS")
        if op.flags & {"SUBMITS", "WAITS", "ALLOCATES"} or any_of(groups["builds"]):
            op.flags.add("MINIMAL")
        if {"CHATTY", "MINIMAL"} <= op.flags:
            raise ModelError(f"{op.name}: both chatty and minimal")

    # ---- fields of one parameter ----

    def scalar_type(self, ctype, where):
        if "*" in ctype or "(" in ctype:
            return Type(ctype, "pointer", 8, "void *")
        name = ctype.replace("const ", "").strip()
        if name not in self.types:
            raise ModelError(f"{where}: type {name} is not in facts.json")
        return self.types[name]

    def scalar(self, name, ctype, expression, how="scalar", **facts):
        known = self.scalar_type(ctype, name)
        kind = known.kind
        plain_name = name.lstrip("*").split("->")[-1]
        if known.name == "size_t" and (plain_name == "size" or plain_name == "length" or
                                       re.search(r"(^cb_|_pitch$|_size$|_size_ret$)", plain_name)):
            kind = "size"
        enum_set = facts.pop("set", None)
        if enum_set:
            kind = "enum"
        elif kind in ("enum", "flags"):
            enum_set = known.set or known.name
        return Field(name, ctype, kind, known.size, how, expression, set=enum_set, **facts)

    def fields_of(self, op, param, rule):
        name, ctype = param["name"], param["type"]
        if rule.get("status"):
            op.status = "errcode"
            return []
        if not rule or set(rule) == {"set"}:
            return [self.scalar(name, ctype, name, set=rule.get("set"))]
        if "string" in rule:
            return [Field(name, ctype, "string", 1, "string", name, cap=STRING_CAP)]
        if "bytes" in rule or "out_bytes" in rule:
            return [self.bytes_field(op, name, ctype, rule)]
        if "struct" in rule:
            return self.members(name, rule)
        pointee = re.sub(r"\s*\*$", "", re.sub(r"^const ", "", ctype))
        if rule.get("out"):
            return [self.scalar("*" + name, pointee, "*" + name, out=True, deref=True,
                                when=name)]
        return [self.array_field(op, name, ctype, pointee, rule)]

    def bytes_field(self, op, name, ctype, rule):
        out = "out_bytes" in rule
        count = self.counted(op, name, rule["out_bytes"] if out else rule["bytes"], rule)
        return Field("*" + name, ctype, "bytes", 1, "bytes", name, out=out, deref=True,
                     count=count, cap=rule.get("most", BYTES_CAP))

    def counted(self, op, name, count, rule):
        """C expression of how many elements may be read; remembers who says how many there are."""
        if "returned" in rule:
            op.returned[name] = rule["returned"]
            return f"ocl_min({count}, *{rule['returned']})"
        if "valid" in rule:
            return f"ocl_valid({count}, {rule['valid']})"
        return f"ocl_min({count}, {rule['most']})" if "most" in rule else count

    def array_field(self, op, name, ctype, pointee, rule):
        element = self.scalar_type(pointee, f"{op.name}.{name}")
        kind, enum_set = element.kind, element.set or element.name
        if "set" in rule:
            kind, enum_set = "enum", rule["set"]
        facts = {"element": kind, "out": "out_array" in rule}
        if kind in ("enum", "flags"):
            facts["set"] = enum_set
        if rule.get("pairs") or rule.get("list"):
            how = "pairs" if rule.get("pairs") else "list"
            return Field(name, ctype, "array", element.size, how, name, cap=LIST_CAP, **facts)
        key = "out_array" if facts["out"] else "array"
        if key not in rule:
            raise ModelError(f"{op.name}.{name}: rule {rule} says nothing about the content")
        count = self.counted(op, name, str(rule[key]), rule)
        return Field(name, ctype, "array", element.size, "array", name, count=count,
                     cap=ARRAY_CAP, **facts)

    def members(self, name, rule):
        struct = rule["struct"]
        when = name + (f" && {rule['when']}" if "when" in rule else "")
        fields = []
        for member, ctype in self.facts["structs"][struct]:
            expression = f"((const {struct} *){name})->{member}"
            fields.append(self.scalar(f"{name}->{member}", ctype, expression, how="member",
                                      deref=True, when=when))
        return fields

    # ---- enum sets ----

    def find_used_sets(self):
        used = {self.facts["status_set"]: "enum"}
        for op in self.ops:
            for field in op.fields:
                if field.set:
                    kind = field.element or field.kind
                    if field.set not in self.sets:
                        raise ModelError(f"{op.name}.{field.name}: no enum set {field.set}")
                    if used.setdefault(field.set, kind) != kind:
                        raise ModelError(f"{op.name}.{field.name}: {field.set} is both enum "
                                         "and flags")
        return {name: self.set_values(name, used[name]) for name in sorted(used)}

    def set_values(self, name, kind):
        """Values of a set: the first name of each, wide masks of flags before narrow ones."""
        first = {}
        for label, value in self.sets[name]["values"].items():
            first.setdefault(value, label)
        values = [(label, value) for value, label in first.items()]
        if kind == "flags":
            values = [v for v in values if v[1] != 0]
            values.sort(key=lambda v: -bin(v[1]).count("1"))
        return values
