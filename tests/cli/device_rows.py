#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kymo export --rows device: all queues of a device in one row, and in as many as work that overlaps needs:
device_rows.py KYMO KYMO_SYNTH PERFETTO_CHECK"""
import importlib.util
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import check, must, run  # noqa: E402

KYMO, SYNTH, CHECKER = map(os.path.abspath, sys.argv[1:4])
spec = importlib.util.spec_from_file_location("perfetto_check", CHECKER)
perfetto = importlib.util.module_from_spec(spec)
spec.loader.exec_module(perfetto)
# name, start, duration, device: one in another, two that cross, one that begins where another ends; told out of order.
WORK = (("d", 6000, 2000, 1), ("a", 1000, 5000, 1), ("b", 2000, 2000, 1), ("c", 4000, 3000, 1), ("other", 2000, 4000, 2), ("again", 6500, 10, 2))


def chrome(trace, *options):
    """Names of rows, and what is in each: (name, start, end)."""
    events = json.loads(must(KYMO, "export", "--to", "chrome", "-o", "-", *options, trace))["traceEvents"]
    devices = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    rows = {}
    for e in events:
        if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset") and e["ph"] == "X":
            start = round(e["ts"] * 1000)
            rows.setdefault((devices[e["pid"]], names[e["pid"], e["tid"]]), []).append((e["name"], start, start + round(e["dur"] * 1000)))
    for e in events:
        if e.get("cat") == "ac2g" and e["ph"] == "f" and (e["pid"], e["tid"]) in names:
            row = rows[devices[e["pid"]], names[e["pid"], e["tid"]]]
            check("an arrow ends at its work", any(abs(start - round(e["ts"] * 1000)) < 2 for _, start, _ in row), True)
    return rows


def drawn(trace, *options):
    """The same of Perfetto's file: by track, as the end of a slice is that of the one begun last."""
    must(KYMO, "export", "-f", "-o", "t.pftrace", *options, trace)
    picture = perfetto.read("t.pftrace")
    check("the file is well formed", picture.problems, [])
    rows, open_slices = {}, {}
    for e in sorted(picture.events, key=lambda e: e["time"]):
        stack = open_slices.setdefault(e["track"], [])
        if e["type"] == perfetto.BEGIN:
            stack.append(e)
        elif e["type"] == perfetto.END:
            b = stack.pop()
            if {"dispatch", "copy"} & set(b["categories"]):
                rows.setdefault((picture.path(e["track"]), e["track"]), []).append((b["name"], b["time"], e["time"]))
    return rows


def apart(what, rows):
    for row, work in rows.items():
        work = sorted(work, key=lambda w: w[1:])
        check(f"{what}: nothing overlaps in {row}", [(x, y) for x, y in zip(work, work[1:]) if y[1] < x[2]], [])


def timed():
    rows = chrome("t.kymo", "--rows", "device")
    apart("chrome", rows)
    check("chrome: rows", sorted(row for _, row in rows), ["all queues", "all queues", "all queues (2)"])
    check("chrome: all there", sorted(n for work in rows.values() for n, _, _ in work), sorted(n for n, *_ in WORK))
    start = min(s for work in rows.values() for _, s, _ in work)
    check("chrome: times", {n: (s - start, e - s) for work in rows.values() for n, s, e in work}, {n: (s - 1000, d) for n, s, d, _ in WORK})
    rows = drawn("t.kymo", "--rows", "device")
    apart("perfetto", rows)
    start = min(s for work in rows.values() for _, s, _ in work)
    check("perfetto: times", {n: (s - start, e - s) for work in rows.values() for n, s, e in work}, {n: (s - 1000, d) for n, s, d, _ in WORK})
    check("perfetto: rows", len(rows), 3)


def queues():
    """Of one queue each nothing changes but the names of rows; several: two_devices.py."""
    for tell in (chrome, drawn):
        by_queue, by_device = tell("demo.kymo"), tell("demo.kymo", "--rows", "device")
        everything = lambda rows: sorted(x for work in rows.values() for x in work)
        check(f"{tell.__name__}: the same work", everything(by_device), everything(by_queue))
        check(f"{tell.__name__}: no row of a queue is left", [r for r in by_device if "> queue" in str(r[0]) or r[1] == "queue 0"], [])
        apart(tell.__name__, by_device)


def sides():
    """Devices of both sides are told of copies between devices alone: the host has no number."""
    copies = [e for e in json.loads(must(KYMO, "export", "--to", "chrome", "-o", "-", "demo.kymo"))["traceEvents"] if e.get("cat") == "gpu_memcpy"]
    check("copies from the host", [(e["name"], {"fromDevice", "toDevice"} & set(e["args"])) for e in copies], [("Memcpy HtoD (Pageable -> Device)", set())])


with kymotest.Folder() as folder:
    os.chdir(folder)
    subprocess.run([SYNTH, "timed", "t.kymo"], check=True, text=True, input="".join(
        f"kernel {name} 64 {start} {ns} {device}\n" for name, start, ns, device in WORK) + "end 20000\n")
    subprocess.run([SYNTH, "demo", "demo.kymo"], check=True)
    timed()
    queues()
    sides()
    done = run(KYMO, "export", "--to", "csv", "--rows", "device", "t.kymo")
    check("of csv", (done.returncode, "perfetto and chrome" in done.stderr), (2, True))
    os.chdir("/")
sys.exit(1 if kymotest.wrong else 0)
