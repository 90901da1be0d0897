// Where the bytes of keys and ciphertexts of Streamlined NTRU Prime are.

import { complete, passRanges } from "./scheme.js";

/** The degree and the modulus of each set. */
const RINGS = {
  sntrup653: { n: 653, q: 4621 },
  sntrup761: { n: 761, q: 4591 },
  sntrup857: { n: 857, q: 5167 },
  sntrup953: { n: 953, q: 6343 },
  sntrup1013: { n: 1013, q: 7177 },
  sntrup1277: { n: 1277, q: 7879 },
};

export const SETS = Object.keys(RINGS);

/** Bytes of a hash. */
const HASH = 32;

/** Returns what each byte is: the ranges, and a function that explains a single byte. */
export function layout(set, kind) {
  const { n, q } = RINGS[set];
  const small = Math.ceil(n / 4);
  const key = passRanges({ n, q }, "h");
  const explain = () => "";
  if (kind === "encapsulation key") return { ranges: complete(key), explain };
  if (kind === "ciphertext") {
    const rounded = passRanges({ n, q: (q + 2) / 3 }, "h r, rounded to multiples of 3");
    const end = rounded.at(-1).to;
    const hash = { name: "the hash that confirms r", short: "hash", to: end + HASH };
    return { ranges: complete([...rounded, hash]), explain };
  }
  const end = 2 * small + key.at(-1).to;
  const ranges = complete([
    { name: "the secret polynomial f", short: "secret f", to: small },
    { name: "1/g modulo 3, secret", short: "secret 1/g", to: 2 * small },
    { name: "the encapsulation key", short: "encapsulation key", to: end },
    { name: "ρ, from which rejection makes its secret", short: "ρ", to: end + small },
    { name: "the hash of the encapsulation key", short: "hash", to: end + small + HASH },
  ]);
  return { ranges, explain };
}
