//! Records which host memory is pinned in place.

use core::ops::Range;
use std::sync::Mutex;

use crate::lock::lock;

/// The addresses of the memory that is pinned in place, for all devices. A range may occur several
/// times.
static REGISTERED: Mutex<Vec<Range<usize>>> = Mutex::new(Vec::new());

/// Host memory that is pinned in place. Dropping this value ends that.
#[derive(Debug)]
pub(crate) struct Registered(Range<usize>);

impl Registered {
    /// Records that the memory of `content` is pinned.
    pub(crate) fn new<T>(content: &[T]) -> Self {
        let range = addresses(content);
        lock(&REGISTERED).push(range.clone());
        Self(range)
    }

    /// Returns the addresses.
    #[cfg(feature = "cuda")]
    pub(crate) fn addresses(&self) -> &Range<usize> {
        &self.0
    }

    /// Returns whether `memory` is not empty and lies within the memory of a single value.
    pub(crate) fn covers(memory: &[u8]) -> bool {
        let range = addresses(memory);
        let inside = |known: &Range<usize>| known.start <= range.start && range.end <= known.end;
        !range.is_empty() && lock(&REGISTERED).iter().any(inside)
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        remove(&mut lock(&REGISTERED), &self.0);
    }
}

/// Removes one occurrence of a range.
pub(crate) fn remove(ranges: &mut Vec<Range<usize>>, range: &Range<usize>) {
    if let Some(index) = ranges.iter().position(|known| known == range) {
        ranges.swap_remove(index);
    }
}

/// Returns the range of addresses that a slice occupies.
fn addresses<T>(slice: &[T]) -> Range<usize> {
    let range = slice.as_ptr_range();
    range.start.addr()..range.end.addr()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_inside() {
        let memory = [0; 200];
        let (first, _second) = (Registered::new(&memory[..100]), Registered::new(&memory[100..]));
        for (range, expected) in [(0..100, true), (50..60, true), (50..150, false), (20..20, false)]
        {
            assert_eq!(Registered::covers(&memory[range.clone()]), expected, "{range:?}");
        }
        drop(first);
        assert!(!Registered::covers(&memory[..100]) && Registered::covers(&memory[100..]));
    }
}
