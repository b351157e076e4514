#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `kymo view` tells of single records: of every slice of a trace with a record of every kind, and of calls with sites and stacks, all fields as
`kymo export --to jsonl`, `kymo show` and SQL have them.

    record.py KYMO SYNTH EVERY_KIND"""
import gzip
import json
import os
import sys
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import kymotest  # noqa: E402
import page_file  # noqa: E402
from kymotest import expect, must  # noqa: E402
from view import KYMO, SYNTH, View  # noqa: E402

EVERY = os.path.abspath(sys.argv[3])
checks = kymotest.Checks()
KINDS_OF_CALLS = ("sync", "allocation", "dispatch", "copy")


class Served(page_file.Page):
    """The page as `kymo view` has it."""

    def __init__(self, view):
        self.view, self.unpacked = view, {}
        self.head = json.loads(view.ask("/head.json")[2])

    def section(self, n):
        return gzip.decompress(self.view.ask(f"/section/{n}")[2])

    def slices_with_ids(self, row):
        for b in self.head["rows"][row]["blocks"]:
            count, columns = self.columns(b[4])
            for s, number in zip(self.block(b), columns.get(6, [0] * count)):
                yield s, number

    def record(self, row, s, number):
        track = self.head["tracks"][self.head["rows"][row]["track"]]
        work = track["kind"] in ("device", "queue")
        about = {"process": track["process"], "start": s[0], "end": s[1], "id": number, "work": int(work),
                 "queue" if work else "thread": track["number"]}
        status, headers, body = self.view.ask("/record?" + urllib.parse.urlencode(about))
        checks.equal("answer", (status, headers["content-type"]), (200, "application/json"))
        return track, work, json.loads(body)


def told(trace):
    """Lines of `kymo show`, records of `kymo export`, with the process of each."""
    shown = {line.strip() for line in must(KYMO, "show", trace).splitlines()}
    lines = [json.loads(line) for line in must(KYMO, "export", "--to", "jsonl", "-o", "-", trace).splitlines()]
    threads = {d["index"]: d for d in lines if d.get("definition") == "thread"}
    records = [r for r in lines if "kind" in r and r["kind"] not in ("process_end", "not_recorded", "end", "unfinished")]
    for r in records:
        r["of"] = threads.get(r.get("thread"), {}).get("process", 0)
    return shown, records, lines


def without(record):
    return {k: v for k, v in record.items() if k != "of"}


def belongs(record, number):
    args = record.get("args", {})
    calls = [record.get("correlation"), args.get("correlation"), args.get("completed_by")]
    return number in calls and (record["kind"] in KINDS_OF_CALLS or record["domain"] in ("comm", "mpi", "counter"))


def compare(view, trace):
    page, (shown, records, _) = Served(view), told(trace)
    kinds, seen = {}, 0
    for row in range(len(page.head["rows"])):
        for s, number in page.slices_with_ids(row):
            op = page.head["ops"][s[2]]
            track, work, got = page.record(row, s, number)
            if op["kind"] in ("loss", "pause"):
                checks.equal("what was not recorded has no record", got["records"], [])
                continue
            what = f"{op['domain']} {page.name(s[2])} at {s[0]}"
            mine = [r for r in records if r["of"] == track["process"] and (r["start"], r["end"] if r["kind"] != "open_call" else s[1]) == (s[0], s[1])
                    and (r["kind"] in ("dispatch", "copy")) == work]
            found = [r["record"] for r in got["records"]]
            expect(found, what, "no record")
            for r in got["records"]:
                checks.equal(f"{what}: as exported", [without(m) for m in mine if without(m) == r["record"]], [r["record"]])
                checks.equal(f"{what}: as shown", r["line"].strip() in shown, True)
                checks.equal(f"{what}: arguments", [a[0] for a in r.get("arguments", [])], list(r["record"].get("args", {})))
                kinds[r["record"]["kind"]] = kinds.get(r["record"]["kind"], 0) + 1
            if number and not work and op["kind"] == "call":
                wanted = sorted(json.dumps(without(r), sort_keys=True) for r in records if r["of"] == track["process"] and belongs(r, number))
                checks.equal(f"{what}: what belongs to it", sorted(json.dumps(r["record"], sort_keys=True) for r in got["related"]), wanted)
                checks.equal(f"{what}: all of it", got["whole"], True)
            seen += 1
    return kinds, seen


def against_sql(view, trace):
    """Sites and arguments of calls by SQL."""
    page = Served(view)
    rows = json.loads(must(KYMO, "query", "--format", "json", trace, "SELECT id & 0xffffffffff AS number, name, function, file, line, kymo_args(id) AS args, start, status FROM regions"))
    rows = rows["rows"] if isinstance(rows, dict) else rows
    by = {(r["number"], r["start"]): r for r in rows}
    several = 0
    for row in range(len(page.head["rows"])):
        for s, number in page.slices_with_ids(row):
            if page.head["ops"][s[2]]["kind"] != "call" or (number, s[0]) not in by:
                continue
            sql, got = by[number, s[0]], page.record(row, s, number)[2]["records"][0]
            checks.equal("name", got["record"]["op"], sql["name"])
            checks.equal("status", got["record"]["status"], sql["status"])
            site = got.get("site", {})
            checks.equal("call site", (site.get("function", "").split("(")[0] or None, site.get("file"), site.get("line")),
                         ((sql["function"] or "").split("(")[0] or None, sql["file"], sql["line"] or None))
            args = json.loads(sql["args"]) if isinstance(sql["args"], str) else sql["args"] or {}
            checks.equal("names of arguments", [a[0] for a in got["arguments"]], list(args))
            several += 1
    return several


def main():
    with kymotest.Folder() as folder:
        trace = os.path.join(folder, "every.kymo")
        must(EVERY, trace)
        with View(trace) as view:
            kinds, seen = compare(view, trace)
            for kind in ("call", "dispatch", "copy", "marker", "other"):
                expect(kinds.get(kind, 0) >= 2, kind, kinds)
            expect(seen > 20, seen)
            expect(against_sql(view, trace) >= 2, "calls by SQL")
        trace = os.path.join(folder, "demo.kymo")
        must(SYNTH, "demo", trace)
        with View(trace) as view:
            kinds, _ = compare(view, trace)
            expect(kinds.get("open_call"), kinds)
    return checks.status(100)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except kymotest.Failure as e:
        print(e)
        sys.exit(1)
