#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kernels that are complete when a program ends by _exit() are recorded: test_quick.py KYMO PROGRAM."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402

import traced

KERNELS = 100  # of the program


def main():
    kymo, program = sys.argv[1:]
    checks = traced.Checks()
    with kymotest.Folder() as folder:
        plain = traced.Run([program], folder)
        if plain.status == traced.SKIPPED:
            print(plain.out, end="")
            return traced.SKIPPED
        trace = os.path.join(folder, "trace.kymo")
        run = traced.record(kymo, trace, [program], folder)
        checks.equal("exit status", run.status, plain.status)
        checks.equal("standard output", run.out, plain.out)
        rows = json.loads(subprocess.run(
            [kymo, "query", "--format", "json", trace,
             "SELECT count(*) AS n FROM kernels WHERE NOT untimed AND duration > 0"],
            check=True, capture_output=True, text=True).stdout)
        checks.equal("kernels with times", rows[0]["n"], KERNELS)
    return checks.status(least=3)


sys.exit(main())
