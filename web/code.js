// The E8 code: a nibble, its codeword, noise, and the nearest codeword.

import { html, svg } from "./elements.js";
import { codeword, decodeBlock } from "./scheme.js";

const Q2 = 1024;
const binary = (nibble) => nibble.toString(2).padStart(4, "0");

/** Returns a dial that shows a value, and the bit that was sent. */
function dial(value, bit) {
  const angle = (2 * Math.PI * value) / Q2;
  const [x, y] = [40 + 30 * Math.sin(angle), 40 - 30 * Math.cos(angle)];
  const read = value > Q2 / 4 && value < (3 * Q2) / 4 ? 1 : 0;
  const wrong = read !== bit;
  const drawing = svg(
    "svg",
    { viewBox: "0 0 80 80", "aria-hidden": "true" },
    svg("circle", { cx: 40, cy: 40, r: 30, class: "ring-line" }),
    svg("line", { x1: 4, x2: 76, y1: 40, y2: 40, class: "ring-line half" }),
    svg("line", { x1: 40, x2: x, y1: 40, y2: y, class: `path s${bit === 1 ? 0 : 1}` }),
    svg("circle", { cx: x, cy: y, r: 7, class: `mark fill s${bit === 1 ? 0 : 1}` }),
  );
  return html(
    "li",
    { class: wrong ? "wrong" : "" },
    drawing,
    html("span", {}, `sent ${bit}, read ${read}`),
  );
}

/** Returns the 16 codewords as a picture, with the sent and the decoded one marked. */
function codebook(sent, decoded) {
  const items = Array.from({ length: 16 }, (_, nibble) => {
    const squares = codeword(nibble).map((bit, j) =>
      svg("rect", { x: 11 * j, y: 0, width: 9, height: 9, rx: 2, class: `bit b${bit}` }),
    );
    const marks = [nibble === sent && "sent", nibble === decoded && "nearest"].filter(Boolean);
    return html(
      "li",
      { class: marks.length > 0 ? "on" : "" },
      html("code", {}, binary(nibble)),
      svg("svg", { viewBox: "0 0 86 9", "aria-hidden": "true" }, ...squares),
      html("span", { class: "mark-text" }, marks.join(", ")),
    );
  });
  return html("ul", { class: "codebook", "aria-label": "The 16 codewords" }, ...items);
}

/** Shows the code with controls for the nibble and the noise. */
export function showCode(host) {
  let shape = [];
  const redraw = () => {
    // Sums of uniform numbers are nearly normal.
    shape = Array.from(
      { length: 8 },
      () => Math.random() + Math.random() + Math.random() + Math.random() - 2,
    );
  };
  redraw();
  const nibble = html("input", { type: "range", id: "nibble", min: 0, max: 15, step: 1, value: 6 });
  const noise = html("input", { type: "range", id: "noise-size", min: 0, max: 500, value: 260 });
  const again = html("button", { class: "button", type: "button" }, "Other noise");
  const dials = html("ul", { class: "dials", "aria-label": "The eight coefficients" });
  const book = html("div");
  const state = html("p", { class: "byte-state", "aria-live": "polite" });

  function update() {
    const sent = Number(nibble.value);
    const bits = codeword(sent);
    const values = bits.map((bit, j) => {
      const value = Math.round((bit * Q2) / 2 + shape[j] * Number(noise.value));
      return ((value % Q2) + Q2) % Q2;
    });
    const decoded = decodeBlock(values, Q2);
    dials.replaceChildren(...values.map((value, j) => dial(value, bits[j])));
    book.replaceChildren(codebook(sent, decoded));
    const wrong = dials.querySelectorAll(".wrong").length;
    const alone =
      wrong === 0
        ? "All eight coefficients alone are right"
        : `${wrong} of 8 coefficients alone ${wrong === 1 ? "is" : "are"} wrong`;
    const but = (wrong === 0) === (decoded === sent) ? "and" : "but";
    const end = decoded === sent ? "is the one that was sent" : "is another one: decryption fails";
    state.textContent =
      `Sent: ${binary(sent)}. ${alone}, ${but} the nearest codeword, ` +
      `${binary(decoded)}, ${end}.`;
  }

  nibble.oninput = update;
  noise.oninput = update;
  again.onclick = () => {
    redraw();
    update();
  };
  host.replaceChildren(
    html(
      "div",
      { class: "tools" },
      html("label", { for: "nibble" }, "Nibble"),
      nibble,
      html("label", { for: "noise-size" }, "Noise"),
      noise,
      again,
    ),
    dials,
    state,
    book,
  );
  update();
}
