#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rules of a site: kymo diagnose --rules DIR.

example: the one in examples/rules against the same computed here.
edges: gains beyond all bounds, NULL, no threshold, names that would fake lines.
numbers: gains, thresholds, texts, the order among other findings, --fail-on, the list of rules.
mistakes: each is told with its file and line, and the other rules go on.
hostile: queries that write, attach, never end or fill the memory are refused, and the trace stays as it is.

Usage: site_rules.py PART KYMO HEAT EXAMPLES
"""
import hashlib
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import expect  # noqa: E402

PART = sys.argv[1]
KYMO, HEAT, EXAMPLES = map(os.path.abspath, sys.argv[2:5])
HEAD = "-- id: {id}\n-- what: a test\n-- threshold: {threshold}\n-- why: it is one\n-- text: {text}\n"


def call(*words, **environment):
    return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=250, check=False,
                          env={**os.environ, **environment})


def must(*words, **environment):
    p = call(*words, **environment)
    expect(p.returncode == 0, words, p.returncode, p.stdout[-500:], p.stderr)
    return p.stdout


def record(folder):
    trace = folder + "/heat.kymo"
    must(KYMO, "run", "--no-summary", "-o", trace, HEAT, "--size", "256", "--frames", "40")
    return trace


def query(trace, sql):
    return json.loads(must(KYMO, "query", "--format", "json", trace, sql))


def rules(folder, **files):
    """A new folder with these files."""
    path = f"{folder}/rules-{len(os.listdir(folder))}"
    os.mkdir(path)
    for name, text in files.items():
        with open(f"{path}/{name}.sql", "w", encoding="utf-8") as f:
            f.write(text)
    return path


def rule(sql, name="a-test", threshold="0 %", text="it is {gain_ns}"):
    return HEAD.format(id=name, threshold=threshold, text=text) + sql + "\n"


def findings(trace, folder, status=0, **environment):
    p = call(KYMO, "diagnose", "-f", "json", *(("--rules", folder) if folder else ()), trace, **environment)
    expect(p.returncode == status, p.returncode, p.stdout, p.stderr)
    expect(p.stdout, p)
    return json.loads(p.stdout)["findings"], p.stderr


# ---- what they find ------------------------------------------------------------------------------------

def spread(trace):
    """What the example tells, from the kernels themselves: gain and number by kernel and size."""
    groups = {}
    for k in query(trace, "SELECT name, grid_x, grid_y, grid_z, duration FROM kernels WHERE duration > 0"):
        groups.setdefault((k["name"], k["grid_x"], k["grid_y"], k["grid_z"]), []).append(k["duration"])
    told = []
    for durations in groups.values():
        mean = sum(durations) / len(durations)
        slow = [d for d in durations if d >= 2 * mean]
        if slow and len(durations) >= 20:
            told.append((int(sum(slow) - len(slow) * mean), len(slow)))
    return sorted(told, reverse=True)


def test_example(folder):
    trace = record(folder)
    # As it is it may find nothing; with every threshold it must find what is there.
    findings(trace, EXAMPLES)
    with open(EXAMPLES + "/kernel-spread.sql", encoding="utf-8") as f:
        text = f.read()
    expect("threshold: 5 %" in text, text)
    # That of the manual is one as well.
    with open(EXAMPLES + "/../../docs/diagnose.md", encoding="utf-8") as f:
        manual = re.search(r"```sql\n(-- id: .*?)```", f.read(), re.S).group(1)
    shorter = manual.replace("1e9", "1").replace("5 %", "0 %")
    expect("long-kernels" in [f["rule"] for f in findings(trace, rules(folder, manual=shorter))[0]], shorter)
    findings(trace, rules(folder, manual=manual))
    # Twice the mean is rare on a quiet machine; what is longer than the mean is always there.
    text = text.replace("threshold: 5 %", "threshold: 0 %")
    found = [f for f in findings(trace, rules(folder, spread=text))[0] if f["rule"] == "kernel-spread"]
    wanted = spread(trace)
    expect(len(found) == len(wanted), found, wanted)
    for f, (gain, count) in zip(found, wanted):
        expect(abs(f["gain_ns"] - gain) <= 1 and f["count"] == count, f, gain, count)
    all_longer = text.replace("k.duration >= 2 * u.mean", "k.duration > u.mean")
    found = [f for f in findings(trace, rules(folder, spread=all_longer))[0] if f["rule"] == "kernel-spread"]
    expect(found and all("executions of" in f["title"] and "{" not in f["title"] for f in found), found)
    expect(all(0 < f["start_ns"] < f["end_ns"] and f["where"] and "times the mean" in f["evidence"][0] for f in found), found)


def test_numbers(folder):
    trace = record(folder)
    total = query(trace, "SELECT sum(duration) AS ns, count(*) AS n FROM kernels")[0]
    sql = "SELECT sum(duration) AS gain_ns, count(*) AS count, 'here' AS place, 'so it is' AS evidence FROM kernels"
    own = findings(trace, None)[0]
    path = rules(folder, one=rule(sql, text="{count} kernels take {gain_ns}; 100 %"),
                 two=rule(sql, "two-test", "100 %"), fact=rule("SELECT 2048 AS x_bytes", "fact-test", text="{x_bytes} of it"),
                 none=rule("SELECT sum(duration) AS gain_ns FROM kernels WHERE name = 'no such'", "none-test"),
                 many=rule("SELECT duration AS gain_ns FROM kernels", "many-test"))
    found = findings(trace, path)[0]
    expect([f for f in found if not f["rule"].endswith("-test")] == own, "the others stay as they are", found, own)
    mine = {}
    for f in found:
        mine.setdefault(f["rule"], []).append(f)
    one = mine["a-test"]
    expect(len(one) == 1 and one[0]["gain_ns"] == total["ns"] and one[0]["count"] == total["n"], one, total)
    expect(re.fullmatch(rf"{total['n']} kernels take [\d.]+ [num]?s; 100 %", one[0]["title"]), one)
    expect(one[0]["where"] == "here" and one[0]["evidence"][0] == "so it is", one)
    expect("two-test" not in mine and "none-test" not in mine, mine)
    expect(mine["fact-test"][0]["title"] == "2.000 KiB of it" and mine["fact-test"][0]["gain_ns"] == 0, mine["fact-test"])
    expect(len(mine["many-test"]) == 20 < total["n"], len(mine["many-test"]))
    expect([f["gain_ns"] for f in found] == sorted((f["gain_ns"] for f in found), reverse=True), "order", found)
    # The command that shows it is one.
    shown = subprocess.run(["sh", "-c", one[0]["show"].replace("kymo", KYMO, 1)], capture_output=True, text=True, check=False)
    expect(shown.returncode == 0 and str(total["ns"]) in shown.stdout, one[0]["show"], shown)
    # From the environment, and in the other formats; in --fail-on; listed.
    expect(findings(trace, None, KYMO_DIAGNOSE_RULES=path)[0] == found, "environment")
    for form in ("text", "csv", "md"):
        expect("a-test" in must(KYMO, "diagnose", "--all", "-f", form, "--rules", path, trace), form)
    for words, status in (("a-test", 1), ("a-test>99.9", 0), ("two-test", 0), ("three-test", 2)):
        got = call(KYMO, "diagnose", "--rules", path, "--fail-on", words, trace)
        expect(got.returncode == status, words, got)
    chosen_rules(trace, path, found, own)
    for words, more in ((("--rules", path), {}), ((f"--rules={path}",), {}), ((), {"KYMO_DIAGNOSE_RULES": path})):
        listed = must(KYMO, "list", "rules", *words, **more)
        expect("two-test: a test\n  from 100 % of the run: it is one" in listed and f"{path}/two.sql" in listed, listed)
    expect("a-test" not in must(KYMO, "list", "rules"), "not named")
    # Of a part there is no store to ask.
    part = call(KYMO, "diagnose", "--rules", path, "--after", "50%", trace)
    expect(part.returncode == 0 and "a-test" not in part.stdout and "rules of the site" in part.stdout, part)


def chosen_rules(trace, path, found, own):
    """--rule: what these find, as it is found among all."""
    def of(*names):
        return json.loads(must(KYMO, "diagnose", "-f", "json", "--rules", path, "--rule", ",".join(names), trace))["findings"]

    for names in [("a-test",), ("many-test", "fact-test")] + [(f["rule"], "a-test") for f in own]:
        expect(of(*names) == [f for f in found if f["rule"] in names], names, of(*names))
    text = call(KYMO, "diagnose", "--rules", path, "--rule", "none-test", "--fail-on", "a-test", trace)
    expect(text.returncode == 1 and text.stdout.startswith("No finding of the rules that were chosen"), "all are judged", text)
    for words, said in ((("--rule", "a-test"), 'there is no rule "a-test"'), (("--rule", "leak,"), 'there is no rule ""'), (("--rule", ""), 'there is no rule ""'),
                        (("--rule", "leak,any"), 'there is no rule "any"')):
        got = call(KYMO, "diagnose", *words, trace)
        expect(got.returncode == 2 and f"--rule: {said}" in got.stderr, words, got)
    got = call(KYMO, "diagnose", "--rules", "leak", trace)
    expect(got.returncode == 3 and "what the rule leak finds alone: --rule leak" in got.stderr, got)
    got = call(KYMO, "diagnose", "--rule", "leak", "--after", "50%", trace).stdout
    expect("Not known:" not in got or all(line.strip().split(":")[0] in ("leak", "rules of the site are asked of whole runs")
                                          for line in got.split("Not known:")[1].splitlines() if re.match(r"  [a-z-]+: ", line)), got)


# ---- mistakes ------------------------------------------------------------------------------------------

GOOD = "SELECT sum(duration) AS gain_ns FROM kernels"
MISTAKES = {
    "no column": (rule("SELECT sum(duraton) AS gain_ns\nFROM kernels"), 6, "duraton"),
    "in its third line": (rule("SELECT sum(duration) AS gain_ns\nFROM kernels\nWHERE duraton > 1"), 8, "duraton"),
    "no table": (rule("SELECT sum(duration) AS gain_ns\nFROM kernel_s"), 6, "kernel_s"),
    "no text": (rule(GOOD).replace("-- text: it is {gain_ns}\n", ""), 4, "text"),
    "a wrong word": (rule(GOOD).replace("threshold", "limit"), 3, "limit"),
    "no share": (rule(GOOD, threshold="5"), 3, "share"),
    "no comment at all": (GOOD + "\n", 1, "id"),
    "nothing at all": ("", 1, "no query"),
    "twice": (rule(GOOD).replace("-- why", "-- what: x\n-- why"), 4, "twice"),
    "an id of ours": (rule(GOOD, "host-late"), 1, "another rule"),
    "no id": (rule(GOOD, "Host Late"), 1, "small letters"),
    "no query": (rule(""), 6, "no query"),
    "no column of the text": (rule(GOOD, text="{gain_s}"), 5, "gain_s"),
    "two queries": (rule(GOOD + ";\nSELECT 1"), 6, "one query"),
    "nothing but a comment": (rule("/* nothing */"), 7, "one query"),
    "no number": (rule("SELECT 'much' AS gain_ns"), 6, "much"),
    "less than nothing": (rule("SELECT -5 AS gain_ns"), 6, "-5"),
}


def test_edges(folder):
    """Gains beyond all bounds, values that are not there, no threshold, names that would fake lines."""
    trace = record(folder)
    run = json.loads(must(KYMO, "diagnose", "-f", "json", trace))["run_ns"]
    forged = "SELECT 'a' || char(10) || ' 9. forged: ' || char(27) || '|`b`' AS name, NULL AS x_ns, 1e30 AS gain_ns, " \
             "'here' || char(10) || ' 8. forged' AS place, 'so' || char(13) || char(10) || ' 7. forged' AS evidence"
    path = rules(folder, a=rule(forged, text="{name} is {x_ns}").replace("-- threshold: 0 %\n", ""),
                 b=rule("SELECT 9e999 AS gain_ns", "b-test"))
    for rule_id in ("a-test", "b-test"):
        f, = [f for f in findings(trace, path)[0] if f["rule"] == rule_id]
        expect(f["gain_ns"] == run and "more than the run" in f["evidence"][-2], f)
    for form in ("text", "md", "csv"):
        text = must(KYMO, "diagnose", "--all", "-f", form, "--rules", path, trace)
        expect("forged" in text and "\x1b" not in text and " is ?" in text and not re.search(r"^ *(- )?[789]\. forged", text, re.M), form, text)


def test_mistakes(folder):
    trace = record(folder)
    own = findings(trace, None)[0]
    for what, (text, line, word) in MISTAKES.items():
        path = rules(folder, a=text, b=rule(GOOD, "other-test"))
        found, told = findings(trace, path, 3)
        expect(f"{path}/a.sql:{line}:" in told and word in told, what, told)
        expect([f for f in found if f["rule"] != "other-test"] == own and len(found) == len(own) + 1, what, found)
    for missing in (folder + "/not-there", trace + "/manifest.json"):
        got = call(KYMO, "diagnose", "--rules", missing, trace)
        expect(got.returncode == 3 and missing in got.stderr and not got.stdout, got)
        got = call(KYMO, "list", "rules", "--rules", missing)
        expect(got.returncode == 3 and missing in got.stderr, got)
    path = rules(folder, a=rule(GOOD), b=rule(GOOD), c="x" * (65 << 10))
    os.mkfifo(path + "/d.sql")
    os.symlink("/dev/zero", path + "/e.sql")
    found, told = findings(trace, path, 3)
    expect("b.sql:1: another rule" in told and all(f"{n}.sql: " in told for n in "cde"), told)
    expect([f["rule"] for f in found].count("a-test") == 1, found)
    expect(call(KYMO, "list", "rules", "x").returncode == 2, "a word too many")


# ---- hostile ones --------------------------------------------------------------------------------------

HOSTILE = {
    "delete": ("DELETE FROM dispatch", "not authorized"),
    "drop": ("DROP TABLE dispatch", "not authorized"),
    "insert": ("INSERT INTO metadata(tag, value) VALUES('a', 'b')", "not authorized"),
    "temporary": ("CREATE TEMP TABLE t(a)", "not authorized"),
    "attach": ("ATTACH '{folder}/new.db' AS other", "not authorized"),
    "vacuum": ("VACUUM INTO '{folder}/new.db'", "{folder}"),
    "pragma": ("PRAGMA hard_heap_limit = 0", "not authorized"),
    "pragma function": ("SELECT * FROM pragma_database_list", "not authorized"),
    "library": ("SELECT load_extension('{folder}/x.so')", "not authorized"),
    "value": ("SELECT zeroblob(1000000000) AS gain_ns", "too big"),
    "memory": ("WITH RECURSIVE n(i, t) AS (SELECT 1, hex(randomblob(400000)) UNION SELECT i + 1, hex(randomblob(400000)) FROM n)"
               " SELECT count(*) AS gain_ns FROM n", "out of memory"),
    "without end": ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) AS gain_ns FROM n",
                    "processor time"),
}


def content(trace):
    sums = {}
    for at, _, names in os.walk(trace):
        for name in names:
            with open(os.path.join(at, name), "rb") as f:
                sums[os.path.join(at, name)] = hashlib.sha256(f.read()).hexdigest()
    return sums


def test_hostile(folder):
    trace = record(folder)
    query(trace, "SELECT 1")  # the store is there
    before = content(trace)
    for what, (sql, word) in HOSTILE.items():
        path = rules(folder, a=rule(sql.replace("{folder}", folder), text="a"), b=rule(GOOD, "other-test"))
        found, told = findings(trace, path, 3)
        expect("a.sql:6:" in told and word.replace("{folder}", "a.sql") in told, what, told)
        expect([f["rule"] for f in found].count("other-test") == 1 and not [f for f in found if f["rule"] == "a-test"], what, found)
        expect(content(trace) == before and not os.path.exists(folder + "/new.db"), what)
    # Texts of a rule are text, whatever is in them.
    path = rules(folder, a=rule("SELECT 1 AS gain_ns, '%s%n' AS place, char(27) || '[31m' AS x", text="%n {x} {"))
    text = must(KYMO, "diagnose", "--all", "--rules", path, trace)
    expect("\x1b" not in text and "%n" in text and "%s%n" in text, text)


with kymotest.Folder(prefix="kymo-site-rules-") as where:
    if call(KYMO, "run", "--no-summary", "-o", where + "/first.kymo", HEAT, "--size", "64", "--frames", "1").returncode:
        sys.exit(77)
    {"example": test_example, "numbers": test_numbers, "edges": test_edges, "mistakes": test_mistakes, "hostile": test_hostile}[PART](where)
