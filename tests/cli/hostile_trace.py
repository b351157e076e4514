#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Traces that somebody prepared: no command waits for a pipe, believes a database of other tables or
losses that cannot be, runs without end, or keeps still about a file that it could not read.

    hostile_trace.py KYMO SYNTH"""
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402

KYMO, SYNTH = sys.argv[1:3]
failures = []
READERS = (["summary"], ["info"], ["show"], ["query"], ["export", "--to", "json", "-o", "-"],
           ["export", "--to", "perfetto", "-o", "-"])


def check(what, ok, detail=""):
    if not ok:
        failures.append(what)
        print("FAILED: %s\n%s" % (what, detail))


def kymo(*words):
    return subprocess.run([KYMO, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=100, text=True, errors="replace",
                          check=False)


def demo(folder, name, store=False):
    path = os.path.join(folder, name + ".kymo")
    subprocess.run([SYNTH, "demo", path], check=True)
    if store:
        check("a store", kymo("query", path, "SELECT 1").returncode == 0)
    return path


def readers(trace):
    for words in READERS:
        sql = ["SELECT count(*) FROM call"] if words[0] == "query" else []
        yield words[0], kymo(*words, trace, *sql)


def replace_by(what, make, statuses, said):
    """`what` of a trace becomes what `make` makes: every command ends, with that status, and says it."""
    with kymotest.Folder() as folder:
        trace = demo(folder, "t", store=what == "store.db")
        path = os.path.join(trace, what)
        if what.endswith(".kyr"):
            path = os.path.join(trace, "raw", sorted(os.listdir(trace + "/raw"))[0])
        if os.path.exists(path):
            os.remove(path)
        make(path)
        for i, (name, got) in enumerate(list(readers(trace)) + list(readers(trace))):
            check("%s, %s is a %s: status" % (name, what, make.__name__),
                  got.returncode in statuses, (got.returncode, got.stderr))
            check("%s, %s is a %s: said" % (name, what, make.__name__),
                  said is None or said in got.stderr or
                  # the store that the first round made has what the manifest says
                  (i >= len(READERS) and said == "manifest.json"), got.stderr)
            check("%s, %s is a %s: read" % (name, what, make.__name__), got.stdout, got.stderr)


def socket(path):
    import socket as s
    here = os.getcwd()
    os.chdir(os.path.dirname(path))
    s.socket(s.AF_UNIX).bind(os.path.basename(path))
    os.chdir(here)


def device(path):
    os.symlink("/dev/zero", path)


def text(path):
    with open(path, "w", encoding="ascii") as f:
        f.write("this is none\n" * 100)


def unreadable(path):
    os.symlink("/nonexistent/file", path)


def spoilt(folder, what, *sql):
    """A store that agrees with its raw files, but is not as Kymo makes it."""
    trace = demo(folder, what.replace(" ", "-"), store=True)
    good = kymo("summary", trace).stdout
    db = sqlite3.connect(trace + "/store.db")
    for statement in sql:
        db.execute(statement)
    db.commit()
    db.close()
    for name, got in readers(trace):
        check("%s, store with %s" % (name, what), got.returncode == 0 and got.stdout,
              (got.returncode, got.stderr))
    check("numbers of a store with " + what, kymo("summary", trace).stdout == good)


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id, "


def stores(folder):
    spoilt(folder, "a view for a table", "DROP TABLE tally_call", "CREATE VIEW tally_call AS " +
           ENDLESS + "1 process, 1 thread, 1 op, 1 calls, 0 errors, 1 total, 1 self, 1 min, "
           "1 max FROM n")
    spoilt(folder, "endless metadata", "ALTER TABLE metadata RENAME TO m",
           "CREATE VIEW metadata AS " + ENDLESS + "'x' tag, 'y' value FROM n")
    spoilt(folder, "an endless view", "DROP VIEW regions", "CREATE VIEW regions AS " + ENDLESS +
           "1 AS x FROM n")
    spoilt(folder, "a trigger", "CREATE TRIGGER t AFTER INSERT ON call BEGIN SELECT 1; END")
    spoilt(folder, "another column", "ALTER TABLE kernel ADD COLUMN x")
    for column in ("process SET lost_records", "process SET lost_definitions", "process SET untimed",
                   "thread SET lost", "tally_loss SET calls", "tally_loss SET gaps", "loss SET count"):
        for value in ("-1", "1 << 62", "9.5e18", "'many'"):
            spoilt(folder, column.replace(" ", "-") + value.replace(" ", ""), "UPDATE %s = %s" % (column, value))
    spoilt(folder, "a table more", "CREATE TABLE x(y)")
    trace = demo(folder, "lone", store=True)
    lone = folder + "/lone.db"
    shutil.copy(trace + "/store.db", lone)
    check("a store alone", kymo("summary", lone).returncode == 0)
    db = sqlite3.connect(lone)
    for value, ok in ((2**53, True), (2**53 + 1, False), (-1, False), (0, True)):
        db.execute("UPDATE process SET lost_records = %d WHERE id = 1" % value)
        db.commit()
        got = kymo("summary", lone)
        check("a store alone, %d lost" % value, (got.returncode == 0) == ok and
              (ok or "damaged" in got.stderr), (got.returncode, got.stderr))
    db.execute("CREATE VIEW evil AS " + ENDLESS + "1 AS x FROM n")
    db.commit()
    db.close()
    for words in (["summary", lone], ["query", lone, "SELECT 1"]):
        got = kymo(*words)
        check("a store alone, with a view more", got.returncode >= 3 and "not those" in got.stderr,
              (got.returncode, got.stderr))


def losing(folder, each, end, damaged=0):
    trace = os.path.join(folder, "losses %d.kymo" % len(os.listdir(folder)))
    subprocess.run([SYNTH, "losses", trace, str(each), str(end), str(damaged)], check=True)
    return trace


def written(n):
    """How a number may stand in an output, as it is and as one with a sign."""
    both = {n % 2**64, n % 2**64 - 2**64 if n % 2**64 >= 2**63 else n}
    return {f for x in both if abs(x) > 2**53 for f in (str(x), "{:,}".format(x))}


def totals(trace):
    got = kymo("query", "--format", "csv", trace, "SELECT sum(lost_records), sum(lost_definitions), "
               "sum(damaged_blocks), (SELECT sum(lost) FROM thread), (SELECT sum(count) FROM loss) "
               "FROM process").stdout.splitlines()
    return [int(x or 0) for x in got[1].split(",")] if len(got) == 2 else got


def counted(folder):
    """Two threads that each lost something, and an end that says so: what can be is believed."""
    for each, end, lost in ((17, 34, 34), (17, 40, 40), (17, 0, 34), (999999999, 0, 1999999998)):
        trace = losing(folder, each, end)
        for path in (trace, trace + "/store.db"): # from the raw files, from the store
            kymo("query", trace, "SELECT 1")
            said = kymo("summary", path).stdout
            check("lost %d" % lost, "Lost: {:,} records".format(lost) in said and
                  "damaged" not in said, said)
            check("totals of %d" % lost, totals(trace) == [lost, end, 0, 2 * each, lost],
                  totals(trace))
        shown = re.findall(r"\*\*\* (\d+) records", kymo("show", trace).stdout)
        check("lines of %d" % lost, sum(map(int, shown)) == lost, shown)


def lost_at_the_end(folder):
    """What was lost after the last chunk that was kept makes findings doubtful as well; a little is told."""
    trace = losing(folder, 17, 4000)
    got = kymo("diagnose", "--fail-on", "recording", trace)
    check("most is lost", got.returncode == 1 and "4,000 of 4,0" in got.stdout, got.stdout)
    got = kymo("export", "--to", "json", "-o", "-", trace)
    whole = [r for r in json.loads(got.stdout)["records"] if r["kind"] == "loss" and not r["thread"]]
    check("of no thread that is known", [r["count"] for r in whole] == [4000 - 34], got.stdout)
    for words, lost in ((["--thread", "4343"], 17), (["--after", "450us"], 4000 - 34)):
        shown = re.findall(r"\*\*\* (\d+) records?", kymo("show", *words, trace).stdout)
        check("lost, %s" % words, sum(map(int, shown)) == lost, shown)
    got = kymo("diagnose", "--fail-on", "recording", losing(folder, 0, 3))
    check("few are lost", got.returncode == 0 and "3 records were lost" in got.stdout, got.stdout)
    got = kymo("diagnose", losing(folder, 0, 0))
    check("nothing is lost", "lost" not in got.stdout, got.stdout)


def beyond(folder):
    """Threads that lost more than their time allows, sums that overflow: damage, and no such number."""
    for each, end, lost in ((2**63, 0, 0), (2**63, 34, 34), (2**64 - 1, 2**64 - 1, 0), (17, 2**63, 34),
                            (2**62, 2**62, 0), (2**40, 0, 0), (17, 2**52, 34)):
        trace = losing(folder, each, end)
        what = "each %d, end %d" % (each, end)
        for name, got in list(readers(trace)) + list(readers(trace)):
            text = got.stdout + got.stderr
            wrong = [n for x in (each, end, 2 * each, 2 * each + end) for n in written(x) if n in got.stdout]
            check("%s: %s" % (what, name), got.returncode == 0 and not wrong, (wrong, text))
        said = kymo("summary", "--strict", trace)
        check(what + ": told", said.returncode == 1 and "1 damaged block" in said.stdout and
              ("Lost: %d records" % lost in said.stdout) == (lost > 0), said.stdout)
        check(what + ": why", "which cannot be" in kymo("show", trace).stderr)
        check(what + ": totals", totals(trace) == [lost, end if end == 34 else 0, 1] +
              [34 if each == 17 else 0, lost], totals(trace))


def damaged_chunks(folder):
    """The end says how many chunks the drain did not write, as they were damaged: what can be is believed."""
    for said, told in ((0, 0), (3, 3), (2**52, 1), (2**56, 1), (2**63, 1), (2**64 - 1, 1)):
        trace = losing(folder, 17, 34, said)
        for name, got in readers(trace):
            wrong = [n for n in written(said) if n in got.stdout]
            check("%d damaged: %s" % (said, name), got.returncode == 0 and not wrong, (wrong, got))
        check("%d damaged" % said, totals(trace) == [34, 34, told, 34, 34], totals(trace))
        check("%d damaged: info" % said, re.search("damaged places +%d$" % told, kymo("info", trace).stdout, re.M))


def told_by_manifest(folder):
    """The end of the file is missing: the manifest says how it was, within what can be."""
    for number, lost in ((50, 50), (2**62, 34), (-1, 34)):
        trace = losing(folder, 17, 0)
        path = os.path.join(trace, "raw", os.listdir(trace + "/raw")[0])
        os.truncate(path, os.path.getsize(path) - 8)
        with open(trace + "/manifest.json", "w", encoding="ascii") as f:
            f.write('{"format": "kymo trace", "version": 1, "state": "complete", "processes": [{"file": '
                    '"%s", "ended": "exited", "status": 0, "lost_records": %d}]}' %
                    (os.path.basename(path), number))
        check("manifest says %d" % number, totals(trace)[0::4] == [lost, lost], totals(trace))


def read_only(folder):
    """A trace on a medium that cannot be written to: its store is used, or one is made elsewhere."""
    for store in (True, False):
        trace = demo(folder, "ro%d" % store, store=store)
        for where, _, names in os.walk(trace):
            for name in names:
                os.chmod(os.path.join(where, name), 0o444)
            os.chmod(where, 0o555)
        for name, got in readers(trace):
            check("%s, read-only" % name, got.returncode == 0, got.stderr)
        os.chmod(trace, 0o755)
        os.chmod(trace + "/raw", 0o755)


for kind in (os.mkfifo, socket, device, os.mkdir):
    replace_by("manifest.json", kind, (0,), "manifest.json")
    replace_by("x.kyr", kind, (3, 4, 5), ".kyr")
    replace_by("store.db", kind, (0,), None)
replace_by("manifest.json", text, (0,), "manifest.json")
replace_by("x.kyr", text, (3, 4, 5), ".kyr")
replace_by("x.kyr", unreadable, (3, 4, 5), ".kyr")
replace_by("store.db", text, (0,), None)
with kymotest.Folder() as scratch:
    stores(scratch)
    counted(scratch)
    lost_at_the_end(scratch)
    beyond(scratch)
    damaged_chunks(scratch)
    told_by_manifest(scratch)
    read_only(scratch)
print("%d failed" % len(failures))
sys.exit(1 if failures else 0)
