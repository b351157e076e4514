#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the claims on locks (base/locks.h) with clang's analysis of thread safety.

    locks.py ROOT BUILD     all of core, and what else takes mutexes
    locks.py ROOT           planted violations: each must be found

BUILD has a compile_commands.json. Nothing is compiled to code. Exit status 77: no clang here.
"""
import concurrent.futures
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

CHECKED = ("core", "topology", "capture", "drain", "base")
OWN_FUNCTIONS = "src/capture/lock/door.c"  # has the very functions, and takes no lock
FLAGS = ["-fsyntax-only", "-Wno-everything", "-Wthread-safety", "-DKYMO_CHECK_LOCKS"]
START = """
#include "core/process/process.h"
#include "core/ring/ring.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int number GUARDED_BY(lock);
static void needs(void) REQUIRES(lock);
static void needs(void) { number++; }
void planted(void);
"""
GOOD = "void planted(void) { pthread_mutex_lock(&lock); needs(); pthread_mutex_unlock(&lock); }"
PLANTED = {
    "writing variable 'number' requires": "void planted(void) { number = 1; }",
    "calling function 'needs' requires": "void planted(void) { needs(); }",
    "still held at the end": "void planted(void) { pthread_mutex_lock(&lock); }",
    "that was not held": "void planted(void) { pthread_mutex_unlock(&lock); }",
    "not held on every path": "void planted(void) { if (core_generation) pthread_mutex_lock(&lock); needs(); }",
    "calling function 'core_buffers_sweep' requires": "void planted(void) { core_buffers_sweep(); }",
}


def find_clang():
    names = ["clang"] + [f"clang-{n}" for n in range(25, 13, -1)]
    return next((c for c in map(shutil.which, names) if c), None)


def check(clang, root, folder, flags, path):
    """What clang says of one file: lines of warnings and errors."""
    run = subprocess.run([clang, *FLAGS, "-include", os.path.join(root, "src/base/locks.h"), *flags, path],
                         cwd=folder, capture_output=True, text=True)
    return [line for line in run.stderr.splitlines() if re.search(r": (warning|error|fatal error): ", line)]


def commands(root, build):
    """(folder, flags, file) of each file to be checked."""
    seen = set()
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as f:
        for c in json.load(f):
            path = os.path.realpath(os.path.join(c["directory"], c["file"]))
            parts = os.path.relpath(path, os.path.realpath(root)).split(os.sep)
            if path in seen or "/".join(parts) == OWN_FUNCTIONS or parts[0] != "src" or parts[1] not in CHECKED or not path.endswith(".c"):
                continue
            seen.add(path)
            with open(path, encoding="utf-8") as source:
                if parts[1] != "core" and "pthread_mutex_" not in source.read():
                    continue
            words = shlex.split(c["command"])
            flags = [w for i, w in enumerate(words) if re.match(r"-[DI]|-std=", w) or w == "-isystem" or
                     words[i - 1] == "-isystem"]
            yield c["directory"], [w for w in flags if w != "-DKYMO_ASSERTS"], path


def check_tree(clang, root, build):
    work = list(commands(root, build))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = [line for lines in pool.map(lambda w: check(clang, root, *w), work) for line in lines]
    for line in sorted(set(found)):
        print(line)
    print(f"{len(work)} files, {len(set(found))} violations")
    return 1 if found or not work else 0


def check_planted(clang, root):
    flags = ["-D_GNU_SOURCE", "-std=gnu11", "-I", os.path.join(root, "include"), "-I", os.path.join(root, "src")]
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for wanted, text in [("", GOOD), *PLANTED.items()]:
            path = os.path.join(folder, "planted.c")
            with open(path, "w", encoding="utf-8") as f:
                f.write(START + text + "\n")
            said = check(clang, root, folder, flags, path)
            ok = any(wanted in line for line in said) if wanted else not said
            print(f"{'ok' if ok else 'NOT FOUND'}: {wanted or 'nothing'}: {said}")
            bad += not ok
    return 1 if bad else 0


def main():
    clang = find_clang()
    if not clang:
        print("skipped: no clang here")
        return 77
    if len(sys.argv) == 3:
        return check_tree(clang, sys.argv[1], sys.argv[2])
    return check_planted(clang, sys.argv[1])


if __name__ == "__main__":
    sys.exit(main())
