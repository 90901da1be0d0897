import {
  MAX_WORKERS,
  bytes,
  count as checkCount,
  numberOf,
  optionalBytes,
  readSets,
  workers as checkWorkers,
} from "./arguments.js";
import { CtruError, errorOf } from "./error.js";
import { compile, cores } from "./host.js";
import { startPool } from "./pool.js";

export { CtruError };

/** What has been loaded, or is being loaded, by the value of `simd`. */
const loaded = new Map();

/** The values of `simd` whose instance has failed and is not replaced yet. */
const failed = new Set();

export async function load({ simd = hasVectors(), module } = {}) {
  if (typeof simd !== "boolean") throw new CtruError("type", "simd must be a boolean");
  const url = module instanceof URL || module === undefined;
  if (!url && !ArrayBuffer.isView(module) && !(module instanceof ArrayBuffer)) {
    throw new CtruError("type", "module must be a URL, an ArrayBuffer or a view of one");
  }
  if (!loaded.has(simd)) {
    const loading = start(simd, module).catch((error) => {
      // Another call may try again.
      loaded.delete(simd);
      throw new CtruError("load", `the WebAssembly module cannot be loaded: ${error.message}`);
    });
    loaded.set(simd, loading);
  }
  return loaded.get(simd);
}

/** Returns whether the host has the vectors of WebAssembly. */
function hasVectors() {
  // A function without parameters whose result is the vector i8x16.splat(0).
  const type = [1, 5, 1, 0x60, 0, 1, 0x7b];
  const code = [10, 8, 1, 6, 0, 0x41, 0, 0xfd, 15, 11];
  const module = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, ...type, 3, 2, 1, 0, ...code];
  return WebAssembly.validate(new Uint8Array(module));
}

async function start(simd, source) {
  // The addresses are written out, so that bundlers find the files.
  const [glue, module] = await (simd
    ? Promise.all([
        import("./simd128.js"),
        compile(source ?? new URL("./simd128_bg.wasm", import.meta.url)),
      ])
    : Promise.all([
        import("./scalar.js"),
        compile(source ?? new URL("./scalar_bg.wasm", import.meta.url)),
      ]));
  // The glue keeps one instance, and would go on with one that has failed.
  await glue.default({ module_or_path: module });
  if (failed.has(simd)) glue.__wbg_reset_state();
  failed.delete(simd);
  return new Ctru(simd, glue, module);
}

class Ctru {
  #module;
  #compiled;
  #failed = false;

  constructor(simd, module, compiled) {
    this.simd = simd;
    this.sets = readSets(module);
    this.#module = module;
    this.#compiled = compiled;
    Object.freeze(this);
  }

  keypair(set, seed) {
    const number = numberOf(set);
    optionalBytes("seed", seed);
    const [encapsulationKey, decapsulationKey] = this.#attempt(() =>
      this.#module.generate(number, 1, seed),
    );
    return { encapsulationKey, decapsulationKey };
  }

  encapsulate(set, encapsulationKey, seed) {
    const number = numberOf(set);
    bytes("encapsulationKey", encapsulationKey);
    optionalBytes("seed", seed);
    const [ciphertext, sharedSecret] = this.#attempt(() =>
      this.#module.encapsulate(number, encapsulationKey, 1, seed),
    );
    return { ciphertext, sharedSecret };
  }

  decapsulate(set, decapsulationKey, ciphertext) {
    const number = numberOf(set);
    bytes("decapsulationKey", decapsulationKey);
    bytes("ciphertext", ciphertext);
    return this.#attempt(() => this.#module.decapsulate(number, decapsulationKey, ciphertext, 1));
  }

  keypairs(set, count, seeds) {
    const number = numberOf(set);
    checkCount(count);
    optionalBytes("seeds", seeds);
    const [encapsulationKeys, decapsulationKeys] = this.#attempt(
      () => this.#module.generate(number, count, seeds),
      0,
    );
    return { encapsulationKeys, decapsulationKeys };
  }

  encapsulateBatch(set, encapsulationKeys, count, seeds) {
    const number = numberOf(set);
    bytes("encapsulationKeys", encapsulationKeys);
    checkCount(count);
    optionalBytes("seeds", seeds);
    const [ciphertexts, sharedSecrets] = this.#attempt(
      () => this.#module.encapsulate(number, encapsulationKeys, count, seeds),
      0,
    );
    return { ciphertexts, sharedSecrets };
  }

  decapsulateBatch(set, decapsulationKeys, ciphertexts) {
    const number = numberOf(set);
    bytes("decapsulationKeys", decapsulationKeys);
    bytes("ciphertexts", ciphertexts);
    const count = Math.floor(ciphertexts.length / this.sets[set].ciphertextBytes);
    return this.#attempt(
      () => this.#module.decapsulate(number, decapsulationKeys, ciphertexts, count),
      0,
    );
  }

  async pool({ workers } = {}) {
    const number = checkWorkers(workers ?? Math.min(await cores(), MAX_WORKERS));
    this.#refuseIfFailed();
    return startPool(this.simd, this.#compiled, this.sets, number);
  }

  /** Calls a function of the module, and throws what it throws as a {@link CtruError}. */
  #attempt(work, first) {
    this.#refuseIfFailed();
    try {
      return work();
    } catch (thrown) {
      const error = errorOf(thrown, first);
      if (error.code === "internal") this.#fail();
      throw error;
    }
  }

  /** Gives the instance up, and overwrites its memory: the operation has left secrets there. */
  #fail() {
    this.#failed = true;
    failed.add(this.simd);
    loaded.delete(this.simd);
    // Returns what the instance exports, because there is one.
    new Uint8Array(this.#module.initSync().memory.buffer).fill(0);
  }

  #refuseIfFailed() {
    if (this.#failed) throw new CtruError("internal", "the module has failed; load it again");
  }
}
