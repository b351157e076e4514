// SPDX-License-Identifier: Apache-2.0
// Below the rows: the selected slice, exact counts of the window or of a measured span, the longest slices.
import { h, say, save } from "./dom.js";
import { duration, exact, grouped, line as clean, percent, size } from "./format.js";
import { linksOf } from "./arrows.js";
import { countOps, countRow, missingBlocks } from "./count.js";
import { told } from "./input.js";
import { recordOf } from "./record.js";

const AT_ONCE = 3e6; // slices that are counted without being asked

export class Panel {
  constructor(timeline, input) {
    this.of = timeline;
    this.input = input;
    this.span = null;
    this.slice = h("section.card.slice", { "aria-label": "Selected slice" });
    this.counts = h("section.card.counts", { "aria-label": "Counts" });
    this.longest = h("section.card.longest", { "aria-label": "Longest slices" });
    this.element = h("div.panel", {}, this.slice, this.counts, this.longest);
    timeline.on("select", s => this.selected(s));
    timeline.on("view", () => this.later());
    timeline.on("measure", span => { this.span = span; this.refresh(); });
    this.selected(null);
    this.later();
  }

  get model() { return this.of.model; }

  // ---- the selected slice ---------------------------------------------------------------------------
  async selected(s) {
    this.of.links = [];
    this.of.found_links = null;
    if (!s) {
      this.slice.replaceChildren(h("h2", { text: "Selected slice" }), h("p.hint", { text: "Click a slice, or press n. Arrows show what submitted it, and the message’s other end." }));
      return;
    }
    say(told(this.model, s));
    this.tellSlice(s, null);
    const links = await linksOf(this.model, s).catch(e => { this.model.failed(e); return null; });
    if (this.of.selected !== s || !links) return;
    this.of.found_links = links;
    this.of.links = [...(links.cause ? [{ from: links.cause, to: s }] : []), ...links.effects.map(e => ({ from: s, to: e })),
      ...links.messages.map(m => m.sent ? { from: s, to: m.slice, kind: "message" } : { from: m.slice, to: s, kind: "message" })];
    this.tellSlice(s, links);
    this.of.redraw();
    if (!this.model.source.record) return;
    const record = await recordOf(this.model, s).catch(e => h("p.hint", { text: `The record cannot be read: ${e.message}` }));
    if (this.of.selected === s) this.slice.querySelector(".record")?.replaceWith(record);
  }

  tellSlice(s, links) {
    const { model } = this, name = clean(model.name(s.op), 2000), list = h("dl"), put = (what, value) => list.append(h("dt", { text: what }), h("dd", {}, value));
    const go = (slice, text, key) => h("button.link", { type: "button", title: `Go there (${key})`, onclick: () => { (this.input.trail ??= []).push(s); this.of.select(slice, { near: true, close: true }); } }, text);
    const swatch = this.of.swatch(s.op);
    put("kind", `${model.kind(s.op)}, ${model.ops[s.op]?.domain ?? ""}`);
    put("start", exact(s.start));
    put("duration", `${duration(s.end - s.start)}  (${grouped(s.end - s.start)} ns${model.quantum > 1 ? ` ± ${model.quantum}` : ""})`);
    put("on", clean(model.path(model.rows[s.row].track)));
    const flags = [s.flags & 1 && "failed", s.flags & 2 && "cut by the end of the trace, or never returned", s.flags & 4 && "overlaps its row, drawn in a lane of its own"].filter(Boolean);
    if (flags.length) put("note", flags.join("; "));
    if (links?.bytes) put("bytes", `${size(links.bytes)}  (${grouped(links.bytes)} B), ${size(links.bytes / Math.max(1e-9, (s.end - s.start) / 1e9))}/s`);
    if (links?.cause) put("submitted by", go(links.cause, `${clean(model.brief(links.cause.op), 60)}, ${duration(s.start - links.cause.start, 3)} before`, "c"));
    for (const e of links?.effects.slice(0, 3) ?? []) put("device work", go(e, `${clean(model.brief(e.op), 60)}, ${duration(e.start - s.start, 3)} later`, "e"));
    if (links && !links.effects.length && !links.whole) put("device work", "none in the blocks nearby");
    for (const m of links?.messages.slice(0, 3) ?? []) put(m.sent ? "sent to" : "sent by", go(m.slice, `${clean(model.rankOf(model.rows[m.slice.row].track).label, 40)}, ${size(m.bytes)}`, "m"));
    const record = h("p.hint.record", { text: model.source.record ? "Reading the record …" : "Arguments, call site, stack and the like are in the trace: kymo view shows them here, kymo show prints them." });
    this.slice.replaceChildren(h("h2", { title: name }, swatch, name), list, record);
  }

  // A name, and of what it is where another op has the same one.
  nameOf(op) {
    const { model } = this;
    if (!this.same) {
      this.same = new Map();
      for (const o of model.ops) this.same.set(model.head.names[o.name], (this.same.get(model.head.names[o.name]) ?? 0) + 1);
    }
    const name = model.name(op), o = model.ops[op];
    return clean(model.brief(op), 120) + (this.same.get(name) > 1 ? `  (${o.domain}, ${o.kind})` : "");
  }

  // ---- counts ---------------------------------------------------------------------------------------
  later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.refresh(), 250);
  }

  window() {
    const { view } = this.of;
    return this.span ?? { start: Math.max(0, Math.floor(view.start)), end: Math.min(this.model.length, Math.ceil(view.end)) + 1 };
  }

  async refresh(all = false) {
    if (this.hidden) return;
    const mine = this.turn = (this.turn ?? 0) + 1, { start, end } = this.window(), rows = this.model.rows.filter(r => r.records);
    const stopped = () => mine !== this.turn;
    const head = h("h2", {}, this.span ? `Measured: ${duration(end - start, 5)}` : `In view: ${duration(end - start, 4)}`);
    if (this.span) head.append(h("button.link", { type: "button", onclick: () => this.input.clear() }, "clear"));
    if (!this.model.knows(start, Math.min(end, this.model.length))) {
      this.counts.replaceChildren(head, h("p.hint", { text: "Not all of this is read yet: counts are there once it is. Zoom in to read less." }));
      this.longest.replaceChildren(h("h2", { text: "Longest slices" }), h("p.hint", { text: "Zoom in to list them." }));
      return;
    }
    if (this.model.glance?.late) head.append(h("span.hint", { text: " without what was recorded long after" }));
    const missing = missingBlocks(this.model, rows, start, end);
    if (missing.slices > AT_ONCE && !all) {
      this.counts.replaceChildren(head, h("p.hint", {}, `Counting by name unpacks ${grouped(missing.slices)} slices. `, h("button", { type: "button", onclick: () => this.refresh(true) }, "Count now")));
      const list = [];
      for (const r of rows) {
        const c = await countRow(this.model, r, start, end);
        if (stopped()) return;
        if (c.count || c.busy) list.push({ r, ...c });
      }
      this.counts.append(this.rowTable(list, end - start));
      this.longest.replaceChildren(h("h2", { text: "Longest slices" }), h("p.hint", { text: "Zoom in, or count, to list them." }));
      return;
    }
    const progress = h("progress", { max: missing.blocks || 1, value: 0, "aria-label": "Counting" });
    if (missing.blocks > 4) this.counts.replaceChildren(head, progress);
    const byRow = [];
    for (const r of rows) {
      const c = await countRow(this.model, r, start, end);
      if (stopped()) return;
      if (c.count || c.busy) byRow.push({ r, ...c });
    }
    const got = await countOps(this.model, rows, start, end, { stopped, progress: (n, m) => { progress.max = m; progress.value = n; } }).catch(e => { this.model.failed(e); return null; });
    if (!got || stopped()) return;
    this.last = { start, end, byRow, ...got };
    this.counts.replaceChildren(head, this.countTable(got.ops, byRow, end - start));
    this.longest.replaceChildren(h("h2", { text: "Longest slices" }), this.longTable(got.longest));
  }

  rowTable(list, span) {
    list.sort((a, b) => b.busy - a.busy);
    return h("table", { "aria-label": "Counts by row" }, h("thead", {}, h("tr", {}, ["row", "starts", "busy", "share"].map((t, n) => h(n ? "th.n" : "th", { scope: "col", text: t })))),
      h("tbody", {}, list.slice(0, 60).map(x => h("tr", {}, h("td", { text: `${clean(this.model.path(x.r.track), 80)}${x.r.depth ? ` (${x.r.depth})` : ""}` }), h("td.n", { text: grouped(x.count) }), h("td.n", { text: duration(x.busy) }), h("td.n", { text: percent(100 * x.busy / span) })))));
  }

  countTable(ops, byRow, span) {
    const list = [...ops].sort((a, b) => b[1][1] - a[1][1]), by = h("div.switch", { role: "group", "aria-label": "Counts by" });
    const names = h("table", { "aria-label": "Counts by name" }, h("thead", {}, h("tr", {}, ["name", "starts", "busy", "share"].map((t, n) => h(n ? "th.n" : "th", { scope: "col", text: t })))),
      h("tbody", {}, list.slice(0, 60).map(([op, [count, busy]]) => {
        return h("tr", {}, h("td", { title: clean(this.model.name(op), 500) }, this.of.swatch(op), this.nameOf(op)), h("td.n", { text: grouped(count) }), h("td.n", { text: duration(busy) }), h("td.n", { text: percent(100 * busy / span) }));
      })));
    const rows = this.rowTable(byRow, span), box = h("div", {}, this.byRows ? rows : names);
    const button = (text, table, on) => h("button.small", { type: "button", "aria-pressed": String(on === Boolean(this.byRows)), onclick: e => {
      this.byRows = on;
      box.replaceChildren(table);
      for (const b of by.children) b.setAttribute("aria-pressed", String(b === e.currentTarget));
    } }, text);
    by.append(button("by name", names, false), button("by row", rows, true),
      h("button.small", { type: "button", onclick: () => save("counts.csv", csv([["name", "starts", "busy_ns"], ...list.map(([op, v]) => [this.model.name(op), ...v])])) }, "CSV"));
    return h("div", {}, by, box);
  }

  // Its thread or queue; where there are several processes, behind what tells its own from them.
  placeOf(s) {
    const { model } = this, { track } = model.rows[s.row], own = clean(model.tracks[track].label, 40);
    return model.roots.length > 1 ? `${clean(model.nameOfRoot(track), 40)} › ${own}` : own;
  }

  longTable(list) {
    return h("table", { "aria-label": "The longest slices" }, h("caption.unseen", { text: "The longest slices in view" }), h("thead", {}, h("tr", {}, ["name", "duration", "start", "on"].map((t, n) => h(n === 1 || n === 2 ? "th.n" : "th", { scope: "col", text: t })))),
      h("tbody", {}, list.map(s => h("tr", {}, h("td", {}, h("button.link", { type: "button", onclick: async () => this.of.select(await this.model.slice(s.row, s.index), { near: true, close: true }) }, clean(this.model.name(s.op), 90))),
        h("td.n", { text: duration(s.end - s.start) }), h("td.n", { text: duration(s.start, 6) }), h("td", { text: this.placeOf(s), title: clean(this.model.path(this.model.rows[s.row].track), 1000) })))));
  }
}

// RFC 4180; what a spreadsheet would take for a formula is kept from being one.
export function csv(rows) {
  const cell = v => {
    let t = v === null || v === undefined ? "" : String(v);
    if (typeof v !== "number" && /^[=+\-@\t\r]/.test(t)) t = `'${t}`;
    return /[",\r\n]/.test(t) ? `"${t.replaceAll('"', '""')}"` : t;
  };
  return rows.map(r => r.map(cell).join(",")).join("\r\n") + "\r\n";
}
