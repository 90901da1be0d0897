//! From the backend in use to code compiled for it.

use ctru_math::backend::{self, Backend};

use super::Words;
#[cfg(target_arch = "x86_64")]
use super::{avx2::Avx2, avx512};

/// Work on states, written once for all backends.
///
/// `run` and everything it calls on vectors has to be `#[inline(always)]`: it becomes part of one function a backend
/// that is compiled with that backend's instructions.
pub(in crate::hash) trait Hashing {
    /// What the work gives.
    type Output;
    /// Does it with `V::STATES` states side by side.
    fn run<V: Words>(self) -> Self::Output;
}

/// Does the work on the backend in use, with the vectors that are fastest for `states` states side by side.
#[inline]
pub(in crate::hash) fn dispatch<W: Hashing>(states: usize, work: W) -> W::Output {
    dispatch_to(backend::in_use(), states, work)
}

/// Does the work on `backend`, which has to be available.
#[inline]
pub(in crate::hash) fn dispatch_to<W: Hashing>(
    backend: Backend,
    states: usize,
    work: W,
) -> W::Output {
    match (backend, states) {
        // SAFETY: this CPU has AVX2 where this backend is available.
        #[cfg(target_arch = "x86_64")]
        #[allow(unsafe_code)]
        (Backend::Avx2, 2..) => unsafe { on_avx2(work) },
        // SAFETY: this CPU has these parts of AVX-512 where this backend is available.
        #[cfg(target_arch = "x86_64")]
        #[allow(unsafe_code)]
        (Backend::Avx512, 0..=2) => unsafe { on_avx512::<avx512::Pair, W>(work) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        #[allow(unsafe_code)]
        (Backend::Avx512, 3..) => unsafe { on_avx512::<avx512::Eight, W>(work) },
        _ => work.run::<u64>(),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn on_avx2<W: Hashing>(work: W) -> W::Output {
    work.run::<Avx2>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl")]
fn on_avx512<V: Words, W: Hashing>(work: W) -> W::Output {
    work.run::<V>()
}
