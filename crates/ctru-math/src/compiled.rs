//! The functions whose machine code lies in this crate, once for each ring.
//!
//! The public functions are generic over the ring, and the compiler generates the code of a generic
//! function in the crate that calls it. Therefore each public function only forwards to a method of
//! [`Compiled`], which is not generic: this crate holds the code for all rings and backends, and a
//! dependent crate compiles nothing but calls. No other crate can name the trait, so [`Ring`] is
//! sealed.

use crate::codec::bits::Packed13Error;
use crate::codec::secret_poly::InvalidSecretPoly;
use crate::codec::{bits, mixed_radix, secret_poly};
use crate::invert::{self, BatchNode, BatchTooShort};
use crate::mul::rns_ntt::{self, Multiplier, RnsRing};
use crate::poly::{Poly, RoundedPoly, SmallPoly};
use crate::ring::{R653, R761, R1277, Ring};
use crate::simd::dispatch;
use crate::{compress, e8, sample};

/// Declares [`Compiled`] with the methods of a list, and implements it for each ring.
macro_rules! compiled {
    ($($ring:ident)+: $functions:tt) => {
        compiled! { @trait $functions }
        $(compiled! { @impl $ring $functions })+
    };
    (@trait {
        $(fn $name:ident($($arg:ident: $arg_type:ty),* $(,)?) $(-> $output:ty)? { $body:expr })+
    }) => {
        /// Declares the compiled functions of a ring. The public function that calls a method
        /// describes it.
        pub trait Compiled: RnsRing {
            $(fn $name($($arg: $arg_type),*) $(-> $output)? where Self: Ring;)+
        }
    };
    (@impl $ring:ident {
        $(fn $name:ident($($arg:ident: $arg_type:ty),* $(,)?) $(-> $output:ty)? { $body:expr })+
    }) => {
        impl Compiled for $ring {
            // GPU kernels call none of these functions. `inline` keeps them out of the PTX, because
            // rustc compiles an inline function only if other code calls it.
            $(
                #[cfg_attr(target_arch = "nvptx64", inline)]
                fn $name($($arg: $arg_type),*) $(-> $output)? {
                    $body
                }
            )+
        }
    };
}

compiled! {
    R653 R761 R1277: {
        fn mul_small(
            room: &mut Multiplier<Self>,
            a: &Poly<Self>,
            b: &SmallPoly<Self>,
        ) -> Poly<Self> {
            dispatch(rns_ntt::MulSmall(room, a, b))
        }
        fn mul_rounded(
            room: &mut Multiplier<Self>,
            a: &RoundedPoly<Self>,
            b: &SmallPoly<Self>,
        ) -> RoundedPoly<Self> {
            dispatch(rns_ntt::MulRounded(room, a, b))
        }
        fn mul(a: &Poly<Self>, b: &Poly<Self>) -> Poly<Self> {
            dispatch(rns_ntt::Mul(a, b))
        }
        fn inverse_or_zero(a: &Poly<Self>) -> Poly<Self> {
            invert::divsteps::inverse_or_zero(a)
        }
        fn invert_batch(
            elements: &[&SmallPoly<Self>],
            inverses: &mut [Poly<Self>],
            nodes: &mut [BatchNode<Self>],
        ) -> Result<(), BatchTooShort> {
            invert::batch::invert_all(elements, inverses, nodes)
        }
        fn sample(coins: &<Self as Ring>::CoinBytes) -> SmallPoly<Self> {
            sample::from_coins(coins)
        }
        fn sample_secret(coins: &<Self as Ring>::CoinBytes) -> SmallPoly<Self> {
            sample::secret_from_coins(coins)
        }
        fn compress_with_message(
            sigma: &Poly<Self>,
            message: &<Self as Ring>::MessageBytes,
        ) -> RoundedPoly<Self> {
            compress::round_with_message(sigma, message)
        }
        fn decode_message(
            decrypted: &RoundedPoly<Self>,
            message: &mut <Self as Ring>::MessageBytes,
        ) {
            e8::decode_blocks(decrypted, message)
        }
        fn pack13(poly: &Poly<Self>) -> <Self as Ring>::Packed13Bytes {
            bits::pack_poly(poly)
        }
        fn unpack13(bytes: &<Self as Ring>::Packed13Bytes) -> Result<Poly<Self>, Packed13Error> {
            bits::unpack_poly(bytes)
        }
        fn pack_rounded(poly: &RoundedPoly<Self>) -> <Self as Ring>::CiphertextBytes {
            bits::pack_ciphertext(poly)
        }
        fn unpack_rounded(bytes: &<Self as Ring>::CiphertextBytes) -> RoundedPoly<Self> {
            bits::unpack_ciphertext(bytes)
        }
        fn mixed_radix_encode(poly: &Poly<Self>) -> <Self as Ring>::MixedRadixBytes {
            mixed_radix::encode_poly(poly)
        }
        fn mixed_radix_decode(
            bytes: &<Self as Ring>::MixedRadixBytes,
            poly: &mut Poly<Self>,
        ) -> bool {
            mixed_radix::decode_poly(bytes, poly)
        }
        fn pack_secret(f: &SmallPoly<Self>) -> <Self as Ring>::SecretPolyBytes {
            secret_poly::pack_nibbles(f)
        }
        fn unpack_secret(
            bytes: &<Self as Ring>::SecretPolyBytes,
        ) -> Result<SmallPoly<Self>, InvalidSecretPoly> {
            secret_poly::unpack_nibbles(bytes)
        }
    }
}
