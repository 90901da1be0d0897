//! Layers that combine rows. Each block processes a few neighbouring columns.

use core::array;
use core::marker::PhantomData;

use research_arithmetic::ntt::cyclic::{Layers, Plan};
use research_arithmetic::reduce::{Packed, ReduceSum, Reducer, Residue};

use super::super::FactorWord;
use super::layers::{self, OfBlocks};
use ctru_simt::descriptor::{Batch, Shape};
use ctru_simt::simt::{Simt, Word};

/// Number of coefficients that a thread holds.
const HELD: usize = 16;
/// Number of layers that a thread applies in a pass to the coefficients that it holds.
const FUSED: u32 = HELD.ilog2();

/// Returns the block shape: `threads` threads, 16 coefficients per thread, and shared memory to
/// exchange them. The layout in shared memory skips one row after every 16 rows, so that threads
/// whose rows are 16 apart access different banks.
#[must_use]
pub const fn shape<const C: u32>(threads: u32) -> Shape {
    assert!(C == 2 * FUSED, "there must be two passes");
    Shape::new(threads, threads, 4 * (HELD as u32 + 1) * threads)
}

/// Applies the first `C` layers. One operation is 16 coefficients, the work of one thread.
///
/// Threads: one per operation.
/// Shared memory: the columns of the block.
/// Arrays: `factors`, one row; `polynomials`, in `0..q`; `transforms`, lazily reduced residues as
/// words.
#[inline(always)]
pub fn forward<S: Simt, M: Reducer, P: ReduceSum, const C: u32, const R: u32>(
    s: S,
    factors: S::Global<FactorWord<M>>,
    polynomials: S::Global<u32>,
    transforms: S::Global<u32>,
    _: Batch,
) where
    FactorWord<M>: Word,
{
    forward_block::<S, M, P, C, R>(s, s.block(), factors, polynomials, transforms);
}

/// The work of block `block` of [`forward`].
#[inline(always)]
pub(super) fn forward_block<S: Simt, M: Reducer, P: ReduceSum, const C: u32, const R: u32>(
    s: S,
    block: u32,
    factors: S::Global<FactorWord<M>>,
    polynomials: S::Global<u32>,
    transforms: S::Global<u32>,
) where
    FactorWord<M>: Word,
{
    let tile = Tile::<S, M, C, R>::new(s, block);
    let plan = const { Plan::new::<M, P>(C + R) }.forward;
    let x = tile.load(0, polynomials, |word| M::Residue::new(word as i32));
    tile.set(0, tile.forward_pass(0, x, plan, factors));
    s.sync_block();
    let x = tile.forward_pass(1, tile.get(1), plan, factors);
    tile.store(1, transforms, x, |x| x.to_word());
}

/// Inverts the first `C` layers in place. One operation is 16 coefficients, the work of one thread.
///
/// A thread loads all factors of a pass at once, before it multiplies by the first of them, because
/// they differ from column to column and come from the device's cache.
///
/// Threads and shared memory: as for [`forward`].
/// Arrays: `factors`, one row; `polynomials`, as input residues as words, as output in `0..q`.
#[inline(always)]
pub fn inverse<S: Simt, M: Reducer, P: ReduceSum, const C: u32, const R: u32>(
    s: S,
    factors: S::Global<FactorWord<M>>,
    polynomials: S::Global<u32>,
    _: Batch,
) where
    FactorWord<M>: Word,
{
    inverse_block::<S, M, P, C, R>(s, s.block(), factors, polynomials);
}

/// The work of block `block` of [`inverse`].
#[inline(always)]
pub(super) fn inverse_block<S: Simt, M: Reducer, P: ReduceSum, const C: u32, const R: u32>(
    s: S,
    block: u32,
    factors: S::Global<FactorWord<M>>,
    polynomials: S::Global<u32>,
) where
    FactorWord<M>: Word,
{
    let tile = Tile::<S, M, C, R>::new(s, block);
    let plan = const { Plan::new::<M, P>(C + R) }.inverse;
    let of_pass = tile.inverse_factors(1, factors);
    let x = tile.load(1, polynomials, M::Residue::from_word);
    let x = tile.inverse_pass(1, x, plan, of_pass);
    let of_pass = tile.inverse_factors(0, factors);
    tile.set(1, x);
    s.sync_block();
    let x = tile.inverse_pass(0, tile.get(0), plan, of_pass);
    let scale = layers::factor::<S, M>(s, factors, 0);
    tile.store(0, polynomials, x, |x| M::canonical(M::mul(x, scale)));
}

/// The columns of a block, and this thread's work on them.
struct Tile<S, M, const C: u32, const R: u32> {
    s: S,
    /// Index of the polynomial's first coefficient.
    polynomial: u32,
    /// This thread's column.
    column: u32,
    /// Number of this thread's column in the block.
    lane: u32,
    /// The binary logarithm of the block's number of columns.
    log_columns: u32,
    /// Number of this thread among those that share the column.
    group: u32,
    method: PhantomData<M>,
}

impl<S: Simt, M: Reducer, const C: u32, const R: u32> Tile<S, M, C, R> {
    #[inline(always)]
    fn new(s: S, block: u32) -> Self {
        let log_columns = s.threads().trailing_zeros() - (C - FUSED);
        let lane = s.thread() & ((1 << log_columns) - 1);
        // Columns are numbered through all polynomials.
        let column = (block << log_columns) + lane;
        Self {
            s,
            polynomial: column >> R << (C + R),
            column: column & ((1 << R) - 1),
            lane,
            log_columns,
            group: s.thread() >> log_columns,
            method: PhantomData,
        }
    }

    /// Returns the distance between two rows of this thread in a pass.
    #[inline(always)]
    fn stride(pass: u32) -> u32 {
        1 << (C - FUSED * (pass + 1))
    }

    /// Returns the number of the block of this thread's rows in a pass, and the first row in it.
    #[inline(always)]
    fn place(&self, pass: u32) -> (u32, u32) {
        (self.group / Self::stride(pass), self.group % Self::stride(pass))
    }

    /// Returns this thread's first row in a pass.
    #[inline(always)]
    fn row(&self, pass: u32) -> u32 {
        let (block, offset) = self.place(pass);
        HELD as u32 * Self::stride(pass) * block + offset
    }

    #[inline(always)]
    fn forward_pass(
        &self,
        pass: u32,
        x: [M::Residue; HELD],
        plan: Layers,
        factors: S::Global<FactorWord<M>>,
    ) -> [M::Residue; HELD]
    where
        FactorWord<M>: Word,
    {
        let factors = OfBlocks::<S, M> { s: self.s, table: factors, block: self.place(pass).0 };
        let [x] = layers::forward::<M, HELD, 1>([x], plan, FUSED * pass, &factors);
        x
    }

    /// Loads the factors of an inverse pass.
    #[inline(always)]
    fn inverse_factors(&self, pass: u32, factors: S::Global<FactorWord<M>>) -> [M::Factor; HELD]
    where
        FactorWord<M>: Word,
    {
        let (_, offset) = self.place(pass);
        let column = self.s.tail(factors, (offset << R) + self.column);
        array::from_fn(|node| match node {
            0 => M::Factor::default(),
            _ => layers::factor::<S, M>(self.s, column, (Self::stride(pass) * node as u32) << R),
        })
    }

    #[inline(always)]
    fn inverse_pass(
        &self,
        pass: u32,
        x: [M::Residue; HELD],
        plan: Layers,
        factors: [M::Factor; HELD],
    ) -> [M::Residue; HELD] {
        let first = R + C - FUSED * (pass + 1);
        layers::inverse::<M, HELD>(x, plan, first, &factors)
    }

    /// Returns the part of an array in global memory that begins with this thread's first
    /// coefficient.
    #[inline(always)]
    fn tail(&self, pass: u32, polynomials: S::Global<u32>) -> S::Global<u32> {
        self.s.tail(polynomials, self.polynomial + (self.row(pass) << R) + self.column)
    }

    /// Loads this thread's coefficients from global memory.
    #[inline(always)]
    fn load(
        &self,
        pass: u32,
        polynomials: S::Global<u32>,
        read: impl Fn(u32) -> M::Residue,
    ) -> [M::Residue; HELD] {
        let tail = self.tail(pass, polynomials);
        array::from_fn(|k| read(self.s.load(tail, (Self::stride(pass) * k as u32) << R)))
    }

    /// Stores this thread's coefficients in global memory.
    #[inline(always)]
    fn store(
        &self,
        pass: u32,
        polynomials: S::Global<u32>,
        x: [M::Residue; HELD],
        word: impl Fn(M::Residue) -> u32,
    ) {
        let tail = self.tail(pass, polynomials);
        // By reference, because an array that moves into an iterator leaves the registers.
        for (k, &x) in x.iter().enumerate() {
            self.s.store(tail, (Self::stride(pass) * k as u32) << R, word(x));
        }
    }

    /// Returns the address in shared memory of this thread's coefficient number `k`.
    #[inline(always)]
    fn address(&self, pass: u32, k: usize) -> u32 {
        let (first, step) = (self.row(pass), Self::stride(pass) * k as u32);
        // The step is a multiple of `HELD`, or the first row is too far from the next multiple for
        // the step to reach it. So both skip rows separately.
        let [first, step] = [first, step].map(|rows| rows + rows / HELD as u32);
        4 * ((first << self.log_columns) + self.lane) + step * (4 << self.log_columns)
    }

    /// Loads this thread's coefficients from shared memory.
    #[inline(always)]
    fn get(&self, pass: u32) -> [M::Residue; HELD] {
        array::from_fn(|k| M::Residue::from_word(self.s.load_shared(self.address(pass, k))))
    }

    /// Stores this thread's coefficients in shared memory.
    #[inline(always)]
    fn set(&self, pass: u32, x: [M::Residue; HELD]) {
        for (k, &x) in x.iter().enumerate() {
            self.s.store_shared(self.address(pass, k), x.to_word());
        }
    }
}
