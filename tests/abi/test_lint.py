#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The check of the sources' text finds what was planted in a small tree: test_lint.py LINT."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

LINT = sys.argv[1]
SPDX = "SPDX-License-Identifier: Apache-2.0"
GOOD = {
    "src/good.c": f"/* {SPDX} */\n/* Adds numbers. */\nint sum;\n",
    "tools/good.py": f"# {SPDX}\n\"\"\"Adds numbers.\"\"\"\n",
    "run.sh": f"#!/bin/sh\n# {SPDX}\necho \"$1\"\n",
}


class Lint(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.write("tools/check/words.txt", "# none\n")
        os.makedirs(f"{self.folder}/tools/check", exist_ok=True)
        shutil.copy(LINT, f"{self.folder}/tools/check/lint.py")
        for name, text in GOOD.items():
            self.write(name, text)

    def write(self, name, text):
        path = f"{self.folder}/{name}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)

    def lint(self, check):
        built = ["--build", f"{self.folder}/build"] if check in ("cppcheck", "tidy") else []
        done = subprocess.run([sys.executable, "-B", f"{self.folder}/tools/check/lint.py", *built, check],
                              capture_output=True, text=True, timeout=120, check=False)
        if "is not installed" in done.stdout:
            self.skipTest(done.stdout.strip())
        return done.returncode, done.stdout

    def found(self, check, *parts):
        self.assertEqual(self.lint(check)[0], 0, "before it was planted")
        self.plant()
        status, text = self.lint(check)
        self.assertEqual(status, 1, text)
        for part in parts:
            self.assertIn(part, text)

    def test_headers(self):
        self.plant = lambda: [self.write("src/no_line.c", "/* Adds. */\nint a;\n"),
                              self.write("src/no_purpose.h", f"/* {SPDX} */\nint a;\n"),
                              self.write("no_purpose.py", f"# {SPDX}\nimport os\nos.sync()\n")]
        self.found("headers", "src/no_line.c:1: no SPDX", "src/no_purpose.h:2:", "no_purpose.py:2:", "3 complaints")

    def test_words(self):
        def plant():
            self.write("tools/check/words.txt", "# none\nwrongname -> collect\n")
            self.write("src/names.c", f"/* {SPDX} */\n/* Wrongname it. */\nint do_wrongname_all, wrongnameer;\n")
        self.plant = plant
        self.found("words", "src/names.c:2: \"Wrongname\": collect", "src/names.c:3: \"wrongname\": collect", "2 complaints")

    def test_shell(self):
        self.plant = lambda: self.write("bad.sh", f"#!/bin/sh\n# {SPDX}\ncd /nowhere\nx= y=1\necho $x $y\n")
        self.found("shell", "bad.sh:")

    def test_python(self):
        self.plant = lambda: self.write("bad.py", f"# {SPDX}\n\"\"\"Adds.\"\"\"\nimport os\n")
        self.found("python", "bad.py:3:")

    def test_spelling(self):
        self.plant = lambda: self.write("docs/bad.md", "It is recie" + "ved.\n")
        self.found("spelling", "docs/bad.md:1")

    def compiled(self, name, text):
        """A file that a build folder knows."""
        path = f"{self.folder}/{name}"
        self.write(name, text)
        self.write("build/compile_commands.json", json.dumps(
            [{"directory": self.folder, "command": f"cc -c {path}", "file": path}]))

    def test_cppcheck(self):
        shutil.copy(f"{os.path.dirname(LINT)}/cppcheck.txt", f"{self.folder}/tools/check/cppcheck.txt")
        self.compiled("src/copy.c", "void copy(int *a);\nvoid copy(int *a)\n{\n\ta[0] = 1;\n}\n")
        self.plant = lambda: self.write("src/copy.c", "void copy(void);\nvoid copy(void)\n{\n\tint a[2];\n\ta[2] = 1;\n}\n")
        self.found("cppcheck", "src/copy.c:5: error: Array 'a[2]'", "[arrayIndexOutOfBounds]")

    def test_tidy(self):
        shutil.copy(f"{os.path.dirname(LINT)}/../../.clang-tidy", f"{self.folder}/.clang-tidy")
        self.compiled("src/twice.c", "int twice(int a);\nint twice(int a)\n{\n\treturn a * 2;\n}\n")
        self.plant = lambda: self.write("src/twice.c", "int twice(int a);\nint twice(int a)\n{\n\treturn a == 1 || a == 1;\n}\n")
        self.found("tidy", "src/twice.c:4:", "misc-redundant-expression")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
