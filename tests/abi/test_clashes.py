# SPDX-License-Identifier: Apache-2.0
"""clashes.py against planted programs, whose libraries define a function twice: test_clashes.py TOOL COMPILER"""
import os
import subprocess
import sys
import tempfile

TOOL, CC = sys.argv[1:]
# Name of a file: what it defines. Of two objects the linker itself would complain.
SOURCES = {"main": "int one(void); int main(void) { return one(); }", "first": "int one(void) { return 0; }", "again": "int one(void) { return 1; }",
           "other": "int two(void) { return 2; }", "hidden": "static int one(void) { return 3; } int three(void) { return one(); }",
           "weak": "__attribute__((weak)) int one(void) { return 4; }", "data": "int two;"}


def told(folder, *programs):
    """What is said of programs, each of parts that are linked."""
    with open(os.path.join(folder, "build.ninja"), "w", encoding="utf-8") as f:
        for i, parts in enumerate(programs):
            f.write(f"build bin/p{i}: C_EXECUTABLE_LINKER__p{i}_X main.o | {' '.join(f'lib{p}.a' for p in parts)} || order\n")
    done = subprocess.run([sys.executable, "-B", TOOL, folder, "--all"], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def main():
    with tempfile.TemporaryDirectory() as folder:
        for name, text in SOURCES.items():
            subprocess.run([CC, "-x", "c", "-c", "-o", f"{folder}/{name}.o", "-"], input=text, text=True, check=True)
            subprocess.run(["ar", "qc", f"{folder}/lib{name}.a", f"{folder}/{name}.o"], check=True)
        status, text = told(folder, ("first", "other"), ("again", "other"), ("first", "hidden", "weak"))
        assert status == 0 and "3 programs and libraries, 0 names" in text, text
        status, text = told(folder, ("first", "other"), ("other", "first", "again"))
        assert status == 1 and "one is defined by libagain.a:again.o and libfirst.a:first.o, linked together in bin/p1\n" in text, text
        status, text = told(folder, ("first", "other", "data"), ("first", "data", "other"))
        assert status == 1 and "two is defined by libdata.a:data.o and libother.a:other.o, linked together in bin/p0, bin/p1\n" in text, text
        assert told(folder)[0] == 1, "nothing is linked"


main()
