import { CtruError } from "./error.js";

/** The sets, in the order of the numbers by which the module names them. */
const IDS = [653, 761, 1277, "653-packed13", "761-packed13", "1277-packed13"];

/** Returns the sizes of all sets, as the module knows them. */
export function readSets(module) {
  const sets = IDS.map((id, number) => {
    const [
      encapsulationKeyBytes,
      decapsulationKeyBytes,
      ciphertextBytes,
      sharedSecretBytes,
      keypairSeedBytes,
      encapsulationSeedBytes,
    ] = module.sizes(number);
    const set = {
      name: `CTRU-Prime-${parseInt(id)}`,
      encapsulationKeyBytes,
      decapsulationKeyBytes,
      ciphertextBytes,
      sharedSecretBytes,
      keypairSeedBytes,
      encapsulationSeedBytes,
    };
    return [id, Object.freeze(set)];
  });
  return Object.freeze(Object.fromEntries(sets));
}

/** Returns the number of a set. */
export function numberOf(set) {
  const number = IDS.indexOf(set);
  if (number < 0) {
    throw new CtruError("set", `the sets are ${IDS.join(", ")}, got ${String(set)}`);
  }
  return number;
}

/**
 * Checks that an argument is a `Uint8Array`, also one of another window, and that the module can
 * count its bytes in 32 bits.
 */
export function bytes(name, value) {
  if (!ArrayBuffer.isView(value) || value[Symbol.toStringTag] !== "Uint8Array") {
    throw new CtruError("type", `${name} must be a Uint8Array`);
  }
  if (value.length < 2 ** 32) return value;
  throw new CtruError("length", `${name} must have fewer than 2^32 bytes`);
}

/** Checks an argument that may be absent. */
export function optionalBytes(name, value) {
  return value === undefined ? undefined : bytes(name, value);
}

/** Checks a number of operations. */
export function count(value) {
  if (Number.isInteger(value) && value >= 0 && value < 2 ** 32) return value;
  throw new CtruError("type", "count must be an integer from 0 to 2^32 - 1");
}

/** More workers than any pool needs: each has an instance of the module. */
export const MAX_WORKERS = 256;

/** Checks a number of workers. */
export function workers(value) {
  if (Number.isInteger(value) && value >= 1 && value <= MAX_WORKERS) return value;
  throw new CtruError("type", `workers must be an integer from 1 to ${MAX_WORKERS}`);
}
