#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pages of `kymo report` in a real browser: test_report.py KYMO SYNTH. A trace of known slices in Chrome's format is made a page; what the page counts in random
windows, which kernel it finds for a launch, and what is shown without JavaScript must be what was written."""
import json
import os
import random
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "base"))
sys.path.insert(0, HERE)
import browser  # noqa: E402
from kymotest import Checks, Folder, must, skip  # noqa: E402

checks = Checks()
LONG = "void at::native::(anonymous namespace)::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >(int, float*)"
# Shortened these two were one.
ALIKE = [f"void at::native::{space}::elementwise_kernel_with_index<4, at::native::CUDAFunctor_add<float> >(int, float*)" for space in ("(anonymous namespace)", "(anonymous namespace)::(anonymous namespace)")]
KERNELS = ["gemm<float, 4>", LONG, *ALIKE, "</script><img src=x onerror=window.broken=1>", "softmax"]


def written(path, count=4000):
    """Launches of two threads, ranges about them, kernels of two streams; times in ns. Slices by name: [(start, end)]."""
    chosen = random.Random(5)
    events, slices, origin = [], {}, 1_000_000_000
    free = {7: 0, 9: 0}
    number = 0

    def put(name, category, start, end, tid, **args):
        events.append({"ph": "X", "cat": category, "name": name, "pid": args.pop("pid", 100), "tid": tid, "ts": (origin + start) / 1000, "dur": (end - start) / 1000, "args": args})
        slices.setdefault(name, []).append((start, end))

    for tid, stream in ((100, 7), (101, 9)):
        now = 0
        while number < count * (1 if tid == 100 else 2):
            begins = now
            for _ in range(chosen.randint(1, 20)):
                number += 1
                start = now + chosen.randint(200, 3000)
                end = start + chosen.randint(500, 9000)
                put("cudaLaunchKernel", "cuda_runtime", start, end, tid, correlation=number)
                kernel = max(free[stream] + 1, end + chosen.randint(500, 4000))
                free[stream] = kernel + chosen.randint(1000, 20000)
                put(chosen.choice(KERNELS), "kernel", kernel, free[stream], stream, pid=0, device=0, stream=stream, correlation=number)
                now = end
            now += 100
            put("step", "user_annotation", begins, now, tid)
            now += chosen.randint(100, 100000)
    first = min(s for v in slices.values() for s, _ in v)
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU"}], "traceEvents": events}, f)
    return {name: [(s - first, e - first) for s, e in v] for name, v in slices.items()}


def counted(slices, a, b):
    found = {}
    for name, times in slices.items():
        count = sum(1 for s, _ in times if a <= s < b)
        busy = sum(max(0, min(e, b) - max(s, a)) for s, e in times)
        if count or busy:
            found[name] = [count, busy]
    return found


def many(folder):
    """Of 100 processes of two kinds two are drawn: every tab says so, counts are of them, and what leads to the table of all does."""
    trace, page = os.path.join(folder, "many.json"), os.path.join(folder, "many.html")
    events = [{"ph": "X", "cat": "cpu_op", "name": ("ponder", "toil")[pid % 4 == 0], "pid": 100 + pid, "tid": 100 + pid, "ts": 1000 + 100 * i, "dur": (90, 50)[pid % 4 == 0]} for pid in range(100) for i in range(10)]
    with open(trace, "w", encoding="utf-8") as f:
        json.dump({"traceEvents": events}, f)
    must(sys.argv[1], "report", trace, "-o", page)
    with browser.Browser() as b:
        b.open(page)
        b.until("window.kymo")
        labels = b.run("kymo.model.head.tracks.filter(t => t.parent < 0).map(t => t.label)")
        checks.equal("those that are drawn, and for how many each stands", sorted(int(m[1]) for m in (re.search(r"\+(\d+) like it", text) for text in labels) if m), [24, 74])
        for tab in "1234":
            b.key(tab)
            checks.equal(f"tab {tab} says how many are drawn", b.run("(e => e.offsetParent && e.textContent)(document.querySelector('#drawn'))"), "2 of 100 processes drawn")
        b.press("#drawn")
        checks.equal("it leads to the table", b.run("[kymo.page.tab, kymo.page.tables.made.size > 0 && document.querySelector('.pane-tables .sheet').id]"), ["tables", "table-clusters"])
        got = dict(b.run("kymo.countOps(0, kymo.model.length + 1).then(l => l.map(([o, v]) => [kymo.model.name(o), v[0]]))"))
        checks.equal("counts are of what is drawn", got, {"ponder": 10, "toil": 10})
        checks.equal("many: problems", b.problems, [])


FINDINGS = """(f => { const all = f.querySelectorAll('article.finding'), below = f.querySelector('details.more');
  return [all.length, below && below.querySelectorAll('article.finding').length, below && below.querySelector('summary').textContent, new Set([...all].map(a => a.getAttribute('aria-labelledby'))).size]; })(document.querySelector('.overview'))"""


def repeated(folder):
    """Eight devices that idle alike: five findings in sight, three below a line, none twice."""
    trace, page = os.path.join(folder, "idle.json"), os.path.join(folder, "idle.html")
    events = [{"ph": "X", "cat": "kernel", "name": "k", "pid": d, "tid": 7, "ts": 1000 + 1000 * i, "dur": 100 + d, "args": {"device": d, "stream": 7, "correlation": 100 * d + i + 1}} for d in range(8) for i in range(10)]
    with open(trace, "w", encoding="utf-8") as f:
        json.dump({"schemaVersion": 1, "deviceProperties": [{"id": d, "name": "GPU"} for d in range(8)], "traceEvents": events}, f)
    must(sys.argv[1], "report", trace, "-o", page)
    with browser.Browser() as b:
        b.open(page)
        b.until("window.kymo")
        rules = b.run("kymo.model.head.findings.map(f => f.rule)")
        checks.equal("a finding of each device", rules.count("device-idle"), 8)
        checks.equal("five and three", b.run(FINDINGS), [len(rules), 3, "3 more of device-idle", len(rules)])
        checks.equal("repeated: problems", b.problems, [])


def days(folder):
    """A run of 30 days is told in days, not in seconds: by the digest, on axes, and where a window is told."""
    trace, page = os.path.join(folder, "days.json"), os.path.join(folder, "days.html")
    day = 86400e6
    events = [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1e6 + n * day, "dur": d * day, "args": {"device": 0, "stream": 7, "correlation": n + 1}} for n, d in ((0, 10), (12, 18))]
    with open(trace, "w", encoding="utf-8") as f:
        json.dump({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU"}], "traceEvents": events}, f)
    checks.equal("the digest", must(sys.argv[1], "summary", trace).splitlines()[1].split(",")[0], "30 d")
    axis = re.findall(r">([\d.]+ \w+)</text>", must(sys.argv[1], "report", "--plot", "devices", "-o", "-", trace))
    checks.equal("a picture's axis", axis, ["0 d", "5 d", "10 d", "15 d", "20 d", "25 d", "30 d"])
    must(sys.argv[1], "report", trace, "-o", page)
    with browser.Browser() as b:
        b.open(page)
        b.until("window.kymo")
        b.key("2")
        b.until("kymo.page.timeline.marks && !kymo.page.timeline.waiting")
        checks.equal("marks", b.run("kymo.page.timeline.marks.at.map(t => t / 864e11)"), [0, 5, 10, 15, 20, 25, 30])
        checks.equal("the window", b.run("kymo.page.timeline.readout.textContent"), "30.00 d")
        b.until("document.querySelector('.longest tbody td.n')")
        checks.equal("a duration", b.run("document.querySelector('.longest tbody td.n').textContent"), "18.00 d")
        checks.equal("days: problems", b.problems, [])


def paused(b, folder):
    """Two pauses of one process, one of another: each is drawn where and as long as it was, hatched both ways, and told where it is pointed at; the legend says what that is."""
    trace, page = os.path.join(folder, "paused.kymo"), os.path.join(folder, "paused.html")
    wanted = {0: [(200_000, 500_000), (700_000, 750_000)], 1: [(100_000, 900_000)]}
    for rank, spans in wanted.items():
        must(sys.argv[2], "timed", trace, str(rank), input="call 1 1000 50000\n" + "".join(f"pause {a} {z - a}\n" for a, z in spans) + "call 1 950000 40000\nend 1000000\n")
    must(sys.argv[1], "report", trace, "-o", page)
    b.open(page)
    b.until("window.kymo")
    b.key("2")
    b.until("kymo.page.timeline.read && !kymo.page.timeline.waiting && kymo.page.timeline.rects.length")
    origin = b.run("Math.min(...kymo.model.rows.filter(r => kymo.model.tracks[r.track].kind === 'thread').map(r => r.blocks[0].start))")
    for rank, spans in wanted.items():
        got = b.run(f"""(async () => {{ const m = kymo.model, t = m.tracks.find(t => t.kind === 'group' && t.label === 'not recorded' && m.tracks[t.parent].label.startsWith('rank {rank}')), r = m.rows[t.rows[0]], l = [];
            for (const k of r.blocks) {{ const s = await m.block(k); for (let i = 0; i < s.count; i++) l.push([m.name(s.op[i]), m.kind(s.op[i]), s.start[i] + 1000 - {origin}, s.end[i] + 1000 - {origin}]); }}
            const p = kymo.page.timeline, line = p.lines.ofRow.get(r.number);
            return [l, p.rects.filter(x => x.hatch && x.l === line).map(x => [x.hatch, Math.round(x.a / p.ratio), Math.round(x.b / p.ratio)]), l.map(s => [p.x(s[2] - 1000 + {origin}), p.x(s[3] - 1000 + {origin})].map(Math.round)), l.map(s => kymo.page.input.tipOf(line, p.x((s[2] + s[3]) / 2 - 1000 + {origin})))]; }})()""")
        checks.equal(f"rank {rank}: pauses", got[0], [["recording paused", "pause", a, z] for a, z in spans])
        checks.equal(f"rank {rank}: hatched both ways", [h for h, _, _ in got[1]], [2] * len(spans))
        checks.equal(f"rank {rank}: where they are: {got[1]}, {got[2]}", all(abs(x - y) <= 1 for (_, *drawn), true in zip(got[1], got[2]) for x, y in zip(drawn, true)), True)
        checks.equal(f"rank {rank}: pointed at", [t[:2] for t in got[3]], [["recording paused", t[1]] for t in got[3]])
        checks.equal(f"rank {rank}: how long", [t[1].split(", ")[1] for t in got[3]], [f"{(z - a) / 1000:#.4g} us" for a, z in spans])
    checks.equal("the legend", b.run("document.querySelector('.toolbar .patterns').textContent"), "not recorded")


def worlds(b, folder):
    """Ranks of two worlds have the world before their number, on the timeline and wherever ranks are named, and stand by world and rank."""
    trace, page = os.path.join(folder, "worlds.kymo"), os.path.join(folder, "worlds.html")
    for job in ("7", "9"):
        for rank in range(2):
            must(sys.argv[2], "timed", trace, str(rank), f"node{job}", f"job{job}", job, input=f"call 1 {1000 + rank} 50000\nend 1000000\n")
            file = os.path.join(trace, "raw", f"node1-{4242 + rank}-0.kyr")
            os.rename(file, file.replace("node1", f"node{job}"))
    must(sys.argv[1], "report", trace, "-o", page)
    b.open(page)
    b.until("window.kymo")
    labels = b.run("kymo.model.roots.map(t => t.label)")
    checks.equal(f"each is told apart: {labels}", sorted(re.match(r"rank (\d+\.\d+) ", text)[1] if re.match(r"rank (\d+\.\d+) ", text) else text for text in labels), ["0.0", "0.1", "1.0", "1.1"])
    b.key("2")
    b.until("document.querySelectorAll('.gutter .label').length >= 4")
    shown = b.run("[...document.querySelectorAll('.gutter .label')].map(e => e.querySelector('.name').textContent).filter(t => t.startsWith('rank'))")
    checks.equal("so is each on the timeline", sorted(shown), sorted(labels))
    b.run("kymo.model.slice(kymo.model.roots[3].children[0].rows[0], 0).then(s => kymo.page.timeline.select(s))")
    b.until("document.querySelector('.card.slice dl')")
    checks.equal("and where a slice is told of", b.run("[...document.querySelectorAll('.card.slice dd')].some(e => e.textContent.startsWith(kymo.model.roots[3].label))"), True)


def lost(b, folder):
    """What was lost is hatched both ways, where and as long as it was; what is not drawn is told with its number."""
    trace, page = os.path.join(folder, "demo.kymo"), os.path.join(folder, "demo.html")
    must(sys.argv[2], "demo", trace)
    must(sys.argv[1], "report", trace, "-o", page)
    b.open(page)
    b.until("window.kymo")
    kept = b.run("[...document.querySelectorAll('.kept li')].map(e => e.textContent)")
    checks.equal("not drawn", [k for k in kept if k.startswith("not drawn: ")],
                 ["not drawn: pieces of device work that have no device times (1)", "not drawn: waits, barriers and events recorded, as their calls are there (1)"])
    checks.equal("the mark of losses", b.run("document.querySelector('.chip.bad').textContent"), "17 records lost")
    b.key("2")
    b.until("kymo.page.timeline.read && !kymo.page.timeline.waiting")
    marks = b.run("""(() => { const t = kymo.page.timeline, m = kymo.model, g = m.tracks.find(x => x.kind === 'group').id;
        return [t.rects.filter(r => r.hatch && m.tracks[r.l.track.id].id === g).map(r => [r.hatch, Math.round(r.a / t.ratio), Math.round(r.b / t.ratio)]), [0, 400900].map(x => Math.round(t.x(x)))]; })()""")
    checks.equal("hatched both ways", {k for k, _, _ in marks[0]}, {2})
    ends = [marks[0][0][1], marks[0][-1][2]]
    checks.equal(f"from begin to end, to a pixel: {ends}, {marks[1]}", all(abs(a - b) <= 1 for a, b in zip(ends, marks[1])), True)
    found = []
    for _ in range(2):
        b.run("kymo.page.search.set('records lost')")
        b.run("kymo.page.search.go(true)")
        b.until("kymo.page.timeline.selected && !kymo.page.search.busy")
        found.append(b.run("(s => [kymo.model.name(s.op), kymo.model.kind(s.op), s.start, s.end])(kymo.page.timeline.selected)"))
    checks.equal("losses", found, [["17 records lost", "loss", 0, 140000], ["records lost, whole chunks are missing", "loss", 140000, 400900]])
    colours = b.run("(() => { const t = kymo.page.timeline; kymo.page.search.set(''); t.whole(); t.frame(); const l = t.lines.ofRow.get(t.selected.row), g = t.canvas.getContext('2d'), y = Math.round((l.y - t.top + l.h / 2) * t.ratio), s = new Set();"
                    " const d = g.getImageData(Math.round(t.x(200000) * t.ratio), y, 60, 6).data; for (let i = 0; i < d.length; i += 4) s.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]); return s.size; })()")
    checks.equal("a pattern, not a colour alone", colours > 1, True)


def main():
    if not browser.find():
        skip("no Chromium")
    with Folder() as folder:
        trace, page = os.path.join(folder, "trace.json"), os.path.join(folder, "page.html")
        slices = written(trace)
        must(sys.argv[1], "report", trace, "-o", page)
        many(folder)
        repeated(folder)
        days(folder)
        with browser.Browser() as b:
            b.open(page)
            b.until("window.kymo")
            length = b.run("kymo.model.length")
            checks.equal("length", length, max(e for v in slices.values() for _, e in v))
            chosen = random.Random(6)
            for n in range(100):
                span = max(10, int(length * 10 ** -chosen.uniform(0, 5)))
                a = chosen.randint(0, length - span)
                got = b.run(f"kymo.countOps({a}, {a + span}).then(l => l.filter(([, v]) => v[0] || v[1]).map(([o, v]) => [kymo.model.name(o), v]))")
                checks.equal(f"window {a} to {a + span}", dict(got), counted(slices, a, a + span))
            told = {o["name"]: o for o in b.run("kymo.model.head.ops.map(o => ({ name: kymo.model.head.names[o.name], count: o.count, busy: o.busy }))")}
            for name, times in slices.items():
                checks.equal(f"{name}: in the head", [told[name]["count"], told[name]["busy"]], [len(times), sum(e - s for s, e in times)])
            briefs = {name: b.run(f"kymo.model.brief(kymo.model.ops.findIndex((o, n) => kymo.model.name(n) === {json.dumps(name)}))") for name in KERNELS}
            checks.equal("short as the summary has it", ("anonymous" in briefs[LONG], briefs[LONG].startswith("vectorized_elementwise_kernel"), len(briefs[LONG]) <= 60), (False, True, True))
            checks.equal("two kernels are never called alike", len(set(briefs.values())), len(KERNELS))
            checks.equal("short names stay", briefs["softmax"], "softmax")
            b.key("2")
            b.key("/")
            b.type("softmax")
            b.key("Enter")
            b.until("kymo.page.timeline.selected && kymo.page.timeline.found_links")
            first = min(slices["softmax"])
            checks.equal("the first one", b.run("(s => [s.start, s.end])(kymo.page.timeline.selected)"), list(first))
            b.until("document.activeElement.id === 'rows'")
            b.key("c")
            b.until("kymo.model.name(kymo.page.timeline.selected.op) === 'cudaLaunchKernel' && kymo.page.timeline.found_links")
            b.key("e")
            b.until("kymo.model.name(kymo.page.timeline.selected.op) === 'softmax'")
            checks.equal("and back to the kernel", b.run("kymo.page.timeline.selected.start"), first[0])
            for tab in "134":
                b.key(tab)
            checks.equal("nothing of a name ran", b.run("window.broken === undefined && !document.querySelector('img')"), True)
            checks.equal("problems", b.problems, [])
            lost(b, folder)
            paused(b, folder)
            worlds(b, folder)
            checks.equal("problems", b.problems, [])
            b.call("Emulation.setScriptExecutionDisabled", value=True)
            b.open(page)
            seen = b.call("Runtime.evaluate", expression="document.body.innerText", returnByValue=True)["result"].get("value", "")
            checks.equal("without JavaScript: the digest", "kernels" in seen and "JavaScript" in seen, True)
    sys.exit(checks.status(100))


if __name__ == "__main__":
    main()
