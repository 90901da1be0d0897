//! The last step of inversion by powers: the division by the norm.
//! [`ctru_math::kernel::frobenius`] describes the method.

use ctru_math::Ring;
use ctru_math::kernel::modular::{Modulo, centre};

use super::divsteps::reciprocal;
use crate::descriptor::{Batch, Shape};
use crate::kernels::product::modulo_q;
use crate::kernels::row;
use crate::simt::{Simt, WARP};

/// Number of warps per block.
const WARPS: u32 = 8;
/// Number of threads per block.
const THREADS: u32 = WARPS * WARP;

/// Returns the block shape: one pair of rows per block, and shared memory for one number per warp.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    // The sum of a thread's products fits in 31 bits.
    const { assert!((R::N as u64).div_ceil(THREADS as u64) * (R::Q as u64).pow(2) < 1 << 31) };
    Shape::new(THREADS, 2, 4 * WARPS)
}

/// Divides the conjugates of elements by the norms, which gives the inverses. The inverse of zero
/// is zero.
///
/// The conjugate of `a` is `a^(r-1)`, and its product by `a` is the norm, a residue. So coefficient
/// 0 of this product is the norm. One operation is one of the two rows of an element.
///
/// Cost: `2 n` products and one power per element.
/// Threads: eight warps per element.
/// Shared memory: one sum per warp.
/// Arrays: `pairs`, in `0..q`: row `2 e` is the conjugate of element `e`, and row `2 e + 1` is the
/// element; `inverses`, in `0..q`.
/// Source: [`ctru_math::kernel::frobenius`].
#[inline(always)]
pub fn divide_by_norm<S: Simt, R: Ring>(
    s: S,
    pairs: S::Global<u16>,
    inverses: S::Global<u16>,
    _: Batch,
) {
    let n = R::N as u32;
    let conjugate = 2 * row::<R>() * s.block();
    let element = conjugate + row::<R>();
    let load = |index| u32::from(s.load(pairs, index));
    let mut sum = 0;
    let mut i = s.thread();
    while i < n {
        // x^n = x + 1, so of the products of degree n, only the 1 reaches coefficient 0.
        let other = if i == 0 { 0 } else { n - i };
        sum += load(conjugate + other) * load(element + i);
        i += THREADS;
    }
    let mut sum = u32::from(modulo_q::<R>(sum as i32));
    for distance in [16, 8, 4, 2, 1] {
        sum += s.shuffle(sum, s.lane() ^ distance);
    }
    if s.lane() == 0 {
        s.store_shared(4 * s.warp(), sum);
    }
    s.sync_block();
    let sum: u32 = (0..WARPS).map(|warp| s.load_shared::<u32>(4 * warp)).sum();
    let scale = Modulo::<R>::centred(reciprocal::<R>(i32::from(modulo_q::<R>(sum as i32))));
    let mut i = s.thread();
    while i < n {
        let c = centre(s.load(pairs, conjugate + i), R::Q);
        let quotient = Modulo::<R>::mul(c, scale);
        s.store(inverses, s.block() * row::<R>() + i, Modulo::<R>::canonical(quotient) as u16);
        i += THREADS;
    }
}
