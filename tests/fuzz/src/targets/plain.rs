//! Streamlined NTRU Prime as its authors describe it, plain and slow. It has nothing in common with
//! the code that it is compared with, but for the hash functions.

use sha2::{Digest, Sha512};
use shake::Shake256;
use shake::digest::{ExtendableOutput, Update, XofReader};

/// The bytes of a hash.
const HASH: usize = 32;

/// A parameter set: the degree, the modulus and the weight of short polynomials.
#[derive(Copy, Clone)]
pub(super) struct Plain {
    pub(super) p: usize,
    q: i64,
    w: usize,
}

/// All sets.
pub(super) const ALL: [Plain; 6] = [
    Plain { p: 653, q: 4621, w: 288 },
    Plain { p: 761, q: 4591, w: 286 },
    Plain { p: 857, q: 5167, w: 322 },
    Plain { p: 953, q: 6343, w: 396 },
    Plain { p: 1013, q: 7177, w: 448 },
    Plain { p: 1277, q: 7879, w: 492 },
];

/// Returns the first half of the SHA-512 hash of a prefix and parts.
fn hash(prefix: u8, parts: &[&[u8]]) -> [u8; HASH] {
    let mut hash = Sha512::new_with_prefix([prefix]);
    for part in parts {
        Digest::update(&mut hash, part);
    }
    *hash.finalize().first_chunk().expect("half of the hash")
}

/// Returns the number nearest to 0 that is `x` modulo an odd `m`.
fn centred(x: i64, m: i64) -> i64 {
    (x + m / 2).rem_euclid(m) - m / 2
}

/// Returns how many low bytes of a number below `bound` the encoding writes, and the bound of the
/// rest. It leaves a number below `most`.
fn written(mut bound: u64, most: u64) -> (usize, u64) {
    let mut bytes = 0;
    while bound >= most {
        bytes += 1;
        bound = bound.div_ceil(256);
    }
    (bytes, bound)
}

/// Encodes numbers, each below its bound.
fn encode(mut numbers: Vec<(u64, u64)>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut write = |(number, bound): (u64, u64), most| {
        let (count, bound) = written(bound, most);
        bytes.extend_from_slice(&number.to_le_bytes()[..count]);
        (number >> (8 * count), bound)
    };
    while numbers.len() > 1 {
        let pairs = numbers.chunks(2).map(|pair| match *pair {
            [(x, m), (y, n)] => write((x + m * y, m * n), 1 << 14),
            _ => pair[0],
        });
        numbers = pairs.collect();
    }
    write(numbers[0], 2);
    bytes
}

/// Decodes bytes, and returns the numbers and the rest of the bytes. All bytes are numbers.
fn decode<'a>(mut bytes: &'a [u8], bounds: &[u64]) -> (Vec<u64>, &'a [u8]) {
    let mut read = |count: usize| -> u64 {
        let (low, rest) = bytes.split_at(count);
        bytes = rest;
        low.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
    };
    if let [bound] = bounds {
        return (vec![read(written(*bound, 2).0) % bound], bytes);
    }
    let pairs = bounds.chunks(2).map(|pair| match *pair {
        [m, n] => {
            let (count, bound) = written(m * n, 1 << 14);
            (count, read(count), bound)
        }
        _ => (0, 0, pair[0]),
    });
    let pairs: Vec<_> = pairs.collect();
    let rests: Vec<u64> = pairs.iter().map(|&(_, _, bound)| bound).collect();
    let (rests, bytes) = decode(bytes, &rests);
    let mut numbers = Vec::new();
    for ((&(count, low, _), rest), pair) in pairs.iter().zip(rests).zip(bounds.chunks(2)) {
        let number = low + (rest << (8 * count));
        numbers.push(number % pair[0]);
        numbers.extend(pair.get(1).map(|n| number / pair[0] % n));
    }
    (numbers, bytes)
}

impl Plain {
    /// Returns the number of bytes of a small polynomial.
    pub(super) fn small_bytes(self) -> usize {
        self.p.div_ceil(4)
    }

    /// Returns the name of the set.
    pub(super) fn name(self) -> String {
        format!("sntrup{}", self.p)
    }

    /// Returns the product of two polynomials modulo `m`.
    fn product(self, a: &[i64], b: &[i64], m: i64) -> Vec<i64> {
        let mut c = vec![0; 2 * self.p];
        for (i, a) in a.iter().enumerate().filter(|(_, a)| **a != 0) {
            for (c, b) in c[i..].iter_mut().zip(b) {
                *c += a * b;
            }
        }
        for i in (self.p..2 * self.p).rev() {
            c[i - self.p + 1] += c[i];
            c[i - self.p] += c[i];
        }
        c.truncate(self.p);
        c.iter().map(|c| centred(*c, m)).collect()
    }

    fn pack(self, f: &[i64]) -> Vec<u8> {
        let pairs = |four: &[i64]| four.iter().rev().fold(0, |byte, f| byte << 2 | (f + 1) as u8);
        f.chunks(4).map(pairs).collect()
    }

    /// Returns the coefficients in pairs of bits. One is 2 if its pair of bits is 3.
    fn unpack(self, bytes: &[u8]) -> Vec<i64> {
        (0..self.p).map(|i| i64::from(bytes[i / 4] >> (2 * (i % 4)) & 3) - 1).collect()
    }

    /// Returns whether bytes are a small polynomial.
    fn is_small(self, bytes: &[u8]) -> bool {
        self.unpack(bytes).iter().all(|f| *f < 2) && self.pack(&self.unpack(bytes)) == bytes
    }

    fn weight(self, f: &[i64]) -> usize {
        f.iter().filter(|f| **f != 0).count()
    }

    /// Returns the short polynomial of an encapsulation with this seed.
    fn short(self, seed: &[u8]) -> Vec<i64> {
        let input = Shake256::default().chain(self.name()).chain(" encapsulation").chain(seed);
        let mut reader = input.finalize_xof();
        let words = (0..self.p).map(|i| {
            let mut word = [0; 4];
            reader.read(&mut word);
            let word = u32::from_le_bytes(word);
            if i < self.w { word & !1 } else { word & !2 | 1 }
        });
        let mut words: Vec<u32> = words.collect();
        words.sort_unstable();
        words.iter().map(|word| i64::from(word & 3) - 1).collect()
    }

    /// Returns the ciphertext of a short polynomial.
    fn hide(self, r: &[i64], public: &[u8], public_hash: &[u8]) -> Vec<u8> {
        let (h, _) = decode(public, &vec![self.q as u64; self.p]);
        let h: Vec<i64> = h.iter().map(|h| *h as i64 - self.q / 2).collect();
        let third = (self.q as u64).div_ceil(3);
        let rounded = self.product(&h, r, self.q).into_iter().map(|x| {
            let rounded = x - centred(x, 3);
            ((rounded + self.q / 2) as u64 / 3, third)
        });
        let mut ciphertext = encode(rounded.collect());
        ciphertext.extend(hash(2, &[&hash(3, &[&self.pack(r)]), public_hash]));
        ciphertext
    }

    /// Returns the ciphertext and the shared secret of an encapsulation.
    pub(super) fn encapsulate(self, public: &[u8], seed: &[u8]) -> (Vec<u8>, [u8; HASH]) {
        let r = self.short(seed);
        let ciphertext = self.hide(&r, public, &hash(4, &[public]));
        let secret = hash(1, &[&hash(3, &[&self.pack(&r)]), &ciphertext]);
        (ciphertext, secret)
    }

    /// Returns the shared secret of a ciphertext, unless the private key is malformed.
    pub(super) fn decapsulate(self, private: &[u8], ciphertext: &[u8]) -> Option<[u8; HASH]> {
        let (small, hash_at) = (self.small_bytes(), private.len() - HASH);
        let (f, v) = (&private[..small], &private[small..2 * small]);
        let (public, rho) = private[2 * small..hash_at].split_at(hash_at - 3 * small);
        let public_hash = &private[hash_at..];
        if !self.is_small(f)
            || !self.is_small(v)
            || self.weight(&self.unpack(f)) != self.w
            || hash(4, &[public]) != public_hash
        {
            return None;
        }
        let third = (self.q as u64).div_ceil(3);
        let (c, _) = decode(&ciphertext[..ciphertext.len() - HASH], &vec![third; self.p]);
        let c: Vec<i64> = c.iter().map(|c| *c as i64 * 3 - self.q / 2).collect();
        let three_f: Vec<i64> = self.unpack(f).iter().map(|f| 3 * f).collect();
        let e = self.product(&three_f, &c, self.q);
        let e: Vec<i64> = e.iter().map(|e| centred(*e, 3)).collect();
        let mut r = self.product(&e, &self.unpack(v), 3);
        if self.weight(&r) != self.w {
            r = (0..self.p).map(|i| i64::from(i < self.w)).collect();
        }
        let (is_right, packed) = (self.hide(&r, public, public_hash) == ciphertext, self.pack(&r));
        let hidden = hash(3, &[if is_right { &packed } else { rho }]);
        Some(hash(u8::from(is_right), &[&hidden, ciphertext]))
    }
}
