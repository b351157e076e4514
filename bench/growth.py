#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How time and memory of the commands that read traces grow with the trace.

    bench/growth.py                                   every kind of trace, 1 and 10 million calls
    bench/growth.py --kinds submit --calls 1,10,100   one kind, more
    bench/growth.py --windows                         a summary of 1, 10 and 100 % of a trace

Traces are synthetic (tests/support/synth_growth.c says what kinds there are). Of each command: seconds by the clock,
seconds of processors (user and system), the most memory that was resident, and of sizes after the first the seconds of
processors for each call, against those of the size before: 1.0 is linear.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

KINDS = ("host", "submit", "ranges", "mpi", "ranks", "names")
COMMANDS = {
    "digest": ["summary", "--tables", "digest"],
    "summary": ["summary"],
    "all": ["summary", "--all"],
    "diagnose": ["diagnose"],
    "compare": ["compare"],
    "window": ["show", "--after", "50%", "--before", "50.1%"],
    "query": ["query"],
}
QUESTION = "SELECT count(*) FROM regions"


def measured(words):
    """(seconds by the clock, of processors, MiB resident) of a command; its output is not kept."""
    begin = time.monotonic()
    with open(os.devnull, "wb") as null, tempfile.TemporaryFile() as said:
        child = subprocess.Popen(words, stdout=null, stderr=said)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode > 1:
            said.seek(0)
            print(f"{' '.join(words)}: exit status {child.returncode}\n{said.read().decode(errors='replace')}",
                  file=sys.stderr)
    return time.monotonic() - begin, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def size(trace):
    return sum(os.path.getsize(os.path.join(folder, f)) for folder, _, files in os.walk(trace) for f in files)


def words_of(kymo, command, trace):
    rest = [trace, QUESTION] if command == "query" else [trace, trace + "-2"] if command == "compare" else [trace]
    return [kymo] + COMMANDS[command] + rest


def make(o, kind, calls):
    trace = os.path.join(o.scratch, f"{kind}-{calls}")
    for copy in [trace] + ([trace + "-2"] if "compare" in o.commands else []):
        if not os.path.isdir(copy):
            subprocess.run([os.path.join(o.build, "bin/kymo-synth"), "growth", copy, kind, str(calls)], check=True)
    return trace


def drop(trace):
    for copy in (trace, trace + "-2"):
        shutil.rmtree(copy, ignore_errors=True)


def print_growth(o, kymo, kind):
    before = {}
    for calls in o.calls:
        trace = make(o, kind, calls)
        for command in o.commands:
            wall, cpu, memory = measured(words_of(kymo, command, trace))
            growth = cpu / calls / before[command] if command in before else 0
            before[command] = cpu / calls
            print(f"{kind:7} {calls / 1e6:6g} M  {size(trace) / 1e6:7.0f} MB  {command:9} {wall:7.2f} s {cpu:7.2f} s "
                  f"{memory:7.0f} MiB  {growth or '':.4}", flush=True)
        if not o.keep:
            drop(trace)


def print_windows(o, kymo, kind):
    calls = o.calls[-1]
    trace = make(o, kind, calls)
    for command in ("summary", "diagnose"):
        for share in (0.1, 1, 10, 100):
            wall, cpu, memory = measured([kymo, command, "--after", f"{50 - share / 2}%", "--before",
                                          f"{50 + share / 2}%", trace])
            print(f"{kind:7} {calls / 1e6:6g} M  {command:9} {share:5g} %  {wall:7.2f} s {cpu:7.2f} s {memory:7.0f} MiB",
                  flush=True)
    if not o.keep:
        drop(trace)


def numbers(text):
    return [int(float(n) * 1e6) for n in text.split(",")]


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--build", default="build/release", help="build folder")
    p.add_argument("--scratch", help="where traces go: some 35 bytes a call and as much for a copy to compare with")
    p.add_argument("--kinds", type=lambda t: re.split("[, ]+", t), default=KINDS, help=",".join(KINDS))
    p.add_argument("--calls", type=numbers, default=numbers("1,10"), help="millions of calls (default: 1,10)")
    p.add_argument("--commands", type=lambda t: t.split(","), default=list(COMMANDS), help=",".join(COMMANDS))
    p.add_argument("--windows", action="store_true", help="parts of the largest trace instead")
    p.add_argument("--keep", action="store_true", help="leave the traces, and use those that are there")
    o = p.parse_args()
    own = None if o.scratch else tempfile.mkdtemp(prefix="kymo-growth-")
    o.scratch = o.scratch or own
    os.makedirs(o.scratch, exist_ok=True)
    kymo = os.path.join(o.build, "bin/kymo")
    try:
        for kind in o.kinds:
            (print_windows if o.windows else print_growth)(o, kymo, kind)
    finally:
        if own:
            shutil.rmtree(own)
    return 0


if __name__ == "__main__":
    sys.exit(main())
