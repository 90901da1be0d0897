// Measures in headless Chromium, and prints the records: node measure.mjs FOLDER ROUNDS

import { execFileSync } from "node:child_process";
import { cpus } from "node:os";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";

import { openPage, serveFiles } from "../tests/js/chromium.mjs";

const [work, rounds] = [resolve(process.argv[2]), process.argv[3]];
const here = dirname(fileURLToPath(import.meta.url));
const folder = (path) => new URL(`file://${resolve(path)}/`);
const module = (name) =>
  new URL(`file://${work}/${name}/wasm32-unknown-unknown/release/bench_module.wasm`);
const imports = {
  "@noble/hashes/": "/noble/hashes/",
  "@noble/curves/": "/noble/curves/",
  "@noble/ciphers/": "/noble/ciphers/",
};
const server = await serveFiles(
  {
    "/": `<!doctype html><meta charset="utf-8">
<script type="importmap">${JSON.stringify({ imports })}</script>
<script type="module" src="/page.js"></script>`,
    "/page.js": new URL(`file://${here}/page.js`),
    "/rounds": rounds,
    "/ctru/": folder(`${here}/../npm`),
    "/noble/": folder(`${work}/node_modules/@noble`),
    "/scalar.wasm": module("scalar"),
    "/simd128.wasm": module("simd128"),
  },
  // The address book of imports is an inline script.
  "default-src 'self'; script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval'",
);
const git = execFileSync("git", ["rev-parse", "--short=12", "HEAD"], { cwd: here });
const page = await openPage(server.address);
try {
  const title = await page.waitForTitle(/^(done|failed)/, 900);
  if (title !== "done") throw new Error(title);
  const common = {
    device: `${cpus()[0].model}, Chromium ${page.version}`,
    transfers: "none",
    threads: 1,
    commit: git.toString().trim(),
    date: `${new Date().toISOString().slice(0, 19)}Z`,
  };
  for (const record of await page.run("return window.records")) {
    const keys = record.op === "keygen" ? "each" : "one";
    console.log(JSON.stringify({ ...record, keys, ...common }));
  }
} finally {
  await page.close();
  server.close();
}
