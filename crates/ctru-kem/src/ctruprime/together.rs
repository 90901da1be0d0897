//! Polynomials of key pairs that share one inversion.

use core::array;
use std::vec::Vec;

use ctru_math::invert::{BatchNode, invert_batch};
use ctru_math::{Arithmetic, Poly};

use super::pke::KeyPolynomials;
use crate::batch::Seeds;
use crate::expand::Purpose;
use crate::hash::{self, GROUP, KEY_PAIR_SEED_BYTES, NO_ID, SEED_BYTES};
use crate::scheme::Seed;
use crate::wipe::Secret;

/// The polynomials of key pairs, `1 / f` of each, and their rejection secrets.
pub(super) struct KeyPairs<R: Arithmetic> {
    pub(super) polynomials: Vec<KeyPolynomials<R>>,
    pub(super) inverses: Vec<Poly<R>>,
    pub(super) z: Vec<Secret<Seed>>,
}

/// Samples `count` key pairs of a batch from number `first`, and inverts their polynomials `f` with
/// one inversion for all of them (Montgomery's trick).
pub(super) fn sample_together<R: Arithmetic>(
    seeds: (Seeds<'_, KEY_PAIR_SEED_BYTES>, Purpose),
    first: usize,
    count: usize,
) -> KeyPairs<R> {
    let mut polynomials = Vec::with_capacity(count);
    let mut z: Vec<_> = (0..count).map(|_| Secret::zeroed()).collect();
    let (groups, rest) = z.as_chunks_mut();
    for z in groups {
        sample_keys::<R, GROUP>(seeds, first, &mut polynomials, z);
    }
    for z in rest {
        sample_keys::<R, 1>(seeds, first, &mut polynomials, array::from_mut(z));
    }
    let elements: Vec<_> = polynomials.iter().map(|key| &key.f).collect();
    let mut inverses = std::vec![Poly::zero(); count];
    let mut nodes: Vec<BatchNode<R>> = (0..count).map(|_| BatchNode::new()).collect();
    invert_batch(&elements, &mut inverses, &mut nodes).expect("room for the batch");
    KeyPairs { polynomials, inverses, z }
}

/// Samples the next `N` key pairs of a batch from number `first`, of which `sampled` holds the
/// first ones. Appends their polynomials to `sampled`, and writes their rejection secrets to `z`.
fn sample_keys<R: Arithmetic, const N: usize>(
    (seeds, purpose): (Seeds<'_, KEY_PAIR_SEED_BYTES>, Purpose),
    first: usize,
    sampled: &mut Vec<KeyPolynomials<R>>,
    z: &mut [Secret<Seed>; N],
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
