// The page of browser.mjs. Writes the result to the title, which the driver reads.

import { check } from "/checks.js";
import * as ctru from "/ctru/index.js";

const memoryOf = async (simd) => {
  const glue = await import(simd ? "/ctru/ctru/simd128.js" : "/ctru/ctru/scalar.js");
  return glue.initSync().memory;
};

try {
  const names = await (await fetch("/vectors")).json();
  const files = await Promise.all(names.map(async (name) => (await fetch(name)).text()));
  document.title = `passed: ${await check(ctru, files, memoryOf)}`;
} catch (error) {
  document.title = `failed: ${error.stack ?? error}`;
}
