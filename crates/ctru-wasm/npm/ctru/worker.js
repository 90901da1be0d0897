// A worker of a pool. The first message has the compiled module; each other one has an operation,
// its arguments and a number, and the answer has the results or what was thrown.

import { call, instantiate, moduleOf } from "./modules.js";
import { nodeModule } from "./node.js";

let module;

async function handle(message, answer) {
  if (message.compiled !== undefined) {
    module = moduleOf(message.simd);
    await instantiate(module, message.compiled).then(
      () => answer({ ready: true }),
      (error) => answer({ failed: String(error) }),
    );
    return;
  }
  const { id, operation, operands } = message;
  try {
    const results = [call(module, operation, operands)].flat();
    answer({ id, results }, results.map((result) => result.buffer));
  } catch (thrown) {
    answer({ id, thrown: Array.isArray(thrown) ? thrown : String(thrown) });
  }
  // The operands can hold secrets, and their memory belongs to this worker.
  for (const operand of operands) {
    if (typeof operand === "object") operand.fill(0);
  }
}

if (typeof globalThis.postMessage === "function") {
  // Registered at once, because messages may be waiting.
  globalThis.onmessage = (event) => handle(event.data, globalThis.postMessage.bind(globalThis));
} else {
  nodeModule("worker_threads").then(({ parentPort }) => {
    parentPort.on("message", (data) => handle(data, parentPort.postMessage.bind(parentPort)));
  });
}
