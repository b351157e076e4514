#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records programs of tests/programs: test_programs.py KYMO PROGRAM [ARGUMENT...].

The program must print the same and end the same with and without Kymo, and the trace must agree
with the program's own counts: each call by function, each error by code, each kernel by name,
queue, device, thread and size, each copy with its bytes."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402

import traced


def main():
    kymo, program, *arguments = sys.argv[1:]
    checks = traced.Checks()
    with kymotest.Folder() as folder:
        counts = os.path.join(folder, "counts.json")
        trace = os.path.join(folder, "trace.kymo")
        plain = traced.Run([program, *arguments], folder)
        if plain.status == traced.SKIPPED:
            print(plain.out, end="")
            return traced.SKIPPED
        run = traced.record(kymo, trace, [program, *arguments, "--counts", counts], folder)
        checks.equal("exit status", run.status, plain.status)
        checks.equal("standard output", run.out, plain.out)
        checks.equal("standard error", run.err, plain.err)
        if not checks.wrong:
            for name in sorted(os.listdir(folder)):
                if name.startswith("counts.json"):
                    traced.compare_with_program(checks, kymo, trace,
                                                traced.load(os.path.join(folder, name)))
        return checks.status(least=20)


sys.exit(main())
