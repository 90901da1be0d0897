//! Arithmetic modulo `q` on all its inputs.

use ctru_math::kernel::modular::{Modulo, centre};
use ctru_math::{Arithmetic, R653, R761, R1277};
use ctru_tests::exhaust;
use ctru_tests::exhaust::Extent;

fn remainder<R: Arithmetic>(a: i64) -> i64 {
    a.rem_euclid(R::Q.into())
}

fn check_product<R: Arithmetic>(a: i64, w: i64) {
    let product = i64::from(Modulo::<R>::mul(a as i32, w as i32));
    assert!(product.abs() <= Modulo::<R>::BOUND.into(), "{a} * {w} = {product}");
    assert!(remainder::<R>(product) == remainder::<R>(a * w), "{a} * {w} = {product}");
}

/// Checks products of all numbers by the largest factor and by 1 (`normalise`), and the canonical
/// and centred forms of all products.
fn by_two_factors<R: Arithmetic>(extent: Extent) -> u64 {
    let mut count = 0;
    let largest = i64::from(i32::MAX);
    for a in extent.of(-largest..=largest) {
        check_product::<R>(a, (R::Q / 2).into());
        assert!(Modulo::<R>::normalise(a as i32) == Modulo::<R>::mul(a as i32, 1));
        check_product::<R>(a, 1);
        count += 2;
    }
    let bound = i64::from(Modulo::<R>::BOUND);
    for a in extent.of(-bound..=bound) {
        let canonical = Modulo::<R>::canonical(a as i32);
        assert!(i64::from(canonical) == remainder::<R>(a), "canonical({a})");
        let centred = Modulo::<R>::centred(a as i32);
        assert!(centred == centre(canonical as i32, R::Q), "centred({a})");
        assert!(centred.unsigned_abs() <= R::Q / 2, "centred({a})");
        assert!(remainder::<R>(centred.into()) == remainder::<R>(a), "centred({a})");
        count += 2;
    }
    count
}

/// Checks all pairs of a product and a factor.
fn all_pairs<R: Arithmetic>(extent: Extent) -> u64 {
    let (half, bound) = (i64::from(R::Q / 2), i64::from(Modulo::<R>::BOUND));
    let factors = 2 * half + 1;
    let mut count = 0;
    for number in extent.of(0..=(2 * bound + 1) * factors - 1) {
        check_product::<R>(number / factors - bound, number % factors - half);
        count += 1;
    }
    count
}

exhaust! {
    two_factors_653: by_two_factors::<R653>,
    two_factors_761: by_two_factors::<R761>,
    two_factors_1277: by_two_factors::<R1277>,
    pairs_653: all_pairs::<R653>,
    pairs_761: all_pairs::<R761>,
    pairs_1277: all_pairs::<R1277>,
}
