//! Measures the engine: tables 6 and 7, figure 7, latencies, and its kernels without transfers.

use ctru_gpu_runtime::cuda::CudaDevice;
use ctru_kem::engine::{DeviceEngine, DeviceOptions, EngineError};
use ctru_kem::{ParameterSet, PublicKeyEncoding};
use ctru_measure::{HostMemory, KeyUse, Operation, Record, Statistics, Workload, sample};

use super::cost::{self, Work};
use super::counting::{CountingDevice, Counts};
use super::session::Session;
use crate::error::Error;
use crate::gpu::CASES;
use crate::power;
use crate::records::{figure, kind, watts};
use crate::sources;

/// The number of operations of figure 7 besides the paper's. A larger GPU needs more.
const STREAMED: usize = 16384;
/// The numbers of chunks of these operations.
const STREAM_COUNTS: [usize; 4] = [2, 4, 8, 16];

/// The sizes of the batches whose latencies are measured.
const LATENCY_BATCHES: [usize; 2] = [1, 32];

/// Number of operations per chunk in the measurements without transfers. It is large, so that the
/// time of a launch does not matter.
const ON_DEVICE_BATCH: usize = 1 << 17;
const ON_DEVICE_SAMPLES: usize = 15;

/// Makes a record of batches on the engine.
fn new_record<P: ParameterSet>(
    bench: &str,
    operation: Operation,
    keys: KeyUse,
    batch: usize,
) -> Record {
    Record {
        bench: bench.to_owned(),
        pk_encoding: P::Encoding::NAME.to_owned(),
        op: operation.name().to_owned(),
        keys,
        batch,
        transfers: "pinned host memory".to_owned(),
        ..Record::default()
    }
}

/// Measures table 7, and power and memory of table 6.
pub(super) fn operations<P: ParameterSet>(
    session: &mut Session<'_>,
    device: CudaDevice,
) -> Result<(), Error> {
    let batch = session.options.batch as usize;
    let engine = DeviceEngine::<P, _>::new(device, DeviceOptions::default())?;
    let (threads, device_bytes, pinned_bytes) =
        (engine.slots(), engine.device_bytes(), engine.pinned_bytes());
    let workload = Workload::new(&engine, batch, HostMemory::Pinned)?;
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
pub(super) fn latencies<P: ParameterSet>(
    session: &mut Session<'_>,
    device: CudaDevice,
) -> Result<(), Error> {
    let engine = DeviceEngine::<P, _>::new(device, DeviceOptions::default())?;
    for batch in LATENCY_BATCHES {
        let workload = Workload::new(&engine, batch, HostMemory::Pinned)?;
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
pub(super) fn streams<P: ParameterSet>(
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
fn chunks<P: ParameterSet>(
    session: &mut Session<'_>,
    device: CudaDevice,
    bench: &str,
    operations: usize,
    count: usize,
    slots: usize,
) -> Result<(), Error> {
    let chunk = operations / count;
    let options = DeviceOptions { chunk, slots, ..DeviceOptions::default() };
    let engine = DeviceEngine::<P, _>::new(device, options)?;
    let workload = Workload::new(&engine, operations, HostMemory::Pinned)?;
    for operation in Operation::ALL {
        let statistics =
            workload.batch(operation, KeyUse::Each, session.options.budget() / 2, 1)?;
        let record =
            Record { threads: slots, ..new_record::<P>(bench, operation, KeyUse::Each, chunk) };
        session.time(statistics, operations as f64, record)?;
    }
    Ok(())
}

/// Counts the work of operations, and measures their kernels on one queue without transfers.
pub(super) fn on_device<P: ParameterSet>(
    session: &mut Session<'_>,
    device: CudaDevice,
) -> Result<(), Error> {
    let batch = ON_DEVICE_BATCH;
    let device = CountingDevice::new(device);
    let options = DeviceOptions {
        chunk: batch,
        slots: 1,
        memory_limit: usize::MAX,
        ..DeviceOptions::default()
    };
    let engine = DeviceEngine::<P, _>::new(device.clone(), options)?;
    let workload = Workload::new(&engine, batch, HostMemory::Pinned)?;
    for (operation, keys) in CASES {
        let (counts, statistics) =
            workload.with_batch(operation, keys, |run| count(&device, run))?;
        let per_operation = |amount: usize| amount as f64 / batch as f64;
        let Work { permutations, byte_products } = cost::of_batch::<P::Ring>(&counts, batch);
        let bytes: u64 = counts.launches.iter().map(|launch| launch.bytes).sum();
        let cost = new_record::<P>(kind::COST, operation, keys, batch).with_figures([
            (figure::UPLOADED, per_operation(counts.uploaded)),
            (figure::DOWNLOADED, per_operation(counts.downloaded)),
            (figure::PERMUTATIONS, permutations),
            (figure::BYTE_PRODUCTS, byte_products),
            (figure::MEMORY_BYTES, per_operation(bytes as usize)),
        ]);
        session.count(cost)?;
        let record = Record {
            transfers: "none".to_owned(),
            threads: 1,
            ..new_record::<P>(kind::ON_DEVICE, operation, keys, batch)
        };
        session.time(statistics, batch as f64, record)?;
    }
    Ok(())
}

/// Counts the work of a run, and measures its kernels.
fn count(
    device: &CountingDevice<CudaDevice>,
    run: &mut dyn FnMut() -> Result<(), EngineError>,
) -> Result<(Counts, Statistics), EngineError> {
    // The first run is counted and copies all data to the device. The measured runs do not copy.
    device.take();
    run()?;
    let counts = device.take();
    device.leave_out_copies(true);
    let times: Result<Vec<f64>, EngineError> = (0..ON_DEVICE_SAMPLES)
        .map(|_| {
            run()?;
            Ok(device.take().kernels.as_nanos() as f64)
        })
        .collect();
    device.leave_out_copies(false);
    Ok((counts, Statistics::of(times?)))
}
