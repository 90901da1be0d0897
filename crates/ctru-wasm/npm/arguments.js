import { CtruError } from "./error.js";

/** What the number of a set in the module has in addition, if its keys have 13 bits a coefficient. */
const PACKED13 = 2 ** 16;
/** The same for a set of NTRU Prime. */
const SNTRUP = 2 ** 17;

/** Returns the identifier of the set with a number. */
function idOf(number) {
  if (number >= SNTRUP) return `sntrup${number - SNTRUP}`;
  return number >= PACKED13 ? `${number - PACKED13}-packed13` : number;
}

/**
 * Returns the sizes of all sets. `numbers` are those of the sets in the module, and `sizesOf` returns
 * the sizes of the set with a number.
 */
export function readSets(numbers, sizesOf) {
  const sets = Array.from(numbers, (number) => {
    const id = idOf(number);
    const [
      encapsulationKeyBytes,
      decapsulationKeyBytes,
      ciphertextBytes,
      sharedSecretBytes,
      keypairSeedBytes,
      encapsulationSeedBytes,
    ] = sizesOf(number);
    const set = {
      name: number >= SNTRUP ? id : `CTRU-Prime-${parseInt(id)}`,
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

/** Returns the number of a set in the module. `sets` are all sets. */
export function numberOf(sets, set) {
  if (typeof set === "number" && Object.hasOwn(sets, set)) return set;
  // The name of a set that has a number is no name.
  if (typeof set === "string" && /[-s]/.test(set) && Object.hasOwn(sets, set)) {
    return set.startsWith("sntrup") ? SNTRUP + Number(set.slice(6)) : parseInt(set) + PACKED13;
  }
  // In quotes, because 761 is a set and "761" is none.
  const text = typeof set === "string" ? JSON.stringify(set) : set;
  const got = ["number", "string"].includes(typeof set) ? text : typeof set;
  throw new CtruError("set", `the sets are ${Object.keys(sets).join(", ")}, got ${got}`);
}

/** Returns a method or a getter of all arrays of numbers, which no array can replace. */
function ofArrays(key) {
  const arrays = Object.getPrototypeOf(Uint8Array.prototype);
  const { get, value } = Object.getOwnPropertyDescriptor(arrays, key);
  return (array) => (get ?? value).call(array);
}

const kindOf = ofArrays(Symbol.toStringTag);
const bufferOf = ofArrays("buffer");
const offsetOf = ofArrays("byteOffset");
const lengthOf = ofArrays("length");
const keysOf = ofArrays("keys");

/**
 * Returns a view of an argument, which must be a `Uint8Array`, also one of another window. The
 * argument itself can be of a class of its own, say another length than it has, and run code when
 * it is read. The view cannot, and nothing changes its length during an operation.
 */
export function bytes(name, value) {
  if (kindOf(value) !== "Uint8Array") {
    throw new CtruError("type", `${name} must be a Uint8Array`);
  }
  try {
    keysOf(value);
  } catch {
    const reason = "it was transferred, or its buffer has shrunk";
    throw new CtruError("length", `${name} has no memory any more: ${reason}`);
  }
  const length = lengthOf(value);
  // The module counts bytes in 32 bits.
  if (length < 2 ** 32) return new Uint8Array(bufferOf(value), offsetOf(value), length);
  throw new CtruError("length", `${name} must have fewer than 2^32 bytes`);
}

/** Checks an argument that may be absent. */
export function optionalBytes(name, value) {
  return value === undefined ? undefined : bytes(name, value);
}

/** Checks the argument with options. */
export function options(value) {
  if (typeof value === "object" && value !== null) return value;
  throw new CtruError("type", "options must be an object");
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
