//! The traits of the crate [`kem`], for the sets whose sizes are on the list of `hybrid-array`:
//! those of Streamlined NTRU Prime.

use hybrid_array::AssocArraySize;
use hybrid_array::sizes::U32;
use kem::common::KeySizeUser;
use kem::{
    Decapsulate, Decapsulator, Encapsulate, Generate, InvalidKey, Kem, KeyExport, TryKeyInit,
};
use rand_core::{CryptoRng, TryCryptoRng};

use crate::encoding::MixedRadix;
use crate::keys::{Ciphertext, DecapsulationKey, EncapsulationKey};
use crate::params::sets::*;
use crate::params::{CiphertextBytes, DecapsulationKeyBytes, EncapsulationKeyBytes, ParameterSet};

impl<P: ParameterSet> Generate for DecapsulationKey<P> {
    fn try_generate_from_rng<G: TryCryptoRng + ?Sized>(rng: &mut G) -> Result<Self, G::Error> {
        Self::try_generate_from_rng(rng)
    }
}

/// Implements the traits by which a key is read and written.
macro_rules! key {
    ($key:ident<$set:ty>, $bytes:ident) => {
        impl KeySizeUser for $key<$set> {
            type KeySize = <$bytes<$set> as AssocArraySize>::Size;
        }

        impl TryKeyInit for $key<$set> {
            fn new(bytes: &kem::Key<Self>) -> Result<Self, InvalidKey> {
                Self::from_bytes(bytes).map_err(|_| InvalidKey)
            }
        }

        impl KeyExport for $key<$set> {
            fn to_bytes(&self) -> kem::Key<Self> {
                (*self.as_array()).into()
            }
        }
    };
}

macro_rules! implement {
    ($($(#[$doc:meta])* $name:ident($ring:ident) = $code:literal: $number:literal, $text:literal {
        $($encoding:ident => $known_answer:literal;)*
    })+) => { $($(
        key!(EncapsulationKey<$name<$encoding>>, EncapsulationKeyBytes);
        key!(DecapsulationKey<$name<$encoding>>, DecapsulationKeyBytes);

        impl Kem for $name<$encoding> {
            type DecapsulationKey = DecapsulationKey<Self>;
            type EncapsulationKey = EncapsulationKey<Self>;
            type SharedKeySize = U32;
            type CiphertextSize = <CiphertextBytes<Self> as AssocArraySize>::Size;
        }

        impl Encapsulate for EncapsulationKey<$name<$encoding>> {
            type Kem = $name<$encoding>;

            fn encapsulate_with_rng<G: CryptoRng + ?Sized>(
                &self,
                rng: &mut G,
            ) -> (kem::Ciphertext<Self::Kem>, kem::SharedKey<Self::Kem>) {
                let (ciphertext, secret) = self.encapsulate_with_rng(rng);
                ((*ciphertext.as_array()).into(), (*secret.as_bytes()).into())
            }
        }

        impl Decapsulator for DecapsulationKey<$name<$encoding>> {
            type Kem = $name<$encoding>;

            fn encapsulation_key(&self) -> &EncapsulationKey<Self::Kem> {
                self.public()
            }
        }

        impl Decapsulate for DecapsulationKey<$name<$encoding>> {
            fn decapsulate(
                &self,
                ciphertext: &kem::Ciphertext<Self::Kem>,
            ) -> kem::SharedKey<Self::Kem> {
                let ciphertext = Ciphertext::from_bytes(ciphertext).expect("as many bytes");
                (*self.decapsulate(&ciphertext).as_bytes()).into()
            }
        }
    )*)+ };
}
ntru_prime_sets!(implement!);
