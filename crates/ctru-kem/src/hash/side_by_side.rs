//! The hashes of one decapsulation. The rejection hash takes three quarters of all permutations and depends on nothing
//! that the other two give: where vectors hold two states, it shares permutations with them.

use core::slice::from_ref;

use super::sponge::{Function, NO_BLOCKS, Padded, Sha3_512, Shake256, Sponges, hash_together};
use super::words::{Hashing, Words};
use super::{Digest, MESSAGE_INPUT, REJECTION_INPUT, SHARED_SECRET_BYTES, seed_input};

/// Two states: the first hashes the message and expands the coins, the second rejects.
pub(super) struct SideBySide<'a> {
    pub(super) message: &'a Padded<Sha3_512, MESSAGE_INPUT>,
    pub(super) rejection: &'a Padded<Sha3_512, REJECTION_INPUT>,
    pub(super) digest: &'a mut Digest,
    pub(super) coins: &'a mut [u8],
    pub(super) rejected: &'a mut [u8; SHARED_SECRET_BYTES],
}

impl Hashing for SideBySide<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Words>(self) {
        if V::STATES == 1 { self.one_by_one::<V>() } else { self.side_by_side::<V>() }
    }
}

impl SideBySide<'_> {
    #[inline(always)]
    fn one_by_one<V: Words>(self) {
        hash_together::<V, _, _>(from_ref(self.message), &mut [self.digest.as_mut_slice()]);
        let seed = seed_input(self.digest);
        hash_together::<V, _, _>(from_ref(&seed), &mut [self.coins]);
        hash_together::<V, _, _>(from_ref(self.rejection), &mut [self.rejected]);
    }

    #[inline(always)]
    fn side_by_side<V: Words>(self) {
        let Self { message, rejection, digest, coins, rejected } = self;
        let mut rejection_blocks = (0..rejection.blocks()).map(|index| {
            let mut blocks = NO_BLOCKS;
            blocks[1] = rejection.block(index);
            blocks
        });
        let mut next = || rejection_blocks.next().expect("the rejection hash is the longest");
        let mut sponges = Sponges::<V>::new();
        for index in 0..message.blocks() {
            let mut blocks = next();
            blocks[0] = message.block(index);
            sponges.absorb::<Sha3_512>(&blocks);
            sponges.permute();
        }
        sponges.squeeze::<Sha3_512>(&mut [digest.as_mut_slice()], 0);

        sponges.restart_first();
        let seed = seed_input(digest);
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
