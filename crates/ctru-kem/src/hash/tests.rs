//! Compares the hashes on every backend with those of the crates `sha3` and `shake`.

use core::array;

use ctru_math::backend;
use sha2::{Digest as _, Sha512};
use sha3::Sha3_512 as ReferenceSha3;
use shake::{ExtendableOutput, Shake256 as ReferenceShake, Update, XofReader};

use super::inputs::{MESSAGE_INPUT, REJECTION_INPUT, SHAKE256_INPUT};
use super::interleaved::Interleaved;
use super::lanes::Vectors;
use super::sha512::Inputs;
use super::sponge::{Function, Hash, Padded, Sha3_512, Shake256};

const LONGEST: usize = 1700;

/// Returns `length` pseudo-random bytes, then zeros. The bytes depend on `length` and `number`.
fn input(length: usize, number: usize) -> [u8; LONGEST] {
    let mut state = (length as u32) << 8 | number as u32 | 1 << 31;
    array::from_fn(|i| {
        state = state.wrapping_mul(0x915f_77f5).wrapping_add(0x6a09_e667);
        if i < length { (state >> 24) as u8 } else { 0 }
    })
}

fn padded<F: Function, const BYTES: usize>(parts: &[&[u8]]) -> Padded<F, BYTES> {
    let mut padded = Padded::room();
    padded.fill(parts);
    padded
}

fn reference_shake(input: &[u8], output: &mut [u8]) {
    let mut shake = ReferenceShake::default();
    shake.update(input);
    shake.finalize_xof().read(output);
}

/// Checks the hashes of `N` inputs of `length` bytes on each backend.
fn check<F: Function, const BYTES: usize, const N: usize>(
    length: usize,
    output_length: usize,
    reference: fn(&[u8], &mut [u8]),
) {
    let inputs: [_; N] = array::from_fn(|number| input(length, number));
    let mut expected = [[0; LONGEST]; N];
    for (input, expected) in inputs.iter().zip(&mut expected) {
        reference(&input[..length], &mut expected[..output_length]);
    }
    // With the cut at 0, only the last part of the input has bytes.
    for cut in [0, length / 3] {
        let parts =
            |input: &[u8; LONGEST]| padded::<F, BYTES>(&[&input[..cut], &[], &input[cut..length]]);
        let padded = inputs.each_ref().map(parts);
        for backend in backend::available() {
            let mut outputs = [[0; LONGEST]; N];
            let mut slices = outputs.each_mut().map(|output| &mut output[..output_length]);
            let vectors = Vectors::of(backend).expect("an available backend");
            vectors.run(N, Hash { inputs: &padded, outputs: &mut slices });
            assert_eq!(
                outputs, expected,
                "{backend}, {N} inputs of {length} bytes, {output_length} bytes of output"
            );
        }
    }
}

fn every_number<F: Function, const BYTES: usize>(
    length: usize,
    output_length: usize,
    reference: fn(&[u8], &mut [u8]),
) {
    check::<F, BYTES, 1>(length, output_length, reference);
    check::<F, BYTES, 2>(length, output_length, reference);
    check::<F, BYTES, 3>(length, output_length, reference);
    check::<F, BYTES, 8>(length, output_length, reference);
    check::<F, BYTES, 11>(length, output_length, reference);
}

#[test]
fn shake256_of_every_length_of_input() {
    for length in 0..SHAKE256_INPUT {
        every_number::<Shake256, SHAKE256_INPUT>(length, 32, reference_shake);
    }
}

#[test]
fn shake256_around_every_edge_of_an_output_block() {
    let edges = (1..=10).flat_map(|blocks| (136 * blocks - 9)..=(136 * blocks + 9));
    for length in (1..18).chain(edges) {
        every_number::<Shake256, SHAKE256_INPUT>(32, length, reference_shake);
    }
}

fn reference_sha3(input: &[u8], output: &mut [u8]) {
    let digest = ReferenceSha3::digest(input);
    output.copy_from_slice(&digest[..output.len()]);
}

#[test]
fn sha3_512_of_every_length_of_input() {
    for length in 0..MESSAGE_INPUT {
        every_number::<Sha3_512, MESSAGE_INPUT>(length, 64, reference_sha3);
    }
    let edges = (2..=23).flat_map(|blocks| (72 * blocks - 2)..=(72 * blocks + 1));
    for length in edges.chain([LONGEST]) {
        every_number::<Sha3_512, REJECTION_INPUT>(length, 32, reference_sha3);
    }
}

/// Compares the hashes of the empty string with known answers.
///
/// Source: the published examples of FIPS 202.
#[test]
fn hashes_of_nothing() {
    let mut digest = [[0; 64]];
    super::hash(
        &[padded::<Sha3_512, MESSAGE_INPUT>(&[])],
        &mut digest.each_mut().map(|d| d.as_mut_slice()),
    );
    assert_eq!(digest[0][..8], [0xa6, 0x9f, 0x73, 0xcc, 0xa2, 0x3a, 0x9a, 0xc5]);
    let mut output = [[0; 32]];
    super::shake256([[]], output.each_mut().map(|output| output.as_mut_slice()));
    assert_eq!(output[0][..8], [0x46, 0xb9, 0xdd, 0x2b, 0x0b, 0xa8, 0x8d, 0x13]);
}

/// Compares the interleaved hashes of a decapsulation with single hashes, for the lengths of all
/// parameter sets and for lengths with few blocks.
#[test]
fn interleaved_as_one_by_one() {
    for (message_length, rejected_length, coins_length) in [
        (73, 963, 490),
        (80, 1017, 381),
        (112, 1662, 639),
        (10, 400, 300),
        (0, 300, 1),
        (143, LONGEST, 136),
    ] {
        let (message, ciphertext) = (input(message_length, 1), input(rejected_length, 2));
        let (message, ciphertext) = (&message[..message_length], &ciphertext[..rejected_length]);
        let (mut digest, mut coins, mut rejected) = ([0; 64], [0; LONGEST], [0; 32]);
        reference_sha3(message, &mut digest);
        reference_shake(&digest[32..], &mut coins[..coins_length]);
        reference_sha3(ciphertext, &mut rejected);
        for backend in backend::available() {
            let (mut found_digest, mut found_coins, mut found_rejected) =
                ([0; 64], [0; LONGEST], [0; 32]);
            let work = Interleaved {
                message: &padded(&[message]),
                rejection: &padded(&[ciphertext]),
                digest: &mut found_digest,
                coins: &mut found_coins[..coins_length],
                rejected: &mut found_rejected,
            };
            Vectors::of(backend).expect("an available backend").run(1, work);
            assert_eq!(
                (found_digest, found_coins, found_rejected),
                (digest, coins, rejected),
                "{backend}"
            );
        }
    }
}

/// Checks the hashes of `N` inputs of each length on each backend.
fn check_sha512<const N: usize>() {
    for length in [0, 1, 63, 110, 111, 112, 127, 128, 238, 239, 240, 1000] {
        let inputs: [_; N] = array::from_fn(|number| input(length, number));
        for cut in [0, length / 3, length] {
            let parts: [_; N] = array::from_fn(|number| {
                let (first, second) = inputs[number][..length].split_at(cut);
                (number as u8, [first, second])
            });
            let expected = parts.map(|(prefix, [first, second])| {
                let hash = Sha512::new().chain_update([prefix]).chain_update(first);
                hash.chain_update(second).finalize()
            });
            for vectors in backend::available().filter_map(Vectors::of) {
                let mut digests = [[0; 32]; N];
                vectors.run(N, Inputs { inputs: parts, digests: digests.each_mut() });
                for (digest, expected) in digests.iter().zip(&expected) {
                    assert_eq!(digest[..], expected[..32]);
                }
            }
        }
    }
}

#[test]
fn sha512() {
    check_sha512::<1>();
    check_sha512::<2>();
    check_sha512::<3>();
    check_sha512::<8>();
    check_sha512::<11>();
}
