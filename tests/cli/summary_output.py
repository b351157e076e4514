#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A summary in a file is what standard output gets, and takes its place when it is whole; times in one unit are those of csv.

Usage: summary_output.py KYMO KYMO_SYNTH
"""
import csv
import io
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import check  # noqa: E402

KYMO, SYNTH = map(os.path.abspath, sys.argv[1:3])
DIGITS = {"ns": 0, "us": 3, "ms": 6, "s": 9}


def summary(*words):
    p = subprocess.run([KYMO, "summary", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return p.returncode, p.stdout, p.stderr


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def into_files():
    for form in ("text", "md", "csv", "json", "html", "tsv"):
        printed = summary("-f", form, "a.kymo", "b.kymo")
        written = summary("-f", form, "-o", f"out.{form}", "a.kymo", "b.kymo")
        check(f"{form}: status, nothing printed, the same said", written, (0, "", printed[2]))
        check(f"{form}: the file", read(f"out.{form}"), printed[1])
        check(f"{form}: standard output", summary("-f", form, "-o", "-", "a.kymo", "b.kymo"), printed)


def places():
    with open("old", "w", encoding="utf-8") as f:
        f.write("old")
    code, _, err = summary("-o", "old", "a.kymo")
    check("it is there", (code, "--force replaces it" in err, read("old")), (3, True, "old"))
    check("nothing matches", (summary("--force", "-o", "old", "-k", "nosuch", "a.kymo")[0], read("old")), (2, "old"))
    check("no such table", (summary("--force", "-o", "old", "--tables", "nosuch", "a.kymo")[0], read("old")), (2, "old"))
    check("replaced", (summary("--force", "-o", "old", "a.kymo")[0], read("old")), (0, summary("a.kymo")[1]))
    check("in the trace", (summary("-o", "a.kymo/x", "a.kymo")[0], os.path.exists("a.kymo/x")), (3, False))
    check("in another trace that is read", (summary("-o", "b.kymo/x", "a.kymo", "b.kymo")[0], os.path.exists("b.kymo/x")), (3, False))
    check("no such folder", summary("-o", "nosuch/x", "a.kymo")[0], 3)
    check("a full device", (summary("-o", "/dev/full", "a.kymo")[0], os.path.exists("/dev/full")), (3, True))
    check("nothing is left beside", [n for n in os.listdir() if "old" in n or "out" in n],
          [n for n in os.listdir() if n in ("old", "out.text", "out.md", "out.csv", "out.json", "out.html", "out.tsv")])


def nothing():
    """Of a trace without processes there is no table without rows."""
    os.makedirs("none.kymo/raw")
    code, told, _ = summary("-f", "json", "none.kymo")
    check("no processes: tables without rows", (code, [t["name"] for t in json.loads(told)["tables"] if not t["rows"]]), (0, []))


def times(text):
    """Of a table in Markdown by its heading: for each row the times, and their units."""
    rows = [[c.strip() for c in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    at = rows[0].index("device time")
    return {r[0]: r[at].rsplit(" ", 1) for r in rows[2:]}


def units():
    known = {r["op"]: int(r["time_ns"]) for r in csv.DictReader(io.StringIO(summary("-f", "csv", "--tables", "kernels", "a.kymo", "b.kymo")[1]))}
    check("kernels", known, {"k": 11000, "long": 3000001244567})
    for unit, digits in DIGITS.items():
        got = times(summary("-f", "md", "--tables", "kernels", "--unit", unit, "a.kymo", "b.kymo")[1])
        for name, ns in known.items():
            number, of = got[name]
            check(f"{unit} of {name}: unit", of, unit)
            check(f"{unit} of {name}: digits", len(number.partition(".")[2]), digits)
            check(f"{unit} of {name}", int(number.replace(".", "")), ns)
        check(f"csv with {unit}", summary("-f", "csv", "--unit", unit, "a.kymo"), summary("-f", "csv", "a.kymo"))
    got = times(summary("-f", "md", "--tables", "kernels", "a.kymo", "b.kymo")[1])
    check("fitting", got, {"k": ["11.00", "us"], "long": ["50.00", "min"]})
    code, _, err = summary("--unit", "hours", "a.kymo")
    check("no such unit", (code, "--unit" in err), (2, True))


def sizes():
    def shown(*words):
        table = summary("-f", "md", "--tables", "copies", *words, "c.kymo")[1]
        rows = [[c.strip() for c in line.strip("|").split("|")] for line in table.splitlines() if line.startswith("|")]
        return rows[2][rows[0].index("bytes")]
    check("sizes", {u: shown("--size-unit", u) for u in ("fitting", "B", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB")},
          {"fitting": "1.178 MiB", "B": "1235067 B", "kB": "1235.067000 kB", "MB": "1.235067 MB", "GB": "0.001235 GB", "TB": "0.000001 TB",
           "KiB": "1206.120117 KiB", "MiB": "1.177852 MiB", "GiB": "0.001150 GiB", "TiB": "0.000001 TiB"})
    check("csv with MB", summary("-f", "csv", "--size-unit", "MB", "c.kymo"), summary("-f", "csv", "c.kymo"))
    check("no such unit", summary("--size-unit", "MIB", "c.kymo")[0], 2)


with kymotest.Folder() as folder:
    os.chdir(folder)
    subprocess.run([SYNTH, "timed", "a.kymo", "3", "left"], check=True, text=True,
                   input="kernel k 64 1000 11000\nkernel long 64 20000 3000001244567\nend 3000002000000\n")
    subprocess.run([SYNTH, "timed", "b.kymo", "4", "right"], check=True, text=True, input="end 20000\n")
    subprocess.run([SYNTH, "timed", "c.kymo"], check=True, text=True, input="write 1234567 5000 100\nwrite 500 7000 100\nend 20000\n")
    sizes()
    into_files()
    places()
    nothing()
    units()
    os.chdir("/")
print("%d failed" % len(kymotest.wrong))
sys.exit(1 if kymotest.wrong else 0)
