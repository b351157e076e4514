# SPDX-License-Identifier: Apache-2.0
"""What the tests in Python share: folders that are removed when nobody writes into them any more, waiting for
a condition, running programs and kymo, asking a trace, saying what differs.

A test finds it by

    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
"""

import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

SKIPPED = 77  # exit status
WAIT = 120  # seconds for what a busy machine may take
SANITIZED = "ASAN_OPTIONS" in os.environ  # by `make asan`, `make asan-cli`: memory and address space are then the sanitizer's


class Failure(Exception):
    """What was expected and is not so."""


def expect(condition, *what):
    if not condition:
        raise Failure(" ".join(str(w) for w in what))


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def wait_for(condition, what, seconds=WAIT, pause=0.005):
    """What the condition gives once that is true."""
    deadline = time.monotonic() + seconds
    while True:
        got = condition()
        if got:
            return got
        expect(time.monotonic() < deadline, f"{what}: not within {seconds} s")
        time.sleep(pause)


# ---- folders -----------------------------------------------------------------------------------

def _opened(pid):
    try:
        numbers = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return
    for number in numbers:
        try:
            yield os.readlink(os.fsencode(f"/proc/{pid}/fd/{number}"))
        except OSError:
            pass


def compresses(pid, folder):
    """Whether a drain has a file without a name open below a folder: one that is to take another's place."""
    top = os.fsencode(os.path.realpath(folder)) + b"/"
    return any(path.startswith(top) and path.endswith(b" (deleted)") for path in _opened(pid))


def writers(folder):
    """Processes of Kymo's (launchers, drains, their keepers) that have something open below a folder."""
    top, found = os.fsencode(os.path.realpath(folder)), []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as f:
                ours = f.read().startswith("kymo")
        except OSError:
            continue
        if ours and any(path == top or path.startswith(top + b"/") for path in _opened(pid)):
            found.append(int(pid))
    return found


def let_compress(pid):
    """A thread of a drain that compresses gets processors like all others: on a busy machine it would get next to none."""
    for comm in glob.glob(f"/proc/{pid}/task/*/comm"):
        try:
            with open(comm, encoding="ascii") as f:
                if f.read().strip() == "kymo-compress":
                    os.sched_setscheduler(int(comm.split("/")[-2]), os.SCHED_OTHER, os.sched_param(0))
                    return True
        except OSError:  # it has ended, or may not be changed
            pass
    return False


def no_writers(folder):
    """Whether nobody is left; who is may go on."""
    left = writers(folder)
    for pid in left:
        let_compress(pid)
    return not left


def remove(folder, missing_ok=False):
    """A drain may outlive the program, and who started it: it is waited for."""
    if missing_ok and not os.path.lexists(folder):
        return
    wait_for(lambda: no_writers(folder), f"{folder}: somebody still writes into it")
    shutil.rmtree(folder)


class Folder:
    """As tempfile.TemporaryDirectory, but removed as above."""

    def __init__(self, prefix="kymo-test-"):
        self.name = tempfile.mkdtemp(prefix=prefix)

    def cleanup(self):
        remove(self.name)

    def __enter__(self):
        return self.name

    def __exit__(self, *_):
        self.cleanup()


# ---- programs ----------------------------------------------------------------------------------

def environment(**more):
    """This one, without what steers Kymo from outside."""
    return {**{k: v for k, v in os.environ.items() if not k.startswith("KYMO_")}, **more}


def run(*argv, **options):
    return subprocess.run([str(a) for a in argv], **{"capture_output": True, "text": True, "timeout": 300,
                                                     "check": False, **options})


def must(*argv, **options):
    """Its output; it must succeed."""
    done = run(*argv, **options)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, argv))}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class Run:
    """What a program printed and how it ended."""

    def __init__(self, args, cwd=None, env=None, timeout=300):
        done = subprocess.run(args, cwd=cwd, env=dict(os.environ, **(env or {})), timeout=timeout,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, errors="replace", check=False)
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr


# The end of what a terminal shows, written by the test when the program is gone: a master may report the end of its
# other side before it has handed out all that was written there.
TERMINAL_END = b"\0the end\0"


def read_terminal(master, seen=lambda shown: None):
    """What is shown until TERMINAL_END; seen() is called with all so far whenever there is more."""
    shown = b""
    while not shown.endswith(TERMINAL_END):
        shown += os.read(master, 65536)
        seen(shown)
    return shown.removesuffix(TERMINAL_END)


def query(kymo, trace, sql):
    """Rows of a query, as dictionaries."""
    done = Run([kymo, "query", "--format", "json", trace, sql])
    if done.status:
        sys.exit(f"kymo query failed with {done.status}: {done.err}")
    return json.loads(done.out)


# ---- what differs ------------------------------------------------------------------------------

wrong = []


def check(what, got, wanted):
    if got != wanted:
        wrong.append(what)
        print(f"{what}: got {got!r}, expected {wanted!r}")


class Checks:
    """Counts what was compared; says what differed."""

    def __init__(self):
        self.done = 0
        self.wrong = 0

    def equal(self, what, got, wanted):
        self.done += 1
        if got != wanted:
            self.wrong += 1
            if self.wrong <= 20:
                print(f"{what}: got {got!r}, expected {wanted!r}")

    def equal_counts(self, what, got, wanted):
        for key in sorted(set(got) | set(wanted), key=str):
            self.equal(f"{what} {key}", got.get(key, 0), wanted.get(key, 0))

    def status(self, least):
        """Exit status; at least so many comparisons must have been made."""
        print(f"{self.done - self.wrong} of {self.done} comparisons hold")
        return 1 if self.wrong or self.done < least else 0
