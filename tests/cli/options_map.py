#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/check/options.py finds each kind of mistake in a table of options.

Usage: options_map.py CHECK KYMO
"""
import os
import subprocess
import sys
import tempfile
import unittest

CHECK, KYMO = map(os.path.abspath, sys.argv[1:3])
HEAD = "| option | Kymo | shown by |\n|---|---|---|\n"
ROWS = {"good": "| `-o`, `--out` | `kymo run -o DIR ./a.out -x`; `kymo summary --tables kernels,mpi -f csv TRACE` | `unit.a` |",
        "default": "| `--trace` (TRACE) | by default | `unit.a`, `unit.b` |",
        "later": "| `--pdf` | not yet: pages to print, `kymo page` | |",
        "none": "| `--beta` | none: it acknowledges that something is unfinished | |"}
COUNTS = "4 options: 2 map (50 %), 1 not yet, 1 none."
OVERVIEW = ("| tool | options | map | not yet | none | share that maps |\n|---|---|---|---|---|---|\n"
            "| [other](other.md) | 4 | 2 | 1 | 1 | 50 % |\n| all | 4 | 2 | 1 | 1 | 50 % |\n")


def page(counts=COUNTS, **changed):
    rows = {**ROWS, **changed}
    return f"# other\n\n{counts}\n\n{HEAD}" + "".join(r + "\n" for r in rows.values() if r) + "\nThe end.\n"


class Mistakes(unittest.TestCase):
    def check(self, text, *options, overview=OVERVIEW):
        folder = self.folder()
        for name, content in (("other.md", text), ("README.md", overview), ("tests", "unit.a unit.b mpi.x\n")):
            with open(f"{folder}/{name}", "w", encoding="utf-8") as f:
                f.write(content)
        done = subprocess.run([sys.executable, "-B", CHECK, *options, folder, KYMO, f"{folder}/tests"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.stderr.count("Traceback"), 0, done.stderr)
        with open(f"{folder}/other.md", encoding="utf-8") as f, open(f"{folder}/README.md", encoding="utf-8") as g:
            return done.returncode, done.stdout + done.stderr, f.read(), g.read()

    def folder(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        return made.name

    def refused(self, said, text, **other):
        code, output, _, _ = self.check(text, **other)
        self.assertEqual(code, 1, output)
        self.assertIn(said, output)

    def test_good(self):
        code, output, _, _ = self.check(page())
        self.assertEqual(code, 0, output)
        self.assertIn("| all | 4 | 2 | 1 | 1 | 50 % |", output)

    def test_what_kymo_has(self):
        for cell, said in (("`kymo rnu ./a.out`", "no command rnu"), ("`kymo run --nosuch ./a.out`", "kymo run has no --nosuch"),
                           ("`kymo summary -Z TRACE`", "kymo summary has no -Z"), ("`kymo --nosuch=1 ./a.out`", "kymo run has no --nosuch"),
                           ("`kymo export --to pdf TRACE`", "--to knows no pdf"), ("`kymo export --to=pdf TRACE`", "--to knows no pdf"),
                           ("`kymo summary --tables kernels,nosuch TRACE`", "--tables knows no nosuch"),
                           ("`kymo list nosuch`", "kymo list has no nosuch"),
                           ("`kymo run -o D`, `kymo summary --nosuch`", "kymo summary has no --nosuch")):
            self.refused(said, page(good=f"| `-o` | {cell} | `unit.a` |"))

    def test_options_of_the_program_are_its_own(self):
        for cell in ("`kymo run ./a.out --nosuch`", "`kymo run --mode full -- prog --nosuch`"):
            code, output, _, _ = self.check(page(good=f"| `-o` | {cell} | `unit.a` |"))
            self.assertEqual(code, 0, output)

    def test_tests(self):
        self.refused("no test unit.c", page(good="| `-o` | `kymo run` | `unit.a`, `unit.c` |"))
        self.refused("no test mpi.y", page(good="| `-o` | `kymo run` | `mpi.y` |"))
        self.refused("which test", page(good="| `-o` | `kymo run` | |"))
        self.refused("tests that show what is not there", page(later="| `--pdf` | not yet: pages to print | `unit.a` |"))
        code, output, _, _ = self.check(page(good="| `-o` | `kymo run` | `cli.cuda.y` |"))  # a build without any of them
        self.assertEqual(code, 0, output)

    def test_reasons(self):
        for said in ("none", "none:", "none: no", "not yet", "not yet:"):
            self.refused("why?", page(none=f"| `--beta` | {said} | |"))
        self.refused("names no command", page(good="| `-o` | whatever | `unit.a` |"))

    def test_rows(self):
        self.refused("--trace is in line 8 as well", page(none="| `--trace` | none: it is there twice, which is a mistake | |"))
        self.refused("which option", page(good="| --out | `kymo run` | `unit.a` |"))
        self.refused("three cells", page(good="| `-o` | `kymo run` | `unit.a` | more |"))
        self.refused("the columns are", page().replace("| option | Kymo |", "| Kymo | option |"))
        self.refused("no table", "# other\n")

    def test_counts(self):
        for counts in ("5 options: 2 map (50 %), 1 not yet, 1 none.", "4 options: 3 map (75 %), 0 not yet, 1 none.", "No counts."):
            self.refused("counts are not those", page(counts))
        self.refused("counts are not those", page(), overview=OVERVIEW.replace("| all | 4 |", "| all | 5 |"))

    def test_write(self):
        wrong = page("9 options: 9 map (100 %), 0 not yet, 0 none.")
        _, _, text, overview = self.check(wrong, "--write", overview=OVERVIEW.replace("50 %", "90 %"))
        self.assertEqual((text, overview), (page(), OVERVIEW))
        _, _, text, _ = self.check(page().replace(COUNTS + "\n\n", ""), "--write")
        self.assertEqual(text, page())


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
