// SPDX-License-Identifier: Apache-2.0
// Tasks of the worker; the page does them itself where there can be no worker.
import { gunzipSync } from "fflate";
import { columns, more, slices, sums, times } from "./decode.js";

async function inflated(bytes) {
  if (typeof DecompressionStream === "undefined") return gunzipSync(bytes);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

const buffers = o => Object.values(o).filter(ArrayBuffer.isView).map(v => v.buffer);

export async function answer({ what, bytes, first, quantum }) {
  const raw = await inflated(bytes);
  if (what === "bytes") return { result: raw, moved: [raw.buffer] };
  if (what === "more") {
    const result = more(raw);
    return { result, moved: buffers(result) };
  }
  if (what === "columns") {
    const result = columns(raw);
    return { result, moved: buffers(result) };
  }
  if (what === "points") {
    const found = columns(raw), result = { time: times(found, first, quantum).start, value: found[8] };
    return { result, moved: buffers(result) };
  }
  const b = slices(raw, first, quantum);
  if (what === "sums") return { result: sums(b), moved: [] };
  return { result: b, moved: buffers(b) };
}
