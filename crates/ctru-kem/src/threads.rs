//! The threads of a batch: those of `rayon`, or the calling thread in WebAssembly without threads.

use std::string::String;

#[cfg(not(all(target_family = "wasm", not(target_feature = "atomics"))))]
pub(crate) use rayon::{ThreadPool, prelude};

#[cfg(all(target_family = "wasm", not(target_feature = "atomics")))]
pub(crate) use one_thread::{ThreadPool, prelude};

/// The largest number of threads of an engine, more than any machine has cores. Starting tens of
/// thousands takes seconds and can exhaust the system.
pub(crate) const MOST: usize = 4096;

/// Starts `threads` threads. If `threads` is 0, starts as many as `RAYON_NUM_THREADS` says, or one
/// per core.
///
/// # Errors
/// A reason if these are more than [`MOST`], and the reason of the system if it does not start
/// them.
#[cfg(not(all(target_family = "wasm", not(target_feature = "atomics"))))]
pub(crate) fn start(threads: usize) -> Result<ThreadPool, String> {
    let wanted = match threads {
        0 => std::env::var("RAYON_NUM_THREADS").ok().and_then(|number| number.parse().ok()),
        threads => Some(threads),
    };
    if let Some(wanted) = wanted.filter(|&wanted| wanted > MOST) {
        return Err(std::format!("at most {MOST} are allowed, not {wanted}"));
    }
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
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
    pub struct ThreadPool;

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

    pub(crate) mod prelude {
        use core::slice::{Chunks, ChunksMut, Iter};

        /// The iterators over a slice that batches use, with the names of `rayon`.
        pub(crate) trait Parallel<T> {
            fn par_iter(&self) -> Iter<'_, T>;
            fn par_chunks(&self, size: usize) -> Chunks<'_, T>;
            fn par_chunks_mut(&mut self, size: usize) -> ChunksMut<'_, T>;
        }

        impl<T> Parallel<T> for [T] {
            fn par_iter(&self) -> Iter<'_, T> {
                self.iter()
            }
            fn par_chunks(&self, size: usize) -> Chunks<'_, T> {
                self.chunks(size)
            }
            fn par_chunks_mut(&mut self, size: usize) -> ChunksMut<'_, T> {
                self.chunks_mut(size)
            }
        }
    }
}
