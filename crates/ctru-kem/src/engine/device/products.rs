//! The ways to multiply on a device, and what of the scheme they do together with the product.

use core::fmt::Debug;

use ctru_gpu_kernels::descriptor::{Batch, RingKernels};
use ctru_gpu_kernels::table;
use ctru_gpu_runtime::{Queue, RuntimeError};

use super::arrays::{Array, Arrays, PublicArrays};
use super::options::Products;
use crate::params::ParameterSet;

/// What a launch of a chunk needs.
#[derive(Debug)]
pub(super) struct Launches<'a, Q: Queue> {
    pub(super) queue: &'a Q,
    pub(super) arrays: &'a Arrays<Q>,
    pub(super) batch: Batch,
}

/// Memory of keys or ciphertexts.
type Bytes<Q> = Array<u8, Q>;

/// One way to multiply. All of them read and write the same arrays and give the same results.
pub(super) trait Multiplier<P: ParameterSet, Q: Queue>: Debug + Sync {
    /// Encrypts the messages with the coins of a chunk.
    fn encrypt(&self, on: &Launches<'_, Q>, key: &PublicArrays<Q>, to: &Bytes<Q>) -> Outcome;

    /// Encrypts the messages again and takes the rejection secret where that gives another ciphertext than the one received.
    fn verify(&self, on: &Launches<'_, Q>, key: &PublicArrays<Q>, received: &Bytes<Q>) -> Outcome;

    /// Decrypts ciphertexts with the secret polynomials `f`.
    fn decrypt(&self, on: &Launches<'_, Q>, f: &Bytes<Q>, received: &Bytes<Q>) -> Outcome;
}

type Outcome = Result<(), RuntimeError>;

impl<Q: Queue> Launches<'_, Q> {
    fn run<P: ParameterSet>(&self, kernels: &RingKernels, memory: &[&Q::Memory]) -> Outcome {
        self.queue.launch(kernels.of::<P::Ring>(), memory, self.batch)
    }
}

impl Products {
    pub(super) fn multiplier<'a, P: ParameterSet, Q: Queue + 'a>(self) -> &'a dyn Multiplier<P, Q> {
        match self {
            Self::Ntt => &Ntt,
            Self::Polyphase => &POLYPHASE,
            Self::SameKey => &SAME_KEY,
        }
    }
}

#[derive(Debug)]
struct Ntt;

impl<P: ParameterSet, Q: Queue> Multiplier<P, Q> for Ntt {
    fn encrypt(&self, on: &Launches<'_, Q>, key: &PublicArrays<Q>, to: &Bytes<Q>) -> Outcome {
        let Arrays { coins, small, products, messages, .. } = on.arrays;
        on.run::<P>(&table::SAMPLE, &[coins, small])?;
        on.run::<P>(&table::MULTIPLY_SAMPLED, &[&key.h, small, products])?;
        on.run::<P>(&table::ENCRYPT, &[products, messages, to])
    }

    fn verify(&self, on: &Launches<'_, Q>, key: &PublicArrays<Q>, received: &Bytes<Q>) -> Outcome {
        let Arrays { expected_ciphertexts: expected, rejection_secrets, shared_secrets, .. } =
            on.arrays;
        Multiplier::<P, Q>::encrypt(self, on, key, expected)?;
        on.run::<P>(&table::SELECT, &[received, expected, rejection_secrets, shared_secrets])
    }

    fn decrypt(&self, on: &Launches<'_, Q>, f: &Bytes<Q>, received: &Bytes<Q>) -> Outcome {
        let Arrays { operands, products, messages, .. } = on.arrays;
        on.run::<P>(&table::UNPACK_CIPHERTEXT, &[received, operands])?;
        on.run::<P>(&table::MULTIPLY_ROUNDED, &[operands, f, products])?;
        on.run::<P>(&table::DECODE_MESSAGE, &[products, messages])
    }
}

/// Everything between coins and ciphertext in one kernel.
#[derive(Debug)]
struct Fused {
    encrypt: ByKeys,
    verify: ByKeys,
    decrypt: ByKeys,
}

/// The kernels for one key for all operations and for a key each.
#[derive(Debug)]
struct ByKeys {
    one: &'static RingKernels,
    each: &'static RingKernels,
}

impl ByKeys {
    const fn both(kernels: &'static RingKernels) -> Self {
        Self { one: kernels, each: kernels }
    }

    fn of(&self, batch: Batch) -> &'static RingKernels {
        if batch.is_shared() { self.one } else { self.each }
    }
}

static POLYPHASE: Fused = Fused {
    encrypt: ByKeys::both(&table::FUSED_ENCRYPT),
    verify: ByKeys::both(&table::FUSED_VERIFY),
    decrypt: ByKeys::both(&table::FUSED_DECRYPT),
};

static SAME_KEY: Fused = Fused {
    encrypt: ByKeys { one: &table::SAME_PUBLIC_KEY_ENCRYPT, each: &table::FUSED_ENCRYPT },
    verify: ByKeys { one: &table::SAME_PUBLIC_KEY_VERIFY, each: &table::FUSED_VERIFY },
    decrypt: ByKeys { one: &table::SAME_SECRET_KEY_DECRYPT, each: &table::FUSED_DECRYPT },
};

impl<P: ParameterSet, Q: Queue> Multiplier<P, Q> for Fused {
    fn encrypt(&self, on: &Launches<'_, Q>, key: &PublicArrays<Q>, to: &Bytes<Q>) -> Outcome {
        let Arrays { coins, messages, .. } = on.arrays;
        on.run::<P>(self.encrypt.of(on.batch), &[&key.h, coins, messages, to])
    }

    fn verify(&self, on: &Launches<'_, Q>, key: &PublicArrays<Q>, received: &Bytes<Q>) -> Outcome {
        let Arrays { coins, messages, rejection_secrets, shared_secrets, .. } = on.arrays;
        let memory: [&Q::Memory; 6] =
            [&key.h, coins, messages, received, rejection_secrets, shared_secrets];
        on.run::<P>(self.verify.of(on.batch), &memory)
    }

    fn decrypt(&self, on: &Launches<'_, Q>, f: &Bytes<Q>, received: &Bytes<Q>) -> Outcome {
        on.run::<P>(self.decrypt.of(on.batch), &[received, f, &on.arrays.messages])
    }
}
