// Checks the code of the package around its modules, without them: node isolated.mjs
//
// The modules are replaced by a file whose outputs repeat bytes of the inputs, so nothing has to be
// built. The file fails where the first byte of an input asks for it.

import assert from "node:assert/strict";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

/** The sizes of the set of the stand-in: keys, ciphertext, secret and seeds. */
const [PUBLIC, PRIVATE, CIPHERTEXT, SECRET, PAIR_SEED, SEED] = [5, 6, 4, 3, 64, 32];

const STAND_IN = `
  let memory = new WebAssembly.Memory({ initial: 1 });
  let trapped = false;
  const sizes = () => [${[PUBLIC, PRIVATE, CIPHERTEXT, SECRET, PAIR_SEED, SEED]}];
  /** Rows that are filled with the first byte of their inputs. */
  function rows(count, size, input = new Uint8Array(count), inputSize = 1) {
    const filled = new Uint8Array(count * size);
    for (let row = 0; row < count; row++) {
      const byte = input[input.length === inputSize ? 0 : row * inputSize];
      if (byte === 0xee) throw ["encapsulation-key", "not a key", row];
      if (byte === 0xff) {
        new Uint8Array(memory.buffer).fill(7);
        trapped = true;
      }
      if (trapped) throw new WebAssembly.RuntimeError("unreachable");
      filled.fill(byte, row * size, (row + 1) * size);
    }
    return filled;
  }
  const generate = (set, count, seeds) => [
    rows(count, ${PUBLIC}, seeds, ${PAIR_SEED}),
    rows(count, ${PRIVATE}, seeds, ${PAIR_SEED}),
  ];
  const encapsulate = (set, keys, count, seeds) => [
    rows(count, ${CIPHERTEXT}, keys, ${PUBLIC}),
    rows(count, ${SECRET}, seeds, ${SEED}),
  ];
  const decapsulate = (set, keys, ciphertexts, count) => {
    rows(count, ${SECRET}, keys, ${PRIVATE});
    return rows(count, ${SECRET}, ciphertexts, ${CIPHERTEXT});
  };
  const initSync = () => ({ memory });
  let refused = 0;
  const refuseInstances = (count) => (refused = count);
  function __wbg_reset_state() {
    if (refused-- > 0) throw new RangeError("there is no memory");
    memory = new WebAssembly.Memory({ initial: 1 });
    trapped = false;
  }
  const numbers = () => [653, 761, 2 ** 16 + 761];
  export { numbers, sizes, generate, encapsulate, decapsulate, initSync, __wbg_reset_state };
  export { refuseInstances };
  export default async () => {};
`;

/** Returns a module of WebAssembly whose only function has this name, and does nothing. */
function named(name) {
  const bytes = [name.length, ...new TextEncoder().encode(name), 0, 0];
  const [types, functions, code] = [[1, 4, 1, 0x60, 0, 0], [3, 2, 1, 0], [10, 4, 1, 2, 0, 11]];
  const names = [7, bytes.length + 1, 1, ...bytes];
  return Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, ...types, ...functions, ...names, ...code);
}

const folder = await mkdtemp(join(tmpdir(), "ctru-"));
try {
  const npm = fileURLToPath(new URL("../../npm/", import.meta.url));
  await cp(npm, folder, { recursive: true });
  for (const name of ["simd128", "scalar"]) {
    await writeFile(join(folder, "ctru", `${name}.js`), STAND_IN);
  }
  const { load, CtruError } = await import(pathToFileURL(join(folder, "index.js")));
  const glue = await import(pathToFileURL(join(folder, "ctru", "simd128.js")));
  const open = () => load({ simd: true, module: named("simd128") });
  /** Checks that work is rejected with an error of the package. */
  const fails = (code, work, message = /./) =>
    assert.rejects(work, (error) => {
      assert.ok(error instanceof CtruError, String(error?.stack));
      assert.equal(error.code, code, error.message);
      assert.match(error.message, message);
      return true;
    });

  await hostsWithoutWebAssembly(load, fails);
  await sourcesOfModules(load, fails);
  await buffersStayWithTheCaller(await open());
  await arraysThatPretend(await open(), fails);
  await numbersOfWorkers(await open(), fails);
  await instancesThatFailed(open, glue, fails);
  await workersThatFailed(await open(), fails);
  await workersThatDoNotStart(await open(), fails);
  await sharesThatCannotBeSent(await open(), fails);
} finally {
  await rm(folder, { recursive: true });
}
console.log("the code around the modules: passed");

/** Returns rows whose bytes are the numbers of the rows, from 1. */
function numbered(count, size) {
  return Uint8Array.from({ length: count * size }, (_, at) => 1 + Math.floor(at / size));
}

/** Node.js with `--jitless` has no WebAssembly, nor have browsers in which it is forbidden. */
async function hostsWithoutWebAssembly(load, fails) {
  const { WebAssembly } = globalThis;
  delete globalThis.WebAssembly;
  await fails("load", load({ module: named("scalar") }), /WebAssembly is not defined/);
  globalThis.WebAssembly = WebAssembly;
}

/** The kind of a module is that of its source, and a source that fails is the caller's own. */
async function sourcesOfModules(load, fails) {
  const compiled = new WebAssembly.Module(named("scalar"));
  const other = new WebAssembly.Module(named("other"));
  const fine = load({ module: compiled });
  await fails("load", load({ module: other }), /none of this package/);
  await fails("load", load({ simd: true, module: compiled }), /with simd: true/);
  await fails("load", load({ simd: true, module: named("other") }), /with simd: true/);
  await fails("load", load({ simd: true, module: new Uint8Array(9) }), /cannot be loaded/);
  const first = load({ simd: true, module: Uint8Array.of(1) });
  const second = load({ simd: true, module: named("simd128") });
  await fails("load", first);
  assert.equal((await second).simd, true);
  assert.equal((await fine).simd, false);
  assert.equal(await load({ module: compiled }), await fine);
  for (const module of ["a string", 3, {}, [], null, new Blob([])]) {
    await fails("type", load({ module }), /must be a URL, a WebAssembly.Module/);
  }
  for (const options of [null, true, "simd128"]) await fails("type", load(options), /an object/);
  for (const simd of [null, 1, "yes"]) await fails("type", load({ simd }), /a boolean/);
}

/** A pool neither changes nor takes its arguments, also if these are views of larger memory. */
async function buffersStayWithTheCaller(ctru) {
  const pool = await ctru.pool({ workers: 3 });
  const count = 7;
  const kinds = {
    "an array": (bytes) => bytes.slice(),
    "a part of an array": (bytes) => {
      const larger = new Uint8Array(bytes.length + 30).fill(9);
      larger.set(bytes, 11);
      return larger.subarray(11, 11 + bytes.length);
    },
    "a pooled buffer": (bytes) => Buffer.from(bytes),
    "a buffer of its own": (bytes) => {
      const buffer = Buffer.allocUnsafeSlow(bytes.length);
      buffer.set(bytes);
      return buffer;
    },
    "shared memory": (bytes) => {
      const shared = new Uint8Array(new SharedArrayBuffer(bytes.length));
      shared.set(bytes);
      return shared;
    },
  };
  assert.equal(kinds["a pooled buffer"](numbered(1, SEED)).buffer.byteLength, Buffer.poolSize);
  for (const [kind, make] of Object.entries(kinds)) {
    for (const keys of [1, count]) {
      const given = [
        [PAIR_SEED, count],
        [PUBLIC, keys],
        [SEED, count],
        [PRIVATE, keys],
        [CIPHERTEXT, count],
      ].map(([size, rows]) => make(numbered(rows, size)));
      const before = given.map((bytes) => [Uint8Array.from(bytes), bytes.buffer.byteLength]);
      const [pairSeeds, publicKeys, seeds, privateKeys, ciphertexts] = given;

      const pairs = await pool.keypairs(761, count, pairSeeds);
      assert.deepEqual(pairs.decapsulationKeys, numbered(count, PRIVATE), kind);
      const sent = await pool.encapsulateBatch(761, publicKeys, count, seeds);
      assert.deepEqual(sent.sharedSecrets, numbered(count, SECRET), kind);
      const received = await pool.decapsulateBatch(761, privateKeys, ciphertexts);
      assert.deepEqual(received, numbered(count, SECRET), kind);

      for (const [index, bytes] of given.entries()) {
        const after = [Uint8Array.from(bytes), bytes.buffer.byteLength];
        assert.deepEqual(after, before[index], `${kind}, argument ${index}`);
      }
    }
  }
  pool.close();
}

/** Returns seeds of key pairs, of which one row begins with a byte. */
function seedsWith(count, row, byte) {
  const seeds = numbered(count, PAIR_SEED);
  seeds[row * PAIR_SEED] = byte;
  return seeds;
}

/** What an array says of itself and runs does not matter, and what is no array is refused. */
async function arraysThatPretend(ctru, fails) {
  const forbidden = () => assert.fail("code of the caller runs");
  class Own extends Uint8Array {
    static get [Symbol.species]() {
      return forbidden();
    }
    slice = forbidden;
    subarray = forbidden;
    set = forbidden;
    [Symbol.iterator] = forbidden;
  }
  const kinds = {
    "a long array": (bytes) => Object.defineProperty(bytes, "length", { value: 2 ** 32 }),
    "an array without bytes": (bytes) => Object.defineProperty(bytes, "length", { value: 0 }),
    "an array with getters": (bytes) => {
      for (const key of ["length", "buffer", "byteOffset", "byteLength", Symbol.toStringTag]) {
        Object.defineProperty(bytes, key, { get: forbidden });
      }
      return bytes;
    },
    "a class of its own": (bytes) => new Own(bytes),
    "no prototype": (bytes) => Object.setPrototypeOf(bytes, null),
  };
  const pool = await ctru.pool({ workers: 2 });
  for (const [kind, make] of Object.entries(kinds)) {
    for (const batches of [ctru, pool]) {
      const pairs = await batches.keypairs(761, 3, make(numbered(3, PAIR_SEED)));
      assert.deepEqual(pairs.decapsulationKeys, numbered(3, PRIVATE), kind);
      const keys = make(numbered(3, PUBLIC));
      const sent = await batches.encapsulateBatch(761, keys, 3, make(numbered(3, SEED)));
      assert.deepEqual(sent.sharedSecrets, numbered(3, SECRET), kind);
      const secret = make(numbered(3, PRIVATE));
      const received = await batches.decapsulateBatch(761, secret, make(numbered(3, CIPHERTEXT)));
      assert.deepEqual(received, numbered(3, SECRET), kind);
    }
  }
  const traps = new Proxy({}, { get: () => forbidden });
  for (const value of [
    new Proxy(numbered(1, PUBLIC), traps),
    Object.create(Uint8Array.prototype),
    { length: PUBLIC, [Symbol.toStringTag]: "Uint8Array" },
    new DataView(new ArrayBuffer(PUBLIC)),
    new Uint8ClampedArray(PUBLIC),
    new ArrayBuffer(PUBLIC),
    "key",
    null,
  ]) {
    await fails("type", async () => ctru.encapsulate(761, value), /must be a Uint8Array/);
    await fails("type", pool.encapsulateBatch(761, value, 1), /must be a Uint8Array/);
  }
  const gone = numbered(1, PUBLIC);
  structuredClone(gone.buffer, { transfer: [gone.buffer] });
  const buffer = new ArrayBuffer(2 * PUBLIC, { maxByteLength: 4 * PUBLIC });
  const outside = new Uint8Array(buffer, PUBLIC, PUBLIC);
  buffer.resize(PUBLIC);
  for (const array of [gone, outside]) {
    await fails("length", async () => ctru.encapsulate(761, array), /no memory any more/);
    await fails("length", async () => ctru.keypairs(761, 0, array), /no memory any more/);
    await fails("length", pool.keypairs(761, 0, array), /no memory any more/);
  }
  for (const set of [Symbol("761"), { toString: forbidden }, [761], "761", 761n, 762, "762-packed13", "-"]) {
    await fails("set", async () => ctru.keypair(set), /the sets are/);
  }
  for (const options of [null, 2]) await fails("type", ctru.pool(options), /an object/);
  pool.close();
}

async function numbersOfWorkers(ctru, fails) {
  for (const workers of [0, -1, 1.5, NaN, Infinity, "2", 257, 2 ** 31]) {
    await fails("type", ctru.pool({ workers }), /from 1 to 256/);
  }
  const pool = await ctru.pool();
  assert.ok(pool.workers >= 1 && pool.workers <= 256);
  pool.close();
}

/** After a trap, the memory of the instance is overwritten, and another instance does the work. */
async function instancesThatFailed(open, glue, fails) {
  const ctru = await open();
  const { memory } = glue.initSync();
  // A refused key is no trap.
  const refused = async () => ctru.keypairs(761, 3, seedsWith(3, 1, 0xee));
  await fails("encapsulation-key", refused, /row 1/);
  assert.equal(glue.initSync().memory, memory);
  await fails("internal", async () => ctru.keypair(761, seedsWith(1, 0, 0xff)), /unreachable/);
  assert.ok(new Uint8Array(memory.buffer).every((byte) => byte === 0));
  assert.notEqual(glue.initSync().memory, memory);
  assert.equal(await open(), ctru);
  ctru.keypair(761);

  // Without memory for another instance, the next operation tries again.
  glue.refuseInstances(2);
  const broken = glue.initSync().memory;
  await fails("internal", async () => ctru.keypair(761, seedsWith(1, 0, 0xff)), /no memory/);
  assert.ok(new Uint8Array(broken.buffer).every((byte) => byte === 0));
  await fails("internal", async () => ctru.keypair(761), /no memory/);
  ctru.keypair(761);
}

/** After a trap in a worker, the pool works as before. */
async function workersThatFailed(ctru, fails) {
  const pool = await ctru.pool({ workers: 3 });
  await fails("encapsulation-key", pool.keypairs(761, 6, seedsWith(6, 5, 0xee)), /row 5/);
  const failing = pool.keypairs(761, 6, seedsWith(6, 3, 0xff));
  const other = pool.keypairs(761, 6);
  await fails("internal", failing, /unreachable/);
  assert.equal((await other).decapsulationKeys.length, 6 * PRIVATE);
  await fails("length", pool.keypairs(761, 2 ** 32 - 1, undefined), /no memory/);
  pool.close();
  await fails("closed", pool.keypairs(761, 1), /the pool is closed/);
}

/** Replaces the workers of browsers by objects of a class during the work. */
async function withWorkers(Worker, work) {
  globalThis.Worker = Worker;
  try {
    await work();
  } finally {
    delete globalThis.Worker;
  }
}

async function workersThatDoNotStart(ctru, fails) {
  class Refused {
    constructor() {
      throw new DOMException("cannot be accessed from origin", "SecurityError");
    }
  }
  await withWorkers(Refused, () => fails("load", ctru.pool(), /cannot be accessed/));

  const workers = [];
  class Uncloneable {
    terminated = false;
    constructor() {
      workers.push(this);
    }
    postMessage() {
      throw new DOMException("cannot be cloned", "DataCloneError");
    }
    terminate() {
      this.terminated = true;
    }
  }
  const stopped = () => workers.splice(0).map(({ terminated }) => terminated);
  await withWorkers(Uncloneable, () => fails("load", ctru.pool({ workers: 2 }), /be cloned/));
  assert.deepEqual(stopped(), [true, true]);

  // The first worker fails before the pool has the second one.
  class Failing extends Uncloneable {
    constructor() {
      super();
      if (workers.length === 2) workers[0].onerror({ message: "no such file" });
    }
  }
  await withWorkers(Failing, () => fails("load", ctru.pool({ workers: 2 }), /no such file/));
  assert.deepEqual(stopped(), [true, true]);
}

/** Shares that cannot be sent leave no secret behind, in their operands or in other results. */
async function sharesThatCannotBeSent(ctru, fails) {
  const workers = [];
  class Stubborn {
    refuses = false;
    constructor() {
      workers.push(this);
    }
    postMessage(message) {
      if (message.compiled) {
        setTimeout(() => this.onmessage({ data: { ready: true } }));
        return;
      }
      this.operands = message.operands;
      if (this.refuses) throw new DOMException("out of memory", "DataCloneError");
      const [rows] = message.operands.slice(1);
      this.results = [PUBLIC, PRIVATE].map((size) => new Uint8Array(rows * size).fill(9));
      const { id } = message;
      setTimeout(() => this.onmessage({ data: { id, results: this.results } }), this.delay);
    }
    terminate() {}
  }
  const zero = (array) => assert.ok(array.every((byte) => byte === 0));
  await withWorkers(Stubborn, async () => {
    const pool = await ctru.pool({ workers: 3 });
    const pairs = await pool.keypairs(761, 6, numbered(6, PAIR_SEED));
    assert.ok(pairs.decapsulationKeys.every((byte) => byte === 9));
    for (const { results } of workers) results.forEach(zero);

    workers[1].refuses = true;
    const seeds = numbered(6, PAIR_SEED);
    const Plain = Uint8Array;
    const copies = [];
    globalThis.Uint8Array = class extends Plain {
      constructor(...from) {
        super(...from);
        if (ArrayBuffer.isView(from[0])) copies.push(this);
      }
    };
    try {
      await fails("internal", pool.keypairs(761, 6, seeds), /out of memory/);
    } finally {
      globalThis.Uint8Array = Plain;
    }
    assert.deepEqual(seeds, numbered(6, PAIR_SEED));
    // Only the first copy went to a worker.
    assert.equal(copies[1], workers[1].operands.at(-1));
    copies.slice(1).forEach(zero);
    // The first share was sent before, and its answer comes after the pool was closed.
    await new Promise((resolve) => setTimeout(resolve, 20));
    workers[0].results.forEach(zero);
    await fails("closed", pool.keypairs(761, 1), /out of memory/);
  });
}
