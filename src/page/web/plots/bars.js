// SPDX-License-Identifier: Apache-2.0
// Where devices' time goes, from the summary's table of devices; and how long kernels take.
import { SERIES } from "../colours.js";
import { HISTOGRAM } from "../decode.js";
import { countOps } from "../count.js";
import { h } from "../dom.js";
import { duration, grouped, line as clean, percent } from "../format.js";
import { fitted, Plot, select, textured } from "./chart.js";

function devicesOf(model) {
  const t = (model.head.tables ?? []).find(x => x.name === "devices");
  if (!t) return [];
  const at = Object.fromEntries(t.columns.map((c, n) => [c.name, n]));
  return t.rows.map(r => Object.fromEntries(Object.entries(at).map(([name, n]) => [name, r[n]])));
}

// parts: of a device [[name, ns, colour, texture]]
function stacked(plot, list) {
  const row = 26, g = plot.begin(list.length * row + 40), left = Math.min(200, plot.width * 0.3), right = plot.width - 10, most = Math.max(1, ...list.map(d => d.total));
  const box = { left, top: 6, right, bottom: 6 + list.length * row };
  plot.axes(box, { from: 0, to: 100, unit: "%" });
  g.textBaseline = "middle";
  const places = [];
  list.forEach((d, n) => {
    let x = left;
    const y = box.top + n * row;
    for (const [name, ns, colour, texture] of d.parts) {
      const w = ns / most * (right - left);
      textured(g, x, y + 3, Math.max(0, w - 0.5), row - 6, colour, texture);
      places.push({ x, y, w, text: `${d.name}: ${name} ${duration(ns)}, ${percent(100 * ns / d.total)}` });
      x += w;
    }
    g.fillStyle = plot.colour.text;
    g.textAlign = "right";
    g.fillText(fitted(g, d.name, left - 12), left - 8, y + row / 2);
    g.textAlign = "left";
  });
  plot.tell = (x, y) => places.find(p => x >= p.x && x < p.x + p.w && y >= p.y && y < p.y + row)?.text ?? "";
  const names = [...new Map(list.flatMap(d => d.parts.map(p => [p[0], p]))).values()].filter(p => list.some(d => d.parts.some(q => q[0] === p[0] && q[1] > 0)));
  plot.legend(names.map(p => [p[2], p[0], { texture: p[3] }]));
  plot.table([["device"], ["what"], ["time", "ns"], ["share", "%"]], () => list.flatMap(d => d.parts.filter(p => p[1]).map(p => [d.name, p[0], p[1], 100 * p[1] / d.total])));
}

export function idle(model) {
  const devices = devicesOf(model).filter(d => d.idle_ns > 0);
  if (!devices.length) return null;
  const causes = model.head.idle_causes ?? [];
  if (!causes.some(([k]) => devices.some(d => d[k] > 0))) return null;
  const plot = new Plot({ name: "idle", title: "Why devices idle", about: "share of the run by what the host did meanwhile, as the summary has it" });
  plot.draw = () => stacked(plot, devices.map(d => {
    const total = d.run_ns || model.length, copies = d.transfers_alone_ns || 0, { dark, muted } = plot.look();
    return { name: clean(String(d.device), 80), total, parts: [["kernels", Math.max(0, total - d.idle_ns - copies), dark ? "#3a4048" : "#d9d9d4", 0], ["copies and the like alone", copies, dark ? "#596069" : "#b4b4ae", 5],
      ...causes.map(([k, name], n) => [name, d[k] || 0, k === "idle_unknown_ns" ? muted : SERIES[n % SERIES.length], k === "idle_unknown_ns" ? 4 : [0, 1, 3, 2, 6, 7][(n + Math.floor(n / SERIES.length)) % 6]])] };
  }));
  return plot;
}

export function overlap(model) {
  const devices = devicesOf(model).filter(d => d.transfers_ns > 0 || d.kernels_ns > 0);
  if (!devices.length) return null;
  const plot = new Plot({ name: "overlap", title: "Copies beside kernels", about: "share of the run in which a device computes, copies, does both" });
  plot.draw = () => stacked(plot, devices.map(d => {
    const both = d.overlap_ns || 0, total = d.run_ns || model.length, kernels = Math.max(0, d.kernels_ns - both), copies = Math.max(0, d.transfers_ns - both);
    return { name: clean(String(d.device), 80), total, parts: [["kernels alone", kernels, SERIES[0], 0], ["both at once", both, SERIES[2], 3], ["copies and the like alone", copies, SERIES[1], 1], ["neither", Math.max(0, total - kernels - both - copies), plot.look().dark ? "#2a2e34" : "#ebebe7", 0]] };
  }));
  return plot;
}

export function durations(model) {
  const rows = model.rows.filter(r => r.device && r.records), total = rows.reduce((n, r) => n + r.records, 0);
  if (!total) return null;
  const plot = new Plot({ name: "durations", title: "How long kernels take", about: "number of slices by duration, in powers of two" });
  let got = null, chosen = "kernels", asked = false;
  const box = h("span");
  plot.tools.append(box);
  const collect = async () => {
    asked = true;
    const progress = h("progress", { max: 1, value: 0, "aria-label": "Counting durations" });
    box.replaceChildren(progress);
    got = await countOps(model, rows, 0, model.length + 1, { histogram: true, progress: (n, m) => { progress.max = m; progress.value = n; } });
    const kernels = [...got.histogram.keys()].sort((a, b) => got.ops.get(b)[1] - got.ops.get(a)[1]);
    box.replaceChildren(select("Kernels", [["kernels", "all kernels"], ["all", "all device work"], ...kernels.slice(0, 200).map(op => [String(op), clean(model.brief(op), 60)])], v => { chosen = v; plot.draw(); }));
    plot.draw();
  };
  plot.draw = () => {
    if (!got) {
      if (!asked && total <= 3e6) collect().catch(e => model.failed(e));
      if (asked) return plot.begin();
      box.replaceChildren(h("button.small", { type: "button", onclick: () => collect().catch(e => model.failed(e)) }, `Count ${grouped(total)} slices`));
      return plot.empty("Not counted yet: there are many slices, which takes some seconds.");
    }
    const sum = new Float64Array(HISTOGRAM);
    for (const [op, counts] of got.histogram) if (chosen === "all" || (chosen === "kernels" ? model.kind(op) === "kernel" : String(op) === chosen)) counts.forEach((c, i) => { sum[i] += c; });
    let low = sum.findIndex(v => v), high = HISTOGRAM - 1;
    while (high > 0 && !sum[high]) high--;
    if (low < 0) return plot.empty("No such work.");
    low = Math.max(0, low - 1);
    high = Math.min(HISTOGRAM - 1, high + 1);
    const g = plot.begin(), most = Math.max(...sum), area = { left: 64, top: 8, right: plot.width - 10, bottom: plot.height - 30 }, wide = (area.right - area.left) / (high - low + 1);
    plot.axes(area, null, { from: 0, to: most, unit: "" });
    for (let i = low; i <= high; i++) {
      const x = area.left + (i - low) * wide, y = sum[i] / most * (area.bottom - area.top);
      g.fillStyle = SERIES[0];
      if (sum[i]) g.fillRect(x + 1, area.bottom - Math.max(1, y), wide - 2, Math.max(1, y));
      if ((i - low) % Math.ceil(62 / wide) === 0) { g.fillStyle = plot.colour.muted; g.fillText(duration(2 ** i, 3), x, area.bottom + 13); }
    }
    plot.tell = x => {
      const i = low + Math.floor((x - area.left) / wide);
      return i >= low && i <= high ? `${grouped(sum[i])} from ${duration(2 ** i)} to below ${duration(2 ** (i + 1))}` : "";
    };
    plot.table([["from", "ns"], ["to below", "ns"], ["slices"]], () => Array.from({ length: high - low + 1 }, (_, k) => [2 ** (low + k), 2 ** (low + k + 1), sum[low + k]]));
    return undefined;
  };
  return plot;
}
