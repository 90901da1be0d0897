//! Compares the device engine on an interpreter of the committed PTX with the CPU engine.
#![cfg(feature = "interpreter")]
// A failure in a helper is a failed test.
#![allow(clippy::unwrap_used)]

use ctru_gpu_runtime::emulated::EmulatedDevice;
use ctru_kem::ParameterSet;
use ctru_kem::engine::{
    BatchEngine, Context, CpuEngine, DeviceEngine, DeviceOptions, Expand, KeyRows, Seeds,
};
use ctru_tests::every_set;
use ptx_check::run::{Error, Launch};
use ptx_check::syntax::parse;

const SEEDS: Expand<'_> = Expand {
    seed: b"master seed of the keys of tests",
    context: Context::literal(b"tests of the engine on PTX"),
    first: 5,
};

/// Returns the results of three operations of each kind: keys, ciphertexts, shared secrets, and
/// what decapsulation makes of them after the last ciphertext was changed.
fn results<P: ParameterSet>(engine: &dyn BatchEngine) -> [Vec<u8>; 5] {
    let (parameters, sizes) = (P::PARAMETERS, P::PARAMETERS.sizes());
    let count = 3;
    let mut public = vec![0; count * sizes.encapsulation_key];
    let mut private = vec![0; count * sizes.decapsulation_key];
    engine
        .generate_rows(parameters, Seeds::Expand(SEEDS), Some(&mut public), &mut private)
        .unwrap();
    let mut ciphertexts = vec![0; count * sizes.ciphertext];
    let (mut secrets, mut decapsulated) = (vec![0; count * 32], vec![0; count * 32]);
    let keys = KeyRows::Unchecked(&public);
    engine
        .encapsulate_rows(parameters, keys, Seeds::Expand(SEEDS), &mut ciphertexts, &mut secrets)
        .unwrap();
    *ciphertexts.last_mut().unwrap() ^= 0x80;
    let keys = KeyRows::Unchecked(&private);
    engine.decapsulate_rows(parameters, keys, &ciphertexts, &mut decapsulated).unwrap();
    assert_eq!(decapsulated[..64], secrets[..64]);
    assert_ne!(decapsulated[64..], secrets[64..]);
    [public, private, ciphertexts, secrets, decapsulated]
}

fn equals_the_cpu<P: ParameterSet>() {
    let expected = results::<P>(&CpuEngine::with_threads(1).unwrap());
    for as_large in [false, true] {
        let device = EmulatedDevice::of_ptx(&ctru_gpu_kernels::ptx::MODULE).unwrap();
        let options = DeviceOptions { chunk: 2, slots: 1, as_large, ..DeviceOptions::default() };
        assert!(results::<P>(&DeviceEngine::new(device, options).unwrap()) == expected);
    }
}

every_set!(equals_the_cpu);

/// Checks that the interpreter knows every instruction of every kernel, also of those that the
/// batches above do not launch.
#[test]
fn each_kernel_is_understood() {
    let module = parse(ctru_gpu_kernels::ptx::MODULE.text()).unwrap();
    let mut kernels = 0;
    for kernel in module.kernels() {
        // The kernel is read before the arguments, which are missing, are looked at.
        let refused = Launch::new(&module, kernel.name).run(&mut [], &[]).unwrap_err();
        assert!(matches!(refused, Error::Count { .. }), "{refused}");
        kernels += 1;
    }
    assert!(kernels > 100, "{kernels} kernels");
}
