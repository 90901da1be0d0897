//! The traits of the crate `kem`.

use ctru_kem::kem::{
    Decapsulate, Decapsulator, Encapsulate, Generate, InvalidKey, Kem, KeyExport, TryKeyInit,
};
use ctru_kem::{Ciphertext, DecapsulationKey, ParameterSet, for_each_set};
use ctru_tests::every_set;
use ctru_tests::random::infallible;

every_set!(generates);

/// Random bytes, enough for a key pair or an encapsulation.
fn bytes(first: u8) -> Vec<u8> {
    (0..1 << 15).map(|i: u32| (i.wrapping_mul(0x9e37_79b1) >> 24) as u8 ^ first).collect()
}

/// Exchanges a secret as code does that knows only the traits. Returns the private and the public
/// key, the ciphertext and the secret.
fn exchange<K>() -> [Vec<u8>; 4]
where
    K: Kem<DecapsulationKey: Decapsulate + KeyExport + TryKeyInit>,
{
    let (private, public) = K::generate_keypair_from_rng(&mut infallible(&bytes(1)));
    assert_eq!(private.encapsulation_key(), &public);
    let [stored, published] = [private.to_bytes().to_vec(), public.to_bytes().to_vec()];
    let private = K::DecapsulationKey::new_from_slice(&stored).unwrap();
    let public = K::EncapsulationKey::new_from_slice(&published).unwrap();
    let (sent, secret) = public.encapsulate_with_rng(&mut infallible(&bytes(2)));
    assert_eq!(private.decapsulate(&sent), secret);

    let (other, other_secret) = public.encapsulate();
    assert_eq!(private.decapsulate(&other), other_secret);
    assert_ne!(other_secret, secret);
    let refused = [
        K::DecapsulationKey::new(&Default::default()).err(),
        K::DecapsulationKey::new_from_slice(&stored[1..]).err(),
        K::EncapsulationKey::new_from_slice(&published[1..]).err(),
    ];
    assert_eq!(refused, [const { Some(InvalidKey) }; 3]);
    [stored, published, sent.to_vec(), secret.to_vec()]
}

/// The results are those of the methods.
fn methods<P: ParameterSet>() -> [Vec<u8>; 4] {
    let private = DecapsulationKey::<P>::generate_from_rng(&mut infallible(&bytes(1)));
    let public = private.encapsulation_key();
    let (sent, secret): (Ciphertext<P>, _) =
        public.encapsulate_with_rng(&mut infallible(&bytes(2)));
    [private.as_ref(), public.as_ref(), sent.as_ref(), secret.as_ref()].map(<[u8]>::to_vec)
}

macro_rules! compare {
    ($size:ident $set:ident $name:literal MixedRadix) => {
        assert_eq!(exchange::<ctru_kem::$set>(), methods::<ctru_kem::$set>(), $name);
    };
    ($($ctru_prime:tt)*) => {};
}

#[test]
fn exchanges() {
    for_each_set!(compare);
}

/// Every set has the trait that needs no size.
fn generates<P: ParameterSet>() {
    let key = <DecapsulationKey<P> as Generate>::generate_from_rng(&mut infallible(&bytes(1)));
    assert_eq!(key, DecapsulationKey::generate_from_rng(&mut infallible(&bytes(1))));
}
