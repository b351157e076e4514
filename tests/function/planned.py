# SPDX-License-Identifier: Apache-2.0
"""Writes a plan (src/wire/plan.h) of functions that the compiler has put hooks into, from the symbols of a program: what the
command line does, without looking at code."""
import os
import re
import struct
import subprocess

HEADER = "<8sIIQ" + "QQ" * 6
MODULE = "<QQQQQQQQII32s"
FUNCTION = "<QQQIIIIIIHBBBBBB24s"
HOOK = 3


def symbols(path):
    text = subprocess.run(["nm", "-CS", "--defined-only", path], check=True, capture_output=True,
                          text=True).stdout
    found = {}
    for line in text.splitlines():
        m = re.match(r"([0-9a-f]+) ([0-9a-f]+) [tTwW] (.*)", line)
        if m:
            found.setdefault(int(m[1], 16), (int(m[2], 16), m[3]))
    return sorted((at, size, name) for at, (size, name) in found.items())


def build_id(path):
    text = subprocess.run(["readelf", "-n", path], check=True, capture_output=True, text=True).stdout
    m = re.search(r"Build ID: ([0-9a-f]+)", text)
    return bytes.fromhex(m[1]) if m else b""


def module(path, chosen, first, strings):
    st = os.stat(path)
    found = [s for s in symbols(path) if re.search(chosen, s[2])]
    functions = b""
    for number, (at, size, name) in enumerate(found):
        functions += struct.pack(FUNCTION, at, at, size, first + number + 1, len(strings), 0, 0, 0, 0,
                                 0, HOOK, 0, 0, 0, 0, 0, b"")
        strings += name.encode() + b"\0"
    path_at = len(strings)
    strings += os.path.realpath(path).encode() + b"\0"
    name = build_id(path)
    high = max(at + size for at, size, _ in found) + 16
    return struct.pack(MODULE, st.st_dev, st.st_ino, st.st_size, st.st_mtime_ns, 0, high, first,
                       len(found), path_at, len(name), name), functions, len(found)


def write(out, chosen, *paths):
    """Plans the functions of these files whose names have the pattern in them."""
    strings = bytearray(b"\0")
    modules = functions = b""
    count = 0
    for path in paths:
        m, f, n = module(path, chosen, count, strings)
        modules, functions, count = modules + m, functions + f, count + n
    strings += b"\0" * (-len(strings) % 8)
    at = struct.calcsize(HEADER)
    tables = []
    for data, number in ((modules, len(paths)), (functions, count), (b"", 0), (b"", 0), (b"", 0),
                         (bytes(strings), len(strings))):
        tables += [at, number]
        at += len(data)
    with open(out, "wb") as f:
        f.write(struct.pack(HEADER, b"kymoplan", 1, struct.calcsize(HEADER), at, *tables))
        f.write(modules + functions + bytes(strings))
