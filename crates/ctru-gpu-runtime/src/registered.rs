//! Records which host memory is pinned in place.

use core::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A list of address ranges. A range may occur several times.
pub(crate) struct Registered(Mutex<Vec<Range<usize>>>);

impl Registered {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    pub(crate) fn insert(&self, range: Range<usize>) {
        self.lock().push(range);
    }

    /// Removes one occurrence of a range.
    pub(crate) fn remove(&self, range: &Range<usize>) {
        let mut ranges = self.lock();
        if let Some(index) = ranges.iter().position(|known| known == range) {
            ranges.swap_remove(index);
        }
    }

    /// Returns whether `range` is not empty and lies within a single range of the list.
    pub(crate) fn contains(&self, range: &Range<usize>) -> bool {
        let inside = |known: &Range<usize>| known.start <= range.start && range.end <= known.end;
        !range.is_empty() && self.lock().iter().any(inside)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Range<usize>>> {
        // No function leaves the list in an invalid state, so it is valid even after a panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the range of addresses that a slice occupies.
pub(crate) fn addresses<T>(slice: &[T]) -> Range<usize> {
    let range = slice.as_ptr_range();
    range.start.addr()..range.end.addr()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_inside() {
        let registered = Registered::new();
        registered.insert(100..200);
        registered.insert(200..300);
        for (range, expected) in [
            (100..200, true),
            (150..160, true),
            (150..250, false),
            (99..100, false),
            (120..120, false),
        ] {
            assert_eq!(registered.contains(&range), expected, "{range:?}");
        }
        registered.remove(&(100..200));
        assert!(!registered.contains(&(100..200)) && registered.contains(&(200..300)));
    }
}
