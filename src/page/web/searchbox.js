// SPDX-License-Identifier: Apache-2.0
// The field that searches, what fits, and the way to the next and previous one.
import { h, icon, say } from "./dom.js";
import { duration, grouped, line as clean } from "./format.js";
import { findSlice, opsNamed } from "./search.js";

export class SearchBox {
  constructor(timeline) {
    this.of = timeline;
    this.ops = null;
    this.input = h("input", { type: "search", placeholder: "Search names  ( / )", "aria-label": "Search slices by name; /text/ is a regular expression", spellcheck: "false", id: "search",
      oninput: () => this.typed(), onkeydown: e => this.key(e) });
    this.state = h("span.state", { role: "status" });
    this.previous = h("button.small", { type: "button", title: "Previous one (Shift+Enter)", "aria-label": "Previous one", disabled: true, onclick: () => this.go(false) }, icon("M10 3L5 8l5 5z"));
    this.next = h("button.small", { type: "button", title: "Next one (Enter)", "aria-label": "Next one", disabled: true, onclick: () => this.go(true) }, icon("M6 3l5 5-5 5z"));
    this.list = h("div.fits", { hidden: true, role: "listbox", "aria-label": "Names that fit" });
    this.element = h("div.search", {}, this.input, this.previous, this.next, this.state, this.list);
    this.element.addEventListener("focusout", e => { if (!this.element.contains(e.relatedTarget)) this.list.hidden = true; });
  }

  set(text) {
    this.input.value = text;
    this.typed();
  }

  typed() {
    const ops = opsNamed(this.model, this.input.value);
    this.ops = ops && ops.size ? ops : null;
    this.state.textContent = ops === undefined ? "not a regular expression" : ops === null ? "" : ops.size ? `${grouped(ops.size)} name${ops.size > 1 ? "s" : ""}` : "no name fits";
    this.next.disabled = this.previous.disabled = !this.ops;
    this.of.mark(this.ops);
    this.fits();
  }

  fits() {
    const shown = this.ops ? [...this.ops].slice(0, 12) : [];
    this.list.hidden = !shown.length;
    this.list.replaceChildren(...shown.map(op => h("button.fit", { type: "button", role: "option", "aria-selected": "false", onclick: () => this.only([op]) },
      this.of.swatch(op), h("span.name", { title: clean(this.model.name(op), 2000), text: clean(this.model.brief(op), 200) }), h("span.kind", { text: this.model.kind(op) }))),
    this.ops && this.ops.size > shown.length ? h("div.more", { text: `and ${grouped(this.ops.size - shown.length)} more` }) : "");
  }

  only(ops) {
    this.ops = new Set(ops);
    this.of.mark(this.ops);
    this.next.disabled = this.previous.disabled = false;
    this.state.textContent = `${grouped(ops.length)} name${ops.length > 1 ? "s" : ""}`;
    this.list.hidden = true;
    this.found(true);
  }

  // Where something was found the keys are the timeline's again, and Enter there goes on.
  async found(forward) {
    if (await this.go(forward)) this.of.canvas.focus({ preventScroll: true });
  }

  key(e) {
    if (e.key === "Enter") {
      e.preventDefault();
      this.list.hidden = true;
      this.found(!e.shiftKey);
    } else if (e.key === "Escape") {
      e.preventDefault(); // which would empty the field alone
      if (this.list.hidden) this.set("");
      this.list.hidden = true;
      this.of.canvas.focus();
    } else if (e.key === "ArrowDown" && !this.list.hidden) {
      e.preventDefault();
      this.list.querySelector("button")?.focus();
    }
    e.stopPropagation();
  }

  get model() { return this.of.model; }

  async go(forward) {
    if (!this.ops || this.busy) return null;
    this.busy = true;
    this.state.textContent = "searching …";
    const { selected, view } = this.of, at = selected ?? { start: forward ? view.start : view.end, row: forward ? -1 : Infinity, index: forward ? -1 : Infinity };
    try {
      let found = await findSlice(this.model, this.ops, at, forward), wrapped = false;
      if (!found) {
        wrapped = true;
        found = await findSlice(this.model, this.ops, forward ? { start: -1, row: -1, index: -1 } : { start: Infinity, row: Infinity, index: Infinity }, forward);
      }
      if (found) {
        this.of.select(found, { near: true, close: true });
        this.state.textContent = wrapped ? (forward ? "from the beginning again" : "from the end again") : `at ${duration(found.start, 5)}`;
      } else {
        const none = `no slice ${this.model.glance ? "that is read so far " : ""}has that name`;
        this.state.textContent = none;
        say(none);
      }
      return found;
    } finally {
      this.busy = false;
    }
  }
}
