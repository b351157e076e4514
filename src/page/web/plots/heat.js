// SPDX-License-Identifier: Apache-2.0
// How busy each device is over time, and messages between ranks: amounts as colours of cividis.
import { cividis, css } from "../colours.js";
import { duration, grouped, line as clean, percent, size } from "../format.js";
import { Accumulator, paintCoarse, paintRow } from "../paint.js";
import { allMessages } from "../arrows.js";
import { fitted, Plot, select } from "./chart.js";

function scale(plot, x, y, text0, text1) {
  const { g, colour } = plot;
  for (let k = 0; k < 120; k++) { g.fillStyle = css(cividis(k / 119)); g.fillRect(x + k, y, 1, 9); }
  g.fillStyle = colour.muted;
  g.textBaseline = "middle";
  g.textAlign = "right";
  g.fillText(text0, x - 5, y + 5);
  g.textAlign = "left";
  g.fillText(text1, x + 126, y + 5);
}

export function busyHeat(model) {
  const devices = model.roots.flatMap(t => model.below(t)).filter(t => t.kind === "device" || (t.kind === "queue" && model.tracks[t.parent]?.kind !== "device"))
    .map(t => ({ t, rows: model.below(t).flatMap(x => x.rows.map(r => model.rows[r])).filter(r => r.records) })).filter(d => d.rows.length);
  if (!devices.length) return null;
  const plot = new Plot({ name: "busy", title: "Devices over time", about: "share of each interval in which the busiest queue of a device has work", wide: true });
  plot.draw = () => {
    const bins = 300, acc = new Accumulator(bins), high = Math.max(3, Math.min(22, 460 / devices.length)), whole = { start: 0, end: model.length };
    let known = true;
    const shares = devices.map(d => {
      const most = new Float32Array(bins);
      for (const r of d.rows) {
        acc.clear();
        const fits = r.levels.some(l => l.bin <= model.length / bins);
        known = (fits ? paintRow : paintCoarse)(model, acc, r, whole) && known;
        for (let x = 0; x < bins; x++) most[x] = Math.max(most[x], Math.min(255, acc.share[x]) / 255);
      }
      return most;
    });
    const g = plot.begin(devices.length * high + 50), left = Math.min(250, plot.width * 0.25), right = plot.width - 8;
    const box = { left, top: 24, right, bottom: 24 + devices.length * high }, wide = (right - left) / bins;
    scale(plot, right - 170, 6, "0 %", "100 %");
    g.textBaseline = "middle";
    devices.forEach((d, n) => {
      const y = box.top + n * high, every = Math.ceil(12 / high);
      for (let x = 0; x < bins; x++) {
        g.fillStyle = shares[n][x] ? css(cividis(shares[n][x])) : plot.colour.strip;
        const from = Math.round(left + x * wide);
        g.fillRect(from, y, Math.round(left + (x + 1) * wide) - from, high - (high > 6 ? 1 : 0));
      }
      if (n % every) return;
      g.fillStyle = plot.colour.text;
      g.textAlign = "right";
      const text = clean(`${model.tracks[d.t.parent] ? `${model.rankOf(d.t.id).label.split(/\s+·/)[0]} › ` : ""}${d.t.label}`, 60);
      g.fillText(fitted(g, text, left - 12), left - 8, y + high / 2);
    });
    g.textAlign = "left";
    plot.axes(box, { from: 0, to: model.length, time: true });
    plot.tell = (x, y) => {
      const n = Math.floor((y - box.top) / high), k = Math.floor((x - left) / wide);
      if (!devices[n] || k < 0 || k >= bins) return "";
      return `${clean(devices[n].t.label, 100)}: ${percent(100 * shares[n][k])} busy from ${duration(k * model.length / bins)} to ${duration((k + 1) * model.length / bins)}`;
    };
    plot.table([["device"], ["mean", "%"], ["most", "%"], ["least", "%"]], () => devices.map((d, n) => [clean(model.path(d.t.id), 200), 100 * shares[n].reduce((a, b) => a + b, 0) / bins, 100 * Math.max(...shares[n]), 100 * Math.min(...shares[n])]));
    plot.known = known;
  };
  return plot;
}

export function messageMatrix(model) {
  if (!(model.head.messages ?? []).length) return null;
  const plot = new Plot({ name: "messages", title: "Messages between ranks", about: "of all messages whose both ends are known; a row sends, a column receives", height: 380 });
  let what = "bytes", sums = null;
  plot.tools.append(select("What is shown", [["bytes", "bytes"], ["count", "messages"]], v => { what = v; plot.draw(); }));
  // Ranks, and what else sends or receives; the telemetry of a host and what was lost do neither.
  const collect = async () => {
    const rootOf = model.rows.map(r => model.rankOf(r.track)), all = await allMessages(model), seen = new Set();
    for (const m of all) for (let i = 0; i < m.count; i++) seen.add(rootOf[m.from[i]]).add(rootOf[m.to[i]]);
    const roots = model.roots.filter(t => t.kind === "rank" || seen.has(t)), n = roots.length, at = new Map(roots.map((t, k) => [t, k]));
    plot.roots = roots;
    sums = { n, bytes: new Float64Array(n * n), count: new Float64Array(n * n) };
    for (const m of all) {
      for (let i = 0; i < m.count; i++) {
        const cell = at.get(rootOf[m.from[i]]) * n + at.get(rootOf[m.to[i]]);
        sums.bytes[cell] += m.bytes[i];
        sums.count[cell]++;
      }
    }
  };
  plot.draw = () => {
    if (!sums) { collect().then(() => plot.draw(), e => model.failed(e)); plot.begin(); return; }
    const { n } = sums, { roots } = plot, number = t => /^rank (\d+)/.exec(t.label)?.[1], numbered = roots.every(number), values = sums[what], most = Math.max(1, ...values), g = plot.begin(), side = Math.min(plot.width - 150, plot.height - 70), cell = side / n, left = 130, top = 34;
    const shown = v => what === "bytes" ? size(v) : grouped(v);
    scale(plot, left + 30, 8, "0", shown(most));
    g.textBaseline = "middle";
    for (let a = 0; a < n; a++) {
      for (let b = 0; b < n; b++) {
        const v = values[a * n + b];
        g.fillStyle = v ? css(cividis(v / most)) : plot.colour.strip;
        g.fillRect(left + b * cell, top + a * cell, Math.max(1, cell - (cell > 6 ? 1 : 0)), Math.max(1, cell - (cell > 6 ? 1 : 0)));
      }
      if (a % Math.ceil(13 / cell)) continue;
      g.fillStyle = plot.colour.text;
      g.textAlign = "right";
      g.fillText(fitted(g, clean(roots[a].label.split(/\s+·/)[0], 60), left - 14), left - 8, top + a * cell + cell / 2);
      g.textAlign = "center";
      if (cell > 14 || a % Math.ceil(24 / cell) === 0) g.fillText(numbered ? number(roots[a]) : String(a), left + a * cell + cell / 2, top + n * cell + 10);
    }
    g.fillStyle = plot.colour.muted;
    g.fillText(numbered ? "to rank" : "to (in the order of the rows)", left + n * cell / 2, top + n * cell + 26);
    g.textAlign = "left";
    plot.tell = (x, y) => {
      const b = Math.floor((x - left) / cell), a = Math.floor((y - top) / cell);
      if (a < 0 || b < 0 || a >= n || b >= n) return "";
      return `${clean(roots[a].label, 60)} to ${clean(roots[b].label, 60)}: ${grouped(sums.count[a * n + b])} messages, ${size(sums.bytes[a * n + b])}`;
    };
    plot.table([["from"], ["to"], ["messages"], ["bytes", "B"]], () => {
      const list = [];
      for (let a = 0; a < n; a++) for (let b = 0; b < n; b++) if (sums.count[a * n + b]) list.push([clean(roots[a].label, 100), clean(roots[b].label, 100), sums.count[a * n + b], sums.bytes[a * n + b]]);
      return list.sort((x, y) => y[3] - x[3]);
    });
  };
  return plot;
}
