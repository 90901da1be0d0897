//! Vectors of 16-bit integers, behind traits that every backend implements.
//!
//! A [`Simd`] is a token: it proves that the CPU has the instructions of a backend, and only the
//! module [`backend`](crate::backend) makes one. Only a token makes a [`Vector`], so a vector
//! proves the same. [`Sums`] holds sums of products in 32 bits. All operations run in constant
//! time.
//!
//! [`WithSimd`] is work that is written once for all backends; [`dispatch`] runs it.

mod arch;
// All proofs are for x86-64: they need ctru-tests, which CI does not build for Arm.
#[cfg(all(test, target_arch = "x86_64"))]
mod checked;
mod dispatch;
mod modulus;
#[cfg(all(test, target_arch = "x86_64"))]
mod proofs;
#[cfg(all(test, target_arch = "x86_64"))]
mod ranges;

#[cfg(all(test, target_arch = "x86_64"))]
pub(crate) use checked::Checked;
pub(crate) use dispatch::{WithSimd, dispatch, dispatch_to};
pub(crate) use modulus::{LaneModulus, Modulus, Twiddle};
#[cfg(all(test, target_arch = "x86_64"))]
pub(crate) use ranges::{Ranges, traced};

/// A token which proves that the CPU has the instructions of a backend.
pub(crate) trait Simd: Copy {
    /// Integers in a vector: 8, 16 or 32.
    const LANES: usize;
    /// Integers in half a vector.
    const HALF: usize = Self::LANES / 2;
    /// The type of the backend's vectors.
    type Vector: Vector;

    /// Does the work in a function of its own, which is compiled with the backend's instructions,
    /// so that its machine code is there once for each backend. Where callers are compiled with the
    /// same instructions, `inline(never)` makes this function.
    fn vectorize<W: WithSimd>(self, work: W) -> W::Output;

    /// Returns this token if it is the token of AVX-512.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn avx512(self) -> Option<crate::backend::Avx512> {
        None
    }

    /// Returns the vector with `x` in all lanes.
    fn splat(self, x: i16) -> Self::Vector;
    /// Returns the vector with `low` in the lower half of the lanes and `high` in the upper half.
    fn halves(self, low: i16, high: i16) -> Self::Vector;
    /// Loads the first `LANES` elements of `x`. Panics if `x` is shorter.
    fn load(self, x: &[i16]) -> Self::Vector;
    /// Loads the first `HALF` elements of `x`, modulo 2^16, to both halves. Panics if `x` is
    /// shorter.
    fn load_twice(self, x: &[u16]) -> Self::Vector;
    /// Loads the first `HALF` elements of `x` to both halves. Panics if `x` is shorter.
    fn load_twice_bytes(self, x: &[i8]) -> Self::Vector;
    /// Returns sums that are zero.
    fn no_sums(self) -> <Self::Vector as Vector>::Sums;
}

/// A vector of signed 16-bit integers, made by a token. All arithmetic is lane by lane.
///
/// Backends disagree on the results of `mul_high`, `mul_high_difference` and `mul_round` where both
/// factors are -2^15. Callers never multiply these two numbers.
pub(crate) trait Vector: Copy {
    /// A signed 32-bit integer for each lane.
    type Sums: Sums<Vector = Self>;

    /// Writes the first `LANES` elements of `to`. Panics if `to` is shorter.
    fn store(self, to: &mut [i16]);
    /// Writes the first `LANES` elements of `to`, modulo 2^16. Panics if `to` is shorter.
    fn store_unsigned(self, to: &mut [u16]);
    /// Writes the halves to the first `HALF` elements of `low` and `high`. Panics if one is
    /// shorter.
    fn store_halves(self, low: &mut [i16], high: &mut [i16]);
    /// Transposes the two square matrices in the halves of the first `HALF` rows. Panics if there
    /// are fewer rows.
    fn transpose(rows: &mut [Self]);

    /// Returns the sum modulo 2^16.
    fn add(self, y: Self) -> Self;
    /// Returns the difference modulo 2^16.
    fn sub(self, y: Self) -> Self;
    /// Returns the low half of the product.
    fn mul_low(self, y: Self) -> Self;
    /// Returns the high half of the signed product, `floor(x y / 2^16)`.
    fn mul_high(self, y: Self) -> Self;
    /// Returns `self.mul_high(x) - y.mul_high(z)` for products with equal low halves.
    #[inline(always)]
    fn mul_high_difference(self, x: Self, y: Self, z: Self) -> Self {
        self.mul_high(x).sub(y.mul_high(z))
    }
    /// Returns the signed product over `2^15`, rounded: `floor(x y / 2^15 + 1/2)`.
    fn mul_round(self, y: Self) -> Self;
    /// Returns the minimum of unsigned integers.
    fn min_unsigned(self, y: Self) -> Self;
    /// Returns the bitwise conjunction.
    fn and(self, y: Self) -> Self;
    /// Returns the bitwise exclusive disjunction.
    fn xor(self, y: Self) -> Self;
    /// Returns the bitwise disjunction.
    fn or(self, y: Self) -> Self;
    /// Returns the lanes of `x` where `self` is -1, and those of `y` where it is 0. Callers pass no
    /// other masks.
    #[inline(always)]
    fn select(self, x: Self, y: Self) -> Self {
        y.xor(self.and(x.xor(y)))
    }
    /// Moves each lane to the place of the one before, and lane 0 to the last place.
    fn lanes_down(self) -> Self;
    /// Moves each lane to the place of the next one, and the last lane to place 0.
    fn lanes_up(self) -> Self;
}

/// Sums of products, one signed 32-bit integer for each lane of a vector.
pub(crate) trait Sums: Copy {
    /// The type of the vectors whose products are added.
    type Vector: Copy;

    /// Adds `a[0] b[0] + a[1] b[1]`, modulo 2^32.
    fn add_products(self, a: [Self::Vector; 2], b: [Self::Vector; 2]) -> Self;
    /// Returns the low and the high halves.
    fn split(self) -> [Self::Vector; 2];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::{self, Portable};

    const MOST_LANES: usize = 32;
    const OPERATIONS: usize = 13;

    /// Checks that all backends give the same results, for pairs of edge values and pseudo-random
    /// numbers.
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
            // Avoids the product on which backends disagree.
            for (x, y) in inputs.iter().zip(&mut other) {
                *y += i16::from((*x, *y) == (i16::MIN, i16::MIN));
            }
            for (x, y) in inputs.chunks_exact(MOST_LANES).zip(other.chunks_exact(MOST_LANES)) {
                let expected = AllOperations(x, y).with_simd(Portable);
                for backend in backend::available() {
                    assert_eq!(dispatch_to(backend, AllOperations(x, y)), expected, "{backend}");
                }
            }
        }
    }

    struct AllOperations<'a>(&'a [i16], &'a [i16]);

    impl WithSimd for AllOperations<'_> {
        type Output = [[i16; MOST_LANES]; OPERATIONS];

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
            let Self(x, y) = self;
            let mut results = [[0; MOST_LANES]; OPERATIONS];
            for start in (0..MOST_LANES).step_by(S::LANES) {
                let (a, b) = (simd.load(&x[start..]), simd.load(&y[start..]));
                let own_inverse = simd.splat(i16::MAX);
                let sums = simd.no_sums().add_products([a, b], [a, b]);
                let [low, high] = sums.add_products([a, b], [b, simd.splat(y[1])]).split();
                let values = [
                    a.add(b),
                    a.sub(b),
                    a.mul_low(b),
                    a.mul_high(b),
                    a.mul_high_difference(b, a.mul_low(b).mul_low(own_inverse), own_inverse),
                    a.and(b),
                    a.xor(simd.splat(y[0])),
                    a.or(b),
                    a.mul_high(simd.splat(1)).select(b, simd.splat(y[0])),
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

    /// Checks the operations that load, store and arrange lanes.
    struct Layout<'a>(&'a [i16]);

    impl WithSimd for Layout<'_> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) {
            match S::HALF {
                4 => self.check::<S, 4>(simd),
                8 => self.check::<S, 8>(simd),
                half => {
                    assert_eq!(half, 16);
                    self.check::<S, 16>(simd);
                }
            }
        }
    }

    impl Layout<'_> {
        #[inline(always)]
        fn check<S: Simd, const HALF: usize>(self, simd: S) {
            let mut rows: [S::Vector; HALF] =
                core::array::from_fn(|i| simd.load(&self.0[2 * HALF * i..]));
            Vector::transpose(&mut rows);
            let (mut down, mut up) = ([0; MOST_LANES], [0; MOST_LANES]);
            simd.load(self.0).lanes_down().store(&mut down);
            simd.load(self.0).lanes_up().store(&mut up);
            for (i, &value) in down.iter().enumerate().take(S::LANES) {
                let next = (i + 1) % S::LANES;
                assert_eq!((value, up[next]), (self.0[next], self.0[i]));
            }
            let (mut low, mut high) = ([0; HALF], [0; HALF]);
            for (i, row) in rows.into_iter().enumerate() {
                row.store_halves(&mut low, &mut high);
                for j in 0..HALF {
                    let at = 2 * HALF * j + i;
                    assert_eq!((low[j], high[j]), (self.0[at], self.0[at + HALF]));
                }
            }
            let mut stored = [0; MOST_LANES];
            simd.load(&self.0[1..]).store_unsigned(&mut stored);
            assert!(stored[..2 * HALF].iter().zip(1..).all(|(&x, expected)| x == expected));
            let words: [u16; HALF] = core::array::from_fn(|i| 0xfffe - i as u16);
            simd.load_twice(&words).store_halves(&mut low, &mut high);
            assert!(low == high && low == words.map(|x| x as i16));
            let bytes: [i8; HALF] = core::array::from_fn(|i| -3 - i as i8);
            simd.load_twice_bytes(&bytes).store_halves(&mut low, &mut high);
            assert!(low == high && low == bytes.map(i16::from));
            simd.halves(-3, 5).store_halves(&mut low, &mut high);
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
