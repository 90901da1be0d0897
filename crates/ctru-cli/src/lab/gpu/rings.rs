//! The KEM's own products.

use ctru_gpu_kernels::lab::table::RINGS;
use ctru_gpu_runtime::cuda::CudaMemory;
use ctru_gpu_runtime::{Queue, RuntimeError};

use super::{Laboratory, failed};
use crate::error::Error;
use crate::lab::Measurement;
use crate::record::Statistics;
use crate::timing;

/// Products of the KEM's rings in a launch.
const RING_BATCH: usize = 1 << 16;

impl Laboratory<'_> {
    /// Measures the KEM's products, one key for each.
    pub(super) fn rings(&mut self) -> Result<(), Error> {
        for ring in RINGS {
            let (len, threads) = (ring.n, ring.kernel.shape().threads() as usize);
            let measure = || -> Result<Statistics, RuntimeError> {
                let row = len.next_multiple_of(8);
                let large =
                    timing::random(&self.queue, RING_BATCH * row, |bits| bits as u16 % 4591)?;
                let small = timing::random(&self.queue, RING_BATCH * row, |bits| (bits % 5) as u8)?;
                let product = self.queue.allocate::<u16>(RING_BATCH * row)?;
                let memory: [&CudaMemory; 3] = [&large, &small, &product];
                timing::on_device(&self.queue, || self.launch(&ring.kernel, &memory, RING_BATCH))
            };
            let statistics = measure().map_err(failed)?;
            self.say(Measurement {
                bench: "ntt".to_owned(),
                step: "ring product".to_owned(),
                method: ring.arithmetic.to_owned(),
                len,
                batch: RING_BATCH,
                threads,
                clock: "device".to_owned(),
                bytes: (5 * len * RING_BATCH) as u64,
                ..Measurement::now(statistics)
            })?;
        }
        Ok(())
    }
}
