//! Tests the checks that the secret polynomial and the encapsulation key of a decapsulation key
//! belong together.

use ctru_tests::vectors::array;
use ctru_tests::{every_ctru_prime_set, strategies};

use crate::common::{decode, encode};
use ctru_kem::{
    CtruPrimeSet, DecapsulationKey, EncapsulationKey, InvalidDecapsulationKey, SEED_BYTES,
};
use ctru_math::codec::secret_poly;
use ctru_math::mul::mul_small;
use ctru_math::sample::sample_secret;
use ctru_math::{NtruPrimeRing, Poly, Ring, SmallPoly, invert};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};

every_ctru_prime_set!(
    generated_keys_pass,
    every_z_passes,
    parts_of_two_keys_are_refused,
    one_other_nibble_is_refused,
    one_other_coefficient_is_refused,
    the_range_of_g_is_that_of_sampling,
    placeholders_are_refused,
);

const INCONSISTENT: Result<(), InvalidDecapsulationKey> =
    Err(InvalidDecapsulationKey::Inconsistent);

/// Runs `test` on 50 values of the strategy.
fn proptest<S: Strategy>(strategy: S, test: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let config = Config { cases: 50, failure_persistence: None, ..Config::default() };
    // A trait object, so that a property is compiled once and not for each parameter set.
    let test: &dyn Fn(S::Value) -> Result<(), TestCaseError> = &test;
    TestRunner::new(config).run(&strategy, test).unwrap();
}

/// Returns the result of `check` on the key with these parts. Asserts that `pairwise_test` returns
/// the same result.
fn tested<P: CtruPrimeSet>(parts: [&[u8]; 3]) -> Result<(), InvalidDecapsulationKey> {
    let key = DecapsulationKey::<P>::from_bytes(&parts.concat()).unwrap();
    let checked = key.check();
    assert_eq!(key.pairwise_test(&[7; SEED_BYTES]), checked);
    checked
}

/// Returns the secret polynomial, the encapsulation key and `z` of a key.
fn parts<P: CtruPrimeSet>(key: &DecapsulationKey<P>) -> [&[u8]; 3] {
    let (f, rest) = key.as_ref().split_at(P::Ring::SECRET_POLY_BYTES);
    let (encapsulation_key, z) = rest.split_at(P::ENCAPSULATION_KEY_BYTES);
    [f, encapsulation_key, z]
}

fn key<P: CtruPrimeSet>(byte: u8) -> DecapsulationKey<P> {
    DecapsulationKey::generate_deterministic(&[byte; SEED_BYTES], &[!byte; SEED_BYTES])
}

fn generated_keys_pass<P: CtruPrimeSet>() {
    proptest(any::<[[u8; SEED_BYTES]; 3]>(), |[seed, z, test_seed]| {
        let key = DecapsulationKey::<P>::generate_deterministic(&seed, &z);
        prop_assert_eq!(key.check(), Ok(()));
        prop_assert_eq!(key.pairwise_test(&test_seed), Ok(()));
        Ok(())
    });
}

fn every_z_passes<P: CtruPrimeSet>() {
    let key = key::<P>(1);
    let [f, encapsulation_key, _] = parts(&key);
    proptest(any::<[u8; SEED_BYTES]>(), |z| {
        prop_assert_eq!(tested::<P>([f, encapsulation_key, &z]), Ok(()));
        Ok(())
    });
}

fn parts_of_two_keys_are_refused<P: CtruPrimeSet>() {
    proptest(any::<[[u8; SEED_BYTES]; 2]>(), |[first, second]| {
        prop_assume!(first != second);
        let keys = [first, second]
            .map(|seed| DecapsulationKey::<P>::generate_deterministic(&seed, &[2; SEED_BYTES]));
        let [[f, encapsulation_key, z], [other_f, other_encapsulation_key, _]] =
            keys.each_ref().map(parts);
        prop_assert_eq!(tested::<P>([f, other_encapsulation_key, z]), INCONSISTENT);
        prop_assert_eq!(tested::<P>([other_f, encapsulation_key, z]), INCONSISTENT);
        Ok(())
    });
}

/// Changes one nibble to every other value that reading accepts.
fn one_other_nibble_is_refused<P: CtruPrimeSet>() {
    let key = key::<P>(3);
    let [f, encapsulation_key, z] = parts(&key);
    proptest((any::<Index>(), 0..2 * P::Ring::ETA as u8), |(index, other)| {
        let index = index.index(P::Ring::N);
        let (byte, shift) = (index / 2, 4 * (index % 2));
        let nibble = f[byte] >> shift & 15;
        // The nibble of f_0 is even, all others are odd.
        let values = (0..=2 * P::Ring::ETA as u8).map(|value| 2 * value + u8::from(index != 0));
        let other = values.filter(|&value| value != nibble).nth(usize::from(other)).unwrap();
        let mut changed = f.to_vec();
        changed[byte] ^= (nibble ^ other) << shift;
        prop_assert_eq!(tested::<P>([&changed, encapsulation_key, z]), INCONSISTENT);
        Ok(())
    });
}

fn one_other_coefficient_is_refused<P: CtruPrimeSet>() {
    let key = key::<P>(4);
    let [f, encapsulation_key, z] = parts(&key);
    let h = decode::<P>(encapsulation_key);
    proptest((any::<Index>(), 1..P::Ring::Q), |(index, more)| {
        let mut coefficients = h.coefficients().to_vec();
        let coefficient = &mut coefficients[index.index(P::Ring::N)];
        *coefficient = ((u32::from(*coefficient) + more) % P::Ring::Q) as u16;
        let changed = Poly::<P::Ring>::from_coefficients(&coefficients).unwrap();
        prop_assert_eq!(tested::<P>([f, encode::<P>(&changed).as_ref(), z]), INCONSISTENT);
        Ok(())
    });
}

/// Makes keys `h = g / f` for chosen `g`: coefficients of `-eta..=eta` are accepted, one
/// coefficient beyond is refused.
fn the_range_of_g_is_that_of_sampling<P: CtruPrimeSet>() {
    let eta = P::Ring::ETA as i8;
    let in_range = strategies::numbers(P::Ring::N, -i64::from(eta), i64::from(eta));
    let coins = strategies::bytes(P::Ring::COIN_BYTES);
    proptest((in_range, coins, any::<Index>(), any::<bool>()), |(g, coins, index, negative)| {
        let f = sample_secret::<P::Ring>(&array(&coins));
        let inverse = invert::invert(&Poly::from(&f)).unwrap();
        let check = |g: &[i8]| {
            let g = SmallPoly::<P::Ring>::from_coefficients(g).unwrap();
            let h = encode::<P>(&mul_small(&inverse, &g));
            let parts = [secret_poly::pack(&f).as_ref(), h.as_ref(), &[0; SEED_BYTES]].concat();
            DecapsulationKey::<P>::from_bytes(&parts).unwrap().check()
        };
        let mut g: Vec<i8> = g.into_iter().map(|c| c as i8).collect();
        prop_assume!(g.iter().any(|&c| c != 0));
        prop_assert_eq!(check(&g), Ok(()));
        g[index.index(P::Ring::N)] = if negative { -eta - 1 } else { eta + 1 };
        prop_assert_eq!(check(&g), INCONSISTENT);
        Ok(())
    });
}

fn placeholders_are_refused<P: CtruPrimeSet>() {
    assert_eq!(DecapsulationKey::<P>::placeholder().check(), INCONSISTENT);
    assert_eq!(DecapsulationKey::<P>::placeholder().pairwise_test(&[8; SEED_BYTES]), INCONSISTENT);
    // The key has the encapsulation key of the placeholder and the other parts of a real key.
    let key = key::<P>(5);
    let [f, _, z] = parts(&key);
    let mixed = [f, EncapsulationKey::<P>::placeholder().as_ref(), z].concat();
    if let Ok(mixed) = DecapsulationKey::<P>::from_bytes(&mixed) {
        assert_eq!(mixed.check(), INCONSISTENT);
    }
}
