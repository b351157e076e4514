// SPDX-License-Identifier: Apache-2.0
// Writes a page with made-up records in the layout of docs/page.md, for tests of the front end alone: it shares no
// code with it, nor with `kymo report`. Beside it lies what the page must find in random windows, by brute force.
//   node made.mjs OUT.html [--slices N] [--ranks N] [--windows N] [--hostile] [--quantum NS] [--block N] [--seed N]
import fs from "node:fs";
import path from "node:path";
import zlib from "node:zlib";
import crypto from "node:crypto";
import { fileURLToPath } from "node:url";

const HERE = path.dirname(fileURLToPath(import.meta.url));
const DIST = path.join(HERE, "../../src/page/web/dist");
const option = (name, otherwise) => {
  const at = process.argv.indexOf("--" + name);
  return at < 0 ? otherwise : Number(process.argv[at + 1]);
};
const OUT = process.argv[2];
const SLICES = option("slices", 1000);
const RANKS = option("ranks", SLICES >= 1e6 ? 8 : 2);
const WINDOWS = option("windows", 100);
const QUANTUM = option("quantum", 1);
const HOSTILE = process.argv.includes("--hostile");
const BLOCK = option("block", 65535); // slices of a block

let state = option("seed", 7) >>> 0;
function random() { // mulberry32
  state = (state + 0x6d2b79f5) >>> 0;
  let t = state;
  t = Math.imul(t ^ (t >>> 15), t | 1);
  t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
}
const some = n => Math.floor(random() * n);
const spread = (median, sigma) => {
  const u = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  return Math.max(QUANTUM, Math.round(median * Math.exp(sigma * u) / QUANTUM) * QUANTUM);
};

// ---- names ------------------------------------------------------------------------------------
const names = [], ops = [];
function op(name, domain, kind) {
  names.push(name);
  ops.push({ name: names.length - 1, domain, kind });
  return ops.length - 1;
}
const hostile = ["</script><img src=x onerror=window.broken=1>", "<!--<script>window.broken=1</script>",
  "line\u2028separator\u2029", "\u202egnp.exe bidi\u2066", "lone \ud800 surrogate", "nul \u0000 and \u001b[31m escape",
  "x".repeat(1 << 20), "${window.broken=1}", "\"'><svg onload=window.broken=1>"];
const RANGES = ["step", "forward", "backward", "optimizer", "load batch"].map(n => op(n, "marker", "range"));
const LAUNCH = op("clEnqueueNDRangeKernel", "opencl", "call"), WRITE = op("clEnqueueWriteBuffer", "opencl", "call");
const READ = op("clEnqueueReadBuffer", "opencl", "call"), FINISH = op("clFinish", "opencl", "wait");
const SEND = op("MPI_Send", "mpi", "call"), RECEIVE = op("MPI_Recv", "mpi", "wait");
const CALLS = ["clSetKernelArg", "clCreateBuffer", "clReleaseMemObject", "clGetEventInfo", "clFlush", "pthread_mutex_lock",
  "fopen", "read", "write"].map(n => op(n, "opencl", "call"));
const NESTED = ["zeCommandListAppend", "ioctl", "mmap"].map(n => op(n, "ze", "call"));
const KERNELS = ["gemm_128x64", "softmax", "layer_norm_fused", "advance", "border", "reduce_sum", "flash_attention_fwd",
  "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>"].map(n => op(n, "opencl", "kernel"));
const LONG = KERNELS[7]; // has a shorter name
const COPIES = ["write (host pageable to device)", "read (device to host pageable)"].map(n => op(n, "opencl", "copy"));
const BARRIER = op("MPI_Barrier", "mpi", "barrier");
const NEEDLE = op("needle_in_the_haystack", "opencl", "kernel");
const IDLE = op("wait_lock", "off_cpu", "state"), POOL = op("pool work", "marker", "range");
const WEIRD = HOSTILE ? hostile.map(n => op(n, "opencl", "kernel")) : [];

// ---- records ----------------------------------------------------------------------------------
class Row {
  constructor(track, depth) {
    Object.assign(this, { track, depth, n: 0, room: 1024, columns: {} });
    for (const c of ["start", "length", "op", "byRow", "byIndex", "bytes", "flags"]) this.columns[c] = new Float64Array(1024);
  }
  add(start, length, o, more = {}) {
    if (this.n === this.room) {
      this.room *= 2;
      for (const c in this.columns) { const a = new Float64Array(this.room); a.set(this.columns[c]); this.columns[c] = a; }
    }
    const c = this.columns, i = this.n++;
    c.start[i] = start; c.length[i] = length; c.op[i] = o;
    c.byRow[i] = more.byRow ?? 0; c.byIndex[i] = more.byIndex ?? 0; c.bytes[i] = more.bytes ?? 0; c.flags[i] = more.flags ?? 0;
    return i;
  }
  get last() { return this.n ? this.columns.start[this.n - 1] + this.columns.length[this.n - 1] : 0; }
}
const tracks = [], rows = [], curves = [], messages = [];
function track(parent, kind, label) {
  tracks.push({ id: tracks.length, parent, kind, label, sort: tracks.length, rows: [], curves: [] });
  return tracks.length - 1;
}
function row(t, depth) {
  rows.push(new Row(t, depth));
  tracks[t].rows.push(rows.length - 1);
  return rows.length - 1;
}
function curve(t, name, unit, kind, step) {
  curves.push({ track: t, name, unit, kind, step, time: [], value: [] });
  tracks[t].curves.push(curves.length - 1);
  return curves[curves.length - 1];
}
const THREADS = 4;
const perThread = Math.max(8, Math.ceil(SLICES / RANKS / THREADS));
const heads = [];
for (let rank = 0; rank < RANKS; rank++) {
  const process_ = track(-1, "rank", `rank ${rank}  ·  train.py (${4000 + rank})`);
  heads.push(process_);
  const memory = curve(process_, "memory in use, device 0", "B", "memory", true);
  const threads = [];
  for (let k = 0; k < THREADS; k++) {
    const t = track(process_, "thread", k ? `worker ${k}` : (HOSTILE ? hostile[0] : "main thread"));
    threads.push([row(t, 0), row(t, 1), row(t, 2)]);
  }
  const device = track(process_, "device", `NVIDIA H200 (${rank})`);
  const power = curve(device, "power", "W", "telemetry", false), q0 = track(device, "queue", "queue 0"), q1 = track(device, "queue", "queue 1 (copies)");
  const kernels = row(q0, 0), copies = row(q1, 0), late = row(q1, 1);
  let inUse = 0;
  threads.forEach(([outer, inner, deep], k) => {
    let now = spread(2e5, 0.5), left = perThread;
    while (left > 0) {
      const begins = now;
      let calls = 5 + some(55);
      now += spread(800, 0.5);
      while (calls-- > 0 && left > 0) {
        const pick = random(), from = now;
        let o = CALLS[some(CALLS.length)], length = spread(1500, 1);
        if (k === 0 && pick < 0.3) {
          o = pick < 0.22 ? LAUNCH : pick < 0.26 ? WRITE : READ;
          const i = rows[inner].n, submitted = from + length;
          if (o === LAUNCH) {
            const kernel = WEIRD.length && random() < 0.1 ? WEIRD[some(WEIRD.length)] : KERNELS[Math.floor(KERNELS.length * random() ** 2)];
            rows[kernels].add(Math.max(rows[kernels].last + QUANTUM, submitted + spread(4000, 0.6)), spread(9000, 1.2), kernel, { byRow: inner + 1, byIndex: i });
            left--;
          } else {
            const d = o === WRITE ? 0 : 1, bytes = 4096 << some(12), to = random() < 0.1 ? late : copies;
            rows[to].add(Math.max(rows[to].last + QUANTUM, submitted + spread(3000, 0.6)), spread(2000 + bytes / 12, 0.2), COPIES[d],
              { byRow: inner + 1, byIndex: i, bytes, flags: (to === late ? 4 : 0) | (random() < 0.01 ? 1 : 0) });
            inUse = Math.max(0, inUse + (d ? -1 : 1) * bytes);
            memory.time.push(from); memory.value.push(inUse);
            left--;
          }
        } else if (k === 0 && pick < 0.32) {
          o = FINISH;
          length = spread(90000, 0.8);
        } else if (k === 0 && pick < 0.34) {
          o = random() < 0.5 ? SEND : RECEIVE;
          length = spread(6000, 0.8);
        } else if (pick > 0.97) {
          o = BARRIER; length = spread(30000, 1);
        }
        if (pick > 0.5 && pick < 0.6) {
          const inside = Math.max(QUANTUM, Math.floor(length / 2 / QUANTUM) * QUANTUM);
          rows[deep].add(from, inside, NESTED[some(3)]);
          left--;
        }
        rows[inner].add(from, length, o, { flags: random() < 0.002 ? 1 : 0 });
        left--;
        now = from + length + spread(900, 1);
      }
      rows[outer].add(begins, now - begins, RANGES[some(RANGES.length)]);
      left--;
      now += random() < 0.02 ? spread(4e5, 0.8) : spread(2500, 0.8);
    }
  });
  for (let t = 0, end = rows[kernels].last; t < end; t += Math.max(1e5, end / 2000)) {
    const gap = rank === 0 && t > 0.4 * end && t < 0.6 * end; // nothing was measured
    if (gap && Number.isNaN(power.value.at(-1))) continue;
    power.time.push(Math.round(t / QUANTUM) * QUANTUM); power.value.push(gap ? NaN : 180 + 320 * random() * (0.6 + 0.4 * Math.sin(t / end * 20)));
  }
}
// No rank, and no end of any message.
curve(track(-1, "process", "telemetry of node1"), "cpu.user", "%", "telemetry", false).time.push(0);
curves.at(-1).value.push(50);
let length = Math.max(...rows.map(r => r.last));
// A thread of a pool that waits all the time but for a hundredth in the middle.
{
  const t = track(heads[0], "thread", "pool"), step = QUANTUM * Math.max(1, Math.floor(length / QUANTUM / 200));
  tracks[t].sort = 1.5;
  const r = rows[row(t, 0)];
  r.add(0, 99 * step, IDLE);
  r.add(99 * step, 2 * step, POOL);
  r.add(101 * step, 99 * step, IDLE);
}
// One short kernel in the widest gap in the middle of the first device's queue.
const needle = (() => {
  const r = rows.findIndex(x => tracks[x.track].kind === "queue"), c = rows[r].columns, n = rows[r].n;
  let best = -1, widest = 3000;
  for (let i = Math.floor(n / 3); i < n * 2 / 3; i++) {
    const gap = c.start[i + 1] - c.start[i] - c.length[i];
    if (gap > widest) { widest = gap; best = i; }
  }
  if (best < 0) return null;
  for (const name in c) c[name].copyWithin(best + 2, best + 1, n);
  if (rows[r].n === rows[r].room) throw new Error("no room");
  rows[r].n++;
  const lasts = Math.ceil(1000 / QUANTUM) * QUANTUM, i = best + 1, at = Math.floor((c.start[best] + c.length[best] + widest / 2) / QUANTUM) * QUANTUM;
  c.start[i] = at; c.length[i] = lasts; c.op[i] = NEEDLE; c.byRow[i] = c.byIndex[i] = c.bytes[i] = c.flags[i] = 0;
  return { row: r, index: i, start: at, length: lasts };
})();
// Sends go to the next rank's receives, in order.
for (let rank = 0; rank < RANKS && RANKS > 1; rank++) {
  const from = tracks.find(t => t.parent === heads[rank]).rows[1], to = tracks.find(t => t.parent === heads[(rank + 1) % RANKS]).rows[1];
  const at = (r, o) => { const l = []; for (let i = 0; i < rows[r].n; i++) if (rows[r].columns.op[i] === o) l.push(i); return l; };
  const s = at(from, SEND), d = at(to, RECEIVE);
  for (let i = 0; i < Math.min(s.length, d.length); i++)
    messages.push({ from, i: s[i], to, j: d[i], bytes: 8 << some(16), start: rows[from].columns.start[s[i]] });
}
messages.sort((a, b) => a.start - b.start);

// ---- sections ---------------------------------------------------------------------------------
const sections = [], parts = [];
let offset = 0;
function section(raw) {
  const z = zlib.gzipSync(raw, { level: SLICES > 2e6 ? 4 : 6 });
  sections.push([offset, z.length, raw.length]);
  parts.push(z);
  offset += z.length;
  return sections.length - 1;
}
const zigzag = v => v < 0 ? -2 * v - 1 : 2 * v;
function planes(values) {
  let most = 0;
  for (const v of values) most = Math.max(most, v);
  const width = most ? Math.floor(Math.log2(most) / 8 + 1e-12) + 1 : 0, out = Buffer.alloc(width * values.length);
  for (let i = 0; i < values.length; i++) {
    let v = values[i];
    for (let p = 0; p < width; p++) { out[p * values.length + i] = v % 256; v = Math.floor(v / 256); }
  }
  return { width, out };
}
function coded(kind, values, operation) {
  const tries = [values.slice()];
  tries.push(values.map((v, i) => zigzag(v - (i ? values[i - 1] : 0))));
  if (operation) {
    const last = new Map();
    tries.push(values.map((v, i) => { const d = zigzag(v - (last.get(operation[i]) ?? 0)); last.set(operation[i], v); return d; }));
  }
  // Each coding is met somewhere; the smaller one is the exporter's affair.
  const coding = kind === 1 ? 0 : kind === 2 ? (operation ? 2 : 0) : kind === 3 ? 0 : kind === 5 || kind === 11 || kind === 13 ? 1 : 0;
  return { kind, coding, ...planes(tries[coding]) };
}
function packed(count, columns) {
  const head = Buffer.alloc(5 + 3 * columns.length);
  head.writeUInt32LE(count, 0);
  head[4] = columns.length;
  columns.forEach((c, i) => head.set([c.kind, c.width, c.coding], 5 + 3 * i));
  return Buffer.concat([head, ...columns.map(c => c.out)]);
}
const doubles = values => {
  const out = Buffer.alloc(8 * values.length), one = Buffer.alloc(8);
  values.forEach((v, i) => { one.writeDoubleLE(v); for (let p = 0; p < 8; p++) out[p * values.length + i] = one[p]; });
  return { kind: 8, coding: 0, width: 8, out };
};
const levels = [], pending = [];
function levelsOf(r, number) {
  const target = Math.max(4096, rows[r].n / 8);
  let bin = 1;
  while (length / (bin * 2) >= target) bin *= 2;
  const made = [];
  for (; ; bin *= 4) {
    const bins = Math.floor(length / bin) + 1;
    made.push({ row: r, bin, bins, bytes: levelBytes(rows[r], bin, bins) });
    if (bins <= 512) break;
  }
  pending.push(...made);
  return made;
}
function levelBytes(r, bin, bins) {
  const out = Buffer.alloc(bins * 9), { start, length: len, op: o } = r.columns;
  let at = -1, sum = 0, per = new Map();
  const flush = () => {
    if (at < 0) return;
    out[at] = Math.max(1, Math.ceil(Math.min(1, sum / bin) * 255));
    let best = 0, most = -1;
    for (const [k, v] of per) if (v > most) { most = v; best = k; }
    out.writeUInt32LE(best, bins + 4 * at);
  };
  for (let i = 0; i < r.n; i++) {
    const s = start[i], e = s + len[i], first = Math.floor(s / bin), last = Math.max(first, Math.ceil(e / bin) - 1);
    out.writeUInt32LE(out.readUInt32LE(5 * bins + 4 * first) + 1, 5 * bins + 4 * first);
    for (let b = first; b <= last; b++) {
      if (b !== at) { flush(); at = b; sum = 0; per = new Map(); }
      const part = Math.min(e, (b + 1) * bin) - Math.max(s, b * bin);
      sum += part;
      per.set(o[i], (per.get(o[i]) ?? 0) + part);
    }
  }
  flush();
  return out;
}
const levelNumbers = rows.map((_, r) => levelsOf(r));
function place(list, sectionOf) {
  let at = 0;
  const bytes = [];
  for (const l of list) { l.offset = at; at += l.bytes.length; bytes.push(l.bytes); }
  const s = section(Buffer.concat(bytes));
  for (const l of list) l.section = s;
}
place(levelNumbers.map(l => l[l.length - 1]));
for (const l of levelNumbers) if (l.length > 1) place(l.slice(0, -1));
const headRows = rows.map((r, n) => {
  const c = r.columns, blocks = [];
  let busy = 0;
  for (let a = 0; a < r.n; a += BLOCK) {
    const b = Math.min(r.n, a + BLOCK), cut = name => Array.from(c[name].subarray(a, b));
    const start = cut("start").map(v => v / QUANTUM), len = cut("length").map(v => v / QUANTUM), o = cut("op");
    const gap = start.map((s, i) => i ? s - start[i - 1] - len[i - 1] : 0);
    const columns = [coded(1, gap), coded(2, len, o), coded(3, o)];
    if (cut("byRow").some(v => v)) columns.push(coded(4, cut("byRow")), coded(5, cut("byIndex")));
    if (cut("bytes").some(v => v)) columns.push(coded(7, cut("bytes")));
    if (cut("flags").some(v => v)) columns.push(coded(9, cut("flags")));
    const sum = len.reduce((x, y) => x + y, 0) * QUANTUM;
    busy += sum;
    blocks.push([c.start[a], c.start[b - 1] + c.length[b - 1], b - a, sum, section(packed(b - a, columns)), a]);
  }
  return { track: r.track, depth: r.depth, records: r.n, busy, blocks, levels: levelNumbers[n].map(l => { levels.push(l); return levels.length - 1; }) };
});
const headCurves = curves.map(c => {
  const read = c.value.filter(v => !Number.isNaN(v)), gap = c.time.map((t, i) => (t - (i ? c.time[i - 1] : t)) / QUANTUM), blocks = [], made = [];
  c.time.forEach((t, i) => { if (gap[i] < 0) { c.time[i] = c.time[i - 1]; gap[i] = 0; } });
  for (let a = 0; a < c.time.length; a += BLOCK) {
    const b = Math.min(c.time.length, a + BLOCK), g = gap.slice(a, b);
    g[0] = 0;
    blocks.push([c.time[a], c.time[b - 1], b - a, section(packed(b - a, [coded(1, g), doubles(c.value.slice(a, b))]))]);
  }
  let bin = 1;
  while (length / (bin * 2) >= Math.max(512, c.time.length / 8)) bin *= 2;
  for (; ; bin *= 4) {
    const bins = Math.floor(length / bin) + 1, v = new Float64Array(bins * 3);
    let i = 0, last = NaN;
    for (let b = 0; b < bins; b++) {
      let low = Number.isNaN(last) ? Infinity : last, high = Number.isNaN(last) ? -Infinity : last;
      while (i < c.time.length && c.time[i] < (b + 1) * bin) { last = c.value[i++]; if (!Number.isNaN(last)) { low = Math.min(low, last); high = Math.max(high, last); } }
      v[b] = low <= high ? low : NaN; v[bins + b] = low <= high ? high : NaN; v[2 * bins + b] = last;
    }
    made.push({ bin, bins, bytes: Buffer.from(v.buffer) });
    if (bins <= 512) break;
  }
  place(made);
  return { track: c.track, name: c.name, unit: c.unit, kind: c.kind, step: c.step, min: read.reduce((x, y) => Math.min(x, y), Infinity), max: read.reduce((x, y) => Math.max(x, y), 0),
    ...(c.kind === "memory" ? {} : { counter: c.name, of: "", level: true, readings: read.length, sum: read.reduce((x, y) => x + y, 0) }), points: c.time.length, blocks, levels: made.map(({ bytes, ...l }) => l) };
});
const headMessages = [];
for (let a = 0; a < messages.length; a += BLOCK) {
  const part = messages.slice(a, a + BLOCK), of = f => part.map(f);
  headMessages.push([section(packed(part.length, [coded(10, of(m => m.from)), coded(11, of(m => m.i)), coded(12, of(m => m.to)), coded(13, of(m => m.j)), coded(7, of(m => m.bytes))])),
    part.length, part[0].start, part[part.length - 1].start]);
}
const blockOps = section(Buffer.concat(headRows.flatMap((h, r) => h.blocks.map(([, , count, , , first]) => {
  const set = [...new Set(rows[r].columns.op.subarray(first, first + count))].sort((a, b) => a - b), b = Buffer.alloc(2 + 4 * set.length);
  b.writeUInt16LE(set.length);
  set.forEach((o, i) => b.writeUInt32LE(o, 2 + 4 * i));
  return b;
}))));

// ---- the page ---------------------------------------------------------------------------------
const total = rows.reduce((n, r) => n + r.n, 0);
const perOp = new Map();
for (const r of rows) for (let i = 0; i < r.n; i++) {
  const t = perOp.get(r.columns.op[i]) ?? { n: 0, time: 0, most: 0 };
  t.n++; t.time += r.columns.length[i]; t.most = Math.max(t.most, r.columns.length[i]);
  perOp.set(r.columns.op[i], t);
}
ops.forEach((o, n) => { o.count = perOp.get(n)?.n ?? 0; o.busy = perOp.get(n)?.time ?? 0; });
const tableOf = (name, title, kinds) => ({ name, title,
  columns: [["op", "op", "", "text"], ["time_ns", "time", "ns", "time"], ["percent", "%", "%", "percent"], ["calls", "calls", "", "count"], ["average_ns", "average", "ns", "time"], ["max_ns", "max", "ns", "time"]]
    .map(([n, t, unit, kind]) => ({ name: n, title: t, unit, kind })),
  rows: [...perOp].filter(([o]) => kinds.includes(ops[o].kind)).sort((a, b) => b[1].time - a[1].time)
    .map(([o, t]) => [names[ops[o].name].slice(0, 4000), t.time, 100 * t.time / length, t.n, t.time / t.n, t.most]) });
const needleAt = needle ?? { row: 0, start: length / 3, length: 1000 };
// The critical path: from rank to rank, each with its first thread.
const pathRanks = Array.from({ length: RANKS }, (_, r) => [HOSTILE ? hostile[r % hostile.length] : `rank ${r}`, tracks.filter(t => t.kind === "thread")[r]?.id ?? -1]);
const pathSections = Array.from({ length: 40 }, (_, i) => [Math.floor(length * i / 40), Math.floor(length * (i + 1) / 40), i % RANKS, i === 39 ? -1 : (i + 1) % RANKS, i === 39 ? -1 : 0]);
const head = {
  page: 1,
  trace: { name: HOSTILE ? hostile[0] : "train.kymo", command: HOSTILE ? hostile[1] : "python3 train.py --steps 100 --batch 32", host: "node17", started: 1795000000, version: "0.1.0", imported: null,
    processes: RANKS, ranks: RANKS, records: total, recorded_on: ["opencl", "mpi"] },
  length, quantum: QUANTUM,
  loss: { records: HOSTILE ? 12 : 0, text: HOSTILE ? "12 records were lost." : "Nothing was lost." }, overhead: { share: 0.0042, text: "Recording took about 0.4 % of the run." },
  clock: { error_ns: 850, text: "Device clocks are known to 850 ns." },
  kept: [`All ${total} slices are in this page, to the nanosecond.`, "Arguments of calls, call sites and stacks are left to `kymo show` and `kymo view`."],
  digest: "No single thing bounds the run: kernels 49 %, wind-down 45 %, start-up 2 %.\nDevice 0: NVIDIA H200\n  kernels 49.2 % (7.196 s), transfers 4.4 % (649.1 ms), 356.8 ms at once\n  idle 48.8 % (7.141 s): wind-down 6.6 s, start-up 305.2 ms\nMain thread: own code 48 %, waiting 50 %",
  findings: [
    { rule: "short-kernels", gain_ns: length * 0.12, share: 0.12, count: 1842, start_ns: needleAt.start, end_ns: needleAt.start + 1000, title: "Kernels are too short for what a launch costs", where: "queue 0 of rank 0",
      evidence: ["1,842 kernels took less than 10 us each", "their launches took 3.1 us on average"], show: "kymo query train.kymo \"SELECT ...\"", try: "Fuse the kernels, or record them into a graph.",
      at: { start: needleAt.start - 50000, end: needleAt.start + 50000, tracks: [rows[needleAt.row].track] } },
    { rule: "waits", gain_ns: length * 0.05, share: 0.05, count: 12, title: HOSTILE ? hostile[0] : "The host waits after every step", where: "main thread", evidence: ["clFinish 12 times"], show: "", try: "Wait for events instead.", at: null }],
  tables: [tableOf("kernels", `Kernels: ${total} dispatched`, ["kernel"]), tableOf("opencl", "OpenCL calls", ["call", "wait"]), tableOf("copies", "Copies", ["copy"]), tableOf("ranges", "Ranges", ["range"]),
    { name: "devices", title: "", columns: ["device", "run_ns", "kernels_ns", "transfers_ns", "overlap_ns", "transfers_alone_ns", "idle_ns", "idle_startup_ns", "idle_host_ns", "idle_waiting_ns", "idle_wind_down_ns"].map((n, i) => ({ name: n, title: n, unit: i ? "ns" : "", kind: i ? "time" : "text" })),
      rows: heads.map((_, r) => [`NVIDIA H200 (${r})`, length, length * (0.3 + r * 0.05), length * 0.1, length * 0.05, length * 0.05, length * (0.65 - r * 0.05), length * 0.1, length * 0.3, length * 0.15, length * (0.1 - r * 0.05)]) },
    { name: "many", title: "A long table", columns: [{ name: "n", title: "n", unit: "", kind: "count" }, { name: "text", title: "text", unit: "", kind: "text" }, { name: "bytes", title: "size", unit: "B", kind: "size" }],
      rows: Array.from({ length: 10000 }, (_, i) => [i, i % 7 ? `row ${i}` : "every seventh, =1+1", i * i]) }],
  path: { unknown: null, ranks: pathRanks, sections: pathSections, left_out: 0 },
  idle_causes: [["idle_startup_ns", "start-up"], ["idle_host_ns", "host code"], ["idle_waiting_ns", "return from waits"], ["idle_wind_down_ns", "after the last work"]],
  briefs: [[ops[LONG].name, "vectorized_elementwise_kernel"]],
  names, ops, tracks, rows: headRows, levels: levels.map(({ bytes, ...l }) => l), curves: headCurves, messages: headMessages, block_ops: blockOps, sections,
};
const script = fs.readFileSync(path.join(DIST, "page.js"), "utf8"), style = fs.readFileSync(path.join(DIST, "page.css"), "utf8");
const hash = text => `'sha256-${crypto.createHash("sha256").update(text).digest("base64")}'`;
const out = fs.openSync(OUT, "w");
fs.writeSync(out, `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; worker-src blob:; img-src data: blob:; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>Kymo</title><style>${style}</style></head><body>
<noscript>This page needs JavaScript.</noscript>
<script type="application/json" id="kymo-head">`);
fs.writeSync(out, JSON.stringify(head).replaceAll("<", "\\u003c"));
fs.writeSync(out, `</script>\n<script type="application/octet-stream" id="kymo-data">`);
fs.writeSync(out, Buffer.concat(parts).toString("base64"));
fs.writeSync(out, `</script>\n<script>${script}</script></body></html>\n`);
fs.closeSync(out);

// ---- what must be found ------------------------------------------------------------------------
const windows = [];
for (let w = 0; w < WINDOWS; w++) {
  const span = length * Math.exp(-random() * Math.log(length / 100)), a = Math.floor(random() * (length - span)), b = Math.floor(a + span) + 1;
  const byRow = [], byOp = {};
  rows.forEach((r, n) => {
    let count = 0, busy = 0;
    const { start, length: len, op: o } = r.columns;
    for (let i = 0; i < r.n; i++) {
      const s = start[i], e = s + len[i];
      if (e < a || s >= b) continue;
      const part = Math.max(0, Math.min(e, b) - Math.max(s, a)), begins = s >= a ? 1 : 0;
      if (!part && !begins) continue;
      count += begins; busy += part;
      const t = byOp[o[i]] ??= [0, 0];
      t[0] += begins; t[1] += part;
    }
    byRow.push([count, busy]);
  });
  windows.push({ start: a, end: b, rows: byRow, ops: byOp });
}
const cause = rows.findIndex(r => r.n && r.columns.byRow[0]);
fs.writeFileSync(OUT + ".expected.json", JSON.stringify({ slices: total, length, needle, windows, messages: messages.slice(0, 3), cause: cause < 0 ? null : { row: cause, index: 0, byRow: rows[cause].columns.byRow[0] - 1, byIndex: rows[cause].columns.byIndex[0] },
  kernels: KERNELS, kernels_long: names[ops[LONG].name], hostile: WEIRD }));
console.log(JSON.stringify({ slices: total, rows: rows.length, ms: length / 1e6, bytes: fs.statSync(OUT).size, needle }));
