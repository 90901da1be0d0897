//! Batches of inversions of every shape up to 130 elements.

use ctru_math::invert::{BatchNode, invert_batch};
use ctru_math::{
    NtruPrimeArithmetic, Poly, R653, R761, R857, R953, R1013, R1277, SmallPoly, mul, ternary,
};
use ctru_tests::backends::on_every_backend;
use ctru_tests::exhaust;
use ctru_tests::exhaust::Extent;

/// The largest size of a batch.
const MOST: usize = 130;

/// Returns sizes of batches. In a sample they are small.
fn sizes(extent: Extent) -> impl Iterator<Item = usize> {
    let most = if extent == Extent::All { MOST } else { 13 };
    extent.some(0..=most as i64, 3).map(|size| size as usize)
}

/// Returns an element with coefficients in `-1..=1`, or zero for every thirteenth number.
fn element<R: NtruPrimeArithmetic>(number: usize) -> SmallPoly<R> {
    let mut state = number as u32;
    let coefficients = (0..R::N).map(|_| {
        state = state.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
        if number % 13 == 5 { 0 } else { ((state >> 24) % 3) as i8 - 1 }
    });
    SmallPoly::from_coefficients(&coefficients.collect::<Vec<_>>()).unwrap()
}

/// Checks inverses by products with the elements.
fn modulo_q<R: NtruPrimeArithmetic>(extent: Extent) -> u64 {
    let elements: Vec<SmallPoly<R>> = (0..MOST).map(element).collect();
    let elements: Vec<_> = elements.iter().collect();
    let mut nodes: Vec<_> = elements.iter().map(|_| BatchNode::new()).collect();
    let mut inverses = vec![Poly::one(); elements.len()];
    let mut count = 0;
    on_every_backend(|| {
        for size in sizes(extent) {
            let elements = &elements[..size];
            invert_batch(elements, &mut inverses, &mut nodes).unwrap();
            for (&element, inverse) in elements.iter().zip(&inverses) {
                let zero = *element == SmallPoly::zero();
                let expected = if zero { Poly::zero() } else { Poly::one() };
                assert!(mul::mul_small(inverse, element) == expected, "{size} elements");
                assert!(!zero || *inverse == Poly::zero(), "{size} elements");
                count += 1;
            }
        }
    });
    count
}

/// Does the same modulo 3, where other elements than zero have no inverse.
fn modulo_3<R: NtruPrimeArithmetic>(extent: Extent) -> u64 {
    let elements: Vec<SmallPoly<R>> = (0..MOST).map(element).collect();
    let exist: Vec<bool> = elements.iter().map(|a| ternary::invert(a).is_some().into()).collect();
    let mut count = 0;
    on_every_backend(|| {
        for size in sizes(extent) {
            let elements = &elements[..size];
            let mut nodes = [elements, elements].concat();
            ternary::invert_batch(&mut nodes);
            for ((element, inverse), &exists) in elements.iter().zip(&nodes[size..]).zip(&exist) {
                let expected = if exists { SmallPoly::one() } else { SmallPoly::zero() };
                assert!(ternary::mul(inverse, element) == expected, "{size} elements");
                assert!(exists || *inverse == SmallPoly::zero(), "{size} elements");
                count += 1;
            }
        }
    });
    count
}

exhaust! {
    batches_653: modulo_q::<R653>,
    batches_761: modulo_q::<R761>,
    batches_857: modulo_q::<R857>,
    batches_953: modulo_q::<R953>,
    batches_1013: modulo_q::<R1013>,
    batches_1277: modulo_q::<R1277>,
    batches_modulo_3_653: modulo_3::<R653>,
    batches_modulo_3_761: modulo_3::<R761>,
    batches_modulo_3_857: modulo_3::<R857>,
    batches_modulo_3_953: modulo_3::<R953>,
    batches_modulo_3_1013: modulo_3::<R1013>,
    batches_modulo_3_1277: modulo_3::<R1277>,
}
