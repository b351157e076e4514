// SPDX-License-Identifier: Apache-2.0
// Ops by their names, and the next or previous slice of any of them over all rows, in order of their starts.
import { after, from } from "./model.js";

export function matcher(text) {
  const t = text.trim();
  if (!t) return null;
  const re = /^\/(.*)\/([a-z]*)$/i.exec(t);
  if (re) {
    try {
      const r = new RegExp(re[1], re[2].includes("i") || !re[2] ? "i" : "");
      return name => r.test(name);
    } catch {
      return undefined;
    }
  }
  const small = t.toLowerCase();
  return name => name.toLowerCase().includes(small);
}

export function opsNamed(model, text) {
  const fits = matcher(text);
  if (!fits) return fits;
  const found = new Set();
  model.ops.forEach((o, n) => { if (fits(model.name(n))) found.add(n); });
  return found;
}

// Which ops lie in which block: sets by row and block; null where the page does not say.
async function opsOfBlocks(model) {
  if (!(model.head.block_ops >= 0)) return null;
  model.blockOps ??= model.section(model.head.block_ops).then(bytes => {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    let at = 0;
    return model.rows.map(r => r.blocks.map(() => {
      const n = view.getUint16(at, true), ops = new Uint32Array(n);
      at += 2;
      for (let i = 0; i < n; i++, at += 4) ops[i] = view.getUint32(at, true);
      return ops;
    }));
  });
  return model.blockOps;
}

// Order of slices: by start, then row, then index.
const before = (a, b) => a.start - b.start || a.row - b.row || a.index - b.index;

export async function findSlice(model, ops, place, forward, rows = model.rows) {
  const known = await opsOfBlocks(model), blocks = [];
  for (const r of rows)
    for (const b of r.blocks) {
      if (forward ? b.end < place.start : b.start > place.start) continue;
      if (known && !known[r.number][b.n].some(o => ops.has(o))) continue;
      blocks.push(b);
    }
  blocks.sort(forward ? (a, b) => a.start - b.start : (a, b) => b.end - a.end);
  let best = null;
  for (const b of blocks) {
    if (best && (forward ? b.start > best.start : b.end < best.start)) break;
    const got = await model.block(b), here = forward ? firstOf(model, b, got, ops, place) : lastOf(model, b, got, ops, place);
    if (here && (!best || (forward ? before(here, best) < 0 : before(here, best) > 0))) best = here;
  }
  return best;
}

function firstOf(model, b, got, ops, place) {
  for (let i = from(got.start, place.start); i < got.count; i++) {
    if (!ops.has(got.op[i])) continue;
    const s = { start: got.start[i], row: b.row, index: b.first + i };
    if (before(s, place) > 0) return model.sliceOf(b, got, i);
  }
  return null;
}

function lastOf(model, b, got, ops, place) {
  for (let i = after(got.start, place.start) - 1; i >= 0; i--) {
    if (!ops.has(got.op[i])) continue;
    const s = { start: got.start[i], row: b.row, index: b.first + i };
    if (before(s, place) < 0) return model.sliceOf(b, got, i);
  }
  return null;
}
