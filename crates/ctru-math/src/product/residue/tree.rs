//! The trees of factors that the transforms walk down, two side by side, and their tables, made by const code.
//!
//! Node 1 of a tree is `x^N - 1`; node `k = 2^l + j` is `x^(N / 2^l) - root^e(k)`, `e(1) = 0`, and splits into its
//! children `2k` and `2k + 1` by `root^(e(k) / 2)` and its negative.

use super::prime::{MODULI, inverse_mod, power, root_of_order_512};
use crate::lanes::{Factor, LaneModulus, Lanes, Modulus};

/// Layers of the deepest tree: `x^N - 1` splits into 512 factors `x^(N/512) - zeta`.
const MOST_LAYERS: usize = 9;
/// Most lanes of a vector.
const MOST_LANES: usize = 32;

/// Two subtrees of equal height, one for each half of a vector.
pub(super) struct Trees {
    pub(super) moduli: [Modulus; 2],
    /// The nodes at which they start.
    roots: [usize; 2],
    /// Their layers.
    pub(super) layers: usize,
    /// What products of leaves are multiplied by, against their `2^-16` and the scaling of the inverse transform.
    pub(super) scale: [Factor<i16>; 2],
}

impl Trees {
    const fn new(moduli: [Modulus; 2], roots: [usize; 2], layers: usize) -> Self {
        let layers = layers - roots[0].ilog2() as usize;
        Self {
            moduli,
            roots,
            layers,
            scale: [scale(&moduli[0], layers), scale(&moduli[1], layers)],
        }
    }
}

const fn scale(modulus: &Modulus, layers: usize) -> Factor<i16> {
    modulus.factor((1 << 16) * inverse_mod(1 << layers, modulus.m as u64) as i64)
}

/// A pair of trees.
pub(super) trait Forest {
    /// Layers of a whole tree.
    const LAYERS: usize;
    /// Coefficients of a plain product beyond the transform's length.
    const WRAPPED: usize;
    const TREES: Trees;
    /// Whether the trees start at `x^N - 1`, so that the upper half of their input is zero.
    const WHOLE: bool = Self::TREES.layers == Self::LAYERS;

    /// The moduli of the halves.
    #[inline(always)]
    fn modulus<V: Lanes>() -> LaneModulus<V> {
        let [low, high] = const { Self::TREES.moduli };
        Modulus::halves([&low, &high])
    }
}

/// What two trees side by side are for.
pub(super) trait Primes {
    const MODULI: [Modulus; 2];
    /// The nodes at which the trees start.
    const ROOTS: [usize; 2];
}

/// Residues modulo the first two primes.
pub(super) struct TwoPrimes;
/// Residues modulo the third prime and `x^(N/2) - 1` and `x^(N/2) + 1`.
pub(super) struct ThirdPrime;

impl Primes for TwoPrimes {
    const MODULI: [Modulus; 2] = [MODULI[0], MODULI[1]];
    const ROOTS: [usize; 2] = [1, 1];
}
impl Primes for ThirdPrime {
    const MODULI: [Modulus; 2] = [MODULI[2], MODULI[2]];
    const ROOTS: [usize; 2] = [2, 3];
}

/// The trees of transforms with `LAYERS` layers, in which `WRAPPED` coefficients of plain products wrap.
pub(super) struct OfShape<P, const LAYERS: usize, const WRAPPED: usize>(
    core::marker::PhantomData<P>,
);

impl<P: Primes, const LAYERS: usize, const WRAPPED: usize> Forest for OfShape<P, LAYERS, WRAPPED> {
    const LAYERS: usize = LAYERS;
    const WRAPPED: usize = WRAPPED;
    const TREES: Trees = Trees::new(P::MODULI, P::ROOTS, LAYERS);
}

/// The tables of a forest for vectors `V`.
pub(super) struct Tables<F, V>(core::marker::PhantomData<(F, V)>);

impl<F: Forest, V: Lanes> Tables<F, V> {
    pub(super) const FORWARD: &'static Table = &Table::new(&F::TREES, V::LANES, false);
    pub(super) const INVERSE: &'static Table = &Table::new(&F::TREES, V::LANES, true);
}

/// Factors of the butterflies of two trees for vectors of one width. With `B` lanes in half a vector, the upper
/// `log2(B)` layers run over columns, one factor a block; the others run over rows of `B` blocks.
#[repr(C, align(64))]
pub(super) struct Table {
    /// Factors of the column layers, a vector a block: block `j` of layer `l` has vector `2^l + j`.
    column: Factor<[i16; MOST_LANES * MOST_LANES / 2]>,
    /// Factors of the row layers: block `j` of layer `log2(B) + l` in all rows has vector `2^l + j`.
    row: Factor<[i16; 2 << MOST_LAYERS]>,
}

impl Table {
    /// The table of `trees` for vectors of `lanes` lanes, and of the transform or its inverse.
    pub(super) const fn new(trees: &Trees, lanes: usize, inverse: bool) -> Self {
        let mut column = Factor {
            value: [0; MOST_LANES * MOST_LANES / 2],
            by_inverse: [0; MOST_LANES * MOST_LANES / 2],
        };
        let mut row = Factor { value: [0; 2 << MOST_LAYERS], by_inverse: [0; 2 << MOST_LAYERS] };
        let factors = [factors(&trees.moduli[0], inverse), factors(&trees.moduli[1], inverse)];
        let half = lanes / 2;
        let mut lane = 0;
        while lane < lanes {
            let tree = lane / half;
            let mut node = 1;
            while node < half {
                let factor = factors[tree][descendant(trees.roots[tree], node)];
                column.value[node * lanes + lane] = factor.value;
                column.by_inverse[node * lanes + lane] = factor.by_inverse;
                node += 1;
            }
            let mut node = 1;
            while node < (1 << trees.layers) / half {
                let block = descendant(trees.roots[tree], half + lane % half);
                let factor = factors[tree][descendant(block, node)];
                row.value[node * lanes + lane] = factor.value;
                row.by_inverse[node * lanes + lane] = factor.by_inverse;
                node += 1;
            }
            lane += 1;
        }
        Self { column, row }
    }

    /// Vector `node` of the column layers.
    #[inline(always)]
    pub(super) fn column<V: Lanes>(&self, node: usize) -> Factor<V> {
        vector(&self.column.value, &self.column.by_inverse, node)
    }

    /// Vector `node` of the row layers.
    #[inline(always)]
    pub(super) fn row<V: Lanes>(&self, node: usize) -> Factor<V> {
        vector(&self.row.value, &self.row.by_inverse, node)
    }
}

#[inline(always)]
fn vector<V: Lanes>(value: &[i16], by_inverse: &[i16], index: usize) -> Factor<V> {
    let start = index * V::LANES;
    Factor { value: V::load(&value[start..]), by_inverse: V::load(&by_inverse[start..]) }
}

/// The node that is to `root` what `node` is to 1.
const fn descendant(root: usize, node: usize) -> usize {
    let layer = node.ilog2();
    (root << layer) + node - (1 << layer)
}

/// The factors by which the nodes split, or their inverses.
const fn factors(modulus: &Modulus, inverse: bool) -> [Factor<i16>; 1 << MOST_LAYERS] {
    let p = modulus.m as u64;
    let root = root_of_order_512(p);
    let mut exponents = [0; 1 << MOST_LAYERS];
    let mut factors = [Factor { value: 0, by_inverse: 0 }; 1 << MOST_LAYERS];
    let mut k = 1;
    while k < 1 << MOST_LAYERS {
        // The children have half the exponent, the second one with 256 added (the factor -1).
        let half = exponents[k] / 2;
        if 2 * k + 1 < 1 << MOST_LAYERS {
            exponents[2 * k] = half;
            exponents[2 * k + 1] = half + 256;
        }
        factors[k] = modulus.factor(power(root, if inverse { 512 - half } else { half }, p) as i64);
        k += 1;
    }
    factors
}
