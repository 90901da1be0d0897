//! The CPU as a machine: runs a kernel one block after the other, each thread as a coroutine, and
//! checks what a GPU does not.
//!
//! A launch that breaks a [rule](crate::simt::Simt#rules) of the machine stops with a [`Fault`],
//! which names the kernel, the threads and their source lines. A traced launch returns the
//! addresses that its threads touched, in order. A trace does not show branches, unless their sides
//! touch different memory.

mod block;
mod fault;
mod memory;
mod thread;

use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::vec::Vec;

pub use fault::{Access, Fault};
pub use memory::Buffer;
pub use thread::{Event, Thread, View};

use crate::descriptor::{Batch, Kernel, Parameter, Shape};

/// Number of launches of all emulators. Accesses of different launches never race, whichever
/// emulator ran them.
static LAUNCHES: AtomicU32 = AtomicU32::new(0);

/// A function that runs one thread of a kernel.
pub type Emulate = for<'a> fn(Thread<'a>, &[&'a Buffer], Batch);

/// Kernels on the emulator.
impl Kernel {
    /// Describes a kernel that only the emulator runs.
    ///
    /// # Panics
    /// As [`new`](Self::new).
    #[must_use]
    pub const fn emulated(
        name: &'static str,
        shape: Shape,
        parameters: &'static [Parameter],
        emulate: &'static Emulate,
    ) -> Self {
        Self::without_entry_point(name, shape, parameters).emulated_by(emulate)
    }

    /// Returns the same kernel, whose threads the emulator runs by this function.
    #[must_use]
    pub const fn emulated_by(self, emulate: &'static Emulate) -> Self {
        self.with_substitute(emulate)
    }
}

/// The emulated device.
#[derive(Copy, Clone, Debug, Default)]
pub struct Emulator;

impl Emulator {
    /// Returns a device without limit of memory.
    #[must_use]
    pub fn new() -> Self {
        Self
    }

    /// Runs `kernel` on a batch.
    ///
    /// # Errors
    /// The first [`Fault`] of a thread. Memory keeps the state of that moment.
    pub fn launch(&self, kernel: &Kernel, buffers: &[&Buffer], batch: Batch) -> Result<(), Fault> {
        self.run(kernel, buffers, batch, false).map(drop)
    }

    /// Runs `kernel` on a batch and returns the accesses of every thread: block after block, and
    /// thread after thread in each block.
    ///
    /// # Errors
    /// As [`launch`](Self::launch).
    pub fn trace(
        &self,
        kernel: &Kernel,
        buffers: &[&Buffer],
        batch: Batch,
    ) -> Result<Vec<Event>, Fault> {
        self.run(kernel, buffers, batch, true)
    }

    fn run(
        &self,
        kernel: &Kernel,
        buffers: &[&Buffer],
        batch: Batch,
        trace: bool,
    ) -> Result<Vec<Event>, Fault> {
        let parameters = kernel.parameters();
        let matches = parameters.len() == buffers.len()
            && parameters
                .iter()
                .zip(buffers)
                .all(|(parameter, buffer)| parameter.element_bytes() == buffer.element_bytes());
        if !matches {
            return Err(Fault::Arguments { kernel: kernel.name() });
        }
        let emulate = kernel.substitute().and_then(|function| function.downcast_ref::<Emulate>());
        let Some(&emulate) = emulate else {
            return Err(Fault::NotEmulated { kernel: kernel.name() });
        };
        let launch = LAUNCHES.fetch_add(1, Ordering::Relaxed);
        let arguments: Rc<[Buffer]> = buffers.iter().map(|&buffer| buffer.clone()).collect();
        let mut events = Vec::new();
        for block in 0..kernel.blocks(batch.operations()) {
            events.extend(block::run((kernel, emulate), block, launch, &arguments, batch, trace)?);
        }
        Ok(events)
    }
}
