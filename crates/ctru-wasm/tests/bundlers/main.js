// A program of a user, which bundlers build. Writes its result to the title, which the test reads.

import { load } from "ctru";

try {
  for (const simd of [false, true]) {
    const ctru = await load({ simd });
    const { encapsulationKey, decapsulationKey } = ctru.keypair(761);
    const { ciphertext, sharedSecret } = ctru.encapsulate(761, encapsulationKey);
    const pool = await ctru.pool({ workers: 2 });
    const received = await pool.decapsulateBatch(761, decapsulationKey, ciphertext);
    pool.close();
    if (received.join() !== sharedSecret.join()) throw new Error("the secrets differ");
  }
  document.title = "passed";
} catch (error) {
  document.title = `failed: ${error.stack ?? error}`;
}
