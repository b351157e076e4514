#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which functions are chosen, and why others are not: functions.py KYMO PROGRAM STRIPPED_PROGRAM."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import check, expect  # noqa: E402

KYMO, PROGRAM, STRIPPED = map(os.path.abspath, sys.argv[1:4])
LARGE = "/usr/bin/python3"
SHARE = 5  # percent of the functions of large files that may be refused
REASONS = {"turns": "loop-at-entry"}


def ask(listed, *options, program=PROGRAM, status=0):
    """Rows of a list, and what was told beside it."""
    expect(os.path.exists(program), program)
    done = kymotest.run(KYMO, "run", "--functions-list", listed, "--functions-format", "json", *options, "--", program)
    check(f"status of {options}", done.returncode, status)
    return (json.loads(done.stdout)["tables"][0]["rows"] if status == 0 else []), done.stderr


def names(*options, **more):
    return {row["function"] for row in ask("chosen", *options, **more)[0]}


def thresholds():
    check("large ones, and those with loops", {"shop::big(int)", "with_loop"} <= names("--functions", "shop|loop"), True)
    check("no small ones", names("--functions", "shop::small"), set())
    check("all sizes", names("--functions", "shop", "--functions-min-instructions", "0"),
          {"shop::big(int)", "int shop::small<int>(int)", "long shop::small<long>(long)"})
    check("loops have a size of their own", names("--functions", "loop", "--functions-min-loop", "1000"), set())
    check("who is named is not measured", names("--functions", "with_loop", "--functions-min-loop", "1000"), {"with_loop"})
    rows = ask("available", "--functions", "shop|^main$|loop")[0]
    check("verdicts of those that could be", {r["function"]: r["verdict"] for r in rows if "small<int>" in r["function"] or "big" in r["function"]},
          {"shop::big(int)": "chosen", "int shop::small<int>(int)": "small"})


def expressions():
    check("several", names("--functions", "with_loop", "--functions", "shop::big"), {"with_loop", "shop::big(int)"})
    check("less", names("--functions", "shop|loop", "--functions-exclude", "big|alias", "--functions-exclude", "with"), set())
    check("by the symbol", names("--functions", "^_ZN4shop3big"), {"shop::big(int)"})
    _, said = ask("chosen", "--functions", "no_such_function", status=2)
    expect("no function matches" in said, said)
    _, said = ask("chosen", "--functions", "(", status=2)
    expect("regular expression" in said, said)
    check("a list needs functions", kymotest.run(KYMO, "run", "--functions-list", "chosen", "true").returncode, 2)


def refused():
    rows, said = ask("refused", "--functions", ".")
    found = {r["function"]: r for r in rows}
    for name, reason in REASONS.items():
        check(name, found[name]["verdict"], reason)
        expect(found[name]["reason"], found[name])
        expect(reason in said, said)
    available = {r["function"] for r in ask("available", "--functions", ".")[0]}
    expect(not available & set(found), available & set(found))
    total = int(re.search(r"[\d,]+ of ([\d,]+) that match are chosen", said)[1].replace(",", ""))
    check("each is in one list", len(available) + len(found), total)


def symbols():
    """Addresses and sizes are those of nm, also where the names are gone."""
    listed = subprocess.run(["nm", "-S", "--defined-only", PROGRAM], capture_output=True, text=True, check=True).stdout
    known = {m[3]: (int(m[1], 16), int(m[2], 16)) for m in re.finditer(r"^(\w+) (\w+) T (\w+)$", listed, re.M)}
    rows = {r["function"]: r for r in ask("available", "--functions", ".")[0]}
    check("as nm has it", (int(rows["with_loop"]["address"], 16), rows["with_loop"]["bytes"]), known["with_loop"])
    expect("other_name" not in rows, "an alias is no function of its own")
    check("instructions of main", rows["main"]["instructions"] > 10, True)
    nameless = {int(r["address"], 16): r for r in ask("available", "--functions", ".", program=STRIPPED)[0]}
    check("found by call frame information", nameless[known["with_loop"][0]]["bytes"], known["with_loop"][1])


def libraries():
    """Of a library, by name and by path; what must not be traced is said."""
    done = kymotest.run(KYMO, "run", "--functions", "malloc@libc", "--functions-list", "available", "--", PROGRAM)
    expect("none of" in done.stderr and done.returncode == 2, done.stderr)
    with tempfile.TemporaryDirectory() as folder:
        java = os.path.join(folder, "libjvm.so")
        shutil.copy(PROGRAM, java)
        done = kymotest.run(KYMO, "instrument", java, "-o", java + ".k")
        expect("looks up return addresses" in done.stderr and done.returncode == 3, done.stderr)
    if not os.path.exists(LARGE):
        return
    rows, _ = ask("available", "--functions", "cos@^libm", program=LARGE)
    check("libm", {r["module"].split(".")[0] for r in rows}, {"libm"})
    rows, said = ask("refused", "--functions", ".", program=LARGE)
    share = float(re.search(r"\(([\d.]+) %\)", said)[1])
    expect(0 < share <= SHARE, said)
    expect(all(r["reason"] for r in rows), rows[:3])


def main():
    thresholds()
    expressions()
    refused()
    symbols()
    libraries()


if __name__ == "__main__":
    main()
