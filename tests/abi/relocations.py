#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a process pays for a library that is preloaded and finds nothing to record.

relocations.py LIBRARY RELOCATIONS KIB

The loader has to make each relocation when a program starts, and each writes to a page, which the
process then has for itself. There may be at most RELOCATIONS of them, and KIB of such pages in a
process that only copies its input. Tables of constants that are full of pointers are what costs: see
src/base/packed.h for descriptions without them.
"""

import os
import re
import subprocess
import sys


def relocations(library):
    text = subprocess.run(["readelf", "-rW", library], capture_output=True, text=True, check=True).stdout
    return len(re.findall(r"^[0-9a-f]{8,} .*\bR_\w+", text, re.M))


def own_kib(library):
    """Pages of the library that are the process's own, in a process that has got as far as its main().

    Not Private_Dirty, which has pages of the file that the linker wrote and the disk has not seen yet.
    """
    name = os.path.realpath(library)
    child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             env={**os.environ, "LD_PRELOAD": library})
    child.stdin.write(b"\n")
    child.stdin.flush()
    child.stdout.readline()
    own, ours = None, False
    with open(f"/proc/{child.pid}/smaps", encoding="utf-8") as f:
        for line in f:
            mapping = re.match(r"[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \S+ *(.*)$", line)
            if mapping:
                ours = mapping[1] == name
            elif ours and line.startswith("Anonymous:"):
                own = (own or 0) + int(line.split()[1])
    child.stdin.close()
    child.wait()
    if own is None:
        sys.exit(f"{library}: was not loaded")
    return own


def main():
    library, most, most_kib = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    count, own = relocations(library), own_kib(library)
    print(f"{os.path.basename(library)}: {count} relocations (at most {most}), "
          f"{own} KiB of its own in each process (at most {most_kib})")
    sys.exit(count > most or own > most_kib)


if __name__ == "__main__":
    main()
