#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small answers of the command line: command_line.py KYMO

Help and version wherever they are asked for, windows without a moment, traces that are named twice.
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import expect  # noqa: E402

KYMO = os.path.abspath(sys.argv[1])


def kymo(*words):
    return kymotest.run(KYMO, *words)


def check_help():
    topics = [line.split()[0] for line in kymo("list").stdout.splitlines() if line.startswith("  ")]
    expect(len(topics) > 5, topics)
    for topic in topics:
        for word in ("--help", "-h"):
            p = kymo("list", topic, word)
            expect(p.returncode == 0 and p.stdout.startswith(f"Usage: kymo list {topic}") and not p.stderr, p)
    p = kymo("list", "ops", "nosuch")
    expect(p.returncode == 2 and "nosuch" in p.stderr, p)


def check_version():
    version = kymo("--version").stdout
    expect(version.startswith("kymo "), version)
    for words in (["-V"], ["run", "--version"], ["run", "-V"], ["summary", "--version"], ["list", "-V"]):
        p = kymo(*words)
        expect((p.returncode, p.stdout, p.stderr) == (0, version, ""), p)
    p = kymo("run", "--no-summary", "-o", "version.kymo", "cat", "--version") # the program's own
    expect(p.returncode == 0 and "cat" in p.stdout, p)


def check_windows():
    for words in (["--after", "1s", "--before", "500ms"], ["--after", "1s", "--before", "1s"]):
        for command in (["show"], ["export", "--to", "json", "-o", "x.json"]):
            p = kymo(*command, *words, "one.kymo")
            expect(p.returncode == 2 and "--before" in p.stderr and not p.stdout, p)
    expect(kymo("show", "--after", "0s", "--before", "1h", "one.kymo").returncode == 0, "a window")


def check_twice():
    os.symlink("one.kymo", "link.kymo")
    once = kymo("summary", "one.kymo")
    for other in ("one.kymo", "./one.kymo", "link.kymo"):
        p = kymo("summary", "one.kymo", other)
        expect((p.returncode, p.stdout) == (0, once.stdout) and "named twice" in p.stderr, p)
        p = kymo("query", "--format", "csv", "one.kymo", other, "SELECT count(*) AS n FROM process")
        expect(p.stdout.split() == ["n", "1"] and "named twice" in p.stderr, p)
    p = kymo("summary", "one.kymo", "two.kymo")
    expect("2 traces are added up" in p.stderr and "named twice" not in p.stderr, p)
    expect("added up" not in kymo("summary", "--by", "trace,op", "one.kymo", "two.kymo").stderr, "by trace")
    p = kymo("query", "--format", "csv", "one.kymo", "two.kymo", "SELECT count(*) AS n FROM process")
    expect(p.stdout.split() == ["n", "2"], p)


def check_given_again():
    """Of several values of an option the last one counts, and that is told, whatever the command."""
    told = "is given more than once"
    p = kymo("export", "--to", "csv", "--to=json", "-o", "-", "one.kymo")
    expect(p.returncode == 0 and p.stdout.startswith("{"), p)
    expect(f'--to {told}: "json" counts, "csv" does not\n' in p.stderr, p.stderr)
    p = kymo("show", "-d", "mpi", "-d", "thread", "--domain=opencl", "one.kymo")
    for before, now in (("mpi", "thread"), ("thread", "opencl")):
        expect(f'--domain {told}: "{now}" counts, "{before}" does not; for both: --domain A,B\n' in p.stderr, p.stderr)
    expect(p.stderr.count(told) == 2, p.stderr)
    p = kymo("list", "formats", "-f", "csv", "--format=json")
    expect(p.stdout.startswith(("{", "[")) and f'--format {told}: "json" counts, "csv" does not' in p.stderr, p)
    p = kymo("run", "--dry-run", "--mode", "full", "--mode", "minimal", "true")
    expect("KYMO_MODE=minimal" in p.stdout and f'--mode {told}: "minimal" counts, "full" does not' in p.stderr, p)
    # Nothing is told of what changes nothing, of options that may be repeated, of other sources, of the program's own.
    for words in (["-f", "csv", "-f", "csv"], ["--all", "--all"]):
        expect(told not in kymo("summary", *words, "one.kymo").stderr, words)
    p = kymo("run", "--dry-run", "--tool", "a.so", "--tool", "b.so", "true", "--mode", "full", "--mode", "minimal")
    expect("a.so:b.so" in p.stdout and told not in p.stderr, p)
    os.environ["KYMO_MODE"] = "full"
    expect(told not in kymo("run", "--dry-run", "--mode", "minimal", "true").stderr, "environment")
    del os.environ["KYMO_MODE"]


def check_slower_telemetry():
    """Sources that are read less often than is asked for are named, of those that are wanted."""
    def told(*words):
        p = kymo("run", "--no-summary", "-f", "-o", "telemetry.kymo", *words, "true")
        expect(p.returncode == 0, p)
        return re.findall(r"warning: (--telemetry=.*read less often.*)", p.stderr)

    expect(told("--telemetry") == [] and told("--telemetry=100") == [], "as often as is asked for")
    said, = told("--telemetry=1")
    expect(re.fullmatch(r"--telemetry=1: where they are here, these are read less often: (cpu, .*) every 10.00 ms; (hwmon, .*) every 100.0 ms", said), said)
    said, = told("--telemetry=99")
    expect("cpu" not in said and "every 100.0 ms" in said, said)
    expect(told("--telemetry=9", "--telemetry-only", "cpu") == ["--telemetry=9: where they are here, these are read less often: cpu every 10.00 ms"], "one")


def check_variables():
    """Those that are no options are listed, and known where they are set, whoever they belong to."""
    listed = kymo("list", "options").stdout
    for name in ("KYMO_CLOCK", "KYMO_CUPTI", "KYMO_CLOCK_PERIOD_MS"):
        expect(f" {name} " in listed, name, listed)
        os.environ[name] = "1"
        p = kymo("info", "one.kymo")
        expect("unknown" not in p.stderr, name, p)
        del os.environ[name]
    os.environ["KYMO_CUPTY"] = "1"
    expect("did you mean KYMO_CUPTI" in kymo("info", "one.kymo").stderr, "a misspelt one")
    del os.environ["KYMO_CUPTY"]


def main():
    for variable in [v for v in os.environ if v.startswith("KYMO_")]:
        del os.environ[variable]
    with kymotest.Folder() as folder:
        os.chdir(folder)
        for name in ("one", "two"):
            p = kymo("run", "--no-summary", "--threads", "-o", f"{name}.kymo", "true")
            expect(p.returncode == 0, p)
        for check in (check_help, check_version, check_windows, check_twice, check_given_again, check_slower_telemetry, check_variables):
            check()
        os.chdir("/")


main()
