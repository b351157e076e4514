# SPDX-License-Identifier: Apache-2.0
"""
What tools add to a program that launches kernels, resolved to about a percent on a machine that is
not quiet.

Processes differ from each other, and a machine from minute to minute, by more than tools do. So all
processes are started and warmed once and then take turns in short blocks of steps, in an order that
changes from round to round; each block is compared with those without a tool of the same round. The
threads that launch are bound to CPUs of their own. Processes without a tool, compared with each
other, show what such a comparison is worth.
"""
import json
import os
import pathlib
import random
import statistics
import subprocess
import time

MAIN_CPU, BACKWARD_CPU = "2", "3"


class Server:
    """One process, of train.py or launch_rate, that waits for its turns."""

    def __init__(self, name, command, env, log):
        self.name, self.blocks = name, []
        self.process = subprocess.Popen([str(c) for c in command], env={**os.environ, **env},
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                                        text=True)

    def answer(self):
        for line in self.process.stdout:
            if line.startswith("{"):
                return json.loads(line)
        return None

    def turn(self, steps):
        cpus = [MAIN_CPU, BACKWARD_CPU] if (os.cpu_count() or 1) > 4 else []
        self.process.stdin.write(" ".join([str(steps), *cpus]) + "\n")
        self.process.stdin.flush()
        return self.answer()

    def end(self):
        try:
            self.process.communicate("end\n", timeout=60)
        except (subprocess.TimeoutExpired, BrokenPipeError):
            self.process.kill()
            self.process.wait()


def rounds(servers, seconds, steps, rare):
    """`rare`: names of those that take part in each eighth round alone."""
    order, end, i = random.Random(1), time.monotonic() + seconds, 0
    while time.monotonic() < end:
        at_turn = [s for s in servers if i % 8 == 0 or s.name not in rare]
        order.shuffle(at_turn)
        for s in at_turn:
            s.blocks.append((i, s.turn(steps)))
        i += 1


def interval(values):
    """Median and its 95 % interval, by order statistics."""
    v = sorted(values)
    half = 0.98 * len(v) ** 0.5
    low, high = max(0, int(len(v) / 2 - half)), min(len(v) - 1, int(len(v) / 2 + half))
    return statistics.median(v), v[low], v[high]


def compare(servers, what):
    """By name: percent added to blocks without a tool of the same round, and the interval."""
    plain = [s for s in servers if s.name.startswith("none")]
    result = {}
    for name in dict.fromkeys(s.name for s in servers):
        ratios = []
        for s in (s for s in servers if s.name == name):
            others = [dict(o.blocks) for o in plain if o is not s]
            for i, block in s.blocks:
                beside = [o[i][what] for o in others]
                if beside:
                    ratios.append((block[what] / statistics.mean(beside) - 1) * 100)
        if ratios:
            result[name] = interval(ratios)
    return result


def measure(ways, log_path, seconds, steps, rare=()):
    """`ways`: (name, command, environment). Returns the servers, ended, with their blocks."""
    with open(pathlib.Path(log_path), "a", encoding="utf-8") as log:
        servers = [Server(*way, log) for way in ways]
        live = [s for s in servers if s.answer()]
        try:
            rounds(live, seconds, steps, rare)
        finally:
            for s in servers:
                s.end()
    return live
