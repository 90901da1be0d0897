//! Layers inside rows, products of values, and the inverse layers. Each block processes a few rows
//! of both operands.

use core::array;
use core::marker::PhantomData;

use ctru_math::ntt::cyclic::Plan;
use ctru_math::reduce::{Packed, ReduceSum, Reducer, Residue};

use super::super::FactorWord;
use super::layers::{self, ByNode, OfBlocks, OfPositions};
use crate::descriptor::{Batch, Shape};
use crate::simt::{Simt, WARP, Word};

/// Number of coefficients of the product that one operation computes.
pub const PER_OPERATION: u32 = 8;

/// Returns the block shape for threads that hold `HELD` coefficients of each operand: `threads`
/// threads, or as many as one row needs if that is more, and shared memory for these coefficients.
/// The layout in shared memory skips one number after every `HELD` numbers, so that threads whose
/// numbers are a power of two apart access different banks.
#[must_use]
pub const fn shape<const R: u32, const HELD: usize>(threads: u32) -> Shape {
    let (of_row, held) = (threads_of_row(R, HELD as u32), HELD as u32);
    let threads = if threads < of_row { of_row } else { threads };
    Shape {
        threads,
        per_block: threads * held / PER_OPERATION,
        shared_bytes: 2 * 4 * (held + 1) * threads,
    }
}

/// Number of polynomials whose rows are interleaved in a batch of whole groups of this number.
/// Neighbouring rows of a block then have the same number in their polynomials, and the same
/// factors, which the block loads from the device's cache once.
const INTERLEAVED: u32 = 4;

/// Returns the number of threads that share a row of `2^r` numbers if each holds `held` of them. A
/// block has whole rows.
pub(crate) const fn threads_of_row(r: u32, held: u32) -> u32 {
    (1 << r) / held
}

/// Returns the number of factors in the table `forward` of [`multiply`].
#[must_use]
pub const fn factors(c: u32, r: u32, held: u32) -> u32 {
    let (blocks, first) = last_pass(c, r, held);
    blocks * (1 + held - first)
}

/// Returns which of the factors of [`Transform`](ctru_math::ntt::cyclic::Transform) is entry
/// `entry` of the table `forward` of [`multiply`].
///
/// The table begins with the factors of the layers before the last pass. In the last pass, each
/// thread has a block of its own, with as many factors as it holds numbers. So that neighbouring
/// threads load neighbouring factors, the table then has the factors of this pass by node: those of
/// all blocks for one node, and then those for the next node.
#[must_use]
pub const fn forward_factor(c: u32, r: u32, held: u32, entry: u32) -> u32 {
    let (blocks, first) = last_pass(c, r, held);
    if entry < blocks {
        return entry;
    }
    let (node, block) = (first + entry / blocks - 1, entry % blocks);
    let layer = node.ilog2();
    (block << layer) + node - (1 << layer)
}

/// Returns the number of blocks of the last pass, and its first node.
const fn last_pass(c: u32, r: u32, held: u32) -> (u32, u32) {
    let depth = held.ilog2();
    let skipped = (r.div_ceil(depth) * depth) - r;
    (1 << (c + r - depth), 1 << skipped)
}

/// Applies the last `R` layers to both operands, multiplies the values, and inverts these layers.
/// One operation is 8 coefficients of a product.
///
/// Threads: one per `HELD` coefficients.
/// Shared memory: the rows of both operands.
/// Arrays: `forward` and `inverse`, one row of factors each, see [`forward_factor`]; `operands`, all
/// first operands and then all second operands; `products`. If `C` is 0, operands and products are in `0..q`;
/// otherwise they are residues as words, as [`columns`](super::columns) writes and reads them.
#[inline(always)]
pub fn multiply<S: Simt, M: Reducer, P: ReduceSum, const C: u32, const R: u32, const HELD: usize>(
    s: S,
    forward: S::Global<FactorWord<M>>,
    inverse: S::Global<FactorWord<M>>,
    operands: S::Global<u32>,
    products: S::Global<u32>,
    batch: Batch,
) where
    FactorWord<M>: Word,
{
    let rows = Rows::<S, M, P, C, R, HELD>::new(s, forward, inverse, batch);
    let last = Rows::<S, M, P, C, R, HELD>::PASSES - 1;
    let load = |operand: u32| {
        let operand = s.tail(operands, operand * batch.operations() * PER_OPERATION);
        let row = s.tail(operand, rows.global(0, 0));
        array::from_fn(|k| {
            let word = s.load(row, rows.step(0, k));
            if C == 0 { M::Residue::new(word as i32) } else { M::Residue::from_word(word) }
        })
    };
    let mut x = rows.forward_pass(0, [load(0), load(1)]);
    // The passes are written one by one, because arrays lie in registers only if the compiler knows
    // every number of a layer. After a pass, a thread stores to the addresses that it loaded from
    // before the pass, so only the loads have to wait.
    macro_rules! forward {
        ($($pass:literal)*) => {
            $(if $pass <= last {
                rows.store($pass - 1, x);
                rows.sync();
                x = rows.forward_pass($pass, rows.load($pass));
            })*
        };
    }
    forward!(1 2 3);
    let plan = Rows::<S, M, P, C, R, HELD>::PLAN;
    let mut product = array::from_fn(|k| plan.multiply::<M, P>(x[0][k], x[1][k]));
    macro_rules! inverse {
        ($($pass:literal)*) => {
            $(if $pass <= last {
                rows.store($pass, [rows.inverse_pass($pass, product)]);
                rows.sync();
                [product] = rows.load($pass - 1);
            })*
        };
    }
    inverse!(3 2 1);
    product = rows.inverse_pass(0, product);
    let scale = layers::factor::<S, M>(s, inverse, 0);
    let row = s.tail(products, rows.global(0, 0));
    for (k, &x) in product.iter().enumerate() {
        let word = if C == 0 { M::canonical(M::mul(x, scale)) } else { x.to_word() };
        s.store(row, rows.step(0, k), word);
    }
}

/// The rows of a block in shared memory, first operands before second operands, and this thread's
/// work on them.
struct Rows<S: Simt, M: Reducer, P, const C: u32, const R: u32, const HELD: usize>
where
    FactorWord<M>: Word,
{
    s: S,
    forward: S::Global<FactorWord<M>>,
    inverse: S::Global<FactorWord<M>>,
    /// Number of this thread's row among all rows of all polynomials.
    row: u32,
    /// Number of this thread among those of its row.
    thread: u32,
    method: PhantomData<P>,
}

impl<S: Simt, M: Reducer, P: ReduceSum, const C: u32, const R: u32, const HELD: usize>
    Rows<S, M, P, C, R, HELD>
where
    FactorWord<M>: Word,
{
    const PLAN: Plan = Plan::new::<M, P>(C + R);
    /// The binary logarithm of the coefficients that a thread holds.
    const DEPTH: u32 = HELD.ilog2();
    /// Number of passes. All but the last one apply `DEPTH` layers.
    const PASSES: u32 = {
        assert!(R.div_ceil(Self::DEPTH) <= 4, "there must be one to four passes");
        R.div_ceil(Self::DEPTH)
    };
    /// Threads that share a row.
    const THREADS: u32 = threads_of_row(R, HELD as u32);

    #[inline(always)]
    fn new(
        s: S,
        forward: S::Global<FactorWord<M>>,
        inverse: S::Global<FactorWord<M>>,
        batch: Batch,
    ) -> Self {
        let row = (s.block() * s.threads() + s.thread()) / Self::THREADS;
        // The blocks process the rows of `INTERLEAVED` polynomials in turn.
        let group = INTERLEAVED << (C + R - PER_OPERATION.ilog2());
        let is_interleaved = C > 0 && batch.operations().is_multiple_of(group);
        let (polynomial, rest) = (row % INTERLEAVED, row / INTERLEAVED);
        let (group, number) = (rest >> C, rest & ((1 << C) - 1));
        let row = match is_interleaved {
            true => ((INTERLEAVED * group + polynomial) << C) + number,
            false => row,
        };
        Self { s, forward, inverse, row, thread: s.thread() % Self::THREADS, method: PhantomData }
    }

    /// Waits until the threads of each row in the block have exchanged their numbers.
    #[inline(always)]
    fn sync(&self) {
        if Self::THREADS <= WARP { self.s.sync_warp() } else { self.s.sync_block() }
    }

    /// Returns the number of layers of a pass.
    #[inline(always)]
    fn layers(pass: u32) -> u32 {
        Self::DEPTH.min(R - Self::DEPTH * pass)
    }

    /// Returns the distance between two numbers that a thread holds in a pass.
    #[inline(always)]
    fn stride(pass: u32) -> u32 {
        1 << R.saturating_sub(Self::DEPTH * (pass + 1))
    }

    /// Returns the block of this thread's numbers within the row, and the first number in it.
    #[inline(always)]
    fn place(&self, pass: u32) -> (u32, u32) {
        (self.thread / Self::stride(pass), self.thread % Self::stride(pass))
    }

    /// Returns how far behind its first number number `k` of a thread is in the row.
    #[inline(always)]
    fn step(&self, pass: u32, k: usize) -> u32 {
        k as u32 * Self::stride(pass)
    }

    /// Returns the position of this thread's first number in the row.
    #[inline(always)]
    fn position(&self, pass: u32) -> u32 {
        let (block, offset) = self.place(pass);
        HELD as u32 * Self::stride(pass) * block + offset
    }

    /// Returns the index in global memory of number `k` of this thread.
    #[inline(always)]
    fn global(&self, pass: u32, k: usize) -> u32 {
        (self.row << R) + self.position(pass) + self.step(pass, k)
    }

    /// Applies the layers of one pass to both operands at once, because they share the factors.
    #[inline(always)]
    fn forward_pass(
        &self,
        pass: u32,
        operands: [[M::Residue; HELD]; 2],
    ) -> [[M::Residue; HELD]; 2] {
        let (layers, before) = (Self::layers(pass), Self::DEPTH * pass);
        // The thread's numbers are a block after so many layers of the row.
        let root = before + layers - Self::DEPTH;
        let number = self.row % (1 << C);
        let block = (number << root) + self.place(pass).0;
        let (s, plan, first) = (self.s, Self::PLAN.forward, C + before);
        if pass + 1 < Self::PASSES {
            let factors = OfBlocks::<S, M> { s, table: self.forward, block };
            layers::forward::<M, HELD, 2>(operands, layers, plan, first, &factors)
        } else {
            let (blocks, first_node) = last_pass(C, R, HELD as u32);
            let factors = ByNode::<S, M> {
                s,
                table: s.tail(self.forward, blocks + block),
                first: first_node,
                blocks,
            };
            layers::forward::<M, HELD, 2>(operands, layers, plan, first, &factors)
        }
    }

    #[inline(always)]
    fn inverse_pass(&self, pass: u32, x: [M::Residue; HELD]) -> [M::Residue; HELD] {
        let (layers, (_, offset)) = (Self::layers(pass), self.place(pass));
        let first = R - Self::DEPTH * pass - layers;
        let table = self.s.tail(self.inverse, offset);
        let factors = OfPositions::<S, M> { s: self.s, table, stride: Self::stride(pass) };
        let plan = Self::PLAN.inverse;
        // Layer 0 merges blocks of one value, at position 0.
        let starts_with_units =
            first == 0 && !plan.normalises(0) && P::OUTPUT_BOUND <= M::OUTPUT_BOUND;
        layers::inverse::<M, HELD>(x, starts_with_units, layers, plan, first, &factors)
    }

    /// Returns the address in shared memory of this thread's first number of an operand.
    #[inline(always)]
    fn address(&self, operand: usize, pass: u32) -> u32 {
        // All rows of the first operands come first, then all rows of the second operands.
        let (rows, row) = (self.s.threads() / Self::THREADS, self.s.thread() / Self::THREADS);
        let i = ((operand as u32 * rows + row) << R) + self.position(pass);
        4 * (i + i / HELD as u32)
    }

    /// Returns how many bytes behind a thread's first number its number `k` is in shared memory.
    /// The step is a multiple of `HELD`, or together with the first number's position it does not
    /// reach the next multiple before the step alone does.
    #[inline(always)]
    fn step_in_shared(&self, pass: u32, k: usize) -> u32 {
        let step = self.step(pass, k);
        4 * (step + step / HELD as u32)
    }

    /// Loads this thread's numbers of the first operands, or of both operands, from shared memory.
    #[inline(always)]
    fn load<const COUNT: usize>(&self, pass: u32) -> [[M::Residue; HELD]; COUNT] {
        array::from_fn(|operand| {
            let address = self.address(operand, pass);
            array::from_fn(|k| {
                let word = self.s.load_shared::<u32>(address + self.step_in_shared(pass, k));
                M::Residue::from_word(word)
            })
        })
    }

    #[inline(always)]
    fn store<const COUNT: usize>(&self, pass: u32, x: [[M::Residue; HELD]; COUNT]) {
        // By reference, because an array that moves into an iterator leaves the registers.
        for (operand, x) in x.iter().enumerate() {
            let address = self.address(operand, pass);
            for (k, x) in x.iter().enumerate() {
                self.s.store_shared(address + self.step_in_shared(pass, k), x.to_word());
            }
        }
    }
}
