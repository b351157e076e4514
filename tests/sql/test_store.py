#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The manual of the store is true, names stand beside numbers, mistakes are explained, and other programs
can use the functions.

    test_store.py KYMO SYNTH EXTENSION MANUAL PROGRAM"""
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402

KYMO, SYNTH, EXTENSION, MANUAL, PROGRAM = sys.argv[1:6]
failures = []


def check(what, ok, detail=""):
    if not ok:
        failures.append(what)
        print("FAILED: %s\n%s" % (what, detail))


def kymo(*words):
    return subprocess.run([KYMO, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=300, check=False)


def query(trace, sql):
    got = kymo("query", "-f", "json", trace, sql)
    if got.returncode:
        sys.exit("%s: status %d\n%s" % (sql, got.returncode, got.stderr))
    return json.loads(got.stdout)


def manual(traces):
    with open(MANUAL, encoding="utf-8") as f:
        text = f.read()
    examples = re.findall(r"```sql\n(.*?)```", text, re.S)
    check("there are examples", len(examples) >= 6)
    for sql in examples:
        rows = [len(query(t, sql)) for t in traces]
        check("an example finds something", any(rows), sql)
    words = set(re.findall(r"`(\w+)`", text))
    for row in query(traces[0], "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')"):
        check("the manual has " + row["name"], row["name"] in words)


PAIRS = {"memory_copies": ("source_kind", "destination_kind", "untimed"),
         "memory_allocations": ("kind", "what"), "memory_allocation_summary": ("kind", "what")}


def views(trace):
    """Every view can be asked with the protection that strangers' stores get."""
    for row in query(trace, "SELECT name FROM sqlite_schema WHERE type = 'view'"):
        query(trace, 'SELECT * FROM "%s" LIMIT 3' % row["name"])


def names(trace, pairs):
    """Each number that stands for a name has it beside it, and it is the right one."""
    sets = {"source_kind": "memory_kind", "destination_kind": "memory_kind", "kind": "memory_kind",
            "what": "allocation_what", "untimed": "untimed_reason"}
    meaning = {(r["set_name"], r["value"]): r["name"]
               for r in query(trace, "SELECT set_name, value, name FROM enum_value")}
    for view, columns in pairs.items():
        rows = query(trace, "SELECT * FROM " + view)
        check(view + " has rows", rows)
        for c in columns:
            check("%s.%s_name" % (view, c), [r for r in rows if r[c + "_name"] is None or
                  r[c + "_name"] != meaning[sets[c], r[c]]] == [], rows[:2])


def statuses(trace):
    for row in query(trace, "SELECT status_name, kymo_status(op, status) AS wanted FROM regions"):
        check("regions.status_name", row["status_name"] == row["wanted"], row)
    got = query(trace, "SELECT DISTINCT status_name FROM regions")
    check("statuses have names", got == [{"status_name": "CL_SUCCESS"}], got)
    rows = query(trace, "SELECT DISTINCT queue_name, agent_name FROM syncs WHERE name = 'queue'")
    check("syncs name queue and device", rows and all(r["queue_name"] and r["agent_name"]
                                                     for r in rows), rows)
    rows = query(trace, "SELECT how_ended_name FROM processes")
    check("how processes ended", rows == [{"how_ended_name": "ended"}], rows)


def mistakes(trace):
    for sql, wanted in (("SELECT nme FROM kernels", '"name"'),
                        ("SELECT k.duratoin FROM kernels k", '"duration"'),
                        ("SELECT * FROM kernnels", '"kernels"'),
                        ("SELECT kymo_stat(1, 2)", '"kymo_status"')):
        got = kymo("query", trace, sql)
        check(sql, got.returncode == 2 and "did you mean " + wanted in got.stderr and
              "--schema" in got.stderr, got.stderr)
    # What was typed is not offered as its own repair: where it is a column is told.
    got = kymo("query", trace, "SELECT k.duration FROM kernels")
    check("its own repair", "did you mean" not in got.stderr and "kernels" in got.stderr.partition("it is a column of")[2], got.stderr)
    got = kymo("query", trace, "SELECT zzzzzzzz FROM kernels")
    check("nothing near", "did you mean" not in got.stderr and "--schema" in got.stderr, got.stderr)


SQL = "SELECT id, name, kymo_status(op, status) AS s, kymo_args(id) AS a FROM regions ORDER BY id"
ARGUMENTS = "SELECT count(*) AS n, count(DISTINCT name) AS names FROM region_args"


def by_python(trace):
    import sqlite3
    db = sqlite3.connect("file:%s/store.db?mode=ro" % trace, uri=True)
    if not hasattr(db, "enable_load_extension"):
        return False
    db.enable_load_extension(True)
    db.load_extension(os.path.splitext(EXTENSION)[0])
    for sql in (SQL, ARGUMENTS):
        check("python: " + sql, db.execute(sql).fetchall() ==
              [tuple(r.values()) for r in query(trace, sql)])
    db.close()
    none = sqlite3.connect(":memory:")
    none.enable_load_extension(True)
    none.load_extension(os.path.splitext(EXTENSION)[0])
    try:
        none.execute("SELECT kymo_status(1, 1)").fetchall()
        check("python: no store", False)
    except sqlite3.OperationalError as e:
        check("python: no store", "no store of Kymo" in str(e), e)
    return True


def by_tool(trace):
    if not shutil.which("sqlite3"):
        return False
    done = subprocess.run(["sqlite3", "-batch", "-readonly", trace + "/store.db"], text=True,
                          input=".load %s\n.mode json\n%s;\n" % (os.path.splitext(EXTENSION)[0], SQL),
                          capture_output=True, check=False)
    check("sqlite3 closes the database", done.returncode == 0 and not done.stderr, done.stderr)
    check("sqlite3: the same", json.loads(done.stdout or "[]") == query(trace, SQL), done.stdout[:500])
    return True


with kymotest.Folder() as folder:
    demo, real = folder + "/demo.kymo", folder + "/real.kymo"
    subprocess.run([SYNTH, "demo", demo], check=True)
    ran = kymo("run", "--no-summary", "-o", real, PROGRAM)
    if ran.returncode:
        sys.exit("status %d\n%s" % (ran.returncode, ran.stderr))
    manual([demo, real])
    views(demo)
    views(real)
    names(real, PAIRS)
    names(demo, {"kernels": ("untimed",)})
    statuses(real)
    mistakes(demo)
    used = [f.__name__ for f in (by_python, by_tool) if f(demo) and f(real)]
    print("extension tried: %s" % (", ".join(used) or "nowhere: no SQLite here loads extensions"))
print("%d failed" % len(failures))
sys.exit(1 if failures else 0)
