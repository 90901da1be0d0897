// Compiles only if the types of the package are as a program expects them.

import { CtruError, load, type Ctru, type ErrorCode, type Pool, type SetId } from "ctru";

export async function example(): Promise<boolean> {
  const ctru: Ctru = await load({ simd: false });
  await load({ module: await WebAssembly.compile(new Uint8Array(8)) });
  const set: SetId = "761-packed13";
  const { encapsulationKey, decapsulationKey } = ctru.keypair(set);
  const { ciphertext, sharedSecret } = ctru.encapsulate(set, encapsulationKey);
  // What comes out fits into functions that take no shared memory.
  const secret: BufferSource = sharedSecret;
  await crypto.subtle.importKey("raw", sharedSecret, "HKDF", false, ["deriveKey"]);
  const received: Uint8Array = ctru.decapsulate(set, decapsulationKey, ciphertext);
  const pool: Pool = await ctru.pool({ workers: 2 });
  const { decapsulationKeys } = await pool.keypairs(761, 8, new Uint8Array(8 * 64));
  pool.close();
  // @ts-expect-error There is no such set.
  ctru.keypair(762);
  try {
    ctru.decapsulate(761, decapsulationKeys, ciphertext);
  } catch (error) {
    const code: ErrorCode | undefined = error instanceof CtruError ? error.code : undefined;
    return code === "length";
  }
  return received.length === secret.byteLength;
}
