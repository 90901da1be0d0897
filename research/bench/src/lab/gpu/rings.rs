//! Measures the products of the KEM's rings.

use ctru_gpu_runtime::Queue;
use ctru_gpu_runtime::cuda::CudaMemory;
use research_reductions::table::RINGS;

use super::{Laboratory, Launch};
use crate::error::Error;
use crate::gpu;
use crate::records::kind;

/// Number of products per launch.
const BATCH: usize = 1 << 16;

impl Laboratory<'_> {
    /// Measures the products of the KEM's rings by each kernel of [`RINGS`]: folding and
    /// multiplying arithmetic. Each product has its own key.
    pub(super) fn rings(&mut self) -> Result<(), Error> {
        for ring in RINGS.iter().filter(|ring| self.options.wants(ring.arithmetic, 0)) {
            let row = ring.n.next_multiple_of(8);
            let large = gpu::random(&self.queue, BATCH * row, |bits| bits as u16 % 4591)?;
            let small = gpu::random(&self.queue, BATCH * row, |bits| (bits % 5) as u8)?;
            let product = self.queue.allocate::<u16>(BATCH * row)?;
            let memory: [&CudaMemory; 3] = [&large, &small, &product];
            let run = || self.launch(&ring.kernel, &memory, BATCH);
            let statistics = gpu::time_in_a_row(&self.queue, run)?;
            let launch = Launch {
                kind: kind::RING_PRODUCT,
                method: ring.arithmetic,
                len: ring.n,
                batch: BATCH,
                threads: ring.kernel.shape().threads() as usize,
                bytes: 5 * ring.n * BATCH,
                ..Launch::ON_DEVICE
            };
            self.report(&launch, statistics)?;
        }
        Ok(())
    }
}
