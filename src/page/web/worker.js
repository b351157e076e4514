// SPDX-License-Identifier: Apache-2.0
// What runs beside the page: it unpacks sections.
import { answer } from "./unpack.js";

self.onmessage = async e => {
  const { id, task } = e.data;
  try {
    const { result, moved } = await answer(task);
    self.postMessage({ id, result }, moved);
  } catch (error) {
    self.postMessage({ id, error: String(error && error.message || error) });
  }
};
