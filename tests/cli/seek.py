# SPDX-License-Identifier: Apache-2.0
"""kymo show -n, --after and --before look into the chunks that hold what is asked for: damage elsewhere in
the trace is not met.

    seek.py KYMO OCL_CALLS
"""
import os
import re
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402

kymo, program = sys.argv[1:3]
CALLS = 200000
BLOCK = struct.Struct("<IHHIIQQQIIQ")  # struct raw_block
CHUNK, RECORDS, BOUNDED = 1, 1, 2


def chunks(path):
    """(offset of its payload, its length, flags) of each chunk of records."""
    with open(path, "rb") as f:
        data = f.read()
    at, out = struct.unpack_from("<I", data, 12)[0], []
    while at < len(data):
        _, kind, flags, _, holds, _, _, _, stored, _, _ = BLOCK.unpack_from(data, at)
        if (kind, holds) == (CHUNK, RECORDS):
            out.append((at + BLOCK.size, stored, flags))
        at += BLOCK.size + stored
    return out


def show(trace, *options):
    done = kymotest.run(kymo, "show", *options, trace)
    return done.stdout.splitlines(), done.stderr


with kymotest.Folder() as folder:
    trace = os.path.join(folder, "t.kymo")
    done = kymotest.run(kymo, "run", "--no-summary", "--mode", "full", "-o", trace, "--", program, CALLS)
    if done.returncode == 77:
        print("skipped: no OpenCL platform here")
        sys.exit(77)
    assert done.returncode == 0, done.stderr
    kymotest.run(kymo, "compress", trace)  # else that may go on, and change where what is damaged here lies
    files = [f for f in os.listdir(os.path.join(trace, "raw")) if f.endswith(".kyr")]
    assert len(files) == 1, files
    raw = os.path.join(trace, "raw", files[0])
    found = chunks(raw)
    assert len(found) > 20, found
    assert all(flags & BOUNDED for _, _, flags in found), "chunks that do not say how early they began"

    whole, said = show(trace)
    assert len(whole) == CALLS + 1 and not said, said
    middle = float(whole[len(whole) // 2].split()[0])
    window = "--after", f"{middle * 1e9:.0f}ns", "--before", f"{middle * 1e9 + 100000:.0f}ns"
    inside, said = show(trace, *window)
    assert inside and not said, said
    assert [l for l in inside if l not in whole] == []

    for number in (len(found) - 2, 2):  # late, early
        offset, size, _ = found[number]
        with open(raw, "r+b") as f:
            f.seek(offset + size // 2)
            byte = f.read(1)
            f.seek(offset + size // 2)
            f.write(bytes([byte[0] ^ 0xff]))
    assert show(trace, *window) == (inside, "")
    assert show(trace, "--order", "recorded", *window) == (inside, "")
    assert show(trace, "-n", "10") == (whole[:10], "")
    less, said = show(trace)
    assert len(re.findall("its checksum is wrong", said)) == 2, said
    assert 0 < len(whole) - len(less) < CALLS // 4, len(less)
print(f"{len(found)} chunks: none but those asked for were looked into")
