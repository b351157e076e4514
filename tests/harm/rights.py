# SPDX-License-Identifier: Apache-2.0
"""What a process of one thread may do it may do under Kymo, too: new user namespaces, and other users by the C library after
one thread alone has changed its capabilities. Threads of Kymo's are there before and after. That another user's children are not recorded is told.
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

    @unittest.skipIf(os.geteuid(), "root alone can be another user")
    def test_other_user(self):
        """Who has become another user is told, once for all such processes: their children are not recorded."""
        note = "it runs as user 65534 now: children and programs that it starts cannot reach the recording of user 0 and are not in it"
        changes = "os.setuid(0); os.seteuid(65534); os.seteuid(65534)"
        for program, said, often in (("os.setuid(0)", 0, ""), (changes, 1, ""),
                                     (f"os.fork(); {changes}; os.fork()", 1, " (in 2 processes)")):
            with self.subTest(program=program):
                done = run([KYMO, "run", "-f", "-o", self.trace, "-b", "posix", "--", sys.executable, "-S", "-c",
                            f"import os; open('/dev/null'); {program}; open('/dev/null'); os.waitpid(-1, 0) if {'fork' in program} else 0"])
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(done.stderr.count(f"note: process: {note}"), said, done.stderr)
                self.assertIn(f"`kymo run` as that user records them{often}\n" if said else "Lost: nothing", done.stderr)


if __name__ == "__main__":
    for variable in [v for v in os.environ if v.startswith("KYMO_")]:
        del os.environ[variable]
    unittest.main(argv=[sys.argv[0]] + sys.argv[2:], verbosity=1)
