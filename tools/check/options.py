#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the tables of docs/options, which say what options of other profilers are called in Kymo.

Usage: options.py [--write] FOLDER KYMO TESTS

A table has the columns option, Kymo, shown by. The second begins with "not yet:" (a purpose that is missing) or "none:"
(no purpose here, and why), or the option maps: it names a command that exists with options that exist, or says what is
so "by default"; then the third names tests that exist. TESTS is a build folder, or a file with a test's name a line.
Before each table stands a line with its counts, in README.md a row for each table; --write writes these.
"""
import os
import re
import shlex
import subprocess
import sys

HEAD = ("option", "Kymo", "shown by")
COUNTS = re.compile(r"^\d+ options?: .*$")
# Tests that a build has only where what they need is installed; where none of a kind is there, its names pass.
OPTIONAL = ("mpi.", "cli.ranks.", "cli.cuda", "cli.kokkos.", "cli.libfabric.", "cli.openmp.", "cli.nvtx.", "cli.itt.", "cli.annotation.",
            "cli.programs.", "level_zero", "cli.manual", "cli.real.", "cli.telemetry.", "cli.device_times", "cli.selection")


class Table:
    def __init__(self, page, section, line):
        self.page, self.section, self.line = page, section, line  # index of the table's first line
        self.rows = []  # (line number, option, ours, tests)

    def state(self, ours):
        return next((s for s in ("not yet", "none") if ours.startswith(s)), "map")

    def counts(self):
        states = [self.state(ours) for _, _, ours, _ in self.rows]
        return len(states), states.count("map"), states.count("not yet"), states.count("none")

    def summary(self):
        n, mapped, later, none = self.counts()
        return f"{n} option{'s' if n != 1 else ''}: {mapped} map ({share(mapped, n)}), {later} not yet, {none} none."


def share(part, whole):
    return f"{100 * part // whole if whole else 0} %"


def cells(line):
    return [c.strip().replace("\\|", "|") for c in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def spans(text):
    return re.findall(r"`([^`]+)`", text)


def read_tables(page, lines):
    """The tables of a page, in order."""
    section, table, tables = None, None, []
    for i, line in enumerate(lines):
        if line.startswith("#"):
            section = line.lstrip("#").strip()
        if not line.startswith("|"):
            table = None
        elif table is None:
            table = Table(page, section, i)
            tables.append(table)
            if tuple(cells(line)) != HEAD:
                raise SystemExit(f"{page}:{i + 1}: the columns are {', '.join(HEAD)}")
        elif not line.startswith("|--"):
            row = cells(line)
            table.rows.append((i + 1, *(row + ["", "", ""])[:3]))
            if len(row) != 3:
                raise SystemExit(f"{page}:{i + 1}: a row has three cells, this one {len(row)}")
    return tables


class Kymo:
    """What the program has: commands, their options, what some of them take."""

    def __init__(self, program):
        self.program, self.help = program, {}
        self.commands = re.findall(r"^  (\w+) ", self.ask("help").split("Commands:\n")[1], re.M)
        self.lists = self.first_words("list")
        self.values = {"--to": self.first_words("list", "formats"),
                       "--tables": self.first_words("summary", "--tables", "help") | self.first_words("list", "domains") | {"help"}}

    def ask(self, *words):
        return subprocess.run([self.program, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stdout

    def first_words(self, *words):
        return set(re.findall(r"^ *([\w.]+)(?: |$)", self.ask(*words), re.M))

    def options(self, command):
        if command not in self.help:
            found = re.findall(r"^  (?:(-\w),|   ) (--[\w-]+)", self.ask("help", command), re.M)
            self.help[command] = {o for pair in found for o in pair if o} | {"--help", "-h"}
        return self.help[command]

    def mistake(self, line):
        """What is wrong with this command line, or None."""
        words = shlex.split(line)[1:]
        if not words:
            return None
        command, rest = words[0], words[1:]
        if command in ("--version", "--help", "--no-pager"):
            return None
        if command.startswith("-"):
            command, rest = "run", words
        if command not in self.commands:
            return f"there is no command {command}"
        if command == "list" and rest and rest[0] not in self.lists:
            return f"kymo list has no {rest[0]}"
        if command in ("list", "doctor", "help"):
            return None
        return self.wrong_option(command, rest)

    def wrong_option(self, command, words):
        for i, word in enumerate(words):
            if word == "--" or (command == "run" and word.startswith("./")):
                return None
            name, _, value = word.partition("=")
            if not re.fullmatch(r"--?[A-Za-z][\w-]*", name):
                continue
            if name not in self.options(command):
                return f"kymo {command} has no {name}"
            value = value or (words[i + 1] if i + 1 < len(words) else "")
            bad = [v for v in value.split(",") if name in self.values and v.lower() == v and v not in self.values[name]]
            if bad:
                return f"{name} knows no {bad[0]}"
        return None


def read_tests(place):
    if os.path.isfile(place):
        with open(place, encoding="utf-8") as f:
            return set(f.read().split())
    out = subprocess.run(["ctest", "--test-dir", place, "-N"], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"Test +#\d+: (\S+)", out))


def test_exists(name, tests):
    kind = next((p for p in OPTIONAL if name.startswith(p)), None)
    return name in tests or (kind and not any(t.startswith(kind) for t in tests))


def check_row(table, option, ours, shown, kymo, tests):
    """Yields what is wrong with a row."""
    names = spans(shown)
    if not spans(option):
        yield "which option? Names stand in back quotes"
    if table.state(ours) != "map":
        if not re.match(r"(not yet|none): \S.{9}", ours):
            yield "why? Say it behind the colon"
        if names:
            yield "tests that show what is not there"
        return
    lines = [s for s in spans(ours) if s == "kymo" or s.startswith("kymo ")]
    if not lines and not ours.startswith("by default"):
        yield "names no command of Kymo's; begins neither with by default, not yet: nor none:"
    for line in lines:
        wrong = kymo.mistake(line)
        if wrong:
            yield f"`{line}`: {wrong}"
    if not names:
        yield "which test shows it?"
    for name in names:
        if not test_exists(name, tests):
            yield f"there is no test {name}"


def check_table(table, kymo, tests):
    seen = {}
    for number, option, ours, shown in table.rows:
        for name in spans(option):
            if name in seen:
                yield number, f"{name} is in line {seen[name]} as well"
            seen.setdefault(name, number)
        for wrong in check_row(table, option, ours, shown, kymo, tests):
            yield number, wrong


def with_counts(lines, tables):
    """The lines, each table with its counts in the paragraph before it."""
    out = list(lines)
    for t in reversed(tables):
        before = t.line - 1 if t.line and not out[t.line - 1].strip() else t.line
        if before and COUNTS.match(out[before - 1]):
            out[before - 1] = t.summary()
        else:
            out[t.line:t.line] = [t.summary(), ""]
    return out


def overview(tables):
    rows = ["| tool | options | map | not yet | none | share that maps |", "|---|---|---|---|---|---|"]
    for t in tables:
        n, mapped, later, none = t.counts()
        rows.append(f"| [{t.section}]({os.path.basename(t.page)}) | {n} | {mapped} | {later} | {none} | {share(mapped, n)} |")
    total = [sum(column) for column in zip(*(t.counts() for t in tables))] or [0] * 4
    rows.append(f"| all | {total[0]} | {total[1]} | {total[2]} | {total[3]} | {share(total[1], total[0])} |")
    return rows


def with_overview(lines, tables):
    at = next((i for i, line in enumerate(lines) if line.startswith("| tool ")), len(lines))
    end = at
    while end < len(lines) and lines[end].startswith("|"):
        end += 1
    return lines[:at] + overview(tables) + lines[end:]


def same_or_write(path, lines, new, write):
    if lines == new:
        return []
    if write:
        with open(path, "w", encoding="utf-8") as f:
            f.write("\n".join(new) + "\n")
        return []
    number = next((i for i, (a, b) in enumerate(zip(lines, new)) if a != b), min(len(lines), len(new)))
    return [f"{path}:{number + 1}: counts are not those of the tables; options.py --write writes them"]


def read_lines(path):
    with open(path, encoding="utf-8") as f:
        return f.read().splitlines()


def main(arguments):
    write = "--write" in arguments
    folder, program, place = [a for a in arguments if a != "--write"]
    kymo, tests, wrong, every = Kymo(program), read_tests(place), [], []
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if not name.endswith(".md") or name == "README.md":
            continue
        lines = read_lines(path)
        tables = read_tables(path, lines)
        every += tables
        if not tables:
            wrong.append(f"{path}: no table")
        for table in tables:
            wrong += [f"{path}:{number}: {text}" for number, text in check_table(table, kymo, tests)]
        wrong += same_or_write(path, lines, with_counts(lines, tables), write)
    path = os.path.join(folder, "README.md")
    lines = read_lines(path)
    wrong += same_or_write(path, lines, with_overview(lines, every), write)
    print("\n".join(wrong + overview(every)))
    return 1 if wrong or not every else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
