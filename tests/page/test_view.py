#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of `kymo view` in a real browser: test_view.py KYMO SYNTH EVERY_KIND HOLD_OPEN. The panel tells all fields of the selected slice, as `kymo show` prints
them; a page of `kymo report` says where they are; names that are code run nothing."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
for part in (os.path.join(HERE, "..", "base"), os.path.join(HERE, "..", "cli"), HERE):
    sys.path.insert(0, part)
import browser  # noqa: E402
from kymotest import Checks, Folder, must, skip  # noqa: E402
from test_report import written  # noqa: E402
from view import KYMO, SYNTH, View  # noqa: E402
from view_glance import Held, windows  # noqa: E402

EVERY = os.path.abspath(sys.argv[3])
checks = Checks()
WHOLE = "window.kymo?.model && !kymo.model.glance"
TOLD = "document.querySelector('.slice .record')"


def address(view):
    return view.url.geturl()


def leave(b):
    """Before the server ends: pages ask it for more while they have nothing else to do."""
    b.events.clear()
    b.call("Page.navigate", url="about:blank")
    b.event("Page.loadEventFired")


def selected(b, row, index):
    """The panel's text for a slice."""
    b.run(f"kymo.model.slice({row}, {index}).then(s => kymo.page.timeline.select(s))")
    b.until(f"(s => s && s.row === {row} && s.index === {index})(kymo.page.timeline.selected) && {TOLD} && !{TOLD}.textContent.startsWith('Reading')")
    return b.run(f"{TOLD}.textContent")


def every(b, folder):
    trace = os.path.join(folder, "every.kymo")
    must(EVERY, trace)
    shown = [line.strip() for line in must(KYMO, "show", trace).splitlines()]
    with View(trace) as view:
        b.open(address(view))
        b.until(WHOLE)
        b.key("2")
        told = 0
        for row, count in enumerate(b.run("kymo.model.rows.map(r => r.records)")):
            for index in range(count):
                text = selected(b, row, index)
                checks.equal(f"slice {row}, {index}: as shown", any(line in text for line in shown), True)
                told += 1
        checks.equal("slices", told > 20, True)
        row = b.run("kymo.model.rows.findIndex(r => kymo.model.path(r.track).includes('main thread'))")
        text = selected(b, row, 0)
        for part in ("size700003", "name\"every-argument\"", "char *", "call sitework  (work.c:7)", "status0"):
            checks.equal(f"a call: {part}", part in text, True)
        checks.equal("what belongs to a call", b.run(f"{TOLD}.querySelectorAll('details').length > 20"), True)
        checks.equal("a message's communicator", b.run(f"[...{TOLD}.querySelectorAll('details')].some(d => d.textContent.includes('communicator'))"), True)
        row = b.run("kymo.model.rows.findIndex(r => r.device && r.records)")
        text = selected(b, row, 0)
        for part in ("global700009 × 700018 × 700027", "kernelevery-text", "in the queue0 ns", "agentAccelerator #0"):
            checks.equal(f"a kernel: {part}", part in text, True)
        checks.equal("problems", b.problems, [])
        leave(b)


def hostile(b, folder):
    trace, page = os.path.join(folder, "hostile.json"), os.path.join(folder, "page.html")
    written(trace, 200)
    find = ("(async () => { for (const r of kymo.model.rows) for (let i = 0; i < r.records; i++) if (kymo.model.name((await kymo.model.slice(r.number, i)).op)"
            ".includes('onerror')) return [r.number, i]; })()")
    imported = os.path.join(folder, "hostile.kymo")
    must(KYMO, "import", trace, "-o", imported)
    with View(imported) as view:
        b.open(address(view))
        b.until(WHOLE)
        b.key("2")
        text = selected(b, *b.run(find))
        checks.equal("the name is text", "</script><img src=x onerror=window.broken=1>" in text, True)
        checks.equal("nothing ran", b.run("window.broken === undefined && !document.querySelector('img')"), True)
        leave(b)
    must(KYMO, "report", imported, "-o", page)
    b.open(page)
    b.until("window.kymo?.model")
    b.key("2")
    checks.equal("a report says who has more", "kymo view" in selected(b, *b.run(find)), True)
    checks.equal("problems", b.problems, [])


NOTICE = "document.querySelector('.notice')"
COUNTS = "document.querySelector('.counts')"


def shown(b, start, end):
    """Zooms there; slices that start in it and their busy ns, once the page says that it has all of it."""
    b.run(f"kymo.page.timeline.show({start}, {end})")
    b.until("(t => t.model.knows(Math.max(0, t.view.start), Math.min(t.model.length, t.view.end)) && t.read)(kymo.page.timeline)")
    return b.run(f"Promise.all(kymo.model.rows.map(r => kymo.count(r.number, {start}, {end}))).then(all => [all.reduce((s, c) => s + c.count, 0), all.reduce((s, c) => s + c.busy, 0)])")


def stored(trace, start, end):
    """The same by SQL."""
    line = must(KYMO, "query", "-f", "csv", trace, f"SELECT count(CASE WHEN start >= {start} THEN 1 END), sum(min(start + duration, {end}) - max(start, {start})) "
                f"FROM call WHERE start < {end} AND start + duration >= {start}").splitlines()[1]
    return [int(v) for v in line.split(",")]


def preparing(b, folder):
    """What is read so far is shown, and what is not is told; two browsers see what each asks for; then all of it is there."""
    trace = os.path.join(folder, "long.kymo")
    must(SYNTH, "bulk", trace, "8", "250000", "z")
    must(KYMO, "query", trace, "SELECT 1")
    with Held(trace, folder) as view, browser.Browser() as other:
        for each in (b, other):
            each.open(address(view))
            each.until("performance.getEntriesByName('kymo-first').length")
            checks.equal("it says that it is not ready", each.run(f"{NOTICE}.hidden ? '' : {NOTICE}.textContent").startswith("Being prepared."), True)
            checks.equal("and that not all is read", "What is hatched is not" in each.run(f"{NOTICE}.textContent"), True)
            each.until(f"{COUNTS}.textContent.includes('Not all of this is read yet')")
            checks.equal("no counts", each.run(f"{COUNTS}.querySelector('table') === null"), True)
        b.key("1")
        checks.equal("other parts follow", "once all of the trace is read" in b.run("document.querySelector('.pane-overview').textContent"), True)
        b.key("2")
        length = b.run("kymo.model.length")
        for n, (start, end) in enumerate((a, a + w % 100000 + 1) for a, w in windows(length, 8, 11)):
            checks.equal(f"[{start}, {end})", shown((b, other)[n % 2], start, end), stored(trace, start, end))
        start, end = length // 3, length // 3 + 5000
        wanted = stored(trace, start, end)
        checks.equal("before", shown(b, start, end), wanted)
        b.until(f"{COUNTS}.querySelector('table')")
        checks.equal("exact, it says", "All that is in this window is drawn and exact" in b.run(f"{NOTICE}.textContent"), True)
        b.run("(async () => { const m = kymo.model, r = m.rows.find(r => m.tracks[r.track].label === 'worker 5'); kymo.page.timeline.select(await m.slice(r.number, 2)); })()")
        b.until("kymo.page.timeline.selected")
        chosen = b.run("(s => [s.start, s.end])(kymo.page.timeline.selected)")
        b.run("kymo.page.timeline.fold(kymo.model.roots[0], true)")
        view.go()
        for each in (b, other):
            each.until(WHOLE)
        checks.equal("the window stays", b.run("[Math.round(kymo.page.timeline.view.start), Math.round(kymo.page.timeline.view.end)]"), [start, end])
        b.until("kymo.page.timeline.selected")
        checks.equal("the slice stays", b.run("(s => [s.start, s.end, kymo.model.tracks[kymo.model.rows[s.row].track].label])(kymo.page.timeline.selected)"), [*chosen, "worker 5"])
        checks.equal("the fold stays", b.run("kymo.page.timeline.lines.folded.has(kymo.model.roots[0].id)"), True)
        checks.equal("nothing is told any more", b.run(f"{NOTICE}.hidden"), True)
        checks.equal("after", shown(b, start, end), wanted)
        b.key("1")
        checks.equal("the other parts are there", b.run("document.querySelector('.pane-overview').textContent.length") > 200, True)
        for each in (b, other):
            checks.equal("problems", each.problems, [])
            leave(each)
    with Held(trace, folder, "--rebuild") as view:
        b.open(address(view))
        b.until("performance.getEntriesByName('kymo-first').length")
        view.end()
        b.until(f"{NOTICE}.textContent.includes('kymo view has ended')")
        leave(b)
    b.problems.clear()


def main():
    if not browser.find():
        skip("no Chromium")
    with Folder() as folder, browser.Browser() as b:
        every(b, folder)
        hostile(b, folder)
        preparing(b, folder)
    sys.exit(checks.status(30))


if __name__ == "__main__":
    main()
