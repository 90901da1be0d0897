//! The memory that the batches of this process use.
//!
//! A batch computes without the GIL, with slices of arrays of the caller's. So that no two batches
//! use addresses that one of them writes, each batch enters its arrays into a list before, and
//! takes them off the list when it ends. A single operation, or a seed, that is read from an array
//! counts as a batch.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;

use super::View;
use crate::errors::value_error;

/// An array that a batch uses.
struct Use {
    batch: u64,
    addresses: Range<usize>,
    is_written: bool,
}

/// All arrays that batches of a process use.
struct Uses {
    process: u32,
    /// The number of the next batch.
    next: u64,
    arrays: Vec<Use>,
}

static USES: Mutex<Uses> = Mutex::new(Uses { process: 0, next: 0, arrays: Vec::new() });

/// Locks the list. After a fork, it is empty in the new process, where no batch runs.
///
/// Only threads that are attached to the interpreter hold the lock, and Python forks when no other
/// thread is attached. So a fork never finds it locked.
fn lock(_: Python<'_>) -> MutexGuard<'static, Uses> {
    let mut uses = USES.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if uses.process != process {
        uses.process = process;
        uses.arrays.clear();
    }
    uses
}

/// The memory that a batch uses. Other batches may use it when this is dropped.
pub(crate) struct InUse<'py> {
    py: Python<'py>,
    batch: u64,
}

impl<'py> InUse<'py> {
    /// Notes that a batch reads and writes these arrays, each with its name.
    ///
    /// # Errors
    /// `ValueError` if an array that is written shares memory with another array of the batch or
    /// with one that another batch uses, or if an array that is read shares memory with one that
    /// another batch writes.
    pub(crate) fn begin(
        py: Python<'py>,
        reads: &[(&str, &View<'_>)],
        writes: &[(&str, &View<'_>)],
    ) -> PyResult<Self> {
        let mut uses = lock(py);
        let read = reads.iter().map(|array| (array, false));
        let arrays: Vec<_> = read.chain(writes.iter().map(|array| (array, true))).collect();
        for (place, &((name, view), is_written)) in arrays.iter().enumerate() {
            let addresses = view.addresses();
            if is_written {
                let mut others = arrays[..place].iter().map(|(array, _)| array);
                if let Some((other, _)) =
                    others.find(|(_, view)| overlap(&view.addresses(), &addresses))
                {
                    return Err(value_error(format!("{name} shares memory with {other}")));
                }
            }
            let other = uses.arrays.iter().find(|other| {
                (is_written || other.is_written) && overlap(&other.addresses, &addresses)
            });
            if let Some(other) = other {
                let does = if other.is_written { "writes" } else { "reads" };
                return Err(value_error(format!(
                    "{name} shares memory with an array that another call {does} at this time"
                )));
            }
        }
        let batch = uses.next;
        uses.next += 1;
        uses.arrays.extend(arrays.iter().map(|&((_, view), is_written)| Use {
            batch,
            addresses: view.addresses(),
            is_written,
        }));
        Ok(Self { py, batch })
    }
}

impl Drop for InUse<'_> {
    fn drop(&mut self) {
        lock(self.py).arrays.retain(|array| array.batch != self.batch);
    }
}

/// Returns whether two ranges have an address in common.
fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}
