//! Key generations that share one inversion.

use core::array;
use std::vec::Vec;

use ctru_math::array::Array;
use ctru_math::invert::{BatchNode, invert_batch};
use ctru_math::mul::Multiplier;
use ctru_math::{Arithmetic, Poly};

use super::layout::assemble;
use super::pke::KeyPolynomials;
use crate::batch::Seeds;
use crate::encoding::Encode;
use crate::expand::Purpose;
use crate::hash::{self, GROUP, KEY_PAIR_SEED_BYTES, NO_ID, SEED_BYTES};
use crate::wipe::Secret;

/// Generates the key pairs of a batch from number `first`, with one inversion for all of them
/// (Montgomery's trick).
///
/// `encapsulation_keys` has the length of `decapsulation_keys`, or it is empty.
pub(super) fn generate_together<R: Arithmetic, E: Encode, K: Array<u8>>(
    (seeds, purpose): (Seeds<'_, KEY_PAIR_SEED_BYTES>, Purpose),
    first: usize,
    encapsulation_keys: &mut [E::Bytes<R>],
    decapsulation_keys: &mut [K],
) {
    let count = decapsulation_keys.len();
    let mut sampled = Vec::with_capacity(count);
    let mut z: Vec<_> = (0..count).map(|_| Secret::zeroed()).collect();
    let (groups, rest) = z.as_chunks_mut();
    for z in groups {
        sample_keys::<R, GROUP>((seeds, purpose), first, &mut sampled, z);
    }
    for z in rest {
        sample_keys::<R, 1>((seeds, purpose), first, &mut sampled, array::from_mut(z));
    }
    let elements: Vec<_> = sampled.iter().map(|key| &key.f).collect();
    let mut inverses = std::vec![Poly::zero(); count];
    let mut nodes: Vec<BatchNode<R>> = (0..count).map(|_| BatchNode::new()).collect();
    invert_batch(&elements, &mut inverses, &mut nodes).expect("room for the batch");
    let mut multiplier = Multiplier::new();
    let mut encapsulation_keys = encapsulation_keys.iter_mut();
    for (((polynomials, z), inverse), key) in
        sampled.iter().zip(&z).zip(&inverses).zip(decapsulation_keys)
    {
        let made = assemble::<R, E>(&mut multiplier, polynomials, inverse, z, key.as_mut());
        if let Some(encapsulation_key) = encapsulation_keys.next() {
            *encapsulation_key = made;
        }
    }
}

/// Samples the next `N` key pairs of a batch from number `first`, of which `sampled` holds the
/// first ones. Appends their polynomials to `sampled`, and writes their rejection secrets to `z`.
fn sample_keys<R: Arithmetic, const N: usize>(
    (seeds, purpose): (Seeds<'_, KEY_PAIR_SEED_BYTES>, Purpose),
    first: usize,
    sampled: &mut Vec<KeyPolynomials<R>>,
    z: &mut [Secret<[u8; SEED_BYTES]>; N],
) {
    let mut group: [Secret<[u8; KEY_PAIR_SEED_BYTES]>; N] = array::from_fn(|_| Secret::zeroed());
    let index = first + sampled.len();
    seeds.write_group(purpose, index, [&NO_ID; N], group.each_mut().map(|seed| &mut **seed));
    let key_seeds = group.each_ref().map(|seed| seed.first_chunk().expect("half of the seed"));
    let mut coins = array::from_fn(|_| [Secret::zeroed(), Secret::zeroed()]);
    hash::key_coins::<R, N>(key_seeds, &mut coins);
    sampled.extend(coins.iter().map(KeyPolynomials::sample));
    for (z, seed) in z.iter_mut().zip(&group) {
        z.copy_from(&seed[SEED_BYTES..]);
    }
}
