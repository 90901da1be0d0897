import {
  MAX_WORKERS,
  bytes,
  count as checkCount,
  numberOf,
  optionalBytes,
  options as checkOptions,
  readSets,
  workers as checkWorkers,
} from "./arguments.js";
import { CtruError, errorOf } from "./error.js";
import { compile, cores, isBytes } from "./host.js";
import { call, hasVectors, instantiate, moduleOf, recognise } from "./ctru/modules.js";
import { startPool } from "./pool.js";

export { CtruError };

/** What has been loaded, or is being loaded, by the value of `simd`. */
const loaded = new Map();

export async function load(options = {}) {
  const { module: source, simd: asked } = checkOptions(options);
  const compiled = checkSource(source);
  const simd = asked === undefined ? (compiled?.simd ?? hasVectors()) : asked;
  if (typeof simd !== "boolean") throw new CtruError("type", "simd must be a boolean");
  // A call whose own source cannot be loaded must not fail the calls after it.
  const loading = (loaded.get(simd) ?? Promise.reject()).catch(() => start(simd, source));
  loaded.set(simd, loading);
  return loading;
}

/** Checks the source of a module. Returns which module it is, if it is compiled. */
function checkSource(source) {
  if (source === undefined || source instanceof URL || isBytes(source)) return undefined;
  let module;
  try {
    module = recognise(source);
  } catch {
    const types = "a URL, a WebAssembly.Module, an ArrayBuffer or a view of one";
    throw new CtruError("type", `module must be ${types}`);
  }
  if (module) return module;
  throw new CtruError("load", "the WebAssembly module is none of this package");
}

async function start(simd, source) {
  const module = moduleOf(simd);
  let compiled;
  try {
    compiled = await compiledFrom(simd, source);
    if (recognise(compiled) !== module) {
      throw new Error(`it is not the one of this package with simd: ${simd}`);
    }
    await instantiate(module, compiled);
  } catch (error) {
    throw new CtruError("load", `the WebAssembly module cannot be loaded: ${error.message}`);
  }
  return new Ctru(module, compiled);
}

/** Compiles a source, or the file of this package if there is none. */
function compiledFrom(simd, source) {
  if (source !== undefined) return compile(source);
  // The addresses are written out, so that bundlers find the files. Where a bundler has moved this
  // file, it finds them by the same words in the package `ctru`.
  return simd
    ? compile(new URL("ctru/simd128_bg.wasm", import.meta.url))
    : compile(new URL("ctru/scalar_bg.wasm", import.meta.url));
}

class Ctru {
  #module;
  #compiled;

  constructor(module, compiled) {
    this.#module = module;
    this.#compiled = compiled;
    this.simd = module.simd;
    this.sets = readSets(call(module, "numbers", []), (set) => call(module, "sizes", [set]));
    Object.freeze(this);
  }

  keypair(set, seed) {
    const operands = [numberOf(this.sets, set), 1, optionalBytes("seed", seed)];
    const [encapsulationKey, decapsulationKey] = this.#attempt("generate", operands);
    return { encapsulationKey, decapsulationKey };
  }

  encapsulate(set, encapsulationKey, seed) {
    const number = numberOf(this.sets, set);
    const key = bytes("encapsulationKey", encapsulationKey);
    const operands = [number, key, 1, optionalBytes("seed", seed)];
    const [ciphertext, sharedSecret] = this.#attempt("encapsulate", operands);
    return { ciphertext, sharedSecret };
  }

  decapsulate(set, decapsulationKey, ciphertext) {
    const number = numberOf(this.sets, set);
    const key = bytes("decapsulationKey", decapsulationKey);
    const operands = [number, key, bytes("ciphertext", ciphertext), 1];
    return this.#attempt("decapsulate", operands);
  }

  keypairs(set, count, seeds) {
    const operands = [numberOf(this.sets, set), checkCount(count), optionalBytes("seeds", seeds)];
    const [encapsulationKeys, decapsulationKeys] = this.#attempt("generate", operands, 0);
    return { encapsulationKeys, decapsulationKeys };
  }

  encapsulateBatch(set, encapsulationKeys, count, seeds) {
    const number = numberOf(this.sets, set);
    const keys = bytes("encapsulationKeys", encapsulationKeys);
    const operands = [number, keys, checkCount(count), optionalBytes("seeds", seeds)];
    const [ciphertexts, sharedSecrets] = this.#attempt("encapsulate", operands, 0);
    return { ciphertexts, sharedSecrets };
  }

  decapsulateBatch(set, decapsulationKeys, ciphertexts) {
    const number = numberOf(this.sets, set);
    const keys = bytes("decapsulationKeys", decapsulationKeys);
    const rows = bytes("ciphertexts", ciphertexts);
    const count = Math.floor(rows.length / this.sets[set].ciphertextBytes);
    return this.#attempt("decapsulate", [number, keys, rows, count], 0);
  }

  async pool(options = {}) {
    const { workers = Math.min(await cores(), MAX_WORKERS) } = checkOptions(options);
    return startPool(this.simd, this.#compiled, this.sets, checkWorkers(workers));
  }

  /**
   * Calls a function of the module, and throws what it throws as a {@link CtruError}. In batches,
   * the first row has the number `first`.
   */
  #attempt(operation, operands, first) {
    try {
      return call(this.#module, operation, operands);
    } catch (thrown) {
      throw errorOf(thrown, first);
    }
  }
}
