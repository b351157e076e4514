#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What records refer to is in every output, of several processes too, whose ids are all the same; what has no
device times has none in any output.

    references.py KYMO OCL_ERRORS"""
import csv
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
import references  # noqa: E402
import traced  # noqa: E402

KYMO, PROGRAM = (os.path.abspath(p) for p in sys.argv[1:3])
checks = traced.Checks()


def kymo(*words):
    run = traced.Run([KYMO, *words])
    if run.status:
        sys.exit(f"{words} gave {run.status}: {run.err}")
    return run.out


def rows(folder, name):
    with open(os.path.join(folder, name + ".csv"), encoding="utf-8", newline="") as f:
        return list(csv.DictReader(f))


def builds(trace, document, folder):
    """A build's options and log, of each process its own."""
    lists = document["trace"]
    wanted = traced.query(KYMO, trace, """SELECT a.pid, a.status, g.source_text AS source,
        (SELECT CAST(data AS TEXT) FROM blob WHERE id = kymo_arg(a.op, a.args, 'options')) AS options,
        (SELECT CAST(data AS TEXT) FROM blob WHERE id = kymo_arg(a.op, a.args, 'log')) AS log,
        (SELECT name FROM regions WHERE id = kymo_arg(a.op, a.args, 'correlation')) AS call
        FROM activities a LEFT JOIN (SELECT p.id, CAST(b.data AS TEXT) AS source_text
        FROM program p JOIN blob b ON b.id = p.source) g ON g.id = kymo_arg(a.op, a.args, 'program')
        WHERE a.category = 'code_object' ORDER BY a.start""")
    checks.equal("builds", len(wanted), 4)
    checks.equal("their calls", {w["call"] for w in wanted}, {"clBuildProgram"})
    checks.equal("failed ones have a log", [bool(w["log"]) for w in wanted], [False, True] * 2)
    got = []
    for r in (r for r in document["records"] if r.get("domain") == "code_object"):
        a, pid = r["args"], lists["processes"][lists["threads"][r["thread"]]["process"]]["pid"]
        texts = [lists["blobs"][a[k]]["text"] if a[k] else None for k in ("options", "log")]
        got.append({"pid": pid, "source": lists["programs"][a["program"]]["source"],
                    "options": texts[0], "log": texts[1]})
    checks.equal("JSON's builds", got, [{k: w[k] for k in ("pid", "source", "options", "log")} for w in wanted])
    lines = [r["arguments"] for r in rows(folder, "others") if r["domain"] == "code_object"]
    agent = lists["agents"][1]["label"]
    for line, w in zip(lines, wanted):
        checks.equal("CSV names the device", f"; agent={agent};" in line, True)
        checks.equal("CSV has the options", 'options="-DNOTHING=1"' in line, bool(w["options"]))
        checks.equal("CSV has the log", ('log="' + (w["log"] or "-").split("\n", maxsplit=1)[0]) in line, bool(w["log"]))
    shown = [x for x in kymo("show", trace).splitlines() if "code_object:build(" in x]
    checks.equal("show has them", len(shown), 4)
    for line, w in zip(shown, wanted):
        checks.equal("show names the device", f", agent={agent}," in line, True)
        checks.equal("show has the log", ('log="' + (w["log"] or "-").split("\n", maxsplit=1)[0]) in line, bool(w["log"]))


def contexts(trace, document, folder):
    """Of allocations, in all outputs."""
    sql = [(r["pid"], r["h"]) for r in traced.query(KYMO, trace, """SELECT pid,
        printf('0x%x', context_handle) AS h FROM memory_allocations WHERE context_id ORDER BY start""")]
    lists = document["trace"]
    checks.equal("allocations have contexts", (len(sql), len({p for p, _ in sql})), (4, 2))
    checks.equal("contexts in CSV", [(int(r["pid"]), r["context"]) for r in rows(folder, "allocations")], sql)
    checks.equal("contexts in JSON",
                 [(lists["processes"][lists["threads"][r["thread"]]["process"]]["pid"],
                   lists["contexts"][r["context"]]["handle"])
                  for r in document["records"] if r["kind"] == "allocation"], sql)
    shown = re.findall(r"allocation:\w+ .* context=(\S+)", kymo("show", trace))
    checks.equal("contexts in show", sorted(shown), sorted(h for _, h in sql))


def untimed(trace, document, folder):
    """A read of what failed, in each process."""
    sql = traced.query(KYMO, trace, "SELECT start, end, duration, queued, submitted, untimed_name AS why FROM memory_copies")
    nothing = dict.fromkeys(("start", "end", "duration", "queued", "submitted"))
    checks.equal("in SQL", sql, [dict(nothing, why="command failed")] * 2)
    records = [r for r in document["records"] if r["kind"] == "copy"]
    checks.equal("in JSON", [(r["start"], r["end"], r["untimed"], "queued" in r) for r in records],
                 [(None, None, "command failed", False)] * 2)
    lines = rows(folder, "copies")
    checks.equal("in CSV", [{k: r[k] for k in nothing} for r in lines], [dict.fromkeys(nothing, "")] * 2)
    checks.equal("the reason in CSV", [r["untimed"] for r in lines], ["command failed"] * 2)
    checks.equal("when the host heard of them", [int(r["collected"]) for r in lines], [r["collected"] for r in records])
    checks.equal("which is a time", all(r["collected"] > 0 for r in records), True)
    checks.equal("in show", kymo("show", trace).count("[no device time: command failed]"), 2)


def main():
    with kymotest.Folder(prefix="kymo-references-") as folder:
        trace, out = folder + "/t.kymo", folder + "/csv"
        run = traced.record(KYMO, trace, ["sh", "-c", f"{PROGRAM} >/dev/null && {PROGRAM} >/dev/null"], folder)
        if run.status == traced.SKIPPED:
            return traced.SKIPPED
        checks.equal("the programs", run.status, 0)
        kymo("export", "--to", "json", "-o", folder + "/t.json", trace)
        kymo("export", "--to", "csv", "-o", out, trace)
        with open(folder + "/t.json", encoding="utf-8") as f:
            document = json.load(f)
        problems, met = references.check(document)
        checks.equal("references", problems, [])
        checks.equal("met", {k for k in met if k[0] == "build"},
                     {("build", f) for f in ("program", "agent", "options", "log")})
        checks.equal("of allocations", met.get(("allocate", "context")), 2)
        builds(trace, document, out)
        contexts(trace, document, out)
        untimed(trace, document, out)
    return checks.status(35)


if __name__ == "__main__":
    sys.exit(main())
