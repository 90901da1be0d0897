// What differs between browsers and Node.js: files and workers.

import { nodeModule } from "./ctru/node.js";

export const isBytes = (value) => ArrayBuffer.isView(value) || value instanceof ArrayBuffer;

/** Compiles a WebAssembly module from its address or its bytes, unless it is compiled. */
export async function compile(source) {
  if (!(source instanceof URL)) return isBytes(source) ? WebAssembly.compile(source) : source;
  if (source.protocol === "file:") {
    const { readFile } = await nodeModule("fs/promises");
    return WebAssembly.compile(await readFile(source));
  }
  const response = await fetch(source);
  if (!response.ok) throw new Error(`${source} gives status ${response.status}`);
  const type = response.headers.get("content-type") ?? "no type";
  // Streams only if the server says that this is WebAssembly.
  if (type === "application/wasm") return WebAssembly.compileStreaming(response);
  const bytes = await response.arrayBuffer();
  // Servers for development answer with a page where there is no file.
  if (WebAssembly.validate(bytes)) return WebAssembly.compile(bytes);
  throw new Error(`${source} is no WebAssembly module (${type}); has the bundler copied the file?`);
}

/** Returns the number of cores, or 1 if the host does not say it. */
export async function cores() {
  if (globalThis.navigator?.hardwareConcurrency) return navigator.hardwareConcurrency;
  return nodeModule("os").then((os) => os.availableParallelism(), () => 1);
}

/**
 * Starts the worker of this package. Calls `receive` with each of its messages, and `fail` with the
 * reason if it stops.
 */
export async function startWorker(receive, fail) {
  if (typeof Worker === "function") {
    const worker = new Worker(new URL("ctru/worker.js", import.meta.url), { type: "module" });
    worker.onmessage = (event) => receive(event.data);
    worker.onerror = (event) => fail(event.message ?? "the worker cannot be loaded");
    worker.onmessageerror = () => fail("a message cannot be read");
    return worker;
  }
  const { Worker: NodeWorker } = await nodeModule("worker_threads");
  // Bundlers for browsers must not look for this file again.
  const file = "ctru/worker.js";
  const worker = new NodeWorker(new URL(/* webpackIgnore: true */ file, import.meta.url));
  worker.on("message", receive);
  worker.on("error", (error) => fail(String(error)));
  worker.on("exit", () => fail("the worker has ended"));
  return worker;
}
