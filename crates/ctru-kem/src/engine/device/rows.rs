//! Slices of keys and ciphertexts as the bytes that they are, so that a device can copy them whole.
#![allow(unsafe_code)]

use core::slice;

use crate::keys::{Ciphertext, DecapsulationKey, EncapsulationKey};
use crate::params::ParameterSet;

/// Bytes that come together.
#[cfg(target_arch = "x86_64")]
const CACHE_LINE: usize = 64;

/// A type that is `BYTES` bytes and nothing else.
///
/// # Safety
/// It is a transparent wrapper of an array of bytes.
pub(super) unsafe trait Row: Sized {
    const BYTES: usize;
}

/// A row that not every string of bytes is.
pub(super) trait Key: Row {
    /// A well-formed key that says nothing.
    fn placeholder() -> Self;
}

impl<P: ParameterSet> Key for EncapsulationKey<P> {
    fn placeholder() -> Self {
        Self::placeholder()
    }
}

impl<P: ParameterSet> Key for DecapsulationKey<P> {
    fn placeholder() -> Self {
        Self::placeholder()
    }
}

// SAFETY: `repr(transparent)` over the parameter set's array of bytes.
unsafe impl<P: ParameterSet> Row for EncapsulationKey<P> {
    const BYTES: usize = P::ENCAPSULATION_KEY_BYTES;
}
// SAFETY: as above.
unsafe impl<P: ParameterSet> Row for DecapsulationKey<P> {
    const BYTES: usize = P::DECAPSULATION_KEY_BYTES;
}
// SAFETY: as above.
unsafe impl<P: ParameterSet> Row for Ciphertext<P> {
    const BYTES: usize = P::CIPHERTEXT_BYTES;
}

/// The bytes of all rows, one behind the other.
pub(super) fn bytes<T: Row>(rows: &[T]) -> &[u8] {
    const { assert!(size_of::<T>() == T::BYTES && align_of::<T>() == 1) };
    // SAFETY: the rows have this many bytes together, all of them initialised, and are borrowed as long as the result.
    unsafe { slice::from_raw_parts(rows.as_ptr().cast(), size_of_val(rows)) }
}

/// The bytes of all ciphertexts, to be overwritten: any bytes are ciphertexts.
pub(super) fn bytes_mut<P: ParameterSet>(rows: &mut [Ciphertext<P>]) -> &mut [u8] {
    const {
        assert!(
            size_of::<Ciphertext<P>>() == P::CIPHERTEXT_BYTES && align_of::<Ciphertext<P>>() == 1
        )
    };
    // SAFETY: as above, and whatever bytes are written are ciphertexts.
    unsafe { slice::from_raw_parts_mut(rows.as_mut_ptr().cast(), size_of_val(rows)) }
}

/// Asks the processor for bytes that will be read or written soon, where it can be asked. What a device has just written is in no
/// cache, nor is what nobody has read for long, and a copy alone asks for little of the next row before it is there.
pub(super) fn prefetch(bytes: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    for line in bytes.chunks(CACHE_LINE) {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every x86-64 has the instruction, and the address is one of theirs.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = bytes;
}

/// Lets `write` overwrite the bytes of all keys with those of other keys. If that fails, all of them become placeholders: a key is
/// always well formed.
pub(super) fn overwrite<K: Key, E>(
    rows: &mut [K],
    write: impl FnOnce(&mut [u8]) -> Result<(), E>,
) -> Result<(), E> {
    // SAFETY: as above. Any bytes are memory-safe as a key, and those of a device that has not failed are keys.
    let bytes = unsafe { slice::from_raw_parts_mut(rows.as_mut_ptr().cast(), size_of_val(rows)) };
    let result = write(bytes);
    if result.is_err() {
        rows.fill_with(K::placeholder);
    }
    result
}
