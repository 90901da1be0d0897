//! Checks the arguments of launches and copies before an operation is issued.
#![cfg_attr(not(any(feature = "cuda", feature = "emulator")), allow(dead_code))]

use core::ops::Range;

use ctru_simt::descriptor::{Batch, Kernel};

use crate::error::RuntimeError;
use crate::memory::{DeviceMemory, Plain};

/// Checks that `kernel` takes this memory and this batch, so that a launch accesses only this
/// memory, in aligned elements. `address` returns the address of memory, or its offset in an
/// allocation that is aligned for every element. A launch without operations accesses no memory, so
/// for such a batch only the number of arrays must be right, and the scalars must have values.
pub(crate) fn check<M: DeviceMemory>(
    kernel: &Kernel,
    memory: &[&M],
    address: impl Fn(&M) -> u64,
    batch: Batch,
) -> Result<(), RuntimeError> {
    let (name, parameters, count) = (kernel.name(), kernel.parameters(), batch.operations());
    if parameters.len() != memory.len() {
        let (expected, actual) = (parameters.len(), memory.len());
        return Err(RuntimeError::ArgumentCount { kernel: name, expected, actual });
    }
    if !kernel.is_complete() {
        return Err(RuntimeError::UnsetScalars { kernel: name, count: kernel.scalars().len() });
    }
    if count == 0 {
        return Ok(());
    }
    if count > kernel.most_operations() {
        return Err(RuntimeError::TooManyOperations {
            kernel: name,
            most: kernel.most_operations(),
            count,
        });
    }
    for (parameter, memory) in parameters.iter().zip(memory) {
        let (expected, actual) = (parameter.element_bytes(), memory.element_bytes());
        if expected != actual {
            return Err(RuntimeError::Argument {
                kernel: name,
                parameter: parameter.name(),
                expected,
                actual,
            });
        }
        let (needed, actual) = (kernel.elements(parameter, batch), elements(*memory));
        if needed > actual {
            return Err(RuntimeError::Length {
                kernel: name,
                parameter: parameter.name(),
                needed,
                actual,
            });
        }
        let bytes = parameter.alignment();
        if needed != 0 && !address(memory).is_multiple_of(u64::from(bytes)) {
            return Err(RuntimeError::Alignment {
                kernel: name,
                parameter: parameter.name(),
                bytes,
            });
        }
    }
    Ok(())
}

/// Returns the number of elements of an array. The size of an element is a power of two.
fn elements<M: DeviceMemory>(memory: &M) -> u64 {
    memory.bytes() as u64 >> memory.element_bytes().trailing_zeros()
}

/// Checks that the bytes `range` lie within `memory`, whose first byte has the address `address`,
/// and that they are whole elements of type `T` at multiples of their size.
pub(crate) fn check_slice<T: Plain>(
    memory: &impl DeviceMemory,
    address: u64,
    range: &Range<usize>,
) -> Result<(), RuntimeError> {
    let &Range { start, end } = range;
    let is_multiple = |number: u64| number.is_multiple_of(u64::from(T::BYTES));
    let is_inside = start <= end && end <= memory.bytes();
    if is_inside && is_multiple((end - start) as u64) && is_multiple(address + start as u64) {
        return Ok(());
    }
    Err(RuntimeError::Slice { start, end, bytes: memory.bytes(), element_bytes: T::BYTES })
}

/// Checks that `range` lies within `from` elements, and that as many elements beginning at `start`
/// lie within `to` elements.
pub(crate) fn check_copy(
    range: &Range<usize>,
    from: usize,
    start: usize,
    to: usize,
) -> Result<(), RuntimeError> {
    let inside =
        |range: &Range<usize>, len: usize| match range.start <= range.end && range.end <= len {
            true => Ok(()),
            false => Err(RuntimeError::Range { start: range.start, end: range.end, len }),
        };
    inside(range, from)?;
    inside(&(start..start.saturating_add(range.len())), to)
}
