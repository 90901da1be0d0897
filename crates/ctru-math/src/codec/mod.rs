//! Polynomials as bytes.
//!
//! | module | what it stores | size for n = 761 |
//! |---|---|---|
//! | [`bits`] | public keys at 13 bits a coefficient, ciphertexts at `Q2_BITS` | 1237, 952 |
//! | [`mixed_radix`] | public keys, close to `n log2(q)` bits | 1158 |
//! | [`secret_poly`] | the secret `f` at 4 bits a coefficient | 381 |
//!
//! No branch, index or division depends on coefficients or bytes, except where a checked decoder says yes or no.

pub mod bits;
pub mod mixed_radix;
pub mod secret_poly;
