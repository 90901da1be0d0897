"use strict";

// Draws charts into an element of the page: dots or bars in rows, and lines. The file has no
// dependencies and makes no inline styles except through the object model, which a
// Content-Security-Policy allows.

const Charts = (() => {
  const SVG = "http://www.w3.org/2000/svg";

  /** Returns a new HTML element with attributes and children, which are elements or texts. */
  function html(name, attributes = {}, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (value !== undefined && value !== false) {
        element.setAttribute(key, value === true ? "" : value);
      }
    }
    element.append(...children);
    return element;
  }

  /** Returns a new SVG element. */
  function svg(name, attributes = {}, ...children) {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  }

  /** Formats a number with three digits that count, and commas. */
  function digits(exact) {
    const value = Number(exact.toPrecision(3));
    if (value === 0) return "0";
    const places = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
    return value.toLocaleString("en-GB", {
      maximumFractionDigits: places,
      minimumFractionDigits: value >= 1e3 ? 0 : Math.min(places, 3),
    });
  }

  /** Formats a rate per second, such as "48.2 M/s". */
  function rate(perSecond) {
    for (const [size, letter] of [
      [1e9, "G"],
      [1e6, "M"],
      [1e3, "k"],
    ]) {
      if (perSecond >= size * 0.9995) return `${digits(perSecond / size)}\u00a0${letter}/s`;
    }
    return `${digits(perSecond)}/s`;
  }

  /** Formats a time in nanoseconds, such as "2.94 µs". */
  function time(nanoseconds) {
    for (const [size, unit] of [
      [1e9, "s"],
      [1e6, "ms"],
      [1e3, "µs"],
    ]) {
      if (nanoseconds >= size * 0.9995) return `${digits(nanoseconds / size)}\u00a0${unit}`;
    }
    return `${digits(nanoseconds)}\u00a0ns`;
  }

  /** Formats a round number of an axis, such as "10 k". */
  function short(value) {
    for (const [size, letter] of [
      [1e9, " G"],
      [1e6, " M"],
      [1e3, " k"],
    ]) {
      if (value >= size) return `${Number((value / size).toPrecision(3))}${letter}`;
    }
    return String(Number(value.toPrecision(3)));
  }

  /**
   * Returns an axis that contains all values: its ticks, and the position of a value between 0 and
   * 1. A logarithmic axis has a tick at each power of ten, and begins with one. A linear axis
   * begins with 0.
   */
  function axis(values, logarithmic) {
    if (logarithmic) {
      const first = Math.floor(Math.log10(Math.min(...values)) + 1e-9);
      const last = Math.max(first + 1, Math.log10(Math.max(...values)) + 0.05);
      const ticks = [];
      for (let power = first; power <= last; power++) ticks.push(10 ** power);
      const position = (value) => (Math.log10(value) - first) / (last - first);
      return { ticks, position };
    }
    const most = Math.max(...values);
    const unit = 10 ** Math.floor(Math.log10(most));
    const step = [0.2, 0.5, 1, 2].map((part) => part * unit).find((size) => most / size <= 6);
    const end = Math.ceil(most / step - 1e-9) * step;
    const ticks = [];
    for (let tick = 0; tick <= end + step / 2; tick += step) ticks.push(tick);
    return { ticks, position: (value) => value / end };
  }

  /** Returns every second tick, and so on, so that at most `most` are left. */
  function fewer(ticks, most) {
    const each = Math.ceil(ticks.length / most);
    return ticks.filter((_, index) => index % each === 0);
  }

  const percent = (position) => `${(100 * position).toFixed(3)}%`;

  /** Returns the lines of a track behind its marks. */
  function gridOf(scale) {
    return scale.ticks.map((tick) => {
      const x = percent(scale.position(tick));
      return svg("line", { x1: x, x2: x, y1: 0, y2: "100%", class: "grid" });
    });
  }

  /** Returns the numbers and the name of a horizontal axis. */
  function axisOf(scale, unit) {
    const shown = fewer(scale.ticks, 6);
    const numbers = shown.map((tick) => {
      const x = scale.position(tick);
      const anchor = x < 0.02 ? "start" : x > 0.98 ? "end" : "middle";
      const text = { x: percent(x), y: 14, "text-anchor": anchor, class: "dim" };
      return svg("text", text, short(tick));
    });
    const name = svg("text", { x: "50%", y: 33, "text-anchor": "middle", class: "dim" }, unit);
    return svg("svg", { class: "axis", "aria-hidden": "true" }, ...numbers, name);
  }

  /** Returns the head of a row: name, note and values. */
  function rowHead(row, values) {
    const name = html("span", {}, html("span", { class: "row-name" }, row.name));
    if (row.yours) name.prepend(html("span", { class: "badge" }, "yours"));
    if (row.note) name.append(" ", html("span", { class: "row-note" }, row.note));
    return html(
      "div",
      { class: "row-head" },
      name,
      html("div", { class: "row-values" }, ...values),
    );
  }

  /** Returns a mark: a circle, or for records of the reader a larger diamond. */
  function mark(x, y, series, yours, title) {
    const shape = yours
      ? svg(
          "svg",
          { x, y, overflow: "visible" },
          svg("path", { d: "M0 -8L8 0L0 8L-8 0Z", class: `mark fill s${series}` }),
        )
      : svg("circle", { cx: x, cy: y, r: 5.5, class: `mark fill s${series}` });
    shape.append(svg("title", {}, title));
    return shape;
  }

  /**
   * Draws rows of dots on one logarithmic axis. Each row has `name`, `note`, `yours` and `points`;
   * a point has the number of its `series`, its `value` and a `text`.
   */
  function dots(host, { rows, unit }) {
    const scale = axis(
      rows.flatMap((row) => row.points.map((point) => point.value)),
      true,
    );
    const items = rows.map((row) => {
      const values = row.points.map((point) =>
        html("span", { class: `s${point.series}` }, point.text),
      );
      const marks = row.points.map((point) =>
        mark(percent(scale.position(point.value)), 10, point.series, row.yours, point.text),
      );
      const rule = svg("line", { x1: 0, x2: "100%", y1: 10, y2: 10, class: "grid" });
      const track = svg(
        "svg",
        { class: "track", "aria-hidden": "true" },
        ...gridOf(scale),
        rule,
        ...marks,
      );
      return html("li", { class: row.yours ? "yours" : "" }, rowHead(row, values), track);
    });
    host.replaceChildren(html("ul", { class: "rows" }, ...items), axisOf(scale, unit));
  }

  /** Draws one bar per row. Each row has `name`, `note`, `yours`, `series`, `value` and `text`. */
  function bars(host, { rows, unit }) {
    const scale = axis(
      rows.map((row) => row.value),
      false,
    );
    const items = rows.map((row) => {
      const values = [html("span", { class: `s${row.series}` }, row.text)];
      const width = percent(scale.position(row.value));
      const shape = { x: 0, y: 3, height: 13, width, rx: 2, class: `fill s${row.series}` };
      const track = svg(
        "svg",
        { class: "track", "aria-hidden": "true" },
        ...gridOf(scale),
        svg("rect", shape),
      );
      return html("li", { class: row.yours ? "yours" : "" }, rowHead(row, values), track);
    });
    host.replaceChildren(html("ul", { class: "rows" }, ...items), axisOf(scale, unit));
  }

  /** Returns a picture of a line for a legend. */
  function swatch(series) {
    const classes = `path s${series.colour}${series.known ? " known" : ""}`;
    return svg(
      "svg",
      { class: "swatch", "aria-hidden": "true", viewBox: "0 0 26 12" },
      svg("line", { x1: 1, x2: 25, y1: 6, y2: 6, class: classes }),
      svg("circle", { cx: 13, cy: 6, r: 4, class: `mark fill s${series.colour}` }),
    );
  }

  const HEIGHT = 320;
  const LEFT = 56;
  const BELOW = 44;
  const ABOVE = 10;

  /**
   * Draws lines on two logarithmic axes, with a legend whose buttons hide lines. Each of `series`
   * has `name`, `colour`, `known` (dashed), `yours` and `points`, pairs of numbers. `format` writes
   * a value of the vertical axis.
   */
  function lines(host, { series, x, y, format, hidden }) {
    const chart = html("div", { class: "chart" });
    const tip = html("div", { class: "tip", hidden: true });
    const shown = () => series.filter((one) => !hidden.has(one.name));

    const draw = () => {
      const width = Math.max(260, chart.clientWidth || 600);
      const right = width - 12;
      const all = series.flatMap((one) => one.points);
      const scaleX = axis(
        all.map((point) => point[0]),
        true,
      );
      const scaleY = axis(
        all.map((point) => point[1]),
        true,
      );
      const toX = (value) => LEFT + (right - LEFT) * scaleX.position(value);
      const toY = (value) => HEIGHT - BELOW - (HEIGHT - BELOW - ABOVE) * scaleY.position(value);
      const picture = svg("svg", {
        height: HEIGHT,
        viewBox: `0 0 ${width} ${HEIGHT}`,
        "aria-hidden": "true",
      });
      for (const tick of scaleY.ticks) {
        const at = toY(tick);
        picture.append(svg("line", { x1: LEFT, x2: right, y1: at, y2: at, class: "grid" }));
      }
      for (const tick of fewer(scaleY.ticks, 7)) {
        const text = { x: LEFT - 8, y: toY(tick) + 4, "text-anchor": "end", class: "dim" };
        picture.append(svg("text", text, short(tick)));
      }
      for (const tick of fewer(scaleX.ticks, width < 480 ? 4 : 8)) {
        const at = toX(tick);
        const bottom = HEIGHT - BELOW;
        picture.append(
          svg("line", { x1: at, x2: at, y1: bottom, y2: bottom + 5, class: "rule" }),
          svg(
            "text",
            { x: at, y: bottom + 20, "text-anchor": "middle", class: "dim" },
            short(tick),
          ),
        );
      }
      const middle = {
        x: (LEFT + right) / 2,
        y: HEIGHT - 6,
        "text-anchor": "middle",
        class: "dim",
      };
      picture.append(svg("text", middle, x));
      for (const one of shown()) {
        const at = one.points.map(([px, py]) => `${toX(px).toFixed(1)},${toY(py).toFixed(1)}`);
        const classes = ["path", `s${one.colour}`];
        if (one.known) classes.push("known");
        if (one.yours) classes.push("yours-path");
        picture.append(svg("polyline", { points: at.join(" "), class: classes.join(" ") }));
        for (const [px, py] of one.points) {
          picture.append(
            svg("circle", {
              cx: toX(px),
              cy: toY(py),
              r: one.yours || one.points.length === 1 ? 5 : 3.5,
              class: `mark fill s${one.colour}`,
            }),
          );
        }
      }
      const cross = svg("line", { y1: ABOVE, y2: HEIGHT - BELOW, class: "rule" });
      cross.setAttribute("visibility", "hidden");
      picture.append(cross);
      chart.replaceChildren(picture, tip);

      picture.onpointermove = (event) => {
        const box = picture.getBoundingClientRect();
        const pointer = ((event.clientX - box.left) * width) / box.width;
        const places = [...new Set(shown().flatMap((one) => one.points.map((point) => point[0])))];
        if (places.length === 0) return;
        const distance = (value) => Math.abs(toX(value) - pointer);
        const near = places.reduce((best, value) =>
          distance(value) < distance(best) ? value : best,
        );
        cross.setAttribute("x1", toX(near));
        cross.setAttribute("x2", toX(near));
        cross.setAttribute("visibility", "visible");
        const values = shown().flatMap((one) => {
          const point = one.points.find(([px]) => px === near);
          if (!point) return [];
          const name = html("span", { class: `s${one.colour}` }, one.name);
          return [html("div", {}, name, html("span", {}, format(point[1])))];
        });
        tip.replaceChildren(html("b", {}, `${near.toLocaleString("en-GB")} ${x}`), ...values);
        tip.hidden = false;
        const left = Math.min(Math.max(0, toX(near) + 14), width - tip.offsetWidth);
        const past = toX(near) + 14 + tip.offsetWidth > width;
        tip.style.left = `${past ? Math.max(0, toX(near) - 14 - tip.offsetWidth) : left}px`;
        tip.style.top = "8px";
      };
      picture.onpointerleave = () => {
        tip.hidden = true;
        cross.setAttribute("visibility", "hidden");
      };
    };

    const legend = html(
      "ul",
      { class: "legend" },
      ...series.map((one) => {
        const button = html("button", { type: "button" }, swatch(one), one.name);
        if (one.yours) button.append(html("span", { class: "badge" }, "yours"));
        const press = () => button.setAttribute("aria-pressed", String(!hidden.has(one.name)));
        press();
        button.onclick = () => {
          if (!hidden.delete(one.name)) hidden.add(one.name);
          press();
          draw();
        };
        return html("li", {}, button);
      }),
    );
    host.replaceChildren(html("div", { class: "row-note" }, y), legend, chart);
    new ResizeObserver(draw).observe(chart);
  }

  /** Returns a table. `columns` are names; those of numbers begin with "#". */
  function table(caption, columns, rows) {
    const isNumber = columns.map((name) => name.startsWith("#"));
    const cell = (kind, text, column) =>
      html(
        kind,
        {
          class: isNumber[column] ? "number" : undefined,
          scope: kind === "th" ? "col" : undefined,
        },
        text,
      );
    const head = columns.map((name, column) => cell("th", name.replace("#", ""), column));
    const body = rows.map((row) =>
      html("tr", {}, ...row.map((text, column) => cell("td", text, column))),
    );
    return html(
      "div",
      { class: "table-scroll", tabindex: "0", role: "region", "aria-label": caption },
      html("table", {}, html("thead", {}, html("tr", {}, ...head)), html("tbody", {}, ...body)),
    );
  }

  return { html, svg, digits, rate, time, dots, bars, lines, table };
})();
