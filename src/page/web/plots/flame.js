// SPDX-License-Identifier: Apache-2.0
// Nested calls and ranges added up by their path, with the device time of what they submitted.
import { after, blocksIn, from } from "../model.js";
import { h } from "../dom.js";
import { duration, grouped, line as clean, percent } from "../format.js";
import { fitted, Plot, select } from "./chart.js";
import { palette } from "../colours.js";

const ROW = 19, MOST = 4e6;

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

export function flame(model, timeline) {
  const threads = model.tracks.filter(t => t.kind === "thread" && t.rows.some(r => model.rows[r].records));
  if (!threads.length) return null;
  const plot = new Plot({ name: "flame", title: "Calls and ranges by their path", about: "below each what it has within; the bar at its foot is device time it submitted", wide: true, height: 200 });
  let tree = null, by = "time", which = "all", root = 0, view = null, turn = 0;
  const box = h("span");
  plot.tools.append(box, select("Width", [["time", "host time"], ["device", "device time"]], v => { by = v; root = 0; plot.draw(); }),
    select("Threads", [["all", "all threads"], ...threads.slice(0, 300).map(t => [String(t.id), clean(model.path(t.id), 70)])], v => { which = v; collect(view); }),
    h("button.small", { type: "button", onclick: () => collect({ start: 0, end: model.length }) }, "Whole run"), h("button.small", { type: "button", onclick: () => collect({ ...timeline.view }) }, "Timeline’s window"));
  const weight = w => {
    const rows = [...(which === "all" ? threads : [model.tracks[which]]).flatMap(t => t.rows.map(r => model.rows[r])), ...model.rows.filter(r => r.device)];
    return rows.reduce((n, r) => { const [a, b] = blocksIn(r, w.start, w.end); return n + r.blocks.slice(a, b).reduce((m, x) => m + x.count, 0); }, 0);
  };
  const collect = async (w, force = false) => {
    const mine = ++turn, total = weight(w);
    view = w;
    root = 0;
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
    tree = got;
    plot.draw();
  };
  let places = [];
  plot.draw = () => {
    if (!tree) {
      if (!view) collect({ start: 0, end: model.length });
      return undefined;
    }
    const value = tree[by], colours = palette(plot.colour?.dark ?? false), depthOf = n => { let d = 0; for (const c of tree.children[n].values()) if (value[c]) d = Math.max(d, depthOf(c)); return d + 1; };
    if (!value[root]) return plot.empty(by === "device" ? "No device work of these calls is known." : "No calls or ranges in this window.");
    const g = plot.begin(Math.min(60, depthOf(root)) * ROW + 8), pal = palette(plot.colour.dark) ?? colours;
    places = [];
    g.textBaseline = "middle";
    const put = (node, x, w, depth) => {
      if (w < 0.7 || depth > 60) return;
      const y = 4 + depth * ROW, slot = node ? model.slots[tree.op[node]] : 0;
      g.fillStyle = node ? pal.css[slot] : plot.colour.strip;
      g.fillRect(x, y, Math.max(0.7, w - 0.7), ROW - 2);
      if (node && by === "time" && tree.device[node]) {
        g.fillStyle = plot.colour.text;
        g.fillRect(x, y + ROW - 5, Math.min(1, tree.device[node] / tree.time[node]) * (w - 1), 3);
      }
      places.push({ x, y, w, node });
      if (w > 30) {
        const text = node ? clean(model.brief(tree.op[node]), 120) : `${clean(which === "all" ? "all threads" : model.tracks[which].label, 80)}: ${duration(value[0])}`, fits = fitted(g, text, w - 8);
        g.fillStyle = node ? pal.text[slot] : plot.colour.text;
        if (fits.length > 1) g.fillText(fits, x + 4, y + ROW / 2 - 1);
      }
      let at = x;
      for (const c of [...tree.children[node].values()].sort((a, b) => value[b] - value[a])) {
        const cw = value[c] / value[node] * w;
        put(c, at, cw, depth + 1);
        at += cw;
      }
    };
    put(root, 0, plot.width, 0);
    const find = (x, y) => places.find(p => x >= p.x && x < p.x + p.w && y >= p.y && y < p.y + ROW);
    const told = n => `${n ? clean(model.name(tree.op[n]), 200) : "all"}: ${duration(tree.time[n])} (${percent(100 * tree.time[n] / (tree.time[0] || 1))}), ${grouped(tree.count[n])} times, device time ${duration(tree.device[n])}`;
    plot.tell = (x, y) => { const p = find(x, y); return p ? told(p.node) : ""; };
    plot.canvas.onclick = e => {
      const r = plot.canvas.getBoundingClientRect(), p = find(e.clientX - r.left, e.clientY - r.top);
      root = p && p.node !== root ? p.node : 0;
      plot.draw();
    };
    plot.table([["path"], ["host time", "ns"], ["device time", "ns"], ["times"]], () => tree.op.map((_, n) => n).slice(1).sort((a, b) => value[b] - value[a]).map(n => {
      const path = [];
      for (let k = n; k > 0; k = tree.parent[k]) path.unshift(clean(model.name(tree.op[k]), 80));
      return [path.join(" › "), tree.time[n], tree.device[n], tree.count[n]];
    }));
    return undefined;
  };
  return plot;
}
