#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Changes one line of the sources at a time and looks whether a test that executes it fails: mutate.py [OPTION...]

    --count N     so many mutants, 100; --quick: 20
    --seed N      the same ones again; else one is chosen and printed
    --tests REGEX of which tests' lines, by name; those of the programs under tests/unit, which are cheap
    --files REGEX lines of these files alone, as "src/stream/.*"
    --most N      tests that a mutant meets, 6: those that took the least time

All happens in build/mutants: a copy of what git knows, built with gcc's coverage once; what each test executes is kept until a
source or a test changes. A mutant that does not compile is no mutant, one that takes ten times as long is killed. Generated code is changed
where the build has it. The table is kept in build/mutants/mutants.txt, with when it was. Exit status: 1 if fewer than --least percent (85) were killed."""
import argparse
import collections
import gzip
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PLACE = os.path.join(ROOT, "build", "mutants")
TREE, BUILD = os.path.join(PLACE, "tree"), os.path.join(PLACE, "tree", "build", "coverage")
FLAGS = "-O0 --coverage -fprofile-update=atomic -Wno-error"
SWAPS = [("==", "!="), ("!=", "=="), ("<=", "<"), (">=", ">"), (" < ", " <= "), (" > ", " >= "), ("&&", "||"), ("||", "&&"), (" + ", " - "), (" - ", " + "),
         ("++", "--"), ("--", "++"), ("+=", "-="), ("-=", "+="), (" | ", " & "), (" & ", " | "), ("|=", "&="), ("<<", ">>"), (" * ", " + "), (" / ", " * "),
         ("true", "false"), ("false", "true"), ("[0]", "[1]"), ("[1]", "[0]")]
STATEMENT = re.compile(r"^\t+(?!return\b|break\b|continue\b|goto\b|else\b|case\b|default\b|(?:const |static |struct |enum |unsigned |u?int|size_t|bool |char |double |void ))"
                       r"[\w*(][^{}]*(?:\(|[-+|&]?=|\+\+|--)[^{}]*;$")


def code_of(line):
    """The line with its strings, characters and comments as blanks, so that places stay."""
    return re.sub(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|/\*.*?(?:\*/|$)|//.*', lambda m: " " * len(m[0]), line)


def changes(line):
    """(what it is, the line changed) of every mutant of a line."""
    code = code_of(line)
    if code.lstrip().startswith(("#", "*")) or not code.strip():
        return
    for old, new in SWAPS:
        for m in re.finditer(re.escape(old), code):
            around = code[max(0, m.start() - 1):m.start()], code[m.end():m.end() + 1]
            if old.isalpha() and any(c.isalnum() or c == "_" for c in around):
                continue
            if old in ("==", "<=", ">=", "!=", "<<", "&&", "||", "++", "--") and any(c and c in "=<>" for c in around):
                continue
            yield f"{old.strip()} to {new.strip()}", line[:m.start()] + new + line[m.end():]
    for m in re.finditer(r"(?<![\w.])(\d+)(?=[uUlL]*\b)(?![.\w])", code):
        for n in {int(m[1]) + 1, max(0, int(m[1]) - 1)} - {int(m[1])}:
            yield f"{m[1]} to {n}", line[:m.start()] + str(n) + line[m.end():]
    for m in re.finditer(r"\b(if|while) \((.+)\)( \{)?$", code):
        yield "condition negated", line[:m.start(2)] + "!(" + line[m.start(2):m.end(2)] + ")" + line[m.end(2):]
    for m in re.finditer(r"(?<=[(\s])!(?=[\w(])", code):
        yield "! removed", line[:m.start()] + line[m.end():]
    for m in re.finditer(r"\w\(([^(),]+), ([^(),]+)\)", code):
        yield "arguments swapped", line[:m.start(1)] + line[m.start(2):m.end(2)] + ", " + line[m.start(1):m.end(1)] + line[m.end(2):]
    if STATEMENT.match(code.rstrip("\n")):
        yield "statement removed", re.match(r"\t+", line)[0] + ";\n"


# ---- the copy and what executes what -------------------------------------------------------------

def run(*argv, **options):
    return subprocess.run(argv, capture_output=True, text=True, errors="replace", check=False, **options)


def copy_tree():
    """Files that differ alone, so that what is built stays. Returns what all of them are."""
    known = hashlib.sha256()
    for name in sorted(run("git", "-C", ROOT, "ls-files", "-co", "--exclude-standard").stdout.splitlines()):
        source, target = os.path.join(ROOT, name), os.path.join(TREE, name)
        if os.path.islink(source) or not os.path.isfile(source):
            continue
        with open(source, "rb") as f:
            data = f.read()
        known.update(name.encode() + b"\0" + hashlib.sha256(data).digest())
        try:
            with open(target, "rb") as f:
                if f.read() == data:
                    continue
        except OSError:
            os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy(source, target)
    return known.hexdigest()


def configure():
    done = run("cmake", "-S", TREE, "-B", BUILD, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug", "-DKYMO_ASSERTS=ON", f"-DCMAKE_C_FLAGS={FLAGS}", f"-DCMAKE_CXX_FLAGS={FLAGS}",
               "-DCMAKE_C_FLAGS_DEBUG=-g1", "-DCMAKE_CXX_FLAGS_DEBUG=-g1")
    if done.returncode:
        sys.exit(done.stderr[-3000:])


def tests_of(wanted):
    """{name: (command, the targets that it needs, environment)}"""
    known = set(re.findall(r"^(\S+): ", run("ninja", "-C", BUILD, "-t", "targets", "all").stdout, re.M))
    out = {}
    for t in json.loads(run("ctest", "--test-dir", BUILD, "--show-only=json-v1").stdout)["tests"]:
        if not re.search(wanted, t["name"]) or "command" not in t:
            continue
        targets = {os.path.relpath(w, BUILD) for w in t["command"] if w.startswith(BUILD + os.sep)} & known
        properties = {p["name"]: p["value"] for p in t.get("properties", [])}
        more = dict(e.split("=", 1) for e in properties.get("ENVIRONMENT", []))
        out[t["name"]] = (t["command"], sorted(targets), {**os.environ, **more}, properties.get("WORKING_DIRECTORY", BUILD))
    return out


def build(targets):
    done = run("ninja", "-C", BUILD, *sorted(targets))
    return done.returncode == 0, done.stdout


def passes(test, limit, **more):
    command, _, environment, folder = test
    try:
        with subprocess.Popen(command, env={**environment, **more}, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              start_new_session=True) as p:
            try:
                return p.wait(limit) == 0
            except subprocess.TimeoutExpired:
                os.killpg(p.pid, 9)
                return False
    except OSError:
        return False


def executed(test, folder):
    """{file: lines} that it executes; None: it fails as it is."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    if not passes(test, 120, GCOV_PREFIX=folder):
        return None
    for inside, _, names in os.walk(folder):  # beside what the compiler knew of it
        for n in names:
            if n.endswith(".gcda"):
                note = os.path.join("/", os.path.relpath(os.path.join(inside, n[:-1] + "o"), folder)).replace(".gcdo", ".gcno")
                if os.path.exists(note):
                    os.symlink(note, os.path.join(inside, n[:-5] + ".gcno"))
    counts = [os.path.join(inside, n) for inside, _, names in os.walk(folder) for n in names if n.endswith(".gcda")]
    lines = collections.defaultdict(set)
    for at in range(0, len(counts), 200):
        for text in run("gcov", "--json-format", "--stdout", *counts[at:at + 200], cwd=folder).stdout.splitlines():
            for f in json.loads(text)["files"]:
                path = os.path.relpath(os.path.join(BUILD, f["file"]), TREE)
                if path.startswith(("src/", "build/coverage/src/")) and path.endswith((".c", ".h", ".inc")):
                    lines[path] |= {x["line_number"] for x in f["lines"] if x["count"]}
    shutil.rmtree(folder, ignore_errors=True)
    return {path: sorted(found) for path, found in lines.items()}


def coverage(tests, known):
    """({file: {line: tests}}, seconds by test), from before if all is as it was."""
    kept = os.path.join(PLACE, "executed.json.gz")
    try:
        with gzip.open(kept, "rt", encoding="utf-8") as f:
            said = json.load(f)
    except (OSError, ValueError):
        said = {}
    if said.get("known") != known:
        said = {"known": known, "tests": {}}
    for name, test in tests.items():
        if name not in said["tests"]:
            begun = time.monotonic()
            found = executed(test, os.path.join(PLACE, "counts"))
            said["tests"][name] = [time.monotonic() - begun, found]
            print(f"{name}: " + ("fails as it is, left out" if found is None else f"{sum(map(len, found.values()))} lines"), flush=True)
    with gzip.open(kept, "wt", encoding="utf-8") as f:
        json.dump(said, f)
    lines, seconds = collections.defaultdict(lambda: collections.defaultdict(list)), {}
    for name in tests:
        seconds[name], found = said["tests"][name]
        for path, numbers in (found or {}).items():
            for n in numbers:
                lines[path][n].append(name)
    return lines, seconds


# ---- mutants ---------------------------------------------------------------------------------------

def try_one(path, number, new, tests, names, seconds):
    """"killed by TEST", "survived", or None: it does not compile."""
    full = os.path.join(TREE, path)
    with open(full, encoding="utf-8") as f:
        lines = f.readlines()
    before, stamp = "".join(lines), os.stat(full)
    lines[number - 1] = new
    try:
        with open(full, "w", encoding="utf-8") as f:
            f.writelines(lines)
        ok, _ = build({t for n in names for t in tests[n][1]})
        if not ok:
            return None
        for n in names:
            if not passes(tests[n], 10 * seconds[n] + 10):
                return f"killed by {n}"
        return "survived"
    finally:
        with open(full, "w", encoding="utf-8") as f:
            f.write(before)
        if path.startswith("build/"):  # what makes it would else be run again
            os.utime(full, ns=(stamp.st_atime_ns, time.time_ns()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seed", type=int, default=int(time.time()) % 1000000)
    parser.add_argument("--tests", default=r"^unit\.")
    parser.add_argument("--files", default=".")
    parser.add_argument("--most", type=int, default=6)
    parser.add_argument("--least", type=float, default=85)
    args = parser.parse_args()
    count = 20 if args.quick else args.count
    os.makedirs(TREE, exist_ok=True)
    known = copy_tree()
    configure()
    tests = tests_of(args.tests)
    ok, text = build({t for _, targets, _, _ in tests.values() for t in targets})
    if not ok or not tests:
        sys.exit(text[-3000:] or f"no test is called {args.tests}")
    lines, seconds = coverage(tests, known)
    places = sorted((path, n) for path in lines if re.match(args.files, path) for n in lines[path])
    if not places:
        sys.exit("no line is executed")
    print(f"seed {args.seed}: {len(places)} lines are executed by {len(tests)} tests", flush=True)
    pick, done, survivors = random.Random(args.seed), 0, []
    while done < count:
        path, number = pick.choice(places)
        with open(os.path.join(TREE, path), encoding="utf-8") as f:
            line = f.readlines()[number - 1]
        made = list(changes(line))
        if not made:
            continue
        what, new = pick.choice(made)
        names = sorted(lines[path][number], key=seconds.get)[:args.most]
        result = try_one(path, number, new, tests, names, seconds)
        if not result:
            continue
        done += 1
        row = f"{path}:{number}: {what}: {result}: {new.strip()}"
        print(row, flush=True)
        if result == "survived":
            survivors.append(f"{row}  ({len(lines[path][number])} tests execute it: {', '.join(names)})")
    percent = 100 * (done - len(survivors)) / done
    told = [f"seed {args.seed}: {done} mutants, {percent:.0f} % killed, {len(survivors)} survived:"] + survivors
    with open(os.path.join(PLACE, "mutants.txt"), "a", encoding="utf-8") as f:
        f.write("\n".join([time.strftime("%Y-%m-%d %H:%M:%S"), *told, ""]))
    print("\n".join(told))
    return 1 if percent < args.least else 0


if __name__ == "__main__":
    sys.exit(main())
