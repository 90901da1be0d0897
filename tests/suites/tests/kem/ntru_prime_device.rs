//! The device engine on the emulator with the sets of Streamlined NTRU Prime: records, keys that
//! are refused, and sets without kernels.

use ctru_gpu_runtime::Device;
use ctru_gpu_runtime::emulated::EmulatedDevice;
use ctru_kem::engine::device::ResidentKeys;
use ctru_kem::engine::device::plan::{self, Operation, Place};
use ctru_kem::engine::{
    BatchEngine, CpuEngine, DeviceEngine, DeviceOptions, EngineError, KeyRows, Seeds,
};
use ctru_kem::{
    CtruPrime653, InvalidDecapsulationKey, ParameterSet, Sntrup653, Sntrup761, Sntrup857,
    Sntrup1277,
};
use ctru_tests::vectors::{NtruPrimeOperations, array};

use crate::common::{emulated, emulated_as};
use crate::resident::checks::Rows;

/// The number of records of a batch.
const COUNT: usize = 3;

fn engine(as_large: bool) -> (EmulatedDevice, DeviceEngine<EmulatedDevice>) {
    let device = EmulatedDevice::new();
    let options = DeviceOptions { chunk: 2, slots: 2, ..emulated_as(as_large) };
    (device.clone(), DeviceEngine::new(device, options).unwrap())
}

fn records<P: ParameterSet>() -> Vec<NtruPrimeOperations> {
    let mut records = NtruPrimeOperations::load(P::NAME);
    records.truncate(COUNT);
    records
}

fn concat(records: &[NtruPrimeOperations], row: fn(&NtruPrimeOperations) -> &Vec<u8>) -> Vec<u8> {
    records.iter().flat_map(|record| row(record).clone()).collect()
}

/// Compares all operations with records, with unchecked keys, right and wrong ciphertexts.
fn check_records<P: ParameterSet>() {
    let records = records::<P>();
    let of = |row| concat(&records, row);
    let (public, private) = (of(|record| &record.pk), of(|record| &record.sk));
    let seeds: Vec<_> = records.iter().map(|record| record.encaps_seed).collect();
    let (_, engine) = engine(true);
    let parameters = P::PARAMETERS;
    assert!(engine.supports(parameters));
    let key_seeds: Vec<_> =
        records.iter().map(|record| array(&[record.keygen_seed, [0; 32]].concat())).collect();
    let mut made = (vec![0; public.len()], vec![0; private.len()]);
    let key_seeds = Seeds::Each(&key_seeds);
    engine.generate_rows(parameters, key_seeds, Some(&mut made.0), &mut made.1).unwrap();
    assert!(made == (public.clone(), private.clone()));
    let mut sent = vec![0; COUNT * P::CIPHERTEXT_BYTES];
    let mut secrets = vec![0; COUNT * 32];
    let keys = KeyRows::Unchecked(&public);
    engine
        .encapsulate_rows(parameters, keys, Seeds::Each(&seeds), &mut sent, &mut secrets)
        .unwrap();
    assert!(sent == of(|record| &record.ct));
    assert_eq!(secrets, of(|record| &record.ss));
    for (texts, expected) in [
        (sent, of(|record| &record.ss)),
        (of(|record| &record.bad_ct), of(|record| &record.bad_ss)),
    ] {
        let keys = KeyRows::Unchecked(&private);
        engine.decapsulate_rows(parameters, keys, &texts, &mut secrets).unwrap();
        assert_eq!(secrets, expected);
    }
}

#[test]
fn records_653() {
    check_records::<Sntrup653>();
}

#[test]
fn records_761() {
    check_records::<Sntrup761>();
}

#[test]
#[ignore = "takes long; CI runs it"]
fn records_1277() {
    check_records::<Sntrup1277>();
}

/// Private keys that are not keys are refused with the error of the CPU, whoever checks them.
#[test]
fn altered_private_keys_are_refused() {
    type P = Sntrup653;
    let records = records::<P>();
    let (private, texts) =
        (concat(&records, |record| &record.sk), concat(&records, |record| &record.ct));
    let packed = P::PARAMETERS.degree().div_ceil(4);
    let row = P::DECAPSULATION_KEY_BYTES;
    let cpu = CpuEngine::with_threads(1).unwrap();
    let hash = InvalidDecapsulationKey::Hash;
    let polynomial = InvalidDecapsulationKey::SecretPolynomial;
    for (byte, value, error) in [
        (0, 3, Some(polynomial)),
        (packed - 1, 0x80, Some(polynomial)),
        (packed + 1, 0xc0, Some(polynomial)),
        (2 * packed - 1, 4, Some(polynomial)),
        (2 * packed, 0xff, Some(hash)),
        (row - 1, 0xff, Some(hash)),
        // The secret of implicit rejection is any string.
        (row - 33, 0xff, None),
    ] {
        // The last row.
        let mut altered = private.clone();
        altered[2 * row + byte] |= value;
        assert_ne!(altered, private);
        let expected = match error {
            Some(error) => Err(EngineError::DecapsulationKey { row: 2, error }),
            None => Ok(()),
        };
        let mut secrets = [1; 32 * COUNT];
        let mut decapsulate = |engine: &dyn BatchEngine| {
            let keys = KeyRows::Unchecked(&altered);
            let result = engine.decapsulate_rows(P::PARAMETERS, keys, &texts, &mut secrets);
            assert_eq!(secrets == [0; 32 * COUNT], result.is_err());
            result
        };
        assert_eq!(decapsulate(&cpu), expected);
        for as_large in [false, true] {
            let (device, engine) = engine(as_large);
            assert_eq!(decapsulate(&engine), expected);
            let loaded = engine.load_decapsulation_rows(P::PARAMETERS, &altered);
            assert_eq!(loaded.map(drop), expected);
            let queue = device.queue().unwrap();
            let rows = Rows::of(device.queue().unwrap(), &altered);
            let resident = engine.resident(P::PARAMETERS, &queue).unwrap();
            assert_eq!(resident.check_decapsulation_keys(&rows.slice()), expected);
        }
    }
}

/// Every string of the right length is a public key.
#[test]
fn every_string_is_a_public_key() {
    type P = Sntrup653;
    let (device, engine) = engine(true);
    let queue = || device.queue().unwrap();
    let after = queue();
    let resident = engine.resident(P::PARAMETERS, &after).unwrap();
    let keys = vec![0xff; COUNT * P::ENCAPSULATION_KEY_BYTES];
    let rows = Rows::of(queue(), &keys);
    resident.check_encapsulation_keys(&rows.slice()).unwrap();
    let loaded = resident.load_encapsulation_keys(&rows.slice()).unwrap();
    let mut expected = (vec![0; COUNT * P::CIPHERTEXT_BYTES], vec![0; COUNT * 32]);
    let seeds = [[9; 32]; COUNT];
    CpuEngine::with_threads(1)
        .unwrap()
        .encapsulate_rows(
            P::PARAMETERS,
            KeyRows::Unchecked(&keys),
            Seeds::Each(&seeds),
            &mut expected.0,
            &mut expected.1,
        )
        .unwrap();
    for keys in [KeyRows::Unchecked(&keys), KeyRows::Loaded(&loaded)] {
        let mut made = (vec![0; COUNT * P::CIPHERTEXT_BYTES], vec![0; COUNT * 32]);
        engine
            .encapsulate_rows(P::PARAMETERS, keys, Seeds::Each(&seeds), &mut made.0, &mut made.1)
            .unwrap();
        assert!(made == expected);
    }
    // Keys of another scheme or kind are refused.
    let ctru_prime = engine.resident(<CtruPrime653>::PARAMETERS, &after).unwrap();
    let (texts, secrets) = (Rows::new(queue(), 0, P::CIPHERTEXT_BYTES), Rows::new(queue(), 0, 32));
    let refused =
        resident.decapsulate(ResidentKeys::Loaded(&loaded), &texts.slice(), &secrets.slice());
    assert!(matches!(refused, Err(EngineError::Length { .. } | EngineError::ForeignKeys)));
    let texts = Rows::new(queue(), 0, COUNT * <CtruPrime653>::CIPHERTEXT_BYTES);
    let secrets = Rows::new(queue(), 0, COUNT * 32);
    let keys = ResidentKeys::Loaded(&loaded);
    let refused = ctru_prime.decapsulate(keys, &texts.slice(), &secrets.slice());
    assert_eq!(refused, Err(EngineError::ForeignKeys));
}

/// Wrong lengths are errors, and nothing is written.
#[test]
fn wrong_lengths_are_refused() {
    type P = Sntrup761;
    let (_, engine) = engine(false);
    let (mut texts, mut secrets) = (vec![7; 2 * P::CIPHERTEXT_BYTES], [7; 64]);
    let public = vec![0; 2 * P::ENCAPSULATION_KEY_BYTES - 1];
    let keys = KeyRows::Trusted(&public);
    let seeds = Seeds::Each(&[[0; 32]; 2]);
    let refused = engine.encapsulate_rows(P::PARAMETERS, keys, seeds, &mut texts, &mut secrets);
    assert!(matches!(refused, Err(EngineError::Rows { slice: "keys", .. })));
    let private = vec![0; P::DECAPSULATION_KEY_BYTES];
    let keys = KeyRows::Trusted(&private);
    let refused = engine.decapsulate_rows(P::PARAMETERS, keys, &texts[1..], &mut secrets);
    assert!(matches!(refused, Err(EngineError::Rows { slice: "ciphertexts", .. })));
    assert!(texts.iter().all(|&byte| byte == 7) && secrets == [7; 64]);
}

/// Keys whose first `g` has no inverse modulo 3 are those of the CPU, among others.
fn drawn_again<P: ParameterSet>(byte: u8) {
    let seeds = [byte - 1, byte, byte + 1, byte].map(|byte| [byte; 64]);
    let made = |engine: &dyn BatchEngine| {
        let mut keys = vec![0; seeds.len() * P::DECAPSULATION_KEY_BYTES];
        engine.generate_rows(P::PARAMETERS, Seeds::Each(&seeds), None, &mut keys).unwrap();
        keys
    };
    assert!(made(&engine(true).1) == made(&CpuEngine::with_threads(1).unwrap()));
}

/// The tests of the CPU count the draws of these seeds.
#[test]
fn keys_that_are_drawn_again() {
    drawn_again::<Sntrup653>(42);
    drawn_again::<Sntrup1277>(31);
}

/// There are no kernels for three rings.
#[test]
fn sets_without_kernels_are_refused() {
    let (_, engine) = engine(false);
    let parameters = Sntrup857::PARAMETERS;
    let none = Err(EngineError::NoKernels { parameters });
    assert!(!engine.supports(parameters));
    assert_eq!(engine.prepare(parameters).map(drop), none);
    let mut keys = vec![0; Sntrup857::DECAPSULATION_KEY_BYTES];
    let made = engine.generate_rows(parameters, Seeds::Each(&[[1; 64]]), None, &mut keys);
    assert_eq!(made, none);
    let batch = (Operation::KeyPairs, 1000, plan::Keys::Each, Place::Pinned);
    assert_eq!(plan::of_batch(parameters, &emulated(), ("", 1), batch).map(drop), none);
}
