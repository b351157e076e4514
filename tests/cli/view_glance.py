#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `kymo view` shows of a trace before all of it is prepared, which is held up here: the parts that it says are read have
the counts and busy times of SQL, before and after; who asks for all of it waits for it; ends at once when it is asked to.

    view_glance.py KYMO SYNTH HOLD_OPEN"""
import bisect
import collections
import concurrent.futures
import contextlib
import gzip
import itertools
import json
import os
import random
import shutil
import signal
import sqlite3
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import kymotest  # noqa: E402
import page_file  # noqa: E402
import report  # noqa: E402
from kymotest import expect, must, run  # noqa: E402
from view import KYMO, SYNTH, View  # noqa: E402

HOLD = os.path.abspath(sys.argv[-1])
WHOLE = 2**63 - 1
checks = report.checks


class Part(page_file.Page):
    """A part of a trace, as it was answered."""

    def __init__(self, body):
        bytes_ = struct.unpack_from("<Q", body)[0]
        self.head = json.loads(body[8:8 + bytes_])
        self.data, self.unpacked = body[8 + bytes_:], {}
        self.start, self.end, self.read = (self.head["glance"][k] for k in ("start", "end", "read"))


class All(page_file.Page):
    """What is prepared."""

    def __init__(self, view):
        self.view, self.unpacked = view, {}
        self.head = json.loads(view.ask("/head.json")[2])

    def section(self, n):
        if n not in self.unpacked:
            self.unpacked[n] = gzip.decompress(self.view.ask(f"/section/{n}")[2])
        return self.unpacked[n]


def glance(view, start=0, end=WHOLE, effort=0):
    status, headers, body = view.ask(f"/glance?start={start}&end={end}&effort={effort}")
    checks.equal("a part", (status, headers["content-type"]), (200, "application/octet-stream"))
    return Part(body)


class Held(View):
    """A view whose preparation is held up before it has read anything, until go()."""

    def __init__(self, trace, folder, *options):
        self.pipes = os.path.join(folder, "hold")
        for end in ("held", "go"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{self.pipes}.{end}")
            os.mkfifo(f"{self.pipes}.{end}")
        files = len(os.listdir(os.path.join(trace, "raw")))  # each is opened once before
        super().__init__(trace, *options, env={**os.environ, "LD_PRELOAD": HOLD, "HOLD_OPEN": self.pipes, "HOLD_OPEN_AFTER": str(files)})
        with open(f"{self.pipes}.held", "rb"):
            pass
        self.held = True

    def go(self):
        if self.held:
            with open(f"{self.pipes}.go", "wb"):
                pass
        self.held = False

    def state(self):
        return json.loads(self.ask("/state")[2])


class Slices:
    """Slices of a track: of any window how many begin in it, and how long they are in it."""

    def __init__(self, slices):
        self.all = sorted(s[:2] for s in slices)
        self.starts = [s for s, _ in self.all]
        self.reach = list(itertools.accumulate((e for _, e in self.all), max))

    def window(self, start, end):
        low, high = bisect.bisect_left(self.reach, start), bisect.bisect_left(self.starts, end)
        return (high - bisect.bisect_left(self.starts, start), sum(max(0, min(e, end) - max(s, start)) for s, e in self.all[low:high]))


class Truth:
    """The trace as SQL has it."""

    def __init__(self, trace):
        report.store_of(trace).close()
        self.db = sqlite3.connect(f"file:{trace}/store.db?mode=ro", uri=True, check_same_thread=False)
        self.host, self.device = ({k: Slices(v) for k, v in report.by_owner(self.db, sql).items()} for sql in (report.HOST, report.DEVICE))

    def check(self, page, what, start, end):
        tracks = 0
        for owners, found in ((self.host, report.host_tracks), (self.device, report.device_tracks)):
            for number, track in found(page, self.db):
                sums = [page.window(r, start, end) for r in track["rows"]]
                got = (sum(n for n, _ in sums), sum(b for _, b in sums))
                wanted = owners[number].window(start, end) if number in owners else (0, 0)
                if page.head.get("glance", {}).get("late"):  # it says that something is missing
                    checks.equal(f"{what}: {track['label']}, [{start}, {end}), no more than there is", [g <= w for g, w in zip(got, wanted)], [True, True])
                else:
                    checks.equal(f"{what}: {track['label']}, [{start}, {end})", got, wanted)
                tracks += number in owners
        checks.equal(f"{what}: every track is there", tracks, len(self.host) + len(self.device))


def windows(length, count, seed):
    """Of random zoom."""
    generator = random.Random(seed)
    for _ in range(count):
        width = max(1, int(length * 2 ** -generator.uniform(0, 14)))
        start = generator.randrange(max(1, length - width + 1))
        yield start, start + width


def check_parts(view, truth, seed, count, what):
    """What is said to be read is exact; it lies in the window, in order. Returns the parts that had to be chosen."""
    chosen = 0
    length = glance(view).head["length"]
    for start, end in itertools.chain([(0, WHOLE)], windows(length, count, seed)):
        for effort in (0, 1):
            part = glance(view, start, end, effort)
            read = part.read
            checks.equal(f"{what}: bounds", (part.start, part.end), (start, min(end, length + 1)))
            checks.equal(f"{what}: what is read", (read[0][0] >= part.start, read[-1][1] <= part.end, all(a[1] <= b[0] for a, b in zip(read, read[1:])),
                                                   all(a < b for a, b in read)), (True,) * 4)
            for a, b in read[:3] + read[-1:]:
                truth.check(part, f"{what}, effort {effort}", a, b)
            chosen += read != [[part.start, part.end]]
            if read == [[part.start, part.end]]:
                break
    return chosen


def numbered(part):
    return ([(t["id"], t["kind"], t["process"], t["number"], t["label"]) for t in part.head["tracks"]], [(r["track"], r["depth"]) for r in part.head["rows"]],
            [(o["domain"], o["kind"], part.head["names"][o["name"]]) for o in part.head["ops"]])


def is_begin(a, b):
    return all(x == y[:len(x)] for x, y in zip(numbered(a), numbered(b)))


def ranks(folder):
    """Calls, ranges, kernels that overlap and copies of two ranks; small enough to be read at once."""
    trace = report.spread(2, folder)
    truth = Truth(trace)
    with Held(trace, folder) as view, concurrent.futures.ThreadPoolExecutor(4) as pool:
        state = view.state()
        checks.equal("held up", (state["ready"], state["glances"]), (False, True))
        waiting = [pool.submit(view.ask, path) for path in ("/head.json", "/head.json", "/section/0")]
        first = glance(view)
        checks.equal("a small trace is read as a whole", first.read, [[0, first.head["length"] + 1]])
        two = [pool.submit(check_parts, view, truth, seed, 12, "two at once") for seed in (1, 2)]
        for t in two:
            checks.equal("nothing had to be left out", t.result(), 0)
        narrow = glance(view, first.head["length"] // 2, first.head["length"] // 2 + 10)
        again = glance(view)
        for part in (narrow, again):
            report.check_rows(part)
        checks.equal("numbers stay", (is_begin(first, narrow), is_begin(narrow, again)), (True, True))
        checks.equal("the same again", (again.head["rows"], again.data), (first.head["rows"], first.data))
        checks.equal("there is no answer yet for all of it", [w.done() for w in waiting], [False] * 3)
        view.go()
        checks.equal("then there is", [w.result()[0] for w in waiting], [200] * 3)
        checks.equal("ready", view.state()["ready"], True)
        page = All(view)
        checks.equal("length", page.head["length"], first.head["length"])
        for start, end in windows(page.head["length"], 30, 3):
            truth.check(page, "prepared", start, end)
        checks.equal("parts are told afterwards as well", check_parts(view, truth, 4, 3, "afterwards"), 0)
        checks.equal("ends", view.end(), 0)


def spanning(folder, kernels, count):
    """Calls and kernels, with ranges and a kernel that reach over many of the windows that are chosen."""
    trace, now, each = os.path.join(folder, f"long-{count}.kymo"), 10000, random.Random(9)
    long_ones = [(1000, count * 180, "range whole", "1"), (2000, count * 100, "range half", "2")] + [(3000, count * 75, "kernel long 64", "2")] * kernels
    long_ones.sort(key=lambda o: -o[0] - o[1])
    lines = []
    for i in range(count):
        while long_ones and sum(long_ones[-1][:2]) <= now:  # they are recorded when they end
            start, length, what, which = long_ones.pop()
            lines.append(f"{what} {start} {length} {which}\n")
        length = int(2 ** each.uniform(0, 8))
        lines.append(f"kernel k{i % 11} 64 {now} {length * 2} {1 + i % 2}\n" if i % 2 and kernels else f"call {i % 4} {now} {length}\n")
        now += length + int(2 ** each.uniform(0, 10))
    expect(not long_ones, "the run is too short")
    must(SYNTH, "timed", trace, 0, input="".join(lines) + f"end {now + 10**6}\n")
    return trace


def long(folder):
    """One that is too long to be read at once; it is taken away, and the view ended, while it is prepared."""
    trace = spanning(folder, True, 400000)
    truth = Truth(trace)
    with Held(trace, folder) as view:
        checks.equal("parts of it were chosen", check_parts(view, truth, 5, 4, "long") > 0, True)
        whole, more = glance(view), glance(view, effort=1)
        checks.equal("parts without what is told late", (whole.head["glance"]["late"], len(whole.read) > 1), (False, True))
        part = [sum(b - a for a, b in p.read) / p.end for p in (whole, more)]
        checks.equal("with more effort more is read", part[0] < part[1], True)
        checks.equal("a part alone", part[0] < 0.9, True)
        middle = 70000000  # of the ranges and the kernel one ends behind it, far from it
        near = glance(view, middle, middle + 1000)
        checks.equal("what is told within a second, and not too much", (near.head["glance"]["late"], near.read), (False, [[middle, middle + 1000]]))
        truth.check(near, "told later", middle, middle + 1000)
        checks.equal("a range around it", any(near.name(s[2]) == "whole" for r in range(len(near.head["rows"])) for s in near.slices(r)), True)
        os.rename(trace, f"{trace}.away")
        checks.equal("taken away: the first part is there", glance(view).data == whole.data, True)
        check_parts(view, truth, 6, 1, "taken away")
        checks.equal("ends at once, while it is held up", view.end(signal.SIGINT), 0)
        os.rename(f"{trace}.away", trace)
    with Held(trace, folder) as view:
        checks.equal("SIGTERM", view.end(signal.SIGTERM), 0)
    checks.equal("nothing is left", sorted(os.listdir(trace)), ["raw", "store.db"])
    with Held(trace, folder) as view:
        shutil.rmtree(os.path.join(trace, "raw"))
        view.go()
        error = view.process.stderr.read()
        checks.equal("gone before it is read", (view.process.wait(kymotest.WAIT), "error: " in error), (3, True))


def bounded(folder):
    """Chunks that say how early their records began."""
    trace = spanning(folder, False, 40000)
    truth = Truth(trace)
    with Held(trace, folder) as view:
        checks.equal("all can be read", check_parts(view, truth, 7, 8, "bounded"), 0)
        part = glance(view, 3000000, 3000100)
        checks.equal("ranges that end far behind", ({part.name(s[2]) for r in range(len(part.head["rows"])) for s in part.slices(r)} >= {"whole", "half"}, part.head["glance"]["late"]), (True, False))
        report.check_rows(part)
        report.check_rows(glance(view))


def same_names(folder):
    """Two threads of one name, and calls of one name of two kinds, are two."""
    trace = os.path.join(folder, "same.kymo")
    with open(os.path.join(folder, "same.json"), "w", encoding="ascii") as f:
        json.dump([{"name": "thread_name", "ph": "M", "pid": 1, "tid": t, "args": {"name": "one"}} for t in (7, 8)] +
                  [{"name": "both", "cat": cat, "ph": "X", "pid": 1, "tid": t, "ts": i * 10 + t, "dur": t} for i in range(50) for t in (7, 8) for cat in ("a", "b")], f)
    must(KYMO, "import", "-o", trace, os.path.join(folder, "same.json"))
    with Held(trace, folder) as view:
        part = glance(view)
        held = collections.Counter((part.head["tracks"][r["track"]]["number"], r["records"], r["busy"]) for r in part.head["rows"] if r["records"])
        ops = sorted((o["domain"], o["count"]) for o in part.head["ops"] if part.head["names"][o["name"]] == "both")
        view.go()
        page = All(view)
        checks.equal("rows of one name", held, collections.Counter((page.head["tracks"][r["track"]]["number"], r["records"], r["busy"]) for r in page.head["rows"]))
        checks.equal("two tracks", len({n for n, _, _ in held}), 2)
        checks.equal("calls of one name", ops, sorted((o["domain"], o["count"]) for o in page.head["ops"] if page.head["names"][o["name"]] == "both"))
        checks.equal("two ops", len(ops), 2)


def damaged(folder):
    """Damage is told by what reads all of it; parts are of what can be read, and tell nothing."""
    trace = os.path.join(folder, "damaged.kymo")
    must(SYNTH, "bulk", trace, "2", "20000", "z")
    raw = os.path.join(trace, "raw", os.listdir(os.path.join(trace, "raw"))[0])
    size = os.path.getsize(raw)
    with open(raw, "r+b") as f:
        for at in (size // 2, size // 3):
            f.seek(at)
            f.write(b"\xff" * 64)
        f.truncate(size - size // 10)
    with Held(trace, folder) as view:
        part = glance(view)
        view.go()
        page = All(view)
        of = lambda p: sorted((p.head["tracks"][r["track"]]["number"], r["records"], r["busy"]) for r in p.head["rows"] if p.head["tracks"][r["track"]]["kind"] == "thread")
        checks.equal("what can be read", of(part), of(page))
        checks.equal("not all of it", 0 < sum(r["records"] for r in part.head["rows"]) < 40000, True)
        view.end()
        told = view.process.stderr.read().splitlines()
    warnings = [line for line in told if "warning: " in line]
    wanted = [line for line in run(KYMO, "report", "-f", "-o", trace + ".html", trace).stderr.splitlines() if "warning: " in line]
    checks.equal("damage is told as the report tells it", (bool(warnings), warnings), (True, wanted))


def told_once(folder):
    """What is read several times, by several readers, warns of the same damage once."""
    trace = os.path.join(folder, "undefined.kymo")
    must(SYNTH, "demo", trace)
    for name in os.listdir(os.path.join(trace, "raw")):
        with open(os.path.join(trace, "raw", name), "r+b") as f:
            f.seek(300)
            f.write(b"\xff" * 20)
    with View(trace) as view:
        view.prepared().ask("/record?process=1&start=5&end=9")
        view.end()
        told = view.process.stderr.read()
    for what, text in (("view", told), ("report", run(KYMO, "report", "-f", "--compare", trace, "-o", trace + ".html", trace).stderr)):
        warnings = [line for line in text.splitlines() if "warning: " in line]
        checks.equal(f"{what}: each once", (len(warnings) > 2, sorted(warnings)), (True, sorted(set(warnings))))


def by_track(page, start, end):
    """Of what there is in the window: how many slices begin in it, and how long they are in it, by track; and what of."""
    found, ops = {}, set()
    for r, row in enumerate(page.head["rows"]):
        track = page.head["tracks"][row["track"]]
        count, busy = page.window(r, start, end)
        before = found.get((track["kind"], track["number"]), (0, 0))
        found[track["kind"], track["number"]] = (before[0] + count, before[1] + busy)
        ops |= {page.name(s[2]) for s in page.slices(r) if s[0] < end and s[1] > start}
    return {k: v for k, v in found.items() if any(v)}, ops


def selected(folder):
    """Parts of a selection are of what is selected alone, also where it has to be looked for first, and of a long trace."""
    trace = spanning(folder, True, 10000)
    long = os.path.join(folder, "bulk.kymo")
    must(SYNTH, "bulk", long, "8", "110000", "z")  # behind 0.02 s more is left than is read at once
    for at, options, many in ((trace, ("-i", "test:launch"), False), (trace, ("-k", "k3"), False), (trace, ("--during", "half"), False), (trace, ("-k", "k3#5-60"), False),
                              (trace, ("--after", "30%", "--before", "40%"), False), (trace, ("--after", "30%", "--before", "40%", "--inside"), False),
                              (trace, ("--min-duration", "100ns"), False), (long, ("-i", "wait", "--after", "0.02s"), True)):
        what = " ".join(options)
        with Held(at, folder, *options) as view:
            kymotest.wait_for(lambda: view.state()["glances"], what)
            parts = [glance(view), *(glance(view, a, b) for a, b in windows(90000000 if at == long else 2800000, 3, len(what)))]
            view.go()
            page = All(view)
            checks.equal(f"{what}: told", [p.head["trace"]["selection"] for p in parts], [page.head["trace"]["selection"]] * len(parts))
            checks.equal(f"{what}: not all is read at once", parts[0].read != [[0, parts[0].end]], many)
            seen = 0
            for part in parts:
                for a, b in part.read:
                    if b - a < 10**6 or part is parts[0] and not many:
                        got, wanted = by_track(part, a, b), by_track(page, a, b)
                        checks.equal(f"{what}: [{a}, {b})", got, wanted)
                        seen += sum(n for n, _ in got[0].values())
            checks.equal(f"{what}: something", seen > 0, True)
    done = run(KYMO, "view", "-k", "nothing", trace)
    checks.equal("what is not there", (done.returncode != 0, done.stderr.count("nothing"), done.stdout), (True, 1, ""))
    trace = os.path.join(folder, "demo.kymo")
    must(SYNTH, "demo", trace)
    with View(trace) as view:
        view.prepared()
    with View(trace) as view:
        checks.equal("kept", (json.loads(view.ask("/state")[2])["ready"], view.ask("/glance")[0]), (True, 400))


def main():
    with kymotest.Folder() as folder:
        for part in (ranks, bounded, long, same_names, damaged, told_once, selected):
            part(folder)
    return checks.status(500)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except kymotest.Failure as e:
        print(e)
        sys.exit(1)
