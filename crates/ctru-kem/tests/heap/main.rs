//! Checks that engines wipe what they put on the heap.
//!
//! The allocator of this program looks for seeds, messages, coins, shared secrets, and the `f` and
//! `z` of keys in all memory that is given back, and on demand in all memory that is in use. The
//! memory of an emulated device, and what is pinned memory elsewhere, lie on the heap.

// Tests may unwrap: a test must fail if its input cannot be built.
#![allow(clippy::unwrap_used)]

mod allocator;

use std::array;
use std::sync::{Mutex, MutexGuard, PoisonError};

use allocator::{Watch, given_back, in_use, look_for};
use ctru_gpu_runtime::batch::tuning::{AS_LARGE, BY_STEPS};
use ctru_gpu_runtime::emulated::EmulatedDevice;
use ctru_kem::engine::{CpuEngine, DeviceEngine, DeviceOptions, Engine, Keys, Seeds};
use ctru_kem::{
    Ciphertext, CtruPrime653, CtruPrimeSet, DecapsulationKey, EncapsulationKey, KeyPairSeed,
    SEED_BYTES, SharedSecret, Sntrup761,
};
use ctru_math::codec::ternary::unpack;
use ctru_math::{NtruPrimeRing, R761, Ring, SmallPoly, ternary};
use ctru_tests::every_ctru_prime_set;
use pkcs8::{DecodePrivateKey, EncodePrivateKey, LineEnding};
use sha3::{Digest, Sha3_512};
use shake::{ExtendableOutput, Shake256, Update, XofReader};

#[global_allocator]
static WATCH: Watch = Watch;

every_ctru_prime_set!(batches_on_cores);

/// Operations per batch: more than a group, and no multiple of one.
const COUNT: usize = 11;
/// The seed of each key pair: of its polynomials, and `z`.
const KEY_SEED: &[u8; 64] = b"a seed for the polynomials of n and the secret for the rejection";
const SEED: &[u8; SEED_BYTES] = b"a seed without words that repeat";

/// Lets one test at a time look for secrets.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The first bytes of a hash. They are not on the heap, where they would be found.
fn shake256<const N: usize>(parts: &[&[u8]]) -> [u8; N] {
    let mut hash = Shake256::default();
    parts.iter().for_each(|part| hash.update(part));
    let mut output = [0; N];
    hash.finalize_xof().read(&mut output);
    output
}

/// A key pair, and what happens with it.
struct Case<P: CtruPrimeSet> {
    private: DecapsulationKey<P>,
    public: EncapsulationKey<P>,
    ciphertext: Ciphertext<P>,
    tampered: Ciphertext<P>,
}

impl<P: CtruPrimeSet> Case<P> {
    /// Computes the case, and looks for its secrets from then on.
    fn watched() -> Self {
        let (seed, z) = KEY_SEED.split_first_chunk().unwrap();
        let private = DecapsulationKey::<P>::generate_deterministic(seed, z.try_into().unwrap());
        let public = private.encapsulation_key();
        let (ciphertext, secret) = public.encapsulate_deterministic(SEED);
        let mut tampered = *ciphertext.as_array();
        tampered.as_mut()[0] ^= 1;
        let tampered = Ciphertext::from_bytes(tampered.as_ref()).unwrap();
        let rejected = private.decapsulate(&tampered);

        let f = &private.as_ref()[..P::Ring::SECRET_POLY_BYTES];
        let key_coins = shake256::<{ 2 * 639 }>(&[seed]);
        let message = shake256::<160>(&[SEED]);
        let message = &message[..P::Ring::MESSAGE_BYTES];
        let digest = Sha3_512::digest([&public.as_ref()[..33], message].concat());
        let coins = shake256::<639>(&[&digest[32..]]);
        look_for(&[
            seed,
            z,
            f,
            &key_coins[..2 * P::Ring::COIN_BYTES],
            SEED,
            message,
            &digest[32..],
            &coins[..P::Ring::COIN_BYTES],
            secret.as_bytes(),
            rejected.as_bytes(),
        ]);
        Self { private, public, ciphertext, tampered }
    }

    /// Runs all operations with keys in every form.
    fn run<E: Engine<P>>(&self, engine: &E) {
        let mut private = [const { None }; COUNT].map(|_: Option<()>| self.private.clone());
        let mut public = [(); COUNT].map(|()| self.public.clone());
        engine.generate(Seeds::Each(&[*KEY_SEED; COUNT]), &mut public, &mut private).unwrap();
        assert!(private.iter().all(|key| *key == self.private));
        let seeds = Seeds::Each(&[*SEED; COUNT]);
        let loaded = engine.load_encapsulation_keys(&public).unwrap();
        for keys in [Keys::One(&self.public), Keys::Each(&public), Keys::Loaded(&loaded)] {
            let mut ciphertexts = [(); COUNT].map(|()| Ciphertext::default());
            let mut secrets = [(); COUNT].map(|()| SharedSecret::default());
            engine.encapsulate(keys, seeds, &mut ciphertexts, &mut secrets).unwrap();
            assert!(ciphertexts[0] == self.ciphertext);
        }
        let loaded = engine.load_decapsulation_keys(&private).unwrap();
        for keys in [Keys::One(&self.private), Keys::Each(&private), Keys::Loaded(&loaded)] {
            let mut ciphertexts = [(); COUNT].map(|()| self.ciphertext.clone());
            ciphertexts[3] = self.tampered.clone();
            let mut secrets = [(); COUNT].map(|()| SharedSecret::default());
            engine.decapsulate(keys, &ciphertexts, &mut secrets).unwrap();
            assert!(secrets[3] != secrets[4] && secrets[4] == secrets[5]);
        }
    }
}

fn batches_on_cores<P: CtruPrimeSet>() {
    let _alone = alone();
    let engine = CpuEngine::with_threads(2).unwrap();
    let case = Case::<P>::watched();
    case.run(&engine);
    assert_eq!(given_back(), 0, "words of secrets in memory that was given back");
    assert_eq!(in_use(), 0, "words of secrets in memory that is in use");
}

/// Generates key pairs of NTRU Prime together. Their polynomials are longer on the heap than in
/// keys.
#[test]
fn key_pairs_of_ntru_prime() {
    type P = Sntrup761;
    let _alone = alone();
    let engine = CpuEngine::with_threads(2).unwrap();
    let (seed, z) = KEY_SEED.split_first_chunk().unwrap();
    let key = DecapsulationKey::<P>::generate_deterministic(seed, z.try_into().unwrap());
    let (packed, _) = key.as_array().as_chunks::<{ R761::TERNARY_BYTES }>();
    let polynomials = [&packed[0], &packed[1]].map(|bytes| unpack::<R761>(bytes).unwrap());
    let g = ternary::invert(&polynomials[1]).unwrap();
    let bytes = |polynomial: &SmallPoly<R761>| -> [u8; R761::N] {
        array::from_fn(|i| polynomial.coefficients()[i] as u8)
    };
    let polynomials = [&polynomials[0], &g, &polynomials[1]].map(bytes);
    let words = polynomials.iter().flat_map(|bytes| bytes.windows(8));
    // Words of runs may be integers: 1, or -1 in four bytes.
    let is_distinct = |word: &&[u8]| word.windows(2).filter(|pair| pair[0] != pair[1]).count() > 4;
    let secrets = [&seed[..], &packed[0], &packed[1]].into_iter().chain(words.filter(is_distinct));
    look_for(&secrets.collect::<Vec<_>>());
    let mut private = [const { None }; COUNT].map(|_: Option<()>| DecapsulationKey::placeholder());
    let seeds = Seeds::Each(&[*KEY_SEED; COUNT]);
    engine.generate_decapsulation_keys(seeds, &mut private).unwrap();
    assert!(private.iter().all(|made| *made == key));
    let polynomial = Box::new(g.clone());
    assert!(in_use() > R761::N / 2, "the search does not find a polynomial");
    drop(polynomial);
    assert_eq!(given_back(), 0, "words of secrets in memory that was given back");
    assert_eq!(in_use(), 0, "words of secrets in memory that is in use");
}

/// Drops keys, seeds and secrets that lie on the heap.
#[test]
fn values() {
    type P = CtruPrime653;
    let _alone = alone();
    let case = Case::<P>::watched();
    let key = Box::new(case.private.clone());
    assert!(in_use() > 100, "the search does not find a key");
    drop(key);
    let secrets =
        vec![case.private.decapsulate(&case.ciphertext), case.private.decapsulate(&case.tampered)];
    assert!(in_use() >= 2 * (32 - 7), "the search does not find two secrets");
    drop(secrets);
    let seed = Box::new(KeyPairSeed::<P>::from_bytes(SEED).unwrap());
    assert!(in_use() > 0, "the search does not find a seed");
    drop(seed);
    assert_eq!(given_back(), 0, "words of secrets in memory that was given back");
}

/// Writes and reads keys in the formats that make copies of them.
#[test]
fn files_and_serde() {
    type P = CtruPrime653;
    let _alone = alone();
    let json = serde_json::to_vec(&DecapsulationKey::<P>::placeholder()).unwrap();
    let case = Case::<P>::watched();
    let seed = KeyPairSeed::<P>::from_bytes(SEED).unwrap();
    let pem = seed.to_pkcs8_pem(LineEnding::LF).unwrap();
    let der = seed.to_pkcs8_der().unwrap();
    assert!(KeyPairSeed::<P>::from_pkcs8_pem(&pem).unwrap().as_bytes() == SEED);
    assert!(KeyPairSeed::<P>::from_pkcs8_der(der.as_bytes()).unwrap().as_bytes() == SEED);
    drop((pem, der, seed));
    let mut text = [0; 12_000];
    let mut rest = &mut text[..];
    serde_json::to_writer(&mut rest, &case.private).unwrap();
    let left = rest.len();
    let text = &text[..12_000 - left];
    assert!(json.len() == text.len());
    let read: DecapsulationKey<P> = serde_json::from_slice(text).unwrap();
    assert!(read == case.private);
    let mut bytes = [0; 4000];
    let bytes = postcard::to_slice(&case.private, &mut bytes).unwrap();
    assert!(postcard::from_bytes::<DecapsulationKey<P>>(bytes).unwrap() == case.private);
    assert_eq!(given_back(), 0, "words of secrets in memory that was given back");
}

/// More words than the emulator gives back. It does not overwrite stacks, so the unused bytes of
/// values that it moves to the heap may be those of a secret. Without wiping, [`devices`] finds
/// 109,393 words.
const FEW: usize = 1000;

/// Checks that slots of an engine hold secrets after a batch, that [`DeviceEngine::wipe`] removes
/// them, and that neither the engine nor the emulator gives back memory with secrets.
#[test]
fn devices() {
    devices_with(false);
}

/// Does the same with the kernels of large batches, which take loaded keys as they were decoded.
#[test]
fn devices_as_large() {
    devices_with(true);
}

fn devices_with(as_large: bool) {
    let _alone = alone();
    // Inversion by powers takes the emulator seconds.
    let options = DeviceOptions {
        chunk: 4,
        slots: 2,
        tuning: Some(if as_large { &AS_LARGE } else { &BY_STEPS }),
        ..DeviceOptions::default()
    };
    let engine = DeviceEngine::new(EmulatedDevice::new(), options).unwrap();
    let case = Case::<CtruPrime653>::watched();
    case.run(&engine);
    assert!(given_back() < FEW, "{} words of secrets in memory that was given back", given_back());
    assert!(in_use() > 100, "the slots hold no secrets, so this test tests nothing");
    engine.wipe().unwrap();
    assert_eq!(in_use(), 0, "words of secrets after wiping");
}

/// Checks that [`DeviceEngine::wipe`] also removes the secrets of small batches, which meet in
/// memory of their own.
#[test]
fn small_batches_on_devices() {
    type P = CtruPrime653;
    let _alone = alone();
    let options = DeviceOptions { chunk: COUNT, slots: 1, ..DeviceOptions::default() };
    let engine = DeviceEngine::new(EmulatedDevice::new(), options).unwrap();
    let case = Case::<P>::watched();
    let public = [(); COUNT].map(|()| case.public.clone());
    let mut ciphertexts = [(); COUNT].map(|()| Ciphertext::default());
    let mut secrets = [(); COUNT].map(|()| SharedSecret::default());
    let seeds = Seeds::Each(&[*SEED; COUNT]);
    engine.encapsulate(Keys::Each(&public), seeds, &mut ciphertexts, &mut secrets).unwrap();
    assert!(ciphertexts[0] == case.ciphertext);
    assert!(given_back() < FEW, "{} words of secrets in memory that was given back", given_back());
    assert!(in_use() > 100, "the memory holds no secrets, so this test tests nothing");
    engine.wipe().unwrap();
    assert_eq!(in_use(), 0, "words of secrets after wiping");
}

/// Checks that the allocator finds a secret that is not wiped.
#[test]
fn planted() {
    let _alone = alone();
    look_for(&[SEED]);
    let copy = SEED.to_vec();
    assert_eq!((given_back(), in_use()), (0, SEED_BYTES - 7));
    drop(copy);
    assert_eq!((given_back(), in_use()), (SEED_BYTES - 7, 0));
}
