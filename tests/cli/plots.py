#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plots of `kymo report --plot`, PDF, Markdown and workbooks: the lengths and colours that SVG draws, reckoned back, are those of records that are known, and of
`kymo summary -f json`; pictures have their size and are not empty; PDF has the digest; outputs that cannot be written.

    plots.py KYMO PART [PROGRAM...]"""
import glob
import json
import os
import random
import re
import resource
import shutil
import struct
import subprocess
import sys
import xml.etree.ElementTree
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import expect, must, run  # noqa: E402

KYMO, PART, PROGRAMS = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3:]
checks = kymotest.Checks()
SPACE = "{http://www.w3.org/2000/svg}"
HOSTILE = "evil\u202egpj <b>&\x1b[31m\""
MISSING = "was built without"


def svg(trace, plot, *options):
    return xml.etree.ElementTree.fromstring(must(KYMO, "report", *options, "--plot", plot, "-o", "-", trace).encode())


def rects(root):
    """Those that tell something: (title, x, y, width, height, fill)."""
    return [(r.find(SPACE + "title").text, *(float(r.get(k)) for k in ("x", "y", "width", "height")), r.get("fill"))
            for r in root.iter(SPACE + "rect") if r.find(SPACE + "title") is not None]


def texts(root):
    return [t.text for t in root.iter(SPACE + "text")]


def near(what, got, wanted, most=1e-4):
    checks.equal(f"{what}: {got} and {wanted} are near", abs(got - wanted) <= most * max(1, abs(wanted)), True)


def tables(trace, *options):
    return {t["name"]: t["rows"] for t in json.loads(must(KYMO, "summary", "-f", "json", *options, trace))["tables"]}


# ---- records that are known ----------------------------------------------------------------------------

CIVIDIS = [0x00204d, 0x00336f, 0x39486b, 0x575c6d, 0x707173, 0x8a8779, 0xa69d75, 0xc4b56c, 0xe4cf5b, 0xffea46]


def cividis(share):
    at = min(1, max(0, share)) * 9
    n = min(8, int(at))
    a, b = ([v >> 16, v >> 8 & 255, v & 255] for v in CIVIDIS[n:n + 2])
    return [x + (y - x) * (at - n) for x, y in zip(a, b)]


def written(path):
    """Kernels and copies of two devices of one name, in ns since the first: ([device][(kind, start, end, bytes)], length)."""
    chosen, events, work, origin = random.Random(7), [], [[], []], 1_000_000_000
    for device in (0, 1):
        for stream, kind in ((7, "kernel"), (8, "gpu_memcpy")):
            now = 0 if device == 0 and kind == "kernel" else chosen.randint(5_000, 90_000)
            for n in range(400):
                end = now + chosen.choice((300, 5_000, 40_000, 700_000)) * (device + 1) + chosen.randint(0, 50)
                args = {"device": device, "stream": stream}
                size = chosen.randint(1, 1 << 20) if kind == "gpu_memcpy" else 0
                if size:
                    args["bytes"] = size
                name = HOSTILE if kind == "kernel" else "Memcpy HtoD (Pinned -> Device)"
                events.append({"ph": "X", "cat": kind, "name": name, "pid": device, "tid": stream, "ts": (origin + now) / 1000, "dur": (end - now) / 1000, "args": args})
                work[device].append((kind, now, end, size))
                now = end + chosen.choice((0, 100, 60_000))
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": HOSTILE}, {"id": 1, "name": HOSTILE}], "traceEvents": events}, f)
    return work, max(e for w in work for _, _, e, _ in w)


def within(spans, start, end):
    """Of a union."""
    total, reached = 0, start
    for a, b in sorted(spans):
        a, b = max(a, reached), min(b, end)
        if b > a:
            total += b - a
            reached = b
    return total


UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


def in_ns(text):
    number, unit = text.split()
    return float(number) * UNITS[unit]


def time_axis(what, root, left, right, length):
    """Marks lie where their numbers say."""
    marks = [(float(t.get("x")), t.text) for t in root.iter(SPACE + "text") if re.fullmatch(r"[\d.]+ (ns|us|ms|s)", t.text or "")]
    checks.equal(f"{what}: enough marks", len(marks) >= 4, True)
    for x, text in marks:
        near(f"{what}: mark {text}", left + in_ns(text) / length * (right - left), x)


def by_row(found):
    rows = {}
    for r in found:
        rows.setdefault(round(r[2], 2), []).append(r)
    return [rows[y] for y in sorted(rows)]


def test_devices(trace, work, length):
    root = svg(trace, "devices")
    rows = by_row(rects(root))
    time_axis("devices", root, 420, 1520, length)
    checks.equal("devices", (len(rows), [len(r) for r in rows]), (2, [300, 300]))
    for device, row in enumerate(rows):
        for k, (title, x, _, width, _, fill) in enumerate(sorted(row, key=lambda r: r[1])):
            a, b = int(length / 300 * k + 0.5), int(length / 300 * (k + 1) + 0.5)
            share = within([(s, e) for _, s, e, _ in work[device]], a, b) / (b - a)
            near(f"busy of {device} in {k}", float(title.split()[0]), 100 * share, 2e-3)
            near("place", x, 420 + 1100 / 300 * k, 1e-3)
            near("width", width, 1100 / 300, 1e-3)
            drawn = int(fill[1:], 16)
            wanted = cividis(share) if share else [0xf0, 0xf0, 0xed]
            checks.equal(f"colour of {device} in {k}", max(abs(w - (drawn >> s & 255)) for w, s in zip(wanted, (16, 8, 0))) <= 1, True)


def test_overlap(trace, work, length):
    rows = by_row(rects(svg(trace, "overlap")))
    for device, row in enumerate(rows):
        kernels, copies = ([(s, e) for k, s, e, _ in work[device] if k == kind] for kind in ("kernel", "gpu_memcpy"))
        a, b, every = within(kernels, 0, length), within(copies, 0, length), within(kernels + copies, 0, length)
        wanted = [every - b, a + b - every, every - a, length - every]
        checks.equal("parts", [r[0].split(":")[0] for r in row], ["kernels alone", "both at once", "copies and the like alone", "neither"])
        for (title, _, _, width, _, _), ns in zip(row, wanted):
            checks.equal(title, int(title.split(": ")[1].split()[0]), ns)
            near(title, width / 1100 * length, ns, 1e-3)


def textures(root):
    """Of each rectangle with a title its texture: that of the rectangle without one that follows at its place, or none."""
    found, last = [], None
    for r in root.iter(SPACE + "rect"):
        place = tuple(r.get(k) for k in ("x", "y", "width", "height"))
        title = r.find(SPACE + "title")
        if title is not None:
            last = [title.text, place, r.get("fill"), ""]
            found.append(last)
        elif last and place == last[1] and r.get("fill").startswith("url"):
            last[3] = r.get("fill")
    return found


def light(colour):
    return 0.3 * int(colour[1:3], 16) + 0.59 * int(colour[3:5], 16) + 0.11 * int(colour[5:7], 16)


def test_textures(trace):
    """Parts that lie beside each other differ without their colours, and look in the legend as they are drawn."""
    for plot in ("idle", "overlap", "bandwidth"):
        root = svg(trace, plot)
        known = {p.get("id") for p in root.iter(SPACE + "pattern")}
        found, looks = textures(root), {}
        for (name, place, fill, texture), (_, other, next_fill, next_texture) in zip(found, found[1:]):
            checks.equal(f"{plot}: {texture} is there", not texture or texture[5:-1] in known, True)
            if place[0 if plot == "bandwidth" else 1] == other[0 if plot == "bandwidth" else 1]:
                checks.equal(f"{plot}: {name} and its neighbour differ", (texture != next_texture or abs(light(fill) - light(next_fill)) > 40), True)
            looks[name.split(":")[0]] = (fill, texture)
        swatches = [(r.get("fill"), float(r.get("x")), float(r.get("y"))) for r in root.iter(SPACE + "rect") if r.get("width") == "32.0000"]
        drawn = {}
        for fill, x, y in swatches:
            drawn.setdefault((x, y), []).append(fill)
        legend = {tuple(f) for f in drawn.values()}
        checks.equal(f"{plot}: no two look alike in the legend", len(drawn), len(legend))
        if plot != "bandwidth":
            checks.equal(f"{plot}: the legend", legend, {tuple(x for x in look if x) for look in looks.values()} | {tuple(x for x in (f, t) if x) for _, _, f, t in found[-1:]})


def test_durations(trace, work):
    wanted = {}
    for kind, s, e, _ in work[0] + work[1]:
        if kind == "kernel":
            wanted[(e - s).bit_length() - 1] = wanted.get((e - s).bit_length() - 1, 0) + 1
    root = svg(trace, "durations")
    found = rects(root)
    counts = [(float(t.get("y")) - 6, int(t.text.replace(",", ""))) for t in root.iter(SPACE + "text") if re.fullmatch(r"[\d,]+", t.text)]
    checks.equal("marks of numbers", len(counts) >= 4, True)
    for y, count in counts:
        near(f"mark {count}", (770 - y) / 600 * max(wanted.values()), count, 1e-2)
    most, low, high = max(wanted.values()), min(wanted), max(wanted)
    got = {}
    for title, x, y, _, height, _ in found:
        place = low + round((x - 180) / (1370 / (high - low + 1)))
        got[place] = height / 600 * most
        checks.equal(title, int(title.split()[0]), wanted.get(place))
        low_end, high_end = title.split(" from ")[1].split(" to below ")
        near(title, in_ns(low_end), 2 ** place, 1e-3)
        near(title, in_ns(high_end), 2 ** (place + 1), 1e-3)
        near("the bar stands on the axis", y + height, 770)
    checks.equal("bars", sorted(got), sorted(wanted))
    for place, count in wanted.items():
        near(f"2^{place} ns", got.get(place, 0), count)


def test_bandwidth(trace, work, length):
    bins, width = [0.0] * 240, length / 240
    for _, s, e, size in (w for device in work for w in device if w[3]):
        for k in range(int(s / width), min(240, int(e / width) + 1)):
            bins[k] += size * max(0, min(e, (k + 1) * width) - max(s, k * width)) / (e - s)
    root = svg(trace, "bandwidth")
    found = {round((x - 200) / (1320 / 240)): (title, height) for title, x, _, _, height, _ in rects(root)}
    time_axis("bandwidth", root, 200, 1520, length)
    rates = [(float(t.get("y")) - 6, float(t.text.split()[0]) * {"kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9, "TB/s": 1e12}[t.text.split()[1]])
             for t in root.iter(SPACE + "text") if re.fullmatch(r"[\d.]+ [kMGT]B/s", t.text)]
    checks.equal("marks of rates", len(rates) >= 4, True)
    for y, rate in rates:
        near(f"mark {rate}", (740 - y) / 570 * max(bins) / (width / 1e9), rate, 1e-2)
    high = max(h for _, h in found.values())
    for k, size in enumerate(bins):
        title, height = found.get(k, ("0 bytes", 0))
        near(f"bytes of {k}", float(title.split()[0]), size, 1e-3)
        near(f"height of {k}", height / high * max(bins), size, 1e-2)


def test_names(trace):
    for plot in ("devices", "idle"):
        said = "".join(texts(svg(trace, plot)))
        checks.equal(f"{plot}: hostile names", ("\\u202e" in said, "\x1b" in said, "\u202e" in said), (True, False, False))


def test_many(folder):
    """60 devices: neighbours by name (#2 before #10) share a row; bars are of the first 24."""
    trace, events = os.path.join(folder, "many.json"), []
    for device in range(60):
        events.append({"ph": "X", "cat": "kernel", "name": "k", "pid": device, "tid": 7, "ts": 1e6 + 10 * device, "dur": 10, "args": {"device": device, "stream": 7}})
    with open(trace, "w", encoding="utf-8") as f:
        json.dump({"schemaVersion": 1, "deviceProperties": [{"id": i, "name": "GPU"} for i in range(60)], "traceEvents": events}, f)
    root = svg(trace, "devices")
    rows = by_row(rects(root))
    checks.equal("rows", len(rows), 30)
    checks.equal("names", [t for t in texts(root) if t.startswith("GPU")], [f"GPU #{2 * n} ..." for n in range(30)])
    for n, row in enumerate(rows):
        busy = [round((x - 420) / (1100 / 300)) for title, x, *_ in row if float(title.split()[0])]
        checks.equal(f"row {n}", busy, list(range(10 * n, 10 * n + 10)))
        checks.equal(f"mean of {n}", {float(t.split()[0]) for t, *_ in row}, {0.0, 50.0})
    root = svg(trace, "idle")
    checks.equal("bars", [t for t in texts(root) if t.startswith("GPU")], [f"GPU #{n}" for n in range(24)])
    checks.equal("what it is of", [t for t in texts(root) if trace in t or "kymo-import" in t], [f"{trace}: (no name)"])


def test_made(folder):
    test_many(folder)
    trace = os.path.join(folder, "trace.json")
    work, length = written(trace)
    test_devices(trace, work, length)
    test_overlap(trace, work, length)
    test_textures(trace)
    test_durations(trace, work)
    test_bandwidth(trace, work, length)
    test_names(trace)


# ---- recordings ----------------------------------------------------------------------------------------

def png(path):
    """Width, height, how many different bytes its picture has."""
    with open(path, "rb") as f:
        data = f.read()
    expect(data[:8] == b"\x89PNG\r\n\x1a\n", "no PNG")
    at, packed, size = 8, b"", None
    while at < len(data):
        n, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IHDR":
            size = struct.unpack(">II", data[at + 8:at + 16])
        if kind == b"IDAT":
            packed += data[at + 8:at + 8 + n]
        at += 12 + n
    return *size, len(set(zlib.decompress(packed)))


def draws(trace, output, *options):
    """False: this kymo cannot, and says so."""
    done = run(KYMO, "report", "-f", "-o", output, *options, trace)
    if done.returncode and MISSING in done.stderr:
        return False
    checks.equal(f"{output} is written", (done.returncode, os.path.exists(output)), (0, True))
    return True


def test_pictures(trace, folder):
    for plot in ("devices", "durations", "idle", "overlap", "bandwidth", "memory"):
        path = os.path.join(folder, plot + ".png")
        if draws(trace, path, "--plot", plot):
            width, height, bytes_ = png(path)
            checks.equal(f"{plot}: size, and more than white", (width, height, bytes_ > 16), (1600, 900, True))
    path = os.path.join(folder, "idle.jpg")
    if draws(trace, path, "--plot", "idle"):
        with open(path, "rb") as f:
            data = f.read()
        frame = data.index(b"\xff\xc0")
        checks.equal("JPEG", (data[:2], struct.unpack(">HH", data[frame + 5:frame + 9])), (b"\xff\xd8", (900, 1600)))


def squeezed(text):
    return re.sub(r"\s+", "", text)


def test_pdf(trace, folder, digest):
    path = os.path.join(folder, "report.pdf")
    if not draws(trace, path) or not shutil.which("pdftotext"):
        return
    said = must("pdftotext", "-layout", path, "-")
    pages = said.split("\f")[:-1]
    for line in digest:
        checks.equal(f"PDF: {line}", squeezed(line) in squeezed(pages[0] + pages[1]), True)
    for title in ("Devices over time", "Why devices idle", "Memory in use", "Kernels:", "Findings"):
        checks.equal(f"PDF: {title}", title in said, True)
    # A page of a plot has no number: the picture fills it.
    checks.equal("pages have numbers", re.findall(r"\bpage (\d+) of (\d+)", said), [(str(n), str(len(pages))) for n in range(1, len(pages) + 1)])


def test_markdown(trace, digest):
    said = must(KYMO, "report", "-o", "-", "--format", "md", trace).replace("\\", "")
    for line in digest:
        checks.equal(f"Markdown: {line}", squeezed(line) in squeezed(said), True)
    summary = must(KYMO, "summary", "-f", "md", trace).replace("\\", "")
    for line in (x for x in summary.split("\n") if x.startswith("| ")):
        checks.equal(f"Markdown: {line}", line in said, True)
    checks.equal("Markdown: findings", "## Findings" in said, True)
    checks.equal("Markdown: where the others are", "()" in said.replace("(\\)", "()"), False)


def test_workbook(trace, folder):
    path, other = os.path.join(folder, "a.xlsx"), os.path.join(folder, "b.xlsx")
    if draws(trace, path):
        must(KYMO, "summary", "-f", "xlsx", "-o", other, trace)
        sheets = [subprocess.run(["unzip", "-p", p, "xl/workbook.xml"], capture_output=True, text=True, check=False).stdout for p in (path, other)]
        names = [re.findall(r'<sheet name="([^"]+)"', s) for s in sheets]
        checks.equal("sheets", names[0], names[1])


def test_idle(trace):
    row, = tables(trace)["devices"]
    names = {"kernels": "kernels_ns", "copies and the like alone": "transfers_alone_ns", "start-up": "idle_startup_ns", "host code": "idle_host_ns",
             "launch calls": "idle_launch_ns", "launch latency": "idle_latency_ns", "after the last work": "idle_end_ns", "unknown": "idle_unknown_ns"}
    total = 0
    for title, _, _, width, _, _ in rects(svg(trace, "idle")):
        name, ns = title.split(": ")[0], int(title.split(": ")[1].split()[0])
        checks.equal(f"width of {name}: {width} for {ns} ns", abs(width / 1100 * row["run_ns"] - ns) <= 1e-7 * row["run_ns"], True)
        total += ns
        if name in names:
            checks.equal(f"idle: {name}", ns, row[names.pop(name)])
    checks.equal("parts that are not drawn are 0", {n: row[c] for n, c in names.items() if row[c]}, {})
    checks.equal("they add up to the run", total, row["run_ns"])


def test_memory(trace):
    rows = [r for r in tables(trace)["memory"] if r["peak_bytes"]]
    root = svg(trace, "memory")
    curves = [p for p in root.iter(SPACE + "polyline") if p.find(SPACE + "title") is not None]
    checks.equal("curves", len(curves), len(rows))
    most = max(r["peak_bytes"] for r in rows)
    peaks = []
    for c in curves:
        points = [tuple(map(float, p.split(","))) for p in c.get("points").split()]
        bottom = 770 - 30 * len(curves)
        peaks.append(max((bottom - y) / (bottom - 170) * most for _, y in points))
        near("it begins at nothing", points[0][1], bottom)
    for got, wanted in zip(sorted(peaks), sorted(r["peak_bytes"] for r in rows)):
        near("peak", got, wanted)


def test_recorded(folder):
    trace = os.path.join(folder, "heat.kymo")
    must(KYMO, "run", "-o", trace, *PROGRAMS)
    head = json.loads(must(KYMO, "summary", "-f", "json", trace))["head"]
    text = must(KYMO, "summary", trace).split("\n\n")
    digest = [line for line in "\n".join(text[:2]).split("\n") if line.strip()]
    expect(len(digest) > 4 and head, "no digest")
    test_idle(trace)
    test_memory(trace)
    test_pictures(trace, folder)
    test_pdf(trace, folder, digest)
    test_markdown(trace, digest[1:])
    test_workbook(trace, folder)
    test_damaged(trace, folder)


def test_damaged(trace, folder):
    """What is left is shown, and that something is lost."""
    copy = os.path.join(folder, "damaged.kymo")
    shutil.copytree(trace, copy)
    raw = max((os.path.join(at, n) for at, _, names in os.walk(copy) for n in names if n.endswith(".kyr")), key=os.path.getsize)
    os.truncate(raw, os.path.getsize(raw) // 2)
    page = run(KYMO, "report", "-o", os.path.join(folder, "damaged.html"), copy)
    told = run(KYMO, "report", "-o", "-", "--format", "md", copy)
    checks.equal("a damaged trace", (told.returncode, "Lost: nothing" in told.stdout, "## Findings" in told.stdout), (page.returncode, False, True))
    draws(copy, os.path.join(folder, "damaged.pdf"))
    checks.equal("its plot", len(rects(svg(copy, "devices"))), 300)


def test_messages(folder):
    trace, (launcher, program, *options) = os.path.join(folder, "drum.kymo"), PROGRAMS
    must(launcher, *options, "-n", "3", KYMO, "run", "-o", trace, program)
    wanted = {}
    for row in tables(trace, "--by", "rank,peer,op")["messages"]:
        if row["op"] == "send":
            wanted[f"{row['rank']} to {row['peer']}"] = (row["calls"], row["sent"])
    found = rects(svg(trace, "messages"))
    got = {t.split(":")[0]: tuple(int(n) for n in re.findall(r"(\d+) (?:messages|bytes)", t)) for t, *_ in found}
    checks.equal("cells", len(found), 9)
    checks.equal("messages", {k: v for k, v in got.items() if v[0]}, wanted)
    for title, x, y, *_, fill in found:
        a, b = (int(n) for n in re.findall(r"\d+", title.split(":")[0]))
        checks.equal(f"place of {title}", (round((y - 140) / (640 / 3)), round((x - 480) / (640 / 3))), (a, b))
        checks.equal(f"colour of {title}", (fill == "#f0f0ed"), got[f"{a} to {b}"][0] == 0)


# ---- outputs -------------------------------------------------------------------------------------------

def test_bad_outputs(trace, folder):
    forms = [("a.svg", "--plot", "devices"), ("a.md",), ("a.pdf",), ("a.png", "--plot", "devices")]
    for name, *options in forms:
        out = os.path.join(folder, name)
        if not draws(trace, out, *options):
            continue
        with open(out, "rb") as f:
            before = f.read()
        done = run(KYMO, "report", "-o", out, *options, trace)
        checks.equal(f"{name} is there", (done.returncode, "-f" in done.stderr), (3, True))
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (400, 400))
        done = run(KYMO, "report", "-f", "-o", out, *options, trace, preexec_fn=limit)
        checks.equal(f"no room for {name}", (done.returncode, "File too large" in done.stderr), (3, True))
        with open("/dev/full", "w", encoding="ascii") as device:
            full = subprocess.run([KYMO, "report", "-o", "-", "--format", name[2:], *options, trace], stdout=device, stderr=subprocess.PIPE, text=True, check=False)
        checks.equal(f"{name} to a full device", (full.returncode, "No space" in full.stderr), (3, True))
        with open(out, "rb") as f:
            checks.equal(f"{name} stays", f.read() == before, True)
    checks.equal("nothing half is left", [n for n in os.listdir(folder) if not re.fullmatch(r"a\.\w+|trace\.json|empty\.kymo", n)], [])


def idle_devices(path, count, name):
    """Devices that idle alike, each a little less long than the one before."""
    events = [{"ph": "X", "cat": "kernel", "name": "k", "pid": d, "tid": 7, "ts": 1000 + 1000 * i, "dur": 100 + d, "args": {"device": d, "stream": 7, "correlation": 100 * d + i + 1}} for d in range(count) for i in range(10)]
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"schemaVersion": 1, "deviceProperties": [{"id": d, "name": name} for d in range(count)], "traceEvents": events}, f)


def test_folds(folder):
    """Of one rule five findings, the others counted, as in the page."""
    trace, out = os.path.join(folder, "trace.json"), os.path.join(folder, "a.pdf")
    idle_devices(trace, 8, "GPU")
    rules = [f["rule"] for f in json.loads(must(KYMO, "diagnose", "-f", "json", trace))["findings"]]
    checks.equal("a finding of each device", rules.count("device-idle"), 8)
    markdown = must(KYMO, "report", "-o", "-", "--format", "md", trace)
    checks.equal("Markdown: five", len(re.findall(r"^\d+\. \*\*device-idle", markdown, re.M)), 5)
    checks.equal("Markdown: three more", "3 more of device-idle" in markdown, True)
    checks.equal("Markdown: of others all", [r for r in rules if r != "device-idle" and f"**{r}**" not in markdown], [])
    if draws(trace, out) and shutil.which("pdftotext"):
        said = must("pdftotext", "-layout", out, "-")
        checks.equal("PDF: five", said.count("(device-idle)"), 5)
        checks.equal("PDF: three more", "... 3 more of device-idle" in said, True)
        os.remove(out)
    checks.equal("diagnose --all has all", must(KYMO, "diagnose", "--all", trace).count("(device-idle)"), 8)


def test_legend(folder):
    """Devices that the digest has by their number alone are named in the legend, long names and short ones."""
    trace = os.path.join(folder, "trace.json")
    for name in ("GPU", "Accelerator of a long name"):
        idle_devices(trace, 40, name)
        said = must(KYMO, "summary", trace)
        head = said.split("\n\n")[0:2]
        named = {int(n) for n in re.findall(r"^Device (\d+):", said, re.M)} | {int(n) for n in re.findall(r"\bD(\d+) is ", said)}
        mentioned = {int(n) for n in re.findall(r"\b[Dd]evice (\d+)\b", said)}
        checks.equal(f"{name}: the digest speaks of some, {head}", len(mentioned) > 0, True)
        checks.equal(f"{name}: without a name", mentioned - named, set())
        legend = dict(re.findall(r"\bD(\d+) is ([^;.]*)", " ".join(said.split()))) | dict(re.findall(r"^Device (\d+): ([^:\n]*)", said, re.M))
        titles = [f["title"] for f in json.loads(must(KYMO, "diagnose", "-f", "json", trace))["findings"]]
        for number, title in zip(re.findall(r"\bDevice (\d+) idle", said), (t for t in titles if " idle for " in t)):
            label = title.split(" idle for ")[0]
            checks.equal(f"{name}: {title}", label.startswith(legend.get(number, "?").rstrip(". \u2026")), True)


def test_full_workbook(folder):
    """A workbook that cannot be written: why, in one line of our own."""
    trace = os.path.join(folder, "trace.json")
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (400, 400))
    for argv in (("report", "-f"), ("export", "-f", "--to", "xlsx"), ("summary", "--force", "-f", "xlsx")):
        done = run(KYMO, *argv, "-o", os.path.join(folder, "a.xlsx"), trace, preexec_fn=limit)
        if done.returncode and MISSING in done.stderr:
            return
        checks.equal(f"{argv}: {done.stderr}", (done.returncode, "File too large" in done.stderr, "[ERROR]" in done.stderr, done.stderr.count("\n")), (3, True, False, 1))
        checks.equal(f"{argv}: nothing is left", os.path.exists(os.path.join(folder, "a.xlsx")), False)


def test_breaks(folder):
    """No page of PDF ends with the title or the head of a table, nor within a finding."""
    trace, out = os.path.join(folder, "trace.json"), os.path.join(folder, "a.pdf")
    for count in (3, 7, 40):
        idle_devices(trace, count, "Accelerator of a long name that takes room")
        if not draws(trace, out) or not shutil.which("pdftotext"):
            return
        titles = [t["title"] for t in json.loads(must(KYMO, "summary", "-f", "json", trace))["tables"] if t["title"]]
        for n, page in enumerate(must("pdftotext", "-layout", out, "-").split("\f")[:-1]):
            lines = [line.strip() for line in page.splitlines() if line.strip() and not re.fullmatch(r"\s*page \d+ of \d+", line)]
            ends = [line for line in lines[-3:] if line in titles or line in ("Findings", "Digest", "Tables")]
            checks.equal(f"{count} devices, page {n + 1}: a beginning at the end", [line for line in ends if len(lines) - len(lines[:lines.index(line)]) < 3], [])
            first, last = (next((line for line in part if re.match(r"\d+\. |show:|try:|where:", line)), "") for part in (lines, reversed(lines)))
            if "idle for" in page:
                checks.equal(f"{count} devices, page {n + 1}: findings are whole: {first}, {last}", (first[:1].isdigit(), last[:4]), (True, "try:"))
    os.remove(out)


def test_heads(folder):
    """A table that goes on over pages of PDF has its title and its head on each, and no row twice."""
    trace, out = os.path.join(folder, "trace.json"), os.path.join(folder, "a.pdf")
    idle_devices(trace, 130, "GPU")
    if not draws(trace, out) or not shutil.which("pdftotext"):
        return
    pages = [[" ".join(line.split()) for line in page.splitlines() if line.strip()] for page in must("pdftotext", "-layout", out, "-").split("\f")]
    lines = [line for page in pages for line in page]
    again = [(page, n) for page in pages for n, line in enumerate(page) if line.endswith(" (continued)")]
    checks.equal("some go on", len(again) >= 2, True)
    for page, n in again:
        title = page[n][:-len(" (continued)")]
        checks.equal(f"{title}: first on its page", n, 0)
        checks.equal(f"{title}: its head", page[n + 1], lines[lines.index(title) + 1])
    rows = [int(m[1]) for m in (re.match(r"GPU #(\d+) .*\d\.\d", line) for line in lines[lines.index("Devices over the run"):lines.index("Processes")]) if m]
    checks.equal("each device once", sorted(rows), list(range(130)))
    os.remove(out)


def test_fonts(folder):
    """Letters that the first font lacks come from the next one that has them; those that no font has are counted and named, not drawn as boxes."""
    fonts = {os.path.dirname(p) for p in glob.glob("/usr/share/fonts/**/DejaVuSans.ttf", recursive=True)}
    if not fonts or not shutil.which("pdftotext"):
        return
    conf, trace, out = (os.path.join(folder, n) for n in ("fonts.conf", "trace.json", "a.pdf"))
    with open(conf, "w", encoding="utf-8") as f:
        f.write('<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig>' + "".join(f"<dir>{d}</dir>" for d in fonts) + f"<cachedir>{folder}</cachedir></fontconfig>")
    names = ["\u2d30\u2d63\u2d53\u2d4d", "\u884c\u5217", "plain"]  # DejaVu Sans has the first, DejaVu Sans Mono does not
    with open(trace, "w", encoding="utf-8") as f:
        json.dump({"schemaVersion": 1, "traceEvents": [{"ph": "X", "cat": "kernel", "name": n, "pid": 0, "tid": 7, "ts": 1e6 + 10 * i, "dur": 10 - i, "args": {"device": 0, "stream": 7}} for i, n in enumerate(names)]}, f)
    done = run(KYMO, "report", "-f", "-o", out, trace, env=dict(os.environ, FONTCONFIG_FILE=conf))
    if done.returncode and MISSING in done.stderr:
        return
    said = must("pdftotext", "-layout", out, "-")
    found = re.search(r"no font here has (\d+) of the letters \((.*?)\)", done.stderr)
    checks.equal("letters of the next font", names[0] in said, True)
    checks.equal("letters of no font", (found and found[2], int(found[1]) == said.count("\ufffd") if found else None), ("U+884C, U+5217", True))
    columns = [line.index(" us") for line in said.splitlines() if re.match(r"(\ufffd|plain|\u2d30).* us ", line)]
    checks.equal(f"columns of the table: {columns}", len(columns) >= 3 and max(columns) - min(columns) <= 2, True)
    with open(trace, "w", encoding="utf-8") as f:
        json.dump({"schemaVersion": 1, "traceEvents": [{"ph": "X", "cat": "kernel", "name": names[2], "pid": 0, "tid": 7, "ts": 1e6, "dur": 10, "args": {"device": 0, "stream": 7}}]}, f)
    done = run(KYMO, "report", "-f", "-o", out, trace, env=dict(os.environ, FONTCONFIG_FILE=conf))
    checks.equal("nothing is told where all are known", "letters" in done.stderr, False)
    for path in (conf, out, *glob.glob(os.path.join(folder, "*cache*")), *glob.glob(os.path.join(folder, "CACHEDIR.TAG"))):
        os.remove(path)


def test_words(trace, folder):
    plots = [r["plot"] for r in json.loads(must(KYMO, "list", "plots", "-f", "json"))["tables"][0]["rows"]]
    checks.equal("plots", plots, ["devices", "flame_samples", "flame_device", "flame_device_stacks", "flame_off_cpu", "flame_heap", "durations", "idle", "overlap", "bandwidth", "memory", "messages", "telemetry", "counters", "roofline", "comparison"])
    report = lambda *argv: run(KYMO, "report", *argv, trace)
    for words, argv in (("devices, flame_samples", ("-o", "b.svg")), ("there is no plot", ("--plot", "deviecs")), ("goes with", ("--plot", "idle", "-o", "b.md")),
                        ("standard output", ("--format", "xlsx", "-o", "-"))):
        done = report(*argv)
        checks.equal(" ".join(argv), (done.returncode, words in done.stderr), (2, True))
    done = report("--plot", "messages", "-o", os.path.join(folder, "b.svg"))
    checks.equal("what is not there", (done.returncode, "it has what these show: devices, flame_device, durations, idle, overlap, bandwidth" in done.stderr), (3, True))
    empty = os.path.join(folder, "empty.kymo")
    must(KYMO, "run", "-o", empty, "true")
    done = run(KYMO, "report", "--plot", "idle", "-o", os.path.join(folder, "b.svg"), empty)
    checks.equal("an empty trace", (done.returncode, "nor what any other does" in done.stderr), (3, True))
    checks.equal("an empty one as Markdown", "## Findings" in must(KYMO, "report", "-o", "-", "--format", "md", empty), True)
    draws(empty, os.path.join(folder, "a.pdf"))
    must(KYMO, "report", "--plot", "idle", trace)
    checks.equal("the default's name", os.path.exists(trace + ".idle.svg"), True)


def test_outputs(folder):
    test_fonts(folder)
    test_folds(folder)
    test_legend(folder)
    test_breaks(folder)
    test_heads(folder)
    test_full_workbook(folder)
    trace = os.path.join(folder, "trace.json")
    written(trace)
    test_bad_outputs(trace, folder)
    test_words(trace, folder)


def main():
    with kymotest.Folder() as folder:
        {"made": test_made, "recorded": test_recorded, "messages": test_messages, "outputs": test_outputs}[PART](folder)
    sys.exit(checks.status(1))


main()
