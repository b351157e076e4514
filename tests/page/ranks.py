#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of a job of many ranks: ranks.py KYMO [LAUNCHER PROGRAM OPTION...]. Ranks with messages in two communicators, and two jobs of an MPI program at once: processes that are not drawn are unfolded below the one
that stands for them, by mouse and keys, with what they did; the matrix of messages has every one of them, in bins that can be taken apart. All is held against what was written."""
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "base"))
sys.path.insert(0, HERE)
import browser  # noqa: E402
from kymotest import Checks, Folder, must, skip  # noqa: E402

checks = Checks()
KYMO, LAUNCHER = os.path.abspath(sys.argv[1]), sys.argv[2:]
RANKS = 120  # more than are drawn, and more than a matrix has rows
PERIOD = 200_000


class Job:
    """What was written: by rank the outermost slices as (name, start, end) and those within; messages as {(from, to): [number, bytes]}."""

    def __init__(self):
        self.events, self.outer, self.inner, self.messages = [], {}, {}, {}

    def slice(self, pid, name, start, end, category="cpu_op", **args):
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": pid, "tid": pid, "ts": 1000 + start / 1000, "dur": (end - start) / 1000, "args": args})

    def message(self, pid, number, start, communicator, peer, size):
        about = {"cat": "comm", "name": "send", "pid": pid, "tid": pid, "id": f"{pid}.{number}"}
        self.events.append({"ph": "b", "ts": 1000 + start / 1000, **about,
                            "args": {"sent": size, "received": 0, "correlation": number, "peer": peer, "tag": 1, "communicator id": communicator}})
        self.events.append({"ph": "e", "ts": 1000 + start / 1000 + 1, **about})

    def rank(self, rank):
        pid, name = 1000 + rank, str(rank)
        self.events.append({"ph": "M", "name": "process_labels", "pid": pid, "args": {"labels": f"rank {rank}", "rank": rank, "ranks": RANKS, "rank by": "MPI", "mpi": "Any", "rank stage": 3}})
        for c in (1, 2):
            self.events.append({"ph": "M", "name": "kymo communicator", "pid": pid, "args": {"name": "ab"[c - 1], "id": c, "kind": 0, "size": RANKS, "remote size": 0, "key": 10 + c,
                                                                                             "handle": 5, "own rank": rank}})
        what, busy = (("ponder", 90_000), ("toil", 50_000 + 100 * rank))[rank % 2]
        for i in range(4):
            start = PERIOD * i + 10 * rank
            self.slice(pid, what, start, start + busy)
            self.slice(pid, "think", start + 1000, start + busy - 1000)
            self.slice(pid, "MPI_Send", start + 100_000, start + 120_000, "mpi_runtime", correlation=i + 1)
            self.outer.setdefault(name, []).extend([(what, start, start + busy), ("MPI_Send", start + 100_000, start + 120_000)])
            self.inner.setdefault(name, []).append(("think", start + 1000, start + busy - 1000))
            peer, size = (rank + (1, 2, 30, 1)[i]) % RANKS, 1000 + rank
            self.message(pid, i + 1, start + 101_000, 1 + i % 2, peer, size)
            pair = self.messages.setdefault((name, str(peer)), [0, 0])
            pair[0] += 1
            pair[1] += size

    def write(self, path):
        for rank in range(RANKS):
            self.rank(rank)
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"traceEvents": self.events}, f)


def unfolded(b, job):
    """By keys alone: down to the line of those that are like the first one, in, and on to the next of them."""
    labels = lambda: b.run("kymo.page.timeline.lines.list.filter(l => l.labelled).map(l => l.text ?? l.track.label)")
    told = labels()
    stands = [int(m[1]) for m in (re.search(r"\+(\d+) like it", t) for t in told) if m]
    groups = [int(m[1]) for m in (re.fullmatch(r"(\d+) like it", t) for t in told) if m]
    checks.equal("all are drawn or unfold", (groups, len([t for t in told if t.startswith("rank")]) + sum(groups)), (stands, RANKS))
    b.run("document.querySelector('.gutter .label').focus()")
    b.key("Home")
    while not re.fullmatch(r"\d+ like it", b.run("document.activeElement.textContent")):
        b.key("ArrowDown")
        b.until("document.activeElement.dataset.track == kymo.page.timeline.focused")
    b.key("Enter")
    b.until("kymo.page.timeline.lines.list.some(l => l.track.member)")
    names = lambda: b.run("kymo.page.timeline.lines.list.filter(l => l.track.member && l.labelled).map(l => l.track.label)")
    first = names()
    checks.equal("so many at a time", len(first), 16)
    b.until("document.activeElement.textContent.startsWith('1 to 16 of')")
    while "next" not in b.run("document.activeElement.textContent"):
        b.key("ArrowDown")
        b.until("document.activeElement.dataset.track == kymo.page.timeline.focused")
    b.key("Enter")
    b.until(f"kymo.page.timeline.lines.list.find(l => l.track.member).track.label !== {json.dumps(first[0])}")
    checks.equal("then others", set(first) & set(names()), set())
    checks.equal("told", b.run("document.querySelector('#live').textContent"), f"17 to {16 + len(names())} of {groups[0]} like it")
    # The rest by the mouse, of all groups: each of those that are not drawn is there once.
    seen = first + names()
    while b.run("[...document.querySelectorAll('.label.turn')].some(e => e.textContent.includes('next'))"):
        before = names()
        b.run("[...document.querySelectorAll('.label.turn')].find(e => e.textContent.includes('next')).click()")
        b.until(f"kymo.page.timeline.lines.list.find(l => l.track.member).track.label !== {json.dumps(before[0])}")
        b.until("!kymo.page.timeline.waiting")
        seen += names()
    checks.equal("each once", (len(seen), len(set(seen))), (groups[0], groups[0]))
    for name in seen[:3] + seen[-3:]:
        strip(b, job, re.match(r"rank ([\d.]+)", name)[1])


def strip(b, job, name):
    """Of a process that is not drawn: how many slices, and in each bin how many begin, the share of it that is busy, and what takes most."""
    code = f"kymo.model.members.processes.find(p => p.label && p.label.match(/^rank ([\\d.]+)/)[1] === '{name}')"
    b.run(f"(async () => {{ const m = kymo.model, row = m.rows[m.members.find({code}).rows[0]]; window.strip = row; m.level(row.levels[0]); }})()")
    b.until("strip.levels[0].busy")
    bin_ns, starts, share, op, records, busy = b.run("(l => [l.bin, [...l.starts], [...l.busy], [...l.op].map(o => kymo.model.name(o)), strip.records, strip.busy])(strip.levels[0])")
    outer, inner = job.outer[name], job.inner[name]
    first = min(s for v in job.outer.values() for _, s, _ in v)
    checks.equal(f"{name}: slices and time", (records, busy), (len(outer) + len(inner), sum(e - s for _, s, e in outer)))
    wanted = [0] * len(starts)
    for _, s, _ in outer + inner:
        wanted[(s - first) // bin_ns] += 1
    checks.equal(f"{name}: begins", starts, wanted)
    for n in range(len(share)):
        times = {}
        for what, s, e in outer:
            times[what] = times.get(what, 0) + max(0, min(e - first, (n + 1) * bin_ns) - max(s - first, n * bin_ns))
        exact = -(-sum(times.values()) * 255 // bin_ns)
        if share[n] != exact or (exact and times[op[n]] != max(times.values())):
            checks.equal(f"{name}: bin {n}", (share[n], op[n]), (exact, times))
            break


def pointed(b):
    """Pointing tells of a strip what it has, however far it is zoomed; clicking selects nothing, and says why."""
    b.key("0")
    b.run("kymo.page.timeline.show(1000, 1200, true)")
    b.run("(l => { kymo.page.timeline.scroller.scrollTop = Math.max(0, l.y - 40); })(kymo.page.timeline.lines.list.find(l => l.track.member))")
    b.until("!kymo.page.timeline.waiting")
    x, y = b.run("(l => { const r = kymo.page.timeline.canvas.getBoundingClientRect(); return [r.x + 300, r.y + l.y - kymo.page.timeline.scroller.scrollTop + 9]; })(kymo.page.timeline.lines.list.find(l => l.track.member))")
    b.mouse("mouseMoved", x, y)
    b.until("!kymo.page.timeline.tip.hidden && kymo.page.timeline.tip.textContent.includes('not drawn')")
    checks.equal("what is told", bool(re.search(r"busy, mostly (ponder|toil)of a process that is not drawn: its 12 slices", b.run("kymo.page.timeline.tip.textContent"))), True)
    b.click(x, y)
    b.until("document.querySelector('#live').textContent.includes('not drawn')")
    checks.equal("nothing is selected", b.run("kymo.page.timeline.selected"), None)


def table(b):
    """The table of clusters shows one of them, and leads to where a process is in the timeline."""
    b.press("#drawn")
    b.until("document.querySelector('#table-clusters select')")
    options = b.run("[...document.querySelectorAll('#table-clusters option')].map(o => o.textContent)")
    number = [int(re.fullmatch(r"cluster \d+: (\d+)", o)[1]) for o in options[1:]]
    checks.equal("all are of a cluster", sum(number), RANKS)
    b.run("(s => { s.value = s.options[1].value; s.dispatchEvent(new Event('change')); })(document.querySelector('#table-clusters select'))")
    checks.equal("one of them", b.run("document.querySelector('#table-clusters [role=status]').textContent"), f"{number[0]} of {RANKS} rows")
    rows = "kymo.model.head.tables.find(t => t.name === 'clusters').rows"
    at = b.run(f"{rows}.findIndex(r => r.some(c => String(c).startsWith('no,')))")
    rank = b.run(f"(t => {rows}[{at}][t.columns.findIndex(c => c.name === 'rank')])(kymo.model.head.tables.find(t => t.name === 'clusters'))")
    b.run("(s => { s.value = ''; s.dispatchEvent(new Event('change')); s.parentElement.querySelector('input').value = ''; })(document.querySelector('#table-clusters select'))")
    b.run(f"(s => {{ s.link(s.table.rows[{at}])(); }})(kymo.page.tables.made.get(kymo.model.head.tables.find(t => t.name === 'clusters')))")
    b.until(f"kymo.page.tab === 'timeline' && document.activeElement.textContent.startsWith('rank {rank}')")


def matrix(b, job, picture):
    cells = "(p => p.tabled.rows())(kymo.page.plots.all.find(p => p.name === 'messages'))"
    b.key("4")
    b.until("document.querySelector('#plot-messages[data-drawn]')")
    names = [str(rank) for rank in range(RANKS)]
    place = {name: n for n, name in enumerate(names)}
    each = -(-len(names) // 48)

    def told(n, step):
        last = min(len(names), n + step) - 1
        return f"rank {names[n]}" if n == last else f"ranks {names[n]}–{names[last]}"

    def wanted(row, column, size, step):
        sums = {}
        for (a, c), (number, size_) in job.messages.items():
            x, y = place[a] - row, place[c] - column
            if 0 <= x < size and 0 <= y < size:
                s = sums.setdefault((told(row + x // step * step, step), told(column + y // step * step, step)), [0, 0])
                s[0] += number
                s[1] += size_
        return sums

    got = {(a, c): [n, size] for a, c, n, size in b.run(cells)}
    checks.equal("bins", got, wanted(0, 0, len(names), each))
    checks.equal("all messages", [sum(v[k] for v in got.values()) for k in (0, 1)], [sum(v[k] for v in job.messages.values()) for k in (0, 1)])
    found = {}
    for a, c, number, size in re.findall(r"<title>([\d.-]+) to ([\d.-]+): (\d+) messages, (\d+) bytes</title>", picture):
        if int(number):
            found[tuple("ranks " + x.replace("-", "–") for x in (a, c))] = [int(number), int(size)]
    checks.equal("the picture has the same", found, got)
    # Keys: to a cell, told, into it, and out.
    b.run("document.querySelector('#plot-messages canvas').focus()")
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        b.key(key)
    number, size = got.get((told(each, each), told(each, each)), [0, 0])
    text = b.run("document.querySelector('#plot-messages .told').textContent")
    checks.equal("told", text.startswith(f"From {told(each, each)} to {told(each, each)}: {number} messages, "), True)
    b.key("Enter")
    checks.equal("a bin apart", {(a, c): [n, s] for a, c, n, s in b.run(cells)}, wanted(each, each, each, 1))
    b.key("Enter")
    checks.equal("no farther", b.run("document.querySelector('#live').textContent"), "These are single ranks")
    b.key("Escape")
    checks.equal("out again", {(a, c): [n, s] for a, c, n, s in b.run(cells)}, got)


def worlds(b, folder):
    """Two jobs that ran at once: ranks have their world before their number, and send within it alone."""
    launcher, program, *options = LAUNCHER
    trace, page = os.path.join(folder, "two.kymo"), os.path.join(folder, "two.html")
    job = lambda n: " ".join([launcher, *options, "-n", str(n), program])
    must(KYMO, "run", "-o", trace, "sh", "-c", f"{job(2)} & {job(3)}; wait")
    must(KYMO, "report", trace, "-o", page)
    wanted = {}
    sql = "SELECT p.world, p.rank, m.peer, count(*), sum(m.sent) FROM comm m JOIN op o ON o.id = m.op JOIN process p ON p.id = m.process WHERE o.name = 'send' AND m.peer IS NOT NULL GROUP BY 1, 2, 3"
    for row in must(KYMO, "query", "--format", "csv", trace, sql).splitlines()[1:]:
        which, rank, peer, number, size = row.split(",")
        wanted.setdefault(which, {})[(rank, peer)] = [int(number), int(size)]
    b.open(page, "#tab=plots")
    b.until("document.querySelector('#plot-messages[data-drawn]')")
    got = {}
    for a, c, number, size in b.run("(p => p.tabled.rows())(kymo.page.plots.all.find(p => p.name === 'messages'))"):
        (w, a), (v, c) = (re.fullmatch(r"rank (\d+)\.(\d+)", x).groups() for x in (a, c))
        checks.equal("within a world", w, v)
        got.setdefault(w, {})[(a, c)] = [number, size]
    checks.equal("each world's messages", sorted(map(sorted, (v.items() for v in got.values()))), sorted(map(sorted, (v.items() for v in wanted.values()))))
    checks.equal("two", len(got), 2)
    checks.equal("two worlds: problems", b.problems, [])


def main():
    if not browser.find():
        skip("no Chromium")
    job = Job()
    with Folder() as folder:
        trace, kept, page = (os.path.join(folder, "job" + ending) for ending in (".json", ".kymo", ".html"))
        job.write(trace)
        must(KYMO, "import", trace, "-o", kept)
        sums = must(KYMO, "query", "--format", "csv", kept, "SELECT count(*), sum(m.sent) FROM comm m JOIN op o ON o.id = m.op WHERE o.name = 'send'").splitlines()[-1]
        checks.equal("what SQL says", sums, "{},{}".format(*(sum(v[k] for v in job.messages.values()) for k in (0, 1))))
        must(KYMO, "report", kept, "-o", page)
        picture = must(KYMO, "report", "--plot", "messages", "-o", "-", kept)
        with browser.Browser() as b:
            b.open(page, "#tab=timeline")
            b.until("window.kymo && performance.getEntriesByName('kymo-whole').length")
            unfolded(b, job)
            pointed(b)
            table(b)
            matrix(b, job, picture)
            checks.equal("problems", b.problems, [])
            if LAUNCHER:
                worlds(b, folder)
    sys.exit(checks.status(30))


if __name__ == "__main__":
    main()
