// SPDX-License-Identifier: Apache-2.0
// Curves over the run: memory in use, and how fast copies are.
import { SERIES } from "../colours.js";
import { curvePixels } from "../curve.js";
import { h } from "../dom.js";
import { duration, grouped, line as clean, size, withUnit } from "../format.js";
import { drawLine, Plot, textured } from "./chart.js";

export function memory(model) {
  const curves = model.curves.filter(c => c.kind === "memory" && c.points).sort((a, b) => b.max - a.max).slice(0, 8);
  if (!curves.length) return null;
  const plot = new Plot({ name: "memory", title: "Memory in use", about: model.curves.filter(c => c.kind === "memory").length > 8 ? "the eight largest over the run" : "over the run" });
  plot.live = true;
  plot.draw = () => {
    const g = plot.begin(), area = { left: 70, top: 8, right: plot.width - 10, bottom: plot.height - 28 }, width = Math.floor(area.right - area.left), most = Math.max(1, ...curves.map(c => c.max));
    plot.axes(area, { from: 0, to: model.length, time: true }, { from: 0, to: most, unit: curves[0].unit });
    const values = curves.map(c => curvePixels(model, c, { start: 0, end: model.length }, width));
    values.forEach((v, n) => drawLine(g, v, area, y => area.bottom - y / most * (area.bottom - area.top), SERIES[n], n));
    const nameOf = c => clean(`${model.rankOf(c.track)?.label.split(/\s+·/)[0] ?? ""}: ${c.name}`, 90);
    plot.legend(curves.map((c, n) => [SERIES[n], `${nameOf(c)}, at most ${withUnit(c.max, c.unit)}`, { line: n }]));
    plot.tell = x => {
      const k = Math.floor(x - area.left);
      return k >= 0 && k < width ? `${duration(k / width * model.length)}: ${values.map((v, n) => `${nameOf(curves[n])} ${withUnit(v.last[k] || 0, curves[n].unit)}`).join(",  ")}` : "";
    };
    plot.table([["curve"], ["least", curves[0].unit], ["most", curves[0].unit], ["readings"]], () => curves.map(c => [nameOf(c), c.min, c.max, c.points]));
  };
  return plot;
}

export function bandwidth(model) {
  const copies = new Set(model.ops.flatMap((o, n) => o.kind === "copy" ? [n] : [])), rows = model.rows.filter(r => r.device && r.records);
  if (!copies.size || !rows.length) return null;
  const plot = new Plot({ name: "bandwidth", title: "Bytes copied over time", about: "bytes a second by direction, spread over each copy’s time" });
  const BINS = 240, bin = model.length / BINS;
  let sums = null, asked = false;
  const box = h("span"), blocks = rows.flatMap(r => r.blocks), total = rows.reduce((n, r) => n + r.records, 0);
  plot.tools.append(box);
  const collect = async () => {
    asked = true;
    const found = new Map(), progress = h("progress", { max: blocks.length, value: 0, "aria-label": "Adding bytes" });
    box.replaceChildren(progress);
    for (const b of blocks) {
      progress.value++;
      const m = await model.more(b);
      if (!m.bytes) continue;
      const got = await model.block(b);
      for (let i = 0; i < got.count; i++) {
        if (!copies.has(got.op[i]) || !m.bytes[i]) continue;
        if (!found.has(got.op[i])) found.set(got.op[i], new Float64Array(BINS));
        const s = found.get(got.op[i]), a = got.start[i], e = Math.max(got.end[i], a + 1), rate = m.bytes[i] / (e - a);
        for (let k = Math.max(0, Math.floor(a / bin)); k < BINS && k * bin < e; k++) s[k] += rate * Math.max(0, Math.min(e, (k + 1) * bin) - Math.max(a, k * bin));
      }
    }
    box.replaceChildren();
    sums = [...found].sort((a, b) => b[1].reduce((x, y) => x + y, 0) - a[1].reduce((x, y) => x + y, 0)).slice(0, 8);
    plot.draw();
  };
  plot.draw = () => {
    if (!sums) {
      if (!asked && total <= 3e6) collect().catch(e => model.failed(e));
      else if (!asked) box.replaceChildren(h("button.small", { type: "button", onclick: () => collect().catch(e => model.failed(e)) }, `Look through ${grouped(total)} slices`));
      plot.begin();
      return undefined;
    }
    if (!sums.length) return plot.empty("No copy has a size.");
    const g = plot.begin(), area = { left: 76, top: 8, right: plot.width - 10, bottom: plot.height - 28 }, wide = (area.right - area.left) / BINS, stack = new Float64Array(BINS);
    for (const [, s] of sums) s.forEach((v, k) => { stack[k] += v / (bin / 1e9); });
    const most = Math.max(1, ...stack), low = new Float64Array(BINS);
    plot.axes(area, { from: 0, to: model.length, time: true }, { from: 0, to: most, unit: "B/s" });
    sums.forEach(([, s], n) => {
      for (let k = 0; k < BINS; k++) {
        const v = s[k] / (bin / 1e9), a = low[k] / most * (area.bottom - area.top), b = (low[k] += v) / most * (area.bottom - area.top);
        if (v) textured(g, area.left + k * wide, area.bottom - b, Math.ceil(wide), Math.max(1, b - a), SERIES[n], n);
      }
    });
    plot.legend(sums.map(([op, s], n) => [SERIES[n], `${clean(model.name(op), 80)}, ${size(s.reduce((a, b) => a + b, 0))}`, { texture: n }]));
    plot.tell = x => {
      const k = Math.floor((x - area.left) / wide);
      return k >= 0 && k < BINS ? `${duration(k * bin)} to ${duration((k + 1) * bin)}: ${sums.map(([op, s]) => `${clean(model.name(op), 60)} ${size(s[k] / (bin / 1e9), "/s")}`).join(",  ")}` : "";
    };
    plot.table([["from", "ns"], ...sums.map(([op]) => [clean(model.name(op), 80), "B/s"])], () => Array.from({ length: BINS }, (_, k) => [k * bin, ...sums.map(([, s]) => s[k] / (bin / 1e9))]));
    return undefined;
  };
  return plot;
}
