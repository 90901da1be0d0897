//! Keys as byte strings, and the strings that are keys (specification, section 7).

use crate::encodings::{Encoding, pack_f, unpack_f};
use crate::kem::{KeyPair, key_gen};
use crate::parameters::{COLUMNS, Parameters};
use crate::ring::product;
use crate::strings::{centred, integer, unpack};

/// Returns D, the number of bytes of a decapsulation key.
pub(crate) fn decapsulation_key_bytes(p: &Parameters, encoding: Encoding) -> usize {
    p.packed_f_bytes() + encoding.bytes(p) + 32
}

/// Returns `h` if a string is accepted as an encapsulation key.
pub(crate) fn read_pk(p: &Parameters, encoding: Encoding, string: &[u8]) -> Option<Vec<i64>> {
    if string.len() != encoding.bytes(p) || !encoding.is_canonical(p, string) {
        return None;
    }
    let h = encoding.decode(p, string);
    h.iter().any(|&coefficient| coefficient != 0).then_some(h)
}

/// The parts of a decapsulation key.
pub(crate) struct DecapsulationKey {
    pub(crate) f: Vec<i64>,
    pub(crate) pk: Vec<u8>,
    pub(crate) h: Vec<i64>,
    pub(crate) z: Vec<u8>,
}

/// Returns the parts of a string if it is accepted as a decapsulation key.
pub(crate) fn read_sk(
    p: &Parameters,
    encoding: Encoding,
    string: &[u8],
) -> Option<DecapsulationKey> {
    if string.len() != decapsulation_key_bytes(p, encoding) {
        return None;
    }
    let (packed_f, rest) = string.split_at(p.packed_f_bytes());
    let (pk, z) = rest.split_at(encoding.bytes(p));
    if !is_packed_f(p, packed_f) {
        return None;
    }
    let h = read_pk(p, encoding, pk)?;
    Some(DecapsulationKey { f: unpack_f(p, packed_f), pk: pk.to_vec(), h, z: z.to_vec() })
}

/// Returns whether a string satisfies the three conditions on a packed `f`.
fn is_packed_f(p: &Parameters, string: &[u8]) -> bool {
    let v = unpack(string, 4, p.n);
    v[0] % 2 == 0
        && (0..=4 * p.eta).contains(&v[0])
        && v[1..].iter().all(|v| v % 2 == 1 && (1..=4 * p.eta + 1).contains(v))
        && string[string.len() - 1] >> 4 == 0
}

/// Returns whether `h` belongs to `f`: whether `h f` is small and not 0.
fn belongs(p: &Parameters, h: &[i64], f: &[i64]) -> bool {
    let g: Vec<i64> = product(h, f, p.q).iter().map(|&c| centred(c, p.q)).collect();
    g.iter().all(|c| (-p.eta..=p.eta).contains(c)) && g.iter().any(|&c| c != 0)
}

/// Calls a function with a key pair of each parameter set.
fn for_each_set(check: impl Fn(&Parameters, Encoding, &KeyPair)) {
    for p in &COLUMNS {
        for encoding in Encoding::ALL {
            check(p, encoding, &key_gen(p, encoding, &[7; 32], &[8; 32]));
        }
    }
}

#[test]
fn encapsulation_keys() {
    for_each_set(|p, encoding, key| {
        let accepts = |string: &[u8]| read_pk(p, encoding, string).is_some();
        let pk = &key.pk;
        assert_eq!(read_pk(p, encoding, pk).as_ref(), Some(&key.h));
        assert!(!accepts(&pk[1..]));
        assert!(!accepts(&[&pk[..], &[0]].concat()));
        assert!(!accepts(&[]));

        // The encoding of 0 has only zero bytes.
        let zero = vec![0; encoding.bytes(p)];
        assert_eq!(encoding.encode(p, &vec![0; p.n]), zero);
        assert!(!accepts(&zero));
        let mut one = zero.clone();
        one[0] = 1;
        assert!(accepts(&one));

        // In mixed radix, the pair 0, q stays below the radix after its bytes are output.
        for (coefficient, accepted) in [(p.q - 1, true), (p.q, false)] {
            let mut h = key.h.clone();
            (h[0], h[1]) = (0, coefficient);
            assert_eq!(accepts(&encoding.encode(p, &h)), accepted);
        }
        assert!(!accepts(&vec![0xff; pk.len()]));
    });
}

#[test]
fn padding_bits_of_packed13() {
    for p in &COLUMNS {
        let pk = key_gen(p, Encoding::Packed13, &[7; 32], &[8; 32]).pk;
        for k in 13 * p.n..8 * pk.len() {
            let mut damaged = pk.clone();
            damaged[k / 8] |= 1 << (k % 8);
            assert_eq!(Encoding::Packed13.decode(p, &damaged), Encoding::Packed13.decode(p, &pk));
            assert!(read_pk(p, Encoding::Packed13, &damaged).is_none());
        }
    }
}

/// The last radix added to the last bytes gives another string for the same polynomial.
#[test]
fn last_bytes_of_mixed_radix() {
    for (p, (last_radix, last_bytes)) in COLUMNS.iter().zip([(86, 1), (1608, 2), (3696, 2)]) {
        let encoding = Encoding::MixedRadix;
        let mut pk = key_gen(p, encoding, &[7; 32], &[8; 32]).pk;
        let h = encoding.decode(p, &pk);
        let start = pk.len() - last_bytes;
        let value = integer(&pk[start..]) + last_radix;
        pk[start..].copy_from_slice(&value.to_le_bytes()[..last_bytes]);
        assert_eq!(encoding.decode(p, &pk), h);
        assert!(read_pk(p, encoding, &pk).is_none());
    }
}

#[test]
fn decapsulation_keys() {
    for_each_set(|p, encoding, key| {
        let accepts = |string: &[u8]| read_sk(p, encoding, string).is_some();
        let sk = &key.sk;
        let read = read_sk(p, encoding, sk).unwrap();
        assert_eq!((&read.f, &read.h, &read.pk), (&key.f, &key.h, &key.pk));
        assert_eq!(read.z, [8; 32]);
        assert!(!accepts(&sk[1..]));
        assert!(!accepts(&[&sk[..], &[0]].concat()));

        // The accepted nibbles are those of the coefficients that key generation can make.
        for i in [0, 1, 2, p.n - 1] {
            for nibble in 0..16 {
                let mut damaged = sk.clone();
                let shift = 4 * (i % 2);
                damaged[i / 2] = damaged[i / 2] & (0xf0 >> shift) | nibble << shift;
                let coefficient = p.nibble_offset() - i64::from(nibble);
                let possible = (-p.eta..=p.eta).any(|c| 2 * c + i64::from(i == 0) == coefficient);
                assert_eq!(accepts(&damaged), possible, "nibble {nibble} at {i}");
            }
        }
        for padding in 1..16 {
            let mut damaged = sk.clone();
            damaged[p.packed_f_bytes() - 1] |= padding << 4;
            assert!(!accepts(&damaged));
        }

        // `pk` must be an encapsulation key, and `z` can have every value.
        let with = |pk: &[u8], z: u8| [&pack_f(p, &key.f), pk, &[z; 32]].concat();
        let mut h = key.h.clone();
        (h[0], h[1]) = (0, p.q);
        assert!(!accepts(&with(&encoding.encode(p, &h), 8)));
        assert!(!accepts(&with(&vec![0; key.pk.len()], 8)));
        assert!(accepts(&with(&key.pk, 0)) && accepts(&with(&key.pk, 255)));
    });
}

/// Reading accepts a key with the `h` of another one. The separate check refuses it.
#[test]
fn keys_that_belong_together() {
    for_each_set(|p, encoding, key| {
        assert!(belongs(p, &key.h, &key.f));
        let other = key_gen(p, encoding, &[9; 32], &[8; 32]);
        let mixed = [&pack_f(p, &key.f)[..], &other.pk, &[8; 32]].concat();
        assert!(read_sk(p, encoding, &mixed).is_some());
        assert!(!belongs(p, &other.h, &key.f));
        assert!(!belongs(p, &vec![0; p.n], &key.f));
    });
}
