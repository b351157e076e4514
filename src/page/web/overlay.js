// SPDX-License-Identifier: Apache-2.0
// What is drawn over the rows: the selected slice, arrows, a measured span, the line under the pointer.
import { duration } from "./format.js";
import { FONT } from "./timeline.js";

export class Overlay {
  constructor(timeline) {
    this.of = timeline;
    this.pointer = null;
    this.span = null; // measured: { start, end }
    this.zooming = null; // dragged on the axis
    this.path = timeline.model.critical; // the critical one, where it is shown
    timeline.on("frame", () => this.draw());
  }

  // In the middle of a row's line, or of the folded one that has it.
  at(row, time) {
    const l = this.of.lines.ofRow.get(row);
    return l && { x: this.of.x(time), y: l.y - this.of.top + l.h / 2, l };
  }

  draw() {
    const { of } = this, g = of.over.getContext("2d"), { ratio } = of;
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    const wanted = Boolean(this.span || this.zooming || this.pointer || of.selected || this.path);
    if (wanted || this.drawn) g.clearRect(0, 0, of.width, of.height);
    this.drawn = wanted;
    if (!wanted) return;
    if (this.path) this.drawPath(g, this.path.sections);
    if (this.span) this.band(g, this.span, of.colour.accent, 0.13, true);
    if (this.zooming) this.band(g, this.zooming, of.colour.text, 0.1, true);
    if (this.pointer) {
      g.fillStyle = of.colour.muted;
      g.globalAlpha = 0.5;
      g.fillRect(Math.round(this.pointer.x), 0, 1, of.height);
      g.globalAlpha = 1;
    }
    const s = of.selected;
    if (!s) return;
    for (const l of of.links) this.arrow(g, l);
    const a = this.at(s.row, s.start);
    if (!a) return;
    const x0 = Math.max(-4, a.x), x1 = Math.min(of.width + 4, of.x(s.end)), wide = Math.max(3, x1 - x0);
    g.strokeStyle = of.colour.text;
    g.lineWidth = 2;
    g.strokeRect(x0 - (wide === 3 ? 1 : 0), a.l.y - of.top + 1, wide, a.l.h - 2);
    if (wide === 3 && x0 >= 0 && x0 <= of.width) { // too narrow to be seen: pointed at
      const y = a.l.y - of.top;
      g.fillStyle = of.colour.text;
      g.beginPath(); g.moveTo(x0 + 0.5, y + 1); g.lineTo(x0 - 4, y - 6); g.lineTo(x0 + 5, y - 6); g.fill();
    }
  }

  // A line along the rank that the run waits for, from rank to rank where that changes. What is narrower than a pixel is drawn as one.
  drawPath(g, sections) {
    const { of } = this, { start, end } = of.view, rows = new Map(), y = track => {
      if (!rows.has(track)) {
        const t = of.model.tracks[track], line = t && of.lines.list.find(l => l.track === t && l.type !== "curve") ;
        const row = t && (line ?? of.lines.ofRow.get(of.model.firstRow([t], { start: 0, end: of.model.length })));
        rows.set(track, row ? row.y - of.top + Math.min(row.h, 18) - 2 : null);
      }
      return rows.get(track);
    };
    this.pathDrawn = 0;
    const stroke = (colour, wide) => {
      g.strokeStyle = colour;
      g.lineWidth = wide;
      g.beginPath();
      for (let i = 0, last = -10; i < sections.length; i++) {
        const s = sections[i];
        if (s.end < start || s.start > end) continue;
        const at = y(s.track), a = Math.max(-4, of.x(s.start)), b = Math.min(of.width + 4, of.x(s.end));
        if (at === null || (b - a < 0.5 && b - last < 1)) continue;
        last = b;
        this.pathDrawn++;
        g.moveTo(a, at);
        g.lineTo(Math.max(a + 1, b), at);
        const next = s.to < 0 ? null : y(s.to);
        if (next !== null && b <= of.width) g.lineTo(b, next);
      }
      g.stroke();
    };
    g.lineJoin = "round";
    stroke(of.colour.background, 5);
    this.pathDrawn = 0;
    stroke(of.colour.text, 2.5);
  }

  band(g, { start, end }, colour, alpha, told) {
    const { of } = this, a = of.x(Math.min(start, end)), b = of.x(Math.max(start, end));
    g.globalAlpha = alpha;
    g.fillStyle = colour;
    g.fillRect(a, 0, b - a, of.height);
    g.globalAlpha = 1;
    g.fillRect(a - 0.5, 0, 1, of.height);
    g.fillRect(b - 0.5, 0, 1, of.height);
    if (!told) return;
    const text = duration(Math.abs(end - start), 5);
    g.font = `600 12px ${FONT}`;
    g.textBaseline = "middle";
    const w = g.measureText(text).width + 14, x = Math.min(Math.max(4, (a + b) / 2 - w / 2), of.width - w - 4);
    g.fillStyle = colour;
    g.fillRect(x, 6, w, 20);
    g.fillStyle = of.colour.background;
    g.fillText(text, x + 7, 16.5);
  }

  arrow(g, { from, to, kind }) {
    const a = this.at(from.row, Math.min(from.end, Math.max(from.start, from.end))), b = this.at(to.row, to.start);
    if (!a || !b) return;
    const { of } = this, bend = Math.max(24, Math.min(140, Math.abs(b.x - a.x) / 2));
    g.strokeStyle = g.fillStyle = kind === "message" ? of.colour.message ?? of.colour.accent : of.colour.accent;
    g.lineWidth = 1.5;
    g.setLineDash(kind === "message" ? [5, 3] : []);
    g.beginPath();
    g.moveTo(a.x, a.y);
    g.bezierCurveTo(a.x + bend, a.y, b.x - bend, b.y, b.x - 2, b.y);
    g.stroke();
    g.setLineDash([]);
    g.beginPath();
    g.moveTo(b.x, b.y); g.lineTo(b.x - 8, b.y - 4.5); g.lineTo(b.x - 8, b.y + 4.5);
    g.fill();
  }
}
