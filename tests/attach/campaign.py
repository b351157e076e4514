#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attaches at random moments, with random options, to programs that do something: campaign.py KYMO PROGRAM LOOP [COUNT] [SEED] [NAME...]

A program runs again and again while it is attached to, COUNT times in all (default: 200): recordings that end by --duration, by
Ctrl-C, with the program, and by SIGKILL of who attached, at any moment. What the program prints and its status must be what they are
without; a recording that was not killed must be readable. Of PROGRAM (program.c), which knows when it did what, each call from the
stated moment on is recorded, once. An attach that is refused must say why. Each attach is printed, with what is wrong; in the end the
figures.
"""
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402

THREADS = """
import hashlib, queue, sys, threading
q, done = queue.Queue(8), queue.Queue()
def work():
    h = b""
    while (n := q.get()) is not None:
        for i in range(200):
            h = hashlib.sha256(b"%d %d" % (n, i)).digest()
        done.put((n, h.hex()))
threads = [threading.Thread(target=work) for i in range(3)]
for t in threads: t.start()
for n in range(int(sys.argv[1]) * 4000): q.put(n)
for t in threads: q.put(None)
for t in threads: t.join()
out = sorted(done.get() for i in range(done.qsize()))
print(len(out), hashlib.sha256(repr(out).encode()).hexdigest())
"""
ASYNCIO = """
import asyncio, hashlib, sys
async def echo(r, w):
    while line := await r.readline():
        w.write(hashlib.md5(line).hexdigest().encode() + b"\\n")
        await w.drain()
    w.close()
async def ask(port, k, n):
    r, w = await asyncio.open_connection("127.0.0.1", port)
    h = hashlib.sha256()
    for i in range(n):
        w.write(b"%d %d\\n" % (k, i))
        h.update(await r.readline())
        if i % 50 == 0: await asyncio.sleep(0.01)
    w.close()
    return h.hexdigest()
async def main():
    s = await asyncio.start_server(echo, "127.0.0.1", 0)
    port = s.sockets[0].getsockname()[1]
    print(await asyncio.gather(*(ask(port, k, int(sys.argv[1]) * 1500) for k in range(4))))
asyncio.run(main())
"""
PERL = 'my ($s, %h) = (1); for my $i (1 .. $ARGV[0] * 2000000) { $s = ($s * 69069 + $i) % 4294967296; $h{$s % 1000} .= "x" if $i % 100 == 0 } ' \
       'print "$s ", join(",", map { length $h{$_} } sort { $a <=> $b } keys %h), "\\n"'
AWK = 'BEGIN { for (i = 1; i <= N * 3000000; i++) { s = (s * 69069 + i) % 4294967296; a[s % 997]++ } ' \
      'for (i = 0; i < 997; i++) t = (t * 31 + a[i]) % 1000003; print s, t }'
BACKENDS = ([], ["-b", "none"], ["-b", "posix"], ["-b", "all"], ["-b", "all,posix"], ["-b", "pthread,posix"], ["-b", "posix,wait,lock,heap"])
BEGUN, WAIT = 0.6, 120


def fill(path, lines):
    """Lines that are the same each time."""
    r = random.Random(1)
    with open(path, "w", encoding="ascii") as f:
        for _ in range(lines):
            f.write(f"{r.getrandbits(64):x} {r.random()}\n")


def programs(folder, size, program, loop):
    data = os.path.join(folder, "data")
    fill(data, 150000 * size)
    known = {
        "python-threads": ["/usr/bin/python3", "-c", THREADS, str(size)],
        "asyncio": ["/usr/bin/python3", "-c", ASYNCIO, str(size)],
        "xz": ["xz", "-T2", "-6", "--block-size=1MiB", "-c", data],
        "sort": ["sort", "--parallel=2", "-S", "16M", "-T", folder, data, data, data, data],
        "perl": ["perl", "-e", PERL, str(size)],
        "awk": ["awk", "-v", f"N={size}", AWK],
        "opencl": [loop] if os.path.exists(loop) else None,
        "counts": [program, "2", folder],
    }
    return {n: argv for n, argv in known.items() if argv and (os.path.exists(argv[0]) or shutil.which(argv[0]))}


class Campaign:
    def __init__(self, kymo, folder, size, program, loop, seed):
        self.kymo, self.folder, self.random = kymo, folder, random.Random(seed)
        self.programs = programs(folder, size, program, loop)
        self.expected, self.wrong = {}, []
        self.figures = {}

    def count(self, what):
        self.figures[what] = self.figures.get(what, 0) + 1

    def fail(self, *words):
        self.wrong.append(" ".join(map(str, words)))
        print("WRONG:", *words, flush=True)

    # ---- programs ----

    def start(self, name):
        p = subprocess.Popen(self.programs[name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if name in ("counts", "opencl") and p.stdout.readline() != b"ready\n":
            return None
        return p

    def finish(self, name, p):
        """What is the same each time of what it printed, and its status; program.c's rounds."""
        out, err = p.communicate(b"end\n" if name in ("counts", "opencl") else None, timeout=WAIT)
        if name in ("counts", "opencl"):
            rounds = re.findall(rb"^(\d+) (\d+)$", out, re.M)
            return (p.returncode, set(re.findall(rb"wrong \d+", out)), err), rounds
        return (p.returncode, hashlib.sha256(out).hexdigest(), len(out), err), None

    def learn(self, name):
        p = self.start(name)
        if p:
            self.expected[name] = self.finish(name, p)[0]

    # ---- one attach ----

    def options(self):
        how = self.random.choice(("duration", "duration", "interrupt", "kill", "kill launcher"))
        options = list(self.random.choice(BACKENDS))
        if self.random.random() < 0.4:
            options.append(f"--sample={self.random.choice((20, 100, 500))}")
        if how == "duration":
            options.append(f"--duration={self.random.choice((1, 20, 100, 300))}ms")
        return how, options

    def attach(self, name, p, number):
        how, options = self.options()
        path = os.path.join(self.folder, f"{number}.kymo")
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        k = subprocess.Popen([self.kymo, "attach", "--no-summary", "-o", path, *options, str(p.pid)], stderr=subprocess.PIPE,
                             text=True, start_new_session=True)
        if how in ("kill", "kill launcher"):
            time.sleep(self.random.random() * BEGUN)
            (os.killpg if how == "kill" else os.kill)(k.pid, signal.SIGKILL)
        said = ""
        if how == "interrupt":
            line = k.stderr.readline()
            while line and "is recorded since" not in line:
                said += line
                line = k.stderr.readline()
            said += line
            time.sleep(self.random.random() * 0.3)
            if k.poll() is None:
                os.killpg(k.pid, signal.SIGINT)
        try:
            said += k.stderr.read()
            k.wait(timeout=WAIT)
        except subprocess.TimeoutExpired:
            self.fail(number, name, options, how, "does not end")
            os.killpg(k.pid, signal.SIGKILL)
            k.wait()
        k.stderr.close()
        over = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        print(f"{number} {name} {' '.join(options)} {how}: {k.returncode} {said.strip().splitlines()[-1:]}", flush=True)
        self.judge(name, p, (number, how, options, path, k.returncode, said, before, over))

    def judge(self, name, p, a):
        number, how, options, path, status, said, before, over = a
        if how.startswith("kill"):
            self.count("killed")
            kymotest.wait_for(lambda: not kymotest.writers(path), "the drain ends when its launcher was killed")
        elif status == 3 and "cannot be attached to: " in said:
            self.count("refused: " + re.sub(r"[0-9/].*", "", said.split("cannot be attached to: ")[1].strip()))
            if p.poll() is None and "ended" not in said and "no such process" not in said:
                self.count("refused while it ran")
        elif how == "interrupt" and status == -signal.SIGINT and p.poll() is not None:
            self.count("interrupted when the program had ended")
        elif status != 0:
            self.fail(number, name, options, how, "status", status, said)
        else:
            self.count("recorded")
            if "lost" in said:
                self.fail(number, name, options, "lost", said)
            if name == "counts" and any("posix" in o for o in options):
                self.recorded.append((number, self.writes(path), before, over))
            else:
                self.query(path, "SELECT count(*) AS n FROM regions")
        kymotest.remove(path, missing_ok=True)

    def query(self, path, sql):
        p = subprocess.run([self.kymo, "query", "--format", "json", path, sql], capture_output=True, text=True, check=False)
        if p.returncode:
            self.fail(path, p.stderr)
            return []
        return json.loads(p.stdout)

    def writes(self, path):
        """When it says that it began, and the rounds by thread of which the write is recorded after that."""
        mark = self.query(path, "SELECT start FROM marker JOIN marker_name ON marker.name = marker_name.id "
                          "WHERE marker_name.text = 'kymo attach'")
        by = {}
        for r in self.query(path, "SELECT tid, kymo_arg(id, 'offset') AS round, start FROM regions "
                            "WHERE category = 'posix' AND name = 'pwrite' ORDER BY start"):
            if mark and r["start"] >= mark[0]["start"]:
                by.setdefault(r["tid"], []).append(int(r["round"]))
        return by

    def compare(self, rounds):
        """Each round from the first recorded to the last, once; all of them began within the attach."""
        begun = {}
        for thread, at in rounds:
            begun.setdefault(int(thread), []).append(int(at))
        for number, by, before, over in self.recorded:
            for recorded in by.values():
                self.count("threads with exact counts")
                self.figures["calls in them"] = self.figures.get("calls in them", 0) + len(recorded)
                fits = recorded == list(range(recorded[0], recorded[-1] + 1)) and any(
                    recorded[-1] < len(b) and b[recorded[0]] >= before - 10**9 and b[recorded[-1]] <= over for b in begun.values())
                if not fits:
                    self.fail(number, "counts:", recorded[:3], "to", recorded[-3:], len(recorded))

    # ---- all of them ----

    def visit(self, name, number, most):
        """A run of the program and some attaches. Returns the next number."""
        p = self.start(name)
        self.recorded = []
        for _ in range(self.random.randint(1, 4)):
            if number >= most:
                break
            time.sleep(self.random.random() * 0.2)
            self.attach(name, p, number)
            number += 1
            self.count("attaches to " + name)
            if p.poll() is not None:
                break
        try:
            got, rounds = self.finish(name, p)
        except subprocess.TimeoutExpired:
            self.fail(name, "does not end after attach", number - 1)
            p.kill()
            return number
        if got != self.expected[name]:
            self.fail(name, "after attach", number - 1, got, "instead of", self.expected[name])
        if rounds:
            self.compare(rounds)
        return number

    def all(self, most, names):
        for name in sorted(self.programs):
            if not names or name in names:
                self.learn(name)
        number = 0
        order = sorted(self.expected)
        while number < most:
            for name in order:
                if number < most:
                    number = self.visit(name, number, most)
        for what in sorted(self.figures):
            print(f"{what}: {self.figures[what]}")
        print("wrong:", len(self.wrong))
        return bool(self.wrong)


def main():
    kymo, program, loop = map(os.path.abspath, sys.argv[1:4])
    most, seed = int(sys.argv[4]) if len(sys.argv) > 4 else 200, int(sys.argv[5]) if len(sys.argv) > 5 else 1
    for variable in [v for v in os.environ if v.startswith("KYMO_")]:
        del os.environ[variable]
    with kymotest.Folder() as folder:
        return Campaign(kymo, os.path.realpath(folder), 1, program, loop, seed).all(most, sys.argv[6:])


if __name__ == "__main__":
    sys.exit(main())
