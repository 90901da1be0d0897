//! The decoder of the E8 code against the distances to all sixteen codewords.

use std::array::from_fn;

use ctru_math::array::Array;
use ctru_math::e8::decode;
use ctru_math::kernel::e8::{BLOCK, decode_block, distance, encode_nibble, nearest};
use ctru_math::{Arithmetic, R653, R761, R1277, RoundedPoly};
use ctru_tests::backends::on_every_backend;

use ctru_tests::exhaust;
use ctru_tests::exhaust::Extent;

/// Returns by how much a 1 in this place is farther from `v` than a 0, as squared distances.
fn difference(q2: i32, v: u16) -> i32 {
    let v = i32::from(v);
    (v - q2 / 2).pow(2) - v.min(q2 - v).pow(2)
}

/// Returns whether no codeword is nearer than that of `nibble`. Distances are relative to that of
/// the codeword of zeros.
fn is_nearest(differences: [i32; BLOCK], nibble: u8) -> bool {
    let distances: [i32; 16] = from_fn(|candidate| {
        let codeword = encode_nibble(candidate as u8);
        (0..BLOCK).map(|j| differences[j] * i32::from(codeword >> j & 1)).sum()
    });
    let least = distances.into_iter().min();
    nibble < 16 && Some(distances[usize::from(nibble)]) == least
}

/// Checks the distance of every value.
fn distances(_: Extent) -> u64 {
    let mut count = 0;
    for q2 in [8, 1024, 2048, 4096] {
        for v in 0..q2 {
            let a = distance(q2, v);
            assert_eq!(distance(q2 as i16, v as i16), a as i16, "{v} modulo {q2}");
            assert_eq!((q2 / 4 - a) * q2, difference(q2, v as u16), "{v} modulo {q2}");
            count += 1;
        }
    }
    count
}

/// Checks all blocks of values modulo 8.
fn modulo_8(extent: Extent) -> u64 {
    let mut count = 0;
    for number in extent.of(0..=(1 << 24) - 1) {
        let block: [u16; BLOCK] = from_fn(|j| (number >> (3 * j) & 7) as u16);
        let nibble = decode_block(8, block.map(u32::from));
        assert!(is_nearest(block.map(|v| difference(8, v)), nibble), "{block:?}");
        count += 1;
    }
    count
}

/// Checks all blocks of distances modulo 16, with both kinds of numbers.
fn small_distances(extent: Extent) -> u64 {
    let mut count = 0;
    for number in extent.of(0..=9_i64.pow(8) - 1) {
        let mut rest = number;
        let a: [i16; BLOCK] = from_fn(|_| {
            let digit = rest % 9;
            rest /= 9;
            digit as i16
        });
        let nibble = nearest(8, a);
        assert!(is_nearest(a.map(|a| 4 - i32::from(a)), nibble), "{a:?}");
        assert_eq!(nearest(8, a.map(i32::from)), nibble, "{a:?}");
        count += 1;
    }
    count
}

/// Checks random blocks of a ring on every backend, all backends together `blocks` of them.
fn random_blocks<R: Arithmetic>(extent: Extent, blocks: usize) -> u64 {
    let backends = ctru_math::backend::available().count();
    let per_call = R::CODED_COEFFS / BLOCK;
    let calls = extent.count(blocks).div_ceil(backends * per_call);
    let mut state = 1_u64;
    let mut count = 0;
    on_every_backend(|| {
        let mut values = vec![0_u16; R::N];
        let mut message = R::MessageBytes::zeroed();
        for _ in 0..calls {
            for values in values.chunks_mut(4) {
                // Knuth's MMIX generator; its upper bits are the random ones.
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                for (i, value) in values.iter_mut().enumerate() {
                    *value = (state >> (20 + R::Q2_BITS as usize * i)) as u16 & (R::Q2 as u16 - 1);
                }
            }
            decode(&RoundedPoly::<R>::from_coefficients(&values).unwrap(), &mut message);
            for (i, block) in values[..R::CODED_COEFFS].as_chunks::<BLOCK>().0.iter().enumerate() {
                let nibble = message.as_ref()[i / 2] >> (4 * (i % 2)) & 15;
                let differences = block.map(|v| difference(R::Q2 as i32, v));
                assert!(is_nearest(differences, nibble), "{block:?}");
                count += 1;
            }
        }
    });
    count
}

/// Checks one block of each kind, at the real `q2`, on every backend.
///
/// The decoder computes two times four differences of distances: `p_j`, of the pairs of
/// coefficients, for codewords with `a_0 = 0`, and others for those with `a_0 = 1`. From four
/// differences it takes only their signs and the order of their absolute values to decide. Each
/// combination of signs and order, with zeros and ties, occurs for numbers from -4 to 4. So
/// `9^4 9^4` blocks have all combinations. The best of the codewords with one `a_0` is a function
/// of signs and order, too: to depart from the signs in an odd number of places costs at least
/// the smallest absolute value. Last, the decoder compares two exact sums. The scales of the two
/// times four differences vary, so that either sum is less.
fn kinds<R: Arithmetic>(extent: Extent) -> u64 {
    let half = R::Q2 as i64 / 2;
    let per_call = R::CODED_COEFFS / BLOCK;
    let mut count = 0;
    for (even_scale, odd_scale) in [(1, 1), (15, 1), (1, 15)] {
        // Differences of both kinds are even, so that their half sums are integers.
        let unit = 2 * (half / 8 / (even_scale + odd_scale));
        let value = |number: i64, j: usize| {
            let difference = |place: usize| number / 9_i64.pow(place as u32) % 9 - 4;
            let even = difference(j / 2) * unit * even_scale;
            let odd = difference(4 + j / 2) * unit * odd_scale;
            let distance = (half - even + if j.is_multiple_of(2) { odd } else { -odd }) / 2;
            // Coefficients at both sides of 0.
            let other_side = (number >> j ^ number >> 9) & 1 == 1 && distance != 0;
            (if other_side { 2 * half - distance } else { distance }) as u16
        };
        let mut values = vec![0_u16; R::N];
        let mut message = R::MessageBytes::zeroed();
        let mut all = extent.of(0..=9_i64.pow(8) - 1);
        loop {
            let numbers: Vec<i64> = all.by_ref().take(1 << 16).collect();
            if numbers.is_empty() {
                break;
            }
            on_every_backend(|| {
                for numbers in numbers.chunks(per_call) {
                    for (block, &number) in
                        values.as_chunks_mut::<BLOCK>().0.iter_mut().zip(numbers)
                    {
                        *block = from_fn(|j| value(number, j));
                    }
                    decode(&RoundedPoly::<R>::from_coefficients(&values).unwrap(), &mut message);
                    let blocks = values.as_chunks::<BLOCK>().0.iter().take(numbers.len());
                    for (i, block) in blocks.enumerate() {
                        let nibble = message.as_ref()[i / 2] >> (4 * (i % 2)) & 15;
                        let differences = block.map(|v| difference(R::Q2 as i32, v));
                        assert!(is_nearest(differences, nibble), "{block:?}");
                        count += 1;
                    }
                }
            });
        }
    }
    count
}

exhaust! {
    every_kind_of_block_653: kinds::<R653>,
    every_kind_of_block_761: kinds::<R761>,
    every_distance: distances,
    every_block_modulo_8: modulo_8,
    every_block_of_small_distances: small_distances,
    random_653: |extent| random_blocks::<R653>(extent, 500_000_000),
    random_761: |extent| random_blocks::<R761>(extent, 250_000_000),
    random_1277: |extent| random_blocks::<R1277>(extent, 250_000_000),
}
