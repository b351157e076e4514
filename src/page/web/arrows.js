// SPDX-License-Identifier: Apache-2.0
// What a slice came from, and what came of it: calls and the device work they submitted, the two ends of a message.
import { from } from "./model.js";

const FAR = 48; // blocks that are looked through for a call's work

// The call that submitted a slice.
export async function causeOf(model, slice) {
  const m = await model.more(slice.block);
  if (!m.byRow || !m.byRow[slice.i]) return null;
  return model.slice(m.byRow[slice.i] - 1, m.byIndex ? m.byIndex[slice.i] : 0);
}

export async function bytesOf(model, slice) {
  const m = await model.more(slice.block);
  return m.bytes ? m.bytes[slice.i] : 0;
}

// Work that a call submitted: it lies after the call's start, mostly soon after. { slices, whole: all was looked at }.
export async function effectsOf(model, slice) {
  const root = model.rankOf(model.rows[slice.row].track), found = [];
  const near = [];
  for (const row of model.rows) {
    if (!row.device || model.rankOf(row.track) !== root) continue;
    for (const b of row.blocks) if (b.end >= slice.start) near.push(b);
  }
  near.sort((x, y) => x.start - y.start);
  let looked = 0;
  for (const b of near) {
    if (found.length && b.start > found[0].end + 1e6) break;
    if (looked++ >= FAR) return { slices: found, whole: false };
    const m = await model.more(b);
    if (!m.byRow) continue;
    const got = await model.block(b);
    for (let i = from(got.end, slice.start); i < got.count; i++) {
      if (m.byRow[i] === slice.row + 1 && m.byIndex[i] === slice.index) found.push(model.sliceOf(b, got, i));
    }
  }
  return { slices: found, whole: true };
}

// Every message's ends, once.
export function allMessages(model) {
  model.messages ??= Promise.all((model.head.messages ?? []).map(async ([section, count]) => {
    const c = await model.source.task("columns", section), none = new Float64Array(count);
    return { count, from: c[10] ?? none, fromIndex: c[11] ?? none, to: c[12] ?? none, toIndex: c[13] ?? none, bytes: c[7] ?? none };
  }));
  return model.messages;
}

// Messages that a slice sent or received, as { slice: the other end, bytes, sent }.
export async function messagesOf(model, slice, most = 16) {
  const ends = [];
  for (const m of await allMessages(model)) {
    for (let i = 0; i < m.count && ends.length < most; i++) {
      if (m.from[i] === slice.row && m.fromIndex[i] === slice.index) ends.push({ row: m.to[i], index: m.toIndex[i], bytes: m.bytes[i], sent: true });
      else if (m.to[i] === slice.row && m.toIndex[i] === slice.index) ends.push({ row: m.from[i], index: m.fromIndex[i], bytes: m.bytes[i], sent: false });
    }
  }
  const found = [];
  for (const e of ends) {
    const other = await model.slice(e.row, e.index);
    if (other) found.push({ slice: other, bytes: e.bytes, sent: e.sent });
  }
  return found;
}

// All of it, for the selected slice.
export async function linksOf(model, slice) {
  const links = { cause: null, effects: [], messages: [], bytes: 0, whole: true };
  if (model.rows[slice.row].device) {
    links.bytes = await bytesOf(model, slice);
    links.cause = await causeOf(model, slice);
  } else {
    if ((model.head.messages ?? []).length) links.messages = await messagesOf(model, slice);
    const kind = model.kind(slice.op);
    if (kind === "call") {
      const { slices, whole } = await effectsOf(model, slice);
      links.effects = slices;
      links.whole = whole;
    }
  }
  return links;
}
