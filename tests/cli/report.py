#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The data of pages against SQL over the same trace: every slice, 100 random windows, every bin of every level, links,
messages, curves; hostile names; the policy's hashes; pages that must be small; outputs that cannot be written.

    report.py KYMO SYNTH PART [PROGRAM...]"""
import collections
import html
import json
import os
import random
import re
import resource
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import kymotest  # noqa: E402
import page_file  # noqa: E402
from kymotest import expect, must, run  # noqa: E402

KYMO, SYNTH, PART = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3]
PROGRAMS = sys.argv[4:]
checks = kymotest.Checks()


def page_of(trace, *options):
    path = trace + ".html"
    must(KYMO, "report", "-f", "-o", path, *options, trace)
    return page_file.Page(path)


def store_of(trace):
    must(KYMO, "query", trace, "SELECT 1")
    return sqlite3.connect(f"file:{trace}/store.db?mode=ro", uri=True)


# ---- what the store has --------------------------------------------------------------------------------

HOST = """
SELECT c.thread, c.start, c.start + c.duration, o.name FROM call c JOIN op o ON o.id = c.op
UNION ALL SELECT a.thread, a.start, a.start + a.duration, o.name FROM activity a JOIN op o ON o.id = a.op
UNION ALL SELECT s.thread, s.start, s.start + s.duration, o.name FROM sync s JOIN op o ON o.id = s.op WHERE ifnull(s.call, 0) = 0
UNION ALL SELECT m.thread, m.start, m.start + m.duration, n.text FROM marker m LEFT JOIN marker_name n ON n.id = m.name
    WHERE ifnull(m.starter, 0) = 0
UNION ALL SELECT c.thread, c.start, NULL, o.name FROM open_call c JOIN op o ON o.id = c.op"""
DEVICE = """
SELECT d.queue, d.start, d.start + d.duration, s.text FROM dispatch d JOIN kernel k ON k.id = d.kernel JOIN string s ON s.id = k.name
    WHERE d.untimed = 0
UNION ALL SELECT c.queue, c.start, c.start + c.duration, o.name FROM copy c JOIN op o ON o.id = c.op WHERE c.untimed = 0"""


def host_tracks(page, db):
    """Tracks of threads by the store's numbers: the order of threads in their processes is that of the page's."""
    found = {}
    for track in page.head["tracks"]:
        if track["kind"] == "thread":
            found.setdefault(track["parent"], []).append(track)
    rows = list(db.execute("SELECT t.id, p.pid, t.main, t.number, ifnull(s.text, '') FROM thread t JOIN process p ON p.id = t.process "
                           "LEFT JOIN string s ON s.id = t.name WHERE t.id > 0 ORDER BY p.id, t.number"))
    for number, pid, main, index, _ in rows:
        parent = next((t["id"] for t in page.head["tracks"] if t["parent"] < 0 and f"({pid})" in t["label"]), None)
        sort = 16 if main else 17 + index
        track = next((t for t in found.get(parent, ()) if t["sort"] == sort), None)
        if track:
            yield number, track


def device_tracks(page, db):
    for number, label, pid in db.execute("SELECT q.id, q.label, p.pid FROM queue q JOIN process p ON p.id = q.process WHERE q.id > 0"):
        for track in page.head["tracks"]:
            if track["kind"] == "queue" and track["sort"] == 16 + number:
                expect(track["label"].startswith(label), f"the track of queue {number} of {pid}: {track['label']}")
                yield number, track


def by_owner(db, sql):
    out = collections.defaultdict(list)
    for owner, start, end, name in db.execute(sql):
        out[owner].append((start, end, name))
    return out


def in_window(slices, start, end):
    return (sum(start <= s[0] < end for s in slices),
            sum(max(0, min(s[1], end) - max(s[0], start)) for s in slices))


# ---- comparisons ---------------------------------------------------------------------------------------

def check_rows(page):
    """Slices of a row are in order and do not overlap; the head's sums are theirs."""
    for i, row in enumerate(page.head["rows"]):
        slices = page.slices(i)
        checks.equal(f"row {i}: order", all(a[1] <= b[0] for a, b in zip(slices, slices[1:])), True)
        checks.equal(f"row {i}: records", row["records"], len(slices))
        checks.equal(f"row {i}: busy", row["busy"], sum(s[1] - s[0] for s in slices))
        first = 0
        for b in row["blocks"]:
            got = page.block(b)
            checks.equal(f"row {i}: block", (b[0], b[1], b[2], b[3], b[5]),
                         (got[0][0], got[-1][1], len(got), sum(s[1] - s[0] for s in got), first))
            first += len(got)


def check_lanes(page, tracks):
    """What has a row of its own crosses something: what only follows another or lies in it does not."""
    for _, track in tracks:
        slices = [s for r in track["rows"] for s in page.slices(r)]
        for s in slices:
            if s[6] & 4:
                crosses = any(o[0] < s[1] and s[0] < o[1] and not (o[0] <= s[0] and s[1] <= o[1] and track["kind"] == "thread" and o[6] & 4 == 0)
                              for o in slices if o is not s)
                checks.equal(f"{track['label']}: {s[:2]} crosses another", crosses, True)


def check_tracks(page, tracks, wanted, what):
    seen = set()
    for number, track in tracks:
        seen.add(number)
        got = [(s, e, page.name(op)) for r in track["rows"] for s, e, op, *_ in page.slices(r)]
        # Where a call that never returned ends, the store does not say.
        cut = [flags & 2 for r in track["rows"] for *_, flags in page.slices(r)]
        got = [(s, None if c else e, n) for (s, e, n), c in zip(got, cut)]
        checks.equal_counts(f"{what} {track['label']}", collections.Counter(got), collections.Counter(wanted[number]))
    checks.equal(f"{what}: all have tracks", {k for k, v in wanted.items() if v and k} - seen, set())


def check_windows(page, tracks, wanted, seed):
    """Of random windows at random zoom: as the page adds them up against SQL."""
    generator = random.Random(seed)
    length = page.head["length"]
    tracks = [(n, t) for n, t in tracks if not any(s[6] & 2 for r in t["rows"] for s in page.slices(r))]
    for _ in range(100):
        width = max(1, int(length * 2 ** -generator.uniform(0, 14)))
        start = generator.randrange(max(1, length - width + 1))
        for number, track in tracks:
            sums = [page.window(r, start, start + width) for r in track["rows"]]
            checks.equal(f"{track['label']} from {start} for {width}", (sum(n for n, _ in sums), sum(b for _, b in sums)),
                         in_window(wanted[number], start, start + width))


def brute_level(slices, length, bin_, bins):
    use, count = [{} for _ in range(bins)], [0] * bins
    for start, end, op, *_ in slices:
        count[start // bin_] += 1
        for i in range(start // bin_, max(end - 1, start) // bin_ + 1):
            busy = min(end, (i + 1) * bin_) - max(start, i * bin_)
            use[i][op] = use[i].get(op, 0) + busy
    share = [min(255, max(1, -(-255 * sum(u.values()) // bin_))) if u else 0 for u in use]
    best = [max(u, key=u.get) if u else 0 for u in use]  # of equals the one that came first
    return share, best, count


def check_levels(page):
    for i, row in enumerate(page.head["rows"]):
        slices, last = page.slices(i), None
        for number in row["levels"]:
            bin_, share, op, count = page.level(number)
            wanted = brute_level(slices, page.head["length"], bin_, len(share))
            checks.equal(f"row {i}: shares of bins of {bin_}", list(share), wanted[0])
            checks.equal(f"row {i}: ops of bins of {bin_}", list(op), wanted[1])
            checks.equal(f"row {i}: counts of bins of {bin_}", list(count), wanted[2])
            checks.equal(f"row {i}: bins of {bin_}", (bin_ & (bin_ - 1), len(share), last in (None, bin_ / 4)),
                         (0, page.head["length"] // bin_ + 1, True))
            last = bin_
        checks.equal(f"row {i}: the coarsest level is small", len(share) <= 512 or len(row["levels"]) == 12, True)


def check_search(page):
    """The ops of every block."""
    data, at = page.section(page.head["block_ops"]), 0
    for i, row in enumerate(page.head["rows"]):
        for b in row["blocks"]:
            n = int.from_bytes(data[at:at + 2], "little")
            ops = [int.from_bytes(data[at + 2 + 4 * k:at + 6 + 4 * k], "little") for k in range(n)]
            checks.equal(f"row {i}: ops of a block", ops, sorted({s[2] for s in page.block(b)}))
            at += 2 + 4 * n
    checks.equal("all of the section", at, len(data))


def check_links(page, db):
    """Where an arrow begins: the call that submitted the work."""
    calls = {c: (s, e, n) for c, s, e, n in db.execute(
        "SELECT c.id, c.start, c.start + c.duration, o.name FROM call c JOIN op o ON o.id = c.op")}
    wanted, got = collections.Counter(), collections.Counter()
    for sql in ("SELECT call, start, duration, 0 FROM dispatch WHERE untimed = 0 AND early = 0",
                "SELECT call, start, duration, bytes FROM copy WHERE untimed = 0 AND early = 0"):
        for call, start, duration, size in db.execute(sql):
            if call in calls:
                wanted[(start, start + duration, size) + calls[call]] += 1
    for i in range(len(page.head["rows"])):
        for start, end, _, row, number, size, _ in page.slices(i):
            if row is not None:
                s = page.slices(row)[number]
                got[(start, end, size, s[0], s[1], page.name(s[2]))] += 1
    checks.equal_counts("link", got, wanted)
    return sum(wanted.values())


def check_messages(page, db):
    sql = """SELECT a.start, a.start + a.duration, b.start, b.start + b.duration, s.sent
        FROM comm s JOIN op so ON so.id = s.op JOIN comm r ON r.match = s.match AND r.id <> s.id JOIN op ro ON ro.id = r.op
        JOIN call a ON a.id = s.call JOIN call b ON b.id = CASE WHEN ifnull(r.completed_by, 0) THEN r.completed_by ELSE r.call END
        WHERE s.match > 0 AND so.name <> 'receive' AND ro.name = 'receive'"""
    wanted = collections.Counter(db.execute(sql))
    got = collections.Counter()
    for (from_row, from_number), (to_row, to_number), size in page.messages():
        a, b = page.slices(from_row)[from_number], page.slices(to_row)[to_number]
        got[(a[0], a[1], b[0], b[1], size)] += 1
    checks.equal_counts("message", got, wanted)
    return sum(wanted.values())


def check_path(page):
    """The critical path: where it goes on another rank, that one's end of what is waited for is seen in the slices."""
    path = page.head["path"]
    expect(not path["unknown"] and path["sections"], path["unknown"])
    checks.equal("path: ranks", sorted(name for name, _ in path["ranks"]), sorted(f"rank {p}" for p in range(page.head["trace"]["ranks"])))
    checks.equal("path: tracks", [page.head["tracks"][t]["kind"] for _, t in path["ranks"]], ["thread"] * len(path["ranks"]))
    sections, waits = path["sections"], 0
    for (start, end, rank, waiting, op), after in zip(sections, sections[1:] + [None]):
        checks.equal(f"path at {start}: ahead", start < end, True)
        if not after:
            checks.equal("path: its end", (waiting, op), (-1, -1))
            continue
        checks.equal(f"path at {end}: goes on there", (after[0], after[2]), (end, waiting))
        checks.equal(f"path at {end}: another rank", waiting != rank, True)
        slices = [s for row in page.head["tracks"][path["ranks"][waiting][1]]["rows"] for s in page.slices(row)]
        checks.equal(f"path at {end}: who waits is in that call", any(s[0] < end <= s[1] and s[2] == op for s in slices), True)
        waits += 1
    checks.equal("path: all of it", path["left_out"], 0)
    return waits


def check_digest(page, trace):
    """The digest is that of the summary, though it is made of the findings that the page has."""
    shown = {line.rstrip() for line in must(KYMO, "summary", trace).splitlines()}
    checks.equal("digest", [line for line in page.head["digest"].splitlines() if line.rstrip() not in shown], [])
    found = json.loads(must(KYMO, "diagnose", "-f", "json", trace))["findings"]
    checks.equal("findings", [{k: v for k, v in f.items() if k != "at"} for f in page.head["findings"]], found)


def check_summary(page, trace):
    """Kernels and calls as the summary counts them."""
    tables = {t["name"]: t["rows"] for t in json.loads(must(KYMO, "summary", "-f", "json", trace))["tables"]}
    for kind, table, count in (("kernel", "kernels", "dispatches"),):
        got = {page.head["names"][o["name"]]: o["busy"] for o in page.head["ops"] if o["kind"] == kind}
        checks.equal(f"busy time of {table}", got, {r["op"]: r["time_ns"] for r in tables.get(table, ()) if r["time_ns"]})
    shown = {t["name"]: t for t in page.head["tables"]}
    for name, rows in tables.items():
        names = [c["name"] for c in shown[name]["columns"]]
        checks.equal(f"table {name}", [dict(zip(names, r)) for r in shown[name]["rows"]], rows)


def check_policy(page):
    hashes = [page_file.sha(page.script), page_file.sha(page.style)]
    for h in hashes:
        checks.equal("the policy has the hash of what the page has", f"'{h}'" in page.elements.policy, True)
    checks.equal("nothing else may run", "unsafe" in page.elements.policy or "http" in page.elements.policy, False)
    checks.equal("number of scripts and styles", collections.Counter(t for t, _, _ in page.elements.raw), {"script": 3, "style": 1})
    checks.equal("handlers", [a for _, a in page.elements.attributes if a.startswith("on") or a in ("src", "href", "style")], [])


def check_trace(trace, seed=1):
    page, db = page_of(trace), store_of(trace)
    hosts, devices = list(host_tracks(page, db)), list(device_tracks(page, db))
    host, device = by_owner(db, HOST), by_owner(db, DEVICE)
    check_rows(page)
    check_tracks(page, hosts, host, "thread")
    check_tracks(page, devices, device, "queue")
    check_windows(page, hosts, host, seed)
    check_windows(page, devices, device, seed + 1)
    check_lanes(page, hosts + devices)
    check_levels(page)
    check_search(page)
    check_summary(page, trace)
    check_digest(page, trace)
    check_policy(page)
    return page, db


# ---- parts ---------------------------------------------------------------------------------------------

def spread(ranks, folder, count=3000):
    """A trace of ranks whose calls, kernels and ranges have times of all sizes; kernels of a queue overlap."""
    generator = random.Random(7)
    trace = os.path.join(folder, "spread.kymo")
    for rank in range(ranks):
        lines, now = [], 1000
        for i in range(count):
            now += int(2 ** generator.uniform(0, 14)) if i % 4 else 0  # one begins where the other ends
            length = int(2 ** generator.uniform(0, 16))
            if i % 50 == 0:
                lines.append((now, f"range step~{i % 7} {now} {length * 3} {i + 1}\n" + f"in {i + 1}\n"))
            elif i % 3 == 0:
                lines.append((now, f"kernel k{i % 11} 64 {now} {length * 2} {1 + i % 2}\n"))
            elif i % 31 == 0:
                lines.append((now, f"write {i * 64} {now} {length}\n"))
            else:
                lines.append((now, f"call {i % 4} {now} {length}\n"))
                now += length
        text = "".join(line for _, line in lines) + f"end {now + 10**6}\n"
        must(SYNTH, "timed", trace, rank, input=text)
    return trace


def check_unmatched(folder):
    """Where a rank's files are gone, messages with it are counted."""
    trace = os.path.join(folder, "sent.kymo")
    must(SYNTH, "growth", trace, "mpi", "200")
    os.remove(os.path.join(trace, "raw", sorted(os.listdir(os.path.join(trace, "raw")))[1]))
    page = page_of(trace)
    checks.equal("other ends that are not known", [k for k in page.head["kept"] if "messages" in k],
                 ["not drawn: messages whose other end is not known (100)"])


def part_made(folder):
    page, db = check_trace(spread(2, folder))
    expect(check_links(page, db) > 0, "no link was compared")
    demo = os.path.join(folder, "demo.kymo")
    must(SYNTH, "demo", demo)
    page, db = check_trace(demo)
    check_links(page, db)
    gaps = [page.name(s[2]) for t in page.head["tracks"] if t["kind"] == "group" for r in t["rows"] for s in page.slices(r)]
    checks.equal("losses", sorted(gaps), ["17 records lost", "records lost, whole chunks are missing"])
    checks.equal("memory", [(c["kind"], c["unit"], page.points(c)) for c in page.head["curves"]],
                 [("memory", "B", [(300000, 1048576.0), (1000000, 0.0)])])
    least, most, last = page.curve_level(page.head["curves"][0]["levels"][0])
    bin_ = page.head["curves"][0]["levels"][0]["bin"]
    checks.equal("a curve's bin", (most[300000 // bin_], last[300000 // bin_ + 1], least[300000 // bin_ - 1] == 0.0),
                 (1048576.0, 1048576.0, False))
    part = page_of(demo, "--after", "0.0005s")  # the allocation lies before it: nothing is known to be in use
    checks.equal("no curve of what is never in use", part.head["curves"], [])
    checks.equal("processes of one name: what tells them apart comes first", sorted(t["label"] for t in page.head["tracks"] if t["parent"] < 0),
                 ["(4242) demo", "rank 1 · demo (5151) on node1"])
    check_unmatched(folder)
    # Two devices that idle: each finding leads to its own one.
    idle = os.path.join(folder, "idle.kymo")
    lines = [line for i in range(100) for line in (f"kernel one 64 {i * 20000000} 1000000 1", f"kernel two 64 {i * 20000000 + 9000000} 2000000 2")]
    must(SYNTH, "timed", idle, input="\n".join(lines) + "\nend 2000000000\n")
    part = page_of(idle)
    checks.equal("places of findings", [(f["rule"], [part.head["tracks"][t]["label"] for t in f["at"]["tracks"]]) for f in part.head["findings"]],
                 [("device-idle", ["Test GPU #0"]), ("device-idle", ["Test GPU #1"])])
    # One that works more than its like, at no time in particular: its finding leads to the device, over all of the run.
    uneven = os.path.join(folder, "uneven.kymo")
    lines = [line for i in range(100) for line in (f"kernel one 64 {i * 20000000} 6000000 1", f"kernel two 64 {i * 20000000} 19000000 2")]
    must(SYNTH, "timed", uneven, input="\n".join(lines) + "\nend 2000000000\n")
    part = page_of(uneven)
    checks.equal("of a device, all over the run", [(f["at"]["end"] - f["at"]["start"], [part.head["tracks"][t]["label"] for t in f["at"]["tracks"]])
                                                   for f in part.head["findings"] if f["rule"] == "imbalance-devices"], [(part.head["length"], ["Test GPU #1"])])
    causes, columns = part.head["idle_causes"], {c["name"]: c["title"] for t in part.head["tables"] if t["name"] == "devices" for c in t["columns"]}
    checks.equal("causes of idling: words of people for each column", {k: v for k, v in columns.items() if k in dict(causes)}, {k: f"idle: {v}" for k, v in causes})
    checks.equal("start-up is called so", dict(causes)["idle_startup_ns"], "start-up")
    checks.equal("said of loss", "17" in page.head["loss"]["text"] and page.head["loss"]["records"], 17)


def part_recorded(folder):
    annotated, heat = PROGRAMS[:2]
    for i, program in enumerate((annotated, heat)):
        trace = os.path.join(folder, f"{i}.kymo")
        must(KYMO, "run", "-o", trace, program)
        page, db = check_trace(trace)
        checks.equal("no path of one process", "fewer than two ranks" in page.head["path"]["unknown"], True)
        links = check_links(page, db)
        expect(links > 0 or program != heat, "no link was compared")


def part_messages(folder):
    mpirun, program = PROGRAMS[:2]
    trace = os.path.join(folder, "ranks.kymo")
    must(mpirun, *PROGRAMS[2:], "-n", "2", KYMO, "run", "-o", trace, program, timeout=600)
    page, db = check_trace(trace)
    expect(check_messages(page, db) > 0, "no message was compared")
    expect(check_path(page) > 0, "the critical path stays on one rank")


def part_small(folder):
    """Pages that must be smaller than what is in the trace: they are, they say what is missing, levels still have all."""
    trace = spread(2, folder, 20000)
    whole = page_of(trace)
    known = [whole.level(n) for row in whole.head["rows"] for n in row["levels"]]
    slices = [whole.slices(i) for i in range(len(whole.head["rows"]))]
    said = set()
    blocks = {b[4] for row in whole.head["rows"] for b in row["blocks"]}
    taken = sum(whole.head["sections"][n][1] for n in blocks) * 4 // 3
    for part in (0.9, 0.7, 0.55, 0.45, 0.2):
        size = int(whole.size - taken + taken * part)
        page = page_of(trace, "--size", str(size))
        checks.equal(f"{part} of the page is no more than {size}", page.size <= size, True)
        checks.equal(f"{part}: levels", [page.level(n) for row in page.head["rows"] for n in row["levels"]], known)
        quantum, links, fewer = page.head["quantum"], False, 0
        for i, row in enumerate(page.head["rows"]):
            got = page.slices(i)
            exact = [(s[0] // quantum * quantum, s[1] // quantum * quantum, s[2]) for s in slices[i]]
            if len(got) == len(exact):
                checks.equal(f"{part}: row {i}", [s[:3] for s in got], exact)
            else:
                fewer += len(exact) - len(got)
                missing = collections.Counter(exact) - collections.Counter(s[:3] for s in got)
                longest = max(e - s for s, e, _ in missing)
                shortest = min(e - s for s, e, *_ in got)
                checks.equal(f"{part}: row {i} has the longest", shortest + quantum >= longest * 63 // 64 - quantum, True)
            checks.equal(f"{part}: row {i} counts all", row["records"], len(exact))
            links |= any(s[3] is not None for s in got)
        kept = " ".join(page.head["kept"])
        checks.equal(f"{part}: quantum", f"multiples of {quantum} ns" in kept, quantum > 1)
        checks.equal(f"{part}: links", "left out" in kept, not links)
        checks.equal(f"{part}: shorter ones", f"{fewer:,} shorter" in kept, fewer > 0)
        said |= {quantum > 1 and "quantum", not links and "links", fewer > 0 and "fewer"}
    done = run(KYMO, "report", "-f", "--size", "50000", trace)
    checks.equal("what cannot be so small is told", (done.returncode, "more than" in done.stderr), (0, True))
    checks.equal("all that may be left out was", said - {False}, {"quantum", "links", "fewer"})


def part_ranks(folder):
    """Of 100 ranks of three kinds, and 25 that are like no other, some are drawn: one of each kind, and all of those."""
    trace, odd = os.path.join(folder, "many.kymo"), set(range(3, 100, 4))
    for rank in range(100):
        kind = rank % 10 // 4  # of ten ranks 4, 4, 2
        lines = []
        for i in range(20):
            at = 1000 + i * 100000
            if rank in odd:
                lines.append(f"kernel of{rank} 64 {at} {50000 + 100 * rank} 1\n")
            elif kind == 1:
                lines.append(f"kernel k 64 {at} {70000 + rank} 1\n")
            else:
                lines.append(f"call {kind} {at} {40000 + rank}\n")
        must(SYNTH, "timed", trace, rank, input="".join(lines) + f"end {1000 + 20 * 100000}\n")
    page = page_of(trace)
    table = next(t for t in page.head["tables"] if t["name"] == "clusters")
    columns = [c["name"] for c in table["columns"]]
    rows = [dict(zip(columns, r)) for r in table["rows"]]
    checks.equal("ranks of the table", sorted(r["rank"] for r in rows), list(range(100)))
    drawn = {r["rank"] for r in rows if r["drawn"].startswith("yes")}
    tracks = {int(t["label"].split()[1]) for t in page.head["tracks"] if t["kind"] == "rank"}
    checks.equal("those that are drawn have tracks", tracks, drawn)
    checks.equal("the odd ones are there", drawn >= odd, True)
    kinds = [r % 10 // 4 for r in drawn - odd]
    checks.equal("and one of each kind", sorted(kinds), [0, 1, 2])
    for kind in range(3):
        found = {r["cluster"] for r in rows if r["rank"] % 10 // 4 == kind and r["rank"] not in odd}
        checks.equal(f"clusters of kind {kind}", len(found), 1)
    clusters = len({r["cluster"] for r in rows})
    checks.equal("clusters", (3 < clusters <= 16, {r["cluster"] for r in rows}), (True, set(range(1, clusters + 1))))
    checks.equal("others are unlike theirs", sum("unlike" in r["drawn"] for r in rows), 28 - clusters)
    sizes = collections.Counter(r["cluster"] for r in rows)
    checks.equal("clusters of one", {r["rank"] for r in rows if "like no other" in r["drawn"]}, {r["rank"] for r in rows if sizes[r["cluster"]] == 1})
    like = collections.Counter(r["cluster"] for r in rows if r["drawn"].startswith("no, it is like"))
    stands = {r["rank"]: like[r["cluster"]] for r in rows if "in the middle" in r["drawn"] and r["drawn"].startswith("yes")}
    said = {int(t["label"].split()[1]): re.search(r"\u00b7 \+(\d+) like it \u00b7", t["label"]) for t in page.head["tracks"] if t["kind"] == "rank"}
    checks.equal("labels say for how many a rank stands", {r: int(m[1]) for r, m in said.items() if m}, {r: n for r, n in stands.items() if n})
    checks.equal("all that are not drawn are in these", sum(stands.values()), 72)
    checks.equal("the head says how many are drawn", (page.head["trace"]["drawn"], page.head["trace"]["processes"]), (28, 100))
    used = next(t for t in page.head["tables"] if t["name"] == "processes")
    at = [c["name"] for c in used["columns"]].index("rank")
    checks.equal("processes have their rank", sorted(int(r[at]) for r in used["rows"]), list(range(100)))
    kept = " ".join(page.head["kept"])
    checks.equal("it is said", (f"of 100 processes 28 are drawn: they fall into {clusters} clusters ({sum(n == 1 for n in sizes.values())} of a process alone)" in kept and f"and {28 - clusters} that are unlike theirs" in kept, f"{72 * 20:,} records are of those" in kept), (True, True))
    checks.equal("all are counted", page.head["trace"]["records"] >= 2000, True)
    chosen = page_of(trace, "--rank", "0-9")
    shares = next(t for t in page.head["tables"] if t["name"] == "shares")
    names = [c["name"] for c in shares["columns"]]
    most = [(r[names.index("time_ns")], int(r[names.index("rank")])) for r in shares["rows"]]
    callers = {r: 20 * (40000 + r) for r in range(100) if r % 10 // 4 != 1 and r not in odd}
    checks.equal("runtimes in ranks: the most time first", most, sorted(((n, r) for r, n in callers.items()), reverse=True))
    for table in ("shares", "processes"):
        text = must(KYMO, "summary", "--tables", table, trace)
        checks.equal(f"people see ten rows of {table}", (len(text.splitlines()) < 30, "more" in text), (True, True))
    checks.equal("ten ranks are all drawn", {int(t["label"].split()[1]) for t in chosen.head["tracks"] if t["kind"] == "rank"}, set(range(10)))
    checks.equal("links and rows", all(page.slices(i) for i in range(len(page.head["rows"]))), True)


def part_unlike(folder):
    """Processes of four threads that spend all their time alike, of fifteen kinds, and two that are like none: these are drawn. Their cluster's mean is half of each, so that they are unlike by half of their time, however many threads spend it."""
    trace, kinds = os.path.join(folder, "unlike.json"), 15
    what = {pid: f"of kind {pid % kinds}" for pid in range(75)} | {75: "ponders", 76: "toils"}
    events = [{"ph": "X", "cat": "cpu_op", "name": name, "pid": 100 + pid, "tid": 1000 + 10 * pid + thread, "ts": 1000 + 100 * i, "dur": 100}
              for pid, name in what.items() for thread in range(4) for i in range(10)]
    # Near to its kind: a fiftieth of what it does is another kind's is no difference, a tenth is.
    for pid, part in ((3, 2), (4, 10)):
        mine = [e for e in events if e["pid"] == 100 + pid]
        for e in mine:
            e["dur"] = 100 - part
            events.append(dict(e, name="of kind 9", ts=e["ts"] + 100 - part, dur=part))
    with open(trace, "w", encoding="utf-8") as f:
        json.dump({"traceEvents": events}, f)
    page = page_of(trace)
    table = next(t for t in page.head["tables"] if t["name"] == "clusters")
    rows = {r["process"] - 100: r for r in (dict(zip([c["name"] for c in table["columns"]], r)) for r in table["rows"])}
    checks.equal("of all", sorted(rows), sorted(what))
    checks.equal("0 to 100 %", [n for n, r in rows.items() if not 0 <= r["distance_percent"] <= 100 + 1e-9], [])
    for pid in (75, 76):
        checks.equal(f"{what[pid]}: drawn, unlike by half of its time: {rows[pid]}", (rows[pid]["drawn"][:3], round(rows[pid]["distance_percent"], 6)), ("yes", 50))
    checks.equal("one stands for the cluster, the other is unlike it", sorted(rows[p]["drawn"] for p in (75, 76)), ["yes, in the middle of its cluster", "yes, it is unlike its cluster"])
    checks.equal(f"a tenth: {rows[4]}", (rows[4]["drawn"], 7 < rows[4]["distance_percent"] < 10.01), ("yes, it is unlike its cluster", True))
    checks.equal(f"a fiftieth: {rows[3]}", (rows[3]["drawn"].startswith("no, it is like"), 1 < rows[3]["distance_percent"] < 2), (True, True))
    for kind in range(kinds):
        checks.equal(f"kind {kind} is a cluster", len({rows[p]["cluster"] for p in range(kind, 75, kinds)}), 1)
        checks.equal(f"one of kind {kind} stands for it", sum("in the middle of its" in rows[p]["drawn"] for p in range(kind, 75, kinds)), 1)


HOSTILE = ("</script><img src=x onerror=alert(1)>", "<!--", "<script>", "</noscript><svg onload=alert(1)>", "</style>", "]]>",
           "\u2028\u2029", "a\u202eb", "\"'&amp;", "\\u003c/script>", "x" * 8000)


def part_hostile(folder):
    for i in range(0, len(HOSTILE), 2):
        names = (HOSTILE[i], HOSTILE[(i + 1) % len(HOSTILE)])
        trace = os.path.join(folder, f"n{i}.kymo")
        must(SYNTH, "names", trace, *names)
        page = page_of(trace)
        check_policy(page)
        known = {"html", "head", "meta", "title", "style", "body", "div", "noscript", "script", "p", "pre", "h2", "ol", "li",
                 "table", "thead", "tbody", "tr", "th", "td"}
        checks.equal(f"tags with {names[0][:30]}", set(page.elements.tags) - known, set())
        found = [n for n in names if any(n[:4000] in have for have in page.head["names"] + [t["label"] for t in page.head["tracks"]])]
        checks.equal(f"names {names[0][:30]}", found, list(names))
        checks.equal("ends", page.html.lower().count("</script"), 3)
        checks.equal("comments", page.html.count("<!--"), 0)


def part_places(folder):
    trace = os.path.join(folder, "demo.kymo")
    must(SYNTH, "demo", trace)
    out = os.path.join(folder, "demo.html")
    must(KYMO, "report", trace)
    expect(os.path.exists(out), "no page beside the trace")
    with open(out, "rb") as f:
        before = f.read()
    done = run(KYMO, "report", trace)
    checks.equal("one that is there", (done.returncode, "-f" in done.stderr), (3, True))
    broken = os.path.join(folder, "none.kymo")
    done = run(KYMO, "report", "-o", out, broken)
    checks.equal("where it cannot be is told before the trace is read", (done.returncode, broken in done.stderr, out in done.stderr), (3, False, True))
    done = run(KYMO, "report", "-o", os.path.join(folder, "no", "x.html"), trace)
    checks.equal("a folder that is not there", (done.returncode, "No such file" in done.stderr, "TMPDIR" in done.stderr), (3, True, False))
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))
    done = run(KYMO, "report", "-f", trace, preexec_fn=limit)
    checks.equal("no room", (done.returncode, done.stderr != "", os.listdir(folder).count("demo.html")), (3, True, 1))
    with open(out, "rb") as f:
        checks.equal("what was there stays", f.read() == before, True)
    checks.equal("nothing half is left", sorted(os.listdir(folder)), ["demo.html", "demo.kymo"])
    checks.equal("standard output", must(KYMO, "report", "-o", "-", trace).encode() == before, True)
    elsewhere = {k: v for k, v in os.environ.items() if k != "TMPDIR"}
    done = run(KYMO, "report", "-o", "-", trace, cwd="/proc", env=elsewhere)
    checks.equal("standard output, where no file can be made", (done.returncode, done.stderr), (0, ""))
    with open("/dev/full", "w", encoding="ascii") as device:
        full = subprocess.run([KYMO, "report", "-o", "-", trace], stdout=device, stderr=subprocess.PIPE, text=True, check=False)
    checks.equal("a full one", (full.returncode, "No space" in full.stderr), (3, True))
    checks.equal("two traces, one name", run(KYMO, "report", "-o", out, trace, trace + "2").returncode, 2)
    checks.equal("no trace", run(KYMO, "report").returncode, 2)
    checks.equal("none there", run(KYMO, "report", os.path.join(folder, "none.kymo")).returncode, 3)
    # Of a part.
    must(KYMO, "report", "-f", "-o", out, "-i", "test:launch", trace)
    page = page_file.Page(out)
    checks.equal("a selection", {page.name(i) for i, o in enumerate(page.head["ops"]) if o["kind"] == "call"}, {"launch"})
    # An empty one, and a damaged one.
    empty = os.path.join(folder, "empty.kymo")
    must(SYNTH, "timed", empty, input="end 1000\n")
    page = page_of(empty)
    checks.equal("nothing", (page.head["rows"], "Nothing" in page.head["digest"] or page.head["digest"] != ""), ([], True))
    raw = os.path.join(trace, "raw", sorted(os.listdir(os.path.join(trace, "raw")))[0])
    with open(raw, "r+b") as f:
        f.truncate(os.path.getsize(raw) // 2)
    done = run(KYMO, "report", "-f", "-o", out, trace)
    page = page_file.Page(out)
    checks.equal("damage is told", "missing" in page.head["loss"]["text"] or "damaged" in page.head["loss"]["text"], True)
    done = run(KYMO, "report", "-f", "-v", "-o", out, trace)
    chrome = os.path.join(folder, "other.json")
    must(SYNTH, "demo", trace + "2.kymo")
    must(KYMO, "export", "--to", "chrome", "-o", chrome, trace + "2.kymo")
    page = page_of(chrome)
    checks.equal("another tool's file", ("another tool" in page.head["loss"]["text"], page.head["clock"]["error_ns"],
                                         page.head["trace"]["imported"], len(page.head["rows"]) > 3), (True, None, "chrome", True))
    checks.equal("bytes by part", "bytes: bundle" in done.stderr and "levels" in done.stderr, True)


def part_plain(folder):
    """Where no script runs: findings of several lines have lines, in the page and in that of kymo diagnose."""
    source, trace = os.path.join(folder, "gaps.json"), os.path.join(folder, "gaps.kymo")
    events = []
    for i in range(40):
        for name, kind, start, length, where in (("cudaLaunchKernel", "cuda_runtime", 0, 10, {}), ("k", "kernel", 12, 100, {"device": 0, "stream": 7}),
                                                 ("cudaStreamSynchronize", "cuda_runtime", 11, 700, {})):
            events.append({"name": name, "cat": kind, "ph": "X", "pid": 1, "tid": 1, "ts": 1000 * i + start, "dur": length,
                           "args": {"correlation": 2 * i + (2 if "Sync" in name else 1), **where}})
    with open(source, "w", encoding="ascii") as f:
        json.dump({"traceEvents": events}, f)
    must(KYMO, "import", "-o", trace, source)
    findings = json.loads(must(KYMO, "diagnose", "-f", "json", trace))["findings"]
    evidence = [line for f in findings for line in f["evidence"]]
    expect(len(evidence) > len(findings) > 0, "a finding of several lines", findings)
    page = page_of(trace)
    plain = page.html[page.html.index("<noscript>"):page.html.index("</noscript>")]
    for what, text in (("the page", plain), ("kymo diagnose", must(KYMO, "diagnose", "-f", "html", trace))):
        lines = [html.unescape(re.sub("<[^>]*>", "", line)).strip() for part in re.split("</(?:pre|td|p)>", text) for line in part.splitlines()]
        checks.equal(f"{what}: each on its line", [line for line in evidence if line not in lines], [])
        checks.equal(f"{what}: no line break in letters", "\\n" in text, False)
    checks.equal("the style is for it", ('<div class="plain">' in plain, ".plain td" in page.html), (True, True))


def main():
    with kymotest.Folder() as folder:
        globals()[f"part_{PART}"](folder)
    return checks.status(5 if PART == "plain" else 10)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (kymotest.Failure, subprocess.SubprocessError) as e:
        print(e)
        sys.exit(1)
