#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A tool that calls the runtime from its callbacks: inner_calls.py KYMO TOOL PROGRAM. Nothing hangs, the
calls are not recorded, and the trace says how many there were."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402

import traced

KERNELS = 300
NOTE = "SELECT count, text FROM note WHERE text LIKE '%from its callbacks%'"
CALLS = """SELECT (SELECT count(*) FROM call c JOIN op o ON o.id = c.op WHERE o.name = 'clGetPlatformIDs') AS inner,
    (SELECT count(*) FROM call c JOIN op o ON o.id = c.op WHERE o.name = 'clEnqueueNDRangeKernel') AS launches,
    (SELECT count(*) FROM dispatch) AS kernels"""


def record(kymo, trace, program, folder, env):
    read, write = os.pipe()
    done = subprocess.run([kymo, "run", "--no-summary", "--mode", "full", "-o", trace, "--", program, "--kernels",
                           str(KERNELS)], cwd=folder, env=dict(os.environ, INNER_FD=str(write), **env),
                          pass_fds=[write], timeout=100, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(write)
    with os.fdopen(read) as told:
        return done.returncode, told.read().split()


def main():
    kymo, tool, program = sys.argv[1:]
    checks = traced.Checks()
    with kymotest.Folder() as folder:
        plain, trace = os.path.join(folder, "p.kymo"), os.path.join(folder, "t.kymo")
        checks.equal("status without the tool", record(kymo, plain, program, folder, {}), (0, []))
        checks.equal("note without the tool", traced.query(kymo, plain, NOTE), [])
        status, (made, counted) = record(kymo, trace, program, folder, {"KYMO_TOOLS": tool})
        checks.equal("status", status, 0)
        launches = traced.query(kymo, plain, CALLS)[0]["launches"]
        checks.equal("the tool called", int(made) >= 3 * launches, True)
        checks.equal("counted", counted, made)
        notes = traced.query(kymo, trace, NOTE)
        checks.equal("notes of the trace", [n["count"] for n in notes], [int(made)])
        checks.equal("records of the program", traced.query(kymo, trace, CALLS),
                     traced.query(kymo, plain, CALLS))
    return checks.status(least=7)


sys.exit(main())
