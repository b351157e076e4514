#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many rows of a table people are shown, and which names are one row; programs get all.

Usage: rows.py KYMO PROGRAM
"""
import csv
import io
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import expect  # noqa: E402

KYMO, PROGRAM = map(os.path.abspath, sys.argv[1:3])
SINGLE = [chr(c) * 2 for c in range(ord("a"), ord("z"), 2)]  # 13
FEW, MANY = [f"few {i}" for i in (1, 2, 3)], [f"many {i}" for i in (1, 2, 3, 4)]
FOLDED = {**dict.fromkeys(SINGLE + FEW, 1), "many *": 20}
FULL = {**dict.fromkeys(SINGLE + FEW, 1), **dict.fromkeys(MANY, 5)}
UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


def kymo(*words):
    p = subprocess.run([KYMO, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
    expect(p.returncode == 0, words, p.returncode, p.stderr)
    return p


def table(text, title):
    """Lines of a table below its headings, and how many rows more there are."""
    lines = re.search(rf"^{title}.*\n.*\n((?:.+\n)*)", text, re.M).group(1).splitlines()
    lines = [line for line in lines if not line.startswith("(")]  # notes
    more = [line for line in lines if line.startswith("... ")]
    expect(len(more) <= 1 and more == lines[len(lines) - len(more):], lines)
    count = int(re.fullmatch(r"\.\.\. (\d+) more \((?:--top N, --all|kymo summary --all)\)", more[0]).group(1)) if more else 0
    return [re.split(r" {2,}", line.strip()) for line in lines if line not in more], count


def ns(text):
    number, unit = text.split(" ")
    return float(number.replace(",", "")) * UNITS[unit]


def test_rows(trace):
    for words, shown, full in (((), 10, False), (("--top", "3"), 3, False), (("--top", "15"), 15, False),
                               (("--top", "16"), 17, False),  # one row more takes the line that would tell of it
                               (("--all",), 17, False), (("--top", "0"), 17, False), (("--top", "2", "--all"), 17, False),
                               (("--top", "4294967295"), 17, False), (("--top", "4294967296"), 17, False),
                               (("--names", "full"), 10, True), (("--names", "full", "--all"), 20, True)):
        names = FULL if full else FOLDED
        out = kymo("summary", *words, trace).stdout
        for title, at in (("Ranges: 36", 3), ("Marks", 1)):
            rows, more = table(out, title)
            expect((len(rows), more) == (shown, len(names) - shown), words, title, len(rows), more)
            found = {row[0]: int(row[at]) for row in rows}
            expect(len(found) == shown and found.items() <= names.items(), words, found)


def test_sums(trace):
    """A folded row is the sum of what it stands for."""
    rows = [r for r in csv.DictReader(io.StringIO(kymo("summary", "--format", "csv", trace).stdout.split("\n\n")[0]))
            if r["table"] == "ranges"]
    expect({r["op"]: int(r["calls"]) for r in rows} == FULL, rows)
    many = [r for r in rows if r["op"] in MANY]
    (row,) = [r for r in table(kymo("summary", "--all", trace).stdout, "Ranges")[0] if r[0] == "many *"]
    total, least, most = (f(int(r[c]) for r in many) for f, c in ((sum, "time_ns"), (min, "min_ns"), (max, "max_ns")))
    for text, number in ((row[1], total), (row[4], total / 20), (row[5], least), (row[-1], most)):
        expect(abs(ns(text) - number) <= max(1, number * 6e-4), text, number, row)


def test_folding_is_told(trace):
    note = "(with *: 4 names that differ only in a counter, a handle or fields; --names full shows each)"
    expect(kymo("summary", trace).stdout.count(note) == 2, "no note")
    expect("with *" not in kymo("summary", "--names", "full", trace).stdout, "a note without need")


def test_lists_are_whole(trace):
    """By rank the rows are a list of ranks, not of weights: none of them is left out."""
    out = kymo("summary", "--by", "rank,op", trace).stdout
    rows, more = table(out, "Ranges")
    expect((len(rows), more) == (17, 0), out)


def test_other_formats(trace):
    everything = json.loads(kymo("summary", "--format", "json", "--top", "3", trace).stdout)
    (ranges,) = [t["rows"] for t in everything["tables"] if t["name"] == "ranges"]
    expect({r["op"]: r["calls"] for r in ranges} == FULL, ranges)
    text = kymo("summary", "--format", "md", "--tables", "ranges,marks", "--top", "3", trace).stdout
    expect(text.count("\n... 14 more (--top N, --all)\n") == 2 and text.count("\n| ") == 2 * (1 + 3), text)
    text = kymo("summary", "--format", "md", "--all", trace).stdout
    expect("more (" not in text and text.count("\n| many \\* |") == 2, text)


def test_choice_of_tables(trace):
    out = kymo("summary", "--tables", "marks,errors", trace).stdout
    expect("\nMarks\n" in out and "\nRanges" not in out and "\nNothing to show in table errors.\n" in out, out)
    out = kymo("summary", "--tables", "processes", "--by", "rank", trace).stdout
    expect("\nNothing to show in table processes with --by rank.\n" in out, out)
    found = json.loads(kymo("summary", "--format", "json", "--tables", "quality,ranges", trace).stdout)["tables"]
    expect([t["name"] for t in found] == ["ranges", "quality"], found)
    # Whoever asks for a table gets that, and one line about how far it can be trusted.
    expect(re.search(r"^Lost nothing; clocks within .*\.$", out, re.M) and "Overhead: " not in out, out)
    out = kymo("summary", "--tables", "quality", trace).stdout
    (row,) = [t["rows"][0] for t in found if t["name"] == "quality"]
    lines = dict(re.findall(r"^(\S.*?)(?: {2,}(\S.*))?$", out.split("\nQuality\n")[1].split("\n\n")[0], re.M))
    expect(lines["trace"] == trace and int(lines["threads"]) == row["threads"], lines)
    for name in ("overhead", "lived", "host_clock_error"):
        text = lines[name.replace("_", " ")]
        expect(abs(ns(text) - row[name + "_ns"]) <= max(1, row[name + "_ns"] * 6e-4), name, text, row)
    expect("Overhead: " in out and len(lines) == len(row), len(lines), len(row))
    expect("\nlost" not in kymo("summary", "--tables", "ranges", trace).stdout, "hidden tables are shown")
    listed = {line.split()[0] for line in kymo("summary", "--tables", "help").stdout.splitlines()[1:]}
    everything = {t["name"] for t in json.loads(kymo("summary", "--format", "json", trace).stdout)["tables"]}
    expect(everything <= listed, everything - listed)
    for word, guess in (("rangs", '"ranges"'), ("ranges,xxxxxxxxxxxx", "--tables help"), ("calls", "kymo list domains")):
        p = subprocess.run([KYMO, "summary", "--tables", word, trace], capture_output=True, text=True, check=False)
        expect(p.returncode == 2 and f'no table "{word.split(",")[-1]}"' in p.stderr and guess in p.stderr, p.stderr)


def test_by_process(trace):
    """Other words of a row stay apart."""
    rows, more = table(kymo("summary", "--by", "process,op", "--all", trace).stdout, "Ranges")
    expect(len(rows) == 17 and more == 0 and [r[1] for r in rows].count("many *") == 1, rows)


def main():
    with kymotest.Folder() as folder:
        trace = os.path.join(folder, "t.kymo")
        p = kymo("run", "-f", "-o", trace, PROGRAM)
        rows, more = table(p.stderr, "Ranges")
        expect(re.search(r"^Overhead: at least .* threads, [\d,.]+ % of their time", p.stderr, re.M), p.stderr)
        expect(len(rows) == 10 and more == 7 and "... 7 more (kymo summary --all)\n" in p.stderr, p.stderr)
        for test in (test_rows, test_sums, test_folding_is_told, test_lists_are_whole, test_other_formats, test_choice_of_tables,
                     test_by_process):
            test(trace)
            print("ok  ", test.__name__)


main()
