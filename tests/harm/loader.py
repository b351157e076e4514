#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Doors that look for a library's functions do not hang with a thread that is in dlopen(): loader.py KYMO FOLDER DOOR...

Of each door a plugin, loaded with RTLD_LOCAL, calls a function that the door stands before. FOLDER has the
programs: see loader.cmake.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
from kymotest import Failure, Folder, environment, expect, run  # noqa: E402

KYMO, HERE = map(os.path.abspath, sys.argv[1:3])
BACKENDS = {"exports": "nccl", "mpi": "mpi", "openmp": "openmp", "libfabric": "libfabric"}


def part(name):
    return os.path.join(HERE, f"libharm_loader_{name}.so")


def check(door):
    program = [os.path.join(HERE, "harm_loader"), part(door + "_plugin"), part("slow"), part("other")]
    alone = run(*program, env=environment())
    expect((alone.returncode, alone.stdout) == (0, "called\nnobody walked over the objects\n"), door, alone)
    with Folder() as folder:
        done = run(KYMO, "run", "--no-summary", "-b", BACKENDS[door], "-o", os.path.join(folder, "t.kymo"), *program,
                   env=environment())
        expect((done.returncode, done.stdout) == (0, "called\nloaded meanwhile\n"), door, done)


def main():
    wrong = 0
    for door in sys.argv[3:]:
        try:
            check(door)
        except Failure as e:
            wrong += 1
            print(e)
    return wrong


if __name__ == "__main__":
    sys.exit(main())
