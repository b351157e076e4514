// SPDX-License-Identifier: Apache-2.0
// What ? shows.
import { h } from "./dom.js";

export const KEYS = [
  ["Everywhere", [["1  2  ...  6", "overview, timeline, tables, plots, and, where they are, kernels, comparison"], ["/", "search"], ["?", "this list"], ["t", "light, dark, as the system has it"]]],
  ["Timeline: where", [["w  s   or   +  −", "zoom in, out"], ["a  d   or   ←  →", "left, right; with Shift farther"], ["0", "the whole run"], ["Home  End", "its beginning, its end"], ["Page Up  Page Down", "scroll tracks"],
    ["wheel", "zoom about the pointer; with Shift left and right, with Alt up and down"], ["drag", "move; with Shift measure, with Ctrl zoom to what was dragged over; the same on the time axis"], ["two fingers", "zoom"]]],
  ["Timeline: slices", [["click", "select"], ["n  p   or   .  ,", "next, previous slice of the row"], ["↑  ↓", "slice in the row above, below"], ["f   or   Enter   or   double click", "zoom to it"],
    ["c", "to the call that submitted it"], ["e", "to the device work of the call"], ["m", "to the message’s other end"], ["b", "back to where you followed from"], ["i", "count the window exactly"], ["Escape", "select and measure nothing; then search nothing"]]],
  ["Search", [["Enter  Shift+Enter", "next, previous slice, in the timeline as well"], ["x  Shift+x", "the same, in the timeline"], ["/text/", "a regular expression"]]],
  ["Tracks (Tab goes to them)", [["↑  ↓", "next, previous track"], ["←  →", "fold, unfold"], ["Enter", "fold or unfold; of “… like it” the processes that one stands for"]]],
];

export function help() {
  const close = h("button", { type: "button", onclick: () => dialog.close() }, "Close");
  const dialog = h("dialog.help", { "aria-label": "Keys" }, h("header", {}, h("h2", { text: "Keys" }), close),
    h("div.groups", {}, KEYS.map(([title, keys]) => h("section", {}, h("h3", { text: title }), h("dl", {}, keys.flatMap(([k, what]) => [h("dt", {}, k.split(/\s{2,}/).map((x, n) => [n ? " " : "", /^(or|wheel|drag|click|double click|two fingers)/.test(x) ? x : h("kbd", { text: x })]).flat()), h("dd", { text: what })]))))),
    h("p.muted", { text: "Of a row’s pixels the colour is the name that takes most of the pixel, pale where little of it is busy; none that holds anything is left empty. Hatched: waiting in a call; pale, hatched more widely: without a processor, waiting or ready to run; hatched both ways: not recorded. A red edge and “!”: failed. A torn end: cut by the end of the trace. Point at a pixel for the number of slices in it." }));
  return dialog;
}
