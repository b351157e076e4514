#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Call-path profiles in Caliper's json-split layout, as Hatchet takes them, against SQL over the same trace.

    caliper.py KYMO KYMO_SYNTH OCL_TWO PROFILES_PROGRAM ANNOTATED"""
import collections
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
import mixed  # noqa: E402
from kymotest import check, expect, must, query  # noqa: E402

KYMO, SYNTH, TWO, THREADS, ANNOTATED = (os.path.abspath(p) for p in sys.argv[1:6])
MEASURES = ["sum#time.duration", "inclusive#sum#time.duration", "device time", "sampled time", "count", "bytes", "untimed", "samples"]


def ns(seconds):
    return round(seconds * 1e9)


class Profile:
    def __init__(self, trace, ranks):
        self.told = kymotest.run(KYMO, "export", "-f", "--to", "caliper", "-o", "c.json", trace).stderr
        with open("c.json", encoding="utf-8") as f:
            got = json.load(f)
        check("columns", got["columns"], ["path"] + (["mpi.rank"] if ranks else []) + MEASURES)
        check("kinds of columns", [c["is_value"] for c in got["column_metadata"]], [False] + [True] * (len(got["columns"]) - 1))
        self.nodes = got["nodes"]
        for i, node in enumerate(self.nodes):
            expect(node["column"] == "path" and node.get("parent", -1) < i, "a parent comes first", i, node)
        self.rows = [dict(zip(got["columns"], r)) for r in got["data"]]
        check("a row for each node and rank", len({(r["path"], r.get("mpi.rank")) for r in self.rows}), len(self.rows))

    def path(self, row):
        out, i = [], row["path"]
        while i is not None:
            out.insert(0, self.nodes[i]["label"])
            i = self.nodes[i].get("parent")
        return out

    def sums(self, chosen, measure, key=lambda p: p[-1]):
        out = collections.Counter()
        for r in self.rows:
            path = self.path(r)
            if chosen(path, r):
                out[key(path)] += ns(r[measure]) if isinstance(r[measure], float) else r[measure]
        return {k: v for k, v in out.items() if v}


def by_name(trace, sql):
    return {r["name"]: r["n"] for r in query(KYMO, trace, sql) if r["n"]}


def is_call(names):
    return lambda path, _: path[-1] in names


def check_totals(trace, p):
    for measure, sql in (("count", "count(*)"), ("inclusive#sum#time.duration", "sum(end - start)")):
        wanted = by_name(trace, f"SELECT name, {sql} AS n FROM regions GROUP BY name")
        check(f"{trace}: calls, {measure}", p.sums(is_call(wanted), measure), wanted)
    on_device = lambda path, r: len(path) > 2 and " #" in path[-2]  # noqa: E731 pylint: disable=unnecessary-lambda-assignment
    kernels = by_name(trace, "SELECT name, sum(end - start) AS n FROM kernels GROUP BY name")
    check(f"{trace}: kernels", {k: v for k, v in p.sums(on_device, "device time").items() if k in kernels}, kernels)
    check(f"{trace}: executions", {k: v for k, v in p.sums(on_device, "count").items() if k in kernels},
          by_name(trace, "SELECT name, count(*) AS n FROM kernels GROUP BY name"))
    check(f"{trace}: bytes", sum(p.sums(on_device, "bytes").values()), query(KYMO, trace, "SELECT sum(bytes) AS n FROM copy")[0]["n"])
    roots = sum(ns(r["inclusive#sum#time.duration"]) for r in p.rows if "parent" not in p.nodes[r["path"]])
    check(f"{trace}: what is in roots is what is exclusive", sum(ns(r["sum#time.duration"]) for r in p.rows), roots)
    launches = {path[-3] for path in map(p.path, p.rows) if len(path) > 2 and path[-1] in kernels and "#" in path[-2]}
    check(f"{trace}: kernels are below their launch", launches, {"clEnqueueNDRangeKernel"})


def test_ranks():
    mixed.record(KYMO, TWO, THREADS, ANNOTATED)
    must(KYMO, "merge", "-o", "ranks.kymo", "0.kymo", "1.kymo")
    p = Profile("ranks.kymo", True)
    check_totals("ranks.kymo", p)
    check("ranks", {r["mpi.rank"] for r in p.rows}, {0, 1})
    check("ranks have the same paths", {n["label"] for n in p.nodes if "parent" not in n}, {"main thread"})
    devices = {path[-2] for path in map(p.path, p.rows) if path[-1] == "work"}
    check("two devices of one name", len(devices), 2)


def test_all():
    mixed.record(KYMO, TWO, THREADS, ANNOTATED)
    p = Profile("all.kymo", False)
    check_totals("all.kymo", p)
    check("a range in a range", any(path[2:5] == ["setup", "build", "clBuildProgram"] for path in map(p.path, p.rows)), True)
    samples = query(KYMO, "all.kymo", "SELECT t.name, count(*) AS n, sum(s.weight) AS ns FROM sample s JOIN thread t ON t.id = s.thread "
                                      "GROUP BY t.id")
    in_samples = lambda path, _: "call stacks of samples" in path  # noqa: E731 pylint: disable=unnecessary-lambda-assignment
    check("samples", sorted(p.sums(in_samples, "samples", key=lambda path: path[1]).values()), sorted(r["n"] for r in samples))
    check("what samples stand for", sorted(p.sums(in_samples, "sampled time", key=lambda path: path[1]).values()),
          sorted(r["ns"] for r in samples))
    check("functions", {"in_main", "in_other"} <= {path[-1] for path in map(p.path, p.rows)}, True)
    check("threads", {path[1] for path in map(p.path, p.rows) if path[0].startswith("profiles_program") and len(path) > 1},
          {"main thread", "thread 2 (semi;colon)"})
    syncs = query(KYMO, "all.kymo", "SELECT count(*) AS n FROM sync")[0]["n"]
    check("what has no place is told", f"sync ({syncs})" in p.told and syncs > 0, True)


def test_names():
    mixed.record_hostile(SYNTH)
    p = Profile("names.json", False)
    labels = [path[-1] for path in map(p.path, p.rows)]
    check("names", [labels.count(n) for n in mixed.HOSTILE], [2] * len(mixed.HOSTILE))
    check("bytes that are no text", mixed.NO_TEXT_READ in [n["label"] for n in Profile("bytes.kymo", False).nodes], True)


def test_untimed():
    """Work without device times counts, and is no time."""
    must(SYNTH, "demo", "demo.kymo")
    wanted = query(KYMO, "demo.kymo", "SELECT (SELECT count(*) FROM kernels WHERE start IS NULL) + "
                                      "(SELECT count(*) FROM memory_copies WHERE start IS NULL) AS n")[0]["n"]
    p = Profile("demo.kymo", False)
    check("untimed", (sum(r["untimed"] for r in p.rows), wanted > 0), (wanted, True))


def main():
    for name, fn in list(globals().items()):
        if not name.startswith("test_"):
            continue
        with kymotest.Folder() as folder:
            os.chdir(folder)
            fn()
            os.chdir("/")
    return 1 if kymotest.wrong else 0


sys.exit(main())
