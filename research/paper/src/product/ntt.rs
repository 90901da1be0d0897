//! Products in the ring by the incomplete NTT, one block per product. All intermediate values stay
//! in registers and shared memory.
//!
//! A thread holds 8 coefficients in registers and applies three radix-2 layers to them before the
//! threads exchange their coefficients.
//!
//! Source: CTRU-Prime paper, section 3.1.2.

use core::array;
use core::marker::PhantomData;

use ctru_math::array::Array;
use ctru_math::kernel::modular::centre;
use research_arithmetic::ntt::{Multiplying, NttRing, butterfly, leaf_operand};
use research_arithmetic::reduce::Reducer;

use ctru_gpu_kernels::descriptor::{Batch, Shape};
use ctru_gpu_kernels::kernels::row;
use ctru_gpu_kernels::simt::Simt;

/// Number of coefficients that a thread holds.
const HELD: u32 = 8;
/// Number of layers that a thread applies to the coefficients that it holds.
const FUSED: u32 = 3;

/// Returns the block shape: one product per block, one thread per 8 coefficients of a transform.
#[must_use]
pub const fn shape<R: NttRing<Multiplying>>() -> Shape {
    let len = R::NTT_LEN as u32;
    Shape::new(len / HELD, 1, 2 * 4 * len)
}

/// Computes `product = large * small` in `R_q`.
///
/// Threads: one block per product, one thread per 8 coefficients of a transform.
/// Shared memory: two transforms of 32-bit residues.
/// Arrays: `large`, in `0..q`, one row per operation or one shared row; `small`, signed bytes in
/// `-eta..=eta`; `product`, in `0..q`.
/// Source: CTRU-Prime paper, section 3.1.2.
#[inline(always)]
pub fn multiply_sampled<S: Simt, R: NttRing<Multiplying>>(
    s: S,
    large: S::Global<u16>,
    small: S::Global<u8>,
    product: S::Global<u16>,
    batch: Batch,
) {
    multiply_sampled_by::<S, R, Multiplying>(s, large, small, product, batch);
}

/// Computes the product of [`multiply_sampled`] with the arithmetic `A` of
/// [`research_arithmetic::ntt`].
#[inline(always)]
pub fn multiply_sampled_by<S: Simt, R: NttRing<A>, A: Copy>(
    s: S,
    large: S::Global<u16>,
    small: S::Global<u8>,
    product: S::Global<u16>,
    batch: Batch,
) {
    let operation = s.block();
    let folded = |x: i32| {
        let reduced = R::CoefficientReducer::normalise(x);
        R::CoefficientReducer::canonical(reduced) as u16
    };
    Transforms::<S, R, A>::new(s).multiply(
        |i| centre(s.load(large, batch.row(operation) * row::<R>() + i), R::Q),
        |i| i32::from(s.load(small, operation * row::<R>() + i) as i8),
        |i, x| s.store(product, operation * row::<R>() + i, folded(x)),
    );
}

/// Computes `product = large * small` modulo `q2`.
///
/// Threads and shared memory: as for [`multiply_sampled`].
/// Arrays: `large`, in `0..q2`; `small`, small polynomials as signed bytes, one row per operation
/// or one shared row; `product`, in `0..q2`.
/// Source: CTRU-Prime paper, section 3.1.2.
#[inline(always)]
pub fn multiply_rounded<S: Simt, R: NttRing<Multiplying>>(
    s: S,
    large: S::Global<u16>,
    small: S::Global<u8>,
    product: S::Global<u16>,
    batch: Batch,
) {
    let operation = s.block();
    Transforms::<S, R, Multiplying>::new(s).multiply(
        |i| centre(s.load(large, operation * row::<R>() + i), R::Q2),
        |i| i32::from(s.load(small, batch.row(operation) * row::<R>() + i) as i8),
        |i, x| s.store(product, operation * row::<R>() + i, (x as u32 & (R::Q2 - 1)) as u16),
    );
}

/// Two transforms of `NTT_LEN` coefficients each in shared memory, the second one directly after
/// the first one, and this thread's work on them.
#[derive(Copy, Clone)]
struct Transforms<S, R, A> {
    s: S,
    ring: PhantomData<(R, A)>,
}

type Coefficients = [i32; HELD as usize];
type Factor<R, A> = <<R as NttRing<A>>::Butterfly as Reducer>::Factor;

impl<S: Simt, R: NttRing<A>, A: Copy> Transforms<S, R, A> {
    const LEN: u32 = R::NTT_LEN as u32;
    const LEAF: u32 = R::LEAF_DEGREE as u32;

    fn new(s: S) -> Self {
        Self { s, ring: PhantomData }
    }

    #[inline(always)]
    fn get(self, transform: u32, i: u32) -> i32 {
        self.s.load_shared::<u32>(4 * (transform * Self::LEN + i)) as i32
    }

    #[inline(always)]
    fn set(self, transform: u32, i: u32, value: i32) {
        self.s.store_shared::<u32>(4 * (transform * Self::LEN + i), value as u32);
    }

    /// Multiplies the polynomials with the coefficients `large(i)` and `small(i)`, `i < n`. Calls
    /// `output(i, c)` for each coefficient `c` of the product modulo `x^n - x - 1`, not reduced
    /// modulo `q`.
    #[inline(always)]
    fn multiply(
        self,
        large: impl Fn(u32) -> i32,
        small: impl Fn(u32) -> i32,
        output: impl Fn(u32, i32),
    ) {
        let s = self.s;
        self.first_pass(large, small);
        s.sync_block();
        self.forward_pass::<1>();
        s.sync_block();
        if R::RADIX2_LAYERS / FUSED > 2 {
            self.forward_pass::<2>();
            s.sync_block();
        }
        if let Some(radix3) = R::TWIDDLES.radix3 {
            let forward = |j, x| {
                butterfly::radix3::<R::Butterfly>(x, s.constant(radix3.forward, j), radix3.omega)
            };
            self.radix3(0, forward);
            self.radix3(1, forward);
            s.sync_block();
        }
        self.multiply_leaves();
        s.sync_block();
        if let Some(radix3) = R::TWIDDLES.radix3 {
            self.radix3(0, |j, x| {
                butterfly::radix3_inverse::<R::Butterfly>(
                    x,
                    s.constant(radix3.inverse, j),
                    radix3.omega,
                )
            });
            s.sync_block();
        }
        if R::RADIX2_LAYERS / FUSED > 2 {
            self.inverse_pass::<2>();
            s.sync_block();
        }
        self.inverse_pass::<1>();
        s.sync_block();
        self.inverse_pass::<0>();
        s.sync_block();
        let n = R::N as u32;
        let mut i = s.thread();
        while i < n {
            // x^n = x + 1, so coefficient n + k of the unreduced product is added to the
            // coefficients k and k + 1.
            let mut sum = self.get(0, i) + self.get(0, n + i);
            if i > 0 {
                sum += self.get(0, n + i - 1);
            }
            output(i, sum);
            i += s.threads();
        }
    }

    /// Returns the place of this thread's coefficients in pass `PASS`: the number of their block,
    /// the index of the first coefficient, and the distance between neighbours.
    #[inline(always)]
    fn place<const PASS: u32>(self) -> (u32, u32, u32) {
        let stride = Self::LEN >> (FUSED * (PASS + 1));
        let block = self.s.thread() / stride;
        (block, HELD * stride * block + self.s.thread() % stride, stride)
    }

    #[inline(always)]
    fn gather<const PASS: u32>(self, transform: u32) -> Coefficients {
        let (_, first, stride) = self.place::<PASS>();
        array::from_fn(|k| self.get(transform, first + k as u32 * stride))
    }

    #[inline(always)]
    fn scatter<const PASS: u32>(self, transform: u32, x: Coefficients) {
        let (_, first, stride) = self.place::<PASS>();
        // By reference, because an array that moves into an iterator leaves the registers.
        for (k, &x) in x.iter().enumerate() {
            self.set(transform, first + k as u32 * stride, x);
        }
    }

    /// Returns the twiddle factors of three successive layers. `block` is the block number in the
    /// first layer. The layers have one, two and four factors.
    #[inline(always)]
    fn factors(self, table: &'static [Factor<R, A>], block: u32) -> [Factor<R, A>; 7] {
        let factor = |index| self.s.constant(table, index);
        [
            factor(block),
            factor(2 * block),
            factor(2 * block + 1),
            factor(4 * block),
            factor(4 * block + 1),
            factor(4 * block + 2),
            factor(4 * block + 3),
        ]
    }

    /// Loads the coefficients of the operands and applies the first three layers. The upper half of
    /// each operand is zero.
    #[inline(always)]
    fn first_pass(self, large: impl Fn(u32) -> i32, small: impl Fn(u32) -> i32) {
        let (_, first, stride) = self.place::<0>();
        let z = self.factors(R::TWIDDLES.radix2, 0);
        let index = |k: usize| first + k as u32 * stride;
        let live = |k: usize| k < HELD as usize / 2 && index(k) < R::N as u32;
        let large: Coefficients = array::from_fn(|k| if live(k) { large(index(k)) } else { 0 });
        let small: Coefficients = array::from_fn(|k| if live(k) { small(index(k)) } else { 0 });
        self.scatter::<0>(0, forward_layers::<R, A>(large, z));
        self.scatter::<0>(1, forward_layers::<R, A>(small, z));
    }

    #[inline(always)]
    fn forward_pass<const PASS: u32>(self) {
        let z = self.factors(R::TWIDDLES.radix2, self.place::<PASS>().0);
        for transform in 0..2 {
            self.scatter::<PASS>(
                transform,
                forward_layers::<R, A>(self.gather::<PASS>(transform), z),
            );
        }
    }

    #[inline(always)]
    fn inverse_pass<const PASS: u32>(self) {
        let z = self.factors(R::TWIDDLES.radix2_inverse, self.place::<PASS>().0);
        let mut x = inverse_layers::<R, A, PASS>(self.gather::<PASS>(0), z);
        if PASS == 0 {
            x = x.map(|x| R::Butterfly::centred(R::Butterfly::mul(x, R::TWIDDLES.scale)));
        }
        self.scatter::<PASS>(0, x);
    }

    /// Applies a radix-3 butterfly to every triple of a transform. The butterfly receives the
    /// number of its block.
    #[inline(always)]
    fn radix3(self, transform: u32, butterfly: impl Fn(u32, [i32; 3]) -> [i32; 3]) {
        let mut triple = self.s.thread();
        while triple < Self::LEN / 3 {
            let block = triple / Self::LEAF;
            let first = 3 * Self::LEAF * block + triple % Self::LEAF;
            let x = array::from_fn(|k| self.get(transform, first + k as u32 * Self::LEAF));
            let x = butterfly(block, x);
            for (k, &x) in x.iter().enumerate() {
                self.set(transform, first + k as u32 * Self::LEAF, x);
            }
            triple += self.s.threads();
        }
    }

    /// Multiplies the two transforms leaf by leaf. The product replaces the first transform.
    #[inline(always)]
    fn multiply_leaves(self) {
        let mut leaf = self.s.thread();
        while leaf < R::LEAVES as u32 {
            let first = leaf * Self::LEAF;
            let a = R::Leaf::from_fn(|i| leaf_operand::<R, A>(self.get(0, first + i as u32), 2));
            let b = R::Leaf::from_fn(|i| leaf_operand::<R, A>(self.get(1, first + i as u32), 1));
            let product = R::leaf_product(a, b, self.s.constant(R::TWIDDLES.leaves, leaf));
            for (i, &x) in product.as_ref().iter().enumerate() {
                self.set(0, first + i as u32, x);
            }
            leaf += self.s.threads();
        }
    }
}

/// Applies three forward layers. `z` holds the factors in the order of [`Transforms::factors`].
#[inline(always)]
fn forward_layers<R: NttRing<A>, A>(x: Coefficients, z: [Factor<R, A>; 7]) -> Coefficients {
    let butterfly = butterfly::radix2::<R::Butterfly>;
    let x = layer::<R, A, 4>(x, [z[0]; 4], butterfly);
    let x = layer::<R, A, 2>(x, [z[1], z[2], z[1], z[2]], butterfly);
    layer::<R, A, 1>(x, [z[3], z[4], z[5], z[6]], butterfly)
}

/// Inverts [`forward_layers`] of pass `PASS` up to a factor of 8. `z` holds the inverse factors.
#[inline(always)]
fn inverse_layers<R: NttRing<A>, A, const PASS: u32>(
    x: Coefficients,
    z: [Factor<R, A>; 7],
) -> Coefficients {
    let butterfly = butterfly::radix2_inverse::<R::Butterfly>;
    let normalised = |x: Coefficients, layer| {
        if R::NORMALISE_BEFORE == Some(FUSED * PASS + layer) {
            x.map(R::Butterfly::normalise)
        } else {
            x
        }
    };
    let x = layer::<R, A, 1>(normalised(x, 2), [z[3], z[4], z[5], z[6]], butterfly);
    let x = layer::<R, A, 2>(normalised(x, 1), [z[1], z[2], z[1], z[2]], butterfly);
    layer::<R, A, 4>(normalised(x, 0), [z[0]; 4], butterfly)
}

/// Applies butterflies to pairs of numbers that are `HALF` apart. Block `j` of `2 HALF` numbers has
/// the factor `z[j]`.
#[inline(always)]
fn layer<R: NttRing<A>, A, const HALF: usize>(
    mut x: Coefficients,
    z: [Factor<R, A>; 4],
    butterfly: impl Fn(i32, i32, Factor<R, A>) -> (i32, i32),
) -> Coefficients {
    for low in 0..HELD as usize {
        if low & HALF == 0 {
            (x[low], x[low + HALF]) = butterfly(x[low], x[low + HALF], z[low / (2 * HALF)]);
        }
    }
    x
}
