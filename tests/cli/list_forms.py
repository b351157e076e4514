#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each list in each form says the same: list_forms.py KYMO"""
import csv
import html.parser
import io
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import check, must, run  # noqa: E402

KYMO = os.path.abspath(sys.argv[1])
CHANGES = {"telemetry", "keys", "counters"}  # values that are others when they are asked for again
# These have more in JSON than a table holds.
OWN_JSON = {"devices": "devices", "telemetry": "values"}
OTHERS = {"recordings"} # of other tests, or none


class Rows(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.rows, self.inside = [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
            self.inside = True

    def handle_endtag(self, tag):
        self.inside &= tag not in ("td", "th")

    def handle_data(self, data):
        if self.inside:
            self.rows[-1][-1] += data


def listed(topic, form, *words):
    return must(KYMO, "list", topic, *words, "-f", form)


def forms(topic, *words):
    rows = list(csv.reader(io.StringIO(listed(topic, "csv", *words), newline="")))
    check(f"{topic}: has rows, all as wide as their heading", (len(rows) > 1, {len(r) for r in rows}), (True, {len(rows[0])}))
    check(f"{topic}: no column without a name", "" in rows[0] or len(set(rows[0])) != len(rows[0]), False)
    names = [r[0] for r in rows]
    kept = slice(0, 1) if topic in CHANGES else slice(None)
    tsv = [line.split("\t") for line in listed(topic, "tsv", *words).splitlines()]
    check(f"{topic}: tsv", [r[kept] for r in tsv], [r[kept] for r in rows])
    check(f"{topic}: html", [r[kept] for r in Rows(listed(topic, "html", *words)).rows][:len(rows)], [r[kept] for r in rows])
    found = json.loads(listed(topic, "json", *words))
    if topic in OWN_JSON:
        check(f"{topic}: json", len(found[OWN_JSON[topic]]), len(rows) - 1)
    else:
        check(f"{topic}: json", [[x or "" for x in r.values()][kept] for r in found["tables"][0]["rows"]], [r[kept] for r in rows[1:]])
    lines = [line for line in listed(topic, "md", *words).splitlines() if line.startswith("|")]
    check(f"{topic}: md", len(lines), len(rows) + 1)
    text = listed(topic, "text", *words)
    check(f"{topic}: text", [n for n in names[1:] if n and n not in text], [])
    check(f"{topic}: text without -f", len(must(KYMO, "list", topic, *words).splitlines()), len(text.splitlines()))


def refused():
    for words, said in ((("backends", "-f", "xml"), '"xml"'), (("backends", "-f"), '""'), (("backends", "--format=pdf"), '"pdf"'),
                        (("options", "--config", "-f", "csv"), "--config"), (("presets", "nosuch", "-f", "md"), "nosuch")):
        done = run(KYMO, "list", *words)
        check(f"{words}: refused", (done.returncode, said in done.stderr, done.stdout), (2, True, ""))
    for words in (("-fcsv",), ("--format=csv",), ("--format", "csv")):
        check(f"{words}", must(KYMO, "list", "backends", *words).splitlines()[0], "name,description")


def options():
    rows = list(csv.DictReader(io.StringIO(listed("options", "csv"), newline="")))
    row = next(r for r in rows if (r["command"], r["option"]) == ("summary", "top"))
    check("an option", (row["variable"], row["default"]), ("KYMO_SUMMARY_TOP", "10"))
    check("a variable without one", any(not r["option"] and r["variable"] == "KYMO_PAGER" for r in rows), True)


topics = [line.split()[0] for line in must(KYMO, "list").splitlines() if line.startswith("  ")]
check("topics", len(topics) >= 11, True)
for each in topics:
    if each not in OTHERS:
        forms(each)
forms("presets", "gpu")
refused()
options()
sys.exit(1 if kymotest.wrong else 0)
