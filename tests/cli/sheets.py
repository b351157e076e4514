#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Workbooks and Markdown against the CSV files of the same trace, cell by cell, and against SQL.

    sheets.py KYMO KYMO_SYNTH OCL_TWO PROFILES_PROGRAM ANNOTATED FORMATS

FORMATS: those of xlsx and md that were built, apart by commas; or limit: of the rows of a sheet."""
import csv
import glob
import html
import json
import os
import re
import sys
import xml.etree.ElementTree as ElementTree
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
import mixed  # noqa: E402
from kymotest import check, expect, must, query  # noqa: E402

KYMO, SYNTH, TWO, THREADS, ANNOTATED = (os.path.abspath(p) for p in sys.argv[1:6])
FORMATS = sys.argv[6].split(",")
MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
REL = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"


def csv_tables(trace):
    """name -> rows, of those that have any."""
    must(KYMO, "export", "-f", "--to", "csv", "-o", "t-csv", trace)
    out = {}
    for path in glob.glob("t-csv/*.csv"):
        with open(path, encoding="utf-8", newline="", errors="replace") as f:
            rows = list(csv.reader(f, strict=True))
        if len(rows) > 1:
            out[os.path.basename(path)[:-4]] = rows
    return out


def column(reference):
    n = 0
    for c in re.match("[A-Z]+", reference)[0]:
        n = n * 26 + ord(c) - 64
    return n - 1


def cell(c):
    """Its value: text, or a number."""
    expect(c.find(MAIN + "f") is None, "a formula", ElementTree.tostring(c))
    if c.get("t") == "inlineStr":
        return re.sub("_x([0-9A-Fa-f]{4})_", lambda m: chr(int(m[1], 16)), "".join(t.text or "" for t in c.iter(MAIN + "t")))
    expect(c.get("t") in (None, "n"), "type", c.get("t"))
    return float(c.find(MAIN + "v").text)


def read_sheets(path, frozen=lambda name: True):
    out = {}
    with zipfile.ZipFile(path) as z:
        expect(z.testzip() is None, "archive")
        targets = {r.get("Id"): r.get("Target") for r in ElementTree.fromstring(z.read("xl/_rels/workbook.xml.rels"))}
        for sheet in ElementTree.fromstring(z.read("xl/workbook.xml")).iter(MAIN + "sheet"):
            root = ElementTree.fromstring(z.read("xl/" + targets[sheet.get(REL + "id")]))
            rows = [{column(c.get("r")): cell(c) for c in row.iter(MAIN + "c")} for row in root.iter(MAIN + "row")]
            out[sheet.get("name")] = rows
            if not frozen(sheet.get("name")):
                continue
            pane = next(root.iter(MAIN + "pane"))
            check("header is frozen", (pane.get("ySplit"), pane.get("state")), ("1", "frozen"))
            check("filter", next(root.iter(MAIN + "autoFilter")).get("ref").split(":")[1].lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
                  str(len(rows)))
    return out


def plain(text):
    """As a cell of CSV that was made harmless, but its apostrophe."""
    return text[1:] if text[:1] == "'" and text[1:2] in "=+-@" else text


def check_sheets(trace, tables):
    must(KYMO, "export", "-f", "--to", "xlsx", "-o", "t.xlsx", trace)
    sheets = read_sheets("t.xlsx")
    check(f"{trace}: sheets", set(sheets), set(tables))
    for name, rows in tables.items():
        got = sheets[name]
        check(f"{name}: rows", len(got), len(rows))
        check(f"{name}: header", [x.split(" ")[0] for x in got[0].values()], rows[0])
        for g, w in zip(got[1:], rows[1:]):
            for i, wanted in enumerate(w):
                value = g.get(i, "")
                if isinstance(value, float):
                    check(f"{name}: {rows[0][i]}", value, float(wanted))
                else:
                    check(f"{name}: {rows[0][i]}", value, plain(wanted)[:32767])
    return sheets


def numbers(sheets, table, heading):
    at = [i for i, x in sheets[table][0].items() if x == heading][0]
    values = [r[at] for r in sheets[table][1:] if at in r]
    return len(values), sum(values)


def test_totals():
    mixed.record(KYMO, TWO, THREADS, ANNOTATED)
    tables = csv_tables("all.kymo")
    for kind in ("calls", "dispatches", "copies", "allocations", "syncs", "markers", "others", "processes", "threads", "agents", "queues"):
        expect(kind in tables, kind, tables.keys())
    if "md" in FORMATS:
        check_markdown("all.kymo", tables)
    if "xlsx" not in FORMATS:
        return
    sheets = check_sheets("all.kymo", tables)
    for table, sql, sheet, heading in (("kernels", "end - start", "dispatches", "duration (ns)"), ("copy", "bytes", "copies", "bytes"),
                                       ("regions", "end - start", "calls", "duration (ns)"), ("allocation", "bytes", "allocations", "bytes")):
        row = query(KYMO, "all.kymo", f"SELECT count({sql}) AS n, sum({sql}) AS total FROM {table}")[0]
        check(f"{table}: against SQL", numbers(sheets, sheet, heading), (row["n"], row["total"]))
    check("units", [x for x in sheets["calls"][0].values() if "(ns)" in x], ["start (ns)", "end (ns)", "duration (ns)"])
    check("numbers of a call", {i: type(sheets["calls"][1][i]) for i in (0, 1, 2, 3, 4)}, {i: float for i in range(5)})
    check("too many digits are text", sheets["processes"][1][7], tables["processes"][1][7])


def test_names():
    mixed.record_hostile(SYNTH)
    for trace in ("names.json", "bytes.kymo"):
        tables = csv_tables(trace)
        if "md" in FORMATS:
            check_markdown(trace, tables)
        if "xlsx" in FORMATS:
            sheets = check_sheets(trace, tables)
    done = kymotest.run(KYMO, "export", "-f", "--to", "md", "-o", "t.md", "bytes.kymo", env={**os.environ, "TMPDIR": "/nonexistent"})
    check("no place for temporary files", (done.returncode, "temporary file in /nonexistent" in done.stderr), (3, True))
    if "xlsx" in FORMATS:
        done = kymotest.run(KYMO, "export", "-f", "--to", "xlsx", "-o", "t.xlsx", "names.json")
        sheets = read_sheets("t.xlsx")
        names = [r[list(sheets["dispatches"][0].values()).index("kernel")] for r in sheets["dispatches"][1:]]
        for name in ("=1+cmd|' /C calc'!A0", "@sum(1)", "-2+3", "+4", "_x0041_", "007", "1e5", "k" * 32767):
            check("text is text", name[:40] in [n[:40] for n in names] and name in names, True)
        check("what was cut is told", "32767 characters: texts that are longer were cut (2)" in done.stderr, True)
        done = kymotest.run(KYMO, "export", "--to", "xlsx", "-o", "-", "names.json")
        check("not to a pipe", (done.returncode, "standard output" in done.stderr), (2, True))


def test_summary():
    """`kymo summary` as a workbook has what it has as JSON."""
    if "xlsx" not in FORMATS:
        return
    mixed.record(KYMO, TWO, THREADS, ANNOTATED)
    mixed.record_hostile(SYNTH)
    for trace in ("all.kymo", "names.json"):
        must(KYMO, "summary", "-f", "xlsx", "--force", "-o", "s.xlsx", trace)
        wanted = json.loads(must(KYMO, "summary", "-f", "json", trace))
        sheets = read_sheets("s.xlsx", frozen=lambda name: name != "summary")
        check(f"{trace}: sheets", list(sheets), ["summary"] + [t["name"] for t in wanted["tables"]])
        first = [r.get(0, "") for r in sheets["summary"]]
        for line in wanted["head"] + wanted["foot"]:
            check("a line", not line or line[:32767] in first, True)
        for table in wanted["tables"]:
            rows = sheets[table["name"]]
            check(f"{table['name']}: rows", len(rows) - 1, len(table["rows"]))
            for got, row in zip(rows[1:], table["rows"]):
                for i, (name, value) in enumerate(row.items()):
                    if name == "trace":  # of an import: a folder that is there for a while
                        continue
                    check(f"{table['name']}: heading", rows[0][i], re.sub(r" (ns|bytes|%)$", r" (\1)", name.replace("_", " ").replace(
                        " percent", " %")))
                    compare_cell(f"{table['name']}.{name}", got.get(i), value)
    done = kymotest.run(KYMO, "summary", "-f", "xlsx", "all.kymo")
    check("needs a file", (done.returncode, "-o" in done.stderr), (2, True))


def compare_cell(what, got, value):
    if isinstance(value, bool) or value is None or value == "":
        check(what, got, None)
    elif isinstance(value, str):
        check(what, got, shown_line(value))
    else:
        # JSON has 15 digits of a number, the workbook 16: rounding both once more could part them.
        check(f"{what}: {got}, {value}", abs(got - float(value)) <= 1e-14 * abs(got), True)


def shown_line(text):
    return re.sub("[\x00-\x1f\u202e]", lambda m: {"\n": r"\n", "\t": r"\t", "\u202e": r"\u202e"}.get(m[0], f"\\x{ord(m[0]):02x}"), text)[:32767]


def test_limit():
    """What a sheet has no place for is told, with the number."""
    must(SYNTH, "bulk", "b.kymo", "1", "1048577")
    done = kymotest.run(KYMO, "export", "--to", "xlsx", "-o", "b.xlsx", "b.kymo")
    check("told", "no place for (select fewer, or use csv): calls (2)" in done.stderr, True)
    with zipfile.ZipFile("b.xlsx") as z, z.open("xl/worksheets/sheet1.xml") as f:
        check("rows", sum(chunk.count(b"<row ") for chunk in lines_of(f)), 1048576)


def lines_of(f):
    """Its pieces, each of which ends with a row."""
    left = b""
    while True:
        more = f.read(1 << 20)
        piece, end, left = (left + more).rpartition(b"</row>")
        yield piece + end if more else left
        if not more:
            return


def markdown_tables(text):
    out, name = {}, None
    for line in text.split("\n"):
        if line.startswith("## "):
            name = line[3:]
            out[name] = []
        elif line.startswith("|") and name:
            fields = re.split(r"(?<!\\)((?:\\\\)*)\|", line)
            cells = ["".join(p) for p in zip(fields[2::2], fields[3::2])]
            out[name].append([c[1:-1] if c.strip() else "" for c in cells])
    return out


def shown(cell_text):
    """As a reader of Markdown shows it."""
    return html.unescape(re.sub(r"\\([^0-9A-Za-z\s])", r"\1", cell_text))


def check_markdown(trace, tables):
    must(KYMO, "export", "-f", "--to", "md", "-o", "t.md", trace)
    with open("t.md", encoding="utf-8") as f:
        text = f.read()
    check("printable", [c for c in text if (c < " " and c != "\n") or c == "\u202e"], [])
    check("no tags", re.findall(r"(?<!\\)<", text), [])
    got = markdown_tables(text)
    check(f"{trace}: tables", set(got), set(tables))
    for name, rows in tables.items():
        table = got[name]
        check(f"{name}: rule", set(table[1]), {"-"})
        check(f"{name}: markdown", [[shown(c) for c in r] for r in table[:1] + table[2:]], [[plain(c) for c in r] for r in rows])


def main():
    tests = [fn for name, fn in list(globals().items()) if name.startswith("test_")]
    for fn in [test_limit] if FORMATS == ["limit"] else [t for t in tests if t is not test_limit]:
        with kymotest.Folder() as folder:
            os.chdir(folder)
            fn()
            os.chdir("/")
    return 1 if kymotest.wrong else 0


sys.exit(main())
