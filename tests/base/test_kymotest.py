#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Folders of tests are removed when nobody of Kymo's writes into them any more; waiting ends with what is true."""

import os
import subprocess
import sys
import threading
import unittest

import kymotest

# Is called like a drain, and holds a file until it is told to end.
WRITER = """import sys
with open("/proc/self/comm", "w") as f:
    f.write(sys.argv[1])
with open(sys.argv[2], "w"):
    print("there", flush=True)
    sys.stdin.read()
"""


class Folders(unittest.TestCase):
    def writer(self, name, path):
        p = subprocess.Popen([sys.executable, "-c", WRITER, name, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             text=True)
        self.addCleanup(p.communicate)
        self.assertEqual(p.stdout.readline(), "there\n")
        return p

    def test_removed_after_its_writers(self):
        for name in ("plain", os.fsdecode(b"\xe2\x80\xae\xff odd")):
            with self.subTest(name):
                folder = kymotest.Folder()
                below = os.path.join(folder.name, name)
                os.mkdir(below)
                first = self.writer("kymo-drain", os.path.join(below, "a"))
                second = self.writer("kymo-keeper", os.path.join(below, "b"))
                self.assertEqual(sorted(kymotest.writers(folder.name)), sorted((first.pid, second.pid)))
                remover = threading.Thread(target=folder.cleanup)
                remover.start()
                for p in (first, second):
                    remover.join(0.2)  # it would not take so long
                    self.assertTrue(remover.is_alive() and os.path.exists(below), "it did not wait")
                    p.communicate()
                remover.join(kymotest.WAIT)
                self.assertFalse(os.path.exists(folder.name))

    def test_others_are_not_waited_for(self):
        with kymotest.Folder() as folder, kymotest.Folder() as other:
            self.writer("editor", os.path.join(folder, "a"))
            p = self.writer("kymo-drain", os.path.join(other, "a"))
            os.mkdir(os.path.join(folder, "t.kymo"))
            kymotest.remove(os.path.join(folder, "t.kymo"))
            self.assertEqual(kymotest.writers(folder), [])
            p.communicate()

    def test_missing(self):
        kymotest.remove("/nonexistent/t.kymo", missing_ok=True)
        with self.assertRaises(FileNotFoundError):
            kymotest.remove("/nonexistent/t.kymo")


class Waiting(unittest.TestCase):
    def test_what_is_true(self):
        answers = iter((None, 0, "", 7))
        self.assertEqual(kymotest.wait_for(lambda: next(answers), "an answer"), 7)

    def test_in_vain(self):
        with self.assertRaisesRegex(kymotest.Failure, "an answer: not within 0.01 s"):
            kymotest.wait_for(lambda: False, "an answer", seconds=0.01)


if __name__ == "__main__":
    unittest.main()
