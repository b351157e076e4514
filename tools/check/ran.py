#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks for which `make check` has no time: when each last ran, and what it said.

    ran.py                     the table, of tests/ran.tsv
    ran.py NAME COMMAND...     run it and keep its last line there, with the day, the commit and what it took

Rows are committed with the sources, so that whoever reads them knows how old they are. What the command prints is passed on.
Exit status: the command's."""
import os
import resource
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KEPT = os.path.join(ROOT, "tests", "ran.tsv")
HEAD = "check\tday\tcommit\tseconds\tprocessor seconds\tstatus\tit said\n"


def git(*words):
    done = subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def rows():
    """{name: fields behind it}"""
    with open(KEPT, encoding="utf-8") as f:
        lines = [line.rstrip("\n").split("\t") for line in f]
    return {fields[0]: fields[1:] for fields in lines[1:] if len(fields) == 7}


def keep(name, fields):
    """In order of names; whole at every moment."""
    now = (rows() if os.path.exists(KEPT) else {}) | {name: fields}
    with open(KEPT + ".new", "w", encoding="utf-8") as f:
        f.write(HEAD)
        f.writelines("\t".join([n, *now[n]]) + "\n" for n in sorted(now))
    os.replace(KEPT + ".new", KEPT)


def commit():
    """The one that is checked out; + behind it: with changes."""
    return (git("rev-parse", "--short=10", "HEAD") or "unknown") + ("+" if git("status", "--porcelain", "-uno", "--", ".", ":!tests/ran.tsv") else "")


def run(name, command):
    day, of, begun, last = time.strftime("%Y-%m-%d"), commit(), time.monotonic(), "nothing"
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace", bufsize=1) as p:
        for line in p.stdout:
            sys.stdout.write(line)
            sys.stdout.flush()
            last = " ".join(line.split()) or last
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    keep(name, [day, of, f"{time.monotonic() - begun:.0f}", f"{used.ru_utime + used.ru_stime:.0f}", str(p.returncode), last])
    return p.returncode if p.returncode >= 0 else 128 - p.returncode


def age(of):
    """How many commits later it is now, where git knows."""
    since = git("rev-list", "--count", of.rstrip("+") + "..HEAD")
    return {"": "", "0": "this commit", "1": "1 commit ago"}.get(since, f"{since} commits ago")


def table():
    print("what `make check` leaves out, and when it last ran (make NAME)")
    for name, (day, of, seconds, _, status, said) in rows().items():
        print(f"{name:10} {day}  {age(of) or of:16} {int(seconds):6} s  {'ok' if status == '0' else 'FAILED':6}  {said[:120]}")


def main():
    if len(sys.argv) == 1:
        table()
        return 0
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    return run(sys.argv[1], sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
