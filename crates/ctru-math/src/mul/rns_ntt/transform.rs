//! The incomplete NTT on two trees side by side: radix-2 layers above leaves of degree 3 or 5.
//!
//! Each half of a vector belongs to one tree and has `B` lanes. The first `log2(B)` layers pair
//! coefficients that are at least `N/B` apart. They run on `B` vectors in registers, which are then
//! transposed: row `i` holds coefficient `i` of all `B` blocks. The other layers and the products
//! of leaves pair whole rows.
//!
//! ```text
//! columns: layers 0..log2(B), transposition     rows: layers log2(B).., two passes
//! ```

use core::marker::PhantomData;

use super::plan::OUTPUT_BOUND;
use super::plan::{Factors, MOST_ALIASED, Plan};
use crate::array::Element;
use crate::poly::{Poly, SmallPoly};
use crate::ring::NtruPrimeRing;
use crate::simd::{LaneModulus, Simd, Vector, WithSimd};
use crate::wipe::Scratch;

/// Radix of the last pass over rows.
pub(super) const LAST_RADIX: usize = 8;

/// Largest number of vectors in a pass.
const MOST_ROWS: usize = 16;

/// A polynomial that can be transformed.
pub(crate) trait Operand {
    /// Returns the number of coefficients.
    fn len(&self) -> usize;

    /// Loads half a vector of centred coefficients, those from `x^at` on, to both halves. Zeros
    /// follow the last coefficient.
    fn load_twice<S: Simd>(&self, simd: S, at: usize) -> S::Vector;
}

/// Coefficients in `0..modulus`.
pub(crate) struct Canonical<'a> {
    coefficients: &'a [u16],
    modulus: u32,
}

impl<'a> Canonical<'a> {
    /// Returns coefficients in `0..modulus`.
    pub(super) fn new(coefficients: &'a [u16], modulus: u32) -> Self {
        Self { coefficients, modulus }
    }
}

/// Coefficients that are centred.
pub(crate) struct Small<'a>(&'a [i8]);

impl<R: NtruPrimeRing> Poly<R> {
    /// Returns the coefficients, to be transformed.
    pub(crate) fn operand(&self) -> Canonical<'_> {
        Canonical::new(self.coefficients(), R::Q)
    }
}

impl<R: NtruPrimeRing> SmallPoly<R> {
    /// Returns the coefficients, to be transformed.
    pub(crate) fn operand(&self) -> Small<'_> {
        Small(self.coefficients())
    }
}

impl Operand for Canonical<'_> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.coefficients.len()
    }
    #[inline(always)]
    fn load_twice<S: Simd>(&self, simd: S, at: usize) -> S::Vector {
        load_canonical(simd, self.coefficients, self.modulus, at)
    }
}

impl Operand for Small<'_> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.0.len()
    }
    #[inline(always)]
    fn load_twice<S: Simd>(&self, simd: S, at: usize) -> S::Vector {
        let c = self.0;
        if at + S::HALF <= c.len() {
            simd.load_twice_bytes(&c[at..])
        } else {
            simd.load_twice_bytes(&padded(c, at))
        }
    }
}

/// Loads half a vector of numbers in `0..modulus` to both halves and centres them.
///
/// The function takes the smaller of the unsigned numbers `c - modulus + offset` and `c + offset`.
/// It is the first one exactly if `c` is above `modulus / 2`. A mask from a comparison is no
/// alternative: in plain Rust, LLVM turns a mask that selects a constant into branches.
#[inline(always)]
fn load_canonical<S: Simd>(simd: S, c: &[u16], modulus: u32, at: usize) -> S::Vector {
    let whole = at + S::HALF <= c.len();
    let c = if whole { simd.load_twice(&c[at..]) } else { simd.load_twice(&padded(c, at)) };
    let offset = (modulus - 1) / 2;
    let below = c.sub(simd.splat((modulus - offset) as i16));
    let offset = simd.splat(offset as i16);
    below.min_unsigned(c.add(offset)).sub(offset)
}

/// Returns the elements of `c` from `at` on, fewer than 16, and zeros. The function is not inlined,
/// because the loops rarely need it.
#[cold]
#[inline(never)]
fn padded<T: Element>(c: &[T], at: usize) -> Scratch<T, [T; MOST_ROWS]> {
    let mut padded = Scratch::<T, [T; MOST_ROWS]>::new();
    for (padded, &c) in padded.iter_mut().zip(&c[at.min(c.len())..]) {
        *padded = c;
    }
    padded
}

/// Transforms a polynomial.
///
/// Input: centred coefficients up to `Shape::OPERAND_BOUND`. Output: representatives with the
/// bounds that [`Plan::SCHEDULE`] proves, for `basemul`.
#[inline(always)]
pub(super) fn forward<P: Plan, S: Simd>(simd: S, a: &impl Operand, ntt: &mut [i16]) {
    simd.vectorize(Columns::<P, _>(a, ntt, PhantomData));
    simd.vectorize(Rows::<P>(ntt, PhantomData));
}

/// The first layers of [`forward`], on columns.
struct Columns<'a, P, A>(&'a A, &'a mut [i16], PhantomData<P>);

impl<P: Plan, A: Operand> WithSimd for Columns<'_, P, A> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self(operand, ntt, _) = self;
        let modulus = P::modulus(simd);
        let table = P::forward_table::<S>();
        let block = P::rows::<S>();
        let (rows, kept) = ntt.split_at_mut(block * S::LANES);
        if P::ALIASED > 0 {
            keep_highest(simd, operand, kept);
        }
        let read = if P::WHOLE { S::HALF / 2 } else { S::HALF };
        assert!(operand.len() <= read * block + if P::ALIASED > 0 { block } else { 0 });
        for column in (0..block).step_by(S::HALF) {
            // The last group of columns may overlap the group before.
            let column = column.min(block - S::HALF);
            let mut x = [simd.splat(0); MOST_ROWS];
            let x = &mut x[..S::HALF];
            for (j, x) in x[..read].iter_mut().enumerate() {
                *x = operand.load_twice(simd, j * block + column);
            }
            // Layer 0 of a whole tree: its butterflies copy their first operand, because the second
            // one is zero, apart from the coefficients that are added below.
            for j in read..S::HALF {
                x[j] = x[j - read];
            }
            let upper = read * block + column;
            if P::ALIASED > 0 && upper < operand.len() {
                let c = operand.load_twice(simd, upper);
                if P::WHOLE {
                    x[read] = x[read].sub(c);
                    x[0] = x[0].add(c);
                } else {
                    // The first tree starts at x^(N/2) - 1 and the second one at x^(N/2) + 1.
                    let sign = simd.halves(0, -1);
                    x[0] = x[0].add(c.xor(sign).sub(sign));
                }
            }
            forward_layers::<P, S>(simd, &modulus, x, P::WHOLE as usize, 0, table.column(), 1);
            Vector::transpose(x);
            store_rows::<S>(x, rows, column, 1);
        }
    }
}

/// The other layers of [`forward`], on rows.
struct Rows<'a, P>(&'a mut [i16], PhantomData<P>);

impl<P: Plan> WithSimd for Rows<'_, P> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self(ntt, _) = self;
        let modulus = P::modulus(simd);
        let table = P::forward_table::<S>();
        let radix = first_radix::<P, S>();
        let rows = &mut ntt[..P::rows::<S>() * S::LANES];
        let mut x = [simd.splat(0); MOST_ROWS];
        let stride = LAST_RADIX * P::LEAF_DEGREE;
        let layer = S::HALF.ilog2() as usize;
        for first in 0..stride {
            let x = &mut x[..radix];
            load_rows(simd, rows, first, stride, x);
            forward_layers::<P, S>(simd, &modulus, x, 0, layer, table.row(), 1);
            store_rows::<S>(x, rows, first, stride);
        }
        let layer = layer + radix.ilog2() as usize;
        for block in 0..radix {
            for first in block * stride..block * stride + P::LEAF_DEGREE {
                let x = &mut x[..LAST_RADIX];
                load_rows(simd, rows, first, P::LEAF_DEGREE, x);
                forward_layers::<P, S>(simd, &modulus, x, 0, layer, table.row(), radix + block);
                store_rows::<S>(x, rows, first, P::LEAF_DEGREE);
            }
        }
    }
}

/// Transforms the products of leaves back, and writes the residues of the plain product for both
/// trees.
///
/// Output: `low` and `high`, the residues for the first and the second tree, up to `OUTPUT_BOUND`
/// in absolute value. `ntt` is scratch.
#[inline(always)]
pub(super) fn inverse<P: Plan, S: Simd>(
    simd: S,
    ntt: &mut [i16],
    low: &mut [i16],
    high: &mut [i16],
) {
    simd.vectorize(Inverse::<P>([ntt, low, high], PhantomData));
}

/// The work of [`inverse`].
struct Inverse<'a, P>([&'a mut [i16]; 3], PhantomData<P>);

impl<P: Plan> WithSimd for Inverse<'_, P> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self([ntt, low, high], _) = self;
        const { assert!(OUTPUT_BOUND <= i16::MAX as i32 / 2) };
        let modulus = P::modulus(simd);
        let table = P::inverse_table::<S>();
        let radix = first_radix::<P, S>();
        let block = P::rows::<S>();
        let (rows, aliased) = ntt.split_at_mut(block * S::LANES);
        assert!(low.len() >= block * S::HALF && high.len() >= block * S::HALF);
        let mut x = [simd.splat(0); MOST_ROWS];
        let stride = LAST_RADIX * P::LEAF_DEGREE;
        let layer = (S::HALF * radix).ilog2() as usize;
        for block in 0..radix {
            for first in block * stride..block * stride + P::LEAF_DEGREE {
                let x = &mut x[..LAST_RADIX];
                load_rows(simd, rows, first, P::LEAF_DEGREE, x);
                inverse_layers::<P, S>(simd, &modulus, x, layer, table.row(), radix + block);
                store_rows::<S>(x, rows, first, P::LEAF_DEGREE);
            }
        }
        let layer = S::HALF.ilog2() as usize;
        for first in 0..stride {
            let x = &mut x[..radix];
            load_rows(simd, rows, first, stride, x);
            inverse_layers::<P, S>(simd, &modulus, x, layer, table.row(), 1);
            store_rows::<S>(x, rows, first, stride);
        }
        for column in (0..block).step_by(S::HALF) {
            // The last group of columns may overlap the group before.
            let column = column.min(block - S::HALF);
            let x = &mut x[..S::HALF];
            load_rows(simd, rows, column, 1, x);
            Vector::transpose(x);
            inverse_layers::<P, S>(simd, &modulus, x, 0, table.column(), 1);
            let (mut low, mut high) = (low.chunks_exact_mut(block), high.chunks_exact_mut(block));
            // A loop over `zip` would divide to compute its length.
            for x in x {
                let (Some(low), Some(high)) = (low.next(), high.next()) else { break };
                x.store_halves(&mut low[column..], &mut high[column..]);
            }
        }
        if P::ALIASED > 0 {
            separate_aliased::<P, S>(simd, aliased, block * S::HALF, low, high);
        }
    }
}

/// Returns the radix of the first pass over rows.
#[inline(always)]
fn first_radix<P: Plan, S: Simd>() -> usize {
    const { (1 << P::LAYERS) / (S::HALF * LAST_RADIX) }
}

/// Keeps the highest coefficients of an operand, which `basemul` needs for aliased coefficients.
#[inline(always)]
fn keep_highest<S: Simd>(simd: S, operand: &impl Operand, kept: &mut [i16]) {
    let (kept, copy) = kept.split_at_mut(MOST_ALIASED);
    for at in (0..MOST_ALIASED).step_by(S::HALF) {
        operand
            .load_twice(simd, operand.len() - MOST_ALIASED + at)
            .store_halves(&mut kept[at..], &mut copy[at..]);
    }
}

/// Subtracts the aliased coefficients from the lowest coefficients of each tree, and appends them
/// to the tree's coefficients.
///
/// `length` is the number of coefficients of each tree.
#[inline(always)]
fn separate_aliased<P: Plan, S: Simd>(
    simd: S,
    aliased: &[i16],
    length: usize,
    low: &mut [i16],
    high: &mut [i16],
) {
    for ((modulus, aliased), residues) in
        P::MODULI.iter().zip(aliased.chunks_exact(MOST_ALIASED)).zip([low, high])
    {
        let modulus = modulus.splat(simd);
        for at in (0..MOST_ALIASED).step_by(S::LANES) {
            let exact = simd.load(&residues[at..]).sub(simd.load(&aliased[at..]));
            modulus.reduce(exact).store(&mut residues[at..]);
        }
        residues[length..length + MOST_ALIASED].copy_from_slice(aliased);
    }
}

/// Repeats `$body` with each layer of a pass as a constant, so that all values stay in registers.
macro_rules! each_layer {
    (|$layer:ident| $body:expr) => {
        each_layer!(@ $layer, $body, 0, 1, 2, 3)
    };
    (rev $layer:ident: $body:expr) => {
        each_layer!(@ $layer, $body, 3, 2, 1, 0)
    };
    (@ $layer:ident, $body:expr, $($number:literal),*) => {
        $({
            const $layer: usize = $number;
            $body
        })*
    };
}

/// Runs the layers of a pass from `skip` on. `root` is the node above all elements, on layer
/// `first`.
#[inline(always)]
fn forward_layers<P: Plan, S: Simd>(
    simd: S,
    modulus: &LaneModulus<S::Vector>,
    x: &mut [S::Vector],
    skip: usize,
    first: usize,
    factors: Factors,
    root: usize,
) {
    let schedule = const { &P::SCHEDULE };
    let half = x.len() / 2;
    each_layer!(|LAYER| if (skip..x.len().ilog2() as usize).contains(&LAYER) {
        for pair in 0..half {
            let (block, i, j) = butterfly_of(pair, half >> LAYER);
            let a = if schedule.forward[first + LAYER] { modulus.reduce(x[i]) } else { x[i] };
            let by_one = first == 0 && block == 0 && schedule.forward_by_one[LAYER];
            let b = if by_one {
                x[j]
            } else {
                modulus.mul(x[j], factors.load(simd, (root << LAYER) + block))
            };
            (x[i], x[j]) = (a.add(b), a.sub(b));
        }
    });
}

/// Undoes [`forward_layers`] and multiplies by 2 for each layer.
#[inline(always)]
fn inverse_layers<P: Plan, S: Simd>(
    simd: S,
    modulus: &LaneModulus<S::Vector>,
    x: &mut [S::Vector],
    first: usize,
    factors: Factors,
    root: usize,
) {
    let schedule = const { &P::SCHEDULE };
    let half = x.len() / 2;
    each_layer!(rev LAYER: if x.len() >> LAYER > 1 {
        for pair in 0..half {
            let (block, i, j) = butterfly_of(pair, half >> LAYER);
            let (sum, difference) = (x[i].add(x[j]), x[i].sub(x[j]));
            let reduced = schedule.inverse[first + LAYER];
            let by_one = P::WHOLE && first == 0 && block == 0;
            x[i] = if reduced { modulus.reduce(sum) } else { sum };
            x[j] = if !by_one {
                modulus.mul(difference, factors.load(simd, (root << LAYER) + block))
            } else if reduced {
                modulus.reduce(difference)
            } else {
                difference
            };
        }
    });
}

/// Returns the block of a butterfly and the indices of its two elements, which are `distance`
/// apart.
#[inline(always)]
fn butterfly_of(pair: usize, distance: usize) -> (usize, usize, usize) {
    let block = pair / distance;
    let i = block * distance + pair;
    (block, i, i + distance)
}

/// Loads rows that are `stride` rows apart.
#[inline(always)]
pub(super) fn load_rows<S: Simd>(
    simd: S,
    from: &[i16],
    first: usize,
    stride: usize,
    rows: &mut [S::Vector],
) {
    for (i, row) in rows.iter_mut().enumerate() {
        *row = simd.load(&from[(first + i * stride) * S::LANES..]);
    }
}

/// Stores rows at the places from which [`load_rows`] loads them.
#[inline(always)]
pub(super) fn store_rows<S: Simd>(rows: &[S::Vector], to: &mut [i16], first: usize, stride: usize) {
    for (i, row) in rows.iter().enumerate() {
        row.store(&mut to[(first + i * stride) * S::LANES..]);
    }
}
