//! The CPU machine: runs kernels one block after the other, each thread a coroutine, and checks what a GPU does not.
//!
//! A launch that breaks a rule of [`Simt`](crate::simt::Simt) stops with a [`Fault`] that names
//! kernel, threads and source lines. With tracing on, a launch returns which addresses its threads
//! touched, in order. It shows no branches: a branch is found only where its sides touch other
//! memory.

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

/// Launches of all emulators so far: accesses in different launches never race, whichever emulator ran them.
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
    /// A device without memory limits.
    #[must_use]
    pub fn new() -> Self {
        Self
    }

    /// Runs `kernel` on a batch.
    ///
    /// # Errors
    /// The first [`Fault`] that a thread commits; memory is then left as it was at that moment.
    pub fn launch(&self, kernel: &Kernel, buffers: &[&Buffer], batch: Batch) -> Result<(), Fault> {
        self.run(kernel, buffers, batch, false).map(drop)
    }

    /// Runs `kernel` on a batch and returns the accesses of every thread, in the order of blocks,
    /// and of threads in each.
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
