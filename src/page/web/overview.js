// SPDX-License-Identifier: Apache-2.0
// The first tab: what the run was, how far it can be trusted, the digest, what was found.
import { h } from "./dom.js";
import { duration, grouped, line as clean, percent } from "./format.js";

const OF_A_RULE = 5;

// Times of where a finding was seen, whichever way the page has them.
export function placeOf(f) {
  if (f.at) return f.at;
  if (f.end_ns > f.start_ns) return { start: f.start_ns, end: f.end_ns, tracks: [] };
  return null;
}

function finding(model, f, n, jump) {
  const place = placeOf(f), lines = t => (Array.isArray(t) ? t : t ? [t] : []);
  return h("article.finding", { "aria-labelledby": `finding${n}` },
    h("header", {}, h("h3", { id: `finding${n}`, text: clean(f.title ?? f.rule ?? "", 600) }), f.gain_ns > 0 && h("span.gain", {}, h("b", { text: duration(f.gain_ns, 3) }), ` could be won, ${percent(100 * (f.share ?? f.gain_ns / model.length))}`)),
    f.where && h("p.where", { text: clean(f.where, 600) }),
    lines(f.evidence).length > 0 && h("ul", {}, lines(f.evidence).map(e => h("li", { text: clean(e, 1000) }))),
    f.try && h("p", {}, h("b", { text: "Try: " }), clean(f.try, 1000)),
    f.show && h("p.show", {}, h("code", { text: clean(f.show, 1000) })),
    h("footer", {}, h("span.rule", { text: f.rule ?? "" }), !place && h("span.muted", { text: "It is of the whole run: no place in the timeline shows it." }), place && h("a.jump", { href: `#t=${place.start},${place.end}`, onclick: e => { e.preventDefault(); jump(place); } }, "Show in the timeline")));
}

function hostsOf(t) {
  const told = (t.recorded_on ?? []).map(x => clean(String(x), 60)), more = (t.hosts ?? 0) - told.length;
  return told.join(", ") + (more > 0 ? ` and ${grouped(more)} more host${more === 1 ? "" : "s"}` : "");
}

// Of one rule the first are there, others of it below a line: a job of many nodes has the same on each.
function list(model, findings, jump) {
  const shown = new Map(), rest = new Map(), count = new Map();
  for (const { rule } of findings) count.set(rule, (count.get(rule) ?? 0) + 1);
  const all = findings.map((f, n) => ({ f, n })).filter(({ f, n }) => {
    const number = (shown.get(f.rule) ?? 0) + 1, of = count.get(f.rule);
    shown.set(f.rule, number);
    if (number <= OF_A_RULE || of <= OF_A_RULE + 1) return true;
    rest.set(f.rule, [...(rest.get(f.rule) ?? []), { f, n }]);
    return false;
  });
  return [...all.map(({ f, n }) => finding(model, f, n, jump)), ...[...rest].map(([rule, more]) => h("details.more", {},
    h("summary", { text: `${grouped(more.length)} more of ${rule}` }), more.map(({ f, n }) => finding(model, f, n, jump))))];
}

export function overview(model, jump) {
  const { head } = model, t = head.trace ?? {}, facts = h("dl.facts");
  const told = text => clean(text ?? "").replace(/^(Lost|Overhead|Clock error): (nothing\.)?/, "").replace(/^[a-z]/, c => c.toUpperCase());
  const fact = (what, value, more, state) => value !== null && value !== undefined && value !== "" && facts.append(h(`div.fact${state ? `.${state}` : ""}${more && more.length > 90 ? ".wide" : ""}`, {}, h("dt", { text: what }), h("dd", {}, h("b", { text: value }), more ? h("span", { text: more }) : null)));
  const many = (n, one) => n ? `${grouped(n)} ${one}${n === 1 ? "" : one.endsWith("s") ? "es" : "s"}` : null;
  fact("length", duration(head.length), [many(t.ranks, "rank"), many(t.processes, "process")].filter(Boolean).join(", "));
  fact("records", grouped(t.records ?? 0), hostsOf(t));
  fact("lost", head.loss?.records ? grouped(head.loss.records) : "none", told(head.loss?.text), head.loss?.records ? "bad" : "");
  fact("overhead", head.overhead?.share === undefined || head.overhead?.share === null ? "not known" : percent(100 * head.overhead.share), told(head.overhead?.text));
  fact("clocks", head.clock?.error_ns === undefined || head.clock?.error_ns === null ? "not known" : `± ${duration(head.clock.error_ns, 3)}`, told(head.clock?.text));
  if (model.quantum > 1) fact("times", `in steps of ${duration(model.quantum)}`, "the trace has them exactly");
  const findings = head.findings ?? [], started = t.started ? new Date(t.started * 1000).toISOString().replace("T", " ").slice(0, 19) + " UTC" : "";
  const kept = [h("h2", { text: "What this page keeps" }), h("ul.kept", {}, (head.kept ?? []).map(k => h("li", { text: clean(k, 1000) })))];
  return h("div.overview", {},
    h("section.about", {}, h("h1", { text: clean(t.name || "trace", 300) }), h("p.command", {}, h("code", { text: clean(t.command ?? "", 1000) })),
      h("p.muted", { text: [t.host && `on ${clean(t.host, 200)}`, started, t.imported && `read from ${clean(t.imported, 60)}`, t.version && `Kymo ${clean(t.version, 40)}`].filter(Boolean).join("  ·  ") }), facts),
    h("div.columns", {},
      h("section", {}, h("h2", { text: "Digest" }), h("pre.digest", { tabindex: 0, role: "region", "aria-label": "Digest", text: (head.digest ?? "").split("\n").map(l => clean(l, 2000)).join("\n") }),
        findings.length ? kept : null),
      h("section", {}, h("h2", { text: findings.length ? `Findings: ${findings.length}` : "Findings" }), findings.length ? list(model, findings, jump) : h("p.hint", { text: head.no_findings ? clean(head.no_findings, 400) : "No finding." }), findings.length ? null : kept,
        (head.not_known ?? []).length > 0 && h("div", {}, h("h3", { text: "Not known" }), h("ul.kept", {}, head.not_known.map(k => h("li", { text: clean(k, 1000) })))))));
}
