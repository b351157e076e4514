#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What each writer keeps of each kind of record is what `kymo list formats FORMAT` says, and what it leaves out it tells.

    kept.py KYMO EVERY_KIND

EVERY_KIND writes a trace whose records hold numbers that are nowhere else in it. Which of them an output has is found
without knowing the format: all numbers of a text, of each cell of a database, of each field of a protobuf message."""
import collections
import gzip
import json
import os
import re
import shutil
import sqlite3
import struct
import sys
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import expect, must, run  # noqa: E402

KYMO, EVERY = (os.path.abspath(p) for p in sys.argv[1:3])
PROTOBUF = (".pftrace", ".xplane.pb", ".pb.gz")
# Kinds whose numbers EVERY_KIND names by the op.
DOMAIN = {"kernel": "dispatch", "launch": "dispatch", "untimed": "dispatch"}
# Told of what is no record.
BESIDES = {"notes", "notes of Kymo's", "barriers without time: the clocks contradict"}


def of_text(text, out):
    out.update(int(m, 16) & 0xffffffff for m in re.findall(rb"(?<![0-9a-zA-Z])(?:0x)?([0-9a-fA-F]{5,16})(?![0-9a-zA-Z.])", text))
    out.update(int(m) & 0xffffffff for m in re.findall(rb"\d{1,20}", text))


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def packed(data, out):
    at = 0
    while at < len(data):
        value, at = varint(data, at)
        out.add(value)


def of_double(data, out):
    for form in ("<Q", "<d"):
        (value,) = struct.unpack(form, data)
        if abs(value) < 1e15:
            out.add(round(value))


def of_bytes(data, out, depth):
    """A text, a message, or numbers: whatever can be read of it."""
    of_text(data, out)
    inner = set()
    if depth < 12 and of_message(data, inner, depth + 1):
        out |= inner
    try:
        packed(data, out)
    except IndexError:
        pass


def of_message(data, out, depth=0):
    at = 0
    try:
        while at < len(data):
            tag, at = varint(data, at)
            if tag >> 3 == 0 or tag & 7 not in (0, 1, 2, 5):
                return False
            if tag & 7 == 0:
                value, at = varint(data, at)
                out.update((value, (value >> 1) ^ -(value & 1), value & (1 << 40) - 1))
            elif tag & 7 == 1:
                of_double(data[at:at + 8], out)
                at += 8
            elif tag & 7 == 5:
                out.update(struct.unpack("<I", data[at:at + 4]))
                at += 4
            else:
                length, at = varint(data, at)
                if at + length > len(data):
                    return False
                of_bytes(data[at:at + length], out, depth)
                at += length
    except (IndexError, struct.error):
        return False
    return True


def of_database(path, out):
    db = sqlite3.connect(path)
    for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        for row in db.execute(f'SELECT * FROM "{table}"'):
            for cell in row:
                if isinstance(cell, int):
                    out.update((cell, cell & (1 << 40) - 1))  # a store's ids have the process above
                elif isinstance(cell, float):
                    out.add(round(cell) if abs(cell) < 1e15 else 0)
                elif cell is not None:
                    of_bytes(cell.encode() if isinstance(cell, str) else cell, out, 12)
    db.close()


def of_archive(folder, out):
    """OTF2's files are read by its own tool."""
    for anchor in (os.path.join(where, f) for where, _, files in os.walk(folder) for f in files if f.endswith(".otf2")):
        for more in ((), ("-G",)):
            of_text(must("otf2-print", *more, anchor).encode(), out)


def of_ctf(text, out):
    """As babeltrace2 shows it; payloads are bytes there, as records have them."""
    of_text(text.encode(), out)
    for m in re.finditer(r"\[((?: \[\d+\] = \d+,?)+) \]", text):
        data = bytes(int(n) & 255 for n in re.findall(r"= (\d+)", m[1]))
        for at in range(max(len(data) - 7, 0)):
            out.update(struct.unpack("<Q", data[at:at + 8]))


def of_file(path, out):
    with open(path, "rb") as f:
        data = f.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    if data.startswith(b"SQLite format 3"):
        of_database(path, out)
    elif data.startswith(b"PK"):
        with zipfile.ZipFile(path) as z:
            for name in z.namelist():
                of_text(z.read(name), out)
    elif path.endswith(PROTOBUF):
        expect(of_message(data, out), path, "is no message")
    else:
        of_text(data, out)


def numbers(path):
    out = set()
    if os.path.isfile(path):
        of_file(path, out)
    elif os.path.exists(os.path.join(path, "traces.otf2")):
        of_archive(path, out)
    elif os.path.exists(os.path.join(path, "metadata")):
        of_ctf(must("babeltrace2", path), out)
    else:
        for where, _, files in os.walk(path):
            for name in files:
                of_file(os.path.join(where, name), out)
    return out


def written(text):
    """(domain, field) -> numbers that the trace has there."""
    out = collections.defaultdict(set)
    for line in text.splitlines():
        kind, field, number = line.split(" ")
        # Times are the difference of two numbers in many formats: tests of each format compare them.
        if field != "duration":
            out[DOMAIN.get(kind, kind), field].add(int(number))
    return out


def rows(*words):
    return json.loads(must(KYMO, "list", *words, "-f", "json"))["tables"][0]["rows"]


def told(text):
    """What a writer said that it left out: words -> how many."""
    return {m[1].strip(): int(m[2]) for line in text.splitlines() if "has no place for" in line or "have no place for" in line
            or "has no CSV file for" in line for m in re.finditer(r"(?:for: |, |whole records: )(.+?) \((\d+)\)", line)}


def kept_of(domain, found, wanted):
    """How many fields of a kind are there in full, how many not at all, and those that are short."""
    fields = {f: n for (d, f), n in wanted.items() if d == domain}
    there = {f: len({x for x in n if x in found or x | 0xff000000 in found}) for f, n in fields.items()}
    short = {f: f"{there[f]} of {len(fields[f])}" for f in fields if there[f] < len(fields[f])}
    return len(fields), sum(1 for f in fields if there[f]), short


def check_kind(name, row, said, shape):
    fields, some, short = shape
    phrases = (row["left_out"] or "").split("; ") if row["kept"] != "yes" else []
    where = f"{name}, {row['kind']}"
    if row["kept"] == "yes":
        expect(not short, where, "is said to be kept, but of", short)
        return
    expect(row["why"], where, "has no reason")
    for phrase in phrases:
        expect(phrase in said or row["kind"] == "retirement", where, "leaves out without telling", repr(phrase), said)
    if row["kept"] == "no":
        expect(not fields or not some, where, "is said to be left out, but there is some of it")


def check_counts(name, said, kinds, counts):
    """Of kinds that are left out whole, by their names, all are counted."""
    left = {r["kind"] for r in kinds if r["kept"] == "no"}
    for domain, count in counts.items():
        if domain in said and (domain in left or domain == "calls"):
            expect(said[domain] == count, name, "tells", said[domain], "of", count, domain)


def check_format(f, trace, folder, wanted, counts):
    name = f["name"]
    output = os.path.join(folder, name + (f["suffix"] or ""))
    done = run(KYMO, "export", "--to", name, "-o", output, trace)
    expect(done.returncode == 0, name, done.stderr)
    said, found = told(done.stderr), numbers(output)
    if name == "store":  # arguments are packed there
        of_text(must(KYMO, "query", "--format", "json", trace, "SELECT kymo_args(id) AS a FROM call "
                     "UNION ALL SELECT kymo_args(op, args) FROM activity").encode(), found)
    kinds = rows("formats", name)
    for row in kinds:
        check_kind(name, row, said, kept_of(row["kind"], found, wanted))
    check_counts(name, said, kinds, counts)
    known = {p for row in kinds if row["left_out"] for p in row["left_out"].split("; ")}
    expect(set(said) <= known | BESIDES, name, "tells what it does not declare:", set(said) - known - BESIDES)
    shutil.rmtree(output) if os.path.isdir(output) else os.remove(output)


def main():
    failed = 0
    with kymotest.Folder() as folder:
        trace = os.path.join(folder, "every.kymo")
        wanted = written(must(EVERY, trace))
        counts = {r["category"]: r["n"] for r in kymotest.query(
            KYMO, trace, "SELECT category, count(*) AS n FROM activities GROUP BY 1 UNION ALL SELECT 'dispatch', count(*) "
            "FROM dispatch UNION ALL SELECT 'copy', count(*) FROM copy UNION ALL SELECT 'allocation', count(*) FROM allocation "
            "UNION ALL SELECT 'sync', count(*) FROM sync UNION ALL SELECT 'marker', count(*) FROM marker UNION ALL "
            "SELECT 'comm', count(*) FROM comm UNION ALL SELECT 'counter', count(*) FROM counter_value UNION ALL "
            "SELECT 'calls', count(*) FROM call")}
        kinds = {d for d, _ in wanted}
        for f in (f for f in rows("formats") if f["write"]):
            tool = {"otf2": "otf2-print", "ctf": "babeltrace2"}.get(f["name"])
            if tool and not shutil.which(tool):
                print(f["name"], "cannot be read here:", tool, "is not there")
                continue
            try:
                check_format(f, trace, folder, wanted, counts)
                print(f["name"], "is as it says of", len(kinds), "kinds")
            except kymotest.Failure as e:
                print("FAILED:", e)
                failed += 1
    return failed != 0


sys.exit(main())
