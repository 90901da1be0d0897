//! Encryption and decryption (specification, section 9).

use crate::e8;
use crate::parameters::Parameters;
use crate::ring::product;
use crate::sampling::sample;
use crate::strings::{pack, unpack};

/// The values of one encryption.
pub(crate) struct Encryption {
    pub(crate) r: Vec<i64>,
    pub(crate) sigma: Vec<i64>,
    pub(crate) t: Vec<i64>,
    pub(crate) codewords: Vec<u8>,
    pub(crate) c: Vec<i64>,
    pub(crate) ct: Vec<u8>,
}

/// Encrypts a message with the coins of `r`.
pub(crate) fn encrypt(p: &Parameters, h: &[i64], m: &[u8], coins: &[u8]) -> Encryption {
    assert_eq!((m.len(), coins.len()), (p.message_bytes(), p.coin_bytes()));
    let r = sample(coins, p.n, p.eta);
    let sigma = product(h, &r, p.q);
    let t: Vec<i64> = sigma.iter().map(|&sigma| round(p, sigma)).collect();
    let codewords: Vec<u8> = e8::nibbles(m).into_iter().map(e8::codeword).collect();
    // The coefficients of the tail have no codeword.
    let e =
        |i: usize| codewords.get(i / 8).map_or(0, |codeword| i64::from(codeword >> (i % 8) & 1));
    let c: Vec<i64> = (0..p.n).map(|i| (t[i] + p.q2() / 2 * e(i)) % p.q2()).collect();
    let ct = pack(&c, p.w);
    Encryption { r, sigma, t, codewords, c, ct }
}

/// Rounds `q2 sigma / q` to the nearest integer (step 3 of encryption).
fn round(p: &Parameters, sigma: i64) -> i64 {
    (p.q2() * sigma + (p.q - 1) / 2) / p.q
}

/// The values of one decryption.
pub(crate) struct Decryption {
    pub(crate) v: Vec<i64>,
    pub(crate) nibbles: Vec<u8>,
    pub(crate) m: Vec<u8>,
}

/// Decrypts a ciphertext with the secret polynomial.
pub(crate) fn decrypt(p: &Parameters, f: &[i64], ct: &[u8]) -> Decryption {
    let c = unpack(ct, p.w, p.n);
    let v = product(&c, f, p.q2());
    let blocks = v.chunks(8).take(2 * p.message_bytes());
    let nibbles: Vec<u8> = blocks.map(|block| e8::decode(block, p.q2())).collect();
    let m = e8::message(&nibbles);
    Decryption { v, nibbles, m }
}

#[test]
fn examples_of_rounding() {
    let p = Parameters::of_degree(761);
    assert_eq!([1802, 4588, 4589].map(|sigma| round(p, sigma)), [402, 1023, 1024]);
    for (n, full) in [(653, vec![4620]), (761, vec![4589, 4590]), (1277, vec![7876, 7877, 7878])] {
        let p = Parameters::of_degree(n);
        let found: Vec<i64> = (0..p.q).filter(|&sigma| round(p, sigma) == p.q2()).collect();
        assert_eq!(found, full);
        assert!((0..p.q).all(|sigma| (0..=p.q2()).contains(&round(p, sigma))));
    }
}
