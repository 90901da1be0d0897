// What differs between browsers and Node.js: files and workers.

/** Imports a module of Node.js. Bundlers for browsers must not look for it. */
const nodeModule = (name) => import(/* @vite-ignore */ /* webpackIgnore: true */ `node:${name}`);

/** Compiles a WebAssembly module from its address or its bytes. */
export async function compile(source) {
  if (!(source instanceof URL)) return WebAssembly.compile(source);
  if (source.protocol === "file:") {
    const { readFile } = await nodeModule("fs/promises");
    return WebAssembly.compile(await readFile(source));
  }
  const response = await fetch(source);
  if (!response.ok) throw new Error(`${source} gives status ${response.status}`);
  // Streams only if the server says that this is WebAssembly.
  return response.headers.get("content-type") === "application/wasm"
    ? WebAssembly.compileStreaming(response)
    : WebAssembly.compile(await response.arrayBuffer());
}

/** Returns the number of cores. */
export async function cores() {
  if (globalThis.navigator?.hardwareConcurrency) return navigator.hardwareConcurrency;
  const os = await nodeModule("os");
  return os.availableParallelism();
}

/**
 * Starts the worker of this package. Calls `receive` with each of its messages, and `fail` with the
 * reason if it stops.
 */
export async function startWorker(receive, fail) {
  if (typeof Worker === "function") {
    const worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
    worker.onmessage = (event) => receive(event.data);
    worker.onerror = (event) => fail(event.message ?? "the worker cannot be loaded");
    worker.onmessageerror = () => fail("a message cannot be read");
    return worker;
  }
  const { Worker: NodeWorker } = await nodeModule("worker_threads");
  const worker = new NodeWorker(new URL("./worker.js", import.meta.url));
  worker.on("message", receive);
  worker.on("error", (error) => fail(String(error)));
  worker.on("exit", () => fail("the worker has ended"));
  return worker;
}

/** In a worker: calls `handle` with each message and with a function that answers. */
export function serve(handle) {
  if (typeof globalThis.postMessage === "function") {
    // Registered at once, because messages may be waiting.
    globalThis.onmessage = (event) => handle(event.data, globalThis.postMessage.bind(globalThis));
    return;
  }
  nodeModule("worker_threads").then(({ parentPort }) => {
    parentPort.on("message", (data) => handle(data, parentPort.postMessage.bind(parentPort)));
  });
}
