//! From the backend in use to code compiled for it.

#[cfg(all(target_arch = "aarch64", target_endian = "little", target_feature = "neon"))]
use super::neon;
use super::{Lanes, Portable};
#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512, sse2};
use crate::backend::{self, Backend};

/// Work on vectors, written once for all backends.
///
/// `run` and everything it calls on vectors has to be `#[inline(always)]`: it becomes part of one function a backend
/// that is compiled with that backend's instructions, and what stays outside is compiled without.
pub(crate) trait Vectorised {
    /// What the work gives.
    type Output;
    /// Does it on vectors `V`.
    fn run<V: Lanes>(self) -> Self::Output;
}

/// Does the work on the backend in use.
#[inline]
pub(crate) fn dispatch<W: Vectorised>(work: W) -> W::Output {
    dispatch_to(backend::in_use(), work)
}

/// Does the work on `backend`, which has to be available.
#[inline]
pub(crate) fn dispatch_to<W: Vectorised>(backend: Backend, work: W) -> W::Output {
    match backend {
        #[cfg(all(target_arch = "aarch64", target_endian = "little", target_feature = "neon"))]
        Backend::Neon => work.run::<neon::Neon>(),
        #[cfg(target_arch = "x86_64")]
        Backend::Sse2 => work.run::<sse2::Sse2>(),
        // SAFETY: this CPU has AVX2 where this backend is available.
        #[cfg(target_arch = "x86_64")]
        #[allow(unsafe_code)]
        Backend::Avx2 => unsafe { on_avx2(work) },
        // SAFETY: this CPU has these parts of AVX-512 where this backend is available.
        #[cfg(target_arch = "x86_64")]
        #[allow(unsafe_code)]
        Backend::Avx512 => unsafe { on_avx512(work) },
        _ => work.run::<Portable>(),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn on_avx2<W: Vectorised>(work: W) -> W::Output {
    work.run::<avx2::Avx2>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2")]
fn on_avx512<W: Vectorised>(work: W) -> W::Output {
    work.run::<avx512::Avx512>()
}
