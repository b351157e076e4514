#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Formulas of counters of whole programs: test_formulas.py KYMO HEAT.

The counters that a formula is made of are recorded, and its rows in the summary are what the counters' rows beside
them give, from raw files and from a store; of processors as well, where these may be counted."""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402


def run(*words, status=0):
    p = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert p.returncode == status, (words, p.returncode, p.stdout, p.stderr)
    return p


def table(kymo, trace, name):
    report = json.loads(run(kymo, "summary", "--format", "json", trace).stdout)
    return [r for t in report["tables"] if t["name"] == name for r in t["rows"]]


def check_calls(kymo, heat, folder):
    """Of each call and of threads: what the sums of the counters give; a division by zero has no number."""
    trace, file = os.path.join(folder, "heat.kymo"), os.path.join(folder, "formulas")
    with open(file, "w") as f:
        f.write("# of memory\n\npages{KiB} = 4 * rusage:minflt # touched\n"
                "never = rusage:minflt / (rusage:nvcsw - rusage:nvcsw)\nunused = no-such-counter\n")
    run(kymo, "run", "--formulas", file, "--counters", "pages,never,share{%}=100*minflt / (minflt + nvcsw),rusage:minflt", "-o", trace,
        heat, "--size", "128", "--frames", "20")
    for _ in ("raw", "store"):
        rows = table(kymo, trace, "counters")
        counts = {(r["kind"], r["name"], r["counter"]): r for r in rows}
        made = [r for r in rows if r["counter"] in ("pages", "share", "never")]
        assert {r["kind"] for r in made} == {"call", "thread"} and len(made) >= 6, rows
        for r in made:
            # Those that were 0 throughout have no row.
            minflt, nvcsw = ((counts.get((r["kind"], r["name"], c)) or {"sum": 0})["sum"] for c in ("minflt", "nvcsw"))
            assert r["min"] is None and r["max"] is None and (r["sum"] is None or r["counter"] == "pages"), r
            if r["counter"] == "pages":
                # No ratio: of the sum and of the average of each call; 0 of 0 is one.
                assert (r["sum"] or 0) == 4 * minflt and abs(r["average"] * r["records"] - 4 * minflt) < 1e-4 * minflt + 1e-9, (r, minflt)
                assert r["unit"] == "KiB", r
            elif r["counter"] == "never" or minflt + nvcsw == 0:
                assert r["average"] is None, r
            else:
                assert abs(r["average"] - 100 * minflt / (minflt + nvcsw)) < 1e-6 and r["unit"] == "%", (r, minflt, nvcsw)
        assert any(r["counter"] == "share" and r["average"] for r in made), made
        text = run(kymo, "summary", trace).stdout
        assert not re.search(r"\b(inf|nan)\b", text), text
        run(kymo, "query", trace, "SELECT 1")  # makes the store
    names = json.loads(run(kymo, "query", "--format", "json", trace, "SELECT DISTINCT name FROM counters ORDER BY 1").stdout)
    assert [n["name"] for n in names] == ["minflt", "nvcsw"], names  # each counter once


def check_kernels(kymo, heat, folder):
    """Of each kernel: what the counters of its launches give."""
    trace = os.path.join(folder, "kernels.kymo")
    run(kymo, "run", "--no-summary", "--counters", "load{%}=100*minflt / (minflt + nvcsw + 1):kernel", "-o", trace, heat, "--size", "64", "--frames", "2")
    rows = {(r["kind"], r["name"], r["counter"]): r for r in table(kymo, trace, "counters")}
    made = {name: r for (kind, name, counter), r in rows.items() if counter == "load"}
    assert {kind for kind, _, counter in rows if counter == "load"} == {"dispatch"} and len(made) >= 3, rows
    for name, r in made.items():
        minflt, nvcsw = ((rows.get(("dispatch", name, c)) or {"average": 0})["average"] for c in ("minflt", "nvcsw"))
        assert abs(r["average"] - 100 * minflt / (minflt + nvcsw + 1)) < 1e-6, (r, minflt, nvcsw)


def check_processors(kymo, folder):
    """Over time: of each processor, from counters of that processor."""
    trace = os.path.join(folder, "cpus.kymo")
    p = subprocess.run([kymo, "run", "--no-summary", "--counters", "busy{%}=100 * task-clock / cpu-clock:cpu=0,clocks=cpu-clock + cpu-clock:cpu=0",
                        "-o", trace, "--", "sleep", "0.5"], stderr=subprocess.PIPE, text=True)
    if p.returncode:
        assert "cpu-clock" in p.stderr or "task-clock" in p.stderr, p.stderr
        return print("of processors not tried:", p.stderr)
    rows = {r["counter"]: r for r in table(kymo, trace, "telemetry")}
    assert abs(rows["busy"]["average"] - 100 * rows["task-clock"]["total"] / rows["cpu-clock"]["total"]) < 1e-6, rows
    assert rows["clocks"]["total"] == 2 * rows["cpu-clock"]["total"] and rows["clocks"]["average"] is None and rows["busy"]["instance"] == 0, rows
    assert rows["busy"]["source"] == "formula" and rows["busy"]["total"] is None, rows


def check_refused(kymo, folder):
    file = os.path.join(folder, "wrong")
    for text, words in (("a=b\nc = (d\n", f"{file}:2: formula c: a parenthesis is not closed"), ("a=b\n\na=c\n", f"{file}:3: formula a is there twice"),
                        ("a\n", "is no formula"), ("\x1b[31m=b\n", "is no name of a formula")):
        with open(file, "w") as f:
            f.write(text)
        p = run(kymo, "run", "--formulas", file, "--counters", "a", "--", "echo", "ran", status=2)
        assert words in p.stderr and not p.stdout and "\x1b" not in p.stderr, p.stderr
    for options, words in ((["--formulas", folder + "/none", "--counters", "a"], "cannot be read: No such file"),
                           (["--formulas", file], "goes with --counters"), (["--counters", "x=1+1"], "formula x names no counter"),
                           (["--counters", "x=minflt/"], "formula x: a number, a counter"), (["--counters", "x=no-such-counter*2"], "no-such-counter"),
                           (["--counters", "x=minflt/nvcsw:cpu=0"], "there is no counter minflt of whole processors"),
                           (["--counters", "x=minflt nvcsw"], "an operator is missing")):
        p = run(kymo, "run", *options, "--", "echo", "ran", status=2)
        assert words in p.stderr and not p.stdout, (options, p.stderr)
    listed = run(kymo, "list", "counters").stdout
    assert re.search(r"\nipc +.*\(instructions/cycle\): instructions / cycles\n", listed), listed
    # Known ones ask for their counters; those of a file go before them.
    p = run(kymo, "run", "--dry-run", "--counters", "task-clock,x=task-clock/page-faults,task-clock,y=page-faults+task-clock", "--", "true")
    assert "KYMO_COUNTERS=task-clock,page-faults" in p.stdout, p.stdout
    p = subprocess.run([kymo, "run", "--dry-run", "--counters", "ipc", "--", "true"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert "KYMO_COUNTERS=instructions,cycles" in p.stdout or "counter instructions cannot be counted here" in p.stderr, p
    # Of kernels: each counter of the formula.
    p = run(kymo, "run", "--dry-run", "--counters", "minflt,x=task-clock/(page-faults + 1):kernel,nvcsw:kernel,task-clock:kernel", "--", "true")
    assert "KYMO_COUNTERS=minflt,task-clock:kernel,page-faults:kernel,nvcsw:kernel \\\n" in p.stdout, p.stdout
    p = subprocess.run([kymo, "run", "--dry-run", "--counters", "ipc:kernel", "--", "true"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert "KYMO_COUNTERS=instructions:kernel,cycles:kernel" in p.stdout or "counter instructions cannot be counted here" in p.stderr, p
    with open(file, "w") as f:
        f.write("ipc = page-faults/task-clock\n")
    p = run(kymo, "run", "--dry-run", "--formulas", file, "--counters", "ipc", "--", "true")
    assert "KYMO_COUNTERS=page-faults,task-clock" in p.stdout, p.stdout


def main():
    kymo, heat = sys.argv[1:]
    with kymotest.Folder() as folder:
        check_calls(kymo, heat, folder)
        check_kernels(kymo, heat, folder)
        check_processors(kymo, folder)
        check_refused(kymo, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
