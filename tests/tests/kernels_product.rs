//! Product kernels on the emulator against the CPU.

// An input that cannot be built is a failed test.
#![allow(clippy::unwrap_used)]

use ctru_gpu_kernels::emulator::Buffer;
use ctru_gpu_kernels::kernel::{Batch, Kernel};
use ctru_gpu_kernels::kernels::row;
use ctru_gpu_kernels::table::*;
use ctru_math::product::residue;
use ctru_math::{Poly, R653, R761, R1277, Ring, RoundedPoly, SmallPoly};
use ctru_tests::device;
use ctru_tests::strategies::numbers;
use proptest::prelude::*;

/// Rows with nonsense behind the last coefficient.
fn rows<R: Ring, T: Copy>(polynomials: &[Vec<i64>], nonsense: T, element: impl Fn(i64) -> T) -> Vec<T> {
    let padding = vec![nonsense; row::<R>() as usize - R::N];
    polynomials.iter().flat_map(|p| p.iter().map(|&c| element(c)).chain(padding.clone())).collect()
}

fn run<R: Ring>(kernel: &Kernel, large: &[Vec<i64>], small: &[Vec<i64>]) -> Vec<Vec<u16>> {
    let large = Buffer::new(&rows::<R, u16>(large, 0xabcd, |c| c as u16));
    let operations = small.len();
    let small = Buffer::new(&rows::<R, u8>(small, 0xef, |c| c as i8 as u8));
    let product = Buffer::new(&vec![0u16; operations * row::<R>() as usize]);
    device::launch(kernel, &[&large, &small, &product], Batch::each(operations as u32));
    product.content::<u16>().chunks(row::<R>() as usize).map(|row| row[..R::N].to_vec()).collect()
}

fn check_sampled<R: Ring>(kernel: &Kernel, large: &[Vec<i64>], small: &[Vec<i64>]) {
    for ((a, b), product) in large.iter().zip(small).zip(run::<R>(kernel, large, small)) {
        let a = Poly::<R>::from_coefficients(&a.iter().map(|&c| c as u16).collect::<Vec<_>>()).unwrap();
        let b = SmallPoly::from_coefficients(&b.iter().map(|&c| c as i8).collect::<Vec<_>>()).unwrap();
        assert_eq!(product, residue::mul_small(&a, &b).coefficients());
    }
}

fn check_rounded<R: Ring>(kernel: &Kernel, large: &[Vec<i64>], small: &[Vec<i64>]) {
    for ((a, b), product) in large.iter().zip(small).zip(run::<R>(kernel, large, small)) {
        let a =
            RoundedPoly::<R>::from_coefficients(&a.iter().map(|&c| c as u16).collect::<Vec<_>>()).unwrap();
        let b = SmallPoly::from_coefficients(&b.iter().map(|&c| c as i8).collect::<Vec<_>>()).unwrap();
        assert_eq!(product, residue::mul_rounded(&a, &b).coefficients());
    }
}

/// `count` pairs of a number in `0..modulus` and one of at most `bound`, for each coefficient.
fn operands(n: usize, modulus: u32, bound: u32) -> impl Strategy<Value = (Vec<Vec<i64>>, Vec<Vec<i64>>)> {
    let pair = (numbers(n, 0, i64::from(modulus) - 1), numbers(n, -i64::from(bound), i64::from(bound)));
    proptest::collection::vec(pair, 1..4).prop_map(|pairs| pairs.into_iter().unzip())
}

macro_rules! properties {
    ($($name:ident: $ring:ty),*) => {$(
        mod $name {
            use super::*;
            proptest! {
                #![proptest_config(ProptestConfig::with_cases(12))]
                #[test]
                fn sampled((large, small) in operands(<$ring>::N, <$ring>::Q, <$ring>::ETA)) {
                    check_sampled::<$ring>(MULTIPLY_SAMPLED.of::<$ring>(), &large, &small);
                }
                #[test]
                fn small((large, small) in operands(<$ring>::N, <$ring>::Q, SmallPoly::<$ring>::BOUND)) {
                    check_sampled::<$ring>(POLYPHASE_SMALL.of::<$ring>(), &large, &small);
                }
                #[test]
                fn rounded((large, small) in operands(<$ring>::N, <$ring>::Q2, SmallPoly::<$ring>::BOUND)) {
                    check_rounded::<$ring>(MULTIPLY_ROUNDED.of::<$ring>(), &large, &small);
                    check_rounded::<$ring>(POLYPHASE_ROUNDED.of::<$ring>(), &large, &small);
                }
            }
            #[test]
            fn extremes() {
                let (q, q2) = (i64::from(<$ring>::Q), i64::from(<$ring>::Q2));
                let (eta, bound) = (i64::from(<$ring>::ETA), i64::from(SmallPoly::<$ring>::BOUND));
                for sign in [-1, 1] {
                    for large in [q / 2, q / 2 + 1, q - 1] {
                        check_sampled::<$ring>(POLYPHASE_SMALL.of::<$ring>(), &[vec![large; <$ring>::N]], &[vec![sign * bound; <$ring>::N]]);
                        check_sampled::<$ring>(MULTIPLY_SAMPLED.of::<$ring>(), &[vec![large; <$ring>::N]], &[vec![sign * eta; <$ring>::N]]);
                    }
                    for large in [q2 / 2, q2 / 2 - 1, q2 - 1] {
                        check_rounded::<$ring>(POLYPHASE_ROUNDED.of::<$ring>(), &[vec![large; <$ring>::N]], &[vec![sign * bound; <$ring>::N]]);
                        check_rounded::<$ring>(MULTIPLY_ROUNDED.of::<$ring>(), &[vec![large; <$ring>::N]], &[vec![sign * bound; <$ring>::N]]);
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
