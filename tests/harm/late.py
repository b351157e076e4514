#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Processes whose drain has ended, or does not answer, when they make their first recorded calls.

Usage: late.py KYMO SANDBOXED [TEST...]
"""
import glob
import json
import os
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402

KYMO, SANDBOXED = map(os.path.abspath, sys.argv[1:3])
CALLS = 2000
PATIENCE = 120
HERE = os.path.dirname(os.path.abspath(__file__))


def early():
    """A struct shm_hello of this version: who says another one is refused at once, each with a file."""
    with open(os.path.join(HERE, "..", "..", "src", "wire", "shm.h"), encoding="utf-8") as f:
        version = int(re.search(r"#define SHM_VERSION +(\d+)u", f.read()).group(1))
    return struct.pack("=QIIQQQ", 0x314d48534f4d594b, version, 0, 0, 0, 1)


class Late(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="kymo-late-")
        self.trace = os.path.join(self.folder, "t.kymo")
        self.go = os.path.join(self.folder, "go")

    def tearDown(self):
        kymotest.remove(self.folder)

    def until(self, what, condition):
        end = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.005)

    def say_go(self):
        with open(self.go, "w", encoding="utf-8"):
            pass

    def counts(self):
        """(recorded, lost)"""
        done = subprocess.run([KYMO, "query", "--format", "csv", self.trace,
                               "SELECT (SELECT count(*) FROM markers), "
                               "(SELECT sum(lost_records) FROM process)"],
                              timeout=PATIENCE, capture_output=True, text=True, check=True)
        return tuple(int(n or 0) for n in done.stdout.split("\n")[1].split(","))

    def others_done(self):
        """There is a drain more than that of the launcher, and it has ended."""
        found = []
        for path in glob.glob(os.path.join(self.trace, "manifest*.json")):
            try:
                with open(path, encoding="utf-8") as f:
                    one = json.load(f)
            except FileNotFoundError:
                return False  # it is just being put there
            # Where the launcher's has ended, too, it is in that one's.
            found += one.get("nodes", []) if path.endswith("/manifest.json") else [one]
        return found and all(m["state"] == "complete" for m in found)

    def test_drain_has_ended(self):
        """The run is over when the process begins: it starts a drain of its own."""
        script = f"{SANDBOXED} after:{self.go} nothing {CALLS} >&- 2>&- & echo $!"
        done = subprocess.run([KYMO, "run", "-o", self.trace, "sh", "-c", script], timeout=PATIENCE,
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.say_go()
        self.until("the other drain is not done", self.others_done)
        self.assertEqual(self.counts(), (CALLS, 0))

    # ---- a drain that is stopped

    def start(self, script):
        """A launcher whose program waits for the word, and its drain, which is stopped."""
        script = f"echo ready; until [ -e {self.go} ]; do sleep 0.01; done; {script}"
        p = subprocess.Popen([KYMO, "run", "--no-summary", "-o", self.trace, "sh", "-c", script],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, start_new_session=True)
        self.addCleanup(self.clear, p)
        self.assertEqual(p.stdout.readline(), "ready\n")
        self.until("there is no drain", lambda: self.drain_of(p.pid))
        self.until("the drain listens nowhere", lambda: glob.glob(os.path.join(self.trace, "control-*")))
        drain = self.drain_of(p.pid)
        os.kill(drain, signal.SIGSTOP)
        return p, drain

    def child_of(self, parent, name):
        with open(f"/proc/{parent}/task/{parent}/children", encoding="utf-8") as f:
            children = f.read().split()
        for child in children:
            with open(f"/proc/{child}/comm", encoding="utf-8") as f:
                if f.read() == name + "\n":
                    return int(child)
        return 0

    def drain_of(self, launcher):
        keeper = self.child_of(launcher, "kymo-keeper")
        return self.child_of(keeper, "kymo-drain") if keeper else 0

    def clear(self, p):
        """What is left when something went wrong; the drain ends with it."""
        if p.poll() is None:
            os.killpg(p.pid, signal.SIGKILL)
        p.wait()
        for f in p.stdin, p.stdout, p.stderr:
            f.close()

    def expect_line(self, p, line):
        self.assertTrue(select.select([p.stdout], [], [], PATIENCE)[0], "the program does not get on")
        self.assertEqual(p.stdout.readline(), line)

    def end(self, p, drain):
        os.kill(drain, signal.SIGCONT)
        if sys.exc_info()[0]:
            return
        _, err = p.communicate("line\n", timeout=PATIENCE)
        self.assertEqual(p.returncode, 0, err)

    def test_drain_is_stopped(self):
        """Many processes come and go meanwhile."""
        many = 20
        p, drain = self.start(f"for i in $(seq {many}); do {SANDBOXED} nothing {CALLS} & done; wait; "
                              "echo done; read line")
        try:
            self.say_go()
            self.expect_line(p, "done\n")
        finally:
            self.end(p, drain)
        self.assertEqual(self.counts(), (many * CALLS, 0))

    def fill(self):
        """False: there is more room for those who wait for the drain than can be filled."""
        path = os.path.realpath(glob.glob(os.path.join(self.trace, "control-*"))[0])
        hello = early()
        for _ in range(100000):
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
                s.setblocking(False)
                try:
                    s.connect(path)
                except BlockingIOError:
                    return True
                s.send(hello)
        return False

    def test_no_place(self):
        """So many wait for a drain that is stopped that nobody can join them."""
        p, drain = self.start(f"{SANDBOXED} nothing {CALLS}; echo status $?; read line")
        try:
            full = self.fill()
            self.say_go()
            self.expect_line(p, "status 5\n")
            self.until("the other drain is not done", self.others_done)
        finally:
            self.end(p, drain)
        self.assertTrue(full)
        self.assertEqual(self.counts(), (CALLS, 0))


if __name__ == "__main__":
    for variable in [v for v in os.environ if v.startswith("KYMO_")]:
        del os.environ[variable]
    unittest.main(argv=[sys.argv[0]] + sys.argv[3:], verbosity=1)
