#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Changes one line of the sources at a time and looks whether a test that executes it fails: mutate.py [OPTION...]

    --count N     so many mutants, 100; --quick: 20
    --seed N      the same ones again; else one is chosen and printed
    --tests REGEX the tests, by name; those of TESTS
    --files REGEX lines of these files alone, as "src/stream/.*"
    --jobs N      for ninja, 2
    --least N     fewer percent killed: exit status 1; 85
    --again       those that survived the last run once more, with all of --tests, as new ones

Those of tools/check/equivalent.tsv change nothing that anybody could see, and are left out: file, line before, line after, why.

All happens in build/mutants: a copy of what git knows, built with the preset coverage. What each test executes is kept there until a
source or a test changes. A mutant that does not compile is none. Tests run in order of the time that they take, first those whose name
has a word of the file's path, then those that compare all that is told (golden), two minutes of them, until one fails twice or takes ten times as long. What the
build generates is changed as well. build/mutants.json has all mutants of the last run, and when it was."""
import argparse
import collections
import concurrent.futures
import contextlib
import fcntl
import gzip
import hashlib
import json
import os
import queue
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PLACE = os.path.join(ROOT, "build", "mutants")
TREE, BUILD = os.path.join(PLACE, "tree"), os.path.join(PLACE, "tree", "build", "coverage")
RESULT = os.path.join(ROOT, "build", "mutants.json")
EQUIVALENT = os.path.join(ROOT, "tools", "check", "equivalent.tsv")
CHANGED = os.path.join(PLACE, "changed.json")  # the file that is changed now, as it was
COUNTS = os.path.join(PLACE, "counts")  # and a number for each test that runs
TESTS = (r"^(?!(fuzz|lint|abi|harm|perf|support|programs|install|base|page|examples|gen|stress|record)\b"  # nothing of src, or what takes long
         r"|mpi\.(launch|slurm)|cli\.(attach\.campaign|marker\.storm|real|clocks|libfabric|formats_page|manual)"
         r"|unit\.sample\.timer|cli\.(sampling|off_cpu|frame_pointers|top|python_frames|telemetry\.disks|kernels\.real)\b)")  # which a busy machine turns red
LONG = 60  # seconds: tests that take longer are left out
ENOUGH = 120  # seconds, as they took unchanged: of the tests that execute a line those that fit run
SWAPS = [("==", "!="), ("!=", "=="), ("<=", "<"), (">=", ">"), (" < ", " <= "), (" > ", " >= "), ("&&", "||"), ("||", "&&"), (" + ", " - "), (" - ", " + "),
         ("++", "--"), ("--", "++"), ("+=", "-="), ("-=", "+="), (" | ", " & "), (" & ", " | "), ("|=", "&="), ("<<", ">>"), (" * ", " + "), (" / ", " * "),
         ("true", "false"), ("false", "true"), ("[0]", "[1]"), ("[1]", "[0]")]
STATEMENT = re.compile(r"^\t+(?!return\b|break\b|continue\b|goto\b|else\b|case\b|default\b|(?:const |static |struct |enum |unsigned |u?int|size_t|bool |char |double |void ))"
                       r"[\w*(][^{}]*(?:\(|[-+|&]?=|\+\+|--)[^{}]*;$")

ELSEWHERE = re.compile(r"\s*\w*(?:free|release|lock)\(")  # memory given back and locks, which the sanitizers look for (make asan, asan-cli, tsan)


def code_of(line):
    """The line with its strings, characters and comments as blanks, so that places stay."""
    return re.sub(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|/\*.*?(?:\*/|$)|//.*', lambda m: " " * len(m[0]), line)


def changes(line):
    """(what it is, the line changed) of every mutant of a line."""
    code = code_of(line)
    if code.lstrip().startswith(("#", "*")) or "assert" in code or not code.strip():
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
        if code[:m.start() + 1].endswith("strcmp"):
            continue  # the same
        yield "arguments swapped", line[:m.start(1)] + line[m.start(2):m.end(2)] + ", " + line[m.start(1):m.end(1)] + line[m.end(2):]
    if STATEMENT.match(code.rstrip("\n")) and not ELSEWHERE.match(code):
        yield "statement removed", re.match(r"\t+", line)[0] + ";\n"


# ---- the copy ------------------------------------------------------------------------------------

def run(*argv, **options):
    return subprocess.run(argv, capture_output=True, text=True, errors="replace", check=False, **options)


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def copy_tree():
    """Files that differ alone, so that what is built stays. Returns what all of them are."""
    known = hashlib.sha256()
    for name in sorted(run("git", "-C", ROOT, "ls-files", "-co", "--exclude-standard").stdout.splitlines()):
        source, target = os.path.join(ROOT, name), os.path.join(TREE, name)
        if os.path.islink(source) or not os.path.isfile(source):
            continue
        with open(source, "rb") as f:
            data = f.read()
        if name.startswith(("src/", "include/", "model/", "metrics/", "tests/", "cmake/", "tools/gen/", "CMake")) and name != "tests/ran.tsv":
            known.update(name.encode() + b"\0" + hashlib.sha256(data).digest())
        try:
            with open(target, "rb") as f:
                if f.read() == data:
                    continue
        except OSError:
            os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy(source, target)
    return known.hexdigest()


def restore():
    """What is changed, also by a run that was killed."""
    with contextlib.suppress(FileNotFoundError):
        said = json.loads(read(CHANGED))
        write(os.path.join(TREE, said["path"]), said["text"])
        os.remove(CHANGED)


def build(jobs, targets):
    try:
        done = run("ninja", "-C", BUILD, f"-j{jobs}", *sorted(targets), timeout=3600)
        return done.returncode == 0, done.stdout
    except subprocess.TimeoutExpired:
        return False, "the build takes more than an hour"


def tests_of(wanted):
    """{name: {commands, targets that they need, environment, folder}}, once all is built"""
    known = set(re.findall(r"^(\S+): ", run("ninja", "-C", BUILD, "-t", "targets", "all").stdout, re.M))
    common = {t for t in known if re.match(r"bin/kymo|lib/.*\.so", t)}
    out, setups, needed = {}, {}, {}
    for t in json.loads(run("ctest", "--test-dir", BUILD, "--show-only=json-v1").stdout)["tests"]:
        properties = {p["name"]: p["value"] for p in t.get("properties", [])}
        for f in properties.get("FIXTURES_SETUP", []):
            setups[f] = t["command"]
        if not re.search(wanted, t["name"]) or "command" not in t or "FIXTURES_SETUP" in properties:
            continue
        alone = os.path.basename(t["command"][0]).startswith("test_")
        targets = {os.path.relpath(w, BUILD) for w in t["command"] if w.startswith(BUILD + os.sep)} & known
        needed[t["name"]] = properties.get("FIXTURES_REQUIRED", [])
        out[t["name"]] = {"commands": [t["command"]], "alone": alone, "targets": targets if alone else targets | common,
                          "environment": {**os.environ, **dict(e.split("=", 1) for e in properties.get("ENVIRONMENT", []))},
                          "folder": properties.get("WORKING_DIRECTORY", BUILD)}
    for name, fixtures in needed.items():
        out[name]["commands"][:0] = [setups[f] for f in fixtures if f in setups]
    return out


# ---- what executes what --------------------------------------------------------------------------

def passes(test, limit, counts=COUNTS):
    """Its counts of lines are in that folder then."""
    for command in test["commands"]:
        with subprocess.Popen(command, env={**test["environment"], "GCOV_PREFIX": counts}, cwd=test["folder"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, start_new_session=True) as p:
            try:
                if p.wait(limit) != 0:
                    return False
            except subprocess.TimeoutExpired:
                return False
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(p.pid, signal.SIGKILL)
    return True


def counts_in(folder):
    return [os.path.join(inside, n) for inside, _, names in os.walk(folder) for n in names if n.endswith(".gcda")]


lines_of = {}  # {what a file of counts is: {file: lines}}: most of a test's are as those of another one


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(os.path.basename(path).encode() + b"\0" + f.read()).digest()


def read_counts(counts, folder):
    """Adds them to lines_of."""
    by_name = {os.path.abspath(os.path.join(folder, c)): d for c, d in counts.items()}
    names = list(by_name)
    for at in range(0, len(names), 200):
        for text in run("gcov", "--json-format", "--stdout", *names[at:at + 200], cwd=folder).stdout.splitlines():
            said, found = json.loads(text), {}
            for f in said["files"]:
                path = os.path.relpath(os.path.join(BUILD, f["file"]), TREE)
                if path.startswith(("src/", "build/coverage/src/")) and path.endswith((".c", ".h", ".inc")):
                    found[path] = {x["line_number"] for x in f["lines"] if x["count"]}
            lines_of[by_name[os.path.join(folder, said["data_file"])]] = found


def executed(test, folder):
    """[seconds, {file: lines} that it executes]; None: it fails as it is, or takes long."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder, exist_ok=True)  # what outlives a test may still write
    begun = time.monotonic()
    if not passes(test, LONG, folder):
        return [LONG, None]
    seconds = time.monotonic() - begun
    for c in counts_in(BUILD):  # of a program that clears its environment: of this test, or one beside it
        target = folder + c
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            os.rename(c, target + ".cleared.gcda" if os.path.exists(target) else target)
    counts = {}
    for c in counts_in(folder):  # beside them what the compiler knew
        known = os.path.join("/", os.path.relpath(c, folder)).replace(".gcda.cleared", "")[:-5] + ".gcno"
        os.symlink(known, c[:-5] + ".gcno")
        counts[c] = digest(c)
    read_counts({c: d for c, d in counts.items() if d not in lines_of}, folder)
    lines = collections.defaultdict(set)
    for d in counts.values():
        for path, found in lines_of.get(d, {}).items():
            lines[path] |= found
    return [seconds, {path: sorted(found) for path, found in lines.items()}]


def measured(name, test, known, folders):
    """[seconds, {file: lines} or None] of a test: from a run before, if all is as it was then."""
    kept = os.path.join(PLACE, "executed", f"{name}.json.gz")
    with contextlib.suppress(OSError, ValueError):
        with gzip.open(kept, "rt", encoding="utf-8") as f:
            said = json.load(f)
        if said["known"] == known:
            return said["found"]
    folder = folders.get()
    try:
        found = executed(test, folder)
    finally:
        folders.put(folder)
    os.makedirs(os.path.dirname(kept), exist_ok=True)
    with gzip.open(kept, "wt", encoding="utf-8", compresslevel=1) as f:
        json.dump({"known": known, "found": found}, f)
    print(f"{name}: " + ("fails as it is or takes long, left out" if found[1] is None else f"{sum(map(len, found[1].values()))} lines"), flush=True)
    return found


def coverage(tests, known, jobs):
    """({file: {line: tests}}, seconds by test)"""
    lines, seconds, folders = collections.defaultdict(lambda: collections.defaultdict(list)), {}, queue.SimpleQueue()
    for i in range(jobs):
        folders.put(f"{COUNTS}{i}")
    for c in counts_in(BUILD):
        os.remove(c)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for name, (seconds[name], found) in zip(tests, pool.map(lambda name: measured(name, tests[name], known, folders), tests)):
            for path, numbers in (found or {}).items():
                for n in numbers:
                    lines[path][n].append(name)
    return lines, seconds


# ---- mutants -------------------------------------------------------------------------------------

def in_order(path, names, seconds):
    """Those of the file's part first, then those that compare all that is told, then the fast ones."""
    words = {w for w in re.split(r"\W|_", path) if len(w) > 3}
    return sorted(names, key=lambda n: (not any(w in n for w in words), not n.startswith("golden."), seconds[n]))


def killer(names, tests, seconds, args):
    """The test that fails; "": none; None: it does not compile."""
    spent, fit, jobs = 0, [], args.jobs
    for n in names:
        spent += seconds[n]
        if spent <= ENOUGH or not fit or args.again:
            fit.append(n)
    for alone in (True, False):  # programs of tests, which are linked fast; then those that want all
        chosen = [n for n in fit if tests[n]["alone"] == alone]
        if chosen and not build(jobs, set().union(*(tests[n]["targets"] for n in chosen)))[0]:
            return None
        found = first_that_fails(chosen, tests, seconds, jobs)
        if found:
            return found
    return ""


def first_that_fails(names, tests, seconds, jobs):
    """Of those that are under way when one fails none is stopped, no other one begins. "": none."""
    over = threading.Event()

    def fails(name):
        limit = 10 * seconds[name] + 10
        if over.is_set() or passes(tests[name], limit) or passes(tests[name], limit):
            return False
        over.set()
        return True

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return next((name for name, failed in zip(names, list(pool.map(fails, names))) if failed), "")


def try_one(path, number, new, names, tests, seconds, args):
    text = read(os.path.join(TREE, path))
    lines = text.splitlines(keepends=True)
    lines[number - 1] = new
    write(CHANGED, json.dumps({"path": path, "text": text}))
    try:
        write(os.path.join(TREE, path), "".join(lines))
        return killer(names, tests, seconds, args)
    finally:
        restore()


def equivalent():
    """{(file, line before, line after)}"""
    with open(EQUIVALENT, encoding="utf-8") as f:
        return {tuple(row[:3]) for row in (line.rstrip("\n").split("\t") for line in f)}


def is_equivalent(m, known):
    return (m["file"], m["before"], m["after"]) in known


def again(args, tests):
    """Yields those of the last run, of which survivors are tried once more."""
    seconds, known = {}, equivalent()
    for name, test in list(tests.items()):
        begun = time.monotonic()
        if not passes(test, 3 * LONG):
            sys.exit(f"{name} fails as it is")
        seconds[name] = time.monotonic() - begun
    for m in json.loads(read(RESULT))["mutants"]:
        if is_equivalent(m, known) or (m["what"] == "statement removed" and ELSEWHERE.match(m["before"])):
            continue
        if not m["killed_by"]:
            begun, lines = time.monotonic(), [x.strip() for x in read(os.path.join(TREE, m["file"])).splitlines()]
            places = [n for n, x in enumerate(lines, 1) if x == m["before"]]
            if not places:
                sys.exit(f"{m['file']} has no line any more that is: {m['before']}")
            m["line"] = min(places, key=lambda n, m=m: abs(n - m["line"]))
            m["killed_by"] = try_one(m["file"], m["line"], m["after"] + "\n", list(tests), tests, seconds, args) or ""
            m["seconds"] = round(time.monotonic() - begun, 1)
        yield m


def mutants(args, lines, seconds, tests):
    """Yields a dict for each."""
    known = equivalent()
    places = sorted((path, n) for path in lines if re.match(args.files, path) for n in lines[path])
    if not places:
        sys.exit("no line is executed")
    print(f"seed {args.seed}: {len(places)} lines of {len({p for p, _ in places})} files are executed by {len(tests)} tests", flush=True)
    pick, seen, done = random.Random(args.seed), set(), 0
    while done < args.count and len(seen) < len(places):
        path, number = place = pick.choice(places)
        line = read(os.path.join(TREE, path)).splitlines(keepends=True)[number - 1]
        made = list(changes(line))
        what, new = pick.choice(made) if made else (None, None)
        if place in seen or not made:
            seen.add(place)
            continue
        seen.add(place)
        begun, names = time.monotonic(), in_order(path, lines[path][number], seconds)
        m = {"file": path, "line": number, "what": what, "before": line.strip(), "after": new.strip(), "tests": names}
        if is_equivalent(m, known):
            continue
        m["killed_by"] = try_one(path, number, new, names, tests, seconds, args)
        m["seconds"] = round(time.monotonic() - begun, 1)
        if m["killed_by"] is None:
            continue
        done += 1
        yield m


def told(found):
    """The table by folder and the survivors."""
    folders = collections.Counter("generated" if m["file"].startswith("build/") else "/".join(m["file"].split("/")[:2]) for m in found)
    lived = [m for m in found if not m["killed_by"]]
    by_folder = collections.Counter("generated" if m["file"].startswith("build/") else "/".join(m["file"].split("/")[:2]) for m in lived)
    lines = [f"{'':24} mutants  killed"]
    lines += [f"{f:24} {n:7} {n - by_folder[f]:7}" for f, n in sorted(folders.items())]
    percent = 100 * (len(found) - len(lived)) / max(1, len(found))
    lines.append(f"{'all':24} {len(found):7} {len(found) - len(lived):7}  {percent:.0f} %")
    for m in lived:
        lines += [f"survived: {m['file']}:{m['line']}: {m['what']}, executed by {len(m['tests'])} tests ({', '.join(m['tests'][:4])})",
                  f"    - {m['before']}", f"    + {m['after']}"]
    return percent, "\n".join(lines)


def keep(args, when, found):
    write(RESULT, json.dumps({"when": when, "seed": args.seed, "killed_percent": told(found)[0], "mutants": found}, indent=1))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--quick", action="store_const", const=20, dest="count")
    parser.add_argument("--seed", type=int, default=int(time.time()) % 1000000)
    parser.add_argument("--tests", default=TESTS)
    parser.add_argument("--files", default=".")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--least", type=float, default=85)
    parser.add_argument("--again", action="store_true")
    args = parser.parse_args()
    for s in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(s, lambda *_: sys.exit("interrupted"))
    os.makedirs(TREE, exist_ok=True)
    with open(os.path.join(PLACE, "lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        restore()
        known = copy_tree()
        done = run("cmake", "--preset", "coverage", cwd=TREE)
        ok, text = build(args.jobs, ["all"]) if done.returncode == 0 else (False, done.stderr)
        if not ok:
            sys.exit(text[-3000:])
        tests = tests_of(args.tests)
        if not tests:
            sys.exit(f"no test is called {args.tests}")
        if args.again:
            args.seed, made = json.loads(read(RESULT))["seed"], again(args, tests)
        else:
            made = mutants(args, *coverage(tests, known, args.jobs), tests)
        os.environ["CCACHE_DISABLE"] = "1"  # mutants are built once
        when, found = time.strftime("%Y-%m-%d %H:%M:%S"), []
        for m in made:
            found.append(m)
            print(f"{m['file']}:{m['line']}: {m['what']}: {m['killed_by'] or 'SURVIVED'} ({m['seconds']} s): {m['after']}", flush=True)
            if not args.again:
                keep(args, when, found)
        keep(args, when, found)
    percent, text = told(found)
    print(text)
    print(f"seed {args.seed}: {sum(bool(m['killed_by']) for m in found)} of {len(found)} mutants killed, {percent:.0f} %")
    return 1 if percent < args.least else 0


if __name__ == "__main__":
    sys.exit(main())
