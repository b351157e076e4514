#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks of the sources: lint.py [--need] [--build FOLDER] [CHECK...] | --formatter

  headers   each file begins with its SPDX line; C and Python then say what the file is for
  words     words that tools/check/words.txt has a better one for
  shell     shellcheck
  python    pyflakes
  spelling  codespell; what it takes for mistakes and is none is in IGNORED
  format    clang-format, by the version of FORMATTER
  cppcheck  cppcheck of src, without what tools/check/cppcheck.txt has
  tidy      clang-tidy of src, what .clang-tidy has

Without names those in CHECKED run, with --build those in BUILT too: they read the sources as they were compiled,
with what is generated, so that FOLDER must have been built. A tool that is not installed is passed over, with
--need it is an error (`make lint`, after `make setup`).
"""

import argparse
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys

CHECKED = ["headers", "words", "shell", "python", "spelling", "format"]
BUILT = ["cppcheck", "tidy"]
FORMATTER = "clang-format-14"  # the same 14.0.6 in Debian 12 and Ubuntu 24.04
TIDY = "clang-tidy-14"  # the same
CPPCHECK = "Cppcheck 2.10"  # Debian 12's; others complain of other things, and are passed over
# What cppcheck is told of the compiler and of headers that it does not read.
DEFINED = ["__x86_64__ 1", "__LP64__ 1", "ElfW(type) Elf64_##type", "PROTOBUF_C_VERSION_NUMBER 9999999",
           "__typeof__(x) void *"]
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CODE = (".c", ".h", ".hpp", ".cpp")
TEXT = CODE + (".py", ".sh", ".cmake", ".f90", ".rec", ".md", ".txt", ".in", ".map", ".list")
IGNORED = ["hsa", "inout", "renderd", "valu",  # names of others
           "caf",  # "café", cut within a character
           "tje"]  # an instruction behind a tab in C: "\\tje"
PYTHON = "/usr/bin/python3"  # whose packages are the distribution's
WORDS = "tools/check/words.txt"


class Missing(Exception):
    """A tool that is not installed."""


def run(*argv):
    return subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)


def files(*endings):
    """What git knows, or will; without git, as in an unpacked archive, what is there."""
    listed = run("git", "ls-files", "-co", "--exclude-standard") if shutil.which("git") else None
    names = listed.stdout.split("\n") if listed and listed.returncode == 0 else [
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


def compiled(build):
    """What was compiled of src from C and C++, once each: entries of compile_commands.json."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as f:
        entries = {e["file"]: e for e in json.load(f)}
    return [e for name, e in sorted(entries.items()) if name.startswith(os.path.join(ROOT, "src") + os.sep) and not name.endswith(".S")]


def cppcheck(build):
    """Keeps what it found of each file in FOLDER/cppcheck, and looks anew at what has changed."""
    if tool("cppcheck", "--version") != [CPPCHECK]:
        raise Missing(CPPCHECK)
    kept = os.path.join(build, "cppcheck")
    os.makedirs(kept, exist_ok=True)
    with open(os.path.join(kept, "compile_commands.json"), "w", encoding="utf-8") as f:
        json.dump(compiled(build), f)
    with open(os.path.join(kept, "defined.h"), "w", encoding="utf-8") as f:
        f.writelines(f"#define {d}\n" for d in DEFINED)
    return tool("cppcheck", "-q", "-j", str(os.cpu_count()), f"--project={kept}/compile_commands.json", f"--include={kept}/defined.h",
                f"--cppcheck-build-dir={kept}",
                "--enable=warning,performance", "--inline-suppr", "--suppress=missingIncludeSystem",
                "--suppressions-list=tools/check/cppcheck.txt", f"--relative-paths={ROOT}",
                "--template={file}:{line}: {severity}: {message} [{id}]", "--template-location=")


def tidy(build):
    """Many files a process: it takes longer to begin than to read one."""
    names, processes = [e["file"] for e in compiled(build)], os.cpu_count()
    with concurrent.futures.ThreadPoolExecutor(processes) as pool:
        told = pool.map(lambda some: tool(TIDY, "-p", build, "--quiet", *some), [names[i::4 * processes] for i in range(4 * processes)])
        return [line.replace(ROOT + os.sep, "") for lines in told for line in lines
                if re.search(r": (warning|error): ", line)]


CHECKS = {"headers": headers, "words": words, "shell": shell, "python": python, "spelling": spelling,
          "format": formatting, "cppcheck": cppcheck, "tidy": tidy}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--need", action="store_true")
    parser.add_argument("--build", metavar="FOLDER")
    parser.add_argument("--formatter", action="store_true", help="print the name of the formatter")
    parser.add_argument("checks", nargs="*", choices=[*CHECKS, []])
    args = parser.parse_args()
    if args.formatter:
        print(FORMATTER)
        return
    if not args.build and set(args.checks) & set(BUILT):
        parser.error("these checks need --build")
    bad = False
    for name in args.checks or CHECKED + BUILT * bool(args.build):
        try:
            found = list(CHECKS[name](os.path.abspath(args.build)) if name in BUILT else CHECKS[name]())
        except Missing as e:
            print(f"{name}: {e} is not installed" + ("" if args.need else ", passed over"))
            bad |= args.need
            continue
        print("\n".join(found + [f"{name}: {len(found) or 'no'} complaint{'s' * (len(found) != 1)}"]))
        bad |= bool(found)
    sys.exit(bad)


if __name__ == "__main__":
    main()
