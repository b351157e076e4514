// SPDX-License-Identifier: Apache-2.0
// The summary's tables. Only the rows in sight are elements, so that thousands stay fluid.
import { h, save, say } from "./dom.js";
import { grouped, line as clean, withUnit } from "./format.js";
import { csv } from "./panel.js";
import { matcher } from "./search.js";

const HIGH = 24, PRINTED = 50;

const UNITS = { text: "", count: "", number: "", id: "", bytes: "B", "bytes/s": "B/s", percent: "%", timestamp: "ns" };
const unitOf = c => {
  if (c.unit) return UNITS[c.unit] ?? c.unit;
  if (c.kind === "time" || /_ns$/.test(c.name)) return "ns";
  if (c.kind === "percent" || /percent$/.test(c.name)) return "%";
  if (/bytes_per_second$/.test(c.name)) return "B/s";
  if (c.kind === "size" || /bytes$/.test(c.name)) return "B";
  return "";
};

const titled = c => {
  const t = c.title || c.name;
  return t.replaceAll("_", " ");
};

const arrow = () => h("span.arrow", { "aria-hidden": "true" });
const named = t => t.title ? clean(t.title, 200) : clean(titled(t), 200).replace(/^[a-z]/, c => c.toUpperCase());

// `link`: what a row leads to, or nothing, from the cell of column `at`, else its first; `choice`: a column of which one value can be chosen; `leads`: what a link does.
export class Sheet {
  constructor(table, link = () => null, { choice, at, leads = "Show in the timeline" } = {}) {
    this.table = table;
    this.link = link;
    this.at = at;
    this.leads = leads;
    this.choice = table.columns.findIndex(c => c.name === choice);
    this.columns = table.columns.map((c, n) => ({ ...c, n, unit: unitOf(c), ids: c.unit === "id", number: table.rows.some(r => typeof r[n] === "number") }));
    // A curve is drawn; columns that say nothing are left out.
    this.columns = this.columns.filter(c => table.rows.some(r => r[c.n] !== null && r[c.n] !== undefined && r[c.n] !== ""));
    this.rows = table.rows;
    this.sorted = null;
    this.build();
  }

  build() {
    const { table } = this;
    this.filter = h("input", { type: "search", placeholder: "Filter: text or /expression/", "aria-label": `Filter the table ${table.title || table.name}`, oninput: () => this.refilter() });
    this.chosen = this.choice < 0 ? null : this.choices();
    this.count = h("span.muted", { role: "status" });
    this.heads = this.columns.map(c => h(c.number ? "th.n" : "th", { scope: "col", "aria-sort": "none", "data-title": titled(c), title: `${c.name}${c.unit ? `, ${c.unit}` : ""}` }, h("button", { type: "button", onclick: () => this.sort(c) }, c.number ? [arrow(), titled(c)] : [titled(c), arrow()])));
    this.body = h("tbody");
    this.before = h("td", { colspan: this.columns.length });
    this.behind = h("td", { colspan: this.columns.length });
    this.scroll = h("div.scroll", { tabindex: 0, role: "region", "aria-label": clean(table.title || table.name, 200), onscroll: () => this.draw() },
      h("table", { "aria-label": named(table), "aria-rowcount": this.rows.length + 1 }, h("thead", {}, h("tr", {}, this.heads)), h("tbody", { "aria-hidden": "true" }, h("tr.space", {}, this.before)), this.body, h("tbody", { "aria-hidden": "true" }, h("tr.space", {}, this.behind))));
    this.element = h("section.sheet", { id: `table-${table.name}` },
      h("header", {}, h("h2", { text: named(table) }), this.count, h("span.grow"), this.chosen, this.filter,
        h("button", { type: "button", onclick: () => this.copy() }, "Copy CSV"), h("button", { type: "button", onclick: () => save(`${table.name}.csv`, this.text()) }, "Save CSV")),
      this.scroll);
    this.draw(true);
  }

  choices() {
    const title = titled(this.table.columns[this.choice]), number = new Map();
    for (const r of this.table.rows) number.set(r[this.choice], (number.get(r[this.choice]) ?? 0) + 1);
    return h("select", { "aria-label": `Rows of one ${title}`, onchange: () => this.refilter() }, h("option", { value: "", text: `every ${title}` }),
      [...number].sort((a, b) => a[0] - b[0]).map(([v, n]) => h("option", { value: String(v), text: `${title} ${v}: ${grouped(n)}` })));
  }

  // As it stands on paper: its first rows, and how many more there are.
  print() {
    this.draw(true);
    this.behind.style.height = this.before.style.height = "0";
    this.body.replaceChildren(...this.rows.slice(0, PRINTED).map(r => h("tr", {}, this.cells(r))));
    if (this.rows.length > PRINTED) this.count.textContent = `the first ${PRINTED} of ${grouped(this.rows.length)} rows`;
  }

  refilter() {
    const fits = matcher(this.filter.value);
    this.filter.setAttribute("aria-invalid", String(fits === undefined));
    this.rows = fits ? this.table.rows.filter(r => this.columns.some(c => r[c.n] !== null && fits(String(r[c.n])))) : this.table.rows;
    if (this.chosen?.value) this.rows = this.rows.filter(r => String(r[this.choice]) === this.chosen.value);
    this.resort();
  }

  sort(c) {
    this.down = this.sorted === c ? !this.down : c.number;
    this.sorted = c;
    this.heads.forEach((e, n) => e.setAttribute("aria-sort", this.columns[n] === c ? (this.down ? "descending" : "ascending") : "none"));
    this.resort();
    say(`Sorted by ${titled(c)}, ${this.down ? "descending" : "ascending"}`);
  }

  resort() {
    const c = this.sorted;
    if (c) {
      const sign = this.down ? -1 : 1, order = new Intl.Collator("en", { numeric: true });
      this.rows = [...this.rows].sort((a, b) => {
        const x = a[c.n], y = b[c.n];
        if (x === null || x === undefined) return y === null || y === undefined ? 0 : 1;
        if (y === null || y === undefined) return -1;
        return sign * (typeof x === "number" && typeof y === "number" ? x - y : order.compare(String(x), String(y)));
      });
    }
    this.scroll.scrollTop = 0;
    this.draw(true);
  }

  draw(anew) {
    const room = this.scroll.clientHeight || 480, first = Math.max(0, Math.floor(this.scroll.scrollTop / HIGH) - 8), last = Math.min(this.rows.length, first + Math.ceil(room / HIGH) + 20);
    if (!anew && this.first <= first + 4 && this.first >= first - 4 && this.last === Math.min(this.rows.length, this.first + (last - first))) return;
    this.first = first;
    this.last = last;
    this.before.style.height = `${first * HIGH}px`;
    this.behind.style.height = `${(this.rows.length - last) * HIGH}px`;
    this.count.textContent = this.rows.length === this.table.rows.length ? `${grouped(this.rows.length)} row${this.rows.length === 1 ? "" : "s"}${this.table.all_rows > this.rows.length ? ` of ${grouped(this.table.all_rows)}: the rest is left to kymo summary` : ""}` : `${grouped(this.rows.length)} of ${grouped(this.table.rows.length)} rows`;
    this.body.replaceChildren(...this.rows.slice(first, last).map((r, n) => h("tr", { "aria-rowindex": first + n + 2 }, this.cells(r))));
  }

  cells(r) {
    const cells = this.columns.map(c => this.cell(c, r[c.n])), go = this.link(r);
    const first = cells[Math.max(0, this.columns.findIndex(c => c.name === this.at))];
    if (go) first.replaceChildren(h("button.link", { type: "button", title: this.leads, onclick: go, text: first.textContent }));
    return cells;
  }

  cell(c, v) {
    if (c.ids && typeof v === "number") return h("td.n", { text: String(v) });
    if (c.number && typeof v === "number") return h("td.n", { title: `${v}${c.unit ? ` ${c.unit}` : ""}` }, withUnit(v, c.unit));
    const text = v === null || v === undefined ? "" : String(v);
    if (/curve/.test(c.name) && /^[\d. ]+$/.test(text)) return h("td", {}, spark(text.split(" ").map(Number)));
    const short = clean(text, 300);
    return h("td", { title: short.length > 40 ? clean(text, 2000) : null, text: short });
  }

  text() {
    return csv([this.columns.map(c => c.name), ...this.rows.map(r => this.columns.map(c => r[c.n]))]);
  }

  async copy() {
    try {
      await navigator.clipboard.writeText(this.text());
    } catch {
      const area = h("textarea.unseen", { value: this.text() });
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    say("Copied");
    this.count.textContent = "copied";
    setTimeout(() => this.draw(true), 1200);
  }
}

function spark(values) {
  const ns = "http://www.w3.org/2000/svg", s = document.createElementNS(ns, "svg"), p = document.createElementNS(ns, "path"), most = Math.max(1e-9, ...values), w = 120, high = 16;
  s.setAttribute("viewBox", `0 0 ${w} ${high}`);
  s.setAttribute("class", "spark");
  s.setAttribute("role", "img");
  s.setAttribute("aria-label", `curve of ${values.length} values, at most ${most}`);
  p.setAttribute("d", `M0 ${high}` + values.map((v, i) => `L${(i / values.length * w).toFixed(1)} ${(high - v / most * (high - 1)).toFixed(1)}L${((i + 1) / values.length * w).toFixed(1)} ${(high - v / most * (high - 1)).toFixed(1)}`).join("") + `L${w} ${high}Z`);
  s.append(p);
  return s;
}

// `show`: goes to a process of the table of clusters, by its row.
export function tables(model, show) {
  const make = t => {
    if (t.name !== "clusters" || !model.members.about) return new Sheet(t);
    const row = new Map(t.rows.map((r, n) => [r, n]));
    return new Sheet(t, r => () => show(row.get(r)), { choice: "cluster", at: "process" });
  };
  const sheets = (model.head.tables ?? []).filter(t => t.rows.length && t.columns.length).sort((a, b) => Boolean(a.hidden) - Boolean(b.hidden));
  let current = null;
  const place = h("div.place"), list = h("nav.list", { "aria-label": "Tables" }), made = new Map();
  const open = t => {
    current = t;
    if (!made.has(t)) made.set(t, make(t));
    place.replaceChildren(made.get(t).element);
    made.get(t).draw(true);
    for (const b of list.children) b.setAttribute("aria-current", String(b.dataset.name === t.name));
  };
  for (const t of sheets) list.append(h("button", { type: "button", "data-name": t.name, onclick: () => open(t) }, h("span", { text: named(t).split(":")[0] }), h("small", { text: grouped(t.rows.length) })));
  const sheetOf = t => made.get(t) ?? made.set(t, make(t)).get(t);
  const element = h("div.tables", {}, list, place);
  return {
    element, made,
    open(name) { const t = sheets.find(x => x.name === name); if (t) open(t); },
    shown() {
      if (!current && sheets.length) open(sheets[0]);
      else if (current) made.get(current).draw(true);
      if (!sheets.length) place.textContent = "The summary has no tables.";
    },
    printed() {
      const shown = sheets.filter(t => !t.hidden).map(sheetOf);
      place.replaceChildren(...shown.map(s => s.element));
      for (const s of shown) s.print();
    },
    restored() {
      place.replaceChildren();
      if (current) open(current);
    },
  };
}
