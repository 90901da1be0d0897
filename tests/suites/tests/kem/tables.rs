//! Tests of the engine with tables in which small batches are large, because the emulator takes
//! long for large batches.

use ctru_gpu_runtime::batch::tuning::{BY_STEPS, Tuning};
use ctru_gpu_runtime::emulated::EmulatedDevice;
use ctru_kem::engine::{
    BatchEngine, Context, CpuEngine, DeviceEngine, DeviceOptions, Expand, KeyRows, PinnedBytes,
    Seeds,
};
use ctru_kem::{CtruPrime653, ParameterSet, Parameters};

use crate::common::emulated;

const PARAMETERS: Parameters = <CtruPrime653>::PARAMETERS;
const SEEDS: Seeds<'_, 32> = Seeds::Expand(EXPAND);
const EXPAND: Expand<'_> = Expand { seed: &[7; 32], context: Context::literal(b"sizes"), first: 3 };

fn engine(chunk: usize, tuning: &'static Tuning) -> DeviceEngine<EmulatedDevice> {
    let tuning = Some(tuning);
    let options = DeviceOptions { chunk, slots: 2, tuning, ..emulated() };
    DeviceEngine::new(EmulatedDevice::new(), options).unwrap()
}

/// Returns a table with changes.
fn table(change: impl FnOnce(&mut Tuning)) -> &'static Tuning {
    let mut tuning = BY_STEPS.clone();
    change(&mut tuning);
    Box::leak(Box::new(tuning))
}

/// How a batch has its keys.
#[derive(Copy, Clone, Debug, PartialEq)]
enum Given {
    One,
    Each,
    Unchecked,
    Loaded,
}

/// Returns the results of all operations. Every second ciphertext is rejected.
fn results(engine: &dyn BatchEngine, count: usize, given: Given, pins: bool) -> [Vec<u8>; 5] {
    let sizes = PARAMETERS.sizes();
    let zeros = |row: usize| match pins {
        true => engine.pin(vec![0; count * row]).unwrap(),
        false => PinnedBytes::new(vec![0; count * row]),
    };
    let (mut public, mut private) =
        (zeros(sizes.encapsulation_key), zeros(sizes.decapsulation_key));
    let seeds = Seeds::Expand(EXPAND);
    engine.generate_rows(PARAMETERS, seeds, Some(&mut public), &mut private).unwrap();
    let mut alone = zeros(sizes.decapsulation_key);
    engine.generate_rows(PARAMETERS, seeds, None, &mut alone).unwrap();
    assert!(alone[..] == private[..]);

    let loaded = [
        engine.load_encapsulation_rows(PARAMETERS, &public).unwrap(),
        engine.load_decapsulation_rows(PARAMETERS, &private).unwrap(),
    ];
    let keys = |which: usize| {
        let (rows, row) =
            [(&public, sizes.encapsulation_key), (&private, sizes.decapsulation_key)][which];
        match given {
            Given::One => KeyRows::Trusted(&rows[..row]),
            Given::Each => KeyRows::Trusted(rows),
            Given::Unchecked => KeyRows::Unchecked(rows),
            Given::Loaded => KeyRows::Loaded(&loaded[which]),
        }
    };
    let (mut sent, mut secrets) = (zeros(sizes.ciphertext), vec![0; 32 * count]);
    engine.encapsulate_rows(PARAMETERS, keys(0), SEEDS, &mut sent, &mut secrets).unwrap();
    for ciphertext in sent.chunks_exact_mut(sizes.ciphertext).step_by(2) {
        ciphertext[0] ^= 1;
    }
    let mut received = vec![0; 32 * count];
    engine.decapsulate_rows(PARAMETERS, keys(1), &sent, &mut received).unwrap();
    for (i, (received, secret)) in received.chunks(32).zip(secrets.chunks(32)).enumerate() {
        assert_eq!(received == secret, i % 2 == 1);
    }
    [public.to_vec(), private.to_vec(), sent.to_vec(), secrets, received]
}

/// Compares batches of `count` operations, in chunks of two, with the CPU.
fn check(tuning: &'static Tuning, count: usize, given: Given, pins: bool) {
    let (device, cpu) = (engine(2, tuning), CpuEngine::with_threads(1).unwrap());
    let expected = results(&cpu, count, given, false);
    assert!(results(&device, count, given, pins) == expected, "{count} {given:?} {pins}");
}

/// Hashes with two threads, and with one. A single loaded key is taken as a row, others as they are
/// decoded.
#[test]
fn batches_of_all_sizes_equal_the_cpu() {
    let tuning = table(|tuning| (tuning.paired_batch, tuning.loaded_rows) = (2, 1));
    (1..=3).for_each(|count| check(tuning, count, Given::Loaded, false));
}

/// The host and the device copy all rows.
#[test]
fn copied_batches_equal_the_cpu() {
    let copies = table(|tuning| {
        (tuning.zero_copy, tuning.zero_copy_whole, tuning.readers) = (0, 0, 0);
        tuning.coalesced_bytes = 0;
        tuning.streamed_inputs = (0, usize::MAX);
        tuning.temporal_results = 2;
        // All rows of two, the last ones of three, and a share of more.
        (tuning.sent.all, tuning.sent.last) = (2, 3);
    });
    check(copies, 2, Given::Each, false);
    check(copies, 3, Given::One, true);
    check(copies, 4, Given::Each, true);
}

/// Separate kernels do each step, and the device checks keys.
#[test]
fn large_batches_equal_the_cpu() {
    let large = table(|tuning| {
        (tuning.whole_batch, tuning.whole_chunk) = (0, 0);
        (tuning.zero_copy, tuning.readers) = (0, 0);
        (tuning.matrix_receiving, tuning.matrix_sending) = (2, 2);
    });
    check(large, 3, Given::One, true);
    check(large, 3, Given::Unchecked, false);
}
