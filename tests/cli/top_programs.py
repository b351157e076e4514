# SPDX-License-Identifier: Apache-2.0
"""Recorded programs that do what they are told, for the tests of kymo top."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import expect  # noqa: E402

KYMO, PROGRAM = (os.path.abspath(p) for p in sys.argv[1:3])


class Recording:
    """One or more such programs (`count`) in one recording, spoken to by number."""

    all = []

    def __init__(self, folder, name, *options, count=1, env=None, before="", words=()):
        self.trace = os.path.join(folder, name + ".kymo")
        self.to, self.answers = [], []
        self.all.append(self)
        script = []
        for i in range(count):
            for kind in ("in", "out"):
                os.mkfifo(os.path.join(folder, f"{name}.{kind}{i}"))
            script.append(f'{before.format(i=i)} "$0" "$@" < {folder}/{name}.in{i} > {folder}/{name}.out{i} & echo $!')
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with
            [KYMO, "run", "--no-summary", "--mode", "full", *options, "-o", self.trace, "--", "sh", "-c",
             "\n".join(script) + "\nwait", PROGRAM, *words], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        self.pids = [int(self.process.stdout.readline()) for _ in range(count)]
        for i in range(count):
            self.to.append(open(f"{folder}/{name}.in{i}", "w", encoding="utf-8"))
            self.answers.append(open(f"{folder}/{name}.out{i}", encoding="utf-8"))
            expect(self.answers[i].readline() == "ready\n", name, i, "began")

    def tell(self, *lines, to=0):
        for line in lines:
            self.to[to].write(line + "\n")
            self.to[to].flush()
            expect(self.answers[to].readline() == "done\n", line)

    def end(self):
        self.let_go()
        self.process.communicate(timeout=kymotest.WAIT)
        for f in self.answers:
            f.close()

    def let_go(self):
        for f in self.to:
            try:
                f.close()
            except BrokenPipeError:
                pass
