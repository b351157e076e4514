// SPDX-License-Identifier: Apache-2.0
// Colours: Okabe and Ito's for names, which people with any colour vision can tell apart, cividis for amounts.

// Slots: 0 what fits none, 1 waits, 2 what a search passes over, 3 what was lost or left out, 4 what threads without a
// processor are in, then three shades of seven colours.
const HUES = [[230, 159, 0], [86, 180, 233], [0, 158, 115], [240, 228, 66], [0, 114, 178], [213, 94, 0], [204, 121, 167]];
export const OTHER = 0, WAIT = 1, DIM = 2, LOSS = 3, STATE = 4, FIRST = 5, SLOTS = FIRST + 3 * HUES.length;

export function hash(text) {
  let h = 2166136261;
  for (let i = 0; i < text.length && i < 4096; i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619);
  h ^= h >>> 15;
  h = Math.imul(h, 0x85ebca6b);
  return (h ^ (h >>> 13)) >>> 0;
}

export function slotOf(name, kind) {
  if (kind === "wait" || kind === "barrier") return WAIT;
  if (kind === "loss" || kind === "pause") return LOSS;
  if (kind === "state") return STATE;
  return FIRST + hash(name) % (3 * HUES.length);
}

const mix = (a, b, share) => a.map((v, i) => Math.round(v + (b[i] - v) * share));

const THEMES = {
  light: { background: [255, 255, 255], line: [226, 226, 221], strip: [240, 240, 237], wait: [176, 176, 170], other: [140, 146, 152], dim: [226, 226, 222], loss: [214, 160, 150], state: [229, 230, 228], towards: [255, 255, 255], shades: [0.12, 0.38, 0] },
  dark: { background: [22, 24, 28], line: [42, 46, 52], strip: [29, 32, 37], wait: [92, 96, 102], other: [120, 126, 134], dim: [44, 47, 52], loss: [120, 62, 54], state: [43, 47, 53], towards: [255, 255, 255], shades: [0.05, 0.3, 0] },
};

export const css = c => `rgb(${c[0]},${c[1]},${c[2]})`;
const luminance = c => {
  const [r, g, b] = c.map(v => v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};

// A little less saturated: thousands of them lie beside each other.
const calm = c => mix(c, Array(3).fill(0.3 * c[0] + 0.59 * c[1] + 0.11 * c[2]), 0.18);

export function palette(dark) {
  const t = THEMES[dark ? "dark" : "light"], fill = [t.other, t.wait, t.dim, t.loss, t.state];
  for (const [n, shade] of t.shades.entries())
    for (const hue of HUES) fill.push(calm(n === 2 ? mix(hue, [0, 0, 0], dark ? 0.3 : 0.2) : mix(hue, t.towards, shade)));
  // A bin of which little is busy is paler; never so pale that it is not seen.
  const table = new Uint32Array(SLOTS * 256), word = c => (255 << 24 | c[2] << 16 | c[1] << 8 | c[0]) >>> 0;
  for (let s = 0; s < SLOTS; s++)
    for (let share = 0; share < 256; share++) table[s * 256 + share] = word(share ? mix(t.background, fill[s], 0.3 + 0.7 * Math.sqrt(share / 255)) : t.background);
  const curve = dark ? [138, 184, 220] : [61, 111, 150];
  const pixels = { background: word(t.background), line: word(t.line), strip: word(t.strip), curve: word(curve), area: word(mix(t.background, curve, 0.18)) };
  return { pixels, background: t.background, fill, table, css: fill.map(css), text: fill.map(c => luminance(c) > 0.3 ? "#101214" : "#ffffff"), dark };
}

// Cividis (Nuñez, Anderton, Renslow 2018) at ten places.
const CIVIDIS = [0x00204d, 0x00336f, 0x39486b, 0x575c6d, 0x707173, 0x8a8779, 0xa69d75, 0xc4b56c, 0xe4cf5b, 0xffea46]
  .map(v => [v >> 16, v >> 8 & 255, v & 255]);
export function cividis(t) {
  const at = Math.min(1, Math.max(0, t)) * (CIVIDIS.length - 1), n = Math.min(CIVIDIS.length - 2, Math.floor(at));
  return mix(CIVIDIS[n], CIVIDIS[n + 1], at - n);
}

export const SERIES = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#999999", "#B8A800", "#7F4F24", "#6A4C93", "#9ECAE1", "#B5C99A"];
