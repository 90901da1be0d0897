//! Compares the product kernels on the emulator with the CPU.

use core::ops::RangeInclusive;

use ctru_gpu_kernels::descriptor::{Batch, Kernel, RingKernels};
use ctru_gpu_kernels::emulator::Buffer;
use ctru_gpu_kernels::kernels::row;
use ctru_math::mul;
use ctru_math::{Arithmetic, NtruPrimeRing, Poly, R653, R761, R1277, Ring, RoundedPoly, SmallPoly};
use proptest::collection::vec;
use proptest::prelude::*;
use research_paper::table::{
    MULTIPLY_ROUNDED, MULTIPLY_SAMPLED, POLYPHASE_ROUNDED, POLYPHASE_SMALL,
    SAME_PUBLIC_KEY_MULTIPLY, SAME_SECRET_KEY_MULTIPLY, SCHOOLBOOK_SMALL,
};

use crate::device;
use crate::operations::batch;
use crate::strategies::numbers;
use crate::traces::assert_same_trace;

/// Returns rows of coefficients with nonsense after the last coefficient.
fn rows<R: Arithmetic, T: Copy>(
    polynomials: &[Vec<i64>],
    nonsense: T,
    element: impl Fn(i64) -> T,
) -> Vec<T> {
    let padding = vec![nonsense; row::<R>() as usize - R::N];
    polynomials.iter().flat_map(|p| p.iter().map(|&c| element(c)).chain(padding.clone())).collect()
}

/// Runs a product kernel. There is one operand of each kind per operation, or one shared operand of
/// one kind.
fn run<R: Arithmetic>(kernel: &Kernel, large: &[Vec<i64>], small: &[Vec<i64>]) -> Vec<Vec<u16>> {
    let operations = large.len().max(small.len());
    let batch = batch(operations, large.len().min(small.len()));
    let large = Buffer::new(&rows::<R, u16>(large, 0xabcd, |c| c as u16));
    let small = Buffer::new(&rows::<R, u8>(small, 0xef, |c| c as i8 as u8));
    let product = Buffer::new(&vec![0u16; operations * row::<R>() as usize]);
    device::launch(kernel, &[&large, &small, &product], batch);
    product.content::<u16>().chunks(row::<R>() as usize).map(|row| row[..R::N].to_vec()).collect()
}

fn check_sampled<R: Arithmetic>(kernel: &Kernel, large: &[Vec<i64>], small: &[Vec<i64>]) {
    for ((a, b), product) in large.iter().cycle().zip(small).zip(run::<R>(kernel, large, small)) {
        let a =
            Poly::<R>::from_coefficients(&a.iter().map(|&c| c as u16).collect::<Vec<_>>()).unwrap();
        let b =
            SmallPoly::from_coefficients(&b.iter().map(|&c| c as i8).collect::<Vec<_>>()).unwrap();
        assert_eq!(product, mul::mul_small(&a, &b).coefficients());
    }
}

fn check_rounded<R: Arithmetic>(kernel: &Kernel, large: &[Vec<i64>], small: &[Vec<i64>]) {
    for ((a, b), product) in
        large.iter().zip(small.iter().cycle()).zip(run::<R>(kernel, large, small))
    {
        let a =
            RoundedPoly::<R>::from_coefficients(&a.iter().map(|&c| c as u16).collect::<Vec<_>>())
                .unwrap();
        let b =
            SmallPoly::from_coefficients(&b.iter().map(|&c| c as i8).collect::<Vec<_>>()).unwrap();
        assert_eq!(product, mul::mul_rounded(&a, &b).coefficients());
    }
}

/// The kernels that multiply modulo `q`.
const SMALL_PRODUCTS: [&RingKernels; 4] =
    [&MULTIPLY_SAMPLED, &POLYPHASE_SMALL, &SCHOOLBOOK_SMALL, &SAME_PUBLIC_KEY_MULTIPLY];
/// The kernels that multiply modulo `q2`.
const ROUNDED_PRODUCTS: [&RingKernels; 3] =
    [&MULTIPLY_ROUNDED, &POLYPHASE_ROUNDED, &SAME_SECRET_KEY_MULTIPLY];

fn check_traces<R: Arithmetic>() {
    for kernel in SMALL_PRODUCTS.into_iter().chain(ROUNDED_PRODUCTS) {
        let operands = [0, 1].map(|secret: i64| {
            let coefficient = |i: i64, count: i64| secret * (5 * i % count);
            let large: Vec<_> = (0..R::N as i64).map(|i| coefficient(i, R::Q2.into())).collect();
            let small: Vec<_> = (0..R::N as i64).map(|i| 1 - coefficient(i, 3)).collect();
            vec![
                Buffer::new(&rows::<R, u16>(&[large], 0, |c| c as u16)),
                Buffer::new(&rows::<R, u8>(&[small], 0, |c| c as i8 as u8)),
                Buffer::new(&vec![0u16; row::<R>() as usize]),
            ]
        });
        assert_same_trace(kernel.of::<R>(), operands, Batch::each(1));
    }
}

/// Generates one polynomial with coefficients in `one` and several with coefficients in `many`. The
/// number of the latter is smaller than, equal to or larger than the number of operations per block
/// of the kernels for one key.
fn one_by_many(
    n: usize,
    one: RangeInclusive<i64>,
    many: RangeInclusive<i64>,
) -> impl Strategy<Value = (Vec<Vec<i64>>, Vec<Vec<i64>>)> {
    let numbers = move |range: RangeInclusive<i64>| numbers(n, *range.start(), *range.end());
    let count = prop_oneof![Just(1usize), Just(16), Just(17), 1usize..35];
    (vec(numbers(one), 1), count.prop_flat_map(move |count| vec(numbers(many.clone()), count)))
}

/// Generates up to three pairs of operands: one with coefficients in `0..modulus`, and one whose
/// coefficients have absolute values of at most `bound`.
fn operands(
    n: usize,
    modulus: u32,
    bound: u32,
) -> impl Strategy<Value = (Vec<Vec<i64>>, Vec<Vec<i64>>)> {
    let pair =
        (numbers(n, 0, i64::from(modulus) - 1), numbers(n, -i64::from(bound), i64::from(bound)));
    vec(pair, 1..4).prop_map(|pairs| pairs.into_iter().unzip())
}

macro_rules! properties {
    ($($name:ident: $ring:ty),*) => {$(
        mod $name {
            use super::*;

            const BOUND: i64 = SmallPoly::<$ring>::BOUND as i64;
            const LARGE: RangeInclusive<i64> = 0..=<$ring>::Q as i64 - 1;
            const ROUNDED: RangeInclusive<i64> = 0..=<$ring>::Q2 as i64 - 1;
            const SMALL: RangeInclusive<i64> = -BOUND..=BOUND;

            proptest! {
                #![proptest_config(ProptestConfig::with_cases(12))]
                #[test]
                fn sampled((large, small) in operands(<$ring>::N, <$ring>::Q, <$ring>::ETA)) {
                    check_sampled::<$ring>(MULTIPLY_SAMPLED.of::<$ring>(), &large, &small);
                }
                #[test]
                fn small((large, small) in operands(<$ring>::N, <$ring>::Q,
                    SmallPoly::<$ring>::BOUND)) {
                    check_sampled::<$ring>(POLYPHASE_SMALL.of::<$ring>(), &large, &small);
                    check_sampled::<$ring>(SCHOOLBOOK_SMALL.of::<$ring>(), &large, &small);
                    check_sampled::<$ring>(SCHOOLBOOK_SMALL.of::<$ring>(), &large[..1], &small);
                }
                #[test]
                fn rounded((large, small) in operands(<$ring>::N, <$ring>::Q2,
                    SmallPoly::<$ring>::BOUND)) {
                    check_rounded::<$ring>(MULTIPLY_ROUNDED.of::<$ring>(), &large, &small);
                    check_rounded::<$ring>(POLYPHASE_ROUNDED.of::<$ring>(), &large, &small);
                }
            }
            proptest! {
                #![proptest_config(ProptestConfig::with_cases(6))]
                #[test]
                fn same_public_key((key, small) in one_by_many(<$ring>::N, LARGE, SMALL)) {
                    check_sampled::<$ring>(SAME_PUBLIC_KEY_MULTIPLY.of::<$ring>(), &key, &small);
                }
                #[test]
                fn same_secret_key((key, large) in one_by_many(<$ring>::N, SMALL, ROUNDED)) {
                    check_rounded::<$ring>(SAME_SECRET_KEY_MULTIPLY.of::<$ring>(), &large, &key);
                }
            }
            #[test]
            fn traces() {
                check_traces::<$ring>();
            }
            #[test]
            fn extremes() {
                let (q, q2) = (i64::from(<$ring>::Q), i64::from(<$ring>::Q2));
                let eta = i64::from(<$ring>::ETA);
                let all = |value: i64| [vec![value; <$ring>::N]];
                for sign in [-1, 1] {
                    for large in [q / 2, q / 2 + 1, q - 1] {
                        check_sampled::<$ring>(MULTIPLY_SAMPLED.of::<$ring>(), &all(large),
                            &all(sign * eta));
                        for kernel in [&POLYPHASE_SMALL, &SCHOOLBOOK_SMALL,
                            &SAME_PUBLIC_KEY_MULTIPLY] {
                            check_sampled::<$ring>(kernel.of::<$ring>(), &all(large),
                                &all(sign * BOUND));
                        }
                    }
                    for large in [q2 / 2, q2 / 2 - 1, q2 - 1] {
                        for kernel in ROUNDED_PRODUCTS {
                            check_rounded::<$ring>(kernel.of::<$ring>(), &all(large),
                                &all(sign * BOUND));
                        }
                    }
                }
            }
        }
    )*};
}
properties! {
    r653: R653,
    r761: R761,
    r1277: R1277
}
