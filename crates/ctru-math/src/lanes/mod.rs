//! Vectors of 16-bit integers: the one trait under the CPU's transforms and inversion, and its implementations, one
//! file each. Every operation is constant time and wraps.
//!
//! The module is private, because [`BACKEND`](Lanes::BACKEND) tells unsafe code which instructions
//! the CPU has. No other crate may say so:
//!
//! ```compile_fail,E0603
//! use ctru_math::lanes::Lanes;
//! ```

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(test)]
mod checked;
mod dispatch;
mod modulus;
#[cfg(all(target_arch = "aarch64", target_endian = "little", target_feature = "neon"))]
mod neon;
mod portable;
#[cfg(target_arch = "x86_64")]
mod sse2;
#[cfg(target_arch = "x86_64")]
mod transpose;

#[cfg(test)]
pub(crate) use checked::Checked;
pub(crate) use dispatch::dispatch_to;
pub(crate) use dispatch::{Vectorised, dispatch};
pub(crate) use modulus::{Factor, LaneModulus, Modulus};
pub(crate) use portable::Portable;

use crate::backend::Backend;

/// A vector of `LANES` signed 16-bit integers. Its halves are its lower and its upper `LANES / 2` lanes.
///
/// The factors of a product that is rounded, or of which the high half is taken, are not both -2^15: backends do not agree
/// on that product.
pub(crate) trait Lanes: Copy {
    /// The backend of these vectors. Code for it may use all instructions that [`Backend`] names for it.
    const BACKEND: Backend;
    /// Integers in a vector: 8, 16 or 32.
    const LANES: usize;
    /// A signed 32-bit integer for each lane: a sum of products.
    type Sums: Copy;

    /// All lanes `x`.
    fn splat(x: i16) -> Self;
    /// The lower half `low`, the upper half `high`.
    fn halves(low: i16, high: i16) -> Self;
    /// The first `LANES` elements of `x`, which has at least as many.
    fn load(x: &[i16]) -> Self;
    /// The first `LANES / 2` elements of `x`, which has at least as many, modulo 2^16, in both halves.
    fn load_twice(x: &[u16]) -> Self;
    /// The first `LANES / 2` elements of `x`, which has at least as many, in both halves.
    fn load_twice_bytes(x: &[i8]) -> Self;
    /// Writes to the first `LANES` elements of `x`, which has at least as many.
    fn store(self, x: &mut [i16]);
    /// Writes to the first `LANES` elements of `x`, which has at least as many, the lanes modulo 2^16.
    fn store_unsigned(self, x: &mut [u16]);
    /// Writes the halves to the first `LANES / 2` elements of `low` and `high`, which have at least as many.
    fn store_halves(self, low: &mut [i16], high: &mut [i16]);
    /// Transposes the two square matrices in the halves of `LANES / 2` vectors: `HALF` has to be that number.
    fn transpose<const HALF: usize>(rows: &mut [Self; HALF]);

    /// Lane-wise sum modulo 2^16.
    fn add(self, y: Self) -> Self;
    /// Lane-wise difference modulo 2^16.
    fn sub(self, y: Self) -> Self;
    /// Low half of the lane-wise product.
    fn mul_low(self, y: Self) -> Self;
    /// High half of the lane-wise signed product: `floor(x y / 2^16)`.
    fn mul_high(self, y: Self) -> Self;
    /// `self.mul_high(x) - y.mul_high(z)`, where the products have equal low halves: what is left of both together is a
    /// multiple of 2^16.
    #[inline(always)]
    fn mul_high_difference(self, x: Self, y: Self, z: Self) -> Self {
        self.mul_high(x).sub(y.mul_high(z))
    }
    /// The lane-wise signed product over `2^15`, rounded: `floor(x y / 2^15 + 1/2)`.
    fn mul_round(self, y: Self) -> Self;
    /// The lane-wise minimum of unsigned integers.
    fn min_unsigned(self, y: Self) -> Self;
    /// Sums of nothing.
    fn no_sums() -> Self::Sums;
    /// `sums + a[0] b[0] + a[1] b[1]`, lane by lane, modulo 2^32.
    fn add_products(sums: Self::Sums, a: [Self; 2], b: [Self; 2]) -> Self::Sums;
    /// The low and the high halves of sums.
    fn split(sums: Self::Sums) -> [Self; 2];
    /// Lane-wise arithmetic shift right.
    fn shift_right<const BITS: i32>(self) -> Self;
    /// Lane-wise and.
    fn and(self, y: Self) -> Self;
    /// Lane-wise exclusive or.
    fn xor(self, y: Self) -> Self;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend;

    const MOST_LANES: usize = 32;
    const OPERATIONS: usize = 13;

    /// All operations on all backends agree over pairs of edge values and a pseudo-random walk.
    #[test]
    fn every_backend_equals_portable() {
        let edges = [
            0,
            1,
            -1,
            2,
            255,
            -256,
            4591,
            16384,
            -16384,
            i16::MAX,
            i16::MAX - 1,
            i16::MIN,
            i16::MIN + 1,
        ];
        let mut state = 1u32;
        let mut inputs = [0i16; 256];
        for (i, x) in inputs.iter_mut().enumerate() {
            state = state.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
            *x = if i < edges.len() { edges[i] } else { (state >> 16) as i16 };
        }
        for rotation in 0..256 {
            let mut other = inputs;
            other.rotate_left(rotation);
            // The product that backends do not agree on.
            for (x, y) in inputs.iter().zip(&mut other) {
                *y += i16::from((*x, *y) == (i16::MIN, i16::MIN));
            }
            for (x, y) in inputs.chunks_exact(MOST_LANES).zip(other.chunks_exact(MOST_LANES)) {
                let expected = AllOperations(x, y).run::<Portable>();
                for backend in backend::available() {
                    assert_eq!(dispatch_to(backend, AllOperations(x, y)), expected, "{backend}");
                }
            }
        }
    }

    struct AllOperations<'a>(&'a [i16], &'a [i16]);

    impl Vectorised for AllOperations<'_> {
        type Output = [[i16; MOST_LANES]; OPERATIONS];

        #[inline(always)]
        fn run<V: Lanes>(self) -> Self::Output {
            let Self(x, y) = self;
            let mut results = [[0; MOST_LANES]; OPERATIONS];
            for start in (0..MOST_LANES).step_by(V::LANES) {
                let (a, b) = (V::load(&x[start..]), V::load(&y[start..]));
                let own_inverse = V::splat(i16::MAX);
                let sums = V::add_products(V::no_sums(), [a, b], [a, b]);
                let [low, high] = V::split(V::add_products(sums, [a, b], [b, V::splat(y[1])]));
                let values = [
                    a.add(b),
                    a.sub(b),
                    a.mul_low(b),
                    a.mul_high(b),
                    a.mul_high_difference(b, a.mul_low(b).mul_low(own_inverse), own_inverse),
                    a.shift_right::<11>(),
                    a.shift_right::<15>(),
                    a.and(b),
                    a.xor(V::splat(y[0])),
                    a.mul_round(b),
                    a.min_unsigned(b),
                    low,
                    high,
                ];
                for (value, result) in values.iter().zip(&mut results) {
                    value.store(&mut result[start..]);
                }
            }
            results
        }
    }

    /// Two matrices in the halves, transposed; then two numbers and the first row twice.
    struct Layout<'a>(&'a [i16]);

    impl Vectorised for Layout<'_> {
        type Output = ();

        #[inline(always)]
        fn run<V: Lanes>(self) {
            match V::LANES / 2 {
                4 => self.check::<V, 4>(),
                8 => self.check::<V, 8>(),
                half => {
                    assert_eq!(half, 16);
                    self.check::<V, 16>();
                }
            }
        }
    }

    impl Layout<'_> {
        #[inline(always)]
        fn check<V: Lanes, const HALF: usize>(self) {
            let mut rows: [V; HALF] = core::array::from_fn(|i| V::load(&self.0[2 * HALF * i..]));
            V::transpose(&mut rows);
            let (mut low, mut high) = ([0; HALF], [0; HALF]);
            for (i, row) in rows.into_iter().enumerate() {
                row.store_halves(&mut low, &mut high);
                for j in 0..HALF {
                    let at = 2 * HALF * j + i;
                    assert_eq!((low[j], high[j]), (self.0[at], self.0[at + HALF]));
                }
            }
            let mut stored = [0; MOST_LANES];
            V::load(&self.0[1..]).store_unsigned(&mut stored);
            assert!(stored[..2 * HALF].iter().zip(1..).all(|(&x, expected)| x == expected));
            let words: [u16; HALF] = core::array::from_fn(|i| 0xfffe - i as u16);
            V::load_twice(&words).store_halves(&mut low, &mut high);
            assert!(low == high && low == words.map(|x| x as i16));
            let bytes: [i8; HALF] = core::array::from_fn(|i| -3 - i as i8);
            V::load_twice_bytes(&bytes).store_halves(&mut low, &mut high);
            assert!(low == high && low == bytes.map(i16::from));
            V::halves(-3, 5).store_halves(&mut low, &mut high);
            assert!(low == [-3; HALF] && high == [5; HALF]);
        }
    }

    #[test]
    fn halves_and_transposition_on_every_backend() {
        let numbers: [i16; 512] = core::array::from_fn(|i| i as i16);
        for backend in backend::available() {
            dispatch_to(backend, Layout(&numbers));
        }
    }
}
