//! Compares the CPU engine with the single operations, and checks that an error leaves all outputs
//! unchanged.

use std::fmt::Debug;

use ctru_kem::engine::{
    Context, CpuEngine, Engine, EngineError, Expand, KEY_PAIR_SEED_BYTES, Keys, Seeds,
};
use ctru_kem::{
    Ciphertext, CtruPrime761, DecapsulationKey, EncapsulationKey, ParameterSet, SEED_BYTES,
    SharedSecret,
};
use ctru_tests::backends::on_every_backend;
use ctru_tests::every_set;
use ctru_tests::vectors::array;

use crate::seeds::expanded;

every_set!(
    generates_what_the_single_operation_generates,
    encapsulates_as_the_single_operation_does,
    decapsulates_as_the_single_operation_does,
    every_backend_gives_the_same,
    wrong_lengths_leave_key_pairs_alone,
    wrong_lengths_leave_encapsulations_alone,
    wrong_lengths_leave_decapsulations_alone,
);

/// Lengths of batches: small numbers, and numbers near 8, the number of operations that are hashed
/// together.
const BATCHES: [usize; 8] = [0, 1, 2, 3, 7, 8, 9, LARGEST];
const LARGEST: usize = 17;
/// Numbers of threads, and lengths of batches of key pairs of which a thread has about 128, the
/// number that share an inversion. Only the smallest ring has these batches, since the others run
/// the same generic code.
const KEY_PAIRS: [(usize, usize); 5] = [(1, 127), (1, 128), (1, 129), (2, 300), (3, 300)];
const MASTER: [u8; SEED_BYTES] = [0x5a; SEED_BYTES];
const SEEDS: Expand<'_> =
    Expand { seed: &MASTER, context: Context::literal(b"tests"), first: u32::MAX as u64 - 20 };

fn engines() -> [CpuEngine; 3] {
    [1, 2, 3].map(|threads| {
        let engine = CpuEngine::with_threads(threads).unwrap();
        assert_eq!(engine.threads(), threads);
        engine
    })
}

/// Checks that numbers of threads which no machine needs are refused before any is started.
#[test]
fn too_many_threads() {
    for threads in [CpuEngine::MAX_THREADS + 1, 65_535, usize::MAX] {
        let reason = CpuEngine::with_threads(threads).unwrap_err().to_string();
        assert!(reason.ends_with(&format!("at most 4096 are allowed, not {threads}")), "{reason}");
    }
}

/// Returns fixed seeds, one for each operation.
fn seeds<const N: usize>(count: usize) -> Vec<[u8; N]> {
    (0..count)
        .map(|index| std::array::from_fn(|byte| (7 * index + 31 * byte + (index >> 5)) as u8))
        .collect()
}

fn generate_one<P: ParameterSet>(seed: &[u8; KEY_PAIR_SEED_BYTES]) -> DecapsulationKey<P> {
    let (polynomials, z) = seed.split_at(SEED_BYTES);
    DecapsulationKey::generate_deterministic(&array(polynomials), &array(z))
}

/// Returns `count` key pairs.
fn key_pairs<P: ParameterSet>(
    count: usize,
) -> (Vec<EncapsulationKey<P>>, Vec<DecapsulationKey<P>>) {
    let mut encapsulation_keys = vec![EncapsulationKey::placeholder(); count];
    let mut decapsulation_keys = vec![DecapsulationKey::placeholder(); count];
    CpuEngine::new()
        .unwrap()
        .generate(Seeds::Expand(SEEDS), &mut encapsulation_keys, &mut decapsulation_keys)
        .unwrap();
    (encapsulation_keys, decapsulation_keys)
}

fn generates_what_the_single_operation_generates<P: ParameterSet>() {
    let more = if P::PARAMETERS.degree() == 653 { &KEY_PAIRS[..] } else { &[] };
    let largest = more.last().map_or(LARGEST, |&(_, count)| count);
    let from_master = (0..largest).map(|i| expanded::<P, KEY_PAIR_SEED_BYTES>(SEEDS, i, None));
    let (each, from_master) = (seeds(largest), from_master.collect());
    let expected = [&each, &from_master]
        .map(|seeds: &Vec<_>| seeds.iter().map(generate_one::<P>).collect::<Vec<_>>());
    for engine in engines() {
        let more = more.iter().filter(|(threads, _)| *threads == engine.threads());
        for count in BATCHES.into_iter().chain(more.map(|&(_, count)| count)) {
            let sources = [Seeds::Each(&each[..count]), Seeds::Expand(SEEDS)];
            for (seeds, expected) in sources.into_iter().zip(&expected) {
                let mut encapsulation_keys = vec![EncapsulationKey::placeholder(); count];
                let mut decapsulation_keys = vec![DecapsulationKey::placeholder(); count];
                engine.generate(seeds, &mut encapsulation_keys, &mut decapsulation_keys).unwrap();
                assert_eq!(
                    decapsulation_keys,
                    expected[..count],
                    "{count} keys, {engine:?}, {seeds:?}"
                );
                let expected = expected[..count].iter().map(DecapsulationKey::encapsulation_key);
                assert!(
                    encapsulation_keys.into_iter().eq(expected),
                    "{count} keys, {engine:?}, {seeds:?}"
                );
                let mut alone = vec![DecapsulationKey::placeholder(); count];
                engine.generate_decapsulation_keys(seeds, &mut alone).unwrap();
                assert_eq!(alone, decapsulation_keys, "{count} keys, {engine:?}, {seeds:?}");
            }
        }
    }
}

fn encapsulates_as_the_single_operation_does<P: ParameterSet>() {
    let (keys, _) = key_pairs::<P>(LARGEST);
    let each = seeds(LARGEST);
    let from_master = |key: &dyn Fn(usize) -> usize| -> Vec<_> {
        (0..LARGEST).map(|i| expanded::<P, SEED_BYTES>(SEEDS, i, Some(&keys[key(i)]))).collect()
    };
    let run = |seeds: &[[u8; SEED_BYTES]], key: &dyn Fn(usize) -> usize| -> (Vec<_>, Vec<_>) {
        let operations = seeds.iter().enumerate();
        operations.map(|(i, seed)| keys[key(i)].encapsulate_deterministic(seed)).unzip()
    };
    let expected = [
        [run(&each, &|_| 0), run(&each, &|i| i)],
        [run(&from_master(&|_| 0), &|_| 0), run(&from_master(&|i| i), &|i| i)],
    ];
    for engine in engines() {
        let one = engine.load_encapsulation_keys(&keys[..1]).unwrap();
        for count in BATCHES {
            let all = engine.load_encapsulation_keys(&keys[..count]).unwrap();
            let sources = [Seeds::Each(&each[..count]), Seeds::Expand(SEEDS)];
            for (seeds, [with_one, with_each]) in sources.into_iter().zip(&expected) {
                let kinds = [
                    (Keys::One(&keys[0]), with_one),
                    (Keys::Each(&keys[..count]), with_each),
                    (Keys::Loaded(&one), with_one),
                    (Keys::Loaded(&all), with_each),
                ];
                for (kind, (expected_sent, expected_secrets)) in kinds {
                    let mut sent = vec![Ciphertext::default(); count];
                    let mut secrets = vec![SharedSecret::default(); count];
                    engine.encapsulate(kind, seeds, &mut sent, &mut secrets).unwrap();
                    assert_eq!(
                        sent,
                        expected_sent[..count],
                        "{count}, {engine:?}, {seeds:?}, {kind:?}"
                    );
                    assert_eq!(
                        secrets,
                        expected_secrets[..count],
                        "{count}, {engine:?}, {seeds:?}, {kind:?}"
                    );
                }
            }
        }
    }
}

fn decapsulates_as_the_single_operation_does<P: ParameterSet>() {
    let (encapsulation_keys, keys) = key_pairs::<P>(LARGEST);
    // `key` maps an operation to the index of its key. Every third ciphertext is changed.
    let sent = |key: &dyn Fn(usize) -> usize| -> (Vec<_>, Vec<_>) {
        let operations = seeds(LARGEST).into_iter().enumerate();
        operations
            .map(|(i, seed)| {
                let (sent, secret) = encapsulation_keys[key(i)].encapsulate_deterministic(&seed);
                let mut bytes = sent.as_ref().to_vec();
                if i % 3 == 2 {
                    bytes[i] ^= 1;
                }
                let received = Ciphertext::<P>::from_bytes(&bytes).unwrap();
                let answer = keys[key(i)].decapsulate(&received);
                assert_eq!(answer == secret, i % 3 != 2);
                (received, answer)
            })
            .unzip()
    };
    let (to_one, to_each) = (sent(&|_| 0), sent(&|i| i));
    for engine in engines() {
        let one = engine.load_decapsulation_keys(&keys[..1]).unwrap();
        for count in BATCHES {
            let all = engine.load_decapsulation_keys(&keys[..count]).unwrap();
            let kinds = [
                (Keys::One(&keys[0]), &to_one),
                (Keys::Each(&keys[..count]), &to_each),
                (Keys::Loaded(&one), &to_one),
                (Keys::Loaded(&all), &to_each),
            ];
            for (kind, (received, expected)) in kinds {
                let mut secrets = vec![SharedSecret::default(); count];
                engine.decapsulate(kind, &received[..count], &mut secrets).unwrap();
                assert_eq!(secrets, expected[..count], "{count} ciphertexts, {engine:?}, {kind:?}");
            }
        }
    }
}

/// Pairs of a batch's length and another length.
const MISMATCHES: [(usize, usize); 7] =
    [(0, 1), (1, 0), (3, 2), (3, 4), (3, 0), (5, 1), (128, 129)];

/// Checks that single operations and batches return the same bytes on every backend, for accepted
/// and for rejected ciphertexts.
fn every_backend_gives_the_same<P: ParameterSet>() {
    const COUNT: usize = 19;
    let engine = CpuEngine::with_threads(1).unwrap();
    let mut first = None;
    on_every_backend(|| {
        let (encapsulation_keys, decapsulation_keys) = key_pairs::<P>(COUNT);
        let single = generate_one::<P>(&[7; KEY_PAIR_SEED_BYTES]);
        let (mut sent, mut secrets) =
            (vec![Ciphertext::default(); COUNT], vec![SharedSecret::default(); COUNT]);
        engine
            .encapsulate(
                Keys::Each(&encapsulation_keys),
                Seeds::Expand(SEEDS),
                &mut sent,
                &mut secrets,
            )
            .unwrap();
        let (one_sent, one_secret) = encapsulation_keys[0].encapsulate_deterministic(&MASTER);
        let mut answers = vec![SharedSecret::default(); COUNT];
        engine.decapsulate(Keys::Each(&decapsulation_keys), &sent, &mut answers).unwrap();
        assert_eq!(answers, secrets);
        assert_eq!(decapsulation_keys[0].decapsulate(&one_sent), one_secret);
        // Key 3 accepts ciphertext 3 and rejects all others.
        let mut rejected = answers.clone();
        engine.decapsulate(Keys::One(&decapsulation_keys[3]), &sent, &mut rejected).unwrap();
        assert!((0..COUNT).all(|i| (rejected[i] == secrets[i]) == (i == 3)));
        let one_rejected_by_single = single.decapsulate(&one_sent);
        let one_rejected = decapsulation_keys[3].decapsulate(&sent[0]);
        assert_eq!(one_rejected, rejected[0]);
        let results =
            (decapsulation_keys, single, sent, secrets, one_sent, one_rejected_by_single, rejected);
        assert!(*first.get_or_insert_with(|| results.clone()) == results);
    });
}

fn refused<A: Clone + PartialEq + Debug, B: Clone + PartialEq + Debug>(
    (slice, expected, actual): (&'static str, usize, usize),
    (mut first, mut second): (Vec<A>, Vec<B>),
    call: impl FnOnce(&mut [A], &mut [B]) -> Result<(), EngineError>,
) {
    let before = (first.clone(), second.clone());
    let error = call(&mut first, &mut second).expect_err(slice);
    assert_eq!(error, EngineError::Length { slice, expected, actual });
    let message = format!("{slice} has {actual} elements, the batch has {expected}");
    assert_eq!(error.to_string(), message);
    assert!((first, second) == before, "{message}, and an output was written");
}

/// Values that no call below computes, so that a changed output is noticed.
struct Sentinels<P: ParameterSet> {
    decapsulation_key: DecapsulationKey<P>,
    encapsulation_key: EncapsulationKey<P>,
    ciphertext: Ciphertext<P>,
    secret: SharedSecret,
}

impl<P: ParameterSet> Sentinels<P> {
    fn new() -> Self {
        let decapsulation_key =
            DecapsulationKey::generate_deterministic(&[0xee; SEED_BYTES], &[0xef; SEED_BYTES]);
        let encapsulation_key = decapsulation_key.encapsulation_key();
        let (ciphertext, secret) = encapsulation_key.encapsulate_deterministic(&[0xed; SEED_BYTES]);
        Self { decapsulation_key, encapsulation_key, ciphertext, secret }
    }
}

fn wrong_lengths_leave_key_pairs_alone<P: ParameterSet>() {
    let sentinels = Sentinels::<P>::new();
    let engine = CpuEngine::with_threads(2).unwrap();
    let outputs = |encapsulation_count, decapsulation_count| {
        (
            vec![sentinels.encapsulation_key.clone(); encapsulation_count],
            vec![sentinels.decapsulation_key.clone(); decapsulation_count],
        )
    };
    for (count, other) in MISMATCHES {
        let seeds = seeds(count.max(other));
        refused(
            ("decapsulation keys", count, other),
            outputs(count, other),
            |encapsulation_keys, decapsulation_keys| {
                engine.generate(
                    Seeds::Each(&seeds[..count]),
                    encapsulation_keys,
                    decapsulation_keys,
                )
            },
        );
        refused(
            ("decapsulation keys", count, other),
            outputs(count, other),
            |encapsulation_keys, decapsulation_keys| {
                engine.generate(Seeds::Expand(SEEDS), encapsulation_keys, decapsulation_keys)
            },
        );
        refused(
            ("seeds", count, other),
            outputs(count, count),
            |encapsulation_keys, decapsulation_keys| {
                engine.generate(
                    Seeds::Each(&seeds[..other]),
                    encapsulation_keys,
                    decapsulation_keys,
                )
            },
        );
        refused(("seeds", count, other), outputs(count, count), |_, decapsulation_keys| {
            engine.generate_decapsulation_keys(Seeds::Each(&seeds[..other]), decapsulation_keys)
        });
    }
}

fn wrong_lengths_leave_encapsulations_alone<P: ParameterSet>() {
    let sentinels = Sentinels::<P>::new();
    let engine = CpuEngine::with_threads(2).unwrap();
    let (keys, _) = key_pairs::<P>(129);
    let loaded = |count: usize| engine.load_encapsulation_keys(&keys[..count]).unwrap();
    let outputs = |sent, secrets| {
        (vec![sentinels.ciphertext.clone(); sent], vec![sentinels.secret.clone(); secrets])
    };
    for (count, other) in MISMATCHES {
        let seeds = seeds(count.max(other));
        let (right, wrong) = (Seeds::Each(&seeds[..count]), Seeds::Each(&seeds[..other]));
        for kind in [Keys::One(&keys[0]), Keys::Each(&keys[..count]), Keys::Loaded(&loaded(count))]
        {
            refused(("ciphertexts", count, other), outputs(other, count), |sent, secrets| {
                engine.encapsulate(kind, right, sent, secrets)
            });
            refused(("seeds", count, other), outputs(count, count), |sent, secrets| {
                engine.encapsulate(kind, wrong, sent, secrets)
            });
        }
        for seeds in [right, Seeds::Expand(SEEDS)] {
            refused(("keys", count, other), outputs(count, count), |sent, secrets| {
                engine.encapsulate(Keys::Each(&keys[..other]), seeds, sent, secrets)
            });
            // One loaded key serves all operations.
            if other != 1 {
                refused(("loaded keys", count, other), outputs(count, count), |sent, secrets| {
                    engine.encapsulate(Keys::Loaded(&loaded(other)), seeds, sent, secrets)
                });
            }
        }
    }
}

fn wrong_lengths_leave_decapsulations_alone<P: ParameterSet>() {
    let sentinels = Sentinels::<P>::new();
    let engine = CpuEngine::with_threads(2).unwrap();
    let (_, keys) = key_pairs::<P>(129);
    let loaded = |count: usize| engine.load_decapsulation_keys(&keys[..count]).unwrap();
    let received = vec![Ciphertext::<P>::default(); 129];
    let outputs = |secrets| (vec![sentinels.secret.clone(); secrets], Vec::<()>::new());
    for (count, other) in MISMATCHES {
        for kind in [Keys::One(&keys[0]), Keys::Each(&keys[..count]), Keys::Loaded(&loaded(count))]
        {
            refused(("ciphertexts", count, other), outputs(count), |secrets, _| {
                engine.decapsulate(kind, &received[..other], secrets)
            });
        }
        refused(("keys", count, other), outputs(count), |secrets, _| {
            engine.decapsulate(Keys::Each(&keys[..other]), &received[..count], secrets)
        });
        if other != 1 {
            refused(("loaded keys", count, other), outputs(count), |secrets, _| {
                engine.decapsulate(Keys::Loaded(&loaded(other)), &received[..count], secrets)
            });
        }
    }
}

#[test]
fn debug_shows_no_secret() {
    let engine = CpuEngine::with_threads(2).unwrap();
    assert_eq!(format!("{engine:?}"), "CpuEngine { threads: 2 }");
    let (encapsulation_keys, decapsulation_keys) = key_pairs::<CtruPrime761>(2);
    let loaded_encapsulation_keys = engine.load_encapsulation_keys(&encapsulation_keys).unwrap();
    let loaded_decapsulation_keys = engine.load_decapsulation_keys(&decapsulation_keys).unwrap();
    assert_eq!(
        format!("{loaded_encapsulation_keys:?}"),
        "LoadedKeys(2 of CTRU-Prime-761 mixed-radix)"
    );
    assert_eq!(
        format!("{loaded_decapsulation_keys:?}"),
        "LoadedKeys(2 of CTRU-Prime-761 mixed-radix)"
    );
    let seeds = Seeds::Expand::<SEED_BYTES>(Expand { first: 5, ..SEEDS });
    let expected = r#"Seeds::Expand { seed: .., context: Context("tests"), first: 5 }"#;
    assert_eq!(format!("{seeds:?}"), expected);
    assert_eq!(format!("{:?}", Seeds::Each(&[MASTER, MASTER])), "Seeds::Each(2 seeds)");
    assert_eq!(format!("{:?}", Keys::One(&decapsulation_keys[0])), "Keys::One(..)");
    assert_eq!(format!("{:?}", Keys::Each(&decapsulation_keys)), "Keys::Each(2 keys)");
    assert_eq!(
        format!("{:?}", Keys::Loaded(&loaded_decapsulation_keys)),
        "Keys::Loaded(LoadedKeys(2 of CTRU-Prime-761 mixed-radix))"
    );
}

/// Checks that calls from several threads at the same time do not disturb each other.
#[test]
fn several_threads_share_one_engine() {
    let engine = CpuEngine::new().unwrap();
    let (encapsulation_keys, decapsulation_keys) = key_pairs::<CtruPrime761>(40);
    std::thread::scope(|scope| {
        for first in 0..4 {
            let (engine, encapsulation_keys, decapsulation_keys) = (
                &engine,
                &encapsulation_keys[10 * first..][..10],
                &decapsulation_keys[10 * first..][..10],
            );
            scope.spawn(move || {
                let mut sent = vec![Ciphertext::default(); 10];
                let mut secrets = vec![SharedSecret::default(); 10];
                engine
                    .encapsulate(
                        Keys::Each(encapsulation_keys),
                        Seeds::Expand(SEEDS),
                        &mut sent,
                        &mut secrets,
                    )
                    .unwrap();
                let mut answers = vec![SharedSecret::default(); 10];
                engine.decapsulate(Keys::Each(decapsulation_keys), &sent, &mut answers).unwrap();
                assert_eq!(answers, secrets);
            });
        }
    });
}
