//! Layers inside rows, products of values, and the inverse layers. Each block processes a few rows
//! of both operands.

use core::array;
use core::marker::PhantomData;

use ctru_math::ntt::cyclic::Plan;
use ctru_math::reduce::{Packed, ReduceSum, Reducer, Residue};

use super::super::FactorWord;
use super::layers;
use crate::descriptor::{Batch, Shape};
use crate::simt::{Simt, Word};

/// Number of coefficients of each operand that a thread holds.
const HELD: u32 = 8;
/// Number of layers that a thread applies in a pass to the coefficients that it holds.
const FUSED: u32 = 3;

/// Returns the block shape: `threads` threads, or as many as one row needs if that is more, and
/// shared memory for 8 coefficients of each operand per thread. The layout in shared memory skips
/// one number after every 8 numbers, so that threads whose numbers are a power of two apart access
/// different banks.
#[must_use]
pub const fn shape<const C: u32, const R: u32>(threads: u32) -> Shape {
    assert!(
        R.is_multiple_of(FUSED) && R / FUSED >= 2 && R / FUSED <= 4,
        "there must be two to four passes"
    );
    let threads = if threads < threads_of_row(R) { threads_of_row(R) } else { threads };
    Shape::new(threads, threads, 2 * 4 * (HELD + 1) * threads)
}

/// Number of polynomials whose rows are interleaved in a batch of whole groups of this number.
/// Neighbouring rows of a block then have the same number in their polynomials, and the same
/// factors, which the block loads from the device's cache once.
const INTERLEAVED: u32 = 4;

/// Returns the number of threads that share a row of `2^r` numbers. A block has whole rows.
pub(crate) const fn threads_of_row(r: u32) -> u32 {
    (1 << r) / HELD
}

/// Applies the last `R` layers to both operands, multiplies the values, and inverts these layers.
/// One operation is 8 coefficients of a product, the work of one thread.
///
/// Threads: one per operation.
/// Shared memory: the rows of both operands.
/// Arrays: `forward` and `inverse`, one row of factors each; `operands`, all first operands and
/// then all second operands; `products`. If `C` is 0, operands and products are in `0..q`;
/// otherwise they are residues as words, as [`columns`](super::columns) writes and reads them.
#[inline(always)]
pub fn multiply<S: Simt, M: Reducer, P: ReduceSum, const C: u32, const R: u32>(
    s: S,
    forward: S::Global<FactorWord<M>>,
    inverse: S::Global<FactorWord<M>>,
    operands: S::Global<u32>,
    products: S::Global<u32>,
    batch: Batch,
) where
    FactorWord<M>: Word,
{
    let group = INTERLEAVED << (C + R - HELD.ilog2());
    let is_interleaved = C > 0 && batch.operations().is_multiple_of(group);
    let rows = Rows::<S, M, P, C, R> { s, forward, inverse, is_interleaved, method: PhantomData };
    let last = R / FUSED - 1;
    let load = |operand: u32, i| {
        let word = s.load(operands, operand * batch.operations() * HELD + rows.index(i));
        if C == 0 { M::Residue::new(word as i32) } else { M::Residue::from_word(word) }
    };
    let operands = [rows.gather(0, |i| load(0, i)), rows.gather(0, |i| load(1, i))];
    rows.scatter_both(0, rows.forward_pass(0, operands));
    s.sync_block();
    for pass in 1..last {
        rows.scatter_both(pass, rows.forward_pass(pass, rows.gather_both(pass)));
        s.sync_block();
    }
    let [a, b] = rows.forward_pass(last, rows.gather_both(last));
    let plan = Rows::<S, M, P, C, R>::PLAN;
    let values = array::from_fn(|k| plan.multiply::<M, P>(a[k], b[k]));
    rows.scatter(last, rows.inverse_pass(last, values), |i, x| rows.set(0, i, x));
    s.sync_block();
    for pass in (1..last).rev() {
        let x = rows.inverse_pass(pass, rows.gather(pass, |i| rows.get(0, i)));
        rows.scatter(pass, x, |i, x| rows.set(0, i, x));
        s.sync_block();
    }
    let x = rows.inverse_pass(0, rows.gather(0, |i| rows.get(0, i)));
    let scale = layers::factor::<S, M>(s, inverse, 0);
    rows.scatter(0, x, |i, x| {
        let word = if C == 0 { M::canonical(M::mul(x, scale)) } else { x.to_word() };
        s.store(products, rows.index(i), word);
    });
}

type Held<M> = [<M as Reducer>::Residue; HELD as usize];

/// The rows of a block in shared memory, first operands before second operands, and this thread's
/// work on them.
struct Rows<S: Simt, M: Reducer, P, const C: u32, const R: u32>
where
    FactorWord<M>: Word,
{
    s: S,
    forward: S::Global<FactorWord<M>>,
    inverse: S::Global<FactorWord<M>>,
    /// Whether the blocks process the rows of [`INTERLEAVED`] polynomials in turn.
    is_interleaved: bool,
    method: PhantomData<P>,
}

impl<S: Simt, M: Reducer, P: ReduceSum, const C: u32, const R: u32> Rows<S, M, P, C, R>
where
    FactorWord<M>: Word,
{
    const PLAN: Plan = Plan::new::<M, P>(C + R);
    /// Threads that share a row.
    const THREADS: u32 = threads_of_row(R);

    /// Returns the number of this thread's row among all rows of all polynomials.
    #[inline(always)]
    fn row(&self) -> u32 {
        let row = (self.s.block() * self.s.threads() + self.s.thread()) / Self::THREADS;
        let (polynomial, rest) = (row % INTERLEAVED, row / INTERLEAVED);
        let (group, number) = (rest >> C, rest & ((1 << C) - 1));
        match self.is_interleaved {
            true => ((INTERLEAVED * group + polynomial) << C) + number,
            false => row,
        }
    }

    /// Returns the index in global memory of number `i` of this thread's row.
    #[inline(always)]
    fn index(&self, i: u32) -> u32 {
        (self.row() << R) + i
    }

    /// Returns the place of this thread's numbers in pass `pass`: the block within the row, the
    /// first number in it, and the distance between numbers.
    #[inline(always)]
    fn place(&self, pass: u32) -> (u32, u32, u32) {
        let (thread, stride) = (self.s.thread() % Self::THREADS, 1 << (R - FUSED * (pass + 1)));
        (thread / stride, thread % stride, stride)
    }

    #[inline(always)]
    fn position(&self, pass: u32, k: usize) -> u32 {
        let (block, offset, stride) = self.place(pass);
        HELD * stride * block + offset + k as u32 * stride
    }

    #[inline(always)]
    fn gather(&self, pass: u32, get: impl Fn(u32) -> M::Residue) -> Held<M> {
        array::from_fn(|k| get(self.position(pass, k)))
    }

    #[inline(always)]
    fn scatter(&self, pass: u32, x: Held<M>, set: impl Fn(u32, M::Residue)) {
        // By reference, because an array that moves into an iterator leaves the registers.
        for (k, &x) in x.iter().enumerate() {
            set(self.position(pass, k), x);
        }
    }

    #[inline(always)]
    fn gather_both(&self, pass: u32) -> [Held<M>; 2] {
        [self.gather(pass, |i| self.get(0, i)), self.gather(pass, |i| self.get(1, i))]
    }

    #[inline(always)]
    fn scatter_both(&self, pass: u32, [a, b]: [Held<M>; 2]) {
        self.scatter(pass, a, |i, x| self.set(0, i, x));
        self.scatter(pass, b, |i, x| self.set(1, i, x));
    }

    /// Applies the layers of one pass to both operands at once, because they share the factors.
    #[inline(always)]
    fn forward_pass(&self, pass: u32, operands: [Held<M>; 2]) -> [Held<M>; 2] {
        let rows_of_polynomial = 1 << C;
        let block = ((self.row() % rows_of_polynomial) << (FUSED * pass)) + self.place(pass).0;
        let factor = |node: u32| {
            let layer = node.ilog2();
            layers::factor::<S, M>(self.s, self.forward, (block << layer) + node - (1 << layer))
        };
        let (plan, first) = (Self::PLAN.forward, C + FUSED * pass);
        let [a, b] = operands;
        [
            layers::forward::<M, { HELD as usize }>(a, plan, first, factor),
            layers::forward::<M, { HELD as usize }>(b, plan, first, factor),
        ]
    }

    #[inline(always)]
    fn inverse_pass(&self, pass: u32, x: Held<M>) -> Held<M> {
        let (_, offset, stride) = self.place(pass);
        let first = R - FUSED * (pass + 1);
        layers::inverse::<M, { HELD as usize }>(x, Self::PLAN.inverse, first, |node| {
            layers::factor::<S, M>(self.s, self.inverse, stride * node + offset)
        })
    }

    #[inline(always)]
    fn address(&self, operand: u32, i: u32) -> u32 {
        // All rows of the first operands come first, then all rows of the second operands.
        let (rows, row) = (self.s.threads() / Self::THREADS, self.s.thread() / Self::THREADS);
        let i = ((operand * rows + row) << R) + i;
        4 * (i + i / HELD)
    }

    #[inline(always)]
    fn get(&self, operand: u32, i: u32) -> M::Residue {
        M::Residue::from_word(self.s.load_shared::<u32>(self.address(operand, i)))
    }

    #[inline(always)]
    fn set(&self, operand: u32, i: u32, x: M::Residue) {
        self.s.store_shared::<u32>(self.address(operand, i), x.to_word());
    }
}
