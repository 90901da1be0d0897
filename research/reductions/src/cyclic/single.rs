//! One layer per launch, with all numbers in global memory. This is the baseline for the other
//! kernels.
//!
//! Every butterfly normalises, so that one kernel serves all layers.

use research_arithmetic::ntt::cyclic::butterfly;
use research_arithmetic::reduce::{Packed, ReduceSum, Reducer, Residue};

use super::super::FactorWord;
use super::layers::factor;
use ctru_simt::descriptor::{Batch, Shape};
use ctru_simt::simt::{Simt, Word};

/// Number of factors in the table of each direction. The longest polynomials use all of them,
/// shorter polynomials use the first ones.
pub const FACTORS: u32 = 1 << 17;

/// Returns the block shape: `threads` threads, one per butterfly or product of values.
#[must_use]
pub const fn shape(threads: u32) -> Shape {
    Shape::new(threads, threads, 0)
}

/// The parameters of a layer. The kernels read them from the array `layer`.
#[derive(Copy, Clone, Debug)]
pub struct Layer {
    /// The binary logarithm of the distance between a butterfly's numbers.
    pub log_half: u32,
    /// The binary logarithm of the polynomials' length.
    pub log_len: u32,
    /// Whether this is the first forward layer, which reads numbers in `0..q`, or the last inverse
    /// layer, which writes numbers in `0..q`.
    pub is_outermost: bool,
}

impl Layer {
    /// Number of elements in the array `layer`.
    pub const WORDS: usize = 3;

    /// Returns the content of the array.
    #[must_use]
    pub fn to_words(self) -> [u32; Self::WORDS] {
        [self.log_half, self.log_len, u32::from(self.is_outermost)]
    }

    /// Loads the layer from the array and clamps its parameters, so that no access leaves an array.
    /// Clamping changes only invalid layers: those that no polynomial of at most [`FACTORS`]
    /// coefficients has, and those whose blocks are longer than all polynomials of the batch
    /// together.
    #[inline(always)]
    fn load<S: Simt>(s: S, layer: S::Global<u32>, batch: Batch) -> Self {
        // The number of threads in the launch: the number of operations, rounded up to whole
        // blocks. The mask rounds, because the number of threads per block is a power of two.
        let threads = (batch.operations() + s.threads() - 1) & s.threads().wrapping_neg();
        let log_len = s.load(layer, 1).clamp(1, FACTORS.ilog2());
        let log_half = s.load(layer, 0).min(log_len - 1).min(threads.trailing_zeros());
        Self { log_half, log_len, is_outermost: s.load(layer, 2) != 0 }
    }

    /// Returns the index of the first number of this thread's butterfly, the butterfly's position
    /// in its block, and the number of this block in the polynomial.
    #[inline(always)]
    fn place<S: Simt>(self, s: S) -> (u32, u32, u32) {
        let index = s.block() * s.threads() + s.thread();
        let (block, position) = (index >> self.log_half, index & ((1 << self.log_half) - 1));
        let blocks = 1 << (self.log_len - 1 - self.log_half);
        ((block << (self.log_half + 1)) + position, position, block & (blocks - 1))
    }
}

/// Applies a forward layer in place. One operation is one butterfly.
///
/// Threads: one per operation.
/// Arrays: `factors`, one row of [`FACTORS`]; `layer`, one row, see [`Layer`]; `polynomials`,
/// residues as words.
#[inline(always)]
pub fn forward<S: Simt, M: Reducer>(
    s: S,
    factors: S::Global<FactorWord<M>>,
    layer: S::Global<u32>,
    polynomials: S::Global<u32>,
    batch: Batch,
) where
    FactorWord<M>: Word,
{
    let layer = Layer::load(s, layer, batch);
    let (low, _, block) = layer.place(s);
    let z = factor::<S, M>(s, factors, block);
    let load = |index| {
        let word = s.load(polynomials, index);
        if layer.is_outermost { M::Residue::new(word as i32) } else { M::Residue::from_word(word) }
    };
    let high = low + (1 << layer.log_half);
    let (x, y) = butterfly::<M>(load(low), load(high), Some(z), true);
    s.store(polynomials, low, x.to_word());
    s.store(polynomials, high, y.to_word());
}

/// Applies an inverse layer in place. One operation is one butterfly.
///
/// Threads: one per operation.
/// Arrays: as for [`forward`].
#[inline(always)]
pub fn inverse<S: Simt, M: Reducer>(
    s: S,
    factors: S::Global<FactorWord<M>>,
    layer: S::Global<u32>,
    polynomials: S::Global<u32>,
    batch: Batch,
) where
    FactorWord<M>: Word,
{
    let layer = Layer::load(s, layer, batch);
    let (low, position, _) = layer.place(s);
    let high = low + (1 << layer.log_half);
    let load = |index| M::Residue::from_word(s.load(polynomials, index));
    let z = factor::<S, M>(s, factors, (1 << layer.log_half) + position);
    let (x, y) = butterfly::<M>(load(low), load(high), Some(z), true);
    let scale = factor::<S, M>(s, factors, 0);
    let word = |x: M::Residue| {
        if layer.is_outermost { M::canonical(M::mul(x, scale)) } else { x.to_word() }
    };
    s.store(polynomials, low, word(x));
    s.store(polynomials, high, word(y));
}

/// Multiplies the transforms in the first half of the array by those in the second half. One
/// operation is one product of values.
///
/// Threads: one per operation.
/// Arrays: `transforms`, residues as words.
#[inline(always)]
pub fn multiply<S: Simt, M: Reducer, P: ReduceSum>(s: S, transforms: S::Global<u32>, batch: Batch) {
    let index = s.block() * s.threads() + s.thread();
    let load = |index| M::normalise(M::Residue::from_word(s.load(transforms, index)));
    let (a, b) = (load(index), load(batch.operations() + index));
    let product = P::reduce(i64::from(a.value()) * i64::from(b.value()));
    s.store(transforms, index, M::Residue::new(product).to_word());
}
