// The two WebAssembly modules, each with the JavaScript that keeps its only instance.

import * as scalar from "./scalar.js";
import * as simd128 from "./simd128.js";

/** Returns the module with or without vector instructions. */
export const moduleOf = (simd) => (simd ? vectors : plain);

const vectors = { simd: true, glue: simd128, broken: false };
const plain = { simd: false, glue: scalar, broken: false };

/**
 * Returns which of the modules a compiled one is, or `undefined`. Throws a `TypeError` if it is no
 * compiled module.
 */
export function recognise(compiled) {
  const names = WebAssembly.Module.exports(compiled).map(({ name }) => name);
  if (names.includes("simd128")) return vectors;
  return names.includes("scalar") ? plain : undefined;
}

/** Returns whether the host has the vectors of WebAssembly. */
export function hasVectors() {
  // A function without parameters whose result is the vector i8x16.splat(0).
  const type = [1, 5, 1, 0x60, 0, 1, 0x7b];
  const code = [10, 8, 1, 6, 0, 0x41, 0, 0xfd, 15, 11];
  const module = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, ...type, 3, 2, 1, 0, ...code];
  // There may be no WebAssembly at all, which `load` says.
  return globalThis.WebAssembly?.validate(new Uint8Array(module)) ?? false;
}

/** Makes the instance of a module, unless there is one. */
export async function instantiate({ glue }, compiled) {
  await glue.default({ module_or_path: compiled });
}

/**
 * Calls a function of a module. It throws arrays, and what it throws otherwise is a trap: nothing
 * has cleaned up, so the instance is replaced.
 */
export function call(module, operation, operands) {
  if (module.broken) replace(module);
  try {
    return module.glue[operation](...operands);
  } catch (thrown) {
    // Comes first, because at the end of the stack no function can be called.
    module.broken = true;
    if (Array.isArray(thrown)) module.broken = false;
    else replace(module);
    throw thrown;
  }
}

/** Overwrites the memory of an instance, in which a trap leaves secrets, and makes another one. */
function replace(module) {
  // Returns what the instance exports, because there is one.
  new Uint8Array(module.glue.initSync().memory.buffer).fill(0);
  module.glue.__wbg_reset_state();
  module.broken = false;
}
