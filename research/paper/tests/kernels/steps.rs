//! Compares the kernels of single steps with the CPU.

use core::fmt::Debug;

use ctru_gpu_kernels::descriptor::{Batch, Kernel};
use ctru_gpu_kernels::emulator::Buffer;
use ctru_gpu_kernels::kernels::{SEED_WORDS, coin_words, message_words, row};
use ctru_gpu_kernels::simt::Word;
use ctru_math::array::Array;
use ctru_math::codec::bits;
use ctru_math::compress::compress_with_message;
use ctru_math::{Arithmetic, Poly, R653, R761, R1277, Ring, RoundedPoly, SmallPoly, e8, sample};
use ctru_tests::hashes::shake256;
use proptest::collection::vec;
use proptest::prelude::*;
use research_paper::table::*;

use crate::device;
use crate::operations::{self, Operations, Rows, SEED_BYTES, rows};
use crate::strategies::{bytes, poly, rounded_poly};
use crate::traces::assert_same_trace;
use crate::vectors::{Intermediate, array};

/// Returns the rows of `contents`, each filled up with `nonsense` to `width` elements.
fn padded<T: Copy>(contents: &[Vec<T>], width: u32, nonsense: T) -> Vec<T> {
    contents
        .iter()
        .flat_map(|row| (0..width as usize).map(|i| *row.get(i).unwrap_or(&nonsense)))
        .collect()
}

/// Returns the rows of `contents`, each filled up with `fill` to `width` little-endian words.
fn words(contents: &[Vec<u8>], width: u32, fill: u8) -> Vec<u64> {
    padded(contents, 8 * width, fill)
        .as_chunks()
        .0
        .iter()
        .map(|&word| u64::from_le_bytes(word))
        .collect()
}

/// Splits a row into its first `bytes` bytes and the others.
fn split_words(row: &[u64], bytes: usize) -> (Vec<u8>, Vec<u8>) {
    let mut all: Vec<u8> = row.iter().flat_map(|word| word.to_le_bytes()).collect();
    let behind = all.split_off(bytes);
    (all, behind)
}

fn signed(coefficients: &[i8]) -> Vec<u8> {
    coefficients.iter().map(|&c| c as u8).collect()
}

/// Returns an output array before a launch, with all bits set.
fn blank<T: Word>(len: usize) -> Buffer {
    Buffer::new(&vec![T::from_bits(!0); len])
}

/// Launches a kernel for `count` operations.
fn launch(kernel: &Kernel, buffers: &[&Buffer], count: usize) {
    device::launch(kernel, buffers, Batch::each(count as u32));
}

/// Checks that each row of an array begins with the expected elements.
fn assert_rows<T: Word>(buffer: &Buffer, width: u32, expected: &[Vec<T>]) {
    let content = buffer.content::<T>();
    assert_eq!(content.len(), width as usize * expected.len());
    for (row, expected) in content.chunks(width as usize).zip(expected) {
        assert_eq!(row[..expected.len()], expected[..]);
    }
}

fn check_sample<R: Arithmetic>(coins: &[Vec<u8>]) {
    let input = Buffer::new(&words(coins, coin_words::<R>(), 0xee));
    for (kernel, sample) in [
        (&SAMPLE, sample::sample::<R> as fn(&R::CoinBytes) -> SmallPoly<R>),
        (&SAMPLE_SECRET, sample::sample_secret::<R>),
    ] {
        let small = blank::<u8>(coins.len() * row::<R>() as usize);
        launch(kernel.of::<R>(), &[&input, &small], coins.len());
        let expected: Vec<_> =
            coins.iter().map(|coins| signed(sample(&array(coins)).coefficients())).collect();
        assert_rows(&small, row::<R>(), &expected);
    }
    let [small, secret] = [(); 2].map(|()| blank::<u8>(coins.len() * row::<R>() as usize));
    launch(SAMPLE.of::<R>(), &[&input, &small], coins.len());
    launch(UNFUSED_DOUBLE_AND_ADD_ONE.of::<R>(), &[&small, &secret], coins.len());
    let expected: Vec<_> = coins
        .iter()
        .map(|coins| signed(sample::sample_secret::<R>(&array(coins)).coefficients()))
        .collect();
    assert_rows(&secret, row::<R>(), &expected);
}

fn check_encrypt<R: Arithmetic>(inputs: &[(Poly<R>, Vec<u8>)]) {
    let count = inputs.len();
    let sigma: Vec<_> = inputs.iter().map(|(sigma, _)| sigma.coefficients().to_vec()).collect();
    let sigma = Buffer::new(&padded(&sigma, row::<R>(), 0xffff));
    let messages: Vec<_> = inputs.iter().map(|(_, message)| message.clone()).collect();
    let messages = Buffer::new(&words(&messages, message_words::<R>(), 0));
    let ciphertexts = blank::<u8>(count * R::CIPHERTEXT_BYTES);
    launch(ENCRYPT.of::<R>(), &[&sigma, &messages, &ciphertexts], count);
    let expected: Vec<_> = inputs
        .iter()
        .map(|(sigma, message)| bits::pack_rounded(&compress_with_message(sigma, &array(message))))
        .flat_map(|ciphertext| ciphertext.as_ref().to_vec())
        .collect();
    assert_eq!(ciphertexts.content::<u8>(), expected);

    let (encoded, coefficients) =
        (blank::<u16>(count * row::<R>() as usize), blank::<u16>(count * row::<R>() as usize));
    let ciphertexts = blank::<u8>(count * R::CIPHERTEXT_BYTES);
    launch(UNFUSED_ENCODE_MESSAGE.of::<R>(), &[&messages, &encoded], count);
    launch(UNFUSED_COMPRESS_AND_ADD.of::<R>(), &[&sigma, &encoded, &coefficients], count);
    launch(UNFUSED_PACK_CIPHERTEXT.of::<R>(), &[&coefficients, &ciphertexts], count);
    assert_eq!(ciphertexts.content::<u8>(), expected);
}

fn check_unpack_ciphertext<R: Arithmetic>(inputs: &[Vec<u8>]) {
    let ciphertexts = Buffer::new(&inputs.concat());
    let coefficients = blank::<u16>(inputs.len() * row::<R>() as usize);
    launch(UNPACK_CIPHERTEXT.of::<R>(), &[&ciphertexts, &coefficients], inputs.len());
    let expected: Vec<_> = inputs
        .iter()
        .map(|bytes| bits::unpack_rounded::<R>(&array(bytes)).coefficients().to_vec())
        .collect();
    assert_rows(&coefficients, row::<R>(), &expected);
}

fn check_decode_message<R: Arithmetic>(inputs: &[RoundedPoly<R>]) {
    let decrypted: Vec<_> = inputs.iter().map(|v| v.coefficients().to_vec()).collect();
    let decrypted = Buffer::new(&padded(&decrypted, row::<R>(), 0xffff));
    let messages = blank::<u64>(inputs.len() * message_words::<R>() as usize);
    launch(DECODE_MESSAGE.of::<R>(), &[&decrypted, &messages], inputs.len());
    for (row, v) in messages.content::<u64>().chunks(message_words::<R>() as usize).zip(inputs) {
        let (message, behind) = split_words(row, R::MESSAGE_BYTES);
        let mut expected = R::MessageBytes::zeroed();
        e8::decode(v, &mut expected);
        assert_eq!(message, expected.as_ref());
        assert!(behind.iter().all(|&byte| byte == 0));
    }
}

/// Runs the checks on the values of the test vectors.
fn check_vectors<R: Arithmetic>() {
    let vector = Intermediate::load(R::N);
    check_sample::<R>(&[vector.coins_f.clone(), vector.coins_g.clone()]);
    for record in vector.encapsulations() {
        check_sample::<R>(std::slice::from_ref(&record.coins_r));
        check_encrypt::<R>(&[(Poly::from_coefficients(&record.sigma).unwrap(), record.m.clone())]);
        check_unpack_ciphertext::<R>(std::slice::from_ref(&record.ct));
        check_decode_message::<R>(&[RoundedPoly::from_coefficients(&record.decoded).unwrap()]);
    }
}

fn check_traces<R: Arithmetic>() {
    let width = row::<R>() as usize;
    let coins =
        [vec![0u8; R::COIN_BYTES], (0..R::COIN_BYTES).map(|i| (31 * i % 251) as u8).collect()];
    for kernel in [&SAMPLE, &SAMPLE_SECRET] {
        let buffers = coins.clone().map(|coins| {
            vec![Buffer::new(&words(&[coins], coin_words::<R>(), 0)), blank::<u8>(width)]
        });
        assert_same_trace(kernel.of::<R>(), buffers, Batch::each(1));
    }
    for (modulus, kernel) in [(R::Q2, &DECODE_MESSAGE), (R::Q, &ENCRYPT)] {
        let buffers = [0, 1].map(|secret| {
            let coefficients: Vec<u16> =
                (0..width).map(|i| (secret * (7 * i + 3) % modulus as usize) as u16).collect();
            let messages =
                vec![secret as u64 * 0x0123_4567_89ab_cdef; message_words::<R>() as usize];
            let mut buffers = vec![Buffer::new(&coefficients), Buffer::new(&messages)];
            if core::ptr::eq(kernel, &ENCRYPT) {
                buffers.push(blank::<u8>(R::CIPHERTEXT_BYTES));
            }
            buffers
        });
        assert_same_trace(kernel.of::<R>(), buffers, Batch::each(1));
    }
    // All operations of one batch are rejected, and all of the other are accepted.
    let selecting = [1u8, 0].map(|bit| {
        let operations = Operations::draw::<R>(33, 33);
        let mut expected = operations.ciphertexts.clone();
        expected.iter_mut().for_each(|ciphertext| ciphertext[0] ^= bit);
        vec![
            Buffer::new(&operations.ciphertexts.concat()),
            Buffer::new(&expected.concat()),
            operations::words(&operations.z),
            operations::words(&operations.seeds),
        ]
    });
    assert_same_trace(SELECT.of::<R>(), selecting, Batch::each(33));
}

/// Runs `select` and returns the chosen secrets.
fn select<R: Arithmetic>(
    received: &[Vec<u8>],
    expected: &[Vec<u8>],
    rejection_secrets: &[Vec<u8>],
    shared_secrets: &[Vec<u8>],
) -> Rows {
    let secrets = operations::words(shared_secrets);
    let [received, expected] = [received, expected].map(|rows| Buffer::new(&rows.concat()));
    let batch = Batch::each(shared_secrets.len() as u32);
    device::launch(
        SELECT.of::<R>(),
        &[&received, &expected, &operations::words(rejection_secrets), &secrets],
        batch,
    );
    rows(&secrets, SEED_WORDS)
}

/// Checks `select`: the ciphertexts of even operations are equal, and those of odd operations
/// differ in one bit, at varying positions.
fn check_selection<R: Arithmetic>(operations: &Operations, bit: usize) {
    let bits = 8 * R::CIPHERTEXT_BYTES;
    let mut expected = operations.ciphertexts.clone();
    for (i, ciphertext) in expected.iter_mut().enumerate().skip(1).step_by(2) {
        let bit = (bit + i * bits / operations.count()) % bits;
        ciphertext[bit / 8] ^= 1 << (bit % 8);
    }
    let zs: Vec<_> = (0..operations.count()).map(|i| shake256(&[i as u8], SEED_BYTES)).collect();
    let chosen = select::<R>(&operations.ciphertexts, &expected, &zs, &operations.seeds);
    for (i, chosen) in chosen.iter().enumerate() {
        assert_eq!(chosen, if i % 2 == 0 { &operations.seeds[i] } else { &zs[i] }, "operation {i}");
    }
}

/// Generates batches of 1, 2 or 33 values.
fn batch<T: Debug>(one: impl Strategy<Value = T> + Clone) -> impl Strategy<Value = Vec<T>> {
    prop_oneof![4 => Just(1usize), 3 => Just(2), 1 => Just(33)]
        .prop_flat_map(move |count| vec(one.clone(), count))
}

macro_rules! properties {
    ($($name:ident: $ring:ty),*) => {$(
        mod $name {
            use super::*;
            proptest! {
                #![proptest_config(ProptestConfig::with_cases(8))]
                #[test]
                fn sample(coins in batch(bytes(<$ring>::COIN_BYTES).boxed())) {
                    check_sample::<$ring>(&coins);
                }
                #[test]
                fn encrypt(inputs in batch((poly::<$ring>(),
                    bytes(<$ring>::MESSAGE_BYTES)).boxed())) {
                    check_encrypt::<$ring>(&inputs);
                }
                #[test]
                fn unpack_ciphertext(inputs in batch(bytes(<$ring>::CIPHERTEXT_BYTES).boxed())) {
                    check_unpack_ciphertext::<$ring>(&inputs);
                }
                #[test]
                fn decode_message(inputs in batch(rounded_poly::<$ring>().boxed())) {
                    check_decode_message::<$ring>(&inputs);
                }
                #[test]
                fn selection(count in proptest::sample::select(&[1usize, 2, 31, 33][..]),
                    bit: usize) {
                    check_selection::<$ring>(&Operations::draw::<$ring>(count, count), bit);
                }
            }
            #[test]
            fn every_bit_is_compared() {
                let ciphertext = Operations::draw::<$ring>(1, 1).ciphertexts.remove(0);
                let (rejection, secret) = (vec![1; SEED_BYTES], vec![2; SEED_BYTES]);
                // In small batches, because the emulator keeps a history for each byte.
                for byte in 0..ciphertext.len() {
                    let received = (0..8).map(|bit| {
                        let mut received = ciphertext.clone();
                        received[byte] ^= 1 << bit;
                        received
                    });
                    let chosen = select::<$ring>(
                        &received.collect::<Vec<_>>(), &vec![ciphertext.clone(); 8],
                        &vec![rejection.clone(); 8], &vec![secret.clone(); 8],
                    );
                    assert!(chosen.iter().all(|chosen| *chosen == rejection));
                }
            }
            #[test]
            fn vectors() {
                check_vectors::<$ring>();
            }
            #[test]
            fn traces() {
                check_traces::<$ring>();
            }
        }
    )*};
}
properties! {
    r653: R653,
    r761: R761,
    r1277: R1277
}
