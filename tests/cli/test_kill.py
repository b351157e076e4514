#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 in mid-run: test_kill.py KYMO OCL_SLEEPY.

The program counts the kernels that finished in a mapped file, so the count survives it. The trace
must open, say how the process ended, and hold every one of them: at most the last kernel, which
the program had not yet counted, may be on top."""
import os
import signal
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402

import traced

KERNELS = 5000
PATIENCE = 120  # seconds until the test gives up on the program


def finished(path):
    """Kernels counted so far, and nothing while the file is not yet there."""
    try:
        with open(path, "rb") as f:
            data = f.read(8)
    except FileNotFoundError:
        return 0
    return struct.unpack("<q", data)[0] if len(data) == 8 else 0


def child_of(pid):
    """The one child of the launcher that is the program, not the drain."""
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as f:
                stat = f.read()
        except OSError:
            continue
        name, rest = stat[stat.index("(") + 1:stat.rindex(")")], stat[stat.rindex(")") + 2:]
        if int(rest.split()[1]) == pid and name == "ocl_sleepy":
            return int(entry)
    return None


def one_round(checks, kymo, program, folder, number):
    count, trace = os.path.join(folder, f"count{number}"), os.path.join(folder, f"t{number}.kymo")
    launcher = subprocess.Popen([kymo, "run", "--no-summary", "-o", trace, program, "--file", count],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    limit = time.monotonic() + PATIENCE
    while finished(count) < KERNELS * number and time.monotonic() < limit:
        if launcher.poll() is not None:
            break
        os.sched_yield()
    victim = child_of(launcher.pid)
    checks.equal("the program is running", victim is not None, True)
    if victim is None:
        launcher.kill()
        return
    os.kill(victim, signal.SIGKILL)
    checks.equal("status of the launcher", launcher.wait(PATIENCE), -signal.SIGKILL)
    told = finished(count)
    row = traced.query(kymo, trace, """SELECT (SELECT count(*) FROM dispatch) AS kernels,
        (SELECT sum(untimed <> 0) FROM dispatch) AS untimed, how_ended, exit_status, lost_records,
        damaged_blocks FROM process""")[0]
    checks.equal(f"kernels in the trace (the program counted {told})", row["kernels"] - told in (0, 1),
                 True)
    checks.equal("kernels without times", row["untimed"], 0)
    checks.equal("how it ended", (row["how_ended"], row["exit_status"]), (2, 9))
    checks.equal("lost", (row["lost_records"], row["damaged_blocks"]), (0, 0))


def main():
    kymo, program = sys.argv[1:]
    checks = traced.Checks()
    with kymotest.Folder() as folder:
        for number in (1, 2, 3):
            one_round(checks, kymo, program, folder, number)
    return checks.status(least=15)


sys.exit(main())
