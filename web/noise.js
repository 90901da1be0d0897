// What the reader's own keys and ciphertext look like inside: coefficients, and decryption.

import { html, svg } from "./elements.js";
import {
  codeword,
  decodeBlock,
  decodeKey,
  decodeSecret,
  noisyMessage,
  parameters,
} from "./scheme.js";

/** Returns a histogram as a picture. `bars` are pairs of a label and a count. */
function histogram(title, bars, series) {
  const [width, height, base] = [340, 150, 124];
  const most = Math.max(...bars.map(([, count]) => count), 1);
  const step = (width - 8) / bars.length;
  const drawing = svg(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" },
    svg("line", { x1: 0, x2: width, y1: base + 0.5, y2: base + 0.5, class: "rule" }),
  );
  bars.forEach(([label, count], index) => {
    const size = ((base - 14) * count) / most;
    const x = 4 + step * index;
    drawing.append(
      svg("rect", {
        x: x + 1,
        y: base - size,
        width: Math.max(1, step - 2),
        height: size,
        rx: 1.5,
        class: `fill s${series}`,
      }),
    );
    if (label !== "") {
      const text = { x: x + step / 2, y: base + 18, "text-anchor": "middle", class: "dim" };
      drawing.append(svg("text", text, label));
    }
  });
  return html("figure", { class: "drawing" }, drawing, html("figcaption", {}, title));
}

/** Counts the values in equal ranges from `from` to `to`. */
function counts(values, from, to, number) {
  const bins = new Array(number).fill(0);
  for (const value of values) {
    const bin = Math.floor(((value - from) * number) / (to - from));
    if (bin >= 0 && bin < number) bins[bin]++;
  }
  return bins;
}

/** Shows the coefficients of the key pair. */
export function showKeys(host, { set, encapsulationKey, decapsulationKey }) {
  const { q, eta, n } = parameters(set);
  const f = decodeSecret(set, decapsulationKey);
  const h = decodeKey(set, encapsulationKey);
  const most = 2 * eta + 1;
  const small = [];
  for (let value = -most; value <= most; value++) {
    const label = String(value).replace("-", "−");
    small.push([label, f.filter((coefficient) => coefficient === value).length]);
  }
  const flat = counts(h, 0, q, 24).map((count, bin) => [
    bin === 0 ? "0" : bin === 12 ? String((q - 1) / 2) : bin === 23 ? "q" : "",
    count,
  ]);
  const even = `The ${n} coefficients of f, at most ${most} in size. All but the first are even.`;
  host.replaceChildren(
    html(
      "div",
      { class: "pair" },
      histogram(even, small, 0),
      histogram(`The ${n} coefficients of h, spread over all numbers below q = ${q}.`, flat, 1),
    ),
  );
}

/** Returns a dial with a dot for each of the values, and its upper and lower half marked. */
function circle(size) {
  const middle = size / 2;
  return svg(
    "svg",
    { viewBox: `0 0 ${size} ${size}`, "aria-hidden": "true", class: "circle" },
    svg("circle", { cx: middle, cy: middle, r: middle - 22, class: "ring-line" }),
    svg("circle", { cx: middle, cy: middle, r: middle * 0.34, class: "ring-line" }),
    svg("line", { x1: 22, x2: size - 22, y1: middle, y2: middle, class: "ring-line half" }),
    svg("text", { x: middle, y: 14, "text-anchor": "middle", class: "dim" }, "0: bit 0"),
    svg("text", { x: middle, y: size - 5, "text-anchor": "middle", class: "dim" }, "q₂/2: bit 1"),
  );
}

/** Shows the noisy message of the ciphertext that arrived. */
export function showNoise(host, { set, decapsulationKey, arrived }) {
  const { q2, messageBytes, n } = parameters(set);
  const values = noisyMessage(set, decapsulationKey, arrived);
  const size = 420;
  const drawing = circle(size);
  let farthest = 0;
  let wrong = 0;
  for (let block = 0; block < 2 * messageBytes; block++) {
    const word = codeword(decodeBlock(values.slice(8 * block, 8 * block + 8), q2));
    word.forEach((bit, j) => {
      const index = 8 * block + j;
      const value = values[index];
      const noise = Math.abs(((value - (bit * q2) / 2 + 3 * (q2 / 2)) % q2) - q2 / 2);
      farthest = Math.max(farthest, noise);
      wrong += noise > q2 / 4;
      const angle = (2 * Math.PI * value) / q2;
      const radius = size * (0.19 + (0.23 * index) / n);
      drawing.append(
        svg("circle", {
          cx: (size / 2 + radius * Math.sin(angle)).toFixed(1),
          cy: (size / 2 - radius * Math.cos(angle)).toFixed(1),
          r: 2.6,
          class: `fill s${bit === 1 ? 0 : 1}`,
        }),
      );
    });
  }
  const words =
    wrong === 0
      ? "No coefficient lies on the wrong side, so the code has an easy task."
      : `${wrong} of ${16 * messageBytes} coefficients lie nearer to the other bit.`;
  host.replaceChildren(
    html(
      "div",
      { class: "side" },
      html("figure", { class: "drawing" }, drawing),
      html(
        "div",
        {},
        html(
          "p",
          {},
          html("span", { class: "key s1" }, "● bit 0"),
          " ",
          html("span", { class: "key s0" }, "● bit 1"),
          " after decoding",
        ),
        html(
          "p",
          { id: "noise-state" },
          `q₂ = ${q2}. The noise reaches ${farthest}; at ${q2 / 4}, a ` +
            `coefficient alone would be read wrongly. ${words}`,
        ),
        html(
          "p",
          { class: "muted" },
          "The picture shows the ciphertext that arrived. Another byte in it moves the dots by a " +
            "multiple of f. The message often survives that. The secret does not, because Alice " +
            "encrypts the message again and compares the ciphertexts.",
        ),
      ),
    ),
  );
}
