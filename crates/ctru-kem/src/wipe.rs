//! Wipes memory that held secrets.

use core::ops::{Deref, DerefMut};

use ctru_math::array::Array;

/// Overwrites `values` with `zero`. The compiler can use whole vectors, but cannot omit the writes.
#[inline(always)]
pub(crate) fn wipe<T: Copy>(values: &mut [T], zero: T) {
    values.fill(zero);
    zeroize::optimization_barrier(values);
}

/// Bytes of the stack below a function that packs or unpacks secret polynomials, which hold what
/// these calls have spilled. On a thread of an engine, values of other crates that nobody
/// initialises, such as the bags of `crossbeam-epoch`, would carry it to the heap: tests/heap has
/// found 16 bytes of `f`, and finds none with this number of bytes.
pub(crate) const SPILLED: usize = 2 << 10;

/// Overwrites `BYTES` bytes of the stack below the caller's frame, where the calls that it has made
/// before had their frames.
///
/// The compiler spills registers, and the crates that hash move states by value. Both leave copies
/// of secrets that no variable owns any more.
#[inline(never)]
pub(crate) fn wipe_stack<const BYTES: usize>() {
    wipe(&mut [0u8; BYTES], 0);
}

/// Calls `work`, and then overwrites `BYTES` bytes of the stack, which must be at least as many as
/// `work` uses. They may hold spilled registers, and copies that moves of keys and shared secrets
/// have left.
pub fn wiping_the_stack<const BYTES: usize, T>(work: impl FnOnce() -> T) -> T {
    // If this were inlined, the frame of `work` would not be below that of this function.
    #[inline(never)]
    fn call<T>(work: impl FnOnce() -> T) -> T {
        work()
    }
    let result = call(work);
    wipe_stack::<BYTES>();
    result
}

/// Secret bytes, wiped when dropped.
///
/// A move may leave a copy that nothing wipes. So functions write secrets to a place that the
/// caller has made with [`zeroed`](Self::zeroed), and do not return them.
pub(crate) struct Secret<A: Array<u8>>(A);

impl<A: Array<u8>> Secret<A> {
    pub(crate) fn zeroed() -> Self {
        Self(A::zeroed())
    }

    /// Replaces the secret by a copy of `bytes`.
    ///
    /// # Panics
    /// If the number of bytes differs from the length of the array.
    pub(crate) fn copy_from(&mut self, bytes: &[u8]) {
        self.0.as_mut().copy_from_slice(bytes);
    }
}

impl<A: Array<u8>> Deref for Secret<A> {
    type Target = A;
    fn deref(&self) -> &A {
        &self.0
    }
}

impl<A: Array<u8>> DerefMut for Secret<A> {
    fn deref_mut(&mut self) -> &mut A {
        &mut self.0
    }
}

impl<A: Array<u8>> Drop for Secret<A> {
    fn drop(&mut self) {
        wipe(self.0.as_mut(), 0);
    }
}
