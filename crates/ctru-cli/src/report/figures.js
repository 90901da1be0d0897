"use strict";

// Chooses what the figures show of measurements: `new Figures(element).show(sources)`. Each source
// has a `name`, its `records`, and `yours`, which is true for measurements of the reader. The
// records are those of `ctru bench --json`; research/records/README.md explains their fields.

const Figures = (() => {
  const { html } = Charts;
  const SETS = ["653", "761", "1277"];
  const OPERATIONS = ["keygen", "encaps", "decaps"];
  const NAMES = { keygen: "key generation", encaps: "encapsulation", decaps: "decapsulation" };
  const COLOURS = { keygen: 3, encaps: 1, decaps: 0 };
  const OURS = ["cpu", "gpu", "browser"];

  /** Returns the records of all sources that pass `wanted`, each with `source` and `yours`. */
  function select(sources, wanted) {
    return sources.flatMap(({ name, yours, records }) =>
      records
        .filter((record) => record.ops_per_s > 0 && record.median_ns_per_op > 0)
        .filter((record) => wanted(record, yours))
        .map((record) => ({ ...record, source: name, yours })),
    );
  }

  /** Returns a map from each key to its records, in the order of their first appearance. */
  function group(records, key) {
    const groups = new Map();
    for (const record of records) {
      const name = key(record);
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(record);
    }
    return groups;
  }

  const best = (records) =>
    records.reduce((one, other) => (other.ops_per_s > one.ops_per_s ? other : one));

  /** Returns the number with the word, such as "1 thread" or "16 threads". */
  const count = (number, word) =>
    `${number.toLocaleString("en-GB")} ${word}${number === 1 ? "" : "s"}`;

  /** Returns what distinguishes the machine and the setting of a record from others. */
  function setting(record) {
    const parts = [];
    if (record.bench === "single") parts.push("one operation at a time");
    else if (record.transfers.startsWith("none, ")) parts.push("data on the device");
    else if (record.transfers.startsWith("pageable")) parts.push("pageable memory");
    if (record.backend && record.backend !== "cuda") parts.push(record.backend);
    if (record.bench === "batch" && ["cpu", "browser"].includes(record.engine)) {
      parts.push(count(record.threads, "thread"));
    }
    if (record.seeds === "each") parts.push("a seed each");
    if (record.callers > 1) parts.push(count(record.callers, "caller"));
    if (record.pk_encoding === "packed13") parts.push("packed13");
    return parts.join(", ");
  }

  const origin = (record) =>
    (record.yours && record.source !== record.device ? `${record.source}: ` : "") + record.device;

  /** Returns the name of the line or row to which a record belongs. */
  const identity = (record) => [origin(record), setting(record)].filter(Boolean).join(", ");

  /** Returns the same with the name of the program. */
  const named = (record) => `${identity(record)}, ${record.engine}`;

  /** Returns a table of records for readers who prefer numbers. */
  function tableOf(title, records) {
    const columns = [
      "measurement",
      "set",
      "operation",
      "keys",
      "#batch",
      "#per second",
      "#time each",
      "date",
    ];
    const rows = records.map((record) => [
      OURS.includes(record.engine) ? identity(record) : named(record),
      record.set,
      record.op,
      record.keys,
      record.batch ? record.batch.toLocaleString("en-GB") : "",
      Charts.rate(record.ops_per_s),
      Charts.time(record.median_ns_per_op),
      record.date.slice(0, 10),
    ]);
    return Charts.table(`${title}: table`, columns, rows);
  }

  /** Returns the rows of a chart of dots, one for each group, with a dot per operation. */
  function rows(groups, describe) {
    return [...groups]
      .map(([name, records]) => {
        const points = OPERATIONS.flatMap((operation) => {
          const found = records.filter((record) => record.op === operation);
          if (found.length === 0) return [];
          const { ops_per_s: value } = best(found);
          return [
            { series: COLOURS[operation], value, text: `${operation} ${Charts.rate(value)}` },
          ];
        });
        const { yours } = records[0];
        return {
          name,
          yours,
          points,
          top: Math.max(...points.map((point) => point.value)),
          ...describe(records),
        };
      })
      .sort((one, other) => other.yours - one.yours || other.top - one.top);
  }

  /** Returns whether a record is of single operations, or of batches with one key per operation. */
  const isRate = (record) =>
    OPERATIONS.includes(record.op) &&
    (record.bench === "single" || (record.bench === "batch" && record.keys === "each"));

  const rates = {
    title: "Operations per second",
    text:
      "Each dot is the rate of one operation, on a logarithmic axis. In batches, each operation " +
      "has its own key, and the size is the best one measured.",
    choices: { set: ["parameter set", SETS, "761"] },
    draw(host, sources, { set }) {
      const found = select(
        sources,
        (record, yours) =>
          isRate(record) &&
          record.set === set &&
          OURS.includes(record.engine) &&
          (yours || record.pk_encoding !== "packed13"),
      );
      const describe = (records) => {
        const most = Math.max(...records.map((record) => record.batch));
        const batches = most > 1 ? `batches up to ${most.toLocaleString("en-GB")}` : "";
        const note = [batches, setting(records[0])].filter(Boolean).join(", ");
        return { name: origin(records[0]), note };
      };
      if (found.length > 0) {
        Charts.dots(host, { rows: rows(group(found, identity), describe), unit: "per second" });
      }
      return found;
    },
  };

  const batches = {
    title: "Batches",
    text:
      "A GPU needs large batches, and a small batch ends sooner. A line shows one machine and " +
      "setting, and its button hides or shows it.",
    choices: {
      set: ["parameter set", SETS, "761"],
      op: ["operation", OPERATIONS, "encaps"],
      keys: ["keys", ["each", "one", "resident"], "each"],
      value: ["value", ["rate", "time of a batch"], "rate"],
    },
    hides: (name, { op }) => name === "keys" && op === "keygen",
    draw(host, sources, { set, op, keys, value }, hidden) {
      const found = select(
        sources,
        (record, yours) =>
          record.bench === "batch" &&
          record.batch > 0 &&
          record.set === set &&
          record.op === op &&
          record.keys === (op === "keygen" ? "each" : keys) &&
          OURS.includes(record.engine) &&
          (yours || record.pk_encoding !== "packed13"),
      );
      const isTime = value !== "rate";
      const number = (record) =>
        isTime ? (record.median_ns_per_op * record.batch) / 1e3 : record.ops_per_s;
      const series = [...group(found, identity)].map(([name, records], index) => ({
        name,
        colour: index % 7,
        yours: records[0].yours,
        points: [...group(records, (record) => record.batch)]
          .map(([batch, same]) => [batch, number(best(same))])
          .sort((one, other) => one[0] - other[0]),
      }));
      if (found.length > 0) {
        Charts.lines(host, {
          series,
          hidden,
          x: "operations per batch",
          y: isTime ? "microseconds per batch" : "operations per second",
          format: (shown) => (isTime ? Charts.time(shown * 1e3) : Charts.rate(shown)),
        });
      }
      return found;
    },
  };

  const isOurs = (record) => OURS.includes(record.engine) || record.engine === "ctru";
  const isCtru = (record) => SETS.includes(record.set);
  const scheme = (record) => (isCtru(record) ? `CTRU-Prime-${record.set}` : record.set);

  /** Returns the colour of a scheme: one for ours, and one for the code of the scheme's authors. */
  function colour(record) {
    if (isCtru(record)) return isOurs(record) ? 0 : 4;
    return record.set === "sntrup761" ? 2 : 1;
  }

  /** Returns single operations of CTRU-Prime and of other schemes. */
  function onCore(sources, op) {
    return select(
      sources,
      (record, yours) =>
        record.bench === "single" && record.op === op && (yours || record.engine !== "cpu"),
    );
  }

  /** Returns the best batches of each program on a GPU, transfers included. */
  function onGpu(sources, op) {
    const all = select(
      sources,
      (record) =>
        record.bench === "batch" &&
        record.op === op &&
        record.keys === "each" &&
        record.callers <= 1 &&
        !record.transfers.startsWith("none, ") &&
        (record.engine === "gpu" || (record.device === "NVIDIA H200" && !isOurs(record))),
    );
    const program = (record) => [record.source, record.device, record.engine, record.set].join();
    return [...group(all, program).values()].map(best);
  }

  const peers = {
    title: "Other schemes",
    text:
      "CTRU-Prime beside NTRU Prime (sntrup761) and ML-KEM-768. The published programs ran in " +
      "turn on one core. The published GPU is an NVIDIA H200, with a key for each operation and " +
      "transfers included.",
    choices: {
      where: ["machine", ["one core", "one GPU"], "one core"],
      op: ["operation", OPERATIONS, "encaps"],
    },
    draw(host, sources, { where, op }) {
      const isCore = where === "one core";
      const found = isCore ? onCore(sources, op) : onGpu(sources, op);
      const note = (record) => {
        if (record.yours) return isOurs(record) ? identity(record) : named(record);
        const program = record.engine === "gpu" ? "ctru" : record.engine;
        return isCore ? `${program}, ${record.backend}` : program;
      };
      const rows = found.map((record) => {
        const value = isCore ? record.median_ns_per_op / 1e3 : record.ops_per_s;
        const text = isCore ? Charts.time(record.median_ns_per_op) : Charts.rate(record.ops_per_s);
        const point = { series: colour(record), value, text };
        return {
          name: scheme(record),
          note: note(record),
          yours: record.yours,
          points: [point],
          ...point,
        };
      });
      rows.sort((one, other) => (isCore ? one.value - other.value : other.value - one.value));
      if (rows.length > 0 && isCore) {
        Charts.dots(host, { rows, unit: "microseconds per operation, less is better" });
      } else if (rows.length > 0) {
        Charts.bars(host, { rows, unit: "operations per second" });
      }
      return found;
    },
  };

  const METHODS = [
    "schoolbook, tensor cores",
    "one key, tensor cores",
    "fused",
    "unfused",
    "NTT",
    "polyphase, tensor cores",
  ];

  /** Draws times of launches: the paper's, dashed, and ours. */
  function launches(host, sources, kind, unit, hidden) {
    const found = select(
      sources,
      (record) => record.bench === kind && record.set === "653" && record.batch > 0,
    );
    const key = (record) => {
      const whose = record.engine === "paper" ? "paper" : record.yours ? record.source : "ctru";
      return `${whose}: ${record.op.replace(", tensor cores", "")}`;
    };
    const series = [...group(found, key)].map(([name, records]) => ({
      name,
      colour: Math.max(0, METHODS.indexOf(records[0].op)),
      known: records[0].engine === "paper",
      yours: records[0].yours,
      points: records
        .map((record) => [record.batch, (record.median_ns_per_op * record.batch) / 1e3])
        .sort((one, other) => one[0] - other[0]),
    }));
    if (found.length > 0) {
      Charts.lines(host, {
        series,
        hidden,
        x: unit,
        y: "microseconds",
        format: (value) => Charts.time(value * 1e3),
      });
    }
    return found;
  }

  const paper = {
    title: "The paper’s tables",
    text:
      "Results of the founding paper, on an RTX 3060 Ti and an i9-14900K, beside ours, on an " +
      "H200 and a Zen 5 core. The machines differ, so the distance is not that of the programs " +
      "alone. Dashed lines are the paper’s.",
    choices: {
      table: ["table", ["7: rates", "4: products", "5: fused kernels"], "7: rates"],
      set: ["parameter set", SETS, "761"],
    },
    hides: (name, { table }) => name === "set" && table !== "7: rates",
    draw(host, sources, { table, set }, hidden) {
      if (table === "4: products") {
        return launches(host, sources, "products alone", "products per launch, n = 653", hidden);
      }
      if (table === "5: fused kernels") {
        return launches(
          host,
          sources,
          "after the product",
          "ciphertexts per launch, n = 653",
          hidden,
        );
      }
      const quoted = "quoted by the paper";
      const found = select(
        sources,
        (record) =>
          isRate(record) &&
          record.callers <= 1 &&
          record.pk_encoding !== "packed13" &&
          !record.transfers.startsWith("none, ") &&
          (record.set === set ? record.engine !== "ctru" : record.engine === quoted),
      );
      const whose = (record) => {
        if (record.yours) return identity(record);
        const name = { cpu: "ctru", gpu: "ctru", [quoted]: record.set }[record.engine];
        return name || record.engine;
      };
      const key = (record) => [whose(record), record.device, record.bench].join();
      const describe = (records) => {
        const [first] = records;
        const parts = [first.device];
        if (first.engine === "cpu")
          parts.push(first.bench === "single" ? "one at a time" : "batches");
        if (first.engine === quoted) parts.push(quoted);
        return { name: whose(first), note: first.yours ? "" : parts.join(", ") };
      };
      if (found.length > 0) {
        Charts.dots(host, { rows: rows(group(found, key), describe), unit: "per second" });
      }
      return found;
    },
  };

  /** Returns a group of radio buttons. */
  function choice(id, name, [label, values, chosen], change) {
    const options = values.map((value) => {
      const attributes = { type: "radio", name: `${id}-${name}`, value, checked: value === chosen };
      const input = html("input", attributes);
      input.onchange = () => change(value);
      return html("label", {}, input, html("span", {}, NAMES[value] || value));
    });
    return html(
      "fieldset",
      { class: "choice" },
      html("legend", {}, label),
      html("div", { class: "options" }, ...options),
    );
  }

  /** One figure with its controls and its table. */
  class Figure {
    constructor(definition, id) {
      this.definition = definition;
      this.hidden = new Set();
      this.sources = [];
      this.chosen = {};
      this.controls = {};
      for (const [name, values] of Object.entries(definition.choices)) {
        this.chosen[name] = values[2];
        this.controls[name] = choice(id, name, values, (value) => {
          this.chosen[name] = value;
          this.draw();
        });
      }
      this.chart = html("div", { class: "chart-host" });
      this.table = html("div");
      const heading = html("h3", { id: `${id}-title` }, definition.title);
      this.element = html(
        "section",
        { class: "figure", "aria-labelledby": `${id}-title` },
        heading,
        html("p", {}, definition.text),
        html("div", { class: "choices" }, ...Object.values(this.controls)),
        this.chart,
        html("details", {}, html("summary", {}, "These numbers as a table"), this.table),
      );
    }

    draw() {
      const { definition, chosen } = this;
      for (const [name, control] of Object.entries(this.controls)) {
        control.hidden = Boolean(definition.hides?.(name, chosen));
      }
      this.chart.replaceChildren();
      const found = definition.draw(this.chart, this.sources, chosen, this.hidden);
      if (found.length === 0) {
        this.chart.append(html("p", { class: "none" }, "No records for this choice."));
      }
      this.table.replaceChildren(tableOf(definition.title, found));
    }
  }

  return class {
    constructor(host) {
      const definitions = { rates, batches, peers, paper };
      this.figures = Object.entries(definitions).map(
        ([name, definition]) => new Figure(definition, `figure-${name}`),
      );
      host.replaceChildren(...this.figures.map((figure) => figure.element));
    }

    /** Draws all figures from these sources. */
    show(sources) {
      for (const figure of this.figures) {
        figure.sources = sources;
        figure.draw();
      }
    }
  };
})();
