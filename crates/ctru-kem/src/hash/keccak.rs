//! The permutation Keccak-f\[1600\] of several interleaved states.
//!
//! Source: FIPS 202, section 3.

use super::lanes::Lanes;

/// The number of lanes of a state.
pub(super) const LANES: usize = 25;
const ROUNDS: usize = 24;

/// `V::STATES` interleaved states. Element `x + 5 y` holds lane `(x, y)` of every state.
pub(super) type States<V> = [V; LANES];

/// Permutes each state.
#[cfg_attr(target_family = "wasm", inline(never))]
#[cfg_attr(not(target_family = "wasm"), inline(always))]
pub(super) fn permute<V: Lanes>(states: &mut States<V>) {
    // The compiler can keep a local copy in registers. This function has no closures: a closure
    // would be compiled without the vector instructions of the caller. It has no loop over lanes:
    // a compiler that optimises for size would keep the loop, and the lanes in memory.
    let mut a = *states;
    for &constant in &ROUND_CONSTANTS {
        let sums = [sum(&a, 0), sum(&a, 1), sum(&a, 2), sum(&a, 3), sum(&a, 4)];
        let theta = [
            sums[4].xor(sums[1].rotate_left(1)),
            sums[0].xor(sums[2].rotate_left(1)),
            sums[1].xor(sums[3].rotate_left(1)),
            sums[2].xor(sums[4].rotate_left(1)),
            sums[3].xor(sums[0].rotate_left(1)),
        ];
        let rows = [
            row::<V, 0>(&a, &theta),
            row::<V, 1>(&a, &theta),
            row::<V, 2>(&a, &theta),
            row::<V, 3>(&a, &theta),
            row::<V, 4>(&a, &theta),
        ];
        a.copy_from_slice(rows.as_flattened());
        a[0] = a[0].xor(a[0].splat(constant));
    }
    *states = a;
}

/// Returns the sum of column `x`.
#[inline(always)]
fn sum<V: Lanes>(a: &States<V>, x: usize) -> V {
    a[x].xor3(a[x + 5], a[x + 10]).xor3(a[x + 15], a[x + 20])
}

/// Returns row `Y` after the steps theta, rho, pi and chi. `theta[x]` is the lane that theta adds
/// to column `x`.
#[inline(always)]
fn row<V: Lanes, const Y: usize>(a: &States<V>, theta: &[V; 5]) -> [V; 5] {
    let b = [
        lane::<V, Y, 0>(a, theta),
        lane::<V, Y, 1>(a, theta),
        lane::<V, Y, 2>(a, theta),
        lane::<V, Y, 3>(a, theta),
        lane::<V, Y, 4>(a, theta),
    ];
    [
        b[0].xor_not_and(b[1], b[2]),
        b[1].xor_not_and(b[2], b[3]),
        b[2].xor_not_and(b[3], b[4]),
        b[3].xor_not_and(b[4], b[0]),
        b[4].xor_not_and(b[0], b[1]),
    ]
}

/// Returns lane `(X, Y)` after the steps theta, rho and pi.
#[inline(always)]
fn lane<V: Lanes, const Y: usize, const X: usize>(a: &States<V>, theta: &[V; 5]) -> V {
    let source = const { BEFORE_PI[5 * Y + X] };
    a[source].xor(theta[source % 5]).rotate_left(const { ROTATIONS[BEFORE_PI[5 * Y + X]] })
}

/// Index of the lane that pi moves to index `i`. Source: FIPS 202, algorithm 3.
const BEFORE_PI: [usize; LANES] = {
    let mut source = [0; LANES];
    let mut i = 0;
    while i < LANES {
        let (x, y) = (i % 5, i / 5);
        source[i] = (x + 3 * y) % 5 + 5 * x;
        i += 1;
    }
    source
};

/// Bits by which rho rotates each lane. Source: FIPS 202, algorithm 2.
const ROTATIONS: [u32; LANES] = {
    let mut rotations = [0; LANES];
    let (mut x, mut y) = (1, 0);
    let mut t = 0;
    while t < 24 {
        rotations[x + 5 * y] = (t + 1) * (t + 2) / 2 % 64;
        (x, y) = (y, (2 * x + 3 * y) % 5);
        t += 1;
    }
    rotations
};

/// Constants that iota adds to lane 0. Source: FIPS 202, algorithms 5 and 6.
static ROUND_CONSTANTS: [u64; ROUNDS] = {
    let mut constants = [0; ROUNDS];
    let mut register = 1;
    let mut round = 0;
    while round < ROUNDS {
        let mut j = 0;
        while j < 7 {
            constants[round] |= (register as u64 & 1) << ((1 << j) - 1);
            // Multiplication by x modulo x^8 + x^6 + x^5 + x^4 + 1.
            register = (register << 1) ^ ((register >> 7) * 0x171);
            j += 1;
        }
        round += 1;
    }
    constants
};
