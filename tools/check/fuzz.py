#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every libFuzzer target of a build for some seconds and prints a table: fuzz.py BUILD [--seconds N] [--jobs N] [TARGET...]

A target begins with tests/fuzz/TARGET and what it found before, in BUILD/tests/fuzz-TARGET. What ends it is left there as
crash-*, slow ones as timeout-* or slow-unit-*, and named under the table. Edges are those that coverage counts, of all of Kymo that is linked to
it. The last line says how many targets found something, which is the exit status, too; BUILD/fuzz.txt keeps the table and when it was."""
import argparse
import concurrent.futures
import os
import re
import resource
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OPTIONS = {"UBSAN_OPTIONS": "halt_on_error=1", "ASAN_OPTIONS": "allocator_may_return_null=1",
           "LSAN_OPTIONS": f"print_suppressions=0:suppressions={ROOT}/tests/support/lsan.supp"}


def number(pattern, text):
    """The last one that is told."""
    found = re.findall(pattern, text, re.M)
    return int(found[-1]) if found else 0


def run(build, name, seconds):
    kept = os.path.join(build, "tests", f"fuzz-{name}")
    os.makedirs(kept, exist_ok=True)
    begun = time.time()
    command = [os.path.join(build, "bin", f"fuzz_{name}"), f"-max_total_time={seconds}", "-timeout=60", "-rss_limit_mb=4096", "-print_final_stats=1",
               f"-artifact_prefix={kept}/", kept, os.path.join(ROOT, "tests", "fuzz", name)]
    with subprocess.Popen(command, cwd=kept, env={**os.environ, **OPTIONS}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                          errors="replace") as done:
        try:
            told = done.communicate(timeout=seconds + 300)[1]
        except subprocess.TimeoutExpired:  # the sanitizer goes through gigabytes of memory, say, to tell what they are
            done.kill()
            told = done.communicate()[1]
    found = sorted(os.path.join(kept, f) for f in os.listdir(kept)
                   if re.match(r"(crash|timeout|oom|leak|slow-unit)-", f) and os.path.getmtime(os.path.join(kept, f)) >= begun - 1)
    executions = number(r"stat::number_of_executed_units: (\d+)", told) or number(r"^#(\d+)", told)
    row = {"target": name, "edges": number(r"cov: (\d+)", told), "of": number(r"Loaded 1 modules +\((\d+) inline", told), "inputs": number(r"corp: (\d+)", told), "runs": executions,
           "per second": round(executions / max(1, time.time() - begun)), "found": found, "ended": done.returncode}
    if done.returncode:
        why = re.findall(r"^(?:.*ERROR: .*|.*runtime error: .*|SUMMARY: .*)$", told, re.M)
        row["why"] = why[:3] or told.splitlines()[-3:]
    return row


def table(rows):
    columns = ["target", "edges", "of", "inputs", "runs", "per second"]
    lines = ["".join(f"{c:>12}" if i else f"{c:<14}" for i, c in enumerate(columns)) + "  found"]
    for r in rows:
        lines.append("".join(f"{r[c]:>12}" if i else f"{r[c]:<14}" for i, c in enumerate(columns)) + f"  {'nothing' if not r['ended'] else 'ended'}")
    for r in rows:
        if r["ended"]:
            lines += [f"{r['target']}: {line.strip()}" for line in r["why"]] + [f"    {r['target']}: {path}" for path in r["found"]]
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("targets", nargs="*")
    args = parser.parse_intermixed_args()
    build = os.path.abspath(args.build)
    there = sorted(n[5:] for n in os.listdir(os.path.join(build, "bin")) if n.startswith("fuzz_"))
    names = args.targets or there
    if not names or set(names) - set(there):
        sys.exit(f"there is no target {', '.join(set(names) - set(there)) or 'at all'} in {build}/bin (libFuzzer needs clang: make fuzz)")
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        rows = list(pool.map(lambda n: run(build, n, args.seconds), names))
    lines = table(rows)
    bad = sum(bool(r["ended"]) for r in rows)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    lines.append(f"{len(rows)} targets, {args.seconds} s each, {used.ru_utime + used.ru_stime:.0f} s of processors, "
                 f"{sum(r['runs'] for r in rows)} runs, {bad} found something")
    with open(os.path.join(build, "fuzz.txt"), "a", encoding="utf-8") as f:
        f.write("\n".join([time.strftime("%Y-%m-%d %H:%M:%S"), *lines, ""]))
    print("\n".join(lines))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
