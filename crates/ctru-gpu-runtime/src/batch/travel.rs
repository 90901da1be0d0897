//! Brings rows to kernels and results back, in the way that the [plan](super::plan) says.

use core::ops::{Deref, Range};

use super::copy::{self, Stores};
use super::plan::Travel;
use crate::{Buffer, HostMemory, Plain, Queue, RuntimeError, Slice};

/// Rows that an operation reads.
#[derive(Debug)]
pub enum Source<'a, M> {
    /// Rows of the host.
    Host(&'a [u8]),
    /// Rows on the device.
    Device(&'a M),
}

/// Rows that an operation writes.
#[derive(Debug)]
pub enum Target<'a, M> {
    /// Rows of the host: those of a chunk.
    Host(&'a mut [u8]),
    /// Rows on the device: those of a batch.
    Device(&'a M),
}

impl<M> Copy for Source<'_, M> {}
impl<M> Clone for Source<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

/// The memory of a slot for an array: pinned memory of the host, and memory of the device.
#[derive(Debug)]
pub struct Staging<T: Plain, Q: Queue> {
    /// The memory of the host.
    pub pinned: Q::Pinned<T>,
    /// The memory of the device.
    pub device: Buffer<T, Q::Memory>,
}

/// Memory in which kernels access rows of a chunk.
#[derive(Debug)]
pub enum Rows<'a, T, M> {
    /// Memory of the slot.
    Slot(&'a M),
    /// Memory of the slot in the stead of rows on the device.
    Copy(Slice<'a, T, M>),
    /// Rows of the caller.
    Caller(Slice<'a, T, M>),
}

impl<T, M> Deref for Rows<'_, T, M> {
    type Target = M;

    fn deref(&self) -> &M {
        match self {
            Self::Slot(memory) => memory,
            Self::Copy(rows) | Self::Caller(rows) => rows,
        }
    }
}

impl<T, M> Rows<'_, T, M> {
    /// Returns whether the slot has a copy of rows on the device.
    #[must_use]
    pub fn are_copied(&self) -> bool {
        matches!(self, Self::Copy(_))
    }
}

impl<T: Plain, Q: Queue> Staging<T, Q> {
    /// Adds pinned memory of the same length to memory of the device.
    ///
    /// # Errors
    /// [`RuntimeError`] if the memory does not suffice.
    pub fn over(queue: &Q, device: Buffer<T, Q::Memory>) -> Result<Self, RuntimeError> {
        Ok(Self { pinned: queue.pinned(device.len())?, device })
    }

    /// Lets `write` write the first `len` elements of pinned memory, and makes them available to
    /// kernels, there or in `device`. Does not wait for the device.
    ///
    /// # Errors
    /// Errors of the queue.
    pub fn bring_words<'a>(
        pinned: &'a mut Q::Pinned<T>,
        device: &'a Buffer<T, Q::Memory>,
        queue: &Q,
        travel: Travel,
        len: usize,
        write: impl FnOnce(&mut [T]),
    ) -> Result<&'a Q::Memory, RuntimeError> {
        write(&mut pinned.write()?[..len]);
        if travel == Travel::ZeroCopy {
            return Ok(pinned.on_device());
        }
        queue.upload(pinned, 0..len, device, 0)?;
        Ok(device)
    }

    /// Returns the memory to which kernels write results for the host.
    pub fn target(&mut self, travel: Travel) -> &Q::Memory {
        if travel == Travel::ZeroCopy { self.pinned.on_device() } else { &self.device }
    }

    /// Makes the first `len` elements, which kernels have written to the [`target`](Self::target),
    /// available to the host. Does not wait.
    ///
    /// # Errors
    /// Errors of the queue.
    pub fn fetch(&mut self, queue: &Q, travel: Travel, len: usize) -> Result<(), RuntimeError> {
        match travel {
            Travel::Staged => queue.download(&self.device, 0..len, &mut self.pinned, 0),
            _ => Ok(()),
        }
    }
}

impl<Q: Queue> Staging<u8, Q> {
    /// Makes the bytes `range` of rows available to kernels. Does not wait for the device.
    ///
    /// # Errors
    /// Errors of the queue.
    pub fn bring<'a, 'env: 'a>(
        &'a mut self,
        queue: &Q,
        scope: &Q::Scope<'env>,
        (from, range): (Source<'env, Q::Memory>, Range<usize>),
        travel: Travel,
        stores: Stores,
    ) -> Result<Rows<'a, u8, Q::Memory>, RuntimeError> {
        let bytes = match from {
            Source::Host(bytes) => &bytes[range],
            Source::Device(memory) => {
                let rows = in_place(queue, memory, &range, &self.device)?;
                if rows.are_copied() {
                    queue.copy(&*queue.slice::<u8>(memory, range)?, &rows)?;
                }
                return Ok(rows);
            }
        };
        if travel == Travel::Dma {
            queue.upload_from(scope, bytes, &self.device)?;
            return Ok(Rows::Slot(&self.device));
        }
        let copy = |to: &mut [u8]| copy::copy(stores, [(bytes, to)]);
        Self::bring_words(&mut self.pinned, &self.device, queue, travel, bytes.len(), copy)
            .map(Rows::Slot)
    }

    /// Returns the memory to which kernels write rows for `to`: the bytes `range` of an array, or
    /// rows that nobody wants.
    ///
    /// # Errors
    /// Errors of the queue.
    pub fn target_of<'a>(
        &'a mut self,
        queue: &Q,
        to: &Option<Target<'a, Q::Memory>>,
        range: &Range<usize>,
        travel: Travel,
    ) -> Result<Rows<'a, u8, Q::Memory>, RuntimeError> {
        match *to {
            Some(Target::Device(memory)) => in_place(queue, memory, range, &self.device),
            _ => Ok(Rows::Slot(self.target(travel))),
        }
    }

    /// Sends rows that kernels have written to the [target](Self::target_of) on their way. Returns
    /// the memory of the host to which they must still be copied from pinned memory, if they must.
    /// Does not wait.
    ///
    /// # Errors
    /// Errors of the queue.
    pub fn send<'env>(
        &mut self,
        queue: &Q,
        scope: &Q::Scope<'env>,
        to: Target<'env, Q::Memory>,
        travel: Travel,
    ) -> Result<Option<&'env mut [u8]>, RuntimeError> {
        match to {
            Target::Device(_) => Ok(None),
            Target::Host(to) if travel == Travel::Dma => {
                queue.download_to(scope, &self.device, to)?;
                Ok(None)
            }
            Target::Host(to) => {
                self.fetch(queue, travel, to.len())?;
                Ok(Some(to))
            }
        }
    }
}

/// Returns the bytes `range` of memory as kernels access them: in whole, aligned words of four
/// bytes. If they do not consist of such words, returns `other`, for a copy of them.
///
/// # Errors
/// Errors of the queue.
pub fn in_place<'a, Q: Queue>(
    queue: &Q,
    memory: &'a Q::Memory,
    range: &Range<usize>,
    other: &'a Q::Memory,
) -> Result<Rows<'a, u8, Q::Memory>, RuntimeError> {
    let Range { start, end } = *range;
    let end = start + (end - start).next_multiple_of(4);
    if queue.slice::<u32>(memory, start..start).is_ok()
        && let Ok(own) = queue.slice(memory, start..end)
    {
        return Ok(Rows::Caller(own));
    }
    Ok(Rows::Copy(queue.slice(other, 0..end - start)?))
}

/// Copies the bytes `range` of an array from a [copy](Rows::are_copied) that kernels have written
/// in its stead.
///
/// # Errors
/// Errors of the queue.
pub fn copy_back<Q: Queue>(
    queue: &Q,
    rows: &Rows<'_, u8, Q::Memory>,
    to: &Q::Memory,
    range: Range<usize>,
) -> Result<(), RuntimeError> {
    match rows {
        Rows::Copy(made) => {
            let made = queue.slice::<u8>(made, 0..range.len())?;
            queue.copy(&made, &*queue.slice::<u8>(to, range)?)
        }
        _ => Ok(()),
    }
}
