// SPDX-License-Identifier: Apache-2.0
// Which slices lie at a place, and how many.
import { after, blocksIn } from "./model.js";
import { levelFor } from "./paint.js";

// The slice that covers [a, b) most, of blocks that are unpacked, or once they are.
function best(model, block, got, a, b, found) {
  for (let i = after(got.end, a - 1); i < got.count && got.start[i] < b; i++) {
    if (got.end[i] < a) continue;
    const covers = Math.min(got.end[i], b) - Math.max(got.start[i], a);
    if (!found.slice || covers > found.covers) {
      found.covers = covers;
      found.slice = model.sliceOf(block, got, i);
    }
  }
}

export function sliceNow(model, rows, a, b) {
  const found = { covers: -1, slice: null };
  for (const row of rows) {
    const [low, high] = blocksIn(row, a, b);
    for (let n = low; n < high; n++) {
      const got = model.blocks.get(row.blocks[n].key);
      if (got) best(model, row.blocks[n], got, a, b, found);
    }
  }
  return found.slice;
}

export async function sliceAt(model, rows, a, b) {
  const found = { covers: -1, slice: null };
  for (const row of rows) {
    const [low, high] = blocksIn(row, a, b);
    for (let n = low; n < high && n < low + 4; n++) best(model, row.blocks[n], await model.block(row.blocks[n]), a, b, found);
  }
  return found.slice;
}

// What lies in the pixel at `time`: { count, from, to }, from levels or from slices; null: not known yet.
export function countNow(model, row, time, perPixel) {
  const level = levelFor(row, perPixel) ?? (row.strip ? row.levels[0] : null);
  if (level) {
    if (!level.busy) return null;
    const first = Math.max(0, Math.floor(time / level.bin)), last = Math.min(level.bins, Math.max(first + 1, Math.ceil((time + perPixel) / level.bin)));
    let count = 0, busy = 0;
    for (let i = first; i < last; i++) { count += level.starts[i]; busy += level.busy[i]; }
    return { count, from: first * level.bin, to: last * level.bin, share: busy / 255 / Math.max(1, last - first) };
  }
  const [low, high] = blocksIn(row, time, time + perPixel);
  let count = 0, busy = 0;
  for (let n = low; n < high; n++) {
    const got = model.blocks.get(row.blocks[n].key);
    if (!got) return null;
    for (let i = after(got.end, time - 1); i < got.count && got.start[i] < time + perPixel; i++) {
      if (got.start[i] >= time) count++;
      busy += Math.max(0, Math.min(got.end[i], time + perPixel) - Math.max(got.start[i], time));
    }
  }
  return { count, from: time, to: time + perPixel, share: busy / perPixel };
}
