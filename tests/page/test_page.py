#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page in a real browser, on made-up records whose truth is known by brute force: test_page.py [--slices N] [--keep FOLDER] [PART...]

Without a browser, or without Node.js, which makes the records, it is skipped.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "base"))
sys.path.insert(0, HERE)
import browser  # noqa: E402
from kymotest import Checks, Folder, must, skip  # noqa: E402

SHIFT = 8
checks = Checks()


def made(folder, name, *options):
    path = os.path.join(folder, name)
    must("node", "--max-old-space-size=8000", os.path.join(HERE, "made.mjs"), path, *options, timeout=900)
    with open(path + ".expected.json", encoding="utf-8") as f:
        return path, json.load(f)


def opened(b, path, query=""):
    b.open(path, query)
    b.until("window.kymo && !document.querySelector('.error:not([hidden])')")


def settled(b):
    """Nothing is on its way any more, and a frame has been drawn since."""
    b.until("!kymo.page.timeline.waiting && !kymo.model.asked.size && !kymo.model.source.tasks.open.size && !kymo.model.source.tasks.waiting.length")
    b.run("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")


def place(b, row, time):
    """Where in the window a row has a time."""
    return b.run(f"(() => {{ const r = kymo.page.timeline.canvas.getBoundingClientRect(), a = kymo.page.overlay.at({row}, {time}); return [r.x + a.x, r.y + a.y]; }})()")


def selected(b):
    return b.run("(s => s && {row: s.row, index: s.index, start: s.start, end: s.end})(kymo.page.timeline.selected)")


def view(b):
    return b.run("kymo.page.timeline.view")


def choose(b, row, index):
    b.run(f"kymo.model.slice({row}, {index}).then(s => kymo.page.timeline.select(s, {{near: true, close: true}}))")
    b.until("kymo.page.timeline.found_links")


# ---- parts ---------------------------------------------------------------------------------------

def counts(b, wanted):
    """Of random windows the page says what brute force says, by row and by op."""
    for n, w in enumerate(wanted["windows"]):
        rows = b.run(f"(async () => {{ const l = []; for (let r = 0; r < {len(w['rows'])}; r++) {{ const c = await kymo.count(r, {w['start']}, {w['end']}); l.push([c.count, c.busy]); }} return l; }})()")
        checks.equal(f"window {n}, by row", rows, w["rows"])
        ops = b.run(f"kymo.countOps({w['start']}, {w['end']})")
        checks.equal(f"window {n}, by op", sorted([o, *v] for o, v in ops if any(v)), sorted([int(o), *v] for o, v in w["ops"].items()))


def drawn(b, wanted):
    """No pixel of a row is empty where it has a slice, nor filled where it has none."""
    b.key("2")
    b.until("kymo.page.timeline.one")
    got = b.run("""(async () => {
      const t = kymo.page.timeline, m = kymo.model, wrong = [];
      let looked = 0;
      for (const [a, b] of WINDOWS) {
        t.show(a, b);
        for (const row of m.rows.slice(0, 15)) {
          if (!t.lines.ofRow.get(row.number)) continue;
          const v = { ...t.view }, per = (v.end - v.start) / t.columns;
          for (const l of row.levels) await (m.level(l), l.asked);
          for (const k of row.blocks) await m.block(k);
          t.one.clear();
          paint(m, t.one, row, v);
          const filled = new Uint8Array(t.columns);
          for (const k of row.blocks) {
            const s = await m.block(k);
            for (let i = 0; i < s.count; i++) {
              if (s.end[i] < v.start || s.start[i] > v.end) continue;
              const x0 = Math.max(0, Math.floor((s.start[i] - v.start) / per)), x1 = Math.min(t.columns - 1, Math.floor((s.end[i] - v.start) / per));
              filled.fill(1, x0, x1 + 1);
            }
          }
          for (let x = 1; x < t.columns - 1; x++) {
            looked++;
            if (filled[x] && !(t.one.share[x] > 0) && !(t.one.share[x - 1] > 0) && !(t.one.share[x + 1] > 0)) wrong.push([row.number, x, 'empty']);
            if (!filled[x] && !filled[x - 1] && !filled[x + 1] && t.one.share[x] > 0) wrong.push([row.number, x, 'filled']);
          }
        }
      }
      t.whole();
      return { looked, wrong: wrong.slice(0, 5) };
    })()""".replace("WINDOWS", json.dumps([[w["start"], w["end"]] for w in wanted["windows"][:12]])).replace("paint(m", "kymo.paintRow(m"))
    checks.equal("pixels that are wrong", got["wrong"], [])
    checks.equal("pixels were looked at", got["looked"] > 10000, True)


def needle(b, wanted):
    """One slice of a microsecond is found by its name, seen, and can be clicked."""
    n = wanted["needle"]
    b.key("2")
    b.key("/")
    b.type("needle_in")
    b.key("Enter")
    b.until("kymo.page.timeline.selected")
    settled(b)
    checks.equal("found", selected(b), {"row": n["row"], "index": n["index"], "start": n["start"], "end": n["start"] + n["length"]})
    b.key("Escape")
    b.key("Escape")
    b.key("Escape")
    checks.equal("nothing is selected", selected(b), None)
    settled(b)
    x, y = place(b, n["row"], n["start"] + n["length"] / 2)
    pixel = b.run(f"""(() => {{ const t = kymo.page.timeline, r = t.canvas.getBoundingClientRect(), g = t.canvas.getContext('2d'), k = t.ratio;
        return [...g.getImageData(({x} - r.x) * k + 3, ({y} - r.y) * k + 5, 1, 1).data]; }})()""")
    ground = b.run("kymo.page.timeline.palette.background")
    checks.equal("it is drawn", pixel[:3] != ground, True)
    b.click(x, y)
    b.until("kymo.page.timeline.selected")
    checks.equal("clicked", selected(b)["index"], n["index"])
    checks.equal("told", b.run("document.querySelector('#live').textContent.startsWith('needle_in_the_haystack, kernel, 1.000 us')"), True)
    # Seen in the whole run as well: the pixel of its time is not empty, and a click on it gives something there.
    b.key("0")
    settled(b)
    share = b.run(f"(() => {{ const t = kymo.page.timeline; t.one.clear(); kymo.paintRow(kymo.model, t.one, kymo.model.rows[{n['row']}], t.view); return t.one.share[Math.floor(t.x({n['start']}) * t.ratio)]; }})()")
    checks.equal("its pixel in the whole run is not empty", share > 0, True)
    b.key("Escape")


def zooming(b, wanted):
    """By wheel down to nanoseconds about the pointer, by keys, by dragging; panning; the map."""
    b.key("2")
    b.key("0")
    r = b.run("(r => [r.x, r.y, r.width, r.height])(kymo.page.timeline.canvas.getBoundingClientRect())")
    x, y = int(r[0] + r[2] * 0.25), r[1] + 60
    at = b.run(f"kymo.page.timeline.time({x - r[0]})")
    for _ in range(60):
        b.wheel(x, y, -400)
        v = view(b)
        if v["end"] - v["start"] <= 20.001:
            break
    settled(b)
    v = view(b)
    checks.equal("20 ns wide", round(v["end"] - v["start"], 3), 20)
    checks.equal("about the pointer", abs(v["start"] + (v["end"] - v["start"]) * (x - r[0]) / r[2] - at) < 10, True)
    b.wheel(x, y, 400)
    checks.equal("out again", view(b)["end"] - view(b)["start"] > 40, True)
    b.key("0")
    b.run("document.querySelector('#rows').focus()")
    for k, test in (("w", lambda a, c: c["end"] - c["start"] < a["end"] - a["start"]), ("w", lambda a, c: c["end"] - c["start"] < a["end"] - a["start"]), ("d", lambda a, c: c["start"] > a["start"]),
                    ("a", lambda a, c: c["start"] < a["start"]), ("s", lambda a, c: c["end"] - c["start"] > a["end"] - a["start"]), ("ArrowRight", lambda a, c: c["start"] > a["start"])):
        before = view(b)
        b.key(k)
        checks.equal(f"key {k}", test(before, view(b)), True)
    for _ in range(6):
        b.key("w")
    before = view(b)
    b.drag(x + 200, y, x, y)
    after = view(b)
    per = (before["end"] - before["start"]) / r[2]
    checks.equal("dragged by 200 pixels", round((after["start"] - before["start"]) / per), 200)
    b.drag(x, y, x + 100, y, modifiers=2)
    checks.equal("zoomed to what was dragged over", round((view(b)["end"] - view(b)["start"]) / per), 100)
    b.key("0")
    m = b.run("(r => [r.x, r.y, r.width, r.height])(kymo.page.timeline.axis.getBoundingClientRect())")
    b.drag(m[0] + 100, m[1] + 8, m[0] + 200, m[1] + 8)
    checks.equal("zoomed by the axis", round((view(b)["end"] - view(b)["start"]) / (wanted["length"] / m[2]), -1), 100)
    m = b.run("(r => [r.x, r.y, r.width, r.height])(kymo.page.timeline.map.getBoundingClientRect())")
    b.click(m[0] + m[2] / 2, m[1] + 8)
    v = view(b)
    checks.equal("the map moves the window", abs((v["start"] + v["end"]) / 2 / wanted["length"] - 0.5) < 0.01, True)
    b.key("0")


def folding(b, _wanted):
    b.key("2")
    lines = "kymo.page.timeline.lines.list.length"
    b.run("[...document.querySelectorAll('.toolbar button')].find(e => e.textContent === 'Unfold all').click()")
    settled(b)
    many = b.run(lines)
    b.press('.gutter .label[aria-expanded="true"]')
    settled(b)
    checks.equal("a click folds", b.run(lines) < many, True)
    checks.equal("told", b.run("document.querySelector('.gutter .label').getAttribute('aria-expanded')"), "false")
    first = b.run("(async () => { const t = kymo.page.timeline, l = t.lines.list[0]; t.sum.paint(kymo.model, l.rows, t.view); return [l.rows.length, t.sum.all.share.some(v => v > 0)]; })()")
    checks.equal("a folded track shows its rows", (first[0] > 5, first[1]), (True, True))
    b.key("ArrowRight")
    settled(b)
    checks.equal("a key unfolds", b.run(lines), many)
    b.key("ArrowDown")
    settled(b)
    checks.equal("a key moves on", b.run("document.activeElement.getAttribute('role')"), "treeitem")
    b.key("ArrowLeft")
    settled(b)
    b.key("ArrowRight")
    settled(b)
    checks.equal("and back", b.run(lines), many)


def arrows(b, wanted):
    """From device work to its call and back, from a message's end to the other."""
    c = wanted["cause"]
    b.key("2")
    choose(b, c["row"], c["index"])
    b.run("document.querySelector('#rows').focus()")
    b.key("c")
    b.until(f"kymo.page.timeline.selected.row === {c['byRow']} && kymo.page.timeline.found_links")
    checks.equal("the call", selected(b)["index"], c["byIndex"])
    checks.equal("an arrow is drawn", b.run("kymo.page.timeline.links.length"), 1)
    b.key("e")
    b.until(f"kymo.page.timeline.selected.row === {c['row']}")
    checks.equal("its work", selected(b)["index"], c["index"])
    b.key("b")
    b.until(f"kymo.page.timeline.selected.row === {c['byRow']}")
    for m in wanted["messages"]:
        choose(b, m["from"], m["i"])
        b.key("m")
        b.until(f"kymo.page.timeline.selected.row === {m['to']}")
        checks.equal("the receive", selected(b)["index"], m["j"])
        b.until("kymo.page.timeline.found_links")
        b.key("m")
        b.until(f"kymo.page.timeline.selected.row === {m['from']}")
    before = selected(b)
    b.key("n")
    b.until(f"kymo.page.timeline.selected.index === {before['index'] + 1}")
    b.key("p")
    b.until(f"kymo.page.timeline.selected.index === {before['index']}")
    checks.equal("next and previous", selected(b)["row"], before["row"])
    b.key("Escape")


def measuring(b, _wanted):
    """Shift and drag: the panel's counts are those of the span."""
    b.key("2")
    b.key("0")
    for _ in range(3):
        b.key("w")
    settled(b)
    r = b.run("(r => [r.x, r.y])(kymo.page.timeline.canvas.getBoundingClientRect())")
    b.drag(r[0] + 300, r[1] + 80, r[0] + 340, r[1] + 80, modifiers=SHIFT)
    span = b.run("kymo.page.overlay.span")
    checks.equal("a span", span is not None and span["end"] > span["start"], True)
    b.until("document.querySelector('.counts h2').textContent.startsWith('Measured') && document.querySelector('.counts .switch')")
    rows = b.run(f"(async () => {{ let n = 0; for (const r of kymo.model.rows) n += (await kymo.count(r.number, {span['start']}, {span['end']})).count; return n; }})()")
    told = b.run("[...kymo.page.panel.last.ops.values()].reduce((n, v) => n + v[0], 0)")
    checks.equal("counts of the span", told, rows)
    shown = b.run("document.querySelector('.counts tbody tr td.n').textContent.replaceAll(',', '')")
    checks.equal("the first line's count", int(shown), b.run("[...kymo.page.panel.last.ops].sort((a, b) => b[1][1] - a[1][1])[0][1][0]"))
    longest = b.run("kymo.page.panel.last.longest.map(s => s.end - s.start)")
    checks.equal("longest first", longest, sorted(longest, reverse=True))
    checks.equal("a table of them", b.run("document.querySelectorAll('.longest tbody tr').length"), len(longest))
    checks.equal("each says of which rank it is", b.run("[...document.querySelectorAll('.longest tbody td:last-child')].map(d => d.textContent)"),
                 b.run("kymo.page.panel.last.longest.map(s => kymo.model.rows[s.row].track).map(t => `${kymo.model.path(t).match(/^rank \\d+/)[0]} › ${kymo.model.tracks[t].label}`)"))
    b.key("Escape")
    b.key("0")


def overview(b, wanted):
    """The finding's link goes to its place."""
    b.key("1")
    checks.equal("records", b.run("[...document.querySelectorAll('.fact')].some(f => f.textContent.replaceAll(',', '').includes(%s))" % json.dumps(str(wanted["slices"]))), True)
    b.until("location.hash.includes('tab=overview')")
    b.press(".finding .jump")
    v, n = view(b), wanted["needle"]
    checks.equal("the tab", b.run("kymo.page.tab"), "timeline")
    checks.equal("the place", (v["start"] <= n["start"], v["end"] >= n["start"] + 1000, v["end"] - v["start"] < 200000), (True, True, True))
    b.until("location.hash.includes('tab=timeline')")
    b.run("history.back()")
    b.until("kymo.page.tab === 'overview'")
    b.run("history.forward()")
    b.until("kymo.page.tab === 'timeline'")
    checks.equal("forward to the place", round(view(b)["start"]), round(v["start"]))
    b.key("Escape")


def tables(b, _wanted):
    b.key("3")
    b.run("document.querySelector('[data-name=many]').click()")
    cell = "document.querySelector('#table-many tbody[aria-hidden] + tbody td, #table-many table > tbody:nth-of-type(2) td').textContent"
    checks.equal("few rows are elements", b.run("document.querySelectorAll('#table-many tr').length < 120"), True)
    b.press("#table-many th:first-child button")
    checks.equal("descending", b.run(cell), "9,999")
    checks.equal("told", b.run("document.querySelector('#table-many th').getAttribute('aria-sort')"), "descending")
    b.press("#table-many th:first-child button")
    checks.equal("ascending", b.run(cell), "0")
    b.press("#table-many input")
    b.type("/seventh/")
    checks.equal("filtered", b.run("document.querySelector('#table-many [role=status]').textContent"), "1,429 of 10,000 rows")
    text = b.run("kymo.page.tables.made.get(kymo.model.head.tables.find(t => t.name === 'many')).text()")
    checks.equal("CSV", text.split("\r\n")[:2], ["n,text,bytes", '0,"every seventh, =1+1",0'])
    b.run("document.querySelector('#table-many .scroll').scrollTop = 1e6")
    b.until("document.querySelector('#table-many').textContent.includes('9,996')")
    b.key("Escape")
    checks.equal("right alignment", b.run("getComputedStyle(document.querySelector('#table-many td.n')).textAlign"), "right")


SENSOR = """(async () => {
  const p = kymo.page.plots.all.find(p => p.name === 'telemetry-0'), m = kymo.model, c = m.curves.filter(c => c.counter === 'power'), told = p.legendBox.textContent;
  let gap = -1;
  for (const b of c[0].blocks) {
    b.points = true;
    const got = await m.block(b), i = got.value.findIndex(v => Number.isNaN(v));
    if (i > 0 && i + 1 < got.time.length) gap = (got.time[i] + got.time[i + 1]) / 2 / m.length;
  }
  const at = share => p.tell(p.box.left + share * (p.box.right - p.box.left)), lines = [...p.legendBox.querySelectorAll('canvas')].map(s => [...s.getContext('2d').getImageData(0, s.height / 2, s.width, 1).data].filter((v, i) => i % 4 === 3 && v > 100).length);
  return { title: p.title, unit: p.element.querySelector('.about').textContent, told, rows: p.tabled.rows(), truth: c.map(c => [c.readings, c.min, c.sum / c.readings, c.max]), gap: at(gap), before: at(gap / 2), share: gap, lines };
})()"""


def sensors(b):
    """Each sensor with its unit, its devices told apart by name and dashes, least, mean and greatest; where nothing was measured there is no line, and that is said."""
    got = b.run(SENSOR)
    checks.equal("power", (got["title"], got["unit"]), ("power", "W"))
    checks.equal("its devices", [r[0] for r in got["rows"]], [f"rank {n}  ·  train.py ({4000 + n}) › NVIDIA H200 ({n})" for n in range(len(got["rows"]))])
    checks.equal("their numbers", [r[1:5] for r in got["rows"]], got["truth"])
    checks.equal("lines differ", len(set(got["lines"])) == len(got["lines"]) > 1, True)
    checks.equal(f"a gap: {got['gap']}", got["gap"].count("not measured"), 1)
    checks.equal(f"before it: {got['before']}", got["before"].count("not measured"), 0)
    checks.equal("and in the timeline's track", b.run("(() => { const t = kymo.page.timeline, c = kymo.model.curves.find(c => c.counter === 'power'); t.whole(); return kymo.page.input.tipOf({ type: 'curve', curve: c }, t.x(kymo.model.length * SHARE))[1]; })()".replace("SHARE", str(got["share"]))), "not measured here")


def plots(b, _wanted):
    b.key("4")
    names = b.run("kymo.page.plots.all.map(p => p.name)")
    checks.equal("plots", names, ["busy", "flame", "durations", "idle", "overlap", "bandwidth", "memory", "messages", "path", "telemetry-0", "telemetry-1"])
    for n in names:
        b.until(f"(p => p.tabled && p.g)(kymo.page.plots.all.find(p => p.name === '{n}'))")
        b.run(f"document.querySelector('#plot-{n} details').open = true")
        b.until(f"document.querySelectorAll('#plot-{n} tbody tr').length")
        colours = b.run(f"(() => {{ const c = document.querySelector('#plot-{n} canvas'), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data, s = new Set(); for (let i = 0; i < d.length; i += 4) if (d[i + 3] > 200) s.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]); return s.size; }})()")
        checks.equal(f"{n} is drawn", colours > 4, True)
    total = b.run("(p => p.tabled.rows().reduce((n, r) => n + r[2], 0))(kymo.page.plots.all.find(p => p.name === 'durations'))")
    checks.equal("durations: all kernels", total, b.run("kymo.model.head.tables.find(t => t.name === 'kernels').rows.reduce((n, r) => n + r[3], 0)"))
    sent = b.run("(p => p.tabled.rows().reduce((n, r) => n + r[2], 0))(kymo.page.plots.all.find(p => p.name === 'messages'))")
    checks.equal("messages: all of them", sent, b.run("kymo.model.head.messages.reduce((n, m) => n + m[1], 0)"))
    kinds = b.run("kymo.page.plots.all.find(p => p.name === 'messages').roots.map(t => t.kind)")
    checks.equal("messages: between ranks alone", kinds, ["rank"] * b.run("kymo.model.roots.filter(t => t.kind === 'rank').length"))
    checks.equal("the telemetry is drawn elsewhere", b.run("kymo.model.roots.some(t => t.label.startsWith('telemetry'))"), True)
    length = b.run("(p => p.tabled.rows().reduce((n, r) => n + r[1], 0))(kymo.page.plots.all.find(p => p.name === 'path'))")
    checks.equal("the path: all of the run", length, b.run("kymo.model.head.length"))
    sensors(b)
    host = b.run("(p => p.tabled.rows().filter(r => !r[0].includes('›') && r[0] !== 'wait_lock').reduce((n, r) => n + r[1], 0))(kymo.page.plots.all.find(p => p.name === 'flame'))")
    shown = b.run("document.querySelector('#plot-idle .legend').textContent")
    for name in ("kernels", "copies and the like alone", "start-up", "host code", "after the last work"):
        checks.equal(f"idling is told as the summary does: {name} in {shown}", name in shown, True)
    checks.equal("a device's parts are the run", b.run("(p => p.tabled.rows().filter(r => r[0] === p.tabled.rows()[0][0]).reduce((n, r) => n + r[3], 0).toFixed(6))(kymo.page.plots.all.find(p => p.name === 'idle'))"), "100.000000")
    checks.equal("paths: all ranges", host, b.run("kymo.model.head.tables.find(t => t.name === 'ranges').rows.reduce((n, r) => n + r[1], 0)"))


def keys(b, wanted):
    """After a search the keys are the timeline's again: what is found is gone through, and nothing is typed into the field."""
    b.key("2")
    b.run("kymo.page.search.set(''), kymo.page.timeline.select(null), kymo.page.timeline.whole()")
    b.key("/")
    b.type("softmax")
    checks.equal("names that fit are shown", b.run("kymo.page.search.list.hidden"), False)
    b.key("Enter")
    b.until("kymo.page.timeline.selected && document.activeElement.id === 'rows'")
    settled(b)
    first, before = selected(b), view(b)
    b.key("w")
    checks.equal("a key zooms", view(b)["end"] - view(b)["start"] < before["end"] - before["start"], True)
    checks.equal("nothing was typed", b.run("kymo.page.search.input.value"), "softmax")
    b.key("Enter")
    b.until(f"kymo.page.timeline.selected.start !== {first['start']} && !kymo.page.search.busy")
    checks.equal("Enter: a later one", selected(b)["start"] > first["start"], True)
    b.key("Enter", SHIFT)
    b.until(f"kymo.page.timeline.selected.start === {first['start']} && !kymo.page.search.busy")
    checks.equal("Shift+Enter: back to the first", selected(b), first)
    # What is not found leaves the field as it is, to be changed.
    b.key("/")
    b.run("kymo.page.search.input.select()")
    b.type("no such name")
    b.key("Enter")
    checks.equal("nothing fits: still in the field", b.run("document.activeElement.id"), "search")
    b.key("Escape")
    checks.equal("Escape gives the keys back", (b.run("document.activeElement.id"), b.run("kymo.page.search.input.value")), ("rows", ""))
    before = view(b)
    b.key("d")
    checks.equal("and they move", view(b)["start"] > before["start"], True)
    # A button has the focus after it was clicked: letters are the timeline's, Enter and blank the button's.
    b.run("[...document.querySelectorAll('.toolbar button')].find(e => e.textContent === 'Whole run').focus()")
    b.key("w")
    b.key("w")
    checks.equal("from a button", view(b)["end"] - view(b)["start"] < wanted["length"] / 1.5, True)
    b.key("Escape")
    b.key("0")


def names(b, wanted):
    """A kernel has its short name where there is little room, its full one where it is pointed at, selected or searched."""
    full, brief = wanted["kernels_long"], "vectorized_elementwise_kernel"
    op = b.run(f"kymo.model.ops.findIndex((o, n) => kymo.model.name(n) === {json.dumps(full)})")
    checks.equal("brief", b.run(f"kymo.model.brief({op})"), brief)
    b.key("2")
    b.run("kymo.page.search.set(''), kymo.page.timeline.select(null), kymo.page.timeline.whole()")
    b.key("/")
    b.type("CUDAFunctor_add")
    checks.equal("in the list of what fits", b.run("(e => [e.textContent, e.title])(document.querySelector('.fit .name'))"), [brief, full])
    b.key("Enter")
    b.until("kymo.page.timeline.selected && kymo.page.timeline.found_links")
    checks.equal("selected", b.run("document.querySelector('.card.slice h2').textContent"), full)
    settled(b)
    s = selected(b)
    texts = b.run(f"(() => {{ const t = kymo.page.timeline; return kymo.page.input.tipOf(t.lines.ofRow.get({s['row']}), t.x(({s['start']} + {s['end']}) / 2)); }})()")
    checks.equal("pointed at", texts[0], full)
    b.until("[...document.querySelectorAll('.counts tbody td:first-child')].some(e => e.textContent === %s)" % json.dumps(brief))
    checks.equal("in the timeline", b.run("[...kymo.page.timeline.names.values()].some(n => n.text === %s)" % json.dumps(brief)), True)
    b.key("4")
    b.until("document.querySelector('#plot-durations select')")
    checks.equal("in plots", b.run("[...document.querySelectorAll('#plot-durations option')].filter(e => e.textContent === %s).length" % json.dumps(brief)), 1)
    b.key("2")
    b.run("kymo.page.search.set(''), kymo.page.timeline.select(null)")
    b.key("0")


def paper(b, wanted):
    """Paper has the whole run and all lines, whatever is on the screen; then the screen is as it was."""
    b.key("2")
    b.run("kymo.page.timeline.lines.foldAll(false), kymo.page.timeline.changed(), kymo.page.timeline.whole()")
    settled(b)
    b.run(f"kymo.page.timeline.show({wanted['length'] // 2}, {wanted['length'] // 2 + 5000})")
    settled(b)
    before = view(b), b.run("kymo.page.timeline.scroller.scrollTop")
    b.run("dispatchEvent(new Event('beforeprint'))")
    lines = b.run("kymo.page.timeline.lines.list.length")
    told = b.run("[...document.querySelectorAll('.paper p')].map(e => e.textContent)")
    checks.equal("told: all lines, and the window of the screen", (told[0], told[1].startswith("On the screen, and in the lists below the timeline: ")), (f"All {lines} lines.", True))
    checks.equal("the window", [round(v) for v in view(b).values()], [0, wanted["length"]])
    labels = b.run("[...document.querySelectorAll('.paper .label')].filter(e => e.offsetTop < e.parentElement.clientHeight).map(e => e.textContent)")
    checks.equal("every labelled line is on paper once", sorted(labels), sorted(b.run("kymo.page.timeline.lines.list.filter(l => l.labelled || l.type === 'curve').map(l => (kymo.page.timeline.labelOf(l, 0).textContent))")))
    checks.equal("pictures are none of them empty", b.run("""[...document.querySelectorAll('.paper figure')].map(f => { const c = f.querySelectorAll('canvas')[1], d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data, s = new Set();
        for (let i = 0; i < d.length; i += 4) s.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]); return s.size > 4; }).filter(v => !v).length"""), 0)
    b.run("dispatchEvent(new Event('afterprint'))")
    settled(b)
    checks.equal("as it was", ((view(b), b.run("kymo.page.timeline.scroller.scrollTop")), b.run("document.querySelector('.paper') === null && !kymo.page.timeline.root.hidden")), (before, True))
    # More lines than the pictures have room for: how many are there is told, and each line is in one picture.
    got = b.run("""(() => { const l = kymo.page.timeline.lines, kept = [l.list, l.height], many = [];
        for (let n = 0; n < 60; n++) for (const x of kept[0]) many.push({ ...x, y: n * kept[1] + x.y, n: many.length });
        l.list = many; l.height = 60 * kept[1];
        dispatchEvent(new Event('beforeprint'));
        const told = document.querySelector('.paper p').textContent, figures = document.querySelectorAll('.paper figure').length, last = [...document.querySelectorAll('.paper figure')].map(f => f.querySelectorAll('canvas')[1].getAttribute('aria-label').match(/[0-9]+/g).map(Number));
        l.list = kept[0]; l.height = kept[1];
        dispatchEvent(new Event('afterprint'));
        return [told, figures, last, many.length]; })()""")
    checks.equal("bounded", (got[1], got[0].startswith(f"The first {got[2][-1][1]:,} of {got[3]:,} lines: 12 of ")), (12, True))
    checks.equal("one behind the other", [a for a, _ in got[2]][1:], [z + 1 for _, z in got[2]][:-1])
    settled(b)
    b.key("0")


def breaks(b, _wanted):
    """On paper no plot is cut, tables that go on have their heads again, and no heading is the last line of a page."""
    if not shutil.which("pdftotext"):
        return
    b.key("4")
    b.until("kymo.page.plots.all.every(p => p.tabled && p.g)")
    headings = set(b.run("[...kymo.model.head.tables.map(t => t.title), ...document.querySelectorAll('h2, h3')].map(e => (e.textContent ?? e).trim()).filter(Boolean)"))
    said = subprocess.run(["pdftotext", "-layout", "-", "-"], input=b.pdf(), capture_output=True, check=True).stdout.decode().split("\f")[:-1]
    pages = [re.sub(r"[ \u2009]+", " ", p) for p in said]
    checks.equal("nothing is missing", any("Not on paper" in p for p in pages), False)
    for title, legend in b.run("kymo.page.plots.all.map(p => [p.title, [...p.legendBox.children].map(e => e.textContent.slice(0, 24))])"):
        legend = [re.sub(r"[ \u2009]+", " ", text) for text in legend]
        checks.equal(f"whole on one page: {title}", any(title in p and all(text in p for text in legend) for p in pages), True)
    for n, p in enumerate(pages):
        last = p.strip().splitlines()[-1].strip()
        checks.equal(f"page {n + 1} does not end with a heading: {last}", any(last == h or re.fullmatch(re.escape(h) + r" (the first )?[\d,]+( of [\d,]+)? rows?", last) for h in headings), False)
    rows = [p for p in pages if re.search(r"^ ?[\d,]+ (row \d+|every seventh)", p, re.M)]
    checks.equal("a long table has several pages", len(rows) > 1, True)
    for p in rows:
        checks.equal("with its head", bool(re.search(r"^ ?n text size", p, re.M)), True)


def critical(b, wanted):
    """The critical path lies as a line over the ranks that it is on, folded or not, and can be taken away."""
    b.key("2")
    b.key("Escape")
    b.run("kymo.page.overlay.span = null, kymo.page.timeline.lines.foldAll(false), kymo.page.timeline.changed(), kymo.page.timeline.whole()")
    settled(b)
    line = ("(i => { const o = kymo.page.overlay, s = kymo.model.critical.sections[i], l = kymo.page.timeline.lines.list.find(l => l.track === kymo.model.tracks[s.track]), t = kymo.page.timeline,"
            " x = t.x((s.start + s.end) / 2), y = l.y - t.top + 16,"
            " c = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true }); c.drawImage(t.over, -Math.round(x * t.ratio), -Math.round(y * t.ratio)); return [c.getImageData(0, 0, 1, 1).data[3], y < t.height]; })(%d)")
    for i in (4, 20):
        checks.equal(f"section {i}", b.run(line % i), [255, True])
    checks.equal("all are drawn", b.run("kymo.page.overlay.pathDrawn"), 40)
    b.press("#path-toggle")
    settled(b)
    checks.equal("taken away", (b.run(line % 4)[0], b.run("document.querySelector('#path-toggle').getAttribute('aria-pressed')")), (0, "false"))
    b.press("#path-toggle")
    b.run("kymo.page.timeline.lines.foldAll(true), kymo.page.timeline.changed()")
    settled(b)
    checks.equal("folded: still drawn", b.run("kymo.page.overlay.pathDrawn"), 40)
    b.run("kymo.page.timeline.lines.foldAll(false), kymo.page.timeline.changed()")
    # A finding's link unfolds what hides its track, also where the track itself has no rows.
    b.run("kymo.page.timeline.lines.foldAll(true), kymo.page.timeline.changed()")
    where = b.run("(() => { const d = kymo.model.tracks.find(t => t.kind === 'device' && !t.rows.length && kymo.model.firstRow([t], { start: 0, end: kymo.model.length }) !== undefined); if (!d) return null; kymo.page.jump({ start: 0, end: kymo.model.length, tracks: [d.id] });"
                  " const row = kymo.model.firstRow([d], { start: 0, end: kymo.model.length }), l = kymo.page.timeline.lines.ofRow.get(row); return [l.type, l.y >= kymo.page.timeline.scroller.scrollTop && l.y < kymo.page.timeline.scroller.scrollTop + kymo.page.timeline.height]; })()")
    checks.equal("a device without rows of its own", where, ["row", True])
    b.run("kymo.page.timeline.lines.foldAll(false), kymo.page.timeline.changed()")
    b.key("Escape")
    b.key("0")


def looks(b, _wanted):
    """Dark, forced colours, paper; what a screen reader finds."""
    b.key("2")
    b.media(prefers_color_scheme="dark")
    b.until("kymo.page.timeline.dark")
    checks.equal("dark", b.run("getComputedStyle(document.body).backgroundColor"), "rgb(16, 18, 21)")
    b.media(prefers_color_scheme="light", forced_colors="active")
    settled(b)
    b.media(prefers_color_scheme="light", forced_colors="none", prefers_reduced_motion="reduce")
    b.until("!kymo.page.timeline.dark")
    checks.equal("the theme's key", (b.key("t"), b.key("t"), b.run("document.documentElement.dataset.theme"))[2], "dark")
    b.key("t")
    paper = b.pdf()
    checks.equal("paper", (paper[:5], len(paper) > 20000), (b"%PDF-", True))
    b.key("?")
    checks.equal("keys", b.run("document.querySelector('dialog').open && document.querySelectorAll('kbd').length > 20"), True)
    b.key("Escape")
    nameless = b.run("[...document.querySelectorAll('button, input, select, canvas:not([aria-hidden]), [role=tab], [role=treeitem]')].filter(e => e.offsetParent && !(e.textContent.trim() || e.getAttribute('aria-label') || e.title)).map(e => e.outerHTML.slice(0, 80))")
    checks.equal("all controls have names", nameless, [])
    b.resize(420, 800)
    settled(b)
    checks.equal("narrow: nothing sticks out", b.run("document.documentElement.scrollWidth <= 420"), True)
    b.resize(1600, 900)


STATES = """(() => {
  const t = kymo.page.timeline, m = kymo.model, row = m.rows.find(r => m.tracks[r.track].label === 'pool'), other = m.rows.find(r => r.track === m.tracks.find(k => k.kind === 'thread').id), l = t.lines.ofRow.get(row.number), g = new OffscreenCanvas(t.canvas.width, t.canvas.height).getContext('2d', { willReadFrequently: true });
  g.drawImage(t.canvas, 0, 0);
  const names = {}, at = share => Math.floor(t.x(m.length * share) * t.ratio), light = (x0, x1) => {
    const d = g.getImageData(x0, Math.round((l.y - t.top + 2) * t.ratio), x1 - x0, Math.round((l.h - 5) * t.ratio)).data, s = new Set();
    let sum = 0;
    for (let i = 0; i < d.length; i += 4) { s.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]); sum += 0.3 * d[i] + 0.59 * d[i + 1] + 0.11 * d[i + 2]; }
    return [sum / d.length * 4, s.size];
  };
  const opAt = (rows, x, ...more) => { t.sum.paint(m, rows, t.view, kymo.paintRow, ...more); return t.sum.all.share[x] > 0 ? m.name(t.sum.all.op[x]) : null; };
  let both = -1;
  t.sum.paint(m, [other], t.view);
  for (let x = at(0.1); x < at(0.4); x++) if (t.sum.all.share[x] > 0) { both = x; break; }
  return { idle: light(at(0.1), at(0.2)), work: light(at(0.4975), at(0.5025)), pool: [opAt([row], at(0.2)), opAt([row], at(0.5)), opAt([row], at(0.2), false)],
    both: both >= 0 && opAt([other, row], both) === opAt([other], both), legend: [...document.querySelectorAll('.toolbar .patterns > span')].map(e => e.textContent),
    sort: t.lines.list.filter(x => x.labelled && m.rankOf(x.track.id) === m.rankOf(row.track)).map(x => x.track.kind) };
})()"""


def states(b, _wanted):
    """What a thread without a processor waits for is paler than work, hatched, and hides no work where rows are one; the legend says so."""
    b.key("2")
    b.run("kymo.page.search.set(''), kymo.page.timeline.select(null), kymo.page.timeline.lines.foldAll(false), kymo.page.timeline.changed(), kymo.page.timeline.whole(), kymo.page.timeline.scroller.scrollTop = 0")
    settled(b)
    grounds = {}
    for theme in ("light", "dark"):
        b.media(prefers_color_scheme=theme)
        b.until(f"kymo.page.timeline.dark === {str(theme == 'dark').lower()}")
        settled(b)
        got = b.run(STATES)
        ground = b.run("(c => 0.3 * c[0] + 0.59 * c[1] + 0.11 * c[2])(kymo.page.timeline.palette.background)")
        grounds[theme] = ground
        checks.equal(f"{theme}: nearer to the ground than work: {got['idle']}, {got['work']}", 2 * abs(got["idle"][0] - ground) < abs(got["work"][0] - ground), True)
        checks.equal(f"{theme}: hatched, and seen", (got["idle"][1] > 1, abs(got["idle"][0] - ground) > 5), (True, True))
        checks.equal(f"{theme}: as one row", got["pool"], ["wait_lock", "pool work", None])
        checks.equal(f"{theme}: no work is hidden", got["both"], True)
        checks.equal(f"{theme}: the legend", got["legend"], ["waiting in a call", "without a processor"])
    checks.equal("two themes", grounds["light"] != grounds["dark"], True)
    b.media(prefers_color_scheme="light")
    b.until("!kymo.page.timeline.dark")


# What people see who lack a kind of cones (Machado, Oliveira, Fernandes 2009, severity 1).
VISION = {"full": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
          "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
          "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
          "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900))}


def lightness(matrix, pixel):
    linear = [((v / 255 + 0.055) / 1.055) ** 2.4 if v > 10 else v / 255 / 12.92 for v in pixel]
    r, g, b = (min(1, max(0, sum(m * v for m, v in zip(row, linear)))) for row in matrix)
    return 116 * max(0.009, 0.2126 * r + 0.7152 * g + 0.0722 * b) ** (1 / 3) - 16


def tells(matrix, a, b, ground):
    """Two samples of a legend, as lists of pixels, differ otherwise than by hue: in lightness, or by what is drawn where."""
    found = []
    for pixels in (a, b):
        light = [lightness(matrix, [v * p[3] / 255 + ground * (1 - p[3] / 255) for v in p[:3]]) for p in pixels]
        most = sorted(light)[len(light) // 2]
        found.append((sum(light) / len(light), [abs(v - most) > 12 for v in light]))
    return abs(found[0][0] - found[1][0]) >= 15 or sum(x != y for x, y in zip(found[0][1], found[1][1])) >= max(8, 0.25 * max(sum(found[0][1]), sum(found[1][1])))


def cones(b, _wanted):
    """What lies beside each other in a plot, or follows in its legend, is told apart by lightness, texture or dashes, whichever cones an eye has."""
    b.key("4")
    b.until("kymo.page.plots.all.every(p => p.tabled && p.g)")
    for theme, ground in (("light", 255), ("dark", 24)):
        b.media(prefers_color_scheme=theme)
        b.run("kymo.page.plots.print()")
        b.until("kymo.page.plots.all.every(p => p.tabled && p.g)")
        legends = b.run("""kymo.page.plots.all.map(p => [p.name, [...p.legendBox.children].map(e => [e.textContent, (c => { const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data, l = [];
            for (let i = 0; i < d.length; i += 4) l.push([d[i], d[i + 1], d[i + 2], d[i + 3]]); return l; })(e.querySelector('canvas'))])])""")
        checks.equal(f"{theme}: plots with legends", {n for n, items in legends if len(items) > 1} >= {"idle", "overlap", "bandwidth", "memory", "telemetry-0"}, True)
        for vision, matrix in VISION.items():
            alike = [(name, x, y) for name, items in legends for (x, a), (y, c) in zip(items, items[1:]) if not tells(matrix, a, c, ground)]
            checks.equal(f"{theme}, {vision}: alike", alike, [])
    b.media(prefers_color_scheme="light")


NAMED = {"button", "checkbox", "textbox", "searchbox", "combobox", "tab", "link", "treeitem", "image", "table", "columnheader", "region", "dialog", "listbox", "option", "application", "tree", "tablist"}


def tree(b, _wanted):
    """What assistive technology is given: all that can be reached has a role and a name, pictures have words, tables have heads."""
    b.call("Accessibility.enable")
    seen = set()
    for tab in "1234":
        b.key(tab)
        settled(b)
        if tab == "4":
            b.run("document.querySelectorAll('.plot details').forEach(e => { e.open = true; })")
            b.until("[...document.querySelectorAll('.plot details')].every(e => e.querySelector('th'))")
        wrong = []
        for n in b.call("Accessibility.getFullAXTree")["nodes"]:
            if n.get("ignored"):
                continue
            role, name = n["role"]["value"], n.get("name", {}).get("value", "").strip()
            can = {p["name"]: p["value"].get("value") for p in n.get("properties", [])}
            seen.add(role)
            if (can.get("focusable") and role not in ("RootWebArea",) and (not name or role == "generic")) or (role in NAMED and not name):
                node = b.call("DOM.describeNode", backendNodeId=n["backendDOMNodeId"])["node"]
                wrong.append((role, name, node["nodeName"], node.get("attributes")))
        checks.equal(f"tab {tab}: without role or name", wrong, [])
        heads = b.run("[...document.querySelectorAll('table')].filter(e => e.offsetParent && [...e.querySelectorAll('thead th')].filter(h => h.scope === 'col' && h.textContent.trim()).length !== e.querySelectorAll('thead th, thead td').length).length")
        checks.equal(f"tab {tab}: tables without heads", heads, 0)
        # In the order in which they stand, none before the others by a number of its own.
        checks.equal(f"tab {tab}: order", b.run("[...document.querySelectorAll('[tabindex]')].filter(e => e.tabIndex > 0).length"), 0)
    b.run("document.querySelectorAll('.plot details').forEach(e => { e.open = false; })")
    checks.equal("roles that must be there", {"tab", "tabpanel", "tree", "treeitem", "application", "table", "columnheader", "searchbox", "image", "region"} - seen, set())
    b.call("Accessibility.disable")


def alone(b, _wanted):
    """All tabs and a slice by the keyboard alone, from the beginning of the page."""
    b.run("document.activeElement.blur()")
    b.key("1")
    for _ in range(30):
        b.key("Tab")
        if b.run("document.activeElement.getAttribute('role')") == "tab":
            break
    for tab in ("timeline", "tables", "plots"):
        b.key("ArrowRight")
        checks.equal("tab", b.run("kymo.page.tab"), tab)
    b.key("2")
    for _ in range(60):
        b.key("Tab")
        if b.run("document.activeElement.id") == "rows":
            break
    checks.equal("the rows have the focus", b.run("document.activeElement.id"), "rows")
    b.key("n")
    b.until("kymo.page.timeline.selected")
    b.key("f")
    checks.equal("told", b.run("document.querySelector('#live').textContent.length > 20"), True)
    b.key("Escape")


def fingers(b, wanted):
    """Two fingers zoom, one moves."""
    b.key("2")
    b.key("0")
    settled(b)
    r = b.run("(r => [r.x, r.y, r.width])(kymo.page.timeline.canvas.getBoundingClientRect())")

    def touch(kind, *xs):
        b.call("Input.dispatchTouchEvent", type=kind, touchPoints=[{"x": r[0] + x, "y": r[1] + 80, "id": n} for n, x in enumerate(xs)])

    touch("touchStart", 500, 700)
    for k in range(1, 11):
        touch("touchMove", 500 - 10 * k, 700 + 10 * k)
    touch("touchEnd")
    v = view(b)
    checks.equal("zoomed by about two", 1.8 < wanted["length"] / (v["end"] - v["start"]) < 2.2, True)
    touch("touchStart", 600)
    for k in range(1, 6):
        touch("touchMove", 600 - 20 * k)
    touch("touchEnd")
    moved = (view(b)["start"] - v["start"]) / (v["end"] - v["start"]) * r[2]
    checks.equal("moved by 100 pixels", round(moved), 100)
    b.key("0")


PARTS = [counts, drawn, overview, needle, zooming, fingers, folding, arrows, measuring, critical, tables, plots, keys, names, states, cones, paper, breaks, looks, tree, alone]


def hostile(folder):
    """Names of every bad kind run nothing and break nothing."""
    path, wanted = made(folder, "hostile.html", "--slices", "20000", "--windows", "20", "--hostile")
    with browser.Browser() as b:
        opened(b, path)
        for part in (counts, overview, plots, tables):
            part(b, wanted)
        b.key("2")
        b.key("/")
        b.type("onerror")
        b.key("Enter")
        b.until("kymo.page.timeline.selected")
        settled(b)
        checks.equal("nothing ran", b.run("window.broken === undefined && document.querySelectorAll('img, script[src], body svg[onload]').length === 0"), True)
        checks.equal("loss is told", b.run("document.querySelector('.chip.bad').textContent"), "12 records lost")
        checks.equal("problems", b.problems, [])
        b.problems.clear()
        tried = b.call("Runtime.evaluate", expression="(() => { try { return eval('1 + 1'); } catch { return 'refused'; } })()", allowUnsafeEvalBlockedByCSP=False, returnByValue=True)
        checks.equal("eval", tried["result"]["value"], "refused")
        checks.equal("fetch", b.run("fetch(location.href).then(() => 'done', () => 'refused')"), "refused")


def fallback(folder):
    """Without workers and without DecompressionStream all is the same; times in steps are said."""
    path, wanted = made(folder, "steps.html", "--slices", "20000", "--quantum", "16", "--windows", "20")
    with browser.Browser() as b:
        b.call("Page.addScriptToEvaluateOnNewDocument", source="delete window.DecompressionStream; window.Worker = undefined;")
        opened(b, path)
        checks.equal("no worker", b.run("kymo.model.source.tasks.worker"), None)
        counts(b, wanted)
        checks.equal("steps", b.run("[...document.querySelectorAll('.fact')].some(f => f.textContent.includes('in steps of 16 ns'))"), True)
        checks.equal("problems", b.problems, [])


def damaged(folder):
    """Of a page whose data was changed the rest is shown, and that it was is said."""
    path, _ = made(folder, "damaged.html", "--slices", "20000", "--windows", "0")
    with open(path, encoding="utf-8") as f:
        text = f.read()
    at = text.index('id="kymo-data">') + len('id="kymo-data">') + 400
    with open(path, "w", encoding="utf-8") as f:
        f.write(text[:at] + "A" * 400 + text[at + 400:])
    with browser.Browser() as b:
        b.open(path)
        b.until("document.querySelector('.error:not([hidden])')")
        checks.equal("said", b.run("document.querySelector('.error').textContent.includes('cannot be read')"), True)
        checks.equal("the digest is there", b.run("document.querySelector('.digest').textContent.length > 100"), True)
        checks.equal("problems", b.problems, [])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--slices", type=int, default=300000)
    parser.add_argument("--windows", type=int, default=100)
    parser.add_argument("--block", type=int, default=2000, help="slices of a block; few, so that rows have many")
    parser.add_argument("--keep", help="a folder for pages")
    parser.add_argument("--pictures", help="a folder for pictures of what is there after each part")
    parser.add_argument("parts", nargs="*")
    args = parser.parse_args()
    if not browser.find():
        skip("no Chromium")
    if not shutil.which("node"):
        skip("no Node.js")
    with Folder() as temporary:
        folder = args.keep or temporary
        path, wanted = made(folder, "page.html", "--slices", str(args.slices), "--windows", str(args.windows), "--block", str(args.block))
        with browser.Browser() as b:
            opened(b, path)
            for part in PARTS:
                if not args.parts or part.__name__ in args.parts:
                    before = checks.wrong
                    part(b, wanted)
                    if args.pictures:
                        b.picture(os.path.join(args.pictures, f"{part.__name__}.png"))
                    if checks.wrong > before:
                        print(f"in {part.__name__}")
            checks.equal("problems", b.problems, [])
        for part in (hostile, fallback, damaged):
            if not args.parts or part.__name__ in args.parts:
                part(folder)
    sys.exit(checks.status(1 if args.parts else 300))


if __name__ == "__main__":
    main()
