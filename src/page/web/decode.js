// SPDX-License-Identifier: Apache-2.0
// Blocks and what can be said of one once it is unpacked. Runs in the worker, without a document.

export const GAP = 1, DURATION = 2, OP = 3, BY_ROW = 4, BY_INDEX = 5, ID = 6, BYTES = 7, VALUE = 8, FLAGS = 9;
export const FAILED = 1, CUT = 2, MOVED = 4;
export const TOP = 16, HISTOGRAM = 48;

// Unsigned numbers out of byte planes. Up to four bytes fit 32 bit arithmetic.
function joined(bytes, at, count, width) {
  const out = width > 4 ? new Float64Array(count) : new Uint32Array(count);
  let unit = 1;
  for (let p = 0; p < width; p++, unit *= 256, at += count) {
    if (p < 4) {
      const shift = 8 * p;
      if (width > 4) for (let i = 0; i < count; i++) out[i] += bytes[at + i] * unit;
      else for (let i = 0; i < count; i++) out[i] |= bytes[at + i] << shift;
    } else {
      for (let i = 0; i < count; i++) out[i] += bytes[at + i] * unit;
    }
  }
  return out;
}

function doubles(bytes, at, count) {
  const out = new Float64Array(count), view = new Uint8Array(out.buffer);
  for (let p = 0; p < 8; p++, at += count) for (let i = 0; i < count; i++) view[8 * i + p] = bytes[at + i];
  return out;
}

const unzigzag = v => v % 2 ? -(v + 1) / 2 : v / 2;

function undone(values, coding, op) {
  const count = values.length, out = new Float64Array(count);
  if (coding === 1) {
    let last = 0;
    for (let i = 0; i < count; i++) out[i] = last += unzigzag(values[i]);
  } else {
    const last = new Map();
    for (let i = 0; i < count; i++) {
      const v = (last.get(op[i]) ?? 0) + unzigzag(values[i]);
      last.set(op[i], v);
      out[i] = v;
    }
  }
  return out;
}

// Columns of a block by kind; those in `wanted` (a set), or all.
export function columns(bytes, wanted) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const count = view.getUint32(0, true), many = bytes[4], heads = [], found = { count };
  let at = 5 + 3 * many;
  for (let c = 0; c < many; c++) {
    const [kind, width, coding] = bytes.subarray(5 + 3 * c, 8 + 3 * c);
    if (at + width * count > bytes.length) throw new Error("a block is cut");
    heads.push({ kind, width, coding, at });
    at += width * count;
  }
  const one = h => {
    if (h.kind === VALUE) return h.width ? doubles(bytes, h.at, count) : new Float64Array(count);
    const raw = joined(bytes, h.at, count, h.width);
    if (!h.coding) return raw;
    if (h.coding === 2 && !found[OP]) {
      const ops = heads.find(o => o.kind === OP);
      found[OP] = ops ? one(ops) : new Uint32Array(count);
    }
    return undone(raw, h.coding, found[OP]);
  };
  for (const h of heads) if ((!wanted || wanted.has(h.kind)) && !found[h.kind]) found[h.kind] = one(h);
  return found;
}

// Start and end of each slice in ns; `first` is the start of the block.
export function times(found, first, quantum) {
  const { count } = found, gap = found[GAP], duration = found[DURATION], start = new Float64Array(count), end = new Float64Array(count);
  let at = 0;
  for (let i = 0; i < count; i++) {
    at += gap ? gap[i] : 0;
    start[i] = first + at * quantum;
    at += duration ? duration[i] : 0;
    end[i] = first + at * quantum;
  }
  return { start, end };
}

const DRAWN = new Set([GAP, DURATION, OP, FLAGS]);

export function slices(bytes, first, quantum) {
  const found = columns(bytes, DRAWN), { start, end } = times(found, first, quantum);
  return { count: found.count, start, end, op: new Uint32Array(found[OP] ?? found.count),
    flags: found[FLAGS] ? new Uint8Array(found[FLAGS]) : null };
}

export function more(bytes) {
  const found = columns(bytes, new Set([BY_ROW, BY_INDEX, ID, BYTES, OP]));
  return { byRow: found[BY_ROW] ?? null, byIndex: found[BY_INDEX] ?? null, id: found[ID] ?? null, bytes: found[BYTES] ?? null };
}

// Of a block: by op the count, the time, a histogram of durations by powers of two; and its longest slices.
export function sums(b) {
  const slot = new Map(), ops = [], count = [], busy = [], histogram = [], top = [];
  let least = -1;
  for (let i = 0; i < b.count; i++) {
    const d = b.end[i] - b.start[i];
    let s = slot.get(b.op[i]);
    if (s === undefined) {
      s = ops.length;
      slot.set(b.op[i], s);
      ops.push(b.op[i]); count.push(0); busy.push(0); histogram.push(new Uint32Array(HISTOGRAM));
    }
    count[s]++;
    busy[s] += d;
    histogram[s][d < 1 ? 0 : Math.min(HISTOGRAM - 1, Math.floor(Math.log2(d)))]++;
    if (d > least) {
      top.push([d, i]);
      if (top.length >= 4 * TOP) {
        top.sort((x, y) => y[0] - x[0]);
        top.length = TOP;
        least = top[TOP - 1][0];
      }
    }
  }
  top.sort((x, y) => y[0] - x[0]);
  return { ops, count, busy, histogram, top: top.slice(0, TOP).map(([d, i]) => ({ i, start: b.start[i], end: b.end[i], op: b.op[i] })) };
}
