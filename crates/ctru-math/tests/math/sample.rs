//! The centred binomial distribution against vectors and a plain oracle.

use crate::strategies::bytes;
use crate::vectors::{Intermediate, array};
use ctru_math::kernel::sample::{centred_binomial, spread_sextets};
use ctru_math::sample::{sample, sample_secret};
use ctru_math::{Arithmetic, array::Array};
use ctru_tests::every_ring_on_every_backend;
use proptest::prelude::*;

fn sampled_bit_by_bit<R: Arithmetic>(coins: &[u8]) -> Vec<i8> {
    let eta = R::ETA as usize;
    let ones = |from: usize| {
        (from..from + eta).map(|bit| (coins[bit / 8] >> (bit % 8) & 1) as i8).sum::<i8>()
    };
    (0..R::N).map(|i| ones(2 * eta * i) - ones(2 * eta * i + eta)).collect()
}

fn vectors<R: Arithmetic>() {
    let vector = Intermediate::load(R::N);
    assert_eq!(sample::<R>(&array(&vector.coins_f)).coefficients(), vector.f_prime);
    assert_eq!(sample_secret::<R>(&array(&vector.coins_f)).coefficients(), vector.f);
    assert_eq!(sample::<R>(&array(&vector.coins_g)).coefficients(), vector.g);
    for record in vector.encapsulations() {
        assert_eq!(sample::<R>(&array(&record.coins_r)).coefficients(), record.r);
    }
}

fn sampling<R: Arithmetic>() {
    proptest!(|(coins in bytes(R::COIN_BYTES))| {
        let expected = sampled_bit_by_bit::<R>(&coins);
        let coins = array(&coins);
        let sampled = sample::<R>(&coins);
        prop_assert_eq!(sampled.coefficients(), &expected[..]);
        let secret = sample_secret::<R>(&coins);
        let expected: Vec<i8> = (0..R::N).map(|i| 2 * expected[i] + i8::from(i == 0)).collect();
        prop_assert_eq!(secret.coefficients(), expected);
    });

    // Each coin counts for the coefficient that it belongs to and for no other; coins that are left
    // over do not count.
    for bit in 0..8 * R::COIN_BYTES {
        let coins = R::CoinBytes::from_fn(|i| u8::from(i == bit / 8) << (bit % 8));
        let width = 2 * R::ETA as usize;
        let sign = if bit % width < width / 2 { 1 } else { -1 };
        let expected: Vec<i8> =
            (0..R::N).map(|i| if i == bit / width { sign } else { 0 }).collect();
        assert_eq!(sample::<R>(&coins).coefficients(), expected);
    }
}

#[test]
fn every_coefficient() {
    for eta in [2, 3] {
        let mask = (1 << eta) - 1;
        for coins in 0..1u8 << (2 * eta) {
            let expected =
                (coins & mask).count_ones() as i8 - (coins >> eta & mask).count_ones() as i8;
            assert_eq!(centred_binomial(eta, coins), expected);
        }
    }
}

proptest! {
    #[test]
    fn sextets_are_spread(coins: [u8; 6]) {
        let word = coins.iter().rev().fold(0u64, |word, &byte| word << 8 | u64::from(byte));
        let expected = std::array::from_fn(|i| (word >> (6 * i) & 63) as u8);
        prop_assert_eq!(spread_sextets(coins), expected);
    }
}

every_ring_on_every_backend! { for_each_ring:
    vectors,
    sampling,
}
