// SPDX-License-Identifier: Apache-2.0
// What mouse, fingers and keys do in the timeline.
import { say } from "./dom.js";
import { duration, exact, grouped, line as clean, percent } from "./format.js";
import { countNow, sliceAt, sliceNow } from "./hit.js";
import { curvePixels } from "./curve.js";
import { withUnit } from "./format.js";

const STEP = 1.25;

export class Input {
  constructor(timeline, overlay, searchBox) {
    this.of = timeline;
    this.overlay = overlay;
    this.search = searchBox;
    this.fingers = new Map();
    const { canvas, axis, map, gutter } = timeline;
    canvas.addEventListener("wheel", e => this.wheel(e), { passive: false });
    axis.addEventListener("wheel", e => this.wheel(e), { passive: false });
    canvas.addEventListener("pointerdown", e => this.down(e));
    canvas.addEventListener("pointermove", e => this.move(e));
    canvas.addEventListener("pointerup", e => this.up(e));
    canvas.addEventListener("pointercancel", e => this.up(e));
    canvas.addEventListener("pointerleave", () => this.leave());
    canvas.addEventListener("dblclick", () => this.toSelected());
    canvas.addEventListener("keydown", e => this.key(e));
    this.drags(axis, (a, b) => { overlay.zooming = { start: a, end: b }; overlay.draw(); }, (a, b) => {
      overlay.zooming = null;
      if (Math.abs(timeline.x(b) - timeline.x(a)) > 3) timeline.show(Math.min(a, b), Math.max(a, b), true);
    }, x => timeline.time(x));
    const place = x => x / timeline.width * timeline.model.length, span = () => timeline.view.end - timeline.view.start;
    this.drags(map, (_, b) => timeline.show(b - span() / 2, b + span() / 2), () => timeline.tell("view", true), place);
    gutter.addEventListener("click", e => this.label(e));
    gutter.addEventListener("keydown", e => this.treeKey(e));
    gutter.addEventListener("focusin", e => { timeline.focused = Number(e.target.dataset.track); });
  }

  drags(element, moving, done, value) {
    let from = null;
    const at = e => value(e.clientX - element.getBoundingClientRect().left);
    element.addEventListener("pointerdown", e => { element.setPointerCapture(e.pointerId); from = at(e); moving(from, from); });
    element.addEventListener("pointermove", e => { if (from !== null) moving(from, at(e)); });
    element.addEventListener("pointerup", e => { if (from !== null) done(from, at(e)); from = null; });
  }

  where(e) {
    const r = this.of.canvas.getBoundingClientRect();
    return { x: e.clientX - r.left, y: e.clientY - r.top };
  }

  wheel(e) {
    e.preventDefault();
    const { x } = this.where(e), unit = e.deltaMode === 1 ? 16 : e.deltaMode === 2 ? 400 : 1;
    if (e.altKey) this.of.scroller.scrollTop += e.deltaY * unit;
    else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) this.of.pan((e.deltaX || e.deltaY) * unit);
    else this.of.zoom(Math.exp(e.deltaY * unit * (e.ctrlKey ? 0.01 : 0.002)), x);
  }

  down(e) {
    const at = this.where(e);
    this.of.canvas.setPointerCapture(e.pointerId);
    this.fingers.set(e.pointerId, at);
    if (this.fingers.size > 1) { this.drag = null; return; }
    const kind = e.shiftKey ? "measure" : e.ctrlKey || e.metaKey || e.button === 1 ? "zoom" : "pan";
    this.drag = { kind, ...at, view: { ...this.of.view }, top: this.of.top, moved: false, time: this.of.time(at.x) };
  }

  move(e) {
    const at = this.where(e), { of, overlay, drag } = this;
    if (this.fingers.size > 1 && this.fingers.has(e.pointerId)) return this.pinch(e.pointerId, at);
    if (this.fingers.has(e.pointerId)) this.fingers.set(e.pointerId, at);
    if (!drag) return this.hover(at);
    if (!drag.moved && Math.hypot(at.x - drag.x, at.y - drag.y) < 4) return undefined;
    drag.moved = true;
    this.hideTip();
    if (drag.kind === "pan") {
      const by = (drag.x - at.x) * (drag.view.end - drag.view.start) / of.width;
      of.scroller.scrollTop = drag.top + drag.y - at.y;
      of.show(drag.view.start + by, drag.view.end + by);
    } else {
      overlay[drag.kind === "measure" ? "span" : "zooming"] = { start: drag.time, end: of.time(at.x) };
      overlay.draw();
    }
    return undefined;
  }

  pinch(id, at) {
    const [other] = [...this.fingers].filter(([k]) => k !== id).map(([, v]) => v), was = this.fingers.get(id);
    const before = Math.max(10, Math.abs(was.x - other.x)), now = Math.max(10, Math.abs(at.x - other.x));
    this.of.zoom(before / now, other.x);
    this.fingers.set(id, at);
  }

  up(e) {
    const { drag, of, overlay } = this, at = this.where(e);
    this.fingers.delete(e.pointerId);
    this.drag = null;
    if (!drag) return;
    if (!drag.moved) {
      if (e.type !== "pointercancel") this.click(at);
    } else if (drag.kind === "measure") {
      this.measured(drag.time, of.time(at.x));
    } else if (drag.kind === "zoom") {
      overlay.zooming = null;
      of.show(Math.min(drag.time, of.time(at.x)), Math.max(drag.time, of.time(at.x)), true);
    } else {
      of.tell("view", true);
    }
  }

  measured(a, b) {
    const span = { start: Math.max(0, Math.round(Math.min(a, b))), end: Math.round(Math.max(a, b)) };
    this.overlay.span = span.end > span.start ? span : null;
    this.overlay.draw();
    this.of.tell("measure", this.overlay.span);
  }

  async click(at) {
    const { of } = this, l = of.lineAt(at.y), time = of.time(at.x), near = of.perPixel * 1.5;
    of.canvas.focus({ preventScroll: true });
    if (!l || !l.rows.length) return of.select(null);
    if (l.rows[0].strip) say(`${clean(l.track.label)}: not drawn, slices cannot be selected`);
    const mine = this.clicks = (this.clicks ?? 0) + 1;
    const slice = await sliceAt(of.model, l.rows, time - of.perPixel / 2, time + of.perPixel / 2) ?? await sliceAt(of.model, l.rows, time - near, time + near);
    if (mine === this.clicks) of.select(slice);
    return undefined;
  }

  leave() {
    this.overlay.pointer = null;
    this.hideTip();
    this.overlay.draw();
  }

  hideTip() { this.of.tip.hidden = true; }

  hover(at) {
    const { of, overlay } = this;
    overlay.pointer = at;
    overlay.draw();
    const l = of.lineAt(at.y), texts = l && this.tipOf(l, at.x);
    if (!texts) return this.hideTip();
    const { tip } = of, box = of.root.getBoundingClientRect(), here = of.canvas.getBoundingClientRect();
    tip.replaceChildren(...texts.map((t, n) => { const d = document.createElement("div"); d.textContent = t; if (!n) d.className = "first"; return d; }));
    tip.hidden = false;
    const x = here.left - box.left + at.x + 14, y = here.top - box.top + at.y + 18;
    tip.style.left = `${Math.min(x, box.width - tip.offsetWidth - 8)}px`;
    tip.style.top = `${Math.min(y, box.height - tip.offsetHeight - 8)}px`;
    return undefined;
  }

  tipOf(l, x) {
    const { of } = this, time = of.time(x);
    if (l.type === "curve") {
      const p = curvePixels(of.model, l.curve, { start: time, end: time + of.perPixel }, 1), u = l.curve.unit;
      if (Number.isNaN(p.low[0])) return time < l.curve.blocks[0]?.start || time > of.model.length ? null : [clean(l.curve.name), "not measured here"];
      return [clean(l.curve.name), withUnit(Number.isNaN(p.last[0]) ? p.low[0] : p.last[0], u), ...(p.low[0] === p.high[0] ? [] : [`${withUnit(p.low[0], u)} to ${withUnit(p.high[0], u)} in this pixel`]), `at ${duration(time, 6)}`];
    }
    if (!l.rows.length) return null;
    const known_all = of.model.knows(Math.max(0, time - of.perPixel / 2), Math.min(of.model.length, time + of.perPixel / 2));
    const slice = sliceNow(of.model, l.rows, time - of.perPixel / 2, time + of.perPixel / 2), texts = [];
    let count = 0, share = 0, known = true, window = null;
    for (const r of l.rows) {
      const c = countNow(of.model, r, time - of.perPixel / 2, of.perPixel);
      if (!c) { known = false; break; }
      count += c.count; share += c.share; window ??= c;
    }
    if (slice && (!known || !known_all || count <= 1 || slice.end - slice.start > 2 * of.perPixel)) {
      texts.push(clean(of.model.name(slice.op)), `${of.model.kind(slice.op)}, ${duration(slice.end - slice.start)}, from ${duration(slice.start, 6)}`);
    }
    if (!known_all) {
      texts.push("Not all of it is read yet", "drawn like what is nearest; zoom in to read it");
    } else if (known && (count > 1 || !texts.length)) {
      if (!count && !share) return null;
      const op = this.opAt(l, x);
      texts.push(`${grouped(count)} slice${count === 1 ? " starts" : "s start"} in these ${duration(window.to - window.from, 3)}`, `${percent(100 * share)} busy${op ? `, mostly ${clean(op, 80)}` : ""}`);
    }
    if (l.rows[0].strip) texts.push(`of a process that is not drawn: its ${grouped(l.rows[0].records)} slices are in the trace (kymo report --rank, kymo show)`);
    return texts.length ? texts : null;
  }

  opAt(l, x) {
    if (l.type !== "row") return null;
    for (const v of l.row.levels) {
      if ((v.bin > this.of.perPixel && !l.row.strip) || !v.busy) continue;
      const n = Math.floor(this.of.time(x) / v.bin);
      if (v.busy[n]) return this.of.model.name(v.op[n]);
    }
    return null;
  }

  // ---- tracks ---------------------------------------------------------------------------------------
  label(e) {
    const id = e.target.closest("[data-track]")?.dataset.track;
    if (id === undefined) return;
    this.of.focused = Number(id);
    this.of.fold(this.of.model.tracks[id]);
  }

  treeKey(e) {
    const { of } = this, t = of.model.tracks[of.focused], list = of.lines.list.filter(l => l.labelled), at = list.findIndex(l => l.track === t);
    const go = n => {
      const l = list[Math.min(list.length - 1, Math.max(0, n))];
      if (!l) return;
      of.focused = l.track.id;
      if (l.y < of.top) of.scroller.scrollTop = l.y;
      else if (l.y + l.h > of.top + of.height) of.scroller.scrollTop = l.y + l.h - of.height;
      of.redraw();
    };
    const acts = { ArrowDown: () => go(at + 1), ArrowUp: () => go(at - 1), Home: () => go(0), End: () => go(list.length - 1), Enter: () => of.fold(t), " ": () => of.fold(t),
      ArrowLeft: () => of.lines.folded.has(t.id) || !of.lines.foldable(t) ? go(list.findIndex(l => l.track.id === t.parent)) : of.fold(t, true),
      ArrowRight: () => of.lines.folded.has(t.id) ? of.fold(t, false) : go(at + 1) };
    if (!t || !acts[e.key]) return;
    e.preventDefault();
    e.stopPropagation();
    acts[e.key]();
  }

  // ---- keys -----------------------------------------------------------------------------------------
  key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const { of } = this, far = of.width * (e.shiftKey ? 0.5 : 0.12);
    const acts = {
      w: () => of.zoom(1 / STEP), "+": () => of.zoom(1 / STEP), "=": () => of.zoom(1 / STEP), s: () => of.zoom(STEP), "-": () => of.zoom(STEP),
      a: () => of.pan(-far), ArrowLeft: () => of.pan(-far), d: () => of.pan(far), ArrowRight: () => of.pan(far),
      ArrowUp: () => this.otherRow(-1), ArrowDown: () => this.otherRow(1), PageUp: () => this.scroll(-0.8), PageDown: () => this.scroll(0.8),
      "0": () => of.whole(), Home: () => of.show(0, of.view.end - of.view.start, true), End: () => of.show(of.model.length - (of.view.end - of.view.start), of.model.length, true),
      n: () => this.step(1), p: () => this.step(-1), ".": () => this.step(1), ",": () => this.step(-1),
      f: () => this.toSelected(), Enter: () => this.search.ops ? this.search.go(!e.shiftKey) : this.toSelected(), c: () => this.follow("cause"), e: () => this.follow("effect"), m: () => this.follow("message"), b: () => this.follow("back"),
      i: () => this.measured(of.view.start, of.view.end), Escape: () => this.clear(), x: () => this.search.go(true), X: () => this.search.go(false),
    };
    const act = acts[e.key] ?? acts[e.key.toLowerCase()];
    if (!act) return;
    e.preventDefault();
    act();
  }

  scroll(share) { this.of.scroller.scrollTop += this.of.height * share; }

  clear() {
    if (!this.of.selected && !this.overlay.span && this.search.ops) this.search.set("");
    this.overlay.span = null;
    this.of.tell("measure", null);
    this.of.select(null);
  }

  toSelected() {
    const s = this.of.selected;
    if (!s) return;
    const length = Math.max(s.end - s.start, this.of.model.quantum);
    this.of.show(s.start - length * 0.6, s.end + length * 0.6, true);
  }

  // The slice beside the selected one; without one, the first in view.
  async step(by) {
    const { of } = this, s = of.selected;
    if (!s) return this.otherRow(1);
    const next = await of.model.slice(s.row, s.index + by);
    if (next) of.select(next, { near: true });
    else say(by > 0 ? "The last slice of its row" : "The first slice of its row");
    return undefined;
  }

  // The slice at the same time in the next row that has one in view.
  async otherRow(by) {
    const { of } = this, s = of.selected, lines = of.lines.list, mid = s && s.end > of.view.start && s.start < of.view.end ? Math.min(of.view.end, Math.max(of.view.start, (s.start + s.end) / 2)) : (of.view.start + of.view.end) / 2;
    let n = s ? (of.lines.ofRow.get(s.row)?.n ?? -1) + by : by > 0 ? 0 : lines.length - 1;
    for (; n >= 0 && n < lines.length; n += by) {
      const l = lines[n];
      if (!l.rows.length) continue;
      const slice = await sliceAt(of.model, l.rows, mid, mid + of.perPixel) ?? await sliceAt(of.model, l.rows, of.view.start, of.view.end);
      if (slice) return of.select(slice, { near: true });
    }
    return undefined;
  }

  follow(what) {
    const { of } = this, links = of.found_links, s = of.selected;
    this.trail ??= [];
    let to = null;
    if (what === "back") to = this.trail.pop();
    else if (links && what === "cause") to = links.cause;
    else if (links && what === "effect") to = links.effects[0];
    else if (links && what === "message") to = links.messages[0]?.slice;
    if (!to) return say({ cause: "No call that submitted it is known", effect: "No device work of it is known", message: "It has no message", back: "Nowhere to go back to" }[what]);
    if (what !== "back" && s) this.trail.push(s);
    return of.select(to, { near: true, close: true });
  }
}

export const told = (model, s) => `${clean(model.name(s.op))}, ${model.kind(s.op)}, ${duration(s.end - s.start)}, at ${exact(s.start)}, on ${clean(model.path(model.rows[s.row].track))}`;
