#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kymo query and kymo summary on a synthetic trace whose numbers are known.

Each queries/NAME.sql is run on the demo trace; what it prints must equal queries/NAME.csv.
KYMO_UPDATE=1 writes the .csv files anew: look at the difference before it is committed."""
import csv
import glob
import io
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402

KYMO, SYNTH = sys.argv[1:3]
HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "queries")
failures = []


def check(what, ok, detail=""):
    if not ok:
        failures.append(what)
        print("FAILED: %s\n%s" % (what, detail))


def kymo(*words, program=KYMO, **how):
    got = subprocess.run([program, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **how)
    got.stdout = got.stdout.decode("utf-8")  # as it is: CSV lines end in CR LF
    got.stderr = got.stderr.decode("utf-8")
    return got


def golden(trace):
    names = sorted(glob.glob(os.path.join(HERE, "*.sql")))
    check("there are queries", len(names) > 5)
    for name in names:
        with open(name, encoding="utf-8") as f:
            got = kymo("query", "--format", "csv", trace, f.read())
        expected = name[:-4] + ".csv"
        if os.environ.get("KYMO_UPDATE"):
            with open(expected, "w", encoding="utf-8", newline="") as f:
                f.write(got.stdout)
        with open(expected, encoding="utf-8", newline="") as f:
            text = f.read()
        check(os.path.basename(name), got.returncode == 0 and got.stdout == text,
              "%s\nexpected:\n%s\ngot:\n%s" % (got.stderr, text, got.stdout))


def plain_sqlite(trace):
    """Known SQL works on the file without Kymo, with any SQLite."""
    import sqlite3
    db = sqlite3.connect("file:%s/store.db?mode=ro" % trace, uri=True)
    for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'view'").fetchall():
        db.execute('SELECT * FROM "%s"' % name).fetchall()
    check("regions", db.execute("SELECT count(*) FROM regions").fetchone()[0] ==
          db.execute("SELECT count(*) FROM call").fetchone()[0])
    check("kernels join their call", db.execute(
        "SELECT count(*) FROM kernels WHERE region = 'launch'").fetchone()[0] > 0)


def formats(trace):
    text = kymo("summary", trace)
    check("summary", text.returncode == 0 and "Kernels:" in text.stdout, text.stderr)
    check("no line ends in a space", not any(l.endswith(" ") for l in text.stdout.split("\n")))
    table = json.loads(kymo("summary", "-f", "json", trace).stdout)
    rows = list(csv.DictReader(io.StringIO(kymo("summary", "-f", "csv", trace).stdout)))
    for t in table["tables"]:
        mine = [r for r in rows if r["table"] == t["name"]]
        check("csv and json agree on " + t["name"], len(mine) == len(t["rows"]))
        for a, b in zip(t["rows"], mine):
            for key, value in a.items():
                check("%s %s" % (t["name"], key),
                      b[key] == ("" if value is None else b[key]) and
                      (value is None or isinstance(value, str) and b[key] == value.replace("\n", "\\n") or
                       not isinstance(value, str) and float(b[key]) == value), "%s %s" % (a, b))
    for t in table["tables"]:
        check("markdown has " + t["title"], t["title"] in kymo("summary", "-f", "md", trace).stdout)
    for by in ("thread", "process", "rank", "device", "queue", "trace", "process,thread,op"):
        got = kymo("summary", "--by", by, trace)
        check("--by " + by, got.returncode == 0 and len(got.stdout) > 100, got.stderr)


def mistakes(trace):
    for words, status, said in (
            (("summary",), 2, "which trace"),
            (("summary", "--by", "colour", trace), 2, "colour"),
            (("summary", "/nonexistent"), 3, "/nonexistent"),
            (("summary", "/etc/passwd"), 3, "/etc/passwd"),
            (("query", trace), 2, "SQL"),
            (("query", trace, "SELECT wrong FROM regions"), 2, "no such column: wrong"),
            (("query", "/nonexistent", "SELECT 1"), 3, "/nonexistent"),
            (("query", "/etc/passwd", "SELECT 1"), 3, "/etc/passwd"),
            (("query", trace, "DROP TABLE call"), 2, "readonly")):
        got = kymo(*words)
        check(" ".join(words), got.returncode == status and said in got.stderr and not got.stdout,
              "status %d\n%s%s" % (got.returncode, got.stdout, got.stderr))
    check("--schema", "CREATE TABLE call(" in kymo("query", "--schema").stdout)


def read_only(folder):
    trace = os.path.join(folder, "read-only")
    subprocess.run([SYNTH, "demo", trace], check=True)
    os.chmod(folder, 0o755)
    os.chmod(trace, 0o555)
    # Another user, to whom the build's own folder may be closed.
    how = {"user": 65534} if os.getuid() == 0 else {}
    copy = shutil.copy(KYMO, os.path.join(folder, "kymo"))
    try:
        got = kymo("query", "-f", "csv", trace, "SELECT count(*) > 0 AS n FROM call", program=copy, **how)
    finally:
        os.chmod(trace, 0o755)
    check("read-only trace", got.returncode == 0 and got.stdout == "n\r\n1\r\n" and
          "cannot be written to" in got.stderr, got.stdout + got.stderr)
    check("no store is left", not os.path.exists(os.path.join(trace, "store.db")))


with kymotest.Folder(prefix="kymo-sql-") as folder:
    trace = os.path.join(folder, "demo")
    subprocess.run([SYNTH, "demo", trace], check=True)
    golden(trace)
    plain_sqlite(trace)
    formats(trace)
    mistakes(trace)
    read_only(folder)
sys.exit("%d failed" % len(failures) if failures else 0)
