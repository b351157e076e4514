#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kymo run --preset: every preset can be read and run, says what each option is for, and counts less than --config, the
environment and the command line: presets.py KYMO FOLDER."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import check, must  # noqa: E402

KYMO, SHIPPED = map(os.path.abspath, sys.argv[1:3])
NAMES = ["all", "always-on", "gpu", "host", "io", "memory", "ml", "mpi"]


def plan(*options, program="true", **env):
    """Variables that the program would get."""
    done = kymotest.run(KYMO, "run", "--dry-run", *options, "--", program, env=kymotest.environment(**env))
    kymotest.expect(done.returncode == 0, done.stderr)
    return dict(re.findall(r"^(KYMO_\w+)=(.*?) ?\\$", done.stdout, re.M)), done.stderr


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def shipped(home):
    listed = must(KYMO, "list", "presets", env=kymotest.environment(XDG_CONFIG_HOME=home)).splitlines()
    check("listed", [n for n in (line.split()[0] for line in listed) if n in NAMES], NAMES)
    for name in NAMES:
        with open(os.path.join(SHIPPED, f"{name}.conf"), encoding="utf-8") as f:
            lines = f.read().splitlines()
        check(f"{name}: its purpose is listed", any(line.split(None, 1) == [name, lines[0][2:]] for line in listed), True)
        shown = must(KYMO, "list", "presets", name, env=kymotest.environment(XDG_CONFIG_HOME=home)).splitlines()
        check(f"{name}: shown whole", shown[1:], lines)
        options = [(i, *line.split(" = ")) for i, line in enumerate(lines) if line and line[0] != "#"]
        check(f"{name}: sets something", len(options) >= 3, True)
        got, _ = plan("--preset", name, XDG_CONFIG_HOME=home)
        for i, option, value in options:
            reasons = [line for line in lines[1:i] if line.startswith("#")]
            check(f"{name}: {option} has a reason", bool(reasons) and bool(lines[i - 1]), True)
            variable = "KYMO_" + option.upper().replace("-", "_")
            if variable in got and option not in ("counters", "sample"):
                check(f"{name}: {option}", got[variable].strip("'"), {"yes": "1"}.get(value, value))
        check(f"{name}: hands on", len(got) > 5, True)


def order(home):
    mine = write(os.path.join(home, "mine.conf"), "# Mine\nmode = minimal\nargs = none\n")
    config = write(os.path.join(home, "config.conf"), "mode = full\n")

    def mode(*options, **env):
        return plan(*options, **env)[0]["KYMO_MODE"]
    check("default", mode(), "default")
    check("preset", mode("--preset", mine), "minimal")
    check("preset of the environment", mode(KYMO_PRESET=mine), "minimal")
    check("config before preset", mode("--preset", mine, "--config", config), "full")
    check("what config does not say", plan("--preset", mine, "--config", config)[0]["KYMO_ARGS"], "none")
    check("environment before both", mode("--preset", mine, "--config", config, KYMO_MODE="summary"), "summary")
    check("argument before all", mode("--preset", mine, "--config", config, "--mode", "default", KYMO_MODE="summary"), "default")
    write(os.path.join(home, "kymo", "presets", "gpu.conf"), "# A site's own\nmode = summary\n")
    check("a user's own", mode("--preset", "gpu", XDG_CONFIG_HOME=home), "summary")
    said = must(KYMO, "list", "presets", env=kymotest.environment(XDG_CONFIG_HOME=home))
    check("is listed, once", re.findall(r"^gpu .*", said, re.M), ["gpu          A site's own"])


def absent(home):
    lacking = write(os.path.join(home, "lacking.conf"), "# Lacking\ncounters = rusage:minflt,rusage:nonsense,rusage:utime\n")
    got, said = plan("--preset", lacking)
    check("what is there is counted", got["KYMO_COUNTERS"], "rusage:minflt,rusage:utime")
    check("what is not is said", said.count("--preset: not counted"), 1)
    check("which", "nonsense" in said, True)
    for options in (("--config", lacking), ("--counters", "rusage:nonsense", "--preset", lacking)):
        done = kymotest.run(KYMO, "run", "--dry-run", *options, "--", "true")
        check(f"{options[0]}: an error", (done.returncode, "nonsense" in done.stderr), (2, True))


def refused(home):
    wrong = write(os.path.join(home, "wrong.conf"), "# Wrong\nmoed = full\n")
    for name, said in (("gup", 'did you mean "gpu"?'), ("gup", "always-on, gpu, host"), ("", "there is no preset"), ("../gpu", "../gpu"),
                       (os.path.join(home, "none.conf"), "No such file"), (wrong, 'wrong.conf:2: unknown option "moed"')):
        done = kymotest.run(KYMO, "run", "--preset", name, "--dry-run", "--", "true")
        check(f"{name}: refused", (done.returncode, said in done.stderr), (2, True))
    done = kymotest.run(KYMO, "list", "presets", "gup")
    check("list of none", (done.returncode, 'did you mean "gpu"?' in done.stderr), (2, True))


def files(home):
    """Files that begin with others, that have no end, that nobody writes to."""
    nested = write(os.path.join(home, "nested.conf"), "# Nested\nmode = full\npreset = gpu\n")
    itself = write(os.path.join(home, "itself.conf"), f"config = {os.path.join(home, 'itself.conf')}\n")
    zeros = write(os.path.join(home, "zeros.conf"), "mode = full\n\0\n")
    for options, said in ((("--preset", nested), "nested.conf:3: preset: a file does not begin with another"),
                          (("--preset", itself), "itself.conf:1: config: a file does not begin with another"),
                          (("--config", itself), "itself.conf:1: config: a file does not begin with another"),
                          (("--config", "/dev/zero"), "larger than 1 MiB"), (("--config", zeros), "there are zeros in it")):
        done = kymotest.run(KYMO, "run", *options, "--dry-run", "--", "true")
        check(f"{options}: refused", (done.returncode, said in done.stderr), (2, True))
    check("a configuration names a preset", plan("--config", write(os.path.join(home, "c.conf"), "preset = mpi\n"))[0]["KYMO_BACKENDS"],
          plan("--preset", "mpi")[0]["KYMO_BACKENDS"])
    os.mkfifo(os.path.join(home, "kymo", "presets", "pipe.conf"))
    listed = must(KYMO, "list", "presets", env=kymotest.environment(XDG_CONFIG_HOME=home))
    check("a pipe is no preset", ("gpu" in listed, "pipe" in listed), (True, False))


def periods(home):
    """When a preset would record gives way to what else says when."""
    windows = write(os.path.join(home, "windows.conf"), "# Windows\nperiod = 1s:2s:3\n")
    limits = write(os.path.join(home, "limits.conf"), "# Limits\ndelay = 1s\nduration = 5s\n")

    def when(*options):
        got = plan(*options)[0]
        return tuple(got.get("KYMO_" + name, "0").strip("'") for name in ("PERIOD", "DELAY", "DURATION"))
    check("of the preset", when("--preset", windows), ("1s:2s:3", "0", "0"))
    check("taken back", when("--preset", windows, "--period", "0"), ("0", "0", "0"))
    check("a delay instead", when("--preset", windows, "--delay", "3s"), ("0", "3", "0"))
    check("a period instead", when("--preset", limits, "--period", "1s:2s"), ("1s:2s", "0", "0"))
    check("limits", when("--preset", limits), ("0", "1", "5"))
    done = kymotest.run(KYMO, "run", "--period", "1s:2s", "--delay", "1s", "--dry-run", "--", "true")
    check("both said", done.returncode, 2)


def main():
    with kymotest.Folder() as folder:
        shipped(os.path.join(folder, "empty"))
        order(os.path.join(folder, "home"))
        absent(os.path.join(folder, "home"))
        refused(os.path.join(folder, "home"))
        files(os.path.join(folder, "home"))
        periods(os.path.join(folder, "home"))
        for name in NAMES:
            trace = os.path.join(folder, f"{name}.kymo")
            done = kymotest.run(KYMO, "run", "--preset", name, "-o", trace, "--", "true")
            check(f"{name}: runs", (done.returncode, os.path.isdir(trace)), (0, True))


main()
sys.exit(1 if kymotest.wrong else 0)
