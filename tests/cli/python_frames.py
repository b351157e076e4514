#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Frames of Python in stacks of samples, beside those that the program found itself where it waited, in two threads, through
methods, closures, generators and a function of C; and what only says that it is Python: python_frames.py KYMO PROGRAM PYTHON FAKE."""
import collections
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import check, must  # noqa: E402

KYMO, PROGRAM, PYTHON, FAKE = sys.argv[1:5]


def stacks(trace):
    """(tid, end, frames with function, file and line, the innermost first) -> samples."""
    rows = json.loads(must(KYMO, "query", "-f", "json", trace, """SELECT s.id, t.tid, k.end, n.text AS function, o.text AS file, i.line
        FROM sample s JOIN thread t ON t.id = s.thread JOIN stack k ON k.id = s.stack JOIN stack_frame f ON f.stack = s.stack
        JOIN site i ON i.id = f.site LEFT JOIN string n ON n.id = i.function LEFT JOIN string o ON o.id = i.file ORDER BY s.id, f.depth"""))
    samples = collections.defaultdict(list)
    for r in rows:
        samples[r["id"], r["tid"], r["end"]].append((r["function"] or "?", r["file"], r["line"]))
    found = collections.Counter()
    for (_, tid, end), frames in samples.items():
        found[tid, end, tuple(frames)] += 1
    return found


def python_of(frames):
    return [(f[4:], file, line) for f, file, line in frames if f.startswith("py::")]


def fake(folder):
    trace = os.path.join(folder, "s.kymo")
    told = kymotest.run(KYMO, "run", "--no-summary", "--sample=200", "-o", trace, "--", FAKE)
    check("a fake lives", told.returncode, 0)
    check("what is wrong is told", "no frames of Python" in must(KYMO, "summary", trace) + told.stderr, True)
    functions = collections.Counter(f for _, _, frames in stacks(trace) for f, _, _ in frames)
    check("its own functions stay", (functions["_PyEval_EvalFrameDefault"] > 0, [f for f in functions if f.startswith("py::")]), (True, []))


def main():
    with kymotest.Folder() as folder:
        trace, out = os.path.join(folder, "t.kymo"), os.path.join(folder, "waited.json")
        must(KYMO, "run", "--no-summary", "--sample=200", "--sample-clock", "wall", "-o", trace, "--", PYTHON, PROGRAM, out)
        with open(out, encoding="utf-8") as f:
            waited = {name: (tid, [tuple(x) for x in frames]) for name, (tid, frames) in json.load(f).items()}
        check("threads that waited", sorted(waited), ["MainThread", "other"])
        found = stacks(trace)
        for name, (tid, truth) in waited.items():
            at = collections.Counter()
            for (t, _, frames), n in found.items():
                mine = python_of(frames)
                if t == tid and mine and mine[0] == truth[0]:
                    at[tuple(mine)] += n
            check(f"{name}: where it waited", set(at), {tuple(truth)})
            check(f"{name}: samples of it", sum(at.values()) > 10, True)
        whole = collections.Counter()  # of the program's functions: what the interpreter does before is more on a busy machine
        for (_, end, frames), n in found.items():
            if not any(f.startswith("py::") and f != "py::<module>" and file == PROGRAM for f, file, _ in frames):
                continue
            whole[end, any(f == "_PyEval_EvalFrameDefault" for f, _, _ in frames)] += n
        most = whole["thread start", False]
        check(f"whole, with no evaluation loop left ({whole})", most >= 0.97 * sum(whole.values()) and most > 100, True)
        of_c = [frames for _, _, frames in found if [f for f, _, _ in frames[:40]].count("py::leaf") == 1 and ("py::spend" in [f for f, _, _ in frames])]
        between = [f[1:[x for x, _, _ in f].index("py::spend")] for f in of_c if f[0][0] == "py::leaf"]
        check("functions of C between two of Python", bool(between) and all(b and not python_of(b) for b in between), True)
        fake(folder)
        cpu = os.path.join(folder, "c.kymo")
        must(KYMO, "run", "--no-summary", "--sample=200", "-o", cpu, "--", PYTHON, PROGRAM, out)
        rows = next(t for t in json.loads(must(KYMO, "summary", "-f", "json", cpu))["tables"] if t["name"] == "functions")["rows"]
        leaf = next((r for r in rows if r["function"] == "py::leaf"), None)
        check("by processor time", leaf is not None and leaf["total_percent"] > 50, True)


main()
sys.exit(1 if kymotest.wrong else 0)
