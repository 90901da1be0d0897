//! The shape of each ring's transforms, and their tables, which const code computes.
//!
//! A transform walks down a binary tree of polynomials. Node 1 is `x^N - 1`. Node `k = 2^l + j` on
//! layer `l` is `x^(N / 2^l) - root^e(k)`, where `root` has the order 512 modulo the prime, and
//!
//! ```text
//! x^(2m) - root^e = (x^m - root^(e/2)) (x^m + root^(e/2)),   -1 = root^256,
//! ```
//!
//! so its children `2k` and `2k + 1` have the exponents `e(k) / 2` and `e(k) / 2 + 256`. The factor
//! of the butterflies at node `k` is `root^(e(k) / 2)`. The transform stops at leaves of degree 3
//! or 5.
//!
//! A [`Plan`] sets two trees of the same height side by side: one in the lower half of each vector
//! and one in the upper half.

mod bounds;

use core::marker::PhantomData;

use crate::array::{Array, Element};
use crate::powers::{inverse_mod, power};
use crate::ring::{NtruPrimeRing, for_each_ntru_prime_ring};
use crate::simd::{LaneModulus, Modulus, Simd, Twiddle};
pub(super) use bounds::OUTPUT_BOUND;
use bounds::Schedule;

/// The smallest primes that are 1 modulo 512. The product of the first two, 82.6 million, covers
/// products by small elements; all three cover products of any two elements.
pub(super) const MODULI: [Modulus; 3] =
    [Modulus::new(7681), Modulus::new(10753), Modulus::new(11777)];

/// Layers of the deepest tree: `x^N - 1` splits into 512 factors `x^(N/512) - zeta`.
pub(super) const MOST_LAYERS: usize = 9;
/// Largest degree of a leaf.
pub(super) const MOST_DEGREE: usize = 5;
/// Room for aliased coefficients: those of a plain product beyond the transform's length.
pub(super) const MOST_ALIASED: usize = 32;
/// Most lanes of a vector.
const MOST_LANES: usize = 32;

/// The shape of transforms. Several rings may share one, and with it the compiled code.
pub trait Shape: Copy {
    /// Radix-2 layers above the leaves.
    const LAYERS: usize;
    /// Degree of the leaves.
    const LEAF_DEGREE: usize;
    /// Number of coefficients by which a plain product in each ring of this shape is longer than
    /// the transform.
    const ALIASED: usize;

    /// Number of coefficients of the transforms.
    const LEN: usize = Self::LEAF_DEGREE << Self::LAYERS;
    /// Largest absolute value of a centred operand in the rings of this shape.
    const OPERAND_BOUND: i32 = operand_bound([Self::LAYERS, Self::LEAF_DEGREE, Self::ALIASED]);

    /// Room for a plain product: the transform's length, and where coefficients are aliased, 64
    /// more.
    type Padded<T: Element>: Array<T>;
}

/// The shape with these numbers.
#[derive(Copy, Clone, Debug)]
pub struct ShapeOf<const LAYERS: usize, const LEAF_DEGREE: usize, const ALIASED: usize>;

macro_rules! shapes {
    ($([$layers:literal, $degree:literal, $aliased:literal])+) => {
        /// Layers, degree of the leaves and aliased coefficients of all shapes, the shortest first.
        const SHAPES: &[[usize; 3]] = &[$([$layers, $degree, $aliased]),+];

        $(
            const _: () = assert!($layers <= MOST_LAYERS && $degree <= MOST_DEGREE);
            impl Shape for ShapeOf<$layers, $degree, $aliased> {
                const LAYERS: usize = $layers;
                const LEAF_DEGREE: usize = $degree;
                const ALIASED: usize = $aliased;
                type Padded<T: Element> =
                    [T; ($degree << $layers) + if $aliased > 0 { 2 * MOST_ALIASED } else { 0 }];
            }
        )+
    };
}
shapes! {
    [8, 5, 25]
    [9, 3, 0]
    [9, 5, 0]
}

/// Returns the first shape for polynomials of `n` coefficients: its transform is at least as long
/// as a plain product, or shorter by just its number of aliased coefficients. Fails to compile if
/// there is none.
const fn shape_of(n: usize) -> [usize; 3] {
    let mut at = 0;
    loop {
        let [layers, degree, aliased] = SHAPES[at];
        if (2 * n - 1).saturating_sub(degree << layers) == aliased {
            return SHAPES[at];
        }
        at += 1;
    }
}

/// Returns the largest `q / 2` of the rings of a shape.
const fn operand_bound([layers, degree, aliased]: [usize; 3]) -> i32 {
    let mut most = 0;
    macro_rules! of_ring {
        ($ring:ident $n:literal $numbers:tt) => {
            let half = (<crate::ring::$ring as NtruPrimeRing>::Q / 2) as i32;
            let [l, d, a] = shape_of($n);
            if l == layers && d == degree && a == aliased && half > most {
                most = half;
            }
        };
    }
    for_each_ntru_prime_ring!(of_ring);
    most
}

/// A ring with the shape of its transforms.
pub trait RnsRing: NtruPrimeRing {
    /// The shape.
    type Shape: Shape;
}

macro_rules! transforms {
    ($ring:ident $n:literal $numbers:tt) => {
        impl RnsRing for crate::ring::$ring {
            type Shape = ShapeOf<{ shape_of($n)[0] }, { shape_of($n)[1] }, { shape_of($n)[2] }>;
        }
    };
}
for_each_ntru_prime_ring!(transforms);

/// Two trees side by side.
pub(super) trait Plan: Sized {
    /// The shape.
    type Shape: Shape;
    /// The indices in [`MODULI`] of the two trees' primes.
    const PRIMES: [usize; 2];
    /// The nodes at which the two trees start.
    const ROOTS: [usize; 2];

    /// The primes of the two trees.
    const MODULI: [Modulus; 2] = [MODULI[Self::PRIMES[0]], MODULI[Self::PRIMES[1]]];
    /// Degree of the leaves.
    const LEAF_DEGREE: usize = Self::Shape::LEAF_DEGREE;
    /// Layers of each tree.
    const LAYERS: usize = Self::Shape::LAYERS - Self::ROOTS[0].ilog2() as usize;
    /// Whether the trees start at `x^N - 1`, so that the upper half of their input is zero.
    const WHOLE: bool = Self::ROOTS[0] == 1;
    /// Number of coefficients by which a plain product is longer than the transform.
    const ALIASED: usize = Self::Shape::ALIASED;
    /// Factor of the leaves' products: it undoes their `2^-16` and the inverse transform's
    /// `2^LAYERS`.
    const SCALE: [Twiddle<i16>; 2] =
        [scale(&Self::MODULI[0], Self::LAYERS), scale(&Self::MODULI[1], Self::LAYERS)];
    /// The reductions.
    const SCHEDULE: Schedule = Schedule::new::<Self>();

    /// Returns the modulus of each tree in the tree's half of a vector.
    #[inline(always)]
    fn modulus<S: Simd>(simd: S) -> LaneModulus<S::Vector> {
        let [low, high] = const { Self::MODULI };
        Modulus::halves([&low, &high], simd)
    }

    /// Returns the number of rows that hold a polynomial in NTT form.
    #[inline(always)]
    fn rows<S: Simd>() -> usize {
        const { (Self::LEAF_DEGREE << Self::LAYERS) / S::HALF }
    }

    /// Returns the twiddle factors of the forward transform.
    #[inline(always)]
    fn forward_table<S: Simd>() -> &'static Table {
        const { &Table::new::<Self>(S::LANES, 0) }
    }

    /// Returns the twiddle factors of the inverse transform.
    #[inline(always)]
    fn inverse_table<S: Simd>() -> &'static Table {
        const { &Table::new::<Self>(S::LANES, 1) }
    }
}

const fn scale(modulus: &Modulus, layers: usize) -> Twiddle<i16> {
    modulus.factor((1 << 16) * inverse_mod(1 << layers, modulus.m as u64) as i64)
}

/// Residues modulo the first two primes, one prime in each tree.
pub(super) struct TwoPrimes<T>(PhantomData<T>);

impl<T: Shape> Plan for TwoPrimes<T> {
    type Shape = T;
    const PRIMES: [usize; 2] = [0, 1];
    const ROOTS: [usize; 2] = [1, 1];
}

/// Residues modulo the third prime: modulo `x^(N/2) - 1` in the first tree and `x^(N/2) + 1` in the
/// second.
pub(super) struct ThirdPrime<T>(PhantomData<T>);

impl<T: Shape> Plan for ThirdPrime<T> {
    type Shape = T;
    const PRIMES: [usize; 2] = [2, 2];
    const ROOTS: [usize; 2] = [2, 3];
}

/// The twiddle factors of a plan for vectors of one width.
///
/// Let half a vector have `B` lanes. The upper `log2(B)` layers run over columns and take one
/// factor per block. The other layers run over rows. There, each lane of half a vector belongs to a
/// different block and has different factors.
#[repr(C, align(64))]
pub(super) struct Table {
    /// Vector `2^l + j` holds the factors of block `j` of layer `l`: that of each tree in all lanes
    /// of the tree's half.
    column: Twiddle<[i16; MOST_LANES * MOST_LANES / 2]>,
    /// Vector `2^l + j` holds the factors on layer `log2(B) + l`: each lane has that of block `j`
    /// below the lane's own block.
    row: Twiddle<[i16; 2 << MOST_LAYERS]>,
}

impl Table {
    /// Returns the table of the forward transform (direction 0) or of the inverse one (1).
    const fn new<P: Plan>(lanes: usize, direction: usize) -> Self {
        let mut column = Twiddle {
            zeta: [0; MOST_LANES * MOST_LANES / 2],
            zeta_qinv: [0; MOST_LANES * MOST_LANES / 2],
        };
        let mut row = Twiddle { zeta: [0; 2 << MOST_LAYERS], zeta_qinv: [0; 2 << MOST_LAYERS] };
        let factors = [&FACTORS[P::PRIMES[0]][direction], &FACTORS[P::PRIMES[1]][direction]];
        let half = lanes / 2;
        let mut lane = 0;
        while lane < lanes {
            let tree = lane / half;
            let mut node = 1;
            while node < half {
                let factor = factors[tree][descendant(P::ROOTS[tree], node)];
                column.zeta[node * lanes + lane] = factor.zeta;
                column.zeta_qinv[node * lanes + lane] = factor.zeta_qinv;
                node += 1;
            }
            let mut node = 1;
            while node < (1 << P::LAYERS) / half {
                let block = descendant(P::ROOTS[tree], half + lane % half);
                let factor = factors[tree][descendant(block, node)];
                row.zeta[node * lanes + lane] = factor.zeta;
                row.zeta_qinv[node * lanes + lane] = factor.zeta_qinv;
                node += 1;
            }
            lane += 1;
        }
        Self { column, row }
    }

    /// Returns the factors of the column layers.
    #[inline(always)]
    pub(super) fn column(&self) -> Factors<'_> {
        Twiddle { zeta: &self.column.zeta, zeta_qinv: &self.column.zeta_qinv }
    }

    /// Returns the factors of the row layers.
    #[inline(always)]
    pub(super) fn row(&self) -> Factors<'_> {
        Twiddle { zeta: &self.row.zeta, zeta_qinv: &self.row.zeta_qinv }
    }
}

/// Factors of butterflies: one vector for each node, from node 1 on.
pub(super) type Factors<'a> = Twiddle<&'a [i16]>;

impl Factors<'_> {
    /// Loads the vector of a node.
    #[inline(always)]
    pub(super) fn load<S: Simd>(self, simd: S, node: usize) -> Twiddle<S::Vector> {
        let start = node * S::LANES;
        Twiddle {
            zeta: simd.load(&self.zeta[start..]),
            zeta_qinv: simd.load(&self.zeta_qinv[start..]),
        }
    }
}

/// Returns the number of a node in the subtree of `root`. If the subtree were numbered as a tree of
/// its own, with 1 for `root`, the node would have the number `node`.
const fn descendant(root: usize, node: usize) -> usize {
    let layer = node.ilog2();
    (root << layer) + node - (1 << layer)
}

/// For each prime, the factors of the butterflies at all nodes, and their inverses. Only const code
/// reads this table, so it is in no program.
static FACTORS: [[[Twiddle<i16>; 1 << MOST_LAYERS]; 2]; 3] =
    [factors(&MODULI[0]), factors(&MODULI[1]), factors(&MODULI[2])];

const fn factors(modulus: &Modulus) -> [[Twiddle<i16>; 1 << MOST_LAYERS]; 2] {
    let p = modulus.m as u64;
    let root = root_of_order_512(p);
    let mut powers = [Twiddle { zeta: 0, zeta_qinv: 0 }; 512];
    let (mut i, mut root_to_i) = (0, 1);
    while i < 512 {
        powers[i] = modulus.factor(root_to_i as i64);
        root_to_i = root_to_i * root % p;
        i += 1;
    }
    let mut exponents = [0; 1 << MOST_LAYERS];
    let mut factors = [[powers[0]; 1 << MOST_LAYERS]; 2];
    let mut k = 1;
    while k < 1 << MOST_LAYERS {
        let half = exponents[k] / 2;
        if 2 * k + 1 < 1 << MOST_LAYERS {
            exponents[2 * k] = half;
            exponents[2 * k + 1] = half + 256;
        }
        factors[0][k] = powers[half];
        factors[1][k] = powers[(512 - half) % 512];
        k += 1;
    }
    factors
}

/// Returns a root of unity of order 512 modulo a prime `p = 1 mod 512`.
const fn root_of_order_512(p: u64) -> u64 {
    assert!(p % 512 == 1);
    let mut candidate = 2;
    loop {
        let root = power(candidate, (p - 1) / 512, p);
        // The order divides 512. It is 512 exactly if the 256th power is -1.
        if power(root, 256, p) == p - 1 {
            return root;
        }
        candidate += 1;
    }
}
