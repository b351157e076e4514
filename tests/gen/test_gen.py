#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks of the OpenCL model and its generator: output is deterministic, every entry of the
installed headers' dispatch table is covered in its order, and the model's prototypes are those of
the installed headers (checked by the compiler; a wrong model is shown to be caught)."""

import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

failures = []


def check(condition, what):
    print(("ok      " if condition else "FAILED  ") + what)
    if not condition:
        failures.append(what)


def generate(source, api, out):
    tool = source / "tools/gen/gen_opencl.py"
    return subprocess.run([sys.executable, "-B", tool, "--api", api, "--out", out],
                          capture_output=True, text=True)


def contents(folder):
    return {p.name: p.read_bytes() for p in sorted(folder.iterdir())}


def compiler_run(options, folder, text, flags=("-fsyntax-only",)):
    source = options.source
    command = [options.compiler, "-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Werror", *flags,
               f"-I{source}/src", f"-I{source}/include", f"-I{folder}", "-x", "c", "-"]
    # A file in the current folder would be found before the generated one.
    return subprocess.run(command, input=text, capture_output=True, text=True, cwd=folder)


def header_text(options):
    """The installed headers, preprocessed, to know which names they declare."""
    done = compiler_run(options, tempfile.gettempdir(), '#include "capture/opencl/cl.h"\n', ("-E", "-P"))
    if done.returncode:
        sys.exit(f"test_gen: cannot read the OpenCL headers:\n{done.stderr}")
    return done.stdout


def header_type(text, name):
    """How the headers name the type of a pointer to function `name`, or None."""
    for candidate in (f"cl_api_{name}", f"{name}_fn"):
        if re.search(rf"\(\s*\*\s*{candidate}\s*\)", text):
            return candidate
    return f"__typeof__(&{name})" if re.search(rf"\b{name}\s*\(", text) else None


def type_checks(text, names, changed=()):
    """C text asserting that each generated function type is the headers' own; of functions that an
    extension has changed it may be the older one."""
    lines = ['#include "opencl_ops.h"']
    count = 0
    for name in names:
        known = header_type(text, name)
        if known:
            count += 1
            forms = [f"ocl_pfn_{name}"] + [f"ocl_older_{name}"] * (name in changed)
            same = " || ".join(f"__builtin_types_compatible_p({f}, {known})" for f in forms)
            lines.append(f'_Static_assert({same}, "{name}");')
    return "\n".join(lines) + "\n", count


def traced_names(folder):
    found = re.findall(r"^\tOCL_OP_(cl\w+) =", (folder / "opencl_ops.h").read_text(), re.M)
    return [name for name in found if name != "COUNT"]


def check_determinism(options, api, one, two):
    for folder in (one, two):
        done = generate(options.source, api, folder)
        if done.returncode:
            sys.exit(f"test_gen: generator failed: {done.stderr}")
    check(contents(one) == contents(two), "two runs of the generator give the same files")
    before = {p.name: p.stat().st_mtime_ns for p in one.iterdir()}
    generate(options.source, api, one)
    after = {p.name: p.stat().st_mtime_ns for p in one.iterdir()}
    check(before == after, "a second run rewrites no file")


def check_coverage(text, one):
    body = re.search(r"struct\s+_cl_icd_dispatch\s*\{(.*?)\}\s*cl_icd_dispatch", text, re.S)
    # Newer headers let the first entry share its place with a tag, and append entries.
    members = re.sub(r"intptr_t \w+;|union\s*\{|__extension__|\}\s*;", "", body.group(1))
    table = [re.search(r"(\w+)\s*$", e).group(1) for e in members.split(";") if e.strip()]
    source = (one / "opencl_table.c").read_text()
    source = re.search(r"ocl_entries\[.*?^\};", source, re.S | re.M).group(0)
    entries = [(name, op, function) for op, function, name in
               re.findall(r"^\t\{(\S+), ([^}]+)\}, /\* (cl\w+) \*/$", source, re.M)]
    check(len(entries) >= 149 and [e[0] for e in entries] == table[:len(entries)],
          f"{len(entries)} of {len(table)} entries of the installed table are known, in order")
    table = table[:len(entries)]
    open_ended = [name for name, op, function in entries
                  if op == "-1" and function == "NULL" and "D3D" not in name and "DX9" not in name]
    check(not open_ended, f"each entry is traced or counted {open_ended}")
    traced = sum(op != "-1" for _, op, _ in entries)
    core = [n for n in table if not re.search(r"(KHR|EXT)$|GL|EGL|D3D|DX9", n)]
    missing = [n for n in core if dict((e[0], e[1]) for e in entries)[n] == "-1"]
    check(not missing, f"every core function is traced ({traced} table entries) {missing}")


def check_types(options, text, one):
    names = traced_names(one)
    changed = re.findall(r"ocl_older_(cl\w+)\)", (one / "opencl_ops.h").read_text())
    check(len(changed) == 11, f"{len(changed)} functions have an older form")
    source, count = type_checks(text, names, changed)
    done = compiler_run(options, one, source)
    check(done.returncode == 0, f"{count} of {len(names)} prototypes are the headers' own\n"
          + done.stderr[:2000])
    facts = json.loads((options.source / "api/opencl/facts.json").read_text())
    own = {row["name"] for row in facts["extra_functions"]}
    check(count >= len(names) - len(own), "all prototypes but those of our own were compared")


def check_wrong_model(options, api, text, folder):
    """The comparison above must see a wrong type."""
    wrong = folder / "wrong-api"
    shutil.copytree(api, wrong)
    functions = json.loads((wrong / "functions.json").read_text())
    for row in functions["functions"]:
        if row["name"] == "clSetKernelArg":
            row["params"][2]["type"] = "cl_uint"
    (wrong / "functions.json").write_text(json.dumps(functions))
    out = folder / "wrong"
    generate(options.source, wrong, out)
    done = compiler_run(options, out, type_checks(text, ["clSetKernelArg", "clFinish"])[0])
    check(done.returncode != 0 and "clSetKernelArg" in done.stderr, "a wrong type is caught")


def check_bad_facts(options, api, folder):
    """A mistake in the facts stops the generator and says where."""
    bad = folder / "bad-api"
    shutil.copytree(api, bad)
    good = (api / "facts.json").read_text()

    def refused(change, message, what):
        facts = json.loads(good)
        change(facts)
        (bad / "facts.json").write_text(json.dumps(facts))
        done = generate(options.source, bad, folder / "bad")
        check(done.returncode != 0 and message in done.stderr, what)

    refused(lambda f: f["functions"].update(clFinish={"params": {"no_such": {"out": True}}}),
            "clFinish has no parameter no_such", "a rule for an unknown parameter is refused")
    refused(lambda f: f["hooks"]["post"].append("clEnqueueNothing"),
            "clEnqueueNothing matches no function", "a hook of an unknown function is refused")
    refused(lambda f: f["types"].pop("cl_mem_flags"),
            "type cl_mem_flags is not in facts.json", "a type that nobody described is refused")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--compiler", default="cc")
    options = parser.parse_args()
    api = options.source / "api/opencl"
    text = header_text(options)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        one, two = folder / "one", folder / "two"
        check_determinism(options, api, one, two)
        check_coverage(text, one)
        check_types(options, text, one)
        check_wrong_model(options, api, text, folder)
        check_bad_facts(options, api, folder)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
