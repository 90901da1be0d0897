//! Compares the hashing kernels with the crates `sha3` and `shake`.

use ctru_gpu_kernels::descriptor::RingKernels;
use ctru_gpu_kernels::emulator::{Buffer, Emulator};
use ctru_gpu_kernels::kernels::{SEED_WORDS, coin_words, message_words};
use ctru_gpu_kernels::table::*;
use ctru_math::{Arithmetic, R653, R761, R1277};
use ctru_tests::hashes::shake256;
use proptest::prelude::*;

use crate::operations::{
    Operations, SEED_BYTES, cut, launch, rows, sha3_512, strings, unfilled, words,
};

/// Batch sizes: one thread, parts of a warp, a warp and one thread, a block and one thread.
const COUNTS: [usize; 5] = [1, 2, 31, 33, 129];

fn check_expansion<R: Arithmetic>(operations: &Operations) {
    let (expansion, ids) = (operations.expansion_buffer(), operations.id_buffer());
    let seeds = unfilled(operations.count(), SEED_WORDS);
    launch(EXPAND_SEEDS.of::<R>(), &[&expansion, &ids, &seeds], operations.batch);
    let pair_seeds = unfilled(operations.count(), 2 * SEED_WORDS);
    launch(EXPAND_KEY_PAIR_SEEDS.of::<R>(), &[&expansion, &pair_seeds], operations.batch);
    let seeds = rows(&seeds, SEED_WORDS).into_iter().zip(rows(&pair_seeds, 2 * SEED_WORDS));
    for (i, (seed, pair_seed)) in seeds.enumerate() {
        assert_eq!(seed, operations.expanded(i, operations.id(i), SEED_BYTES), "operation {i}");
        assert_eq!(pair_seed, operations.expanded(i, &[0; 33], 2 * SEED_BYTES), "operation {i}");
    }
}

fn check_key_pairs<R: Arithmetic>(operations: &Operations) {
    let [f, g] = [(); 2].map(|()| unfilled(operations.count(), coin_words::<R>()));
    let z = unfilled(operations.count(), SEED_WORDS);
    let buffers = [&words(&operations.key_pair_seeds), &f, &g, &z];
    launch(DERIVE_KEY_PAIR.of::<R>(), &buffers, operations.batch);
    let [f, g] = [f, g].map(|coins| cut(rows(&coins, coin_words::<R>()), R::COIN_BYTES));
    let z = rows(&z, SEED_WORDS);
    for (i, seed) in operations.key_pair_seeds.iter().enumerate() {
        let coins = shake256(&seed[..SEED_BYTES], 2 * R::COIN_BYTES);
        assert_eq!([&f[i][..], &g[i]].concat(), coins);
        assert_eq!(z[i], seed[SEED_BYTES..]);
    }
}

fn check_derivations<R: Arithmetic>(operations: &Operations) {
    let derive = |i, message: &[u8]| {
        let (secret, seed) = sha3_512(&[operations.id(i), message]);
        (secret, shake256(&seed, R::COIN_BYTES))
    };
    for kernels in [&DERIVE_DECAPSULATION, &DERIVE_DECAPSULATION_MIDDLE] {
        let (secrets, coins) = operations.decapsulate::<R>(kernels);
        for (i, message) in operations.messages.iter().enumerate() {
            assert_eq!((secrets[i].clone(), coins[i].clone()), derive(i, message));
        }
    }
    for kernels in [&DERIVE_ENCAPSULATION, &DERIVE_ENCAPSULATION_MIDDLE] {
        let (messages, secrets, coins) = operations.encapsulate::<R>(kernels);
        for (i, seed) in operations.seeds.iter().enumerate() {
            let mut message = shake256(seed, R::MESSAGE_BYTES);
            assert_eq!((secrets[i].clone(), coins[i].clone()), derive(i, &message));
            message.resize(8 * message_words::<R>() as usize, 0);
            assert_eq!(messages[i], message);
        }
    }
}

fn check_rejection<R: Arithmetic>(operations: &Operations) {
    for kernels in [&REJECTION_SECRET, &REJECTION_SECRET_MIDDLE] {
        let secrets = operations.reject::<R>(kernels);
        for (i, ciphertext) in operations.ciphertexts.iter().enumerate() {
            let z = &operations.z[operations.batch.row(i as u32) as usize];
            assert_eq!(secrets[i], sha3_512(&[operations.id(i), z, ciphertext]).0);
        }
    }
}

fn inputs<R: Arithmetic>() -> impl Strategy<Value = Operations> {
    batches().prop_flat_map(|(count, keys)| Operations::any::<R>(count, keys))
}

fn batches() -> impl Strategy<Value = (usize, usize)> {
    (proptest::sample::select(&COUNTS[..]), any::<bool>())
        .prop_map(|(count, one_key)| (count, if one_key { 1 } else { count }))
}

macro_rules! properties {
    ($($name:ident: $ring:ty $(, $ignored:meta)?;)*) => {$(
        mod $name {
            use super::*;
            proptest! {
                #![proptest_config(ProptestConfig::with_cases(4))]
                #[test]
                fn hashes(operations in inputs::<$ring>()) {
                    check_expansion::<$ring>(&operations);
                    check_key_pairs::<$ring>(&operations);
                    check_derivations::<$ring>(&operations);
                    check_rejection::<$ring>(&operations);
                }
            }
            #[test]
            $(#[$ignored])?
            fn batch_sizes() {
                for count in COUNTS {
                    for keys in [1, count] {
                        let operations = Operations::draw::<$ring>(count, keys);
                        check_expansion::<$ring>(&operations);
                        check_key_pairs::<$ring>(&operations);
                        check_derivations::<$ring>(&operations);
                        check_rejection::<$ring>(&operations);
                    }
                }
            }
            #[test]
            fn traces_do_not_depend_on_data() {
                traces::<$ring>();
            }
        }
    )*};
}
properties! {
    r653: R653;
    r761: R761, ignore = "takes long; CI runs it";
    r1277: R1277, ignore = "takes long; CI runs it";
}

/// Runs every kernel on two inputs and compares the addresses that its threads access.
fn traces<R: Arithmetic>() {
    let [one, other] = [(); 2].map(|()| Operations::draw::<R>(33, 33));
    let traces = |operations: &Operations| {
        let Operations { batch, .. } = *operations;
        let count = operations.count();
        let seed_rows = || unfilled(count, SEED_WORDS);
        let coins = || unfilled(count, coin_words::<R>());
        let emulator = Emulator::new();
        let trace = |kernels: &RingKernels, buffers: &[&Buffer]| {
            let trace = emulator.trace(kernels.of::<R>(), buffers, batch).unwrap();
            assert!(!trace.is_empty());
            trace
        };
        let ids = operations.id_buffer();
        let expansion = operations.expansion_buffer();
        let [messages, seeds, z] =
            [&operations.messages, &operations.seeds, &operations.z].map(|r| words(r));
        let ciphertexts = strings(&operations.ciphertexts);
        [
            trace(&EXPAND_SEEDS, &[&expansion, &ids, &seed_rows()]),
            trace(&EXPAND_KEY_PAIR_SEEDS, &[&expansion, &unfilled(count, 2 * SEED_WORDS)]),
            trace(
                &DERIVE_KEY_PAIR,
                &[&words(&operations.key_pair_seeds), &coins(), &coins(), &seed_rows()],
            ),
            trace(
                &DERIVE_ENCAPSULATION,
                &[&seeds, &ids, &unfilled(count, message_words::<R>()), &seed_rows(), &coins()],
            ),
            trace(
                &DERIVE_ENCAPSULATION_MIDDLE,
                &[&seeds, &ids, &unfilled(count, message_words::<R>()), &seed_rows(), &coins()],
            ),
            trace(&DERIVE_DECAPSULATION, &[&messages, &ids, &seed_rows(), &coins()]),
            trace(&DERIVE_DECAPSULATION_MIDDLE, &[&messages, &ids, &seed_rows(), &coins()]),
            trace(&REJECTION_SECRET, &[&ids, &z, &ciphertexts, &seed_rows()]),
            trace(&REJECTION_SECRET_MIDDLE, &[&ids, &z, &ciphertexts, &seed_rows()]),
        ]
    };
    assert!(one.messages != other.messages && one.first != other.first);
    assert!(traces(&one) == traces(&other));
}
