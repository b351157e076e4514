// SPDX-License-Identifier: Apache-2.0
// Elements of the page; text reaches it by textContent alone.

export function h(tag, about = {}, ...inside) {
  const [name, ...classes] = tag.split("."), e = document.createElement(name || "div");
  if (classes.length) e.className = classes.join(" ");
  for (const [k, v] of Object.entries(about ?? {})) {
    if (v === null || v === undefined || v === false) continue;
    if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
    else if (k === "text") e.textContent = v;
    else if (k === "value" || k === "checked" || k === "disabled") e[k] = v;
    else e.setAttribute(k, v === true ? "" : v);
  }
  for (const i of inside.flat()) if (i !== null && i !== undefined && i !== false) e.append(i);
  return e;
}

export function icon(paths) {
  const ns = "http://www.w3.org/2000/svg", s = document.createElementNS(ns, "svg"), p = document.createElementNS(ns, "path");
  for (const [k, v] of Object.entries({ viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true", class: "icon" })) s.setAttribute(k, v);
  p.setAttribute("d", paths);
  s.append(p);
  return s;
}

export const quiet = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

export function save(name, text, type = "text/csv") {
  const a = h("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 1000);
}

let live;
export function liveRegion() {
  live = h("div.unseen", { "aria-live": "polite", role: "status", id: "live" });
  return live;
}
export function say(text) {
  if (live) live.textContent = text;
}
