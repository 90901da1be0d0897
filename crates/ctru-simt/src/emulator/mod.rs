//! An emulator of the machine on the CPU. It runs the blocks of a kernel one after another, each
//! thread as a coroutine, and checks the rules that a GPU does not check.
//!
//! A launch that violates a [rule](crate::simt::Simt#rules) of the machine stops with a [`Fault`],
//! which names the kernel, the threads and their source lines. A traced launch returns the
//! addresses that each thread accessed, in order. A trace shows a branch only if its sides access
//! different memory.
//!
//! The emulator is for tests. It overwrites its copies of arrays and the shared memory of blocks
//! when it is done with them, but not the stacks of threads, nor what threads exchange in
//! registers.
//!
//! A panic in the code of a kernel leaves the call that launched it. In a program with `panic =
//! "abort"`, such a panic ends the process. So does a fault of a thread, because the emulator then
//! unwinds the threads that it stops.

mod block;
mod fault;
mod launch;
mod memory;
mod product;
mod thread;

use core::time::Duration;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::vec::Vec;

pub use fault::{Access, Fault, Kind, Space};
pub use memory::Buffer;
pub use thread::{Event, Thread, View};

use self::launch::Launch;
use crate::descriptor::{Batch, Kernel, Parameter, Shape};

/// Number of launches in this process. It is shared by all emulators, so that every launch has a
/// unique number and accesses of different launches never race.
static LAUNCHES: AtomicU32 = AtomicU32::new(0);

/// A function that runs one thread of a kernel.
pub type Emulate = for<'a> fn(Thread<'a>, &[&'a Buffer], Batch);

/// Functions of kernels for the emulator.
impl Kernel {
    /// Describes a kernel that only the emulator runs.
    ///
    /// # Panics
    /// In the cases of [`new`](Self::new).
    #[must_use]
    pub const fn emulated(
        name: &'static str,
        shape: Shape,
        parameters: &'static [Parameter],
        emulate: &'static Emulate,
    ) -> Self {
        Self::without_entry_point(name, shape, parameters).emulated_by(emulate)
    }

    /// Returns the same kernel with `emulate` as the function that runs its threads on the
    /// emulator.
    #[must_use]
    pub const fn emulated_by(self, emulate: &'static Emulate) -> Self {
        self.with_substitute(emulate)
    }
}

/// How long a launch may take, unless the caller chooses another time.
const TIME_LIMIT: Duration = Duration::from_secs(120);

/// The emulated device.
#[derive(Copy, Clone, Debug)]
pub struct Emulator {
    time_limit: Duration,
}

impl Default for Emulator {
    fn default() -> Self {
        Self { time_limit: TIME_LIMIT }
    }
}

impl Emulator {
    /// Creates a device with unlimited memory. A launch may take two minutes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a device with another limit. A launch that takes longer stops with
    /// [`Fault::TimeLimit`] at one of the next operations of a thread. A loop that never calls the
    /// machine does not stop.
    #[must_use]
    pub const fn with_time_limit(time_limit: Duration) -> Self {
        Self { time_limit }
    }

    /// Runs `kernel` on a batch.
    ///
    /// # Errors
    /// Returns the first [`Fault`] of a thread. The buffers keep the content that they have at that
    /// moment.
    ///
    /// # Panics
    /// If the code of the kernel panics.
    pub fn launch(&self, kernel: &Kernel, buffers: &[&Buffer], batch: Batch) -> Result<(), Fault> {
        self.count(kernel, buffers, batch).map(drop)
    }

    /// Runs `kernel` on a batch and returns the number of the machine's operations that its threads
    /// have made: accesses, barriers, shuffles, votes and matrix products.
    ///
    /// # Errors
    /// Those of [`launch`](Self::launch).
    ///
    /// # Panics
    /// If the code of the kernel panics.
    pub fn count(&self, kernel: &Kernel, buffers: &[&Buffer], batch: Batch) -> Result<u64, Fault> {
        let (operations, _) = self.run(kernel, buffers, batch, false)?;
        Ok(operations)
    }

    /// Runs `kernel` on a batch and returns the accesses of all threads, ordered by block, then by
    /// thread, then by time.
    ///
    /// # Errors
    /// Those of [`launch`](Self::launch).
    ///
    /// # Panics
    /// If the code of the kernel panics.
    pub fn trace(
        &self,
        kernel: &Kernel,
        buffers: &[&Buffer],
        batch: Batch,
    ) -> Result<Vec<Event>, Fault> {
        let (_, events) = self.run(kernel, buffers, batch, true)?;
        Ok(events)
    }

    fn run(
        &self,
        kernel: &Kernel,
        buffers: &[&Buffer],
        batch: Batch,
        trace: bool,
    ) -> Result<(u64, Vec<Event>), Fault> {
        let parameters = kernel.parameters();
        let matches = parameters.len() == buffers.len()
            && parameters
                .iter()
                .zip(buffers)
                .all(|(parameter, buffer)| parameter.element_bytes() == buffer.element_bytes());
        if !matches || !kernel.is_complete() {
            return Err(Fault::Arguments { kernel: kernel.name() });
        }
        let emulate = kernel.substitute().and_then(|function| function.downcast_ref::<Emulate>());
        let Some(&emulate) = emulate else {
            return Err(Fault::NotEmulated { kernel: kernel.name() });
        };
        let number = LAUNCHES.fetch_add(1, Ordering::Relaxed);
        let launch = Launch::new(number, trace, self.time_limit);
        let limited = |(parameter, buffer): (&'static Parameter, &&Buffer)| {
            buffer.limited(kernel.elements(parameter, batch), parameter)
        };
        let arguments: Rc<[Buffer]> = parameters.iter().zip(buffers).map(limited).collect();
        let (mut operations, mut events) = (0, Vec::new());
        let grid = kernel.grid(batch.operations());
        for block in 0..grid.into_iter().fold(1, u32::saturating_mul) {
            let block = (block, grid);
            let (of_block, events_of_block) =
                block::run((kernel, emulate), block, launch, &arguments, batch)?;
            operations += of_block;
            events.extend(events_of_block);
        }
        Ok((operations, events))
    }
}
