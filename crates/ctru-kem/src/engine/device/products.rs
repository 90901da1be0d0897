//! The ways to multiply on a device, and what of the scheme they do together with the product.

use core::fmt::Debug;

use ctru_gpu_kernels::kernel::{Batch, Kernels};
use ctru_gpu_kernels::table;
use ctru_gpu_runtime::{Queue, RuntimeError};

use super::arrays::{Array, Arrays, PublicArrays};
use crate::params::ParameterSet;

/// How an engine multiplies polynomials.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Products {
    /// The incomplete NTT on CUDA cores, with kernels of their own for sampling, rounding and coding.
    Ntt,
    /// Matrix products on tensor cores, with everything between coins and ciphertext in one kernel.
    Polyphase,
    /// As [`Polyphase`](Self::Polyphase), but where one key serves all operations, its full matrix times all of them.
    SameKey,
}

/// One way to multiply. All of them read and write the same arrays and give the same results.
pub(super) trait Multiplier<P: ParameterSet, Q: Queue>: Debug + Sync {
    /// Encrypts the messages with the coins of a chunk.
    fn encrypt(
        &self,
        queue: &Q,
        arrays: &Arrays<Q>,
        public: &PublicArrays<Q>,
        batch: Batch,
        ciphertexts: &Array<u8, Q>,
    ) -> Result<(), RuntimeError>;

    /// Encrypts the messages again and takes the rejection secret where that gives another ciphertext.
    fn verify(
        &self,
        queue: &Q,
        arrays: &Arrays<Q>,
        public: &PublicArrays<Q>,
        batch: Batch,
        received: &Array<u8, Q>,
    ) -> Result<(), RuntimeError>;

    /// Decrypts ciphertexts with the secret polynomials `f`.
    fn decrypt(
        &self,
        queue: &Q,
        arrays: &Arrays<Q>,
        f: &Array<u8, Q>,
        batch: Batch,
        received: &Array<u8, Q>,
    ) -> Result<(), RuntimeError>;
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

fn run<P: ParameterSet, Q: Queue>(
    queue: &Q,
    kernels: &Kernels,
    memory: &[&Q::Memory],
    batch: Batch,
) -> Result<(), RuntimeError> {
    queue.launch(kernels.of::<P::Ring>(), memory, batch)
}

#[derive(Debug)]
struct Ntt;

impl<P: ParameterSet, Q: Queue> Multiplier<P, Q> for Ntt {
    fn encrypt(
        &self,
        queue: &Q,
        arrays: &Arrays<Q>,
        public: &PublicArrays<Q>,
        batch: Batch,
        ciphertexts: &Array<u8, Q>,
    ) -> Result<(), RuntimeError> {
        let Arrays { coins, small, products, messages, .. } = arrays;
        run::<P, Q>(queue, &table::SAMPLE, &[coins, small], batch)?;
        run::<P, Q>(queue, &table::MULTIPLY_SAMPLED, &[&public.h, small, products], batch)?;
        run::<P, Q>(queue, &table::ENCRYPT, &[products, messages, ciphertexts], batch)
    }

    fn verify(
        &self,
        queue: &Q,
        arrays: &Arrays<Q>,
        public: &PublicArrays<Q>,
        batch: Batch,
        received: &Array<u8, Q>,
    ) -> Result<(), RuntimeError> {
        let Arrays { expected_ciphertexts: expected, rejection_secrets, shared_secrets, .. } = arrays;
        Multiplier::<P, Q>::encrypt(self, queue, arrays, public, batch, expected)?;
        run::<P, Q>(queue, &table::SELECT, &[received, expected, rejection_secrets, shared_secrets], batch)
    }

    fn decrypt(
        &self,
        queue: &Q,
        arrays: &Arrays<Q>,
        f: &Array<u8, Q>,
        batch: Batch,
        received: &Array<u8, Q>,
    ) -> Result<(), RuntimeError> {
        let Arrays { operands, products, messages, .. } = arrays;
        run::<P, Q>(queue, &table::UNPACK_CIPHERTEXT, &[received, operands], batch)?;
        run::<P, Q>(queue, &table::MULTIPLY_ROUNDED, &[operands, f, products], batch)?;
        run::<P, Q>(queue, &table::DECODE_MESSAGE, &[products, messages], batch)
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
    one: &'static Kernels,
    each: &'static Kernels,
}

impl ByKeys {
    const fn both(kernels: &'static Kernels) -> Self {
        Self { one: kernels, each: kernels }
    }

    fn of(&self, batch: Batch) -> &'static Kernels {
        if batch.keys == 1 { self.one } else { self.each }
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
    fn encrypt(
        &self,
        queue: &Q,
        arrays: &Arrays<Q>,
        public: &PublicArrays<Q>,
        batch: Batch,
        ciphertexts: &Array<u8, Q>,
    ) -> Result<(), RuntimeError> {
        let Arrays { coins, messages, .. } = arrays;
        run::<P, Q>(queue, self.encrypt.of(batch), &[&public.h, coins, messages, ciphertexts], batch)
    }

    fn verify(
        &self,
        queue: &Q,
        arrays: &Arrays<Q>,
        public: &PublicArrays<Q>,
        batch: Batch,
        received: &Array<u8, Q>,
    ) -> Result<(), RuntimeError> {
        let Arrays { coins, messages, rejection_secrets, shared_secrets, .. } = arrays;
        let memory: [&Q::Memory; 6] =
            [&public.h, coins, messages, received, rejection_secrets, shared_secrets];
        run::<P, Q>(queue, self.verify.of(batch), &memory, batch)
    }

    fn decrypt(
        &self,
        queue: &Q,
        arrays: &Arrays<Q>,
        f: &Array<u8, Q>,
        batch: Batch,
        received: &Array<u8, Q>,
    ) -> Result<(), RuntimeError> {
        run::<P, Q>(queue, self.decrypt.of(batch), &[received, f, &arrays.messages], batch)
    }
}
