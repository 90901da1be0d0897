//! The union bound for the exact decoder.
//!
//! The decoder returns the codeword of a lattice point that is nearest to the received block. The
//! nearest point belongs to another codeword only if the noise is at least as near to some wrong
//! point `w` as to 0, which means `<E, w> >= |w|^2/2`. It suffices to look at the shortest wrong
//! points, because only the shortest vectors of this lattice bound the region around 0: those are
//! 16 vectors `±q2` in one place, which belong to the right codeword, and the 224 wrong ones, with
//! `±q2/2` in the four places of one of the 14 codewords of weight 4. For them,
//!
//! ```text
//! <E, w> >= |w|^2/2    means    ±E_a ± E_b ± E_c ± E_d >= q2.
//! ```
//!
//! The probability of a failure is at most the sum over these events, and at least the largest of
//! them. Both hold up to events in which one coefficient exceeds `q2/2`, so that a vector of the
//! first kind is nearest. They are rarer by far: their threshold is more standard deviations away.

use ctru_math::kernel::e8::encode_nibble;

use super::noise::Block;
use super::set::Set;
use super::tail::{Log2OfExp, ln_normal_tail, ln_sum};

/// The places, in a block, at which the codewords `11110000`, `00111100` and `00001111` begin.
/// Their four ones are neighbours, so the sums of their coefficients vary most.
pub(super) const NEIGHBOURS: [usize; 3] = [0, 2, 4];

/// Returns the weights, 1, -1 or 0, of the 224 sums.
pub(super) fn sums() -> Vec<[f64; 8]> {
    let codewords = (0..16).map(encode_nibble).filter(|codeword| codeword.count_ones() == 4);
    let signed = |codeword: u8| {
        (0..16_u8).map(move |signs| {
            let mut place = 0;
            std::array::from_fn(|j| {
                if codeword >> j & 1 == 0 {
                    return 0.0;
                }
                place += 1;
                if signs >> (place - 1) & 1 == 0 { 1.0 } else { -1.0 }
            })
        })
    };
    codewords.flat_map(signed).collect()
}

/// Returns whether the sum adds four neighbours with equal signs.
pub(super) fn adds_neighbours(weights: &[f64; 8]) -> bool {
    NEIGHBOURS.iter().any(|&start| weights[start..start + 4].iter().sum::<f64>().abs() == 4.0)
}

/// Returns the union bound for normal noise with the covariance of [`Block`], multiplied by
/// `scale`, as `log2`.
pub(super) fn normal_union(set: &Set, scale: f64) -> f64 {
    let threshold = set.q2 / scale;
    let sums = sums();
    let blocks = (0..set.blocks).map(|number| Block::of(set, number));
    let tails = blocks.flat_map(|block| {
        let tail =
            move |weights: &[f64; 8]| ln_normal_tail(threshold / block.variance(weights).sqrt());
        sums.iter().map(tail).collect::<Vec<_>>()
    });
    ln_sum(tails).log2_of_exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_224_sums() {
        let sums = sums();
        assert_eq!(sums.len(), 224);
        assert!(sums.iter().all(|w| w.iter().map(|x| x * x).sum::<f64>() == 4.0));
        assert_eq!(sums.iter().filter(|w| adds_neighbours(w)).count(), 6);
    }
}
