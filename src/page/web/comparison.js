// SPDX-License-Identifier: Apache-2.0
// The tab of two runs: this one is A, the other B. What takes more or less time, as `kymo compare A B` says it.
import { h } from "./dom.js";
import { duration, grouped, line as clean, percent } from "./format.js";
import { fitted, Plot, select, textured } from "./plots/chart.js";
import { Sheet } from "./tables.js";

const MORE = "#D55E00", LESS = "#0072B2", BARS = 30;

const VERDICTS = { worse: "B takes longer than A", better: "B takes less time than A", "no change found": "No change found", "nothing judged": "Nothing could be judged" };

// Columns have their unit in their names, and these for people.
const TITLES = { a_ns: "A", b_ns: "B", a: "A", b: "B", calls_a: "calls in A", calls_b: "calls in B", change_percent: "change", low_percent: "95 % sure: from", high_percent: "to", detectable_percent: "would be found from", share_percent: "share of its kind", p_corrected: "p, corrected" };

const table = (c, name) => c.tables.find(t => t.name === name) ?? { name, title: name, columns: [], rows: [], all_rows: 0 };
const objects = t => t.rows.map(r => Object.fromEntries(t.columns.map((c, n) => [c.name, r[n]])));
const FIRST = ["item", "kind", "per", "a_ns", "b_ns", "change_percent", "low_percent", "high_percent", "verdict", "reason"];

// What people look at first stands first.
function forPeople(t) {
  const place = n => { const at = FIRST.indexOf(t.columns[n].name); return at < 0 ? FIRST.length : at; }, order = t.columns.map((_, n) => n);
  if (t.columns.some(c => c.name === "per")) order.sort((a, b) => place(a) - place(b));
  return { ...t, name: `compare_${t.name}`, rows: t.rows.map(r => order.map(n => r[n])), columns: order.map(n => t.columns[n]).map(c => ({ ...c, title: TITLES[c.name] ?? c.title, unit: /_ns$/.test(c.name) ? "ns" : c.unit })) };
}

// What differs: of items the time of a run or of a call, and that of whole runs.
export function differences(c, by) {
  const items = objects(table(c, "items")), verdicts = new Map();
  const is = v => v === "slower" || v === "faster" || v === "more" || v === "less";
  for (const r of items) if (is(r.verdict) && (r.per === "call" || !verdicts.has(r.item))) verdicts.set(r.item, r.verdict);
  for (const r of objects(table(c, "work"))) if (/^only/.test(r.work)) verdicts.set(r.item, r.work);
  const rows = by === "run" ? [...items.filter(r => r.per === "run"), ...objects(table(c, "runs"))] : items.filter(r => r.per === "call" && r.a_ns > 0 && r.b_ns > 0);
  return rows.map(r => ({ what: r.item, a: r.a_ns, b: r.b_ns, value: by === "run" ? r.b_ns - r.a_ns : r.change_percent, low: r.low_percent, high: r.high_percent, verdict: r.kind === "run" ? (is(r.verdict) ? r.verdict : "") : verdicts.get(r.item) ?? "" }))
    .filter(r => Number.isFinite(r.value) && r.value !== 0);
}

const signed = (v, text) => `${v < 0 ? "−" : "+"}${text(Math.abs(v))}`;
const told = (d, by) => `${clean(d.what, 300)}: ${duration(d.a)} in A, ${duration(d.b)} in B, ${by === "run" ? signed(d.value, duration) : signed(d.value, percent)}${by === "call" && Number.isFinite(d.low) ? `, 95 % sure ${signed(d.low, percent)} to ${signed(d.high, percent)}` : ""}${d.verdict ? `, ${d.verdict}` : ", within noise, or not judged"}`;

function bars(c, links, show) {
  const plot = new Plot({ name: "comparison", title: "B less A", about: "of what differs; pale is within noise, or not judged", wide: true });
  let by = "run", places = [];
  plot.tools.append(select("Difference", [["run", "time of a run"], ["call", "time of a call, %"]], v => { by = v; plot.draw(); }));
  plot.draw = () => {
    const all = differences(c, by).sort((x, y) => Math.abs(y.value) - Math.abs(x.value)), shown = all.slice(0, BARS).sort((x, y) => y.value - x.value), row = 22;
    plot.table([["what"], ["A", "ns"], ["B", "ns"], ["difference", by === "run" ? "ns" : "%"], ["verdict"]], () => [...all].sort((x, y) => y.value - x.value).map(d => [clean(d.what, 300), d.a, d.b, d.value, d.verdict]));
    places = [];
    if (!shown.length) return plot.empty("Nothing that both have takes another time.");
    const g = plot.begin(shown.length * row + 12), left = Math.min(360, plot.width * 0.3), room = Math.min(170, Math.max(130, plot.width * 0.15)), most = Math.max(...shown.map(d => Math.abs(d.value))), middle = (left + plot.width) / 2, half = (plot.width - left) / 2 - room;
    g.textBaseline = "middle";
    shown.forEach((d, n) => {
      const y = 6 + n * row, w = Math.max(1, Math.abs(d.value) / most * half), x = d.value < 0 ? middle - w : middle, text = `${by === "run" ? signed(d.value, duration) : signed(d.value, percent)}${d.verdict ? `, ${d.verdict}` : ""}`;
      g.globalAlpha = d.verdict ? 1 : 0.45;
      textured(g, x, y + 3, w, row - 6, d.value > 0 ? MORE : LESS, d.value > 0 ? 0 : 1);
      g.globalAlpha = 1;
      g.fillStyle = plot.colour.text;
      g.textAlign = d.value > 0 ? "left" : "right";
      g.fillText(fitted(g, text, room - 8), d.value > 0 ? middle + w + 6 : middle - w - 6, y + row / 2);
      g.textAlign = "right";
      g.fillText(fitted(g, clean(d.what, 300), left - 8), left - 8, y + row / 2);
      g.textAlign = "left";
      places.push({ y, d });
    });
    g.fillStyle = plot.colour.muted;
    g.fillRect(Math.round(middle), 4, 1, shown.length * row + 4);
    plot.legend([[MORE, "+ more time in B"], [LESS, "− less time in B", { texture: 1 }], ...(all.length > shown.length ? [["transparent", `the largest ${BARS} of ${grouped(all.length)}`]] : [])]);
    const at = y => places.find(p => y >= p.y && y < p.y + row)?.d;
    plot.tell = (x, y) => { const d = at(y); return d ? told(d, by) : ""; };
    plot.canvas.onclick = e => {
      const d = at(e.clientY - plot.canvas.getBoundingClientRect().top), ops = d && links.get(d.what);
      if (ops) show(ops);
    };
    return undefined;
  };
  return plot;
}

// Of other work than before, what both did is all that can be told.
function titleOf(c, verdict) {
  if (verdict === "no change found" && table(c, "work").rows.length) return "No change of time found in what both did; the work differs";
  return VERDICTS[verdict] ?? clean(String(verdict ?? ""), 100);
}

export function comparison(model, show) {
  const c = model.head.comparison;
  if (!c) return null;
  const links = new Map(c.links), result = objects(table(c, "result"))[0] ?? {}, plot = bars(c, links, show);
  const link = row => { const ops = links.get(row[0]); return ops && (() => show(ops)); };
  const sheets = ["items", "runs", "work", "amounts"].map(n => table(c, n)).filter(t => t.rows.length).map(t => new Sheet(forPeople(t), link));
  const lines = l => l.map(x => clean(x, 1000)).join("\n");
  const element = h("div.comparison", {}, h("section.about", {}, h("h1", { text: titleOf(c, result.verdict) }),
    h("p.muted", { text: `A: ${clean(c.a, 300)}, which is in the timeline  ·  B: ${clean(c.b, 300)}` }), h("pre.digest", { tabindex: 0, role: "region", "aria-label": "What the comparison says", text: lines(c.head) })),
  plot.element, sheets.map(s => s.element), h("pre.digest", { tabindex: 0, role: "region", "aria-label": "How it was compared", text: lines(c.foot) }));
  const draw = () => { plot.draw(); for (const s of sheets) s.draw(true); };
  addEventListener("resize", () => { if (element.offsetParent) draw(); });
  return { element, plot, sheets, links, shown: draw, themed: () => { if (element.offsetParent) plot.draw(); }, printed() { plot.draw(); for (const s of sheets) s.print(); } };
}
