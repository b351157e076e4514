#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Samples of chosen threads and by events: sampling.py KYMO SAMPLING_PROGRAM. Its threads alpha, beta and gamma, the latter in a child, meet
6000, 2000 and 4000 page faults in functions of their own."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import check, must  # noqa: E402

KYMO, PROGRAM = map(os.path.abspath, sys.argv[1:3])
FAULTS = {"touch_alpha": 6000, "touch_beta": 2000, "touch_gamma": 4000}


def record(folder, *options, scene=(), before=()):
    trace = os.path.join(folder, "t.kymo")
    check(f"{options}: the program", must(KYMO, "run", "-f", "--no-summary", *options, "-o", trace, "--", *before, PROGRAM, *scene), "done\n")
    return trace


def summary(folder):
    return must(KYMO, "summary", os.path.join(folder, "t.kymo"))


def query(trace, sql):
    return [tuple(r.values()) for r in json.loads(must(KYMO, "query", "-f", "json", trace, sql))]


def functions(trace, *options):
    """Rows of the summary's table, and its names of columns."""
    tables = json.loads(must(KYMO, "summary", "-f", "json", *options, trace))["tables"]
    rows = next((t["rows"] for t in tables if t["name"] == "functions"), [])
    # Functions without a name are a row for each module.
    names = {(r["function"] if not r["function"].startswith("(") else f'{r["function"]} {r["module"]}'): r for r in rows}
    check("each function is a row", len(names), len(rows))
    return names, set(rows[0]) if rows else set()


def threads(folder):
    names = "SELECT n.text, count(*) FROM sample s JOIN thread t ON t.id = s.thread JOIN string n ON n.id = t.name GROUP BY 1 ORDER BY 1"
    trace = record(folder, "--sample=997")
    everybody = {name for name, _ in query(trace, names)}
    check("all threads, of both processes", {"alpha", "beta", "gamma"} < everybody and len(everybody) == 4, True)
    for chosen in ({"alpha"}, {"beta", "gamma"}, {"alpha", "beta", "gamma"}):
        rows = query(record(folder, "--sample=997", "--sample-threads", ",".join(chosen)), names)
        check(f"{chosen}: these alone", {name for name, _ in rows}, chosen)
        check(f"{chosen}: with their samples", all(n > 50 for _, n in rows), True)
    trace = record(folder, "--sample=997", "--sample-threads", "main")
    check("there is one", "No samples" in summary(folder), False)
    check("main", query(trace, "SELECT count(*) > 50, sum(t.tid <> p.pid) FROM sample s JOIN thread t ON t.id = s.thread "
                        "JOIN process p ON p.id = t.process"), [(1, 0)])
    rows = query(record(folder, "--sample=997", "--sample-threads", "alpha2,1,bet,nobody"), names)
    check("no such thread", rows, [])
    told = "No samples: no thread that ran is one of --sample-threads alpha2,1,bet,nobody\n"
    said = kymotest.run(KYMO, "run", "-f", "--sample=997", "--sample-threads", "alpha2,1,bet,nobody", "-o", os.path.join(folder, "t.kymo"), "--", PROGRAM).stderr
    check("no such thread is told when the program has ended", told in said, True)
    check("no such thread is told", (told in summary(folder), "called none of the APIs" in summary(folder)), (True, False))
    record(folder, "--sample=997", "--sample-threads", "omega,main,beta,nobody")
    check("one that is misspelt is told", "--sample-threads: no thread that has records is called omega, nobody\n" in summary(folder), True)
    record(folder, "--sample=997", "--sample-threads", "main,beta")
    check("nothing to tell", "no thread that has records" in summary(folder), False)
    trace = record(folder, "--threads", "--sample=997", "--sample-threads", "main,nobody", scene=("fork",))
    check("of a forked child, which --threads knows from its beginning", query(
        trace, "SELECT count(DISTINCT t.process), count(*) > 50 FROM sample s JOIN thread t ON t.id = s.thread"), [(3, 1)])


def forked(folder):
    """Children that call nothing: of each there is what there is of its parent."""
    samples = "SELECT count(*) > 50 FROM sample s JOIN thread t ON t.id = s.thread GROUP BY t.process"
    for options in (("--sample=997",), ("--sample=997", "--sample-clock", "wall")):
        check(f"{options}: of each process", query(record(folder, *options, scene=("fork",)), samples), [(1,)] * 3)
        check(f"{options}: processes", "3 processes" in summary(folder).split("\n")[1], True)
    trace = record(folder, "--sample-event", "page-faults:10", scene=("ends",))
    rows = query(trace, "SELECT count(*) FROM sample_functions WHERE function = 'touch_gamma' GROUP BY pid")
    check(f"what came last, however they end: {rows}", [39 <= n <= 41 for n, in rows], [True] * 4)
    trace = record(folder, "--off-cpu", scene=("fork",))
    slept = [line for line in must(KYMO, "show", trace).splitlines() if "off_cpu:sleep(" in line]
    check("--off-cpu: each child sleeps", len({re.search(r" \S+/(\d+) ", line)[1] for line in slept}), 2)


def signals(folder):
    """The program has the signals that it handles for itself, whoever used them before."""
    wall = ("--sample=500", "--sample-clock", "wall")
    for scene, said in (("signals", r"no more samples: the program uses signal \d+ itself, and all the others"),
                        ("signal", r"the program uses signal (\d+) itself: samples are taken by signal \d+ from then on")):
        trace = record(folder, *wall, scene=(scene,))
        check(f"{scene}: told", len(re.findall(said, summary(folder))), 1)
    check("they are taken by another", query(trace, "SELECT count(*) > 20 FROM sample"), [(1,)])
    record(folder, *wall, scene=("blocked",))
    check("who blocks it", sorted(re.findall(r"thread \d+ \((\w+)\) has no samples while it blocks signal \d+", summary(folder))), ["deaf", "shy"])


def few(folder):
    record(folder, "--sample=5", scene=("short",))
    check("threads that ended before", summary(folder).count("2 threads lived less than one interval (200 ms) and had no samples"), 1)
    record(folder, "--sample=1", scene=("short",))  # no table of functions
    said = summary(folder)
    check("without any sample", (said.count("lived less than one interval (1000 ms) and had no samples"), "called none of the APIs" in said), (1, False))
    said = kymotest.run(KYMO, "run", "-f", "--sample=1", "-o", os.path.join(folder, "t.kymo"), "--", "true").stderr
    check("nothing", ("No samples: no thread met what takes one" in said, "called none of the APIs" in said), (True, False))


def events(folder):
    # The kernel counts for each thread and processor, and threads that take turns on one may take each other's counters, with what is
    # left over in them of less than a period: of three threads on one processor.
    slack, alone = 3, ("taskset", "-c", str(min(os.sched_getaffinity(0))))
    for every in (40, 100):  # fewer than rings have room for, mostly
        trace = record(folder, "--sample-event", f"page-faults:{every}", before=alone)
        rows, columns = functions(trace)
        told = re.search(r"^Lost: ([\d,]+) samples?\.", summary(folder), re.M)  # a ring was full while others had the processors
        lost = int(told[1].replace(",", "")) if told else 0
        for name, faults in FAULTS.items():
            samples = rows[name]["samples"]
            check(f"every {every}: {name}: {samples}, {lost} lost", -lost - slack <= samples - faults // every <= slack, True)
            check(f"every {every}: {name}: as SQL has it", query(
                trace, f"SELECT count(*), sum(weight) FROM sample_functions WHERE function = '{name}'"), [(samples, 0)])
            check(f"every {every}: {name}: it calls nothing", rows[name]["total_samples"], samples)
        whole = sum(r["samples"] for r in rows.values())
        known = sum(FAULTS.values()) // every
        check(f"every {every}: {whole} and {lost} lost", known - 2 * slack <= whole + lost <= known + 100, True)
        check("shares", [abs(rows[n]["self_percent"] - 100 * rows[n]["samples"] / whole) < 0.06 for n in FAULTS], [True] * 3)
        check("no time that nobody measured", {c for c in columns if "ns" in c}, set())
        check("the caller", rows["alpha"]["total_samples"] >= rows["touch_alpha"]["samples"], True)
        folded = must(KYMO, "export", "--to", "folded", "-o", "-", trace)
        counted = sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines() if "touch_beta" in line)
        check(f"every {every}: folded stacks count samples", counted, rows["touch_beta"]["samples"])
    trace = record(folder, "--sample-event", "page-faults:40", "--sample-threads", "beta")
    check("of one thread", [n for n in functions(trace)[0] if n in FAULTS], ["touch_beta"])
    (taken,), = query(record(folder, "--sample-event", "page-faults:1", scene=("ends",)), "SELECT count(*) FROM sample WHERE thread <> 1")
    lost = int(re.search(r"^Lost: ([\d,]+) samples\.", summary(folder), re.M)[1].replace(",", ""))
    check(f"{taken} taken and {lost} dropped of threads that ended then", taken > 200 and lost > 200 and 4 * 400 <= taken + lost <= 4 * 400 + 400, True)
    rows, columns = functions(record(folder, "--sample-event", "task-clock:2000000"))
    check("by a clock of events", sum(r["samples"] for r in rows.values()) > 200 and "total_samples" in columns, True)


def clocks(folder):
    """A thread that sleeps is sampled by all time, and not by that of a processor."""
    sums = ("SELECT n.text, count(*), sum(s.weight) / 1e6 FROM sample s JOIN thread t ON t.id = s.thread JOIN string n ON n.id = t.name "
            "WHERE n.text IN ('sleeper', 'spinner') GROUP BY 1")
    for options, least, most in ((("--sample-clock", "wall"), 300, 1e9), (("--sample-clock", "cpu"), 0, 100), ((), 0, 100)):
        trace = record(folder, "--sample=200", *options, scene=("wait",))
        rows = {name: (n, ms) for name, n, ms in query(trace, sums)}
        said = must(KYMO, "summary", trace)
        check(f"{options}: calls that it ended", said.count("wall ended sleep(), poll() or other calls early"), int(least > 0))
        n, ms = rows.get("sleeper", (0, 0))
        check(f"{options}: who sleeps: {n}, {ms} ms", least <= ms <= most and (n > 10) == (least > 0), True)
        check(f"{options}: who works: {rows.get('spinner')}", rows["spinner"][1] >= 100, True)
    rows = query(record(folder, "--sample=200", "--sample-clock", "wall", "--sample-threads", "sleeper", scene=("wait",)), sums)
    check("of one thread", [name for name, _, _ in rows], ["sleeper"])
    trace = record(folder, "--sample=200", "--sample-clock", "wall", "--sample-threads", "spinner", scene=("wait",))
    check("of the other", [name for name, _, _ in query(trace, sums)], ["spinner"])
    check("who is not chosen is sent no signals", "wall ended" in must(KYMO, "summary", trace), False)


def refused(folder):
    trace = os.path.join(folder, "refused.kymo")
    for options, said in ((["--sample-event", "page-faults"], "is not EVENT:N"), (["--sample-event", "page-faults:0"], "is not EVENT:N"),
                          (["--sample-event", "nothing:1"], "events are task-clock, cpu-clock, page-faults"),
                          (["--sample-event", "page-faults:-1"], "is not EVENT:N"), (["--sample-event", "page-faults:1x"], "is not EVENT:N"),
                          (["--sample-event", "page-faults:1", "--sample"], "give one of them"),
                          (["--sample-clock", "wall"], "--sample-clock goes with --sample"),
                          (["--sample-clock", "wall", "--sample-event", "page-faults:1"], "--sample-clock goes with --sample"),
                          (["--sample-threads", "main"], "goes with --sample, --sample-event or --off-cpu"),
                          (["--sample", "--sample-threads", "a,,b"], "a name is missing"),
                          (["--sample", "--sample-threads", ""], "a name is missing")):
        done = kymotest.run(KYMO, "run", *options, "-o", trace, "--", "true")
        check(f"{options}: refused", (done.returncode, said in done.stderr, os.path.exists(trace)), (2, True, False))
    for event in ("instructions:1000000", "context-switches:1"):  # there, or refused with a reason
        done = kymotest.run(KYMO, "run", "--no-summary", "--sample-event", event, "-o", trace, "-f", "--", "true")
        check(f"{event}: {done.stderr}", done.returncode == 0 or (done.returncode == 2 and f"--sample-event {event}: " in done.stderr), True)


def main():
    with kymotest.Folder() as folder:
        refused(folder)
        done = kymotest.run(KYMO, "run", "--no-summary", "--sample", "-o", os.path.join(folder, "can.kymo"), "--", "true")
        if done.returncode == 2:
            kymotest.skip(done.stderr)
        threads(folder)
        events(folder)
        clocks(folder)
        forked(folder)
        signals(folder)
        few(folder)


main()
sys.exit(1 if kymotest.wrong else 0)
