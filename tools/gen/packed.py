# SPDX-License-Identifier: Apache-2.0
"""Writes descriptions of domains as src/base/packed.h has them: rows of numbers and one blob of text.

Nothing in them is relocated when a library is loaded; packed_describe() makes what tools see.
"""

KINDS = {"unsigned": "UNSIGNED", "signed": "SIGNED", "float": "FLOAT", "pointer": "POINTER",
         "handle": "HANDLE", "enum": "ENUM", "flags": "FLAGS", "bool": "BOOL", "string": "STRING",
         "bytes": "BYTES", "array": "ARRAY", "time": "TIME", "size": "SIZE", "ref": "REF"}


class Packed:
    """Domains with their ops, fields and sets; rows are added in any order, sets before fields name them."""

    def __init__(self):
        self.text, self.offsets, self.length = [], {}, 0
        self.values, self.sets, self.fields, self.ops, self.domains = [], [], [], [], []
        self.set_numbers, self.lists = {}, {}
        self.at("")

    def at(self, text):
        """Where the text is in the blob; equal ones are there once."""
        if text not in self.offsets:
            self.offsets[text] = self.length
            self.text.append(text)
            self.length += len(text.encode("utf-8")) + 1
        return self.offsets[text]

    def add_set(self, key, name, values):
        """A set by which fields ask for it, its name, pairs of name and value."""
        if key in self.set_numbers:
            raise ValueError(f"two sets {key}")
        self.sets.append(f"{{{self.at(name)}, {len(self.values)}, {len(values)}}}, /* {name} */")
        self.values += [f"{{{value}, {self.at(label)}}}, /* {label} */" for label, value in values]
        self.set_numbers[key] = len(self.sets)

    def set_number(self, key):
        """Its number from 1 on; 0: no set."""
        return self.set_numbers[key] if key else 0

    def field(self, name, ctype, key, kind, element, size, flags):
        """A row for add_op(). `kind` and `element` are words of KINDS, `flags` is C."""
        element = f"KYMO_KIND_{KINDS[element]}" if element else "0"
        return (f"{{{self.at(name)}, {self.at(ctype)}, {self.set_number(key)}, KYMO_KIND_{KINDS[kind]}, "
                f"{element}, {size}, {flags}}}, /* {name.replace('*/', '* /')} */")

    def add_fields(self, fields):
        """Number of the first one, from 1 on."""
        key = tuple(fields)
        if key not in self.lists:
            self.lists[key] = len(self.fields) + 1
            self.fields += fields
        return self.lists[key]

    def add_op(self, name, fields, flags, status, status_ok=0):
        """`fields`: rows of field(), or None: not described. Lists that are equal are there once."""
        first = 0 if fields is None else self.add_fields(fields)
        self.ops.append(f"{{{self.at(name)}, {first}, {len(fields or [])}, {flags}, {status_ok}, "
                        f"{self.set_number(status)}}}, /* {name} */")

    def add_domain(self, name, title, version, ops):
        """The last `ops` ops that were added are its."""
        self.domains.append(f"{{{self.at(name)}, {self.at(title)}, {version}, {len(self.ops) - ops}, "
                            f"{ops}}}, /* {name} */")

    def emit(self, symbol, storage=""):
        """SYMBOL_rows, an object whose first member is `head`, a struct packed."""
        parts = [("domains", "struct packed_domain", self.domains), ("ops", "struct packed_op", self.ops),
                 ("fields", "struct packed_field", self.fields), ("sets", "struct packed_set", self.sets),
                 ("values", "struct packed_value", self.values)]
        parts = [p for p in parts if p[2]]
        of = f"struct {symbol}_rows"
        lines = [f"{of} {{", "\tstruct packed head;"]
        lines += [f"\t{ctype} {name}[{len(rows)}];" for name, ctype, rows in parts]
        lines += [f"\tchar text[{self.length}];", "};", "",
                  f"{storage}const {of} {symbol}_rows = {{", "\t.head = {"]
        lines += [f"\t\t.{name} = offsetof({of}, {name}), .{name[:-1]}_count = {len(rows)},"
                  for name, _, rows in parts]
        lines += [f"\t\t.text = offsetof({of}, text),", "\t},"]
        for name, _, rows in parts:
            lines += [f"\t.{name} = {{"] + [f"\t\t{row}" for row in rows] + ["\t},"]
        lines += ["\t.text ="] + ['\t\t"' + t.replace("\\", "\\\\").replace('"', '\\"') + '\\0"'
                                  for t in self.text[:-1]]
        lines += ['\t\t"' + self.text[-1] + '",', "};"]
        return lines + [""]
