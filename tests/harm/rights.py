# SPDX-License-Identifier: Apache-2.0
"""What a process of one thread may do it may do under Kymo, too: new user namespaces, and other users by the C library after
one thread alone has changed its capabilities. Threads of Kymo's are there before and after.
usage: rights.py KYMO"""
import os
import subprocess
import sys
import tempfile
import unittest

KYMO = sys.argv[1]
BACKENDS = (("-b", "posix"), ("-b", "heap"), ("--sample", "--sample-clock", "wall"), ("--threads",))

PROGRAM = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def threads():
    return sorted(open(f"/proc/self/task/{t}/comm").read().strip() for t in os.listdir("/proc/self/task")
                  if int(t) != os.getpid())
before = threads()
%s
print(before == threads(), *before)
"""
UNSHARE = "if libc.unshare(0x10000000): sys.exit('unshare: ' + os.strerror(ctypes.get_errno()))"
# The main thread alone gives up all its capabilities, then asks for what root without any may not do.
RIGHTS = """
header = (ctypes.c_uint32 * 2)(0x20080522, 0)
none = (ctypes.c_uint32 * 6)()
if libc.capset(header, none): sys.exit('capset: ' + os.strerror(ctypes.get_errno()))
if libc.setgroups(0, None) != -1: sys.exit('setgroups() is not refused')
"""


def run(command):
    return subprocess.run(command, timeout=20, capture_output=True, text=True, check=False)


class Rights(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.trace = os.path.join(folder.name, "t.kymo")

    def same(self, action):
        program = [sys.executable, "-S", "-c", PROGRAM % action]
        plain = run(program)
        if plain.returncode:
            self.skipTest(plain.stderr)
        self.assertEqual(plain.stdout, "True\n")
        for options in BACKENDS:
            with self.subTest(options=options):
                done = run([KYMO, "run", "-f", "-o", self.trace, *options, "--", *program])
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(done.stdout.split()[0], "True", done.stdout)
                self.assertIn("kymo-", done.stdout)
                self.assertIn("Lost: nothing", done.stderr)

    def test_user_namespace(self):
        self.same(UNSHARE)

    @unittest.skipIf(os.geteuid(), "root alone has rights to give up")
    def test_capabilities(self):
        self.same(RIGHTS)


if __name__ == "__main__":
    for variable in [v for v in os.environ if v.startswith("KYMO_")]:
        del os.environ[variable]
    unittest.main(argv=[sys.argv[0]] + sys.argv[2:], verbosity=1)
