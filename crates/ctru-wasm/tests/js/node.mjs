// Checks the package of a folder in Node.js: node node.mjs FOLDER VECTORS...

import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

import { check } from "./checks.js";

const [folder, ...names] = process.argv.slice(2);
const file = (name) => pathToFileURL(resolve(folder, name));
const glue = (simd) => import(file(simd ? "ctru/simd128.js" : "ctru/scalar.js"));
const files = await Promise.all(names.map((name) => readFile(name, "utf8")));
const ctru = await import(file("index.js"));

// A module that cannot be loaded is an error, and another call may succeed.
const failed = await ctru.load({ module: new Uint8Array(9) }).catch((error) => error);
if (failed.code !== "load") throw new Error(`code "load", got ${failed}`);
const bytes = await readFile(file("ctru/simd128_bg.wasm"));
if (!(await ctru.load({ simd: true, module: bytes })).simd) throw new Error("bytes of a module");
// A compiled module says which one it is.
const compiled = await WebAssembly.compile(await readFile(file("ctru/scalar_bg.wasm")));
if ((await ctru.load({ module: compiled })).simd) throw new Error("a compiled module");

const memoryOf = async (simd) => (await glue(simd)).initSync().memory;
console.log(`Node.js ${process.versions.node}: ${await check(ctru, files, memoryOf)}`);
