// Builds the program of a folder with each bundler and its defaults, and runs what they make in
// headless Chromium, and one of them in Node.js: node bundlers.mjs
//
// The folder is the current one. It has what is in ../bundlers, and the package and the bundlers in
// node_modules. Bundlers that leave addresses alone get a copy of the files beside their output.

import { execFile } from "node:child_process";
import { cp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";

import { openPage, serveFiles } from "./chromium.mjs";

const require = createRequire(resolve("package.json"));
const program = (name, ...options) => promisify(execFile)(`node_modules/.bin/${name}`, options);
const copy = (to) => cp("node_modules/ctru/ctru", `${to}/ctru`, { recursive: true });

/** Each builds into the folder that it gets. */
const BUNDLERS = {
  vite: (to) => program("vite", "build", "--outDir", to),
  parcel: (to) => program("parcel", "build", "index.html", "--dist-dir", to, "--no-cache"),
  async webpack(to) {
    const output = { path: resolve(to) };
    // Without its advice on files of more than 250,000 bytes, which the modules may exceed.
    const options = { mode: "production", entry: "./main.js", output, performance: false };
    const compiler = require("webpack")(options);
    const stats = await promisify(compiler.run.bind(compiler))();
    if (stats.hasErrors() || stats.hasWarnings()) throw new Error(stats.toString());
    await page(to);
  },
  async rollup(to) {
    await program("rollup", "main.js", "--plugin", "node-resolve", "--dir", to);
    await Promise.all([copy(to), page(to)]);
  },
  async esbuild(to) {
    await program("esbuild", "main.js", "--bundle", "--format=esm", `--outdir=${to}`);
    await Promise.all([copy(to), page(to)]);
  },
};

/** Parcel writes the map of imports into the page. */
const POLICY = "default-src 'self'; script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval'";

/** Writes the page of a program, where a bundler makes none. */
const page = (to) =>
  writeFile(`${to}/index.html`, `<!doctype html><script type="module" src="./main.js"></script>`);

const vite = await import(pathToFileURL(resolve("node_modules/vite/dist/node/index.js")));
const development = await vite.createServer({ server: { host: "127.0.0.1" }, logLevel: "warn" });
await development.listen();
const browser = await openPage(development.resolvedUrls.local[0]);
try {
  await expectPassed("vite, development");
  await development.close();
  await rm("out", { recursive: true, force: true });
  await Promise.all(Object.entries(BUNDLERS).map(([name, build]) => build(`out/${name}`)));
  for (const name of Object.keys(BUNDLERS)) {
    const server = await serveFiles({ "/": pathToFileURL(resolve("out", name) + "/") }, POLICY);
    await browser.open(server.address);
    await expectPassed(name);
    server.close();
  }
} finally {
  await browser.close();
}
globalThis.document = {};
await import(pathToFileURL(resolve("out/esbuild/main.js")));
report("esbuild, in Node.js", document.title);

/** Waits until the program in the browser has a result. */
async function expectPassed(name) {
  const title = await browser.waitForTitle(/^(passed|failed)/, 60).catch((error) => error.message);
  report(name, title, title === "passed" ? [] : await browser.problems());
}

function report(name, title, problems = []) {
  console.log([`${name}: ${title}`, ...problems].join("\n"));
  if (title !== "passed") process.exitCode = 1;
}
