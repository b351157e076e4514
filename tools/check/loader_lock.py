#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that nothing waits for the loader where its list of objects is locked: loader_lock.py ROOT | --planted

The C library holds the lock of that list while a callback of dl_iterate_phdr() runs. dlopen(), dlsym(), dladdr() and the
like take another lock of the loader's first, which a thread in dlopen() has while it waits for the list: called from
the callback they hang both threads for ever. Such callbacks are known by their parameters, those of elf_find_in()
(base/elf.h) by where they are passed; what they call is followed through the functions of src by name. With --planted the check has to find such a call in
programs that have one, and none in those that do not.
"""
import os
import re
import sys

TAKES = {"dlopen", "dlmopen", "dlclose", "dlsym", "dlvsym", "dladdr", "dladdr1", "dlinfo"}
CALLBACK = re.compile(r"\(\s*struct dl_phdr_info \*\w+")  # of dl_iterate_phdr()
PASSES = re.compile(r"\(\s*elf_wanted_fn \w+")  # a function that is given one for elf_find_in()
COMMENT = re.compile(r"/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL)
CALL = re.compile(r"\b([A-Za-z_]\w*)\s*\(")


class Function:
    def __init__(self, path, line, head, body):
        head = re.sub(r"__attribute__\s*\(\(.*?\)\)+", "", head)
        names = CALL.findall(head)
        self.name = names[0] if names else ""
        self.local = re.search(r"\bstatic\b", head) is not None
        self.callback = CALLBACK.search(head) is not None
        self.passes = PASSES.search(head) is not None
        self.first = [(name, set(re.findall(r"\w+", argument))) for name, argument in
                      re.findall(r"\b(\w+)\s*\(([^,()]*)", body)]
        self.place = f"{path}:{line}"
        self.path = path
        self.calls = set(CALL.findall(body))


def functions(path, text):
    """Functions are written with both braces of the body in the first column."""
    text = COMMENT.sub(lambda m: "\n" * m[0].count("\n"), text)
    lines = text.split("\n")
    start = 0
    for i, line in enumerate(lines):
        if line == "{":
            end = next((k for k in range(i, len(lines)) if lines[k].startswith("}")), len(lines))
            yield Function(path, start + 1, " ".join(lines[start:i]), "\n".join(lines[i:end]))
        elif not line.strip() or line.startswith(("}", "#")) or line.endswith((";", "\\")):
            start = i + 1


def check(sources):
    """`sources`: (path, text). Returns complaints and the number of callbacks."""
    known = [f for path, text in sources for f in functions(path, text)]
    local = {(f.path, f.name): f for f in known if f.local}
    everywhere = {f.name: f for f in known if not f.local}
    passing = {f.name for f in known if f.passes} | {"elf_find_in"}
    for f in known:
        for name in [n for called, words in f.first if called in passing for n in words]:
            if (f.path, name) in local:
                local[f.path, name].callback = True

    def search(f, way, seen):
        for name in sorted(f.calls):
            if name in TAKES:
                return way + [name]
            called = local.get((f.path, name)) or everywhere.get(name)
            if called and called not in seen:
                seen.add(called)
                found = search(called, way + [name], seen)
                if found:
                    return found
        return None

    callbacks = [f for f in known if f.callback]
    ways = [(f, search(f, [f.name], {f})) for f in callbacks]
    return [f"{f.place}: {'() -> '.join(way)}() with the loader's list locked" for f, way in ways if way], len(callbacks)


PLANTED = {
    "at once": (True, "static int look(struct dl_phdr_info *i, size_t n, void *d)\n{\n\tdlopen(i->dlpi_name, 1);\n}\n"),
    "by a search of functions": (True, "static bool is_it(const char *path, const void *d)\n{\n\treturn dlsym(NULL, path);\n}\n\n"
                                        "static void find(void)\n{\n\telf_find_in(is_it, 0, \"f\", 0, 1);\n}\n"),
    "by a search behind another": (True, "static bool is_it(const char *path, const void *d)\n{\n\treturn dlsym(NULL, path);\n}\n\n"
                                         "static void *hunt(elf_wanted_fn wanted)\n{\n\telf_find_in(wanted, 0, 0, 0, 1);\n}\n\n"
                                         "static void find(void)\n{\n\thunt(1 ? is_it : 0);\n}\n"),
    "by way of another": (True, "static void *get(const char *p)\n{\n\treturn dladdr(p, 0) ? 0 : 0;\n}\n\n"
                                "static int look(struct dl_phdr_info *i,\n\t\tsize_t n, void *d)\n{\n\tget(i->dlpi_name);\n}\n"),
    "afterwards": (False, "static int look(struct dl_phdr_info *i, size_t n, void *d)\n{\n\treturn 1; /* no dlopen() */\n}\n\n"
                          "static void after(void)\n{\n\tdl_iterate_phdr(look, 0);\n\tdlopen(\"x\", 1);\n}\n"),
}


def read(root):
    for folder, _, names in os.walk(os.path.join(root, "src")):
        for name in sorted(names):
            if name.endswith((".c", ".h")):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as f:
                    yield os.path.relpath(path, root), f.read()


def main():
    if sys.argv[1:] == ["--planted"]:
        wrong = [what for what, (bad, text) in PLANTED.items() if bool(check([("planted.c", text)])[0]) != bad]
        print("\n".join(f"planted: {what}: {'not found' if PLANTED[what][0] else 'is none'}" for what in wrong))
        return 1 if wrong else 0
    found, callbacks = check(list(read(sys.argv[1])))
    print("\n".join(found + [f"loader_lock: {callbacks} callbacks, {len(found)} problems"]))
    return 1 if found or callbacks < 10 else 0


if __name__ == "__main__":
    sys.exit(main())
