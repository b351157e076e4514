#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws a Perfetto trace, to look at what the exporter makes of a recording.

    perfetto_picture.py FILE.pftrace OUT.png [--size WIDTHxHEIGHT] [--from MS] [--to MS] [--shorten N]

The file is read by perfetto_check.py and drawn by the trace viewer of Chromium's tracing, a page that
comes with Go's sources (Debian: golang-*-src), in Chromium (Debian: chromium) without a screen.
"""
import sys
import argparse
import functools
import glob
import http.server
import json
import os
import pathlib
import shutil
import subprocess
import threading

import perfetto_check as check

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402

PAGE = """<!DOCTYPE html><html><head><meta charset="utf-8">
<script src="webcomponents.min.js"></script>
<link rel="import" href="trace_viewer_full.html">
<style>html, body { margin: 0; height: 100%; overflow: hidden; }
#trace-viewer { width: 100%; height: 100%; }
tr-ui-b-info-bar-group, tr-ui-b-mouse-mode-selector, tr-ui-side-panel-container, #control,
#bottom-analysis, tr-ui-b-drag-handle, tr-ui-a-analysis-view { display: none !important; }</style>
<script>
document.addEventListener('WebComponentsReady', async function() {
  const container = document.createElement('track-view-container');
  const viewer = document.createElement('tr-ui-timeline-view');
  container.id = 'track_view_container';
  viewer.track_view_container = container;
  viewer.id = 'trace-viewer';
  viewer.globalMode = true;
  Polymer.dom(viewer).appendChild(container);
  Polymer.dom(document.body).appendChild(viewer);
  const model = new tr.Model();
  const text = await (await fetch('events.json')).text();
  await new tr.importer.Import(model).importTracesWithProgressDialog([text]);
  viewer.model = model;
  viewer.viewTitle = '';
  viewer.highDetails = true;
  await new Promise(r => setTimeout(r, 1000)); // it first shows everything
  const port = viewer.trackView.viewport, view = port.currentDisplayTransform.clone();
  view.xSetWorldBounds(FROM, TO, window.innerWidth - 250);
  port.setDisplayTransformImmediately(view);
  requestAnimationFrame(() => requestAnimationFrame(() => fetch('drawn')));
});
</script></head><body><img src="wait" style="display: none"></body></html>"""


class Chrome:
    """Events of the trace viewer's own format."""

    def __init__(self, trace, shorten):
        self.trace, self.shorten, self.events, self.places = trace, shorten, [], {}
        self.order = list(trace.tracks)

    def process_of(self, uuid):
        while self.trace.tracks[uuid]["parent"]:
            uuid = self.trace.tracks[uuid]["parent"]
        return uuid

    def place(self, uuid):
        """Process and thread that stand for a track, named when first used."""
        if uuid not in self.places:
            top = self.process_of(uuid)
            pid, tid = self.order.index(top) + 1, self.order.index(uuid) + 1
            self.places[uuid] = {"pid": pid, "tid": tid}
            name = self.trace.path(uuid).split(" > ", 1)[-1]
            for what, text in (("process_name", self.trace.tracks[top]["name"]),
                               ("thread_name", name)):
                self.events.append({"ph": "M", "name": what, "args": {"name": text},
                                    **self.places[uuid]})
            for what, index in (("process_sort_index", pid), ("thread_sort_index", tid)):
                self.events.append({"ph": "M", "name": what, "args": {"sort_index": index},
                                    **self.places[uuid]})
        return self.places[uuid]

    def name(self, event):
        text = event.get("name", "")
        return text if len(text) <= self.shorten else text[:self.shorten] + "..."

    def convert(self):
        stacks, flows = {}, {}
        for e in sorted(self.trace.events, key=lambda e: e["time"]):
            at, ts = self.place(e["track"]), e["time"] / 1e3
            if e["type"] == check.BEGIN:
                stacks.setdefault(e["track"], []).append(e)
                for f in e["flows"]:
                    last = f in flows
                    self.events.append({"ph": "f" if last else "s", "bp": "e", "id": str(f), "ts": ts,
                                        "name": "submits", "cat": "submits", **at})
                    flows[f] = e
            elif e["type"] == check.END:
                b = stacks[e["track"]].pop()
                self.events.append({"ph": "X", "name": self.name(b), "ts": b["time"] / 1e3,
                                    "dur": (e["time"] - b["time"]) / 1e3, "args": {}, **at})
            elif e["type"] == check.COUNTER:
                track = self.trace.tracks[e["track"]]
                self.events.append({"ph": "C", "name": track["name"], "ts": ts, "pid": at["pid"],
                                    "args": {track["unit"] or "value": e["value"]}})
        return {"traceEvents": self.events, "displayTimeUnit": "ns"}


def viewer():
    found = sorted(glob.glob("/usr/share/go-*/src/cmd/trace/static/trace_viewer_full.html") +
                   glob.glob("/usr/share/go-*/misc/trace/trace_viewer_full.html"))
    if not found:
        raise SystemExit("no trace viewer: install golang-src (Debian)")
    return pathlib.Path(found[-1]).parent


class Handler(http.server.SimpleHTTPRequestHandler):
    """The page has loaded, and its picture is taken, once an image has come: when all is drawn."""
    drawn = threading.Event()

    def do_GET(self):
        if self.path == "/drawn":
            self.drawn.set()
        if self.path == "/wait":
            self.drawn.wait(120)
        if self.path in ("/drawn", "/wait"):
            self.send_error(404)
        else:
            super().do_GET()

    def log_message(self, *arguments):
        pass


def draw(folder, size, out):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0),
                                             functools.partial(Handler, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if not browser:
        raise SystemExit("no browser: install chromium (Debian)")
    subprocess.run([browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                    f"--window-size={size.replace('x', ',')}", "--timeout=120000",
                    f"--user-data-dir={folder}/profile", f"--screenshot={os.path.abspath(out)}",
                    f"http://127.0.0.1:{server.server_address[1]}/page.html"],
                   check=True, timeout=180, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    server.shutdown()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace")
    parser.add_argument("out")
    parser.add_argument("--size", default="1600x700")
    parser.add_argument("--from", type=float, default=0, dest="start", help="ms from the first event")
    parser.add_argument("--to", type=float, help="likewise")
    parser.add_argument("--shorten", type=int, default=60, help="longest name")
    args = parser.parse_args()
    trace = check.read(args.trace)
    times = [e["time"] for e in trace.events if e["type"] != check.INSTANT]
    end = args.to if args.to else (max(times) - min(times)) / 1e6
    page = PAGE.replace("FROM", str(args.start)).replace("TO", str(end))
    with kymotest.Folder() as folder:
        for name in ("trace_viewer_full.html", "webcomponents.min.js"):
            shutil.copy(viewer() / name, folder)
        pathlib.Path(folder, "page.html").write_text(page, encoding="utf-8")
        pathlib.Path(folder, "events.json").write_text(
            json.dumps(Chrome(trace, args.shorten).convert()), encoding="utf-8")
        draw(folder, args.size, args.out)


if __name__ == "__main__":
    main()
