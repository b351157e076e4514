#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Results of any length of kymo query: what is read is shown, the rest is not waited for, and nothing is cut for it.

Usage: long_results.py KYMO KYMO_SYNTH
"""
import os
import select
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import check  # noqa: E402

KYMO, SYNTH = map(os.path.abspath, sys.argv[1:3])
COUNT = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n {0}) SELECT x, {1} AS y, x * 1000000000 AS z FROM n"
WIDE = "CASE WHEN x % 500 THEN 'short' ELSE printf('%.*c', x / 10, 'w') END"
FORMATS = ("text", "md", "csv", "json")


def query(trace, form, sql):
    return kymotest.must(KYMO, "query", "-f", form, trace, sql)


def endless(trace):
    for form in FORMATS:
        for ignored in (False, True):
            p = subprocess.Popen([KYMO, "query", "-f", form, trace, COUNT.format("", "x")], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, restore_signals=not ignored)
            ready = select.select([p.stdout], [], [], 30)[0]
            line = p.stdout.readline() if ready else b""
            p.stdout.close()
            try:
                p.wait(30)
            except subprocess.TimeoutExpired:
                pass
            p.kill()
            how = p.wait()
            said = p.stderr.read().decode()
            p.stderr.close()
            check(f"{form}: the first line came", bool(line), True)
            check(f"{form}: the end", how, 3 if ignored else -signal.SIGPIPE)
            check(f"{form}: said", "could not be written" in said, ignored)


def expected(rows):
    return [(str(x), "short" if x % 500 else "w" * (x // 10), str(x * 1000000000)) for x in range(1, rows + 1)]


def contents(trace):
    """Around the number of rows that widths are chosen from."""
    for rows in (999, 1000, 1001, 2500):
        sql = COUNT.format(f"LIMIT {rows}", WIDE)
        wanted = expected(rows)
        got = [tuple(c.strip() for c in line.split("|")[1:-1]) for line in query(trace, "md", sql).splitlines()[3:]]
        check(f"md: {rows}", got, wanted)
        lines = query(trace, "text", sql).splitlines()
        # Names beyond 120 columns are cut, as in every table; numbers never.
        fit = [(x, y if len(y) <= 120 else y[:117] + "...", z) for x, y, z in wanted]
        check(f"text: {rows}", [tuple(line.split()) for line in lines[1:]], fit)
        short = {len(line) for line in lines[:1000]}
        check(f"text: {rows}: width", short, {len(lines[0])})


def empty(trace):
    check("no row", query(trace, "text", COUNT.format("LIMIT 0", "x")), "x  y  z\n")
    check("no row", query(trace, "md", COUNT.format("LIMIT 0", "x")).splitlines(), ["", "| x | y | z |", "|---|---|---|"])


with kymotest.Folder() as folder:
    here = folder + "/t.kymo"
    subprocess.run([SYNTH, "demo", here], check=True, stdout=subprocess.DEVNULL)
    endless(here)
    contents(here)
    empty(here)
print("%d failed" % len(kymotest.wrong))
sys.exit(1 if kymotest.wrong else 0)
