//! Compares the device engine on an interpreter of the committed PTX with the CPU engine.
#![cfg(feature = "interpreter")]
// A failure in a helper is a failed test.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use ctru_gpu_kernels::ptx::MODULE as PTX;
use ctru_gpu_kernels::table;
use ctru_gpu_runtime::batch::tuning::AS_LARGE;
use ctru_gpu_runtime::emulated::EmulatedDevice;
use ctru_gpu_runtime::{Device, Queue};
use ctru_kem::engine::device::{ResidentKeys, ResidentSeeds};
use ctru_kem::engine::{
    BatchEngine, Context, CpuEngine, DeviceEngine, DeviceOptions, EngineError, Expand, KeyRows,
    RuntimeError, Seeds,
};
use ctru_kem::{CtruPrime653, CtruPrimeSet, ParameterSet, Parameters};
use ctru_math::NtruPrimeRing;
use ctru_simt::ptx::Module;
use ctru_tests::every_ctru_prime_set;
use ctru_tests::vectors::Operations;
use ptx_check::run::{Error, Launch};
use ptx_check::syntax::{self, Instruction, parse};

const SEEDS: Expand<'_> = Expand {
    seed: b"master seed of the keys of tests",
    context: Context::literal(b"tests of the engine on PTX"),
    first: 5,
};

/// Ciphertexts, shared secrets, and what decapsulation makes of the ciphertexts after the last one
/// was changed.
type Sent = [Vec<u8>; 3];

/// Returns the results of encapsulations and decapsulations with these keys.
fn sent(
    engine: &dyn BatchEngine,
    parameters: Parameters,
    count: usize,
    [public, private]: [KeyRows<'_>; 2],
) -> Result<Sent, EngineError> {
    let mut ciphertexts = vec![0; count * parameters.sizes().ciphertext];
    let (mut secrets, mut decapsulated) = (vec![0; count * 32], vec![0; count * 32]);
    let seeds = Seeds::Expand(SEEDS);
    engine.encapsulate_rows(parameters, public, seeds, &mut ciphertexts, &mut secrets)?;
    *ciphertexts.last_mut().unwrap() ^= 0x80;
    engine.decapsulate_rows(parameters, private, &ciphertexts, &mut decapsulated)?;
    Ok([ciphertexts, secrets, decapsulated])
}

/// Public and private keys, and what is sent with unchecked ones.
type Results = ([Vec<u8>; 2], Sent);

/// Returns the results of this many operations of each kind.
fn results(
    engine: &dyn BatchEngine,
    parameters: Parameters,
    count: usize,
) -> Result<Results, EngineError> {
    let sizes = parameters.sizes();
    let mut public = vec![0; count * sizes.encapsulation_key];
    let mut private = vec![0; count * sizes.decapsulation_key];
    engine.generate_rows(parameters, Seeds::Expand(SEEDS), Some(&mut public), &mut private)?;
    let keys = [KeyRows::Unchecked(&public), KeyRows::Unchecked(&private)];
    let sent = sent(engine, parameters, count, keys)?;
    Ok(([public, private], sent))
}

/// Returns the engine for batches of `chunk` operations, with the kernels for small batches or for
/// large ones. The latter inverts by division steps.
fn engine(device: &EmulatedDevice, chunk: usize, as_large: bool) -> DeviceEngine<EmulatedDevice> {
    let tuning = as_large.then_some(&AS_LARGE);
    let options = DeviceOptions { chunk, slots: 1, tuning, ..DeviceOptions::default() };
    DeviceEngine::new(device.clone(), options).unwrap()
}

/// Compares batches whose seeds the device derives, by the kernels of small and of large batches,
/// with every kind of keys. Returns the kernels that ran.
fn compare_with_the_cpu(parameters: Parameters) -> BTreeSet<&'static str> {
    let sizes = parameters.sizes();
    let cpu = CpuEngine::with_threads(1).unwrap();
    let mut launched = BTreeSet::new();
    for (as_large, chunk, count) in [(false, 2, 3), (true, 2, 2)] {
        let device = EmulatedDevice::of_ptx(&PTX).unwrap();
        let engine = engine(&device, chunk, as_large);
        let (keys, expected) = results(&cpu, parameters, count).unwrap();
        let mut made = keys.each_ref().map(|rows| vec![0; rows.len()]);
        let [public, private] = &mut made;
        if as_large {
            let queue = device.queue().unwrap();
            let memory =
                [&*public, &*private].map(|rows| queue.allocate::<u8>(rows.len()).unwrap());
            let resident = engine.resident(parameters, &queue).unwrap();
            let seeds = ResidentSeeds::Expand(SEEDS);
            resident.generate(seeds, Some(&memory[0]), &memory[1]).unwrap();
            queue
                .scope(|scope| {
                    queue.download_to(scope, &memory[0], public)?;
                    queue.download_to(scope, &memory[1], private)
                })
                .unwrap();
        } else {
            let seeds = Seeds::Expand(SEEDS);
            engine.generate_rows(parameters, seeds, Some(public), private).unwrap();
        }
        assert!(made == keys);
        let [public, private] = &keys;
        for keys in [
            [KeyRows::Unchecked(public), KeyRows::Unchecked(private)],
            [KeyRows::Trusted(public), KeyRows::Trusted(private)],
        ] {
            assert!(sent(&engine, parameters, count, keys).unwrap() == expected);
        }
        let (public, _) = public.split_at(sizes.encapsulation_key);
        let (private, _) = private.split_at(sizes.decapsulation_key);
        let one = [KeyRows::Trusted(public), KeyRows::Trusted(private)];
        let expected = sent(&cpu, parameters, count, one).unwrap();
        let public = engine.load_encapsulation_rows(parameters, public).unwrap();
        let private = engine.load_decapsulation_rows(parameters, private).unwrap();
        for keys in [one, [KeyRows::Loaded(&public), KeyRows::Loaded(&private)]] {
            assert!(sent(&engine, parameters, count, keys).unwrap() == expected);
        }
        // With other data on the device, no batch takes loaded keys as rows.
        let queue = device.queue().unwrap();
        let resident = engine.resident(parameters, &queue).unwrap();
        let [ciphertexts, secrets] =
            [sizes.ciphertext, 32].map(|row| queue.allocate::<u8>(count * row).unwrap());
        let (keys, seeds) = (ResidentKeys::Loaded(&public), ResidentSeeds::Expand(SEEDS));
        resident.encapsulate(keys, seeds, &ciphertexts, &secrets).unwrap();
        let mut received = [vec![0; 32 * count], vec![0; 32 * count]];
        let [sent, decapsulated] = &mut received;
        queue.scope(|scope| queue.download_to(scope, &secrets, sent)).unwrap();
        resident.decapsulate(ResidentKeys::Loaded(&private), &ciphertexts, &secrets).unwrap();
        queue.scope(|scope| queue.download_to(scope, &secrets, decapsulated)).unwrap();
        assert!(received.iter().all(|secrets| *secrets == expected[1]));
        // Seeds that are given have kernels of their own, and so have few decapsulations.
        let mut outputs = [vec![0; sizes.ciphertext], vec![0; 32]];
        let [ciphertext, secret] = &mut outputs;
        let seeds = Seeds::Each(&[[7; 32]]);
        engine.encapsulate_rows(parameters, one[0], seeds, ciphertext, secret).unwrap();
        let [ciphertext, secret] = &outputs;
        for engine in [&cpu as &dyn BatchEngine, &engine] {
            let mut received = vec![0; 32];
            engine.decapsulate_rows(parameters, one[1], ciphertext, &mut received).unwrap();
            assert!(received == *secret);
        }
        launched.extend(device.launched());
    }
    launched
}

/// Checks vectors, half of them with the kernels for large batches. Returns the kernels that ran.
fn compare_with_vectors<P: CtruPrimeSet>() -> BTreeSet<&'static str> {
    let mut launched = BTreeSet::new();
    let (parameters, sizes) = (P::PARAMETERS, P::PARAMETERS.sizes());
    let records = &Operations::load(P::Ring::N, P::PARAMETERS.encoding().name())[..10];
    for (as_large, records) in [false, true].into_iter().zip(records.chunks(5)) {
        let all = |field: fn(&Operations) -> &[u8]| -> Vec<u8> {
            records.iter().flat_map(field).copied().collect()
        };
        let device = EmulatedDevice::of_ptx(&PTX).unwrap();
        let engine = engine(&device, 5, as_large);
        let seeds: Vec<[u8; 64]> = records.iter().map(Operations::seed).collect();
        let mut public = vec![0; 5 * sizes.encapsulation_key];
        let mut private = vec![0; 5 * sizes.decapsulation_key];
        let seeds = Seeds::Each(&seeds);
        engine.generate_rows(parameters, seeds, Some(&mut public), &mut private).unwrap();
        assert!(public == all(|record| &record.pk));
        assert!(private == all(|record| &record.sk));
        let seeds: Vec<[u8; 32]> = records.iter().map(|record| record.encaps_seed).collect();
        let (mut ciphertexts, mut secrets) = (vec![0; 5 * sizes.ciphertext], vec![0; 5 * 32]);
        let (keys, seeds) = (KeyRows::Unchecked(&public), Seeds::Each(&seeds));
        engine.encapsulate_rows(parameters, keys, seeds, &mut ciphertexts, &mut secrets).unwrap();
        assert!(ciphertexts == all(|record| &record.ct));
        assert!(secrets == all(|record| &record.ss));
        for (ciphertexts, expected) in
            [(ciphertexts, secrets), (all(|record| &record.bad_ct), all(|record| &record.bad_ss))]
        {
            let mut decapsulated = vec![0; 5 * 32];
            let keys = KeyRows::Unchecked(&private);
            engine.decapsulate_rows(parameters, keys, &ciphertexts, &mut decapsulated).unwrap();
            assert!(decapsulated == expected);
        }
        launched.extend(device.launched());
    }
    launched
}

/// Compares results with the CPU and with vectors, and makes sure that every kernel of the set ran.
fn every_kernel_is_right<P: CtruPrimeSet>() {
    let mut launched = compare_with_the_cpu(P::PARAMETERS);
    launched.extend(compare_with_vectors::<P>());
    let other = match P::PARAMETERS.encoding().name() {
        "packed13" => "mixed_radix",
        _ => "packed13",
    };
    let is_other = |name: &str| name.contains(other) || name.starts_with(NTRU_PRIME);
    assert_all(P::Ring::N, &launched, |name| !is_other(name));
}

every_ctru_prime_set!(every_kernel_is_right);

/// What the names of the kernels of Streamlined NTRU Prime begin with.
const NTRU_PRIME: &str = "ntruprime_";

/// Does the same for Streamlined NTRU Prime, which shares some kernels.
fn every_kernel_of_ntru_prime_is_right(degree: usize) {
    let name = format!("sntrup{degree}");
    let set = Parameters::ALL.iter().find(|parameters| parameters.to_string().starts_with(&name));
    let launched = compare_with_the_cpu(*set.unwrap());
    assert_all(degree, &launched, |name| name.starts_with(NTRU_PRIME));
}

macro_rules! every_ntru_prime_set {
    ($($test:ident $degree:literal)*) => {$(
        #[test]
        fn $test() {
            every_kernel_of_ntru_prime_is_right($degree);
        }
    )*};
}
every_ntru_prime_set! { sntrup653 653 sntrup761 761 sntrup1277 1277 }

/// Asserts that all kernels of a ring with such names were launched.
fn assert_all(degree: usize, launched: &BTreeSet<&str>, is_used: impl Fn(&str) -> bool) {
    let ending = format!("_{degree}");
    let of_ring = |name: &&str| name.ends_with(&ending) || !name.ends_with(char::is_numeric);
    let kernels = table::ALL.iter().flat_map(|kernels| kernels.each()).map(|kernel| kernel.name());
    let used: Vec<_> = kernels.filter(of_ring).filter(|name| is_used(name)).collect();
    assert!(used.len() >= 5);
    let missing: Vec<_> = used.iter().filter(|name| !launched.contains(*name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// The smallest set.
const SMALLEST: Parameters = <CtruPrime653>::PARAMETERS;

/// Runs four operations of each kind of the smallest set.
fn smallest(device: &EmulatedDevice) -> Result<Results, EngineError> {
    results(&engine(device, 4, false), SMALLEST, 4)
}

/// Does the same with this PTX.
fn smallest_of(text: String) -> Result<Results, EngineError> {
    let module = Box::leak(Box::new(Module::new(text.leak())));
    smallest(&EmulatedDevice::of_ptx(module)?)
}

/// Returns why the interpreter stopped.
fn stopped(error: &EngineError) -> Option<&Error> {
    match error {
        EngineError::Device { error: RuntimeError::Interpreter(error), .. } => Some(error),
        _ => None,
    }
}

/// Returns the PTX with only the kernels that the smallest set needs.
fn needed() -> String {
    let device = EmulatedDevice::of_ptx(&PTX).unwrap();
    smallest(&device).unwrap();
    let launched: BTreeSet<_> = device.launched().into_iter().collect();
    let is_needed = |piece: &&str| {
        let (_, kernel) = piece.split_once(".visible .entry ").unwrap();
        launched.contains(kernel.split('(').next().unwrap())
    };
    // Tables come before the first kernel.
    let (tables, kernels) = PTX.text().split_at(PTX.text().find(".visible .entry ").unwrap());
    let kernels: String = kernels.split_inclusive("\n}\n").filter(is_needed).collect();
    tables.to_owned() + &kernels
}

/// Returns whether the interpreter knows all instructions of a text.
fn is_understood(text: &str) -> bool {
    let Ok(module) = parse(text) else { return false };
    module.kernels().all(|kernel| {
        // The kernel is read before the arguments, which are missing, are looked at.
        matches!(Launch::new(&module, kernel.name).run(&mut [], &[]), Err(Error::Count { .. }))
    })
}

/// Changes one bit in each of twenty instructions. The interpreter refuses the text, or a thread
/// breaks a rule, or the results are wrong. (Not every change could show: decoding corrects errors,
/// so few ciphertexts tell that a distance is wrong.)
#[test]
fn a_changed_bit_is_noticed() {
    let expected = results(&CpuEngine::with_threads(1).unwrap(), SMALLEST, 4).unwrap();
    let text = needed();
    let module = parse(&text).unwrap();
    let code: Vec<_> = module.kernels().flat_map(|kernel| &kernel.code).collect();
    // What a text means: its registers and the parts of this instruction.
    let meaning = |module: &syntax::Module<'_>, index: usize| {
        let registers: Vec<_> = module.kernels().map(|kernel| &kernel.registers).collect();
        let code = module.kernels().flat_map(|kernel| &kernel.code).nth(index).unwrap();
        let Instruction { opcode, modifiers, operands, guard, .. } = code;
        format!("{registers:?} {opcode} {modifiers:?} {operands:?} {guard:?}")
    };
    let mut random = fastrand::Rng::with_seed(57);
    let (mut refused, mut broken, mut wrong, mut not_executed) = (0, 0, 0, 0);
    while refused + broken + wrong < 20 {
        let index = random.usize(..code.len());
        let instruction = code[index];
        let start = instruction.text.as_ptr() as usize - text.as_ptr() as usize;
        let at = start + random.usize(..instruction.text.len());
        let mut changed = text.as_bytes().to_vec();
        changed[at] ^= 1 << random.u8(..7);
        let changed = String::from_utf8(changed).unwrap();
        if !is_understood(&changed) {
            refused += 1;
            continue;
        }
        if meaning(&parse(&changed).unwrap(), index) == meaning(&module, index) {
            continue;
        }
        let to = changed[start..][..instruction.text.len()].to_owned();
        match smallest_of(changed) {
            Err(error) => {
                assert!(matches!(stopped(&error), Some(Error::Broken(_))), "{to}: {error}");
                broken += 1;
            }
            Ok(results) if results != expected => wrong += 1,
            // Either the instruction is not executed, or it does the same as before.
            Ok(_) => {
                let mut trap = text.clone();
                trap.replace_range(start..start + instruction.text.len(), "trap");
                assert!(smallest_of(trap).is_ok(), "{} became {to}", instruction.text);
                not_executed += 1;
            }
        }
    }
    println!(
        "{refused} refused, {broken} broke a rule, {wrong} wrong, {not_executed} not executed"
    );
}

/// Checks that the interpreter knows every instruction of every kernel, also of those that the
/// batches above do not launch.
#[test]
fn each_kernel_is_understood() {
    assert!(is_understood(PTX.text()));
    let kernels = parse(PTX.text()).unwrap().kernels().count();
    assert!(kernels > 100, "{kernels} kernels");
}
