//! Which parts of the program an input has reached.
//!
//! `.ci/fuzz` has the compiler put a counter of eight bits into each edge of the code, and call a
//! function with their addresses. In a plain build there are no counters, and mutation is blind.
#![allow(unsafe_code)]

use std::collections::HashSet;
use std::slice;
use std::sync::{Mutex, PoisonError};

/// The addresses of the counters of each library: the first, and the one after the last.
static COUNTERS: Mutex<Vec<(usize, usize)>> = Mutex::new(Vec::new());

/// Notes where counters are. The code that the compiler adds calls it before `main`.
///
/// # Safety
/// The bytes between `start` and `stop` are counters, which stay until the program ends.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn __sanitizer_cov_8bit_counters_init(start: *mut u8, stop: *mut u8) {
    let range = (start.expose_provenance(), stop.expose_provenance());
    let mut all = COUNTERS.lock().unwrap_or_else(PoisonError::into_inner);
    if !all.contains(&range) {
        all.push(range);
    }
}

/// The edges that inputs have reached, and about how often.
#[derive(Default)]
pub(crate) struct Coverage {
    seen: HashSet<(usize, u8)>,
}

impl Coverage {
    /// Returns the number of edges and of classes of their counts.
    pub(crate) fn reached(&self) -> usize {
        self.seen.len()
    }

    /// Runs `work`, and returns whether it reached anything new.
    pub(crate) fn is_extended_by(&mut self, work: impl FnOnce()) -> bool {
        let counters: Vec<(usize, usize)> =
            COUNTERS.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let bytes = |(start, stop): (usize, usize)| {
            // SAFETY: the code that the compiler has added owns these bytes. Threads may count
            // while this program reads; a wrong count only misleads the choice of inputs.
            unsafe {
                slice::from_raw_parts_mut(
                    std::ptr::with_exposed_provenance_mut::<u8>(start),
                    stop - start,
                )
            }
        };
        counters.iter().for_each(|&range| bytes(range).fill(0));
        work();
        let mut is_new = false;
        for &range in &counters {
            // Most counters are zero, so groups of them are skipped.
            for (group, counts) in bytes(range).chunks(32).enumerate() {
                if counts.iter().all(|&count| count == 0) {
                    continue;
                }
                for (edge, count) in counts.iter().enumerate().filter(|(_, count)| **count != 0) {
                    // Powers of two: a loop that runs five times instead of four is nothing new.
                    let place = range.0 + 32 * group + edge;
                    is_new |= self.seen.insert((place, count.ilog2() as u8));
                }
            }
        }
        is_new
    }
}
