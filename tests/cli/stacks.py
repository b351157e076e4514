#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where stacks of samples end, of a program without frame pointers: stacks.py KYMO STACKS_PROGRAM."""
import collections
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import check, must  # noqa: E402

KYMO, PROGRAM = map(os.path.abspath, sys.argv[1:3])
KERNEL = {"plain": "thread start", "deep": "depth limit", "big": "copy too short"}
PROCESS = {"plain": "thread start", "deep": "depth limit", "big": "thread start"}  # read where it lies


def query(trace, sql):
    return [tuple(r.values()) for r in json.loads(must(KYMO, "query", "-f", "json", trace, sql))]


def told(trace, ends):
    """The summary and the document have the numbers of SQL."""
    whole = dict(query(trace, "SELECT k.end, count(*) FROM sample s JOIN stack k ON k.id = s.stack GROUP BY 1"))
    tables = {t["name"]: t for t in json.loads(must(KYMO, "summary", "-f", "json", trace))["tables"]}
    rows = tables["stack_ends"]["rows"]
    check("the table", {r["end"]: r["stacks"] for r in rows}, whole)
    check("it is of samples", {r["of"] for r in rows}, {"samples"})
    check("shares", [abs(r["percent"] - 100 * r["stacks"] / sum(whole.values())) < 0.06 for r in rows], [True] * len(rows))
    short = sum(n for end, n in whole.items() if end != "thread start")
    check("a sentence", f"{short:,} of {sum(whole.values()):,} stacks of samples do not reach the start of their thread" in must(KYMO, "summary", trace), True)
    document = json.loads(must(KYMO, "export", "--to", "json", "-o", "-", trace))["trace"]
    check("by its name", "Where stacks end" in must(KYMO, "summary", "--tables", "stack_ends", trace), True)
    check("in the document", document["stack_ends"][1:], [end for end, in query(trace, "SELECT end FROM stack ORDER BY id")])
    check("each end", set(ends.values()) <= set(whole), True)


def samples(folder, ends, *options):
    trace = os.path.join(folder, "t.kymo")
    must(KYMO, "run", "-f", "--no-summary", *options, "-o", trace, "--", PROGRAM)
    found = collections.defaultdict(collections.Counter)
    for name, end, n in query(trace, "WITH frame AS (SELECT f.stack, n.text FROM stack_frame f JOIN site i ON i.id = f.site JOIN string n "
                                     "ON n.id = i.function) SELECT f.text, k.end, count(DISTINCT s.id) FROM sample s JOIN stack k "
                                     "ON k.id = s.stack JOIN frame f ON f.stack = k.id JOIN frame x ON x.stack = k.id WHERE x.text = 'spend' GROUP BY 1, 2"):
        found[name][end] += n
    for name, end in ends.items():
        check(f"{options}: below {name}", (set(found[name]), sum(found[name].values()) > 5), ({end}, True))
    check(f"{options}: frames of a stack", query(trace, "SELECT max(depth) FROM stack_frame"), [(255,)])
    told(trace, ends)


def main():
    with kymotest.Folder() as folder:
        done = kymotest.run(KYMO, "run", "--no-summary", "--sample", "-o", os.path.join(folder, "can.kymo"), "--", "true")
        if done.returncode == 2:
            kymotest.skip(done.stderr)
        samples(folder, KERNEL, "--sample=200")
        trace, hint = os.path.join(folder, "t.kymo"), "kymo run --sample-clock wall reads them"
        check("what reads whole stacks", hint in " ".join(must(KYMO, "summary", trace).split()), True)
        must(KYMO, "run", "-f", "--no-summary", "--sample=200", "--off-cpu", "-o", trace, "--", PROGRAM)
        summary = " ".join(must(KYMO, "summary", trace).split())
        check("where it can be had", ("copy too short" in summary, hint in summary), (True, False))
        samples(folder, PROCESS, "--sample=200", "--sample-clock", "wall", "--sample-threads", "plain,deep,big")


main()
sys.exit(1 if kymotest.wrong else 0)
