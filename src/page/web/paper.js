// SPDX-License-Identifier: Apache-2.0
// The timeline on paper: the whole run, all its lines, in pictures of which each fits a page.
import { h } from "./dom.js";
import { duration, exact, grouped } from "./format.js";

const HIGH = 560, MOST = 12; // pixels of a page that lines have; pictures

// Lines of each picture, [from, to): a track is cut only where it has no room on one page.
export function pictures(list, high) {
  const parts = [];
  for (let from = 0; from < list.length;) {
    let to = from, cut = 0;
    while (to < list.length && list[to].y + list[to].h - list[from].y <= high) {
      if (to > from && list[to].labelled) cut = to;
      to++;
    }
    to = to === list.length ? to : cut || Math.max(to, from + 1);
    parts.push([from, to]);
    from = to;
  }
  return parts;
}

export class Paper {
  // All is drawn before this returns, as the browser lays the page out at once.
  constructor(timeline, zoom) {
    const { model, lines, scroller } = timeline, { list } = lines, high = Math.floor(HIGH / zoom), parts = pictures(list, high), shown = parts.slice(0, MOST);
    this.of = timeline;
    this.zoom = zoom;
    this.before = { view: timeline.view, top: timeline.top };
    const { start, end } = timeline.view;
    timeline.view = { start: 0, end: model.length };
    timeline.onPaper = true;
    scroller.style.height = `${high}px`;
    timeline.resize();
    this.read = true;
    const figures = shown.map(part => this.picture(...part)), last = shown.length ? shown[shown.length - 1][1] : 0;
    this.element = h("section.paper", {}, h("h2", { text: `Timeline of the whole run, ${duration(model.length)}` }),
      h("p.muted", { text: this.told(last, list, parts.length) }),
      timeline.legend(),
      start > 0 || end < model.length ? h("p.muted", { text: `On the screen, and in the lists below the timeline: ${exact(Math.max(0, start))} to ${exact(Math.min(model.length, end))}.` }) : null, figures);
    timeline.root.hidden = true;
  }

  told(last, list, parts) {
    const folded = list.filter(l => l.folded).length, texts = [];
    texts.push(last < list.length ? `The first ${grouped(last)} of ${grouped(list.length)} lines: ${MOST} of ${parts} pictures. Fold tracks to see the others.` : `All ${grouped(list.length)} lines.`);
    if (folded) texts.push(`${grouped(folded)} track${folded === 1 ? " is" : "s are"} folded, and one line each.`);
    if (!this.read) texts.push("A part was not read yet, and is missing: print again.");
    return texts.join(" ");
  }

  picture(from, to) {
    const { of } = this, { list } = of.lines, top = list[from].y, high = list[to - 1].y + list[to - 1].h - top;
    of.fit();
    of.scroller.scrollTop = top;
    of.frame();
    this.read &&= of.read;
    const copy = (canvases, height, name) => {
      const c = h("canvas", { width: canvases[0].width, height: Math.min(canvases[0].height, Math.round(height * of.ratio)), role: "img", "aria-label": name }), g = c.getContext("2d");
      for (const k of canvases) g.drawImage(k, 0, 0);
      c.style.width = `${of.width}px`;
      c.style.height = `${height}px`;
      return c;
    };
    const labels = of.gutter.cloneNode(true);
    labels.style.height = `${high}px`;
    return h("figure", {}, h("div.row", {}, h("div.corner"), copy([of.axis], 22, "Time")), h("div.row", {}, labels, copy([of.canvas, of.over], high, `Lines ${from + 1} to ${to}`)));
  }

  remove() {
    const { of } = this;
    this.element.remove();
    of.root.hidden = false;
    of.onPaper = false;
    of.view = this.before.view;
    of.scroller.style.height = "";
    of.resize();
    of.fit();
    of.scroller.scrollTop = this.before.top;
    of.redraw();
  }
}
