#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `kymo run` is told to record (--range, --during, --kernel, --device, --after, --before) is what selects the same
from a recording of all: source.py KYMO SOURCE_PROGRAM [SELECT_PROGRAM]."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import check, must  # noqa: E402

KYMO, PROGRAM = map(os.path.abspath, sys.argv[1:3])
SELECT = os.path.abspath(sys.argv[3]) if len(sys.argv) > 3 else None
STEPS = 30
MARKS = "SELECT kind || ':' || name FROM markers ORDER BY 1"
# What there is of each kind; device work by device.
COUNTS = ("SELECT 'call', name, count(*) FROM regions WHERE category <> 'code_object' GROUP BY 2 UNION "
          "SELECT 'kernel', name || ' on ' || substr(agent_name, -2), count(*) FROM kernels GROUP BY 2 UNION "
          "SELECT 'copy', operation, count(*) FROM memory_copies GROUP BY 2 UNION "
          "SELECT 'range', name, count(*) FROM markers GROUP BY 2 ORDER BY 1, 2")


def rows(trace, text, *options):
    return [tuple(r.values()) for r in json.loads(must(KYMO, "query", "-f", "json", *options, trace, text))]


def record(trace, *options, program=(PROGRAM,)):
    done = kymotest.run(KYMO, "run", "-f", "--mode", "full", *options, "-o", trace, "--", *program,
                        env=kymotest.environment(POCL_DEVICES="pthread pthread"))
    if done.returncode == 77:
        return None
    kymotest.expect(done.returncode == 0, done.stderr)
    return done.stderr


def ranges(folder):
    whole, part = os.path.join(folder, "whole.kymo"), os.path.join(folder, "part.kymo")
    record(whole)
    inner = ["mark:in-a-a", "range:a"]
    a = ["mark:child-in-a", "mark:in-a", "mark:in-a-a", "range:a", "range:a", "range:a"]
    step = ["mark:first-in-step", "mark:second-in-step", "range:step", "range:step"]
    for option, wanted, same in (
            (["--range", "a"], a, True), (["--range", "a#2"], inner, True), (["--range", "a/a"], inner, True),
            (["--range", "a#1"], a, True),  # the second one lies in the first; the child counts its own
            (["--range", "a#2,7-9"], inner, True), (["--range", "a#3"], ["mark:in-a#3", "range:a#3"], True),
            (["--range", "x/y"], ["mark:in-x-y", "mark:in-y-of-x", "range:x/y", "range:y"], True),
            (["--range", "step"], step, True), (["--range", "step#1"], step, True),
            (["--during", "step"], sorted([*step, "mark:second-beside-step"]), False),
            (["--during", "a"], a, False),
            (["--during", "a", "--range", "a#2"], inner, True),
            (["--during", "job"], ["mark:second-in-job", "process_range:job"], False),
            (["--range", "forked"], ["mark:parent-in-forked", "range:forked"], True),
            (["--during", "forked"], ["mark:parent-in-forked", "range:forked"], False)):
        record(part, *option)
        check(f"{option}: recorded", [n for n, in rows(part, MARKS)], sorted(wanted))
        if same:
            check(f"{option}: selected afterwards", [n for n, in rows(whole, MARKS, *option)], sorted(wanted))
        info = must(KYMO, "info", part)
        check(f"{option}: told by info", " ".join(f"{o} '{v}'" for o, v in sorted(
            zip(option[::2], option[1::2]), reverse=True)) in info, True)
    # In mode summary all is counted, and none of what is outside.
    record(part, "--mode", "summary", "--range", "a#2")
    check("counted", re.findall(r"^(a|in-a-a|in-a|outside)\s", must(KYMO, "summary", part), re.M), ["a", "in-a-a"])


def never(folder):
    part = os.path.join(folder, "never.kymo")
    for option in (["--range", "nothing"], ["--during", "nothing"], ["--range", "a#99"], ["--range", "step.*"], ["--during", "a", "--range", "step"],
                   ["--range", "(((("], ["--range", "a/"], ["--range", "/" * 500]):
        said = record(part, *option)
        check(f"{option}: nothing", "Nothing was recorded." in said and "No such range began: recorded with" in said, True)
        check(f"{option}: nothing lost", "Lost: nothing." in said, True)
    for option, said in ((["--range", "a#0"], "the first one is 1"), (["--during", "#1"], "the first one is 1"), (["--range", ""], "Give its name"),
                         (["-k", "("], "not a regular expression"), (["-k", "((a{1,200}){1,200}){1,200}"], "repeats too much"),
                         (["--device", "("], "neither numbers nor"), (["--device", "((a{1,200}){1,200}){1,200}"], "repeats too much"),
                         (["--site", "main"], "record all, then kymo summary --site"), (["--memory", "#1"], "kymo summary --memory"),
                         (["--thread", "main"], "kymo summary --thread"), (["--ranks", "1"], "did you mean --rank"),
                         (["--before", "1", "--after", "2"], "--before is not later"), (["--after", "20%"], "is not a duration")):
        done = kymotest.run(KYMO, "run", *option, "-o", part + "2", "--", PROGRAM)
        check(f"{option}: refused", (done.returncode, said in done.stderr, os.path.exists(part + "2")), (2, True, False))


def digest(trace, said, what):
    """Nothing tells what was left out as idle, or as time that could be won."""
    check(f"{what}: what bounds it", "cannot be told: only a part was recorded." in said, True)
    check(f"{what}: idle", re.findall(r"\bidle \d|To win", said), [])
    check(f"{what}: findings", "a part was recorded" in must(KYMO, "diagnose", trace), True)


def work(folder):
    whole, part = os.path.join(folder, "all.kymo"), os.path.join(folder, "some.kymo")
    program = ("sh", "-c", f"{SELECT} {STEPS} & {SELECT} {STEPS}; wait")
    if record(whole, program=program) is None or not rows(whole, COUNTS):
        return
    for option in (["--range", "step"], ["--range", "step#10-12"], ["--range", "work/step/inner"], ["--range", "inner#7,9"]):
        said = record(part, *option, program=program)
        wanted = rows(whole, COUNTS, *option)
        check(f"{option}: something", len(wanted) > 3, True)
        check(f"{option}: same as afterwards", rows(part, COUNTS), wanted)
        check(f"{option}: with times", rows(part, "SELECT count(*) FROM kernels WHERE duration = 0"), [(0,)])
        digest(part, said, option)
    for option in (["-k", "^sca"], ["--device", "0"], ["--device", "#1$"], ["--device", "0-1", "-k", "shift"],
                   ["-k", "shift", "--device", "1", "--range", "step#3-5"]):
        said = record(part, *option, program=program)
        kept = [r for r in rows(whole, COUNTS, *option[4:]) if r[0] in ("call", "range")]
        wanted = [r for r in rows(whole, COUNTS, "-d", "dispatch,copy", *option) if r[0] in ("kernel", "copy")]
        got = rows(part, COUNTS)
        check(f"{option}: something", len(wanted) > 0, True)
        check(f"{option}: work", [r for r in got if r[0] in ("kernel", "copy")], wanted)
        check(f"{option}: calls are kept", [r for r in got if r[0] in ("call", "range")], kept)
        check(f"{option}: nothing lost", "Lost nothing" in said or "Lost: nothing" in said, True)
        digest(part, said, option)
    numbers(folder)
    for option in (["-i", "^clEnqueue"], ["-x", "^clFinish$"]):
        digest(part, record(part, *option, program=program), option)
    for option in (["-i", "."], ["-i", ".*"], ["-b", "all"], ["-b", "opencl"]):
        said = record(part, *option, program=program)
        check(f"{option}: is all", "only a part" in said or "a part was" in must(KYMO, "diagnose", part), False)
    said = record(part, "-k", "nothing", program=program)
    check("no such kernel is told", "none was of that kernel" in said, True)
    check("no such kernel", [r[0] for r in rows(part, COUNTS) if r[0] in ("kernel", "copy")], [])
    # All that ever happens is done in it, or before: the process is in `work` until both threads have left it.
    record(part, "--during", "work", program=program)
    steps = dict((n, c) for k, n, c in rows(part, COUNTS) if k == "range")
    check("during: ranges", steps, {"work": 4, "step": 4 * STEPS, "inner": 4 * STEPS})
    check("during: kernels with times", rows(part, "SELECT count(*) FROM kernels WHERE duration = 0"), [(0,)])
    check("during: told as pauses", rows(part, "SELECT count(*) FROM pause")[0][0] >= 2, True)


def numbers(folder):
    """Executions of kernels by number: two threads launch by turns on a device each, in two processes."""
    whole, part, words = (os.path.join(folder, n) for n in ("turns.kymo", "numbered.kymo", "words"))
    program = ("sh", "-c", f"{SELECT} {STEPS} 0 turns & {SELECT} {STEPS} 0 turns; wait")
    text = "SELECT name || ' on ' || substr(agent_name, -2), count(*) FROM kernels GROUP BY 1 ORDER BY 1"
    with open(words, "w", encoding="utf-8") as f:
        f.write("# warm\n\nscale#2-4\n  ^shift$#61\n")
    record(whole, program=program)
    for option, wanted in ((["-k", "scale#3-7,10"], {"scale on #0": 3, "scale on #1": 3}), (["-k", "s#1"], {"scale on #0": 1, "shift on #0": 1}),
                           (["-k", "shift#61-62"], {"shift on #0": 1, "shift on #1": 1}),
                           (["-k", "@" + words], {"scale on #0": 1, "scale on #1": 2, "shift on #0": 1}),
                           (["--exclude-kernel", "scale"], {"shift on #0": STEPS + 1, "shift on #1": STEPS + 1}),
                           (["--exclude-kernel", "s#1-59"], {"scale on #1": 1, "shift on #0": 1, "shift on #1": 2}),
                           (["-k", "scale", "--exclude-kernel", "scale#2-60"], {"scale on #0": 1}),
                           (["-k", "scale#4-9", "--device", "1"], {"scale on #1": 3}),
                           (["-k", "scale#7-20", "--range", "step#5-6"], {"scale on #0": 2, "scale on #1": 2}),
                           (["-k", "scale#1", "--range", "step#5-6"], {})):
        record(part, *option, program=program)
        wanted = {k: 2 * n for k, n in wanted.items()}  # two processes
        check(f"{option}: numbered", dict(rows(part, text)), wanted)
        check(f"{option}: numbered afterwards", dict(rows(whole, text, *option)), wanted)
    said = record(part, "-k", "@" + words, program=program)
    check("the file is told", "Recorded with: -k 'scale#2-4|^shift$#61'" in said, True)
    with open(words, "w", encoding="utf-8") as f:
        f.writelines(f"a_kernel_with_quite_a_long_name_{i:020}\n" for i in range(900))
        f.write("scale#7\n")
    record(part, "-k", "@" + words, program=(SELECT, STEPS, 0, "turns"))
    check("many expressions", rows(part, text), [("scale on #0", 1)])
    for option, said in ((["-k", "@" + words + "3"], "cannot be read: No such file"), (["-x", "@/dev/null"], "has no expression"),
                         (["-k", "scale#0"], "the first one is 1"), (["-b", "hip,-mpi"], "names \"hip\""), (["-b", "all,-hipp"], "did you mean \"hip\"")):
        done = kymotest.run(KYMO, "run", *option, "-o", part + "2", "--", PROGRAM)
        check(f"{option}: refused", (done.returncode, said in done.stderr, os.path.exists(part + "2")), (2, True, False))
    for option, calls in ((["-b", "-opencl"], False), (["-b", "all,-opencl,-mpi"], False), (["-b", "-mpi"], True), (["-b", "all,-mpi,-hip"], True)):
        record(part, *option, program=program)
        found = {r[0] for r in rows(part, COUNTS)}
        check(f"{option}: calls", ("call" in found, "range" in found), (calls, True))


def times(folder):
    part = os.path.join(folder, "times.kymo")
    record(part)
    everything = rows(part, MARKS)
    said = record(part, "--after", "1h")
    check("never comes", "--before and --period l" in said, True)
    record(part, "--before", "1h")
    check("all of it", rows(part, MARKS), everything)
    said = record(part, "--before", "1ns")
    check("over before it began", "--before and --period l" in said, True)


def main():
    with kymotest.Folder() as folder:
        ranges(folder)
        never(folder)
        times(folder)
        if SELECT:
            work(folder)


main()
sys.exit(1 if kymotest.wrong else 0)
