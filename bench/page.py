#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How fluid the page is: page.py [--slices N | --page FILE] [--runs N] [--output FILE]

Opens a page in Chromium without a window (and without a GPU, where the machine has none) at 1600 x 900, then zooms in about a place and pans by a script,
one step a frame. JSON: until the first picture of the whole run and the finest one, the script's time in each frame, and the time between two frames (16.7 ms at best),
as median, 95th percentile and most; processor time of the page's thread a frame; of each run, with the load of the machine.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests", "page"))
import browser  # noqa: E402

# One step a frame; a step's script is what the page's own frame took.
STEPS = """(async () => {
  const t = kymo.page.timeline, gaps = [], scripts = [];
  t.timings.length = 0;
  let last = await new Promise(requestAnimationFrame);
  for (let k = 0; k < FRAMES; k++) {
    STEP
    const now = await new Promise(requestAnimationFrame);
    gaps.push(now - last);
    last = now;
  }
  await new Promise(requestAnimationFrame);
  scripts.push(...t.timings);
  const of = list => { const s = [...list].sort((a, b) => a - b), r = v => Math.round(v * 10) / 10; return { frames: s.length, median: r(s[s.length >> 1]), p95: r(s[Math.floor(s.length * 0.95)]), max: r(s[s.length - 1]) }; };
  return { script_ms: of(scripts), interval_ms: of(gaps) };
})()"""
PARTS = {
    "zoom, 1x to 2,000x": (300, "const L = kymo.model.length, z = 2000 ** (k / 299), s = L / z, at = L * 0.43; t.show(at - s * 0.4, at + s * 0.6);"),
    "zoom out again": (300, "const L = kymo.model.length, z = 2000 ** (1 - k / 299), s = L / z, at = L * 0.43; t.show(at - s * 0.4, at + s * 0.6);"),
    "pan at 1x": (120, "const L = kymo.model.length; t.show(L * (k / 119 - 0.5) * 0.01, L * (1 + (k / 119 - 0.5) * 0.01));"),
    "pan at 20x": (300, "const L = kymo.model.length, s = L / 20; t.show(L * 0.2 + k * s / 60, L * 0.2 + k * s / 60 + s);"),
    "pan at 200x": (300, "const L = kymo.model.length, s = L / 200; t.show(L * 0.3 + k * s / 60, L * 0.3 + k * s / 60 + s);"),
    "pan of 300 us": (300, "const L = kymo.model.length, s = 3e5; t.show(L * 0.3 + k * s / 60, L * 0.3 + k * s / 60 + s);"),
}


def processor(b):
    """Seconds of processor time that the page's thread has taken: what other programs do counts little in it."""
    b.call("Performance.enable", timeDomain="threadTicks")
    return {m["name"]: m["value"] for m in b.call("Performance.getMetrics")["metrics"]}


def measured(page, all_rows):
    with browser.Browser() as b:
        b.open(page, "#tab=timeline")
        b.until("window.kymo && performance.getEntriesByName('kymo-whole').length")
        mark = {name: round(b.run(f"performance.getEntriesByName('kymo-{name}')[0].startTime")) for name in ("first", "whole")}
        done = {"first_picture_ms": mark["first"], "finest_picture_ms": mark["whole"], "parts": {}}
        if all_rows:
            b.run("kymo.page.timeline.lines.foldAll(false)")
            b.resize(1600, 2600)
        done["rows"] = b.run("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r))).then(() => { const t = kymo.page.timeline; return t.lines.list.filter(l => l.rows.length && l.y < t.height).length; })")
        for name, (frames, step) in PARTS.items():
            before = processor(b)
            done["parts"][name] = b.run(STEPS.replace("FRAMES", str(frames)).replace("STEP", step))
            after = processor(b)
            done["parts"][name]["processor_ms_a_frame"] = {k: round((after[k] - before[k]) * 1000 / frames, 1) for k in ("ScriptDuration", "TaskDuration")}
        done["problems"] = b.problems
        return done


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--slices", type=int, default=10000000)
    parser.add_argument("--page")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--all-rows", action="store_true", help="a window so high that it has all rows, unfolded")
    parser.add_argument("--output")
    args = parser.parse_args()
    if not browser.find():
        sys.exit("no Chromium")
    folder = None
    if not args.page:
        folder = tempfile.mkdtemp()
        args.page = os.path.join(folder, "page.html")
        subprocess.run(["node", "--max-old-space-size=8000", os.path.join(HERE, "..", "tests", "page", "made.mjs"), args.page, "--slices", str(args.slices), "--windows", "0"], check=True)
    result = {"page_bytes": os.path.getsize(args.page), "load_before": os.getloadavg()[0], "processors": os.cpu_count(), "runs": [measured(args.page, args.all_rows) for _ in range(args.runs)], "load_after": os.getloadavg()[0]}
    text = json.dumps(result, indent=1)
    print(text)
    if args.output:
        with open(args.output, "w", encoding="utf-8") as f:
            f.write(text + "\n")
    if folder:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
