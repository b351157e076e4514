#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`kymo compare` over traces whose every time is known: its numbers against a second computation, what it
says of work that only one side has, of loss, of several devices and ranks, of names that somebody chose to
confuse, and of traces that are none.

    test_compare.py KYMO KYMO_SYNTH [OCL_STEPS]"""
import csv
import hashlib
import io
import json
import math
import os
import shutil
import struct
import sys

import made
from made import kernels, median, seeded, times

from kymotest import Folder, Run, check, wrong


def near(what, got, wanted, error=1e-6):
    if got is None or abs(got - wanted) > error * max(1, abs(wanted)):
        wrong.append(what)
        print("%s: got %r, expected %r" % (what, got, wanted))


def runs(m, n, seed, slower=1.0, model="lognormal", between=0.01, count=60, **more):
    """Traces of n runs with three kernels, of which "hot" may be slower; and their times."""
    traces, values = [], []
    for i in range(n):
        chance = seeded(seed, i)
        v = {name: times(chance, model, centre * (slower if name == "hot" else 1), count, between)
             for name, centre in (("hot", 50000), ("warm", 30000), ("cool", 20000))}
        values.append({k: [round(x) for x in w] for k, w in v.items()})
        traces.append(m.trace(kernels(v), **more))
    return traces, values


def logs(values, name, how):
    return [math.log(how(v[name])) for v in values]


def geometric(x):
    return math.exp(sum(math.log(v) for v in x) / len(x))


def check_rows(rows, values, test):
    """Each number of each kernel, per call and per run, against `test`: (shift, low, high, p) of two groups."""
    raw = []
    for name in ("hot", "warm", "cool"):
        for per, how in (("call", median), ("run", sum)):
            row, what = rows["items"]["kernel " + name, per], "%s per %s" % (name, per)
            a, b = ([how(v[name]) for v in side] for side in values)
            # Of what the change is: it never contradicts them.
            typical = median if rows["result"][None, None]["way"] == "ranks" else geometric
            near(what + " A", row["a_ns"], typical(a))
            near(what + " B", row["b_ns"], typical(b))
            near(what + " calls", row["calls_a"], 60)
            shift, low, high, p = test(logs(values[0], name, how), logs(values[1], name, how))
            near(what + " change", row["change_percent"], 100 * math.expm1(shift), 1e-4)
            near(what + " low", row["low_percent"], 100 * math.expm1(low), 1e-3)
            near(what + " high", row["high_percent"], 100 * math.expm1(high), 1e-3)
            near(what + " p", row["p"], p, 1e-5)
            raw.append((row, p))
    for table in ("runs",):  # run time and busy time are tested with them
        raw += [(r, r["p"]) for r in rows[table].values() if r["p"] is not None]
    for (row, _), p in zip(raw, made.holm([p for _, p in raw])):
        near(row["item"] + " corrected", row["p_corrected"], p, 1e-4)
    check("tests", rows["result"][None, None]["tests"], len(raw))


def numbers_by_ranks(m):
    """Eight runs a side: ranks."""
    a, values_a = runs(m, 8, "ranks a")
    b, values_b = runs(m, 8, "ranks b", 1.05)
    status, _, rows = m.compare(a, b)

    def test(x, y):
        shift, low, high = made.rank_interval(x, y)
        return shift, low, high, made.rank_test(x, y)

    check("way of 8 and 8", rows["result"][None, None]["way"], "ranks")
    check_rows(rows, (values_a, values_b), test)
    check("slower by 5 %, 8 runs", (status, rows["items"]["kernel hot", "call"]["verdict"]), (1, "slower"))
    check("others", {rows["items"]["kernel " + k, "call"]["verdict"] for k in ("warm", "cool")}, {"same"})
    status, _, rows = m.compare(b, a)
    check("the other way round", (status, rows["items"]["kernel hot", "call"]["verdict"]), (0, "faster"))
    check("result", rows["result"][None, None]["verdict"], "better")
    status, _, rows = m.compare(a, b, "--threshold", "10")
    check("below the threshold", (status, rows["items"]["kernel hot", "call"]["verdict"]), (0, "same"))
    check("the same bytes", m.run(a, b).out, m.run(a, b).out)


def numbers_by_means(m):
    """Four runs a side: Student's t, with a floor that these do not come near."""
    a, values_a = runs(m, 4, "means a", between=0.03)
    b, values_b = runs(m, 4, "means b", 1.3, between=0.03)
    status, _, rows = m.compare(a, b)

    def test(x, y):
        mean = [sum(v) / len(v) for v in (x, y)]
        variance = [sum((i - k) ** 2 for i in v) / (len(v) - 1) for v, k in zip((x, y), mean)]
        # The floor of each side: 0.5 %, or an eighth of how calls differ; these runs differ more.
        error = math.sqrt(sum(variance) / 4)
        shift, reach = mean[1] - mean[0], 2.4469118511 * error  # t of 0.975 and 6
        return shift, shift - reach, shift + reach, made.t_tail(shift / error, 6)

    check("way of 4 and 4", rows["result"][None, None]["way"], "means")
    check_rows(rows, (values_a, values_b), test)
    check("30 %, 4 runs", (status, rows["items"]["kernel hot", "call"]["verdict"]), (1, "slower"))


def one_run(m):
    """One run a side tells great changes alone, and says so; one against eight, as these vary."""
    a, _ = runs(m, 1, "one a", count=200, model="autocorrelated")
    b, _ = runs(m, 1, "one b", 1.6, count=200, model="autocorrelated")
    same, _ = runs(m, 1, "one c", 1.1, count=200, model="autocorrelated")
    status, document, rows = m.compare(a, b)
    check("one run, 60 %", (status, rows["items"]["kernel hot", "call"]["verdict"]), (1, "slower"))
    check("says that it tells little", any("One run a side" in line for line in document["foot"]), True)
    check("run time is not judged", rows["runs"]["run time", "run"]["reason"], "one run")
    status, _, rows = m.compare(a, same)
    check("one run, 10 %", (status, rows["items"]["kernel hot", "call"]["verdict"]), (0, "same"))
    status, _, rows = m.compare(a, b, "--noise", "60")
    check("one run, 60 %, noise 60", status, 0)
    many, values = runs(m, 8, "history")
    new, value = runs(m, 1, "history new", 1.12)
    status, _, rows = m.compare(many, new)
    row = rows["items"]["kernel hot", "call"]
    check("way of 8 and 1", rows["result"][None, None]["way"], "one run against several")
    check("12 % of one run", (status, row["verdict"]), (1, "slower"))
    x, y = logs(values, "hot", median), logs(value, "hot", median)[0]
    mean = sum(x) / 8
    error = math.sqrt(sum((i - mean) ** 2 for i in x) / 7 * (1 + 1 / 8))
    near("p of one run against several", row["p"], made.t_tail((y - mean) / error, 7), 1e-5)


def the_same(m):
    """A trace with itself: nothing, whatever it is like."""
    a, _ = runs(m, 3, "same", model="bimodal")
    for words in (a[:1], a):
        status, document, rows = m.compare(words, words)
        check("the same", (status, rows["result"][None, None]["verdict"]), (0, "no change found"))
        check("its changes", {r["change_percent"] for t in ("items", "runs") for r in rows[t].values()}, {0})
        check("its work", "work" in rows, False)
        check("says what would have been found", "or more would have been" in "".join(document["head"]), True)
    done = Run([m.kymo, "compare", a[0], a[0]])
    check("two words need no --", (done.status, "No change found" in done.out), (0, True))
    for line in done.out.splitlines():
        check("80 columns: " + line, len(line) <= 80, True)


def one_side(m):
    """Added and removed work is told as such, and is no change of anything."""
    base = {"kept": [5000] * 50}
    a = [m.trace(kernels(dict(base, gone=[700] * 20, often=[300] * 10)))]
    b = [m.trace(kernels(dict(base, new=[900] * 30, often=[300] * 40)))]
    status, document, rows = m.compare(a, b)
    work = {item: (r["work"], r["calls_a"], r["calls_b"], r["a_ns"], r["b_ns"])
            for (item, _), r in rows["work"].items()}
    check("work", work, {"kernel gone": ("only in A", 20, 0, 14000, 0),
                         "kernel new": ("only in B", 0, 30, 0, 27000),
                         "kernel often": ("more", 10, 40, 3000, 12000)})
    check("not judged", {rows["items"]["kernel " + k, "call"]["reason"] for k in ("gone", "new")},
          {"in one side only"})
    check("said at the top", [x for x in document["head"] if x.startswith("Work differs")],
          ["Work differs: 1 only in A, 1 only in B, 1 with other numbers of calls."])
    check("amounts", (rows["amounts"]["kernels", None]["a"], rows["amounts"]["kernels", None]["b"]), (80, 120))
    check("none of it is slower", status, 0)
    a, _ = runs(m, 4, "twice a")
    b = []
    for i in range(4):  # a kernel that is as fast as before, and runs twice as often
        v = {k: times(seeded("twice", k, i), "lognormal", 50000, 120 if k == "hot" else 60) for k in
             ("hot", "warm", "cool")}
        b.append(m.trace(kernels(v)))
    status, _, rows = m.compare(a, b)
    check("twice as often", (status, rows["items"]["kernel hot", "call"]["verdict"],
                             rows["items"]["kernel hot", "run"]["verdict"]), (1, "same", "more"))


def devices_and_ranks(m):
    """Two devices of one name; two ranks: what is slower on one of them."""
    def device_run(i, slower):
        v = [times(seeded("device", i, slower, d), "lognormal", 40000 * (slower if d == 2 else 1), 50)
             for d in (1, 2)]
        lines = kernels({"step": v[0]}, end=False) + kernels({"step": v[1]}, device=2)
        return m.trace(lines)

    a, b = [device_run(i, 1.0) for i in range(8)], [device_run(i, 1.2) for i in range(8)]
    status, _, rows = m.compare(a, b, "--by", "device")
    check("by device", [(i, r["verdict"]) for (i, per), r in rows["items"].items() if per == "call"],
          [("kernel step on Test GPU #1", "slower"), ("kernel step on Test GPU #0", "same")])
    _, _, rows = m.compare(a, b)
    check("together", rows["items"]["kernel step", "call"]["calls_a"], 100)
    check("busy is told of both", sorted(i for (i, _) in rows["runs"] if i.startswith("busy")),
          ["busy: Test GPU #0", "busy: Test GPU #1"])

    def rank_run(i, slower):
        path = None
        for rank in (0, 1):
            v = times(seeded("rank", i, slower, rank), "lognormal", 40000 * (slower if rank else 1), 50)
            calls = ["call 3 %d %d" % (4000000 + 20000 * k, 900 + 300 * rank) for k in range(40)]
            path = m.trace(kernels({"step": v}, end=False) + calls + ["end 5000000"], rank=rank, into=path)
        return path

    a, b = [rank_run(i, 1.0) for i in range(8)], [rank_run(i, 1.2) for i in range(8)]
    status, document, rows = m.compare(a, b, "--by", "rank")
    check("calls by rank", [rows["items"]["test wait, rank %d" % k, "call"]["a_ns"] for k in (0, 1)], [900, 1200])
    check("by rank", [(i, r["verdict"]) for (i, per), r in rows["items"].items()
                      if per == "call" and i.startswith("kernel")],
          [("kernel step, rank 1", "slower"), ("kernel step, rank 0", "same")])
    check("as many ranks", [x for x in document["head"] if "Not the same" in x], [])
    # A rank of two processes, one after the other, is one rank.
    twice = [m.trace(kernels({"step": [40000] * 50}), rank=0) for _ in range(2)]
    first, = (os.path.join(twice[1], "raw", f) for f in os.listdir(os.path.join(twice[1], "raw")))
    with open(first, "r+b") as f:
        f.seek(16)  # the number of the process
        f.write(struct.pack("<I", 4000))
    os.rename(first, first.replace("4242", "4000"))
    m.trace(kernels({"step": [40000] * 50}), rank=0, into=twice[1])
    _, document, _ = m.compare(twice[:1], twice[1:])
    check("two processes of one rank", [x for x in document["head"] if "ranks" in x], [])
    check("are two processes", [x for x in document["head"] if "processes" in x], ["Not the same, processes: 1 to 2 in a run"])
    _, document, _ = m.compare(a, b[:7] + [m.trace(kernels({"step": [40000] * 50}), rank=0)])
    check("not as many", [x for x in document["head"] if "ranks" in x],
          ["Not the same, ranks: 1 to 2 in a run"])


def splits(m):
    """Sizes, ranges around, executions of a range."""
    lines = ["in 1"] + kernels({"k": [3000] * 40}, end=False) + ["in 2"] + \
        kernels({"k": [6000] * 40}, start=500000, items=1 << 20, end=False) + \
        ["range step~1 1000 400000 1", "range step~2 450000 600000 2", "end 2000000"]
    trace = [m.trace(lines)]
    _, _, rows = m.compare(trace, trace)
    check("sizes", sorted(i for (i, per) in rows["items"] if i.startswith("kernel") and per == "call"),
          ["kernel k [1..2 Mi]", "kernel k [64..127]"])
    _, _, rows = m.compare(trace, trace, "--by", "scope", "--names", "full")
    check("scopes", sorted(i for (i, per) in rows["items"] if i.startswith("kernel") and per == "call"),
          ["kernel k in step 1", "kernel k in step 2"])
    _, _, rows = m.compare(trace, trace)
    check("ranges of one name but a number", rows["items"]["range step *", "call"]["calls_a"], 2)
    _, _, rows = m.compare(trace, trace, "--by", "iteration")
    check("executions", sorted((i, r["a_ns"]) for (i, per), r in rows["items"].items() if per == "call"),
          [("range step * #1", 400000), ("range step * #2", 600000)])


def odd_times(m):
    """No duration, single calls, overlapping kernels, an empty trace."""
    lines = ["kernel zero 64 %d 0" % (1000 + 100 * i) for i in range(50)] + ["kernel once 64 9000 500000"]
    trace = m.trace(lines + ["end 1000000"])
    _, _, rows = m.compare([trace] * 1, [trace])
    check("zero", rows["items"]["kernel zero", "call"]["reason"], "little time")
    _, _, rows = m.compare([trace], [trace], "--share", "0")
    check("zero, without a share", rows["items"]["kernel zero", "call"]["reason"], "no time")
    check("once", rows["items"]["kernel once", "call"]["reason"], "too few calls for one run")
    check("zero has calls", rows["items"]["kernel zero", "call"]["calls_a"], 50)
    both = m.trace(["kernel k 64 1000 5000", "kernel k 64 3000 5000", "kernel k 64 9000 1000",
                    "write 64 9500 1000", "end 20000"])
    _, _, rows = m.compare([both], [both])
    near("busy is a union", rows["runs"]["busy: Test GPU #0", "run"]["a_ns"], 7000 + 1500)
    near("a total is a sum", rows["items"]["kernel k", "run"]["a_ns"], 11000)
    empty = m.trace(["end 1000"])
    status, document, _ = m.compare([empty], [trace])
    done = m.run([trace], [empty])
    check("nothing could be judged: a failure, and what to do",
          (done.status, "Nothing could be judged" in done.out, "nothing could be compared" in done.err, "kymo info" in done.err),
          (3, True, True, True))


def names(m):
    """What somebody called a kernel steers no terminal, cell or page."""
    evil = "\x1b[31mred|<b>&`x`\x07\xe2\x80\xae=1+1"
    v = {evil: [5000 + i for i in range(60)]}
    trace = [m.trace(kernels(v), command=evil)]
    for word in ("text", "md", "csv", "json"):
        done = m.run(trace, trace, "--format", word, "--all", "--names", "full")
        check("status of " + word, done.status, 0)
        check("controls in " + word, [c for c in done.out if ord(c) < 32 and c not in "\r\n"], [])
        check("direction in " + word, "\u202e" in done.out and word != "json" and word != "csv", False)
        check("tag in " + word, "<b>" in done.out and word == "md", False)
    rows = list(csv.DictReader(io.StringIO(m.run(trace, trace, "--format", "csv").out)))
    check("csv", {r["per"] for r in rows if r["table"] == "items"}, {"call", "run"})


def loss(m):
    """How sure a comparison still is of what lost records."""
    v = {"k": [40000 + 13 * (i % 7) for i in range(100)]}
    whole = [m.trace(kernels(v)) for _ in range(3)]
    few = [m.trace(["call 3 100 50", "lost 3"] + kernels(v)) for _ in range(3)]
    many = [m.trace(["call 3 100 50", "lost 300"] + kernels(v)) for _ in range(3)]
    status, document, rows = m.compare(whole, few)
    check("some lost: calls are judged, totals not",
          (status, rows["items"]["kernel k", "call"]["verdict"], rows["items"]["kernel k", "run"]["reason"]),
          (0, "same", "records are lost"))
    foot = "\n".join(document["foot"])
    check("it says how many", "Lost in B: 9 of 312 records (2.9 %)." in foot and "Lost in A" not in foot, True)
    check("and what that means", "may be lost in the other" in foot, True)
    status, document, rows = m.compare(whole, many)
    check("too much lost", (status, rows["items"]["kernel k", "call"]["reason"],
                            "too much is missing" in "\n".join(document["foot"])), (3, "too much is lost", True))


def not_the_same(m):
    """Machines, commands."""
    v = {"k": [40000 + 13 * (i % 7) for i in range(100)]}
    a, b = [m.trace(kernels(v), host="north", command="app -n 1")], \
        [m.trace(kernels(v), host="south", command="app -n 2")]
    _, document, _ = m.compare(a, b)
    check("machine", "Not the same, machine: north | south" in document["head"], True)
    check("command", "Not the same, command: .. 1 | .. 2" in document["head"], True)
    folder = "/home/somebody/projects/heat/build/release/bin/"
    _, document, _ = m.compare([m.trace(kernels(v), command=folder + "heat")], [m.trace(kernels(v), command=folder + "heat --frames 300")])
    check("one path", "Not the same, command: .. heat | .. heat --frames 300" in document["head"], True)
    _, document, _ = m.compare(a, b)
    check("as short as it is", [line.split(",")[0] for line in document["head"][:2]],
          ["A: 1 run of app -n 1", "B: 1 run of app -n 2"])
    # The options are what tells runs apart, not where the program lies.
    deep = "/a/very/long/path/to/where/python3 /and/its/train.py --size 7"
    _, document, _ = m.compare([m.trace(kernels(v), command=deep)], [m.trace(kernels(v), command=deep + 40 * "8")])
    check("too long", [line.split(",")[0] for line in document["head"][:2]],
          ["A: 1 run of python3 train.py --size 7", "B: 1 run of python3 train.py --size 788888888..."])


def digest(path):
    return {f: hashlib.sha256(open(os.path.join(path, "raw", f), "rb").read()).hexdigest()
            for f in sorted(os.listdir(os.path.join(path, "raw")))}


def write_version(path, number):
    file = os.path.join(path, "raw", os.listdir(os.path.join(path, "raw"))[0])
    with open(file, "r+b") as f:
        f.seek(8)  # behind the magic number
        f.write(struct.pack("<I", number))


def selection(m):
    """A part of the traces, chosen as everywhere (docs/selection.md)."""
    a, _ = runs(m, 8, "select a")
    b, _ = runs(m, 8, "select b", 1.05)
    status, document, rows = m.compare(a, b, "--kernel", "warm|cool")
    check("without what is slower", status, 0)
    check("what is selected", [x for x in document["head"] if x.startswith("Selected")],
          ["Selected: --kernel 'warm|cool'"])
    check("items", {i for i, _ in rows["items"]}, {"kernel warm", "kernel cool"})
    check("no time of the whole run", ("run time", "run") in rows["runs"], False)
    status, _, rows = m.compare(a, b, "--kernel", "hot")
    check("what is slower", (status, rows["items"]["kernel hot", "call"]["verdict"]), (1, "slower"))
    check("a kernel that is not there", m.run(a, b, "--kernel", "none").status, 2)


def coarse(m):
    """Two runs a side that show no difference among each other do not make one of 2.2 % certain."""
    sides = [[m.trace(kernels({"k": [ns] * 60, "l": [90000] * 60})) for _ in (1, 2)] for ns in (50000, 51100)]
    status, _, rows = m.compare(*sides)
    check("2.2 % of two equal runs", (status, rows["items"]["kernel k", "call"]["verdict"]), (0, "same"))


def versions(m):
    """A trace, and the same compressed, which makes another version of it."""
    a, _ = runs(m, 1, "versions", count=400)
    b = os.path.join(m.folder, "compressed.kymo")
    shutil.copytree(a[0], b)
    done = Run([m.kymo, "compress", b])
    check("compressed", (done.status, digest(a[0]) == digest(b)), (0, False))
    status, _, rows = m.compare(a, [b])
    check("compressed is the same", (status, {r["change_percent"] for r in rows["items"].values()}), (0, {0}))
    old = os.path.join(m.folder, "old.kymo")
    shutil.copytree(a[0], old)
    write_version(old, 1)  # what was not compressed is the same in version 1
    status, _, rows = m.compare([old], [b])
    check("version 1 is the same", (status, {r["change_percent"] for r in rows["items"].values()}), (0, {0}))
    write_version(old, 99)
    done = Run([m.kymo, "compare", a[0], old])
    check("a version of the future", (done.status, "version" in done.err), (3, True))


def bad_input(m):
    v = {"k": [40000] * 50}
    a, b = m.trace(kernels(v)), m.trace(kernels(v))
    before = digest(a)
    compare = [m.kymo, "compare"]
    for words, what in (([], "which traces"), ([a], "which traces"), ([a, b, a], "which of these are A"),
                        (["--", a, b, a], "which of these are A"), ([a, "--"], "a side has no trace"),
                        ([a, "--", b, "--", a], "one \"--\" parts them"),
                        (["--threshold", "x", a, b], "not a number"), (["--noise", "-1", a, b], "not a number"),
                        (["--by", "color", a, b], "color")):
        done = Run(compare + words)
        check("status of %s" % words[:1], done.status, 2)
        check("what it says: " + what, what in done.err, True)
    done = Run(compare + [a, "/nowhere"])
    check("no trace", (done.status, "/nowhere" in done.err), (3, True))
    check("twice on a side", "counted once" in Run(compare + [a, a, "--", b]).err, True)
    copy = shutil.copytree(a, a + "-copy")
    done = Run(compare + ["--format", "json", a, copy, m.trace(kernels(v)), "--", b, copy])
    check("a copy on a side", (done.err.count("counted once"), "same run as " + a in done.err), (1, True))
    row = json.loads(done.out)["tables"][0]["rows"][0]
    check("runs, one of them on both sides", (row["runs_a"], row["runs_b"]), (2, 2))
    cut = m.trace(kernels({"k": [40000] * 5000}))
    file = os.path.join(cut, "raw", os.listdir(os.path.join(cut, "raw"))[0])
    os.truncate(file, os.path.getsize(file) * 2 // 3)
    status, document, rows = m.compare([a], [cut])
    check("a cut trace is said to be", any("in B" in x for x in document["foot"]), True)
    check("its totals are not judged", rows["items"]["kernel k", "run"]["verdict"], None)
    check("traces are as before", digest(a), before)


def recorded(m, program):
    """A recorded program: what one mode leaves out did not go away; totals are those of the summary."""
    traces = []
    for mode in ("default", "full"):
        traces.append(os.path.join(m.folder, mode + ".kymo"))
        done = Run([m.kymo, "run", "--no-summary", "--mode", mode, "-o", traces[-1], "--", os.path.abspath(program),
                    "--steps", "40", "--length", "300"])
        check("recorded in mode " + mode, (done.status, done.err), (0, ""))
    _, _, rows = m.compare(traces[:1], traces[1:], "--share", "0")
    check("left out", rows["items"]["opencl clSetKernelArg", "call"]["reason"], "not recorded in all runs")
    check("not as work", [i for i, _ in rows.get("work", {}) if "clSetKernelArg" in i], [])
    done = Run([m.kymo, "summary", "--format", "json", traces[0]])
    wanted = {"kernel " + r["op"]: (r["calls"], r["time_ns"]) for t in json.loads(done.out)["tables"]
              if t["name"] == "kernels" for r in t["rows"]}
    check("totals", {i: (r["calls_a"], r["a_ns"]) for (i, per), r in rows["items"].items()
                     if per == "run" and r["kind"] == "kernel"}, wanted)
    check("kernels", len(wanted), 3)
    # Counts of mode summary are selected as records are.
    counted = os.path.join(m.folder, "counted.kymo")
    done = Run([m.kymo, "run", "--no-summary", "--mode", "summary", "-o", counted, "--", os.path.abspath(program),
                "--steps", "40", "--length", "300"])
    check("counted", (done.status, done.err), (0, ""))
    _, _, whole = m.compare([counted], [counted], "--share", "0")
    items = sorted({i for i, _ in whole["items"]})
    wanted = [i for i in items if "clFinish" in i]
    check("counted calls and kernels", (len(items) > 3, len(wanted), any(i.startswith("kernel") for i in items)), (True, 1, True))
    done = m.run([counted], [counted], "--share", "0", "--include", "clFinish", "--format", "json")
    rows = {t["name"]: t["rows"] for t in json.loads(done.out)["tables"]}
    check("one function of what was counted", sorted({r["item"] for r in rows["items"]}), wanted)
    done = m.run([counted], [counted], "--after", "1us")
    check("a time of counts", (done.status, "counted, not recorded" in done.err), (2, True))


def main():
    with Folder() as folder:
        m = made.Maker(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), folder)
        for part in (numbers_by_ranks, numbers_by_means, one_run, the_same, one_side, devices_and_ranks, splits,
                     odd_times, names, loss, not_the_same, selection, coarse, versions, bad_input):
            before = len(wrong)
            part(m)
            if len(wrong) > before:
                print("^ in %s" % part.__name__)
        if len(sys.argv) > 3:
            recorded(m, sys.argv[3])
    print("%d wrong" % len(wrong))
    sys.exit(1 if wrong else 0)


main()
