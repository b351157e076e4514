#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the ROCpd database of the synthetic demo trace with the expected text: rocpd.py KYMO SYNTH EXPECTED [--update].

The text is every row of every table, tables by name; of guids, which are made of what the trace says, the first
is G1 and so on.
"""
import difflib
import os
import sqlite3
import subprocess
import sys
import tempfile


def text_of(path):
    db = sqlite3.connect(path)
    guids = [g for g, in db.execute("SELECT value FROM rocpd_metadata WHERE tag = 'guid' ORDER BY value")]
    lines = []
    for name, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'rocpd_%' ORDER BY name"):
        lines.append(f"# {name}")
        for row in db.execute(f'SELECT * FROM "{name}" ORDER BY id'):
            lines.append("|".join("NULL" if v is None else str(v) for v in row))
    db.close()
    text = "\n".join(lines) + "\n"
    for i, guid in enumerate(guids, 1):
        text = text.replace(guid, f"G{i}").replace(guid.replace("-", "_"), f"G{i}")
    return "\n".join("kymo_version" if "|kymo_version|" in line else line for line in text.split("\n"))


def main():
    kymo, synth, expected = sys.argv[1:4]
    with tempfile.TemporaryDirectory() as folder:
        trace, out = os.path.join(folder, "demo.kymo"), os.path.join(folder, "demo.db")
        subprocess.run([synth, "demo", trace], check=True)
        subprocess.run([kymo, "export", "--to", "rocpd", "-o", out, trace], check=True, stderr=subprocess.DEVNULL)
        got = text_of(out)
    if sys.argv[4:] == ["--update"]:
        with open(expected, "w", encoding="utf-8") as f:
            f.write(got)
        return 0
    with open(expected, encoding="utf-8") as f:
        wanted = f.read()
    sys.stdout.writelines(difflib.unified_diff(wanted.splitlines(True), got.splitlines(True), "expected", "got"))
    return wanted != got


sys.exit(main())
