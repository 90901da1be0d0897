//! Compares the fused kernels with the CPU.

use ctru_gpu_kernels::descriptor::{Batch, RingKernels};
use ctru_gpu_kernels::emulator::Buffer;
use ctru_gpu_kernels::kernels::{SEED_WORDS, coin_words, message_words, row};
use ctru_gpu_kernels::table::*;
use ctru_math::array::Array;
use ctru_math::codec::bits;
use ctru_math::compress::compress_with_message;
use ctru_math::mul;
use ctru_math::{Arithmetic, NtruPrimeRing, Poly, R653, R761, R1277, Ring, SmallPoly, e8, sample};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::device;
use crate::operations::{batch, strings};
use crate::strategies::{bytes, poly};
use crate::traces::assert_same_trace;
use crate::vectors::array;

/// Returns the rows of `contents`, each filled up with `nonsense` to `width` elements.
fn padded<T: Copy>(contents: &[Vec<T>], width: u32, nonsense: T) -> Vec<T> {
    contents
        .iter()
        .flat_map(|row| (0..width as usize).map(|i| *row.get(i).unwrap_or(&nonsense)))
        .collect()
}

/// Returns the rows of `contents`, each filled up with `fill` to `width` little-endian words.
fn words(contents: &[Vec<u8>], width: u32, fill: u8) -> Buffer {
    let bytes = padded(contents, 8 * width, fill);
    Buffer::new(
        &bytes.as_chunks().0.iter().map(|&word| u64::from_le_bytes(word)).collect::<Vec<_>>(),
    )
}

fn rows_of_h<R: Arithmetic>(keys: &[Poly<R>]) -> Buffer {
    let rows: Vec<_> = keys.iter().map(|h| h.coefficients().to_vec()).collect();
    Buffer::new(&padded(&rows, row::<R>(), 0xffff))
}

/// Encrypts a message step by step on the CPU.
fn encrypted<R: Arithmetic>(h: &Poly<R>, coins: &[u8], message: &[u8]) -> Vec<u8> {
    let sigma = mul::mul_small(h, &sample::sample::<R>(&array(coins)));
    bits::pack_rounded(&compress_with_message(&sigma, &array(message))).as_ref().to_vec()
}

/// Flips a bit of a ciphertext, or two, whose differences must not cancel each other. Threads
/// compare groups of coefficients with as many bytes as a coefficient has bits.
pub(crate) fn flip<R: Arithmetic>(choice: usize, ciphertext: &mut [u8]) {
    let (bits, group) = (8 * R::CIPHERTEXT_BYTES, 8 * R::Q2_BITS as usize);
    // Pairs are in two words of a thread, in two threads, and in two groups of a thread.
    let flips: [&[usize]; 6] =
        [&[0], &[bits - 1], &[bits / 2 + 3], &[0, 32], &[0, group], &[0, 32 * group]];
    for bit in flips[choice % flips.len()] {
        ciphertext[bit / 8] ^= 1 << (bit % 8);
    }
}

/// The coins and the message of an operation.
type Operation = (Vec<u8>, Vec<u8>);

/// Kernels for encryption and verification: first those for keys that may all differ, then those
/// for one key.
const ENCRYPTIONS: [[&RingKernels; 2]; 2] =
    [[&FUSED_ENCRYPT, &FUSED_VERIFY], [&SAME_PUBLIC_KEY_ENCRYPT, &SAME_PUBLIC_KEY_VERIFY]];
const DECRYPTIONS: [&RingKernels; 2] = [&FUSED_DECRYPT, &SAME_SECRET_KEY_DECRYPT];

/// Checks encryption and verification. If there is one key for all operations, also checks the
/// kernels for one key.
fn check_encrypt<R: Arithmetic>(keys: &[Poly<R>], operations: &[Operation]) {
    let kernels = if keys.len() == 1 { &ENCRYPTIONS[..] } else { &ENCRYPTIONS[..1] };
    for &[encrypt, verify] in kernels {
        check_encrypt_with(encrypt, verify, keys, operations);
    }
}

fn check_encrypt_with<R: Arithmetic>(
    encrypt: &RingKernels,
    verify: &RingKernels,
    keys: &[Poly<R>],
    operations: &[Operation],
) {
    let count = operations.len();
    let key = |i: usize| &keys[i % keys.len()];
    let expected: Vec<_> = operations
        .iter()
        .enumerate()
        .map(|(i, (coins, message))| encrypted(key(i), coins, message))
        .collect();
    let (coins, messages): (Vec<_>, Vec<_>) = operations.iter().cloned().unzip();
    let h = rows_of_h(keys);
    let (coins, messages) =
        (words(&coins, coin_words::<R>(), 0xee), words(&messages, message_words::<R>(), 0));
    let batch = batch(count, keys.len());
    let ciphertexts = Buffer::new(&vec![0x55u8; (count * R::CIPHERTEXT_BYTES).next_multiple_of(4)]);
    device::launch(encrypt.of::<R>(), &[&h, &coins, &messages, &ciphertexts], batch);
    let content = ciphertexts.content::<u8>();
    assert_eq!(content[..count * R::CIPHERTEXT_BYTES], expected.concat()[..]);
    assert!(content[count * R::CIPHERTEXT_BYTES..].iter().all(|&byte| byte == 0x55));

    // Every second ciphertext has a flipped bit.
    let mut received = expected;
    for ciphertext in received.iter_mut().skip(1).step_by(2) {
        flip::<R>(usize::from(ciphertext[1]), ciphertext);
    }
    let secret = |kind: u64| {
        Buffer::new(
            &(0..u64::from(SEED_WORDS) * count as u64).map(|i| i << 8 | kind).collect::<Vec<_>>(),
        )
    };
    let (rejection, secrets) = (secret(1), secret(2));
    let received = strings(&received);
    let memory = [&h, &coins, &messages, &received, &rejection, &secrets];
    device::launch(verify.of::<R>(), &memory, batch);
    for (i, word) in secrets.content::<u64>().into_iter().enumerate() {
        let rejected = i / SEED_WORDS as usize % 2 == 1;
        assert_eq!(word, (i as u64) << 8 | if rejected { 1 } else { 2 });
    }
}

fn check_decrypt<R: Arithmetic>(secrets: &[SmallPoly<R>], ciphertexts: &[Vec<u8>]) {
    let expected: Vec<u8> = ciphertexts
        .iter()
        .enumerate()
        .flat_map(|(i, ciphertext)| {
            let c = bits::unpack_rounded::<R>(&array(ciphertext));
            let mut message = R::MessageBytes::zeroed();
            e8::decode(&mul::mul_rounded(&c, &secrets[i % secrets.len()]), &mut message);
            let mut row = message.as_ref().to_vec();
            row.resize(8 * message_words::<R>() as usize, 0);
            row
        })
        .collect();
    let f: Vec<_> =
        secrets.iter().map(|f| f.coefficients().iter().map(|&c| c as u8).collect()).collect();
    let f = Buffer::new(&padded(&f, row::<R>(), 0xef));
    let batch = batch(ciphertexts.len(), secrets.len());
    for kernel in if secrets.len() == 1 { &DECRYPTIONS[..] } else { &DECRYPTIONS[..1] } {
        let messages = Buffer::new(&vec![!0u64; ciphertexts.len() * message_words::<R>() as usize]);
        device::launch(kernel.of::<R>(), &[&strings(ciphertexts), &f, &messages], batch);
        let got: Vec<u8> =
            messages.content::<u64>().iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(got, expected);
    }
}

/// The bytes of two secrets that differ in every byte.
const SECRETS: [u8; 2] = [0x00, 0x7b];

fn check_traces<R: Arithmetic>(count: usize) {
    let batch = Batch::shared(count as u32);
    let h = Poly::<R>::from_coefficients(
        &(0..R::N).map(|i| (7 * i) as u16 % R::Q as u16).collect::<Vec<_>>(),
    )
    .unwrap();
    for [encrypt, verify] in ENCRYPTIONS {
        let inputs = |secret: u8| {
            let coins = vec![vec![secret; R::COIN_BYTES]; count];
            let messages = vec![vec![secret; R::MESSAGE_BYTES]; count];
            vec![
                rows_of_h(core::slice::from_ref(&h)),
                words(&coins, coin_words::<R>(), 0),
                words(&messages, message_words::<R>(), 0),
            ]
        };
        assert_same_trace(
            encrypt.of::<R>(),
            SECRETS.map(|secret| {
                let mut buffers = inputs(secret);
                buffers.push(strings(&vec![vec![0; R::CIPHERTEXT_BYTES]; count]));
                buffers
            }),
            batch,
        );
        // The received ciphertexts are valid for the first secret and invalid for the second one.
        let [coins, message] =
            [R::COIN_BYTES, R::MESSAGE_BYTES].map(|bytes| vec![SECRETS[0]; bytes]);
        let received = vec![encrypted(&h, &coins, &message); count];
        assert_same_trace(
            verify.of::<R>(),
            SECRETS.map(|secret| {
                let mut buffers = inputs(secret);
                buffers.push(strings(&received));
                for secret in [secret, !secret] {
                    buffers.push(words(&vec![vec![secret; 32]; count], SEED_WORDS, 0));
                }
                buffers
            }),
            batch,
        );
    }
    for kernel in DECRYPTIONS {
        let buffers = SECRETS.map(|secret| {
            let f = sample::sample_secret::<R>(&array(&vec![secret; R::COIN_BYTES]));
            let f: Vec<_> = f.coefficients().iter().map(|&c| c as u8).collect();
            vec![
                strings(&vec![vec![0x35; R::CIPHERTEXT_BYTES]; count]),
                Buffer::new(&padded(&[f], row::<R>(), 0)),
                Buffer::new(&vec![0u64; count * message_words::<R>() as usize]),
            ]
        });
        assert_same_trace(kernel.of::<R>(), buffers, batch);
    }
}

fn operation<R: Arithmetic>() -> impl Strategy<Value = Operation> {
    (bytes(R::COIN_BYTES), bytes(R::MESSAGE_BYTES))
}

fn secret<R: Arithmetic>() -> impl Strategy<Value = SmallPoly<R>> {
    bytes(R::COIN_BYTES).prop_map(|coins| sample::sample_secret::<R>(&array(&coins)))
}

macro_rules! properties {
    ($($name:ident: $ring:ty $(, $ignored:meta)?;)*) => {$(
        mod $name {
            use super::*;
            proptest! {
                #![proptest_config(ProptestConfig::with_cases(6))]
                #[test]
                fn encrypt_with_one_key(key in poly::<$ring>(),
                    operations in vec(operation::<$ring>(), 1..6)) {
                    check_encrypt::<$ring>(&[key], &operations);
                }
                #[test]
                fn encrypt_with_a_key_each(both in
                    vec((poly::<$ring>(), operation::<$ring>()), 2..6)) {
                    let (keys, operations): (Vec<_>, Vec<_>) = both.into_iter().unzip();
                    check_encrypt::<$ring>(&keys, &operations);
                }
                #[test]
                fn decrypt_with_one_key(f in secret::<$ring>(),
                    ciphertexts in vec(bytes(<$ring>::CIPHERTEXT_BYTES), 1..6)) {
                    check_decrypt::<$ring>(&[f], &ciphertexts);
                }
                #[test]
                fn decrypt_with_a_key_each(both in
                    vec((secret::<$ring>(), bytes(<$ring>::CIPHERTEXT_BYTES)), 2..6)) {
                    let (secrets, ciphertexts): (Vec<_>, Vec<_>) = both.into_iter().unzip();
                    check_decrypt::<$ring>(&secrets, &ciphertexts);
                }
            }
            proptest! {
                #![proptest_config(ProptestConfig::with_cases(4))]
                #[test]
                $(#[$ignored])?
                fn encrypt_blocks_with_one_key(key in poly::<$ring>(),
                    operations in vec(operation::<$ring>(), 15..35)) {
                    check_encrypt::<$ring>(&[key], &operations);
                }
                #[test]
                $(#[$ignored])?
                fn decrypt_blocks_with_one_key(f in secret::<$ring>(),
                    ciphertexts in vec(bytes(<$ring>::CIPHERTEXT_BYTES), 15..35)) {
                    check_decrypt::<$ring>(&[f], &ciphertexts);
                }
            }
            #[test]
            $(#[$ignored])?
            fn traces() {
                check_traces::<$ring>(19);
            }
            #[test]
            fn extremes() {
                let largest =
                    Poly::from_coefficients(&vec![<$ring>::Q as u16 - 1; <$ring>::N]).unwrap();
                for (coins, message) in [(0x00, 0xff), (0xff, 0x00), (0x33, 0x5a), (0xcc, 0xa5),
                    (0x1c, 0x77), (0xc7, 0x88)] {
                    let operation =
                        (vec![coins; <$ring>::COIN_BYTES], vec![message; <$ring>::MESSAGE_BYTES]);
                    check_encrypt::<$ring>(core::slice::from_ref(&largest),
                        &[operation.clone(), operation]);
                    let coins = vec![coins; <$ring>::COIN_BYTES];
                    let f = sample::sample_secret::<$ring>(&array(&coins));
                    check_decrypt::<$ring>(&[f], &[vec![0xff; <$ring>::CIPHERTEXT_BYTES],
                        vec![message; <$ring>::CIPHERTEXT_BYTES]]);
                }
            }
        }
    )*};
}
properties! {
    r653: R653;
    r761: R761;
    r1277: R1277, ignore = "takes long; CI runs it";
}
