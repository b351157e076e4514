#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a text file as a C string constant: embed.py NAME INPUT OUTPUT."""
import json
import sys

name, source, target = sys.argv[1:]
with open(source, encoding="utf-8") as f:
    lines = f.read().split("\n")
with open(target, "w", encoding="utf-8") as f:
    f.write("/* Generated. */\nextern const char %s[];\nconst char %s[] =\n" % (name, name))
    for line in lines:
        f.write("\t%s\n" % json.dumps(line + "\n"))
    f.write("\t;\n")
