// The product in the ring, drawn for n = 5.

import { html, svg } from "./elements.js";
import { multiply } from "./scheme.js";

const N = 5;
const WIDTH = 460;
const CELL = 44;
const STEP = 50;
const TOP = 56;
const BOTTOM = 212;

const signed = (value) => String(value).replace("-", "−");

/** Returns text such as "2 − x + 3x⁴" as nodes. */
function polynomial(coefficients) {
  const terms = [];
  coefficients.forEach((value, power) => {
    if (value === 0) return;
    const sign = value < 0 ? "−" : "+";
    terms.push(terms.length > 0 ? ` ${sign} ` : value < 0 ? "−" : "");
    const size = Math.abs(value);
    if (size !== 1 || power === 0) terms.push(String(size));
    if (power > 0) terms.push("x");
    if (power > 1) terms.push(html("sup", {}, String(power)));
  });
  return terms.length > 0 ? terms : ["0"];
}

/** Returns a random number from `-most` to `most`. */
const draw = (most) => Math.floor(Math.random() * (2 * most + 1)) - most;

/** Shows a product, which the reader may step through and draw anew. */
export function showRing(host) {
  let a = [3, -1, 4, 1, -5];
  let b = [1, 0, -1, 1, 1];
  let chosen = N;

  const formula = html("p", { class: "formula-line" });
  const picture = html("div", { class: "drawing" });
  const state = html("p", { class: "byte-state", "aria-live": "polite" });
  const slider = html("input", {
    type: "range",
    min: N,
    max: 2 * N - 2,
    step: 1,
    value: chosen,
    id: "ring-term",
  });
  slider.oninput = () => {
    chosen = Number(slider.value);
    update();
  };
  const other = html("button", { class: "button", type: "button" }, "Other polynomials");
  other.onclick = () => {
    a = Array.from({ length: N }, () => draw(5));
    b = Array.from({ length: N }, () => draw(1));
    update();
  };

  /** Returns a row of cells: a label and a value each. `center` gives the middle of a cell. */
  function cells(values, y, center, tone) {
    return values.flatMap((value, power) => {
      const x = center(power);
      const box = {
        x: x - CELL / 2,
        y,
        width: CELL,
        height: 34,
        rx: 6,
        class: `cell ${tone(power)}`,
      };
      return [
        svg("rect", box),
        svg("text", { x, y: y + 22, "text-anchor": "middle", class: "value" }, signed(value)),
      ];
    });
  }

  function update() {
    const { plain, folded } = multiply(a, b);
    const above = (k) => 30 + STEP * k;
    const below = (i) => 30 + STEP * i;
    const drawing = svg("svg", { viewBox: `0 0 ${WIDTH} 276`, "aria-hidden": "true" });
    for (let k = 0; k < plain.length; k++) {
      const label = { x: above(k), y: TOP - 10, "text-anchor": "middle", class: "dim" };
      drawing.append(svg("text", label, "x", svg("tspan", { dy: -4, "font-size": 9 }, k)));
    }
    const arrow = (k, i) => {
      const [from, to] = [above(k), below(i)];
      const path = `M${from} ${TOP + 34}C${from} ${TOP + 100} ${to} ${BOTTOM - 60} ${to} ${BOTTOM}`;
      const tone = k === chosen ? "arrow on" : k < N ? "arrow straight" : "arrow";
      return svg("path", { d: path, class: tone });
    };
    const arrows = [];
    for (let k = 0; k < N; k++) arrows.push(arrow(k, k));
    for (let k = N; k < plain.length; k++) arrows.push(arrow(k, k - N), arrow(k, k - N + 1));
    arrows.sort((one, two) => one.classList.contains("on") - two.classList.contains("on"));
    drawing.append(
      ...arrows,
      ...cells(plain, TOP, above, (k) => (k === chosen ? "on" : k < N ? "low" : "high")),
      ...cells(folded, BOTTOM, below, (i) =>
        i === chosen - N || i === chosen - N + 1 ? "on" : "low",
      ),
      svg("text", { x: 8, y: BOTTOM + 58, class: "dim" }, "the product in the ring"),
      svg("text", { x: 8, y: 16, class: "dim" }, "the plain product"),
    );
    picture.replaceChildren(drawing);
    formula.replaceChildren("(", ...polynomial(a), ") · (", ...polynomial(b), ")");
    state.replaceChildren(
      `The coefficient ${signed(plain[chosen])} of x`,
      html("sup", {}, String(chosen)),
      " is added at x",
      html("sup", {}, String(chosen - N)),
      " and at x",
      html("sup", {}, String(chosen - N + 1)),
      ". The product is ",
      ...polynomial(folded),
      ".",
    );
  }

  host.replaceChildren(
    formula,
    picture,
    html(
      "div",
      { class: "tools" },
      html("label", { for: "ring-term" }, "Fold the term"),
      slider,
      other,
    ),
    state,
  );
  update();
}
