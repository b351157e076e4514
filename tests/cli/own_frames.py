#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kymo's own code in stacks: the trace has it, what shows stacks has one frame for it, or none: own_frames.py KYMO PROGRAM."""
import collections
import gzip
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import check, must  # noqa: E402

KYMO, PROGRAM = map(os.path.abspath, sys.argv[1:3])
OWN = "(Kymo)"
FRAMES = ("SELECT x.{column}, f.depth, m.path LIKE '%/libkymo%' AS own, n.text AS name FROM {table} x JOIN stack_frame f ON f.stack = x.stack "
          "JOIN site i ON i.id = f.site LEFT JOIN module m ON m.id = i.module LEFT JOIN string n ON n.id = i.function ORDER BY 1, 2")
USERS = {"writes_first", "writes_second"}


def query(trace, sql):
    return [tuple(r.values()) for r in json.loads(must(KYMO, "query", "-f", "json", trace, sql))]


def recorded(trace, table, column="id"):
    """Frames of each stack, innermost first, as (of Kymo, name)."""
    out = collections.defaultdict(list)
    for of, _, own, name in query(trace, FRAMES.format(table=table, column=column)):
        out[of].append((bool(own), name))
    return out


def own_names(stacks):
    """Of functions that are Kymo's alone."""
    names = {own: {n for s in stacks for o, n in s if n and o == own} for own in (True, False)}
    return {n for n in names[True] - names[False] if "_" in n}  # no file is named so


def folded(trace, to):
    """[(frames, weight)] without process and thread."""
    out = []
    for line in must(KYMO, "export", "-f", "--to", to, "-o", "-", trace).splitlines():
        stack, _, weight = line.rpartition(" ")
        out.append(([f.split(" (inlined)")[0] for f in stack.split(";")[2:] if f != "[kernel]"], int(weight)))
    return out


def exported(trace, folder, to, suffix):
    path = os.path.join(folder, "out" + suffix)
    must(KYMO, "export", "-f", "--to", to, "--domain", "sample", "-o", path, trace)
    with open(path, "rb") as f:
        data = f.read()
    return (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("utf-8", "replace")


def samples(trace, folder):
    stacks = recorded(trace, "sample")
    names = own_names(stacks.values())
    check("Kymo's functions were sampled", len(names) > 3, True)
    weights = dict(query(trace, "SELECT id, weight FROM sample"))
    there = [s for s in stacks.values() if USERS & {n for _, n in s}]
    check("both threads", {n for s in there for _, n in s} >= USERS, True)
    check("Kymo is on the way of calls, and innermost", (any(not s[0][0] and any(o for o, _ in s) for s in there),
                                                         any(s[0][0] for s in there)), (True, True))
    shown = folded(trace, "folded")
    check("times of Kymo's own", sum(w for f, w in shown if f[-1] == OWN), sum(weights[i] for i, s in stacks.items() if s[0][0]))
    check("all times", sum(w for _, w in shown), sum(weights.values()))
    check("only on top", [f for f, _ in shown if OWN in f[:-1]], [])
    check("below each of the program's functions", {u for u in USERS for f, _ in shown if f[-1] == OWN and u in f}, USERS)
    rows = {r["function"]: r for r in tables(trace)["functions"]["rows"]}
    check("in the table", rows[OWN]["samples"], sum(s[0][0] for s in stacks.values()))
    for name, text in outputs(trace, folder).items():
        check(f"{name}: not Kymo's functions", sorted(names & set(re.findall(r"\w+", text))), [])
        check(f"{name}: but one frame", OWN in text, True)
    check("the store has them", names <= {n for n, in query(trace, "SELECT DISTINCT function FROM sample_functions")} |
          {n for s in stacks.values() for _, n in s[1:]}, True)


def tables(trace):
    return {t["name"]: t for t in json.loads(must(KYMO, "summary", "--all", "-f", "json", trace))["tables"]}


def outputs(trace, folder):
    """Of all that show stacks of samples, what they say."""
    out = {"folded": "\n".join(";".join(f) for f, _ in folded(trace, "folded")),
           "functions": must(KYMO, "summary", "--all", "--tables", "functions", trace),
           "show": must(KYMO, "show", "--domain", "sample", trace),
           "plot": plotted(trace, folder)}
    formats = must(KYMO, "list", "formats")
    for to, suffix in (("speedscope", ".json"), ("pprof", ".pb.gz"), ("perfetto", ".pftrace"), ("chrome", ".trace")):
        if re.search(rf"^\s*{to}\b.*", formats, re.M):
            out[to] = exported(trace, folder, to, suffix)
    return out


def plotted(trace, folder):
    path = os.path.join(folder, "flame.svg")
    must(KYMO, "report", "-f", "--plot", "flame_samples", "-o", path, trace)
    with open(path, encoding="utf-8") as f:
        return f.read()


def calls(folder):
    """Stacks of calls and of memory end in whoever made them."""
    trace = os.path.join(folder, "heap.kymo")
    must(KYMO, "run", "-f", "--no-summary", "--backends", "heap,posix", "--stacks", "-o", trace, "--", PROGRAM)
    stacks = recorded(trace, "heap")
    check("memory of both threads", {n for s in stacks.values() for _, n in s} >= USERS, True)
    shown = folded(trace, "folded:heap")
    check("no frame of Kymo's", [f for f, _ in shown if OWN in f], [])
    check("who called malloc()", {f[-1] for f, _ in shown if USERS & set(f)} <= USERS | {"work"}, True)
    text = must(KYMO, "show", "--domain", "posix", "--limit", "2000", trace)
    check("calls of the program", all(u in text for u in ("main",)) and OWN not in text, True)


def main():
    with kymotest.Folder() as folder:
        trace = os.path.join(folder, "a.kymo")
        done = kymotest.run(KYMO, "run", "--no-summary", "--sample=997", "--backends", "posix", "-o", trace, "--", PROGRAM)
        if done.returncode == 2:
            kymotest.skip(done.stderr)
        samples(trace, folder)
        calls(folder)


main()
sys.exit(1 if kymotest.wrong else 0)
