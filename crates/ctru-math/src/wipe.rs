//! Scratch memory that is wiped.

use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};

use crate::array::{Array, Element};

/// Overwrites `values` with zeros in a way that the compiler cannot remove.
///
/// The function fills pieces of 1024 bytes. For longer slices, `memset` uses string instructions,
/// which are slower here than vector instructions.
pub(crate) fn wipe<T: Element>(values: &mut [T]) {
    for piece in values.chunks_mut(1024 / size_of::<T>()) {
        piece.fill(T::default());
        zeroize::optimization_barrier(piece);
    }
}

/// An array that starts as zeros and is wiped when dropped.
#[repr(C, align(64))]
pub(crate) struct Scratch<T: Element, A: Array<T>> {
    array: A,
    element: PhantomData<T>,
}

impl<T: Element, A: Array<T>> Scratch<T, A> {
    pub(crate) fn new() -> Self {
        Self { array: A::zeroed(), element: PhantomData }
    }
}

impl<T: Element, A: Array<T>> Deref for Scratch<T, A> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        self.array.as_ref()
    }
}

impl<T: Element, A: Array<T>> DerefMut for Scratch<T, A> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.array.as_mut()
    }
}

impl<T: Element, A: Array<T>> Drop for Scratch<T, A> {
    fn drop(&mut self) {
        wipe(self.array.as_mut());
    }
}
