// Drives the page in Chromium, as a reader does.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { appendFileSync, mkdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";

import { SETS as SNTRUP } from "../ntruprime.js";
import { SETS } from "../scheme.js";
import { MODES, POLICY, WORK, accessible, close, launch, open, serve } from "./browser.mjs";

let browser;
let server;
let address;

before(async () => {
  mkdirSync(path.join(WORK, "shots"), { recursive: true });
  server = await serve();
  address = `http://127.0.0.1:${server.address().port}/index.html`;
  browser = await launch();
});

after(async () => {
  await browser?.close();
  server?.close();
});

/** Opens the page and waits until the KEM works. */
async function start(options) {
  const page = await open(browser, address, options);
  await page.locator("#arrived .verdict").waitFor();
  return page;
}

const secret = async (page, id) =>
  (await page.locator(`#${id} code`).innerText()).replace(/\s/g, "");
const verdict = (page, id) => page.locator(`#${id} .verdict`).innerText();
const cell = (page, id, at) => page.locator(`#${id} [role="gridcell"]`).nth(at);

/** Replaces the bytes of a field by hexadecimal text. */
async function write(page, id, hex) {
  const field = page.locator(`#${id}`);
  if (!(await field.locator("textarea").isVisible())) await field.locator("summary").click();
  await field.locator("textarea").fill(hex);
  await field.getByRole("button", { name: "Use this text" }).click();
}

for (const set of [...SETS.map((set) => `CTRU-Prime-${set}`), ...SNTRUP]) {
  test(`a secret is agreed, and a flipped bit gives another one, ${set}`, async () => {
    const page = await start();
    await page.getByRole("radio", { name: set }).check();
    const bob = await secret(page, "bob-secret");
    assert.match(bob, /^[0-9a-f]{64}$/);
    assert.equal(await secret(page, "sent"), bob);
    assert.match(await verdict(page, "sent"), /Accepted/);
    assert.match(await verdict(page, "arrived"), /Rejected: another secret, no error/);
    const rejected = await secret(page, "arrived");
    assert.notEqual(rejected, bob);

    const ciphertext = page.locator("#ciphertext");
    await ciphertext.getByRole("button", { name: "Restore" }).click();
    assert.match(await verdict(page, "arrived"), /Accepted/);
    assert.equal(await secret(page, "arrived"), bob);
    await ciphertext.getByRole("button", { name: "Flip a bit" }).click();
    assert.equal(await secret(page, "arrived"), rejected);
    assert.equal(await page.locator(".problem:visible").count(), 0);

    await page.getByRole("button", { name: "Make a new key pair" }).click();
    assert.notEqual(await secret(page, "bob-secret"), bob);
    const first = await secret(page, "bob-secret");
    await page.getByRole("button", { name: "Encapsulate again" }).click();
    assert.notEqual(await secret(page, "bob-secret"), first);
    assert.match(await verdict(page, "sent"), /Accepted/);
    if (SNTRUP.includes(set)) {
      const pictures = page.getByText("Choose a set of CTRU-Prime to see this picture.");
      await pictures.last().waitFor();
      assert.equal(await pictures.count(), 2);
      await page.getByRole("radio", { name: "CTRU-Prime-761" }).check();
    }
    const noise = page.locator("#noise-state");
    await noise.waitFor();
    assert.match(await noise.innerText(), /The noise reaches \d+/);
    await close(page);
  });
}

test("bytes are changed by keys", async () => {
  const page = await start();
  const field = page.locator("#ciphertext");
  await field.getByRole("button", { name: "Restore" }).click();
  await cell(page, "ciphertext", 0).click();
  const was = await cell(page, "ciphertext", 0).innerText();
  const other = was === "5a" ? "a5" : "5a";
  await page.keyboard.press(other[0]);
  await page.keyboard.press(other[1]);
  assert.equal(await cell(page, "ciphertext", 0).innerText(), other);
  assert.match(await verdict(page, "arrived"), /Rejected/);
  assert.match(await field.locator(".bytes-head").innerText(), /952 bytes, 1 changed/);
  assert.match(
    await field.locator(".byte-state").innerText(),
    /^Byte 1 is .*coefficients 0 and 1\.$/,
  );
  await page.keyboard.press("ArrowLeft");
  assert.match(await field.locator(".byte-state").innerText(), new RegExp(`was ${was}`));
  await page.keyboard.press("End");
  assert.match(await field.locator(".byte-state").innerText(), /^Byte 951 .*coefficient 760\.$/);
  await page.keyboard.press("Space");
  assert.match(await field.locator(".bytes-head").innerText(), /2 changed/);
  await page.keyboard.press("Home");
  for (const digit of was) await page.keyboard.press(digit);
  assert.match(await field.locator(".bytes-head").innerText(), /1 changed/);
  await close(page);
});

test("wrong input is named", async () => {
  const page = await start();
  const bob = await secret(page, "bob-secret");
  const problem = page.locator("#encapsulate-problem");
  await write(page, "encapsulation-key", "00ff");
  assert.match(await problem.innerText(), /CtruError “length”: /);
  await write(page, "encapsulation-key", "00".repeat(1158));
  assert.match(await problem.innerText(), /CtruError “encapsulation-key”/);
  assert.equal(await secret(page, "bob-secret"), bob);
  await page.locator("#encapsulation-key").getByRole("button", { name: "Restore" }).click();
  await problem.waitFor({ state: "hidden" });

  await write(page, "encapsulation-key", "0g");
  const wrong = page.locator("#encapsulation-key .problem");
  assert.match(await wrong.innerText(), /SyntaxError: “g” at digit 1 is not hexadecimal/);
  await write(page, "encapsulation-key", "012");
  assert.match(await wrong.innerText(), /the last byte has one digit/);
  // The text is that of the bytes, which a new key replaces.
  await page.getByRole("button", { name: "Make a new key pair" }).click();
  assert.ok(await wrong.isHidden());
  const text = await page.locator("#encapsulation-key textarea").inputValue();
  assert.match(text, /^[0-9a-f]{2316}$/);

  await write(page, "decapsulation-key", "ff".repeat(1571));
  for (const id of ["sent", "arrived"]) {
    assert.match(await page.locator(`#${id}`).innerText(), /CtruError “decapsulation-key”/);
  }
  await page.locator("#decapsulation-key").getByRole("button", { name: "Restore" }).click();
  await write(page, "ciphertext", "");
  assert.match(await page.locator("#arrived").innerText(), /CtruError “length”: /);
  assert.match(await verdict(page, "sent"), /Accepted/);
  await write(page, "ciphertext", "00".repeat(952));
  assert.match(await verdict(page, "arrived"), /Rejected/);
  await close(page);
});

test("the pictures follow their controls", async () => {
  const page = await start();
  await page.getByLabel("Fold the term").fill("8");
  assert.match(
    await page.locator("#ring .byte-state").innerText(),
    /of x8 is added at x3 and at x4/,
  );
  await page.getByRole("button", { name: "Other polynomials" }).click();
  await page.getByLabel("Noise").fill("0");
  await page.getByLabel("Nibble").fill("13");
  const state = await page.locator("#code .byte-state").innerText();
  assert.match(state, /Sent: 1101. All eight .* nearest codeword, 1101, is the one that was sent/);
  assert.equal(await page.locator("#key-picture figure").count(), 2);
  await close(page);
});

test("this browser is measured, and the program draws its records", async () => {
  const page = await start();
  assert.ok(!(await page.locator("#measured").isVisible()));
  await page.getByRole("button", { name: "Measure this browser" }).click();
  const state = page.locator("#measure-state");
  await state.filter({ hasText: "Measured." }).waitFor({ timeout: 120_000 });
  // Each set one at a time with both modules, and in batches.
  const rows = page.locator("#rates tr");
  assert.equal(await rows.count(), 9);
  for (const text of await rows.allInnerTexts()) {
    assert.match(text, /^(653|761|1277), .*(simd128|wasm)(\s+[\d.,]+ k){3}$/);
  }
  // The longest bar of a column fills its cell.
  const parts = await page
    .locator("#rates td")
    .evaluateAll((cells) =>
      cells.map((cell) => Number.parseFloat(cell.style.getPropertyValue("--part"))),
    );
  assert.equal(parts.length, 27);
  for (let column = 0; column < 3; column++) {
    assert.equal(Math.max(...parts.filter((_, index) => index % 3 === column)), 100);
  }
  await accessible(page);
  const waiting = page.waitForEvent("download");
  await page.getByRole("button", { name: "Save the records" }).click();
  const records = path.join(WORK, "browser.jsonl");
  await (await waiting).saveAs(records);
  // Pictures show several sizes of batches.
  appendFileSync(records, readFileSync(records, "utf8").replaceAll('"batch":512', '"batch":64'));
  const report = path.join(WORK, "report");
  execFileSync(process.env.CTRU, ["report", "--force", "--out", report, records]);
  await close(page);

  for (const [name, options] of Object.entries(MODES)) {
    const file = `file://${report}/report.html`;
    const drawn = await open(browser, file, options);
    assert.match(await drawn.locator("main").innerText(), /All rates: browser\.jsonl/);
    assert.equal(await drawn.locator("svg").count(), 9);
    await drawn.screenshot({
      path: path.join(WORK, "shots", `report-${name}.png`),
      fullPage: true,
    });
    await accessible(drawn);
    await close(drawn);
  }
});

test("a module that cannot be loaded is named, and the rest of the page works", async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.route("**/*.wasm", (route) => route.abort());
  await page.goto(address);
  const failure = page.locator("#failure");
  await failure.waitFor();
  assert.match(await failure.innerText(), /cannot be loaded/);
  const dials = page.locator("#code .dials li");
  assert.equal(await dials.count(), 8);
  await context.close();
});

test("the policy is served, and nothing is stored", async () => {
  const page = await start();
  const policy = page.response.headers()["content-security-policy"];
  assert.equal(policy, POLICY);
  const head = await page.locator('meta[http-equiv="Content-Security-Policy"]');
  assert.equal((await head.getAttribute("content")).replace(/\s+/g, " "), POLICY);
  for (const directive of ["base-uri 'none'", "form-action 'none'"]) {
    assert.ok(POLICY.split("; ").includes(directive), directive);
  }
  const stored = await page.evaluate(async () => [
    localStorage.length,
    sessionStorage.length,
    document.cookie,
    (await indexedDB.databases()).length,
    (await caches.keys()).length,
  ]);
  assert.deepEqual(stored, [0, 0, "", 0, 0]);
  // The policy forbids inline scripts and the evaluation of text.
  const evaluated = await page.evaluate(() => {
    const script = document.createElement("script");
    script.textContent = "window.inline = true";
    document.body.append(script);
    return window.inline === true;
  });
  assert.equal(evaluated, false);
  assert.ok(page.complaints.length > 0);
  page.complaints.length = 0;
  await close(page);
});

for (const [name, options] of Object.entries(MODES)) {
  test(`the page is accessible, ${name}`, async () => {
    const page = await start(options);
    await page.screenshot({ path: path.join(WORK, "shots", `page-${name}.png`), fullPage: true });
    await accessible(page);
    await write(page, "encapsulation-key", "00");
    await write(page, "decapsulation-key", "00");
    await accessible(page);
    await close(page);
  });
}
