// SPDX-License-Identifier: Apache-2.0
// What of a window is not read yet, while `kymo view` prepares a trace: drawn like what is nearest to it, and hatched.

// Of each pixel the share that is read, and the nearest of which any is; runs of pixels of which not all is. null: all is.
export function unread(model, view, width) {
  if (model.knows(Math.max(0, view.start), Math.min(model.length, view.end))) return null;
  const cover = new Float32Array(width), near = new Int32Array(width).fill(-1), runs = [], perPixel = (view.end - view.start) / width;
  const outside = x => view.start + x * perPixel >= model.length || view.start + (x + 1) * perPixel <= 0;
  for (const [start, end] of model.glance.read) {
    const a = Math.max(0, (start - view.start) / perPixel), b = Math.min(width, (end - view.start) / perPixel);
    for (let x = Math.floor(a); x < b; x++) cover[x] += Math.min(b, x + 1) - Math.max(a, x);
  }
  for (let x = 0, last = -1; x < width; x++) {
    if (cover[x] > 0) last = x;
    near[x] = last;
  }
  for (let x = width - 1, last = -1; x >= 0; x--) {
    if (cover[x] > 0) last = x;
    if (last >= 0 && (near[x] < 0 || last - x < x - near[x])) near[x] = last;
  }
  for (let x = 0, from = -1; x <= width; x++) {
    const is = x < width && cover[x] < 0.999 && !outside(x);
    if (is && from < 0) from = x;
    if (!is && from >= 0) { runs.push([from, x]); from = -1; }
  }
  return { cover, near, runs };
}

// Fills an accumulator where nothing is read. What is known all the same, as it reaches there from what is read, stays.
export function estimate(unread, acc) {
  if (!unread) return;
  const { cover, near, runs } = unread, { share, op } = acc;
  for (let x = 0; x < acc.width; x++) if (cover[x] > 0 && cover[x] < 1) share[x] = Math.min(255, share[x] / cover[x]);
  for (const [from, to] of runs) {
    for (let x = from; x < to; x++) {
      const n = near[x];
      if (cover[x] > 0 || n < 0 || share[n] <= share[x]) continue;
      share[x] = share[n];
      op[x] = op[n];
    }
  }
}
