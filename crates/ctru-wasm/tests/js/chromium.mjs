// A server of files, and a page in headless Chromium, driven through chromedriver.

import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const TYPES = {
  ".js": "text/javascript",
  ".mjs": "text/javascript",
  ".json": "application/json",
  ".jsonl": "application/jsonl",
  ".wasm": "application/wasm",
};

/** Pages may load what the server has, and run it and WebAssembly. */
const STRICT = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'";

/**
 * Serves texts, files (URLs), and folders (URLs and paths that end with a slash), on a free port of
 * this machine.
 */
export async function serveFiles(paths, policy = STRICT) {
  const server = createServer(async (request, response) => {
    const path = new URL(request.url, "http://localhost").pathname;
    const folder = Object.keys(paths).find((key) => paths[key] instanceof URL
      && key.endsWith("/") && path.startsWith(key));
    const name = folder && (path.slice(folder.length) || "index.html");
    const source = folder ? new URL(name, paths[folder]) : paths[path];
    try {
      const body = typeof source === "string" ? source : await readFile(source);
      const type = TYPES[extname(path)] ?? (path === "/" ? "text/html" : "application/json");
      response.writeHead(200, {
        "Content-Type": type,
        "Content-Security-Policy": policy,
      });
      response.end(body);
    } catch {
      response.writeHead(path === "/favicon.ico" ? 204 : 404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    address: `http://127.0.0.1:${server.address().port}/`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Opens a page in a new Chromium. */
export async function openPage(address) {
  const driver = spawn("chromedriver", ["--port=0"], { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  const port = await new Promise((resolve, reject) => {
    driver.on("error", reject);
    driver.on("exit", () => reject(new Error("chromedriver has ended")));
    driver.stdout.on("data", (text) => {
      output += text;
      const match = output.match(/successfully on port (\d+)/);
      if (match) resolve(match[1]);
    });
  });
  const call = async (method, path, body) => {
    const response = await fetch(`http://127.0.0.1:${port}/session${path}`, {
      method,
      body: body && JSON.stringify(body),
    });
    const { value } = await response.json();
    if (!response.ok) throw new Error(`${value.error}: ${value.message}`);
    return value;
  };
  // A container has no sandbox and little shared memory.
  const args = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"];
  const { sessionId, capabilities } = await call("POST", "", {
    capabilities: {
      alwaysMatch: {
        browserName: "chrome",
        "goog:chromeOptions": { args },
        "goog:loggingPrefs": { browser: "ALL" },
      },
    },
  });
  const open = (url) => call("POST", `/${sessionId}/url`, { url });
  await open(address);
  return {
    /** Opens another page. */
    open,
    version: capabilities.browserVersion,
    /** Waits until the title matches, for at most `seconds`, and returns it. */
    async waitForTitle(pattern, seconds) {
      const end = Date.now() + 1000 * seconds;
      while (Date.now() < end) {
        const title = await call("GET", `/${sessionId}/title`);
        if (pattern.test(title)) return title;
        await sleep(100);
      }
      throw new Error(`the page has no result after ${seconds} s`);
    },
    /** Returns the result of the script, a function body. */
    run: (script, args = []) => call("POST", `/${sessionId}/execute/sync`, { script, args }),
    /** Returns the warnings and errors of the console. */
    async problems() {
      const entries = await call("POST", `/${sessionId}/se/log`, { type: "browser" });
      return entries
        .filter(({ level }) => level === "SEVERE" || level === "WARNING")
        .map(({ message }) => message);
    },
    async close() {
      await call("DELETE", `/${sessionId}`).catch(() => {});
      driver.kill();
    },
  };
}
