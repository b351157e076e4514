// SPDX-License-Identifier: Apache-2.0
// The critical path: how long it is on which rank, and all its sections as a table.
import { SERIES } from "../colours.js";
import { duration, grouped, line as clean, percent } from "../format.js";
import { fitted, Plot } from "./chart.js";

const MOST = 40; // ranks that are drawn

export function path(model) {
  const known = model.critical, why = model.head.path?.unknown;
  if (!known && !(why && model.head.trace?.ranks > 0)) return null;
  const plot = new Plot({ name: "path", title: "Critical path", about: known ? "how long the run waits for which rank: the others wait, or would be done before" : "which rank the run waits for" });
  if (!known) {
    plot.draw = () => { plot.empty(`Not known: ${clean(why, 300)}.`); plot.table([["why"]], () => [[clean(why, 300)]]); };
    return plot;
  }
  const of = new Map();
  for (const s of known.sections) of.set(s.rank, (of.get(s.rank) ?? 0) + s.end - s.start);
  const list = [...of].sort((a, b) => b[1] - a[1]), total = list.reduce((n, [, ns]) => n + ns, 0);
  plot.draw = () => {
    const row = 22, shown = list.slice(0, MOST), g = plot.begin(shown.length * row + 44), left = Math.min(140, plot.width * 0.3), right = plot.width - 12, most = shown[0]?.[1] || 1;
    plot.axes({ left, top: 6, right, bottom: 6 + shown.length * row }, { from: 0, to: most, unit: "ns" });
    shown.forEach(([rank, ns], n) => {
      g.fillStyle = SERIES[0];
      g.fillRect(left, 9 + n * row, Math.max(1, ns / most * (right - left)), row - 6);
      g.fillStyle = plot.colour.text;
      g.textAlign = "right";
      g.fillText(fitted(g, clean(rank, 60), left - 12), left - 8, 6 + n * row + row / 2);
      g.textAlign = "left";
    });
    plot.tell = (x, y) => {
      const one = shown[Math.floor((y - 6) / row)];
      return one ? `${one[0]}: ${duration(one[1])}, ${percent(100 * one[1] / total)} of the path` : "";
    };
    plot.legend([[SERIES[0], `${grouped(known.sections.length)} sections${known.leftOut ? `, the longest: ${grouped(known.leftOut)} shorter ones are left out` : ""}${list.length > MOST ? `; ${MOST} of ${list.length} ranks are drawn` : ""}`]]);
    plot.table([["start", "ns"], ["duration", "ns"], ["rank"], ["then"]], () => known.sections.map(s => [s.start, s.end - s.start, clean(s.rank, 60), s.waits ? `${clean(s.waits, 60)} waits for it${s.op >= 0 ? ` in ${clean(model.name(s.op), 80)}` : ""}` : "the run ends"]));
  };
  return plot;
}
