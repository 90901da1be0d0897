// The KEM by hand: keys, a ciphertext, and its decapsulation as sent and as it arrived.

import { ByteField, toHex } from "./bytes.js";
import { html } from "./elements.js";
import * as ntruprime from "./ntruprime.js";
import * as ctruprime from "./scheme.js";

const byId = (id) => document.getElementById(id);

/** The byte of which one bit is flipped before the reader changes anything. */
const FLIPPED = 100;

/** Returns what each byte of a key or a ciphertext is. */
function layout(set, kind) {
  const scheme = ntruprime.SETS.includes(set) ? ntruprime : ctruprime;
  return scheme.layout(set, kind);
}

/** Returns whether two byte strings are equal. */
const equal = (a, b) => a.length === b.length && a.every((byte, i) => byte === b[i]);

/** Returns a message for an error, with its code if it is one of the package. */
function message(error) {
  return `${error.name}${error.code ? ` “${error.code}”` : ""}: ${error.message}`;
}

/** Returns a shared secret as groups of hexadecimal digits. */
function secret(name, bytes) {
  const groups = toHex(bytes).match(/.{8}/g).join(" ");
  return html("p", { class: "secret" }, html("span", {}, name), html("code", {}, groups));
}

/** The section of the page. Calls `onChange` with itself whenever something has changed. */
export class ByHand {
  constructor(ctru, onChange) {
    this.ctru = ctru;
    this.onChange = onChange;
    this.set = "761";
    const field = (id, title, note, change) =>
      new ByteField(byId(id), { title, note, onChange: change });
    this.fields = {
      encapsulationKey: field(
        "encapsulation-key",
        "Encapsulation key",
        "Public. A change takes effect when Bob encapsulates, which he does at once.",
        (bytes) => {
          this.encapsulationKey = bytes;
          this.encapsulate();
        },
      ),
      decapsulationKey: field(
        "decapsulation-key",
        "Decapsulation key",
        "Secret. It contains the encapsulation key, which decapsulation encrypts with again.",
        (bytes) => {
          this.decapsulationKey = bytes;
          this.decapsulate();
        },
      ),
      ciphertext: field(
        "ciphertext",
        "Ciphertext on its way",
        "What arrives is what you leave here. Flip a bit, or write other bytes.",
        (bytes) => {
          this.arrived = bytes;
          this.decapsulate();
        },
      ),
    };
    byId("set-choice").replaceChildren(this.choice());
    byId("make-key").onclick = () => this.makeKey();
    byId("encapsulate").onclick = () => this.encapsulate();
    this.makeKey();
  }

  /** The set as the package names it. */
  get id() {
    return Number(this.set) || this.set;
  }

  /** Returns the choice of the parameter set, with the sizes of each. */
  choice() {
    const options = [...ctruprime.SETS, ...ntruprime.SETS].map((set) => {
      const input = html("input", { type: "radio", name: "set", value: set });
      input.checked = set === this.set;
      input.onchange = () => {
        this.set = set;
        this.makeKey();
      };
      const { name, encapsulationKeyBytes, ciphertextBytes } = this.ctru.sets[set];
      const sizes = `key ${encapsulationKeyBytes} B, ciphertext ${ciphertextBytes} B`;
      return html("label", {}, input, html("span", {}, name, html("small", {}, sizes)));
    });
    return html(
      "fieldset",
      { class: "choice" },
      html("legend", {}, "parameter set"),
      html("div", { class: "options" }, ...options),
    );
  }

  makeKey() {
    const pair = this.ctru.keypair(this.id);
    this.encapsulationKey = pair.encapsulationKey;
    this.decapsulationKey = pair.decapsulationKey;
    const { encapsulationKey, decapsulationKey } = this.fields;
    encapsulationKey.show(pair.encapsulationKey, layout(this.set, "encapsulation key"));
    decapsulationKey.show(pair.decapsulationKey, layout(this.set, "decapsulation key"));
    this.encapsulate();
  }

  encapsulate() {
    const problem = byId("encapsulate-problem");
    try {
      const made = this.ctru.encapsulate(this.id, this.encapsulationKey);
      this.sent = made.ciphertext;
      this.arrived = made.ciphertext.slice();
      this.arrived[FLIPPED] ^= 1;
      this.secret = made.sharedSecret;
      problem.hidden = true;
    } catch (error) {
      problem.replaceChildren(message(error), html("br"), "Bob keeps what he made before.");
      problem.hidden = false;
      return;
    }
    byId("bob-secret").replaceChildren(secret("Bob’s secret", this.secret));
    this.fields.ciphertext.show(this.sent, layout(this.set, "ciphertext"), this.arrived);
    this.decapsulate();
  }

  decapsulate() {
    this.outcome("sent", this.sent);
    this.outcome("arrived", this.arrived);
    this.onChange(this);
  }

  /** Shows what decapsulation makes of a ciphertext. */
  outcome(id, ciphertext) {
    const host = byId(id);
    try {
      const result = this.ctru.decapsulate(this.id, this.decapsulationKey, ciphertext);
      const accepted = equal(result, this.secret);
      const verdict = accepted ? "Accepted: Bob’s secret" : "Rejected: another secret, no error";
      host.replaceChildren(
        html(
          "p",
          { class: `verdict ${accepted ? "good" : "bad"}` },
          html("span", { "aria-hidden": "true" }, accepted ? "=" : "≠"),
          ` ${verdict}`,
        ),
        secret("Alice’s secret", result),
      );
    } catch (error) {
      host.replaceChildren(html("p", { class: "problem" }, message(error)));
    }
  }
}
