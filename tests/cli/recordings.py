#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kymo list recordings: those under way, each once, and none that is over or was killed: recordings.py KYMO."""
import csv
import io
import json
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import check, expect, must, wait_for  # noqa: E402

KYMO = os.path.abspath(sys.argv[1])
HOSTILE = "second \x1b[2J\n\"x\" \\ \u202e \u00e9"
SHOWN = "second \\x1b[2J\\n\"x\" \\ \\u202e \u00e9"


class Recording:
    def __init__(self, folder, name, env):
        self.trace = os.path.join(folder, name + ".kymo")
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with
            [KYMO, "run", "--no-summary", "-o", self.trace, "--", "sh", "-c", "echo on; read line", HOSTILE, name], env=env,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        expect(self.process.stdout.readline() == "on\n", "it began")

    def end(self):
        _, err = self.process.communicate("over\n", timeout=kymotest.WAIT)
        check(f"{self.trace}: ended", self.process.returncode, 0)
        return err


def listed(env, folder):
    """By trace; others may be recorded on this machine."""
    rows = json.loads(must(KYMO, "list", "recordings", "--format", "json", env=env))["recordings"]
    return {r["trace"]: r for r in rows if r["trace"].startswith(folder)}, [r["trace"] for r in rows if r["trace"].startswith(folder)]


def main():
    with kymotest.Folder() as folder:
        runtime = os.path.join(folder, "runtime")
        os.mkdir(runtime, 0o700)
        env = kymotest.environment(XDG_RUNTIME_DIR=runtime)
        check("none", "Nothing of this user" in must(KYMO, "list", "recordings", env=env) or len(listed(env, "/")[1]) > 0, True)
        check("none, as JSON", listed(env, folder)[1], [])
        before = time.time_ns()
        first, second = Recording(folder, "first", env), Recording(folder, HOSTILE, kymotest.environment())
        wait_for(lambda: len(listed(env, folder)[1]) == 2, "both")
        rows, order = listed(env, folder)
        check("each once, the older one first", order, [first.trace, second.trace])
        check("what runs", rows[second.trace]["command"], ["sh", "-c", "echo on; read line", HOSTILE, HOSTILE])
        for row in rows.values():
            check("since when", before <= row["started_ns"] <= time.time_ns(), True)
        check("nothing was said to it", {r["ctl"] for r in rows.values()}, {None})
        must(KYMO, "ctl", "pause", first.trace)
        check("what was said last", [r["ctl"] for r in listed(env, folder)[0].values()], ["pause", None])
        text = [line for line in must(KYMO, "list", "recordings", env=env).splitlines() if line.startswith(folder)]
        check("a line each, whatever its name", len(text), 2)
        check("paused", ["paused by kymo ctl" in line for line in text], [True, False])
        check("its command", "sh -c echo on; read line" in text[1], True)
        check("its names as they are, controls escaped", text[1].endswith(' ' + ' '.join([SHOWN] * 2)), True)
        rows = list(csv.reader(io.StringIO(must(KYMO, "list", "recordings", "-f", "csv", env=env))))
        check("the same in tables", [r[-1] for r in rows].count(f"sh -c echo on; read line {SHOWN} {SHOWN}"), 1)
        check("no control", [c for c in "".join(text) if not c.isprintable()], [])
        must(KYMO, "ctl", "resume", first.trace)
        check("resumed", listed(env, folder)[0][first.trace]["ctl"], "resume")
        first.end()
        check("one is over", listed(env, folder)[1], [second.trace])
        second.process.send_signal(signal.SIGKILL)
        second.process.wait(kymotest.WAIT)
        check("its launcher was killed, its program runs on", listed(env, folder)[1], [second.trace])
        second.process.stdin.close()
        wait_for(lambda: not listed(env, folder)[1], "its end")
        second.process.stdout.close()
        second.process.stderr.close()
        for words, said in ((["x"], "list recordings takes no operand, not \"x\""),
                            (["--format", "xml"], "--format takes text|md|csv|json|html|tsv, not \"xml\"")):
            done = kymotest.run(KYMO, "list", "recordings", *words)
            check(f"{words}", (done.returncode, said in done.stderr), (2, True))


main()
sys.exit(1 if kymotest.wrong else 0)
