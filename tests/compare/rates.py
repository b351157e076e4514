#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How often `kymo compare` cries wolf, and how often it misses one: pairs of sets of runs of one program
on a machine that is busy, and pairs of which one has a kernel that is slower.

    rates.py run FOLDER KYMO OCL_STEPS [PAIRS RUNS SLOWER LOAD]      records what is missing, then compares
    rates.py record FOLDER KYMO OCL_STEPS [PAIRS RUNS SLOWER LOAD]   may be stopped and repeated
    rates.py judge FOLDER KYMO [WORDS...]                            prints both rates

A pair is RUNS runs of A, as many of A again, as many of B, by turns in random order, all on this
machine while LOAD processes work in bursts. SLOWER is in thousandths. Recording 50 pairs of 10 takes
15 minutes to an hour. Runs are told apart by their folder alone; nothing is chosen after it was seen."""
import json
import math
import os
import random
import shutil
import subprocess
import sys
import time

SETS = ("a", "same", "slower")


def burst(seed):
    """Keeps a processor busy now and then, until it is killed."""
    chance = random.Random(seed)
    while True:
        end = time.monotonic() + chance.uniform(0, 2)
        while time.monotonic() < end:
            pass
        time.sleep(chance.uniform(0, 2))


def settings(folder, words):
    path = os.path.join(folder, "settings.json")
    if not os.path.exists(path):
        pairs, runs, slower, load = (list(map(int, words)) + [50, 10, 50, 1][len(words):])[:4]
        os.makedirs(folder, exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"pairs": pairs, "runs": runs, "slower": slower, "load": load}, f)
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def trace(folder, pair, name, run):
    return os.path.join(folder, "%02d" % pair, name, "%02d.kymo" % run)


def record_one(kymo, program, out, slower):
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(os.path.dirname(out), exist_ok=True)
    words = [kymo, "run", "--no-summary", "-o", out + ".part", "--", program, "--steps", "150",
             "--length", "3000", "--relax", str(1000 + slower)]
    shutil.rmtree(out + ".part", ignore_errors=True)
    subprocess.run(words, check=True, timeout=300, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.rename(out + ".part", out)


def record(folder, kymo, program, words):
    s = settings(folder, words)
    chance = random.Random(1)
    busy = []
    for i in range(s["load"]):
        pid = os.fork()
        if pid == 0:
            burst(i)
        busy.append(pid)
    try:
        for pair in range(s["pairs"]):
            for run in range(s["runs"]):
                for name in chance.sample(SETS, len(SETS)):
                    out = trace(folder, pair, name, run)
                    if not os.path.exists(out):
                        record_one(kymo, program, out, s["slower"] if name == "slower" else 0)
            print("pair %d, load %.1f" % (pair, os.getloadavg()[0]), flush=True)
    finally:
        for pid in busy:
            os.kill(pid, 9)
            os.waitpid(pid, 0)


def compare(folder, kymo, pair, name, runs, words):
    """What is told of one pair: (status, ["item verdict"])."""
    done = subprocess.run([kymo, "compare", "--format", "json", *words] +
                          [trace(folder, pair, "a", r) for r in runs] + ["--"] +
                          [trace(folder, pair, name, r) for r in runs],
                          stdout=subprocess.PIPE, check=False, timeout=600)
    if done.returncode not in (0, 1):
        sys.exit("kymo compare failed with %d" % done.returncode)
    told = []
    for table in json.loads(done.stdout)["tables"]:
        for row in table["rows"]:
            if row.get("verdict") in ("slower", "faster", "more", "less"):
                told.append("%s %s" % (row["item"], row["verdict"]))
    return done.returncode, told


def upper(k, n):
    """Upper bound of the rate, 95 % sure, of k in n (Clopper-Pearson), by bisection."""
    low, high = k / n, 1.0
    for _ in range(60):
        p = (low + high) / 2
        tail = sum(math.comb(n, i) * p ** i * (1 - p) ** (n - i) for i in range(k + 1))
        low, high = (p, high) if tail > 0.05 else (low, p)
    return high


def judge(folder, kymo, words):
    s = settings(folder, [])
    pairs = [p for p in range(s["pairs"])
             if os.path.exists(trace(folder, p, SETS[-1], s["runs"] - 1)) and
             all(os.path.exists(trace(folder, p, n, s["runs"] - 1)) for n in SETS)]
    print("%d pairs of %d runs a side; slower: one kernel by %.1f %%" %
          (len(pairs), s["runs"], s["slower"] / 10))
    print("| runs a side | same program: told of | true rate, 95 % sure | slower kernel found | "
          "another kernel told of | exit status 1 |")
    print("|---|---|---|---|---|---|")
    for runs in sorted({1, 2, 3, 4, 5, 6, s["runs"]}):
        if runs <= s["runs"]:
            judge_sets(folder, kymo, pairs, [range(k, k + runs) for k in
                                             range(0, s["runs"] - runs + 1, runs)], words)


def judge_sets(folder, kymo, pairs, sets, words):
    """A pair has several sets of so many runs: each is judged."""
    wolves, found, others, ones, n = [], 0, 0, 0, len(pairs) * len(sets)
    for p in pairs:
        for runs in sets:
            status, told = compare(folder, kymo, p, "same", runs, words)
            if told or status:
                wolves.append((p, told))
            status, told = compare(folder, kymo, p, "slower", runs, words)
            found += "kernel relax slower" in told
            others += any(t.startswith("kernel ") and "relax" not in t for t in told)
            ones += status == 1
    print("| %d | %d of %d (%.1f %%) | <= %.1f %% | %d of %d (%.0f %%) | %d | %d |" %
          (len(sets[0]), len(wolves), n, 100 * len(wolves) / n, 100 * upper(len(wolves), n), found, n,
           100 * found / n, others, ones), flush=True)
    for p, told in wolves:
        print("<!-- pair %d of %d runs: %s -->" % (p, len(sets[0]), "; ".join(told)))


if __name__ == "__main__":
    if len(sys.argv) >= 5 and sys.argv[1] in ("record", "run"):
        record(sys.argv[2], os.path.abspath(sys.argv[3]), os.path.abspath(sys.argv[4]), sys.argv[5:])
        if sys.argv[1] == "run":
            judge(sys.argv[2], os.path.abspath(sys.argv[3]), [])
    elif len(sys.argv) >= 4 and sys.argv[1] == "judge":
        judge(sys.argv[2], os.path.abspath(sys.argv[3]), sys.argv[4:])
    else:
        sys.exit(__doc__)
