#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""JSON lines: each line alone is JSON, together they are what the JSON document has, and a cut file is noticed.

    json_lines.py KYMO KYMO_SYNTH OCL_TWO PROFILES_PROGRAM ANNOTATED"""
import collections
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
import mixed  # noqa: E402
from kymotest import check, must, query  # noqa: E402

KYMO, SYNTH, TWO, THREADS, ANNOTATED = (os.path.abspath(p) for p in sys.argv[1:6])
TABLES = {"call": "call", "dispatch": "dispatch", "copy": "copy", "allocation": "allocation", "sync": "sync", "marker": "marker"}


def without(d, *keys):
    return {k: v for k, v in d.items() if k not in keys}


def definitions(lines, document):
    """The document's lists, of its definitions, from the lines of each."""
    got = collections.defaultdict(dict)
    for line in lines:
        if "definition" in line:
            got[line["definition"]][line["index"]] = without(line, "definition", "index")
    for listed in [k for k, v in document["trace"].items() if isinstance(v, list)]:
        kind = "process" if listed == "processes" else listed[:-1]
        first = 0 if listed == "references" else 1
        wanted = {i + 1 - first: x for i, x in enumerate(document["trace"][listed]) if i >= first}
        if listed == "strings":
            wanted = {i: {"text": x} for i, x in wanted.items()}
        if listed == "stack_ends":  # of a stack, in its line
            continue
        if listed == "stacks":
            ends = document["trace"]["stack_ends"]
            check("an end for each stack", len(ends), len(document["trace"]["stacks"]))
            wanted = {i: {"sites": x, **({"end": ends[i]} if ends[i] else {})} for i, x in wanted.items()}
        check(listed, got.pop(kind, {}), wanted)
    check("definitions that the document has not", dict(got), {})


def same(trace):
    """The lines, which are what the document has."""
    must(KYMO, "export", "-f", "--to", "json", "-o", "t.json", trace)
    done = subprocess.run([KYMO, "export", "--to", "jsonl", "-o", "-", trace], capture_output=True, check=True)
    with open("t.json", encoding="utf-8") as f:
        document = json.load(f)
    texts = done.stdout.decode("utf-8").split("\n")
    check("the last line ends", texts.pop(), "")
    lines = [json.loads(x) for x in texts]
    check("head", lines[0], {"kymo": document["kymo"], "trace": {k: v for k, v in document["trace"].items()
                                                                  if not isinstance(v, list)}})
    definitions(lines[1:], document)
    kinds = collections.defaultdict(list)
    for line in lines[1:]:
        if "definition" not in line:
            kinds[line["kind"]].append(line)
    end = document["end"]
    for kind, wanted in (("open_call", end["open_calls"]), ("unfinished", end["unfinished"]),
                         ("not_recorded", end["not_recorded"]), ("process_end", end["processes"][1:])):
        check(kind, [without(x, "kind", "index") for x in kinds.pop(kind, [])], wanted)
    total = kinds.pop("end")
    check("one end, which is last", total, [lines[-1]])
    check("records", [x for x in lines if x.get("kind") in kinds], document["records"])
    check("totals", lines[-1], {"kind": "end", "end_ns": end["end_ns"], "records": len(document["records"]),
                                "lost_records": sum(p["lost_records"] for p in end["processes"][1:]),
                                "overwritten_records": sum(p["overwritten_records"] for p in end["processes"][1:]),
                                "lines": len(lines)})
    return lines, kinds


def counts(trace, kinds):
    for kind, table in TABLES.items():
        check(f"{trace}: {kind}", len(kinds.get(kind, [])), query(KYMO, trace, f"SELECT count(*) AS n FROM {table}")[0]["n"])


def main():
    with kymotest.Folder() as folder:
        os.chdir(folder)
        mixed.record(KYMO, TWO, THREADS, ANNOTATED)
        lines, kinds = same("all.kymo")
        counts("all.kymo", kinds)
        check("kinds", {"call", "dispatch", "copy", "allocation", "sync", "marker", "other"} - set(kinds), set())
        check("ranks", [x["rank"] for x in lines if x.get("definition") == "process" and "rank" in x], [0, 1])
        must(SYNTH, "demo", "demo.kymo")  # with losses, open calls, unfinished work, calls left out
        lines, kinds = same("demo.kymo")
        check("losses", len(kinds["loss"]) > 0 and lines[-1]["lost_records"], 17)
        mixed.record_hostile(SYNTH)
        lines, kinds = same("names.json")
        check("names of kernels", [x["kernel_name"] for x in kinds["dispatch"]], mixed.HOSTILE)
        check("names of ranges", [x["name"] for x in kinds["marker"]], mixed.HOSTILE)
        lines, _ = same("bytes.kymo")
        check("no text", mixed.NO_TEXT_READ in [x["name"] for x in lines if x.get("definition") == "kernel"], True)
        os.chdir("/")
    return 1 if kymotest.wrong else 0


sys.exit(main())
