#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pager: which one, what it gets, how kymo ends, on a terminal that this test is. The pager is a script of the test's.

Usage: pager.py KYMO PROGRAM KYMO_SYNTH
"""
import fcntl
import glob
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import expect  # noqa: E402

KYMO, PROGRAM, SYNTH = map(os.path.abspath, sys.argv[1:4])
COLUMNS = 70

# Writes what it got, and its LESS, to files in $SEEN. "quit": reads nothing. "stay": says that it is there, and is not
# gone before its input has ended; the terminal's keys are not for it.
PAGER = """#!{python}
import os, signal, sys
seen, how = os.environ["SEEN"], sys.argv[1:]
def put(name, data):
    with open(os.path.join(seen, name), "wb") as f:
        f.write(data)
if how == ["quit"]:
    put("got", b"")
    sys.exit(5)
if how == ["stay"]:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.write(1, b"here")
data = sys.stdin.buffer.read()
put("less", os.environ.get("LESS", "-").encode())
put("name", os.path.basename(sys.argv[0]).encode())
put("got", data)
"""


class Screen:
    """How a command ended on a terminal of so many columns, what it showed there, what the pager had."""

    def __init__(self, *words, keys=None, terminal=True, **variables):
        self.seen = kymotest.Folder()
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
        tty_settings = termios.tcgetattr(slave)
        tty_settings[1] &= ~termios.OPOST
        termios.tcsetattr(slave, termios.TCSANOW, tty_settings)
        env = {k: v for k, v in kymotest.environment().items() if k not in ("PAGER", "LESS", "LV", "NO_COLOR")}
        self.process = subprocess.Popen(
            [KYMO, *words], stdin=slave, stdout=slave if terminal else subprocess.PIPE, stderr=subprocess.PIPE,
            env={**env, "PATH": FOLDER + ":" + os.environ["PATH"], "SEEN": self.seen.name, **variables},
            preexec_fn=lambda: (os.setsid(), fcntl.ioctl(0, termios.TIOCSCTTY, 0)))
        self.shown, self.keys = None, keys
        reader = threading.Thread(target=self.read, args=(master,))
        reader.start()
        out, err = self.process.communicate(timeout=kymotest.WAIT)
        self.pager_first = self.had("got") is not None  # when kymo was gone
        os.write(slave, kymotest.TERMINAL_END)
        reader.join()
        os.close(slave)
        os.close(master)
        self.status, self.out, self.err = self.process.returncode, out, err.decode()
        self.got, self.less, self.name = (self.had(n) for n in ("got", "less", "name"))
        self.seen.cleanup()

    def read(self, master):
        def press(shown):
            if self.keys and b"here" in shown:
                os.write(master, self.keys)
                self.keys = None

        self.shown = kymotest.read_terminal(master, press)

    def had(self, name):
        try:
            with open(os.path.join(self.seen.name, name), "rb") as f:
                return f.read()
        except FileNotFoundError:
            return None


def plain(*words, **variables):
    """What a command shows without a pager."""
    s = Screen("--no-pager", *words, **variables)
    expect(s.got is None and s.shown, words, s.got, s.shown)
    return s


def what_it_gets(trace):
    """The very bytes that the terminal gets without: as wide, in colour."""
    for words in (["summary", trace], ["show", trace], ["show", trace, trace], ["diagnose", trace], ["list", "domains"],
                  ["compare", trace, trace], ["query", trace, "SELECT name, start FROM markers ORDER BY 2"],
                  ["query", "--schema"], ["summary", "--tables", "help"], ["kernels", KERNELS]):
        alone, paged = plain(*words), Screen(*words)
        expect(paged.got == alone.shown, words, vars(alone), vars(paged))
        expect((paged.shown, paged.status, paged.err) == (b"", alone.status, alone.err), words, vars(paged))
        expect(paged.pager_first, words, "kymo was gone before its pager")
    lines = Screen("summary", "--tables", "ranges", trace).got
    expect(b"\033[1mRanges" in lines, lines)
    expect(b"\033[" not in Screen("summary", trace, NO_COLOR="1").got, "colours")
    expect(b"(no room for" in lines, "as wide as the terminal:", lines)


def which(trace):
    """KYMO_PAGER, then PAGER, then less; cat and nothing are none."""
    words = ("summary", trace)
    for variables, name in (({}, b"less"), ({"PAGER": "other"}, b"other"), ({"PAGER": "other", "KYMO_PAGER": "mine"}, b"mine"),
                            ({"PAGER": "cat"}, None), ({"PAGER": ""}, None), ({"PAGER": "other", "KYMO_PAGER": "cat"}, None),
                            ({"PAGER": "other", "KYMO_PAGER": ""}, None), ({"PAGER": "cat", "KYMO_PAGER": "mine"}, b"mine"),
                            ({"KYMO_PAGER": "cat | mine"}, b"mine")):
        s = Screen(*words, **variables)
        expect(s.name == name and s.status == 0 and "unknown" not in s.err, variables, s.name, s.err)
        expect((s.got or s.shown).count(b"Ranges") == 1, variables, s.got, s.shown)
    expect((Screen(*words).less, Screen(*words, LESS="-S").less) == (b"FRX", b"-S"), "LESS")


def none(trace):
    """Not for programs, not at the end of a recording, not where standard output is no terminal."""
    for words in (["summary", "-f", "json", trace], ["summary", "-f", "md", trace], ["diagnose", "-f", "csv", trace],
                  ["compare", "-f", "json", trace, trace], ["query", "-f", "csv", trace, "SELECT 1"], ["kernels", "-f", "json", KERNELS],
                  ["list", "devices", "--format", "json"], ["run", "-o", trace + ".again", PROGRAM], ["info", trace]):
        s = Screen(*words)
        expect(s.got is None and (s.shown or words[0] == "run"), words, vars(s))
        expect(s.status == (3 if words[0] == "compare" else 0), words, s.status)  # nothing is long enough to be compared
    s = Screen("summary", trace, terminal=False)
    expect(s.got is None and b"Ranges" in s.out, vars(s))


def statuses(trace, cut):
    """kymo's own status, whenever the user leaves and whatever the pager's is."""
    long = [trace] * 100  # longer than a pipe
    expect(len(Screen("show", *long).got) > 200000, "too short to fill a pipe")
    for pager in ("mine", "mine quit"):
        for words, status in ((["show", *long], 0), (["summary", "--all", "--names", "full", cut], 0),
                              (["summary", "--all", "--names", "full", "--strict", cut], 1),
                              (["query", cut, "SELECT * FROM markers"], 0)):
            s = Screen(*words, KYMO_PAGER=pager)
            expect(s.status == status, pager, words, s.status, s.err)
            expect("kymo: error" not in s.err and "incomplete" not in s.err, pager, words[0], s.err)
            expect((s.got == b"") == (pager == "mine quit"), pager, words[0])
    s = Screen("show", trace + ".lost")
    expect(s.status == 3 and "lost" in s.err, s.status, s.err)


def missing(trace):
    """There is no such program: all is shown without it."""
    s = Screen("summary", trace, KYMO_PAGER="no-such-program -x")
    alone = plain("summary", trace)
    expect((s.shown, s.status) == (alone.shown, 0), s.shown)
    expect("no-such-program" in s.err, s.err)


def interrupted(trace):
    """Ctrl-C: the pager keeps the terminal until it is left; then kymo is gone by the signal."""
    s = Screen("show", *[trace] * 100, KYMO_PAGER="mine stay", keys=b"\x03")
    expect(s.pager_first, "kymo was gone before its pager")
    expect(s.status in (0, -signal.SIGINT), s.status)


try:
    for end in os.openpty():
        os.close(end)
except OSError as e:  # a bare root has no /dev/pts
    kymotest.skip(f"no pseudo-terminals: {e}")
with kymotest.Folder() as FOLDER:
    for script in ("less", "other", "mine"):
        with open(os.path.join(FOLDER, script), "w", encoding="utf-8") as f:
            f.write(PAGER.format(python=sys.executable))
        os.chmod(f.name, 0o755)
    TRACE, CUT, KERNELS = (f"{FOLDER}/{name}.kymo" for name in ("t", "cut", "kernels"))
    kymotest.must(SYNTH, "demo", KERNELS)
    kymotest.must(KYMO, "run", "--no-summary", "-o", TRACE, PROGRAM)
    kymotest.must(KYMO, "run", "--no-summary", "-o", CUT, PROGRAM, "2000")
    (raw,) = glob.glob(CUT + "/raw/*.kyr")
    os.truncate(raw, os.path.getsize(raw) - 10)
    what_it_gets(TRACE)
    which(TRACE)
    none(TRACE)
    statuses(TRACE, CUT)
    missing(TRACE)
    interrupted(TRACE)
