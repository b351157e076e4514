// SPDX-License-Identifier: Apache-2.0
// All that the trace has of a slice, as `kymo view` answers it. Names are data: they become text alone.
import { h } from "./dom.js";
import { duration, grouped, line as clean, size } from "./format.js";

const MOST = 9007199254740991; // whole numbers beyond it are not exact here
const KNOWN = new Set(["kind", "domain", "op", "args", "cut"]);
const TIMES = new Set(["start", "end", "collected", "queued", "submitted", "call_start"]);
const SIZES = new Set(["bytes", "static_shared", "dynamic_shared", "local_memory"]);

// What a slice says of its record.
async function asked(model, s) {
  const track = model.tracks[model.rows[s.row].track], more = await model.more(s.block), id = more.id?.[s.i] ?? 0;
  const about = { process: track.process, start: s.start, end: s.end, work: model.rows[s.row].device ? 1 : 0 };
  if (track.number) about[track.kind === "queue" ? "queue" : "thread"] = track.number;
  if (id && id <= MOST) about.id = id;
  return about;
}

function valueOf(key, value, names) {
  const named = names?.[key];
  if (named !== undefined && typeof value === "number") return value ? `${clean(named, 1000)}  (${value})` : "none";
  if (value === null) return "none";
  if (TIMES.has(key) && typeof value === "number") return `${grouped(value)} ns`;
  if (SIZES.has(key) && typeof value === "number") return `${size(value)}  (${grouped(value)} B)`;
  if (Array.isArray(value)) return value.length ? value.map(v => typeof v === "object" ? JSON.stringify(v) : String(v)).join(" × ") : "none";
  return clean(typeof value === "object" ? JSON.stringify(value) : String(value), 4000);
}

function placeOf(site) {
  const where = site.file ? `${site.file}:${site.line}` : `${site.module || "?"}+${site.offset}`;
  return clean(site.function ? `${site.function}  (${where})` : where, 2000);
}

// The fields of a record, as a list.
function fieldsOf({ record, arguments: args = [], names = {}, site, stack, line }) {
  const list = h("dl.fields"), put = (what, value) => list.append(h("dt", { text: what }), h("dd", {}, value));
  for (const [name, type, value] of args) put(clean(name, 200), h("span", {}, h("code", { text: clean(value, 4000) }), type ? h("span.type", { text: `  ${clean(type, 200)}` }) : null));
  for (const [key, value] of Object.entries(record)) {
    if (KNOWN.has(key) || (key === "site" && site) || (key === "stack" && stack)) continue;
    put(clean(key.replaceAll("_", " "), 200), valueOf(key, value, names));
    if (key === "end" && typeof value === "number" && typeof record.queued === "number") put("in the queue", duration(record.start - record.queued));
  }
  for (const [name, bytes] of Object.entries(record.cut ?? {})) put(`${clean(name, 200)}: length`, grouped(bytes));
  if (site) put("call site", placeOf(site));
  if (stack) put("stack", h("ol.stack", {}, stack.map(f => h("li", { text: placeOf(f) }))));
  put("as kymo show prints it", h("code.line", { text: clean(line, 8000) }));
  return list;
}

export async function recordOf(model, slice) {
  const got = await model.source.record(await asked(model, slice)), box = h("div.record");
  if (!got.records.length) box.append(h("p.hint", { text: got.whole ? "The trace has no record of its own for this." : "The record was not found in the time that there is: kymo show has it." }));
  got.records.forEach((r, n) => box.append(h("h3", { text: n ? "One more at the same time" : "All that the trace has of it" }), fieldsOf(r)));
  for (const r of got.related) box.append(h("details", {}, h("summary", { text: clean(`${r.record.domain ?? r.record.kind}: ${r.record.op ?? ""}`, 200) }), fieldsOf(r)));
  if (!got.whole && got.records.length) box.append(h("p.hint", { text: "There may be more that belongs to it: kymo show." }));
  return box;
}
