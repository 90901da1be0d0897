//! Products in the ring by the incomplete NTT, one block a product, everything between in shared memory.
//!
//! A thread holds 8 coefficients in registers and does three radix-2 layers on them before it exchanges them with the
//! others. Source: CTRU-Prime paper, sections 3.1 and 4.1 (layer fusion).

use core::marker::PhantomData;

use ctru_math::array::Array;
use ctru_math::ntt::{NttRing, Radix3, butterfly};
use ctru_math::reduce::Reducer;

use super::row;
use crate::kernel::{Batch, Shape};
use crate::simt::Simt;

/// Coefficients that a thread holds.
const HELD: u32 = 8;
/// Layers that it does on them.
const FUSED: u32 = 3;

/// One product a block, two transforms in shared memory.
#[must_use]
pub const fn shape<R: NttRing>() -> Shape {
    let len = R::NTT_LEN as u32;
    Shape { threads: len / HELD, per_block: 1, shared_bytes: 2 * 4 * len }
}

/// `product = large * small` in `R_q`, for `large` in `0..q`, one a key, and `|small| <= eta`. Rows of [`row`] elements.
#[inline(always)]
pub fn multiply_sampled<S: Simt, R: NttRing>(
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
    Transforms::<S, R>::new(s).multiply(
        |i| centred(s.load(large, batch.key(operation) * row::<R>() + i), R::Q),
        |i| i32::from(s.load(small, operation * row::<R>() + i) as i8),
        |i, x| s.store(product, operation * row::<R>() + i, folded(x)),
    );
}

/// `product = large * small` modulo `q2`, for `large` in `0..q2` and any small polynomial, one a key.
#[inline(always)]
pub fn multiply_rounded<S: Simt, R: NttRing>(
    s: S,
    large: S::Global<u16>,
    small: S::Global<u8>,
    product: S::Global<u16>,
    batch: Batch,
) {
    let operation = s.block();
    Transforms::<S, R>::new(s).multiply(
        |i| centred(s.load(large, operation * row::<R>() + i), R::Q2),
        |i| i32::from(s.load(small, batch.key(operation) * row::<R>() + i) as i8),
        |i, x| s.store(product, operation * row::<R>() + i, (x as u32 & (R::Q2 - 1)) as u16),
    );
}

/// The representative of `a` in `0..modulus` nearest to 0.
#[inline(always)]
fn centred(a: u16, modulus: u32) -> i32 {
    let (a, modulus) = (i32::from(a), modulus as i32);
    a - (modulus & (((modulus - 1) / 2 - a) >> 31))
}

/// Two transforms in shared memory, byte addresses `0..4 N` and `4 N..8 N`, and this thread's part of the work on them.
#[derive(Copy, Clone)]
struct Transforms<S, R> {
    s: S,
    ring: PhantomData<R>,
}

type Coefficients = [i32; HELD as usize];

impl<S: Simt, R: NttRing> Transforms<S, R> {
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

    /// Multiplies the polynomials with coefficients `large(i)` and `small(i)`, `i < n`, and gives the coefficients of
    /// the folded product to `output`.
    #[inline(always)]
    fn multiply(self, large: impl Fn(u32) -> i32, small: impl Fn(u32) -> i32, output: impl Fn(u32, i32)) {
        let n = R::N as u32;
        let s = self.s;
        self.first_pass(0, large);
        self.first_pass(1, small);
        for pass in 1..R::RADIX2_LAYERS / FUSED {
            s.sync_block();
            self.forward_pass(0, pass);
            self.forward_pass(1, pass);
        }
        if let Some(radix3) = R::TWIDDLES.radix3 {
            s.sync_block();
            self.radix3(0, |j, x| match j {
                0 => butterfly::radix3_unit::<R::Reducer>(x, radix3.omega),
                _ => butterfly::radix3::<R::Reducer>(x, s.constant(radix3.forward, j), radix3.omega),
            });
            self.radix3(1, |j, x| match j {
                0 => butterfly::radix3_unit::<R::Reducer>(x, radix3.omega),
                _ => butterfly::radix3::<R::Reducer>(x, s.constant(radix3.forward, j), radix3.omega),
            });
        }
        s.sync_block();
        self.multiply_leaves();
        if let Some(Radix3 { omega, inverse, .. }) = R::TWIDDLES.radix3 {
            s.sync_block();
            self.radix3(0, |j, x| match j {
                0 => butterfly::radix3_unit_inverse::<R::Reducer>(x, omega),
                _ => butterfly::radix3_inverse::<R::Reducer>(x, s.constant(inverse, j), omega),
            });
        }
        for pass in (0..R::RADIX2_LAYERS / FUSED).rev() {
            s.sync_block();
            self.inverse_pass(pass);
        }
        s.sync_block();
        let mut i = s.thread();
        while i < n {
            // x^n = x + 1: coefficient n + k of the plain product goes to k and k + 1.
            let mut sum = self.get(0, i) + self.get(0, n + i);
            if i > 0 {
                sum += self.get(0, n + i - 1);
            }
            output(i, sum);
            i += s.threads();
        }
    }

    /// Where pass `pass` finds this thread's coefficients: the number of the block, the first and the stride.
    #[inline(always)]
    fn place(self, pass: u32) -> (u32, u32, u32) {
        let stride = Self::LEN >> (FUSED * (pass + 1));
        let block = self.s.thread() / stride;
        (block, HELD * stride * block + self.s.thread() % stride, stride)
    }

    /// Loads coefficients, does the first layers and stores.
    #[inline(always)]
    fn first_pass(self, transform: u32, coefficient: impl Fn(u32) -> i32) {
        let (_, first, stride) = self.place(0);
        let mut x: Coefficients = [0; HELD as usize];
        for (k, x) in (0..).zip(&mut x) {
            let i = first + k * stride;
            // The upper half is zero throughout; the bound of the rest is only passed by some threads.
            if k < HELD / 2 && i < R::N as u32 {
                *x = coefficient(i);
            }
        }
        self.forward_layers(&mut x, 0);
        for (k, x) in (0..).zip(x) {
            self.set(transform, first + k * stride, x);
        }
    }

    #[inline(always)]
    fn forward_pass(self, transform: u32, pass: u32) {
        let (block, first, stride) = self.place(pass);
        let mut x: Coefficients = core::array::from_fn(|k| self.get(transform, first + k as u32 * stride));
        self.forward_layers(&mut x, block);
        for (k, x) in (0..).zip(x) {
            self.set(transform, first + k * stride, x);
        }
    }

    /// Three layers on the coefficients of block `block` of the first of them.
    #[inline(always)]
    fn forward_layers(self, x: &mut Coefficients, block: u32) {
        for layer in 0..FUSED {
            let half = HELD as usize >> (layer + 1);
            for j in 0..1 << layer {
                let z = self.s.constant(R::TWIDDLES.radix2, (block << layer) + j);
                for i in 0..half {
                    let low = 2 * half * j as usize + i;
                    (x[low], x[low + half]) = butterfly::radix2::<R::Reducer>(x[low], x[low + half], z);
                }
            }
        }
    }

    #[inline(always)]
    fn inverse_pass(self, pass: u32) {
        let (block, first, stride) = self.place(pass);
        let mut x: Coefficients = core::array::from_fn(|k| self.get(0, first + k as u32 * stride));
        for layer in (0..FUSED).rev() {
            if R::NORMALISE_BEFORE == Some(FUSED * pass + layer) {
                x = x.map(R::Reducer::normalise);
            }
            let half = HELD as usize >> (layer + 1);
            for j in 0..1 << layer {
                let z = self.s.constant(R::TWIDDLES.radix2_inverse, (block << layer) + j);
                for i in 0..half {
                    let low = 2 * half * j as usize + i;
                    (x[low], x[low + half]) =
                        butterfly::radix2_inverse::<R::Reducer>(x[low], x[low + half], z);
                }
            }
        }
        if pass == 0 {
            x = x.map(|x| R::Reducer::centred(R::Reducer::mul(x, R::TWIDDLES.scale)));
        }
        for (k, x) in (0..).zip(x) {
            self.set(0, first + k * stride, x);
        }
    }

    /// Applies a radix-3 butterfly, given the number of its block, to every triple of a transform.
    #[inline(always)]
    fn radix3(self, transform: u32, butterfly: impl Fn(u32, [i32; 3]) -> [i32; 3]) {
        let mut triple = self.s.thread();
        while triple < Self::LEN / 3 {
            let block = triple / Self::LEAF;
            let first = 3 * Self::LEAF * block + triple % Self::LEAF;
            let x = butterfly(
                block,
                core::array::from_fn(|k| self.get(transform, first + k as u32 * Self::LEAF)),
            );
            for (k, x) in (0..).zip(x) {
                self.set(transform, first + k * Self::LEAF, x);
            }
            triple += self.s.threads();
        }
    }

    /// Multiplies the first transform by the second, leaf by leaf.
    #[inline(always)]
    fn multiply_leaves(self) {
        let mut leaf = self.s.thread();
        while leaf < R::LEAVES as u32 {
            let first = leaf * Self::LEAF;
            let operand =
                |transform| <R::Leaf as Array<i32>>::from_fn(|i| self.get(transform, first + i as u32));
            let product = R::leaf_product(operand(0), operand(1), self.s.constant(R::TWIDDLES.leaves, leaf));
            for (i, x) in (0..).zip(product.as_ref()) {
                self.set(0, first + i, *x);
            }
            leaf += self.s.threads();
        }
    }
}
