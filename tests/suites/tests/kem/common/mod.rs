//! The encodings of keys by the codecs of `ctru-math`, which the tests compare with those of keys,
//! and the options of engines on the emulator.

use ctru_gpu_runtime::batch::tuning::{AS_LARGE, BY_STEPS, Tuning};
use ctru_kem::CtruPrimeSet;
use ctru_kem::engine::DeviceOptions;
use ctru_math::Poly;
use ctru_math::codec::{bits, mixed_radix};
use ctru_tests::vectors::array;

/// Returns the encoding of a polynomial `h`, by the codecs of `ctru-math`.
pub(crate) fn encode<P: CtruPrimeSet>(h: &Poly<P::Ring>) -> Vec<u8> {
    match P::PARAMETERS.encoding().name() {
        "mixed-radix" => mixed_radix::encode(h).as_ref().to_vec(),
        "packed13" => bits::pack13(h).as_ref().to_vec(),
        other => panic!("unknown encoding {other}"),
    }
}

/// Returns the polynomial that bytes encode, by the codecs of `ctru-math`.
pub(crate) fn decode<P: CtruPrimeSet>(bytes: &[u8]) -> Poly<P::Ring> {
    match P::PARAMETERS.encoding().name() {
        "mixed-radix" => mixed_radix::decode_canonical(&array(bytes)).unwrap(),
        "packed13" => bits::unpack13(&array(bytes)).unwrap(),
        other => panic!("unknown encoding {other}"),
    }
}

/// Returns options for engines on the emulator, which takes seconds for an inversion by powers.
pub(crate) fn emulated() -> DeviceOptions {
    DeviceOptions { tuning: Some(&BY_STEPS), ..DeviceOptions::default() }
}

/// Returns the same options, or those with which all batches take the kernels of large ones.
pub(crate) fn emulated_as(large: bool) -> DeviceOptions {
    DeviceOptions { tuning: Some(if large { &AS_LARGE } else { &BY_STEPS }), ..emulated() }
}

/// Returns the same options, with a table of their own.
pub(crate) fn emulated_by(tuning: Tuning) -> DeviceOptions {
    DeviceOptions { tuning: Some(Box::leak(Box::new(tuning))), ..emulated() }
}
