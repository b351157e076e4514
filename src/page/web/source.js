// SPDX-License-Identifier: Apache-2.0
// Where the data comes from: the page itself, or `kymo view`. The rest of the page does not know which.
import { answer } from "./unpack.js";
import workerText from "worker:./worker.js";

const POLL = 200; // ms

function fromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text), out = new Uint8Array(binary.length);
  for (let i = 0; i < out.length; i++) out[i] = binary.charCodeAt(i);
  return out;
}

function makeWorker() {
  try {
    const url = URL.createObjectURL(new Blob([workerText], { type: "text/javascript" })), worker = new Worker(url);
    URL.revokeObjectURL(url);
    return worker;
  } catch {
    return null;
  }
}

// Tasks for the worker; those not yet sent can be overtaken by more urgent ones.
class Tasks {
  constructor() {
    this.worker = makeWorker();
    this.next = 0;
    this.open = new Map();
    this.waiting = [];
    if (!this.worker) return;
    this.worker.onmessage = e => this.done(e.data);
    this.worker.onerror = () => this.alone();
  }

  // Without a worker what was asked is done here.
  alone() {
    this.worker = null;
    const open = [...this.open.values()];
    this.open.clear();
    for (const o of open) this.start(o);
    this.pump();
  }

  done({ id, result, error }) {
    const o = this.open.get(id);
    if (!o) return;
    this.open.delete(id);
    if (error) o.fail(new Error(error));
    else o.give(result);
    this.pump();
  }

  run(make, urgent) {
    return new Promise((give, fail) => {
      this.waiting[urgent ? "unshift" : "push"]({ make, give, fail });
      this.pump();
    });
  }

  pump() {
    while (this.open.size < 3 && this.waiting.length) this.start(this.waiting.shift());
  }

  async start(o) {
    const id = this.next++;
    this.open.set(id, o);
    try {
      const task = await o.make();
      if (this.worker) this.worker.postMessage({ id, task }, [task.bytes.buffer]);
      else this.done({ id, result: (await answer(task)).result });
    } catch (e) {
      this.done({ id, error: String(e && e.message || e) });
    }
  }
}

class Source {
  constructor(head, packed, tasks = new Tasks()) {
    this.head = head;
    this.packed = packed;
    this.tasks = tasks;
  }

  task(what, n, urgent = true, first = 0) {
    return this.tasks.run(async () => ({ what, bytes: await this.packed(n), first, quantum: this.head.quantum || 1 }), urgent);
  }

  section(n) {
    return this.task("bytes", n);
  }
}

function embedded(data) {
  const bytes = fromBase64(data.textContent.trim());
  data.remove();
  const element = document.getElementById("kymo-head"), head = JSON.parse(element.textContent);
  element.remove();
  return new Source(head, async n => {
    const [offset, length] = head.sections[n];
    return bytes.slice(offset, offset + length);
  });
}

// `kymo view`: all of the trace once that is prepared, parts of it before.
class Served {
  constructor() {
    this.tasks = new Tasks();
  }

  async get(path, about = {}) {
    const asked = new URLSearchParams(location.search);
    for (const [name, value] of Object.entries(about)) asked.set(name, value);
    const answered = await fetch(`${path}?${asked}`);
    if (!answered.ok) throw new Error(`kymo view answered ${answered.status} to ${path}`);
    return answered;
  }

  // { ready, glances, doing, done }
  async state() {
    return (await this.get("state")).json();
  }

  source(head, packed) {
    const source = new Source(head, packed, this.tasks);
    source.record = async about => (await this.get("record", about)).json();
    source.served = this;
    return source;
  }

  async whole() {
    const head = await (await this.get("head.json")).json();
    return this.source(head, async n => new Uint8Array(await (await this.get(`section/${n}`)).arrayBuffer()));
  }

  // What there is before all is prepared, of { start, end, effort } or of everything.
  async glance(about = {}) {
    const bytes = new Uint8Array(await (await this.get("glance", about)).arrayBuffer()), at = 8 + Number(new DataView(bytes.buffer).getBigUint64(0, true));
    const head = JSON.parse(new TextDecoder().decode(bytes.subarray(8, at)));
    return this.source(head, async n => {
      const [offset, length] = head.sections[n];
      return bytes.slice(at + offset, at + offset + length);
    });
  }

  // `told` is called with the state until there is something to be seen.
  async open(told) {
    for (;;) {
      const state = await this.state();
      if (state.ready) return this.whole();
      if (state.glances) return this.glance();
      told(state);
      await new Promise(go => setTimeout(go, POLL));
    }
  }
}

export async function openSource(told) {
  const data = document.getElementById("kymo-data");
  return data ? embedded(data) : new Served().open(told);
}
