#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Samples and counters of whole programs: test_measures.py KYMO SPEND [HEAT].

SPEND divides its processor time 80 to 20 between two functions: so must the samples, by name, in the
summary from raw files, in that from a store, and in SQL. HEAT's calls are counted: one value for
every call and counter. What cannot be counted is refused before the program runs."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import SKIPPED  # noqa: E402


def run(*words, status=0):
    p = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert p.returncode == status, (words, p.returncode, p.stderr)
    return p


def table(kymo, trace, name):
    report = json.loads(run(kymo, "summary", "--format", "json", trace).stdout)
    for t in report["tables"]:
        if t["name"] == name:
            return t["rows"]
    return []


def query(kymo, trace, sql):
    return json.loads(run(kymo, "query", "--format", "json", trace, sql).stdout)


def check_shares(rows, what):
    ms = {r["function"]: r["self_ns"] / 1e6 for r in rows}
    hot, warm = ms.get("hot_function", 0), ms.get("warm_function", 0)
    assert 900 <= hot + warm <= 1100, (what, ms)
    assert 0.74 <= hot / (hot + warm) <= 0.86, (what, ms)
    print(f"{what}: {hot:.0f} ms hot, {warm:.0f} ms warm")
    return hot, warm


def check_samples(kymo, spend, folder):
    trace = os.path.join(folder, "spend.kymo")
    p = run(kymo, "run", "--sample=500", "-o", trace, spend)
    assert p.stdout == "done\n", p.stdout
    raw = check_shares(table(kymo, trace, "functions"), "raw")
    rows = query(kymo, trace, "SELECT function, sum(weight) AS self_ns FROM sample_functions GROUP BY 1")
    assert check_shares(rows, "store") == raw
    assert check_shares(table(kymo, trace, "functions"), "summary of the store") == raw
    lines = [line for line in run(kymo, "show", trace).stdout.splitlines() if "hot_function" in line]
    assert len(lines) >= 300, len(lines)


def check_counters(kymo, heat, folder):
    trace = os.path.join(folder, "heat.kymo")
    run(kymo, "run", "--counters", "rusage:minflt,rusage:nvcsw", "-o", trace, heat, "--size", "128",
        "--frames", "20")
    calls = query(kymo, trace, "SELECT count(*) AS n FROM call")[0]["n"]
    counted = query(kymo, trace, """SELECT name, count(*) AS n, sum(value) AS sum, sum(region_name IS
        (SELECT o.name FROM call c JOIN op o ON o.id = c.op WHERE c.id = call_id)) AS named
        FROM counters WHERE kind = 'call' GROUP BY 1""")
    assert calls > 20 and len(counted) == 2, (calls, counted)
    assert all(c["n"] == c["named"] == calls for c in counted), (calls, counted)
    totals = query(kymo, trace, "SELECT name, sum(value) AS sum FROM counters WHERE kind = 'thread' GROUP BY 1")
    by_name = {t["name"]: t["sum"] for t in totals}
    for c in counted:
        assert 0 <= c["sum"] <= by_name[c["name"]], (c, totals)
    assert by_name["minflt"] > 100, totals
    assert table(kymo, trace, "counters")


def main():
    kymo, spend, *heat = sys.argv[1:]
    p = run(kymo, "run", "--counters", "no-such-counter", spend, status=2)
    assert "no-such-counter" in p.stderr and not p.stdout, p
    assert "rusage:minflt" in run(kymo, "list", "counters").stdout
    with kymotest.Folder() as folder:
        if heat:
            check_counters(kymo, heat[0], folder)
        p = subprocess.run([kymo, "run", "--sample", "-o", os.path.join(folder, "t.kymo"), "true"],
                           stderr=subprocess.PIPE, text=True)
        if p.returncode == 2:
            print("skipped:", p.stderr)
            return SKIPPED
        check_samples(kymo, spend, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
