#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times without a processor, against what the program says of its own waits: off_cpu.py KYMO OFF_CPU_PROGRAM SAMPLING_PROGRAM."""
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import check, expect, must  # noqa: E402

KYMO, PROGRAM, SPENDS = map(os.path.abspath, sys.argv[1:4])
CALLS = {"wait_lock": {"futex"}, "sleep": {"nanosleep", "clock_nanosleep"}, "wait_descriptors": {"poll", "ppoll"},
         "wait_file": {"read"}, "wait_socket": {"read"}, "wait_process": {"wait4", "waitid"}}
FIELD = re.compile(r'(\w+)=("[^"]*"|\w+)')


def own(trace):
    """Threads of Kymo's."""
    return {r["tid"] for r in json.loads(must(KYMO, "query", "-f", "json", trace, "SELECT tid FROM threads WHERE own"))}


def waits(trace):
    """(tid, reason): its times in ns and its fields, of those that somebody looked at."""
    found = {}
    for line in must(KYMO, "show", trace).splitlines():
        m = re.match(r" *\S+ +(\S+) (\w+) +\S+/(\d+) .*off_cpu:([^(]+)\((.*)\)", line)
        if m:
            ns = float(m[1]) * {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[m[2]]
            found.setdefault((int(m[3]), m[4]), []).append((ns, {k: v.strip('"') for k, v in FIELD.findall(m[5])}))
    return found


def as_told(trace, said):
    """Each wait of the program is there, no longer than it says and not much shorter, for the reason that it knows."""
    found = waits(trace)
    told = [line.split("\t") for line in said.splitlines()]
    lock = next(w[1] for w in told if w[0] == "lock")
    told = [(int(tid), reason, int(ns)) for tid, reason, ns in (w for w in told if len(w) == 3)]
    check("two threads wait for the lock, main six times", sorted(reason for _, reason, _ in told), sorted([*CALLS, "wait_lock"]))
    for tid, reason, ns in told:
        times = [(t, fields) for t, fields in found.get((tid, reason), ()) if fields["system_call"] in CALLS[reason]]
        longest, fields = max(times, key=lambda w: w[0], default=(0, {}))
        expect(ns / 2 < longest <= ns, reason, tid, longest, "of", ns, found.get((tid, reason)))
        if reason == "wait_lock":
            check("the futex", fields["object"], lock)
        if reason in ("wait_file", "wait_socket"):
            expect(fields["path"].startswith({"wait_file": "pipe:[", "wait_socket": "socket:["}[reason]), reason, fields)
    # The thread that never ends is told as far as it went: all the while.
    pause = [t for (_, reason), list_of in found.items() if reason == "sleep" for t, f in list_of if f["system_call"] in ("pause", "ppoll")]
    expect(len(pause) == 1 and pause[0] > sum(ns for tid, reason, ns in told if reason != "wait_lock"), "the one that never ends", pause)


def summary(trace):
    """Rows add up to what show lists, of threads that are not Kymo's, whose tracks say so; what threads were in is no call."""
    tables = {t["name"]: t["rows"] for t in json.loads(must(KYMO, "summary", "-f", "json", "--all", trace))["tables"]}
    rows = {r["op"]: r for r in tables["off_cpu"]}
    regions = json.loads(must(KYMO, "query", "-f", "json", trace, "SELECT DISTINCT tid FROM regions WHERE category = 'off_cpu'"))
    check("regions have no threads of Kymo's", {r["tid"] for r in regions} & own(trace), set())
    expect(own(trace), "threads of Kymo's")
    by_reason, of_kymo = {}, own(trace)
    for (tid, reason), times in waits(trace).items():
        if tid in of_kymo:
            continue  # it is nothing that the program did
        by_reason.setdefault(reason, []).extend(t for t, _ in times)
    check("reasons", set(rows), set(by_reason))
    for reason, times in by_reason.items():
        check(f"{reason}: times", rows[reason]["calls"], len(times))
        expect(abs(rows[reason]["time_ns"] - sum(times)) <= 1000 * len(times), reason, rows[reason], sum(times))
    head = must(KYMO, "summary", trace)
    expect(re.search(r", 0 calls, 0 kernels", head), head)
    # Of the main threads alone: they wait for no lock, but to join, and sleep as long as any.
    found = re.search(r"^Main off CPU +(\S+) (\S+) +(\d+) x  (\w+)\n +\S+ \S+ +\d+ x  (\w+)$", head, re.M)
    main_threads = {r["pid"] for r in json.loads(must(KYMO, "query", "-f", "json", trace, "SELECT pid FROM processes"))}
    check("forked children are sampled as well", len(main_threads), 4)
    mine = {}
    for (tid, reason), times in waits(trace).items():
        if tid in main_threads:
            mine[reason] = mine.get(reason, 0) + sum(t for t, _ in times)
    expect(found, head)
    check("the two longest of main's", [found[4], found[5]], sorted(mine, key=lambda r: -mine[r])[:2])
    expect(abs(float(found[1]) * {"ms": 1e6, "s": 1e9}[found[2]] - mine[found[4]]) < 1e-3 * mine[found[4]] + 1e5, found[0], mine)
    expect(re.search(r"^Without a processor: \d+\n(\x1b\[\w+)?what ", head, re.M), head)


def record(folder, *options, program=PROGRAM, user=()):
    trace = os.path.join(folder, "t.kymo")
    argv = (program,) if isinstance(program, str) else program
    return trace, must(*user, KYMO, "run", "-f", "--no-summary", *options, "-o", trace, "--", *argv)


def preempted(folder):
    """Threads that always have something to do wait for nothing, and do not get their processor for ever: with samples beside."""
    trace, _ = record(folder, "--off-cpu", "--sample=997", program=SPENDS)
    rows = json.loads(must(KYMO, "query", "-f", "json", trace, "SELECT count(*) AS n, sum(weight) AS ns FROM sample"))
    expect(rows[0]["n"] > 50, "samples beside", rows)
    if os.geteuid() == 0:
        expect(any(wait == "preempted" for wait, _ in by_stack(trace)[0]), "where they were preempted", by_stack(trace))
    expect(any(reason == "preempted" for _, reason in waits(trace)) or len(os.sched_getaffinity(0)) > 8, "four busy threads were never preempted")


def by_stack(trace):
    """(reason, innermost function of the program): times, of waits and of times of being preempted; and the note."""
    found = json.loads(must(KYMO, "summary", "-f", "json", "--all", trace))["tables"]
    table = next((t for t in found if t["name"] == "off_cpu_stacks"), {"rows": []})
    functions = {}
    for row in table["rows"]:
        frames = [f for f in row["stack"].split(";") if f.startswith("nap_of") or f == "spend"]
        name = (row["wait"], frames[-1] if frames else "")
        functions[name] = functions.get(name, 0) + row["times"]
    return functions, table


def short(folder, user, kernel_seen):
    """Waits that are over at once have a stack where the kernel may be seen, each its own; what has none is counted."""
    trace, _ = record(folder, "--off-cpu", program=(PROGRAM, "short"), user=user)
    functions, table = by_stack(trace)
    of_kymo = own(trace)
    all_times = [t for (tid, _), times in waits(trace).items() if tid not in of_kymo for t, _ in times]
    with_stack = sum(r["times"] for r in table["rows"])
    naps = {name: sum(n for (_, f), n in functions.items() if f == name) for name in ("nap_of_first", "nap_of_second")}
    if kernel_seen:
        expect(all(10 <= n <= 30 for n in naps.values()), "naps with a stack", functions)
    noted = re.search(r"\(([\d,]+) of ([\d,]+) times have a stack", " ".join(must(KYMO, "summary", "--all", trace).split()))
    if len(all_times) > with_stack > 0:
        check("of how many", tuple(int(n.replace(",", "")) for n in noted.groups()), (with_stack, len(all_times)))


def two_places(folder):
    """Stacks that differ in return addresses alone are one row."""
    trace = os.path.join(folder, "two.kymo")
    must(KYMO, "run", "--off-cpu", "--no-summary", "-o", trace, "--", PROGRAM, "two")
    table, = (t for t in json.loads(must(KYMO, "summary", "-f", "json", "--tables", "off_cpu_stacks", trace))["tables"])
    rows = [r for r in table["rows"] if "wait_at_two_places" in r["stack"] and r["wait"] == "sleep"]
    check("one row, two times", [r["times"] for r in rows], [2])
    longest = rows[0]["longest_ns"]
    expect(300e6 <= longest < rows[0]["ns"] <= 2 * longest, "the sum and the longest of two", rows)


def refused(folder):
    for options, words in ((("--off-cpu", "--sample=100", "--sample-clock", "wall"), "--sample-clock wall"),):
        done = subprocess.run([KYMO, "run", *options, "-o", os.path.join(folder, "no.kymo"), "--", PROGRAM], capture_output=True, text=True, check=False)
        check(f"{options}: status", (done.returncode, words in done.stderr, done.stdout), (2, True, ""))


def main():
    probe = subprocess.run([KYMO, "run", "--off-cpu", "--no-summary", "-f", "-o", "/dev/null/no", "--", "true"], capture_output=True, text=True, check=False)
    why = re.search(r"error: --off-cpu: (.*)", probe.stderr)
    if why:
        kymotest.skip(f"no perf events here: {why[1]}")
    with kymotest.Folder() as folder:
        users = [()]
        if os.geteuid() == 0 and shutil.which("setpriv"):
            os.chmod(folder, 0o777)
            nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
            if subprocess.run([*nobody, "test", "-x", KYMO, "-a", "-x", PROGRAM], check=False).returncode == 0:
                users.append(nobody)
        for user in users:
            trace, said = record(folder, "--off-cpu", user=user)
            as_told(trace, said)
            summary(trace)
            short(folder, user, os.geteuid() == 0 and not user)
            kymotest.remove(trace)
        as_told(*record(folder, "--off-cpu", "-b", "opencl", "--include", "cl.*"))  # which calls are chosen is another matter
        preempted(folder)
        two_places(folder)
        refused(folder)


if __name__ == "__main__":
    main()
    sys.exit(1 if kymotest.wrong else 0)
