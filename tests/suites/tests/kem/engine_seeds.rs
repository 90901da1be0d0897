//! Checks the vectors of derived seeds with the CPU engine on every backend and on the emulator.

use ctru_gpu_runtime::emulated::EmulatedDevice;
use ctru_kem::CtruPrimeSet;
use ctru_kem::engine::{CpuEngine, DeviceEngine, DeviceOptions};
use ctru_tests::backends::on_every_backend;
use ctru_tests::every_ctru_prime_set;

use crate::common::emulated;
use crate::seed_vectors::check;

fn seeds_of_engines<P: CtruPrimeSet>() {
    let cpu = CpuEngine::with_threads(1).unwrap();
    on_every_backend(|| check::<P, _>(&cpu));
    let options = DeviceOptions { chunk: 1, slots: 1, ..emulated() };
    check::<P, _>(&DeviceEngine::new(EmulatedDevice::new(), options).unwrap());
}

every_ctru_prime_set!(seeds_of_engines);
