//! Measures batches of long products in chunks, on one queue and on several.
//!
//! A chunk's arrays between its passes fit in the device's cache. On several queues, the passes of
//! different chunks can run at the same time. With [mixed] kernels, they do.
//!
//! [mixed]: research_reductions::cyclic::mixed

use ctru_gpu_kernels::descriptor::{Batch, Kernel};
use ctru_gpu_runtime::cuda::CudaQueue;
use ctru_gpu_runtime::{Device, Queue, RuntimeError};
use research_reductions::table::{MIXED, Mixed};

use super::products::{Arrays, ProductKernels, Step, Tables};
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
            let mixed = MIXED.iter().find(|mixed| mixed.is_for(product.method, product.modulus, n));
            for count in QUEUES {
                let others = &others[..count - 1];
                let launch = Launch { chunk: Some((chunk, count)), ..*product };
                let run =
                    || self.on_queues(others, &chunks, |queue, steps| launch_steps(queue, steps));
                let statistics = gpu::time_on_queues(&self.queue, others, run)?;
                self.report(&Launch { kind: kind::CYCLIC_CHUNKS, ..launch }, statistics)?;
                let Some(mixed) = mixed else { continue };
                let pairs = chunks.as_chunks().0;
                let run = || {
                    self.on_queues(others, pairs, |queue, pair| launch_mixed(queue, mixed, pair))
                };
                let statistics = gpu::time_on_queues(&self.queue, others, run)?;
                self.report(&Launch { kind: kind::CYCLIC_MIXED, ..launch }, statistics)?;
            }
        }
        Ok(())
    }

    /// Launches parts of a batch on the laboratory's queue and on others in turn.
    fn on_queues<T>(
        &self,
        others: &[CudaQueue],
        parts: &[T],
        launch: impl Fn(&CudaQueue, &T) -> Result<(), RuntimeError>,
    ) -> Result<(), RuntimeError> {
        let queues = [&self.queue].into_iter().chain(others).cycle();
        parts.iter().zip(queues).try_for_each(|(part, queue)| launch(queue, part))
    }
}

/// Launches the passes of a chunk.
fn launch_steps(queue: &CudaQueue, steps: &[Step<'_>]) -> Result<(), RuntimeError> {
    steps.iter().try_for_each(|step| {
        queue.launch(step.kernel, &step.memory, Batch::each(step.operations as u32))
    })
}

/// Launches the passes of two chunks. The rows of each are multiplied beside columns of the other.
fn launch_mixed(
    queue: &CudaQueue,
    mixed: &Mixed,
    chunks: &[Vec<Step<'_>>; 2],
) -> Result<(), RuntimeError> {
    let [[forward, rows, inverse], [next_forward, next_rows, next_inverse]] =
        chunks.each_ref().map(|steps| &steps[..])
    else {
        return Ok(());
    };
    let launch = |kernel: &Kernel, steps: &[&Step<'_>]| {
        let memory: Vec<_> = steps.iter().flat_map(|step| step.memory.iter().copied()).collect();
        let operations: usize = steps.iter().map(|step| step.operations).sum();
        queue.launch(kernel, &memory, Batch::each(operations as u32))
    };
    launch(forward.kernel, &[forward])?;
    launch(&mixed.forward_and_multiply, &[next_forward, rows])?;
    launch(&mixed.multiply_and_inverse, &[next_rows, inverse])?;
    launch(next_inverse.kernel, &[next_inverse])
}
