#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks docs/formats.md, which is made of what `kymo list formats` says.

Usage: formats.py [--write] PAGE KYMO FORMATS_LIST

A build that lacks one of the formats of FORMATS_LIST, for want of a library, cannot check it: status 77."""
import json
import subprocess
import sys

HEAD = """# Formats

Made by `python3 tools/check/formats.py --write docs/formats.md KYMO src/formats/formats.list`. What becomes what in a format has a page of its own, named
like it, for most; `docs/imports.md` has the readers of databases.

`kymo import FILE...` makes a trace of a file of another tool, recognised by what is in it; every command takes such a file too.

"""
MATRIX = """## What writers keep

Of each kind of record (`docs/records.md`): **yes** all of its values, *lossy* not all of them, no none. What is left out is counted, and told at the
end of an export. `kymo list formats FORMAT` prints this for one format. `tests/cli/kept.py` compares it with outputs.

"""
MEMORY = """## Memory

Writers hold what is open at once and names, not records: 1 to 42 MB (`perfetto` up to 120, of paths of ranges), however long the trace is. What some keep of
each record until the end is bounded like what readers note (below): ranges (`xspace`: 56 bytes and 16 to 64 of a table), values of counters of kernels (40 and 16 to
64: `rocprofv3`, `chrome`, `perfetto`), kernels that may be counted (`chrome`), work where `--rows device` is asked for (`chrome`: 16), messages between processes
(32 to 64; 80 more while both ends are looked for; `paraver` 48 more). Reading `raw`, `ctf` and `rocpd` takes as little. The other
formats have no order of time in their files, and records that refer to each other over any distance: readers note each record, sort, and read the rest
again from the file, as they do of `rocpd` where records are wanted in order of time (`kymo show`). All that they note takes 256 MB of memory at most, and
16 MB while it is sorted; `KYMO_READ_MEMORY` says another bound (`KYMO_READ_MEMORY=2G`). What is more lies in temporary files without a name, in `TMPDIR`,
else beside the trace that is made: where the disk is full, reading ends with an error, and nothing is left behind. The files are mapped: pages of
theirs that count as resident are the system's to write out. Bytes a record, for a trace of calls and the kernels they submit: `otf2` 66, `xspace`
101, `rocprofv3` 102 (JSON) to 134 (CSV), `nsys` 109, `chrome` 115, `rpd` 161, `perfetto` 155 (290 with its arrows, which are records as well): from
0.9 to 4 million records on, files are used. `bench/README.md` says what they are of, and how it was measured. Names, operations, queues and devices are in memory once each.

"""
WHY = """## What is left out, and why

"""


def rows(kymo, *words):
    done = subprocess.run([kymo, "list", "formats", *words, "-f", "json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["tables"][0]["rows"]


def table(head, lines):
    cells = lambda line: "| " + " | ".join((c or "").replace("|", "\\|") for c in line) + " |\n"
    return cells(head) + "|" + "---|" * len(head) + "\n" + "".join(map(cells, lines)) + "\n"


def matrix(writers, kinds):
    words = {"yes": "**yes**", "lossy": "*lossy*", "no": "no"}
    names = [r["kind"] for r in next(iter(kinds.values()))]
    of = {name: {r["kind"]: words[r["kept"]] for r in kinds[name]} for name in writers}
    out = ""
    for at in range(0, len(writers), 8):  # a page has no room for more columns
        some = writers[at:at + 8]
        out += table(["kind", *some], [[kind, *(of[name][kind] for name in some)] for kind in names])
    return out


def reasons(writers, kinds):
    lines = []
    for name in writers:
        alike = {}
        for r in kinds[name]:
            if r["kept"] != "yes":
                alike.setdefault((r["kept"], r["left_out"] if r["left_out"] != r["kind"] else "", r["why"]), []).append(r["kind"])
        lines += [[name, ", ".join(k), kept, left, why] for (kept, left, why), k in alike.items()]
    return table(["format", "kinds", "", "left out", "why"], lines)


def page(kymo, every):
    writers = [f["name"] for f in every if f["write"]]
    kinds = {name: rows(kymo, name) for name in writers}
    which = table(["format", "", "", "suffix", "what it is"],
                  [[f["name"], f["read"], f["write"], f["suffix"], f["description"]] for f in every])
    return HEAD + which + MATRIX + matrix(writers, kinds) + MEMORY + WHY + reasons(writers, kinds).rstrip("\n") + "\n"


def main():
    write = sys.argv[1] == "--write"
    path, kymo, wanted = sys.argv[1 + write:4 + write]
    every = rows(kymo)
    with open(wanted, encoding="utf-8") as f:
        missing = {line.strip() for line in f if line[0].isalpha()} - {r["name"] for r in every}
    if missing:
        print("not in this build:", ", ".join(sorted(missing)))
        return 77
    text = page(kymo, every)
    if write:
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return 0
    with open(path, encoding="utf-8") as f:
        if f.read() == text:
            return 0
    print(f"{path} is not what kymo list formats says: run this with --write")
    return 1


sys.exit(main())
