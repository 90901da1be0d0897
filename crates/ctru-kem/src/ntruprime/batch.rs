//! Key pairs of a batch, with one inversion modulo `q` and one modulo 3 for all of them.

use std::vec::Vec;

use ctru_math::invert::{BatchNode, invert_batch};
use ctru_math::mul::Multiplier;
use ctru_math::{NtruPrimeArithmetic, Poly, SmallPoly, ternary};

use super::draw::{Named, Use, draw_short, draw_small, from_seed, key_pair_bytes};
use super::kem::{KeyPolynomials, STACK, hash_public_keys, parts, private_key_bytes};
use crate::hash::GROUP;
use crate::scheme::Seed;
use crate::source::NoRandomness;
use crate::wipe::{wipe, wipe_stack};

/// Fills a slice with random bytes for the key pair of this index.
pub type Sources<'a> = &'a mut dyn FnMut(usize, &mut [u8]) -> Result<(), NoRandomness>;

/// Generates key pairs, equal to those of [`generate`](super::generate) with the same bytes. The
/// caller wipes the private keys.
///
/// # Errors
/// That of the sources. Then the outputs are not key pairs.
///
/// # Panics
/// If the slices differ in length, or a private key does not have [`private_key_bytes`].
pub fn generate_batch<R: NtruPrimeArithmetic, K: AsMut<[u8]>>(
    sources: Sources<'_>,
    public: &mut [R::MixedRadixBytes],
    private: &mut [K],
) -> Result<(), NoRandomness> {
    let count = public.len();
    assert_eq!(private.len(), count);
    let drawn = generate_polynomials(sources, count);
    wipe_stack::<STACK>();
    let (f, g, nodes) = drawn?;
    let inverses_of_g = &nodes[count..];

    let elements: Vec<_> = f.iter().collect();
    let mut inverses = std::vec![Poly::zero(); count];
    let mut room: Vec<BatchNode<R>> = (0..count).map(|_| BatchNode::new()).collect();
    invert_batch(&elements, &mut inverses, &mut room).expect("room for the batch");
    let (parts, mut multiplier) = (parts::<R>(), Multiplier::new());
    for (i, f) in f.iter().enumerate() {
        let private = private[i].as_mut();
        assert_eq!(private.len(), private_key_bytes::<R>());
        let polynomials = KeyPolynomials { f, g: &g[i], g_inverse: &inverses_of_g[i] };
        polynomials.assemble(&mut multiplier, &inverses[i], &mut public[i], private);
        sources(i, &mut private[parts.rho..parts.hash])?;
    }
    let (groups, rest) = public.as_chunks::<GROUP>();
    let (private_groups, private_rest) = private.as_chunks_mut::<GROUP>();
    for (public, private) in groups.iter().zip(private_groups) {
        write_hashes::<R, K, GROUP>(public, private);
    }
    for (public, private) in rest.as_chunks().0.iter().zip(private_rest.as_chunks_mut().0) {
        write_hashes::<R, K, 1>(public, private);
    }
    Ok(())
}

/// Polynomials `f`, polynomials `g`, and the nodes of an inversion, which end with all `1/g`. They
/// stay where they are until they are dropped, which wipes them: a move out of a vector would leave
/// a copy.
type Polynomials<R> = (Vec<SmallPoly<R>>, Vec<SmallPoly<R>>, Vec<SmallPoly<R>>);

/// Draws the polynomials of `count` key pairs.
///
/// This is a function of its own, so that [`wipe_stack`] reaches what moves of polynomials leave on
/// the stack.
#[inline(never)]
fn generate_polynomials<R: NtruPrimeArithmetic>(
    sources: Sources<'_>,
    count: usize,
) -> Result<Polynomials<R>, NoRandomness> {
    let mut g = Vec::with_capacity(count);
    for i in 0..count {
        g.push(draw_small::<R>(&mut |bytes| sources(i, bytes))?);
    }
    let mut nodes: Vec<SmallPoly<R>> = g.iter().chain(&g).cloned().collect();
    ternary::invert_batch(&mut nodes);
    let inverses_of_g = &mut nodes[count..];
    let mut f = Vec::with_capacity(count);
    for i in 0..count {
        // Zero stands for no inverse. How often `g` is drawn is no secret.
        while inverses_of_g[i] == SmallPoly::zero() {
            g[i] = draw_small::<R>(&mut |bytes| sources(i, bytes))?;
            inverses_of_g[i] = ternary::invert(&g[i]).into_option().unwrap_or_else(SmallPoly::zero);
        }
        f.push(draw_short::<R>(&mut |bytes| sources(i, bytes))?);
    }
    Ok((f, g, nodes))
}

/// Generates the key pairs that seeds determine. The caller wipes the private keys.
///
/// # Panics
/// As [`generate_batch`].
pub(super) fn generate_from_seeds<R: Named, K: AsMut<[u8]>>(
    seeds: &[&Seed],
    public: &mut [R::MixedRadixBytes],
    private: &mut [K],
) {
    // What a key pair takes, unless its first `g` has no inverse.
    let needed = 2 * size_of::<R::Coeffs<u32>>() + R::TERNARY_BYTES;
    let mut bytes = std::vec![0; needed * seeds.len()];
    let mut outputs: Vec<_> = bytes.chunks_mut(needed).collect();
    for (seeds, outputs) in seeds.chunks(GROUP).zip(outputs.chunks_mut(GROUP)) {
        key_pair_bytes::<R>(seeds.iter().copied(), outputs);
    }
    let mut taken = std::vec![0; seeds.len()];
    let mut sources = |i: usize, to: &mut [u8]| {
        let start = taken[i];
        taken[i] += to.len();
        if let Some(from) = bytes[i * needed..][..needed].get(start..taken[i]) {
            to.copy_from_slice(from);
        } else {
            // `g` was drawn again, which is rare.
            let mut source = from_seed::<R>(Use::KeyPair, seeds[i]);
            let mut before = std::vec![0; start];
            source(&mut before)?;
            wipe(&mut before, 0);
            source(to)?;
        }
        Ok(())
    };
    generate_batch::<R, K>(&mut sources, public, private).expect("a seed gives all bytes");
    wipe(&mut bytes, 0);
}

/// Writes the hashes of public keys to the private keys.
fn write_hashes<R: NtruPrimeArithmetic, K: AsMut<[u8]>, const N: usize>(
    public: &[R::MixedRadixBytes; N],
    private: &mut [K; N],
) {
    let hashes = hash_public_keys(public.each_ref().map(|public| public.as_ref()));
    for (private, hash) in private.iter_mut().zip(&hashes) {
        private.as_mut()[parts::<R>().hash..].copy_from_slice(hash);
    }
}
