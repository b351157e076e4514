// SPDX-License-Identifier: Apache-2.0
// A curve with the band between its least and greatest value in each pixel.
import { after } from "./model.js";

// Of each of `width` pixels low, high and last; NaN: nothing known yet, or nothing measured.
export function curvePixels(model, c, view, width) {
  const low = new Float64Array(width).fill(NaN), high = new Float64Array(width).fill(NaN), last = new Float64Array(width).fill(NaN);
  const perPixel = (view.end - view.start) / width;
  let level = null;
  for (const l of c.levels) if (l.bin <= perPixel) level = l;
  if (!level && c.blocks.length && points(model, c, view, width, perPixel, low, high, last)) return { low, high, last };
  const wanted = level ?? c.levels[0], n = c.levels.indexOf(wanted);
  let l = wanted && model.curveLevel(wanted);
  for (let k = n + 1; !l && k < c.levels.length; k++) l = c.levels[k].low ? c.levels[k] : model.curveLevel(c.levels[k]);
  if (!l) return { low, high, last };
  for (let x = 0; x < width; x++) {
    const a = (view.start + x * perPixel) / l.bin, first = Math.floor(a), end = Math.min(l.bins, Math.max(first + 1, Math.ceil(a + perPixel / l.bin)));
    if (first < 0 || first >= l.bins) continue;
    let lo = Infinity, hi = -Infinity;
    for (let i = first; i < end; i++) { if (l.low[i] < lo) lo = l.low[i]; if (l.high[i] > hi) hi = l.high[i]; }
    if (lo <= hi) { low[x] = lo; high[x] = hi; }
    last[x] = l.last[end - 1];
  }
  return { low, high, last };
}

// Single points where there are fewer of them than pixels.
function points(model, c, view, width, perPixel, low, high, last) {
  let value = NaN;
  const wanted = c.blocks.filter((b, n) => b.start <= view.end && (c.blocks[n + 1]?.start ?? Infinity) >= view.start);
  const got = wanted.map(b => model.points(b));
  if (!wanted.length || got.some(p => !p)) return false;
  const time = [], values = [];
  for (const p of got) {
    const from = Math.max(0, after(p.time, view.start) - 1), to = Math.min(p.time.length, after(p.time, view.end) + 1);
    for (let i = from; i < to; i++) { time.push(p.time[i]); values.push(p.value[i]); }
  }
  let i = 0;
  for (let x = 0; x < width; x++) {
    const end = view.start + (x + 1) * perPixel;
    let lo = value, hi = value;
    if (!c.step && i > 0 && i < time.length && time[i] >= end) {
      const share = (end - time[i - 1]) / (time[i] - time[i - 1] || 1);
      lo = hi = values[i - 1] + (values[i] - values[i - 1]) * share;
      last[x] = lo;
    } else {
      while (i < time.length && time[i] < end) {
        value = values[i++];
        if (Number.isNaN(value)) continue;
        lo = Number.isNaN(lo) ? value : Math.min(lo, value);
        hi = Number.isNaN(hi) ? value : Math.max(hi, value);
      }
      last[x] = value;
    }
    low[x] = lo; high[x] = hi;
  }
  return true;
}

// Into the pixels of a frame that is `wide` x `high`, between the lines y and y + height.
export function drawCurve(of, pixels, wide, high, c, y, height) {
  const { low, high: top, last } = curvePixels(of.model, c, of.view, wide), { curve, area } = of.palette.pixels, thick = Math.max(1, Math.round(of.ratio * 1.5));
  const least = Math.min(0, c.min), span = c.max - least || 1, at = v => y + Math.round((height - thick) * (1 - (v - least) / span));
  const column = (x, from, to, colour) => {
    to = Math.min(to, high, y + height);
    for (let k = Math.max(from, 0); k < to; k++) pixels[k * wide + x] = colour;
  };
  let before = NaN;
  for (let x = 0; x < wide; x++) {
    if (Number.isNaN(low[x])) { before = NaN; continue; }
    let upper = at(top[x]), lower = at(low[x]);
    const ends = Number.isNaN(last[x]), now = ends ? lower : at(last[x]);
    column(x, now, y + height, area);
    if (!Number.isNaN(before)) { upper = Math.min(upper, before); lower = Math.max(lower, before); }
    column(x, upper, lower + thick, curve);
    before = ends ? NaN : now;
  }
}
