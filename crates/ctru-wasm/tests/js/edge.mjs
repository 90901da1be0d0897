// Checks the package where a host compiles no WebAssembly at run time, and has neither files nor
// workers: node --experimental-vm-modules edge.mjs FOLDER

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { createContext, SourceTextModule } from "node:vm";

const folder = process.argv[2];
const globals = { crypto, TextDecoder, TextEncoder, URL };
const context = createContext(globals, { codeGeneration: { strings: false, wasm: false } });
const modules = new Map();

/** Returns a module of the package, which all that import it share. */
async function open(name, importer) {
  const path = resolve(dirname(importer.identifier), name);
  const source = await readFile(path, "utf8");
  // Modules have no address here.
  const made = new SourceTextModule(source, { context, identifier: path });
  modules.set(path, modules.get(path) ?? made);
  return modules.get(path);
}

const index = await open("./index.js", { identifier: resolve(folder, "package.json") });
await index.link(open);
await index.evaluate();
const { load } = index.namespace;
for (const name of ["simd128", "scalar"]) {
  const file = await readFile(resolve(folder, "ctru", `${name}_bg.wasm`));
  await assert.rejects(load({ module: file, simd: name === "simd128" }), { code: "load" });
  const ctru = await load({ module: await WebAssembly.compile(file) });
  assert.equal(ctru.simd, name === "simd128");
  const { encapsulationKey, decapsulationKey } = ctru.keypair(761);
  const { ciphertext, sharedSecret } = ctru.encapsulate(761, encapsulationKey);
  assert.deepEqual(ctru.decapsulate(761, decapsulationKey, ciphertext), sharedSecret);
  assert.throws(() => ctru.decapsulate(761, decapsulationKey, sharedSecret), { code: "length" });
  await assert.rejects(ctru.pool(), { code: "load" });
}
console.log("a host that compiles nothing: passed");
