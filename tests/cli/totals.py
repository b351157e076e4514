#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One run, exported to every format, has the same totals everywhere: calls, kernels, copies, their bytes and times, and how
long devices were busy. Each output is read by a few lines here that know the format alone.

    totals.py KYMO HEAT"""
import collections
import csv
import glob
import json
import os
import re
import shutil
import sqlite3
import sys
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
import xspace  # noqa: E402
from kymotest import expect, must  # noqa: E402

KYMO, HEAT = (os.path.abspath(p) for p in sys.argv[1:3])
# start and end in ns, bytes of copies
Work = collections.namedtuple("Work", "start end bytes", defaults=(None,))


def ns(text):
    """Of microseconds with a fraction, exactly."""
    whole, _, fraction = text.partition(".")
    return int(whole) * 1000 + int((fraction + "000")[:3])


# ---- readers: (calls, kernels, copies) ------------------------------------------------------------

def read_store(path):
    db = sqlite3.connect(path)
    rows = lambda sql: [Work(s, s + d, b) for s, d, b in db.execute(sql)]
    return (rows("SELECT start, duration, NULL FROM call"), rows("SELECT start, duration, NULL FROM dispatch"),
            rows("SELECT start, duration, bytes FROM copy"))


def of_json(records):
    out = collections.defaultdict(list)
    for r in records:
        out[r.get("kind")].append(Work(r.get("start"), r.get("end"), r.get("bytes")))
    return out["call"], out["dispatch"], out["copy"]


def read_json(path):
    with open(path, encoding="utf-8") as f:
        return of_json(json.load(f)["records"])


def read_jsonl(path):
    with open(path, encoding="utf-8") as f:
        return of_json(map(json.loads, f))


def read_csv(path):
    def rows(name):
        with open(os.path.join(path, name + ".csv"), encoding="utf-8", newline="") as f:
            return [Work(int(r["start"]), int(r["end"]), int(r["bytes"]) if "bytes" in r else None) for r in csv.DictReader(f)]
    return rows("calls"), rows("dispatches"), rows("copies")


def read_text(path):
    """Times of a line: seconds since the beginning, and how long, in us once that is 10 or more."""
    out = collections.defaultdict(list)
    with open(path, encoding="utf-8") as f:
        for line in f:
            m = re.match(r" *(\d+)\.(\d{9}) +([\d.]+) (ns|us|ms) +.*?  +(opencl:|dispatch:|copy:)\w+(.*)", line)
            if not m:
                continue
            start = int(m[1]) * 10**9 + int(m[2])
            length = round(float(m[3]) * {"ns": 1, "us": 1000, "ms": 10**6}[m[4]])
            size = re.match(r" (\d+) bytes", m[6])
            out[m[5]].append(Work(start, start + length, int(size[1]) if size else None))
    return out["opencl:"], out["dispatch:"], out["copy:"]


def read_chrome(path):
    with open(path, encoding="utf-8") as f:
        events = json.load(f, parse_float=str, parse_int=str)["traceEvents"]
    def rows(*categories):
        return [Work(ns(e["ts"]), ns(e["ts"]) + ns(e["dur"]), int(e["args"].get("bytes", 0)))
                for e in events if e["ph"] == "X" and e.get("cat") in categories]
    return rows("opencl_runtime"), rows("kernel"), rows("gpu_memcpy", "gpu_memset")


def message(data):
    out = collections.defaultdict(list)
    for number, _, value in xspace.fields(data):
        out[number].append(value)
    return out


def perfetto_events(packets):
    """(time, track, type, category, bytes): TracePacket 8 timestamp, 10 sequence, 11 TrackEvent, 12 InternedData; times
    of a sequence are since the packet before, from what its ClockSnapshot (6) says of clock 64."""
    names, now = {}, collections.Counter()
    for p in packets:
        for snapshot in map(message, p[6]):
            for clock in map(message, snapshot[1]):
                if clock[1] == [64]:
                    now[tuple(p[10])] = clock[2][0]
        if not p[58] and p[8]:
            now[tuple(p[10])] += p[8][0]
        for interned in map(message, p[12]):
            for kind in (1, 3):  # categories, names of annotations
                for entry in map(message, interned[kind]):
                    names[kind, tuple(p[10]), entry[1][0]] = bytes(entry[2][0]).decode()
        for event in map(message, p[11]):
            size = None
            for a in map(message, event[4]):
                if "bytes" == (names.get((3, tuple(p[10]), a[1][0])) if a[1] else bytes(a[10][0]).decode()):
                    size = (a[3] or a[4])[0]
            category = names.get((1, tuple(p[10]), event[3][0])) if event[3] else None
            yield p[8][0] if p[58] else now[tuple(p[10])], tuple(event[11]), event[9], category, size


def read_perfetto(path):
    """Slices of a track nest, in the order of time."""
    out, under_way = collections.defaultdict(list), collections.defaultdict(list)
    with open(path, "rb") as f:
        packets = [message(p) for _, _, p in xspace.fields(f.read())]
    for time, track, kind, category, size in sorted(perfetto_events(packets), key=lambda e: e[0]):
        if kind == [1]:
            under_way[track].append((time, category, size))
        elif kind == [2]:
            start, category, size = under_way[track].pop()
            out[category].append(Work(start, time, size))
    return out["opencl"], out["dispatch"], out["copy"]


def read_xspace(path):
    calls, kernels, copies = [], [], []
    for p in xspace.read(path).planes:
        for line in p.lines:
            for e in line.events:
                work = Work(e.start_ps // 1000, (e.start_ps + e.duration_ps) // 1000,
                            int((re.search(r"(?:size|num_bytes):(\d+)", str(e.stats.get("memcpy_details") or
                                                                           e.stats.get("Memset_details") or "")) or [0, 0])[1]))
                if p.name.startswith("/host:CPU") and e.stats.get("domain") == "opencl":
                    calls.append(work)
                elif p.name.startswith("/device:") and "kernel_details" in e.stats:
                    kernels.append(work)
                elif p.name.startswith("/device:") and ("memcpy_details" in e.stats or "Memset_details" in e.stats):
                    copies.append(work)
    return calls, kernels, copies


def read_rocpd(path):
    db = sqlite3.connect(path)
    rows = lambda sql: [Work(*r) for r in db.execute(sql)]
    # Kymo's waits and builds are regions, too: of categories of their own.
    return (rows("SELECT start, end, NULL FROM regions WHERE category LIKE '%OPENCL%'"),
            rows("SELECT start, end, NULL FROM kernels"), rows("SELECT start, end, size FROM memory_copies"))


def read_rocprofv3(path):
    def rows(name):
        out = []
        for part in glob.glob(os.path.join(path, "**", f"*{name}_trace.csv"), recursive=True):
            with open(part, encoding="utf-8", newline="") as f:
                out += [Work(int(r["Start_Timestamp"]), int(r["End_Timestamp"])) for r in csv.DictReader(f)]
        return out
    return rows("opencl_api"), rows("kernel"), rows("memory_copy")


def read_paraver(path):
    """Events 63000000 + domain, 63100000, 63100001; a value ends with the one around it, 63100002 is a size."""
    with open(os.path.join(path, "trace.pcf"), encoding="utf-8") as f:
        calls = int(re.search(r"\n0 (\d+) OpenCL\n", f.read())[1])
    out, under_way, sizes = collections.defaultdict(list), collections.defaultdict(list), []
    with open(os.path.join(path, "trace.prv"), encoding="utf-8") as f:
        for line in f:
            if not line.startswith("2:"):
                continue
            _, _, _, task, thread, time, kind, value = (int(x) for x in line.split(":"))
            open_ = under_way[task, thread, kind]
            if kind == 63100002:
                sizes.append(value)
            elif open_ and value == (open_[-2][1] if len(open_) > 1 else 0):
                out[kind].append(Work(open_.pop()[0], time))
            else:
                open_.append((time, value))
    copies = out[63100001]
    return out[calls], out[63100000], [c._replace(bytes=s) for c, s in zip(copies, sizes)]


def read_otf2(path):
    """As otf2-print shows it: regions with their paradigm on CPU threads and accelerator streams, bytes of RMA."""
    anchor = os.path.join(path, "traces.otf2")
    streams = set(re.findall(r"^LOCATION +(\d+) .*Type: ACCELERATOR_STREAM", must("otf2-print", "-G", anchor), re.M))
    regions = dict(re.findall(r'^REGION +(\d+) .*Role: (\w+), Paradigm: "?OpenCL', must("otf2-print", "-G", anchor), re.M))
    out, under_way, sizes = collections.defaultdict(list), collections.defaultdict(list), []
    for line in must("otf2-print", anchor).splitlines():
        m = re.match(r"(ENTER|LEAVE) +(\d+) +(\d+) .*<(\d+)>$", line)
        if m and m[1] == "ENTER":
            under_way[m[2]].append(int(m[3]))
        elif m:
            start, role = under_way[m[2]].pop(), regions.get(m[4])
            kind = "calls" if m[2] not in streams else "copies" if role == "DATA_TRANSFER" else "kernels"
            if role:
                out[kind].append(Work(start, int(m[3])))
        m = re.match(r"RMA_(?:GET|PUT) .*Bytes: (\d+)", line)
        if m:
            sizes.append(int(m[1]))
    # Which size is whose is not told in one line: their sum is that of all.
    copies = [w._replace(bytes=0) for w in out["copies"]]
    if copies:
        copies[0] = copies[0]._replace(bytes=sum(sizes))
    return out["calls"], out["kernels"], copies


def read_md(path):
    """A heading, the names of columns, a line, rows."""
    tables, columns = collections.defaultdict(list), None
    with open(path, encoding="utf-8") as f:
        for line in f:
            cells = [c.strip() for c in line.strip().strip("|").split(" | ")]
            if line.startswith("## "):
                name, columns = line[3:].strip(), None
            elif line.startswith("| ") and columns is None:
                columns = cells
            elif line.startswith("| "):
                row = dict(zip(columns, cells))
                if name in ("calls", "dispatches", "copies"):
                    tables[name].append(Work(int(row["start"]), int(row["end"]), int(row["bytes"]) if "bytes" in row else None))
    return tables["calls"], tables["dispatches"], tables["copies"]


def read_xlsx(path):
    """Sheets by their names; the first row has those of columns."""
    out = {}
    with zipfile.ZipFile(path) as z:
        names = re.findall(r'<sheet name="([^"]*)"', z.read("xl/workbook.xml").decode())
        for i, name in enumerate(names, 1):
            rows = [{m[1]: m[2] or m[3] for m in re.finditer(r'<c r="([A-Z]+)\d+"[^>]*>(?:<v>([^<]*)</v>|<is><t[^>]*>([^<]*)</t></is>)', row)}
                    for row in re.findall(r"<row .*?</row>", z.read(f"xl/worksheets/sheet{i}.xml").decode(), re.S)]
            head = {(title or "").split(" (")[0]: column for column, title in rows[0].items()}
            if name in ("calls", "dispatches", "copies"):
                out[name] = [Work(int(r[head["start"]]), int(r[head["end"]]), int(r[head["bytes"]]) if "bytes" in head else None)
                             for r in rows[1:]]
    return out["calls"], out["dispatches"], out["copies"]


def read_ctf(path):
    """As babeltrace2 shows it: what kind of record an event is, its times and bytes."""
    out = collections.defaultdict(list)
    for line in must("babeltrace2", path).splitlines():
        kind = re.search(r'record = \( "(call|dispatch|copy)"', line)
        times = (re.search(r"\bdevice_start = (\d+), device_end = (\d+)", line) or
                 re.search(r"\bstart = (\d+), end = (\d+)", line))
        if kind and times:
            size = re.search(r"\bbytes = (\d+)", line)
            out[kind[1]].append(Work(int(times[1]), int(times[2]), int(size[1]) if size else None))
    return out["call"], out["dispatch"], out["copy"]


def read_rocprofv3_json(path):
    calls, kernels, copies = [], [], []
    with open(path, encoding="utf-8") as f:
        for process in json.load(f)["rocprofiler-sdk-tool"]:
            records = process["buffer_records"]
            for name, out in (("opencl_api", calls), ("kernel_dispatch", kernels), ("memory_copy", copies)):
                out += [Work(r["start_timestamp"], r["end_timestamp"], r.get("bytes")) for r in records[name]]
    return calls, kernels, copies


READERS = {name[5:]: f for name, f in list(globals().items()) if name.startswith("read_")}
# Profiles of samples, and those that add records up: tests of their own.
OTHERS = {"folded", "speedscope", "pprof", "caliper"}


# ---- comparing -----------------------------------------------------------------------------------

def busy(work):
    total, until = 0, 0
    for w in sorted(work):
        total += max(w.end - max(w.start, until), 0)
        until = max(until, w.end)
    return total


def totals(read):
    calls, kernels, copies = read
    sizes = [c.bytes for c in copies]
    out = {"devices busy": busy([w._replace(bytes=None) for w in kernels + copies]),
           "bytes": None if None in sizes else sum(sizes)}
    for what, rows in (("calls", calls), ("kernels", kernels), ("copies", copies)):
        out[what], out[what + ", ns"] = len(rows), sum(w.end - w.start for w in rows)
    return out


def same(name, got, wanted):
    for what, value in wanted.items():
        if name == "rocprofv3" and what == "bytes":
            expect(got[what] is None, "its CSV files have no sizes of copies", got)
        elif name == "text" and what.endswith(("ns", "busy")):  # of a ms or more it shows microseconds
            expect(abs(got[what] - value) <= value / 1000, name, what, got[what], value)
        else:
            expect(got[what] == value, name, what, got[what], value)


def main():
    failed = 0
    with kymotest.Folder() as folder:
        os.chdir(folder)
        for i, more in enumerate((("--size", "64", "--frames", "3", "--schedule", "overlap"), ("--size", "32", "--frames", "2"))):
            must(KYMO, "run", "--no-summary", "-o", f"{i}.kymo", HEAT, *more)
        must(KYMO, "merge", "-o", "all.kymo", "0.kymo", "1.kymo")
        wanted = kymotest.query(KYMO, "all.kymo", """SELECT (SELECT count(*) FROM call) AS calls, (SELECT sum(duration) FROM call) AS "calls, ns",
            (SELECT count(*) FROM kernels) AS kernels, (SELECT sum(duration) FROM kernels) AS "kernels, ns",
            (SELECT count(*) FROM memory_copies) AS copies, (SELECT sum(duration) FROM memory_copies) AS "copies, ns",
            (SELECT sum(size) FROM memory_copies) AS bytes""")[0]
        must(KYMO, "export", "--to", "store", "-o", "first.db", "all.kymo")
        wanted["devices busy"] = totals(read_store("first.db"))["devices busy"]
        expect(wanted["calls"] > 100 and wanted["kernels"] > 50 and wanted["copies"] > 5 and wanted["bytes"] > 0, wanted)
        formats = json.loads(must(KYMO, "list", "formats", "-f", "json"))["tables"][0]["rows"]
        names = [f["name"] for f in formats if f["write"] and f["name"] not in OTHERS]
        names += ["rocprofv3:json"] if "rocprofv3" in names else []
        suffixes = {f["name"]: f["suffix"] or "" for f in formats}
        for name in names:
            if name == "otf2" and not shutil.which("otf2-print") or name == "ctf" and not shutil.which("babeltrace2"):
                print(name, "cannot be read here")
                continue
            try:
                read, output = READERS.get(name.replace(":", "_")), "out-" + name + suffixes.get(name, "")
                expect(read, name, "has no reader in this test")
                must(KYMO, "export", "--to", name, "-o", output, "all.kymo")
                same(name, totals(read(output)), wanted)
                print(name, "has the same totals")
            except kymotest.Failure as e:
                print("FAILED:", e)
                failed += 1
        print(wanted)
        os.chdir("/")
    return failed != 0


sys.exit(main())
