#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a recording does to programs, and what it misses: a table.

Usage: harm.py BUILD [--rounds N] [--seed N] [--jobs N] [--only REGEX] [--output FILE]

Each case is a program that runs without Kymo and with it, or a test of this folder. A row has how often it ran, how many
calls the programs counted themselves, how many of them were recorded and how many counted as lost (which must be all),
of how many nobody can know, as who counts was killed with the recording (which the trace must say), and how many
runs were harmed: the program's results, output or status are not those without Kymo; something hangs; a process, socket or
temporary file is left; a trace cannot be read; the sum is not exact. The status is 1 if any was.

The seed chooses moments and options; it is printed, and stands in the file with the table (harm.json in BUILD).
"""
import argparse
import json
import multiprocessing
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "base"))
sys.dont_write_bytecode = True
import kymotest  # noqa: E402
from account import Failure  # noqa: E402
import cases  # noqa: E402
import warden  # noqa: E402

COLUMNS = ("case", "runs", "produced", "recorded", "lost", "unknown", "harmed")
NUMBERS = ("produced", "recorded", "lost", "unknown")


def processor_seconds():
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF))


def one(job):
    """A case in a folder of its own: its rows, what was wrong, and the processor time."""
    case, function, arguments = job
    folder, began, wrong = tempfile.mkdtemp(prefix="h-"), processor_seconds(), []
    rows = tempfile.NamedTemporaryFile(prefix="rows-")
    os.environ["HARM_ROWS"] = rows.name
    runs = 1
    try:
        runs = function(folder, *arguments)
    except (Failure, AssertionError, OSError, KeyError, ValueError, subprocess.SubprocessError) as e:
        wrong.append(f"{type(e).__name__}: {e}")
    try:
        kymotest.remove(folder)
    except (Failure, OSError) as e:
        wrong.append(f"left: {e}")
        shutil.rmtree(folder, ignore_errors=True)
    with rows:
        with open(rows.name, encoding="utf-8") as f:
            told = [json.loads(line) for line in f]
    return case, runs, told, wrong, processor_seconds() - began


def interrupted(number, frame):
    raise KeyboardInterrupt


def leave_interrupts():
    """What is ignored would be so in all that is started; what is handled is not."""
    signal.signal(signal.SIGINT, lambda *_: None)
    for number in (signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def done_of(jobs, processes):
    with multiprocessing.Pool(processes, leave_interrupts) as pool:
        yield from pool.imap_unordered(one, jobs)


class Table:
    def __init__(self):
        self.rows, self.failures = {}, []

    def row(self, case):
        return self.rows.setdefault(case, dict.fromkeys(COLUMNS, 0) | {"case": case})

    def add(self, case, runs, told, wrong):
        """runs: None where the system does not let it be tried; else those that no row was told of count as well."""
        for t in told:
            row = self.row(t["case"] or case)
            row["runs"] += 1
            for name in NUMBERS:
                row[name] += t[name]
            if t["produced"] != t["recorded"] + t["lost"] + t["unknown"]:
                wrong = [*wrong, f"not exact: {t}"]
        if runs is not None and not [t for t in told if not t["case"]]:
            self.row(case)["runs"] += runs if not told else 0
        if wrong:
            self.row(case)["harmed"] += len(wrong)
            self.failures += [f"{case}: {w}" for w in wrong]

    def total(self):
        return {"case": "all"} | {name: sum(r[name] for r in self.rows.values()) for name in COLUMNS[1:]}

    def text(self):
        lines = [COLUMNS] + [[str(r[c]) if c == "case" else f"{r[c]:,}" for c in COLUMNS]
                             for r in [*sorted(self.rows.values(), key=lambda r: r["case"]), self.total()] if r["runs"] or r["harmed"]]
        wide = [max(len(line[i]) for line in lines) for i in range(len(COLUMNS))]
        return "\n".join("  ".join(w.ljust(n) if i == 0 else w.rjust(n) for i, (w, n) in enumerate(zip(line, wide))) for line in lines)


def write(path, table, options, began, seconds, processor):
    with open(path + ".new", "w", encoding="utf-8") as f:
        json.dump({"ended": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "began": began, "seconds": round(seconds, 1),
                   "processor_seconds": round(processor, 1), "seed": options.seed, "rounds": options.rounds, "only": options.only,
                   "total": table.total(), "rows": sorted(table.rows.values(), key=lambda r: r["case"]), "failures": table.failures}, f, indent=1)
    os.replace(path + ".new", path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=250, help="kills at random moments")
    parser.add_argument("--seed", type=int, default=int(time.time()) % 100000)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="", help="cases whose name this expression is found in")
    parser.add_argument("--output", help="file for the table, as JSON (harm.json in the build folder)")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    for variable in [v for v in os.environ if v.startswith("KYMO_")]:
        del os.environ[variable]
    jobs = [job for job in cases.jobs(options.build, options.seed, options.rounds) if re.search(options.only, job[0])]
    print(f"seed {options.seed}, {options.rounds} kills, {len(jobs)} parts", flush=True)
    table, began, start, processor = Table(), time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), time.monotonic(), 0
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupted)
    number = 0
    try:
        for number, (case, runs, told, wrong, took) in enumerate(done_of(jobs, options.jobs), 1):
            table.add(case, runs, told, wrong)
            processor += took
            for w in wrong:
                print(f"HARMED {case}: {w}", flush=True)
            if number % 100 == 0:
                print(f"{number} of {len(jobs)} parts, {time.monotonic() - start:.0f} s", flush=True)
    except KeyboardInterrupt:
        table.failures.append(f"interrupted after {number} of {len(jobs)} parts")
    seconds = time.monotonic() - start
    print(table.text())
    all_ = table.total()
    print(f"seed {options.seed}: {all_['runs']:,} runs, {all_['produced']:,} calls produced = {all_['recorded']:,} recorded + {all_['lost']:,} lost"
          f" + {all_['unknown']:,} unknown; {seconds:.0f} s, {processor:.0f} s of processors; {len(table.failures)} harmed")
    write(options.output or options.build + "/harm.json", table, options, began, seconds, processor)
    return 1 if table.failures or not jobs else 0


if __name__ == "__main__":
    warden.keep()
    sys.exit(main())
