// Starts the parts of the page.

import { load } from "./ctru/index.js";
import { showCode } from "./code.js";
import { html } from "./elements.js";
import { ByHand } from "./kem.js";
import { showSpeed } from "./measure.js";
import { showKeys, showNoise } from "./noise.js";
import { showRing } from "./ring.js";
import { SETS } from "./scheme.js";

const byId = (id) => document.getElementById(id);

/** Shows that a part of the page does not work. */
function fail(error) {
  const failure = byId("failure");
  failure.textContent = `This part does not work here: ${error.message}`;
  failure.hidden = false;
}

showRing(byId("ring"));
showCode(byId("code"));
showSpeed();

let due = false;

/** Draws the pictures of keys and noise before the next frame. */
function redraw(state) {
  if (due) return;
  due = true;
  requestAnimationFrame(() => {
    due = false;
    const { ctru, set, decapsulationKey, encapsulationKey, arrived } = state;
    if (!SETS.includes(set)) {
      for (const id of ["key-picture", "noise"]) {
        byId(id).replaceChildren(html("p", {}, "Choose a set of CTRU-Prime to see this picture."));
      }
      return;
    }
    const sizes = ctru.sets[set];
    // Keys and ciphertexts of other lengths have no picture, so the last one stays.
    if (decapsulationKey.length !== sizes.decapsulationKeyBytes) return;
    if (encapsulationKey.length === sizes.encapsulationKeyBytes) {
      showKeys(byId("key-picture"), state);
    }
    if (arrived.length === sizes.ciphertextBytes) showNoise(byId("noise"), state);
  });
}

try {
  new ByHand(await load(), redraw);
} catch (error) {
  fail(error);
}
