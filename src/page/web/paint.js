// SPDX-License-Identifier: Apache-2.0
// Pixels of rows. Of each pixel: the share of it that is busy and the op that takes most of it. A pixel that anything
// touches is never left empty.
import { after, blocksIn } from "./model.js";

export class Accumulator {
  constructor(width) {
    this.width = width;
    this.share = new Float32Array(width); // 0 to 255
    this.op = new Uint32Array(width);
    this.most = new Float32Array(width);
    this.sums = null; // by op, of the pixel `now`: where shares are scaled up, and many slices are in a pixel
    this.touched = [];
    this.now = -1;
  }

  // For shares to be scaled up (unread.js): short slices count as what they are, and an op for all its slices.
  scaled(ops) {
    this.sums = ops === null ? null : new Float64Array(ops);
    this.touched.length = 0;
    this.now = -1;
  }

  // The op that is busy longest in the pixel, so far.
  sum(x, op, part) {
    if (x !== this.now) {
      for (const o of this.touched) this.sums[o] = 0;
      this.touched.length = 0;
      this.now = x;
    }
    if (!this.sums[op]) this.touched.push(op);
    this.sums[op] += part;
    this.share[x] += part;
    if (this.sums[op] >= this.most[x]) { this.most[x] = this.sums[op]; this.op[x] = op; }
  }

  clear() {
    this.now = -1;
    this.share.fill(0);
    this.most.fill(0);
  }
}

// The coarsest level whose bins are not wider than a pixel; null: the slices themselves are needed.
export function levelFor(row, perPixel) {
  let best = null;
  for (const l of row.levels) if (l.bin <= perPixel) best = l;
  return best;
}

function fromLevel(acc, l, start, perPixel, x0, x1) {
  const { busy, op, bins, bin } = l, scale = perPixel / bin, base = start / bin;
  for (let x = Math.max(0, x0); x < x1; x++) {
    const a = base + x * scale, first = Math.max(0, Math.floor(a)), last = Math.min(bins, Math.max(first + 1, Math.ceil(a + scale)));
    let sum = 0, most = 0, at = -1;
    for (let i = first; i < last; i++) {
      const s = busy[i];
      sum += s;
      if (s > most) { most = s; at = i; }
    }
    if (at < 0) continue;
    acc.share[x] = Math.max(acc.share[x], sum / (last - first), 1);
    if (most > acc.most[x]) { acc.most[x] = most; acc.op[x] = op[at]; }
  }
}

// Adds slices; those of `least` pixels and more are told to wide(), too.
function fromSlices(acc, got, block, start, perPixel, least, wide) {
  const { width, share, op, most, sums } = acc, n = got.count, scale = 1 / perPixel, ends = got.end, starts = got.start, ops = got.op;
  for (let i = after(ends, start - perPixel); i < n; i++) {
    let a = (starts[i] - start) * scale, b = (ends[i] - start) * scale;
    if (a >= width) break;
    if (b - a >= least) wide(a, b, block, got, i);
    if (b < 0) continue;
    if (a < 0) a = 0;
    if (b > width) b = width;
    const x0 = a | 0, x1 = Math.min(b | 0, width - 1);
    if (x0 >= x1) {
      const part = ends[i] > starts[i] ? (b - a) * 255 : 64; // an instant takes no time, and is seen all the same
      if (sums) {
        acc.sum(x0, ops[i], part);
        continue;
      }
      share[x0] += part > 1 ? part : 1;
      if (part >= most[x0]) { most[x0] = part; op[x0] = ops[i]; }
      continue;
    }
    const left = (x0 + 1 - a) * 255, right = (b - x1) * 255, o = ops[i];
    share[x0] += left;
    if (left >= most[x0]) { most[x0] = left; op[x0] = o; }
    if (right > 0) {
      share[x1] += right;
      if (right >= most[x1]) { most[x1] = right; op[x1] = o; }
    }
    if (x1 > x0 + 1) {
      share.fill(255, x0 + 1, x1);
      most.fill(255, x0 + 1, x1);
      op.fill(o, x0 + 1, x1);
    }
  }
}

const nothing = () => {};

// One row into an accumulator that is clear. False: something is still on its way.
export function paintRow(model, acc, row, view, wide = nothing, least = Infinity) {
  const perPixel = (view.end - view.start) / acc.width, level = levelFor(row, perPixel);
  if (row.strip) return paintCoarse(model, acc, row, view);
  if (level) return fallback(model, acc, row, row.levels.indexOf(level), view, perPixel, 0, acc.width);
  const [low, high] = blocksIn(row, view.start, view.end);
  let whole = true;
  for (let n = low; n < high; n++) {
    const b = row.blocks[n], got = model.ready(b);
    if (got) {
      fromSlices(acc, got, b, view.start, perPixel, least, wide);
    } else {
      whole = false;
      const x0 = Math.floor((b.start - view.start) / perPixel), x1 = Math.ceil((b.end - view.start) / perPixel);
      fallback(model, acc, row, 0, view, perPixel, x0, Math.min(acc.width, x1));
    }
  }
  return whole;
}

// The level asked for, else the next coarser that is there.
function fallback(model, acc, row, n, view, perPixel, x0, x1) {
  const { levels } = row;
  const wanted = levels[n] && model.level(levels[n]);
  for (let k = n; k < levels.length; k++) {
    const l = k === n ? wanted : levels[k].busy && levels[k];
    if (l) {
      fromLevel(acc, l, view.start, perPixel, x0, x1);
      return k === n;
    }
  }
  if (levels.length) model.level(levels[levels.length - 1]);
  return false;
}

// One row from its coarsest level alone, however wide its bins are.
export function paintCoarse(model, acc, row, view) {
  return !row.levels.length || fallback(model, acc, row, row.levels.length - 1, view, (view.end - view.start) / acc.width, 0, acc.width);
}

// Several rows as one. Nested rows of a thread lie in each other, those of others add up. What a thread without a processor
// is in is no work: it is seen where nothing else is (`idle`), and adds nothing.
export class Sum {
  constructor(width) {
    this.one = new Accumulator(width);
    this.all = new Accumulator(width);
  }

  paint(model, rows, view, painted = paintRow, idle = true) {
    const { one, all } = this, { width } = all;
    all.clear();
    let whole = true, track = -1;
    const part = new Float32Array(width), states = new Float32Array(width), state = new Uint32Array(width);
    const flush = () => { for (let x = 0; x < width; x++) { all.share[x] += part[x]; part[x] = 0; } };
    for (const row of rows) {
      if (row.track !== track) { flush(); track = row.track; }
      const nested = model.tracks[row.track].kind === "thread";
      one.clear();
      whole = painted(model, one, row, view) && whole;
      for (let x = 0; x < width; x++) {
        const s = one.share[x];
        if (!s) continue;
        if (model.waits[one.op[x]] === 3) {
          if (s > states[x]) { states[x] = s; state[x] = one.op[x]; }
          continue;
        }
        part[x] = nested ? Math.max(part[x], s) : part[x] + s;
        if (s > all.most[x]) { all.most[x] = s; all.op[x] = one.op[x]; }
      }
    }
    flush();
    if (idle) for (let x = 0; x < width; x++) if (!all.share[x] && states[x]) { all.share[x] = states[x]; all.op[x] = state[x]; }
    return whole;
  }
}

// An accumulator as one line of pixels; 0 where there is nothing.
export function toPixels(acc, pixels, slots, table) {
  const { width, share, op } = acc;
  for (let x = 0; x < width; x++) {
    const s = share[x];
    pixels[x] = s > 0 ? table[slots[op[x]] * 256 + (s >= 255 ? 255 : s < 1 ? 1 : s | 0)] : 0;
  }
}
