//! Compares the KEM with the intermediate vectors.

use ctru_kem::{
    Ciphertext, CtruPrime653, CtruPrime761, CtruPrime1277, CtruPrimeSet, DecapsulationKey,
    MixedRadix, Packed13,
};
use ctru_math::NtruPrimeRing;
use ctru_tests::vectors::{Encapsulation, Intermediate, array};

fn check<P: CtruPrimeSet>(choose: impl Fn(&Intermediate) -> &Encapsulation) {
    let vector = Intermediate::load(P::Ring::N);
    let expected = choose(&vector);
    let key = DecapsulationKey::<P>::generate_deterministic(
        &array(&vector.keygen_seed),
        &array(&vector.z),
    );
    let public = key.encapsulation_key();
    assert_eq!(public.as_ref(), expected.pk);
    assert_eq!(key.as_ref(), [&vector.f_packed[..], &expected.pk, &vector.z].concat());
    let (ciphertext, secret) = public.encapsulate_deterministic(&array(&vector.encaps_seed));
    assert_eq!(ciphertext.as_ref(), expected.ct);
    assert_eq!(secret.as_bytes()[..], expected.ss);
    assert_eq!(key.decapsulate(&ciphertext), secret);
    let received = Ciphertext::<P>::from_bytes(&expected.ct).unwrap();
    assert_eq!(key.decapsulate(&received), secret);
}

#[test]
fn mixed_radix() {
    check::<CtruPrime653<MixedRadix>>(|vector| &vector.mixed_radix);
    check::<CtruPrime761<MixedRadix>>(|vector| &vector.mixed_radix);
    check::<CtruPrime1277<MixedRadix>>(|vector| &vector.mixed_radix);
}

#[test]
fn packed13() {
    check::<CtruPrime653<Packed13>>(|vector| &vector.packed13);
    check::<CtruPrime761<Packed13>>(|vector| &vector.packed13);
    check::<CtruPrime1277<Packed13>>(|vector| &vector.packed13);
}
