#![cfg_attr(feature = "ring", doc = include_str!("../README.md"))]
#![cfg_attr(not(feature = "ring"), doc = "Groups of TLS 1.3 for rustls.")]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(any(feature = "ring", feature = "aws-lc-rs"))]
mod group;
#[cfg(any(feature = "ring", feature = "aws-lc-rs"))]
mod kem;

use rustls::NamedGroup;

/// X25519 with CTRU-Prime-653, a number for private use (RFC 8446, section 4.2.7).
pub const X25519_CTRU_PRIME_653: NamedGroup = NamedGroup::Unknown(0xfec1);
/// X25519 with CTRU-Prime-761, a number for private use (RFC 8446, section 4.2.7).
pub const X25519_CTRU_PRIME_761: NamedGroup = NamedGroup::Unknown(0xfec2);
/// X25519 with CTRU-Prime-1277, a number for private use (RFC 8446, section 4.2.7).
pub const X25519_CTRU_PRIME_1277: NamedGroup = NamedGroup::Unknown(0xfec3);

/// Makes a module with the groups and the provider on one of rustls' libraries.
macro_rules! on {
    ($library:ident, $name:literal, $feature:literal) => {
        #[doc = concat!("The groups with the X25519 of ", $name, ", and a provider with them.")]
        #[cfg(feature = $feature)]
        pub mod $library {
            use ctru_kem::{CtruPrime653, CtruPrime761, CtruPrime1277};
            use rustls::crypto::$library::{default_provider, kx_group};
            use rustls::crypto::{CryptoProvider, SupportedKxGroup};

            use crate::group::Hybrid;
            use crate::kem::{CtruPrime, Kem, MlKem768};

            const fn of<K: Kem>(number: rustls::NamedGroup) -> Hybrid<K> {
                Hybrid::new(number, kx_group::X25519)
            }

            /// X25519 with CTRU-Prime-653.
            pub static X25519_CTRU_PRIME_653: &dyn SupportedKxGroup =
                &of::<CtruPrime<CtruPrime653>>(crate::X25519_CTRU_PRIME_653);
            /// X25519 with CTRU-Prime-761.
            pub static X25519_CTRU_PRIME_761: &dyn SupportedKxGroup =
                &of::<CtruPrime<CtruPrime761>>(crate::X25519_CTRU_PRIME_761);
            /// X25519 with CTRU-Prime-1277.
            pub static X25519_CTRU_PRIME_1277: &dyn SupportedKxGroup =
                &of::<CtruPrime<CtruPrime1277>>(crate::X25519_CTRU_PRIME_1277);
            /// X25519MLKEM768, which is standardised: ML-KEM-768 of the crate `ml-kem`.
            pub static X25519MLKEM768: &dyn SupportedKxGroup =
                &of::<MlKem768>(rustls::NamedGroup::X25519MLKEM768);

            #[doc = concat!("Returns the default provider of ", $name, " with X25519MLKEM768 of")]
            /// this crate before its other groups, and without any of CTRU-Prime.
            #[must_use]
            pub fn standard_provider() -> CryptoProvider {
                let mut provider = default_provider();
                provider.kx_groups.retain(|group| group.name() != X25519MLKEM768.name());
                provider.kx_groups.insert(0, X25519MLKEM768);
                provider
            }

            #[doc = concat!("Returns the default provider of ", $name, " with the groups of")]
            /// CTRU-Prime before its own: 761, 1277, 653.
            ///
            /// A client with this provider sends shares for 761 and for X25519 first. A server of
            /// rustls takes the first group of this list that it knows. If that is another one,
            /// such as X25519MLKEM768, it asks for a share, which takes a second round trip.
            #[must_use]
            pub fn provider() -> CryptoProvider {
                let mut provider = default_provider();
                provider.kx_groups.splice(
                    0..0,
                    [X25519_CTRU_PRIME_761, X25519_CTRU_PRIME_1277, X25519_CTRU_PRIME_653],
                );
                provider
            }
        }
    };
}

on!(ring, "`ring`", "ring");
on!(aws_lc_rs, "`aws-lc-rs`", "aws-lc-rs");
