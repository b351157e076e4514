// SPDX-License-Identifier: Apache-2.0
// Flame graphs: stacks of samples and of what submitted device work, as the page has them; and nested calls and ranges added
// up by their path from the slices in a window, with the device time of what they submitted.
import { after, blocksIn, from } from "../model.js";
import { h } from "../dom.js";
import { duration, grouped, line as clean, percent, withUnit } from "../format.js";
import { matcher } from "../search.js";
import { fitted, Plot, select } from "./chart.js";
import { DIM, OTHER, palette, slotOf } from "../colours.js";

const ROW = 19, DEEP = 60, MOST = 4e6;

class Tree {
  constructor() {
    this.op = [-1]; this.parent = [-1]; this.time = [0]; this.device = [0]; this.count = [0];
    this.children = [new Map()];
  }

  child(node, op) {
    let c = this.children[node].get(op);
    if (c === undefined) {
      c = this.op.length;
      this.op.push(op); this.parent.push(node); this.time.push(0); this.device.push(0); this.count.push(0);
      this.children.push(new Map());
      this.children[node].set(op, c);
    }
    return c;
  }
}

async function grow(model, view, tracks, progress) {
  const tree = new Tree(), nodes = new Map();
  for (const t of tracks) {
    let above = null; // of the row above: starts, ends, nodes
    for (const r of t.rows.map(n => model.rows[n])) {
      const [low, high] = blocksIn(r, view.start, view.end), here = { start: [], end: [], node: [] };
      let p = 0;
      for (let n = low; n < high; n++) {
        const b = r.blocks[n], got = await model.block(b), known = new Int32Array(b.count).fill(-1);
        nodes.set(`${r.number}|${n}`, known);
        for (let i = after(got.end, view.start); i < got.count && got.start[i] < view.end; i++) {
          const s = got.start[i], e = got.end[i];
          let parent = 0;
          if (above) {
            while (p < above.end.length && above.end[p] <= s) p++;
            if (p < above.end.length && above.start[p] <= s && above.end[p] >= e) parent = above.node[p];
          }
          const node = tree.child(parent, got.op[i]);
          tree.time[node] += Math.min(e, view.end) - Math.max(s, view.start);
          tree.count[node]++;
          known[i] = node;
          here.start.push(s); here.end.push(e); here.node.push(node);
        }
        progress(b.count);
      }
      above = here;
    }
  }
  await project(model, view, tree, nodes, progress);
  for (const c of tree.children[0].values()) { tree.time[0] += tree.time[c]; tree.device[0] += tree.device[c]; }
  return tree;
}

// Device time goes to the call that submitted the work, and to all that this lies in.
async function project(model, view, tree, nodes, progress) {
  for (const r of model.rows) {
    if (!r.device) continue;
    const [low, high] = blocksIn(r, view.start, view.end);
    for (let n = low; n < high; n++) {
      const b = r.blocks[n], m = await model.more(b);
      progress(b.count);
      if (!m.byRow) continue;
      const got = await model.block(b);
      for (let i = from(got.start, view.start); i < got.count && got.start[i] < view.end; i++) {
        const row = m.byRow[i] - 1, index = m.byIndex ? m.byIndex[i] : 0;
        if (row < 0 || !model.rows[row]) continue;
        const block = model.blockAt(row, index), known = block && nodes.get(`${row}|${block.n}`);
        for (let node = known ? known[index - block.first] : -1; node > 0; node = tree.parent[node]) tree.device[node] += got.end[i] - got.start[i];
      }
    }
  }
}

// What a picture is made of: frames by number, 0 is all; `value` with what is below.
const children = (parents, value) => {
  const all = Array.from(parents, () => []);
  for (let n = 1; n < parents.length; n++) if (value[n]) all[parents[n]].push(n);
  for (const list of all) list.sort((a, b) => value[b] - value[a]);
  return all;
};

// One that the page has: [parent, name, first value, second, stacks in it if it is "others"], without what is below.
export class Stacks {
  constructor(graph, names) {
    const nodes = graph.nodes, many = nodes.length + 1;
    this.graph = graph;
    this.parent = new Uint32Array(many);
    this.names = ["all"];
    this.self = [new Float64Array(many), new Float64Array(many)];
    this.others = new Map();
    nodes.forEach(([parent, name, first, second, stacks], i) => {
      const n = i + 1;
      this.parent[n] = parent;
      this.names.push(name < 0 ? `others: ${grouped(stacks)} small stack${stacks === 1 ? "" : "s"}` : names[name] ?? "?");
      if (name < 0) this.others.set(n, stacks);
      this.self[0][n] = first;
      this.self[1][n] = second;
    });
    this.total = this.self.map(own => { const sum = own.slice(); for (let n = many - 1; n > 0; n--) sum[this.parent[n]] += sum[n]; return sum; });
    this.slots = Uint8Array.from(this.names, (name, n) => !n || this.others.has(n) ? OTHER : slotOf(name, ""));
    this.values = graph.values.map(([title, unit], n) => ({ key: String(n), title, unit: unit === "count" ? "" : unit })).filter((v, n, all) => all.findIndex(w => w.title === v.title) === n);
  }

  of(key) { return this.total[key]; }
  name(n) { return this.names[n]; }
  brief(n) { return this.names[n]; }
  slot(n) { return this.slots[n]; }
  tell(n) { return [...this.values.map(v => `${v.title} ${withUnit(this.total[v.key][n], v.unit)} (${percent(100 * this.total[v.key][n] / (this.total[v.key][0] || 1))})`), `itself ${withUnit(this.self[this.values[0].key][n], this.values[0].unit)}`].join(", "); }
  heads() { return [["path"], ...this.values.map(v => [v.title, v.unit]), [`${this.values[0].title} itself`, this.values[0].unit]]; }
  row(n) { return [...this.values.map(v => this.total[v.key][n]), this.self[this.values[0].key][n]]; }
  foot() { return 0; }

  // Processes, and their threads, where stacks begin with these: [frame, path].
  roots() {
    if (!this.graph.apart) return [];
    const below = children(this.parent, this.total[0]), first = below[0];
    return first.flatMap(p => [[p, this.names[p]], ...below[p].filter(t => !this.others.has(t)).map(t => [t, `${this.names[p]} › ${this.names[t]}`])]).slice(0, 300);
  }
}

// Calls and ranges of slices.
class Calls {
  constructor(model, tree, title) {
    Object.assign(this, { model, tree, title, parent: tree.parent, values: [{ key: "time", title: "host time", unit: "ns" }, { key: "device", title: "device time", unit: "ns" }] });
  }

  of(key) { return this.tree[key]; }
  name(n) { return n ? this.model.name(this.tree.op[n]) : "all"; }
  brief(n) { return n ? this.model.brief(this.tree.op[n]) : this.title; }
  slot(n) { return n ? this.model.slots[this.tree.op[n]] : OTHER; }
  tell(n) { const { tree: t } = this; return `${duration(t.time[n])} (${percent(100 * t.time[n] / (t.time[0] || 1))}), ${grouped(t.count[n])} times, device time ${duration(t.device[n])}`; }
  heads() { return [["path"], ["host time", "ns"], ["device time", "ns"], ["times"]]; }
  row(n) { return [this.tree.time[n], this.tree.device[n], this.tree.count[n]]; }
  foot(n, key) { return key === "time" && n && this.tree.device[n] ? Math.min(1, this.tree.device[n] / this.tree.time[n]) : 0; }
}

// Draws a tree from `root` on. Returns where its frames are, and how many levels there was no room for.
function paint(plot, tree, below, value, { root, marked, at, key }) {
  const depths = new Map(), depthOf = n => { if (!depths.has(n)) depths.set(n, 1 + below[n].reduce((d, c) => Math.max(d, depthOf(c)), 0)); return depths.get(n); };
  const deep = depthOf(root), g = plot.begin(Math.min(DEEP, deep) * ROW + 8), pal = palette(plot.colour.dark), places = [];
  g.textBaseline = "middle";
  const put = (n, x, w, depth) => {
    if (w < 0.7 || depth >= DEEP) return;
    const y = 4 + depth * ROW, slot = marked && n && !marked.has(n) ? DIM : tree.slot(n), foot = tree.foot(n, key);
    g.fillStyle = n ? pal.css[slot] : plot.colour.strip;
    g.fillRect(x, y, Math.max(0.7, w - 0.7), ROW - 2);
    if (foot) {
      g.fillStyle = plot.colour.text;
      g.fillRect(x, y + ROW - 5, foot * (w - 1), 3);
    }
    if (marked?.has(n) || n === at) {
      g.strokeStyle = n === at ? plot.colour.accent : plot.colour.text;
      g.lineWidth = n === at ? 2.5 : 1;
      g.strokeRect(x + 1, y + 0.5, Math.max(0.5, w - 2.5), ROW - 3.5);
    }
    places.push({ x, y, w, node: n });
    if (w > 30) {
      const fits = fitted(g, n ? clean(tree.brief(n), 120) : `${clean(tree.brief(0), 80)}: ${withUnit(value[0], tree.values.find(v => v.key === key)?.unit)}`, w - 8);
      g.fillStyle = n ? pal.text[slot] : plot.colour.text;
      if (fits.length > 1) g.fillText(fits, x + 4, y + ROW / 2 - 1);
    }
    let left = x;
    for (const c of below[n]) {
      const cw = value[c] / value[n] * w;
      put(c, left, cw, depth + 1);
      left += cw;
    }
  };
  put(root, 0, plot.width, 0);
  return { places, cut: Math.max(0, deep - DEEP) };
}

export function flame(model, timeline) {
  const threads = model.tracks.filter(t => t.kind === "thread" && t.rows.some(r => model.rows[r].records)), { names = [], graphs = [] } = model.head.flames ?? {};
  const stacks = new Map(graphs.map(g => [g.name, new Stacks(g, names)]));
  if (!threads.length && !stacks.size) return null;
  const plot = new Plot({ name: "flame", title: "Flame graphs", about: "", wide: true, height: 200 });
  const choices = [...graphs.map(g => [g.name, g.title]), ...(threads.length ? [["calls", "Calls and ranges by their path"]] : [])];
  let what = choices[0][0], tree = null, key = "", which = "all", root = 0, at = 0, view = null, turn = 0, below = [], value = [], marked = null, places = [];
  const box = h("span"), own = h("span.tools"), about = plot.element.querySelector(".about"), state = h("span.muted", { role: "status" });
  const search = h("input", { type: "search", placeholder: "Find frames", "aria-label": "Find frames by name; /text/ is a regular expression", spellcheck: "false", oninput: () => plot.draw(), onkeydown: e => e.stopPropagation() });
  const reset = h("button.small", { type: "button", disabled: true, onclick: () => zoom(base()) }, "Reset zoom");
  plot.tools.append(box, select("Flame graph of", choices, v => choose(v)), own, search, state, reset);
  plot.canvas.tabIndex = 0;

  const base = () => what !== "calls" && which !== "all" ? Number(which) : 0;
  const zoom = n => { root = at = n; plot.draw(); };
  const path = n => { const list = []; for (let k = n; k > 0; k = tree.parent[k]) list.unshift(clean(tree.name(k), 80)); return list.join(" › "); };
  const told = n => `${n ? clean(tree.name(n), 200) : "all"}: ${tree.tell(n)}`;

  const weigh = v => { key = v; value = tree.of(key); below = children(tree.parent, value); };
  const values = () => tree.values.length > 1 ? [select("Width", tree.values.map(v => [v.key, v.title]), v => { weigh(v); zoom(base()); })] : [];
  const choose = v => {
    what = v;
    which = "all";
    root = at = 0;
    turn++;
    box.replaceChildren();
    if (what === "calls") {
      tree = null;
      about.textContent = "below each what it has within; the bar at its foot is device time it submitted";
      own.replaceChildren(select("Width", [["time", "host time"], ["device", "device time"]], k => { if (tree) weigh(k); else key = k; zoom(0); }),
        select("Threads", [["all", "all threads"], ...threads.slice(0, 300).map(t => [String(t.id), clean(model.path(t.id), 70)])], t => { which = t; collect(view); }),
        h("button.small", { type: "button", onclick: () => collect({ start: 0, end: model.length }) }, "Whole run"), h("button.small", { type: "button", onclick: () => collect({ ...timeline.view }) }, "Timeline’s window"));
      key = "time";
      view = null;
    } else {
      tree = stacks.get(what);
      const { graph } = tree, roots = tree.roots();
      about.textContent = `${graph.about}; ${model.head.trace?.selection ? "of all that was selected" : "of the whole run"}`;
      weigh(tree.values[0].key);
      own.replaceChildren(...values(), ...(roots.length > 2 ? [select("Processes and threads", [["all", "all processes and threads"], ...roots.map(([n, t]) => [String(n), clean(t, 90)])], t => { which = t; zoom(base()); })] : []));
    }
    plot.canvas.setAttribute("aria-label", `${choices.find(c => c[0] === what)[1]}, a flame graph: ${about.textContent}. Arrow keys go from frame to frame, Enter zooms in, Escape out.`);
    plot.draw();
  };

  const weight = w => {
    const rows = [...(which === "all" ? threads : [model.tracks[which]]).flatMap(t => t.rows.map(r => model.rows[r])), ...model.rows.filter(r => r.device)];
    return rows.reduce((n, r) => { const [a, b] = blocksIn(r, w.start, w.end); return n + r.blocks.slice(a, b).reduce((m, x) => m + x.count, 0); }, 0);
  };
  const collect = async (w, force = false) => {
    const mine = ++turn, total = weight(w);
    view = w;
    root = at = 0;
    if (total > MOST && !force) {
      tree = null;
      box.replaceChildren(h("button.small", { type: "button", onclick: () => collect(w, true) }, `Add up ${grouped(total)} slices`));
      plot.empty("The window has many slices. Add them up, or choose a shorter window in the timeline.");
      return;
    }
    const progress = h("progress", { max: total, value: 0, "aria-label": "Adding up" });
    box.replaceChildren(progress);
    const got = await grow(model, w, which === "all" ? threads : [model.tracks[which]], n => { progress.value += n; }).catch(e => { model.failed(e); return null; });
    if (mine !== turn || !got) return;
    box.replaceChildren();
    tree = new Calls(model, got, which === "all" ? "all threads" : model.tracks[which].label);
    weigh(key);
    plot.draw();
  };

  // Frames that fit, and what share of the whole lies in them: those within others that fit count once.
  const find = () => {
    const fits = matcher(search.value);
    search.setAttribute("aria-invalid", String(fits === undefined));
    marked = fits ? new Set() : null;
    if (!fits) { state.textContent = fits === undefined ? "not a regular expression" : ""; return; }
    const inside = new Uint8Array(tree.parent.length);
    let sum = 0;
    for (let n = 1; n < tree.parent.length; n++) {
      const own = value[n] > 0 && fits(tree.name(n));
      if (own) marked.add(n);
      if (own && !inside[tree.parent[n]]) sum += value[n];
      inside[n] = own || inside[tree.parent[n]] ? 1 : 0;
    }
    state.textContent = marked.size ? `${grouped(marked.size)} frame${marked.size === 1 ? "" : "s"}, ${percent(100 * sum / (value[0] || 1))}` : "no frame fits";
  };

  plot.draw = () => {
    if (!tree) {
      if (!view) collect({ start: 0, end: model.length });
      return undefined;
    }
    reset.disabled = root === base();
    if (!value[root]) return plot.empty(key === "device" ? "No device work of these calls is known." : "No calls or ranges in this window.");
    find();
    const drawn = paint(plot, tree, below, value, { root, marked, at: document.activeElement === plot.canvas ? at : -1, key }), { graph } = tree;
    places = drawn.places;
    plot.legend([...(drawn.cut ? [["transparent", `${grouped(drawn.cut)} deeper levels are not drawn: zoom in`]] : []), ...(graph?.folded ? [["transparent", `${grouped(graph.folded)} small stacks are in others: kymo export --to folded has all samples`]] : []),
      ...(graph?.left_out ? [["transparent", `not in it: ${clean(graph.left_out, 300)}`]] : []), ...(graph && !graph.apart ? [["transparent", "processes and threads are together: there are many"]] : [])]);
    const hit = (x, y) => places.find(p => x >= p.x && x < p.x + p.w && y >= p.y && y < p.y + ROW);
    plot.tell = (x, y) => { const p = hit(x, y); return p ? told(p.node) : ""; };
    plot.canvas.onclick = e => {
      const r = plot.canvas.getBoundingClientRect(), p = hit(e.clientX - r.left, e.clientY - r.top);
      zoom(p && p.node !== root ? p.node : base());
    };
    plot.table(tree.heads(), () => Array.from(tree.parent, (_, n) => n).slice(1).sort((a, b) => value[b] - value[a] || a - b).map(n => [path(n), ...tree.row(n)]));
    return undefined;
  };

  plot.canvas.addEventListener("keydown", e => {
    if (!tree || e.ctrlKey || e.metaKey || e.altKey) return;
    const siblings = at === root ? [at] : below[tree.parent[at]], n = siblings.indexOf(at);
    const to = { ArrowUp: at === root ? root : tree.parent[at], ArrowDown: below[at][0] ?? at, ArrowLeft: siblings[n - 1] ?? at, ArrowRight: siblings[n + 1] ?? at }[e.key];
    if (to !== undefined) at = to;
    else if (e.key === "Enter") root = at === root ? base() : at;
    else if (e.key === "Escape") root = base();
    else return;
    if (e.key === "Escape") at = root;
    e.preventDefault();
    e.stopPropagation();
    plot.draw();
    plot.told.textContent = told(at);
  });
  plot.canvas.addEventListener("focus", () => { plot.draw(); if (tree) plot.told.textContent = told(at); });
  plot.canvas.addEventListener("blur", () => plot.draw());
  Object.assign(plot, { choose, stacks, frames: () => ({ tree, root, at, marked, places, value, state: state.textContent }) });
  // Drawn when the tab is shown first.
  const draw = plot.draw;
  plot.draw = () => { plot.draw = draw; choose(what); };
  return plot;
}
