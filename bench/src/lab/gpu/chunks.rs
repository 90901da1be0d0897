//! Measures batches of long products in chunks, on one queue and on several.
//!
//! A chunk's arrays between its passes fit in the device's cache. On several queues, the passes of
//! different chunks can run at the same time.

use ctru_gpu_kernels::descriptor::Batch;
use ctru_gpu_runtime::{Device, Queue, RuntimeError};

use super::products::{Arrays, ProductKernels, Tables};
use super::{Laboratory, Launch};
use crate::error::Error;
use crate::gpu;
use crate::records::kind;

/// Products of polynomials in all chunks together.
const BATCH: usize = 256;
/// Products of polynomials per launch.
const CHUNKS: [usize; 6] = [4, 8, 16, 32, 64, 128];
/// Numbers of queues.
const QUEUES: [usize; 3] = [1, 2, 4];

impl Laboratory<'_> {
    /// Measures batches in chunks with every number of queues.
    pub(super) fn chunks(
        &mut self,
        product: &Launch,
        kernels: &ProductKernels<'_>,
        tables: &Tables,
    ) -> Result<(), Error> {
        let n = product.len;
        let device = self.queue.device();
        let others = [device.queue()?, device.queue()?, device.queue()?];
        let coefficient = |bits| bits as u32 % product.modulus;
        for chunk in CHUNKS {
            let arrays = || -> Result<_, RuntimeError> {
                let operands = gpu::random(&self.queue, 2 * chunk * n, coefficient)?;
                Ok(Arrays { operands, ..Arrays::allocate(&self.queue, chunk * n)? })
            };
            let arrays = (0..BATCH / chunk).map(|_| arrays()).collect::<Result<Vec<_>, _>>()?;
            let chunks: Vec<_> =
                arrays.iter().map(|arrays| kernels.steps(tables, arrays, chunk, n)).collect();
            for count in QUEUES {
                let others = &others[..count - 1];
                let run = || {
                    others.iter().try_for_each(|queue| queue.follow(&self.queue))?;
                    let queues = [&self.queue].into_iter().chain(others).cycle();
                    for (steps, queue) in chunks.iter().zip(queues) {
                        for step in steps {
                            let batch = Batch::each(step.operations as u32);
                            queue.launch(step.kernel, &step.memory, batch)?;
                        }
                    }
                    others.iter().try_for_each(|queue| self.queue.follow(queue))
                };
                let statistics = gpu::time_in_a_row(&self.queue, run)?;
                let launch =
                    Launch { kind: kind::CYCLIC_CHUNKS, chunk: Some((chunk, count)), ..*product };
                self.report(&launch, statistics)?;
            }
        }
        Ok(())
    }
}
