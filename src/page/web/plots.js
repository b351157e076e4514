// SPDX-License-Identifier: Apache-2.0
// The tab of plots. What the page has no data for is not there.
import { h } from "./dom.js";
import { durations, idle, overlap } from "./plots/bars.js";
import { flame } from "./plots/flame.js";
import { busyHeat, messageMatrix } from "./plots/heat.js";
import { bandwidth, memory } from "./plots/over_time.js";
import { path } from "./plots/path.js";

export function plots(model, timeline) {
  const all = [busyHeat, flame, durations, idle, overlap, bandwidth, memory, messageMatrix, path].map(make => make(model, timeline)).filter(Boolean);
  const element = h("div.plots", {}, all.map(p => p.element));
  if (!all.length) element.append(h("p.hint", { text: "This trace has nothing to plot: no device work, no nested calls, no memory, no messages." }));
  let seen = false, waiting = 0;
  const draw = () => { waiting = 0; for (const p of all) p.draw(); };
  const later = () => { if (seen && element.offsetParent && !waiting) waiting = setTimeout(draw, 60); };
  const before = model.onload;
  model.onload = () => { before(); if (all.some(p => p.known === false || p.name === "memory")) later(); };
  addEventListener("resize", later);
  return { element, all, print: draw, shown: () => { seen = true; draw(); }, themed: () => { if (element.offsetParent) later(); } };
}
