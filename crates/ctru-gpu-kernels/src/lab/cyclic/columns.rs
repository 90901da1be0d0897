//! Layers that combine rows. Each block processes a few neighbouring columns.

use core::array;
use core::marker::PhantomData;

use ctru_math::ntt::cyclic::{Layers, Plan};
use ctru_math::reduce::{Packed, ReduceSum, Reducer, Residue};

use super::super::FactorWord;
use super::layers;
use crate::descriptor::{Batch, Shape};
use crate::simt::{Simt, Word};

/// Number of coefficients that a thread holds.
const HELD: u32 = 16;
/// Number of layers that a thread applies to the coefficients that it holds.
const FUSED: u32 = 4;

/// Returns the block shape: `threads` threads, 16 coefficients per thread, and shared memory to
/// exchange them if there are two passes. The layout in shared memory skips one row after every 16
/// rows, so that threads whose rows are 16 apart access different banks.
#[must_use]
pub const fn shape<const C: u32, const R: u32>(threads: u32) -> Shape {
    assert!(C == FUSED || C == 2 * FUSED, "there must be one or two passes");
    Shape::new(threads, threads, if C == FUSED { 0 } else { 4 * (HELD + 1) * threads })
}

/// Applies the first `C` layers. One operation is 16 coefficients, the work of one thread.
///
/// Threads: one per operation.
/// Shared memory: the columns of the block, if there are two passes.
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
    let tile = Tile::<S, M, C, R>::new(s);
    let plan = const { Plan::new::<M, P>(C + R) }.forward;
    let x = tile.gather(0, |row| M::Residue::new(s.load(polynomials, tile.index(row)) as i32));
    let mut x = tile.forward_pass(0, x, plan, factors);
    if C > FUSED {
        tile.scatter(0, x, |row, x| tile.set(row, x));
        s.sync_block();
        x = tile.forward_pass(1, tile.gather(1, |row| tile.get(row)), plan, factors);
    }
    tile.scatter(C / FUSED - 1, x, |row, x| s.store(transforms, tile.index(row), x.to_word()));
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
    let tile = Tile::<S, M, C, R>::new(s);
    let plan = const { Plan::new::<M, P>(C + R) }.inverse;
    let last = C / FUSED - 1;
    let of_pass = tile.inverse_factors(last, factors);
    let mut x = tile.inverse_pass(last, tile.load(polynomials), plan, of_pass);
    if C > FUSED {
        let of_pass = tile.inverse_factors(0, factors);
        tile.scatter(1, x, |row, x| tile.set(row, x));
        s.sync_block();
        x = tile.inverse_pass(0, tile.gather(0, |row| tile.get(row)), plan, of_pass);
    }
    tile.store(polynomials, x, layers::factor::<S, M>(s, factors, 0));
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

type Held<M> = [<M as Reducer>::Residue; HELD as usize];
/// The factors of a pass by node, as [`layers`] numbers them. There is no node 0.
type OfPass<M> = [<M as Reducer>::Factor; HELD as usize];

impl<S: Simt, M: Reducer, const C: u32, const R: u32> Tile<S, M, C, R> {
    #[inline(always)]
    fn new(s: S) -> Self {
        let log_columns = s.threads().trailing_zeros() - (C - FUSED);
        let lane = s.thread() & ((1 << log_columns) - 1);
        // Columns are numbered through all polynomials.
        let column = (s.block() << log_columns) + lane;
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

    /// Returns the place of this thread's rows in pass `pass`: the number of the block of rows, the
    /// first row in it, and the distance between rows.
    #[inline(always)]
    fn place(&self, pass: u32) -> (u32, u32, u32) {
        let stride = 1 << (C - FUSED * (pass + 1));
        (self.group / stride, self.group % stride, stride)
    }

    #[inline(always)]
    fn row(&self, pass: u32, k: usize) -> u32 {
        let (block, offset, stride) = self.place(pass);
        HELD * stride * block + offset + k as u32 * stride
    }

    #[inline(always)]
    fn gather(&self, pass: u32, get: impl Fn(u32) -> M::Residue) -> Held<M> {
        array::from_fn(|k| get(self.row(pass, k)))
    }

    #[inline(always)]
    fn scatter(&self, pass: u32, x: Held<M>, set: impl Fn(u32, M::Residue)) {
        // By reference, because an array that moves into an iterator leaves the registers.
        for (k, &x) in x.iter().enumerate() {
            set(self.row(pass, k), x);
        }
    }

    #[inline(always)]
    fn forward_pass(
        &self,
        pass: u32,
        x: Held<M>,
        plan: Layers,
        factors: S::Global<FactorWord<M>>,
    ) -> Held<M>
    where
        FactorWord<M>: Word,
    {
        let (block, _, _) = self.place(pass);
        layers::forward::<M, { HELD as usize }>(x, plan, FUSED * pass, |node| {
            let layer = node.ilog2();
            layers::factor::<S, M>(self.s, factors, (block << layer) + node - (1 << layer))
        })
    }

    /// Loads this thread's coefficients before the first inverse pass.
    #[inline(always)]
    fn load(&self, polynomials: S::Global<u32>) -> Held<M> {
        self.gather(C / FUSED - 1, |row| {
            M::Residue::from_word(self.s.load(polynomials, self.index(row)))
        })
    }

    /// Multiplies this thread's coefficients by `scale` after the last inverse pass, and stores
    /// them.
    #[inline(always)]
    fn store(&self, polynomials: S::Global<u32>, x: Held<M>, scale: M::Factor) {
        self.scatter(0, x, |row, x| {
            self.s.store(polynomials, self.index(row), M::canonical(M::mul(x, scale)));
        });
    }

    /// Loads the factors of an inverse pass.
    #[inline(always)]
    fn inverse_factors(&self, pass: u32, factors: S::Global<FactorWord<M>>) -> OfPass<M>
    where
        FactorWord<M>: Word,
    {
        let (_, offset, stride) = self.place(pass);
        array::from_fn(|node| match node {
            0 => M::Factor::default(),
            _ => {
                let row = stride * node as u32 + offset;
                layers::factor::<S, M>(self.s, factors, (row << R) + self.column)
            }
        })
    }

    #[inline(always)]
    fn inverse_pass(&self, pass: u32, x: Held<M>, plan: Layers, factors: OfPass<M>) -> Held<M> {
        let first = R + C - FUSED * (pass + 1);
        layers::inverse::<M, { HELD as usize }>(x, plan, first, |node| factors[node as usize])
    }

    /// Returns the index in global memory of this column's coefficient in row `row`.
    #[inline(always)]
    fn index(&self, row: u32) -> u32 {
        self.polynomial + (row << R) + self.column
    }

    #[inline(always)]
    fn address(&self, row: u32) -> u32 {
        4 * (((row + row / HELD) << self.log_columns) + self.lane)
    }

    #[inline(always)]
    fn get(&self, row: u32) -> M::Residue {
        M::Residue::from_word(self.s.load_shared::<u32>(self.address(row)))
    }

    #[inline(always)]
    fn set(&self, row: u32, x: M::Residue) {
        self.s.store_shared::<u32>(self.address(row), x.to_word());
    }
}
