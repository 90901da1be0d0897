//! Every reducer on all its inputs.

use research_arithmetic::reduce::{
    Barrett, ConstantDivision, Float, Mersenne, Montgomery, Plantard, Proth, PseudoMersenne,
    Reducer, Residue, RoundingShoup, RuntimeDivision, Shoup, UnsignedDivision, UnsignedMontgomery,
    UnsignedShoup,
};

use ctru_tests::exhaust;
use ctru_tests::exhaust::Extent;

/// Returns the remainder in `0..MODULUS`.
fn remainder<M: Reducer>(a: i64) -> i64 {
    a.rem_euclid(i64::from(M::MODULUS))
}

/// Checks one product, its bound and its canonical form.
fn check_product<M: Reducer>(a: i64, w: i64, factor: M::Factor) {
    let product = M::mul(M::Residue::new(a as i32), factor);
    let value = i64::from(product.value());
    let least = if M::IS_SIGNED { -i64::from(M::OUTPUT_BOUND) } else { 0 };
    assert!(value >= least && value <= M::OUTPUT_BOUND.into(), "{a} * {w} = {value}");
    assert!(remainder::<M>(value) == remainder::<M>(a * w), "{a} * {w} = {value}");
}

/// Checks products of all inputs by the largest factor and by 1 (`normalise`), and the canonical
/// and centred forms of all outputs.
fn by_two_factors<M: Reducer>(extent: Extent) -> u64 {
    let mut count = 0;
    let w = i64::from(M::MODULUS / 2);
    let factor = M::factor(w as i32);
    let least = |bound: i32| if M::IS_SIGNED { -i64::from(bound) } else { 0 };
    for a in extent.of(least(M::INPUT_BOUND)..=M::INPUT_BOUND.into()) {
        check_product::<M>(a, w, factor);
        let normalised = i64::from(M::normalise(M::Residue::new(a as i32)).value());
        assert!(normalised.abs() <= M::NORMALISED_BOUND.into(), "normalise({a})");
        assert!(remainder::<M>(normalised) == remainder::<M>(a), "normalise({a})");
        count += 2;
    }
    for a in extent.of(least(M::OUTPUT_BOUND)..=M::OUTPUT_BOUND.into()) {
        let residue = M::Residue::new(a as i32);
        assert!(i64::from(M::canonical(residue)) == remainder::<M>(a), "canonical({a})");
        let centred = i64::from(M::centred(residue));
        assert!(centred.abs() <= w && remainder::<M>(centred) == remainder::<M>(a), "{a}");
        count += 2;
    }
    count
}

/// Checks all pairs of a number up to the output bound and a factor, for a small modulus.
fn all_pairs<M: Reducer>(extent: Extent) -> u64 {
    let half = i64::from(M::MODULUS / 2);
    let least = if M::IS_SIGNED { -i64::from(M::OUTPUT_BOUND) } else { 0 };
    let most = i64::from(M::OUTPUT_BOUND);
    let factors: Vec<_> = (-half..=half).map(|w| M::factor(w as i32)).collect();
    let mut count = 0;
    // Pairs have numbers: the factor counts fastest.
    let pairs = (most - least + 1) * factors.len() as i64;
    for number in extent.of(0..=pairs - 1) {
        let (a, index) =
            (least + number / factors.len() as i64, (number % factors.len() as i64) as usize);
        check_product::<M>(a, index as i64 - half, factors[index]);
        count += 1;
    }
    count
}

exhaust! {
    // Products of rings by the paper's transform.
    pseudo_mersenne_653: by_two_factors::<PseudoMersenne<24, 6>>,
    pseudo_mersenne_761_and_1277: by_two_factors::<PseudoMersenne<25, 12>>,
    shoup_653: by_two_factors::<Shoup<16_777_153>>,
    shoup_761_and_1277: by_two_factors::<Shoup<33_550_337>>,
    montgomery_653: by_two_factors::<Montgomery<16_777_153>>,
    montgomery_761_and_1277: by_two_factors::<Montgomery<33_550_337>>,
    // The other methods of the laboratory, with a modulus of the laboratory.
    barrett: by_two_factors::<Barrett<469_762_049>>,
    constant_division: by_two_factors::<ConstantDivision<469_762_049>>,
    runtime_division: by_two_factors::<RuntimeDivision<469_762_049>>,
    plantard: by_two_factors::<Plantard<469_762_049>>,
    rounding_shoup: by_two_factors::<RoundingShoup<469_762_049>>,
    proth: by_two_factors::<Proth<7, 26>>,
    mersenne: by_two_factors::<Mersenne<31>>,
    float: by_two_factors::<Float<16_777_207>>,
    unsigned_division: by_two_factors::<UnsignedDivision<469_762_049>>,
    unsigned_shoup: by_two_factors::<UnsignedShoup<469_762_049>>,
    unsigned_montgomery: by_two_factors::<UnsignedMontgomery<469_762_049>>,
    // All pairs below the moduli of the scheme.
    montgomery_pairs_4591: all_pairs::<Montgomery<4591>>,
    montgomery_pairs_4621: all_pairs::<Montgomery<4621>>,
    montgomery_pairs_7879: all_pairs::<Montgomery<7879>>,
    shoup_pairs_4591: all_pairs::<Shoup<4591>>,
    shoup_pairs_4621: all_pairs::<Shoup<4621>>,
    shoup_pairs_7879: all_pairs::<Shoup<7879>>,
    plantard_pairs_4591: all_pairs::<Plantard<4591>>,
    plantard_pairs_4621: all_pairs::<Plantard<4621>>,
    plantard_pairs_7879: all_pairs::<Plantard<7879>>,
    float_pairs_4591: all_pairs::<Float<4591>>,
    float_pairs_4621: all_pairs::<Float<4621>>,
    float_pairs_7879: all_pairs::<Float<7879>>,
}
