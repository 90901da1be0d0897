//! The primes of the transform and their tables, made by const code.

use crate::lanes::{Factor, Modulus};

/// Radix-2 layers: `x^N - 1` splits into 512 factors `x^(N/512) - zeta`.
pub(super) const LAYERS: usize = 9;
/// Layers that run over whole columns, one factor a block; the others run over rows of [`ROW`] blocks.
pub(super) const COLUMN_LAYERS: usize = 6;
/// Blocks after the column layers, side by side in the rows after the transposition.
pub(super) const ROW: usize = 1 << COLUMN_LAYERS;
/// Row layers have 1, 2 and 4 rows of factors.
const FACTOR_ROWS: usize = (1 << (LAYERS - COLUMN_LAYERS)) - 1;
/// Largest absolute value of a coefficient that goes into a transform.
pub(super) const INPUT_BOUND: i32 = 1 << 12;

/// A prime `p = 1 mod 512` with the roots of unity of both transforms.
pub(super) struct Prime {
    pub(super) modulus: Modulus,
    pub(super) forward: Table,
    pub(super) inverse: Table,
    /// `2^16 / 512`, which undoes the inverse transform's scaling and the `2^-16` of the pointwise products.
    pub(super) scale: Factor<i16>,
}

/// Factors of the butterflies and where values have to be reduced before them.
pub(super) struct Table {
    /// Factor of block `j` of column layer `l` at index `2^l + j`.
    pub(super) column: [Factor<i16>; ROW],
    /// Factors of the row layers: row `2^(l - 6) - 1 + j` has those of blocks `j`, `j + 2^(l-6)`, `j + 2 2^(l-6)`, ...
    pub(super) row: [Factor<[i16; ROW]>; FACTOR_ROWS],
    /// Whether layer `l` has to reduce its inputs so that no lane overflows.
    pub(super) reduce: [bool; LAYERS],
}

/// The smallest primes that are 1 modulo 512: 7681 * 10753 = 82.6 million covers products by small elements, with 11777
/// also products of any two elements.
pub(super) const MODULI: [Modulus; 3] = [Modulus::new(7681), Modulus::new(10753), Modulus::new(11777)];

/// Their tables.
pub(super) static PRIMES: [Prime; 3] = [Prime::new(MODULI[0]), Prime::new(MODULI[1]), Prime::new(MODULI[2])];

impl Prime {
    const fn new(modulus: Modulus) -> Self {
        let p = modulus.m as u64;
        let root = root_of_order_512(p);
        Self {
            forward: Table { reduce: reductions_forward(&modulus), ..table(&modulus, root, false) },
            inverse: Table { reduce: reductions_inverse(&modulus), ..table(&modulus, root, true) },
            scale: modulus.factor((1 << 16) * inverse_mod(1 << LAYERS, p) as i64),
            modulus,
        }
    }
}

const fn power(base: u64, mut exponent: u64, p: u64) -> u64 {
    let (mut square, mut result) = (base % p, 1);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = result * square % p;
        }
        square = square * square % p;
        exponent >>= 1;
    }
    result
}

pub(super) const fn inverse_mod(x: u64, p: u64) -> u64 {
    power(x, p - 2, p)
}

const fn root_of_order_512(p: u64) -> u64 {
    assert!(p % 512 == 1);
    let mut candidate = 2;
    loop {
        let root = power(candidate, (p - 1) / 512, p);
        // The order divides 512, and it is 512 exactly where the 256th power is -1.
        if power(root, 256, p) == p - 1 {
            return root;
        }
        candidate += 1;
    }
}

/// Node `k = 2^l + j` of the tree of factors is `x^(N / 2^l) - root^e(k)`, e(1) = 0; it splits by `root^(e(k) / 2)`,
/// and its children have half its exponent, the second one with 256 added (the factor -1).
const fn table(modulus: &Modulus, root: u64, inverse: bool) -> Table {
    let p = modulus.m as u64;
    let mut exponents = [0; 1 << LAYERS];
    let mut factors = [Factor { value: 0, by_inverse: 0 }; 1 << LAYERS];
    let mut k = 1;
    while k < 1 << LAYERS {
        let half = exponents[k] / 2;
        if 2 * k + 1 < 1 << LAYERS {
            exponents[2 * k] = half;
            exponents[2 * k + 1] = half + 256;
        }
        factors[k] = modulus.factor(power(root, if inverse { 512 - half } else { half }, p) as i64);
        k += 1;
    }
    let mut column = [Factor { value: 0, by_inverse: 0 }; ROW];
    column.copy_from_slice(factors.split_at(ROW).0);
    let mut row = [Factor { value: [0; ROW], by_inverse: [0; ROW] }; FACTOR_ROWS];
    let mut blocks = 1;
    while blocks < 1 << (LAYERS - COLUMN_LAYERS) {
        let mut j = 0;
        while j < blocks {
            let mut b = 0;
            while b < ROW {
                let factor = factors[ROW * blocks + b * blocks + j];
                row[blocks - 1 + j].value[b] = factor.value;
                row[blocks - 1 + j].by_inverse[b] = factor.by_inverse;
                b += 1;
            }
            j += 1;
        }
        blocks *= 2;
    }
    Table { column, row, reduce: [false; LAYERS] }
}

/// Layer 0 only copies (the upper half of the input is zero); every later layer adds a product to a value.
const fn reductions_forward(modulus: &Modulus) -> [bool; LAYERS] {
    let mut reduce = [false; LAYERS];
    let mut bound = INPUT_BOUND;
    let mut layer = 1;
    while layer < LAYERS {
        if bound + modulus.mul_bound(bound) > i16::MAX as i32 {
            reduce[layer] = true;
            bound = modulus.reduce_bound();
        }
        bound += modulus.mul_bound(bound);
        assert!(bound <= i16::MAX as i32);
        layer += 1;
    }
    reduce
}

/// Every layer adds two values, and multiplies their difference.
const fn reductions_inverse(modulus: &Modulus) -> [bool; LAYERS] {
    let mut reduce = [false; LAYERS];
    let mut bound = i16::MAX as i32;
    let mut layer = LAYERS;
    while layer > 0 {
        layer -= 1;
        if 2 * bound > i16::MAX as i32 {
            reduce[layer] = true;
            bound = modulus.reduce_bound();
        }
        bound *= 2;
        assert!(bound <= i16::MAX as i32 && bound >= modulus.mul_bound(bound));
    }
    reduce
}
