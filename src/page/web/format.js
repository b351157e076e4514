// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them.

export const grouped = n => Math.round(n).toString().replace(/\B(?=(\d{3})+(?!\d))/g, ",");

const UNITS = [["s", 1e9], ["ms", 1e6], ["us", 1e3], ["ns", 1]];
// From 1,000 s on what people count in: up to 100 minutes, up to two days.
const LONG = [["min", 6e10, 6e12], ["h", 3.6e12, 1.728e14], ["d", 8.64e13, Infinity]];
const long = ns => LONG.find(([, , below]) => ns < below);

export function duration(ns, digits = 4) {
  if (!Number.isFinite(ns)) return "";
  const size = Math.abs(ns), [unit, scale] = size >= 1e12 ? long(size) : UNITS.find(([, s]) => size >= s) ?? UNITS[3];
  if (scale === 1) return `${+ns.toFixed(size < 10 && ns % 1 ? 2 : 0)} ns`;
  const whole = Math.floor(size / scale).toString().length;
  return `${grouped1(ns / scale, Math.max(0, digits - whole))} ${unit}`;
}

function grouped1(v, digits) {
  const [whole, part] = v.toFixed(digits).split(".");
  return whole.replace(/\B(?=(\d{3})+(?!\d))/g, ",") + (part ? "." + part : "");
}

// Every digit, in seconds: "1.234 567 890 s".
export function exact(ns) {
  const whole = Math.floor(ns / 1e9), part = Math.round(ns - whole * 1e9).toString().padStart(9, "0");
  return `${grouped(whole)}.${part.slice(0, 3)}\u2009${part.slice(3, 6)}\u2009${part.slice(6)} s`;
}

const SIZES = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
export function size(bytes, suffix = "") {
  let n = 0, v = Math.abs(bytes);
  while (v >= 1024 && n < SIZES.length - 1) { v /= 1024; n++; }
  return `${bytes < 0 ? "−" : ""}${n ? v.toFixed(v < 10 ? 2 : v < 100 ? 1 : 0) : Math.round(v)} ${SIZES[n]}${suffix}`;
}

export const percent = v => `${Number.isInteger(v) ? v : v.toFixed(Math.abs(v) < 9.95 ? (Math.abs(v) < 0.0995 && v ? 3 : 2) : 1)} %`;

export function plain(v) {
  if (Number.isInteger(v)) return grouped1(v, 0);
  const a = Math.abs(v);
  return a >= 1e9 || a < 1e-4 ? v.toPrecision(4) : grouped1(v, a >= 100 ? 1 : a >= 1 ? 3 : 5);
}

// A value with the unit of its column, curve or axis.
export function withUnit(v, unit) {
  if (v === null || v === undefined || v === "") return "";
  if (typeof v !== "number") return String(v);
  if (!Number.isFinite(v)) return "";
  unit = unit === "bytes" ? "B" : unit === "bytes/s" ? "B/s" : unit;
  if (unit === "ns") return duration(v);
  if (unit === "B") return size(v);
  if (unit === "B/s") return size(v, "/s");
  if (unit === "%") return percent(v);
  return plain(v) + (unit ? ` ${unit}` : "");
}

// Round steps for an axis of about `count` marks.
export function ticks(a, b, count) {
  const rough = Math.max((b - a) / Math.max(1, count), Number.MIN_VALUE), power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(m => m * power).find(s => s >= rough * 0.999), out = [];
  for (let n = Math.ceil(a / step - 1e-9); n * step <= b + step * 1e-9; n++) out.push(n * step);
  return { step, at: out };
}

export function timeTicks(a, b, count) {
  const whole = Math.max(1, (b - a) / Math.max(1, count));
  if (whole >= 6e10) { // round in the unit that it is told in
    const [, scale] = long(whole * count), t = ticks(a / scale, b / scale, count);
    return { step: t.step * scale, at: t.at.map(v => v * scale) };
  }
  const t = ticks(a, b, count), step = Math.max(1, t.step);
  return t.step >= 1 ? t : { step, at: Array.from({ length: Math.max(0, Math.floor(b) - Math.ceil(a) + 1) }, (_, i) => Math.ceil(a) + i) };
}

// A mark's label: as precise as the step is.
export function tickLabel(ns, step) {
  if (step >= 6e10) {
    const [unit, scale] = long(step);
    return `${+(ns / scale).toFixed(4)} ${unit}`;
  }
  const [unit, scale] = UNITS.find(([, s]) => step >= s * 0.999 || (s > 1 && ns >= s && step >= s / 1000)) ?? UNITS[3];
  const digits = Math.max(0, -Math.floor(Math.log10(step / scale) + 1e-9));
  return `${grouped1(ns / scale, digits)} ${unit}`;
}

// One line, no control or bidirectional characters, no halves of a character, not longer than a label may be.
export function line(text, most = 400) {
  const cut = text.length > most ? `${text.slice(0, most)}…` : text;
  return cut.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, "\ufffd").replace(/[\ud800-\udbff][\udc00-\udfff]|[\ud800-\udfff]/g, c => c.length === 2 ? c : "\ufffd");
}
