#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Processes that want to record and reach no drain: they are told as lost where anything of theirs can be
reached, and nowhere it is claimed that they used nothing.

Usage: unreached.py KYMO SANDBOXED [TEST...]
"""
import errno
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402

sys.dont_write_bytecode = True
from account import await_true, drain_of

KYMO, SANDBOXED = map(os.path.abspath, sys.argv[1:3])
CALLS = 500
PATIENCE = 240
CLAIMS = ("used an interface", "none of the APIs", "No process used")


class Unreached(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="kymo-unreached-")
        self.addCleanup(kymotest.remove, self.folder)
        self.trace = os.path.join(self.folder, "t.kymo")
        self.where = os.path.join(self.folder, "drain")
        os.mkdir(self.where, 0o700)

    def kymo(self, *words):
        return subprocess.run([KYMO, *words], timeout=PATIENCE, capture_output=True, text=True, check=False)

    def run_script(self, script, *options, **more):
        done = subprocess.run([KYMO, "run", "-f", "-o", self.trace, *options, "sh", "-c", script],
                              timeout=PATIENCE, capture_output=True, text=True, check=False, **more)
        return done.returncode, done.stderr

    def lost(self, *what, more=""):
        """A command that makes records and finds no drain, and cannot start one."""
        return f"{more} KYMO_BIN={self.folder}/none KYMO_DRAIN={self.where}/drain {SANDBOXED} {' '.join(what)}"

    def expect(self, said, count, error, marks=0):
        which = "1 process" if count == 1 else f"{count} processes"
        self.assertIn(f"{which} could not be recorded and {'is' if count == 1 else 'are'} lost: "
                      f"{os.strerror(error)}", said)
        summary = self.kymo("summary", self.trace)
        self.assertEqual(summary.returncode, 0, summary.stderr)
        self.assertIn(f"{which} could not be recorded ({os.strerror(error)})", summary.stdout)
        self.assertIn(f"Lost: all of {which}.", summary.stdout)
        for text in said, summary.stdout:
            self.assertFalse([c for c in CLAIMS if c in text], text)
        self.assertEqual(self.kymo("summary", "--strict", self.trace).returncode, 1)
        sql = (f"SELECT sum(how_ended = 6 AND exit_status = {error}), count(DISTINCT pid) - 1 >= sum(how_ended = 6), "
               "(SELECT count(*) FROM markers) FROM process")
        rows = self.kymo("query", "--format", "csv", self.trace, sql).stdout.split("\n")
        self.assertEqual(rows[1].split(",")[::2], [str(count), str(marks)])

    def test_no_socket(self):
        self.expect(self.run_script(f"{self.lost('nothing', str(CALLS))}; [ $? = 5 ]")[1], 1, errno.ENOENT)

    def test_nobody_listens(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            s.bind(self.where + "/drain")
            status, said = self.run_script(self.lost("nothing", str(CALLS)))
        self.assertEqual(status, 5, said)
        self.expect(said, 1, errno.ECONNREFUSED)

    def test_beside_others(self):
        """Two that are lost and a child of one of them, beside two that are recorded."""
        status, said = self.run_script(f"{SANDBOXED} nothing {CALLS}; {self.lost('nothing', '1')}; "
                                       f"{self.lost('fork', 'nothing', '1')}; exec {SANDBOXED} nothing {CALLS}")
        self.assertEqual(status, 5, said)
        self.expect(said, 2, errno.ENOENT, marks=2 * CALLS)

    def test_strict(self):
        for job in "", "KYMO_JOB=j1 ":
            status, said = self.run_script(f"{self.lost('nothing', '1')}; [ $? = 5 ]", "--strict")
            self.assertEqual(status, 1, said)

    def test_file_size_limit(self):
        """What it would leave is beyond the limit: the program is not killed for it."""
        status, said = self.run_script(f"ulimit -f 0; {self.lost('nothing', str(CALLS))}")
        self.assertEqual(status, 5, said)
        self.assertFalse([c for c in CLAIMS[1:] if c in said], said)

    def test_nothing_can_be_reached(self):
        """Nobody knows of the process: nothing is claimed that is not known."""
        for trace in "KYMO_TRACE=", f"KYMO_TRACE={self.folder}/gone":
            status, said = self.run_script(self.lost("nothing", str(CALLS), more=trace))
            self.assertEqual(status, 5, said)
            self.assertIn("no process that could reach the recording used an interface", said)
            self.assertNotIn("neither the program", said)

    def test_drain_is_killed(self):
        """What there was before is known only if another drain has gone on with it."""
        p = subprocess.Popen([KYMO, "run", "-f", "-o", self.trace, "sh", "-c", "read line; exit 5"],
                             stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            os.kill(await_true(lambda: drain_of(p.pid), "a drain"), signal.SIGKILL)
            said = p.communicate("go\n", timeout=PATIENCE)[1]
        finally:
            p.kill()
        self.assertEqual(p.returncode, 5, said)
        self.assertEqual(any(c in said for c in CLAIMS), "the recording went on" in said, said)

    def test_crowd(self):
        """More processes than the drain has descriptors for, none of which records anything."""
        script = ("for i in $(seq 60); do sleep 1000 & p=\"$p $!\"; done; for i in $p; do "
                  "until grep -qs sleep /proc/$i/comm; do :; done; done; kill $p; wait; exit 5")
        status, said = self.run_script(script, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40)))
        self.assertEqual(status, 5, said)
        self.assertRegex(said, "there was no room for [0-9]+ process")
        self.assertFalse([c for c in CLAIMS if c in said], said)


if __name__ == "__main__":
    for variable in [v for v in os.environ if v.startswith("KYMO_")]:
        del os.environ[variable]
    unittest.main(argv=[sys.argv[0]] + sys.argv[3:], verbosity=1)
