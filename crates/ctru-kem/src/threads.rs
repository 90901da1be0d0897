//! The threads of a batch: those of `rayon`, or the calling thread in WebAssembly without threads.

use std::string::String;
use std::sync::{Mutex, PoisonError};
use std::vec::Vec;

#[cfg(not(all(target_family = "wasm", not(target_feature = "atomics"))))]
use rayon::prelude::*;

#[cfg(not(all(target_family = "wasm", not(target_feature = "atomics"))))]
pub(crate) use rayon::ThreadPool;

#[cfg(all(target_family = "wasm", not(target_feature = "atomics")))]
pub(crate) use one_thread::ThreadPool;

/// The largest number of threads of an engine, more than any machine has cores. Starting tens of
/// thousands takes seconds and can exhaust the system.
pub(crate) const MOST: usize = 4096;

/// Calls `work` with each part of a batch, on all threads.
pub(crate) fn for_each<T: Send>(
    pool: &ThreadPool,
    parts: impl Iterator<Item = T>,
    work: impl Fn(T) + Sync,
) {
    let parts: Vec<_> = parts.map(|part| Mutex::new(Some(part))).collect();
    let take = |part: &Mutex<Option<T>>| part.lock().unwrap_or_else(PoisonError::into_inner).take();
    for_each_number(pool, parts.len(), &|number| take(&parts[number]).into_iter().for_each(&work));
}

/// Calls `work` with each number below `count`, on all threads. The function is not generic, so
/// that `rayon` is compiled once for all batches.
#[inline(never)]
fn for_each_number(pool: &ThreadPool, count: usize, work: &(dyn Fn(usize) + Sync)) {
    let numbers = 0..count;
    #[cfg(not(all(target_family = "wasm", not(target_feature = "atomics"))))]
    let numbers = numbers.into_par_iter();
    pool.install(|| numbers.for_each(work));
}

/// Starts `threads` threads. If `threads` is 0, starts as many as `RAYON_NUM_THREADS` says, or one
/// per core.
///
/// # Errors
/// A reason if these are more than [`MOST`], and the reason of the system if it does not start
/// them.
#[cfg(not(all(target_family = "wasm", not(target_feature = "atomics"))))]
pub(crate) fn start(threads: usize) -> Result<ThreadPool, String> {
    // `rayon` does not choose, because it also obeys a variable that nothing limits.
    let default = || {
        let said = std::env::var("RAYON_NUM_THREADS").ok().and_then(|number| number.parse().ok());
        let cores = || std::thread::available_parallelism().map_or(1, usize::from).min(MOST);
        said.filter(|&number| number > 0).unwrap_or_else(cores)
    };
    let wanted = if threads > 0 { threads } else { default() };
    if wanted > MOST {
        return Err(std::format!("at most {MOST} are allowed, not {wanted}"));
    }
    rayon::ThreadPoolBuilder::new()
        .num_threads(wanted)
        .thread_name(|i| std::format!("ctru-cpu-{i}"))
        .build()
        .map_err(|error| std::string::ToString::to_string(&error))
}

/// Returns the pool of the calling thread.
#[cfg(all(target_family = "wasm", not(target_feature = "atomics")))]
pub(crate) fn start(_threads: usize) -> Result<ThreadPool, String> {
    Ok(ThreadPool)
}

/// The part of `rayon` that batches use, for one thread.
#[cfg(all(target_family = "wasm", not(target_feature = "atomics")))]
mod one_thread {
    /// The calling thread.
    #[derive(Debug)]
    pub(crate) struct ThreadPool;

    impl ThreadPool {
        /// Does the work.
        pub(crate) fn install<T>(&self, work: impl FnOnce() -> T) -> T {
            work()
        }

        /// Returns 1.
        pub(crate) fn current_num_threads(&self) -> usize {
            1
        }
    }
}
