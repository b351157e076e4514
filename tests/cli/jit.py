#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names of generated code, by /tmp/perf-PID.map and by jitdump, where two functions take turns at one address: jit.py KYMO
JIT_PROGRAM. Who called each function says which it was."""
import collections
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import check, must  # noqa: E402

KYMO, PROGRAM = map(os.path.abspath, sys.argv[1:3])
METHODS = (("--sample=500",), ("--sample=200", "--sample-clock", "wall"))


def stacks(trace):
    """Function, file and line of each frame, the innermost first, of each stack that samples met."""
    rows = json.loads(must(KYMO, "query", "-f", "json", trace, """SELECT f.stack, n.text AS function, o.text AS file, i.line FROM stack_frame f
        JOIN site i ON i.id = f.site LEFT JOIN string n ON n.id = i.function LEFT JOIN string o ON o.id = i.file
        WHERE f.stack IN (SELECT stack FROM sample) ORDER BY f.stack, f.depth"""))
    found = collections.defaultdict(list)
    for r in rows:
        found[r["stack"]].append((r["function"], r["file"], r["line"] or None))
    return found.values()


def below(trace, caller):
    """What was next below a function of the program, with how many stacks had it."""
    found = collections.Counter()
    for frames in stacks(trace):
        names = [f for f, _, _ in frames]
        if caller in names[1:]:
            found[frames[names.index(caller) - 1]] += 1
    return found


def run(what, options):
    must(KYMO, "run", "-f", "--no-summary", *options, "-o", "t.kymo", "--", PROGRAM, what)


def with_map(options):
    run("map", options)
    check(f"{options}: alpha", set(below("t.kymo", "call_alpha")), {("jit_alpha", None, None)})
    check(f"{options}: beta", set(below("t.kymo", "call_beta")), {("Jit beta::run(int)", None, None)})
    check(f"{options}: stub", set(below("t.kymo", "call_stub")), {("py::stub", "/some/where.py", None)})
    through = [[f for f, _, _ in frames] for frames in stacks("t.kymo") if any(f == "spin_in_c" for f, _, _ in frames)]
    check(f"{options}: through a stub", {tuple(t[t.index("spin_in_c"):t.index("spin_in_c") + 4]) for t in through},
          {("spin_in_c", "py::stub", "call_stub", "with_map")})
    rows = next(t for t in json.loads(must(KYMO, "summary", "-f", "json", "t.kymo"))["tables"] if t["name"] == "functions")["rows"]
    check("summary", {"jit_alpha", "Jit beta::run(int)", "py::stub"} <= {r["function"] for r in rows}, True)


def with_dump(options):
    run("dump", options)
    check(f"{options}: first", set(below("t.kymo", "call_first")), {("first", None, None)})
    check(f"{options}: second", set(below("t.kymo", "call_second")), {("second", "made.js", 42)})


def with_node(options):
    """Its functions are found by their names, with what called them."""
    with open("busy.js", "w", encoding="utf-8") as f:
        f.write("""function kymoInner(n) { let s = 0; for (let i = 0; i < n; i++) s = (s * 31 + i) % 1000003; return s; }
function kymoOuter(n) { return kymoInner(n) + 1; }
const end = process.cpuUsage().user + 600000; let x = 0;
while (process.cpuUsage().user < end) x += kymoOuter(100000);
""")
    must(KYMO, "run", "-f", "--no-summary", *options, "-o", "n.kymo", "--", "node", "--perf-basic-prof", "--interpreted-frames-native-stack", "--no-turbo-inlining", "busy.js")
    named = [[f or "" for f, _, _ in s] for s in stacks("n.kymo")]
    inner = [s for s in named if any("kymoInner" in f for f in s)]
    check("node: samples of a function", len(inner) > 0, True)
    check("node: what called it", any("kymoOuter" in s[i + 1] for s in inner for i, f in enumerate(s[:-1]) if "kymoInner" in f), True)


def main():
    with kymotest.Folder() as folder:
        os.chdir(folder)
        done = kymotest.run(KYMO, "run", "--no-summary", "--sample", "-o", "can.kymo", "--", "true")
        if done.returncode == 2:
            kymotest.skip(done.stderr)
        for options in METHODS:
            with_map(options)
            with_dump(options)
        if shutil.which("node"):
            with_node(METHODS[0])
        os.chdir("/")


main()
sys.exit(1 if kymotest.wrong else 0)
