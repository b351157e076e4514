#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of `kymo view` in a real browser: test_view.py KYMO SYNTH EVERY_KIND. The panel tells all fields of the selected slice, as `kymo show` prints
them; a page of `kymo report` says where they are; names that are code run nothing."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
for part in (os.path.join(HERE, "..", "base"), os.path.join(HERE, "..", "cli"), HERE):
    sys.path.insert(0, part)
import browser  # noqa: E402
from kymotest import Checks, Folder, must, skip  # noqa: E402
from test_report import written  # noqa: E402
from view import KYMO, View  # noqa: E402

EVERY = os.path.abspath(sys.argv[3])
checks = Checks()
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
        b.until("window.kymo?.model")
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
        b.until("window.kymo?.model")
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


def main():
    if not browser.find():
        skip("no Chromium")
    with Folder() as folder, browser.Browser() as b:
        every(b, folder)
        hostile(b, folder)
    sys.exit(checks.status(30))


if __name__ == "__main__":
    main()
