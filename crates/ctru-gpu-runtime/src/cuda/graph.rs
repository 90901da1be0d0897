//! Launches that the driver prepares once and that one call issues.
#![allow(unsafe_code)]

use core::marker::PhantomData;
use core::{fmt, ptr};
use std::sync::Arc;

use ctru_gpu_kernels::descriptor::{Batch, Kernel};
use cust::sys::{CUgraph, CUgraphExec, CUgraphNode};

use super::driver;
use super::memory::{CudaMemory, Uses};
use super::queue::CudaQueue;
use super::stream::Stream;
use crate::error::RuntimeError;

/// A launch of a [`CudaGraph`]: the arguments of [`Queue::launch`](crate::Queue::launch).
pub type CudaLaunch<'a> = (&'a Kernel, &'a [&'a CudaMemory], Batch);

/// Launches that run one after the other in a queue each time that one call issues them. This takes
/// the host less time than single launches.
///
/// The graph borrows the memory on which its kernels work. So the host can read and write host
/// memory among it again when the graph is dropped.
pub struct CudaGraph<'a> {
    stream: Arc<Stream>,
    executable: CUgraphExec,
    /// The memory of the host on which the kernels work.
    host: Vec<Arc<Uses>>,
    memory: PhantomData<&'a CudaMemory>,
}

impl CudaQueue {
    /// Prepares launches on this queue. They do not run yet.
    ///
    /// # Errors
    /// Those of [`Queue::launch`](crate::Queue::launch) for each of the launches.
    pub fn graph<'a>(&self, launches: &[CudaLaunch<'a>]) -> Result<CudaGraph<'a>, RuntimeError> {
        let _current = self.0.device.enter()?;
        let mut graph = ptr::null_mut();
        // SAFETY: `graph` may be written, and a device is current.
        unsafe { driver::cuGraphCreate(&raw mut graph, 0) }?;
        let executable = self.instantiate(graph, launches);
        // SAFETY: nothing else refers to the graph. An executable graph does not need it.
        let _ = unsafe { driver::cuGraphDestroy(graph) };
        let memory = launches.iter().flat_map(|&(_, memory, _)| memory);
        let host = memory.filter_map(|memory| memory.host.clone()).collect();
        let stream = Arc::clone(&self.0);
        Ok(CudaGraph { stream, executable: executable?, host, memory: PhantomData })
    }

    /// Adds the launches to an empty graph, each after the one before it, and makes the graph
    /// executable.
    fn instantiate(
        &self,
        graph: CUgraph,
        launches: &[CudaLaunch<'_>],
    ) -> Result<CUgraphExec, RuntimeError> {
        let mut last: Option<CUgraphNode> = None;
        for &(kernel, memory, batch) in launches {
            self.describe(kernel, memory, batch, |launch| {
                let mut node = ptr::null_mut();
                let before = last.as_slice();
                // SAFETY: `node` may be written, and the node before it is one of this graph. As in
                // `CudaQueue::launch`, the function takes these arguments, which the driver copies
                // before it returns, and accesses only the arrays.
                unsafe {
                    driver::cuGraphAddKernelNode(
                        &raw mut node,
                        graph,
                        before.as_ptr(),
                        before.len(),
                        launch,
                    )
                }?;
                last = Some(node);
                Ok(())
            })?;
        }
        let (mut executable, mut failed) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: both results may be written, and there is no room for a log.
        unsafe {
            driver::cuGraphInstantiate_v2(
                &raw mut executable,
                graph,
                &raw mut failed,
                ptr::null_mut(),
                0,
            )
        }?;
        Ok(executable)
    }
}

impl CudaGraph<'_> {
    /// Issues the launches, in order, after all operations that were issued to the queue before.
    ///
    /// # Errors
    /// [`RuntimeError::Driver`] if the operation cannot be issued.
    pub fn launch(&self) -> Result<(), RuntimeError> {
        let _current = self.stream.device.enter()?;
        // SAFETY: the executable graph and the stream exist. The memory of the launches is borrowed
        // as long as `self` lives. Dropping memory of the device waits for the device, and memory
        // of the host waits for the operation that is counted below.
        let launched = unsafe { driver::cuGraphLaunch(self.executable, self.stream.raw) };
        Uses::record_all(&self.stream, self.host.iter());
        launched
    }
}

impl Drop for CudaGraph<'_> {
    fn drop(&mut self) {
        let Ok(current) = self.stream.device.enter() else { return };
        // If the driver refuses to wait, the graph may be running, so it is kept.
        let done = self.stream.synchronise_in(&current);
        if done.is_err_and(|error| driver::did_not_wait(&error)) {
            return;
        }
        // SAFETY: nothing else refers to the executable graph, and it is not running.
        let _ = unsafe { driver::cuGraphExecDestroy(self.executable) };
    }
}

impl fmt::Debug for CudaGraph<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CudaGraph({:?})", self.stream.device)
    }
}
