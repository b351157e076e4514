#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks of the text of the sources: lint.py [--need] [CHECK...] | --formatter

  headers   each file begins with its SPDX line; C and Python then say what the file is for
  words     words that tools/check/words.txt has a better one for
  shell     shellcheck
  python    pyflakes
  spelling  codespell; what it takes for mistakes and is none is in IGNORED
  format    clang-format, by the version of FORMATTER; only where it is asked for, as long as CHECKED
            does not name it

Without names those in CHECKED run. A tool that is not installed is passed over, with --need it is an error
(`make lint`, after `make setup`).
"""

import argparse
import os
import re
import shutil
import subprocess
import sys

CHECKED = ["headers", "words", "shell", "python", "spelling", "format"]
FORMATTER = "clang-format-14"  # the same 14.0.6 in Debian 12 and Ubuntu 24.04
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CODE = (".c", ".h", ".hpp", ".cpp")
TEXT = CODE + (".py", ".sh", ".cmake", ".f90", ".rec", ".md", ".txt", ".in", ".map", ".list")
IGNORED = ["hsa", "inout", "renderd",  # names of others
           "tje"]  # an instruction behind a tab in C: "\\tje"
PYTHON = "/usr/bin/python3"  # whose packages are the distribution's
WORDS = "tools/check/words.txt"


class Missing(Exception):
    """A tool that is not installed."""


def run(*argv):
    return subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)


def files(*endings):
    """What git knows, or will; without git, as in an unpacked archive, what is there."""
    listed = run("git", "ls-files", "-co", "--exclude-standard")
    names = listed.stdout.split("\n") if listed.returncode == 0 else [
        os.path.relpath(os.path.join(folder, name), ROOT) for folder, _, inside in os.walk(ROOT)
        for name in inside if "/build" not in folder[len(ROOT):]]
    return sorted(n for n in names if n.endswith(endings) and os.path.isfile(os.path.join(ROOT, n)))


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as f:
        return f.read()


def tool(name, *argv):
    """Lines that it prints. Several files at once; none: nothing to do."""
    if not shutil.which(name) and not os.path.exists(name):
        raise Missing(name)
    done = run(name, *argv)
    return [line for line in (done.stdout + done.stderr).splitlines() if line]


def headers():
    for name in files(*CODE, ".py", ".sh", ".cmake", "CMakeLists.txt", ".f90", ".rec"):
        lines = read(name).split("\n")
        if lines[0].startswith(("#!", "#compdef")):
            lines = lines[1:]
        if "SPDX-License-Identifier: Apache-2.0" not in lines[0]:
            yield f"{name}:1: no SPDX line"
        elif name.endswith(CODE) and not lines[1].startswith(("/*", "//")):
            yield f"{name}:2: does not say what the file is for"
        elif name.endswith(".py") and not lines[1].startswith('"""') and len(lines) > 2:
            yield f"{name}:2: does not say what the file is for"


def words():
    """Lines "word -> better word"; a word that contains letters only is one by itself, also inside names."""
    rules = []
    for line in read(WORDS).split("\n"):
        if line and not line.startswith("#"):
            word, better = (part.strip() for part in line.split("->"))
            rules.append((re.compile(rf"(?<![A-Za-z]){re.escape(word)}(?![A-Za-z])", re.IGNORECASE), better))
    for name in files(*TEXT) if rules else []:
        if name != WORDS and name.startswith(("src/", "include/", "docs/", "tests/")):
            for number, line in enumerate(read(name).split("\n"), 1):
                for word, better in rules:
                    for found in word.finditer(line):
                        yield f"{name}:{number}: \"{found[0]}\": {better}"


def shell():
    return tool("shellcheck", "-S", "warning", "-f", "gcc", *files(".sh"))


def python():
    if tool(PYTHON, "-c", "import pyflakes"):
        raise Missing("python3-pyflakes")
    return tool(PYTHON, "-m", "pyflakes", *files(".py"))


def spelling():
    return tool("codespell", "-q", "3", "-L", ",".join(IGNORED), *files(*TEXT))


def formatting():
    return tool(FORMATTER, "--dry-run", "-Werror", *files(".c", ".h"))


CHECKS = {"headers": headers, "words": words, "shell": shell, "python": python, "spelling": spelling,
          "format": formatting}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--need", action="store_true")
    parser.add_argument("--formatter", action="store_true", help="print the name of the formatter")
    parser.add_argument("checks", nargs="*", choices=[*CHECKS, []])
    args = parser.parse_args()
    if args.formatter:
        print(FORMATTER)
        return
    bad = False
    for name in args.checks or CHECKED:
        try:
            found = list(CHECKS[name]())
        except Missing as e:
            print(f"{name}: {e} is not installed" + ("" if args.need else ", passed over"))
            bad |= args.need
            continue
        print("\n".join(found + [f"{name}: {len(found) or 'no'} complaint{'s' * (len(found) != 1)}"]))
        bad |= bool(found)
    sys.exit(bad)


if __name__ == "__main__":
    main()
