#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Processor time, utilisation and peak resident memory of processes are what wait4(2) tells their parent, as it
tells `time -v`; of threads what they used themselves.

Usage: usage.py KYMO PROGRAM
       usage.py parent RESULTS WORDS...    (runs under kymo: starts programs at a time, `--` between them)
"""
import json
import os
import re
import subprocess
import sys

MIB = 1 << 20


def parent(results, words):
    programs, pids = [[]], {}
    for word in words:
        if word == "--":
            programs.append([])
        else:
            programs[-1].append(word)
    for program in programs:
        pid = os.posix_spawn(program[0], program, os.environ)
        pids[pid] = program[1:]
    told = {}
    for _ in programs:
        pid, _, u = os.wait4(-1, 0)
        told[pid] = {"user_ns": u.ru_utime * 1e9, "system_ns": u.ru_stime * 1e9, "resident": u.ru_maxrss * 1024, "words": pids[pid]}
    with open(results, "w", encoding="utf-8") as f:
        json.dump(told, f)


if sys.argv[1] == "parent":
    parent(sys.argv[2], sys.argv[3:])
    sys.exit(0)

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import expect  # noqa: E402

KYMO, PROGRAM = map(os.path.abspath, sys.argv[1:3])


def run(*words):
    p = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
    expect(p.returncode == 0, words, p.returncode, p.stdout, p.stderr)
    return p.stdout


def record(folder, name, *programs):
    """The trace, and what the parent was told of each pid."""
    trace, results = f"{folder}/{name}.kymo", f"{folder}/{name}.json"
    words = []
    for program in programs:
        words += ["--"] * bool(words) + [PROGRAM, *map(str, program)]
    run(KYMO, "run", "--no-summary", "-o", trace, sys.executable, os.path.abspath(__file__), "parent", results, *words)
    with open(results, encoding="utf-8") as f:
        return trace, {int(pid): told for pid, told in json.load(f).items()}


def rows(trace, table):
    found = json.loads(run(KYMO, "summary", "-f", "json", "--tables", table, trace))["tables"]
    return {int(r["process"].split()[0]): r for r in found[0]["rows"]} if table == "processes" else found[0]["rows"]


def same(row, told):
    """What comes after Kymo's last look, the end of the address space, is in the kernel's sums alone."""
    for name in ("user_ns", "system_ns"):
        expect(-11e6 <= told[name] - row[name] <= 60e6 + 0.05 * told[name], name, row, told)
    expect(abs(row["peak_resident_bytes"] - told["resident"]) <= MIB, "peak", row, told)
    used = row["user_ns"] + row["system_ns"]
    expect(abs(row["percent_of_wall"] - 100 * used / row["wall_ns"]) < 1e-6, "share", row)
    expect(row["known"] == "whole", row)


def test_two(folder):
    """Two processes at a time, each with two threads."""
    trace, told = record(folder, "two", (200, 600, 300), (20, 200, 900))
    found = rows(trace, "processes")
    expect(found.keys() == told.keys() and len(told) == 2, found, told)
    for pid, row in found.items():
        mib, mine, other = map(int, told[pid]["words"])
        same(row, told[pid])
        expect(row["user_ns"] + row["system_ns"] >= (mine + other) * 1e6, row)
        expect(mib * MIB <= row["peak_resident_bytes"] <= (mib + 60) * MIB, row)
        # The main thread is asked at the end, the other when it ends.
        threads = sorted(r["processor_ns"] for r in rows(trace, "threads") if int(r["process"].split()[0]) == pid)
        expect(len(threads) == 2, threads)
        # What each does beside its work depends on the machine; that belongs to the process too.
        for ns, ms in zip(threads, sorted((mine, other))):
            expect(ms * 1e6 <= ns, threads, mine, other)
        expect(sum(threads) <= row["user_ns"] + row["system_ns"] + 11e6, threads, row)
    # People see the same; a store and SQL as well.
    text = run(KYMO, "summary", trace)
    heading, *lines = text.split("\nProcesses\n")[1].split("\n\n")[0].splitlines()
    lines = [line.split() for line in lines if not line.startswith("(")]
    if "no processor" in heading: # on a busy machine
        lines = [line[:-2] for line in lines]
    expect([int(line[0]) for line in lines] == sorted(found, key=lambda p: -found[p]["user_ns"] - found[p]["system_ns"]), lines)
    for line in lines:
        row = found[int(line[0])]
        expect(abs(float(line[-3]) - row["percent_of_wall"]) <= 0.06, line, row)
        expect(abs(float(line[-2]) - row["peak_resident_bytes"] / MIB) <= 0.06 and line[-1] == "MiB", line, row)
    sql = json.loads(run(KYMO, "query", "--format", "json", trace, "SELECT pid, user, system, resident, usage FROM processes"))
    expect({r["pid"]: (r["user"], r["system"], r["resident"], r["usage"]) for r in sql} ==
           {p: (r["user_ns"], r["system_ns"], r["peak_resident_bytes"], 1) for p, r in found.items()}, sql, found)
    stored = rows(trace + "/store.db", "processes")
    expect({p: {**r, "trace": trace} for p, r in stored.items()} == found, "a store tells others", stored, found)
    sql = json.loads(run(KYMO, "query", "--format", "json", trace, "SELECT processor FROM threads WHERE NOT own"))
    expect(sorted(r["processor"] for r in sql) == sorted(r["processor_ns"] for r in rows(trace, "threads")), sql)


def test_exec(folder):
    """Programs that replaced each other are one process, as the kernel has it."""
    trace, told = record(folder, "exec", (100, 300, 200, "exec"))
    found = rows(trace, "processes")
    expect(found.keys() == told.keys(), found, told)
    for pid, row in found.items():
        same(row, told[pid])
        expect(row["user_ns"] + row["system_ns"] >= 700e6 and row["peak_resident_bytes"] >= 100 * MIB, row)


def test_killed(folder):
    """At least what was seen of it, or unknown: never 0, never more than it was."""
    trace, told = record(folder, "killed", (100, 1500, 1500, "kill"), (10, 50, 0))
    found = rows(trace, "processes")
    expect(found.keys() == told.keys(), found, told)
    for pid, row in found.items():
        if "kill" not in told[pid]["words"]:
            same(row, told[pid])
            continue
        expect(row["known"] in ("at least", None), row)
        for name, most in (("user_ns", told[pid]["user_ns"]), ("peak_resident_bytes", told[pid]["resident"])):
            expect(row[name] is None or 0 < row[name] <= most + 20e6, name, row, told)
        text = run(KYMO, "summary", "--tables", "processes", trace)
        expect("that did not come to an end at least so much" in text or "nothing is known" in text, text)


def test_no_processor(folder):
    """How long the main thread was ready to run while another had its processor, as it is told itself."""
    trace, here = f"{folder}/delay.kymo", os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(here)}) # Kymo's own processes take all there are
    try:
        began, ended = map(int, run(KYMO, "run", "--no-summary", "-o", trace, PROGRAM, "1", "900", "900", "told").split())
    finally:
        os.sched_setaffinity(0, here)
    row, = rows(trace, "processes").values()
    # Asked four times a second, and when the process comes and goes.
    expect(ended - began > 400e6, began, ended)
    expect(ended - began - 350e6 <= row["delay_ns"] <= ended - began + 100e6, row, began, ended)
    sql, = json.loads(run(KYMO, "query", "--format", "json", trace, "SELECT delay FROM processes"))
    expect(sql["delay"] == row["delay_ns"], sql, row)
    text = run(KYMO, "summary", trace)
    share = 100 * row["delay_ns"] / row["wall_ns"]
    told = re.search(r"^The main thread waited for a processor (\d+) % of its time\.$", text, re.M)
    expect(told and abs(int(told[1]) - share) <= 0.51, share, text)
    shown = re.search(r" (\S+) (m?s)\n\(no processor: ", text)
    expect(shown and abs(float(shown[1]) * {"ms": 1e6, "s": 1e9}[shown[2]] - row["delay_ns"]) < 1e6, row, text)
    told = run(KYMO, "diagnose", trace)
    expect(f"recording: the main thread of process {row['process'].split()[0]} waited for a processor" in " ".join(told.split()), told)


def test_two_without_processor(folder):
    """Of several the one that waited the largest part of its time is named."""
    here = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(here)})
    try:
        trace, _ = record(folder, "delays", (1, 400, 0), (1, 900, 0))
    finally:
        os.sched_setaffinity(0, here)
    shares = {p: r["delay_ns"] / r["wall_ns"] for p, r in rows(trace, "processes").items()}
    most = max(shares, key=lambda p: shares[p])
    text = run(KYMO, "summary", trace)
    told = re.search(r"^Main threads waited for a processor up to (\d+) % of their time \(process (\d+)\)\.$", text, re.M)
    expect(told and int(told[2]) == most and abs(int(told[1]) - 100 * shares[most]) <= 0.51, shares, text)


with kymotest.Folder() as scratch:
    for test in (test_two, test_exec, test_killed, test_no_processor, test_two_without_processor):
        test(scratch)
        print("ok  ", test.__name__)
