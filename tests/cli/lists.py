#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lists of a selection: each member must be in the trace, of several traces in one of them; whatever the list is of.

Usage: lists.py KYMO KYMO_SYNTH
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import check  # noqa: E402

KYMO, SYNTH = map(os.path.abspath, sys.argv[1:3])
DONE = "kernel k 64 1000 5000\nend 20000\n"  # by each of two processes
# Of the trace "demo": what there is, what there is not, what is said.
LISTS = ((("-d", "domain"), ("test", "copy"), "nosuch", "its domains are dispatch, copy"),
         (("-p", "process"), ("4242", "demo"), "nosuch", 'its processes are: "4242 (demo)"'),
         (("-t", "thread"), ("main", "4243", "worker"), "nosuch", "its threads are 4242 (demo)"),
         (("--node", "node"), ("node1",), "vm", 'its nodes are: "node1"'),
         (("--rank", "rank"), ("1", "0-3"), "99", 'its ranks are: "1"'),
         (("--device", "device"), ("0", "0-5"), "7", '"Test CPU", "Test GPU"'),
         (("--queue", "queue"), ("0", "1", "0-5"), "7-9", '"queue 0", "queue 1"'))


def summary(*words):
    p = subprocess.run([KYMO, "summary", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return p.returncode, p.stderr


def one_trace(trace):
    for (option, noun), there, lost, said in LISTS:
        for some in (there, there[:1], [*there, ""]):
            check(f"{option} {some}", summary(option, ",".join(some), trace), (0, ""))
        for some in ([lost], [*there, lost], [lost, *there], [there[0], lost, lost + "0"]):
            code, err = summary(option, ",".join(some), trace)
            check(f"{option} {some}: status", code, 2)
            check(f"{option} {some}: says so",
                  f'no records that match --{noun} {",".join(some)}: it has no {noun} "{lost}"; ' in err and said in err, True)
    code, err = summary("--device", "GPU,nosuch", trace)  # a pattern, not a list
    check("a pattern", (code, "it has no device" in err), (2, False))


def several(first, second):
    for option, a, b, lost in (("--rank", "3", "4", "5"), ("--node", "left", "right", "vm"), ("-p", "4245", "4246", "nosuch")):
        check(f"{option}: one in each", summary(option, f"{a},{b}", first, second)[0], 0)
        check(f"{option}: both in one", summary(option, a, first, second)[0], 0)
        check(f"{option}: of one trace", summary(option, f"{a},{b}", first)[0], 2)
        code, err = summary(option, f"{a},{lost},{b}", first, second)
        check(f"{option}: one in none", (code, "all traces: no records" in err,
                                         f'"{lost}"; ' in err), (2, True, True))


def empty(trace):
    for option in ("-d", "-p", "-t", "--node", "--rank", "--device", "--queue"):
        for text in ("", ","):
            check(f"{option} '{text}'", summary(option, text, trace)[0], 2)
    p = subprocess.run([KYMO, "diagnose", "--fail-on", "", trace], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    check("--fail-on ''", (p.returncode, "--fail-on: which rules?" in p.stderr), (2, True))


with kymotest.Folder() as folder:
    os.chdir(folder)
    subprocess.run([SYNTH, "demo", "t.kymo"], check=True)
    subprocess.run([SYNTH, "timed", "a.kymo", "3", "left"], check=True, text=True, input=DONE)
    subprocess.run([SYNTH, "timed", "b.kymo", "4", "right"], check=True, text=True, input=DONE)
    one_trace("t.kymo")
    several("a.kymo", "b.kymo")
    empty("t.kymo")
    os.chdir("/")
print("%d failed" % len(kymotest.wrong))
sys.exit(1 if kymotest.wrong else 0)
