// Compares the published rates on the page with docs/performance.md.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const read = (name) => readFileSync(new URL(`../../${name}`, import.meta.url), "utf8");

/** Returns the numbers in a text, in their order. */
const numbers = (text) => text.match(/\d+(\.\d+)?/g) ?? [];

test("published rates are those of docs/performance.md", () => {
  const [table] = read("web/index.html").match(/<table id="published">[^]*?<\/table>/);
  const rows = [...table.matchAll(/<tr><th scope="row">([^]*?)<\/th>([^]*?)<\/tr>/g)];
  const lines = read("docs/performance.md").split("\n").map(numbers);
  assert.equal(rows.length, 5);
  for (const [, setting, cells] of rows) {
    const rates = numbers(cells);
    assert.equal(rates.length, 3);
    const found = lines.some((line) => {
      const places = rates.map((rate) => line.indexOf(rate));
      return places[0] >= 0 && places[0] < places[1] && places[1] < places[2];
    });
    assert.ok(found, `${setting}: no line has ${rates}`);
  }
});
