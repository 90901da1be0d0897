// Measures the package apart from the page, so that the page stays usable.

import { load } from "./ctru/index.js";

const SETS = [653, 761, 1277];
const BATCH = 512;
const WARM_UP_MS = 60;
const MEASURE_MS = 300;
// Clocks of browsers are coarse, so one sample takes at least this long.
const SAMPLE_MS = 5;

/**
 * Returns the median time of `operation` in nanoseconds, divided by `count`, with the spread and
 * the number of samples. The operation may return a promise.
 */
async function time(operation, count = 1) {
  // Waiting for what is no promise would cost time.
  const run = async (calls) => {
    for (let i = 0; i < calls; i++) {
      const result = operation();
      if (result instanceof Promise) await result;
    }
  };
  let calls = 0;
  const start = performance.now();
  while (performance.now() - start < WARM_UP_MS) {
    await run(1);
    calls++;
  }
  const perSample = Math.max(1, Math.ceil((SAMPLE_MS * calls) / WARM_UP_MS));
  const samples = [];
  const begin = performance.now();
  while (samples.length < 5 || performance.now() - begin < MEASURE_MS) {
    const before = performance.now();
    await run(perSample);
    samples.push(((performance.now() - before) * 1e6) / (perSample * count));
  }
  samples.sort((one, other) => one - other);
  const percentile = (percent) => samples[Math.floor(((samples.length - 1) * percent) / 100)];
  const median = percentile(50);
  return {
    ops_per_s: 1e9 / median,
    median_ns_per_op: median,
    spread: (percentile(90) - percentile(10)) / median,
    samples: samples.length,
  };
}

/** Posts a record of a measurement, as `ctru bench --json` writes it. */
function post(ctru, set, op, details, times) {
  const record = {
    engine: "browser",
    device: "this browser",
    backend: ctru.simd ? "wasm simd128" : "wasm",
    set: String(set),
    pk_encoding: "mixed-radix",
    op,
    transfers: "none",
    callers: 1,
    ...details,
    ...times,
    commit: "unknown",
    date: new Date().toISOString(),
  };
  postMessage({ record });
}

/** Measures single operations of one module. */
async function singles(ctru) {
  for (const set of SETS) {
    const { encapsulationKey, decapsulationKey } = ctru.keypair(set);
    const { ciphertext } = ctru.encapsulate(set, encapsulationKey);
    const operations = {
      keygen: () => ctru.keypair(set),
      encaps: () => ctru.encapsulate(set, encapsulationKey),
      decaps: () => ctru.decapsulate(set, decapsulationKey, ciphertext),
    };
    for (const [op, operation] of Object.entries(operations)) {
      const keys = op === "keygen" ? "each" : "one";
      const details = { bench: "single", keys, batch: 1, threads: 1 };
      post(ctru, set, op, details, await time(operation));
    }
  }
}

/** Measures batches on all cores, with a key for each operation. */
async function batches(ctru) {
  const pool = await ctru.pool();
  for (const set of SETS) {
    const { encapsulationKeys, decapsulationKeys } = await pool.keypairs(set, BATCH);
    const { ciphertexts } = await pool.encapsulateBatch(set, encapsulationKeys, BATCH);
    const operations = {
      keygen: () => pool.keypairs(set, BATCH),
      encaps: () => pool.encapsulateBatch(set, encapsulationKeys, BATCH),
      decaps: () => pool.decapsulateBatch(set, decapsulationKeys, ciphertexts),
    };
    for (const [op, operation] of Object.entries(operations)) {
      const details = { bench: "batch", keys: "each", batch: BATCH, threads: pool.workers };
      post(ctru, set, op, details, await time(operation, BATCH));
    }
  }
  pool.close();
}

try {
  const fastest = await load();
  await singles(fastest);
  await batches(fastest);
  if (fastest.simd) await singles(await load({ simd: false }));
  postMessage({ done: true });
} catch (error) {
  postMessage({ problem: error.message });
}
