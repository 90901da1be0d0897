//! Vectors of 16-bit integers: the one trait under the CPU's transforms and inversion, and its implementations, one
//! file each. Every operation is constant time and wraps.

mod modulus;
#[cfg(any(test, not(target_arch = "x86_64")))]
mod portable;
#[cfg(target_arch = "x86_64")]
mod sse2;

pub(crate) use modulus::{Factor, Modulus};

/// The widest implementation that every CPU of the target has: nothing here is detected at run time.
#[cfg(target_arch = "x86_64")]
pub(crate) type Baseline = sse2::Sse2;
#[cfg(not(target_arch = "x86_64"))]
pub(crate) type Baseline = portable::Portable;

/// The vector instructions that the arithmetic of this build uses: what records of measurements name.
#[must_use]
pub const fn backend() -> &'static str {
    if cfg!(target_arch = "x86_64") { "sse2" } else { "portable" }
}

/// A vector of `LANES` signed 16-bit integers.
pub(crate) trait Lanes: Copy {
    /// Integers in a vector.
    const LANES: usize;

    /// All lanes `x`.
    fn splat(x: i16) -> Self;
    /// The first `LANES` elements of `x`, which has at least as many.
    fn load(x: &[i16]) -> Self;
    /// Writes to the first `LANES` elements of `x`, which has at least as many.
    fn store(self, x: &mut [i16]);

    /// Lane-wise sum modulo 2^16.
    fn add(self, y: Self) -> Self;
    /// Lane-wise difference modulo 2^16.
    fn sub(self, y: Self) -> Self;
    /// Low half of the lane-wise product.
    fn mul_low(self, y: Self) -> Self;
    /// High half of the lane-wise signed product: `floor(x y / 2^16)`.
    fn mul_high(self, y: Self) -> Self;
    /// Lane-wise arithmetic shift right.
    fn shift_right<const BITS: i32>(self) -> Self;
    /// Lane-wise and.
    fn and(self, y: Self) -> Self;
    /// Lane-wise exclusive or.
    fn xor(self, y: Self) -> Self;
    /// All ones where `self > y`, zeros elsewhere.
    fn greater_than(self, y: Self) -> Self;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `Baseline` and `Portable` agree on every operation over all pairs of edge values and a pseudo-random walk.
    #[test]
    fn baseline_equals_portable() {
        let edges =
            [0, 1, -1, 2, 255, -256, 4591, 16384, -16384, i16::MAX, i16::MAX - 1, i16::MIN, i16::MIN + 1];
        let mut state = 1u32;
        let mut inputs = [0i16; 256];
        for (i, x) in inputs.iter_mut().enumerate() {
            state = state.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
            *x = if i < edges.len() { edges[i] } else { (state >> 16) as i16 };
        }
        for rotation in 0..256 {
            let mut other = inputs;
            other.rotate_left(rotation);
            for (x, y) in inputs.chunks_exact(16).zip(other.chunks_exact(16)) {
                assert_eq!(all_operations::<Baseline>(x, y), all_operations::<portable::Portable>(x, y));
            }
        }
    }

    fn all_operations<V: Lanes>(x: &[i16], y: &[i16]) -> [[i16; 16]; 9] {
        let mut results = [[0; 16]; 9];
        for start in (0..16).step_by(V::LANES) {
            let (a, b) = (V::load(&x[start..]), V::load(&y[start..]));
            let values = [
                a.add(b),
                a.sub(b),
                a.mul_low(b),
                a.mul_high(b),
                a.shift_right::<11>(),
                a.shift_right::<15>(),
                a.and(b),
                a.xor(V::splat(y[start])),
                a.greater_than(b),
            ];
            for (value, result) in values.iter().zip(&mut results) {
                value.store(&mut result[start..]);
            }
        }
        results
    }
}
