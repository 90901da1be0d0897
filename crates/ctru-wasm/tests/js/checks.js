// Checks of the package that run in Node.js and in a browser.

/** Returns the bytes of a hexadecimal number. */
function fromHex(hex) {
  return Uint8Array.from(hex.match(/../g) ?? [], (digits) => parseInt(digits, 16));
}

function assert(condition, message) {
  if (!condition) throw new Error(message);
}

function same(a, b) {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}

function concat(arrays) {
  const bytes = new Uint8Array(arrays.reduce((sum, array) => sum + array.length, 0));
  let at = 0;
  for (const array of arrays) {
    bytes.set(array, at);
    at += array.length;
  }
  return bytes;
}

/**
 * Checks both modules. `files` are the texts of the files of vectors, one record a line. `memoryOf`
 * returns the memory of a module. Returns a line on what was checked.
 */
export async function check({ load, CtruError }, files, memoryOf) {
  const lines = [];
  assert((await load()).simd, "the host has vectors");
  for (const simd of [false, true]) {
    const ctru = await load({ simd });
    assert(ctru.simd === simd && ctru === (await load({ simd })), "one instance per module");
    const memory = await memoryOf(simd);
    const pool = await ctru.pool({ workers: 2 });
    let count = 0;
    for (const text of files) {
      const records = text.trim().split("\n").map((line) => JSON.parse(line));
      await checkRecords(ctru, pool, records);
      checkWiped(ctru, memory, records[0]);
      count += records.length;
    }
    checkRandomness(ctru);
    await checkErrors(ctru, pool, CtruError);
    pool.close();
    await rejects(CtruError, "closed", pool.keypairs(761, 1));
    await checkFailure(ctru, load, CtruError, memoryOf);
    lines.push(`${simd ? "simd128" : "scalar"}: ${count} vectors`);
  }
  await checkLoading(load, CtruError);
  return lines.join(", ");
}

function idOf({ set, n, pk_encoding: encoding }) {
  if (set !== undefined) return set;
  return encoding === "packed13" ? `${n}-packed13` : n;
}

/** The fields of a record as bytes. */
function read(record) {
  const value = (name) => fromHex(record[name]);
  return {
    keypairSeed: concat([value("keygen_seed"), fromHex(record.z ?? "")]),
    seed: value("encaps_seed"),
    encapsulationKey: value("pk"),
    decapsulationKey: value("sk"),
    ciphertext: value("ct"),
    sharedSecret: value("ss"),
    badCiphertext: value("bad_ct"),
    badSecret: value("bad_ss"),
  };
}

async function checkRecords(ctru, pool, records) {
  const set = idOf(records[0]);
  const vectors = records.map(read);
  for (const [row, vector] of vectors.entries()) {
    const pair = ctru.keypair(set, vector.keypairSeed);
    assert(same(pair.encapsulationKey, vector.encapsulationKey), `${set}, row ${row}: pk`);
    assert(same(pair.decapsulationKey, vector.decapsulationKey), `${set}, row ${row}: sk`);
    const sent = ctru.encapsulate(set, vector.encapsulationKey, vector.seed);
    assert(same(sent.ciphertext, vector.ciphertext), `${set}, row ${row}: ct`);
    assert(same(sent.sharedSecret, vector.sharedSecret), `${set}, row ${row}: ss`);
    const { decapsulationKey } = vector;
    const received = ctru.decapsulate(set, decapsulationKey, vector.ciphertext);
    assert(same(received, vector.sharedSecret), `${set}, row ${row}: decapsulation`);
    const rejected = ctru.decapsulate(set, decapsulationKey, vector.badCiphertext);
    assert(same(rejected, vector.badSecret), `${set}, row ${row}: rejection`);
  }
  const all = (name) => concat(vectors.map((vector) => vector[name]));
  const count = vectors.length;
  for (const batches of [ctru, pool]) {
    const pairs = await batches.keypairs(set, count, all("keypairSeed"));
    assert(same(pairs.encapsulationKeys, all("encapsulationKey")), `${set}: batch of pk`);
    assert(same(pairs.decapsulationKeys, all("decapsulationKey")), `${set}: batch of sk`);
    const sent = await batches.encapsulateBatch(set, pairs.encapsulationKeys, count, all("seed"));
    assert(same(sent.ciphertexts, all("ciphertext")), `${set}: batch of ct`);
    assert(same(sent.sharedSecrets, all("sharedSecret")), `${set}: batch of ss`);
    const { decapsulationKeys } = pairs;
    const secrets = await batches.decapsulateBatch(set, decapsulationKeys, all("ciphertext"));
    assert(same(secrets, all("sharedSecret")), `${set}: batch of decapsulations`);
    const bad = await batches.decapsulateBatch(set, decapsulationKeys, all("badCiphertext"));
    assert(same(bad, all("badSecret")), `${set}: batch of rejections`);
    // One key for all operations, and numbers of operations that the workers cannot share evenly.
    const [one] = vectors;
    const toOne = await batches.encapsulateBatch(set, one.encapsulationKey, 3);
    const ofOne = await batches.decapsulateBatch(set, one.decapsulationKey, toOne.ciphertexts);
    assert(same(ofOne, toOne.sharedSecrets), `${set}: one key for a batch`);
    const none = await batches.keypairs(set, 0);
    assert(none.encapsulationKeys.length === 0, `${set}: an empty batch`);
  }
}

/** Checks that the memory of the module holds no secret after an operation. */
function checkWiped(ctru, memory, record) {
  const set = idOf(record);
  const vector = read(record);
  ctru.keypair(set, vector.keypairSeed);
  ctru.encapsulate(set, vector.encapsulationKey, vector.seed);
  ctru.decapsulate(set, vector.decapsulationKey, vector.ciphertext);
  ctru.decapsulate(set, vector.decapsulationKey, vector.badCiphertext);
  // Batches hash the inputs of two operations at the same time.
  const thrice = (name) => concat(Array(3).fill(vector[name]));
  ctru.keypairs(set, 3, thrice("keypairSeed"));
  ctru.encapsulateBatch(set, vector.encapsulationKey, 3, thrice("seed"));
  ctru.decapsulateBatch(set, vector.decapsulationKey, thrice("ciphertext"));
  ctru.decapsulateBatch(set, vector.decapsulationKey, thrice("badCiphertext"));
  const content = new Uint8Array(memory.buffer);
  const secrets = {
    "the seed of a key pair": vector.keypairSeed.subarray(0, 32),
    z: vector.keypairSeed.subarray(32),
    "the secret polynomial": vector.decapsulationKey.subarray(0, 32),
    "the seed of an encapsulation": vector.seed,
    "a shared secret": vector.sharedSecret,
    "the secret of a rejection": vector.badSecret,
  };
  for (const [name, secret] of Object.entries(secrets)) {
    // Half of a secret is also one.
    for (const part of [secret.subarray(0, 16), secret.subarray(16, 32)]) {
      if (part.length > 0) assert(!contains(content, part), `${set}: ${name} is still in memory`);
    }
  }
  // The search finds what is there.
  const probe = content.slice(content.length >> 1, (content.length >> 1) + 16);
  assert(contains(content, probe), "the search in memory works");
}

function contains(content, part) {
  for (let at = content.indexOf(part[0]); at >= 0; at = content.indexOf(part[0], at + 1)) {
    if (same(content.subarray(at, at + part.length), part)) return true;
  }
  return false;
}

function checkRandomness(ctru) {
  const [a, b] = [ctru.keypair(653), ctru.keypair(653)];
  assert(!same(a.encapsulationKey, b.encapsulationKey), "random keys differ");
  const [first, second] = [0, 1].map(() => ctru.encapsulate(653, a.encapsulationKey));
  assert(!same(first.ciphertext, second.ciphertext), "random ciphertexts differ");
  // More randomness than one call of getRandomValues gives.
  const { decapsulationKeys } = ctru.keypairs(653, 1100);
  const size = ctru.sets[653].decapsulationKeyBytes;
  const z = new Set();
  for (let row = 1; row <= 1100; row++) {
    z.add(decapsulationKeys.subarray(row * size - 32, row * size).join());
  }
  assert(z.size === 1100, "all keys of a batch differ");
}

async function rejects(CtruError, code, promise, row) {
  const error = await promise.then(
    () => undefined,
    (error) => error,
  );
  assert(error instanceof CtruError && error instanceof Error, `${code}: ${error}`);
  assert(error.name === "CtruError" && error.code === code, `${code}: got ${error.code}`);
  assert(error.row === row, `${code}: got row ${error.row}`);
  assert(error.message.length > 10, "an error has a text");
}

async function checkErrors(ctru, pool, CtruError) {
  const set = 653;
  const { encapsulationKey, decapsulationKey } = ctru.keypair(set);
  const { ciphertext } = ctru.encapsulate(set, encapsulationKey);
  const throws = (code, work, row) =>
    rejects(CtruError, code, new Promise((resolve) => resolve(work())), row);
  await throws("set", () => ctru.keypair(762));
  await throws("set", () => ctru.keypair(undefined));
  await throws("set", () => ctru.decapsulate("653", decapsulationKey, ciphertext));
  // 653 is in the list of sets, so the text shows that this one is a string.
  const ofString = await new Promise((resolve) => resolve(ctru.keypair("653"))).catch((e) => e);
  assert(ofString.message.endsWith('got "653"'), ofString.message);
  await throws("type", () => ctru.encapsulate(set, [...encapsulationKey]));
  await throws("type", () => ctru.encapsulate(set, encapsulationKey, null));
  await throws("type", () => ctru.decapsulate(set, decapsulationKey, new Uint16Array(8)));
  await throws("length", () => ctru.encapsulate(set, encapsulationKey.subarray(1)));
  await throws("length", () => ctru.encapsulate(set, new Uint8Array(0)));
  await throws("length", () => ctru.encapsulate(set, encapsulationKey, new Uint8Array(31)));
  await throws("length", () => ctru.keypair(set, new Uint8Array(128)));
  await throws("length", () => ctru.decapsulate(set, decapsulationKey, new Uint8Array(5)));
  await throws("length", () => ctru.decapsulate(set, new Uint8Array(2), ciphertext));
  await throws("length", () => ctru.keypairs(set, 2 ** 32 - 1));
  // The bytes of an array count, and not what it says.
  for (const value of [0, 2 ** 32 - 1, 2 ** 32 + encapsulationKey.length]) {
    const key = Object.defineProperty(decapsulationKey.slice(), "length", { value });
    const received = ctru.decapsulate(set, key, ciphertext);
    assert(same(received, ctru.decapsulate(set, decapsulationKey, ciphertext)), "a false length");
  }
  // Memory that was transferred, and memory that is shared.
  const transferred = encapsulationKey.slice();
  structuredClone(transferred.buffer, { transfer: [transferred.buffer] });
  await throws("length", () => ctru.encapsulate(set, transferred));
  await throws("length", () => ctru.encapsulate(set, encapsulationKey, transferred));
  await throws("length", () => ctru.decapsulate(set, decapsulationKey, transferred));
  await throws("length", () => ctru.keypair(set, transferred));
  await rejects(CtruError, "length", pool.encapsulateBatch(set, transferred, 2));
  await throws("type", () => ctru.encapsulate(set, new Proxy(encapsulationKey, {})));
  const noKey = new Uint8Array(encapsulationKey.length);
  await throws("encapsulation-key", () => ctru.encapsulate(set, noKey));
  const noSecretKey = decapsulationKey.slice().fill(0xff, 0, 300);
  await throws("decapsulation-key", () => ctru.decapsulate(set, noSecretKey, ciphertext));
  await throws("type", () => ctru.pool({ workers: 0 }));
  await throws("type", () => ctru.pool({ workers: 257 }));

  const keys = concat([0, 1, 2, 3, 4].map((row) => (row > 2 ? noKey : encapsulationKey)));
  const ciphertexts = concat([0, 1, 2, 3].map(() => ciphertext));
  const secretKeys = concat([0, 1, 2, 3].map((row) => (row > 2 ? noSecretKey : decapsulationKey)));
  for (const batches of [ctru, pool]) {
    const batch = (work) => new Promise((resolve) => resolve(work()));
    const fails = (code, work, row) => rejects(CtruError, code, batch(work), row);
    await fails("encapsulation-key", () => batches.encapsulateBatch(set, keys, 5), 3);
    const decapsulate = () => batches.decapsulateBatch(set, secretKeys, ciphertexts);
    await fails("decapsulation-key", decapsulate, 3);
    await fails("encapsulation-key", () => batches.encapsulateBatch(set, noKey, 0), 0);
    const none = new Uint8Array(0);
    await fails("decapsulation-key", () => batches.decapsulateBatch(set, noSecretKey, none), 0);
    assert((await batches.keypairs(set, 0)).encapsulationKeys.length === 0, "no pairs");
    await fails("length", () => batches.encapsulateBatch(set, keys, 4));
    await fails("length", () => batches.encapsulateBatch(set, encapsulationKey.subarray(1), 2));
    await fails("length", () => batches.encapsulateBatch(set, keys, 5, new Uint8Array(64)));
    await fails("length", () => batches.keypairs(set, 2, new Uint8Array(64)));
    await fails("length", () => batches.keypairs(set, 2 ** 32 - 1));
    const half = ciphertexts.subarray(7);
    await fails("length", () => batches.decapsulateBatch(set, decapsulationKey, half));
    await fails("type", () => batches.keypairs(set, -1));
    await fails("type", () => batches.keypairs(set, 1.5));
    await fails("type", () => batches.decapsulateBatch(set, decapsulationKey, "ciphertexts"));
    await fails("set", () => batches.keypairs(17, 1));
    // A batch that was refused leaves nothing behind.
    const pairs = await batches.keypairs(set, 3);
    assert(pairs.encapsulationKeys.length === 3 * encapsulationKey.length, "the next batch");
  }
}

async function checkLoading(load, CtruError) {
  await rejects(CtruError, "type", load({ simd: "yes" }));
  await rejects(CtruError, "type", load({ module: "a string" }));
  const empty = new WebAssembly.Module(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0));
  await rejects(CtruError, "load", load({ module: empty }));
}

/**
 * Checks that an instance that has failed leaves no secret, and that another one does the work of
 * all who use it.
 */
async function checkFailure(ctru, load, CtruError, memoryOf) {
  const throws = (work) => rejects(CtruError, "internal", new Promise((done) => done(work())));
  const set = 653;
  const seed = Uint8Array.from({ length: 64 }, (_, at) => at);
  const { encapsulationKey, decapsulationKey } = ctru.keypair(set, seed);
  const { ciphertext, sharedSecret } = ctru.encapsulate(set, encapsulationKey);
  const memory = await memoryOf(ctru.simd);
  // The module calls this function at the end of an operation.
  const { of } = Array;
  Array.of = () => {
    throw new Error("stopped");
  };
  await throws(() => ctru.keypair(set, seed));
  Array.of = of;
  assert(new Uint8Array(memory.buffer).every((byte) => byte === 0), "the memory is overwritten");
  assert((await memoryOf(ctru.simd)) !== memory, "another instance");
  assert(ctru === (await load({ simd: ctru.simd })), "the same object");
  assert(same(ctru.decapsulate(set, decapsulationKey, ciphertext), sharedSecret), "it works");

  // Operations at the end of the stack, which stop in many places, until one has enough of it.
  let failures = 0;
  let pair;
  (function descend() {
    try {
      descend();
    } catch {
      // There is no stack for another call.
    }
    if (pair) return;
    try {
      pair = ctru.keypair(set, seed);
    } catch {
      failures++;
    }
  })();
  assert(failures > 10, `the stack ends within ${failures} places`);
  assert(same(pair.encapsulationKey, encapsulationKey), "the key after overflows of the stack");
}
