//! Compares the E8 encoder and decoder with test vectors, the decoder also with a second decoder
//! that computes squared distances, and with the distances to all sixteen codewords.

use std::array::from_fn;

use crate::strategies::{bytes, rounded_poly};
use crate::vectors::{E8Block, Intermediate, array};
use ctru_math::array::Array;
use ctru_math::compress::compress_with_message;
use ctru_math::e8::decode;
use ctru_math::kernel::e8::{BLOCK, decode_block, encode_nibble};
use ctru_math::{Arithmetic, Poly, RoundedPoly};
use ctru_tests::every_ring_on_every_backend;
use proptest::prelude::*;

fn decoded<R: Arithmetic>(decrypted: &RoundedPoly<R>) -> R::MessageBytes {
    let mut message = R::MessageBytes::zeroed();
    decode(decrypted, &mut message);
    message
}

/// Returns a codeword as a sum of rows of the generator matrix.
fn codeword(nibble: u8) -> u8 {
    [0x55, 0x0f, 0x3c, 0xf0]
        .iter()
        .enumerate()
        .fold(0, |sum, (bit, row)| sum ^ ((nibble >> bit & 1) * row))
}

fn squared_distance(q2: i32, v: u16, bit: u8) -> i32 {
    let v = i32::from(v);
    if bit == 0 { v.min(q2 - v).pow(2) } else { (v - q2 / 2).pow(2) }
}

/// Decodes by squared distances, with the rules for ties: a pair is complemented only if this is
/// strictly nearer, `a_0 = 1` is chosen only if its codeword is strictly nearer, and the first of
/// several cheapest pairs is reversed.
fn decoded_with_squares(q2: u16, v: [u16; BLOCK]) -> u8 {
    let d = |i: usize, bit: u8| squared_distance(q2.into(), v[i], bit);
    let candidates = [0, 1].map(|s| {
        let mut cost = 0;
        let mut complemented = [0; 4];
        let mut differences = [0; 4];
        for j in 0..4 {
            let kept = d(2 * j, s) + d(2 * j + 1, 0);
            let other = d(2 * j, 1 - s) + d(2 * j + 1, 1);
            complemented[j] = u8::from(other < kept);
            cost += kept.min(other);
            differences[j] = (other - kept).abs();
        }
        if complemented.iter().sum::<u8>() % 2 == 1 {
            let least = *differences.iter().min().unwrap();
            let reversed = differences.iter().position(|&difference| difference == least).unwrap();
            complemented[reversed] ^= 1;
            cost += least;
        }
        (cost, complemented)
    });
    let s = u8::from(candidates[1].0 < candidates[0].0);
    let p = candidates[usize::from(s)].1;
    s | p[0] << 1 | (p[0] ^ p[1]) << 2 | p[3] << 3
}

fn distance_to(q2: u16, v: [u16; BLOCK], nibble: u8) -> i32 {
    (0..BLOCK).map(|i| squared_distance(q2.into(), v[i], codeword(nibble) >> i & 1)).sum()
}

/// Checks a block against the decoder with squares and against all codewords; returns the nibble.
fn check(q2: u16, v: [u16; BLOCK]) -> u8 {
    let nibble = decode_block(q2.into(), v.map(u32::from));
    assert_eq!(nibble, decoded_with_squares(q2, v), "{v:?}");
    let least = (0..16).map(|nibble| distance_to(q2, v, nibble)).min();
    assert_eq!(Some(distance_to(q2, v, nibble)), least, "{v:?}");
    nibble
}

#[test]
fn codewords() {
    for nibble in 0..16 {
        assert_eq!(encode_nibble(nibble), codeword(nibble));
        for other in 0..nibble {
            assert!((codeword(nibble) ^ codeword(other)).count_ones() >= 4);
        }
    }
}

#[test]
fn block_vectors() {
    let blocks = E8Block::load();
    assert_eq!(blocks.len(), 400);
    for block in blocks {
        assert_eq!(check(block.q2, block.v), block.nibble);
        let distances = (0..16).map(|nibble| distance_to(block.q2, block.v, nibble));
        let least = distances.clone().min();
        assert_eq!(distances.filter(|&distance| Some(distance) == least).count() > 1, block.tie);
    }
}

fn vectors<R: Arithmetic>() {
    for record in Intermediate::load(R::N).encapsulations() {
        let codewords: Vec<u8> =
            record.m.iter().flat_map(|&byte| [byte & 15, byte >> 4].map(encode_nibble)).collect();
        assert_eq!(codewords, record.e8_codeword_bytes);
        let decrypted = RoundedPoly::<R>::from_coefficients(&record.decoded).unwrap();
        let message = decoded(&decrypted);
        assert_eq!(message.as_ref(), record.decoded_m);
        let nibbles: Vec<u8> =
            message.as_ref().iter().flat_map(|byte| [byte & 15, byte >> 4]).collect();
        assert_eq!(nibbles, record.decoded_nibbles);
        assert_eq!(message.as_ref(), record.m);
    }
}

/// Checks all blocks of multiples of `q2/4`. Nearly all of them are ties.
#[test]
fn coarse_grid() {
    for q2 in [1024, 2048] {
        for grid in 0..1u32 << 16 {
            check(q2, from_fn(|i| (grid >> (2 * i) & 3) as u16 * (q2 / 4)));
        }
    }
}

/// Generates coefficients: any ones, multiples of `q2/8`, and numbers at most 1 away from such a
/// multiple.
fn coefficient(q2: u16) -> impl Strategy<Value = u16> {
    let near_grid =
        (0..8u16, 0..3u16).prop_map(move |(k, offset)| (k * (q2 / 8) + q2 + offset - 1) % q2);
    prop_oneof![0..q2, (0..8u16).prop_map(move |k| k * (q2 / 8)), near_grid]
}

/// Generates blocks. Some have only two different coefficients and their negatives, so that many
/// distances are equal.
fn block(q2: u16) -> impl Strategy<Value = [u16; BLOCK]> {
    let few = (coefficient(q2), coefficient(q2), any::<[(bool, bool); BLOCK]>()).prop_map(
        move |(a, b, choices)| {
            choices.map(|(first, mirrored)| {
                let v = if first { a } else { b };
                if mirrored { (q2 - v) % q2 } else { v }
            })
        },
    );
    prop_oneof![
        proptest::collection::vec(coefficient(q2), BLOCK).prop_map(|v| from_fn(|i| v[i])),
        few
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]
    #[test]
    fn blocks_of_10_bits(v in block(1024)) {
        check(1024, v);
    }
    #[test]
    fn blocks_of_11_bits(v in block(2048)) {
        check(2048, v);
    }
}

fn polynomials<R: Arithmetic>() {
    proptest!(|(decrypted in rounded_poly::<R>())| {
        let blocks = decrypted.coefficients().as_chunks::<BLOCK>().0;
        let message = decoded(&decrypted);
        for (i, byte) in message.as_ref().iter().enumerate() {
            let decode = |block: usize| decode_block(R::Q2, blocks[block].map(u32::from));
            let [low, high] = [2 * i, 2 * i + 1].map(decode);
            prop_assert_eq!(*byte, low | high << 4);
        }
    });

    // With sigma = 0, encryption gives the codewords themselves. The decoder removes all noise
    // within the code's radius: less than q2/8 at each coefficient, or less than q2/4 at two
    // coefficients of each block.
    let q2 = R::Q2 as u16;
    let quarter = q2 / 4 - 1;
    proptest!(|(
        message in bytes(R::MESSAGE_BYTES), spread in any::<bool>(), signs in any::<u64>(),
    )| {
        let sent = compress_with_message(&Poly::<R>::zero(), &array(&message));
        let received: Vec<u16> = sent.coefficients().iter().enumerate().map(|(i, &c)| {
            let two = if i % 8 == 3 || i % 8 == 6 { quarter } else { 0 };
            let noise = if spread { q2 / 8 - 1 } else { two };
            let noise = if signs >> (i % 64) & 1 == 0 { noise } else { q2 - noise };
            (c + noise) % q2
        }).collect();
        let decoded = decoded(&RoundedPoly::<R>::from_coefficients(&received).unwrap());
        prop_assert_eq!(decoded.as_ref(), message);
    });
}

every_ring_on_every_backend! { for_each_ring:
    vectors,
    polynomials,
}
