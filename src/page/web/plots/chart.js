// SPDX-License-Identifier: Apache-2.0
// What the plots share: a frame with title, picture, legend and the same as a table; axes; colours of the theme.
import { h, save } from "../dom.js";
import { tickLabel, ticks, timeTicks, withUnit } from "../format.js";
import { csv } from "../panel.js";

const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif';

export class Plot {
  constructor({ title, about, wide = false, height = 240, name }) {
    this.height = height;
    this.name = name;
    this.title = title;
    this.canvas = h("canvas", { role: "img", "aria-label": `${title}. ${about}` });
    this.tools = h("div.tools");
    this.legendBox = h("div.legend");
    this.told = h("div.told", { role: "status" });
    this.tableBox = h("div.scroll");
    this.details = h("details", { ontoggle: () => this.fillTable() }, h("summary", { text: "The same as a table" }), this.tableBox);
    this.element = h(`section.plot${wide ? ".wide" : ""}`, { id: `plot-${name}`, "aria-label": title }, h("header", {}, h("h2", { text: title }), h("span.about", { text: about }), this.tools), this.canvas, this.legendBox, this.told, this.details);
    this.canvas.addEventListener("pointermove", e => {
      const r = this.canvas.getBoundingClientRect();
      this.told.textContent = this.tell?.(e.clientX - r.left, e.clientY - r.top) ?? "";
    });
    this.canvas.addEventListener("pointerleave", () => { this.told.textContent = ""; });
  }

  // Begins a drawing: a context in units of CSS pixels.
  begin(height = this.height) {
    const ratio = Math.max(1, Math.min(2, devicePixelRatio || 1)), width = this.canvas.clientWidth || 600;
    this.canvas.style.height = `${height}px`;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    const g = this.canvas.getContext("2d");
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.font = `11px ${FONT}`;
    this.look();
    Object.assign(this, { g, width, drawn: height });
    return g;
  }

  // Colours of the theme.
  look() {
    const style = getComputedStyle(document.documentElement), of = n => style.getPropertyValue(n).trim();
    this.colour = { text: of("--text"), muted: of("--muted"), line: of("--line"), panel: of("--panel"), accent: of("--accent"), strip: of("--strip"), dark: of("--dark") === "1" };
    return this.colour;
  }

  // Axes around { left, top, right, bottom }; x is time where `time`.
  axes(box, x, y) {
    const { g, colour } = this;
    g.textBaseline = "middle";
    if (y) {
      const many = Math.max(2, (box.bottom - box.top) / 42), marks = /^(B|bytes)/.test(y.unit) ? sizeTicks(y.to, many) : ticks(y.from, y.to, many);
      g.textAlign = "right";
      for (const v of marks.at) {
        const at = box.bottom - (v - y.from) / (y.to - y.from || 1) * (box.bottom - box.top);
        g.fillStyle = colour.line;
        g.fillRect(box.left, Math.round(at), box.right - box.left, 1);
        g.fillStyle = colour.muted;
        g.fillText(withUnit(v, y.unit), box.left - 6, at);
      }
    }
    if (x) {
      g.textAlign = "center";
      const many = Math.max(2, (box.right - box.left) / 100), marks = x.time ? timeTicks(x.from, x.to, many) : ticks(x.from, x.to, many);
      for (const v of marks.at) {
        const at = box.left + (v - x.from) / (x.to - x.from || 1) * (box.right - box.left);
        g.fillStyle = colour.line;
        g.fillRect(Math.round(at), box.bottom, 1, 5);
        g.fillStyle = colour.muted;
        g.fillText(x.time ? tickLabel(v, marks.step) : withUnit(v, x.unit), Math.min(box.right - 20, Math.max(box.left + 8, at)), box.bottom + 13);
      }
    }
    g.textAlign = "left";
    this.box = box;
  }

  // Items: [colour, text, { texture } or { line }]: how the area or line looks.
  legend(items) {
    this.legendBox.replaceChildren(...items.map(([colour, text, look]) => h("span", {}, this.sample(colour, look ?? {}), text)));
  }

  sample(colour, { texture = 0, line }) {
    const ratio = Math.max(1, Math.min(2, devicePixelRatio || 1)), [w, high] = line === undefined ? [18, 12] : [30, 12], c = h("canvas.sample", { "aria-hidden": "true", width: w * ratio, height: high * ratio }), g = c.getContext("2d");
    g.scale(ratio, ratio);
    if (line === undefined) {
      textured(g, 0, 0, w, high, colour, texture);
    } else {
      g.strokeStyle = colour;
      g.lineWidth = 2;
      g.setLineDash(DASHES[line % DASHES.length]);
      g.beginPath();
      g.moveTo(0, high / 2);
      g.lineTo(w, high / 2);
      g.stroke();
    }
    return c;
  }

  // heads: [title, unit]; rows: made only once they are looked at.
  table(heads, rows) {
    this.element.dataset.drawn = "";
    this.tabled = { heads, rows };
    this.fillTable();
  }

  fillTable() {
    if (!this.details.open || !this.tabled) return;
    const { heads } = this.tabled, rows = this.tabled.rows();
    this.tableBox.replaceChildren(h("button.small", { type: "button", onclick: () => save(`${this.name}.csv`, csv([heads.map(([t, u]) => u ? `${t} (${u})` : t), ...rows])) }, "Save CSV"),
      h("table", { "aria-label": `${this.title}, as a table` }, h("thead", {}, h("tr", {}, heads.map(([t], n) => h(typeof rows[0]?.[n] === "number" ? "th.n" : "th", { scope: "col", text: t })))),
        h("tbody", {}, rows.slice(0, 500).map(r => h("tr", {}, r.map((v, n) => h(typeof v === "number" ? "td.n" : "td", { text: withUnit(v, heads[n][1]) })))))), rows.length > 500 ? h("p.muted", { text: `and ${rows.length - 500} more: save them` }) : "");
  }

  empty(text) {
    const g = this.begin(60);
    g.fillStyle = this.colour.muted;
    g.textBaseline = "middle";
    g.fillText(text, 4, 30);
    this.tell = null;
    this.legend([]);
  }
}

// Sizes have marks at powers of two: 512 MiB, 1 GiB.
function sizeTicks(to, many) {
  const step = 2 ** Math.ceil(Math.log2(Math.max(1, to / many)));
  return { step, at: Array.from({ length: Math.floor(to / step) + 1 }, (_, n) => n * step) };
}

// Text that is not wider than so many pixels.
export function fitted(g, text, width) {
  if (g.measureText(text).width <= width) return text;
  let low = 0, high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (g.measureText(`${text.slice(0, middle)}…`).width <= width) low = middle;
    else high = middle - 1;
  }
  return `${text.slice(0, low)}…`;
}

export const select = (label, options, change) => {
  const s = h("select", { "aria-label": label, onchange: () => change(s.value) }, options.map(([value, text]) => h("option", { value, text })));
  return s;
};

// How lines and areas differ without their colours.
export const DASHES = [[], [6, 3], [2, 2], [10, 3, 2, 3]];
const light = colour => {
  const [r, g, b] = colour.match(/[0-9a-f]{2}/gi).map(x => parseInt(x, 16));
  return 0.3 * r + 0.59 * g + 0.11 * b > 140;
};

// Lines of a tile of 8 x 8: none, /, \\, both, dots, -, |, dense /.
const TILES = [[], [[0, 8, 8, 0]], [[0, 0, 8, 8]], [[0, 8, 8, 0], [0, 0, 8, 8]], [[3, 4, 5, 4]], [[0, 4, 8, 4]], [[4, 0, 4, 8]], [[0, 4, 4, 0], [4, 8, 8, 4], [0, 8, 8, 0]]];

// An area in a colour with a texture over it, which lies still under neighbouring areas.
export function textured(g, x, y, w, high, colour, texture = 0) {
  g.fillStyle = colour;
  g.fillRect(x, y, w, high);
  const tile = TILES[texture % TILES.length];
  if (!tile.length) return;
  g.save();
  g.beginPath();
  g.rect(x, y, w, high);
  g.clip();
  g.strokeStyle = light(colour) ? "rgba(0,0,0,.55)" : "rgba(255,255,255,.75)";
  g.lineWidth = texture % TILES.length === 4 ? 2 : 1;
  g.beginPath();
  for (let a = Math.floor(x / 8) * 8; a < x + w; a += 8)
    for (let b = Math.floor(y / 8) * 8; b < y + high; b += 8)
      for (const [x0, y0, x1, y1] of tile) { g.moveTo(a + x0, b + y0); g.lineTo(a + x1, b + y1); }
  g.stroke();
  g.restore();
}

// A curve as a line, broken where nothing is known.
export function drawLine(g, { low, high, last }, area, at, colour, n) {
  g.strokeStyle = colour;
  g.lineWidth = 1.5;
  g.setLineDash(DASHES[n % DASHES.length]);
  g.beginPath();
  let on = false;
  for (let x = 0; x < high.length; x++) {
    if (Number.isNaN(high[x])) { on = false; continue; }
    const px = area.left + x;
    if (on) g.lineTo(px, at(high[x]));
    else g.moveTo(px, at(high[x]));
    if (low[x] !== high[x]) g.lineTo(px, at(low[x]));
    on = !Number.isNaN(last[x]);
    g.lineTo(on ? px : px + 0.5, at(on ? last[x] : low[x]));
  }
  g.stroke();
  g.setLineDash([]);
}
