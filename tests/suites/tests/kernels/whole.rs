//! Compares the kernels that do whole operations with the CPU.

use ctru_gpu_kernels::emulator::Buffer;
use ctru_gpu_kernels::kernels::whole::copied_bytes;
use ctru_gpu_kernels::kernels::{ID_BYTES, SEED_WORDS, coin_words, message_words, row};
use ctru_gpu_kernels::table::*;
use ctru_math::array::Array;
use ctru_math::codec::{bits, mixed_radix, secret_poly};
use ctru_math::compress::compress_with_message;
use ctru_math::{Arithmetic, NtruPrimeRing, Poly, R653, R761, R1277, Ring, e8, mul, sample};
use ctru_tests::hashes::shake256;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::fused::flip;
use crate::operations::{
    Operations, Rows, SEED_BYTES, batch, launch, rows, sha3_512, strings, words,
};
use crate::strategies::{bytes, poly};
use crate::traces::assert_same_trace;
use crate::vectors::{Intermediate, array};

/// A private key: the coins of `f`, then `h`, then `z`.
type Key<R> = (Vec<u8>, Poly<R>, Vec<u8>);

fn encode<R: Arithmetic>(h: &Poly<R>) -> Vec<u8> {
    mixed_radix::encode(h).as_ref().to_vec()
}

/// Returns memory of a kernel, filled with a pattern.
fn memory<T: From<u8> + ctru_gpu_kernels::simt::Word>(count: usize, row: u32) -> Buffer {
    Buffer::new(&vec![T::from(0x5a); count * row as usize])
}

/// Returns the arrays of a kernel that does `count` encapsulations: `input`, from which it takes or
/// expands the seeds, the encoded keys, memory, shared secrets and ciphertexts.
fn arrays_of_encapsulation<R: Arithmetic>(
    input: Buffer,
    keys: &[Vec<u8>],
    count: usize,
) -> [Buffer; 9] {
    [
        input,
        strings(keys),
        memory::<u8>(count, copied_bytes(keys[0].len() as u32)),
        memory::<u8>(count, ID_BYTES),
        memory::<u16>(count, row::<R>()),
        memory::<u64>(count, message_words::<R>()),
        memory::<u64>(count, coin_words::<R>()),
        memory::<u64>(count, SEED_WORDS),
        memory::<u8>(count, R::CIPHERTEXT_BYTES as u32),
    ]
}

/// Returns the shared secret and the ciphertext for a message.
fn encrypted<R: Arithmetic>(h: &Poly<R>, id: &[u8], message: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let (secret, seed) = sha3_512(&[id, message]);
    let r = sample::sample::<R>(&array(&shake256(&seed, R::COIN_BYTES)));
    let ciphertext = compress_with_message(&mul::mul_small(h, &r), &array(message));
    (secret, bits::pack_rounded(&ciphertext).as_ref().to_vec())
}

/// Checks encapsulations with the seeds that the kernel expands from `operations`, which has as
/// many keys as `h`, and with the same seeds as an input.
fn check_encapsulation<R: Arithmetic>(h: &[Poly<R>], operations: &Operations) {
    let count = operations.count();
    let keys: Rows = h.iter().map(encode).collect();
    let id = |i: u32| &keys[operations.batch.row(i) as usize][..ID_BYTES as usize];
    let seeds: Rows = (0..count as u32)
        .map(|i| {
            let row = (operations.first + u64::from(i)).to_le_bytes();
            shake256(&[&operations.expansion, &row[..], id(i)].concat(), SEED_BYTES)
        })
        .collect();
    let given = (ENCAPSULATE_SEEDS_MIXED_RADIX.of::<R>(), words(&seeds));
    let expanded = (ENCAPSULATE_MIXED_RADIX.of::<R>(), operations.expansion_buffer());
    for (kernel, input) in [given, expanded] {
        let arrays = arrays_of_encapsulation::<R>(input, &keys, count);
        launch(kernel, &arrays.each_ref(), operations.batch);
        let [.., secrets, ciphertexts] = &arrays;
        let ciphertexts = ciphertexts.content::<u8>();
        let results = rows(secrets, SEED_WORDS)
            .into_iter()
            .zip(ciphertexts.chunks(R::CIPHERTEXT_BYTES).map(<[u8]>::to_vec));
        for (i, result) in results.enumerate() {
            let key = operations.batch.row(i as u32) as usize;
            let message = shake256(&seeds[i], R::MESSAGE_BYTES);
            let expected = encrypted(&h[key], id(i as u32), &message);
            assert!(result == expected, "operation {i}");
        }
    }
}

/// Checks decapsulations of `ciphertexts` with one key, or with a key each. Returns how many
/// ciphertexts were accepted.
fn check_decapsulation<R: Arithmetic>(keys: &[Key<R>], ciphertexts: &Rows) -> usize {
    let count = ciphertexts.len();
    let mut accepted = 0;
    let public: Rows = keys.iter().map(|(_, h, _)| encode(h)).collect();
    let f: Vec<_> =
        keys.iter().map(|(coins, ..)| sample::sample_secret::<R>(&array(coins))).collect();
    let secret: Rows = (f.iter().zip(&public).zip(keys))
        .map(|((f, public), (_, _, z))| [secret_poly::pack(f).as_ref(), public, z].concat())
        .collect();
    let results = memory::<u64>(count, SEED_WORDS);
    let inputs_and_memory = [
        &strings(&secret),
        &strings(ciphertexts),
        &memory::<u8>(count, copied_bytes(secret[0].len() as u32)),
        &memory::<u8>(count, copied_bytes(R::CIPHERTEXT_BYTES as u32)),
        &memory::<u8>(count, row::<R>()),
        &memory::<u16>(count, row::<R>()),
        &memory::<u64>(count, message_words::<R>()),
        &memory::<u64>(count, coin_words::<R>()),
    ];
    let secrets = [0; 2].map(|_| memory::<u64>(count, SEED_WORDS));
    let buffers: Vec<_> = inputs_and_memory.into_iter().chain(&secrets).chain([&results]).collect();
    launch(DECAPSULATE_MIXED_RADIX.of::<R>(), &buffers, batch(count, keys.len()));
    let (recovered, rejected) = (memory::<u64>(count, SEED_WORDS), memory::<u64>(count, 1));
    let buffers: Vec<_> = inputs_and_memory.into_iter().chain([&recovered, &rejected]).collect();
    launch(RECOVER_MIXED_RADIX.of::<R>(), &buffers, batch(count, keys.len()));
    let recovered = rows(&recovered, SEED_WORDS).into_iter().zip(rejected.content::<u64>());
    for (i, ((result, recovered), ciphertext)) in
        rows(&results, SEED_WORDS).into_iter().zip(recovered).zip(ciphertexts).enumerate()
    {
        let key = i % keys.len();
        let id = &public[key][..ID_BYTES as usize];
        let c = bits::unpack_rounded::<R>(&array(ciphertext));
        let mut message = R::MessageBytes::zeroed();
        e8::decode(&mul::mul_rounded(&c, &f[key]), &mut message);
        let (shared_secret, expected) = encrypted(&keys[key].1, id, message.as_ref());
        let is_rejected = expected != *ciphertext;
        assert!(recovered == (shared_secret.clone(), is_rejected.into()), "operation {i}");
        if !is_rejected {
            accepted += 1;
            assert!(result == shared_secret, "operation {i}");
        } else {
            let rejection = sha3_512(&[id, &keys[key].2, ciphertext]).0;
            assert!(result == rejection, "operation {i}");
        }
    }
    accepted
}

/// Decapsulates the ciphertexts of the test vectors, as they are and with flipped bits.
fn check_vectors<R: Arithmetic>() {
    let vector = Intermediate::load(R::N);
    let h = Poly::<R>::from_coefficients(&vector.h).unwrap();
    let key = (vector.coins_f.clone(), h, vector.z.clone());
    let valid: Rows = vector.encapsulations().map(|record| record.ct.clone()).to_vec();
    // There is a vector for each encoding of public keys. The other one's is rejected.
    assert_eq!(check_decapsulation(core::slice::from_ref(&key), &valid), valid.len() - 1);
    let mut flipped: Rows = valid.iter().flat_map(|sent| vec![sent.clone(); 6]).collect();
    for (i, ciphertext) in flipped.iter_mut().enumerate() {
        flip::<R>(i, ciphertext);
    }
    assert_eq!(check_decapsulation(&[key], &flipped), 0);
}

/// Checks that encapsulations with one key touch the same addresses for different seeds, which the
/// kernels take or expand.
fn check_traces_of_encapsulations<R: Arithmetic>() {
    let h = Poly::<R>::from_coefficients(&Intermediate::load(R::N).h).unwrap();
    let keys = [encode(&h)];
    let arrays = |input| arrays_of_encapsulation::<R>(input, &keys, 1).to_vec();
    let seeds = [0x00, 0xa5].map(|byte| arrays(words(&[vec![byte; SEED_BYTES]])));
    assert_same_trace(ENCAPSULATE_SEEDS_MIXED_RADIX.of::<R>(), seeds, batch(1, 1));
    let expanded = [0; 2].map(|_| arrays(Operations::draw::<R>(1, 1).expansion_buffer()));
    assert_same_trace(ENCAPSULATE_MIXED_RADIX.of::<R>(), expanded, batch(1, 1));
}

/// Checks that decapsulations touch the same addresses for different secret keys, one of which
/// rejects the ciphertext.
fn check_traces_of_decapsulations<R: Arithmetic>() {
    let vector = Intermediate::load(R::N);
    let h = Poly::<R>::from_coefficients(&vector.h).unwrap();
    let ciphertext = &vector.encapsulations()[0].ct;
    let secrets = || {
        [(&vector.coins_f, &vector.z), (&vec![0x35; R::COIN_BYTES], &vec![0x53; SEED_BYTES])]
            .map(|(coins, z)| {
                let f = sample::sample_secret::<R>(&array(coins));
                [secret_poly::pack(&f).as_ref(), &encode(&h), z].concat()
            })
            .map(|secret| {
                let copied = copied_bytes(secret.len() as u32);
                vec![
                    strings(&[secret]),
                    strings(core::slice::from_ref(ciphertext)),
                    memory::<u8>(1, copied),
                    memory::<u8>(1, copied_bytes(R::CIPHERTEXT_BYTES as u32)),
                    memory::<u8>(1, row::<R>()),
                    memory::<u16>(1, row::<R>()),
                    memory::<u64>(1, message_words::<R>()),
                    memory::<u64>(1, coin_words::<R>()),
                    memory::<u64>(1, SEED_WORDS),
                ]
            })
    };
    for (kernel, results) in
        [(&RECOVER_MIXED_RADIX, &[1][..]), (&DECAPSULATE_MIXED_RADIX, &[SEED_WORDS; 2])]
    {
        let buffers = secrets().map(|mut buffers| {
            buffers.extend(results.iter().map(|&words| memory::<u64>(1, words)));
            buffers
        });
        assert_same_trace(kernel.of::<R>(), buffers, batch(1, 1));
    }
}

fn key<R: Arithmetic>() -> impl Strategy<Value = Key<R>> {
    (bytes(R::COIN_BYTES), poly::<R>(), bytes(SEED_BYTES))
}

macro_rules! properties {
    ($($name:ident: $ring:ty),*) => {$(
        mod $name {
            use super::*;
            proptest! {
                #![proptest_config(ProptestConfig::with_cases(3))]
                #[test]
                fn encapsulate_with_one_key(h in poly::<$ring>(),
                    operations in Operations::any::<$ring>(3, 1)) {
                    check_encapsulation::<$ring>(&[h], &operations);
                }
                #[test]
                fn encapsulate_with_a_key_each(h in vec(poly::<$ring>(), 3),
                    operations in Operations::any::<$ring>(3, 3)) {
                    check_encapsulation::<$ring>(&h, &operations);
                }
                #[test]
                fn decapsulate_with_one_key(key in key::<$ring>(),
                    ciphertexts in vec(bytes(<$ring>::CIPHERTEXT_BYTES), 1..4)) {
                    check_decapsulation::<$ring>(&[key], &ciphertexts);
                }
                #[test]
                fn decapsulate_with_a_key_each(both in
                    vec((key::<$ring>(), bytes(<$ring>::CIPHERTEXT_BYTES)), 2..4)) {
                    let (keys, ciphertexts): (Vec<_>, Vec<_>) = both.into_iter().unzip();
                    check_decapsulation::<$ring>(&keys, &ciphertexts);
                }
            }
            #[test]
            fn encapsulations_touch_the_same_addresses() {
                check_traces_of_encapsulations::<$ring>();
            }
            #[test]
            fn decapsulations_touch_the_same_addresses() {
                check_traces_of_decapsulations::<$ring>();
            }
            #[test]
            fn vectors() {
                check_vectors::<$ring>();
            }
            #[test]
            fn extremes() {
                let largest =
                    Poly::from_coefficients(&vec![<$ring>::Q as u16 - 1; <$ring>::N]).unwrap();
                let operations = Operations::draw::<$ring>(1, 1);
                check_encapsulation::<$ring>(core::slice::from_ref(&largest), &operations);
                for fill in [0x00, 0xff] {
                    let coins = vec![fill; <$ring>::COIN_BYTES];
                    let key = (coins, largest.clone(), vec![fill; SEED_BYTES]);
                    check_decapsulation::<$ring>(&[key],
                        &vec![vec![!fill; <$ring>::CIPHERTEXT_BYTES]]);
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
