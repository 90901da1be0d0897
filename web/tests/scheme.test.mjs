// Compares scheme.js with the test vectors of the repository.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import * as ntruprime from "../ntruprime.js";
import * as scheme from "../scheme.js";

const bytes = (hex) => Uint8Array.from(Buffer.from(hex, "hex"));

/** Returns the test vectors of a set. */
function vectors(set) {
  const name = ntruprime.SETS.includes(set) ? set : `ctru-prime-${set}-mixed-radix`;
  const file = new URL(`../../tests/vectors/${name}.jsonl`, import.meta.url);
  const lines = readFileSync(file, "utf8").split("\n").filter(Boolean);
  return lines.map((line) => JSON.parse(line));
}

/** Returns the message in a ciphertext. */
function decrypt(set, sk, ct) {
  const { q2, messageBytes } = scheme.parameters(set);
  const values = scheme.noisyMessage(set, sk, ct);
  const nibble = (block) => scheme.decodeBlock(values.slice(8 * block, 8 * block + 8), q2);
  return Uint8Array.from(
    { length: messageBytes },
    (_, i) => nibble(2 * i) | (nibble(2 * i + 1) << 4),
  );
}

/** Checks that ranges follow each other, and end with the last byte. */
function checkRanges({ layout }, set) {
  const [{ pk, sk, ct }] = vectors(set);
  for (const [kind, hex] of [
    ["encapsulation key", pk],
    ["decapsulation key", sk],
    ["ciphertext", ct],
  ]) {
    const { ranges, explain } = layout(set, kind);
    let end = 0;
    for (const { from, to } of ranges) {
      assert.equal(from, end);
      assert.ok(to > from);
      end = to;
    }
    assert.equal(end, hex.length / 2);
    assert.equal(typeof explain(end - 1), "string");
  }
}

for (const set of scheme.SETS) {
  test(`decryption gives the message, ${set}`, () => {
    const outputLength = scheme.parameters(set).messageBytes;
    for (const { sk, ct, encaps_seed: seed } of vectors(set)) {
      const message = createHash("shake256", { outputLength }).update(bytes(seed)).digest();
      assert.deepEqual(decrypt(set, bytes(sk), bytes(ct)), Uint8Array.from(message));
    }
  });

  test(`the decoded key is g / f, ${set}`, () => {
    const { q, eta } = scheme.parameters(set);
    for (const { pk, sk } of vectors(set).slice(0, 3)) {
      const h = scheme.decodeKey(set, bytes(pk));
      assert.ok(h.every((value) => value >= 0 && value < q));
      const g = scheme.multiply(h, scheme.decodeSecret(set, bytes(sk))).folded;
      const centred = g.map((value) => (((value % q) + q + (q - 1) / 2) % q) - (q - 1) / 2);
      assert.ok(centred.every((value) => Math.abs(value) <= eta));
    }
  });

  test(`ranges follow each other and end with the last byte, ${set}`, () => {
    checkRanges(scheme, set);
    const { n, bits } = scheme.parameters(set);
    const last = scheme.layout(set, "ciphertext").explain(Math.ceil((bits * n) / 8) - 1);
    assert.equal(last, `coefficient ${n - 1}`);
  });
}

for (const set of ntruprime.SETS) {
  test(`ranges follow each other and end with the last byte, ${set}`, () => {
    checkRanges(ntruprime, set);
  });
}

test("products and codewords of the specification", () => {
  const { plain, folded } = scheme.multiply([1, 2, 3], [4, 5, 6]);
  assert.deepEqual(
    [plain, folded],
    [
      [4, 13, 28, 27, 18],
      [31, 58, 46],
    ],
  );
  const words = Array.from({ length: 16 }, (_, nibble) =>
    Number.parseInt(scheme.codeword(nibble).reverse().join(""), 2),
  );
  const expected = "00550f5a3c693366f0a5ffaacc99c396";
  assert.equal(Buffer.from(words).toString("hex"), expected);
  assert.equal(scheme.decodeBlock([500, 400, 0, 0, 0, 0, 0, 0], 1024), 0);
  assert.equal(scheme.decodeBlock([10, 1000, 500, 256, 520, 260, 1020, 3], 1024), 4);
});

test("the ranges of 761 are those of the specification", () => {
  const { ranges } = scheme.layout("761", "encapsulation key");
  assert.deepEqual(
    ranges.map(({ to }) => to),
    [33, 760, 950, 1045, 1093, 1118, 1141, 1148, 1153, 1154, 1156, 1158],
  );
});
