//! Hashing kernels on the emulator against the crates `sha3` and `shake`, and against the KEM.

use ctru_gpu_kernels::emulator::{Buffer, Emulator};
use ctru_gpu_kernels::kernel::{Batch, Kernel, Kernels};
use ctru_gpu_kernels::kernels::{ID_BYTES, SEED_WORDS, coin_words, message_words};
use ctru_gpu_kernels::table::*;
use ctru_kem::engine::{CpuEngine, Engine, Keys, Seeds};
use ctru_kem::{
    Ciphertext, DecapsulationKey, EncapsulationKey, ParameterSet, PublicKeyEncoding, SharedSecret,
};
use ctru_math::array::Array;
use ctru_math::codec::bits;
use ctru_math::compress::compress_with_message;
use ctru_math::mul;
use ctru_math::sample::sample;
use ctru_math::{Poly, R653, R761, R1277, Ring};
use ctru_tests::device;
use ctru_tests::every_set;
use ctru_tests::strategies::bytes;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use sha3::{Digest, Sha3_512};
use shake::{ExtendableOutput, Shake256, Update, XofReader};

const SEED_BYTES: usize = 8 * SEED_WORDS as usize;
/// One thread, parts of a warp, a warp and one thread, a block and one thread.
const COUNTS: [usize; 5] = [1, 2, 31, 33, 129];

/// Strings of bytes of one length.
type Rows = Vec<Vec<u8>>;

fn shake256(input: &[u8], length: usize) -> Vec<u8> {
    let mut shake = Shake256::default();
    shake.update(input);
    let mut output = vec![0; length];
    shake.finalize_xof().read(&mut output);
    output
}

/// `SHA3-512(parts)` in two halves.
fn sha3_512(parts: &[&[u8]]) -> (Vec<u8>, Vec<u8>) {
    let digest = Sha3_512::digest(parts.concat());
    (digest[..SEED_BYTES].to_vec(), digest[SEED_BYTES..].to_vec())
}

/// Rows of words, the last ones filled up with zeros.
fn words(rows: &[Vec<u8>]) -> Buffer {
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    Buffer::new(&rows.iter().flat_map(|row| row.chunks(8).map(word)).collect::<Vec<u64>>())
}

/// Rows of words that a kernel has to fill.
fn unfilled(rows: usize, words: u32) -> Buffer {
    Buffer::new(&vec![0xdead_beef_dead_beef_u64; rows * words as usize])
}

/// The bytes of a buffer's rows.
fn rows(buffer: &Buffer, words: u32) -> Rows {
    let row = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect();
    buffer.content::<u64>().chunks(words as usize).map(row).collect()
}

/// The first bytes of every row.
fn cut(mut rows: Rows, bytes: usize) -> Rows {
    rows.iter_mut().for_each(|row| row.truncate(bytes));
    rows
}

fn launch(kernel: &Kernel, buffers: &[&Buffer], batch: Batch) {
    device::launch(kernel, buffers, batch);
}

/// Secrets and public data of some operations, with one key or one each.
#[derive(Clone, Debug)]
struct Operations {
    batch: Batch,
    master: Vec<u8>,
    first: u64,
    key_pair_seeds: Rows,
    seeds: Rows,
    messages: Rows,
    ids: Rows,
    z: Rows,
    ciphertexts: Rows,
}

impl Operations {
    fn any<R: Ring>(count: usize, keys: usize) -> impl Strategy<Value = Self> {
        let rows = |count, length| vec(bytes(length), count);
        (
            (bytes(SEED_BYTES), 0..u64::from(u32::MAX) << 8),
            rows(count, 2 * SEED_BYTES),
            rows(count, SEED_BYTES),
            rows(count, R::MESSAGE_BYTES),
            rows(keys, ID_BYTES as usize),
            rows(keys, SEED_BYTES),
            rows(count, R::CIPHERTEXT_BYTES),
        )
            .prop_map(
                move |(expansion, key_pair_seeds, seeds, messages, ids, z, ciphertexts)| Self {
                    batch: Batch { count: count as u32, keys: keys as u32 },
                    master: expansion.0,
                    first: expansion.1,
                    key_pair_seeds,
                    seeds,
                    messages,
                    ids,
                    z,
                    ciphertexts,
                },
            )
    }

    /// One draw.
    fn draw<R: Ring>(count: usize, keys: usize) -> Self {
        Self::any::<R>(count, keys).new_tree(&mut TestRunner::default()).unwrap().current()
    }

    fn count(&self) -> usize {
        self.batch.count as usize
    }

    fn id(&self, operation: usize) -> &[u8] {
        &self.ids[self.batch.key(operation as u32) as usize]
    }

    fn id_buffer(&self) -> Buffer {
        Buffer::new(&self.ids.concat())
    }

    /// Runs a kernel from messages to shared secrets and coins.
    fn decapsulate<R: Ring>(&self, kernels: &Kernels) -> (Rows, Rows) {
        let secrets = unfilled(self.count(), SEED_WORDS);
        let coins = unfilled(self.count(), coin_words::<R>());
        let buffers = [&words(&self.messages), &self.id_buffer(), &secrets, &coins];
        launch(kernels.of::<R>(), &buffers, self.batch);
        (rows(&secrets, SEED_WORDS), cut(rows(&coins, coin_words::<R>()), R::COIN_BYTES))
    }

    /// Runs a kernel from seeds to messages with their unused bytes, shared secrets and coins.
    fn encapsulate<R: Ring>(&self, kernels: &Kernels) -> (Rows, Rows, Rows) {
        let messages = unfilled(self.count(), message_words::<R>());
        let secrets = unfilled(self.count(), SEED_WORDS);
        let coins = unfilled(self.count(), coin_words::<R>());
        let buffers = [&words(&self.seeds), &self.id_buffer(), &messages, &secrets, &coins];
        launch(kernels.of::<R>(), &buffers, self.batch);
        (
            rows(&messages, message_words::<R>()),
            rows(&secrets, SEED_WORDS),
            cut(rows(&coins, coin_words::<R>()), R::COIN_BYTES),
        )
    }

    /// Runs a kernel from ciphertexts to rejection secrets.
    fn reject<R: Ring>(&self, kernels: &Kernels) -> Rows {
        let secrets = unfilled(self.count(), SEED_WORDS);
        let ciphertexts = Buffer::new(&self.ciphertexts.concat());
        let buffers = [&self.id_buffer(), &words(&self.z), &ciphertexts, &secrets];
        launch(kernels.of::<R>(), &buffers, self.batch);
        rows(&secrets, SEED_WORDS)
    }
}

/// Runs `select`.
fn select<R: Ring>(
    received: &[Vec<u8>],
    expected: &[Vec<u8>],
    rejection_secrets: &[Vec<u8>],
    shared_secrets: &[Vec<u8>],
) -> Rows {
    let secrets = words(shared_secrets);
    let [received, expected] = [received, expected].map(|rows| Buffer::new(&rows.concat()));
    let batch = Batch::each(shared_secrets.len() as u32);
    launch(SELECT.of::<R>(), &[&received, &expected, &words(rejection_secrets), &secrets], batch);
    rows(&secrets, SEED_WORDS)
}

fn check_expansion<R: Ring>(operations: &Operations) {
    for (kernels, bytes) in [(&EXPAND_SEEDS, SEED_BYTES), (&EXPAND_KEY_PAIR_SEEDS, 2 * SEED_BYTES)]
    {
        let seeds = unfilled(operations.count(), bytes as u32 / 8);
        let (master, first) =
            (words(std::slice::from_ref(&operations.master)), Buffer::new(&[operations.first]));
        launch(kernels.of::<R>(), &[&master, &first, &seeds], operations.batch);
        for (i, seed) in (operations.first..).zip(rows(&seeds, bytes as u32 / 8)) {
            let input =
                [b"ctru batch seed", &[bytes as u8][..], &operations.master, &i.to_le_bytes()]
                    .concat();
            assert_eq!(seed, shake256(&input, bytes));
        }
    }
}

fn check_key_pairs<R: Ring>(operations: &Operations) {
    let [f, g] = [(); 2].map(|()| unfilled(operations.count(), coin_words::<R>()));
    let z = unfilled(operations.count(), SEED_WORDS);
    let buffers = [&words(&operations.key_pair_seeds), &f, &g, &z];
    launch(DERIVE_KEY_PAIR.of::<R>(), &buffers, operations.batch);
    let [f, g] = [f, g].map(|coins| cut(rows(&coins, coin_words::<R>()), R::COIN_BYTES));
    let z = rows(&z, SEED_WORDS);
    for (i, seed) in operations.key_pair_seeds.iter().enumerate() {
        assert_eq!([&f[i][..], &g[i]].concat(), shake256(&seed[..SEED_BYTES], 2 * R::COIN_BYTES));
        assert_eq!(z[i], seed[SEED_BYTES..]);
    }
}

fn check_derivations<R: Ring>(operations: &Operations) {
    let derive = |i, message: &[u8]| {
        let (secret, seed) = sha3_512(&[operations.id(i), message]);
        (secret, shake256(&seed, R::COIN_BYTES))
    };
    for kernels in [&DERIVE_DECAPSULATION, &DERIVE_DECAPSULATION_SMALL] {
        let (secrets, coins) = operations.decapsulate::<R>(kernels);
        for (i, message) in operations.messages.iter().enumerate() {
            assert_eq!((secrets[i].clone(), coins[i].clone()), derive(i, message));
        }
    }
    for kernels in [&DERIVE_ENCAPSULATION, &DERIVE_ENCAPSULATION_SMALL] {
        let (messages, secrets, coins) = operations.encapsulate::<R>(kernels);
        for (i, seed) in operations.seeds.iter().enumerate() {
            let mut message = shake256(seed, R::MESSAGE_BYTES);
            assert_eq!((secrets[i].clone(), coins[i].clone()), derive(i, &message));
            message.resize(8 * message_words::<R>() as usize, 0);
            assert_eq!(messages[i], message);
        }
    }
}

fn check_rejection<R: Ring>(operations: &Operations) {
    for kernels in [&REJECTION_SECRET, &REJECTION_SECRET_SMALL] {
        let secrets = operations.reject::<R>(kernels);
        for (i, ciphertext) in operations.ciphertexts.iter().enumerate() {
            let z = &operations.z[operations.batch.key(i as u32) as usize];
            assert_eq!(secrets[i], sha3_512(&[operations.id(i), z, ciphertext]).0);
        }
    }
}

/// Accepts the even operations; in each odd one another bit of the ciphertext is wrong.
fn check_selection<R: Ring>(operations: &Operations, bit: usize) {
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

fn batches() -> impl Strategy<Value = (usize, usize)> {
    (proptest::sample::select(&COUNTS[..]), any::<bool>())
        .prop_map(|(count, one_key)| (count, if one_key { 1 } else { count }))
}

macro_rules! properties {
    ($($name:ident: $ring:ty),*) => {$(
        mod $name {
            use super::*;
            proptest! {
                #![proptest_config(ProptestConfig::with_cases(4))]
                #[test]
                fn hashes(operations in batches().prop_flat_map(|(count, keys)| Operations::any::<$ring>(count, keys))) {
                    check_expansion::<$ring>(&operations);
                    check_key_pairs::<$ring>(&operations);
                    check_derivations::<$ring>(&operations);
                    check_rejection::<$ring>(&operations);
                }
                #[test]
                fn selection(
                    operations in batches().prop_flat_map(|(count, keys)| Operations::any::<$ring>(count, keys)),
                    bit: usize,
                ) {
                    check_selection::<$ring>(&operations, bit);
                }
            }
            #[test]
            fn batch_sizes() {
                for count in COUNTS {
                    for keys in [1, count] {
                        let operations = Operations::draw::<$ring>(count, keys);
                        check_expansion::<$ring>(&operations);
                        check_key_pairs::<$ring>(&operations);
                        check_derivations::<$ring>(&operations);
                        check_rejection::<$ring>(&operations);
                        check_selection::<$ring>(&operations, 0);
                    }
                }
            }
            #[test]
            fn every_bit_is_compared() {
                let ciphertext = Operations::draw::<$ring>(1, 1).ciphertexts.remove(0);
                let count = 8 * ciphertext.len();
                let received: Vec<_> = (0..count)
                    .map(|bit| {
                        let mut received = ciphertext.clone();
                        received[bit / 8] ^= 1 << (bit % 8);
                        received
                    })
                    .collect();
                let (rejection, secret) = (vec![1; SEED_BYTES], vec![2; SEED_BYTES]);
                let chosen =
                    select::<$ring>(&received, &vec![ciphertext; count], &vec![rejection.clone(); count], &vec![secret; count]);
                assert!(chosen.iter().all(|chosen| *chosen == rejection));
            }
            #[test]
            fn traces_do_not_depend_on_data() {
                traces::<$ring>();
            }
        }
    )*};
}
properties! {
    r653: R653,
    r761: R761,
    r1277: R1277
}

/// Runs every kernel on two inputs and compares the addresses.
fn traces<R: Ring>() {
    let [one, other] = [(); 2].map(|()| Operations::draw::<R>(33, 33));
    let traces = |operations: &Operations| {
        let Operations { batch, .. } = *operations;
        let count = operations.count();
        let seed_rows = || unfilled(count, SEED_WORDS);
        let coins = || unfilled(count, coin_words::<R>());
        let emulator = Emulator::new();
        let trace = |kernels: &Kernels, buffers: &[&Buffer]| {
            let trace = emulator.trace(kernels.of::<R>(), buffers, batch).unwrap();
            assert!(!trace.is_empty());
            trace
        };
        let ids = operations.id_buffer();
        let (master, first) =
            (words(std::slice::from_ref(&operations.master)), Buffer::new(&[0u64]));
        let [messages, seeds, z] =
            [&operations.messages, &operations.seeds, &operations.z].map(|r| words(r));
        let ciphertexts = Buffer::new(&operations.ciphertexts.concat());
        // One of the two inputs is accepted throughout, the other rejected.
        let mut expected = operations.ciphertexts.clone();
        expected
            .iter_mut()
            .for_each(|ciphertext| ciphertext[0] ^= u8::from(operations.first == one.first));
        let expected = Buffer::new(&expected.concat());
        [
            trace(&EXPAND_SEEDS, &[&master, &first, &seed_rows()]),
            trace(&EXPAND_KEY_PAIR_SEEDS, &[&master, &first, &unfilled(count, 2 * SEED_WORDS)]),
            trace(
                &DERIVE_KEY_PAIR,
                &[&words(&operations.key_pair_seeds), &coins(), &coins(), &seed_rows()],
            ),
            trace(
                &DERIVE_ENCAPSULATION,
                &[&seeds, &ids, &unfilled(count, message_words::<R>()), &seed_rows(), &coins()],
            ),
            trace(
                &DERIVE_ENCAPSULATION_SMALL,
                &[&seeds, &ids, &unfilled(count, message_words::<R>()), &seed_rows(), &coins()],
            ),
            trace(&DERIVE_DECAPSULATION, &[&messages, &ids, &seed_rows(), &coins()]),
            trace(&DERIVE_DECAPSULATION_SMALL, &[&messages, &ids, &seed_rows(), &coins()]),
            trace(&REJECTION_SECRET, &[&ids, &z, &ciphertexts, &seed_rows()]),
            trace(&REJECTION_SECRET_SMALL, &[&ids, &z, &ciphertexts, &seed_rows()]),
            trace(&SELECT, &[&ciphertexts, &expected, &z, &seeds]),
        ]
    };
    assert!(one.messages != other.messages && one.first != other.first);
    assert!(traces(&one) == traces(&other));
}

/// The kernels compute what the KEM does: its secrets and ciphertexts in an honest exchange, its answers to ciphertexts with
/// one wrong bit, a padding bit among them.
fn agrees_with_the_kem<P: ParameterSet>() {
    let operations = Operations::draw::<P::Ring>(3, 3);
    let seed = |bytes: &[u8]| <[u8; SEED_BYTES]>::try_from(bytes).unwrap();
    let keys: Vec<_> = operations
        .key_pair_seeds
        .iter()
        .map(|s| DecapsulationKey::<P>::generate_deterministic(&seed(&s[..32]), &seed(&s[32..])))
        .collect();
    let ids = |key: &DecapsulationKey<P>| {
        key.encapsulation_key().as_bytes()[..ID_BYTES as usize].to_vec()
    };
    let z = |key: &DecapsulationKey<P>| {
        key.as_bytes()[P::DECAPSULATION_KEY_BYTES - SEED_BYTES..].to_vec()
    };
    let mut operations = Operations {
        ids: keys.iter().map(ids).collect(),
        z: keys.iter().map(z).collect(),
        ..operations
    };
    let (messages, secrets, coins) = operations.encapsulate::<P::Ring>(&DERIVE_ENCAPSULATION);
    let mut sent = Vec::new();
    for (i, key) in keys.iter().enumerate() {
        let public = key.encapsulation_key();
        let (ciphertext, secret) = public.encapsulate_deterministic(&seed(&operations.seeds[i]));
        assert_eq!(secrets[i], secret.as_bytes());
        assert_eq!(encrypt::<P>(&public, &messages[i], &coins[i]), ciphertext.as_bytes());
        sent.push(ciphertext.as_bytes().to_vec());
    }
    operations.messages = messages;
    assert_eq!(operations.decapsulate::<P::Ring>(&DERIVE_DECAPSULATION), (secrets.clone(), coins));

    operations.ciphertexts = sent.clone();
    operations.ciphertexts[1][100] ^= 1;
    *operations.ciphertexts[2].last_mut().unwrap() ^= 0x80;
    let rejection = operations.reject::<P::Ring>(&REJECTION_SECRET);
    let chosen = select::<P::Ring>(&operations.ciphertexts, &sent, &rejection, &secrets);
    assert_eq!(chosen, [&secrets[0], &rejection[1], &rejection[2]].map(Vec::clone));
    for (i, key) in keys.iter().enumerate() {
        let received = Ciphertext::from_bytes(&operations.ciphertexts[i]).unwrap();
        assert_eq!(chosen[i], key.decapsulate(&received).as_bytes());
    }
}

/// Encrypts a row of a message with a row of coins.
fn encrypt<P: ParameterSet>(public: &EncapsulationKey<P>, message: &[u8], coins: &[u8]) -> Vec<u8> {
    let h: Poly<P::Ring> = P::Encoding::decode(&Array::from_fn(|i| public.as_bytes()[i])).unwrap();
    let sigma = mul::mul_small(&h, &sample(&Array::from_fn(|i| coins[i])));
    let rounded = compress_with_message(&sigma, &Array::from_fn(|i| message[i]));
    bits::pack_rounded(&rounded).as_ref().to_vec()
}

/// Seeds expanded on the device are those of the CPU engine.
fn expands_as_the_engine<P: ParameterSet>() {
    const COUNT: usize = 3;
    let operations = Operations::draw::<P::Ring>(COUNT, COUNT);
    let key = DecapsulationKey::<P>::generate_deterministic(&[1; 32], &[2; 32]).encapsulation_key();
    let engine = CpuEngine::with_threads(1).unwrap();
    let seeds = unfilled(COUNT, SEED_WORDS);
    let master = words(std::slice::from_ref(&operations.master));
    launch(
        EXPAND_SEEDS.of::<P::Ring>(),
        &[&master, &Buffer::new(&[0u64]), &seeds],
        operations.batch,
    );
    let seeds: Vec<_> =
        rows(&seeds, SEED_WORDS).iter().map(|seed| seed[..].try_into().unwrap()).collect();
    let run = |seeds| {
        let mut ciphertexts = vec![Ciphertext::<P>::default(); COUNT];
        let mut secrets = vec![SharedSecret::default(); COUNT];
        engine.encapsulate(Keys::One(&key), seeds, &mut ciphertexts, &mut secrets).unwrap();
        (ciphertexts, secrets)
    };
    let master = operations.master[..].try_into().unwrap();
    assert!(run(Seeds::Each(&seeds)) == run(Seeds::Expand(&master)));
}

every_set!(agrees_with_the_kem, expands_as_the_engine);
