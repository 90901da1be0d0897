//! Layers inside rows, products of values, and the inverse layers. Each block processes a few rows
//! of both operands.

use core::array;
use core::marker::PhantomData;

use research_arithmetic::ntt::cyclic::Plan;
use research_arithmetic::reduce::{Packed, ReduceSum, Reducer, Residue};

use super::super::FactorWord;
use super::layers::{self, ByNode, OfBlocks, OfPositions};
use ctru_simt::descriptor::{Batch, Shape};
use ctru_simt::simt::{Simt, WARP, Word};

/// Number of coefficients of each operand that a thread holds.
const HELD: usize = 8;
/// Number of layers that a thread applies in a pass to the coefficients that it holds.
const FUSED: u32 = HELD.ilog2();

/// Returns the block shape: `threads` threads, or as many as one row needs if that is more, and
/// shared memory for 8 coefficients of each operand per thread. The layout in shared memory skips
/// one number after every 8 numbers, so that threads whose numbers are a power of two apart access
/// different banks.
#[must_use]
pub const fn shape<const R: u32>(threads: u32) -> Shape {
    let threads = if threads < threads_of_row(R) { threads_of_row(R) } else { threads };
    Shape::new(threads, threads, 2 * 4 * (HELD as u32 + 1) * threads)
}

/// Number of polynomials whose rows are interleaved in a batch of whole groups of this number.
/// Neighbouring rows of a block then have the same number in their polynomials, and the same
/// factors, which the block loads from the device's cache once.
const INTERLEAVED: u32 = 4;

/// Returns the number of threads that share a row of `2^r` numbers. A block has whole rows.
pub(crate) const fn threads_of_row(r: u32) -> u32 {
    (1 << r) / HELD as u32
}

/// Returns the number of factors in the table `forward` of [`multiply`] for products of length
/// `2^log_len`.
#[must_use]
pub const fn factors(log_len: u32) -> u32 {
    1 << log_len
}

/// Returns which of the forward factors of
/// [`Transform`](research_arithmetic::ntt::cyclic::Transform) is entry `entry` of the table
/// `forward` of [`multiply`].
///
/// The table begins with the factors of the layers before the last pass. In the last pass, each
/// thread has a block of its own, with 7 factors. So that neighbouring threads load neighbouring
/// factors, the table then has the factors of this pass by node: those of all blocks for node 1,
/// and then those for the next node.
#[must_use]
pub const fn forward_factor(log_len: u32, entry: u32) -> u32 {
    let blocks = 1 << (log_len - FUSED);
    let (node, block) = (entry / blocks, entry % blocks);
    if node == 0 {
        return block;
    }
    let layer = node.ilog2();
    (block << layer) + node - (1 << layer)
}

/// Applies the last `R` layers to both operands, multiplies the values, and inverts these layers.
/// One operation is 8 coefficients of a product, the work of one thread.
///
/// Threads: one per operation.
/// Shared memory: the rows of both operands.
/// Arrays: `forward`, one row of factors, see [`forward_factor`]; `inverse`, one row of factors;
/// `operands`, all first operands and then all second operands; `products`. If `C` is 0, operands
/// and products are in `0..q`; otherwise they are residues as words, as
/// [`columns`](super::columns) writes and reads them.
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
    let operations = batch.operations();
    multiply_block::<S, M, P, C, R>(s, s.block(), operations, forward, inverse, operands, products);
}

/// The work of block `block` of [`multiply`] in a batch of this number of operations.
#[inline(always)]
pub(super) fn multiply_block<S: Simt, M: Reducer, P: ReduceSum, const C: u32, const R: u32>(
    s: S,
    block: u32,
    operations: u32,
    forward: S::Global<FactorWord<M>>,
    inverse: S::Global<FactorWord<M>>,
    operands: S::Global<u32>,
    products: S::Global<u32>,
) where
    FactorWord<M>: Word,
{
    let rows = Rows::<S, M, P, C, R>::new(s, block, operations, forward, inverse);
    let last = Rows::<S, M, P, C, R>::PASSES - 1;
    let load = |operand: u32| {
        let operand = s.tail(operands, operand * operations * HELD as u32);
        let row = s.tail(operand, rows.first());
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
    let plan = Rows::<S, M, P, C, R>::PLAN;
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
    let row = s.tail(products, rows.first());
    for (k, &x) in product.iter().enumerate() {
        let word = if C == 0 { M::canonical(M::mul(x, scale)) } else { x.to_word() };
        s.store(row, rows.step(0, k), word);
    }
}

/// The rows of a block in shared memory, first operands before second operands, and this thread's
/// work on them.
struct Rows<S: Simt, M: Reducer, P, const C: u32, const R: u32>
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

impl<S: Simt, M: Reducer, P: ReduceSum, const C: u32, const R: u32> Rows<S, M, P, C, R>
where
    FactorWord<M>: Word,
{
    const PLAN: Plan = Plan::new::<M, P>(C + R);
    /// Number of passes.
    const PASSES: u32 = {
        assert!(
            R.is_multiple_of(FUSED) && R / FUSED >= 2 && R / FUSED <= 4,
            "there must be two to four passes"
        );
        R / FUSED
    };
    /// Threads that share a row.
    const THREADS: u32 = threads_of_row(R);

    #[inline(always)]
    fn new(
        s: S,
        block: u32,
        operations: u32,
        forward: S::Global<FactorWord<M>>,
        inverse: S::Global<FactorWord<M>>,
    ) -> Self {
        let row = (block * s.threads() + s.thread()) / Self::THREADS;
        // The blocks process the rows of `INTERLEAVED` polynomials in turn.
        let group = INTERLEAVED << (C + R - FUSED);
        let is_interleaved = C > 0 && operations.is_multiple_of(group);
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

    /// Returns the distance between two numbers that a thread holds in a pass.
    #[inline(always)]
    fn stride(pass: u32) -> u32 {
        1 << (R - FUSED * (pass + 1))
    }

    /// Returns the block of this thread's numbers within the row, and the first number in it.
    #[inline(always)]
    fn place(&self, pass: u32) -> (u32, u32) {
        (self.thread / Self::stride(pass), self.thread % Self::stride(pass))
    }

    /// Returns the distance in the row from a thread's first number to its number `k`.
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

    /// Returns the index in global memory of this thread's first number in the first pass.
    #[inline(always)]
    fn first(&self) -> u32 {
        (self.row << R) + self.position(0)
    }

    /// Applies the layers of one pass to both operands at once, because they share the factors.
    #[inline(always)]
    fn forward_pass(
        &self,
        pass: u32,
        operands: [[M::Residue; HELD]; 2],
    ) -> [[M::Residue; HELD]; 2] {
        let number = self.row % (1 << C);
        let block = (number << (FUSED * pass)) + self.place(pass).0;
        let (s, plan, first) = (self.s, Self::PLAN.forward, C + FUSED * pass);
        if pass + 1 < Self::PASSES {
            let factors = OfBlocks::<S, M> { s, table: self.forward, block };
            layers::forward::<M, HELD, 2>(operands, plan, first, &factors)
        } else {
            let blocks = 1 << (C + R - FUSED);
            let table = s.tail(self.forward, blocks + block);
            let factors = ByNode::<S, M> { s, table, blocks };
            layers::forward::<M, HELD, 2>(operands, plan, first, &factors)
        }
    }

    #[inline(always)]
    fn inverse_pass(&self, pass: u32, x: [M::Residue; HELD]) -> [M::Residue; HELD] {
        let (_, offset) = self.place(pass);
        let first = R - FUSED * (pass + 1);
        let table = self.s.tail(self.inverse, offset);
        let factors = OfPositions::<S, M> { s: self.s, table, stride: Self::stride(pass) };
        layers::inverse::<M, HELD>(x, Self::PLAN.inverse, first, &factors)
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
