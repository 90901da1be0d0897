// Runs a program of the target wasm32-wasip1: node wasi.mjs PROGRAM ARGUMENTS...

import { readFile } from "node:fs/promises";
import { WASI } from "node:wasi";

const args = process.argv.slice(2);
const wasi = new WASI({ version: "preview1", args, preopens: { "/": "/" } });

// Optimised WebAssembly calls the functions of `node:wasi` as fast calls, during which the garbage
// collector must not run. They can start it, and then Node.js crashes later (nodejs/node, issues
// 46777 and 53087). Calls of functions in JavaScript are no fast calls.
const imports = wasi.getImportObject();
for (const functions of Object.values(imports)) {
  for (const [name, call] of Object.entries(functions)) {
    functions[name] = (...values) => call(...values);
  }
}

const program = await WebAssembly.compile(await readFile(args[0]));
process.exit(wasi.start(await WebAssembly.instantiate(program, imports)));
