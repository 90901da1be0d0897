// The section on speed: measures this browser, and shows the rates beside the published ones.

import { html } from "./elements.js";

const byId = (id) => document.getElementById(id);
const OPERATIONS = ["keygen", "encaps", "decaps"];

/** Formats a rate with three digits, in thousands. */
function thousands(rate) {
  const digits = { minimumSignificantDigits: 3, maximumSignificantDigits: 3 };
  return `${(rate / 1000).toLocaleString("en-GB", digits)} k`;
}

/** Returns what the records of one row of the table have in common. */
function setting({ set, bench, backend, threads }) {
  const workers = `${threads} ${threads === 1 ? "worker" : "workers"}`;
  return `${set}, ${bench === "batch" ? `in batches, ${workers}` : "one at a time"}, ${backend}`;
}

/** Returns a cell with the rate of an operation, and a bar that is `part` of the cell long. */
function cell(rate, part) {
  const element = html("td", { class: "number bar" }, thousands(rate));
  element.style.setProperty("--part", `${100 * part}%`);
  return element;
}

/** Shows the records as rows of the table. The bars of a column have one scale. */
function showRates(body, records) {
  const names = [...new Set(records.map(setting))];
  const rate = (name, op) =>
    records.find((record) => record.op === op && setting(record) === name)?.ops_per_s ?? 0;
  const most = OPERATIONS.map((op) => Math.max(...names.map((name) => rate(name, op))));
  const rows = names.map((name) => {
    const rates = OPERATIONS.map((op) => rate(name, op));
    const cells = rates.map((value, column) => cell(value, value / most[column]));
    return html("tr", {}, html("th", { scope: "row" }, name), ...cells);
  });
  body.replaceChildren(...rows);
}

/** Prepares the button that measures this browser. */
export function showSpeed() {
  const button = byId("measure");
  const state = byId("measure-state");
  const save = byId("save");
  let records = [];

  button.onclick = () => {
    records = [];
    button.disabled = true;
    save.hidden = true;
    const worker = new Worker("measure-worker.js", { type: "module" });
    const end = (text) => {
      worker.terminate();
      button.disabled = false;
      state.textContent = text;
      if (records.length === 0) return;
      save.hidden = false;
      showRates(byId("rates"), records);
      byId("measured").hidden = false;
    };
    worker.onerror = (event) => end(`The measurement failed: ${event.message || "no worker"}`);
    worker.onmessage = ({ data: { record, problem, done } }) => {
      if (record) {
        records.push(record);
        const { set, op, bench, backend } = record;
        state.textContent = `Measured ${set}, ${op}, ${bench}, ${backend}`;
      } else if (problem) {
        end(`The measurement failed: ${problem}`);
      } else if (done) {
        end("Measured. The first table below shows the rates of this browser.");
      }
    };
    state.textContent = "Measuring: loading";
  };

  save.onclick = () => {
    const lines = records.map((record) => `${JSON.stringify(record)}\n`);
    const address = URL.createObjectURL(new Blob(lines, { type: "application/x-ndjson" }));
    const link = html("a", { href: address, download: "browser.jsonl" });
    link.click();
    URL.revokeObjectURL(address);
  };
}
