// SPDX-License-Identifier: Apache-2.0
// Processes that are not drawn, as those of their cluster: below the one that stands for them, some at a time, each with a
// strip of its threads and one of its devices. A strip is a level without slices.
import { grouped } from "./format.js";

export const TURN = 16; // processes that are unfolded at a time
const UNLIKE = 2; // per cent, from which on it is told how far a process is from its cluster

export class Members {
  constructor(model) {
    this.model = model;
    this.about = model.head.members ?? null;
    this.made = new Map(); // tracks by process
    if (!this.about) return;
    const of = new Map();
    let strip = 0;
    this.processes = this.about.processes.map(([track, label, unlike, ...amounts], n) => {
      if (label === undefined) return { n, track };
      const p = { n, track, label, unlike, amounts, strip: strip++ };
      of.set(track, [...(of.get(track) ?? []), p]);
      return p;
    });
    for (const [track, list] of of) if (model.tracks[track]) this.group(model.tracks[track], list);
  }

  group(middle, list) {
    const order = new Intl.Collator("en", { numeric: true });
    list.sort((a, b) => order.compare(a.label, b.label));
    const group = this.add({ parent: middle.id, kind: "group", label: "", members: list, first: 0 });
    for (const p of list) p.group = group;
    for (const by of [-1, 1]) group[by < 0 ? "before" : "behind"] = this.add({ parent: group.id, kind: "turn", label: "", turn: by, group });
    middle.group = group;
    this.turn(group, 0);
  }

  add(about) {
    const track = { id: this.model.tracks.length, rows: [], curves: [], children: [], process: 0, number: 0, sort: 0, ...about };
    this.model.tracks.push(track);
    return track;
  }

  // Shows those from number `first` on.
  turn(group, first) {
    const { members } = group, last = Math.min(members.length, first + TURN);
    group.first = first;
    group.label = `${grouped(members.length)} like it`;
    group.told = members.length > TURN ? `${grouped(first + 1)} to ${grouped(last)} of ${grouped(members.length)} like it` : group.label;
    group.before.label = `▲ the ${Math.min(TURN, first)} before`;
    group.behind.label = `▼ the next ${Math.min(TURN, members.length - last)}`;
    group.page = () => [first > 0 ? group.before : null, ...members.slice(first, last).map(p => this.track(p)), last < members.length ? group.behind : null].filter(Boolean);
  }

  turned(track) {
    const { group } = track;
    this.turn(group, Math.max(0, Math.min(group.members.length - 1, group.first + track.turn * TURN)));
  }

  // Shows the process; its track.
  find(p) {
    this.turn(p.group, Math.floor(p.group.members.indexOf(p) / TURN) * TURN);
    return this.track(p);
  }

  track(p) {
    if (!this.made.has(p.n)) {
      const track = this.add({ parent: p.group.id, kind: "member", label: p.unlike > UNLIKE ? `${p.label} · ${p.unlike.toFixed(0)} % unlike` : p.label, member: p });
      [false, true].forEach((device, part) => { if (p.amounts[2 * part]) track.rows.push(this.row(track, p, device, part)); });
      this.made.set(p.n, track);
    }
    return this.made.get(p.n);
  }

  row(track, p, device, part) {
    const { bin, bins, each, sections } = this.about, { model } = this, [records, busy] = p.amounts.slice(2 * part);
    const level = { row: model.rows.length, bin, bins, section: sections[Math.floor(p.strip / each)], offset: (2 * (p.strip % each) + part) * 9 * bins, busy: null };
    model.rows.push({ track: track.id, depth: 0, number: model.rows.length, records, busy, blocks: [], levels: [level], device, shown: true, strip: true });
    return model.rows.length - 1;
  }
}
