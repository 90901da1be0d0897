//! What the machine can do in the best case.

use std::time::Duration;

use ctru_gpu_kernels::descriptor::RingKernels;
use ctru_gpu_kernels::lab::compared;
use ctru_gpu_kernels::table;
use ctru_gpu_runtime::cuda::CudaDevice;
use ctru_gpu_runtime::{Device, Queue, RuntimeError};
use ctru_math::Ring;

use super::cost::{self, Work};
use super::kernels::Devices;
use super::session::Session;
use crate::budget::sample;
use crate::error::Error;
use crate::paper::line::{CEILING, unit};
use crate::record::{Record, Statistics};
use crate::{kernels, timing};

/// Bytes of a copy.
const BYTES: usize = 256 << 20;
const BUDGET: Duration = Duration::from_millis(300);

/// Transfers and memory.
pub(super) fn of_machine(session: &mut Session<'_>, device: &CudaDevice) -> Result<(), Error> {
    let (upward, downward) = (device.queue()?, device.queue()?);
    let from = upward.pinned::<u8>(BYTES)?;
    let mut to = downward.pinned::<u8>(BYTES)?;
    let (received, sent) = (upward.allocate::<u8>(BYTES)?, downward.allocate::<u8>(BYTES)?);
    downward.wipe(&sent)?;

    let up = || upward.upload(&from, 0..BYTES, &received, 0);
    let mut down = || downward.download(&sent, 0..BYTES, &mut to, 0);
    let to_device = sample(BUDGET, || up().and_then(|()| upward.synchronise()))?;
    let from_device = sample(BUDGET, || down().and_then(|()| downward.synchronise()))?;
    let both = sample(BUDGET, || -> Result<(), RuntimeError> {
        up()?;
        down()?;
        upward.synchronise()?;
        downward.synchronise()
    })?;
    let wiped = timing::on_device(&upward, || upward.wipe(&received))?;
    for (op, statistics, bytes) in [
        (unit::BYTES_TO_DEVICE, to_device, BYTES),
        (unit::BYTES_FROM_DEVICE, from_device, BYTES),
        (unit::BYTES_BOTH_WAYS, both, 2 * BYTES),
        (unit::BYTES_OF_DEVICE, wiped, BYTES),
    ] {
        say(session, op, statistics, bytes as f64)?;
    }
    Ok(())
}

/// Kernels that hash, and the operations of their launches: enough to fill a GPU several times.
static HASHING: [&RingKernels; 4] = [
    &table::DERIVE_KEY_PAIR,
    &table::DERIVE_ENCAPSULATION,
    &table::DERIVE_DECAPSULATION,
    &table::REJECTION_SECRET,
];
const HASHES: u32 = 1 << 19;

/// Kernels that multiply on tensor cores.
static MULTIPLYING: [&RingKernels; 6] = [
    &table::POLYPHASE_SMALL,
    &compared::POLYPHASE_ROUNDED,
    &table::FUSED_ENCRYPT,
    &table::FUSED_DECRYPT,
    &table::MULTIPLY_NODES,
    &table::DIVIDE_NODES,
];
const PRODUCTS: u32 = 1 << 16;

/// Hashing and tensor cores, each by the fastest of the kernels that do it.
pub(super) fn of_ring<R: Ring>(session: &mut Session<'_>, devices: Devices) -> Result<(), Error> {
    let permutations = |work: Work| work.permutations;
    let byte_products = |work: Work| work.byte_products;
    fastest::<R>(session, devices, unit::PERMUTATIONS, &HASHING, HASHES, permutations)?;
    fastest::<R>(session, devices, unit::BYTE_PRODUCTS, &MULTIPLYING, PRODUCTS, byte_products)
}

/// Writes the best rate of launches of `count` operations down.
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
        Ok((kernels::time(&queue, kernel, count)?, done))
    };
    let measured: Result<Vec<_>, RuntimeError> = candidates.iter().map(measure).collect();
    let rate = |(statistics, done): &(Statistics, f64)| done / statistics.median;
    match measured?.into_iter().max_by(|a, b| rate(a).total_cmp(&rate(b))) {
        Some((statistics, done)) => say(session, op, statistics, done),
        None => Ok(()),
    }
}

fn say(
    session: &mut Session<'_>,
    op: &str,
    statistics: Statistics,
    amount: f64,
) -> Result<(), Error> {
    let record = Record {
        bench: CEILING.to_owned(),
        op: op.to_owned(),
        batch: 1,
        transfers: "none".to_owned(),
        threads: 1,
        ..Record::default()
    };
    session.time(statistics, amount, record)
}
