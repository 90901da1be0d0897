//! Checks known-answer vectors with the device engine on the emulator.
//!
//! The tests of `ctru-cli` check all vectors with the key types and with the CPU engine on every
//! backend.

use ctru_gpu_runtime::emulated::EmulatedDevice;
use ctru_kem::engine::{DeviceEngine, DeviceOptions, Engine, Keys, Seeds};
use ctru_kem::{
    Ciphertext, CtruPrime653, CtruPrime761, CtruPrime1277, CtruPrimeSet, DecapsulationKey,
    EncapsulationKey, Packed13, SharedSecret,
};
use ctru_math::NtruPrimeRing;
use ctru_tests::vectors::Operations;

use crate::common::emulated;

/// Checks the first record of a parameter set's file, with keys that are copied with each batch and
/// with loaded keys.
fn check_first_record<P: CtruPrimeSet>() {
    let name = format!("{} {}", P::Ring::N, P::PARAMETERS.encoding().name());
    let record = &Operations::load(P::Ring::N, P::PARAMETERS.encoding().name())[0];

    let options = DeviceOptions { chunk: 2, slots: 1, ..emulated() };
    let engine = DeviceEngine::new(EmulatedDevice::new(), options).unwrap();
    let mut public = [EncapsulationKey::<P>::placeholder()];
    let mut private = [DecapsulationKey::<P>::placeholder()];
    engine.generate(Seeds::Each(&[record.seed()]), &mut public, &mut private).unwrap();
    assert_eq!(*public[0].as_ref(), record.pk, "{name}");
    assert_eq!(*private[0].as_ref(), record.sk, "{name}");

    let loaded_public = engine.load_encapsulation_keys(&public).unwrap();
    let loaded_private = engine.load_decapsulation_keys(&private).unwrap();
    let ciphertexts = [&record.ct, &record.bad_ct].map(|ct| Ciphertext::from_bytes(ct).unwrap());
    let expected = [record.ss, record.bad_ss];
    for loaded in [false, true] {
        let keys = if loaded { Keys::Loaded(&loaded_public) } else { Keys::Each(&public) };
        let (mut ciphertext, mut secret) = ([Ciphertext::default()], [SharedSecret::default()]);
        let seed = [record.encaps_seed];
        engine.encapsulate(keys, Seeds::Each(&seed), &mut ciphertext, &mut secret).unwrap();
        assert_eq!(ciphertext[0], ciphertexts[0], "{name}");
        assert_eq!(secret[0].as_bytes()[..], expected[0], "{name}");
        for (ciphertext, expected) in ciphertexts.iter().zip(&expected) {
            let keys = if loaded { Keys::Loaded(&loaded_private) } else { Keys::Each(&private) };
            engine.decapsulate(keys, std::slice::from_ref(ciphertext), &mut secret).unwrap();
            assert_eq!(secret[0].as_bytes()[..], expected[..], "{name}");
        }
    }
}

/// Checks only one record per file, because the emulator is slow.
#[test]
fn on_the_emulator() {
    check_first_record::<CtruPrime653>();
    check_first_record::<CtruPrime653<Packed13>>();
    check_first_record::<CtruPrime761>();
    check_first_record::<CtruPrime761<Packed13>>();
    check_first_record::<CtruPrime1277>();
    check_first_record::<CtruPrime1277<Packed13>>();
}
