// Checks the code of the package around its modules, without them: node isolated.mjs
//
// The modules are replaced by a file whose outputs repeat bytes of the inputs, so nothing has to be
// built. The file fails where the first byte of an input asks for it.

import assert from "node:assert/strict";
import { cp, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

/** The sizes of the set of the stand-in: keys, ciphertext, secret and seeds. */
const [PUBLIC, PRIVATE, CIPHERTEXT, SECRET, PAIR_SEED, SEED] = [5, 6, 4, 3, 64, 32];

const STAND_IN = `
  const sizes = () => [${[PUBLIC, PRIVATE, CIPHERTEXT, SECRET, PAIR_SEED, SEED]}];
  /** Rows that are filled with the first byte of their inputs. */
  function rows(count, size, input = new Uint8Array(count), inputSize = 1) {
    const filled = new Uint8Array(count * size);
    for (let row = 0; row < count; row++) {
      const byte = input[input.length === inputSize ? 0 : row * inputSize];
      if (byte === 0xee) throw ["encapsulation-key", "not a key", row];
      if (byte === 0xff) throw new WebAssembly.RuntimeError("unreachable");
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
  export { sizes, generate, encapsulate, decapsulate };
  export default async () => {};
`;

/** A module of WebAssembly that has nothing in it. */
const EMPTY = new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]);

const folder = await mkdtemp(join(tmpdir(), "ctru-"));
try {
  const npm = fileURLToPath(new URL("../../npm/", import.meta.url));
  for (const name of await readdir(npm)) {
    if (/\.(js|json)$/.test(name)) await cp(join(npm, name), join(folder, name));
  }
  for (const name of ["simd128.js", "scalar.js"]) await writeFile(join(folder, name), STAND_IN);
  const { load } = await import(pathToFileURL(join(folder, "index.js")));
  const open = () => load({ module: EMPTY });

  await buffersStayWithTheCaller(await open());
} finally {
  await rm(folder, { recursive: true });
}
console.log("the code around the modules: passed");

/** Returns rows whose bytes are the numbers of the rows, from 1. */
function numbered(count, size) {
  return Uint8Array.from({ length: count * size }, (_, at) => 1 + Math.floor(at / size));
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
