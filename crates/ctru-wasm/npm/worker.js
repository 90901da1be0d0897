// A worker of a pool. The first message has the compiled module; each other one has an operation,
// its arguments and a number, and the answer has the results or what was thrown.

import { serve } from "./host.js";

let loading;

async function start({ simd, module }) {
  const glue = await (simd ? import("./simd128.js") : import("./scalar.js"));
  await glue.default({ module_or_path: module });
  return glue;
}

async function handle(message, answer) {
  if (message.module !== undefined) {
    loading = start(message);
    await loading.then(
      () => answer({ ready: true }),
      (error) => answer({ failed: String(error) }),
    );
    return;
  }
  const { id, operation, operands } = message;
  try {
    const results = [(await loading)[operation](...operands)].flat();
    answer({ id, results }, results.map((result) => result.buffer));
  } catch (thrown) {
    answer({ id, thrown: Array.isArray(thrown) ? thrown : String(thrown) });
  }
  // The operands can hold secrets, and their memory belongs to this worker.
  for (const operand of operands) {
    if (typeof operand === "object") operand.fill(0);
  }
}

serve(handle);
