//! Measures the engine: tables 6 and 7, figure 7, latencies, and its kernels without transfers.

use ctru_gpu_runtime::cuda::CudaDevice;
use ctru_kem::CtruPrimeSet;
use ctru_kem::engine::{DeviceEngine, DeviceOptions};
use ctru_measure::{
    CASES, HostMemory, KeyUse, Operation, Record, ResidentWorkload, Workload, sample,
};

use super::cost::{self, Work};
use super::counting::CountingDevice;
use super::session::Session;
use crate::error::Error;
use crate::power;
use crate::records::{figure, kind, watts};
use crate::sources;

/// The number of operations of figure 7 besides the paper's. A larger GPU needs more.
const STREAMED: usize = 16384;
/// The numbers of chunks of these operations.
const STREAM_COUNTS: [usize; 4] = [2, 4, 8, 16];

/// The sizes of the batches whose latencies are measured.
const LATENCY_BATCHES: [usize; 2] = [1, 32];

/// The number of operations whose work is counted.
const COUNTED: usize = 1 << 17;

/// Makes a record of batches on the engine.
fn new_record<P: CtruPrimeSet>(
    bench: &str,
    operation: Operation,
    keys: KeyUse,
    batch: usize,
) -> Record {
    Record {
        bench: bench.to_owned(),
        pk_encoding: P::PARAMETERS.encoding().name().to_owned(),
        op: operation.name().to_owned(),
        keys,
        batch,
        transfers: "pinned host memory".to_owned(),
        ..Record::default()
    }
}

/// Measures table 7, and power and memory of table 6.
pub(super) fn operations<P: CtruPrimeSet>(
    session: &mut Session<'_>,
    device: CudaDevice,
) -> Result<(), Error> {
    let batch = session.options.batch as usize;
    let engine = DeviceEngine::new(device, DeviceOptions::default())?;
    let held = engine.prepare(P::PARAMETERS)?;
    let (threads, device_bytes, pinned_bytes) = (held.slots, held.device_bytes, held.pinned_bytes);
    let workload = Workload::new(&engine, P::PARAMETERS, batch, HostMemory::Pinned)?;
    let budget = session.options.budget();
    for (operation, keys) in CASES {
        let record = Record { threads, ..new_record::<P>(kind::BATCH, operation, keys, batch) };
        if keys != KeyUse::Each {
            let statistics = workload.batch(operation, keys, budget, 1)?;
            session.time(statistics, batch as f64, record)?;
            continue;
        }
        let (statistics, readings) = workload.with_batch(operation, keys, |run| {
            let statistics = sample(budget, &mut *run)?;
            // The power is read during a separate run, because reading it takes time of the host.
            let (load, readings) =
                power::during(&[session.options.gpu], || sample(power::LEAST, run));
            load.map(|_| (statistics, readings))
        })?;
        session.time(statistics, batch as f64, record)?;
        let load = new_record::<P>(kind::LOAD, operation, keys, batch).with_figures([
            (figure::DEVICE_BYTES, device_bytes as f64),
            (figure::PINNED_BYTES, pinned_bytes as f64),
        ]);
        session.count(load.with_figures(watts(readings)))?;
    }
    Ok(())
}

/// Measures the latencies of small batches.
pub(super) fn latencies<P: CtruPrimeSet>(
    session: &mut Session<'_>,
    device: CudaDevice,
) -> Result<(), Error> {
    let engine = DeviceEngine::new(device, DeviceOptions::default())?;
    for batch in LATENCY_BATCHES {
        let workload = Workload::new(&engine, P::PARAMETERS, batch, HostMemory::Pinned)?;
        for (operation, keys) in CASES {
            let statistics = workload.batch(operation, keys, session.options.budget() / 2, 1)?;
            let record =
                Record { threads: 1, ..new_record::<P>(kind::BATCH, operation, keys, batch) };
            session.time(statistics, batch as f64, record)?;
        }
    }
    Ok(())
}

/// Measures figure 7: chunks with one slot for each, and the same chunks on one slot.
pub(super) fn streams<P: CtruPrimeSet>(
    session: &mut Session<'_>,
    device: CudaDevice,
) -> Result<(), Error> {
    let paper = &sources::paper().figure_7;
    for (operations, counts) in
        [(paper.operations, paper.streams.as_slice()), (STREAMED, &STREAM_COUNTS)]
    {
        for &count in counts {
            for (bench, slots) in [(kind::STREAMS, count), (kind::SEQUENTIAL, 1)] {
                chunks::<P>(session, device, bench, operations, count, slots)?;
            }
        }
    }
    Ok(())
}

/// Measures `operations` operations in `count` equal chunks on `slots` slots.
fn chunks<P: CtruPrimeSet>(
    session: &mut Session<'_>,
    device: CudaDevice,
    bench: &str,
    operations: usize,
    count: usize,
    slots: usize,
) -> Result<(), Error> {
    let chunk = operations / count;
    let options = DeviceOptions { chunk, slots, ..DeviceOptions::default() };
    let engine = DeviceEngine::new(device, options)?;
    let workload = Workload::new(&engine, P::PARAMETERS, operations, HostMemory::Pinned)?;
    for operation in Operation::ALL {
        let statistics =
            workload.batch(operation, KeyUse::Each, session.options.budget() / 2, 1)?;
        let record =
            Record { threads: slots, ..new_record::<P>(bench, operation, KeyUse::Each, chunk) };
        session.time(statistics, operations as f64, record)?;
    }
    Ok(())
}

/// Counts the work of operations, and measures them on data on the device.
pub(super) fn on_device<P: CtruPrimeSet>(
    session: &mut Session<'_>,
    device: CudaDevice,
) -> Result<(), Error> {
    let counted = CountingDevice::new(device);
    let options = DeviceOptions { slots: 1, ..DeviceOptions::default() };
    let engine = DeviceEngine::new(counted.clone(), options)?;
    let workload = Workload::new(&engine, P::PARAMETERS, COUNTED, HostMemory::Pinned)?;
    for (operation, keys) in CASES {
        let counts = workload.with_batch(operation, keys, |run| {
            counted.take();
            run()?;
            Ok(counted.take())
        })?;
        let per_operation = |amount: usize| amount as f64 / COUNTED as f64;
        let Work { permutations, byte_products } = cost::of_batch::<P::Ring>(&counts, COUNTED);
        let bytes: u64 = counts.launches.iter().map(|launch| launch.bytes).sum();
        let cost = new_record::<P>(kind::COST, operation, keys, COUNTED).with_figures([
            (figure::UPLOADED, per_operation(counts.uploaded)),
            (figure::DOWNLOADED, per_operation(counts.downloaded)),
            (figure::PERMUTATIONS, permutations),
            (figure::BYTE_PRODUCTS, byte_products),
            (figure::MEMORY_BYTES, per_operation(bytes as usize)),
        ]);
        session.count(cost)?;
    }
    drop(workload);
    drop(engine);
    let batch = session.options.batch as usize;
    let engine = DeviceEngine::new(device, DeviceOptions::default())?;
    let workload = ResidentWorkload::new(&engine, P::PARAMETERS, &device, batch)?;
    for (operation, keys) in CASES {
        let statistics = workload.batch(operation, keys, session.options.budget())?;
        let record = Record {
            transfers: "none".to_owned(),
            threads: 1,
            ..new_record::<P>(kind::ON_DEVICE, operation, keys, batch)
        };
        session.time(statistics, batch as f64, record)?;
    }
    Ok(())
}
