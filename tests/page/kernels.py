#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kernels in `kymo report`, against `kymo kernels -f json`: the page's numbers, Markdown, PDF, workbook, picture; in a browser what is drawn. A trace of two kernels on two
devices of one name, with counters of kernels, and roofs of such devices.

    kernels.py KYMO SYNTH data|numbers|browser"""
import json
import os
import re
import shutil
import sqlite3
import sys
import xml.etree.ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("", "../base", "../cli"):
    sys.path.insert(0, os.path.join(HERE, folder))
import browser  # noqa: E402
import page_file  # noqa: E402
from kymotest import Checks, Folder, must, run, skip  # noqa: E402

KYMO, SYNTH, PART = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3]
checks = Checks()
TAG = "copy<img/src=x/onerror=window.broken=1>"
COMPUTE, MEMORY = "sm__throughput.avg.pct_of_peak_sustained_elapsed", "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"
OPERATIONS = [f"smsp__sass_thread_inst_executed_op_{t}{op}_pred_on.sum" for t in "fdh" for op in ("add", "mul", "fma")]
NS = "{http://www.w3.org/2000/svg}"


def counters(time, compute, memory, fma, read, written):
    return {**{name: 0 for name in OPERATIONS}, OPERATIONS[2]: fma, "gpu__time_duration.sum": time, COMPUTE: compute, MEMORY: memory,
            "l1tex__t_bytes.sum": 4 * read, "lts__t_bytes.sum": 2 * read, "dram__bytes_read.sum": read, "dram__bytes_write.sum": written}


# Of each dispatch in order of time, as below.
COUNTED = [counters(1000, 80, 40, 4000, 1000, 600), counters(3000, 60, 80, 6000, 8000, 1000), counters(500, 5, 70, 50, 4000, 4000), counters(700, 10, 20, 900, 100, 20)]


LAUNCHES = (("gemm", 64, 2000, 1000, 1), ("gemm", 64, 4000, 3000, 2), (TAG, 64, 9000, 500, 1), ("gemm", 4096, 12000, 700, 1))


def made(folder, launches=LAUNCHES, counted=COUNTED):
    """A ROCpd database, of devices by NVIDIA, with values of counters."""
    trace, path = folder + "/t.kymo", folder + "/t.db"
    lines = ["range r 100 15000 5"]
    for n, (name, items, at, ns, device) in enumerate(launches):
        lines += [f"in {5 + n}", f"kernel {name} {items} {at} {ns} {device}"]
    must(SYNTH, "timed", trace, input="\n".join([*lines, "end 20000", ""]))
    must(KYMO, "export", "--to", "rocpd", "-o", path, trace)
    db = sqlite3.connect(path)
    table = {n: next(f'"{t}"' for t, in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'") if t.startswith(f"rocpd_{n}_"))
             for n in ("kernel_dispatch", "info_pmc", "pmc_event", "info_agent")}
    db.execute(f"UPDATE {table['info_agent']} SET vendor_name = 'NVIDIA' WHERE type = 'GPU'")
    nid, pid = db.execute(f"SELECT nid, pid FROM {table['kernel_dispatch']}").fetchone()
    number = 0
    for (event, agent), values in zip(db.execute(f"SELECT event_id, agent_id FROM {table['kernel_dispatch']} ORDER BY start").fetchall(), counted):
        for name, value in values.items():
            number += 1
            db.execute(f"INSERT INTO {table['info_pmc']}(id, nid, pid, agent_id, target_arch, name, symbol) VALUES(?,?,?,?,'GPU',?,?)", (number, nid, pid, agent, name, name))
            db.execute(f"INSERT INTO {table['pmc_event']}(event_id, pmc_id, value) VALUES(?,?,?)", (event, number, value))
    db.commit()
    db.close()
    return trace, path


def keep_roofs(folder, path):
    """Where `kymo calibrate` keeps them, of such a device on the host of the trace."""
    def roof(name, kind, value):
        return {"name": name, "type": name, "kind": kind, "unit": "", "value": value, "interval": value / 100}
    host, name = json.loads(must(KYMO, "query", "-f", "json", path, "SELECT p.hostname AS h, a.name AS n FROM process p, agent a WHERE a.vendor = 'NVIDIA' LIMIT 1"))[0].values()
    os.environ["XDG_CACHE_HOME"] = folder + "/cache"
    os.makedirs(folder + "/cache/kymo/roofs")
    with open(folder + "/cache/kymo/roofs/a.json", "w") as f:
        json.dump({"devices": [{"api": "cuda", "type": "gpu", "name": name, "host": host, "roofs": [roof("memory", "bandwidth", 10e9), roof("l2", "bandwidth", 20e9), roof("fp32", "compute", 50e9)]}]}, f)


def told(path, *options):
    """Of kymo kernels: its tables, and rows by kernel, device and id."""
    tables = json.loads(must(KYMO, "kernels", "-f", "json", *options, path))["tables"]
    every = ",".join(sorted({r["id"].split(".")[0] for r in json.loads(must(KYMO, "list", "metrics", "-f", "json"))["tables"][0]["rows"] if r["id"][0] != "$"}))
    rows = json.loads(must(KYMO, "kernels", "-f", "json", "--panel", every, *options, path))["tables"]
    for r in (r for t in rows for r in t["rows"]):
        r.update({"note": re.sub("(; )?no peak: .*", "", r["note"])} if r.get("note") else {})  # the page has the numbers alone
    return tables, {(r["kernel"], r["device"], r["id"]): r for t in rows for r in t["rows"] if "id" in r and r.get("kernel")}


def values_of(data):
    """The same of a page."""
    out = {}
    for k in data["kernels"]:
        tables = [(t, v) for t, v in zip([t for p in data["panels"] for t in p["tables"]], k["values"]) if t["style"] != "device"]
        for t, values in tables:
            for (number, name, unit, _), v in zip(t["metrics"], values):
                of = {"metric": name, "unit": unit}
                if isinstance(v, int):
                    of.update(value=None, note="N/A: " + data["reasons"][v])
                else:
                    of.update(zip(("value", "min", "max", "peak", "share_percent", "dispatches", "of"), v))
                    of["note"] = data["reasons"][v[7]] if len(v) > 7 else None
                out[k["kernel"], k["device"], f"{t['id']}.{number}"] = of
    return out


def rows_of(t):
    return [{c["name"]: v for c, v in zip(t["columns"], r)} for r in t["rows"]]


def same(what, data, path, *options):
    tables, wanted = told(path, *options)
    got = values_of(data)
    checks.equal(f"{what}: metrics", set(got), set(wanted))
    for key, of in got.items():
        checks.equal(f"{what}: {key}", {n: v for n, v in of.items() if v != "" and v is not None}, {n: wanted[key][n] for n in of if wanted[key].get(n) not in (None, "")})
    for name in ("0.1", "findings"):
        checks.equal(f"{what}: {name}", rows_of(next(t for t in data["tables"] if t["name"] == name)),
                     next(t["rows"] for t in tables if t["name"] == name))
    return wanted


def page_of(folder, path, *options):
    out = os.path.join(folder, "other.html")
    must(KYMO, "report", "-f", "-o", out, *options, path)
    return page_file.Page(out)


def same_points(what, got, known):
    """Rates are told in GFLOP/s and drawn in FLOP/s: the last digits may differ."""
    checks.equal(what, {k: [f"{v:.12g}" for v in xy] for k, xy in got.items()}, {k: [f"{v:.12g}" for v in xy] for k, xy in known.items()})


def rooflines(folder, path, data, wanted):
    """Points of each device are the metrics of panel 4, in the page and as `kymo kernels --roofline` draws them; and its pictures."""
    devices = sorted({d for _, d, _ in wanted})
    checks.equal("rooflines", sorted(r["device"] for r in data["rooflines"]), devices)
    for r in data["rooflines"]:
        known = {(k, level): (wanted[k, d, i]["value"], 1e9 * wanted[k, d, "4.1.1"]["value"]) for k, d in {key[:2] for key in wanted if key[1] == r["device"]}
                 for level, i in (("l1", "4.1.6"), ("l2", "4.1.7"), ("memory", "4.1.8"))}
        same_points(f"points of {r['device']}", {(k, level): (x, y) for k, level, x, y, _, _ in r["points"]}, known)
        checks.equal("roofs", sorted((n, u, v) for n, u, v, _ in r["roofs"]), [("fp32", "FLOP/s", 50e9), ("l2", "B/s", 20e9), ("memory", "B/s", 10e9)])
        for dark in ("light", "dark"):
            checks.equal(f"{dark} picture", titles(r[dark]), drawn(known))
        svg = folder + "/k.svg"
        must(KYMO, "kernels", "--force", "--roofline", svg, "--device", re.escape(r["device"]), path)
        with open(svg) as f:
            checks.equal("as kymo kernels draws it", f.read(), r["light"])
    svg = must(KYMO, "report", "--plot", "roofline", "-o", "-", path)
    checks.equal("the plot has both devices", len(titles(svg)), sum(len(r["points"]) for r in data["rooflines"]))


def numbers(folder):
    """Ten kernels that are all but one: each point of each has its number, none lies on another one or on a point; of others it is told that they are not there."""
    launches = [(f"k{n}", 64, 2000 + 300 * n, 200, 1) for n in range(12)]
    counted = [counters(1000 + 3 * n, 30, 80, 5000 + 7 * n, 900 + n, 100) for n in range(12)]
    _, path = made(folder, launches, counted)
    keep_roofs(folder, path)
    roofline, = page_of(folder, path).head["kernels"]["rooflines"]
    checks.equal("not drawn", (roofline["left_out"], len(roofline["points"])), (6, 30))
    svg = xml.etree.ElementTree.fromstring(roofline["light"].encode())
    at = [(t.text, float(t.get("x")), float(t.get("y")) - 6) for t in svg.iter(NS + "text") if (t.text or "").isdigit() and t.get("text-anchor") == "middle" and float(t.get("y")) < 790]
    checks.equal("numbers", sorted(t for t, _, _ in at), sorted(3 * [str(n) for n in range(1, 11)]))
    near = [(a, b) for n, a in enumerate(at) for b in at[:n] if abs(a[1] - b[1]) < 4.5 * (len(a[0]) + len(b[0])) and abs(a[2] - b[2]) < 12]
    checks.equal("on each other", near, [])
    marks = [[tuple(map(float, xy.split(","))) for xy in e.get("points").split()] for e in svg.iter(NS + "polyline") if e.find(NS + "title") is not None and "FLOP/byte" in e.find(NS + "title").text]
    centres = [((min(x for x, _ in m) + max(x for x, _ in m)) / 2, (min(y for _, y in m) + max(y for _, y in m)) / 2) for m in marks]
    checks.equal("on points", (len(centres), [(t, x, y) for t, x, y in at for cx, cy in centres if abs(x - cx) < 4 and abs(y - cy) < 4]), (30, []))


def titles(svg):
    return sorted(t.text for t in xml.etree.ElementTree.fromstring(svg.encode()).iter(NS + "title") if "FLOP/byte" in (t.text or ""))


def drawn(known):
    return sorted(f"{k}, {level.replace('l', 'L')}: {x:.4g} FLOP/byte, {y:.4g} FLOP/s".replace("memory".replace("l", "L"), "memory") for (k, level), (x, y) in known.items())


def data(folder):
    trace, path = made(folder)
    keep_roofs(folder, path)
    p = page_of(folder, path)
    wanted = same("whole", p.head["kernels"], path)
    checks.equal("kernels and devices", len({k[:2] for k in wanted}), 3)
    gemm = [p.head["kernels"]["kernels"][n]["device"] for n in range(2)]
    checks.equal("two devices of one name", sorted(d.split(" #")[0] for d in gemm), [gemm[0].split(" #")[0]] * 2)
    checks.equal("time and share of both", [(r["kernel"], r["sum_ns"]) for r in rows_of(p.head["kernels"]["tables"][0])], [("gemm", 3000), ("gemm", 1700), (TAG, 500)])
    checks.equal("by hand", [wanted["gemm", next(d for d in gemm if d.endswith(e)), "2.1.1"]["value"] for e in ("0", "1")], [(80 * 1000 + 10 * 700) / 1700, 60])
    rooflines(folder, path, p.head["kernels"], wanted)
    rules = {f["rule"] for f in p.head["findings"]}
    checks.equal("findings join those of the run", {r["rule"] for r in rows_of(p.head["kernels"]["tables"][-1])} <= rules and "memory-bound" in rules, True)
    same("of a selection", page_of(folder, path, "--kernel", "gemm").head["kernels"], path, "--kernel", "gemm")
    checks.equal("without counters", page_of(folder, trace).head["kernels"], None)
    checks.equal("of which no store is made", os.path.exists(trace + "/store.db"), False)
    os.environ["XDG_CACHE_HOME"] = folder + "/none"
    without = page_of(folder, path).head["kernels"]["rooflines"]
    checks.equal(f"without roofs: {without[0].get('why')}", [("kymo calibrate" in r["why"], "light" in r) for r in without], [(True, False)] * 2)
    os.environ["XDG_CACHE_HOME"] = folder + "/cache"
    forms(folder, path, wanted)


def forms(folder, path, wanted):
    said = must(KYMO, "report", "--format", "md", "-o", "-", path)
    whole = must(KYMO, "kernels", "-f", "md", path)
    for line in whole.splitlines():
        if line.startswith("| "):
            checks.equal(f"Markdown: {line[:60]}", line in said.splitlines(), True)
    checks.equal("Markdown: no tag", "<img" in said, False)
    checks.equal("a page without a script", ["Speed of light" in "".join(page_of(folder, path).elements.text)], [True])
    pdf, book = folder + "/a.pdf", folder + "/a.xlsx"
    if run(KYMO, "report", "-o", pdf, path).returncode == 0 and shutil.which("pdftotext"):
        text = re.sub(r"\s+", "", must("pdftotext", "-layout", pdf, "-"))
        checks.equal("PDF: panels and rooflines", ["2.1Speedoflight:gemm" in text, text.count("arithmeticintensity:FLOPforeachbyte")], [True, 2])
    if run(KYMO, "report", "-o", book, path).returncode == 0 and shutil.which("unzip"):
        names = re.findall(r'<sheet name="([^"]+)"', must("unzip", "-p", book, "xl/workbook.xml"))
        checks.equal(f"sheets: {names}", {"0.1", "kernel_metrics", "findings"} <= set(names), True)
        sheet = must("unzip", "-p", book, f"xl/worksheets/sheet{names.index('kernel_metrics') + 1}.xml")
        checks.equal("all metrics of all kernels", len(re.findall(r"<row ", sheet)) - 1, len(wanted))


def shown(w):
    """What stands in the panels: {id: exact value or None}, and of the bars the width."""
    return {i: (None if v == "N/A" else float(t.split()[0]), bar) for i, v, t, bar in w.run(
        "[...document.querySelectorAll('.kernels .panels tr[data-id]')].map(r => { const n = r.querySelector('td.n'), g = r.querySelector('.filled'); "
        "return [r.dataset.id, n.textContent, n.title, g && g.style.width]; })")}


def common_notes(w, folder):
    """What all rows of a table have for a note stands once, below them; shares, peaks and notes together have the whole width."""
    os.makedirs(folder + "/amd")
    _, path = made(folder + "/amd", LAUNCHES[:1], [{"SQ_LDS_BANK_CONFLICT": 20, "SQ_LDS_IDX_ACTIVE": 120, "TCC_HIT_sum": 30, "TCC_MISS_sum": 10}])
    db = sqlite3.connect(path)
    table, = db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'rocpd_info_agent_%'").fetchone()
    db.execute(f"UPDATE \"{table}\" SET vendor_name = 'AMD' WHERE type = 'GPU'")
    db.commit()
    db.close()
    page_of(folder + "/amd", path)
    w.open(folder + "/amd/other.html", "?amd#tab=kernels")
    w.until("window.kymo?.page && document.querySelector('#kernel-panel-2')")
    got = w.run("[...document.querySelectorAll('#kernel-panel-2 p.common')].map(p => p.textContent)")
    checks.equal("once", got, ["all: unproven: never compared with such a device"])
    checks.equal("and not in rows", w.run("document.querySelectorAll('#kernel-panel-2 td.note').length"), 0)
    checks.equal("nothing is cut off", w.run("[...document.querySelectorAll('#kernel-panel-2 .scroll')].every(e => e.scrollWidth <= e.clientWidth)"), True)


def in_browser(folder):
    if not browser.find():
        skip("no Chromium")
    trace, path = made(folder)
    keep_roofs(folder, path)
    _, wanted = told(path)
    page = page_of(folder, path)
    order = [(k["kernel"], k["device"]) for k in page.head["kernels"]["kernels"]]
    with browser.Browser() as w:
        w.open(folder + "/other.html")
        w.until("window.kymo")
        w.key("5")
        checks.equal("the tab", w.run("[kymo.page.tab, document.querySelector('#tab-kernels').getAttribute('aria-selected')]"), ["kernels", "true"])
        for n, (kernel, device) in enumerate(order):
            w.run(f"(s => {{ s.value = '{n}'; s.dispatchEvent(new Event('change')); }})(document.querySelector('.kernels select'))")
            known = {i: r for (k, d, i), r in wanted.items() if (k, d) == (kernel, device)}
            got = shown(w)
            checks.equal(f"{n}: numbers", {i: v for i, (v, _) in got.items() if not i.startswith("1.1.")}, {i: r["value"] for i, r in known.items() if r["value"] is not None})
            checks.equal(f"{n}: bars", {i: round(float(b[:-1]), 3) for i, (_, b) in got.items() if b}, {i: round(min(100, r["share_percent"]), 3) for i, r in known.items() if r.get("share_percent") is not None})
            points = {(k, level): (wanted[k, d, i]["value"], 1e9 * wanted[k, d, "4.1.1"]["value"]) for k, d in order if d == device for level, i in (("l1", "4.1.6"), ("l2", "4.1.7"), ("memory", "4.1.8"))}
            checks.equal(f"{n}: points of the device", sorted(w.run("[...document.querySelectorAll('#kernel-roofline svg title')].map(t => t.textContent).filter(t => t.includes('FLOP/byte'))")), drawn(points))
        light = w.run("document.querySelector('#kernel-roofline svg').innerHTML")
        w.key("t")
        w.key("t")
        checks.equal("dark: another picture", w.run("[document.documentElement.dataset.theme, document.querySelector('#kernel-roofline svg').innerHTML]") == ["dark", light], False)
        w.press(".kernels .choice button")
        got = shown(w)
        checks.equal("with N/A all are there", {i for i in got if not i.startswith("1.1.")}, {i for k, d, i in wanted if (k, d) == order[-1]})
        notes = w.run("Object.fromEntries([...document.querySelectorAll('.kernels .panels tr.none')].map(r => [r.dataset.id, r.querySelector('.note').textContent]))")
        checks.equal("with the reasons", {i: "N/A: " + t for i, t in notes.items() if not i.startswith("1.1.")}, {i: r["note"] for (k, d, i), r in wanted.items() if (k, d) == order[-1] and r["value"] is None})
        w.press(".kernels .choice button")
        limits(w, page.head["kernels"])
        w.until("location.hash.includes('&k=')")  # the address follows a choice a moment later, and is what "back" leads to
        w.press("#table-kernels_0_1 tbody:nth-of-type(2) tr:nth-child(2) button.link")
        checks.equal("chosen in the table", w.run("document.querySelector('.kernels select').value"), "1")
        w.until("location.hash.includes('&k=2')")
        w.run("history.back()")  # to the panel that a finding led to
        w.until("!location.hash.includes('&k=2')")
        w.until("document.querySelector('.kernels select').value !== '1'")
        w.open(folder + "/other.html", "?k#tab=kernels&k=3")
        w.until("window.kymo?.page")
        checks.equal("a link opens it", w.run("[kymo.page.tab, document.querySelector('.kernels select').value, document.querySelector('#kernel-panel-2') !== null]"), ["kernels", "2", True])
        w.open(folder + "/other.html", "?k4#tab=kernels&k=4")
        w.until("window.kymo?.page")
        checks.equal("of another page", w.run("document.querySelector('.kernels select').value"), "0")
        checks.equal("nothing of a name ran", w.run("window.broken === undefined && !document.querySelector('.kernels img')"), True)
        checks.equal("on paper", len(w.pdf()) > 1000, True)
        names = w.run("[...document.querySelectorAll('.kernels [tabindex=\"0\"], .kernels button, .kernels input, .kernels select')].filter(e => !e.textContent.trim() && !e.getAttribute('aria-label')).length")
        checks.equal("every control has a name", names, 0)
        common_notes(w, folder)
        page_of(folder, trace)
        w.open(folder + "/other.html", "?2")
        w.until("window.kymo?.model")
        w.key("5")
        checks.equal("without counters: no tab", w.run("[document.querySelectorAll('[role=tab]').length, kymo.page.tab]"), [4, "overview"])
        checks.equal("problems", w.problems, [])


def limits(w, data):
    """Each finding leads to its panel, of its kernel."""
    found = rows_of(next(t for t in data["tables"] if t["name"] == "findings"))
    checks.equal("findings", w.run("[...document.querySelectorAll('.kernels .finding h3')].map(e => e.textContent)"), [r["finding"] for r in found])
    for n, r in enumerate(found):
        w.run(f"document.querySelectorAll('.kernels .finding button')[{n}].click()")
        chosen = data["kernels"][int(w.run("document.querySelector('.kernels select').value"))]
        checks.equal(f"{r['rule']} leads to its kernel", (chosen["kernel"], chosen["device"]), (r["kernel"], r["device"]))
        number = r["panel"].split(".")[0]
        checks.equal(f"{r['rule']} leads to panel {number}", w.run("document.activeElement.id"), f"kernel-panel-{number}")


def main():
    with Folder() as folder:
        {"data": data, "numbers": numbers, "browser": in_browser}[PART](folder)
    sys.exit(checks.status(4 if PART == "numbers" else 10))


if __name__ == "__main__":
    main()
