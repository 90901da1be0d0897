// A byte string that can be read and changed: a grid of hexadecimal bytes with named ranges.

import { html } from "./elements.js";

/** Formats a byte with two hexadecimal digits. */
const hex = (byte) => byte.toString(16).padStart(2, "0");

/** Formats bytes as hexadecimal digits. */
export const toHex = (bytes) => Array.from(bytes, hex).join("");

/**
 * Returns the bytes of hexadecimal text; white space has no meaning.
 *
 * @throws {SyntaxError} with the first character that is not a hexadecimal digit
 */
export function fromHex(text) {
  const digits = text.replace(/\s+/g, "");
  const wrong = digits.search(/[^0-9a-f]/i);
  if (wrong >= 0) {
    throw new SyntaxError(`“${digits[wrong]}” at digit ${wrong} is not hexadecimal`);
  }
  if (digits.length % 2 === 1) throw new SyntaxError("the last byte has one digit");
  return Uint8Array.from({ length: digits.length / 2 }, (_, i) =>
    Number.parseInt(digits.slice(2 * i, 2 * i + 2), 16),
  );
}

let fields = 0;

/** A byte string on the page. Calls `onChange` with the new bytes after a change by the reader. */
export class ByteField {
  constructor(host, { title, note, onChange }) {
    this.onChange = onChange;
    this.bytes = new Uint8Array();
    this.original = new Uint8Array();
    this.selected = 0;
    this.half = false;
    this.perRow = 0;
    const id = `bytes-${fields++}`;

    this.size = html("span", { class: "muted" });
    this.legend = html("ul", { class: "ranges" });
    this.grid = html("div", { class: "byte-grid", role: "grid", "aria-label": title });
    this.grid.onkeydown = (event) => this.key(event);
    this.grid.onclick = (event) => this.click(event);
    this.grid.onpointermove = (event) => this.hover(event);
    this.grid.onpointerleave = () => this.describe(this.selected);
    this.grid.onfocusin = () => this.describe(this.selected);
    this.state = html("p", { class: "byte-state", "aria-live": "polite" });

    this.flip = html("button", { class: "button", type: "button" }, "Flip a bit");
    this.flip.onclick = () => this.set(this.selected, this.bytes[this.selected] ^ 1);
    this.restore = html("button", { class: "button", type: "button" }, "Restore");
    this.restore.onclick = () => this.change(this.original.slice());

    this.text = html("textarea", { id: `${id}-text`, rows: 5, spellcheck: "false" });
    this.wrong = html("p", { class: "problem", role: "alert", hidden: true });
    const use = html("button", { class: "button", type: "button" }, "Use this text");
    use.onclick = () => this.useText();
    const details = html(
      "details",
      {},
      html("summary", {}, "As text"),
      html("label", { for: `${id}-text` }, `${title}, hexadecimal, of any length`),
      this.text,
      this.wrong,
      use,
    );

    host.replaceChildren(
      html(
        "div",
        { class: "bytes" },
        html("div", { class: "bytes-head" }, html("h4", {}, title), this.size),
        html("p", { class: "muted" }, note),
        this.legend,
        this.grid,
        this.state,
        html("div", { class: "tools" }, this.flip, this.restore),
        details,
      ),
    );
    new ResizeObserver(() => this.fit()).observe(this.grid);
  }

  /** Shows new bytes, which become the original ones. `changed` are shown in their place. */
  show(bytes, layout, changed = bytes) {
    this.original = bytes;
    this.layout = layout;
    this.selected = Math.max(
      0,
      changed.findIndex((byte, at) => byte !== bytes[at]),
    );
    const chips = layout.ranges.map(({ short, from, to }, index) => {
      const chip = html(
        "button",
        { type: "button", class: `chip r${index % 7}` },
        short,
        html("span", {}, ` ${from}–${to - 1}`),
      );
      chip.onclick = () => this.select(from, true);
      return html("li", {}, chip);
    });
    this.legend.replaceChildren(...chips);
    this.use(changed);
  }

  /** Shows bytes beside the original ones. */
  use(bytes) {
    this.bytes = bytes;
    this.selected = Math.max(0, Math.min(this.selected, bytes.length - 1));
    this.half = false;
    this.build();
    this.write();
  }

  change(bytes) {
    this.use(bytes);
    this.onChange(bytes);
  }

  set(at, byte) {
    if (this.bytes.length === 0) return;
    this.bytes = this.bytes.slice();
    this.bytes[at] = byte;
    this.paint(at);
    this.count();
    this.describe(at);
    this.write();
    this.onChange(this.bytes);
  }

  /** Shows the bytes as text, in place of text that was not used. */
  write() {
    this.text.value = toHex(this.bytes);
    this.wrong.hidden = true;
  }

  useText() {
    try {
      this.change(fromHex(this.text.value));
    } catch (error) {
      this.wrong.textContent = `${error.name}: ${error.message}`;
      this.wrong.hidden = false;
    }
  }

  /** Chooses how many bytes fit into a row. */
  fit() {
    const font = Number.parseFloat(getComputedStyle(this.grid).fontSize);
    const room = Math.floor((this.grid.clientWidth - 3.4 * font) / (1.75 * font));
    const perRow = [32, 24, 16, 12, 8].find((count) => count <= room) ?? 8;
    if (perRow !== this.perRow) {
      this.perRow = perRow;
      this.grid.style.setProperty("--cells", perRow);
      this.build();
    }
  }

  /** Makes all cells. */
  build() {
    if (this.perRow === 0) return;
    this.cells = [];
    const rows = [];
    for (let start = 0; start < this.bytes.length; start += this.perRow) {
      const row = html(
        "div",
        { role: "row" },
        html("span", { role: "rowheader" }, String(start).padStart(4, "0")),
      );
      for (let at = start; at < Math.min(start + this.perRow, this.bytes.length); at++) {
        const cell = html("span", { role: "gridcell", tabindex: "-1" });
        this.cells.push(cell);
        this.paint(at);
        row.append(cell);
      }
      rows.push(row);
    }
    this.grid.replaceChildren(...rows);
    if (this.cells.length > 0) this.cells[this.selected].tabIndex = 0;
    this.count();
    this.describe(this.selected);
  }

  /** Shows one byte. */
  paint(at) {
    const cell = this.cells[at];
    const range = this.layout.ranges.findIndex(({ from, to }) => from <= at && at < to);
    const changed = this.bytes[at] !== this.original[at];
    cell.textContent = hex(this.bytes[at]);
    cell.className = `${range < 0 ? "" : `r${range % 7}`}${changed ? " changed" : ""}`;
  }

  /** Shows the number of bytes, and of changed ones. */
  count() {
    const total = Math.max(this.bytes.length, this.original.length);
    let changed = 0;
    for (let i = 0; i < total; i++) changed += this.bytes[i] !== this.original[i];
    this.size.textContent =
      `${this.bytes.length.toLocaleString("en-GB")} bytes` +
      (changed ? `, ${changed.toLocaleString("en-GB")} changed` : "");
    this.restore.disabled = changed === 0;
    this.flip.disabled = this.bytes.length === 0;
  }

  /** Explains a byte below the grid. */
  describe(at) {
    if (at >= this.bytes.length) {
      this.state.textContent = "";
      return;
    }
    const range = this.layout.ranges.find(({ from, to }) => from <= at && at < to);
    const was =
      this.bytes[at] === this.original[at] || this.original[at] === undefined
        ? ""
        : `, was ${hex(this.original[at])}`;
    const parts = [range?.name ?? "beyond the last byte", this.layout.explain(at)].filter(Boolean);
    this.state.textContent = `Byte ${at} is ${hex(this.bytes[at])}${was}: ${parts.join("; ")}.`;
  }

  /** Makes a byte the one that keys act on. */
  select(at, scroll) {
    if (at < 0 || at >= this.cells.length) return;
    this.cells[this.selected].tabIndex = -1;
    this.selected = at;
    this.half = false;
    this.cells[at].tabIndex = 0;
    this.cells[at].focus({ preventScroll: true });
    if (scroll) {
      const offset = this.cells[at].offsetTop - this.grid.offsetTop;
      const { scrollTop, clientHeight } = this.grid;
      if (offset < scrollTop || offset > scrollTop + clientHeight - 30) {
        this.grid.scrollTop = offset - 4;
      }
    }
    this.describe(at);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const steps = {
      ArrowLeft: -1,
      ArrowRight: 1,
      ArrowUp: -this.perRow,
      ArrowDown: this.perRow,
      PageUp: -8 * this.perRow,
      PageDown: 8 * this.perRow,
    };
    const last = this.bytes.length - 1;
    if (event.key in steps) {
      this.select(Math.max(0, Math.min(last, this.selected + steps[event.key])), true);
    } else if (event.key === "Home") {
      this.select(0, true);
    } else if (event.key === "End") {
      this.select(last, true);
    } else if (event.key === " ") {
      this.flip.click();
    } else if (/^[0-9a-f]$/i.test(event.key)) {
      this.digit(Number.parseInt(event.key, 16));
    } else {
      return;
    }
    event.preventDefault();
  }

  /** Takes a hexadecimal digit: first the high one of a byte, then the low one. */
  digit(value) {
    const at = this.selected;
    if (this.half) {
      this.set(at, (this.bytes[at] & 0xf0) | value);
      this.select(Math.min(at + 1, this.bytes.length - 1), true);
    } else {
      this.set(at, (this.bytes[at] & 0x0f) | (value << 4));
      this.half = true;
    }
  }

  /** Returns the number of the byte under the pointer, or -1. */
  under(event) {
    return this.cells.indexOf(event.target.closest('[role="gridcell"]'));
  }

  click(event) {
    this.select(this.under(event), false);
  }

  hover(event) {
    const at = this.under(event);
    if (at >= 0) this.describe(at);
  }
}
