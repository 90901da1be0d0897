//! Roots of unity and the exponents of the twiddle factors, which const code computes.

use ctru_math::kernel::modular::{inverse_mod, power};

/// A principal root of unity of order `leaves = 2^layers` or `3 * 2^layers`.
///
/// Exponents below are exponents of this root. A block of the transform is a residue modulo
/// `x^len - root^e`. A radix-2 layer splits it with the twiddle `root^(e / 2)` into the blocks of
/// exponents `e / 2` and `e / 2 + leaves / 2`, in this order, starting from `x^N - 1`, `e = 0`. Of
/// the `2^l` blocks that radix-2 layer `l` splits, block `j` therefore has
/// `e = bit_reverse(j) * leaves / 2^l`.
pub(super) struct Roots {
    modulus: u64,
    root: u64,
    leaves: usize,
    layers: u32,
}

impl Roots {
    pub(super) const fn new(modulus: u32, leaves: usize, layers: u32) -> Self {
        let radix3 = leaves >> layers;
        assert!(layers > 0 && (radix3 << layers) == leaves && (radix3 == 1 || radix3 == 3));
        let modulus = modulus as u64;
        assert!((modulus - 1).is_multiple_of(leaves as u64), "the field has no root of this order");
        // A root r is principal if r^(leaves / 2) = -1 and, for a factor 3, r^(leaves / 3) is a
        // root of x^2 + x + 1.
        let mut base = 2;
        loop {
            let root = power(base, (modulus - 1) / leaves as u64, modulus);
            let cubic = power(root, leaves as u64 / 3, modulus);
            if power(root, leaves as u64 / 2, modulus) == modulus - 1
                && (radix3 == 1 || (cubic * cubic + cubic + 1).is_multiple_of(modulus))
            {
                return Self { modulus, root, leaves, layers };
            }
            base += 1;
        }
    }

    /// Returns `root^exponent`, centred.
    const fn power(&self, exponent: usize) -> i32 {
        centred(power(self.root, (exponent % self.leaves) as u64, self.modulus), self.modulus)
    }

    /// Returns the twiddle of block `j`, the same in every radix-2 layer that has such a block.
    pub(super) const fn radix2(&self, j: usize) -> i32 {
        self.power(self.radix2_exponent(j))
    }

    /// Returns the inverse of [`radix2`](Self::radix2).
    pub(super) const fn radix2_inverse(&self, j: usize) -> i32 {
        self.power(self.leaves - self.radix2_exponent(j))
    }

    const fn radix2_exponent(&self, j: usize) -> usize {
        // bit_reverse(j) * leaves / 2^(l + 1) does not depend on the layer l: with one more bit,
        // bit_reverse(j) and 2^(l + 1) both double.
        bit_reverse(j, self.layers - 1) * (self.leaves >> self.layers)
    }

    /// Returns a cube root `z` of the root of block `j` before the radix-3 layer, and its square.
    pub(super) const fn radix3(&self, j: usize) -> [i32; 2] {
        let z = bit_reverse(j, self.layers);
        [self.power(z), self.power(2 * z)]
    }

    /// Returns the inverses of [`radix3`](Self::radix3).
    pub(super) const fn radix3_inverse(&self, j: usize) -> [i32; 2] {
        let z = bit_reverse(j, self.layers);
        [self.power(self.leaves - z), self.power(2 * (self.leaves - z))]
    }

    /// Returns the primitive cube root of unity by which the three children in the radix-3 layer
    /// differ.
    pub(super) const fn omega(&self) -> i32 {
        self.power(self.leaves / 3)
    }

    /// Returns the root `zeta` of leaf `j`.
    pub(super) const fn leaf(&self, j: usize) -> i32 {
        let radix3 = self.leaves >> self.layers;
        self.power(bit_reverse(j / radix3, self.layers) + ((j % radix3) << self.layers))
    }

    /// Returns `radix / leaves`, which undoes the factors of the inverse layers and of one
    /// reduction.
    pub(super) const fn scale(&self, radix: u32) -> i32 {
        let inverse = inverse_mod(self.leaves as u64, self.modulus);
        assert!(inverse * self.leaves as u64 % self.modulus == 1, "the modulus must be prime");
        centred(inverse * radix as u64 % self.modulus, self.modulus)
    }
}

const fn centred(a: u64, modulus: u64) -> i32 {
    if a > modulus / 2 { (a as i64 - modulus as i64) as i32 } else { a as i32 }
}

pub(super) const fn bit_reverse(j: usize, bits: u32) -> usize {
    if bits == 0 { 0 } else { j.reverse_bits() >> (usize::BITS - bits) }
}
