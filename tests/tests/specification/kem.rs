//! Key generation, encapsulation and decapsulation (specification, section 10).

use crate::encodings::{Encoding, pack_f};
use crate::encryption::{Decryption, Encryption, decrypt, encrypt};
use crate::hashes::{id, sha3_512, shake256};
use crate::keys::{read_pk, read_sk};
use crate::parameters::Parameters;
use crate::ring::{inverse, product};
use crate::sampling::sample;

/// The values of one key generation.
pub(crate) struct KeyPair {
    pub(crate) coins: Vec<u8>,
    pub(crate) f_prime: Vec<i64>,
    pub(crate) g: Vec<i64>,
    pub(crate) f: Vec<i64>,
    pub(crate) f_inverse: Vec<i64>,
    pub(crate) h: Vec<i64>,
    pub(crate) pk: Vec<u8>,
    pub(crate) sk: Vec<u8>,
}

/// Returns `KeyGen(seed, z)`.
pub(crate) fn key_gen(p: &Parameters, encoding: Encoding, seed: &[u8], z: &[u8]) -> KeyPair {
    assert_eq!((seed.len(), z.len()), (32, 32));
    let coins = shake256(seed, 2 * p.coin_bytes());
    let (coins_f, coins_g) = coins.split_at(p.coin_bytes());
    let f_prime = sample(coins_f, p.n, p.eta);
    let g = sample(coins_g, p.n, p.eta);
    let mut f: Vec<i64> = f_prime.iter().map(|coefficient| 2 * coefficient).collect();
    f[0] += 1;
    let f_inverse = inverse(&f, p.q);
    let h = product(&g, &f_inverse, p.q);
    let pk = encoding.encode(p, &h);
    let sk = [&pack_f(p, &f)[..], &pk, z].concat();
    KeyPair { coins, f_prime, g, f, f_inverse, h, pk, sk }
}

/// The values that follow from a message: the hashes and the encryption.
pub(crate) struct Derivation {
    pub(crate) k_and_s: Vec<u8>,
    pub(crate) coins_r: Vec<u8>,
    pub(crate) encryption: Encryption,
}

/// Hashes a message and encrypts it (steps 2 and 3 of `Encaps` and of `Decaps`).
fn derive(p: &Parameters, h: &[i64], pk: &[u8], m: &[u8]) -> Derivation {
    let k_and_s = sha3_512(&[id(pk), m]);
    let coins_r = shake256(&k_and_s[32..], p.coin_bytes());
    let encryption = encrypt(p, h, m, &coins_r);
    Derivation { k_and_s, coins_r, encryption }
}

/// The values of one encapsulation.
pub(crate) struct Encapsulation {
    pub(crate) m: Vec<u8>,
    pub(crate) derivation: Derivation,
    pub(crate) ct: Vec<u8>,
    pub(crate) ss: Vec<u8>,
}

/// Returns `Encaps(pk, seed)`.
pub(crate) fn encaps(p: &Parameters, encoding: Encoding, pk: &[u8], seed: &[u8]) -> Encapsulation {
    assert_eq!(seed.len(), 32);
    let h = read_pk(p, encoding, pk).unwrap();
    let m = shake256(seed, p.message_bytes());
    let derivation = derive(p, &h, pk, &m);
    let ct = derivation.encryption.ct.clone();
    let ss = derivation.k_and_s[..32].to_vec();
    Encapsulation { m, derivation, ct, ss }
}

/// The values of one decapsulation.
pub(crate) struct Decapsulation {
    pub(crate) decryption: Decryption,
    pub(crate) rejection: Vec<u8>,
    pub(crate) ss: Vec<u8>,
}

/// Returns `Decaps(sk, ct)`.
pub(crate) fn decaps(p: &Parameters, encoding: Encoding, sk: &[u8], ct: &[u8]) -> Decapsulation {
    assert_eq!(ct.len(), p.ciphertext_bytes());
    let key = read_sk(p, encoding, sk).unwrap();
    let decryption = decrypt(p, &key.f, ct);
    let derivation = derive(p, &key.h, &key.pk, &decryption.m);
    let rejection = sha3_512(&[id(&key.pk), &key.z, ct])[..32].to_vec();
    let accepted = derivation.encryption.ct == ct;
    let ss = if accepted { derivation.k_and_s[..32].to_vec() } else { rejection.clone() };
    Decapsulation { decryption, rejection, ss }
}
