// SPDX-License-Identifier: Apache-2.0
// Exact counts and busy times of a window [a, b): slices that start in it, and the time of slices that lies in it.
// Whole blocks are known from running sums, the two at the edges are unpacked.
import { HISTOGRAM } from "./decode.js";
import { after, blocksIn } from "./model.js";

const inside = (block, a, b) => block.start >= a && block.end < b;

function scan(got, a, b, each) {
  for (let i = after(got.end, a - 1); i < got.count && got.start[i] < b; i++) {
    const begins = got.start[i] >= a ? 1 : 0, busy = Math.max(0, Math.min(got.end[i], b) - Math.max(got.start[i], a));
    if (begins || busy) each(got.op[i], begins, busy, i);
  }
}

// Of one row: { count, busy }.
export async function countRow(model, row, a, b) {
  const [low, high] = blocksIn(row, a, b);
  let count = 0, busy = 0;
  for (let n = low; n < high; n++) {
    const block = row.blocks[n];
    if (inside(block, a, b)) {
      // All blocks up to the last one that is inside at once.
      let last = n;
      if (high - 2 > n) last = high - 2;
      const end = row.blocks[last];
      count += end.before + end.count - block.before;
      busy += end.busyBefore + end.busy - block.busyBefore;
      n = last;
      continue;
    }
    const got = await model.block(block);
    scan(got, a, b, (op, begins, time) => { count += begins; busy += time; });
  }
  return { count, busy };
}

// What countOps() has yet to unpack: { blocks, slices }.
export function missingBlocks(model, rows, a, b) {
  const missing = { blocks: 0, slices: 0 };
  for (const row of rows) {
    const [low, high] = blocksIn(row, a, b);
    for (let n = low; n < high; n++) {
      const block = row.blocks[n];
      if (inside(block, a, b) ? !block.sums : !model.blocks.has(block.key)) { missing.blocks++; missing.slices += block.count; }
    }
  }
  return missing;
}

// By op, with the longest slices: { ops: Map(op -> [count, busy]), longest, histogram: Map(op -> counts) }.
export async function countOps(model, rows, a, b, { progress, stopped, most = 16, histogram = false } = {}) {
  const ops = new Map(), longest = [], shapes = new Map();
  let done = 0;
  const all = rows.flatMap(row => { const [low, high] = blocksIn(row, a, b); return row.blocks.slice(low, high); });
  const add = (op, count, busy) => {
    const t = ops.get(op);
    if (t) { t[0] += count; t[1] += busy; } else ops.set(op, [count, busy]);
  };
  const shape = (op, counts) => {
    const s = shapes.get(op) ?? new Float64Array(counts.length);
    for (let i = 0; i < counts.length; i++) s[i] += counts[i];
    shapes.set(op, s);
  };
  const one = async block => {
    if (stopped?.()) return;
    if (inside(block, a, b)) {
      const s = await model.sums(block);
      s.ops.forEach((op, i) => { add(op, s.count[i], s.busy[i]); if (histogram) shape(op, s.histogram[i]); });
      for (const t of s.top) longest.push({ row: block.row, index: block.first + t.i, start: t.start, end: t.end, op: t.op });
    } else {
      const got = await model.block(block);
      scan(got, a, b, (op, begins, busy, i) => {
        add(op, begins, busy);
        if (histogram && begins) {
          const d = got.end[i] - got.start[i];
          if (!shapes.has(op)) shapes.set(op, new Float64Array(HISTOGRAM));
          shapes.get(op)[d < 1 ? 0 : Math.min(HISTOGRAM - 1, Math.floor(Math.log2(d)))]++;
        }
        longest.push({ row: block.row, index: block.first + i, start: got.start[i], end: got.end[i], op });
      });
    }
    done++;
    progress?.(done, all.length);
  };
  for (let n = 0; n < all.length; n += 4) {
    await Promise.all(all.slice(n, n + 4).map(one));
    if (longest.length > 4096) shorten(longest, most);
    if (stopped?.()) return null;
  }
  shorten(longest, most);
  return { ops, longest, histogram: shapes };
}

function shorten(list, most) {
  list.sort((x, y) => (y.end - y.start) - (x.end - x.start));
  if (list.length > most) list.length = most;
}
