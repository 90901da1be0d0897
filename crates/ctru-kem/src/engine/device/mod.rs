//! The device engine: runs batches on a GPU or on the emulator, with the same kernels.
//!
//! The modules, from top to bottom:
//!
//! - This module has the engine, which makes what a parameter set needs when it is first used. The
//!   modules below see keys and ciphertexts as bytes and the parameter set as data, so they are
//!   compiled once per type of device and not once per parameter set.
//! - `rows` takes batches in the host's memory, `resident` those whose data is in device memory
//!   before and after the call. Both describe a batch as a `job`.
//! - `options` has the choices of the user.
//! - `batch` plans a batch by `ctru_gpu_runtime::batch` and has the plan executed.
//! - [`plan`] plans a batch without a device.
//! - `merged` does small batches: those of several callers become common launches.
//! - `slot` does a chunk: it brings the inputs, launches, and sends the results.
//! - `scheme` has the launches of key generation, encapsulation and decapsulation, and `ntruprime`
//!   those of Streamlined NTRU Prime.
//! - `launches` is the list of launches of a chunk.
//! - `check` says why a row is not a key.
//! - `buffers` has the memory of slots and of loaded keys, and `footprint` counts its bytes.
//! - `inversion` is the product tree of key generation, and `powers` inverts its roots.
//! - `set` has the sizes, the shapes of operations and the kernels of a parameter set.

mod batch;
mod buffers;
mod check;
#[cfg(feature = "cuda")]
pub mod cuda;
mod footprint;
mod inversion;
mod job;
mod launches;
mod merged;
mod ntruprime;
mod options;
pub mod plan;
#[doc(hidden)]
pub mod powers;
mod rejection;
mod resident;
mod rows;
mod scheme;
mod set;
mod slot;

use core::fmt;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::vec;
use std::vec::Vec;

use ctru_gpu_runtime::PinnedVec;
use ctru_gpu_runtime::batch::tuning::Tuning;

use super::EngineError;
use crate::parameters::Parameters;
use batch::Batches;
use footprint::{device_bytes, pinned_bytes};
use set::Set;

pub use ctru_gpu_runtime::{Buffer, Device, DeviceMemory, Queue, Slice};
pub use options::DeviceOptions;
pub use resident::{Resident, ResidentKeys, ResidentSeeds};

/// Runs batches on one or several devices of the same type.
///
/// The engine cuts a batch into chunks, which go to the devices in turn. A chunk takes a slot,
/// which is memory and a queue for one chunk. Calls from several threads share the slots. Each
/// parameter set has slots of its own, which the engine makes when the set is first used, or before
/// by [`prepare`](Self::prepare).
///
/// Small batches that several threads encapsulate or decapsulate at the same time, with trusted or
/// loaded keys, share launches on the device. A call that meets no other waits for none. If there
/// are more such calls than CPUs, some of them sleep until others return. Where batches share a
/// launch and the device fails, each of their calls returns the error.
///
/// The device checks the rows of large batches, and the host those of small ones. If a batch has
/// one key per operation, the device computes with a row that is not a key before the check has
/// refused it. So all ciphertexts may be written when the batch is refused.
pub struct DeviceEngine<D: Device> {
    devices: Vec<D>,
    options: DeviceOptions,
    tuning: &'static Tuning,
    /// What each of [`Parameters::ALL`] needs, once it is used.
    batches: [OnceLock<Batches<D>>; Parameters::ALL.len()],
    /// Taken while one of these is made.
    making: Mutex<()>,
}

/// What a [`DeviceEngine`] holds for a parameter set.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// The largest number of operations of a chunk.
    pub chunk: usize,
    /// The number of slots of all devices together: the largest number of chunks that are under way
    /// at the same time.
    pub slots: usize,
    /// The bytes of device memory that the slots hold, on all devices together, without the memory
    /// for inversion by powers.
    pub device_bytes: usize,
    /// The bytes of pinned host memory that the engine holds: that of the slots, and that in which
    /// small batches of several callers meet. The number is at most a sixteenth too large.
    pub pinned_bytes: usize,
}

impl<D: Device> DeviceEngine<D> {
    /// Creates an engine on one device.
    ///
    /// # Errors
    /// The errors of [`over`](Self::over).
    pub fn new(device: D, options: DeviceOptions) -> Result<Self, EngineError> {
        Self::over(vec![device], options)
    }

    /// Creates an engine on several devices. The options apply to each device and each parameter
    /// set.
    ///
    /// # Errors
    /// [`EngineError::NoSlots`] if `chunk` or `slots` is 0, or if there are no devices.
    pub fn over(devices: Vec<D>, options: DeviceOptions) -> Result<Self, EngineError> {
        if options.chunk == 0 || options.slots == 0 || devices.is_empty() {
            return Err(EngineError::NoSlots);
        }
        let batches = [const { OnceLock::new() }; _];
        let tuning = options.tuning.unwrap_or_else(|| Tuning::of(&devices[0].name()));
        Ok(Self { devices, options, tuning, batches, making: Mutex::new(()) })
    }

    /// Allocates the memory of a parameter set's slots and starts their threads, if that is not
    /// done yet. The first batch does it otherwise. Inversion by powers allocates more when it
    /// first runs; see [`DeviceOptions::memory_limit`].
    ///
    /// The chunks have fewer operations than [`DeviceOptions::chunk`] if the limit of memory or the
    /// kernels allow fewer.
    ///
    /// # Errors
    /// - [`EngineError::NoKernels`] if there are no kernels for the parameters.
    /// - [`EngineError::Options`] if chunks of one operation exceed the limit of memory.
    /// - [`EngineError::Device`] if a device or the host has too little memory.
    /// - [`EngineError::Threads`] if the system does not start the threads.
    pub fn prepare(&self, parameters: Parameters) -> Result<Prepared, EngineError> {
        let Batches { set, machine, executor, merger, .. } = self.batches(parameters)?;
        let (chunk, slots) = (machine.chunk, executor.slots());
        Ok(Prepared {
            chunk,
            slots,
            device_bytes: slots * device_bytes(set, self.tuning, chunk),
            pinned_bytes: slots * pinned_bytes(set, chunk) + pinned_bytes(set, merger.lanes.rows()),
        })
    }

    /// Returns what a parameter set needs, and makes it at its first use.
    fn batches(&self, parameters: Parameters) -> Result<&Batches<D>, EngineError> {
        let made = &self.batches[parameters.index()];
        if let Some(batches) = made.get() {
            return Ok(batches);
        }
        let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        match made.get() {
            Some(batches) => Ok(batches),
            None => {
                let set = Set::of(parameters)?;
                let devices = self.devices.clone();
                let batches = Batches::new(set, devices, &self.options, self.tuning)?;
                Ok(made.get_or_init(|| batches))
            }
        }
    }

    /// Returns what the parameter sets that were used have.
    fn made(&self) -> impl Iterator<Item = &Batches<D>> {
        self.batches.iter().filter_map(OnceLock::get)
    }

    /// Cancels the batches that are under way in other threads.
    ///
    /// The engine finishes what has begun: chunks that are in a slot or wait for one, and launches
    /// that small batches share. It begins nothing else. The call of a batch returns
    /// [`EngineError::Cancelled`] if an operation was not done. A batch that still waits for
    /// [`prepare`](Self::prepare) has not begun.
    pub fn cancel(&self) {
        self.made().for_each(Batches::cancel);
    }

    /// Overwrites the memory of all slots and of small batches with zeros, on the devices and on
    /// the host.
    ///
    /// They keep keys, seeds and secrets of a batch until another batch overwrites them. This
    /// function removes them while the engine waits for its next batch. Batches that are under way
    /// go on, and what they write after their memory has been wiped stays. Keys that the engine has
    /// loaded stay, too. Dropping the engine also wipes its memory.
    ///
    /// # Errors
    /// [`EngineError::Device`] if a device fails. All slots that have not failed are wiped, and so
    /// is the host's memory of those that have failed.
    pub fn wipe(&self) -> Result<(), EngineError> {
        self.made().map(Batches::wipe).fold(Ok(()), Result::and)
    }

    /// Pins the memory of a vector, so that the engine can transfer it without another copy; see
    /// [`BatchEngine::pin`](super::BatchEngine::pin).
    ///
    /// # Errors
    /// [`EngineError::Device`] if the device cannot pin the vector. The vector is dropped.
    pub fn pin<T: Send>(
        &self,
        content: Vec<T>,
    ) -> Result<PinnedVec<T, D::Registration>, EngineError> {
        Ok(self.devices[0].register(content)?)
    }

    /// Returns the number of common launches of small batches so far.
    #[doc(hidden)]
    #[must_use]
    pub fn common_launches(&self) -> u64 {
        self.made().map(|batches| batches.merger.lanes.groups()).sum()
    }
}

impl<D: Device> fmt::Debug for DeviceEngine<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceEngine")
            .field("devices", &self.devices)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
