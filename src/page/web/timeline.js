// SPDX-License-Identifier: Apache-2.0
// The timeline: rows of slices and curves over time. This file has its state and its frames; input.js has what is
// done with mouse and keys, overlay.js what is drawn over the rows, panel.js what is told below them.
import { css, palette, DIM } from "./colours.js";
import { h, icon, say } from "./dom.js";
import { duration, exact, line as clean, tickLabel, timeTicks, withUnit } from "./format.js";
import { Lines } from "./lines.js";
import { drawCurve } from "./curve.js";
import { Accumulator, paintCoarse, paintRow, Sum, toPixels } from "./paint.js";
import { estimate, unread } from "./unread.js";

export const LEAST_SPAN = 20; // ns
const UNREAD = 4; // of patterns, beside those of slices (model.js)
const RECT = 4, LABEL = 34; // pixels from which on slices have edges, and names

export class Timeline {
  constructor(model, root) {
    this.model = model;
    this.root = root;
    this.lines = new Lines(model);
    this.view = { start: 0, end: model.length };
    this.selected = null;
    this.links = [];
    this.base = null; // what the overview is of, if not the model
    this.found = null; // ops that a search is for
    this.listeners = { view: [], select: [], frame: [], measure: [] };
    this.timings = [];
    this.top = 0;
    this.build();
    this.theme();
    new ResizeObserver(() => this.resize()).observe(this.scroller);
    model.onload = () => this.redraw();
  }

  on(what, f) { this.listeners[what].push(f); }
  tell(what, ...about) { for (const f of this.listeners[what]) f(...about); }

  build() {
    this.map = h("canvas.map", { role: "img", "aria-label": "Overview of the whole run: how busy hosts (upper half) and devices (lower half) are; the window is marked" });
    this.axis = h("canvas.axis", { role: "img", "aria-label": "Time" });
    this.canvas = h("canvas.rows", { tabindex: 0, role: "application", id: "rows", "aria-describedby": "live" });
    this.over = h("canvas.over", { "aria-hidden": "true" });
    this.gutter = h("div.gutter", { role: "tree", "aria-label": "Tracks" });
    this.pane = h("div.pane", {}, this.gutter, h("div.plane", {}, this.canvas, this.over));
    this.space = h("div.space", {}, this.pane);
    this.scroller = h("div.lanes", { tabindex: -1, role: "group", "aria-label": "Tracks and their rows" }, this.space);
    this.tip = h("div.tip", { hidden: true });
    if (!this.lines.list.length) this.space.append(h("p.nothing", { text: "This trace has nothing with a time: no calls, no device work, no curves." }));
    this.readout = h("span.readout");
    this.corner = h("div.corner", {}, this.readout);
    this.root.append(h("div.top", {}, this.corner, h("div.scales", {}, this.map, this.axis)), this.scroller, this.tip);
    this.scroller.addEventListener("scroll", () => this.redraw());
  }

  theme() {
    const style = getComputedStyle(document.documentElement), of = name => style.getPropertyValue(name).trim();
    this.dark = of("--dark") === "1";
    this.palette = palette(this.dark);
    this.colour = { text: of("--text"), muted: of("--muted"), line: of("--line"), panel: of("--panel"), accent: of("--accent"), background: css(this.palette.background), strip: of("--strip"), curve: of("--curve"), curveFill: of("--curve-fill") };
    this.hatch = null;
    this.mapDone = false;
    this.redraw();
  }

  // Draws another part of the same trace: tracks, rows and ops have the same numbers.
  use(model) {
    this.model = this.lines.model = model;
    model.onload = () => this.redraw();
    this.slots = this.labelsKey = null;
    this.lines.lay();
    this.redraw();
  }

  // Asks for what a picture of the whole run needs, should it be wanted at once.
  ask() {
    for (const r of this.model.rows) for (const l of r.levels) if (l.bins <= 16384) this.model.level(l);
    for (const c of this.model.curves) for (const l of c.levels) if (l.bins <= 16384) this.model.curveLevel(l);
  }

  resize() {
    this.ratio = Math.max(1, Math.min(2, window.devicePixelRatio || 1));
    this.height = this.scroller.clientHeight;
    if (!this.height) return; // of a tab that is not shown
    this.width = Math.max(50, this.canvas.parentElement.clientWidth);
    for (const [c, height] of [[this.canvas, this.height], [this.over, this.height], [this.map, 32], [this.axis, 22]]) {
      c.width = Math.round(this.width * this.ratio);
      c.height = Math.round(height * this.ratio);
      c.style.width = `${this.width}px`;
      c.style.height = `${height}px`;
    }
    this.pane.style.height = `${this.height}px`;
    this.columns = this.canvas.width;
    this.one = new Accumulator(this.columns);
    this.sum = new Sum(this.columns);
    this.image = null;
    this.mapDone = false;
    this.redraw();
  }

  redraw() {
    if (this.waiting || !this.width) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = 0;
      const began = performance.now();
      this.frame();
      const took = performance.now() - began;
      if (this.timings.push(took) > 4000) this.timings.shift();
    });
  }

  // ---- where things are -------------------------------------------------------------------------
  get perPixel() { return (this.view.end - this.view.start) / this.width; }
  x(time) { return (time - this.view.start) / this.perPixel; }
  time(x) { return this.view.start + x * this.perPixel; }
  lineAt(y) { return this.lines.at(y + this.scroller.scrollTop); }

  show(start, end, jump = false) {
    const least = LEAST_SPAN * this.model.quantum, most = this.model.length;
    let span = Math.min(most * 1.02, Math.max(least, end - start));
    const middle = (start + end) / 2;
    start = Math.min(Math.max(middle - span / 2, -most * 0.01), most * 1.01 - span);
    this.view = { start, end: start + span };
    this.redraw();
    this.tell("view", jump);
  }

  zoom(factor, x = this.width / 2) {
    const at = this.time(x), least = LEAST_SPAN * this.model.quantum, share = x / this.width;
    const span = Math.min(this.model.length * 1.02, Math.max(least, (this.view.end - this.view.start) * factor));
    this.show(at - span * share, at - span * share + span);
  }

  pan(pixels) {
    const by = pixels * this.perPixel;
    this.show(this.view.start + by, this.view.end + by);
  }

  whole() { this.show(0, this.model.length, true); }

  changed() {
    this.tell("view", false);
    this.redraw();
  }

  fold(track, on) {
    if (track.turn) {
      this.model.members.turned(track);
      this.focused = track.group.id; // those in sight are others
      this.lines.lay();
      say(track.group.told);
    }
    this.lines.toggle(track, on);
    this.changed();
  }

  revealRow(row) {
    if (this.lines.reveal(row)) this.changed();
    const l = this.lines.ofRow.get(row);
    if (!l) return;
    this.fit();
    this.top = this.scroller.scrollTop;
    if (l.y < this.top) this.scroller.scrollTop = Math.max(0, l.y - 60);
    else if (l.y + l.h > this.top + this.height) this.scroller.scrollTop = l.y + l.h - this.height + 60;
  }

  // Scrolls to a track, and gives it the keys.
  revealTrack(track) {
    this.lines.lay();
    const l = this.lines.list.find(x => x.track === track);
    if (!l) return;
    this.fit();
    this.focused = track.id;
    this.scroller.scrollTop = Math.max(0, l.y - 60);
    this.labelsKey = null;
    this.wantsKeys = true; // once its label is there
    this.changed();
  }

  // Makes a slice the selected one; `near`: also goes to where it can be seen, `close`: large enough to read.
  select(slice, { near = false, close = false } = {}) {
    this.selected = slice;
    if (slice && near) {
      this.revealRow(slice.row);
      const span = this.view.end - this.view.start, length = Math.max(slice.end - slice.start, this.model.quantum);
      if (close && (length < span / 60 || length > span)) {
        this.show(slice.start - length * 6, slice.start + length * 7, true);
      } else if (slice.start < this.view.start || slice.end > this.view.end) {
        const middle = length > span ? slice.start + span * 0.4 : (slice.start + slice.end) / 2;
        this.show(middle - span / 2, middle + span / 2, true);
      }
    }
    this.tell("select", slice);
    this.redraw();
  }

  mark(ops) {
    this.found = ops;
    this.slots = null;
    this.redraw();
  }

  colours() {
    if (!this.found) return this.model.slots;
    this.slots ??= this.model.slots.map((s, op) => this.found.has(op) ? s : DIM);
    return this.slots;
  }

  // ---- a frame ------------------------------------------------------------------------------------
  frame() {
    const g = this.canvas.getContext("2d", { alpha: false }), { ratio } = this;
    this.fit();
    const top = this.top = this.scroller.scrollTop, seen = this.lines.list.filter(l => l.y + l.h > top && l.y < top + this.height);
    this.marks = timeTicks(this.view.start, this.view.end, this.width / 120);
    this.rects = [];
    this.rows(g, seen);
    this.drawRects(g);
    this.labels(seen, top);
    this.drawAxis();
    this.drawMap();
    this.tell("frame", ratio);
    this.readout.textContent = duration(this.view.end - this.view.start, 4);
    this.canvas.setAttribute("aria-label", `Timeline from ${exact(Math.max(0, this.view.start))} to ${exact(this.view.end)}, ${seen.length} lines. Press ? for keys.`);
  }

  // As high as all lines together. Set only where it changes: each setting lays the page out anew.
  fit() {
    const high = Math.max(this.height, this.lines.height + (this.onPaper ? this.height : 24));
    if (high === this.fitted) return;
    this.fitted = high;
    this.space.style.height = `${high}px`;
  }

  // The pixels of all lines; drawn by hand, as one picture.
  rows(g, seen) {
    const wide = this.columns, high = this.canvas.height, { ratio } = this, colours = this.palette.pixels;
    if (!this.image || this.image.width !== wide || this.image.height !== high) {
      this.image = new ImageData(wide, high);
      this.pixels = new Uint32Array(this.image.data.buffer);
      this.row = new Uint32Array(wide);
    }
    const { pixels } = this;
    pixels.fill(colours.background);
    for (const t of this.marks.at) {
      const x = Math.round(this.x(t) * ratio);
      if (x >= 0 && x < wide) for (let k = x; k < pixels.length; k += wide) pixels[k] = colours.line;
    }
    let whole = true;
    this.unread = unread(this.model, this.view, wide);
    for (const acc of [this.one, this.sum.one]) acc.scaled(this.unread && this.model.ops.length);
    for (const l of seen) {
      const y = Math.round((l.y - this.top) * ratio), height = Math.round(l.h * ratio);
      if (l.type === "head") pixels.fill(colours.strip, Math.max(0, y) * wide, Math.min(high, y + height) * wide);
      else if (l.type === "curve") drawCurve(this, pixels, wide, high, l.curve, y + Math.round(3 * ratio), height - Math.round(6 * ratio));
      else whole = this.paintLine(l, y + Math.round(ratio), height - Math.round(2 * ratio)) && whole;
    }
    if (!this.first && (whole || !this.model.glance) && this.model.rows.every(r => !r.levels.length || r.levels[r.levels.length - 1].busy)) { this.first = true; performance.mark("kymo-first"); }
    this.read = whole;
    if (whole && !this.complete) { this.complete = true; performance.mark("kymo-whole"); }
    g.setTransform(1, 0, 0, 1, 0, 0);
    g.putImageData(this.image, 0, 0);
    for (const [from, to] of this.unread?.runs ?? []) {
      g.fillStyle = this.pattern(g, UNREAD);
      g.fillRect(from, 0, to - from, high);
    }
  }

  paintLine(l, y, height) {
    const slots = this.colours(), { table } = this.palette, { row, pixels, columns: wide } = this, from = Math.max(0, y), to = Math.min(this.canvas.height, y + height);
    let whole;
    if (l.type === "row") {
      this.one.clear();
      whole = paintRow(this.model, this.one, l.row, this.view, (a, b, block, got, i) => this.rects.push({ l, a, b, op: got.op[i], flags: got.flags ? got.flags[i] : 0 }), RECT * this.ratio);
      estimate(this.unread, this.one);
      toPixels(this.one, row, slots, table);
      this.waits(l, this.one, slots);
    } else {
      whole = this.sum.paint(this.model, l.rows, this.view);
      estimate(this.unread, this.sum.all);
      toPixels(this.sum.all, row, slots, table);
      this.waits(l, this.sum.all, slots);
    }
    if (from >= to) return whole;
    for (let x = 0, k = from * wide; x < wide; x++, k++) if (row[x]) pixels[k] = row[x];
    for (let k = from + 1; k < to; k++) pixels.copyWithin(k * wide, from * wide, (from + 1) * wide);
    return whole;
  }

  // Runs of waiting, and what was lost, are hatched: not told by colour alone.
  waits(l, acc, slots) {
    const { waits } = this.model, least = 5 * this.ratio;
    let from = 0, was = 0;
    for (let x = 0; x <= acc.width; x++) {
      const is = x < acc.width && acc.share[x] > 64 && slots[acc.op[x]] !== DIM ? waits[acc.op[x]] : 0;
      if (is === was) continue;
      if (was && x - from >= least) this.rects.push({ l, a: from, b: x, hatch: was });
      from = x;
      was = is;
    }
  }

  // Waits: one way; what was lost or left out: both ways; without a processor: one way, the lines farther apart; what is not
  // read yet: the other way, on the ground.
  pattern(g, which) {
    this.hatch ??= [];
    if (this.hatch[which]) return this.hatch[which];
    const size = (which === 3 ? 12 : 6) * Math.round(this.ratio), c = h("canvas", { width: size, height: size }), p = c.getContext("2d");
    p.strokeStyle = which === UNREAD ? this.colour.background : this.dark ? "rgba(255,255,255,.28)" : "rgba(0,0,0,.26)";
    p.lineWidth = this.ratio;
    for (const d of [-size, 0, size]) { p.beginPath(); if (which !== UNREAD) { p.moveTo(d, size); p.lineTo(d + size, 0); } if (which === 2 || which === UNREAD) { p.moveTo(d, 0); p.lineTo(d + size, size); } p.stroke(); }
    this.hatch[which] = g.createPattern(c, "repeat");
    return this.hatch[which];
  }

  // A small piece of what slices of an op look like.
  swatch(op) {
    const s = h(`i.swatch${["", ".hatched", ".crossed", ".hatched.wide"][this.model.waits[op]]}`);
    s.style.backgroundColor = this.palette.css[this.model.slots[op]];
    return s;
  }

  // What patterns mean, of those that are there.
  legend() {
    const { ops, waits } = this.model;
    return h("span.patterns", {}, [[1, "waiting in a call"], [3, "without a processor"], [2, "not recorded"]].map(([which, text]) => {
      const op = ops.findIndex((o, n) => waits[n] === which && o.count > 0);
      return op < 0 ? null : h("span", {}, this.swatch(op), text);
    }));
  }

  drawRects(g) {
    const { ratio } = this, slots = this.colours(), edge = this.colour.background, width = this.columns;
    g.font = `${11 * ratio}px ${FONT}`;
    g.textBaseline = "middle";
    for (const hatched of [true, false]) {
      for (const r of this.rects) {
        if (!r.hatch !== !hatched) continue;
        const a = Math.max(r.a, -2), b = Math.min(r.b, width + 2), y = Math.round((r.l.y - this.top + 1) * ratio), high = Math.round((r.l.h - 2) * ratio);
        if (hatched) {
          g.fillStyle = this.pattern(g, r.hatch);
          g.fillRect(a, y, b - a, high);
          continue;
        }
        g.fillStyle = edge;
        if (r.b < width) g.fillRect(Math.ceil(r.b) - ratio, y, ratio, high);
        if (r.flags & 1) { g.fillStyle = this.dark ? "#ff9d7a" : "#b3261e"; g.fillRect(a, y, b - a, 2 * ratio); g.fillRect(a, y, 2 * ratio, high); }
        if (r.flags & 2) this.torn(g, b, y, high);
        if (b - a >= LABEL * ratio) this.label(g, r, a, b, y + high / 2, slots[r.op]);
      }
    }
  }

  torn(g, x, y, high) {
    g.fillStyle = this.colour.background;
    for (let k = 0; k < high; k += 4 * this.ratio) { g.beginPath(); g.moveTo(x, y + k); g.lineTo(x - 3 * this.ratio, y + k + 2 * this.ratio); g.lineTo(x, y + k + 4 * this.ratio); g.fill(); }
  }

  label(g, r, a, b, y, slot) {
    const from = Math.max(a, 0), room = Math.min(b, this.columns) - from - 8 * this.ratio;
    this.names ??= new Map();
    const key = r.op + (r.flags & 1) / 2;
    let known = this.names.get(key);
    if (!known) {
      const text = (r.flags & 1 ? "! " : "") + clean(this.model.brief(r.op), 160);
      known = { text, width: g.measureText(text).width / this.ratio };
      this.names.set(key, known);
    }
    const { text } = known, wide = known.width * this.ratio, most = wide <= room ? text.length : Math.floor(text.length * room / wide) - 2;
    if (most < 2) return;
    g.fillStyle = slot === DIM ? this.colour.muted : this.palette.text[slot];
    g.fillText(most < text.length ? `${text.slice(0, most)}…` : text, from + 4 * this.ratio, y + this.ratio * 0.5);
  }

  drawAxis() {
    const g = this.axis.getContext("2d"), { ratio } = this;
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, this.width, 22);
    g.font = `11px ${FONT}`;
    g.textBaseline = "middle";
    const { step, at } = this.marks, far = this.view.start / step > 1e5;
    for (const t of at) {
      const x = Math.round(this.x(t)) + 0.5;
      g.fillStyle = this.colour.line;
      g.fillRect(x - 0.5, 14, 1, 8);
      g.fillStyle = this.colour.muted;
      const text = far ? `+${tickLabel(t - at[0], step)}` : tickLabel(t, step);
      g.fillText(text, x + 4, 11);
    }
    if (far && at.length) {
      const text = exact(at[0]), w = g.measureText(text).width + 10;
      g.fillStyle = this.colour.panel;
      g.fillRect(0, 0, w, 22);
      g.fillStyle = this.colour.text;
      g.fillText(text, 4, 11);
    }
  }

  // Hosts in the upper half, devices in the lower one.
  drawMap() {
    const g = this.map.getContext("2d"), { ratio } = this, width = this.columns, height = this.map.height;
    if (!this.mapDone) {
      const model = this.base ?? this.model, whole = { start: 0, end: model.length }, sum = new Sum(width);
      this.mapDone = true;
      this.mapImage = h("canvas", { width, height });
      const m = this.mapImage.getContext("2d");
      m.fillStyle = this.colour.background;
      m.fillRect(0, 0, width, height);
      [false, true].forEach((device, part) => {
        const rows = model.rows.filter(r => !r.strip && r.device === device && (device || r.depth === 0) && r.records);
        sum.one.scaled(model.glance && model.ops.length);
        if (!sum.paint(model, rows, whole, model.glance ? paintRow : paintCoarse, false)) {
          this.mapDone = false;
          return;
        }
        estimate(unread(model, whole, width), sum.all);
        const most = Math.max(1, ...sum.all.share), half = height / 2;
        for (let x = 0; x < width; x++) {
          const s = sum.all.share[x];
          if (!s) continue;
          m.fillStyle = this.palette.css[model.slots[sum.all.op[x]]];
          const high = Math.max(1, s / most * (half - 3 * ratio));
          m.fillRect(x, part * half + half - high - ratio, 1, high);
        }
      });
    }
    g.setTransform(1, 0, 0, 1, 0, 0);
    g.drawImage(this.mapImage, 0, 0);
    const a = this.view.start / this.model.length * width, b = this.view.end / this.model.length * width;
    g.fillStyle = this.dark ? "rgba(0,0,0,.55)" : "rgba(225,225,220,.72)";
    g.fillRect(0, 0, Math.max(0, a), height);
    g.fillRect(b, 0, width - b, height);
    g.strokeStyle = this.colour.accent;
    g.lineWidth = 1.5 * ratio;
    g.strokeRect(Math.max(0, a) + ratio, ratio, Math.max(2 * ratio, Math.min(width, b) - Math.max(0, a) - 2 * ratio), height - 2 * ratio);
  }

  // ---- labels -------------------------------------------------------------------------------------
  labels(seen, top) {
    const wanted = seen.filter(l => l.labelled || l.type === "curve"), key = `${top}|${this.height}|${wanted.map(l => `${l.n}${l.type}${l.folded ? "+" : ""}${l.text || l.track.member ? `${l.track.id}${l.text ?? ""}` : ""}`).join()}|${this.lines.height}|${this.focused}`;
    if (key === this.labelsKey) return;
    this.labelsKey = key;
    const had = this.gutter.contains(document.activeElement) || this.wantsKeys;
    this.wantsKeys = false;
    this.gutter.replaceChildren(...wanted.map(l => this.labelOf(l, top)));
    if (had) this.gutter.querySelector('[tabindex="0"]')?.focus({ preventScroll: true });
  }

  labelOf(l, top) {
    const t = l.track, text = clean(l.type === "curve" ? l.curve.name : l.text ?? t.label, 300);
    let high = l.h, y = l.y - top;
    if (l.type === "row") {
      // A label stays in sight while any row of its track does.
      let last = l.n;
      while (this.lines.list[last + 1]?.type === "row" && this.lines.list[last + 1].track === t) last++;
      const end = this.lines.list[last];
      high = end.y + end.h - l.y;
    }
    const e = h(`div.label.${l.type}.${t.kind}`, { role: "treeitem", "aria-level": l.level + 1, title: clean(l.type === "curve" ? `${this.model.path(t.id)} › ${l.curve.name}` : this.model.path(t.id), 1000), tabindex: this.focused === t.id && l.labelled ? 0 : -1, "data-track": t.id });
    if (l.folds) {
      e.setAttribute("aria-expanded", String(!l.folded));
      e.append(icon(l.folded ? "M6 3l5 5-5 5z" : "M3 6l5 5 5-5z"));
    } else {
      e.append(h("span.noicon"));
    }
    e.append(h("span.name", { text }));
    if (l.type === "curve") e.append(h("span.range", { text: `max ${withUnit(l.curve.max, l.curve.unit)}` }));
    e.style.top = `${y}px`;
    e.style.height = `${high}px`;
    e.style.paddingLeft = `${6 + 12 * l.level}px`;
    return e;
  }
}

export const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif';
