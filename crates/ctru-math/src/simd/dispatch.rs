//! The one way from a backend to code that is compiled for it.

use super::Simd;
use crate::backend::{self, Backend};
#[cfg(target_arch = "x86_64")]
use crate::backend::{Avx2, Avx512, Sse2};

/// Work on vectors, written once for all backends.
///
/// [`Simd::vectorize`] makes one function of the work for each backend, which is compiled with the
/// backend's instructions. `with_simd` and every function that it calls on vectors must be
/// `#[inline(always)]`, so that they become parts of this function. Code that stays outside is
/// compiled without these instructions, and an intrinsic or a closure that is not inlined costs a
/// call for each vector. Look at the machine code after a change.
///
/// A part that several works share is itself a work, which they pass to `vectorize`. It takes and
/// returns slices and references, no vectors.
///
/// In WebAssembly all functions are compiled with the same instructions. There, a few more large
/// functions are not inlined, so that each is in the module once: a module must be small.
pub(crate) trait WithSimd {
    /// The result.
    type Output;

    /// Does the work with the vectors of `simd`.
    fn with_simd<S: Simd>(self, simd: S) -> Self::Output;
}

/// Does the work on the backend in use.
#[inline]
pub(crate) fn dispatch<W: WithSimd>(work: W) -> W::Output {
    dispatch_to(backend::in_use(), work)
}

/// Does the work on `backend`, or on the portable backend if this CPU does not have `backend`.
#[inline]
pub(crate) fn dispatch_to<W: WithSimd>(backend: Backend, work: W) -> W::Output {
    // A build for one backend has no code for others.
    let backend = const { backend::FIXED }.unwrap_or(backend);
    #[cfg(target_arch = "x86_64")]
    {
        if backend == Backend::Avx512
            && let Some(simd) = Avx512::detect()
        {
            return simd.vectorize(work);
        }
        if backend == Backend::Avx2
            && let Some(simd) = Avx2::detect()
        {
            return simd.vectorize(work);
        }
        if backend == Backend::Sse2 {
            return Sse2::of_target().vectorize(work);
        }
    }
    #[cfg(all(target_arch = "aarch64", target_endian = "little", target_feature = "neon"))]
    if backend == Backend::Neon {
        return backend::Neon::of_target().vectorize(work);
    }
    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    if backend == Backend::Simd128 {
        return backend::Simd128::of_target().vectorize(work);
    }
    let _ = backend;
    backend::Portable.vectorize(work)
}
