//! Compares the device engine on a GPU with the CPU engine, in batches that fill the GPU.
//!
//! The tests need a GPU. `CTRU_GPU_OPERATIONS` sets the size of the largest batches (default:
//! 40,960, in which one thread holds each Keccak state; two do in batches of 4096).
#![cfg(feature = "cuda")]
// A failure in a helper is a failed test. One test lends memory to the engine.
#![allow(clippy::unwrap_used, unsafe_code)]

#[path = "kem/resident/checks.rs"]
mod resident;
#[path = "kem/seed_vectors.rs"]
mod seed_vectors;

use ctru_gpu_kernels::ptx::Module;
use ctru_gpu_runtime::{Buffer, Device, DeviceMemory, HostMemory, Queue, RuntimeError};
use ctru_kem::engine::cuda::{self, CudaDevice, CudaMemory, CudaQueue};
use ctru_kem::engine::device::{ResidentKeys, ResidentSeeds};
use ctru_kem::engine::{
    BatchEngine, Context, CpuEngine, DeviceEngine, DeviceOptions, EngineError, Expand, KeyRows,
    PinnedBytes, Seeds,
};
use ctru_kem::{CtruPrime761, CtruPrimeSet, DecapsulationKey, ParameterSet};
use ctru_tests::every_ctru_prime_set;

/// The seeds of the tests. Batches of 4096 operations and more cross row 2^32.
const SEEDS: Expand<'_> = Expand {
    seed: b"master seed of the keys of tests",
    context: Context::literal(b"tests of the engine on a GPU"),
    first: (1 << 32) - 1000,
};

/// Returns the sizes of batches: one that hashes with two threads per operation, and one that fills
/// the GPU.
fn operations() -> [usize; 2] {
    [4096, std::env::var("CTRU_GPU_OPERATIONS").map_or(40_960, |count| count.parse().unwrap())]
}

/// The memory that holds a batch's keys and ciphertexts.
#[derive(Copy, Clone, Debug)]
enum Place {
    /// Vectors on the host.
    Host,
    /// Memory that the engine has pinned.
    Pinned,
    /// Pinned memory, with the keys also loaded on the device.
    Loaded,
}

/// Returns zeros in memory of the given kind.
fn zeros(engine: &dyn BatchEngine, place: Place, len: usize) -> PinnedBytes {
    // The room at the end keeps two vectors from sharing a page, because no page can be pinned
    // twice.
    let mut bytes = Vec::with_capacity(len + (1 << 16));
    bytes.resize(len, 0);
    match place {
        Place::Host => PinnedBytes::new(bytes),
        Place::Pinned | Place::Loaded => engine.pin(bytes).unwrap(),
    }
}

/// Returns all results of a batch: key generation, encapsulation and decapsulation.
/// Every eighth ciphertext is changed before it is decapsulated.
fn results<P: ParameterSet>(engine: &dyn BatchEngine, count: usize, place: Place) -> [Vec<u8>; 5] {
    let (parameters, sizes) = (P::PARAMETERS, P::PARAMETERS.sizes());
    let mut public = zeros(engine, place, count * sizes.encapsulation_key);
    let mut private = zeros(engine, place, count * sizes.decapsulation_key);
    engine
        .generate_rows(parameters, Seeds::Expand(SEEDS), Some(&mut public), &mut private)
        .unwrap();
    let mut alone = zeros(engine, place, private.len());
    engine.generate_rows(parameters, Seeds::Expand(SEEDS), None, &mut alone).unwrap();
    assert!(alone[..] == private[..]);
    drop(alone);

    let resident = matches!(place, Place::Loaded);
    let mut ciphertexts = zeros(engine, place, count * sizes.ciphertext);
    let mut secrets = vec![0; count * 32];
    let loaded = resident.then(|| engine.load_encapsulation_rows(parameters, &public).unwrap());
    let keys = loaded.as_ref().map_or(KeyRows::Trusted(&public), KeyRows::Loaded);
    engine
        .encapsulate_rows(parameters, keys, Seeds::Expand(SEEDS), &mut ciphertexts, &mut secrets)
        .unwrap();
    let (sent, made) = (ciphertexts.to_vec(), secrets.clone());
    if !resident {
        let keys = KeyRows::Unchecked(&public);
        engine
            .encapsulate_rows(
                parameters,
                keys,
                Seeds::Expand(SEEDS),
                &mut ciphertexts,
                &mut secrets,
            )
            .unwrap();
        assert!(ciphertexts[..] == sent && secrets == made);
    }

    for (i, ciphertext) in ciphertexts.chunks_mut(sizes.ciphertext).enumerate().step_by(8) {
        ciphertext[i * 31 % sizes.ciphertext] ^= 1 << (i / 8 % 8);
    }
    let mut decapsulated = vec![0; count * 32];
    let loaded = resident.then(|| engine.load_decapsulation_rows(parameters, &private).unwrap());
    let keys = loaded.as_ref().map_or(KeyRows::Trusted(&private), KeyRows::Loaded);
    engine.decapsulate_rows(parameters, keys, &ciphertexts, &mut decapsulated).unwrap();
    for (i, (own, secret)) in decapsulated.chunks(32).zip(secrets.chunks(32)).enumerate() {
        assert_eq!(own == secret, i % 8 != 0, "operation {i}");
    }
    if !resident {
        let keys = KeyRows::Unchecked(&private);
        engine.decapsulate_rows(parameters, keys, &ciphertexts, &mut secrets).unwrap();
        assert!(secrets == decapsulated);
    }
    [public.to_vec(), private.to_vec(), sent, made, decapsulated]
}

fn gpu() -> DeviceEngine<CudaDevice> {
    DeviceEngine::new(cuda::open(0).unwrap(), DeviceOptions::default()).unwrap()
}

/// Returns an engine whose slots are few and small, so that small batches fill them.
fn small_chunks() -> DeviceEngine<CudaDevice> {
    let options = DeviceOptions { chunk: 96, slots: 3, ..DeviceOptions::default() };
    DeviceEngine::new(cuda::open(0).unwrap(), options).unwrap()
}

/// Checks large batches in each kind of memory.
fn check_large<P: ParameterSet>() {
    let engine = gpu();
    for count in operations() {
        let expected = results::<P>(&CpuEngine::new().unwrap(), count, Place::Loaded);
        for place in [Place::Host, Place::Pinned, Place::Loaded] {
            assert!(results::<P>(&engine, count, place) == expected, "{count}, {place:?}");
        }
    }
}

/// Checks the vectors of derived seeds.
fn check_seeds<P: CtruPrimeSet>() {
    seed_vectors::check::<P, _>(&gpu());
}

/// Checks batch sizes close to those of warps, blocks and chunks.
fn check_sizes<P: ParameterSet>() {
    let (engine, cpu) = (small_chunks(), CpuEngine::new().unwrap());
    for count in [1, 2, 31, 33, 95, 96, 97, 289] {
        let expected = results::<P>(&cpu, count, Place::Host);
        for place in [Place::Host, Place::Pinned] {
            assert!(
                results::<P>(&engine, count, place) == expected,
                "{count} operations, {place:?}"
            );
        }
    }
}

/// Checks calls from more threads than there are slots, with batches of one chunk and of several.
fn check_callers<P: ParameterSet>() {
    let (engine, cpu) = (&small_chunks(), CpuEngine::new().unwrap());
    let expected = [32, 150].map(|count| (count, results::<P>(&cpu, count, Place::Host)));
    std::thread::scope(|scope| {
        for caller in 0..8 {
            let (count, expected) = &expected[caller % 2];
            scope.spawn(move || {
                for place in [Place::Host, Place::Pinned, Place::Loaded] {
                    assert!(
                        results::<P>(engine, *count, place) == *expected,
                        "{count} operations, {place:?}"
                    );
                }
            });
        }
    });
}

/// Checks data on the device: large batches, and batches of several chunks with ciphertexts and
/// keys that are aligned and that are not.
fn check_resident<P: ParameterSet>() {
    let device = cuda::open(0).unwrap();
    for count in operations() {
        resident::check_operations::<P, _>(&device, &gpu(), count, false, 0);
    }
    let engine = small_chunks();
    for (count, seeds_each, offset) in [(1, true, 0), (97, false, 1), (289, true, 4)] {
        resident::check_operations::<P, _>(&device, &engine, count, seeds_each, offset);
    }
}

/// Checks faulty keys on the device.
fn check_faults<P: CtruPrimeSet>() {
    resident::check_faults::<P, _>(&cuda::open(0).unwrap(), &small_chunks(), 500);
}

every_ctru_prime_set! {
    check_large, check_seeds, check_sizes, check_callers, check_resident, check_faults
}

/// Makes the same tests for sets of Streamlined NTRU Prime.
macro_rules! ntru_prime {
    ($($name:ident $set:ident),*) => {$(
        mod $name {
            #[test]
            fn large() {
                super::check_large::<ctru_kem::$set>();
            }
            #[test]
            fn sizes() {
                super::check_sizes::<ctru_kem::$set>();
            }
            #[test]
            fn callers() {
                super::check_callers::<ctru_kem::$set>();
            }
            #[test]
            fn resident() {
                super::check_resident::<ctru_kem::$set>();
            }
        }
    )*};
}
ntru_prime! { sntrup653 Sntrup653, sntrup761 Sntrup761, sntrup1277 Sntrup1277 }

/// Checks that one engine over all GPUs, or over one GPU twice if there is only one, gives the
/// results of the CPU engine.
#[test]
fn several_gpus() {
    type Set = CtruPrime761;
    let count = cuda::devices().unwrap().len().max(2) as u32;
    let devices = (0..count).map(|i| cuda::open(i).or_else(|_| cuda::open(0)).unwrap());
    let engine = DeviceEngine::over(devices.collect(), DeviceOptions::default()).unwrap();
    let cpu = CpuEngine::new().unwrap();
    for count in [1, 33, 2049, 70_000] {
        let expected = results::<Set>(&cpu, count, Place::Host);
        for place in [Place::Host, Place::Pinned, Place::Loaded] {
            assert!(results::<Set>(&engine, count, place) == expected, "{count}, {place:?}");
        }
    }
}

/// Returns all results of a batch with one key.
fn results_of_one_key(engine: &dyn BatchEngine, count: usize, place: Place) -> [Vec<u8>; 2] {
    type Set = CtruPrime761;
    let private = DecapsulationKey::<Set>::generate_deterministic(&[1; 32], &[2; 32]);
    let public = private.encapsulation_key();
    let mut ciphertexts = zeros(engine, place, count * Set::CIPHERTEXT_BYTES);
    let [mut secrets, mut decapsulated] = [(); 2].map(|()| vec![0; count * 32]);
    let (parameters, seeds) = (Set::PARAMETERS, Seeds::Expand(SEEDS));
    let keys = KeyRows::Trusted(public.as_ref());
    engine.encapsulate_rows(parameters, keys, seeds, &mut ciphertexts, &mut secrets).unwrap();
    let keys = KeyRows::Trusted(private.as_ref());
    engine.decapsulate_rows(parameters, keys, &ciphertexts, &mut decapsulated).unwrap();
    assert!(decapsulated == secrets);
    [ciphertexts.to_vec(), secrets]
}

/// Checks batches with one key on both sides of the sizes from which the engine takes other
/// kernels, other chunks, and other ways of the results to the host.
#[test]
fn batches_with_one_key_of_all_sizes() {
    let (engine, cpu) = (gpu(), CpuEngine::new().unwrap());
    for count in [512, 513, 1024, 1025, 16_383, 16_500] {
        let expected = results_of_one_key(&cpu, count, Place::Host);
        for place in [Place::Host, Place::Pinned] {
            assert!(results_of_one_key(&engine, count, place) == expected, "{count}, {place:?}");
        }
    }
}

/// Checks batches of key pairs of which the GPU sends all public keys, some of the last chunks, and
/// a share of each chunk.
#[test]
fn batches_of_key_pairs_of_all_sizes() {
    type Set = CtruPrime761;
    let engine = gpu();
    for count in [8192, 8193, 20_000, 66_000] {
        let mut public = zeros(&engine, Place::Pinned, count * Set::ENCAPSULATION_KEY_BYTES);
        let mut private = zeros(&engine, Place::Pinned, count * Set::DECAPSULATION_KEY_BYTES);
        let seeds = Seeds::Expand(SEEDS);
        engine.generate_rows(Set::PARAMETERS, seeds, Some(&mut public), &mut private).unwrap();
        let public = public.chunks(Set::ENCAPSULATION_KEY_BYTES);
        for (i, (public, private)) in
            public.zip(private.chunks(Set::DECAPSULATION_KEY_BYTES)).enumerate()
        {
            let private = DecapsulationKey::<Set>::from_bytes(private).unwrap();
            assert!(*public == *private.encapsulation_key().as_ref(), "{i} of {count}");
        }
    }
}

/// Checks that data in memory of other CUDA code is read when the work of its stream is done. Here
/// the other code is this library.
#[test]
fn memory_of_other_code() {
    type Set = CtruPrime761;
    const COUNT: usize = 100_000;
    let device = cuda::open(0).unwrap();
    let engine = gpu();
    let producer = device.queue().unwrap();
    let private = DecapsulationKey::<Set>::generate_deterministic(&[1; 32], &[2; 32]);
    let mut staged = producer.pinned::<u8>(COUNT * 32).unwrap();
    for (i, seed) in staged.write().unwrap().chunks_exact_mut(32).enumerate() {
        seed[..8].copy_from_slice(&i.to_le_bytes());
    }
    let key = producer.allocate::<u8>(Set::ENCAPSULATION_KEY_BYTES).unwrap();
    let bytes = private.encapsulation_key();
    producer.scope(|scope| producer.upload_from(scope, bytes.as_ref(), &key)).unwrap();
    let seeds = producer.allocate::<u8>(COUNT * 32).unwrap();
    let ciphertexts = producer.allocate::<u8>(COUNT * Set::CIPHERTEXT_BYTES).unwrap();
    let secrets = producer.allocate::<u8>(COUNT * 32).unwrap();

    // The seeds are under way when the engine is called.
    producer.upload(&staged, 0..COUNT * 32, &seeds, 0).unwrap();
    // SAFETY: the stream is one of the device, and its queue lives longer.
    let after = unsafe { CudaQueue::from_stream(device, producer.stream()) }.unwrap();
    let lend = |memory: &Buffer<u8, CudaMemory>| {
        // SAFETY: the arrays live longer, and nothing else uses them during the call, but the copy
        // to which it is ordered.
        unsafe { device.lend(memory.address(), memory.bytes()) }
    };
    let (rows, seed_rows) = (lend(&key), lend(&seeds));
    let (keys, given) = (ResidentKeys::Trusted(&*rows), ResidentSeeds::Each(&*seed_rows));
    let (to, made) = (lend(&ciphertexts), lend(&secrets));
    engine.resident(Set::PARAMETERS, &after).unwrap().encapsulate(keys, given, &to, &made).unwrap();

    let mut results = vec![0; COUNT * 32];
    producer.scope(|scope| producer.download_to(scope, &secrets, &mut results)).unwrap();
    for i in [0, 1, COUNT / 2, COUNT - 1] {
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&i.to_le_bytes());
        let (_, expected) = private.encapsulation_key().encapsulate_deterministic(&seed);
        assert_eq!(&results[32 * i..][..32], expected.as_ref(), "operation {i}");
    }
}

#[test]
fn no_such_gpu() {
    let error = cuda::open(1000).unwrap_err();
    assert!(matches!(
        error,
        EngineError::Device { error: RuntimeError::UnknownDevice { index: 1000, .. }, .. }
    ));
}

#[test]
fn more_memory_than_the_card_has() {
    let device = cuda::open(0).unwrap();
    // The engine shortens chunks to the number of operations that kernels can count, so one slot
    // would fit.
    let options = DeviceOptions {
        chunk: 1 << 24,
        slots: 8,
        memory_limit: usize::MAX,
        ..DeviceOptions::default()
    };
    let engine = DeviceEngine::new(device, options).unwrap();
    let error = engine.prepare(<CtruPrime761>::PARAMETERS).unwrap_err();
    let out_of_memory = matches!(
        error,
        EngineError::Device {
            error: RuntimeError::OutOfMemory { .. } | RuntimeError::OutOfHostMemory { .. },
            ..
        }
    );
    assert!(out_of_memory, "{error}");
    // The device still works after the error.
    let expected = results::<CtruPrime761>(&CpuEngine::new().unwrap(), 5, Place::Host);
    assert!(results::<CtruPrime761>(&gpu(), 5, Place::Host) == expected);
}

#[test]
fn corrupt_kernels() {
    static CORRUPT: Module = Module::new("this is no PTX");
    let error = CudaDevice::open(0, &CORRUPT).unwrap_err();
    assert!(matches!(error, RuntimeError::Compilation { .. }), "{error}");
}
