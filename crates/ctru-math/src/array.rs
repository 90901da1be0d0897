//! Fixed-size arrays behind one trait. A [`Ring`](crate::Ring) names its arrays as associated
//! types, because generic code cannot write `[T; R::N]`.

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
}
