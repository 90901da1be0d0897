//! Chooses the vectors for the CPU and calls code that is compiled for them.

use ctru_math::backend::{self, Backend};

use super::Lanes;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
use super::simd128::Pair;
#[cfg(target_arch = "x86_64")]
use super::{avx2::Avx2, avx512};

/// Work on Keccak states.
pub(in crate::hash) trait Hashing {
    /// Does the work on one state after the other.
    fn one_by_one(self);

    /// Does the work on `V::STATES` interleaved states.
    ///
    /// `zero` is [`Lanes::zero`]. The implementation and all functions that it calls on vectors
    /// must be `#[inline(always)]`, so that they become part of one function that is compiled with
    /// the instructions of `V`.
    fn interleaved<V: Lanes>(self, zero: V);
}

/// A choice of vectors that this CPU has. The constructors [`in_use`](Self::in_use) and `of` choose
/// only backends that are available.
#[derive(Copy, Clone)]
pub(in crate::hash) struct Vectors {
    /// A backend that is available.
    backend: Backend,
}

impl Vectors {
    /// Returns the vectors of the backend in use, which is always available.
    #[inline]
    pub(in crate::hash) fn in_use() -> Self {
        Self { backend: backend::in_use() }
    }

    /// Returns the vectors of a backend, if it is available.
    #[cfg(test)]
    pub(in crate::hash) fn of(backend: Backend) -> Option<Self> {
        backend.is_available().then_some(Self { backend })
    }

    /// Returns the largest number of states that are interleaved.
    #[cfg(feature = "gpu")]
    pub(in crate::hash) fn states(self) -> usize {
        match self.backend {
            #[cfg(target_arch = "x86_64")]
            Backend::Avx2 => Avx2::STATES,
            #[cfg(target_arch = "x86_64")]
            Backend::Avx512 => avx512::Eight::STATES,
            _ => 1,
        }
    }

    /// Does the work with the vectors that are fastest for `states` states at the same time.
    ///
    /// [`crate::hash`] has the times. With simd128, the two states of a single decapsulation are
    /// not interleaved: 15 permutations of two states would take as long as 20 of one state.
    #[inline]
    pub(in crate::hash) fn run<W: Hashing>(self, states: usize, work: W) {
        match (self.backend, states) {
            #[cfg(target_arch = "x86_64")]
            (Backend::Avx2, 2..) => {
                // SAFETY: `backend` is available, so this CPU has AVX2.
                #[allow(unsafe_code)]
                unsafe {
                    on_avx2(work);
                }
            }
            #[cfg(target_arch = "x86_64")]
            (Backend::Avx512, 0..=2) => {
                // SAFETY: `backend` is available, so this CPU has AVX-512F and VL.
                #[allow(unsafe_code)]
                unsafe {
                    on_avx512::<avx512::Pair, W>(work);
                }
            }
            #[cfg(target_arch = "x86_64")]
            (Backend::Avx512, 3..) => {
                // SAFETY: `backend` is available, so this CPU has AVX-512F and VL.
                #[allow(unsafe_code)]
                unsafe {
                    on_avx512::<avx512::Eight, W>(work);
                }
            }
            #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
            (Backend::Simd128, 2..) => {
                // SAFETY: the target has the vectors of WebAssembly.
                #[allow(unsafe_code)]
                let zero = unsafe { Pair::zero() };
                work.interleaved(zero);
            }
            _ => work.one_by_one(),
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn on_avx2<W: Hashing>(work: W) {
    // SAFETY: this function runs only where the CPU has AVX2.
    #[allow(unsafe_code)]
    let zero = unsafe { Avx2::zero() };
    work.interleaved(zero);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl")]
fn on_avx512<V: Lanes, W: Hashing>(work: W) {
    // SAFETY: this function runs only where the CPU has AVX-512F and VL, and `V` is always a vector
    // of AVX-512.
    #[allow(unsafe_code)]
    let zero = unsafe { V::zero() };
    work.interleaved(zero);
}
