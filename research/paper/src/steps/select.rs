//! The last step of decapsulation: accepts or rejects each ciphertext without a branch.
//!
//! Source: CTRU-Prime paper, Algorithm 6.

use ctru_gpu_kernels::descriptor::{Batch, Shape};
use ctru_gpu_kernels::kernels::scheme::select::choice;
use ctru_gpu_kernels::kernels::warp;
use ctru_gpu_kernels::simt::{Simt, WARP};
use ctru_math::Ring;

/// Returns the block shape: one warp and one operation per block.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    warp::shape(0)
}

/// Replaces the shared secret of each operation by its rejection secret if the received ciphertext
/// differs from the expected ciphertext in any bit.
///
/// Threads: one warp per operation.
/// Arrays: `received` and `expected`, ciphertexts; `rejection_secrets` and `shared_secrets`, rows
/// of [`SEED_WORDS`](ctru_gpu_kernels::kernels::SEED_WORDS) words.
/// Source: CTRU-Prime paper, Algorithm 6.
#[inline(always)]
pub fn select<S: Simt, R: Ring>(
    s: S,
    received: S::Global<u8>,
    expected: S::Global<u8>,
    rejection_secrets: S::Global<u64>,
    shared_secrets: S::Global<u64>,
    _: Batch,
) {
    let bytes = R::CIPHERTEXT_BYTES as u32;
    let mut difference = 0;
    for k in 0..bytes.div_ceil(WARP) {
        // Threads past the end compare the last byte again, which needs no branch.
        let i = s.block() * bytes + (WARP * k + s.lane()).min(bytes - 1);
        difference |= u32::from(s.load(received, i) ^ s.load(expected, i));
    }
    choice(s, s.block(), (rejection_secrets, shared_secrets, shared_secrets))(difference);
}
