#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What programs built against Kymo rely on stays as it is.

  abi.py check INCLUDE LIBRARY...   compares each library with its baseline, tests/abi/NAME.abi
  abi.py detects INCLUDE            shows that changes are found, and additions are none
  abi.py ops PROGRAM LIBRARY...     compares the numbers of all ops with tests/abi/ops.txt
  abi.py renew INCLUDE PROGRAM LIBRARY...   libkymo first, MPI's modules last: writes all of these anew (see CONTRIBUTING.md)

Additions are no change: new functions, new enumerators, new ops at the end of their domain, members
at the end of structures that begin with their size. What is renewed is to be looked at with git diff:
a line that goes away or changes there is a promise broken. Exit status 77: cannot be checked here.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from xml.etree import ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE)) + "/"
OPS = os.path.join(HERE, "ops.txt")
# What other people's loaders look for has their types: of these only that they are there counts.
FOREIGN = r"(cl[A-Z]|InitializeInjection|__itt_|rocprofiler_|ompt_)"


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def run(*argv):
    return subprocess.run(argv, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, timeout=120)


def baseline_of(library):
    return os.path.join(HERE, re.sub(r"\.so.*", "", os.path.basename(library)) + ".abi")


def sized_structures(include):
    """Names of the structures whose first member is their size: they may grow."""
    names = []
    for header in sorted(os.listdir(f"{include}/kymo")):
        with open(f"{include}/kymo/{header}", encoding="utf-8") as f:
            names += re.findall(r"^(?:typedef )?struct (\w+) \{\n\tsize_t size;", f.read(), re.M)
    return names


def structures(tree):
    return {e.get("name"): e for e in tree.getroot().iter("class-decl")}


def forget_appended(include, before, now):
    """Cuts structures that may grow to the members that there were before. abidiff's own
    suppressions would hide other changes of them, too."""
    old, tree = structures(ElementTree.parse(before)), ElementTree.parse(now)
    for name, e in structures(tree).items():
        if name not in old or name not in sized_structures(include):
            continue
        for extra in e.findall("data-member")[len(old[name].findall("data-member")):]:
            e.remove(extra)
        if int(e.get("size-in-bits", 0)) > int(old[name].get("size-in-bits", 0)):
            e.set("size-in-bits", old[name].get("size-in-bits"))
    tree.write(now)


def parts(tree):
    """(parent, element) of all types and functions."""
    return [(unit, e) for unit in tree.getroot().iter("abi-instr") for e in unit]


def reached(elements):
    """Types that functions need, directly or not."""
    by_id = {e.get("id"): e for e in elements if e.get("id")}
    todo, seen = [e for e in elements if e.tag == "function-decl"], set()
    while todo:
        for e in todo.pop().iter():
            for name in ("type-id", "naming-typedef-id"):
                wanted = e.get(name)
                if wanted in by_id and wanted not in seen:
                    seen.add(wanted)
                    todo.append(by_id[wanted])
    return seen


def prune(path):
    """Leaves out other people's functions and what only they need."""
    tree = ElementTree.parse(path)
    for unit, e in parts(tree):
        if e.tag == "function-decl" and re.match(FOREIGN, e.get("name")):
            unit.remove(e)
    seen = reached([e for _, e in parts(tree)])
    for unit, e in parts(tree):
        if e.get("id") and e.get("id") not in seen:
            unit.remove(e)
    for unit in [u for u in tree.getroot().iter("abi-instr") if not len(u)]:
        tree.getroot().remove(unit)
    for unit in tree.getroot().iter("abi-instr"):
        unit.set("path", unit.get("path", "").removeprefix(ROOT))
    tree.write(path)


def dump(library, include, out):
    """The library's interface as text: public headers' types only, no places, stable ids."""
    done = run("abidw", "--headers-dir", include, "--drop-private-types", "--no-show-locs",
               "--no-corpus-path", "--no-comp-dir-path", "--no-elf-needed",
               "--exported-interfaces-only", "--type-id-style", "hash", "--out-file", out, library)
    if done.returncode:
        sys.exit(f"abidw cannot read {library}:\n{done.stdout}")
    prune(out)


def symbols_of_baseline(path):
    with open(path, encoding="utf-8") as f:
        return set(re.findall(r"""<elf-symbol name=['"](\w+)['"]""", f.read()))


def compare(include, folder, before, now):
    cut = os.path.join(folder, "cut.abi")
    shutil.copyfile(now, cut)
    forget_appended(include, before, cut)
    return run("abidiff", "--no-added-syms", before, cut)


def check_one(library, include, folder):
    baseline, current = baseline_of(library), os.path.join(folder, "current.abi")
    dump(library, include, current)
    done = compare(include, folder, baseline, current)
    print(f"{os.path.basename(library)}: {len(symbols_of_baseline(baseline))} symbols of the "
          f"baseline, abidiff {done.returncode}")
    if done.returncode:
        print(done.stdout)
    return done.returncode == 0


def need_abidiff():
    if not shutil.which("abidiff"):
        skip("abidiff is not installed (Debian: abigail-tools)")


def check(include, *libraries):
    need_abidiff()
    if os.uname().machine != "x86_64":
        skip("the baselines are of x86-64")
    good = True
    with tempfile.TemporaryDirectory() as folder:
        for library in libraries:
            if ".debug_info" not in run("readelf", "-SW", library).stdout:
                skip(f"{library} has no debug information")
            good &= check_one(library, include, folder)
    if not good:
        sys.exit("The interface changed. If that is meant: tests/abi/abi.py renew (CONTRIBUTING.md).")


# ---- that it would be seen -----------------------------------------------------------------------

def element(kind, name):
    return rf' *<{kind} name="{name}"(?:[^>]*/>|.*?</{kind}>)\n'


def member(name):
    return rf' *<data-member [^>]*>\s*<var-decl name="{name}"[^>]*/>\s*</data-member>\n'


SYMBOL = element("elf-symbol", "kymo_drain")
FUNCTION = element("function-decl", "kymo_drain")
DROP = r' *<enumerator name="KYMO_POLICY_DROP"[^>]*/>\n'
LAST = member("overwritten") + r"(?= *</class-decl>\n *<class-decl name=\"kymo_buffer_desc\")"
SMALLER = (r'(name="kymo_batch" size-in-bits=")448', r"\g<1>384")
# What is done to the baseline: it is what there was before, or what there is now; and whether that is
# a change.
MUTATIONS = (
    ("a function is gone", "now", True, ((SYMBOL, ""), (FUNCTION, ""))),
    ("a function is new", "before", False, ((SYMBOL, ""), (FUNCTION, ""))),
    ("a parameter has another type", "now", True,
     ((r'(type-id=")\w+(" name="timeout_ns")', r"\g<1>8f92235e\2"),)),
    ("an enumerator is gone", "now", True, ((DROP, ""),)),
    ("an enumerator is new", "before", False,
     ((r' *<enumerator name="KYMO_POLICY_OVERWRITE"[^>]*/>\n', ""),)),
    ("an enumerator has another number", "now", True,
     ((r'(name="KYMO_POLICY_OVERWRITE" value=")3', r"\g<1>4"),)),
    ("a member is new at the end", "before", False, ((LAST, ""), SMALLER)),
    ("a member is gone", "now", True, ((LAST, ""), SMALLER)),
    ("a member has moved", "now", True,
     ((r'layout-offset-in-bits="320"(>\s*<var-decl name="lost")', r'layout-offset-in-bits="352"\1'),)),
    ("a structure without a size has grown", "now", True,
     ((r'(name="kymo_buffer" size-in-bits=")64', r"\g<1>128"),)),
)


def detects(include):
    need_abidiff()
    baseline = os.path.join(HERE, "libkymo.abi")
    with open(baseline, encoding="utf-8") as f:
        text = f.read()
    with tempfile.TemporaryDirectory() as folder:
        path, failed = os.path.join(folder, "changed.abi"), 0
        for what, when, change, edits in MUTATIONS:
            changed = text
            for old, new in edits:
                changed, n = re.subn(old, new, changed, count=1, flags=re.S)
                if n != 1:
                    sys.exit(f"{what}: the baseline has no {old}")
            with open(path, "w", encoding="utf-8") as f:
                f.write(changed)
            pair = (path, baseline) if when == "before" else (baseline, path)
            done = compare(include, folder, *pair)
            good = (done.returncode != 0) == change
            failed += not good
            print(f"{'ok  ' if good else 'FAIL'} {what}: abidiff {done.returncode}")
    sys.exit(failed)


# ---- ops -----------------------------------------------------------------------------------------

def ops_of(text):
    """{domain: [op, ...]} in order of number."""
    domains = {}
    for line in text.splitlines():
        domain, number, op = line.split()
        ops = domains.setdefault(domain, [])
        if len(ops) != int(number):
            sys.exit(f"{domain}: number {number} comes after {len(ops)} ops")
        ops.append(op)
    return domains


def read_ops(program, libraries):
    """Of all libraries; modules that are built several times say the same."""
    domains = {}
    for library in libraries:
        done = run(program, os.path.abspath(library))
        if done.returncode:
            sys.exit(f"{program} {library}: {done.stdout}")
        for domain, names in ops_of(done.stdout).items():
            if domains.setdefault(domain, names) != names:
                sys.exit(f"{library} numbers the ops of {domain} in another way")
    return domains


def ops(program, *libraries):
    with open(OPS, encoding="utf-8") as f:
        promised = ops_of(f.read())
    now, faults = read_ops(program, libraries), []
    if not any("kymo-mpi" in library for library in libraries):
        promised.pop("mpi")  # it lies in modules, which are built where there is an MPI
    if not os.path.exists(os.path.join(os.path.dirname(libraries[0]), "libkymo-libfabric.so")):
        promised.pop("libfabric")  # built where its headers are
    for domain, names in promised.items():
        if domain not in now:
            faults.append(f"domain {domain} is gone")
            continue
        for i, name in enumerate(names):
            there = now[domain][i] if i < len(now[domain]) else "nothing"
            if there != name:
                faults.append(f"{domain} {i} was {name} and is {there}")
    new = sum(len(n) - len(promised.get(d, [])) for d, n in now.items())
    print(f"{len(promised)} domains, {sum(map(len, promised.values()))} ops as promised, {new} new")
    if faults:
        sys.exit("\n".join(faults[:20] + ["Ops keep their numbers: append new ones at the end."]))


def renew(include, program, *libraries):
    modules = [library for library in libraries if "kymo-mpi-" in library]
    for library in libraries:
        if library in modules:
            continue
        dump(library, include, baseline_of(library))
        print(f"wrote {baseline_of(library)}")
    with open(OPS, "w", encoding="utf-8") as f:
        for domain, names in sorted(read_ops(program, [libraries[0], *modules]).items()):
            f.writelines(f"{domain} {i} {name}\n" for i, name in enumerate(names))
    print(f"wrote {OPS}")


def main():
    commands = {"check": check, "detects": detects, "ops": ops, "renew": renew}
    if len(sys.argv) < 3 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    commands[sys.argv[1]](*sys.argv[2:])


main()
