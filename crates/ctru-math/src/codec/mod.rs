//! Polynomials as bytes.
//!
//! | module | contents | bytes for n = 761 |
//! |---|---|---|
//! | [`bits`] | public keys at 13 bits per coefficient, ciphertexts at `Q2_BITS` | 1237, 952 |
//! | [`mixed_radix`] | public keys, near `n log2(q)` bits; ciphertexts of NTRU Prime | 1158, 1007 |
//! | [`secret_poly`] | the secret `f` at 4 bits per coefficient | 381 |
//! | [`ternary`] | small polynomials of NTRU Prime at 2 bits per coefficient | 191 |
//!
//! No branch, index or division depends on coefficients or bytes, except where a checked decoder
//! accepts or rejects a string.

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;
pub mod bits;
pub mod mixed_radix;
pub mod secret_poly;
pub mod ternary;
