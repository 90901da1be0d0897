//! Measures the ceilings: the best rates of the machine.

use std::time::Duration;

use ctru_gpu_kernels::descriptor::RingKernels;
use ctru_gpu_kernels::table;
use ctru_gpu_runtime::cuda::CudaDevice;
use ctru_gpu_runtime::{Device, Queue, RuntimeError};
use ctru_math::Ring;
use ctru_measure::{Statistics, sample};
use research_paper::table as compared;

use super::cost::{self, Work};
use super::kernels::{Devices, on_device};
use super::session::Session;
use crate::error::Error;
use crate::gpu;
use crate::link::Link;
use crate::paper::tables::unit;
use crate::records::kind;

/// Bytes per copy.
const BYTES: usize = 256 << 20;
/// The time for each measurement of transfers.
const BUDGET: Duration = Duration::from_millis(300);

/// Measures the ceilings of transfers and memory.
pub(super) fn of_machine(session: &mut Session<'_>, device: &CudaDevice) -> Result<(), Error> {
    let mut link = Link::new(device, BYTES, BYTES)?;
    let to_device = sample(BUDGET, || link.send().and_then(|()| link.synchronise()))?;
    let from_device = sample(BUDGET, || link.fetch().and_then(|()| link.synchronise()))?;
    let both = sample(BUDGET, || -> Result<(), RuntimeError> {
        link.send()?;
        link.fetch()?;
        link.synchronise()
    })?;
    let queue = device.queue()?;
    let memory = queue.allocate::<u8>(BYTES)?;
    let wiped = gpu::time_in_a_row(&queue, || queue.wipe(&memory))?;
    for (op, statistics, bytes) in [
        (unit::BYTES_TO_DEVICE, to_device, BYTES),
        (unit::BYTES_FROM_DEVICE, from_device, BYTES),
        (unit::BYTES_BOTH_WAYS, both, 2 * BYTES),
        (unit::BYTES_OF_DEVICE, wiped, BYTES),
    ] {
        report(session, op, statistics, bytes as f64)?;
    }
    Ok(())
}

/// The kernels that hash.
static HASHING: [&RingKernels; 4] = [
    &table::DERIVE_KEY_PAIR,
    &table::DERIVE_ENCAPSULATION,
    &table::DERIVE_DECAPSULATION,
    &table::REJECTION_SECRET,
];
/// Hashing operations per launch, enough to fill a GPU several times.
const HASHES: u32 = 1 << 19;

/// The kernels that multiply on tensor cores.
static MULTIPLYING: [&RingKernels; 6] = [
    &table::POLYPHASE_COINS,
    &compared::POLYPHASE_ROUNDED,
    &table::FUSED_ENCRYPT,
    &table::FUSED_DECRYPT,
    &table::MULTIPLY_NODES,
    &table::DIVIDE_NODES,
];
/// Products per launch.
const PRODUCTS: u32 = 1 << 16;

/// Measures the ceilings of hashing and tensor cores, each with the fastest kernel.
pub(super) fn of_ring<R: Ring>(session: &mut Session<'_>, devices: Devices) -> Result<(), Error> {
    let permutations = |work: Work| work.permutations;
    let byte_products = |work: Work| work.byte_products;
    fastest::<R>(session, devices, unit::PERMUTATIONS, &HASHING, HASHES, permutations)?;
    fastest::<R>(session, devices, unit::BYTE_PRODUCTS, &MULTIPLYING, PRODUCTS, byte_products)
}

/// Measures launches of `count` operations of each candidate, and reports the best rate.
fn fastest<R: Ring>(
    session: &mut Session<'_>,
    devices: Devices,
    op: &str,
    candidates: &[&RingKernels],
    count: u32,
    amount: fn(Work) -> f64,
) -> Result<(), Error> {
    let measure = |kernels: &&RingKernels| {
        let kernel = kernels.of::<R>();
        let done = f64::from(count) * cost::of::<R>(kernel.name()).map_or(0.0, amount);
        let queue = devices.with(kernel).queue()?;
        Ok((gpu::time_kernel(&queue, kernel, count)?, done))
    };
    let measured: Result<Vec<_>, RuntimeError> = candidates.iter().map(measure).collect();
    let rate = |(statistics, done): &(Statistics, f64)| done / statistics.median;
    match measured?.into_iter().max_by(|a, b| rate(a).total_cmp(&rate(b))) {
        Some((statistics, done)) => report(session, op, statistics, done),
        None => Ok(()),
    }
}

/// Reports the rate of `amount` units per repetition.
fn report(
    session: &mut Session<'_>,
    op: &str,
    statistics: Statistics,
    amount: f64,
) -> Result<(), Error> {
    session.time(statistics, amount, on_device(kind::CEILING, op, 1))
}
