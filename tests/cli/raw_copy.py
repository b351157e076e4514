#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The writer that imports use, given what a recording left: the copy says the same, record by record.

    raw_copy.py KYMO RAW_COPY KYMO_SYNTH PROGRAMS"""
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import expect  # noqa: E402

KYMO, COPY, SYNTH, PROGRAMS = (os.path.abspath(p) for p in sys.argv[1:5])

# Definitions whose lists say the same in both, in this order.
LISTS = ("agents", "queues", "contexts", "kernels", "programs", "blobs", "modules", "communicators", "counters", "notes")


def run(*words, status=0):
    p = subprocess.run(words, capture_output=True, text=True, check=False)
    expect(status is None or p.returncode == status, words, "gave", p.returncode, p.stderr)
    return p.stdout


def exported(trace):
    run(KYMO, "export", "--to", "json", "-f", "-o", "out.json", trace)
    with open("out.json", encoding="utf-8") as f:
        return json.load(f)


def same(a, b, what):
    if a == b:
        return
    for x, y in zip(a, b):
        expect(x == y, what, "was", x, "is", y)
    expect(False, what, "has", len(b), "instead of", len(a))


def compare(trace):
    """Every record as text and with all its fields, what it refers to, how processes ended."""
    copy = trace.replace(".kymo", ".copy.kymo")
    run(COPY, trace, copy)
    # What began at the same time on several threads has no order.
    shown = sorted(run(KYMO, "show", trace).splitlines())
    same(shown, sorted(run(KYMO, "show", copy).splitlines()), f"{trace}: a line of show")
    a, b = exported(trace), exported(copy)
    # Errors of clocks in whole nanoseconds.
    for p in filter(None, a["trace"]["agents"] + b["trace"]["agents"]):
        p["clock_error_ns"] = int(p.get("clock_error_ns") or -1)
    for name in LISTS:
        same(a["trace"].get(name, []), b["trace"].get(name, []), f"{trace}: {name}")
    for name in ("command", "processes"):
        mine, other = a["trace"][name], b["trace"][name]
        for p in filter(None, mine + other if name == "processes" else []):
            p["clock_error_ns"] = int(p["clock_error_ns"])
        same(mine, other, f"{trace}: {name}")
    ends = [[{k: v for k, v in p.items() if k != "filters"} for p in filter(None, d["end"]["processes"])] for d in (a, b)]
    same(*ends, f"{trace}: ends")
    with open(os.path.join(copy, "manifest.json"), encoding="utf-8") as f:
        expect(json.load(f)["imported"] == {"file": trace, "format": "raw"}, "the manifest does not say of what it is")
    return len(shown)


def totals(trace):
    sql = """SELECT (SELECT count(*) FROM regions), (SELECT count(*) FROM kernels), (SELECT sum(duration) FROM kernels),
             (SELECT sum(size) FROM memory_copies), (SELECT count(*) FROM marker)"""
    return run(KYMO, "query", "--format", "csv", trace, sql)


def test_programs():
    """Of each kind of record: calls, kernels, copies, memory, builds, ranges, samples, stacks, published records."""
    for name, words in (("ocl_svm", ["-m", "full", "--stacks"]), ("annotated", ["--sample=997"]), ("ocl_errors", []),
                        ("ocl_copies", ["-m", "full"]), ("publish_late", [])):
        program = os.path.join(PROGRAMS, name)
        if not os.path.exists(program):
            continue
        trace = name + ".kymo"
        run(KYMO, "run", "--no-summary", *words, "-o", trace, program, status=None)
        expect(compare(trace) > 20, name, "recorded nothing")
        expect(totals(trace) == totals(trace.replace(".kymo", ".copy.kymo")), name, "other totals")


def test_what_was_under_way():
    """Work that never finished, and calls that were counted alone."""
    program = os.path.join(PROGRAMS, "ocl_hang")
    if not os.path.exists(program):
        return
    run(KYMO, "run", "--no-summary", "-o", "hang.kymo", program, "kill", "1000", status=None)
    compare("hang.kymo")
    documents = [exported(t)["end"] for t in ("hang.kymo", "hang.copy.kymo")]
    for name in ("unfinished", "not_recorded"):
        expect(documents[0][name], name, "is not in the trace")
        same(documents[0][name], documents[1][name], name)


def test_one_thread_in_any_order():
    """Windows of time find what lies in them, though chunks of a thread overlap."""
    run(SYNTH, "bulk", "bulk.kymo", "3", "20000")
    expect(compare("bulk.kymo") >= 60000, "too few records")
    for window in (["--after", "0.5ms", "--before", "0.6ms"], ["--before", "10us"]):
        a = run(KYMO, "show", *window, "bulk.kymo")
        same(a.splitlines(), run(KYMO, "show", *window, "bulk.copy.kymo").splitlines(), f"{window}")
        expect(a, "nothing lies in", window)


def test_no_room():
    """A directory that is there is left alone; one that cannot be made is said."""
    os.mkdir("there.kymo")
    run(SYNTH, "bulk", "small.kymo", "1", "10")
    p = subprocess.run([COPY, "small.kymo", "there.kymo"], capture_output=True, text=True, check=False)
    expect(p.returncode == 1 and "there.kymo: File exists" in p.stderr and not os.listdir("there.kymo"), p.stderr)
    p = subprocess.run(["sh", "-c", 'ulimit -f 1; exec "$@"', "sh", COPY, "small.kymo", "full.kymo"], capture_output=True,
                       text=True, check=False)
    expect(p.returncode == 1 or p.returncode < 0, "a file that has no room is no failure", p.returncode)
    shutil.rmtree("full.kymo", ignore_errors=True)


def main():
    bad = 0
    for name, fn in list(globals().items()):
        if not name.startswith("test_"):
            continue
        with kymotest.Folder() as folder:
            os.chdir(folder)
            try:
                fn()
                print("ok  ", name, flush=True)
            except kymotest.Failure as e:
                bad += 1
                print("FAIL", name + ":", str(e)[:1500], flush=True)
            os.chdir("/")
    return 1 if bad else 0


sys.exit(main())
