//! Checks the seeds that engines derive from a master seed: rows, contexts and errors.

use crate::common::emulated;
use ctru_gpu_runtime::emulated::EmulatedDevice;
use ctru_kem::engine::{
    Context, ContextTooLong, CpuEngine, DeviceEngine, DeviceOptions, Engine, EngineError, Expand,
    Keys, Seeds,
};
use ctru_kem::{
    Ciphertext, CtruPrime653, CtruPrime761, DecapsulationKey, EncapsulationKey, Encoding, Packed13,
    ParameterSet, SEED_BYTES, Scheme, SharedSecret,
};
use ctru_tests::hashes::shake256;
use ctru_tests::vectors::array;
use ctru_tests::{every_ctru_prime_set, every_ctru_prime_set_at_length};
use sha2::{Digest, Sha512};

every_ctru_prime_set!(rows_that_do_not_fit_are_refused);
every_ctru_prime_set_at_length!(batches_cut_anywhere_are_one_batch);

const SEEDS: Expand<'_> = Expand {
    seed: b"the master seed of tests of rows",
    context: Context::literal(b"all 32 bytes of this context...."),
    first: 0,
};

/// Returns the seed that the documentation of [`Expand`] defines for operation `index`: of an
/// encapsulation to `key`, or of a key pair.
pub(crate) fn expanded<P: ParameterSet, const N: usize>(
    expand: Expand<'_>,
    index: usize,
    key: Option<&EncapsulationKey<P>>,
) -> [u8; N] {
    let is_ctru_prime = P::PARAMETERS.set().scheme() == Scheme::CtruPrime;
    let code = match P::PARAMETERS.encoding() {
        _ if !is_ctru_prime => 3,
        Encoding::MixedRadix => 1,
        Encoding::Packed13 => 2,
    };
    let context = expand.context.as_bytes();
    let mut id = [0; 33];
    match key {
        Some(key) if is_ctru_prime => id.copy_from_slice(&key.as_ref()[..33]),
        Some(key) => {
            let hash = Sha512::new().chain_update([4]).chain_update(key).finalize();
            id[..32].copy_from_slice(&hash[..32]);
        }
        None => {}
    }
    let input = [
        b"ctru expand",
        &[if key.is_some() { 2 } else { 1 }][..],
        &(P::PARAMETERS.degree() as u16).to_le_bytes(),
        &[code, context.len() as u8],
        context,
        &vec![0; 32 - context.len()],
        expand.seed,
        &(expand.first + index as u64).to_le_bytes(),
        &id,
    ]
    .concat();
    assert_eq!(input.len(), 121);
    array(&shake256(&input, N))
}

/// The outputs of a batch of key generations, or of a batch of encapsulations.
#[derive(Clone, PartialEq)]
struct Outputs<P: ParameterSet> {
    decapsulation_keys: Vec<DecapsulationKey<P>>,
    ciphertexts: Vec<Ciphertext<P>>,
    secrets: Vec<SharedSecret>,
}

impl<P: ParameterSet> Outputs<P> {
    fn blank(count: usize) -> Self {
        Self {
            decapsulation_keys: vec![DecapsulationKey::placeholder(); count],
            ciphertexts: vec![Ciphertext::default(); count],
            secrets: vec![SharedSecret::default(); count],
        }
    }
}

/// Generates keys and encapsulates to `keys`, in batches that begin at the operations `cuts`.
fn run<P: ParameterSet, E: Engine<P>>(
    engine: &E,
    expand: Expand<'_>,
    keys: &[EncapsulationKey<P>],
    cuts: &[usize],
) -> Outputs<P> {
    let mut outputs = Outputs::blank(keys.len());
    let ends = cuts.iter().copied().skip(1).chain([keys.len()]);
    for (start, end) in cuts.iter().copied().zip(ends) {
        let seeds = Expand { first: expand.first.wrapping_add(start as u64), ..expand };
        let Outputs { decapsulation_keys, ciphertexts, secrets } = &mut outputs;
        engine
            .generate_decapsulation_keys(Seeds::Expand(seeds), &mut decapsulation_keys[start..end])
            .unwrap();
        engine
            .encapsulate(
                Keys::Each(&keys[start..end]),
                Seeds::Expand(seeds),
                &mut ciphertexts[start..end],
                &mut secrets[start..end],
            )
            .unwrap();
    }
    outputs
}

/// Pseudo-random numbers, for the places where batches are cut.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % bound
    }

    /// Returns 0 and up to four other operations of a batch of `count`, in ascending order.
    fn cuts(&mut self, count: usize) -> Vec<usize> {
        let mut cuts: Vec<_> =
            [0].into_iter().chain((0..4).map(|_| self.below(count + 1))).collect();
        cuts.sort_unstable();
        cuts
    }
}

/// The rows at which batches of `count` operations begin: below and above 2^32, and up to the last
/// row.
fn first_rows(count: usize) -> [u64; 4] {
    let half = count as u64 / 2;
    [0, (1 << 32) - half, 1 << 63, u64::MAX - (count as u64 - 1)]
}

/// Cuts batches at random places, on the CPU and on two emulated devices with small chunks. Checks
/// the results against one batch and against single operations.
fn batches_cut_anywhere_are_one_batch<P: ParameterSet>() {
    const COUNT: usize = 21;
    const ON_DEVICE: usize = 5;
    let mut random = Random(P::PARAMETERS.degree() as u64);
    let keys: Vec<_> = (0..COUNT as u8)
        .map(|i| DecapsulationKey::<P>::generate_deterministic(&[i; 32], &[1; 32]))
        .map(|key| key.encapsulation_key())
        .collect();
    let cpu = CpuEngine::with_threads(2).unwrap();
    let options = DeviceOptions { chunk: 2, slots: 1, ..emulated() };
    let devices = vec![EmulatedDevice::new(), EmulatedDevice::new()];
    let device = DeviceEngine::over(devices, options).unwrap();
    for first in first_rows(COUNT) {
        let expand = Expand { first, ..SEEDS };
        let whole = run(&cpu, expand, &keys, &[0]);
        for (i, key) in keys.iter().enumerate() {
            let pair = expanded::<P, 64>(expand, i, None);
            let (polynomials, z) = pair.as_chunks::<32>().0.split_first().unwrap();
            let made = DecapsulationKey::<P>::generate_deterministic(polynomials, &z[0]);
            assert!(whole.decapsulation_keys[i] == made, "row {first} + {i}");
            let seed = expanded::<P, SEED_BYTES>(expand, i, Some(key));
            let (ciphertext, secret) = key.encapsulate_deterministic(&seed);
            assert!(whole.ciphertexts[i] == ciphertext, "row {first} + {i}");
            assert!(whole.secrets[i] == secret, "row {first} + {i}");
        }
        for _ in 0..4 {
            let cuts = random.cuts(COUNT);
            assert!(run(&cpu, expand, &keys, &cuts) == whole, "row {first}, {cuts:?}");
        }
    }
    for first in first_rows(ON_DEVICE) {
        let (expand, keys) = (Expand { first, ..SEEDS }, &keys[..ON_DEVICE]);
        let (whole, cuts) = (run(&cpu, expand, keys, &[0]), random.cuts(ON_DEVICE));
        assert!(run(&device, expand, keys, &[0]) == whole, "row {first}");
        assert!(run(&device, expand, keys, &cuts) == whole, "row {first}, {cuts:?}");
    }
}

/// Checks the error of batches whose last row needs more than 64 bits, and that their outputs are
/// unchanged.
fn rows_that_do_not_fit_are_refused<P: ParameterSet>() {
    let options = DeviceOptions { chunk: 2, slots: 1, ..emulated() };
    let device = DeviceEngine::new(EmulatedDevice::new(), options).unwrap();
    refused_by::<P, _>(&CpuEngine::with_threads(1).unwrap());
    refused_by::<P, _>(&device);
}

fn refused_by<P: ParameterSet, E: Engine<P>>(engine: &E) {
    let key = DecapsulationKey::<P>::generate_deterministic(&[1; 32], &[2; 32]).encapsulation_key();
    for (first, count) in [(u64::MAX, 2), (u64::MAX - 1, 3), (u64::MAX - 100, 200)] {
        let expand = Expand { first, ..SEEDS };
        let blank = Outputs::<P>::blank(count);
        let mut outputs = blank.clone();
        let mut encapsulation_keys = vec![EncapsulationKey::placeholder(); count];
        let results = [
            engine.generate(
                Seeds::Expand(expand),
                &mut encapsulation_keys,
                &mut outputs.decapsulation_keys,
            ),
            engine.generate_decapsulation_keys(
                Seeds::Expand(expand),
                &mut outputs.decapsulation_keys,
            ),
            engine.encapsulate(
                Keys::One(&key),
                Seeds::Expand(expand),
                &mut outputs.ciphertexts,
                &mut outputs.secrets,
            ),
        ];
        for result in results {
            let error = result.unwrap_err();
            assert_eq!(error, EngineError::RowOverflow { first, count });
            let message = format!(
                "a batch of {count} operations cannot begin at row {first}: a row has 64 bits"
            );
            assert_eq!(error.to_string(), message);
        }
        assert!(outputs == blank);
        assert!(encapsulation_keys.iter().all(|key| *key == EncapsulationKey::placeholder()));
    }
    // The last row of all serves, and an empty batch has no row.
    let last = Seeds::Expand(Expand { first: u64::MAX, ..SEEDS });
    engine.encapsulate(Keys::Each(&[]), last, &mut [], &mut []).unwrap();
    let (mut ciphertext, mut secret) = ([Ciphertext::default()], [SharedSecret::default()]);
    engine.encapsulate(Keys::One(&key), last, &mut ciphertext, &mut secret).unwrap();
}

/// Checks that one master seed, context and row give the key pairs of two parameter sets different
/// secrets, and two keys different messages. The last part of a decapsulation key is the second
/// half of its seed.
#[test]
fn sets_and_keys_get_their_own_seeds() {
    fn z<P: ParameterSet>(expand: Expand<'_>) -> Vec<u8> {
        let mut key = [DecapsulationKey::<P>::placeholder()];
        let engine = CpuEngine::with_threads(1).unwrap();
        engine.generate_decapsulation_keys(Seeds::Expand(expand), &mut key).unwrap();
        let z = key[0].as_ref()[P::DECAPSULATION_KEY_BYTES - 32..].to_vec();
        assert_eq!(z, expanded::<P, 64>(expand, 0, None)[32..]);
        z
    }
    let base = z::<CtruPrime761>(SEEDS);
    assert_eq!(z::<CtruPrime761>(SEEDS), base);
    assert_ne!(z::<CtruPrime653>(SEEDS), base);
    assert_ne!(z::<CtruPrime761<Packed13>>(SEEDS), base);
    assert_ne!(z::<CtruPrime761>(Expand { context: Context::EMPTY, ..SEEDS }), base);
    assert_ne!(z::<CtruPrime761>(Expand { seed: &[1; 32], ..SEEDS }), base);
    assert_ne!(z::<CtruPrime761>(Expand { first: 1, ..SEEDS }), base);

    // A key that begins like another key gets its seed; every other key gets another seed.
    let [one, other] = [1, 2].map(|i| {
        DecapsulationKey::<CtruPrime761>::generate_deterministic(&[i; 32], &[1; 32])
            .encapsulation_key()
    });
    assert_ne!(one.as_ref()[..33], other.as_ref()[..33]);
    let seed = |key| expanded::<_, SEED_BYTES>(SEEDS, 0, Some(key));
    assert_ne!(seed(&one), seed(&other));
}

#[test]
fn contexts() {
    for length in 0..=Context::MAX_BYTES {
        let bytes: Vec<u8> = (0..length as u8).collect();
        assert_eq!(Context::new(&bytes).unwrap().as_bytes(), bytes);
    }
    assert_eq!(Context::new(&[0; 33]), Err(ContextTooLong { actual: 33 }));
    let message = "a context has at most 32 bytes, got 100";
    assert_eq!(Context::new(&[0; 100]).unwrap_err().to_string(), message);
    assert_eq!(Context::new(&[]), Ok(Context::EMPTY));
    assert_ne!(Context::literal(&[0]), Context::EMPTY);
    assert_eq!(format!("{:?}", Context::literal(b"a \"b\"\0")), r#"Context("a \"b\"\x00")"#);
    let expand = Expand { context: Context::literal(b"orders"), first: 3, ..SEEDS };
    let shown = r#"Expand { seed: .., context: Context("orders"), first: 3 }"#;
    assert_eq!(format!("{expand:?}"), shown);
}
