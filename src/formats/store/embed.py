#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a text file as a C string constant: embed.py NAME INPUT RECORDS OUTPUT.

Where INPUT says "-- @records", RECORDS goes in: the tables of the record model.
"""
import json
import sys

name, source, records, target = sys.argv[1:]
with open(source, encoding="utf-8") as f:
    lines = f.read().split("\n")
with open(records, encoding="utf-8") as f:
    at = lines.index("-- @records")
    lines[at:at + 1] = f.read().rstrip("\n").split("\n")
with open(target, "w", encoding="utf-8") as f:
    f.write("/* Generated. */\nextern const char %s[];\nconst char %s[] =\n" % (name, name))
    for line in lines:
        f.write("\t%s\n" % json.dumps(line + "\n"))
    f.write("\t;\n")
