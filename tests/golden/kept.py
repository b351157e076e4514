#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares all that Kymo tells of recordings that were made once (record_kept.py) with what is expected:

    kept.py KYMO KEPT NAME|all [--whole FOLDER] [--update]

KEPT/NAME.tar.xz has the traces, KEPT/NAME/*.txt what each command prints or writes of them, binary formats as text. What was long is there as a digest
of each 50 lines (more, where they are thousands), with the first words of these; --whole writes all of it, as it is now, to FOLDER/NAME. A build that lacks a format
or SQLite says other things: nothing of it is compared."""
import csv
import difflib
import gzip
import hashlib
import http.client
import io
import json
import os
import re
import shutil
import sqlite3
import struct
import subprocess
import sys
import tarfile
import urllib.parse
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "base"))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "cli"))
import kymotest  # noqa: E402
import page_file  # noqa: E402

KYMO = os.path.abspath(sys.argv[1])
LONG, BLOCK, BLOCKS, SHOWN = 12 << 10, 50, 40, 40
READ = "summary-text", "diagnose-text", "kernels-text", "info", "compare"  # the most of which is kept as it is
PANELS = [str(n) for n in (*range(1, 8), *range(10, 19), 21, 22, 30)]
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "TZ": "UTC", "LC_ALL": "C.UTF-8", "COLUMNS": "120"}
versions = set()


def kymo(*words, status=True):
    """What it prints; what it says beside that, and its status, below."""
    environment = dict(ENVIRONMENT, HOME=os.getcwd(), TMPDIR=os.getcwd(), **{k: v for k, v in os.environ.items() if "SAN_OPTIONS" in k or "GCOV" in k})
    p = subprocess.run([KYMO, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env=environment)
    text = p.stdout.decode("utf-8", "backslashreplace")
    said = p.stderr.decode("utf-8", "backslashreplace")
    if status:
        text += "".join(f"stderr: {line}\n" for line in said.splitlines()) + (f"status {p.returncode}\n" if p.returncode else "")
    return text


def rows_of(text):
    return [r for r in csv.DictReader(io.StringIO(text))]


# ---- files as text ----

def message(data, depth=0):
    """Lines for the fields of a message of protobuf, or None where it is none."""
    at, lines = 0, []

    def varint(at):
        value = shift = 0
        while True:
            value |= (data[at] & 127) << shift
            shift += 7
            at += 1
            if data[at - 1] < 128:
                return value, at
            if shift > 63:
                raise IndexError

    try:
        while at < len(data):
            key, at = varint(at)
            number, kind = key >> 3, key & 7
            if number == 0 or number > 1 << 16:
                return None
            if kind == 0:
                value, at = varint(at)
            elif kind == 1 or kind == 5:
                size = 8 if kind == 1 else 4
                value = struct.unpack_from("<Q" if kind == 1 else "<I", data, at)[0]
                at += size
            elif kind == 2:
                size, at = varint(at)
                part = data[at:at + size]
                at += size
                if len(part) < size:
                    return None
                printable = all(32 <= b < 127 for b in part)
                inner = None if printable else message(part, depth + 1)
                if inner is not None:
                    lines.append(f"{' ' * depth}{number}:")
                    lines += inner
                    continue
                value = repr(part.decode("ascii")) if printable else part.hex()
            else:
                return None
            lines.append(f"{' ' * depth}{number}: {value}")
    except (IndexError, struct.error):
        return None
    return lines


def proto(path):
    with open(path, "rb") as f:
        data = f.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    lines = message(data)
    return "\n".join(lines) + "\n" if lines is not None else "no message\n"


def database(path):
    """All rows; of guids, which are made of what the trace says, the first is G1 and so on."""
    db = sqlite3.connect(path)
    text = ""
    for name, in db.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name").fetchall():
        rows = ["|".join("NULL" if v is None else str(v) for v in row) for row in db.execute(f'SELECT * FROM "{name}"')]
        text += f"# {name}: {len(rows)}\n" + "".join(r + "\n" for r in sorted(rows))
    guids = [g for g, in db.execute("SELECT value FROM rocpd_metadata WHERE tag = 'guid' ORDER BY value")]
    db.close()
    for i, guid in enumerate(guids, 1):
        text = text.replace(guid, f"G{i}").replace(guid.replace("-", "_"), f"G{i}")
    return text


def sheets(path):
    """Cells, a line for each row: the rest is libxlsxwriter's."""
    with zipfile.ZipFile(path) as book:
        names = re.findall(r'<sheet name="([^"]*)"', book.read("xl/workbook.xml").decode())
        text = ""
        for i, name in enumerate(names, 1):
            rows = book.read(f"xl/worksheets/sheet{i}.xml").decode().split("</row>")
            text += f"# {name}\n" + "".join("|".join(re.findall(r"<(?:v|t)[^>/]*>([^<]*)<", row)) + "\n" for row in rows[:-1])
    return text


def page(path):
    """The text, the head's data and what the sections hold."""
    got = page_file.Page(path)
    text = "\n".join(line.strip() for part in got.elements.text for line in part.splitlines() if line.strip()) + "\n"
    head = dict(got.head)
    head["sections"] = [raw for _, _, raw in head["sections"]]  # where they lie, and how well they were compressed, is zlib's
    text += json.dumps(head, indent=0, sort_keys=True) + "\n"
    return text + "".join(f"section {i} {hashlib.sha256(got.section(i)).hexdigest()[:16]}\n" for i in range(len(head["sections"])))


def plain(path):
    with open(path, encoding="utf-8", errors="backslashreplace") as f:
        return f.read()


def folder(path):
    files = sorted(os.path.join(base, name) for base, _, names in os.walk(path) for name in names)
    return "".join(f"# {os.path.relpath(f, path)}\n{plain(f)}" for f in files)


def broken(text):
    """Documents of one line, so that a difference can be seen."""
    return text.replace("},{", "},\n{").replace("},\"", "},\n\"").replace("],\"", "],\n\"").replace(">,<", ">\n<")


# ---- what is asked ----

def queries(trace):
    """Every table and view that has rows, all rows in an order of their own."""
    names = [r["name"] for r in rows_of(kymo("query", "-f", "csv", trace, "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
                                             "AND name NOT LIKE 'sqlite_%' AND name <> 'source' ORDER BY name", status=False))]
    with open("all.sql", "w", encoding="utf-8") as f:
        f.writelines(f"-- {name}\nSELECT * FROM {name};\n" for name in names)
    blocks = [[]]
    for line in kymo("query", "-f", "csv", "--file", "all.sql", trace).splitlines():
        if line in names:
            blocks.append([])
        blocks[-1].append(line)
    text = "\n".join(blocks[0])
    for name, *rows in blocks[1:]:
        rows = [r for r in rows if r]
        if len(rows) > 1:
            text += f"# {name}\n{rows[0]}\n" + "".join(r + "\n" for r in sorted(rows[1:]))
    return text


def exports(trace):
    """name: text of all that export writes."""
    def out(to, name, reader, *more):
        said = kymo("export", "--to", to, "-f", "-o", name, *more, trace)
        return (reader(name) if os.path.exists(name) else "nothing\n") + said

    found = {"json": lambda: broken(out("json", "x.json", plain)), "jsonl": lambda: out("jsonl", "x.jsonl", plain),
             "csv": lambda: out("csv", "x.csv.d", folder), "md": lambda: out("md", "x.md", plain),
             "chrome": lambda: broken(out("chrome", "chrome.json", plain)),
             "chrome-device": lambda: broken(out("chrome", "x2.json", plain, "--rows", "device")), "xlsx": lambda: out("xlsx", "x.xlsx", sheets),
             "folded": lambda: out("folded", "x.folded", plain), "folded-heap": lambda: out("folded:heap", "heap.folded", plain),
             "speedscope": lambda: broken(out("speedscope", "x.speedscope.json", plain)), "pprof": lambda: out("pprof", "x.pb.gz", proto),
             "rocprofv3": lambda: out("rocprofv3:csv", "roc", folder), "rocprofv3-json": lambda: broken(out("rocprofv3:json", "roc.json", plain)),
             "paraver": lambda: out("paraver", "prv", folder), "caliper": lambda: broken(out("caliper", "cali.json", plain)),
             "xspace": lambda: out("xspace", "x.xplane.pb", proto), "perfetto": lambda: out("perfetto", "x.pftrace", proto),
             "rocpd": lambda: out("rocpd", "x.db", database), "ctf": lambda: out("ctf", "ctf", lambda path: ""),
             "otf2": lambda: out("otf2", "otf2", lambda path: "")}
    return {name: get() for name, get in found.items()}


def imports():
    """Of what was exported, imported again: all records, so that what binary files hold is compared as well, and the sums."""
    found = {}
    for name, path in (("otf2", "otf2/traces.otf2"), ("ctf", "ctf"), ("perfetto", "x.pftrace"), ("xspace", "x.xplane.pb"), ("chrome", "chrome.json"),
                       ("rocpd", "x.db"), ("rocprofv3", "roc"), ("rocprofv3-json", "roc.json")):
        if not os.path.exists(path):
            continue
        trace = f"i-{name}.kymo"
        found["import-" + name] = kymo("import", "-o", trace, path) + kymo("show", trace) + kymo("summary", trace)
    return found


def plots(trace):
    """Every picture that has something in it; text and numbers alone where fonts could matter are the same, as Kymo draws by itself."""
    text = ""
    for name in [line.split()[0] for line in kymo("list", "plots").splitlines()]:
        if name != "comparison":
            said = kymo("report", "-f", "--plot", name, "-o", "p.svg", trace)
            text += f"# {name}\n{said}"
            if os.path.exists("p.svg"):
                text += plain("p.svg").replace("><", ">\n<")
                os.remove("p.svg")
    return text


def records(trace):
    """What `kymo view` tells of some calls, and of work, where they are and by their ids."""
    asked = [f"process={p}&thread={t}&id={i}&start={s}&end={e}" for p, t, i, s, e in picked(trace, (
        "SELECT t.process, c.thread, c.id & 0xffffffffff, c.start, c.start + c.duration FROM call c JOIN thread t ON t.id = c.thread"))]
    asked += [f"process={p}&queue={q}&start={s}&end={e}&work=1" for table in ("dispatch", "copy") for p, q, s, e in picked(trace, (
        f"SELECT process, queue, start, start + duration FROM {table} WHERE untimed = 0"))]
    environment = dict(ENVIRONMENT, HOME=os.getcwd(), TMPDIR=os.getcwd())
    text = ""
    with subprocess.Popen([KYMO, "view", trace], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, text=True) as view:
        url = urllib.parse.urlsplit(view.stdout.readline().strip())
        connection = http.client.HTTPConnection("127.0.0.1", url.port, timeout=60)
        for what in ("/head.json?", *("/record?" + a + "&" for a in asked)):  # the first waits until all is there
            connection.request("GET", what + url.query)
            got = connection.getresponse().read().decode("utf-8", "backslashreplace")
            text += f"# {what[:-1]}\n{broken(got)}" if what.startswith("/record") else ""
        connection.close()
        view.terminate()
    return text


def picked(trace, sql):
    """At most 12 rows, from all over it, as lists of numbers."""
    rows = [list(r.values()) for r in rows_of(kymo("query", "-f", "csv", trace, sql + " ORDER BY 1, 2, 3, 4", status=False))]
    return rows[::max(1, len(rows) // 12)][:12]


def readers(traces):
    """name: text of all that Kymo tells of these traces."""
    one = traces[0]
    os.mkdir("rules")  # none of this machine
    found = {"info": kymo("info", one), "show": kymo("show", one), "show-entry-exit": kymo("show", "--entry-exit", one),
             "show-recorded": kymo("show", "--order", "recorded", "--mangled", one)}
    found["query"] = queries(one)
    for form in ("text", "json", "csv", "md"):
        found["summary-" + form] = (broken if form == "json" else str)(kymo("summary", "-f", form, *traces))
    found["summary-all"] = kymo("summary", "--all", "--names", "full", "--unit", "ns", "--size-unit", "B", one)
    for by in ("process,thread", "device,queue,kernel", "rank,peer", "site", "stack", "scope", "size", "direction", "grid", "library", "communicator"):
        found["summary-by-" + by.replace(",", "-")] = kymo("summary", "--all", "--by", by, one)
    for form in ("text", "json"):
        found["diagnose-" + form] = (broken if form == "json" else str)(kymo("diagnose", "--rules", "rules", "--all", "-f", form, one))
        found["kernels-" + form] = (broken if form == "json" else str)(kymo("kernels", "--all", "-f", form, one))
    found["kernels-panels"] = kymo("kernels", "--all", "--panel", ",".join(PANELS), one)
    if "# kernel_report\n" in found["query"]:
        found["kernels-handler"] = kymo("kernels", "--all", "--handler", "heatmap", one)
    found["report-md"] = kymo("report", "--format", "md", "-o", "-", one)
    kymo("report", "-f", "-o", "page.html", one)
    found["report-html"] = page("page.html")
    found["plots"] = plots(one)
    found["records"] = records(one)
    if len(traces) > 1:
        found["compare"] = kymo("compare", "--all", *traces[:2])
        found["compare-json"] = broken(kymo("compare", "-f", "json", *traces[:2]))
        found["report-compare"] = kymo("report", "--format", "md", "--compare", traces[1], "-o", "-", one)
        found["merge"] = kymo("merge", "-o", "merged.kymo", *traces[:2]) + kymo("info", "merged.kymo") + kymo("show", "merged.kymo")
    else:
        shutil.copytree(one, "same.kymo")
        found["compare-same"] = broken(kymo("compare", "-f", "json", one, "same.kymo"))
    found.update(("export-" + name, text) for name, text in exports(one).items())
    found.update(imports())
    return found


# ---- what is kept of it ----

def normal(text):
    text = re.sub(r'(uuid = ")[0-9a-f-]{36}', r"\1UUID", text.replace(os.getcwd(), "/DIR"))  # that of CTF is made anew
    for version in versions - {""}:
        text = re.sub(rf"(?<![\d.]){re.escape(version)}(?![\d.])", "VERSION", text)
    return text


def first_words(line):
    """Whole ones, of what a difference can be found by."""
    words = [w for w in line.split() if len(w) < 40]
    while len(" ".join(words)) > 40:
        words.pop()
    return " ".join(words)


def kept_form(name, text):
    """The lines that are kept, and of each the lines that it stands for."""
    lines = text.splitlines()
    if len(text) <= (3 * LONG if name in READ else LONG):
        return lines, [[line] for line in lines]
    size = BLOCK * (1 + len(lines) // (BLOCK * BLOCKS))
    blocks = [lines[i:i + size] for i in range(0, len(lines), size)]
    head = f"{len(lines)} lines; a digest of each {size}"
    return [head] + [f"{hashlib.sha256(chr(10).join(b).encode()).hexdigest()[:12]} {first_words(b[0])}".rstrip() for b in blocks], [[head]] + blocks


def difference(name, expected, lines, meant):
    """At most SHOWN lines of it; of a digest the lines as they are now."""
    out = list(difflib.unified_diff(expected, lines, name + ", expected", name + ", now", n=1, lineterm=""))
    if meant and len(meant) > 1 and len(meant[1]) > 1:
        out = out[:SHOWN // 4]
        changed = [i for i, line in enumerate(lines) if i and line not in set(expected)]
        if changed:
            out += ["lines of the first such digest, as they are now:"] + meant[changed[0]]
    out = [line if len(line) < 240 else line[:240] + "..." for line in out]
    return out[:SHOWN] + ([f"... {len(out) - SHOWN} more lines"] if len(out) > SHOWN else [])


def option(name):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else None


def unpacked(archive):
    """The traces of it, in the folder where we are."""
    with tarfile.open(archive) as f:
        f.extractall()
    versions.clear()
    versions.add(kymo("--version").split()[1])
    traces = sorted(f for f in os.listdir(".") if f.endswith(".kymo"))
    for trace in traces:
        with open(os.path.join(trace, "manifest.json"), encoding="utf-8") as f:
            versions.add(json.load(f)["kymo"])
    return traces


def written(folder_of, texts):
    os.makedirs(folder_of, exist_ok=True)
    for what, text in texts.items():
        with open(os.path.join(folder_of, what + ".txt"), "w", encoding="utf-8") as f:
            f.write(text)


def compare(where, found):
    """Prints what differs; how much that is."""
    there, wrong = {f[:-4] for f in os.listdir(where)} if os.path.isdir(where) else set(), 0
    for what in sorted(set(found) | there):
        if what not in found:
            print(f"{what}: expected, and not there\n")
            wrong += 1
            continue
        lines, meant = kept_form(what, found[what])
        expected = plain(os.path.join(where, what + ".txt")).splitlines() if what in there else []
        if lines != expected:
            print("\n".join(difference(what, expected, lines, meant)) + "\n")
            wrong += 1
    return wrong


def one_archive(kept, name):
    where = os.path.join(kept, name)
    with kymotest.Folder() as place:
        os.chdir(place)
        found = {what: normal(text) for what, text in readers(unpacked(where + ".tar.xz")).items()}
        os.chdir("/")
    if WHOLE:
        written(os.path.join(WHOLE, name), found)
    if "--update" in sys.argv:
        kymotest.remove(where, missing_ok=True)
        written(where, {what: "".join(line + "\n" for line in kept_form(what, text)[0]) for what, text in found.items()})
        print(f"updated {where}")
        return 0
    wrong = compare(where, found)
    print(f"{name}: {wrong} of {len(found)} differ" if wrong else f"{name}: {len(found)}, all as expected")
    return wrong


def main():
    kept, name = os.path.abspath(sys.argv[2]), sys.argv[3]
    names = sorted(f[:-len(".tar.xz")] for f in os.listdir(kept) if f.endswith(".tar.xz")) if name == "all" else [name]
    return any([one_archive(kept, n) for n in names])


WHOLE = os.path.abspath(option("--whole")) if option("--whole") else None

if __name__ == "__main__":
    sys.exit(main())
