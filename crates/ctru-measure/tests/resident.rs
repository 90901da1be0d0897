//! Batches whose data stays in device memory, on the emulator.
#![cfg(feature = "gpu")]
// Tests may unwrap: a test must fail if its input cannot be built.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use ctru_gpu_runtime::batch::tuning::BY_STEPS;
use ctru_gpu_runtime::emulated::EmulatedDevice;
use ctru_kem::engine::{DeviceEngine, DeviceOptions};
use ctru_kem::{CtruPrime653, ParameterSet};
use ctru_measure::{CASES, ResidentWorkload};

#[test]
fn every_operation_with_every_kind_of_keys() {
    let device = EmulatedDevice::new();
    let options =
        DeviceOptions { chunk: 2, slots: 2, tuning: Some(&BY_STEPS), ..DeviceOptions::default() };
    let engine = DeviceEngine::new(device.clone(), options).unwrap();
    let workload = ResidentWorkload::new(&engine, <CtruPrime653>::PARAMETERS, &device, 2).unwrap();
    for (operation, keys) in CASES {
        let statistics = workload.batch(operation, keys, Duration::from_nanos(1)).unwrap();
        assert!(statistics.median > 0.0 && statistics.samples >= 5, "{operation:?}, {keys:?}");
    }
}
