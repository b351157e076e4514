#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records programs that nobody here wrote: real_programs.py KYMO COUNTLAYER [PROGRAM...].

Each must print the same and end the same with and without Kymo, and every call, kernel and byte
that an independent layer counts in the traced run must be in the trace. Figures that differ from
run to run are masked where a program prints some."""
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402

import traced

# Functions outside OpenCL that a program asks for: Kymo says that they run untraced.
UNTRACED = {"clinfo": 1}  # clGetICDLoaderInfoOCLICD

# MD5 of "kymo", to be found among all words of four letters.
HASH = "2d0032b41c823a77508501b1ca7ccfcf"


def exact(text):
    return text


def without_numbers(text):
    return re.sub(r"[0-9]+(\.[0-9]+)?", "#", text)


def verdicts(text):
    """Of CLBlast's table: which parameters were tried, and that the results were right."""
    rows = re.findall(r"^\|\s*\d+.*", re.sub(r"\x1b\[[0-9;]*m", "", text), re.M)
    return [re.split(r"\s*\|\s*", row)[1:5] + ["results match" in row] for row in rows]


PROGRAMS = {
    "clinfo": (["clinfo"], exact),
    "clpeak": (["clpeak", "--kernel-latency", "--transfer-bandwidth"],
               without_numbers),
    "clpeak-all": (["clpeak"], without_numbers),
    "clblast": (["clblast_tuner_copy_fast", "-m", "256", "-n", "256", "-runs", "1"], verdicts),
    "hashcat": (["hashcat", "-m", "0", "-a", "3", "--quiet", "--potfile-disable",
                 "--logfile-disable", "--restore-disable", HASH, "?l?l?l?l"], exact),
}


def expected_output(name, out):
    """The program did its work: what it must have printed in any case."""
    if name == "hashcat":
        return out == f"{HASH}:kymo\n"
    if name == "clblast":
        return len(verdicts(out)) > 10 and all(row[-1] for row in verdicts(out))
    return "Portable Computing Language" in out or "Platform" in out


def check(kymo, layer, name, folder):
    command, normal = PROGRAMS[name]
    checks = traced.Checks()
    counts = os.path.join(folder, "counts.%p.json")
    trace = os.path.join(folder, "trace.kymo")

    # The plain run is the first: what it or PoCL compiles and keeps is there in the traced one.
    plain = traced.Run(command, folder)
    if plain.err: # what a compiler warns of comes once
        plain = traced.Run(command, folder)
    # The layer goes on top of Kymo's: it must see the program's calls, not Kymo's.
    on_top = ["sh", "-c", 'OPENCL_LAYERS="$OPENCL_LAYERS:$0" exec "$@"', layer, *command]
    run = traced.record(kymo, trace, on_top, folder, env={"COUNT_OUT": counts})

    checks.equal("exit status", run.status, plain.status)
    checks.equal("standard output", normal(run.out), normal(plain.out))
    checks.equal("standard error", normal(run.err), normal(plain.err))
    checks.equal("the program's work was done", expected_output(name, run.out), True)
    for file in sorted(os.listdir(folder)):
        if file.startswith("counts."):
            traced.compare_with_layer(checks, kymo, trace, traced.load(os.path.join(folder, file)),
                                      UNTRACED.get(name, 0))
    return checks.status(least=10)


def main():
    kymo, layer, *names = sys.argv[1:]
    status = traced.SKIPPED
    for name in names or PROGRAMS:
        if not shutil.which(PROGRAMS[name][0][0]):
            print(f"{name}: skipped, {PROGRAMS[name][0][0]} is not installed")
            continue
        print(f"{name}:")
        with kymotest.Folder() as folder:
            result = check(os.path.abspath(kymo), os.path.abspath(layer), name, folder)
        status = result if status == traced.SKIPPED else status or result
    return status


sys.exit(main())
