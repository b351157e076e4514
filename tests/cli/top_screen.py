#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The live view of kymo top in a terminal of tmux: its numbers fit into 80 x 24, keys and sizes work, and the terminal is
as it was before, however the view ends: top_screen.py KYMO TOP_PROGRAM."""
import os
import re
import shlex
import shutil
import subprocess

from top_programs import KYMO, Recording, kymotest
from kymotest import check, expect, must, run, wait_for


class Terminal:
    """A shell in a terminal, which tells its settings."""

    def __init__(self, folder, width=80, height=24, **env):
        self.base = ["tmux", "-S", os.path.join(folder, "tmux" + env.get("LANG", "")), "-f", "/dev/null"]
        self.folder = folder
        env = kymotest.environment(PS1="", SHELL="/bin/sh", **{"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", **env})
        must(*self.base, "new-session", "-d", "-x", width, "-y", height, "env PS1= /bin/sh", env=env)

    def tmux(self, *words):
        return must(*self.base, *words)

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def picture(self):
        return self.tmux("capture-pane", "-p").split("\n")[:-1]

    def shows(self, *patterns, what=""):
        """The picture, once all of the patterns are in it."""
        last = []

        def there():
            last[:] = self.picture()
            return all(re.search(p, "\n".join(last), re.M) for p in patterns)
        try:
            wait_for(there, f"{what} {patterns}", pause=0.02)
        except kymotest.Failure:
            print("\n".join(last))
            raise
        return list(last)

    def run(self, command):
        self.tmux("send-keys", "-l", command)
        self.keys("Enter")

    def settings(self, name):
        path = os.path.join(self.folder, name)
        self.run(f"stty -g > {path}.new && mv {path}.new {path}")
        wait_for(lambda: os.path.exists(path), name)
        with open(path, encoding="utf-8") as f:
            return f.read()

    def alternate(self):
        return self.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag}").strip()

    def quit(self):
        self.keys("q")
        wait_for(lambda: self.alternate() == "0 1", "the view is gone")

    def pid_of(self, name):
        below = [self.tmux("display-message", "-p", "#{pane_pid}").strip()]
        while below:
            pid = below.pop()
            try:
                with open(f"/proc/{pid}/comm", encoding="utf-8") as c:
                    if c.read().strip() == name:
                        return int(pid)
                with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as f:
                    below += f.read().split()
            except OSError:
                pass  # it has just ended
        return None

    def end(self):
        run(*self.base, "kill-server")


def fits(picture, width=80, height=24):
    check("height", len(picture), height)
    expect(max(map(len, picture)) <= width, "width", [line for line in picture if len(line) > width])
    return picture


def numbers(t, p):
    t.run(f"{shlex.quote(KYMO)} top -d 200ms {p.trace}")
    if "without ncurses" in "\n".join(t.shows(r"clGetDeviceInfo +\S+/s +4,321 |without ncurses")):
        kymotest.skip("no ncurses")
    picture = fits(t.shows(r"Calls +0/s", "Waiting 0.0 %"))
    text = "\n".join(picture)
    for pattern in (r"^kymo  .*view\.kymo +[\d.]+ m?s  recording$", r"^1 process: sh -c ", r"Kernels +0/s +18 ", r"Waiting 0\.0 %$",
                    r"to device 0 B/s \(3\.906 KiB\)", r"device 1\.004 MiB", r"^Lost +0 records   Overhead ",
                    r"^first +0/s +7 ", r"^second +0/s +11 ", r"^0 \S.* +0\.0 % .*18 +0$", r"^q quit  h help  p hold "):
        expect(re.search(pattern, text, re.M), pattern, "\n" + text)
    expect(t.alternate() == "1 0", "another screen, no cursor", t.alternate())
    return picture


def keys(t, p):
    """Views, order, help, hold."""
    t.keys("2")
    picture = fits(t.shows(r"^Kernel +rate", what="kernels"))
    order = [line.split()[0] for line in picture if re.match("(first|second) ", line)]
    t.keys("s", "s")
    t.shows(r"s sort: count", what="by count")
    picture = t.shows(r"^second[^\n]*\nfirst", what="by count")
    expect(len(order) == 2, order)
    t.keys("s")
    t.shows(r"s sort: name", r"^first[^\n]*\nsecond", what="by name")
    t.keys("3")
    t.shows(r"^clBuildProgram +.*\n(.*\n)*?clGetDeviceInfo", what="calls by name")
    t.keys("Down")
    t.shows(r"^Call +rate.*\nclCreateBuffer", what="scrolled")
    t.keys("Home", "4")
    t.shows(r"^Process +calls/s", rf"^{p.pids[0]} top_program ", what="processes")
    t.keys("5")
    t.shows(r"^Device +busy now", what="devices")
    t.keys("h")
    fits(t.shows(r"q   leave; the recording goes on", what="help"))
    t.keys("h", "1", "s", "p")
    t.shows(r"HELD$", r"p go on", what="held")
    p.tell("calls 9")
    p.tell("calls 1")
    t.keys("p")
    t.shows(r"clGetDeviceInfo +\S+/s +4,331 ", "recording$", what="goes on")
    t.keys("-")
    t.shows(r"every 0\.4 s", what="slower")
    t.keys("+", "+")
    t.shows(r"every 0\.1 s", what="faster")


def sizes(t):
    for width, height in ((200, 60), (120, 40), (60, 12), (40, 10), (30, 6), (80, 24)):
        t.tmux("resize-window", "-x", width, "-y", height)
        fits(t.shows(r"\Akymo  ", rf"(?s)\A([^\n]*\n){{{height - 1}}}q quit[^\n]*\Z", what=f"{width} x {height}"), width, height)


def leaves(t, p, how, status, ended=None):
    """The terminal is as it was before, and the program has gone on."""
    before = t.settings(f"before-{how}")
    t.run(f"clear; {shlex.quote(KYMO)} top -d 100ms {p.trace}")
    t.shows("recording$", what=how)
    pid = wait_for(lambda: t.pid_of("kymo"), "its process")
    if ended:
        os.kill(pid, ended)
    else:
        t.keys(how)
    wait_for(lambda: t.alternate() == "0 1", f"the view is gone after {how}")
    t.run("echo status $?")
    t.shows(rf"^status {status}$", what=how)
    check(f"settings after {how}", t.settings(f"after-{how}"), before)


def plain(folder, p):
    """Without UTF-8, and without colours, which there are none of."""
    t = Terminal(folder, LANG="C", LC_ALL="C", NO_COLOR="1")
    t.run(f"{shlex.quote(KYMO)} top -d 200ms {p.trace}")
    picture = fits(t.shows(r"clGetDeviceInfo +\S+/s +4,331 "))
    check("ASCII alone", [line for line in picture if not line.isascii()], [])
    check("no colours", re.findall(r"\x1b\[[\d;]*[34][0-8]", t.tmux("capture-pane", "-p", "-e")), [])
    t.quit()
    t.end()


def no_screen(folder, p):
    """A terminal that cannot place text, or that is not known, gets words and one picture."""
    for term, words in (("dumb", 'the terminal "dumb" (TERM) has no way to place text: one picture, as with --once'),
                        ("kymo-unknown", 'the terminal "kymo-unknown" (TERM) is not known to ncurses: one picture'),
                        ("", "TERM is not set")):
        out = os.path.join(folder, f"screen{term}")
        shown = f"{'env -u TERM' if not term else f'env TERM={term}'} {KYMO} top -d 100ms {p.trace}; echo status $?"
        done = run("script", "-qec", shown, out, stdin=subprocess.DEVNULL)
        text = re.sub(r"\r?\n", "\n", done.stdout)
        expect(words in text, term, text)
        expect(re.search(r"^clGetDeviceInfo +0/s +4,331 ", text, re.M), term, text)
        check(f"no control characters, TERM={term}", ["\x1b" in text, "status 0" in text], [False, True])


def recording_ends(t, p):
    t.run(f"clear; {shlex.quote(KYMO)} top -d 100ms {p.trace}")
    t.shows("recording$", what="before it ends")
    p.end()
    t.shows("ENDED$", r"^0 processes, 1 ended: ", r"clGetDeviceInfo +\S+/s +4,331 ", what="the last numbers stay")
    t.quit()


def main():
    if not shutil.which("tmux"):
        kymotest.skip("no tmux")
    with kymotest.Folder() as folder:
        p = Recording(folder, "view", words=("\x1b[31m", "\u00e4\u4e2d"))
        p.tell("calls 4321", "kernels 0 first 7", "kernels 0 second 11", "write 0 1000 4", "allocate 4096")
        t = Terminal(folder)
        try:
            numbers(t, p)
            keys(t, p)
            sizes(t)
            t.quit()
            leaves(t, p, "q", 0)
            leaves(t, p, "C-c", 130)
            leaves(t, p, "TERM", 143, 15)
            leaves(t, p, "SEGV", 139, 11)
            plain(folder, p)
            no_screen(folder, p)
            recording_ends(t, p)
        finally:
            t.end()
            p.let_go()
    return 1 if kymotest.wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
