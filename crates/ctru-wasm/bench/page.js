// The page of measure.mjs: measures all subjects in turns, for as many rounds as the server says.

import { load } from "/ctru/index.js";
import { ml_kem768 as noble } from "/noble/post-quantum/ml-kem.js";

/** The least time of a measurement. The clock of a page is coarse. */
const LEAST_MS = 5;
const WARM_UP_MS = 200;

const records = [];
const subjects = [];

function subject(fields, run) {
  subjects.push({ fields: { pk_encoding: "mixed-radix", batch: 1, ...fields }, run });
}

/** Adds a function that calls `operation` so many times. */
function repeated(fields, operation) {
  subject(fields, (count) => {
    for (let i = 0; i < count; i++) operation();
  });
}

/** Measures the time from nothing to the first results: download, compilation and operations. */
async function first(simd) {
  const start = performance.now();
  const ctru = await load({ simd });
  const loaded = performance.now();
  const { encapsulationKey, decapsulationKey } = ctru.keypair(761);
  const { ciphertext } = ctru.encapsulate(761, encapsulationKey);
  ctru.decapsulate(761, decapsulationKey, ciphertext);
  const end = performance.now();
  records.push({
    bench: "first operation",
    engine: "ctru-wasm",
    backend: simd ? "simd128" : "scalar",
    set: "761",
    pk_encoding: "mixed-radix",
    op: "load, keygen, encaps, decaps",
    batch: 1,
    ops_per_s: 1000 / (end - start),
    median_ns_per_op: 1e6 * (end - start),
    spread: 0,
    samples: 1,
    figures: { loading_ns: 1e6 * (loaded - start) },
  });
  return ctru;
}

function addPackage(ctru) {
  const own = { bench: "single", engine: "ctru-wasm", backend: ctru.simd ? "simd128" : "scalar" };
  for (const set of Object.keys(ctru.sets).map(Number).filter(Number.isInteger)) {
    const { encapsulationKey, decapsulationKey } = ctru.keypair(set);
    const { ciphertext } = ctru.encapsulate(set, encapsulationKey);
    const fields = { ...own, set: String(set) };
    repeated({ ...fields, op: "keygen" }, () => ctru.keypair(set));
    repeated({ ...fields, op: "encaps" }, () => ctru.encapsulate(set, encapsulationKey));
    repeated({ ...fields, op: "decaps" }, () => ctru.decapsulate(set, decapsulationKey, ciphertext));
    // Per operation, in batches of 128. Key pairs share one inversion, and with vectors two
    // operations share their hashing.
    const batch = { ...fields, bench: "batch", batch: 128 };
    const ciphertexts = ctru.encapsulateBatch(set, encapsulationKey, 128).ciphertexts;
    subject({ ...batch, op: "keygen" }, () => ctru.keypairs(set, 128));
    subject({ ...batch, op: "encaps" }, () => ctru.encapsulateBatch(set, encapsulationKey, 128));
    subject({ ...batch, op: "decaps" }, () =>
      ctru.decapsulateBatch(set, decapsulationKey, ciphertexts),
    );
  }
}

async function addModule(name) {
  const { instance } = await WebAssembly.instantiateStreaming(fetch(`/${name}.wasm`));
  const run = instance.exports;
  for (const product of Object.keys(run).filter((key) => key.startsWith("product_"))) {
    const set = product.slice("product_".length);
    const fields = { bench: "product on the CPU", engine: "ctru-math", op: "NTT", set };
    subject({ ...fields, backend: name }, run[product]);
  }
  const peer = { bench: "single", engine: "ml-kem", set: "ML-KEM-768", pk_encoding: "12-bit" };
  for (const op of ["keygen", "encaps", "decaps"]) {
    subject({ ...peer, backend: name, op }, run[`ml_kem_${op}`]);
  }
}

function addNoble() {
  const { publicKey, secretKey } = noble.keygen();
  const { cipherText } = noble.encapsulate(publicKey);
  const fields = {
    bench: "single",
    engine: "@noble/post-quantum",
    backend: "JavaScript",
    set: "ML-KEM-768",
    pk_encoding: "12-bit",
  };
  repeated({ ...fields, op: "keygen" }, () => noble.keygen());
  repeated({ ...fields, op: "encaps" }, () => noble.encapsulate(publicKey));
  repeated({ ...fields, op: "decaps" }, () => noble.decapsulate(cipherText, secretKey));
}

/** Returns the time of a call in milliseconds. */
function timeOf(run, count) {
  const start = performance.now();
  run(count);
  return performance.now() - start;
}

/** Warms a subject up, and finds how many repetitions one measurement takes. */
function prepare(subject) {
  const end = performance.now() + WARM_UP_MS;
  let [count, time] = [1, 0];
  do {
    time = timeOf(subject.run, count);
    // A batch has its own number of operations.
    if (time < LEAST_MS && subject.fields.batch === 1) count *= 2;
  } while (performance.now() < end || (time < LEAST_MS && subject.fields.batch === 1));
  subject.count = count;
  subject.times = [];
}

function quantile(sorted, part) {
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))];
}

function recordOf({ fields, count, times }) {
  const operations = count * fields.batch;
  const sorted = times.map((time) => (1e6 * time) / operations).sort((a, b) => a - b);
  const median = quantile(sorted, 0.5);
  return {
    ...fields,
    ops_per_s: 1e9 / median,
    median_ns_per_op: median,
    spread: (quantile(sorted, 0.9) - quantile(sorted, 0.1)) / median,
    samples: sorted.length,
  };
}

try {
  const [scalar, simd128] = [await first(false), await first(true)];
  addPackage(scalar);
  addPackage(simd128);
  await addModule("scalar");
  await addModule("simd128");
  addNoble();
  subjects.forEach(prepare);
  const rounds = Number(await (await fetch("/rounds")).text());
  for (let round = 0; round < rounds; round++) {
    for (const subject of subjects) subject.times.push(timeOf(subject.run, subject.count));
    // The page stays alive.
    await new Promise((resolve) => setTimeout(resolve));
  }
  records.push(...subjects.map(recordOf));
  window.records = records;
  document.title = "done";
} catch (error) {
  document.title = `failed: ${error.stack ?? error}`;
}
