//! Sampling from the centred binomial distribution.
//!
//! A coefficient takes `2 eta` coins: it is the number of ones among the first `eta` coins minus
//! the number of ones among the others. Coins have the bit order of
//! [`codec::bits`](crate::codec::bits). Coins that remain at the end do not matter.
//!
//! Source: CTRU-Prime paper, Table 1 (`eta`, except for n = 761, where Table 2 has 2) and Algorithm
//! 1 (`f = 2 f' + 1`).

#[cfg(target_arch = "x86_64")]
mod avx512;

use crate::compiled::compiled;
use crate::kernel::sample::{centred_binomial, spread_sextets};
use crate::poly::SmallPoly;
use crate::ring::Ring;
use crate::simd::{Simd, WithSimd, dispatch};

compiled! {
    Ring:

    /// Samples a polynomial with coefficients in `-eta..=eta` from uniform coins.
    #[must_use]
    pub fn sample(coins: &<R as Ring>::CoinBytes) -> SmallPoly<R> {
        dispatch(Sample(coins))
    }

    /// Samples the secret `f = 2 f' + 1`, where `f'` is the [`sample`] of the coins. The 1 is added
    /// at `x^0` only.
    #[must_use]
    pub fn sample_secret(coins: &<R as Ring>::CoinBytes) -> SmallPoly<R> {
        dispatch(SampleSecret(coins))
    }
}

struct Sample<'a, R: Ring>(&'a R::CoinBytes);

impl<R: Ring> WithSimd for Sample<'_, R> {
    type Output = SmallPoly<R>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> SmallPoly<R> {
        sampled(simd, self.0)
    }
}

#[inline(always)]
fn sampled<R: Ring, S: Simd>(simd: S, coins: &R::CoinBytes) -> SmallPoly<R> {
    let mut poly = SmallPoly::zero();
    let coeffs = poly.coefficients_mut();
    #[cfg(target_arch = "x86_64")]
    if let Some(token) = simd.avx512() {
        match R::ETA {
            2 => avx512::sample::<2>(token, coins.as_ref(), coeffs),
            3 => avx512::sample::<3>(token, coins.as_ref(), coeffs),
            _ => write_coefficients::<R>(coins, coeffs),
        }
        return poly;
    }
    let _ = simd;
    write_coefficients::<R>(coins, coeffs);
    poly
}

#[inline(always)]
fn write_coefficients<R: Ring>(coins: &R::CoinBytes, coeffs: &mut [i8]) {
    if R::ETA == 2 {
        let (pairs, last) = coeffs.as_chunks_mut::<2>();
        for (pair, &byte) in pairs.iter_mut().zip(coins.as_ref()) {
            *pair = [centred_binomial(2, byte & 15), centred_binomial(2, byte >> 4)];
        }
        last[0] = centred_binomial(2, coins.as_ref()[R::COIN_BYTES - 1] & 15);
    } else {
        let (groups, tail) = coeffs.as_chunks_mut::<8>();
        let (coins, tail_coins) = coins.as_ref().as_chunks::<6>();
        for (group, &coins) in groups.iter_mut().zip(coins) {
            *group = spread_sextets(coins).map(|sextet| sextet as i8);
        }
        let mut last = [0; 6];
        last[..tail_coins.len()].copy_from_slice(tail_coins);
        for (coeff, sextet) in tail.iter_mut().zip(spread_sextets(last)) {
            *coeff = sextet as i8;
        }
        for coeff in coeffs {
            *coeff = centred_binomial(3, *coeff as u8);
        }
    }
}

struct SampleSecret<'a, R: Ring>(&'a R::CoinBytes);

impl<R: Ring> WithSimd for SampleSecret<'_, R> {
    type Output = SmallPoly<R>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> SmallPoly<R> {
        let mut poly = sampled(simd, self.0);
        let coeffs = poly.coefficients_mut();
        for coeff in coeffs.iter_mut() {
            *coeff *= 2;
        }
        coeffs[0] += 1;
        poly
    }
}
