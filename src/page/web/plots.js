// SPDX-License-Identifier: Apache-2.0
// The tab of plots. What the page has no data for is not there.
import { h } from "./dom.js";
import { durations, idle, overlap } from "./plots/bars.js";
import { flame } from "./plots/flame.js";
import { busyHeat, messageMatrix } from "./plots/heat.js";
import { bandwidth, memory } from "./plots/over_time.js";
import { path } from "./plots/path.js";
import { sensors } from "./plots/sensors.js";

export function plots(model, timeline) {
  const all = [busyHeat, flame, durations, idle, overlap, bandwidth, memory, messageMatrix, path].map(make => make(model, timeline)).filter(Boolean);
  const element = h("div.plots", {}, all.map(p => p.element));
  for (const [kind, title] of [["telemetry", "Telemetry"], ["counter", "Counters"]]) {
    const { plots, left } = sensors(model, kind);
    if (!plots.length) continue;
    element.append(h("h2.part", {}, title, h("span.about", { text: left ? `the first ${plots.length} of ${plots.length + left}; all have tracks in the timeline` : "" })), ...plots.map(p => p.element));
    all.push(...plots);
  }
  if (!all.length) element.append(h("p.hint", { text: "This trace has nothing to plot: no device work, no nested calls, no memory, no messages." }));
  let seen = false, waiting = 0;
  const draw = () => { waiting = 0; for (const p of all) p.draw(); };
  const later = () => { if (seen && element.offsetParent && !waiting) waiting = setTimeout(draw, 60); };
  const before = model.onload;
  model.onload = () => { before(); if (all.some(p => p.known === false || p.live)) later(); };
  addEventListener("resize", later);
  const missing = h("p.missing", { hidden: true });
  element.prepend(missing);
  // On paper there is no later: what needs slices that nobody has looked at yet is told.
  const print = () => {
    draw();
    for (const p of all) p.element.toggleAttribute("data-missing", !("drawn" in p.element.dataset));
    const names = all.filter(p => p.element.hasAttribute("data-missing")).map(p => p.title);
    missing.hidden = !names.length;
    missing.textContent = `Not on paper, as this tab was not looked at before: ${names.join(", ")}.`;
  };
  return { element, all, print, shown: () => { seen = true; draw(); }, themed: () => { if (element.offsetParent) later(); } };
}
