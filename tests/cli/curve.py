#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The most memory in use in each of 24 parts of the run, of each process, device and kind, against SQL over the
same trace; people see it as a picture. curve.py KYMO HEAT
"""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import expect  # noqa: E402

KYMO, HEAT = map(os.path.abspath, sys.argv[1:3])
PARTS = 24


def run(*words, **environment):
    p = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, encoding="utf-8", timeout=100, check=False,
                       env={**os.environ, **environment})
    expect(p.returncode == 0, words, p.returncode, p.stdout, p.stderr)
    return p.stdout


def curves(trace, length):
    """(pid, device): curve, of programs that have memory of one kind."""
    events = {}
    for r in json.loads(run(KYMO, "query", "--format", "json", trace,
                            "SELECT pid, agent_name, type, start, size FROM memory_allocations ORDER BY start, id")):
        events.setdefault((r["pid"], r["agent_name"]), []).append((r["start"], r["size"] if r["type"] == "ALLOC" else -r["size"]))
    found = {}
    for place, moves in events.items():
        curve, level, part = [0] * PARTS, 0, 0
        for time, size in [*moves, (length, 0)]:
            while part < min(PARTS - 1, int(time / length * PARTS)):
                part += 1
                curve[part] = level
            level += size
            curve[part] = max(curve[part], level)
        found[place] = curve
    return found


def test(folder, name, program, places):
    trace = f"{folder}/{name}.kymo"
    run(KYMO, "run", "--no-summary", "-o", trace, *program)
    tables = {t["name"]: t["rows"] for t in json.loads(run(KYMO, "summary", "-f", "json", trace))["tables"]}
    wanted = curves(trace, tables["quality"][0]["duration_ns"])
    rows = tables["memory"]
    expect(len(rows) == len(wanted) == places, rows, wanted)
    for row in rows:
        curve = wanted[int(row["process"].split()[0]), row["device"]]
        got = [int(n) for n in row["curve_bytes"].split()]
        expect(got == curve, name, got, curve)
        expect(max(got) == row["peak_bytes"] > 0 and min(got) == 0, row)
    for locale, steps in (("C.UTF-8", "▁▂▃▄▅▆▇█"), ("C", "_.:-=+*#")):
        text = run(KYMO, "summary", "--tables", "memory", trace, LC_ALL=locale)
        pictures = re.findall(rf"^\d+ .*  ([{re.escape(steps)}]{{{PARTS}}})$", text, re.M)
        expect(len(pictures) == len(rows), locale, text)
        for row, picture in zip(rows, pictures):
            numbers = [int(n) for n in row["curve_bytes"].split()]
            expect([steps[1 + int(6 * n / row["peak_bytes"])] if n else steps[0] for n in numbers] == list(picture), numbers, picture)


with kymotest.Folder() as scratch:
    test(scratch, "heat", (HEAT, "--size", "256", "--frames", "20"), 1)
    test(scratch, "two", ("sh", "-c", f"{HEAT} --size 256 --frames 20 & {HEAT} --size 512 --frames 40; wait"), 2)
    print("ok")
