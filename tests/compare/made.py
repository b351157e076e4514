# SPDX-License-Identifier: Apache-2.0
"""Traces in which every time is chosen, and the statistics of comparing them, written a second time."""
import itertools
import json
import math
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402


class Maker:
    """Writes traces with kymo-synth and compares them."""

    def __init__(self, kymo, synth, folder):
        self.kymo, self.synth, self.folder, self.made = kymo, synth, folder, 0

    def trace(self, lines, rank="", host="", command="", into=None):
        """One process that did what the lines say (tests/support/synth_timed.c)."""
        self.made += 1
        path = into or os.path.join(self.folder, "%05d.kymo" % self.made)
        done = subprocess.run([self.synth, "timed", path, str(rank), host] + ([command] if command else []),
                              input="\n".join(lines).encode("latin-1") + b"\n", check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode:
            sys.exit("kymo-synth: " + done.stdout.decode())
        return path

    def run(self, a, b, *words):
        """Status, output and messages."""
        return kymotest.Run([self.kymo, "compare", *words, *a, "--", *b])

    def compare(self, a, b, *words):
        """Status, and the rows of each table by (item, per)."""
        done = self.run(a, b, "--format", "json", *words)
        if done.status not in (0, 1, 3) or not done.out:
            sys.exit("kymo compare failed with %d: %s" % (done.status, done.err))
        document = json.loads(done.out)
        return done.status, document, {
            t["name"]: {(r.get("item"), r.get("per")): r for r in t["rows"]} for t in document["tables"]}


def kernels(times, start=10000, gap=1000, device=1, items=64, end=True):
    """Lines of kernels by name, by turns, one after the other: {"name": [ns, ...]}."""
    lines, at = [], start
    for i in range(max(map(len, times.values()))):
        for name, values in times.items():
            if i < len(values):
                lines.append("kernel %s %d %d %d %d" % (name, items, at, round(values[i]), device))
                at += round(values[i]) + gap
    return lines + (["end %d" % (at + 10000)] if end else [])


# ---- noise -------------------------------------------------------------------------------------

def times(chance, model, centre, count, between=0.01):
    """`count` times around `centre` ns; runs differ among each other by `between` (of logarithms)."""
    run = centre * math.exp(chance.gauss(0, between))
    slow, out = 0.0, []
    for i in range(count):
        if model == "lognormal":
            x = chance.gauss(0, 0.05)
        elif model == "autocorrelated":
            slow = 0.9 * slow + chance.gauss(0, 0.01)
            x = slow + chance.gauss(0, 0.01)
        elif model == "bimodal":  # every fifth call meets another
            x = chance.gauss(0, 0.02) + (0.5 if chance.random() < 0.2 else 0)
        elif model == "drifting":  # gets warm, or cools down
            if not i:
                slope = chance.uniform(-0.02, 0.02)
            x = chance.gauss(0, 0.02) + slope * i / count
        else:
            raise ValueError(model)
        out.append(run * math.exp(x))
    return out


MODELS = ("lognormal", "autocorrelated", "bimodal", "drifting")


# ---- statistics, a second time --------------------------------------------------------------------

def median(values):
    v = sorted(values)
    n = len(v)
    return v[n // 2] if n % 2 else (v[n // 2 - 1] + v[n // 2]) / 2


def rank_test(a, b):
    """Two-sided p by going through all ways to choose A's ranks; few values only."""
    both = sorted(a + b)
    rank = {v: (both.index(v) + 1 + len(both) - both[::-1].index(v)) / 2 for v in both}
    ranks = [rank[v] for v in a + b]
    mean = len(a) * (len(ranks) + 1) / 2
    far = abs(sum(ranks[:len(a)]) - mean)
    ways = [sum(c) for c in itertools.combinations(ranks, len(a))]
    return sum(abs(w - mean) >= far - 1e-9 for w in ways) / len(ways)


def rank_interval(a, b):
    """The shifts that the test would not reject at 5 %, of values without ties."""
    differences = sorted(y - x for x in a for y in b)
    ways = itertools.combinations(range(len(a) + len(b)), len(a))
    least = sorted(sum(c) - sum(range(len(a))) for c in ways)
    out = 0
    while sum(u <= out for u in least) / len(least) <= 0.025:
        out += 1
    return median(differences), differences[out - 1], differences[-out]


def t_tail(t, freedom):
    """Both tails of Student's t, by Simpson's rule over the density."""
    c = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(freedom * math.pi)
    n, t = 20000, abs(t)
    h = t / n if t else 1
    total = sum((1 if i in (0, n) else 4 if i % 2 else 2) *
                (1 + (i * h) ** 2 / freedom) ** (-(freedom + 1) / 2) for i in range(n + 1))
    return 1 - 2 * c * total * h / 3 if t else 1.0


def holm(p):
    order, least, out = sorted(range(len(p)), key=lambda i: p[i]), 0, [0] * len(p)
    for k, i in enumerate(order):
        least = max(least, min(1, p[i] * (len(p) - k)))
        out[i] = least
    return out


def seeded(*words):
    return random.Random(":".join(map(str, words)))
