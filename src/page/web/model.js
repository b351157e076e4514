// SPDX-License-Identifier: Apache-2.0
// The trace as the page has it: names, tracks, rows with their blocks and levels, unpacked when they are asked for.
import { slotOf } from "./colours.js";
import { Members } from "./members.js";

const KEPT = 160e6; // bytes of unpacked blocks
const SLICE = 21; // bytes of one
const MORES = 32; // blocks of which the further columns are kept

// How slices are hatched: waits one way, what was lost or left out both ways, times without a processor one way, wider.
export const HATCHES = { wait: 1, barrier: 1, loss: 2, pause: 2, state: 3 };
export const DEVICE = new Set(["device", "queue"]);

export class Model {
  constructor(source) {
    const head = source.head;
    this.source = source;
    this.head = head;
    this.glance = head.glance ?? null; // a part of the trace, while all of it is prepared
    this.length = Math.max(1, head.length);
    this.quantum = head.quantum || 1;
    this.blocks = new Map(); // unpacked, the least used first
    this.asked = new Map();
    this.mores = new Map();
    this.bytes = 0;
    this.sections = new Map();
    this.onload = () => {};
    this.ops = head.ops;
    this.briefs = new Map(head.briefs ?? []);
    this.slots = Uint8Array.from(head.ops, o => slotOf(head.names[o.name] ?? "", o.kind));
    this.waits = Uint8Array.from(head.ops, o => HATCHES[o.kind] ?? 0);
    this.tracks = head.tracks.map(t => ({ ...t, children: [] }));
    this.roots = [];
    for (const t of this.tracks) (this.tracks[t.parent]?.children ?? this.roots).push(t);
    for (const t of this.tracks) t.children.sort((a, b) => a.sort - b.sort);
    this.roots.sort((a, b) => a.sort - b.sort);
    this.rows = head.rows.map((r, n) => this.rowOf(r, n));
    this.critical = head.path && !head.path.unknown ? pathOf(head.path) : null;
    this.curves = head.curves.map((c, n) => ({ ...c, number: n, blocks: c.blocks.map(([start, end, count, section]) => ({ start, end, count, section, key: `c${section}` })),
      levels: [...c.levels].sort((a, b) => a.bin - b.bin) }));
    this.members = new Members(this);
  }

  rowOf(r, number) {
    const blocks = r.blocks.map(([start, end, count, busy, section, first], n) => ({ row: number, n, start, end, count, busy, section, first, key: section }));
    let count = 0, busy = 0;
    for (const b of blocks) { b.before = count; b.busyBefore = busy; count += b.count; busy += b.busy; }
    const levels = r.levels.map(l => ({ ...this.head.levels[l], busy: null })).sort((a, b) => a.bin - b.bin);
    return { ...r, number, blocks, levels, device: DEVICE.has(this.head.tracks[r.track]?.kind), shown: r.records > 0 || Boolean(this.glance) };
  }

  // The first row of these tracks, or below them, that has something in a window; else their first row.
  firstRow(tracks, { start, end }) {
    const rows = tracks.flatMap(t => this.below(t)).flatMap(t => t.rows).filter(r => this.rows[r].records);
    return rows.find(r => { const [low, high] = blocksIn(this.rows[r], start, end); return low < high; }) ?? rows[0];
  }

  name(op) {
    const o = this.ops[op];
    return o ? this.head.names[o.name] ?? "" : "?";
  }

  // What tells a kernel in little room; else its name.
  brief(op) {
    return this.briefs.get(this.ops[op]?.name) ?? this.name(op);
  }

  kind(op) {
    return this.ops[op]?.kind ?? "other";
  }

  path(track) {
    const labels = [];
    for (let t = this.tracks[track]; t; t = this.tracks[t.parent]) labels.unshift(t.label);
    return labels.join(" › ");
  }

  // What comes first in the label of a track's process: its rank, where it has one.
  nameOfRoot(track) {
    return this.rankOf(track).label.split(/\s+·/)[0];
  }

  rankOf(track) {
    let t = this.tracks[track];
    while (t && this.tracks[t.parent]) t = this.tracks[t.parent];
    return t;
  }

  below(track, found = []) {
    found.push(track);
    for (const c of track.children) this.below(c, found);
    return found;
  }

  section(n) {
    if (!this.sections.has(n)) this.sections.set(n, this.source.section(n));
    return this.sections.get(n);
  }

  // A level's arrays, or null while they are on their way.
  level(l) {
    if (l.busy || l.asked) return l.busy ? l : null;
    l.asked = this.section(l.section).then(bytes => {
      const at = l.offset, n = l.bins;
      l.busy = bytes.subarray(at, at + n);
      l.op = new Uint32Array(bytes.slice(at + n, at + 5 * n).buffer);
      l.starts = new Uint32Array(bytes.slice(at + 5 * n, at + 9 * n).buffer);
      this.onload();
    }).catch(e => this.failed(e));
    return null;
  }

  curveLevel(l) {
    if (l.low || l.asked) return l.low ? l : null;
    l.asked = this.section(l.section).then(bytes => {
      const all = new Float64Array(bytes.slice(l.offset, l.offset + 24 * l.bins).buffer);
      l.low = all.subarray(0, l.bins);
      l.high = all.subarray(l.bins, 2 * l.bins);
      l.last = all.subarray(2 * l.bins);
      this.onload();
    }).catch(e => this.failed(e));
    return null;
  }

  // All of [a, b) is here.
  knows(a, b) {
    return !this.glance || this.glance.read.some(([start, end]) => a >= start && b <= end);
  }

  failed(error) {
    this.onerror?.(error);
  }

  // An unpacked block at once, or null; what is missing is asked for.
  ready(b) {
    const kept = this.blocks.get(b.key);
    if (kept) {
      this.blocks.delete(b.key);
      this.blocks.set(b.key, kept);
      return kept;
    }
    this.block(b).catch(e => this.failed(e));
    return null;
  }

  block(b) {
    const kept = this.blocks.get(b.key);
    if (kept) return Promise.resolve(kept);
    if (!this.asked.has(b.key)) {
      this.asked.set(b.key, this.source.task(b.points ? "points" : "slices", b.section, true, b.start).then(got => {
        this.asked.delete(b.key);
        this.keep(b, got);
        this.onload();
        return got;
      }, e => { this.asked.delete(b.key); throw e; }));
    }
    return this.asked.get(b.key);
  }

  keep(b, got) {
    this.blocks.set(b.key, got);
    this.bytes += b.count * SLICE;
    got.size = b.count * SLICE;
    for (const [key, old] of this.blocks) {
      if (this.bytes <= KEPT || old === got) break;
      this.blocks.delete(key);
      this.bytes -= old.size;
    }
  }

  points(b) {
    b.points = true;
    return this.ready(b);
  }

  // Who submitted a slice and how many bytes it moved: columns that drawing does not need.
  more(b) {
    const kept = this.mores.get(b.key) ?? this.source.task("more", b.section);
    this.mores.delete(b.key);
    this.mores.set(b.key, kept);
    if (this.mores.size > MORES) this.mores.delete(this.mores.keys().next().value);
    return kept;
  }

  sums(b, urgent = false) {
    b.sums ??= this.source.task("sums", b.section, urgent, b.start);
    return b.sums;
  }

  blockAt(row, index) {
    const { blocks } = this.rows[row];
    let low = 0, high = blocks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (blocks[middle].first <= index) low = middle;
      else high = middle - 1;
    }
    return blocks[low];
  }

  async slice(row, index) {
    const b = this.rows[row] && this.blockAt(row, index);
    if (!b || index < b.first || index >= b.first + b.count) return null;
    const got = await this.block(b);
    return this.sliceOf(b, got, index - b.first);
  }

  sliceOf(b, got, i) {
    return { row: b.row, index: b.first + i, start: got.start[i], end: got.end[i], op: got.op[i], flags: got.flags ? got.flags[i] : 0, block: b, i };
  }
}

// The critical path: sections in order of time, of several worlds of ranks one over the other.
function pathOf({ ranks, sections, left_out }) {
  return { leftOut: left_out, sections: sections.map(([start, end, rank, waits, op]) => ({ start, end, rank: ranks[rank][0], track: ranks[rank][1], waits: waits < 0 ? null : ranks[waits][0], to: waits < 0 ? -1 : ranks[waits][1], op })) };
}

// The first i with values[i] > time; values ascend.
export function after(values, time, low = 0, high = values.length) {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] > time) high = middle;
    else low = middle + 1;
  }
  return low;
}

// The first i with values[i] >= time.
export function from(values, time, low = 0, high = values.length) {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] >= time) high = middle;
    else low = middle + 1;
  }
  return low;
}

// The blocks of a row that reach into [a, b): from and to (excluded).
export function blocksIn(row, a, b) {
  const { blocks } = row;
  let low = 0, high = blocks.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (blocks[middle].end < a) low = middle + 1;
    else high = middle;
  }
  let to = low;
  if (blocks.length > 64) {
    let top = blocks.length;
    while (to < top) {
      const middle = (to + top) >> 1;
      if (blocks[middle].start < b) to = middle + 1;
      else top = middle;
    }
  } else {
    while (to < blocks.length && blocks[to].start < b) to++;
  }
  return [low, to];
}
