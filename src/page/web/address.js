// SPDX-License-Identifier: Apache-2.0
// The address after # has the tab, the window, the selected slice and the chosen kernel, so that it can be kept, sent, and gone back to.

export function read() {
  const found = {};
  for (const part of location.hash.slice(1).split("&")) {
    const at = part.indexOf("=");
    if (at > 0) {
      try { found[part.slice(0, at)] = decodeURIComponent(part.slice(at + 1)); } catch { /* not an address of ours */ }
    }
  }
  const numbers = (text, many) => {
    const n = (text ?? "").split(",").map(Number);
    return n.length === many && n.every(v => Number.isFinite(v) && v >= -1e16 && v <= 1e16) ? n : null;
  };
  return { tab: found.tab, window: numbers(found.t, 2), slice: numbers(found.s, 2), kernel: numbers(found.k, 1), search: found.q, folded: found.f === undefined ? null : found.f.split(".").filter(Boolean).map(v => parseInt(v, 36)) };
}

export class Address {
  constructor(state, apply) {
    this.state = state;
    this.apply = apply;
  }

  listen(signal) {
    addEventListener("popstate", () => this.back(), { signal });
    addEventListener("hashchange", () => this.back(), { signal });
    signal.addEventListener("abort", () => clearTimeout(this.timer));
  }

  back() {
    if (location.hash === this.written) return;
    this.written = location.hash;
    this.quiet = true;
    this.apply(read());
    this.quiet = false;
  }

  // `step`: one that "back" undoes; else the address is only brought up to date.
  changed(step) {
    if (this.quiet) return;
    this.step = this.step || step;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.write(), 300);
  }

  write() {
    const { tab, start, end, slice, search, folded, kernel } = this.state(), parts = [`tab=${tab}`, `t=${Math.round(start * 1000) / 1000},${Math.round(end * 1000) / 1000}`];
    if (slice) parts.push(`s=${slice.row},${slice.index}`);
    if (kernel) parts.push(`k=${kernel + 1}`);
    if (search) parts.push(`q=${encodeURIComponent(search)}`);
    if (folded) parts.push(`f=${folded}`);
    const hash = `#${parts.join("&")}`, step = this.step;
    this.step = false;
    if (hash === location.hash) return;
    this.written = hash;
    try {
      history[step ? "pushState" : "replaceState"](null, "", hash);
    } catch {
      location.replace(hash);
    }
    this.written = location.hash;
  }
}
