//! The hashes of one decapsulation, on two interleaved states.
//!
//! Decapsulation hashes the message, expands the coins from the result, and computes the rejection
//! hash. The rejection hash takes about three quarters of all permutations and does not depend on
//! the other two hashes. If a vector holds two states, one permutation serves the rejection hash
//! and one of the other hashes at the same time.

use super::inputs::{Digest, MESSAGE_INPUT, REJECTION_INPUT, SHARED_SECRET_BYTES, fill_seed};
use super::lanes::{Hashing, Lanes};
use super::sponge::{Function, NO_BLOCKS, Padded, Sha3_512, Shake256, Sponges};

/// The inputs and outputs of the three hashes.
///
/// The first state hashes the message and then expands the coins. The second state computes the
/// rejection hash.
pub(super) struct Interleaved<'a> {
    pub(super) message: &'a Padded<Sha3_512, MESSAGE_INPUT>,
    pub(super) rejection: &'a Padded<Sha3_512, REJECTION_INPUT>,
    pub(super) digest: &'a mut Digest,
    pub(super) coins: &'a mut [u8],
    pub(super) rejected: &'a mut [u8; SHARED_SECRET_BYTES],
}

impl Hashing for Interleaved<'_> {
    fn one_by_one(self) {
        self.message.hash(self.digest);
        let mut seed = Padded::room();
        fill_seed(&mut seed, self.digest);
        seed.hash(self.coins);
        self.rejection.hash(self.rejected);
    }

    #[inline(always)]
    fn interleaved<V: Lanes>(self, zero: V) {
        const { assert!(V::STATES >= 2) };
        let Self { message, rejection, digest, coins, rejected } = self;
        let mut rejection_blocks = (0..rejection.blocks()).map(|index| {
            let mut blocks = NO_BLOCKS;
            blocks[1] = rejection.block(index);
            blocks
        });
        let mut next = || rejection_blocks.next().expect("the rejection hash is the longest");
        let mut sponges = Sponges::new(zero);
        for index in 0..message.blocks() {
            let mut blocks = next();
            blocks[0] = message.block(index);
            sponges.absorb::<Sha3_512>(&blocks);
            sponges.permute();
        }
        sponges.squeeze::<Sha3_512>(&mut [digest.as_mut_slice()], 0);

        sponges.restart_first();
        let mut seed = Padded::room();
        fill_seed(&mut seed, digest);
        let mut blocks = NO_BLOCKS;
        blocks[0] = seed.block(0);
        sponges.absorb::<Shake256>(&blocks);
        for index in 0..coins.len().div_ceil(Shake256::BLOCK) {
            sponges.absorb::<Sha3_512>(&next());
            sponges.permute();
            sponges.squeeze::<Shake256>(&mut [coins], index);
        }
        for blocks in rejection_blocks {
            sponges.absorb::<Sha3_512>(&blocks);
            sponges.permute();
        }
        sponges.squeeze::<Sha3_512>(&mut [&mut [], rejected], 0);
    }
}
