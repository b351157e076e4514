#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Extract the facts about Level Zero's functions that its public headers state.

A developer's step, run by hand when the headers move on:

    extract_ze.py --headers FOLDER --out api/ze

FOLDER holds ze_api.h, ze_ddi.h and those of zet, zes and zer. Writes functions.json: the tables of
functions in their order, with the direction of each parameter as its comment tells, and types.json:
sizes of types, enumerations, and where the members of structures lie.
"""

import argparse
import json
import pathlib
import re
import sys

PREFIXES = ("ze", "zet", "zes", "zer")
SCALARS = {"uint8_t": ("unsigned", 1), "uint16_t": ("unsigned", 2), "uint32_t": ("unsigned", 4),
           "uint64_t": ("unsigned", 8), "int8_t": ("signed", 1), "int16_t": ("signed", 2),
           "int32_t": ("signed", 4), "int64_t": ("signed", 8), "int": ("signed", 4),
           "size_t": ("size", 8), "float": ("float", 4), "double": ("float", 8),
           "char": ("signed", 1), "unsigned int": ("unsigned", 4), "unsigned char": ("unsigned", 1), "uintptr_t": ("unsigned", 8)}


def clean(text):
    """A header without comments and preprocessor lines."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)
    return re.sub(r"^\s*#[^\n]*$", "", text.replace("\\\n", " "), flags=re.M)


class Headers:
    def __init__(self, folder):
        self.types = {n: list(t) for n, t in SCALARS.items()}
        self.sets, self.structs, self.constants = {}, {}, {}
        self.raw = {p: (folder / f"{p}_api.h").read_text(encoding="utf-8") for p in PREFIXES
                    if (folder / f"{p}_api.h").exists()}
        self.ddi = {p: clean((folder / f"{p}_ddi.h").read_text(encoding="utf-8"))
                    for p in self.raw}
        text = "\n".join(self.raw.values())
        for name, value in re.findall(r"^#define\s+(ZE\w+)\s+(0x[0-9a-fA-F]+|\d+)\s", text, re.M):
            self.constants.setdefault(name, int(value, 0))
        self.text = clean(text)
        self.read_types()
        self.read_structs()

    # ---- types ----

    def read_types(self):
        for name in re.findall(r"typedef struct \w+ \*(\w+_handle_t);", self.text):
            self.types[name] = ["handle", 8]
        for body, name in re.findall(r"typedef enum \w+\s*\{(.*?)\}\s*(\w+);", self.text, re.S):
            self.sets[name] = self.enumerators(body)
            self.types[name] = ["enum", 4, name]
        for name in re.findall(r"\(ZE_CALLBACK_CONV \*(\w+)\)|\(ZE_APICALL \*(\w+)\)", self.text):
            self.types[name[0] or name[1]] = ["pointer", 8]
        for base, name in re.findall(r"typedef (\w+) (\w+);", self.text):
            flags = re.sub(r"_flags_t$", "_flag_t", name)
            if flags != name and flags in self.sets and base == "uint32_t":
                self.types[name] = ["flags", 4, flags]
            elif name == "ze_bool_t":
                self.types[name] = ["bool", 1]
            elif base in self.types:
                self.types[name] = list(self.types[base])

    def enumerators(self, body):
        values, number = {}, -1
        for item in re.split(r",(?![^(]*\))", body):
            m = re.match(r"\s*(\w+)\s*(?:=\s*(.+?))?\s*$", item, re.S)
            if not m:
                continue
            number = number + 1 if m[2] is None else self.evaluate(m[2], values)
            if not m[1].endswith("_FORCE_UINT32") and not m[1].endswith("_CURRENT"):
                values[m[1]] = number
        return values

    def evaluate(self, text, values):
        text = re.sub(r"ZE_BIT\(", "(1 << ", text)
        text = re.sub(r"ZE_MAKE_VERSION\(\s*(\d+)\s*,\s*(\d+)\s*\)", r"(\1 << 16 | \2)", text)
        text = re.sub(r"\b(0x[0-9a-fA-F]+|\d+)[uUlL]+\b", r"\1", text)
        names = re.findall(r"[A-Za-z_]\w*", re.sub(r"0x[0-9a-fA-F]+", "0", text))
        known = {**self.constants, **values}
        if any(n not in known for n in names):
            sys.exit(f"enumerator {text!r} is not understood")
        return eval(text, {"__builtins__": {}}, known)

    # ---- structures ----

    def read_structs(self):
        bodies = {n: b for b, n in re.findall(
            r"typedef (?:struct|union) _\w+\s*\{([^{}]*)\}\s*(\w+);", self.text)}
        unions = set(re.findall(r"typedef union _\w+\s*\{[^{}]*\}\s*(\w+);", self.text))
        left = dict(bodies)
        while left:
            done = [n for n in left if self.struct(n, left[n], n in unions)]
            for name in done:
                del left[name]
            if not done:
                break

    def struct(self, name, body, union):
        """Lays out one structure; False while a member's type is not known yet."""
        offset, align, members, size = 0, 1, [], 0
        for decl in body.split(";"):
            m = re.match(r"\s*(.*?)\s*(\w+)\s*((?:\[\w+\])*)\s*$", decl, re.S)
            if not decl.strip():
                continue
            ctype, member = re.sub(r"\s+", " ", m[1]), m[2]
            at = self.size_of(ctype)
            if not at:
                return False
            count = 1
            for dimension in re.findall(r"\[(\w+)\]", m[3]):
                count *= self.constants.get(dimension) or int(dimension)
            offset = 0 if union else (offset + at[1] - 1) // at[1] * at[1]
            if not m[3] and not union:
                members.append([member, ctype, offset])
            offset += at[0] * count
            size, align = max(size, offset), max(align, at[1])
        self.structs[name] = {"bytes": (size + align - 1) // align * align, "align": align,
                              "members": members}
        return True

    def size_of(self, ctype):
        """(bytes, alignment) of a type, or None."""
        plain = ctype.replace("const ", "").strip()
        if "*" in plain:
            return 8, 8
        if plain in self.types:
            return self.types[plain][1], self.types[plain][1]
        known = self.structs.get(plain)
        return (known["bytes"], known["align"]) if known else None

    # ---- functions ----

    def functions(self):
        pattern = r"ZE_APIEXPORT (\w+) ZE_APICALL\s*\n(\w+)\(\n(.*?)\n    \);"
        for text in self.raw.values():
            for result, name, body in re.findall(pattern, text, re.S):
                yield name, {"name": name, "return": result, "params": list(parameters(body))}

    def tables(self):
        for prefix, text in self.ddi.items():
            for table, body in re.findall(r"typedef struct _(\w+)_dditable_t\s*\{([^{}]*)\}", text):
                getter = re.search(r"(\w+ProcAddrTable)\(\s*ze_api_version_t \w+,\s*"
                                   + table + r"_dditable_t\*", text)
                if getter:
                    names = re.findall(r"\w+_pfn(\w+)_t\s+pfn\w+;", body)
                    yield getter[1], [prefix + n for n in names]


def parameters(body):
    """Parameters with their directions; comments may run over several lines."""
    for line in body.split("\n"):
        m = re.match(r"\s*(\S.*?)\s*\b(\w+)\s*,?\s*///<\s*(.*)$", line)
        if not m:
            continue
        direction = re.match(r"\[(in|out|in,\s*out)\]", m[3])
        ctype = m[1] if "*" in m[1] else m[1].replace("const ", "")
        row = {"name": m[2], "type": re.sub(r"\s*\*", " *", ctype, count=1),
               "direction": direction[1].replace(" ", "") if direction else "in"}
        if "[range" in m[3] or re.search(r"\barray\b", m[3]):
            row["array"] = True
        yield row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--headers", required=True, type=pathlib.Path)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    args = parser.parse_args()
    headers = Headers(args.headers)
    functions = dict(headers.functions())
    tables, seen = [], set()
    for getter, names in headers.tables():
        missing = [n for n in names if n not in functions]
        if missing:
            sys.exit(f"{getter}: no prototype of {missing}")
        tables.append({"name": getter, "functions": [functions[n] for n in names]})
        seen.update(names)
    version = re.search(r"@version (v\S+)", headers.raw["ze"])
    model = {"domain": "level_zero", "version": version[1] if version else "", "tables": tables,
             "status": headers.sets["ze_result_t"]}
    types = {"types": headers.types, "structs": headers.structs, "sets": headers.sets}
    args.out.mkdir(parents=True, exist_ok=True)
    for name, content in (("functions", model), ("types", types)):
        (args.out / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n",
                                               encoding="utf-8")
    print(len(tables), "tables", len(seen), "functions", model["version"],
          "without a table:", sorted(set(functions) - seen))


if __name__ == "__main__":
    main()
