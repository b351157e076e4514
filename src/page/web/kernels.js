// SPDX-License-Identifier: Apache-2.0
// The tab of kernels with counters: what `kymo kernels` tells of them. All numbers are the head's.
import { h, say } from "./dom.js";
import { grouped, line as clean, percent, withUnit } from "./format.js";
import { Sheet } from "./tables.js";

const LIMITS = 6; // findings that stand above the panels; the others are unfolded
const FIRST = [2, 7]; // panels that stand in front: speed of light, launch and occupancy
const COLUMNS = ["id", "metric", "value", "share of the peak", "peak", "least to most", "note"];

const titleOf = k => `${clean(k.kernel, 90)} (${clean(k.device, 60)})`;

// Of one kernel: the panels with their tables, and of each table its rows.
function panelsOf(data, kernel) {
  let at = 0;
  return data.panels.map(p => ({ ...p, tables: p.tables.map(t => ({ ...t, rows: kernel.values[at++].map((v, i) => row(data, t, t.metrics[i], v)) })) }));
}

function row(data, table, [number, name, unit, about], v) {
  const of = { id: `${table.id}.${number}`, name, unit, about };
  if (typeof v === "number") return { ...of, value: null, note: data.reasons[v] };
  const [value, least, most, peak, share, rows, all, why] = v, parts = rows < all ? [`of ${grouped(rows)} of ${grouped(all)} dispatches`] : [];
  if (why !== undefined) parts.push(data.reasons[why]);
  return { ...of, value, least, most, peak, share, note: parts.join("; ") };
}

const exact = (v, unit) => `${v}${unit ? ` ${unit}` : ""}`;

function bar(share) {
  const filled = h("span.filled");
  filled.style.width = `${Math.min(100, Math.max(0, share))}%`;
  return [h("span.gauge", { "aria-hidden": "true" }, filled), percent(share)];
}

function metricRow(r) {
  const number = (v, unit) => h("td.n", { title: v === null || v === undefined ? null : exact(v, unit) }, withUnit(v, unit));
  const range = r.least === null || r.least === undefined ? h("td.n") : h("td.n", { title: `${exact(r.least, r.unit)} to ${exact(r.most, r.unit)}` }, r.least === r.most ? "" : `${withUnit(r.least, r.unit)} to ${withUnit(r.most, r.unit)}`);
  return h(r.value === null ? "tr.none" : "tr", { "data-id": r.id },
    h("td.id", { text: r.id }), h("td", { title: r.about ? clean(r.about, 400) : null, text: clean(r.name, 120) }),
    r.value === null ? h("td.n", { text: "N/A" }) : number(r.value, r.unit),
    r.share === null || r.share === undefined ? h("td") : h("td.share", { title: `${r.share} %` }, bar(r.share)),
    number(r.peak, r.unit), range, h("td.note", { text: clean(r.note ?? "", 400) }));
}

// Columns that no row has something in are left out.
function tableOf(t, rows) {
  const made = rows.map(metricRow), used = COLUMNS.map((_, n) => made.some(r => r.children[n].textContent));
  for (const r of made) [...r.children].forEach((c, n) => { if (!used[n]) c.remove(); });
  return h("table", { "aria-label": clean(t.title, 120), id: `kernel-table-${t.id}` },
    h("thead", {}, h("tr", {}, COLUMNS.map((c, n) => used[n] && h(n === 2 || n === 4 || n === 5 ? "th.n" : "th", { scope: "col", text: c })))), h("tbody", {}, made));
}

// A note that all rows have, and no reason of one without a value, is told once, below them: it would take room of each.
function withoutCommon(rows) {
  const note = rows[0].note;
  return rows.length > 1 && note && rows.every(r => r.value !== null && r.note === note) ? [rows.map(r => ({ ...r, note: "" })), note] : [rows, ""];
}

function noted(t, all) {
  const [rows, common] = withoutCommon(all);
  return [h("div.scroll", {}, tableOf(t, rows)), common ? h("p.common", { text: `all: ${clean(common, 400)}` }) : null];
}

// Shares, peaks and notes beside each other need the whole width.
const isWide = tables => tables.some(([, rows]) => rows.some(r => typeof r.share === "number") && withoutCommon(rows)[0].some(r => r.note));

function panel(p, all) {
  const tables = p.tables.map(t => [t, t.rows.filter(r => all || r.value !== null)]).filter(([, rows]) => rows.length);
  if (!tables.length) return null;
  return h(`section.metrics${all || isWide(tables) ? ".wide" : ""}`, { id: `kernel-panel-${p.id}`, tabindex: -1, "aria-label": clean(p.title, 100) },
    h("header", {}, h("h2", { text: `${p.id} ${clean(p.title, 100)}` }), h("span.about", { text: clean(p.about, 300) })),
    tables.flatMap(([t, rows]) => [t.title === p.title ? null : h("h3", { text: clean(t.title, 100) }), ...noted(t, rows)]));
}

// Kymo's own drawing, of which nothing is run: the page's policy holds within it.
function picture(l, dark) {
  const svg = new DOMParser().parseFromString(dark ? l.dark : l.light, "image/svg+xml").documentElement;
  return h("div.picture", { role: "img", "aria-label": `Roofline of ${clean(l.device, 80)}: ${l.points.length} points; the table below has them` }, document.importNode(svg, true));
}

function points(l) {
  // Points of a kernel stand next to each other; numbers are those of the picture.
  let number = 0;
  const numbers = l.points.map(([kernel], n) => number += n === 0 || kernel !== l.points[n - 1][0]);
  const heads = [["number"], ["kernel"], ["level"], ["FLOP/byte"], ["FLOP/s"], ["share of time", "%"], ["of what is attained", "%"]];
  return h("details", {}, h("summary", { text: "The same as a table" }), h("div.scroll", {}, h("table", { "aria-label": "Points of the roofline" },
    h("thead", {}, h("tr", {}, heads.map(([t], n) => h(n < 3 ? "th" : "th.n", { scope: "col", text: t })))),
    h("tbody", {}, l.points.map(([kernel, level, intensity, rate, share, attained], at) => h("tr", {}, h("td", { text: String(numbers[at]) }), h("td", { text: clean(kernel, 120) }), h("td", { text: level }),
      ...[intensity, rate, share === null ? null : 100 * share, attained === null ? null : 100 * attained].map((v, n) => h("td.n", { title: v === null ? null : String(v) }, withUnit(v, heads[n + 3][1])))))))));
}

function roofline(l, dark) {
  if (!l) return null;
  const what = l.why ? h("p.hint", { text: `N/A: ${clean(l.why, 400)}.` }) : h("div", {}, picture(l, dark), points(l));
  return h("section.metrics.wide", { id: "kernel-roofline", "aria-label": "Roofline" }, h("header", {}, h("h2", { text: "Roofline" }), h("span.about", { text: `counted kernels of ${clean(l.device, 80)}, below what it attains` })), what);
}

// What has no value of this kernel at all: each panel with its first reason.
function missing(panels) {
  const none = panels.filter(p => p.tables.some(t => t.rows.length) && p.tables.every(t => t.rows.every(r => r.value === null)));
  return none.length ? h("section.metrics.wide", { "aria-label": "Not available" }, h("header", {}, h("h2", { text: "N/A for this kernel" })),
    h("ul.kept", {}, none.map(p => h("li", {}, h("b", { text: `${p.id} ${clean(p.title, 100)}: ` }), clean(p.tables.find(t => t.rows.length).rows[0].note, 300))))) : null;
}

function findings(data, choose) {
  const t = data.tables.find(x => x.name === "findings");
  if (!t) return null;
  const at = Object.fromEntries(t.columns.map((c, n) => [c.name, n]));
  const cards = t.rows.map(r => {
    const kernel = data.kernels.findIndex(k => k.kernel === r[at.kernel] && k.device === r[at.device]), id = r[at.panel].split(".")[0], known = data.panels.find(p => String(p.id) === id);
    return h("article.finding", {}, h("header", {}, h("h3", { text: clean(r[at.finding], 400) })), h("p.where", { text: kernel < 0 ? clean(r[at.kernel], 200) : titleOf(data.kernels[kernel]) }), h("p", { text: clean(r[at.advice] ?? "", 600) }),
      h("footer", {}, h("span.rule", { text: r[at.rule] }), kernel >= 0 && h("button.link", { type: "button", onclick: () => choose(kernel, id) }, `See panel ${r[at.panel]}${known ? `, ${clean(known.title, 60)}` : ""}`)));
  });
  const more = cards.length - LIMITS;
  return h("section.limits", { "aria-label": "What limits kernels" }, h("h2", { text: `What limits them: ${grouped(t.rows.length)}` }), cards.slice(0, LIMITS),
    more > 0 && h("details", {}, h("summary", { text: `${grouped(more)} more` }), h("div.limits", {}, cards.slice(LIMITS))));
}

// `changed`: another kernel was chosen.
export function kernels(model, changed) {
  const data = model.head.kernels;
  if (!data) return null;
  let chosen = 0, all = false;
  const place = h("div.panels"), dark = () => getComputedStyle(document.documentElement).getPropertyValue("--dark").trim() === "1";
  const list = h("select", { "aria-label": "Kernel", onchange: () => choose(Number(list.value)) }, data.kernels.map((k, n) => h("option", { value: String(n), text: `${n + 1}  ${titleOf(k)}` })));
  const toggle = h("button.small", { type: "button", "aria-pressed": "false", title: "Metrics without a value, with the reason", onclick: () => { all = !all; draw(); } }, "Also what is N/A");
  const draw = () => {
    const kernel = data.kernels[chosen], panels = panelsOf(data, kernel), order = [...panels].sort((a, b) => FIRST.includes(b.id) - FIRST.includes(a.id));
    const made = order.map(p => panel(p, all)), front = FIRST.length;
    toggle.setAttribute("aria-pressed", String(all));
    list.value = String(chosen);
    place.replaceChildren(...[...made.slice(0, front), roofline(data.rooflines.find(l => l.device === kernel.device), dark()), ...made.slice(front), all ? null : missing(panels)].filter(Boolean));
  };
  // `id`: of a panel to go to; one without values is shown with the reasons.
  const choose = (n, id) => {
    chosen = n;
    all ||= id !== undefined && panelsOf(data, data.kernels[n]).some(p => String(p.id) === id && p.tables.every(t => t.rows.every(r => r.value === null)));
    draw();
    changed();
    say(titleOf(data.kernels[n]));
    const to = id === undefined ? null : place.querySelector(`#kernel-panel-${id}`);
    (to ?? list).scrollIntoView({ block: "start" });
    to?.focus({ preventScroll: true });
  };
  const numbers = new Map(data.kernels.map((k, n) => [JSON.stringify([k.kernel, k.device]), n]));
  const sheets = data.tables.filter(t => t.rows.length && t.name !== "findings").map(t => new Sheet({ ...t, name: `kernels_${t.name.replace(".", "_")}`, title: t.title.replace(/^[\d.]+ /, "") }, r => {
    const n = t.name === "0.1" ? numbers.get(JSON.stringify([r[0], r[1]])) : undefined;
    return n === undefined ? null : () => choose(n);
  }, { leads: "Show its panels" }));
  const left = data.tables[0].rows.length - data.kernels.length;
  const element = h("div.kernels", {}, sheets[0]?.element, findings(data, choose),
    h("section.choice", { "aria-label": "The kernel whose panels are shown" }, h("h2", { text: "Panels of" }), list, toggle, h("span.muted", { text: left > 0 ? `the ${data.kernels.length} with most time; kymo kernels has the other ${grouped(left)}` : "" })),
    place, sheets.slice(1).map(s => s.element));
  draw();
  // As the address has it, which may be of another page.
  const show = n => { if (data.kernels[n] && n !== chosen) { chosen = n; draw(); } };
  return { element, sheets, choose, show, get chosen() { return chosen; }, themed: draw, shown() { for (const s of sheets) s.draw(true); }, printed() { for (const s of sheets) s.print(); } };
}
