//! The transform against its definition, and products by it against the schoolbook.

use crate::strategies::{numbers, poly, rounded_poly, small_poly};
use ctru_math::array::Array;
use ctru_math::mul::schoolbook;
use ctru_math::{NtruPrimeRing, Poly, R653, R761, R1277, Ring, RoundedPoly, SmallPoly};
use proptest::prelude::*;
use research_arithmetic::ntt::{self, Folding, Multiplying, NttRing, butterfly, leaf};
use research_arithmetic::reduce::{Montgomery, PseudoMersenne, ReduceSum, Reducer};

fn small<R: Ring>(coefficients: &[i64]) -> SmallPoly<R> {
    let coefficients: Vec<i8> = coefficients.iter().map(|&c| c as i8).collect();
    SmallPoly::from_coefficients(&coefficients).unwrap()
}

fn sampled_poly<R: Ring>() -> impl Strategy<Value = SmallPoly<R>> {
    let eta = i64::from(R::ETA);
    numbers(R::N, -eta, eta).prop_map(|c| small(&c))
}

/// Generates arrays that `forward` takes.
fn operand<R: NttRing<A>, A>() -> impl Strategy<Value = Vec<i64>> {
    numbers(R::NTT_LEN, -i64::from(R::OPERAND_BOUND), R::OPERAND_BOUND.into())
}

fn ntt_coeffs<R: NttRing<A>, A>(coefficients: &[i64]) -> R::NttCoeffs {
    R::NttCoeffs::from_fn(|i| coefficients[i] as i32)
}

fn residue<M: Reducer>(a: i128) -> u64 {
    a.rem_euclid(i128::from(M::MODULUS)) as u64
}

/// Returns the number that a precomputed factor stands for.
fn value<M: Reducer<Residue = i32>>(w: M::Factor) -> u64 {
    M::canonical(M::mul(1, w)).into()
}

fn pow<M: Reducer>(base: u64, exponent: usize) -> u64 {
    (0..exponent).fold(1, |power, _| power * base % u64::from(M::MODULUS))
}

/// Returns sign patterns that make products, sums or differences large.
fn patterns(len: usize, values: &[i64]) -> Vec<Vec<i64>> {
    let mut all = Vec::new();
    for &a in values {
        for &b in values {
            all.push((0..len).map(|i| if i % 2 == 0 { a } else { b }).collect());
            all.push((0..len).map(|i| if i < len / 2 { a } else { b }).collect());
        }
    }
    all
}

/// Checks that leaf `j` is the input modulo `x^d - zeta_j`, and that the `zeta_j` are the `LEAVES`
/// different roots of `x^LEAVES - 1`.
fn check_leaves<R: NttRing<A>, A>(input: &[i64]) {
    let modulus = u64::from(R::Reducer::MODULUS);
    let mut coeffs = ntt_coeffs::<R, A>(input);
    ntt::forward::<R, A>(&mut coeffs);

    let mut seen = std::collections::HashSet::new();
    for (leaf, &zeta) in coeffs.as_ref().chunks_exact(R::LEAF_DEGREE).zip(R::TWIDDLES.leaves) {
        let zeta = value::<R::Reducer>(zeta);
        assert_eq!(pow::<R::Reducer>(zeta, R::LEAVES), 1);
        assert!(seen.insert(zeta));
        for (i, &actual) in leaf.iter().enumerate() {
            assert!(actual.abs() <= R::FORWARD_BOUND);
            // Horner's rule at zeta for the coefficients i, i + d, i + 2d, ...
            let strided = input[i..].iter().step_by(R::LEAF_DEGREE);
            let expected = strided
                .rev()
                .fold(0, |sum, &c| (sum * zeta + residue::<R::Reducer>(c.into())) % modulus);
            assert_eq!(residue::<R::Reducer>(actual.into()), expected);
        }
    }
    assert_eq!(seen.len(), R::LEAVES);
}

fn check_round_trip<R: NttRing<A>, A>(input: &[i64]) {
    let mut coeffs = ntt_coeffs::<R, A>(input);
    ntt::forward::<R, A>(&mut coeffs);
    for c in coeffs.as_mut() {
        *c = R::Butterfly::normalise(*c);
    }
    ntt::inverse::<R, A>(&mut coeffs);
    for (&actual, &expected) in coeffs.as_ref().iter().zip(input) {
        let expected = i128::from(expected) * i128::from(R::Reducer::RADIX);
        assert_eq!(residue::<R::Reducer>(actual.into()), residue::<R::Reducer>(expected));
        assert!(actual.unsigned_abs() <= R::Reducer::MODULUS / 2, "not centred");
    }
}

/// Returns the output bound of the transform's reducer.
fn output_bound<R: NttRing<A>, A>() -> i64 {
    i64::from(<R::Reducer as Reducer>::OUTPUT_BOUND)
}

/// Checks that the inverse of any array within its bound has this array, times `RADIX`, as its
/// transform.
fn check_inverse<R: NttRing<A>, A>(input: &[i64]) {
    let mut coeffs = ntt_coeffs::<R, A>(input);
    ntt::inverse::<R, A>(&mut coeffs);
    // The outputs are too large for `forward`, so the test computes four leaves by definition.
    for j in [0, 1, R::LEAVES / 2, R::LEAVES - 1] {
        let zeta = value::<R::Reducer>(R::TWIDDLES.leaves[j]);
        for i in 0..R::LEAF_DEGREE {
            let strided = coeffs.as_ref()[i..].iter().step_by(R::LEAF_DEGREE);
            let actual = strided.rev().fold(0, |sum, &c| {
                (sum * zeta + residue::<R::Reducer>(c.into())) % u64::from(R::Reducer::MODULUS)
            });
            let expected =
                i128::from(input[R::LEAF_DEGREE * j + i]) * i128::from(R::Reducer::RADIX);
            assert_eq!(actual, residue::<R::Reducer>(expected));
        }
    }
}

/// Compares a leaf product with the definition.
fn check_leaf_product<M: ReduceSum, const D: usize>(a: [i32; D], b: [i32; D], zeta: i32) {
    let mut expected = [0i128; D];
    for i in 0..D {
        for j in 0..D {
            let fold = if i + j < D { 1 } else { i128::from(zeta) };
            expected[(i + j) % D] += i128::from(a[i]) * i128::from(b[j]) * fold;
        }
    }
    let actual = leaf::product::<M, D>(a, b, M::factor(zeta));
    for (actual, expected) in actual.into_iter().zip(expected) {
        assert!(actual.abs() <= M::OUTPUT_BOUND);
        let undone = i128::from(actual) * i128::from(M::RADIX);
        assert_eq!(residue::<M>(undone), residue::<M>(expected));
    }
}

fn check_extreme_leaf_products<M: ReduceSum, const D: usize>(bound: i32) {
    let half = (M::MODULUS / 2) as i32;
    let signs =
        |bits: usize| core::array::from_fn(|i| if bits >> i & 1 == 0 { bound } else { -bound });
    for bits in 0..1 << (2 * D) {
        for zeta in [1, -1, half, -half] {
            check_leaf_product::<M, D>(signs(bits), signs(bits >> D), zeta);
        }
    }
}

/// Compares every product with the schoolbook, for all combinations of extreme coefficients.
fn check_extreme_products<R: NttRing<A>, A>() {
    let (q, q2) = (R::Q as u16, R::Q2 as u16);
    let (eta, bound) = (R::ETA as i8, SmallPoly::<R>::BOUND as i8);
    let operands = |values: &[i8]| -> Vec<SmallPoly<R>> {
        let values: Vec<i64> = values.iter().map(|&v| v.into()).collect();
        patterns(R::N, &values).iter().map(|c| small(c)).collect()
    };
    let (sampled, any) = (operands(&[eta, -eta]), operands(&[bound, -bound]));

    for h in [q - 1, (q - 1) / 2, q.div_ceil(2), 0, 1] {
        let h = Poly::<R>::from_coefficients(&vec![h; R::N]).unwrap();
        for r in &sampled {
            let expected = schoolbook::mul_small(&h, r);
            assert_eq!(ntt::mul_sampled::<R, A>(&h, r), expected);
            assert_eq!(ntt::mul_small::<R, A>(&h, r), expected);
        }
        for b in &any {
            assert_eq!(ntt::mul_small::<R, A>(&h, b), schoolbook::mul_small(&h, b));
        }
    }
    for c in [q2 - 1, q2 / 2, q2 / 2 - 1, 0] {
        let c = RoundedPoly::<R>::from_coefficients(&vec![c; R::N]).unwrap();
        for f in &any {
            assert_eq!(ntt::mul_rounded::<R, A>(&c, f), schoolbook::mul_rounded(&c, f));
        }
    }
}

macro_rules! ring_tests {
    ($($name:ident: $ring:ty, $arithmetic:ty);* $(;)?) => {
        $(mod $name {
            use super::*;

            #[test]
            fn extreme_transforms() {
                let bound = i64::from(<$ring as NttRing<$arithmetic>>::OPERAND_BOUND);
                let len = <$ring as NttRing<$arithmetic>>::NTT_LEN;
                for input in patterns(len, &[bound, -bound, 0]) {
                    check_leaves::<$ring, $arithmetic>(&input);
                    check_round_trip::<$ring, $arithmetic>(&input);
                }
                let bound = output_bound::<$ring, $arithmetic>();
                for input in patterns(len, &[bound, -bound]) {
                    check_inverse::<$ring, $arithmetic>(&input);
                }
            }

            #[test]
            fn extreme_products() {
                check_extreme_products::<$ring, $arithmetic>();
            }

            #[test]
            #[cfg(debug_assertions)]
            #[should_panic]
            fn mul_sampled_refuses_larger_coefficients() {
                let mut b = vec![0; <$ring>::N];
                b[7] = -(<$ring>::ETA as i64) - 1;
                let _ = ntt::mul_sampled::<$ring, $arithmetic>(&Poly::<$ring>::zero(), &small(&b));
            }

            proptest! {
                #![proptest_config(ProptestConfig::with_cases(24))]

                #[test]
                fn leaves(input in operand::<$ring, $arithmetic>()) {
                    check_leaves::<$ring, $arithmetic>(&input);
                }

                #[test]
                fn round_trip(input in operand::<$ring, $arithmetic>()) {
                    check_round_trip::<$ring, $arithmetic>(&input);
                }

                #[test]
                fn inverse(seed in numbers(<$ring as NttRing<$arithmetic>>::NTT_LEN, -1000, 1000)) {
                    let bound = output_bound::<$ring, $arithmetic>();
                    let values: Vec<_> = seed.iter().map(|c| c * bound / 1000).collect();
                    check_inverse::<$ring, $arithmetic>(&values);
                }

                #[test]
                fn mul_sampled(a in poly::<$ring>(), b in sampled_poly::<$ring>()) {
                    let product = ntt::mul_sampled::<$ring, $arithmetic>(&a, &b);
                    prop_assert_eq!(product, schoolbook::mul_small(&a, &b));
                }

                #[test]
                fn mul_small(a in poly::<$ring>(), b in small_poly::<$ring>()) {
                    let product = ntt::mul_small::<$ring, $arithmetic>(&a, &b);
                    prop_assert_eq!(product, schoolbook::mul_small(&a, &b));
                }

                #[test]
                fn mul_rounded(c in rounded_poly::<$ring>(), f in small_poly::<$ring>()) {
                    let product = ntt::mul_rounded::<$ring, $arithmetic>(&c, &f);
                    prop_assert_eq!(product, schoolbook::mul_rounded(&c, &f));
                }
            }
        })*
    };
}

ring_tests! {
    r653_folding: R653, Folding;
    r761_folding: R761, Folding;
    r1277_folding: R1277, Folding;
    r653_multiplying: R653, Multiplying;
    r761_multiplying: R761, Multiplying;
    r1277_multiplying: R1277, Multiplying;
}

#[test]
fn extreme_leaf_products() {
    check_extreme_leaf_products::<<R761 as NttRing>::Reducer, 3>(<R761 as NttRing>::FORWARD_BOUND);
    check_extreme_leaf_products::<<R1277 as NttRing>::Reducer, 5>(
        <R1277 as NttRing>::FORWARD_BOUND,
    );
    check_extreme_leaf_products::<<R653 as NttRing>::Reducer, 7>(<R653 as NttRing>::FORWARD_BOUND);
}

proptest! {
    /// Checks leaf products also with a reducer whose radix is not 1.
    #[test]
    fn leaf_products(a: [i16; 5], b: [i16; 5], zeta in -3840i32..=3840) {
        let (a, b) = (a.map(i32::from), b.map(i32::from));
        check_leaf_product::<Montgomery<7681>, 5>(a.map(|a| a / 4), b.map(|b| b / 4), zeta);
        check_leaf_product::<PseudoMersenne<25, 12>, 5>(a, b, zeta);
    }

    /// Checks that each butterfly evaluates its polynomial at the right points, and that its
    /// inverse undoes it.
    #[test]
    fn butterflies(x in -10_000_000i32..10_000_000, y: i16, u: i16, exponent in 0usize..192) {
        type M = PseudoMersenne<24, 6>;
        let modulus = i64::from(M::MODULUS);
        let centred = |a: u64| {
            (if a > modulus as u64 / 2 { a as i64 - modulus } else { a as i64 }) as i32
        };
        let (x, y, u) = (x, i32::from(y), i32::from(u));
        let same = |a: i32, b: i128| assert_eq!(residue::<M>(a.into()), residue::<M>(b));

        let leaves = &<R653 as NttRing>::TWIDDLES.leaves;
        let root = value::<M>(leaves[<R653 as NttRing>::LEAVES / 3 - 1]);
        let z = centred(pow::<M>(root, exponent));
        let inverse = centred(pow::<M>(root, 192 - exponent));
        let wide = |a: i32| i128::from(a);

        let (a, b) = butterfly::radix2::<M>(x, y, z);
        same(a, wide(x) + wide(y) * wide(z));
        same(b, wide(x) - wide(y) * wide(z));
        let (a, b) = butterfly::radix2_inverse::<M>(a, b, inverse);
        same(a, 2 * wide(x));
        same(b, 2 * wide(y));

        let omega = <R653 as NttRing>::TWIDDLES.radix3.unwrap().omega;
        let squared = |w: i32| centred(pow::<M>(residue::<M>(w.into()), 2));
        let at = |p: i128| wide(x) + p * wide(y) + p * p % i128::from(modulus) * wide(u);
        let images = butterfly::radix3::<M>([x, y, u], [z, squared(z)], omega);
        same(images[0], at(wide(z)));
        same(images[1], at(wide(z) * wide(omega) % i128::from(modulus)));
        same(images[2], at(wide(z) * wide(squared(omega)) % i128::from(modulus)));
        let back = butterfly::radix3_inverse::<M>(images, [inverse, squared(inverse)], omega);
        for (actual, expected) in back.into_iter().zip([x, y, u]) {
            same(actual, 3 * wide(expected));
        }
    }
}
