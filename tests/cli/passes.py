#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counters of kernels on processors: passes.py KYMO OCL_REPLAY OCL_ONCE PROVIDER.

PROVIDER has five counters of which two fit into one pass: counter n counts n times what OCL_REPLAY's kernel
"tick" adds to its memory, which is the number of the launch. So a value says which launch it is of, and
whether what the kernel wrote was put back. OCL_REPLAY and OCL_ONCE must compute what they compute alone."""
import json
import os
import subprocess
import sys
import tempfile

KYMO, REPLAY, ONCE, PROVIDER = sys.argv[1:]
MADE = ",".join(f"made{i}:kernel" for i in range(1, 6))
TICKS = 6


def run(*words, status=0):
    p = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
    assert p.returncode == status, (words, p.returncode, p.stdout, p.stderr)
    return p


def record(trace, *words, status=0):
    return run(KYMO, "run", "--force", "--no-summary", "-o", trace, *words, status=status)


def query(sql, *traces):
    return json.loads(run(KYMO, "query", "--format", "json", *traces, sql).stdout)


def notes(trace):
    return [r["text"] for r in query("SELECT text FROM note ORDER BY id", trace)]


def ticks(*traces):
    """{launch: {number of the counter: value}} of the kernel tick."""
    out = {}
    for r in query("SELECT launch, grid, name, value FROM kernel_counters WHERE kernel_name = 'tick'", *traces):
        assert r["grid"] == f"{r['launch']}x1x1", r
        of = out.setdefault(r["launch"], {})
        assert r["name"] not in of, r
        of[r["name"]] = r["value"]
    return {k: {int(n[4:]): v for n, v in of.items()} for k, of in out.items()}


def expected(launches, counters):
    return {k: {n: n * k for n in counters(k)} for k in launches}


def check_kernel_replay(trace, alone):
    assert record(trace, "--tool", PROVIDER, "--counters", MADE, REPLAY).stdout == alone
    assert ticks(trace) == expected(range(1, TICKS + 1), lambda k: range(1, 6)), ticks(trace)
    said = notes(trace)
    launches = query("SELECT count(*) AS n FROM dispatch", trace)[0]["n"]
    assert launches == 18, launches
    # 3 x (4 cells of 4096, 4) + 2 x half of 4096 cells + 2 x image + 6 x 4096 + 1 + 512 pages + 3 x 4096 cells; the
    # sub-buffers of a launch overlap in half of what each has; memory that is only read is not put aside.
    saved = 3 * (4096 * 4 + 4) + 2 * 3 * 4096 + 2 * 64 * 64 * 16 + TICKS * 4096 + 513 * 4096 + 3 * 4096 * 4
    assert any(f"18 launches of kernels ran alone to be counted, {3 * 18} times in all; passes: 3, kernel replay"
               in t and t.endswith(f": {saved}") for t in said), (saved, said)
    assert not any("have no values" in t for t in said), said


def check_cost(trace):
    """Two of three times that a kernel runs, and what is put back, are the recording's."""
    calls = query("SELECT SUM(duration) AS ns FROM regions WHERE name = 'clEnqueueNDRangeKernel'", trace)[0]["ns"]
    cost = query("SELECT overhead_ns AS ns FROM process", trace)[0]["ns"]
    assert cost > calls / 4, (cost, calls)


def check_other_ways(trace, alone):
    def turns(k):
        return [(1, 2), (3, 4), (5,)][(k - 1) % 3]

    assert record(trace, "--tool", PROVIDER, "--counters", MADE, "--replay", "rotate", REPLAY).stdout == alone
    assert ticks(trace) == expected(range(1, TICKS + 1), turns), ticks(trace)
    assert any("18 times in all; passes: 3, each launch in one of them, by turns" in t for t in notes(trace))
    assert record(trace, "--tool", PROVIDER, "--counters", MADE, "--replay", "off", "--count-kernel", "^t#2-3,5",
                  REPLAY).stdout == alone
    assert ticks(trace) == expected((2, 3, 5), lambda k: (1, 2)), ticks(trace)
    assert query("SELECT DISTINCT kernel_name AS k FROM kernel_counters ORDER BY 1", trace) == [
        {"k": "tick"}, {"k": "touch"}]
    assert any("without: made3, made4, made5" in t for t in notes(trace)), notes(trace)


def check_application(folder, alone):
    trace = os.path.join(folder, "app.kymo")
    out = record(trace, "--tool", PROVIDER, "--counters", MADE + ",minflt", "--replay", "application",
                 "--count-kernel", "tick", REPLAY)
    assert out.stdout == 3 * alone, out.stdout
    traces = [os.path.join(folder, f"app.pass{i}.kymo") for i in (1, 2, 3)]
    assert sorted(f for f in os.listdir(folder) if f.startswith("app")) == [os.path.basename(t) for t in traces]
    assert ticks(*traces) == expected(range(1, TICKS + 1), lambda k: range(1, 6)), ticks(*traces)
    assert ticks(traces[1]) == expected(range(1, TICKS + 1), lambda k: (3, 4)), ticks(traces[1])
    rows = json.loads(run(KYMO, "query", "--kernel-counters", "--format", "json", *traces).stdout)
    assert [{k: v for k, v in r.items() if k != "duration"} for r in rows] == [
        dict({"process": 1, "kernel": "tick", "launch": k, "grid": f"{k}x1x1"},
             **{f"made{i}": i * k for i in range(1, 6)}) for k in range(1, TICKS + 1)], rows
    assert all(r["duration"] > 0 for r in rows), rows
    # A run that did something else: its launches have rows of their own, and it is told.
    other = os.path.join(folder, "other.kymo")
    record(other, "--tool", PROVIDER, "--counters", "made5:kernel", "--count-kernel", "tick", REPLAY, "--ticks", "4",
           "--tick", "2")
    p = run(KYMO, "query", "--kernel-counters", "--format", "json", traces[0], other)
    assert "4 launches of kernels have another grid" in p.stderr and "launch 1 of tick" in p.stderr, p.stderr
    assert "different numbers of launches, from 4 to 6" in p.stderr, p.stderr
    rows = json.loads(p.stdout)
    assert [(r["launch"], r["grid"], r["made1"], r["made5"]) for r in rows][:3] == [
        (1, "1x1x1", 1, None), (1, "2x1x1", None, 10), (2, "2x1x1", 2, None)], rows
    for t in traces:  # of calls all is counted in each
        assert query("SELECT count(*) AS n FROM counters WHERE kind = 'call' AND name = 'minflt'", t)[0]["n"]
    p = run(KYMO, "run", "--dry-run", "-o", os.path.join(folder, "dry.kymo"), "--tool", PROVIDER, "--counters", MADE,
            "--replay", "application", REPLAY)
    for i, counters in enumerate(("made1:kernel,made2:kernel", "made3:kernel,made4:kernel", "made5:kernel")):
        assert f"dry.pass{i + 1}.kymo" in p.stdout and counters in p.stdout, p.stdout
    # A rank of a job that others start is run once.
    p = subprocess.run([KYMO, "run", "-o", trace, "--tool", PROVIDER, "--counters", MADE, "--replay", "application",
                        REPLAY], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                       env=dict(os.environ, PMI_RANK="0", PMI_SIZE="2"))
    assert p.returncode == 2 and "3 passes" in p.stderr and "--replay-pass" in p.stderr, p.stderr


def check_refusals(trace):
    """Each case has a kernel of its own name."""
    reasons = {"printf": "uses printf", "binary": "source is not known: it was made from a binary",
               "svm": "shared virtual memory", "user_event": "user events", "callback": "event callback",
               "queues": "more than 128 queues"}
    assert record(trace, "--tool", PROVIDER, "--counters", MADE, ONCE).stdout == run(ONCE).stdout
    kernels = {r["name"][5:]: r["n"] for r in query("SELECT name, count(*) AS n FROM kernels GROUP BY 1", trace)}
    values = {}
    for r in query("SELECT kernel_name, name, count(*) AS n FROM kernel_counters GROUP BY 1, 2", trace):
        values.setdefault(r["kernel_name"][5:], {})[r["name"]] = r["n"]
    said = [t for t in notes(trace) if "have no values" in t]
    assert kernels["user_event"] == 2 and kernels["callback"] == 3 and "error" not in kernels, kernels
    assert "user_event" not in values, values  # nothing waits for it: not even in one pass
    for case in ("printf", "binary", "svm"):  # the first pass has values, nothing was repeated
        assert values[case] == {"made1": kernels[case], "made2": kernels[case]}, (case, values)
    for case in ("callback", "out_of_order", "clone", "queues"):
        n = {"callback": 2, "queues": 1}.get(case, kernels[case])
        assert values[case] == {f"made{i}": n for i in range(1, 6)}, (case, values)
    for case, reason in reasons.items():
        n = {"callback": 1, "queues": 2}.get(case, kernels[case])
        assert any(t.startswith(f"{n} launches") and reason in t for t in said), (case, said)
    # One that is not counted has its number nevertheless: numbers are those of what is told afterwards.
    record(trace, "--tool", PROVIDER, "--counters", "made1:kernel", "--count-kernel", "^once_callback#3", ONCE)
    assert [(r["kernel_name"], r["launch"]) for r in query("SELECT kernel_name, launch FROM kernel_counters", trace)] == [("once_callback", 3)]
    missing = sum(int(t.split()[0]) for t in said if "other threads" in t or "others" in t)
    assert len(values["threads"]) == 5 and kernels["threads"] == 80, values["threads"]
    for n in values["threads"].values():  # what has none is told
        assert 80 - missing <= n <= 80, (values["threads"], said)


def check_host(trace, alone):
    """The system's own: pages that a kernel is the first to touch, and time of processors."""
    out = record(trace, "--counters", "page-faults:kernel,task-clock:kernel,minflt:kernel,minflt", REPLAY, "--length",
                 "20000")
    assert len(out.stdout.splitlines()) == len(alone.splitlines())
    rows = query("SELECT launch, name, value, duration FROM kernel_counters WHERE kernel_name = 'touch'", trace)
    for name in ("page-faults", "minflt"):
        small, large = (next(r["value"] for r in rows if r["name"] == name and r["launch"] == k) for k in (1, 2))
        assert 512 <= large <= 512 + 64 and 1 <= small <= 64, rows  # and what the runtime touches itself
    for r in query("SELECT launch, value, duration FROM kernel_counters WHERE kernel_name = 'spin' AND "
                   "name = 'task-clock' AND launch > 1", trace):
        # It does nothing but count, on as many processors as there are.
        assert 0 < r["value"] <= 1.05 * r["duration"] * os.cpu_count(), r
    spun = query("SELECT sum(value) AS ns FROM kernel_counters WHERE kernel_name = 'spin' AND name = 'task-clock'",
                 trace)[0]["ns"]
    all_of_it = query("SELECT sum(value) AS ns FROM kernel_counters WHERE name = 'task-clock'", trace)[0]["ns"]
    assert spun > 0.5 * all_of_it, (spun, all_of_it)
    calls = query("SELECT count(*) AS n FROM counters WHERE kind = 'call' AND name = 'minflt'", trace)[0]["n"]
    assert calls > 18, calls


def check_errors(folder):
    many = ",".join(f"sm__a{i}.sum" for i in range(65))
    for words, text in ((("--counters", "nothing:kernel"), "no provider has a counter"),
                        (("--counters", many), "that are 65 counters, and a run counts 64 at most"),
                        (("--counters", many[:many.rindex(",")] + ",nothing"), "that are 65 counters"),
                        (("--counters", many[:many.rindex(",")] + ",sm__a0.sum"), "named twice"),
                        (("--metrics", "nvidia:2,nvidia:3,nvidia:4,nvidia:7,nvidia:11,nvidia:12,nvidia:16,nvidia:17"), "and a run counts 64 at most"),
                        (("--count-kernel", "a"), "--count-kernel goes with"),
                        (("--replay-pass", "1"), "--replay-pass goes with"),
                        (("--tool", PROVIDER, "--counters", MADE, "--replay", "application", "--replay-pass", "4"),
                         "3 passes"),
                        (("--counters", "minflt:kernel,minflt:kernel"), "named twice"),
                        (("--tool", PROVIDER, "--counters", "minflt:kernel,lone:kernel"), "it counts single threads alone")):
        p = record(os.path.join(folder, "e.kymo"), *words, REPLAY, status=2)
        assert text in p.stderr, (words, p.stderr)
    assert not os.path.exists(os.path.join(folder, "e.kymo"))


def main():
    if subprocess.run([REPLAY], stdout=subprocess.PIPE, stderr=subprocess.PIPE).returncode == 77:
        sys.exit(77)
    alone = run(REPLAY).stdout
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "t.kymo")
        check_kernel_replay(trace, alone)
        check_cost(trace)
        check_other_ways(trace, alone)
        check_application(folder, alone)
        check_refusals(trace)
        if "page-faults" in run(KYMO, "list", "counters").stdout:
            check_host(trace, alone)
        check_errors(folder)


main()
