//! Tables 6 and 7, figure 7, latencies, and the engine's kernels without transfers.

use ctru_gpu_runtime::cuda::CudaDevice;
use ctru_kem::engine::{DeviceEngine, DeviceOptions, EngineError};
use ctru_kem::{ParameterSet, PublicKeyEncoding};

use super::cost::{self, Work};
use super::observed::{Observation, Observed};
use super::power;
use super::session::Session;
use crate::budget::sample;
use crate::error::Error;
use crate::fixture::Fixture;
use crate::paper::line::{BATCH, Cost, Line, Load, ON_DEVICE, SEQUENTIAL, STREAMS};
use crate::paper::tables::OPERATIONS;
use crate::record::{KeyUse, Operation, Record, Statistics};
use crate::set::Set;

/// Every operation with keys of every kind.
const CASES: [(Operation, KeyUse); 8] = [
    (Operation::Keygen, KeyUse::Each),
    (Operation::Keygen, KeyUse::Private),
    (Operation::Encaps, KeyUse::Each),
    (Operation::Encaps, KeyUse::One),
    (Operation::Encaps, KeyUse::Resident),
    (Operation::Decaps, KeyUse::Each),
    (Operation::Decaps, KeyUse::One),
    (Operation::Decaps, KeyUse::Resident),
];

/// The set of figure 7.
pub(super) const STREAMS_SET: Set = Set::N761;
/// Operations of figure 7, and how many chunks they are cut into.
const STREAMED: usize = 16384;
const STREAM_COUNTS: [usize; 4] = [2, 4, 8, 16];

/// Small batches.
const LATENCY_BATCHES: [usize; 2] = [1, 32];

/// Operations of a chunk without transfers: enough that the time of a launch is nothing.
const ON_DEVICE_BATCH: usize = 1 << 17;
const ON_DEVICE_SAMPLES: usize = 15;

fn record<P: ParameterSet>(
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

/// Table 7, and power and memory of table 6.
pub(super) fn operations<P: ParameterSet>(
    session: &mut Session<'_>,
    device: CudaDevice,
) -> Result<(), Error> {
    let batch = session.options.batch as usize;
    let engine = DeviceEngine::<P, _>::new(device, DeviceOptions::default())?;
    let (threads, device_bytes, pinned_bytes) =
        (engine.slots(), engine.device_bytes(), engine.pinned_bytes());
    let fixture = Fixture::new(engine, batch)?;
    let budget = session.options.budget();
    for (operation, keys) in CASES {
        let record = Record { threads, ..record::<P>(BATCH, operation, keys, batch) };
        if keys != KeyUse::Each {
            let statistics = fixture.batch(operation, keys, budget, 1)?;
            session.time(statistics, batch as f64, record)?;
            continue;
        }
        let (statistics, watts) = fixture.with(operation, keys, |run| {
            let statistics = sample(budget, &mut *run)?;
            // Apart, because asking for the power takes time of the host.
            let (load, watts) = power::during(session.options.gpu, || sample(power::LEAST, run));
            load.map(|_| (statistics, watts))
        })?;
        session.time(statistics, batch as f64, record)?;
        let (set, op) = (session.set.clone(), operation.name().to_owned());
        session.say(Line::Load(Load { set, op, device_bytes, pinned_bytes, watts }))?;
    }
    Ok(())
}

/// Small batches.
pub(super) fn latencies<P: ParameterSet>(
    session: &mut Session<'_>,
    device: CudaDevice,
) -> Result<(), Error> {
    for batch in LATENCY_BATCHES {
        let engine = DeviceEngine::<P, _>::new(device, DeviceOptions::default())?;
        let fixture = Fixture::new(engine, batch)?;
        for (operation, keys) in CASES {
            let statistics = fixture.batch(operation, keys, session.options.budget() / 2, 1)?;
            let record = Record { threads: 1, ..record::<P>(BATCH, operation, keys, batch) };
            session.time(statistics, batch as f64, record)?;
        }
    }
    Ok(())
}

/// Figure 7: chunks on as many slots, and the same chunks on one.
pub(super) fn streams<P: ParameterSet>(
    session: &mut Session<'_>,
    device: CudaDevice,
) -> Result<(), Error> {
    for count in STREAM_COUNTS {
        let chunk = STREAMED / count;
        for (bench, slots) in [(STREAMS, count), (SEQUENTIAL, 1)] {
            let options = DeviceOptions { chunk, slots, ..DeviceOptions::default() };
            let fixture = Fixture::new(DeviceEngine::<P, _>::new(device, options)?, STREAMED)?;
            for operation in OPERATIONS {
                let statistics =
                    fixture.batch(operation, KeyUse::Each, session.options.budget() / 2, 1)?;
                let record =
                    Record { threads: slots, ..record::<P>(bench, operation, KeyUse::Each, chunk) };
                session.time(statistics, STREAMED as f64, record)?;
            }
        }
    }
    Ok(())
}

/// What operations need, and the time of their kernels on one queue, on data that is on the device.
pub(super) fn on_device<P: ParameterSet>(
    session: &mut Session<'_>,
    device: CudaDevice,
) -> Result<(), Error> {
    let batch = ON_DEVICE_BATCH;
    let device = Observed::new(device);
    let options = DeviceOptions {
        chunk: batch,
        slots: 1,
        memory_limit: usize::MAX,
        ..DeviceOptions::default()
    };
    let fixture = Fixture::new(DeviceEngine::<P, _>::new(device.clone(), options)?, batch)?;
    for (operation, keys) in CASES {
        let (seen, statistics) = fixture.with(operation, keys, |run| observe(&device, run))?;
        let per_operation = |amount: usize| amount as f64 / batch as f64;
        let Work { permutations, byte_products } = cost::observed::<P::Ring>(&seen, batch);
        session.say(Line::Cost(Cost {
            set: session.set.clone(),
            op: operation.name().to_owned(),
            keys,
            batch,
            uploaded: per_operation(seen.uploaded),
            downloaded: per_operation(seen.downloaded),
            permutations,
            byte_products,
            memory_bytes: per_operation(
                seen.launches.iter().map(|launch| launch.bytes as usize).sum(),
            ),
        }))?;
        let record = Record {
            transfers: "none".to_owned(),
            threads: 1,
            ..record::<P>(ON_DEVICE, operation, keys, batch)
        };
        session.time(statistics, batch as f64, record)?;
    }
    Ok(())
}

/// What a run does, and the time of its kernels.
fn observe(
    device: &Observed<CudaDevice>,
    run: &mut dyn FnMut() -> Result<(), EngineError>,
) -> Result<(Observation, Statistics), EngineError> {
    // Everything is on the device after this.
    device.take();
    run()?;
    let seen = device.take();
    device.leave_out_copies(true);
    let times: Result<Vec<f64>, EngineError> = (0..ON_DEVICE_SAMPLES)
        .map(|_| {
            run()?;
            Ok(device.take().kernels.as_nanos() as f64)
        })
        .collect();
    device.leave_out_copies(false);
    Ok((seen, Statistics::of(times?)))
}
