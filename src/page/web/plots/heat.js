// SPDX-License-Identifier: Apache-2.0
// How busy each device is over time, and messages between ranks: amounts as colours of cividis.
import { cividis, css } from "../colours.js";
import { h, say } from "../dom.js";
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
      const text = clean(`${model.tracks[d.t.parent] ? `${model.nameOfRoot(d.t.id)} › ` : ""}${d.t.label}`, 60);
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

const CELLS = 48; // a side: of more, neighbours are one

// Who sends to whom: of the page's matrix, or, where no ranks are known, of the messages of what is drawn.
// { names, told, from, to, count, bytes, each }: `each` neighbours are one place of `from` and `to`.
async function ofRanks(model, about) {
  const bytes = await model.section(about.section), n = about.pairs, of = (Type, at) => new Type(bytes.slice(at, at + n * Type.BYTES_PER_ELEMENT).buffer);
  return { names: about.ranks, told: about.ranks.map(r => `rank ${r}`), each: about.each, from: of(Uint32Array, 0), to: of(Uint32Array, 4 * n), count: of(Float64Array, 8 * n), bytes: of(Float64Array, 16 * n) };
}

async function ofDrawn(model) {
  const rootOf = model.rows.map(r => model.rankOf(r.track)), all = await allMessages(model), seen = new Set(), sums = new Map();
  for (const m of all) for (let i = 0; i < m.count; i++) seen.add(rootOf[m.from[i]]).add(rootOf[m.to[i]]);
  const roots = model.roots.filter(t => t.kind === "rank" || seen.has(t)), n = roots.length, at = new Map(roots.map((t, k) => [t, k]));
  for (const m of all) {
    for (let i = 0; i < m.count; i++) {
      const key = at.get(rootOf[m.from[i]]) * n + at.get(rootOf[m.to[i]]), s = sums.get(key) ?? sums.set(key, [0, 0]).get(key);
      s[0]++;
      s[1] += m.bytes[i];
    }
  }
  const list = [...sums], number = t => /^rank ([\d.]+)/.exec(t.label)?.[1];
  return { roots, names: roots.map(t => number(t) ?? clean(t.label.split(/\s+·/)[0], 60)), told: roots.map(t => clean(t.label, 60)), each: 1,
    from: list.map(([k]) => Math.floor(k / n)), to: list.map(([k]) => k % n), count: list.map(([, s]) => s[0]), bytes: list.map(([, s]) => s[1]) };
}

export function messageMatrix(model) {
  const about = model.head.matrix ?? null;
  if (!about && !(model.head.messages ?? []).length) return null;
  const elsewhere = about?.elsewhere ? `; ${grouped(about.elsewhere)} with ranks that were not recorded are not here` : "";
  const plot = new Plot({ name: "messages", title: "Messages between ranks", about: about ? `as the rank that sends, puts or gets them says; a row sends, a column receives${elsewhere}` : "of all messages whose both ends are known; a row sends, a column receives", height: 380 });
  let what = "bytes", data = null, asked = false, at = null; // at: the cell that has the keys
  const zoomed = [], out = h("button.small", { type: "button", hidden: true, onclick: () => plot.out() }, "Zoom out");
  plot.tools.append(out, select("What is shown", [["bytes", "bytes"], ["count", "messages"]], v => { what = v; plot.draw(); }));
  plot.canvas.tabIndex = 0;
  plot.view = () => {
    const all = Math.ceil(data.names.length / data.each), { row = 0, column = 0, size = all } = zoomed[zoomed.length - 1] ?? {};
    return { all, row, column, size, step: Math.ceil(size / CELLS), n: Math.ceil(size / Math.ceil(size / CELLS)) };
  };
  // The ranks of a bin of rows or columns from `first` on.
  const bin = (v, first, k) => {
    const a = (first + k * v.step) * data.each, b = Math.min(data.names.length, Math.min(first + v.size, first + (k + 1) * v.step) * data.each) - 1;
    const name = a === b ? data.names[a] : `${data.names[a]}–${data.names[b]}`;
    return { name, first: data.names[a], told: a === b ? data.told[a] : data.roots ? `${data.told[a]} – ${data.told[b]}` : `ranks ${name}`, there: a <= b };
  };
  const sum = v => {
    const sums = { bytes: new Float64Array(v.n * v.n), count: new Float64Array(v.n * v.n) };
    for (let i = 0; i < data.from.length; i++) {
      const a = data.from[i] - v.row, b = data.to[i] - v.column;
      if (a < 0 || b < 0 || a >= v.size || b >= v.size) continue;
      const cell = Math.floor(a / v.step) * v.n + Math.floor(b / v.step);
      sums.bytes[cell] += data.bytes[i];
      sums.count[cell] += data.count[i];
    }
    return sums;
  };
  plot.into = (a, b) => {
    const v = plot.view();
    if (v.step === 1) return say(data.each > 1 ? "The page has no more of it: kymo query has" : "These are single ranks");
    zoomed.push({ row: v.row + a * v.step, column: v.column + b * v.step, size: v.step });
    at = [0, 0];
    plot.draw();
    return plot.say();
  };
  plot.out = () => {
    if (!zoomed.pop()) return;
    at = at && [0, 0];
    plot.draw();
    plot.say();
  };
  plot.say = () => {
    if (!at) return;
    plot.told.textContent = plot.textOf(...at);
    say(plot.told.textContent);
  };
  plot.draw = () => {
    if (!data) {
      if (!asked) (about ? ofRanks(model, about) : ofDrawn(model)).then(d => { data = d; plot.roots = d.roots; plot.draw(); }, e => model.failed(e));
      asked = true;
      plot.begin();
      return;
    }
    const v = plot.view(), { n } = v, sums = sum(v), values = sums[what], most = values.reduce((a, b) => Math.max(a, b), 1), side = Math.min((plot.canvas.clientWidth || 600) - 150, plot.height - 70), g = plot.begin(side + 70), cell = side / n, left = 130, top = 34;
    const shown = x => what === "bytes" ? size(x) : grouped(x), gap = cell > 6 ? 1 : 0;
    out.hidden = !zoomed.length;
    scale(plot, Math.min(left + 30, plot.width - 186), 8, "0", shown(most));
    g.textBaseline = "middle";
    for (let a = 0; a < n; a++) {
      for (let b = 0; b < n; b++) {
        const x = values[a * n + b];
        g.fillStyle = sums.count[a * n + b] ? css(cividis(x / most)) : plot.colour.strip;
        g.fillRect(left + b * cell, top + a * cell, Math.max(1, cell - gap), Math.max(1, cell - gap));
      }
      if (a % Math.ceil(13 / cell) === 0) {
        const { name, there } = bin(v, v.row, a);
        g.fillStyle = plot.colour.text;
        g.textAlign = "right";
        if (there) g.fillText(fitted(g, name, left - 14), left - 8, top + a * cell + cell / 2);
      }
      const every = Math.ceil((data.names.length > 999 ? 44 : 28) / cell), { first, there } = bin(v, v.column, a);
      g.textAlign = "center";
      g.fillStyle = plot.colour.text;
      if (there && a % every === 0) g.fillText(fitted(g, first, Math.max(every * cell - 4, 14)), left + a * cell + cell / 2, top + n * cell + 10);
    }
    g.fillStyle = plot.colour.muted;
    g.textAlign = "center";
    g.fillText(v.step * data.each > 1 ? `to rank; ${grouped(v.step * data.each)} ranks a cell` : "to rank", left + n * cell / 2, top + n * cell + 26);
    g.textAlign = "left";
    if (at) {
      g.strokeStyle = plot.colour.accent;
      g.lineWidth = 2;
      g.strokeRect(left + at[1] * cell, top + at[0] * cell, Math.max(3, cell - gap), Math.max(3, cell - gap));
    }
    plot.cellAt = (x, y) => {
      const b = Math.floor((x - left) / cell), a = Math.floor((y - top) / cell);
      return a < 0 || b < 0 || a >= n || b >= n ? null : [a, b];
    };
    plot.textOf = (a, b) => {
      const from = bin(v, v.row, a), to = bin(v, v.column, b);
      if (!from.there || !to.there) return "";
      return `From ${from.told} to ${to.told}: ${grouped(sums.count[a * n + b])} messages, ${size(sums.bytes[a * n + b])}${v.step > 1 ? "; a click or Enter shows them apart" : ""}`;
    };
    plot.tell = (x, y) => { const c = plot.cellAt(x, y); return c ? plot.textOf(...c) : ""; };
    plot.table([["from"], ["to"], ["messages"], ["bytes", "B"]], () => {
      const list = [];
      for (let a = 0; a < n; a++) for (let b = 0; b < n; b++) if (sums.count[a * n + b]) list.push([bin(v, v.row, a).told, bin(v, v.column, b).told, sums.count[a * n + b], sums.bytes[a * n + b]]);
      return list.sort((x, y) => y[3] - x[3]);
    });
  };
  plot.canvas.addEventListener("click", e => {
    const r = plot.canvas.getBoundingClientRect(), c = plot.cellAt?.(e.clientX - r.left, e.clientY - r.top);
    if (c && plot.view().step > 1) plot.into(...c);
  });
  plot.canvas.addEventListener("keydown", e => {
    const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[e.key];
    if (!data || e.ctrlKey || e.metaKey || e.altKey || !(move || e.key === "Enter" || e.key === "Escape")) return;
    e.preventDefault();
    e.stopPropagation();
    if (e.key === "Escape") return plot.out();
    if (e.key === "Enter") return at && plot.into(...at);
    const { n } = plot.view();
    at = at ? [Math.min(n - 1, Math.max(0, at[0] + move[0])), Math.min(n - 1, Math.max(0, at[1] + move[1]))] : [0, 0];
    plot.draw();
    plot.say();
    return undefined;
  });
  return plot;
}
