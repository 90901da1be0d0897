//! The shape of a ring's transforms.

use crate::array::Array;
use crate::ring::Ring;

/// Transforms of `degree << layers` coefficients: radix-2 layers above leaves of a degree.
#[derive(Copy, Clone)]
pub(super) struct Shape {
    pub(super) layers: usize,
    pub(super) degree: usize,
    /// Coefficients of a plain product beyond the transform's length, which come out added to the lowest ones.
    pub(super) wrapped: usize,
}

impl Shape {
    pub(super) const fn of<R: Ring>() -> Self {
        let room = <R::Padded<i16> as Array<i16>>::LEN;
        let layers = if room.is_multiple_of(512) { 9 } else { 8 };
        let degree = room >> layers;
        Self { layers, degree, wrapped: (2 * R::N - 1).saturating_sub(degree << layers) }
    }

    /// Coefficients of a transform.
    pub(super) const fn length(self) -> usize {
        self.degree << self.layers
    }
}
