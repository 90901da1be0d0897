//! The kernels for keys whose polynomial `h` has NTRU Prime's mixed-radix encoding.

use ctru_math::Ring;

use super::{Decapsulation, Encapsulation, Recovery};
use crate::descriptor::{Batch, Shape};
use crate::kernels::keys::mixed_radix::{public_key_bytes, secret_key_bytes};
use crate::kernels::warp;
use crate::simt::Simt;

/// Returns the block shape: two warps and one operation per block.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    super::shape::<R>()
}

/// Returns the number of bytes per row of an array of copied public keys.
#[must_use]
pub const fn public_key_copy<R: Ring>() -> u32 {
    warp::copied_bytes(public_key_bytes::<R>())
}

/// Returns the number of bytes per row of an array of copied secret keys.
#[must_use]
pub const fn secret_key_copy<R: Ring>() -> u32 {
    warp::copied_bytes(secret_key_bytes::<R>())
}

/// Encapsulates with expanded seeds.
///
/// Threads: two warps per operation.
/// Shared memory: the key and its coefficients; later, in their place, what
/// [`encrypt`](crate::kernels::scheme::fused::encrypt) needs.
/// Arrays: `expansion`, as for
/// [`expand_seeds`](crate::kernels::hash::derive::expand_seeds); `keys`, encoded public
/// keys, one per operation or one shared key; `shared_secrets` and `ciphertexts`, the
/// results. The others are memory for the kernel, with one row per operation.
/// Source: CTRU-Prime paper, Algorithm 5.
#[expect(clippy::too_many_arguments, reason = "the arrays of a kernel are its arguments")]
#[inline(always)]
pub fn encapsulate<S: Simt, R: Ring>(
    s: S,
    expansion: S::Global<u64>,
    keys: S::Global<u8>,
    copied_keys: S::Global<u8>,
    ids: S::Global<u8>,
    h: S::Global<u16>,
    messages: S::Global<u64>,
    coins: S::Global<u64>,
    shared_secrets: S::Global<u64>,
    ciphertexts: S::Global<u8>,
    batch: Batch,
) {
    let arrays = Encapsulation {
        source: super::Expanded::<S>(expansion),
        keys,
        copied_keys,
        ids,
        h,
        messages,
        coins,
        shared_secrets,
        ciphertexts,
    };
    super::encapsulate::<S, R, _>(s, arrays, batch);
}

/// Encapsulates with a seed for each operation.
///
/// Threads: two warps per operation.
/// Shared memory: as for [`encapsulate`].
/// Arrays: `seeds`; `keys`, encoded public keys, one per operation or one shared key;
/// `shared_secrets` and `ciphertexts`, the results. The others are memory for the kernel,
/// with one row per operation.
/// Source: CTRU-Prime paper, Algorithm 5.
#[expect(clippy::too_many_arguments, reason = "the arrays of a kernel are its arguments")]
#[inline(always)]
pub fn encapsulate_seeds<S: Simt, R: Ring>(
    s: S,
    seeds: S::Global<u64>,
    keys: S::Global<u8>,
    copied_keys: S::Global<u8>,
    ids: S::Global<u8>,
    h: S::Global<u16>,
    messages: S::Global<u64>,
    coins: S::Global<u64>,
    shared_secrets: S::Global<u64>,
    ciphertexts: S::Global<u8>,
    batch: Batch,
) {
    let arrays = Encapsulation {
        source: super::Given::<S>(seeds),
        keys,
        copied_keys,
        ids,
        h,
        messages,
        coins,
        shared_secrets,
        ciphertexts,
    };
    super::encapsulate::<S, R, _>(s, arrays, batch);
}

/// Decapsulates, but leaves the rejection to the caller.
///
/// Threads: two warps per operation.
/// Shared memory: as for [`encapsulate`].
/// Arrays: `keys`, encoded secret keys, one per operation or one shared key;
/// `ciphertexts`; `shared_secrets`, those that decapsulation returns if it accepts the
/// ciphertext; `rejected`, one word per operation: 0 if the ciphertext is the encryption of
/// the decrypted message, else 1. The others are memory for the kernel, with one row per
/// operation.
/// Source: CTRU-Prime paper, Algorithm 6.
#[expect(clippy::too_many_arguments, reason = "the arrays of a kernel are its arguments")]
#[inline(always)]
pub fn recover<S: Simt, R: Ring>(
    s: S,
    keys: S::Global<u8>,
    ciphertexts: S::Global<u8>,
    copied_keys: S::Global<u8>,
    copied_ciphertexts: S::Global<u8>,
    f: S::Global<u8>,
    h: S::Global<u16>,
    messages: S::Global<u64>,
    coins: S::Global<u64>,
    shared_secrets: S::Global<u64>,
    rejected: S::Global<u64>,
    batch: Batch,
) {
    let arrays = Recovery {
        keys,
        ciphertexts,
        copied_keys,
        copied_ciphertexts,
        f,
        h,
        messages,
        coins,
        shared_secrets,
        rejected,
    };
    super::recover::<S, R>(s, arrays, batch);
}

/// Decapsulates.
///
/// Threads: two warps per operation.
/// Shared memory: as for [`encapsulate`].
/// Arrays: `keys`, encoded secret keys, one per operation or one shared key;
/// `ciphertexts`; `results`, the shared secrets or rejection secrets. The others are memory
/// for the kernel, with one row per operation.
/// Source: CTRU-Prime paper, Algorithm 6.
#[expect(clippy::too_many_arguments, reason = "the arrays of a kernel are its arguments")]
#[inline(always)]
pub fn decapsulate<S: Simt, R: Ring>(
    s: S,
    keys: S::Global<u8>,
    ciphertexts: S::Global<u8>,
    copied_keys: S::Global<u8>,
    copied_ciphertexts: S::Global<u8>,
    f: S::Global<u8>,
    h: S::Global<u16>,
    messages: S::Global<u64>,
    coins: S::Global<u64>,
    rejection_secrets: S::Global<u64>,
    shared_secrets: S::Global<u64>,
    results: S::Global<u64>,
    batch: Batch,
) {
    let arrays = Decapsulation {
        keys,
        ciphertexts,
        copied_keys,
        copied_ciphertexts,
        f,
        h,
        messages,
        coins,
        rejection_secrets,
        shared_secrets,
        results,
    };
    super::decapsulate::<S, R>(s, arrays, batch);
}
