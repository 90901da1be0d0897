//! Launches as the driver takes them, alone or as a graph: several launches that the driver
//! prepares once and that one call issues.
#![allow(unsafe_code)]

use core::ffi::c_void;
use core::ptr;

use super::driver;
use super::sys::{
    CUDA_KERNEL_NODE_PARAMS, CUdeviceptr, CUfunction, CUgraph, CUgraphExec, CUgraphNode, CUstream,
};
use crate::error::RuntimeError;
use crate::queue::Order;

/// The largest number of graphs that a stream keeps, which take memory of the driver.
const MOST_GRAPHS: usize = 32;

/// A launch as the driver takes it. Its arguments are checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Described {
    pub(super) function: CUfunction,
    pub(super) grid: [u32; 3],
    pub(super) threads: u32,
    pub(super) shared_bytes: u32,
    pub(super) pointers: Vec<CUdeviceptr>,
    pub(super) numbers: [u32; 2],
    /// The scalars, each in the low bytes. The driver takes as many bytes as the kernel declares.
    pub(super) scalars: Vec<u64>,
}

// SAFETY: the function is the only field that is not `Send`. It belongs to a device, which stays
// open until the process ends, and the driver takes it from any thread.
unsafe impl Send for Described {}

impl Described {
    /// Calls `call` with the driver's form of the launch, which is valid during this call.
    pub(super) fn with<T>(&self, call: impl FnOnce(&CUDA_KERNEL_NODE_PARAMS) -> T) -> T {
        let pointers = self.pointers.iter().map(|pointer| ptr::from_ref(pointer).cast());
        let numbers = self.numbers.iter().map(|number| ptr::from_ref(number).cast());
        let scalars = self.scalars.iter().map(|scalar| ptr::from_ref(scalar).cast());
        // The driver only reads the arguments.
        let mut parameters: Vec<*mut c_void> =
            pointers.chain(numbers).chain(scalars).map(<*const c_void>::cast_mut).collect();
        call(&CUDA_KERNEL_NODE_PARAMS {
            func: self.function,
            gridDimX: self.grid[0],
            gridDimY: self.grid[1],
            gridDimZ: self.grid[2],
            blockDimX: self.threads,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: self.shared_bytes,
            kernelParams: parameters.as_mut_ptr(),
            extra: ptr::null_mut(),
        })
    }
}

/// A launch of a graph.
struct Node {
    raw: CUgraphNode,
    launch: Described,
    order: Order,
}

/// A graph and its executable form.
struct Graph {
    raw: CUgraph,
    executable: CUgraphExec,
    nodes: Vec<Node>,
}

// SAFETY: nothing else refers to these handles, and the driver takes them from any thread, one at a
// time.
unsafe impl Send for Graph {}

impl Graph {
    /// Prepares launches.
    fn new(launches: Vec<(Described, Order)>) -> Result<Self, RuntimeError> {
        let mut raw = ptr::null_mut();
        // SAFETY: `raw` may be written, and a device is current.
        unsafe { driver::cuGraphCreate(&raw mut raw, 0) }?;
        let mut graph = Self { raw, executable: ptr::null_mut(), nodes: Vec::new() };
        let (mut last, mut beside) = (None, Vec::new());
        for (launch, order) in launches {
            let mut before: Vec<CUgraphNode> = Vec::from_iter(last);
            if order == Order::Join {
                before.append(&mut beside);
            }
            let mut node = ptr::null_mut();
            // SAFETY: `node` may be written, and the nodes before it are of this graph. The driver
            // copies the arguments before it returns.
            launch.with(|launch| unsafe {
                let (before, count) = (before.as_ptr(), before.len());
                driver::cuGraphAddKernelNode(&raw mut node, graph.raw, before, count, launch)
            })?;
            match order {
                Order::Beside => beside.push(node),
                Order::Next | Order::Join => last = Some(node),
            }
            graph.nodes.push(Node { raw: node, launch, order });
        }
        let mut failed = ptr::null_mut();
        // SAFETY: both results may be written, and there is no room for a log.
        unsafe {
            driver::cuGraphInstantiate_v2(
                &raw mut graph.executable,
                graph.raw,
                &raw mut failed,
                ptr::null_mut(),
                0,
            )
        }?;
        Ok(graph)
    }

    /// Returns whether the graph has these kernels in this order.
    fn has_kernels(&self, launches: &[(Described, Order)]) -> bool {
        let is_same = |(node, (launch, order)): (&Node, &(Described, Order))| {
            node.launch.function == launch.function && node.order == *order
        };
        self.nodes.len() == launches.len() && self.nodes.iter().zip(launches).all(is_same)
    }

    /// Changes the arguments of the kernels to those of `launches`. After a failure, some of them
    /// have changed.
    fn update(&mut self, launches: Vec<(Described, Order)>) -> Result<(), RuntimeError> {
        for (node, (launch, _)) in self.nodes.iter_mut().zip(launches) {
            if node.launch == launch {
                continue;
            }
            // If the driver refuses, nothing is known of the node, so it is set again next time.
            node.launch.pointers.clear();
            // SAFETY: the node is one of the graph from which the executable one was made, and has
            // the same function. The driver copies the arguments before it returns. A run of the
            // graph that is under way keeps its arguments.
            launch.with(|launch| unsafe {
                driver::cuGraphExecKernelNodeSetParams(self.executable, node.raw, launch)
            })?;
            node.launch = launch;
        }
        Ok(())
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: nothing else refers to the graphs. If the executable one is running, the driver
        // frees it when it is done.
        unsafe {
            if !self.executable.is_null() {
                let _ = driver::cuGraphExecDestroy(self.executable);
            }
            let _ = driver::cuGraphDestroy(self.raw);
        }
    }
}

/// The graphs of a stream, the one that was used last at the end.
#[derive(Default)]
pub(super) struct Graphs(Vec<Graph>);

impl Graphs {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Issues launches to `stream` as a graph. Prepares a graph if none has these kernels. The
    /// caller has made the device current.
    ///
    /// # Safety
    /// The launches may run: their functions and memory exist, and the memory stays until they are
    /// done. `stream` is the stream of these graphs.
    pub(super) unsafe fn launch(
        &mut self,
        stream: CUstream,
        launches: Vec<(Described, Order)>,
    ) -> Result<(), RuntimeError> {
        let known = self.0.iter().rposition(|graph| graph.has_kernels(&launches));
        let (mut graph, launches) = match known {
            Some(position) => (self.0.remove(position), launches),
            None => {
                if self.0.len() == MOST_GRAPHS {
                    // SAFETY: the stream exists.
                    unsafe { driver::cuStreamSynchronize(stream) }?;
                    self.0.remove(0);
                }
                (Graph::new(launches)?, Vec::new())
            }
        };
        let updated = graph.update(launches);
        // SAFETY: the executable graph and the stream exist, and the caller keeps the promises of
        // this function.
        let launch = || unsafe { driver::cuGraphLaunch(graph.executable, stream) };
        let launched = updated.and_then(|()| launch());
        self.0.push(graph);
        launched
    }
}
