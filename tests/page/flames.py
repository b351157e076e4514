#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Flame graphs of the page and of `kymo report --plot`: each stack's numbers against known records, the folded writer and the JSON of the same trace; folding of small
stacks; hostile names, two processes of two threads, two devices of one name; in a browser choice, search, zoom, keys.

    flames.py KYMO SYNTH made|recorded|off_cpu|browser [PROGRAM...]"""
import collections
import json
import os
import re
import shutil
import sys
import xml.etree.ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("", "../base", "../cli"):
    sys.path.insert(0, os.path.join(HERE, folder))
import browser  # noqa: E402
import page_file  # noqa: E402
from kymotest import Checks, Folder, must, run, skip  # noqa: E402

KYMO, SYNTH, PART, PROGRAMS = *map(os.path.abspath, sys.argv[1:3]), sys.argv[3], sys.argv[4:]
checks = Checks()
TAG, TURNED, PROTO = "</script><img src=x onerror=window.broken=1>", "evil\u202egpj;\u2028=1+1", "__proto__"
SPACE = "{http://www.w3.org/2000/svg}"


def graph(head, name):
    return next((g for g in head["flames"]["graphs"] if g["name"] == name), None)


def stacks(head, name):
    """{path: (first value, second)} of what is in frames themselves; others by None and their number."""
    g, names, paths, found = graph(head, name), head["flames"]["names"], {0: ()}, {}
    for n, (parent, frame, first, second, *others) in enumerate(g["nodes"], 1):
        paths[n] = (*paths[parent], names[frame] if frame >= 0 else (None, *others))
        if first or second:
            checks.equal("a path is one node", paths[n] in found, False)
            found[paths[n]] = (first, second)
    return found


def page_of(trace, *options):
    out = trace + ".html"
    must(KYMO, "report", "-f", "-o", out, *options, trace)
    return page_file.Page(out).head


NAME = 400  # of a frame's name, so much is in the page; C++ has longer ones


def folded(trace):
    """As the folded writer has it: {line: number}, lines of one stack together; names as long as the page has them."""
    found = collections.Counter()
    for line in must(KYMO, "export", "--to", "folded", "-o", "-", trace).split("\n")[:-1]:
        stack, _, number = line.rpartition(" ")
        found[";".join(frame[:NAME] for frame in stack.split(";"))] += int(number)
    return dict(found)


def as_folded(path):
    return ";".join("".join("_" if c < " " else "," if c == ";" else c for c in frame) for frame in path)


# ---- records that are known ----------------------------------------------------------------------------

def written(path, weights=True, small=0, processes=2):
    """Samples, ranges, calls and device work: ({(pid, tid, frame, ...): [ns, samples]}, {(pid, tid, ..., device, work): [ns, times]})."""
    events, samples, work, number = [], {}, {}, 0

    def put(kind, name, pid, tid, start, ns, **args):
        events.append({"ph": "X", "cat": kind, "name": name, "pid": pid, "tid": tid, "ts": (10**9 + start) / 1000, "dur": ns / 1000, "args": args})

    def add(to, key, ns):
        to.setdefault(key, [0, 0])
        to[key][0] += ns
        to[key][1] += 1

    def sample(pid, tid, time, frames, ns):
        events.append({"ph": "P", "cat": "sample", "name": "sample", "pid": pid, "tid": tid, "ts": (10**9 + time) / 1000, "stack": list(frames), "args": {"weight": ns if weights else 0}})
        add(samples, (pid, tid, *frames), ns if weights else 1)

    for p in range(processes):
        pid = 100 * (p + 1)
        for t in range(2):
            tid = pid + t
            for i in range(30):
                begin = 1_000_000 * i
                put("user_annotation", f"step {i}", pid, tid, begin, 900_000)
                put("cpu_op", TAG, pid, tid, begin + 1000, 500_000)
                for k, name in enumerate((TURNED, PROTO, "copy")):
                    number += 1
                    device, ns = (i + k) % 2, 1000 * (k + 1) + 10 * i + t + 7 * p
                    put("cuda_runtime", "cudaLaunchKernel" if k < 2 else "cudaMemcpyAsync", pid, tid, begin + 2000 + 10_000 * k, 5000, correlation=number)
                    start = begin + 30_000 + 10_000 * k
                    if k < 2:
                        put("kernel", name, device, 7 + 2 * p + t, start, ns, device=device, stream=7 + 2 * p + t, correlation=number)
                    else:
                        put("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", device, 7 + 2 * p + t, start, ns, device=device, stream=7 + 2 * p + t, correlation=number, bytes=64)
                    add(work, (pid, tid, "step *", TAG, "cudaLaunchKernel" if k < 2 else "cudaMemcpyAsync", f"GPU #{device}", name), ns)
                sample(pid, tid, begin + 7000, ("main", TURNED, f"leaf {i % 3}"), 1000 + i + t)
                sample(pid, tid, begin + 8000, ("main", TURNED), 77)
                sample(pid, tid, begin + 9000, ("main", PROTO, TAG), 10 + p)
    for i in range(small):
        sample(100, 100, 31_000_000 + i, ("main", f"group {i // 100}", f"small {i}"), 1)
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU"}, {"id": 1, "name": "GPU"}], "traceEvents": events}, f)
    return samples, work


def by_numbers(found):
    """Paths whose first frames are processes and threads, by their numbers."""
    return {(int(path[0].split()[-1]), int(path[1].split()[-1]), *path[2:]): list(v) for path, v in found.items()}


def samples_as_known(folder):
    trace = os.path.join(folder, "a.json")
    samples, work = written(trace)
    head = page_of(trace)
    got = stacks(head, "samples")
    checks.equal("samples: every stack", by_numbers(got), samples)
    checks.equal("samples: as the folded writer has them", {as_folded(p): v[0] for p, v in got.items()}, folded(trace))
    checks.equal("samples: what their numbers are", graph(head, "samples")["values"], [["time", "ns"], ["samples", "count"]])
    found = by_numbers(stacks(head, "device"))
    names = {k[-1] for k in found}
    checks.equal("device time: copies by what they are", len(names - {TURNED, PROTO}), 1)
    copy, = names - {TURNED, PROTO}
    checks.equal("device time: every path", found, {(*k[:-1], copy if k[-1] == "copy" else k[-1]): v for k, v in work.items()})
    checks.equal("no stacks of calls: no such graph", [g["name"] for g in head["flames"]["graphs"]], ["samples", "device"])
    checks.equal("both devices", {k[-2] for k in found}, {"GPU #0", "GPU #1"})
    pictures(folder, trace, samples, found)


def pictures(folder, trace, samples, work):
    for plot, known in (("flame_samples", samples), ("flame_device", work)):
        root = xml.etree.ElementTree.fromstring(must(KYMO, "report", "--plot", plot, "-o", "-", trace).encode())
        bars = [(r.find(SPACE + "title").text, float(r.get("y")), float(r.get("width"))) for r in root.iter(SPACE + "rect") if r.find(SPACE + "title") is not None]
        whole = sum(v[0] for v in known.values())
        rows = collections.defaultdict(collections.Counter)
        for path, (ns, _) in known.items():
            for level in range(len(path)):
                rows[level + 1][path[:level + 1]] += ns
        wanted = {round(136 + 24.0 * level, 1): sorted(v.values()) for level, v in rows.items()}
        got = collections.defaultdict(list)
        for title, y, width in bars:
            ns = int(re.search(r": (\d+) ns ", title)[1])
            checks.equal(f"{plot}: width of {title[:40]}", abs(width + 0.7 - ns / whole * 1520) < 0.02 or width <= 1, True)
            got[round(y, 1)].append(ns)
        checks.equal(f"{plot}: all", got.pop(136.0), [whole])
        checks.equal(f"{plot}: rows", {y: sorted(v) for y, v in got.items()}, wanted)
        said = "".join([t.text for t in root.iter(SPACE + "text")] + [title for title, _, _ in bars])
        checks.equal(f"{plot}: hostile names", ("\u202e" in said, "\\u202e" in said), (False, True))
    pdf = os.path.join(folder, "a.pdf")
    if run(KYMO, "report", "-o", pdf, trace).returncode == 0 and shutil.which("pdftotext"):
        said = must("pdftotext", "-layout", pdf, "-")
        checks.equal("PDF has them", ["Sampled call stacks" in said, "Device time by what submitted it" in said], [True, True])


def small_ones(folder):
    """30,000 small stacks: what is largest stays, the others are counted, and nothing of their time is missing."""
    trace = os.path.join(folder, "small.json")
    samples, _ = written(trace, small=30_000)
    head = page_of(trace)
    got, g = stacks(head, "samples"), graph(head, "samples")
    plain = {p: v for p, v in got.items() if not isinstance(p[-1], tuple)}
    others = {p: v for p, v in got.items() if isinstance(p[-1], tuple)}
    checks.equal("bounded", [len(g["nodes"]) <= 12_000, len(plain) < 6000], [True, True])
    checks.equal("nothing is missing", [sum(v[i] for v in got.values()) for i in (0, 1)], [sum(v[i] for v in samples.values()) for i in (0, 1)])
    checks.equal("what is there is exact", {k: v for k, v in by_numbers(plain).items() if samples.get(k) != v}, {})
    checks.equal("others are counted", (sum(p[-1][1] for p in others), g["folded"]), (len(samples) - len(plain), len(samples) - len(plain)))
    checks.equal("each has as many samples as stacks", [v[1] for v in others.values()], [p[-1][1] for p in others])
    checks.equal("size of the page", os.path.getsize(trace + ".html") < 3_000_000, True)


def many_processes(folder):
    """Of more than 64 processes stacks are together."""
    trace = os.path.join(folder, "many.json")
    samples, work = written(trace, processes=70)
    head = page_of(trace)
    for name, known in (("samples", samples), ("device", work)):
        wanted = collections.defaultdict(lambda: [0, 0])
        for path, (ns, n) in known.items():
            key = path[2:-1] + ("read",) if path[-1] == "copy" else path[2:]
            wanted[key] = [wanted[key][0] + ns, wanted[key][1] + n]
        got = stacks(head, name)
        copies = {p[-1] for p in got} - {p[-1] for p in wanted}
        got = {(*p[:-1], "read" if p[-1] in copies else p[-1]): list(v) for p, v in got.items()}
        checks.equal(f"{name} of many processes", got, dict(wanted))
        checks.equal(f"{name}: together", graph(head, name)["apart"], False)


def counted(folder):
    """Samples that stand for no time are counted."""
    trace = os.path.join(folder, "counted.json")
    samples, _ = written(trace, weights=False)
    head = page_of(trace)
    got = stacks(head, "samples")
    checks.equal("counted: every stack", {k: v[0] for k, v in by_numbers(got).items()}, {k: v[0] for k, v in samples.items()})
    checks.equal("counted: as the folded writer", {as_folded(p): v[0] for p, v in got.items()}, folded(trace))
    checks.equal("counted: unit", graph(head, "samples")["values"], [["samples", "count"], ["samples", "count"]])


def without(folder):
    """Work that no call is known of; a run that has nothing of all this."""
    trace = os.path.join(folder, "alone.json")
    with open(trace, "w", encoding="utf-8") as f:
        json.dump({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU"}], "traceEvents": [
            {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1000 + 10 * i, "dur": 5, "args": {"device": 0, "stream": 7}} for i in range(10)]}, f)
    got = stacks(page_of(trace), "device")
    checks.equal("no call", [(p[1:], v) for p, v in got.items()], [(("(no call is known)", "k"), (50_000, 10))])
    host = os.path.join(folder, "host.json")
    with open(host, "w", encoding="utf-8") as f:
        json.dump({"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "only", "pid": 1, "tid": 1, "ts": 1000, "dur": 5}]}, f)
    checks.equal("nothing", page_of(host)["flames"], {"names": [], "graphs": []})
    demo = os.path.join(folder, "demo.kymo")
    must(SYNTH, "demo", demo)
    untimed = json.loads(must(KYMO, "query", "-f", "json", demo, "SELECT count(*) AS n FROM (SELECT untimed FROM dispatch UNION ALL SELECT untimed FROM copy) WHERE untimed <> 0"))[0]["n"]
    checks.equal("what is not in it", (untimed, graph(page_of(demo), "device")["left_out"]), (1, "1 piece of device work without device times"))
    said = must(KYMO, "report", "--plot", "flame_device", "-o", "-", demo)
    checks.equal("in the picture as well", "not in it: 1 piece of device work without device times" in said, True)
    done = run(KYMO, "report", "--plot", "flame_samples", "-o", os.path.join(folder, "no.svg"), trace)
    checks.equal("no samples: which there are", (done.returncode, "flame_device" in done.stderr, "flame_device_stacks" in done.stderr), (3, True, False))


def made(folder):
    samples_as_known(folder)
    small_ones(folder)
    many_processes(folder)
    counted(folder)
    without(folder)


# ---- recordings ----------------------------------------------------------------------------------------

def function_of(site):
    return site.get("function") or f'{site["module"]}+{site["offset"]}'


def functions_of(site):
    """With those that it is inlined into, the outermost first."""
    outer = site.get("inlined_into", [])
    names = [function_of(site), *(o["function"] for o in outer)]
    return tuple(n + (" (inlined)" if i < len(outer) else "") for i, n in enumerate(names))[::-1]


def waited_in(trace, stack):
    """The outermost function first: Kymo's own are left out, but those that the thread waited in, which are one."""
    own = [trace["sites"][s]["module"].startswith("libkymo") for s in trace["stacks"][stack]]
    program = [f for s, o in zip(reversed(trace["stacks"][stack]), reversed(own)) if not o for f in functions_of(trace["sites"][s])]
    return (*program, "(Kymo)") if own[0] else tuple(program)


def shortened(counts):
    """The page cuts names that are very long."""
    short = collections.defaultdict(lambda: [0, 0])
    for path, (ns, times) in counts.items():
        key = tuple(name[:200] for name in path)
        short[key][0] += ns
        short[key][1] += times
    return dict(short)


def recorded(folder):
    """Device time by the stacks and paths of calls, and times without a processor, as the JSON of the trace has them."""
    name = os.path.join(folder, "heat.kymo")
    empty = os.path.join(folder, "empty.kymo")
    must(KYMO, "run", "--no-summary", "-o", empty, "true")
    checks.equal("of a run that does nothing", page_of(empty)["flames"], {"names": [], "graphs": []})
    options = ["--off-cpu"] if run(KYMO, "run", "--off-cpu", "--no-summary", "-f", "-o", os.path.join(folder, "probe.kymo"), "true").returncode == 0 else []
    must(KYMO, "run", "--no-summary", "--stacks", "--sample=500", *options, "-o", name, *PROGRAMS)
    head = page_of(name)
    data = json.loads(must(KYMO, "export", "--to", "json", "-o", "-", name))
    trace, records = data["trace"], data["records"]
    calls = [r for r in records if r["kind"] == "call" and r["domain"] != "off_cpu"]
    of_thread = collections.defaultdict(list)
    for r in calls + [r for r in records if r["kind"] == "other" and r["domain"] != "sample"]:
        if r.get("end", 0) > r["start"]:
            of_thread[r["thread"]].append(r)
    by_id = {r["id"]: r for r in calls}
    process = os.path.basename(PROGRAMS[0])
    label = lambda thread: (process, f'{trace["threads"][thread].get("name") or "thread"} {trace["threads"][thread]["tid"]}')

    def path(r):
        around = [c for c in of_thread[r["thread"]] if c["start"] <= r["start"] and c["end"] >= r["end"] and c is not r]
        return tuple(c["op"] for c in sorted(around, key=lambda c: (c["start"], -c["end"])))

    paths, by_stack = collections.defaultdict(lambda: [0, 0]), collections.defaultdict(lambda: [0, 0])
    known = {}
    for r in records:
        if r["kind"] not in ("dispatch", "copy") or "untimed" in r:
            continue
        call, what = by_id[r["correlation"]], r.get("kernel_name") or r["op"]
        if call["id"] not in known:
            frames = (tuple(f for s in reversed(trace["stacks"][call["stack"]]) for f in functions_of(trace["sites"][s])) if call.get("stack")
                      else functions_of(trace["sites"][call["site"]]))
            known[call["id"]] = (label(call["thread"]) + path(call) + (call["op"],), label(call["thread"]) + frames + (call["op"],))
        for to, key in zip((paths, by_stack), known[call["id"]]):
            to[(*key, what)][0] += r["end"] - r["start"]
            to[(*key, what)][1] += 1
    checks.equal("enough work", len(by_stack) >= 3 and sum(v[1] for v in by_stack.values()) > 100, True)
    checks.equal("device time by paths", {k: list(v) for k, v in stacks(head, "device").items()}, dict(paths))
    checks.equal("device time by stacks", {k: list(v) for k, v in stacks(head, "device_stacks").items()}, dict(by_stack))
    checks.equal("samples", {as_folded(p): v[0] for p, v in stacks(head, "samples").items()}, folded(name))
    if options:
        off = collections.defaultdict(lambda: [0, 0])
        for r in records:
            own = (trace["threads"][r["thread"]].get("name") or "").startswith("kymo-")  # Kymo's threads are none of the program's
            if r["domain"] == "off_cpu" and r["end"] > r["start"] and not own:
                around = [c for c in of_thread[r["thread"]] if c["start"] <= r["start"] < c["end"]]
                stack = r["args"].get("stack")
                inside = (waited_in(trace, stack) if stack else (c["op"] for c in sorted(around, key=lambda c: (c["start"], -c["end"]))))
                key = (*label(r["thread"]), *inside, r["op"])
                off[key][0] += r["end"] - r["start"]
                off[key][1] += 1
        drawn, off = shortened(stacks(head, "off_cpu")), shortened(off)
        checks.equal("without a processor", {k: v for k, v in drawn.items() if off.get(k) != v}, {k: v for k, v in off.items() if drawn.get(k) != v})
        checks.equal("without a processor: some", len(off) > 2, True)


def off_cpu(folder):
    """Times without a processor by stack, of threads that wait in known functions, as the table of the summary has them."""
    trace = os.path.join(folder, "off.kymo")
    done = run(KYMO, "run", "--off-cpu", "--no-summary", "-o", trace, *PROGRAMS)
    if done.returncode:
        skip(f"no perf events here: {done.stderr}")
    told = [(int(tid), reason, int(ns)) for tid, reason, ns in re.findall(r"^(\d+)\t(\w+)\t(\d+)$", done.stdout, re.M)]
    drawn, by_thread = collections.defaultdict(lambda: [0, 0]), collections.Counter()
    told_by = str(min(tid for tid, _, _ in told))  # its children, which it started to wait for them, sleep as well
    for (process, thread, *frames, reason), (ns, times) in stacks(page_of(trace), "off_cpu").items():
        drawn[";".join(frames), reason][0] += ns
        drawn[";".join(frames), reason][1] += times
        for function in ("waiter", "sleep_ms"):
            by_thread[int(thread.rsplit(" ", 1)[1]), function, reason] += ns if function in frames and told_by in re.findall(r"\d+", process) else 0
    table, = (t for t in json.loads(must(KYMO, "summary", "--all", "-f", "json", "--tables", "off_cpu_stacks", trace))["tables"])
    wanted = {(row["stack"], row["wait"]): [row["ns"], row["times"]] for row in table["rows"]}
    checks.equal("a row a stack", len(table["rows"]), len(wanted))
    checks.equal("by stack", {k: v for k, v in drawn.items() if k[0]}, wanted)
    for function, reason, threads in (("waiter", "wait_lock", 2), ("sleep_ms", "sleep", 1)):
        found = {tid: ns for (tid, in_, why), ns in by_thread.items() if (in_, why) == (function, reason) and ns}
        known = {tid: ns for tid, why, ns in told if why == reason}
        checks.equal(f"{function}: threads", (sorted(found), len(found)), (sorted(known), threads))
        # What the program measures has its own way there and back in it.
        checks.equal(f"{function}: times {found} {known}", all(0.5 * known[t] < ns <= known[t] + 1000 for t, ns in found.items()), True)


# ---- in a browser --------------------------------------------------------------------------------------

def in_browser(folder):
    if not browser.find():
        skip("no Chromium")
    trace = os.path.join(folder, "a.json")
    samples, work = written(trace)
    page_of(trace)
    plot = "kymo.page.plots.all.find(p => p.name === 'flame')"
    frames = f"(({{ tree, root, at, marked, value, state }}) => ({{ root: tree.name(root), at: tree.name(at), marked: marked && marked.size, whole: value[0], state }}))({plot}.frames())"
    total = lambda known: sum(v[0] for v in known.values())
    with browser.Browser() as b:
        b.open(trace + ".html")
        b.until("window.kymo")
        b.key("4")
        b.until(f"({plot}).tabled && ({plot}).frames().tree")
        choose = lambda label, value: b.run(f"(s => {{ s.value = '{value}'; s.dispatchEvent(new Event('change')); }})(document.querySelector('#plot-flame select[aria-label=\"{label}\"]'))")
        checks.equal("what there is", b.run("[...document.querySelectorAll('#plot-flame select')[0].options].map(o => o.value)"), ["samples", "device", "calls"])
        for name, known in (("samples", samples), ("device", work)):
            choose("Flame graph of", name)
            checks.equal(f"{name}: all", b.run(frames)["whole"], total(known))
            rows = b.run(f"({plot}).tabled.rows()")
            checks.equal(f"{name}: the table's own times", sum(r[3] for r in rows), total(known))
            checks.equal(f"{name}: a row a frame", len(rows), len({p[:n + 1] for p in known for n in range(len(p))}))
            choose("Width", "1")
            checks.equal(f"{name}: by number", b.run(frames)["whole"], sum(v[1] for v in known.values()))
        choose("Flame graph of", "samples")
        b.press("#plot-flame input")
        b.type("leaf 1")
        share = 100 * sum(v[0] for k, v in samples.items() if "leaf 1" in k) / total(samples)
        found = b.run(frames)
        checks.equal("found", (found["marked"], found["state"].split(", ")[1]), (4, f"{share:.2f} %" if share < 9.95 else f"{share:.1f} %"))
        b.run("(i => { i.value = '/main|leaf/'; i.dispatchEvent(new Event('input')); })(document.querySelector('#plot-flame input'))")
        checks.equal("what lies in what fits counts once", b.run(frames)["state"].split(", ")[1], "100 %")
        b.run("(i => { i.value = '/(/'; i.dispatchEvent(new Event('input')); })(document.querySelector('#plot-flame input'))")
        checks.equal("no expression", b.run("document.querySelector('#plot-flame input').getAttribute('aria-invalid')"), "true")
        b.run("(i => { i.value = ''; i.dispatchEvent(new Event('input')); })(document.querySelector('#plot-flame input'))")
        # A click on a frame zooms in, on the same one out.
        b.run("document.querySelector('#plot-flame').scrollIntoView()")
        at = f"(p => {{ const r = p.canvas.getBoundingClientRect(), x = p.frames().places.find(f => p.frames().tree.name(f.node) === 'main'); return [r.x + x.x + x.w / 2, r.y + x.y + 8]; }})({plot})"
        b.click(*b.run(at))
        checks.equal("zoomed", (b.run(frames)["root"], b.run("document.querySelector('#plot-flame button.small:not([disabled])') !== null")), ("main", True))
        told = b.run(f"({plot}).tell(20, 10)")
        checks.equal(f"told: {told}", told.startswith("main: time "), True)
        b.run("[...document.querySelectorAll('#plot-flame button')].find(e => e.textContent === 'Reset zoom').click()")
        checks.equal("reset", b.run(frames)["root"], "all")
        # Keys.
        b.run("document.querySelector('#plot-flame canvas').focus()")
        for _ in range(3):
            b.key("ArrowDown")
        checks.equal("down to the largest", (b.run(frames)["at"], b.run("document.querySelector('#plot-flame .told').textContent").startswith("main: ")), ("main", True))
        b.key("Enter")
        checks.equal("Enter zooms", b.run(frames)["root"], "main")
        b.key("ArrowDown")
        first = b.run(frames)["at"]
        b.key("ArrowRight")
        checks.equal("the next frame", b.run(frames)["at"] != first, True)
        b.key("Escape")
        checks.equal("Escape", [b.run(frames)["root"], b.run("kymo.page.tab")], ["all", "plots"])
        # One process, one thread.
        options = dict(b.run("[...document.querySelector('#plot-flame select[aria-label=\"Processes and threads\"]').options].map(o => [o.textContent, o.value])"))
        checks.equal("processes and threads", len(options), 1 + 2 + 4)
        for text, value in options.items():
            if value == "all":
                continue
            choose("Processes and threads", value)
            numbers = [int(part.split()[-1]) for part in text.split(" › ")]
            wanted = sum(v[0] for k, v in samples.items() if list(k[:len(numbers)]) == numbers)
            checks.equal(f"of {text}", b.run(f"(f => f.value[f.root])({plot}.frames())"), wanted)
        choose("Flame graph of", "calls")
        b.until(f"({plot}).frames().tree?.tree")
        device = b.run(f"(p => p.tabled.rows().filter(r => !r[0].includes('›')).reduce((n, r) => n + r[2], 0))({plot})")
        checks.equal("calls: device time of all", device, total(work))
        checks.equal("nothing of a name ran", b.run("window.broken === undefined && !document.querySelector('img')"), True)
        b.media(**{"prefers-color-scheme": "dark"})
        b.until("kymo.page.timeline.palette.dark")
        checks.equal("the picture has a name and can be reached", b.run("(c => [c.getAttribute('role'), c.tabIndex, c.getAttribute('aria-label').length > 40])(document.querySelector('#plot-flame canvas'))"), ["img", 0, True])
        checks.equal("problems", b.problems, [])


def main():
    with Folder() as folder:
        {"made": made, "recorded": recorded, "off_cpu": off_cpu, "browser": in_browser}[PART](folder)
    sys.exit(checks.status(5 if PART == "off_cpu" else 10))


if __name__ == "__main__":
    main()
