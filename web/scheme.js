// The parts of CTRU-Prime that the pictures of this page need: where the bytes of keys and
// ciphertexts are, what they stand for, and decryption. It is written to be read, is slow, and its
// time depends on secrets. The keys on this page protect nothing; the package `ctru` does the rest.
// docs/specification.md defines everything here.

export const SETS = ["653", "761", "1277"];

/** Returns the parameters of a set. */
export function parameters(set) {
  const n = Number(set);
  const q = { 653: 4621, 761: 4591, 1277: 7879 }[set];
  const bits = n === 653 ? 11 : 10;
  const eta = n === 653 ? 3 : 2;
  return {
    n,
    q,
    bits,
    eta,
    q2: 1 << bits,
    offset: 2 * eta + 1,
    messageBytes: Math.floor(n / 16),
    secretBytes: Math.ceil(n / 2),
  };
}

/**
 * Returns the passes of the mixed-radix encoding of `n` numbers below `q`, each with its pairs and
 * its number of bytes.
 */
export function passes({ n, q }) {
  let radices = new Array(n).fill(q);
  const all = [];
  while (radices.length > 1) {
    const next = [];
    const pairs = [];
    for (let i = 0; i + 1 < radices.length; i += 2) {
      let product = radices[i] * radices[i + 1];
      let bytes = 0;
      for (; product >= 16384; bytes++) product = Math.ceil(product / 256);
      pairs.push({ radices: [radices[i], radices[i + 1]], bytes });
      next.push(product);
    }
    if (radices.length % 2 === 1) next.push(radices.at(-1));
    all.push({ pairs, bytes: pairs.reduce((sum, pair) => sum + pair.bytes, 0) });
    radices = next;
  }
  let bytes = 0;
  for (let radix = radices[0]; radix > 1; bytes++) radix = Math.ceil(radix / 256);
  return { all, last: { radix: radices[0], bytes } };
}

/** Returns the coefficients of `h` from an encapsulation key in mixed-radix encoding. */
export function decodeKey(set, bytes) {
  const { all, last } = passes(parameters(set));
  const starts = [];
  let at = 0;
  for (const pass of all) {
    starts.push(at);
    at += pass.bytes;
  }
  const read = (from, count) => {
    let value = 0;
    for (let i = count - 1; i >= 0; i--) value = value * 256 + bytes[from + i];
    return value;
  };
  let values = [read(at, last.bytes) % last.radix];
  for (let index = all.length - 1; index >= 0; index--) {
    let from = starts[index];
    const before = [];
    all[index].pairs.forEach(({ radices: [m0, m1], bytes: count }, pair) => {
      const value = read(from, count) + 256 ** count * values[pair];
      from += count;
      before.push(value % m0, Math.floor(value / m0) % m1);
    });
    if (values.length > all[index].pairs.length) before.push(values.at(-1));
    values = before;
  }
  return values;
}

/** Returns numbers of `width` bits each. */
export function unpack(bytes, width, count) {
  const values = [];
  for (let i = 0; i < count; i++) {
    let value = 0;
    for (let j = 0; j < width; j++) {
      const bit = width * i + j;
      value |= ((bytes[bit >> 3] >> (bit & 7)) & 1) << j;
    }
    values.push(value);
  }
  return values;
}

/** Returns the coefficients of `f` from a decapsulation key. */
export function decodeSecret(set, bytes) {
  const { n, offset } = parameters(set);
  return unpack(bytes, 4, n).map((nibble) => offset - nibble);
}

/** Returns the product modulo `x^n - x - 1`, with its plain product before folding. */
export function multiply(a, b) {
  const n = a.length;
  const plain = new Array(2 * n - 1).fill(0);
  a.forEach((x, i) =>
    b.forEach((y, j) => {
      plain[i + j] += x * y;
    }),
  );
  const folded = plain.slice(0, n);
  for (let k = n; k < plain.length; k++) {
    folded[k - n] += plain[k];
    folded[k - n + 1] += plain[k];
  }
  return { plain, folded };
}

/** Returns `c f` modulo q2 from a decapsulation key and a ciphertext: message bits and noise. */
export function noisyMessage(set, decapsulationKey, ciphertext) {
  const { n, bits, q2 } = parameters(set);
  const f = decodeSecret(set, decapsulationKey);
  const { folded } = multiply(unpack(ciphertext, bits, n), f);
  return folded.map((value) => ((value % q2) + q2) % q2);
}

/** Returns the 8 bits of the codeword of a nibble. */
export function codeword(nibble) {
  const rows = [0x55, 0x0f, 0x3c, 0xf0];
  const byte = rows.reduce((sum, row, i) => ((nibble >> i) & 1 ? sum ^ row : sum), 0);
  return Array.from({ length: 8 }, (_, j) => (byte >> j) & 1);
}

/** Returns the squared distance of a value from a bit's place, 0 or q2/2. */
export function distance(value, bit, q2) {
  return bit ? (value - q2 / 2) ** 2 : Math.min(value, q2 - value) ** 2;
}

/**
 * Returns the nibble whose codeword is nearest to 8 values. Ties, which the specification decides,
 * do not matter to a picture.
 */
export function decodeBlock(values, q2) {
  let best = 0;
  let least = Infinity;
  for (let nibble = 0; nibble < 16; nibble++) {
    const bits = codeword(nibble);
    const cost = values.reduce((sum, value, j) => sum + distance(value, bits[j], q2), 0);
    if (cost < least) [best, least] = [nibble, cost];
  }
  return best;
}

/** Returns the ranges of bytes of the encoding of `n` numbers below `q`, each with its name. */
export function passRanges(numbers, what) {
  const { all, last } = passes(numbers);
  const ranges = [];
  let at = 0;
  all.forEach((pass, index) => {
    at += pass.bytes;
    if (pass.bytes > 0) {
      const short = `pass ${index + 1}`;
      ranges.push({ name: `${short} of the mixed-radix encoding of ${what}`, short, to: at });
    }
  });
  ranges.push({
    name: "the last number of the mixed-radix encoding",
    short: "end",
    to: at + last.bytes,
  });
  return ranges;
}

/** Returns the ranges of bytes of an encapsulation key. */
function keyRanges(set) {
  const id = { name: "ID(pk), which all hashes take in; also pass 1", short: "ID(pk)", to: 33 };
  return [id, ...passRanges(parameters(set), "h")];
}

/** Returns the ranges with their first byte; `to` is the first byte after a range. */
export function complete(ranges, shift = 0) {
  return ranges.map((range, index) => ({
    ...range,
    from: shift + (index === 0 ? 0 : ranges[index - 1].to),
    to: shift + range.to,
  }));
}

/** Returns the text "coefficient 3" or "coefficients 3 and 4" for numbers of `width` bits. */
function coefficients(at, width, n, what) {
  const first = Math.floor((8 * at) / width);
  const last = Math.min(n - 1, Math.floor((8 * at + 7) / width));
  if (first >= n) return "padding bits";
  return first === last ? `${what} ${first}` : `${what}s ${first} and ${last}`;
}

/** Returns what each byte is: the ranges, and a function that explains a single byte. */
export function layout(set, kind) {
  const { n, bits, messageBytes, secretBytes } = parameters(set);
  if (kind === "ciphertext") {
    const tail = (16 * messageBytes * bits) / 8;
    const ranges = complete([
      {
        name: "rounded coefficients of h r, with the message",
        short: "with message bits",
        to: tail,
      },
      { name: "rounded coefficients of h r alone", short: "tail", to: Math.ceil((bits * n) / 8) },
    ]);
    return { ranges, explain: (at) => coefficients(at, bits, n, "coefficient") };
  }
  const key = keyRanges(set);
  if (kind === "encapsulation key") return { ranges: complete(key), explain: () => "" };
  const end = secretBytes + key.at(-1).to;
  const ranges = [
    { name: "PackF(f), the secret polynomial", short: "secret f", from: 0, to: secretBytes },
    { name: "the encapsulation key", short: "encapsulation key", from: secretBytes, to: end },
    { name: "z, from which rejection makes its secret", short: "z", from: end, to: end + 32 },
  ];
  const explain = (at) => (at < secretBytes ? coefficients(at, 4, n, "coefficient") : "");
  return { ranges, explain };
}
