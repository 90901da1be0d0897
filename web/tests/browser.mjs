// What the tests in Chromium share: a server for the page, a browser that notes every complaint,
// and the check of accessibility.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import path from "node:path";

/** The folder with node_modules, the assembled page in `site`, and the results. */
export const WORK = path.resolve(process.env.CTRU_PAGE_WORK);
const require = createRequire(path.join(WORK, "package.json"));
const { chromium } = require("playwright-core");

const TYPES = {
  ".css": "text/css",
  ".html": "text/html",
  ".js": "text/javascript",
  ".svg": "image/svg+xml",
  ".wasm": "application/wasm",
};
export const POLICY =
  "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; base-uri 'none'; form-action 'none'";

/** Serves the page as web/README.md advises. Returns the server. */
export async function serve() {
  const server = createServer(async (request, response) => {
    const name = path.normalize(new URL(request.url, "http://host").pathname);
    const type = TYPES[path.extname(name)];
    try {
      const content = await readFile(path.join(WORK, "site", name));
      response.writeHead(200, {
        "Content-Type": type,
        "Content-Security-Policy": POLICY,
        "X-Content-Type-Options": "nosniff",
      });
      response.end(content);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return server;
}

export function launch() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-dev-shm-usage",
      "--no-first-run",
    ],
  });
}

export const MODES = {
  light: { viewport: { width: 1180, height: 900 }, colorScheme: "light" },
  dark: { viewport: { width: 1180, height: 900 }, colorScheme: "dark" },
  phone: { viewport: { width: 375, height: 812 }, colorScheme: "light", hasTouch: true },
};

/** Opens an address. `page.complaints` collects all that must not happen. */
export async function open(browser, address, options = MODES.light) {
  const context = await browser.newContext({ ...options, acceptDownloads: true });
  const page = await context.newPage();
  page.complaints = [];
  const { origin } = new URL(address);
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) page.complaints.push(message.text());
  });
  page.on("pageerror", (error) => page.complaints.push(`exception: ${error.message}`));
  page.on("request", (request) => {
    const url = new URL(request.url());
    const known = origin === "null" ? request.url() === address : url.origin === origin;
    if (!known) page.complaints.push(`request: ${request.url()}`);
  });
  await page.exposeFunction("complain", (text) => page.complaints.push(text));
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (event) =>
      window.complain(`policy: ${event.violatedDirective} ${event.blockedURI}`),
    );
  });
  page.response = await page.goto(address);
  return page;
}

/** Closes a page, about which there must be no complaint. */
export async function close(page) {
  assert.deepEqual(page.complaints, []);
  await page.context().close();
}

/** Checks the page with axe-core, with all details open, and that the window is wide enough. */
export async function accessible(page) {
  await page.evaluate(() => {
    for (const details of document.querySelectorAll("details")) details.open = true;
  });
  await page.evaluate(await readFile(require.resolve("axe-core/axe.min.js"), "utf8"));
  const violations = await page.evaluate(async () => {
    const { violations, passes } = await window.axe.run();
    if (passes.length < 20) throw new Error(`axe ran only ${passes.length} rules`);
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
  });
  assert.deepEqual(violations, []);
  const excess = await page.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  );
  assert.ok(excess <= 0, `the page is ${excess} pixels too wide`);
}
