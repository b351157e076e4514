#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`kymo report A --compare B`, and `kymo view`, against `kymo compare A B`: the page's numbers, Markdown, PDF, workbook and picture; in a browser the tab, its table, links into the
timeline, keys. Kernels of hostile names, one of two sizes, two devices of one name, calls and ranges.

    comparison.py KYMO SYNTH data|browser"""
import json
import os
import re
import shutil
import sys
import xml.etree.ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("", "../base", "../cli", "../compare"):
    sys.path.insert(0, os.path.join(HERE, folder))
import browser  # noqa: E402
import made  # noqa: E402
import page_file  # noqa: E402
from kymotest import Checks, Folder, must, run, skip  # noqa: E402
from view import View  # noqa: E402

KYMO, SYNTH, PART = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3]
checks = Checks()
TAG, TURNED, PROTO = "</script><img/src=x/onerror=window.broken=1>", "evil\u202egpj\u2028=1+1", "__proto__"
TABLES = {"result", "items", "runs", "work", "amounts"}


def lines(seed, hot, only):
    """Kernels of two devices, one after the other, calls around them, ranges around all of a step."""
    chance, out, at = made.seeded(seed, 1), [], 10000
    names = {TAG: 50000 * hot, TURNED.encode().decode("latin-1"): 30000, PROTO: 20000 / hot, only: 9000, "sized": 15000}
    for i in range(120):
        begins = at
        for n, (name, centre) in enumerate(names.items()):
            ns = round(centre * chance.uniform(0.97, 1.03))
            out.append(f"call 3 {at} {500 + n}")
            out.append(f"kernel {name} {64 if name != 'sized' or i % 2 else 4096} {at + 1000} {ns} {1 + n % 2}")
            at += ns + 3000
        out.append(f"write 4096 {at} {round(7000 * chance.uniform(0.97, 1.03))}")
        at += 9000
        out.append(f"range step#{i} {begins} {at - begins} {i + 1}")
    return out + [f"end {at + 10000}"]


def traces(folder):
    maker = made.Maker(KYMO, SYNTH, folder)
    return [maker.trace(lines(*w), into=os.path.join(folder, name)) for name, w in (("a.kymo", ("a", 1, "old")), ("b.kymo", ("b", 2, "new")))]


def compared(a, b, *options):
    """Of kymo compare: {table: {"columns", "rows"}}, head, foot; exit status 1 says that something takes longer."""
    done = run(KYMO, "compare", "-f", "json", *options, a, b)
    checks.equal("kymo compare", done.returncode in (0, 1), True)
    return json.loads(done.stdout)


def same(what, head, wanted):
    """Every row and number, in the same order."""
    c = head["comparison"]
    checks.equal(f"{what}: lines above and below", [c["head"], c["foot"]], [wanted["head"], wanted["foot"]])
    checks.equal(f"{what}: tables", [t["name"] for t in c["tables"]], [t["name"] for t in wanted["tables"]])
    for got, t in zip(c["tables"], wanted["tables"]):
        columns = [k["name"] for k in got["columns"]]
        rows = [{k: v for k, v in zip(columns, r) if v is not None} for r in got["rows"]]
        checks.equal(f"{what}: {t['name']}", rows, [{k: v for k, v in r.items() if v is not None} for r in t["rows"]])


def forms(folder, a, b, wanted):
    tables = {t["name"]: t["rows"] for t in wanted["tables"]}
    said = must(KYMO, "report", "--format", "md", "-o", "-", "--compare", b, a)
    for line in must_compare(a, b, "-f", "md").splitlines():
        checks.equal(f"Markdown: {line[:60]}", line in said.splitlines(), True)
    checks.equal("Markdown: no tag", "<img" in said, False)
    root = xml.etree.ElementTree.fromstring(must(KYMO, "report", "--compare", b, "--plot", "comparison", "-o", "-", a).encode())
    space = "{http://www.w3.org/2000/svg}"
    bars = [(r.find(space + "title").text, float(r.get("x")), float(r.get("width"))) for r in root.iter(space + "rect") if r.find(space + "title") is not None]
    known = [round(r["b_ns"] - r["a_ns"]) for r in [r for r in tables["items"] if r["per"] == "run"] + tables["runs"]]
    got = [(int(re.search(r"([-+]\d+) ns(?:, \w+(?: in [AB])?)?$", title)[1]), x, w) for title, x, w in bars]
    checks.equal("the picture's differences", sorted(d for d, _, _ in got), sorted(sorted((d for d in known if d), key=abs)[-20:]))
    checks.equal("sorted", [d for d, _, _ in got], sorted((d for d, _, _ in got), reverse=True))
    middle = {round(x if d > 0 else x + w, 1) for d, x, w in got if w > 2}
    checks.equal("from one line, more to the right", len(middle), 1)
    most = max(abs(d) / w for d, _, w in got if w > 20)
    checks.equal("lengths", [abs(abs(d) / w - most) < 1e-2 * most for d, _, w in got if w > 20], [True] * sum(1 for _, _, w in got if w > 20))
    pdf = os.path.join(folder, "a.pdf")
    done = run(KYMO, "report", "-o", pdf, "--compare", b, a)
    if done.returncode == 0 and shutil.which("pdftotext"):
        text = re.sub(r"\s+", "", must("pdftotext", "-layout", pdf, "-"))
        for line in [*wanted["head"], *wanted["foot"]]:
            checks.equal(f"PDF: {line}", re.sub(r"\s+", "", line) in text, True)
        checks.equal("PDF: picture and tables", ["TimeofaruninB,lessthatinA" in text, "Comparisonof" in text and "Wholeruns" in text], [True, True])
    book = os.path.join(folder, "a.xlsx")
    if run(KYMO, "report", "-o", book, "--compare", b, a).returncode == 0 and shutil.which("unzip"):
        names = re.findall(r'<sheet name="([^"]+)"', must("unzip", "-p", book, "xl/workbook.xml"))
        checks.equal("sheets", {"items", "runs", "amounts"} < set(names), True)


def must_compare(*words):
    return run(KYMO, "compare", "--top", "40", *words[2:], *words[:2]).stdout


def data(folder):
    a, b = traces(folder)
    page = os.path.join(folder, "a.html")
    must(KYMO, "report", "-o", page, "--compare", b, a)
    p, wanted = page_file.Page(page), compared(a, b)
    checks.equal("all tables are compared", {t["name"] for t in wanted["tables"]}, TABLES)
    same("whole", p.head, wanted)
    labels = [r["item"] for t in wanted["tables"] for r in t["rows"] if t["name"] == "items"]
    checks.equal("hostile names are compared, and sizes told apart", [f"kernel {TAG}" in labels, f"kernel {TURNED}" in labels, sum(1 for x in set(labels) if x.startswith("kernel sized ["))], [True, True, 2])
    links = {label: {(p.head["ops"][o]["kind"], p.head["names"][p.head["ops"][o]["name"]]) for o in ops} for label, ops in p.head["comparison"]["links"]}
    checks.equal("links of kernels", [links[f"kernel {n}"] for n in (TAG, TURNED, PROTO, "old")], [{("kernel", n)} for n in (TAG, TURNED, PROTO, "old")])
    checks.equal("of both sizes", {k for k, v in links.items() if v == {("kernel", "sized")}}, {x for x in labels if x.startswith("kernel sized [")})
    checks.equal("of what A does not have", "kernel new" in links, False)
    checks.equal("of ranges: all of one folded name", links["range step#*"], {("range", f"step#{i}") for i in range(120)})
    checks.equal("A and B", [p.head["comparison"]["a"], p.head["comparison"]["b"]], [a, b])
    checks.equal("the page without --compare", page_of(folder, a).head["comparison"], None)
    checks.equal("without a script", "kernel __proto__" in "".join(p.elements.text), True)
    same("of a selection", page_of(folder, a, "--compare", b, "--kernel", PROTO).head, compared(a, b, "--kernel", PROTO))
    same("of one and the same", page_of(folder, a, "--compare", a).head, compared(a, a))
    forms(folder, a, b, wanted)
    edges(folder, a, b)


def page_of(folder, a, *options):
    path = os.path.join(folder, "other.html")
    must(KYMO, "report", "-f", "-o", path, *options, a)
    return page_file.Page(path)


def edges(folder, a, b):
    """What cannot be compared is an error and no page; what has nothing is told."""
    out = os.path.join(folder, "none.html")
    for words, other in (("nothing.kymo", os.path.join(folder, "nothing.kymo")), ("page", os.path.join(HERE, "comparison.py"))):
        done = run(KYMO, "report", "-o", out, "--compare", other, a)
        checks.equal(f"{words}: no page", (done.returncode != 0, words in done.stderr, os.path.exists(out)), (True, True, False))
    empty = made.Maker(KYMO, SYNTH, folder).trace(["end 1000"], into=os.path.join(folder, "empty.kymo"))
    same("an empty one", page_of(folder, a, "--compare", empty).head, json.loads(run(KYMO, "compare", "-f", "json", a, empty).stdout))
    damaged = os.path.join(folder, "damaged.kymo")
    shutil.copytree(b, damaged)
    raw = max((os.path.join(at, n) for at, _, names in os.walk(damaged) for n in names if n.endswith(".kyr")), key=os.path.getsize)
    os.truncate(raw, os.path.getsize(raw) * 2 // 3)
    same("a damaged one", page_of(folder, a, "--compare", damaged).head, json.loads(run(KYMO, "compare", "-f", "json", a, damaged).stdout))


def in_browser(folder):
    if not browser.find():
        skip("no Chromium")
    a, b = traces(folder)
    page = os.path.join(folder, "a.html")
    must(KYMO, "report", "-o", page, "--compare", b, a)
    wanted = {t["name"]: t["rows"] for t in compared(a, b)["tables"]}
    items = wanted["items"]
    with browser.Browser() as w:
        w.open(page)
        w.until("window.kymo")
        w.key("5")
        checks.equal("the tab", w.run("[kymo.page.tab, document.querySelector('#tab-comparison').getAttribute('aria-selected'), document.querySelector('.comparison h1').textContent]"), ["comparison", "true", "B takes longer than A"])
        rows = w.run("kymo.page.comparison.plot.tabled.rows()")
        checks.equal("the picture, as a table", sorted(r[3] for r in rows), sorted(r["b_ns"] - r["a_ns"] for r in [r for r in items if r["per"] == "run"] + wanted["runs"] if r["b_ns"] != r["a_ns"]))
        verdicts = {r[0]: r[4] for r in rows}
        for r in items:
            if r["per"] == "call" and r.get("verdict") in ("slower", "faster"):
                checks.equal(f"{r['item'][:30]}: verdict", next(v for k, v in verdicts.items() if k.replace("\ufffd", "") == r["item"].replace("\u202e", "").replace("\u2028", "")), r["verdict"])
        w.run("(s => { s.value = 'call'; s.dispatchEvent(new Event('change')); })(document.querySelector('#plot-comparison select'))")
        checks.equal("of a call", sorted(r[3] for r in w.run("kymo.page.comparison.plot.tabled.rows()")), sorted(r["change_percent"] for r in items if r["per"] == "call" and r["a_ns"] and r["b_ns"] and r["change_percent"]))
        told = w.run("(p => { const r = p.canvas.getBoundingClientRect(); return p.tell(r.width / 2, 8); })(kymo.page.comparison.plot)")
        checks.equal(f"pointed at: {told}", " in A, " in told and " in B, +" in told, True)
        cell = "[...document.querySelectorAll('#table-compare_items tbody:nth-of-type(2) tr')].map(r => r.children[3].title)"
        w.press("#table-compare_items th:nth-child(4) button")
        checks.equal("sorted by A", [float(t.split()[0]) for t in w.run(cell)], sorted((r["a_ns"] for r in items), reverse=True)[:w.run(cell + ".length")])
        w.key("/")
        w.type("proto")
        checks.equal("filtered", w.run("document.querySelector('#table-compare_items [role=status]').textContent"), f"2 of {len(items)} rows")
        w.key("Escape")
        w.run("document.querySelector('#table-compare_items button.link').focus()")
        w.key("Enter")
        w.until("kymo.page.timeline.selected && !kymo.page.search.busy")
        checks.equal("the kernel in the timeline", w.run("[kymo.page.tab, kymo.model.name(kymo.page.timeline.selected.op), kymo.model.kind(kymo.page.timeline.selected.op)]"), ["timeline", PROTO, "kernel"])
        first = w.run("kymo.page.timeline.selected.start")
        w.until("document.activeElement.id === 'rows'")
        w.key("Enter")
        w.until(f"kymo.page.timeline.selected.start > {first} && !kymo.page.search.busy")
        checks.equal("and the next one", w.run("kymo.model.name(kymo.page.timeline.selected.op)"), PROTO)
        w.until("location.hash.includes('tab=timeline')")
        w.key("5")
        w.until("location.hash.includes('tab=comparison')")
        w.run("history.back()")
        w.until("kymo.page.tab === 'timeline'")
        w.run("history.forward()")
        w.until("kymo.page.tab === 'comparison'")
        w.run("document.querySelector('#tab-comparison').focus()")
        w.key("ArrowRight")
        checks.equal("the tabs are a ring", w.run("kymo.page.tab"), "overview")
        w.key("5")
        checks.equal("nothing of a name ran", w.run("window.broken === undefined && !document.querySelector('img')"), True)
        paper = w.pdf()
        checks.equal("on paper", len(paper) > 1000, True)
        names = w.run("[...document.querySelectorAll('.comparison [tabindex=\"0\"], .comparison button, .comparison input, .comparison select, .comparison canvas:not([aria-hidden])')].filter(e => !e.textContent.trim() && !e.getAttribute('aria-label')).length")
        checks.equal("every control has a name", names, 0)
        w.open(page_without(folder, a))
        w.until("window.kymo")
        w.key("5")
        checks.equal("without --compare: four tabs", w.run("[document.querySelectorAll('[role=tab]').length, kymo.page.tab]"), [4, "overview"])
        checks.equal("problems", w.problems, [])
        titles(w, folder, a)
        served(w, folder, a, b, items)


def titles(w, folder, a):
    """No change of time is not no change: where the work differs the title says so."""
    maker = made.Maker(KYMO, SYNTH, folder)
    for only, wanted in (("old", "No change found"), ("new", "No change of time found in what both did; the work differs")):
        same_times = maker.trace(lines("c", 1, only), into=os.path.join(folder, f"{only}.kymo"))
        must(KYMO, "report", "-f", "-o", os.path.join(folder, "title.html"), "--compare", same_times, a)
        w.open(os.path.join(folder, "title.html"))
        w.until("window.kymo?.model")
        checks.equal(f"title: {only}", w.run("document.querySelector('.comparison h1').textContent"), wanted)


def served(w, folder, a, b, items):
    """The same tab of `kymo view`, once all is prepared; nothing of it is kept for a view without --compare, and the other way round."""
    with View(a, "--compare", b) as view:
        same("served", json.loads(view.ask("/head.json")[2]), compared(a, b))
        w.open(view.url.geturl())
        w.until("window.kymo?.model && !kymo.model.glance")
        w.key("5")
        checks.equal("served: the tab", w.run("[kymo.page.tab, document.querySelector('.comparison h1').textContent]"), ["comparison", "B takes longer than A"])
        checks.equal("served: rows", w.run("document.querySelector('#table-compare_items [role=status]').textContent"), f"{len(items)} rows")
        w.key("/")
        w.type("proto")
        w.key("Escape")
        w.run("document.querySelector('#table-compare_items button.link').focus()")
        w.key("Enter")
        w.until("kymo.page.timeline.selected && !kymo.page.search.busy")
        checks.equal("served: the kernel in the timeline", w.run("[kymo.page.tab, kymo.model.name(kymo.page.timeline.selected.op)]"), ["timeline", PROTO])
        checks.equal("served: problems", w.problems, [])
        w.call("Page.navigate", url="about:blank")
    checks.equal("nothing is kept", os.path.exists(os.path.join(a, "page.data")), False)
    with View(a) as view:
        checks.equal("without --compare", json.loads(view.ask("/head.json")[2])["comparison"], None)
    with View(a, "--compare", b) as view:
        checks.equal("beside what is kept", json.loads(view.ask("/head.json")[2])["comparison"] is None, False)
    done = run(KYMO, "view", "--compare", os.path.join(folder, "nothing.kymo"), a)
    checks.equal("nothing to compare with", (done.returncode != 0, "nothing.kymo" in done.stderr, done.stdout), (True, True, ""))


def page_without(folder, a):
    path = os.path.join(folder, "alone.html")
    must(KYMO, "report", "-o", path, a)
    return path


def main():
    with Folder() as folder:
        {"data": data, "browser": in_browser}[PART](folder)
    sys.exit(checks.status(10))


if __name__ == "__main__":
    main()
