// SPDX-License-Identifier: Apache-2.0
// Which tracks, rows and curves lie below each other, with what is folded.

export const HEIGHTS = { head: 24, fold: 22, row: 18, curve: 40 };
const UNFOLDED = 64; // rows that are all shown at first

export class Lines {
  constructor(model) {
    this.model = model;
    this.folded = new Set();
    const rows = model.rows.filter(r => r.shown).length;
    if (rows > UNFOLDED) for (const t of model.roots.slice(1)) this.folded.add(t.id);
    for (const t of model.tracks) if (t.members) this.folded.add(t.id);
    this.lay();
  }

  foldable(t) {
    return Boolean(t.members) || (t.kind !== "member" && this.holds(t));
  }

  holds(t) {
    return t.children.length > 0 || this.rowsOf(t).length > 1 || (t.curves.length > 0 && this.rowsOf(t).length > 0) || t.curves.length > 1;
  }

  rowsOf(t) {
    return t.rows.map(r => this.model.rows[r]).filter(r => r.shown);
  }

  lay() {
    this.list = [];
    this.height = 0;
    this.ofRow = new Map();
    for (const t of this.model.roots) {
      this.track(t, 0);
      if (t.group) this.group(t.group);
    }
  }

  // Those that a process stands for: a line, and where it is unfolded some of them.
  group(t) {
    const folded = this.folded.has(t.id);
    this.push({ track: t, level: 1, folds: true, folded, labelled: true, type: "head", rows: [], text: folded ? t.label : t.told }, HEIGHTS.head);
    for (const m of folded ? [] : t.page()) {
      if (m.turn) this.push({ track: m, level: 2, folds: false, labelled: true, type: "head", rows: [] }, HEIGHTS.head);
      else if (!m.rows.length) this.push({ track: m, level: 2, folds: false, labelled: true, type: "head", rows: [] }, HEIGHTS.head);
      else this.rowsOf(m).forEach((r, n) => this.row(n ? { track: m, level: 2 } : { track: m, level: 2, labelled: true }, r));
    }
  }

  push(line, height) {
    this.list.push({ ...line, y: this.height, h: height, n: this.list.length });
    this.height += height;
    return this.list[this.list.length - 1];
  }

  track(t, level) {
    const rows = this.rowsOf(t), folds = this.foldable(t), label = { track: t, level, folds, labelled: true };
    if (folds && this.folded.has(t.id)) {
      const all = this.model.below(t).flatMap(x => this.rowsOf(x)), line = this.push({ ...label, type: "fold", folded: true, rows: all }, HEIGHTS.fold);
      for (const r of all) this.ofRow.set(r.number, line);
      return;
    }
    if (t.children.length || !rows.length) {
      if (!t.children.length && !t.curves.length) return;
      this.push({ ...label, type: "head", rows: [] }, HEIGHTS.head);
      for (const r of rows) this.row({ track: t, level: level + 1 }, r);
    } else {
      rows.forEach((r, n) => this.row(n ? { track: t, level } : label, r));
    }
    for (const c of t.curves) this.push({ track: t, level: level + 1, type: "curve", curve: this.model.curves[c], rows: [] }, HEIGHTS.curve);
    for (const c of t.children) this.track(c, level + 1);
  }

  row(line, r) {
    this.ofRow.set(r.number, this.push({ ...line, type: "row", row: r, rows: [r] }, HEIGHTS.row));
  }

  toggle(t, on = !this.folded.has(t.id)) {
    if (!this.foldable(t)) return;
    if (on) this.folded.add(t.id);
    else this.folded.delete(t.id);
    this.lay();
  }

  foldAll(on) {
    this.folded.clear();
    for (const t of this.model.tracks) if (t.members) this.folded.add(t.id); // they are unfolded one by one
    if (on) for (const t of this.model.roots) if (this.foldable(t)) this.folded.add(t.id);
    this.lay();
  }

  // Unfolds what hides a row.
  reveal(row) {
    let t = this.model.tracks[this.model.rows[row].track], changed = false;
    for (; t; t = t.members ? null : this.model.tracks[t.parent]) changed = this.folded.delete(t.id) || changed;
    if (changed) this.lay();
    return changed;
  }

  at(y) {
    let low = 0, high = this.list.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.list[middle].y <= y) low = middle;
      else high = middle - 1;
    }
    const line = this.list[low];
    return line && y >= line.y && y < line.y + line.h ? line : null;
  }
}
