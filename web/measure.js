// The section on speed: published measurements, and those of this browser.

const byId = (id) => document.getElementById(id);

/** Returns the published measurements. */
async function published() {
  const answer = await fetch("published.jsonl");
  if (!answer.ok) throw new Error(`published.jsonl: ${answer.status} ${answer.statusText}`);
  const lines = (await answer.text()).split("\n").filter((line) => line !== "");
  return { name: "published", yours: false, records: lines.map((line) => JSON.parse(line)) };
}

/** Shows the figures and the button that measures this browser. */
export async function showSpeed() {
  const figures = new Figures(byId("figures"));
  const known = await published();
  figures.show([known]);
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
      figures.show([{ name: "this browser", yours: true, records }, known]);
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
        end("Measured. The figures below show this browser first.");
      }
    };
    state.textContent = "Measuring: loading";
  };

  save.onclick = () => {
    const lines = records.map((record) => `${JSON.stringify(record)}\n`);
    const address = URL.createObjectURL(new Blob(lines, { type: "application/x-ndjson" }));
    const link = Charts.html("a", { href: address, download: "browser.jsonl" });
    link.click();
    URL.revokeObjectURL(address);
  };
}
