//! Compares batches of rows with batches of keys, and checks that the first bad row is named.

use ctru_gpu_runtime::emulated::EmulatedDevice;
use ctru_kem::engine::{
    BatchEngine, Context, CpuEngine, DeviceEngine, DeviceOptions, Engine, EngineError, Expand,
    KeyRows, Keys, Seeds,
};
use ctru_kem::{
    Ciphertext, CtruPrime653, CtruPrime761, CtruPrime1277, CtruPrimeSet, DecapsulationKey,
    EncapsulationKey, InvalidDecapsulationKey, InvalidEncapsulationKey, MixedRadix, Packed13,
    ParameterSet, SHARED_SECRET_BYTES, SharedSecret,
};
use ctru_math::NtruPrimeRing;
use ctru_tests::hashes::sha3_256;
use ctru_tests::{every_ctru_prime_set, every_set};

use crate::common::emulated_as;

every_set!(gives_what_keys_give);
every_ctru_prime_set!(names_the_first_bad_row);

const SEEDS: Expand<'_> =
    Expand { seed: &[0x33; 32], context: Context::literal(b"rows"), first: u32::MAX as u64 - 9 };

fn cpu() -> CpuEngine {
    CpuEngine::with_threads(2).unwrap()
}

/// Values of `as_large`: the host checks the keys of small batches, and the device those of large
/// ones.
const CHECKS: [bool; 2] = [false, true];

fn emulator(as_large: bool) -> DeviceEngine<EmulatedDevice> {
    let options = DeviceOptions { chunk: 2, slots: 2, ..emulated_as(as_large) };
    DeviceEngine::new(EmulatedDevice::new(), options).unwrap()
}

/// Returns the bytes of values, one after the other.
fn flat<T: AsRef<[u8]>>(values: &[T]) -> Vec<u8> {
    values.iter().flat_map(|value| value.as_ref()).copied().collect()
}

/// The rows of a batch: encapsulation keys, decapsulation keys, ciphertexts and shared secrets.
struct Rows([Vec<u8>; 4]);

/// Computes a batch with the types of keys. If `one`, all operations use the first pair of keys.
fn of_keys<P: ParameterSet>(count: usize, one: bool) -> Rows {
    let engine = CpuEngine::new().unwrap();
    let mut public = vec![EncapsulationKey::<P>::placeholder(); count];
    let mut private = vec![DecapsulationKey::<P>::placeholder(); count];
    engine.generate(Seeds::Expand(SEEDS), &mut public, &mut private).unwrap();
    let mut ciphertexts = vec![Ciphertext::<P>::default(); count];
    let mut secrets = vec![SharedSecret::default(); count];
    let keys = if one { Keys::One(&public[0]) } else { Keys::Each(&public) };
    engine.encapsulate(keys, Seeds::Expand(SEEDS), &mut ciphertexts, &mut secrets).unwrap();
    Rows([flat(&public), flat(&private), flat(&ciphertexts), flat(&secrets)])
}

/// Compares the batches of `engine` with those of [`of_keys`].
fn compare<P: ParameterSet>(engine: &dyn BatchEngine, count: usize, one: bool) {
    let Rows(expected) = of_keys::<P>(count, one);
    let Rows([mut public, mut private, mut ciphertexts, mut secrets]) =
        Rows(expected.each_ref().map(|rows| vec![0xaa; rows.len()]));
    engine
        .generate_rows(P::PARAMETERS, Seeds::Expand(SEEDS), Some(&mut public), &mut private)
        .unwrap();
    assert!(public == expected[0] && private == expected[1], "{engine:?}, {count} keys");
    let (public, private) = match one {
        true => (&public[..P::ENCAPSULATION_KEY_BYTES], &private[..P::DECAPSULATION_KEY_BYTES]),
        false => (&public[..], &private[..]),
    };
    let seeds = Seeds::Expand(SEEDS);
    engine
        .encapsulate_rows(
            P::PARAMETERS,
            KeyRows::Unchecked(public),
            seeds,
            &mut ciphertexts,
            &mut secrets,
        )
        .unwrap();
    assert!(ciphertexts == expected[2] && secrets == expected[3], "{engine:?}, {count} rows");
    secrets.fill(0xaa);
    engine
        .decapsulate_rows(P::PARAMETERS, KeyRows::Unchecked(private), &ciphertexts, &mut secrets)
        .unwrap();
    assert!(secrets == expected[3], "{engine:?}, {count} rows");
}

fn gives_what_keys_give<P: ParameterSet>() {
    for count in [0, 1, 2, 7, 8, 9, 17, 131] {
        compare::<P>(&cpu(), count, false);
        if count > 0 {
            compare::<P>(&cpu(), count, true);
        }
    }
}

#[test]
fn devices_give_what_keys_give() {
    for (count, one) in [(0, false), (1, false), (5, false), (3, true)] {
        for as_large in CHECKS {
            compare::<CtruPrime653>(&emulator(as_large), count, one);
        }
    }
}

/// Puts bad rows into good batches, and checks the error.
fn names_the_first_bad_row<P: CtruPrimeSet>() {
    const COUNT: usize = 40;
    let engine = cpu();
    let Rows([public, private, mut ciphertexts, mut secrets]) = of_keys::<P>(COUNT, false);
    for rows in [&[0][..], &[COUNT - 1], &[7, 8, 30], &[16, 3]] {
        let first = *rows.iter().min().unwrap();
        let mut bad = public.clone();
        for (i, row) in rows.iter().enumerate() {
            let fill = if i == 0 { 0 } else { 0xff };
            bad[row * P::ENCAPSULATION_KEY_BYTES..][..P::ENCAPSULATION_KEY_BYTES].fill(fill);
        }
        let row = &bad[first * P::ENCAPSULATION_KEY_BYTES..][..P::ENCAPSULATION_KEY_BYTES];
        let error = EncapsulationKey::<P>::from_bytes(row).unwrap_err();
        let expected = Err(EngineError::EncapsulationKey { row: first, error });
        let seeds = Seeds::Expand(SEEDS);
        secrets.fill(0xaa);
        assert_eq!(
            engine.encapsulate_rows(
                P::PARAMETERS,
                KeyRows::Unchecked(&bad),
                seeds,
                &mut ciphertexts,
                &mut secrets
            ),
            expected
        );
        assert!(secrets.iter().all(|&byte| byte == 0));

        let mut bad = private.clone();
        for row in rows {
            bad[row * P::DECAPSULATION_KEY_BYTES] = 0xff;
        }
        let error = InvalidDecapsulationKey::SecretPolynomial;
        let expected = Err(EngineError::DecapsulationKey { row: first, error });
        secrets.fill(0xaa);
        assert_eq!(
            engine.decapsulate_rows(
                P::PARAMETERS,
                KeyRows::Unchecked(&bad),
                &ciphertexts,
                &mut secrets
            ),
            expected
        );
        assert!(secrets.iter().all(|&byte| byte == 0));
    }
}

/// A bad row leaves the ciphertexts of its group of eight operations alone, and wipes all secrets.
#[test]
fn a_bad_row_writes_no_results_of_its_own() {
    let Rows([mut public, _, ciphertexts, _]) = of_keys::<CtruPrime761>(1, false);
    public.fill(0);
    let (mut written, mut secrets) = (vec![0xaa; ciphertexts.len()], [0xaa; SHARED_SECRET_BYTES]);
    let error = InvalidEncapsulationKey::Zero;
    let emulator = emulator(false);
    for engine in [&cpu() as &dyn BatchEngine, &emulator] {
        let result = engine.encapsulate_rows(
            <CtruPrime761>::PARAMETERS,
            KeyRows::Unchecked(&public),
            Seeds::Expand(SEEDS),
            &mut written,
            &mut secrets,
        );
        assert_eq!(result, Err(EngineError::EncapsulationKey { row: 0, error }));
        assert!(written.iter().all(|&byte| byte == 0xaa));
        assert_eq!(secrets, [0; SHARED_SECRET_BYTES]);
        secrets.fill(0xaa);
    }
}

#[test]
fn devices_name_the_first_bad_row() {
    const ROWS: usize = 5;
    type Set = CtruPrime653<MixedRadix>;
    let Rows([public, private, mut ciphertexts, mut secrets]) = of_keys::<Set>(ROWS, false);
    for (as_large, first) in CHECKS.into_iter().flat_map(|as_large| [(as_large, 1), (as_large, 4)])
    {
        let engine = emulator(as_large);
        let mut bad = public.clone();
        bad[first * Set::ENCAPSULATION_KEY_BYTES..].fill(0);
        let error = InvalidEncapsulationKey::Zero;
        secrets.fill(0xaa);
        let result = engine.encapsulate_rows(
            Set::PARAMETERS,
            KeyRows::Unchecked(&bad),
            Seeds::Expand(SEEDS),
            &mut ciphertexts,
            &mut secrets,
        );
        assert_eq!(result, Err(EngineError::EncapsulationKey { row: first, error }));
        assert!(secrets.iter().all(|&byte| byte == 0));
        secrets.fill(0xaa);
        let mut bad = private.clone();
        bad[first * Set::DECAPSULATION_KEY_BYTES] = 0xff;
        bad[(ROWS - 1) * Set::DECAPSULATION_KEY_BYTES] = 0xff;
        let error = InvalidDecapsulationKey::SecretPolynomial;
        let result = engine.decapsulate_rows(
            Set::PARAMETERS,
            KeyRows::Unchecked(&bad),
            &ciphertexts,
            &mut secrets,
        );
        assert_eq!(result, Err(EngineError::DecapsulationKey { row: first, error }));
        assert!(secrets.iter().all(|&byte| byte == 0));
    }
}

/// Lengths that do not fit together are errors, and nothing is written.
#[test]
fn wrong_lengths_are_refused() {
    let Rows([public, private, ciphertexts, secrets]) = of_keys::<CtruPrime653>(3, false);
    let emulator = emulator(false);
    for engine in [&cpu() as &dyn BatchEngine, &emulator] {
        let seeds = Seeds::Expand(SEEDS);
        let (mut out, mut secrets_out) = (ciphertexts.clone(), secrets.clone());
        let result = engine.encapsulate_rows(
            <CtruPrime653>::PARAMETERS,
            KeyRows::Unchecked(&public[1..]),
            seeds,
            &mut out,
            &mut secrets_out,
        );
        let (slice, actual) = ("keys", public.len() - 1);
        assert_eq!(result, Err(EngineError::Rows { slice, row_bytes: 994, actual }));
        let result = engine.encapsulate_rows(
            <CtruPrime653>::PARAMETERS,
            KeyRows::Unchecked(&public[2 * 994..]),
            seeds,
            &mut out[898..],
            &mut secrets_out,
        );
        let length = |slice, actual| Err(EngineError::Length { slice, expected: 3, actual });
        assert_eq!(result, length("ciphertexts", 2));
        let result = engine.encapsulate_rows(
            <CtruPrime653>::PARAMETERS,
            KeyRows::Unchecked(&public[994..]),
            seeds,
            &mut out,
            &mut secrets_out,
        );
        assert_eq!(result, length("keys", 2));
        let result = engine.decapsulate_rows(
            <CtruPrime653>::PARAMETERS,
            KeyRows::Unchecked(&private[1353..]),
            &ciphertexts,
            &mut secrets_out,
        );
        assert_eq!(result, length("keys", 2));
        let result = engine.decapsulate_rows(
            <CtruPrime653>::PARAMETERS,
            KeyRows::Unchecked(&private),
            &ciphertexts[1..],
            &mut secrets_out,
        );
        let (slice, actual) = ("ciphertexts", ciphertexts.len() - 1);
        assert_eq!(result, Err(EngineError::Rows { slice, row_bytes: 898, actual }));
        let (mut public_out, mut private_out) = (public.clone(), private.clone());
        let result = engine.generate_rows(
            <CtruPrime653>::PARAMETERS,
            seeds_of_keys(),
            Some(&mut public_out),
            &mut private_out[1353..],
        );
        assert_eq!(result, length("decapsulation keys", 2));
        let last = Expand { first: u64::MAX - 1, ..SEEDS };
        let result = engine.encapsulate_rows(
            <CtruPrime653>::PARAMETERS,
            KeyRows::Unchecked(&public),
            Seeds::Expand(last),
            &mut out,
            &mut secrets_out,
        );
        let error = EngineError::RowOverflow { first: u64::MAX - 1, count: 3 };
        assert_eq!(result, Err(error));
        assert!(out == ciphertexts && secrets_out == secrets);
        assert!(public_out == public && private_out == private);
    }
}

fn seeds_of_keys() -> Seeds<'static, 64> {
    Seeds::Expand(SEEDS)
}

/// Compares hashes of batches with `batches.jsonl`. Bindings to other languages compare their
/// batches with the same hashes.
#[test]
fn hashes_are_those_of_the_file() {
    #[derive(serde::Deserialize)]
    struct Record {
        n: usize,
        pk_encoding: String,
        master: String,
        context: String,
        first: u64,
        count: usize,
        sha3_256: String,
    }
    fn check<P: CtruPrimeSet>(record: &Record) {
        let name = (P::Ring::N, P::PARAMETERS.encoding().name());
        if name != (record.n, &record.pk_encoding) {
            return;
        }
        let master = const_hex::decode_to_array(&record.master).unwrap();
        let context = Context::new(record.context.as_bytes()).unwrap();
        let seeds = Expand { seed: &master, context, first: record.first };
        let count = record.count;
        let mut public = vec![0; count * P::ENCAPSULATION_KEY_BYTES];
        let mut private = vec![0; count * P::DECAPSULATION_KEY_BYTES];
        let mut ciphertexts = vec![0; count * P::CIPHERTEXT_BYTES];
        let mut secrets = vec![0; count * SHARED_SECRET_BYTES];
        let engine = cpu();
        engine
            .generate_rows(P::PARAMETERS, Seeds::Expand(seeds), Some(&mut public), &mut private)
            .unwrap();
        engine
            .encapsulate_rows(
                P::PARAMETERS,
                KeyRows::Unchecked(&public),
                Seeds::Expand(seeds),
                &mut ciphertexts,
                &mut secrets,
            )
            .unwrap();
        let hash = sha3_256(&[public, private, ciphertexts, secrets].concat());
        assert_eq!(const_hex::encode(hash), record.sha3_256, "{name:?}");
    }
    let mut lines = 0;
    for line in include_str!("batches.jsonl").lines() {
        let record = serde_json::from_str(line).unwrap();
        check::<CtruPrime653<MixedRadix>>(&record);
        check::<CtruPrime653<Packed13>>(&record);
        check::<CtruPrime761<MixedRadix>>(&record);
        check::<CtruPrime761<Packed13>>(&record);
        check::<CtruPrime1277<MixedRadix>>(&record);
        check::<CtruPrime1277<Packed13>>(&record);
        lines += 1;
    }
    assert_eq!(lines, 6);
}
