//! Tracks which elements of shared host memory callers are using.

use core::ops::Range;
use std::sync::Mutex;

use crate::arguments;
use crate::error::RuntimeError;
use crate::lock::lock;
use crate::registered::remove;

/// A list of ranges of elements that have no element in common.
#[derive(Default)]
pub(crate) struct TakenRanges(Mutex<Vec<Range<usize>>>);

impl TakenRanges {
    /// Takes elements of memory that has `len` elements, until the result is dropped. No other
    /// result has one of them.
    pub(crate) fn take(&self, range: Range<usize>, len: usize) -> Result<Taken<'_>, RuntimeError> {
        let Range { start, end } = range;
        arguments::check_copy(&range, len, 0, usize::MAX)?;
        let mut others = lock(&self.0);
        // This holds for no empty range, wherever it lies.
        if others.iter().any(|other| start.max(other.start) < end.min(other.end)) {
            return Err(RuntimeError::Overlap { start, end });
        }
        others.push(range.clone());
        Ok(Taken { all: self, range })
    }
}

/// Elements that a caller has. Dropping this value gives them back.
pub(crate) struct Taken<'a> {
    all: &'a TakenRanges,
    range: Range<usize>,
}

impl Taken<'_> {
    /// Returns the range of the elements.
    pub(crate) fn range(&self) -> Range<usize> {
        self.range.clone()
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        remove(&mut lock(&self.all.0), &self.range);
    }
}
