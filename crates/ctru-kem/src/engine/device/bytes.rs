//! Slices of keys and ciphertexts as bytes, which a device copies as a whole.
#![allow(unsafe_code)]

use core::slice;

use crate::keys::{Ciphertext, DecapsulationKey, EncapsulationKey};
use crate::params::ParameterSet;

/// A type that consists of `BYTES` bytes.
///
/// # Safety
/// The type is a transparent wrapper of an array of `BYTES` bytes, and any bytes are a value of it
/// as far as the compiler is concerned: no unsafe code relies on their content.
pub(super) unsafe trait Row: Sized {
    const BYTES: usize;
}

// SAFETY: it is `repr(transparent)` over the array of bytes of the parameter set. Operations on
// bytes that are no key may panic, but are memory-safe.
unsafe impl<P: ParameterSet> Row for EncapsulationKey<P> {
    const BYTES: usize = P::ENCAPSULATION_KEY_BYTES;
}
// SAFETY: it is `repr(transparent)` over the array of bytes of the parameter set. Operations on
// bytes that are no key may panic, but are memory-safe.
unsafe impl<P: ParameterSet> Row for DecapsulationKey<P> {
    const BYTES: usize = P::DECAPSULATION_KEY_BYTES;
}
// SAFETY: it is `repr(transparent)` over the array of bytes of the parameter set, and any bytes are
// a ciphertext.
unsafe impl<P: ParameterSet> Row for Ciphertext<P> {
    const BYTES: usize = P::CIPHERTEXT_BYTES;
}

/// Returns the bytes of all elements, one element after the other.
pub(super) fn bytes<T: Row>(rows: &[T]) -> &[u8] {
    const { assert!(size_of::<T>() == T::BYTES && align_of::<T>() == 1) };
    // SAFETY: the elements have this many bytes together, all initialised, and are borrowed as long
    // as the result.
    unsafe { slice::from_raw_parts(rows.as_ptr().cast(), size_of_val(rows)) }
}

/// Returns the bytes of all elements, to be overwritten. Whoever overwrites keys writes whole keys
/// or placeholders: a key is always well formed.
pub(super) fn bytes_mut<T: Row>(rows: &mut [T]) -> &mut [u8] {
    const { assert!(size_of::<T>() == T::BYTES && align_of::<T>() == 1) };
    // SAFETY: the elements have this many bytes together, all initialised, and are borrowed
    // exclusively as long as the result. Any bytes that are written are values of the type.
    unsafe { slice::from_raw_parts_mut(rows.as_mut_ptr().cast(), size_of_val(rows)) }
}

/// Asks the processor to load bytes into its caches, where it has an instruction for that.
pub(super) fn prefetch(bytes: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

        /// Bytes that are loaded together.
        const CACHE_LINE: usize = 64;
        for line in bytes.chunks(CACHE_LINE) {
            // SAFETY: every x86-64 processor has the instruction, and the address is valid.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = bytes;
}
