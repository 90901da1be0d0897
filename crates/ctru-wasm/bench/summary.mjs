// Prints the records of a file as a table, and the ratios between them: node summary.mjs FILE

import { readFile } from "node:fs/promises";

const text = await readFile(process.argv[2], "utf8");
const records = text.trim().split("\n").map((line) => JSON.parse(line));
const median = (fields) => {
  const matches = records.filter((record) =>
    Object.entries(fields).every(([name, value]) => record[name] === value),
  );
  return Math.min(...matches.map((record) => record.median_ns_per_op));
};

for (const { bench, engine, backend, set, op, batch, median_ns_per_op, spread } of records) {
  const time = (median_ns_per_op / 1000).toFixed(1).padStart(10);
  const name = [bench, engine, backend, set, op, batch > 1 ? `batch of ${batch}` : ""];
  console.log(`${time} us  ${(100 * spread).toFixed(0).padStart(3)} %  ${name.join("  ")}`);
}

const own = { bench: "single", engine: "ctru-wasm", backend: "simd128", set: "761" };
const scalar = { ...own, backend: "scalar" };
const times = (name, a, b) => console.log(`${(median(a) / median(b)).toFixed(2).padStart(8)}  ${name}`);
for (const op of ["encaps", "decaps"]) {
  const noble = { engine: "@noble/post-quantum", op };
  times(`${op}: time of @noble/post-quantum ML-KEM-768 / ours`, noble, { ...own, op });
  const native = { engine: "cpu", backend: "portable", set: "761", op };
  times(`${op}: our time / that of the portable backend outside of the browser`, { ...own, op }, native);
}
for (const op of ["keygen", "encaps", "decaps"]) {
  times(`${op}: time of scalar / simd128`, { ...scalar, op }, { ...own, op });
}
for (const op of ["keygen", "encaps", "decaps"]) {
  const batch = { bench: "batch", op };
  times(`${op}, batch: time of scalar / simd128`, { ...scalar, ...batch }, { ...own, ...batch });
}
const products = records.filter(({ bench }) => bench === "product on the CPU");
for (const set of new Set(products.map(({ set }) => set))) {
  const product = { bench: "product on the CPU", set };
  times(
    `product of ${set}: scalar / simd128`,
    { ...product, backend: "scalar" },
    { ...product, backend: "simd128" },
  );
}
