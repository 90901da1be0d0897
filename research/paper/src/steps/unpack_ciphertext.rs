//! Unpacks ciphertexts to their coefficients.

use ctru_math::Ring;

use ctru_gpu_kernels::descriptor::{Batch, Shape};
use ctru_gpu_kernels::kernels::{row, warp};
use ctru_gpu_kernels::simt::Simt;

/// Returns the number of bytes that the packed ciphertext occupies in shared memory, with its last
/// group filled up. The list of coefficients follows them.
const fn string_bytes<R: Ring>() -> u32 {
    (R::Q2_BITS * warp::groups(R::N)).next_multiple_of(16)
}

/// Returns the block shape: one warp and one ciphertext per block.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    warp::shape(string_bytes::<R>() + 2 * row::<R>())
}

/// Unpacks ciphertexts as [`ctru_math::codec::bits::unpack_rounded`] does.
///
/// Threads: one warp per ciphertext. The threads share the groups.
/// Shared memory: the ciphertext's bytes and its coefficients.
/// Arrays: `ciphertexts`; `coefficients`, in `0..q2`.
#[inline(always)]
pub fn unpack_ciphertext<S: Simt, R: Ring>(
    s: S,
    ciphertexts: S::Global<u8>,
    coefficients: S::Global<u16>,
    _: Batch,
) {
    let operation = s.block();
    let bytes = R::CIPHERTEXT_BYTES as u32;
    let list = string_bytes::<R>();
    warp::transfer(
        s,
        string_bytes::<R>(),
        |i| if i < bytes { s.load(ciphertexts, operation * bytes + i) } else { 0 },
        |i, byte| s.store_shared(i, byte),
    );
    s.sync_warp();
    warp::for_each(s, warp::groups(R::N), |group| {
        warp::store_group(s, list, group, warp::unpack_group(s, R::Q2_BITS, 0, group));
    });
    s.sync_warp();
    warp::transfer(
        s,
        R::N as u32,
        |i| s.load_shared::<u16>(list + 2 * i),
        |i, coefficient| s.store(coefficients, operation * row::<R>() + i, coefficient),
    );
}
