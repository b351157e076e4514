#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kymo merge: one trace of several, raw files as they were, all records there, in one time; other clocks refused.

    merge.py KYMO SELECT_PROGRAM SYNTH"""
import hashlib
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import check, must  # noqa: E402

KYMO, PROGRAM, SYNTH = map(os.path.abspath, sys.argv[1:4])
STEPS = 6
NODE = os.uname().nodename


def sums(trace):
    """Of each raw file."""
    raw, found = os.path.join(trace, "raw"), []
    for name in os.listdir(raw):
        with open(os.path.join(raw, name), "rb") as f:
            found.append(hashlib.sha256(f.read()).hexdigest())
    return sorted(found)


def listed(trace):
    """Files that the manifests name."""
    found = []
    for name in os.listdir(trace):
        if name.endswith(".json"):
            with open(os.path.join(trace, name), encoding="utf-8") as f:
                found += [p["file"] for p in json.load(f)["processes"]]
    return sorted(found)


def counts(*traces):
    tables = {t["name"]: t["rows"] for t in json.loads(must(KYMO, "summary", "-f", "json", *traces))["tables"]}
    return {name: {r["op"]: (r["calls"], r["time_ns"]) for r in tables[name]} for name in ("opencl", "kernels", "ranges")}


def record(folder, name):
    trace = os.path.join(folder, name)
    done = kymotest.run(KYMO, "run", "--no-summary", "-o", trace, "--", PROGRAM, STEPS,
                        env=kymotest.environment(POCL_DEVICES="pthread pthread"))
    if done.returncode == 77:
        kymotest.skip("no OpenCL platform here")
    kymotest.expect(done.returncode == 0, done.stderr)
    must(KYMO, "compress", trace)  # what is copied is not replaced meanwhile
    return trace


def starts(trace):
    """When its steps began, by process."""
    rows = kymotest.query(KYMO, trace, "SELECT pid, start FROM markers WHERE name = 'step' ORDER BY 1, 2")
    return [(r["pid"], r["start"]) for r in rows]


def aligned(folder, name, rank, host, offset):
    """A rank of job 7, whose clock is so many ns behind that of rank 0's node."""
    trace = os.path.join(folder, name + ".kymo")
    subprocess.run([SYNTH, "timed", trace, str(rank), host, "", "job 7"], check=True, text=True,
                   input=f"aligned {offset}\nkernel k 64 1000 5000\nend 20000\n")
    return trace


def refused(what, said, *words):
    done = kymotest.run(KYMO, "merge", *words)
    check(f"{what}: refused", done.returncode in (2, 3), True)
    check(f"{what}: says why", said in done.stderr, True)


def main():
    with kymotest.Folder() as folder:
        a, b, c = (record(folder, n) for n in ("a.kymo", "b.kymo", "c.kymo"))
        before = [sums(t) for t in (a, b, c)]
        whole = os.path.join(folder, "whole.kymo")
        must(KYMO, "merge", "-o", whole, a, b, c)
        check("the traces are as they were", [sums(t) for t in (a, b, c)], before)
        check("raw files are the same", sums(whole), sorted(sum(before, [])))
        check("nothing is lost", counts(whole), counts(a, b, c))
        merged = starts(whole)
        check("steps", len(merged), 3 * 2 * STEPS)
        # Within a process as far apart as before; the second program began after the first one had ended.
        for trace in (a, b, c):
            single = starts(trace)
            there = [(p, s) for p, s in merged if p == single[0][0]]
            shift = there[0][1] - single[0][1]
            check(f"{trace}: times", [(p, s - shift) for p, s in there], single)
        order = [min(s for p, s in merged if p == starts(t)[0][0]) for t in (a, b, c)]
        check("one after the other", order, sorted(order))
        check("no damage", kymotest.run(KYMO, "summary", "--strict", whole).returncode, 0)

        # Processes of one number, as containers have them: neither takes the other's place.
        twin = os.path.join(folder, "twin.kymo")
        shutil.copytree(a, twin)
        both = os.path.join(folder, "both.kymo")
        must(KYMO, "merge", "-o", both, a, twin)
        check("of one number", sums(both), sorted(2 * before[0]))
        check("manifests name both", listed(both), sorted(os.listdir(os.path.join(both, "raw"))))
        check("both count", counts(both), counts(a, twin))
        check("both ended", kymotest.run(KYMO, "summary", "--strict", both).returncode, 0)
        many = os.path.join(folder, "many.kymo")
        copies = [shutil.copytree(a, os.path.join(folder, f"copy{i}.kymo")) for i in range(20)]
        must(KYMO, "merge", "-o", many, *copies)
        check("twenty", counts(many)["kernels"]["scale"][0], 20 * counts(a)["kernels"]["scale"][0])
        # Merged again: the new name of one is the old one of another.
        again = os.path.join(folder, "again.kymo")
        must(KYMO, "merge", "-o", again, a, many)
        check("merged of merged", sums(again), sorted(21 * before[0]))
        check("manifests name each once", listed(again), sorted(os.listdir(os.path.join(again, "raw"))))
        check("each ended", kymotest.run(KYMO, "summary", "--strict", again).returncode, 0)

        other = os.path.join(folder, "other.kymo")
        must(SYNTH, "demo", other)
        other2 = os.path.join(folder, "other2.kymo")
        subprocess.run([SYNTH, "timed", other2, "", NODE], check=True, text=True, input="kernel k 64 1000 5000\nend 20000\n")
        # One name of a job is of one clock where the clocks say so.
        job = [aligned(folder, *w) for w in (("job0", 0, "north", 0), ("job1", 1, "south", 10 ** 8), ("later", 1, "south", 3600 * 10 ** 9))]
        must(KYMO, "merge", "-o", os.path.join(folder, "job.kymo"), *job[:2])
        left = sorted(os.listdir(folder))
        refused("one name of a job, another clock", "never compared", "-o", os.path.join(folder, "x.kymo"), job[0], job[2])
        refused("another node", "never compared", "-o", os.path.join(folder, "x.kymo"), a, other)
        # Asked for: two nodes, and that they are two clocks is told. Jobs and nodes of one name are not told apart later.
        apart, lone = os.path.join(folder, "apart.kymo"), os.path.join(folder, "lone.kymo")
        subprocess.run([SYNTH, "timed", lone, "", "east"], check=True, text=True, input="kernel k 64 1000 5000\nend 20000\n")
        must(KYMO, "merge", "--uncompared", "-o", apart, a, other, lone)
        left = sorted(os.listdir(folder))
        check("several clocks are told", "never compared" in must(KYMO, "summary", apart), True)
        check("of all", counts(apart), counts(a, other, lone))
        for what, words in (("two jobs", (job[0], job[2])), ("two jobs behind another", (a, job[0], job[2])), ("one name, two clocks", (b, other, lone, other2))):
            refused(what, "never compared" if "jobs" in what else "two nodes called", "--uncompared", "-o", os.path.join(folder, "x.kymo"), *words)
        refused("there already", "is there already", "-o", whole, a, b)
        refused("one trace", "two traces or more", "-o", os.path.join(folder, "x.kymo"), a, a)
        refused("nowhere", "-o names", a, b)
        refused("no trace", "No such file", "-o", os.path.join(folder, "x.kymo"), a, os.path.join(folder, "none"))
        check("nothing is left of what failed", sorted(os.listdir(folder)), left)


main()
sys.exit(1 if kymotest.wrong else 0)
