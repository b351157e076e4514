#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The manual's pages and the completions of shells: manual.py KYMO FOLDER.

What the help of a command names is in its page and in every completion; the pages have no mistakes;
shells read the completions, and bash's completes.
"""

import os
import re
import shutil
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import run  # noqa: E402

KYMO, FOLDER = sys.argv[1:3]
COMPLETIONS = {"bash": "kymo.bash", "zsh": "_kymo", "fish": "kymo.fish"}


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def commands():
    text = run(KYMO, "help").stdout
    return re.findall(r"^  (\w+) ", text.split("Commands:\n")[1], re.M)


def options(command):
    return re.findall(r"^  (?:-\w,|   ) --([\w-]+)", run(KYMO, "help", command).stdout, re.M)


def page(name):
    return f"{FOLDER}/man/{name}.1"


class Pages(unittest.TestCase):
    def test_each_command_has_a_page_with_all_its_options(self):
        self.assertGreater(len(commands()), 8)
        self.assertGreater(len(options("run")), 20)
        for command in commands():
            text = read(page(f"kymo-{command}")).replace("\\-", "-")
            for option in options(command):
                self.assertIn(f"\\fB--{option}\\fP", text, command)
            self.assertIn(f"\\fBkymo-{command}\\fP(1)", read(page("kymo")).replace("\\-", "-"))

    def test_pages_name_defaults_values_and_variables(self):
        text = read(page("kymo-run"))
        for part in ("Values: summary, minimal, default, full.", "Default: default.",
                     "Variable: \\fBKYMO_MODE\\fP.", "\\fB\\-m\\fP, \\fB\\-\\-mode\\fP \\fIMODE\\fP"):
            self.assertIn(part, text)
        self.assertIn("\\fBKYMO_CUPTI\\fP", read(page("kymo")))

    def test_every_topic_of_list_is_in_its_page(self):
        topics = re.findall(r"^  (\w+) ", run(KYMO, "list").stdout, re.M)
        self.assertGreater(len(topics), 5)
        for topic in topics:
            self.assertIn(f"\\fB{topic}\\fP", read(page("kymo-list")))

    @unittest.skipUnless(shutil.which("groff") or shutil.which("mandoc"), "no groff and no mandoc here")
    def test_pages_have_no_mistakes(self):
        for name in ["kymo"] + [f"kymo-{c}" for c in commands()]:
            if shutil.which("groff"):
                done = run("groff", "-man", "-Tutf8", "-ww", "-z", page(name))
                self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""), name)
            if shutil.which("mandoc"):
                done = run("mandoc", "-Tlint", "-W", "warning", page(name))
                told = [line for line in done.stdout.splitlines() if "missing date" not in line]
                self.assertEqual(told, [], name)


class Completions(unittest.TestCase):
    def test_each_has_all_commands_and_options(self):
        for shell, name in COMPLETIONS.items():
            text = read(f"{FOLDER}/completion/{name}")
            for command in commands():
                self.assertRegex(text, rf"\b{command}\b", shell)
                for option in options(command):
                    wanted = f" -l {option} " if shell == "fish" else f"--{option}"
                    self.assertIn(wanted, text, f"{shell}: {command}")

    def test_shells_read_them(self):
        for shell, arguments in (("bash", ["-n"]), ("zsh", ["-n"]), ("fish", ["--no-execute"])):
            if shutil.which(shell):
                done = run(shell, *arguments, f"{FOLDER}/completion/{COMPLETIONS[shell]}")
                self.assertEqual((done.returncode, done.stderr), (0, ""), shell)


@unittest.skipUnless(shutil.which("bash"), "no bash here")
class Bash(unittest.TestCase):
    def setUp(self):
        scratch = kymotest.Folder()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name
        for name in ("one.kymo", "two.kymo", "other"):
            os.mkdir(f"{self.folder}/{name}")
        with open(f"{self.folder}/settings", "w", encoding="utf-8"):
            pass

    def complete(self, *words):
        """What the last word can become. compopt is bash's, and only for real completions."""
        script = "compopt() { :; }; source \"$1\"; shift; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); " \
                 "_kymo; printf '%s\\n' \"${COMPREPLY[@]}\""
        done = run("bash", "--norc", "-c", script, "complete", f"{FOLDER}/completion/kymo.bash", "kymo", *words,
                   cwd=self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return [line for line in done.stdout.splitlines() if line]

    def test_commands(self):
        self.assertIn("summary", self.complete("s"))
        self.assertIn("show", self.complete("s"))
        self.assertEqual(sorted(self.complete("")), sorted(commands()))

    def test_formats(self):
        self.assertIn("perfetto", self.complete("export", "--to", ""))
        self.assertEqual(self.complete("export", "--to", "js"), ["json", "jsonl"])
        self.assertNotIn("raw", self.complete("export", "--to", ""))
        self.assertEqual(sorted(self.complete("help", "")), sorted(commands()))

    def test_options(self):
        self.assertEqual(self.complete("run", "--on"), ["--on-full"])
        self.assertEqual(self.complete("--on"), ["--on-full"])  # kymo --on-full ... PROGRAM
        self.assertEqual(set(o.rstrip("=") for o in self.complete("run", "--")),
                         {f"--{o}" for o in options("run")} | {"--help", "--version"})
        self.assertEqual(self.complete("run", "--stac"), ["--stacks="])

    def test_values(self):
        self.assertEqual(self.complete("run", "--mode", ""), ["summary", "minimal", "default", "full"])
        self.assertEqual(self.complete("run", "-m", "m"), ["minimal"])
        self.assertEqual(self.complete("run", "--mode", "=", "f"), ["full"])
        self.assertEqual(self.complete("run", "--mode", "="), ["summary", "minimal", "default", "full"])
        self.assertEqual(self.complete("run", "--on-full", ""), ["block", "drop", "overwrite"])
        self.assertEqual(self.complete("--on-full", "d"), ["drop"])
        self.assertEqual(self.complete("run", "--backends", "mpi,openc"), ["mpi,opencl"])

    def test_values_that_are_files(self):
        self.assertEqual(self.complete("run", "--config", "set"), ["settings"])
        self.assertEqual(self.complete("run", "--output", "oth"), ["other"])

    def test_traces(self):
        for command in ("summary", "show", "info", "query"):
            self.assertEqual(sorted(self.complete(command, "")), ["one.kymo", "two.kymo"], command)
        self.assertEqual(self.complete("summary", "one.kymo", "tw"), ["two.kymo"])
        self.assertEqual(self.complete("ctl", ""), ["flush", "pause", "resume"])
        self.assertEqual(self.complete("ctl", "flush", "o"), ["one.kymo"])

    def test_topics(self):
        self.assertEqual(self.complete("list", "opt"), ["options"])

    def test_the_program_and_its_words(self):
        self.assertIn("settings", self.complete("run", "--mode", "full", "sett"))
        self.assertEqual(self.complete("run", "./a.out", "--on"), [])  # the program's own
        self.assertEqual(self.complete("run", "./a.out", "sett"), ["settings"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
