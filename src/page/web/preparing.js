// SPDX-License-Identifier: Apache-2.0
// While `kymo view` prepares a trace: parts of it are drawn as they are asked for, and what is missing is told. Then the page
// of all of it takes the place of this one.
import { h } from "./dom.js";
import { percent } from "./format.js";
import { Model } from "./model.js";

const POLL = 500, SETTLED = 150; // ms
const EFFORTS = 2;

// In the place of a tab that needs all of the trace.
export function waiting() {
  const nothing = () => {};
  return { element: h("p.waiting", { text: "This is there once all of the trace is read. The timeline shows what is read so far." }), shown: nothing, open: nothing, print: nothing, printed: nothing, restored: nothing, themed: nothing };
}

const keyOf = t => [t.kind, t.process, t.number, t.label].join("|");

export class Preparing {
  constructor(page, show) {
    this.page = page;
    this.show = show;
    this.of = page.timeline;
    this.served = page.model.source.served;
    this.whole = this.of.base = page.model;
    this.near = null; // a part that is looked at closer
    this.bar = h("progress", { max: 1, value: 0, "aria-label": "Preparing" });
    this.doing = h("span");
    this.drawn = h("span.drawn", { role: "status" });
    page.notice.append(this.doing, this.bar, this.drawn);
    this.of.on("view", () => this.moved());
    this.moved();
    this.poll();
  }

  get ended() { return this.page.life.signal.aborted; }

  window() {
    const { view, model } = this.of;
    return [Math.max(0, Math.floor(view.start)), Math.min(model.length, Math.ceil(view.end))];
  }

  // ---- how far it is -----------------------------------------------------------------------------------
  async poll() {
    try {
      const state = await this.served.state();
      this.doing.textContent = `Being prepared. ${state.doing || "Beginning"}: ${percent(100 * state.done)} `;
      this.bar.value = state.done;
      if (state.ready) await this.finish();
      else this.timer = setTimeout(() => this.poll(), POLL);
    } catch {
      this.gone = true;
      this.doing.textContent = "kymo view has ended, or cannot be reached, before all was prepared: what is drawn is all that there is. ";
      this.bar.hidden = true;
    }
  }

  async finish() {
    const model = new Model(await this.served.whole());
    if (this.ended) return;
    const { tab, start, end, search } = this.page.state(), { lines } = this.of, now = new Map(model.tracks.map(t => [keyOf(t), t.id]));
    const folded = [...lines.folded].map(n => now.get(keyOf(this.of.model.tracks[n]))).filter(n => n !== undefined);
    const chosen = start > 0 || end < this.whole.length;
    this.show(model, { tab, window: chosen ? [start, end] : null, slice: await same(this.of, model, now), search, folded });
  }

  // ---- what is drawn ------------------------------------------------------------------------------------
  moved() {
    this.choose();
    clearTimeout(this.later);
    this.later = setTimeout(() => this.ask(), SETTLED);
  }

  // The closest part that has all of the view.
  choose() {
    const [a, b] = this.window(), covers = m => m && m.glance.start <= a && m.glance.end >= b, best = covers(this.near) ? this.near : this.whole;
    if (best !== this.of.model) this.of.use(best);
    this.tell();
  }

  tell() {
    const [a, b] = this.window(), { model } = this.of;
    const read = model.glance.read.reduce((sum, [start, end]) => sum + Math.max(0, Math.min(b, end) - Math.max(a, start)), 0) / Math.max(1, b - a);
    const text = model.knows(a, b) ? "All that is in this window is drawn and exact"
      : `${percent(100 * read)} of this window is read and exact. What is hatched is not: it is drawn like what is nearest`;
    const whole = `${text}${model.glance.late ? "; work of devices, and ranges around it, that were recorded long after are missing" : ""}.`;
    if (this.drawn.textContent !== whole) this.drawn.textContent = whole;
  }

  // With what effort the view is to be asked for next; null: there is no more to be had.
  next(a, b) {
    const { model } = this.of;
    if (model.knows(a, b) && !model.glance.late) return null;
    const closer = b - a < (model.glance.end - model.glance.start) / 2, effort = closer ? 0 : (model.effort ?? 0) + 1;
    return effort < EFFORTS ? effort : null;
  }

  async ask() {
    const [a, b] = this.window(), effort = this.next(a, b);
    if (this.asking || this.ended || this.gone || effort === null) return;
    const all = b - a >= this.whole.length, beside = Math.ceil((b - a) / 4);
    this.asking = true;
    try {
      const got = new Model(await this.served.glance(all ? { effort } : { start: Math.max(0, a - beside), end: b + beside, effort }));
      // Drawn once it is unpacked: what is there meanwhile stays.
      await Promise.all(got.rows.flatMap(r => r.levels.length ? [] : r.blocks).map(block => got.block(block)));
      if (this.ended) return;
      got.effort = effort;
      if (all) { this.whole = this.of.base = got; this.of.mapDone = false; } else this.near = got;
      this.choose();
      this.of.tell("view", false);
    } catch (e) {
      if (!this.ended && !this.gone) this.page.failed(e);
    } finally {
      this.asking = false;
    }
  }
}

// The selected slice in the page of all: its track and depth, and when it starts.
async function same(of, model, now) {
  const s = of.selected;
  if (!s) return null;
  const was = of.model.rows[s.row], track = now.get(keyOf(of.model.tracks[was.track]));
  for (const row of model.rows) {
    if (row.track !== track) continue;
    for (const b of row.blocks) {
      if (b.start > s.start || b.end < s.start) continue;
      const got = await model.block(b);
      for (let i = 0; i < got.count; i++) if (got.start[i] === s.start && got.end[i] === s.end && model.name(got.op[i]) === of.model.name(s.op)) return [row.number, b.first + i];
    }
  }
  return null;
}
