// Checks the package of a folder in headless Chromium: node browser.mjs FOLDER VECTORS...
// Serves it under the strictest policy with which it works. Needs chromium and chromedriver.

import { basename, dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";

import { openPage, serveFiles } from "./chromium.mjs";

const [folder, ...vectors] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
const server = await serveFiles({
  "/": `<!doctype html><meta charset="utf-8"><script type="module" src="/page.js"></script>`,
  "/vectors": JSON.stringify(vectors.map((name) => `/vectors/${basename(name)}`)),
  ...Object.fromEntries(
    vectors.map((name) => [`/vectors/${basename(name)}`, new URL(`file://${resolve(name)}`)]),
  ),
  "/page.js": new URL(`file://${here}/page.js`),
  "/checks.js": new URL(`file://${here}/checks.js`),
  "/ctru/": new URL(`file://${resolve(folder)}/`),
});
const page = await openPage(server.address);
try {
  const title = await page.waitForTitle(/^(passed|failed)/, 300);
  const problems = await page.problems();
  console.log(`Chromium ${page.version}: ${title}`);
  if (!title.startsWith("passed") || problems.length > 0) {
    console.error(problems.join("\n"));
    process.exitCode = 1;
  }
} finally {
  await page.close();
  server.close();
}
