#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kymo query --file: statements of files and folders, each with its heading, in every form: query_file.py KYMO KYMO_SYNTH"""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import check, must, run  # noqa: E402

KYMO, SYNTH = map(os.path.abspath, sys.argv[1:3])
REPORT = """-- SPDX-License-Identifier: Apache-2.0

-- How many <kernels>
-- by name
SELECT name, count(*) AS n FROM kernels GROUP BY name;  -- of the first

CREATE TEMP TABLE chosen AS SELECT 5 AS five;

SELECT five,
       'a;b' AS text
FROM chosen;
-- Nobody
SELECT name FROM kernels WHERE name = 'nosuch'"""
HEADINGS = ["How many <kernels>", "SELECT five, 'a;b' AS text FROM chosen", "Nobody"]


def query(*words):
    return run(KYMO, "query", *words)


def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def forms():
    text = must(KYMO, "query", "--file", "r.sql", "t.kymo")
    check("text", [line for line in text.splitlines() if line in HEADINGS], HEADINGS)
    check("text: rows", ("other  2" in text, re.search(r"^ *5  a;b$", text, re.M) is not None), (True, True))
    found = json.loads(must(KYMO, "query", "-f", "json", "--file", "r.sql", "t.kymo"))["results"]
    check("json: headings", [r["name"] for r in found], HEADINGS)
    check("json: rows", [r["rows"] for r in found], [[{"name": "k", "n": 1}, {"name": "other", "n": 2}], [{"five": 5, "text": "a;b"}], []])
    check("csv", must(KYMO, "query", "-f", "csv", "--file", "r.sql", "t.kymo").splitlines(),
          ["How many <kernels>", "name,n", "k,1", "other,2", "", f'"{HEADINGS[1]}"',
           "five,text", '5,"a;b"', "", "Nobody", "name"])
    check("tsv", must(KYMO, "query", "-f", "tsv", "--file", "r.sql", "t.kymo").splitlines()[:4], ["How many <kernels>", "name\tn", "k\t1", "other\t2"])
    check("md", re.findall(r"^### (.*)", must(KYMO, "query", "-f", "md", "--file", "r.sql", "t.kymo"), re.M)[0], "How many &lt;kernels&gt;")
    page = must(KYMO, "query", "-f", "html", "--file", "r.sql", "t.kymo")
    check("html: one page", (page.count("<!DOCTYPE"), page.count("<table>"), page.count("</html>")), (1, 3, 1))
    check("html: headings", re.findall("<h2>(.*?)</h2>", page), ["How many &lt;kernels&gt;", HEADINGS[1].replace("'", "&#39;"), "Nobody"])
    check("html: of the command line", must(KYMO, "query", "-f", "html", "t.kymo", "SELECT 1; SELECT 2").count("<!DOCTYPE"), 1)
    check("no heading on the command line", must(KYMO, "query", "-f", "csv", "t.kymo", "SELECT 1 AS a -- one").splitlines(), ["a", "1"])
    check("several traces", "other  4" in must(KYMO, "query", "--file", "r.sql", "t.kymo", "u.kymo"), True)


def folders():
    os.mkdir("reports")
    for name, text in (("b.sql", "SELECT 2 AS two"), ("a.sql", "-- First\nSELECT 1 AS one"), ("c.txt", "SELECT nonsense"), (".sql", "x")):
        write(os.path.join("reports", name), text)
    found = json.loads(must(KYMO, "query", "-f", "json", "--file", "reports", "t.kymo"))["results"]
    check("a folder", [r["name"] for r in found], ["First", "SELECT 2 AS two"])
    os.mkdir("empty")
    done = query("--file", "empty", "t.kymo")
    check("a folder without", (done.returncode, "NAME.sql" in done.stderr), (2, True))


def mistakes():
    write("wrong.sql", "SELECT 1;\n\n-- here\nSELECT name,\n  durattion FROM kernels;\n")
    done = query("--file", "wrong.sql", "t.kymo")
    check("a mistake", (done.returncode, "wrong.sql:5: no such column: durattion" in done.stderr, "  durattion FROM kernels;\n    ^" in done.stderr),
          (2, True, True))
    check("what came before is printed", done.stdout.split(), ["SELECT", "1", "1", "1"])
    write("late.sql", "SELECT 1;\nSELECT\n kymo_args('x', 'y', 'z');\n")
    done = query("--file", "late.sql", "t.kymo")
    check("of a function", (done.returncode, bool(re.search(r"late\.sql:[23]: ", done.stderr))), (2, True))
    write("runs.sql", "SELECT 1;\n\nSELECT abs(-9223372036854775808);\n")
    done = query("--file", "runs.sql", "t.kymo")
    check("while it runs", (done.returncode, "runs.sql:3: " in done.stderr, "overflow" in done.stderr), (2, True, True))
    write("zero.sql", "SELECT 1;\nSELECT \0 2")
    for path, said in (("nosuch.sql", "No such file"), ("zero.sql", "line 2")):
        done = query("--file", path, "t.kymo")
        check(path, (done.returncode, f"{path}: " in done.stderr and said in done.stderr), (2, True))
    check("no trace", query("--file", "r.sql").returncode, 2)
    check("SQL as well is no trace", query("--file", "r.sql", "t.kymo", "SELECT 1").returncode, 3)
    write("comment.sql", "-- nothing\n")
    check("nothing in it", (query("--file", "comment.sql", "t.kymo").stdout, query("-f", "json", "--file", "comment.sql", "t.kymo").stdout),
          ("", '{"results": []}\n'))


with kymotest.Folder() as folder:
    os.chdir(folder)
    for trace in ("t.kymo", "u.kymo"):
        subprocess.run([SYNTH, "timed", trace], check=True, text=True,
                       input="kernel k 64 1000 5000\nkernel other 64 7000 500\nkernel other 64 8000 500\nend 20000\n")
    write("r.sql", REPORT)
    forms()
    folders()
    mistakes()
    os.chdir("/")
sys.exit(1 if kymotest.wrong else 0)
