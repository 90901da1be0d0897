//! Counts failures of the scheme with its noise scaled up.
//!
//! Keys, ciphertexts and decrypted polynomials are those of the scheme, computed by `ctru-math`.
//! The difference of the decrypted polynomial and the codewords is the noise. Each of its
//! coefficients is multiplied by a number, rounded, and added to the codewords again, modulo `q2`;
//! then the scheme's decoder decodes. So the experiment tests the model of the noise, dependencies
//! between its parts included, and the model of the decoder.

use ctru_math::array::Array;
use ctru_math::compress::compress_with_message;
use ctru_math::e8::decode;
use ctru_math::invert::invert;
use ctru_math::mul::{Multiplier, mul_small};
use ctru_math::sample::{sample, sample_secret};
use ctru_math::{Arithmetic, Poly, RoundedPoly};

use super::random::Random;

/// Messages per key. A key takes as long to make as about this many messages.
const PER_KEY: usize = 64;

/// Returns, for each scale, how many of the decapsulations fail.
pub(super) fn count<R: Arithmetic>(
    scales: &[f64],
    decapsulations: usize,
    random: &mut Random,
) -> Vec<u64> {
    let mut failures = vec![0; scales.len()];
    let mut multiplier = Multiplier::<R>::new();
    for _ in 0..decapsulations.div_ceil(PER_KEY) {
        let f = sample_secret::<R>(&bytes(random));
        let g = sample::<R>(&bytes(random));
        let inverse = Option::from(invert(&Poly::from(&f))).expect("the ring is a field");
        let h = mul_small::<R>(&inverse, &g);
        for _ in 0..PER_KEY {
            let message: R::MessageBytes = bytes(random);
            let r = sample::<R>(&bytes(random));
            let sigma = multiplier.mul_small(&h, &r);
            let mut decrypted = compress_with_message(sigma, &message);
            multiplier.mul_rounded(&mut decrypted, &f);
            // Without noise, decryption gives the codewords.
            let codewords = compress_with_message(&Poly::<R>::zero(), &message);
            for (failures, &scale) in failures.iter_mut().zip(scales) {
                let mut decoded = R::MessageBytes::zeroed();
                decode(&scaled(&decrypted, &codewords, scale), &mut decoded);
                *failures += u64::from(decoded.as_ref() != message.as_ref());
            }
        }
    }
    failures
}

/// Returns the number of decapsulations that [`count`] makes for this wish.
pub(super) fn rounded_up(decapsulations: usize) -> usize {
    decapsulations.next_multiple_of(PER_KEY)
}

/// Returns the codewords with the noise of the decrypted polynomial times `scale`.
fn scaled<R: Arithmetic>(
    decrypted: &RoundedPoly<R>,
    codewords: &RoundedPoly<R>,
    scale: f64,
) -> RoundedPoly<R> {
    let q2 = R::Q2 as i32;
    let pairs = decrypted.coefficients().iter().zip(codewords.coefficients());
    let received: Vec<u16> = pairs
        .map(|(&v, &codeword)| {
            let noise = (i32::from(v) - i32::from(codeword) + q2 + q2 / 2) % q2 - q2 / 2;
            let noise = (scale * f64::from(noise)).round() as i32;
            (i32::from(codeword) + noise).rem_euclid(q2) as u16
        })
        .collect();
    RoundedPoly::from_coefficients(&received).expect("the coefficients are reduced")
}

fn bytes<A: Array<u8>>(random: &mut Random) -> A {
    let mut bytes = A::zeroed();
    random.fill(bytes.as_mut());
    bytes
}
