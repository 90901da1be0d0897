//! Compares the product with a sampled polynomial with the CPU.

use ctru_gpu_kernels::descriptor::Batch;
use ctru_gpu_kernels::emulator::Buffer;
use ctru_gpu_kernels::kernels::{coin_words, row};
use ctru_gpu_kernels::table::POLYPHASE_COINS;
use ctru_math::mul;
use ctru_math::sample::sample;
use ctru_math::{Arithmetic, NtruPrimeRing, Poly, R653, R761, R1277};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::device;
use crate::strategies::numbers;
use crate::traces::assert_same_trace;
use crate::vectors::array;

/// Returns rows of coefficients with nonsense after the last coefficient.
fn rows<R: Arithmetic>(polynomials: &[Vec<i64>]) -> Vec<u16> {
    let padding = vec![0xabcd; row::<R>() as usize - R::N];
    polynomials.iter().flat_map(|p| p.iter().map(|&c| c as u16).chain(padding.clone())).collect()
}

/// Checks products by polynomials that are sampled from random coins.
fn check_random_coins<R: Arithmetic>(large: &[Vec<i64>], seed: u64) {
    // Knuth's MMIX generator; its upper bits are the random ones.
    let mut state = seed;
    let mut random = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 56
    };
    let words = coin_words::<R>() as usize;
    let coins =
        (0..large.len() * words).map(|_| (0..8).fold(0, |word, _| word << 8 | random())).collect();
    check_coins::<R>(large, coins);
}

/// Checks products by polynomials that are sampled from these coins.
fn check_coins<R: Arithmetic>(large: &[Vec<i64>], coins: Vec<u64>) {
    let words = coin_words::<R>() as usize;
    let arrays = [Buffer::new(&rows::<R>(large)), Buffer::new(&coins)];
    let product = Buffer::new(&vec![0u16; large.len() * row::<R>() as usize]);
    let batch = Batch::each(large.len() as u32);
    device::launch(POLYPHASE_COINS.of::<R>(), &[&arrays[0], &arrays[1], &product], batch);
    let products = product.content::<u16>();
    for ((a, coins), product) in
        large.iter().zip(coins.chunks(words)).zip(products.chunks(row::<R>() as usize))
    {
        let a: Vec<u16> = a.iter().map(|&c| c as u16).collect();
        let bytes: Vec<u8> = coins.iter().flat_map(|word| word.to_le_bytes()).collect();
        let small = sample::<R>(&array(&bytes[..R::COIN_BYTES]));
        let expected = mul::mul_small(&Poly::<R>::from_coefficients(&a).unwrap(), &small);
        assert_eq!(product[..R::N], *expected.coefficients());
    }
}

/// Checks products of powers of `x` and powers of `x` with either sign: all pairs on a GPU, and a
/// few on the emulator. The kernel is linear in both operands, so all pairs show all products.
fn check_powers_of_x<R: Arithmetic>() {
    let step = if device::IS_EMULATED { R::N } else { 1 };
    let powers: Vec<usize> = (0..R::N).step_by(step).chain([R::N - 1]).collect();
    for &i in &powers {
        let mut power = vec![0; R::N];
        power[i] = 1;
        let mut coins = vec![0; 2 * powers.len() * coin_words::<R>() as usize];
        for (j, coins) in coins.chunks_mut(coin_words::<R>() as usize).enumerate() {
            // The first and the second half of a coefficient's bits have different signs.
            let bit = (2 * powers[j / 2] + j % 2) * R::ETA as usize;
            coins[bit / 64] = 1 << (bit % 64);
        }
        check_coins::<R>(&vec![power; 2 * powers.len()], coins);
    }
}

fn check_traces<R: Arithmetic>() {
    let operands = [0, 1].map(|secret: u64| {
        vec![
            Buffer::new(&vec![(secret * 0x0abc) as u16; row::<R>() as usize]),
            Buffer::new(&vec![secret * 0x0123_4567_89ab_cdef; coin_words::<R>() as usize]),
            Buffer::new(&vec![0u16; row::<R>() as usize]),
        ]
    });
    assert_same_trace(POLYPHASE_COINS.of::<R>(), operands, Batch::each(1));
}

macro_rules! properties {
    ($($name:ident: $ring:ty),*) => {$(
        mod $name {
            use super::*;

            proptest! {
                #![proptest_config(ProptestConfig::with_cases(12))]
                #[test]
                fn coins(
                    large in vec(numbers(<$ring>::N, 0, i64::from(<$ring>::Q) - 1), 1..4),
                    seed in any::<u64>(),
                ) {
                    check_random_coins::<$ring>(&large, seed);
                }
            }
            #[test]
            fn powers_of_x() {
                check_powers_of_x::<$ring>();
            }
            #[test]
            fn traces() {
                check_traces::<$ring>();
            }
            #[test]
            fn extremes() {
                let q = i64::from(<$ring>::Q);
                for coins in [0, u64::MAX, 0x3333_3333_3333_3333, 0x71c7_1c71_c71c_71c7] {
                    for large in [q / 2, q - 1] {
                        let coins = vec![coins; coin_words::<$ring>() as usize];
                        check_coins::<$ring>(&[vec![large; <$ring>::N]], coins);
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
