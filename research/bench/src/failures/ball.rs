//! The ball bound: a block decodes correctly if its noise is shorter than half the minimum
//! distance.
//!
//! The lattice of the code, with codewords scaled by `q2/2` and all vectors of `q2 Z^8`, has the
//! minimum distance `q2`. So a failure of a block needs `|E|^2 >= (q2/2)^2`. If the eight
//! coefficients are normal with covariance `C`, then
//!
//! ```text
//! ln E exp(t |E|^2) = -1/2 ln det(1 - 2 t C),
//! ```
//!
//! and `C` has only one diagonal beside the main one, so the determinant is a recurrence of two
//! terms.

use super::noise::Block;
use super::set::Set;
use super::tail::{Log2OfExp, ln_sum, ln_tail};

/// Returns the natural logarithms of the bound for each block.
fn blocks(set: &Set) -> Vec<f64> {
    let radius = set.q2 / 2.0;
    let tail = |number| {
        let block = Block::of(set, number);
        let guess = 0.1 / block.variances[1];
        ln_tail(|t| cumulants(&block, t), guess, radius * radius)
    };
    (0..set.blocks).map(tail).collect()
}

/// Returns the bound of the worst block times the number of blocks, as `log2`.
pub(super) fn worst_block(set: &Set) -> f64 {
    let worst = blocks(set).into_iter().fold(f64::NEG_INFINITY, f64::max);
    (worst + (set.blocks as f64).ln()).log2_of_exp()
}

/// Returns the sum of the bounds of all blocks, as `log2`.
pub(super) fn all_blocks(set: &Set) -> f64 {
    ln_sum(blocks(set)).log2_of_exp()
}

/// Returns `ln E exp(t |E|^2)` and its first two derivatives, or infinity where it diverges.
fn cumulants(block: &Block, t: f64) -> [f64; 3] {
    // The leading minors of 1 - 2 t C, each with two derivatives.
    let (mut before, mut minor) = ([1.0, 0.0, 0.0], [1.0, 0.0, 0.0]);
    for j in 0..8 {
        let v = block.variances[j];
        let c = if j > 0 { block.covariances[j - 1] } else { 0.0 };
        let (a, a1) = (1.0 - 2.0 * t * v, -2.0 * v);
        let (b, b1, b2) = (4.0 * t * t * c * c, 8.0 * t * c * c, 8.0 * c * c);
        let next = [
            a * minor[0] - b * before[0],
            a1 * minor[0] + a * minor[1] - b1 * before[0] - b * before[1],
            2.0 * a1 * minor[1] + a * minor[2]
                - b2 * before[0]
                - 2.0 * b1 * before[1]
                - b * before[2],
        ];
        (before, minor) = (minor, next);
        // All minors are positive exactly if the matrix is positive definite.
        if minor[0] <= 0.0 {
            return [f64::INFINITY, f64::INFINITY, 1.0];
        }
    }
    let [value, first, second] = minor;
    let ratio = first / value;
    [-value.ln() / 2.0, -ratio / 2.0, -(second / value - ratio * ratio) / 2.0]
}

#[cfg(test)]
mod tests {
    use ctru_math::{R653, R761, R1277};

    use super::*;

    /// Source: ePrint 2026/1350. Its figures are those of one term for each byte of the message,
    /// which has two blocks.
    #[test]
    fn published_bounds() {
        let published = [
            (Set::of::<R653>(), -315.0),
            (Set::of::<R761>(), -163.0),
            (Set::of::<R1277>(), -103.0),
        ];
        for (set, log2) in published {
            let distance = worst_block(&set) - 1.0 - log2;
            assert!(distance.abs() < 0.25, "{}: {distance}", set.n);
        }
    }
}
