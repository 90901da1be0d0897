//! The memory that the calls of this process use.
//!
//! A batch computes without the GIL, with slices of arrays of the caller's. No two batches may use
//! addresses that one of them writes. So each batch first notes its arrays in a list, and only the
//! note gives access to their bytes. The note ends when the arrays are dropped. A single operation,
//! and reading a seed from an array, count as batches.
//!
//! This does not see that two addresses are the same memory, as in a file that is mapped twice, nor
//! what other processes do with shared memory. Code that is not of this package, such as a function
//! of numpy in another thread, can still write to an array that is in use, as it can with each
//! array that a function in C reads. Rust's rules forbid all of that, nothing here can prevent it,
//! and a copy of each batch would cost too much, so the documentation of the package forbids it. No
//! length and no index depends on the bytes, and each bit pattern is a byte. So in practice,
//! compiled code then computes wrong results.
#![allow(unsafe_code)]

use std::ops::Range;
use std::ptr;
use std::slice;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ctru_fork::Process;
use pyo3::prelude::*;

use super::view::{Access, Shape, View};
use crate::errors::value_error;
use crate::part::{GpuBytes, Part, PartMut, Place};

/// An array that a call uses.
struct Use {
    number: u64,
    addresses: Range<usize>,
    is_written: bool,
}

/// All arrays that calls of a process use.
struct Uses {
    process: Option<Process>,
    /// The number of the next note.
    next: u64,
    arrays: Vec<Use>,
}

static USES: Mutex<Uses> = Mutex::new(Uses { process: None, next: 0, arrays: Vec::new() });

/// Locks the list. After a fork, it is empty in the new process, where no call runs.
///
/// Only threads that are attached to the interpreter hold the lock, and Python forks when no other
/// thread is attached. So a fork never finds it locked.
fn lock(_: Python<'_>) -> MutexGuard<'static, Uses> {
    let mut uses = USES.lock().unwrap_or_else(PoisonError::into_inner);
    let process = Some(Process::current());
    if uses.process != process {
        uses.process = process;
        uses.arrays.clear();
    }
    uses
}

/// A note that an array is in use, which ends when this is dropped.
struct Note<'py> {
    py: Python<'py>,
    number: u64,
}

impl Drop for Note<'_> {
    fn drop(&mut self) {
        lock(self.py).arrays.retain(|array| array.number != self.number);
    }
}

/// An array that a call reads. No other call writes it until this is dropped.
pub(crate) struct Reading<'py> {
    // Dropped before the array, because memory that is free must not be noted.
    _note: Note<'py>,
    view: View<'py>,
}

/// An array that a call writes. No other call uses it until this is dropped.
pub(crate) struct Writing<'py> {
    // As above.
    _note: Note<'py>,
    view: View<'py>,
}

/// Notes that a call reads and writes these arrays, each with its name, and returns them in the
/// same order.
///
/// # Errors
/// `ValueError` if an array that is written does not take results, or shares memory with another
/// array of the call or with one that another call uses, or if an array that is read shares memory
/// with one that another call writes.
pub(crate) fn begin<'py>(
    py: Python<'py>,
    reads: Vec<(&str, View<'py>)>,
    writes: Vec<(&str, View<'py>)>,
) -> PyResult<(Vec<Reading<'py>>, Vec<Writing<'py>>)> {
    let mut uses = lock(py);
    let read = reads.iter().map(|array| (array, false));
    let arrays: Vec<_> = read.chain(writes.iter().map(|array| (array, true))).collect();
    for (place, &((name, view), is_written)) in arrays.iter().enumerate() {
        let addresses = view.addresses();
        if is_written {
            view.check_writable(name)?;
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
    let mut note = |view: &View<'_>, is_written| {
        let number = uses.next;
        uses.next += 1;
        uses.arrays.push(Use { number, addresses: view.addresses(), is_written });
        Note { py, number }
    };
    let read = |(_, view): (&str, _)| Reading { _note: note(&view, false), view };
    let reads = reads.into_iter().map(read).collect();
    let written = |(_, view): (&str, _)| Writing { _note: note(&view, true), view };
    Ok((reads, writes.into_iter().map(written).collect()))
}

/// Returns whether two ranges have an address in common.
fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

impl Reading<'_> {
    /// Returns the bytes.
    pub(crate) fn part(&self) -> Part<'_> {
        let View { address, length, place, .. } = self.view;
        match place {
            Place::Host => Part::Host(self.bytes()),
            // SAFETY: `View::new` was called with bytes of this device, which the view keeps. The
            // note keeps away other calls that write.
            Place::Gpu(device) => Part::Gpu(unsafe { GpuBytes::new(device, address, length) }),
        }
    }

    /// Returns the bytes of an array on the host.
    ///
    /// # Panics
    /// If the array is on a GPU.
    pub(crate) fn bytes(&self) -> &[u8] {
        let View { address, length, place, .. } = self.view;
        assert!(place.gpu().is_none(), "the array is on a GPU");
        if length == 0 {
            return &[];
        }
        // SAFETY: `View::new` was called with readable bytes, which the view keeps. Nobody writes
        // them as long as the slice is used: the note keeps the other calls of this package away,
        // and the documentation forbids it to all other code.
        unsafe { slice::from_raw_parts(ptr::with_exposed_provenance(address), length) }
    }
}

impl Writing<'_> {
    /// Returns the bytes for writing.
    pub(crate) fn part(&mut self) -> PartMut<'_> {
        let View { address, length, place, .. } = self.view;
        match place {
            Place::Host if length == 0 => PartMut::Host(&mut []),
            Place::Host => {
                let start = ptr::with_exposed_provenance_mut(address);
                // SAFETY: `View::new` was called with readable bytes, which the view keeps, and
                // which may be written, as `begin` has checked. Nobody else uses them as long as
                // the slice is used: the note keeps the other calls of this package away, and the
                // documentation forbids it to all other code.
                PartMut::Host(unsafe { slice::from_raw_parts_mut(start, length) })
            }
            // SAFETY: `View::new` was called with bytes of this device, which the view keeps, and
            // which may be written, as `begin` has checked. The note keeps all other calls away.
            Place::Gpu(device) => PartMut::Gpu(unsafe { GpuBytes::new(device, address, length) }),
        }
    }
}

/// Returns a copy of memory on the host that describes the argument `name`, such as a shape.
///
/// # Errors
/// `ValueError` if a call writes the memory at this time.
///
/// # Safety
/// The bytes are readable during the call.
pub(super) unsafe fn described(
    py: Python<'_>,
    name: &str,
    address: *const u8,
    length: usize,
) -> PyResult<Vec<u8>> {
    let bytes = (address.cast_mut(), length);
    // SAFETY: the caller promises that the bytes are readable until the view is dropped.
    let view = unsafe { View::new(bytes, Place::Host, Shape::Flat, Access::READ_ONLY, ()) };
    let (reads, _) = begin(py, vec![(name, view)], Vec::new())?;
    Ok(reads[0].bytes().to_vec())
}
