// SPDX-License-Identifier: Apache-2.0
// Telemetry and counters over the run: a plot for each counter, a line for each device, processor or thread.
import { SERIES } from "../colours.js";
import { curvePixels } from "../curve.js";
import { duration, grouped, line as clean, withUnit } from "../format.js";
import { drawLine, Plot } from "./chart.js";

const PLOTS = 64, LINES = 8; // that are drawn

// Counters of one name and unit that are counted alike, in the order of their tracks: [counter, unit, curves].
export function groupsOf(model, kind) {
  const groups = new Map();
  for (const c of model.curves) {
    if (c.kind !== kind || !c.readings || (c.min === 0 && c.max === 0)) continue;
    const each = /( of each .*)?$/.exec(c.of)[0], key = JSON.stringify([c.counter + each, c.unit]);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(c);
  }
  return [...groups].map(([key, curves]) => [...JSON.parse(key), curves]);
}

// What tells a curve from the others of its counter: its track, without what all have in common.
function namer(model, curves) {
  const roots = new Set(curves.map(c => model.rankOf(c.track)));
  return c => {
    const t = model.tracks[c.track], root = model.rankOf(c.track), path = model.path(c.track).split(" › ");
    if (t !== root && roots.size === 1) path.shift();
    return clean(path.join(" › ").replace(/^telemetry of /, "") + c.of.replace(/ of each .*$/, ""), 120);
  };
}

// As the summary's table has it: levels with least, mean and greatest, what is counted with its sum.
const single = c => c.level || / of each /.test(c.of), counted = unit => unit.replace(/\/s$/, "");
const told = c => [single(c) && `min ${withUnit(c.min, c.unit)}, mean ${withUnit(c.sum / c.readings, c.unit)}, max ${withUnit(c.max, c.unit)}`, !c.level && `total ${withUnit(c.sum, counted(c.unit))}`].filter(Boolean).join(", ");

function sensor(model, kind, n, [counter, unit, all]) {
  const curves = [...all].sort((a, b) => b.max - a.max).slice(0, LINES).sort((a, b) => a.number - b.number), nameOf = namer(model, all);
  const about = [unit, all.length > LINES ? `the ${LINES} largest of ${grouped(all.length)}` : ""].filter(Boolean).join("; ");
  const plot = new Plot({ name: `${kind}-${n}`, title: clean(counter, 120), about, height: 150 });
  plot.live = true;
  plot.draw = () => {
    const g = plot.begin(), area = { left: 76, top: 8, right: plot.width - 10, bottom: plot.height - 24 }, width = Math.floor(area.right - area.left);
    const least = Math.min(0, ...curves.map(c => c.min)), most = Math.max(...curves.map(c => c.max)), span = most - least || 1;
    plot.axes(area, { from: 0, to: model.length, time: true }, { from: least, to: least + span, unit });
    const values = curves.map(c => curvePixels(model, c, { start: 0, end: model.length }, width)), at = y => area.bottom - (y - least) / span * (area.bottom - area.top);
    values.forEach((v, k) => drawLine(g, v, area, at, SERIES[k], k));
    plot.legend(curves.map((c, k) => [SERIES[k], `${nameOf(c)}: ${told(c)}`, { line: k }]));
    plot.tell = x => {
      const k = Math.floor(x - area.left);
      return k >= 0 && k < width ? `${duration(k / width * model.length)}: ${values.map((v, i) => `${nameOf(curves[i])} ${Number.isNaN(v.low[k]) ? "not measured" : withUnit(Number.isNaN(v.last[k]) ? v.low[k] : v.last[k], unit)}`).join(",  ")}` : "";
    };
    plot.table([["of"], ["readings"], ["min", unit], ["mean", unit], ["max", unit], ["total", counted(unit)]], () => all.map(c => [nameOf(c), c.readings, ...(single(c) ? [c.min, c.sum / c.readings, c.max] : ["", "", ""]), c.level ? "" : c.sum]));
  };
  return plot;
}

// Plots of telemetry or counters, and how many are too many.
export function sensors(model, kind) {
  const groups = groupsOf(model, kind);
  return { plots: groups.slice(0, PLOTS).map((g, n) => sensor(model, kind, n, g)), left: Math.max(0, groups.length - PLOTS) };
}
