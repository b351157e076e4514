#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Traces that somebody may not read: every command says that, not that they are none.

Usage: denied.py KYMO KYMO_SYNTH
"""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import check  # noqa: E402

KYMO, SYNTH = map(os.path.abspath, sys.argv[1:3])
NOBODY = 65534
COMMANDS = (["info"], ["summary"], ["show"], ["export", "-o", "out/never"], ["diagnose"], ["query"], ["compress"], ["compare", "open.kymo"])


def as_somebody(*words):
    """Who is not the superuser, whom nothing is denied."""
    who = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.getuid() == 0 else {}
    return subprocess.run(["./kymo", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False, **who)


def denied(what, trace, path):
    for command in COMMANDS:
        p = as_somebody(*command, trace, *(["SELECT 1"] if command == ["query"] else []))
        name = f"{what}: {command[0]}"
        check(name + ": status, output", (p.returncode, p.stdout), (3, ""))
        check(name + ": says so", bool(re.search(f"{path}(/raw)?: (cannot be read: )?Permission denied", p.stderr)), True)
        check(name + ": nothing else is wrong", [line for line in p.stderr.splitlines() if "error" in line and "denied" not in line], [])


with kymotest.Folder() as folder:
    os.chdir(folder)
    os.chmod(folder, 0o755)
    shutil.copy(KYMO, "kymo")
    os.mkdir("out")
    os.chmod("out", 0o777)
    for name in ("open", "shut", "raw", "file"):
        subprocess.run([SYNTH, "demo", name + ".kymo"], check=True)
        subprocess.run(["chmod", "-R", "u+rwX,go+rX", name + ".kymo"], check=True)
    alone = "file.kymo/raw/" + os.listdir("file.kymo/raw")[0]
    os.chmod("shut.kymo", 0)
    os.chmod("raw.kymo/raw", 0)
    os.chmod(alone, 0)
    check("one that may be read", as_somebody("info", "open.kymo").returncode, 0)
    denied("the trace", "shut.kymo", "shut.kymo")
    denied("its files", "raw.kymo", "raw.kymo/raw")
    COMMANDS = COMMANDS[:4]
    denied("a raw file", alone, alone)
    check("nothing was written", os.listdir("out"), [])
    os.mkdir("none.kymo")
    os.chmod("none.kymo", 0o755)
    p = as_somebody("summary", "none.kymo")
    check("none", (p.returncode, "it has no folder raw/" in p.stderr), (3, True))
    os.chmod("shut.kymo", 0o755)
    os.chmod("raw.kymo/raw", 0o755)
    os.chdir("/")
print("%d failed" % len(kymotest.wrong))
sys.exit(1 if kymotest.wrong else 0)
