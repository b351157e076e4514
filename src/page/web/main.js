// SPDX-License-Identifier: Apache-2.0
// Puts the page together.
import { Address, read } from "./address.js";
import { comparison } from "./comparison.js";
import { h, icon, liveRegion, say } from "./dom.js";
import { line as clean, percent } from "./format.js";
import { help } from "./help.js";
import { Input } from "./input.js";
import { kernels } from "./kernels.js";
import { Model } from "./model.js";
import { Overlay } from "./overlay.js";
import { overview } from "./overview.js";
import { Panel } from "./panel.js";
import { Paper } from "./paper.js";
import { plots } from "./plots.js";
import { Preparing, waiting } from "./preparing.js";
import { SearchBox } from "./searchbox.js";
import { openSource } from "./source.js";
import { tables } from "./tables.js";
import { Timeline } from "./timeline.js";
import { countOps, countRow } from "./count.js";
import { paintRow } from "./paint.js";

const PAPER = 1010; // pixels across A4 or Letter, lying
const TABS = ["overview", "timeline", "tables", "plots"]; // and "kernels", "comparison", where they are

class Page {
  // `at`: where to begin, if not at the address; what is prepared meanwhile is given to `show`.
  constructor(model, at, show) {
    this.model = model;
    this.tabs = [...TABS, ...["kernels", "comparison"].filter(t => model.head[t])];
    this.tab = "overview";
    document.title = `${clean(model.head.trace?.name || "trace", 100)} - Kymo`;
    this.frame();
    const timelineRoot = h("div.timeline");
    this.panes.timeline.append(this.toolbar = h("div.toolbar"), timelineRoot);
    this.timeline = new Timeline(model, timelineRoot);
    this.overlay = new Overlay(this.timeline);
    this.search = new SearchBox(this.timeline);
    this.input = new Input(this.timeline, this.overlay, this.search);
    this.panel = new Panel(this.timeline, this.input);
    this.panes.timeline.append(this.panel.element);
    this.tools();
    this.panes.overview.append(model.glance ? waiting().element : overview(model, place => this.jump(place)));
    this.tables = model.glance ? waiting() : tables(model, n => this.process(n));
    this.panes.tables.append(this.tables.element);
    this.plots = model.glance ? waiting() : plots(model, this.timeline);
    this.panes.plots.append(this.plots.element);
    this.comparison = comparison(model, ops => this.find(ops));
    if (this.comparison) this.panes.comparison.append(this.comparison.element);
    this.kernels = kernels(model, () => this.address.changed(true));
    if (this.kernels) this.panes.kernels.append(this.kernels.element);
    this.address = new Address(() => this.state(), a => this.apply(a));
    this.timeline.on("view", jump => this.address.changed(jump));
    this.timeline.on("select", () => this.address.changed(true));
    this.life = new AbortController(); // ends where another page takes the place of this one
    const { signal } = this.life;
    document.addEventListener("keydown", e => this.key(e), { signal });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.themed(), { signal });
    matchMedia("(forced-colors: active)").addEventListener("change", () => this.themed(), { signal });
    addEventListener("beforeprint", () => this.print(), { signal });
    addEventListener("afterprint", () => this.printed(), { signal });
    this.address.listen(signal);
    if (model.glance) {
      this.tab = "timeline";
      this.preparing = new Preparing(this, show);
      this.notice.hidden = false;
    }
    this.apply(at ?? read());
    setTimeout(() => this.timeline.ask(), 100);
  }

  frame() {
    const { trace, loss } = this.model.head;
    this.buttons = {};
    this.panes = {};
    const bar = h("div.tabs", { role: "tablist", "aria-label": "Parts of the page" });
    for (const t of this.tabs) {
      this.buttons[t] = h("button", { type: "button", role: "tab", id: `tab-${t}`, "aria-controls": `pane-${t}`, onclick: () => this.open(t, true) }, t[0].toUpperCase() + t.slice(1));
      this.panes[t] = h(`section.pane-${t}`, { role: "tabpanel", id: `pane-${t}`, "aria-labelledby": `tab-${t}`, hidden: true });
      bar.append(this.buttons[t]);
    }
    bar.addEventListener("keydown", e => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
      if (!by) return;
      this.open(this.tabs[(this.tabs.indexOf(this.tab) + by + this.tabs.length) % this.tabs.length], true);
      this.buttons[this.tab].focus();
    });
    this.help = help();
    this.notice = h("div.notice", { role: "region", "aria-label": "What is being prepared", hidden: true });
    this.error = h("div.error", { role: "alert", hidden: true });
    this.model.onerror = e => this.failed(e);
    const mark = h("span.mark", { "aria-hidden": "true" }, icon("M1 8h2l2-6 3 12 3-9 1.5 3H15"));
    const app = h("div.app", {}, h("header.bar", {}, mark, h("strong", { text: "Kymo" }), h("span.trace", { title: clean(trace?.command ?? "", 400), text: clean(trace?.name ?? "", 120) }), bar, h("span.grow"),
      trace?.drawn < trace?.processes ? h("button.chip", { type: "button", id: "drawn", title: "They stand for those that are like them, in the timeline, counts and plots. Opens the table that says which is like which; kymo report --rank draws others.", onclick: () => { this.open("tables", true); this.tables.open("clusters"); } }, `${trace.drawn.toLocaleString("en")} of ${trace.processes.toLocaleString("en")} processes drawn`) : null,
      loss?.records ? h("span.chip.bad", { title: clean(loss.text ?? "", 400) }, `${loss.records.toLocaleString("en")} records lost`) : null,
      this.themeButton = h("button.quiet", { type: "button", title: "Light, dark, as the system has it (t)", onclick: () => this.nextTheme() }, "Theme"),
      h("button.quiet", { type: "button", title: "Keys (?)", onclick: () => this.help.showModal() }, "Keys")), this.notice, this.error, ...this.tabs.map(t => this.panes[t]), this.help, liveRegion());
    const place = document.getElementById("kymo");
    if (place) place.replaceChildren(app);
    else document.body.append(app);
    try { this.theme = localStorage.getItem("kymo-theme"); } catch { /* none may be kept */ }
    this.setTheme();
  }

  tools() {
    const { timeline: t } = this, button = (text, title, act) => h("button.small", { type: "button", title, onclick: act }, text);
    this.toolbar.append(...[this.search.element, this.patterns = t.legend(), h("span.grow"),
      button("−", "Zoom out (s)", () => t.zoom(1.6)), button("+", "Zoom in (w)", () => t.zoom(1 / 1.6)), button("Whole run", "(0)", () => t.whole()),
      this.model.critical ? h("button.small", { type: "button", id: "path-toggle", title: "The critical path: which rank the run waits for", "aria-pressed": "true", onclick: e => {
        this.overlay.path = this.overlay.path ? null : this.model.critical;
        e.currentTarget.setAttribute("aria-pressed", String(Boolean(this.overlay.path)));
        t.redraw();
      } }, "Critical path") : null,
      button("Fold all", "Fold all tracks", () => { t.lines.foldAll(true); t.changed(); }), button("Unfold all", "Unfold all tracks", () => { t.lines.foldAll(false); t.changed(); }),
      h("button.small", { type: "button", "aria-pressed": "true", onclick: e => {
        this.panel.hidden = this.panel.element.hidden = !this.panel.element.hidden;
        e.currentTarget.setAttribute("aria-pressed", String(!this.panel.hidden));
        this.panel.refresh();
      } }, "Details")].filter(Boolean));
  }

  failed(e) {
    this.error.hidden = false;
    this.error.textContent = `A part of this page cannot be read: ${e.message}. The file may be cut or changed; kymo report makes it anew.`;
  }

  open(tab, step) {
    if (!this.tabs.includes(tab)) return;
    this.tab = tab;
    for (const t of this.tabs) {
      this.panes[t].hidden = t !== tab;
      this.buttons[t].setAttribute("aria-selected", String(t === tab));
      this.buttons[t].tabIndex = t === tab ? 0 : -1;
    }
    if (tab === "tables") this.tables.shown();
    if (tab === "plots") this.plots.shown();
    if (tab === "kernels") this.kernels.shown();
    if (tab === "comparison") this.comparison.shown();
    if (tab === "timeline") { this.timeline.resize(); this.panel.later(); }
    this.address?.changed(step);
  }

  state() {
    const { view, selected, lines } = this.timeline;
    return { tab: this.tab, start: view.start, end: view.end, slice: this.model.glance ? null : selected, search: this.search.input.value.slice(0, 200), folded: [...lines.folded].map(n => n.toString(36)).join("."), kernel: this.kernels?.chosen };
  }

  async apply(a) {
    if (a.folded) {
      this.timeline.lines.folded = new Set(a.folded.filter(n => this.model.tracks[n]));
      this.timeline.lines.lay();
    }
    if (a.search && a.search !== this.search.input.value) { this.search.set(a.search); this.search.list.hidden = true; }
    if (a.window) this.timeline.show(...a.window);
    this.kernels?.show(a.kernel ? a.kernel[0] - 1 : 0);
    this.open(this.tabs.includes(a.tab) ? a.tab : a.window ? "timeline" : this.tab, false);
    const s = this.timeline.selected;
    if (a.slice && (s?.row !== a.slice[0] || s?.index !== a.slice[1])) {
      const found = await this.model.slice(...a.slice);
      if (found) this.timeline.select(found);
    }
  }

  jump(place) {
    this.open("timeline", true);
    const span = Math.max(place.end - place.start, 20), row = this.model.firstRow((place.tracks ?? []).map(t => this.model.tracks[t]).filter(Boolean), place);
    this.timeline.show(place.start - span * 0.1, place.end + span * 0.1, true);
    if (row !== undefined) this.timeline.revealRow(row);
    this.overlay.span = { start: place.start, end: place.end };
    this.timeline.tell("measure", null);
    this.timeline.canvas.focus();
  }

  // A process by its number in the table of clusters, drawn or not.
  process(n) {
    const p = this.model.members.processes[n], track = p?.group ? this.model.members.find(p) : this.model.tracks[p?.track];
    if (!track) return say("Nothing of it has a time");
    this.open("timeline", true);
    if (p.group) this.timeline.lines.folded.delete(p.group.id);
    this.timeline.revealTrack(track);
    return undefined;
  }

  // The first slice of these ops.
  find(ops) {
    this.open("timeline", true);
    this.timeline.select(null);
    this.timeline.whole();
    this.search.input.value = this.model.name(ops[0]).slice(0, 200);
    this.search.only(ops);
  }

  key(e) {
    if (e.key === "Escape" && e.target.tagName === "INPUT") e.target.blur();
    if (e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented || /^(input|textarea|select)$/i.test(e.target.tagName) || this.help.open) return;
    if (/^[1-9]$/.test(e.key) && this.tabs[e.key - 1]) this.open(this.tabs[e.key - 1], true);
    else if (e.key === "?") this.help.showModal();
    else if (e.key === "t") this.nextTheme();
    else if (e.key === "/") {
      if (["tables", "kernels", "comparison"].includes(this.tab)) this.panes[this.tab].querySelector("input")?.focus();
      else { this.open("timeline", true); this.search.input.focus(); }
    } else if (this.tab === "timeline" && (e.target === document.body || (e.target.closest(".toolbar, .panel") && /^[^ ]$/.test(e.key)))) {
      this.input.key(e);
      return;
    } else return;
    e.preventDefault();
  }

  nextTheme() {
    this.theme = { light: "dark", dark: null }[this.theme] === undefined ? "light" : { light: "dark", dark: null }[this.theme];
    try {
      if (this.theme) localStorage.setItem("kymo-theme", this.theme);
      else localStorage.removeItem("kymo-theme");
    } catch { /* none may be kept */ }
    this.setTheme();
    this.themed();
  }

  setTheme() {
    if (this.theme === "light" || this.theme === "dark") document.documentElement.dataset.theme = this.theme;
    else delete document.documentElement.dataset.theme;
    if (this.themeButton) this.themeButton.textContent = { light: "Light", dark: "Dark" }[this.theme] ?? "Theme: auto";
  }

  themed() {
    this.timeline.theme();
    this.patterns.replaceWith(this.patterns = this.timeline.legend());
    this.plots.themed();
    this.kernels?.themed();
    this.comparison?.themed();
  }

  // On paper all tabs stand below each other, on white, as wide as the paper is.
  print() {
    const root = document.documentElement, { timeline: pane } = this.panes;
    root.dataset.print = "";
    root.dataset.theme = "light";
    for (const t of this.tabs) this.panes[t].hidden = false;
    pane.style.width = `${Math.max(PAPER, innerWidth)}px`;
    this.tables.printed();
    this.timeline.theme();
    this.paper = new Paper(this.timeline, PAPER / Math.max(PAPER, innerWidth));
    pane.prepend(this.paper.element);
    this.plots.print();
    this.kernels?.printed();
    this.comparison?.printed();
    pane.style.zoom = this.paper.zoom;
  }

  printed() {
    delete document.documentElement.dataset.print;
    this.panes.timeline.style.width = this.panes.timeline.style.zoom = "";
    this.paper?.remove();
    this.setTheme();
    this.tables.restored();
    this.open(this.tab, false);
    this.themed();
  }
}

// Puts a page of the model in the place of one that there may be.
function show(model, at) {
  window.kymo?.page?.life.abort();
  const page = new Page(model, at, show);
  window.kymo = { page, get model() { return page.timeline.model; }, paintRow, count: (row, a, b) => countRow(kymo.model, kymo.model.rows[row], a, b), countOps: async (a, b) => [...(await countOps(kymo.model, kymo.model.rows, a, b)).ops] };
}

// Before there is anything to be seen: how far it is.
function told({ doing, done }) {
  const line = document.querySelector("p.waiting") ?? (document.getElementById("kymo") ?? document.body).appendChild(h("p.waiting", { role: "status" }));
  line.textContent = `Being prepared. ${doing || "Beginning"}: ${percent(100 * done)}`;
}

async function start() {
  try {
    const source = await openSource(told);
    document.querySelector("p.waiting")?.remove();
    show(new Model(source));
    performance.mark("kymo-ready");
  } catch (e) {
    document.body.append(h("div.error", { role: "alert", text: `This page cannot be shown: ${e.message}` }));
    throw e;
  }
}

start();
