//! Fixed-size arrays behind one trait. A [`NtruPrimeRing`](crate::NtruPrimeRing) names its arrays
//! as associated types, because generic code cannot write `[T; R::N]`.

use core::array;

/// A value that an [`Array`] can hold: plain data that may cross threads.
pub trait Element: Copy + Default + Send + Sync + 'static {}
impl<T: Copy + Default + Send + Sync + 'static> Element for T {}

/// An array `[T; LEN]` whose length is known to the compiler but not to the generic code that uses
/// it.
pub trait Array<T: Element>: Copy + AsRef<[T]> + AsMut<[T]> + Send + Sync + 'static {
    /// Number of elements.
    const LEN: usize;

    /// Returns the array whose element `i` is `f(i)`.
    fn from_fn(f: impl FnMut(usize) -> T) -> Self;

    /// Returns the array of `T::default()`: zeros, for numbers.
    #[must_use]
    fn zeroed() -> Self;

    /// Returns the arrays that a slice consists of, and the elements after the last whole array.
    fn of_slice(slice: &[T]) -> (&[Self], &[T]);

    /// Returns the arrays that a slice consists of, and the elements after the last whole array,
    /// for writing.
    fn of_slice_mut(slice: &mut [T]) -> (&mut [Self], &mut [T]);
}

impl<T: Element, const N: usize> Array<T> for [T; N] {
    const LEN: usize = N;

    #[inline(always)]
    fn from_fn(f: impl FnMut(usize) -> T) -> Self {
        array::from_fn(f)
    }

    #[inline(always)]
    fn zeroed() -> Self {
        [T::default(); N]
    }

    fn of_slice(slice: &[T]) -> (&[Self], &[T]) {
        slice.as_chunks()
    }

    fn of_slice_mut(slice: &mut [T]) -> (&mut [Self], &mut [T]) {
        slice.as_chunks_mut()
    }
}
