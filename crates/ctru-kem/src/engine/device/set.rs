//! The sizes, shapes and kernels of a parameter set, as data.
//!
//! The code below the typed interface of the engine reads this description. This code is therefore
//! compiled once per type of device, not once per parameter set.

use core::ops::Range;

use ctru_gpu_kernels::descriptor::{Kernel, RingKernels};
use ctru_gpu_kernels::kernels::ntruprime::draw::rho_words;
use ctru_gpu_kernels::kernels::ntruprime::stream;
use ctru_gpu_kernels::kernels::{coin_words, message_words, row};
use ctru_gpu_kernels::table;
use ctru_gpu_runtime::batch::plan::{Arrays, Shape};
use ctru_gpu_runtime::batch::tuning::Traffic;
use ctru_math::{Arithmetic, R653, R761, R1277};

use super::powers::Chain;
use crate::engine::EngineError;
use crate::expand::Purpose;
use crate::hash::{KEY_PAIR_SEED_BYTES, SEED_BYTES, SHARED_SECRET_BYTES};
use crate::keys::{DecapsulationKey, EncapsulationKey};
use crate::parameters::{self, Encoding, Parameters};
use crate::params::{CtruPrimeSet, ParameterSet};
use crate::scheme::Scheme;
use crate::{Sizes, Sntrup653, Sntrup761, Sntrup1277};

/// The kinds of keys.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Encapsulation,
    Decapsulation,
}

/// An operation of a batch.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Both keys of each pair are generated.
    KeyPairs,
    /// Decapsulation keys are generated.
    PrivateKeys,
    /// Secrets are encapsulated.
    Encapsulation,
    /// Ciphertexts are decapsulated.
    Decapsulation,
    /// Encapsulation keys are decoded and checked.
    PublicToLoad,
    /// Decapsulation keys are decoded and checked.
    PrivateToLoad,
}

impl Operation {
    /// Returns the kind of the keys.
    pub(super) fn kind(self) -> Kind {
        match self {
            Self::Encapsulation | Self::PublicToLoad => Kind::Encapsulation,
            _ => Kind::Decapsulation,
        }
    }
}

/// The properties of a parameter set with one encoding of encapsulation keys.
pub(super) struct Set {
    /// The parameters that this describes.
    pub(super) parameters: Parameters,
    pub(super) sizes: Sizes,
    pub(super) is_ntru_prime: bool,
    /// The range of bytes of a decapsulation key that are its encapsulation key.
    pub(super) encapsulation_key: Range<usize>,
    /// Bytes of the secret polynomials of a key on the device: `f`, or `f` and `1/g`.
    pub(super) secrets: usize,
    /// 64-bit words of the coins of one polynomial on the device, or of its random words.
    pub(super) coin_words: usize,
    /// The same of `g`, or of the secret of implicit rejection, which takes its place.
    pub(super) g_coin_words: usize,
    /// 64-bit words of a message on the device.
    pub(super) message_words: usize,
    /// Bytes of a short polynomial of NTRU Prime on the device.
    pub(super) short: usize,
    /// Bytes of a public key of NTRU Prime, or of a ciphertext, which is shorter.
    pub(super) encrypted: usize,
    key_generation: Purpose,
    encapsulation: Purpose,
    /// The ring, its kernels, and the inversion by powers.
    pub(super) chain: &'static Chain,
    shapes: [Shape; 6],
    /// Overwrites rows of keys with placeholders.
    pub(super) fill: fn(Kind, &mut [u8]),
    /// Checks rows of keys on the host.
    pub(super) check: fn(Kind, &[u8]) -> Result<(), EngineError>,
}

impl Set {
    const fn of_ctru_prime<P: CtruPrimeSet>() -> &'static Self {
        const { &Self::new::<P, P::Ring>() }
    }

    const fn of_ntru_prime<P: ParameterSet, R: Arithmetic>() -> &'static Self {
        const {
            &Self {
                secrets: 2 * row::<R>() as usize,
                coin_words: stream::words::<R>(1) as usize,
                g_coin_words: rho_words::<R>() as usize,
                message_words: 0,
                short: row::<R>() as usize,
                encrypted: P::ENCAPSULATION_KEY_BYTES,
                ..Self::new::<P, R>()
            }
        }
    }

    /// Returns a description with the arrays of CTRU-Prime on the device.
    const fn new<P: ParameterSet, R: Arithmetic>() -> Self {
        let before = <P::Scheme as Scheme>::SECRET_BYTES;
        let scheme = P::PARAMETERS.set.scheme();
        let is_ntru_prime = matches!(scheme, parameters::Scheme::NtruPrime);
        Self {
            parameters: P::PARAMETERS,
            sizes: P::PARAMETERS.sizes(),
            is_ntru_prime,
            encapsulation_key: before..before + P::ENCAPSULATION_KEY_BYTES,
            secrets: row::<R>() as usize,
            coin_words: coin_words::<R>() as usize,
            g_coin_words: coin_words::<R>() as usize,
            message_words: message_words::<R>() as usize,
            short: 0,
            encrypted: 0,
            key_generation: <P::Scheme as Scheme>::KEY_GENERATION,
            encapsulation: <P::Scheme as Scheme>::ENCAPSULATION,
            chain: Chain::of::<R>(),
            shapes: Self::shapes::<P>(is_ntru_prime),
            // All rows are complete.
            fill: |kind, rows| match kind {
                Kind::Encapsulation => drop(EncapsulationKey::<P>::placeholders_in(rows)),
                Kind::Decapsulation => drop(DecapsulationKey::<P>::placeholders_in(rows)),
            },
            check: |kind, rows| match kind {
                Kind::Encapsulation => Ok(EncapsulationKey::<P>::check_rows(rows)?),
                Kind::Decapsulation => Ok(DecapsulationKey::<P>::check_rows(rows)?),
            },
        }
    }

    /// Returns the shapes of the operations, in the order of [`Operation`].
    const fn shapes<P: ParameterSet>(is_ntru_prime: bool) -> [Shape; 6] {
        use Traffic::{Loading, Making, MakingPairs, Receiving, Sending};
        const fn shape<P: ParameterSet>(
            name: &'static str,
            traffic: Traffic,
            [seeds, keys, rows, results]: [usize; 4],
            (has_whole, refuses_keys): (bool, bool),
        ) -> Shape {
            Shape {
                name,
                traffic,
                degree: <P::Scheme as Scheme>::DEGREE,
                bytes: Arrays { seeds, keys, rows, results },
                // The device sends encapsulation keys from the memory of ciphertexts.
                room: P::CIPHERTEXT_BYTES,
                has_whole,
                refuses_keys,
                expanded_by_block: 128,
            }
        }
        // Every string of the right length is an encapsulation key of NTRU Prime.
        let refuses = !is_ntru_prime;
        let whole = !is_ntru_prime && matches!(P::PARAMETERS.encoding, Encoding::MixedRadix);
        let (public, private) = (P::ENCAPSULATION_KEY_BYTES, P::DECAPSULATION_KEY_BYTES);
        let (text, secret, pair) = (P::CIPHERTEXT_BYTES, SHARED_SECRET_BYTES, KEY_PAIR_SEED_BYTES);
        let (sent, received) = ([SEED_BYTES, public, text, secret], [0, private, text, secret]);
        [
            shape::<P>("key pairs", MakingPairs, [pair, public, private, 0], (false, true)),
            shape::<P>("private keys", Making, [pair, 0, private, 0], (false, true)),
            shape::<P>("encapsulations", Sending, sent, (whole, refuses)),
            shape::<P>("decapsulations", Receiving, received, (whole, true)),
            shape::<P>("public keys to load", Loading, [0, public, 0, 0], (false, refuses)),
            shape::<P>("private keys to load", Loading, [0, private, 0, 0], (false, true)),
        ]
    }

    /// Returns an operation as plans see it.
    pub(super) fn shape(&self, operation: Operation) -> &Shape {
        &self.shapes[operation as usize]
    }

    /// Returns the purpose for which seeds of an operation are expanded.
    pub(super) fn purpose(&self, operation: Operation) -> Purpose {
        match operation.kind() {
            Kind::Encapsulation => self.encapsulation,
            Kind::Decapsulation => self.key_generation,
        }
    }

    /// Returns the bytes of a key.
    pub(super) fn key_bytes(&self, kind: Kind) -> usize {
        match kind {
            Kind::Encapsulation => self.sizes.encapsulation_key,
            Kind::Decapsulation => self.sizes.decapsulation_key,
        }
    }

    /// Returns the kernel for the ring of the parameter set.
    pub(super) fn kernel(&self, kernels: &'static RingKernels) -> &'static Kernel {
        (self.chain.kernel)(kernels)
    }

    /// Returns the largest number of operations that every kernel accepts in one launch. NTRU Prime
    /// shares some kernels of CTRU-Prime, which has none of the others.
    pub(super) fn most_operations(&self) -> usize {
        let kernels = table::ALL.iter().map(|kernels| self.kernel(kernels));
        let is_used =
            |kernel: &&Kernel| self.is_ntru_prime || !kernel.name().starts_with("ntruprime_");
        kernels.filter(is_used).map(Kernel::most_operations).min().unwrap_or(0) as usize
    }
}

/// Defines [`Set::of`].
macro_rules! of_parameters {
    ($($(#[$doc:meta])* $name:ident($ring:ident) = $code:literal: $number:literal, $text:literal {
        $($encoding:ident => $known_answer:literal;)*
    })+) => {
        impl Set {
            /// Returns the description of `parameters`.
            ///
            /// # Errors
            /// [`EngineError::NoKernels`] if there are no kernels for them.
            pub(super) fn of(parameters: Parameters) -> Result<&'static Self, EngineError> {
                match (parameters.set, parameters.encoding) {
                    $($(
                        (crate::Set::$name, Encoding::$encoding) => {
                            Ok(Self::of_ctru_prime::<crate::$name<crate::$encoding>>())
                        }
                    )*)+
                    (crate::Set::Sntrup653, _) => Ok(Self::of_ntru_prime::<Sntrup653, R653>()),
                    (crate::Set::Sntrup761, _) => Ok(Self::of_ntru_prime::<Sntrup761, R761>()),
                    (crate::Set::Sntrup1277, _) => {
                        Ok(Self::of_ntru_prime::<Sntrup1277, R1277>())
                    }
                    _ => Err(EngineError::NoKernels { parameters }),
                }
            }
        }
    };
}
ctru_prime_sets!(of_parameters!);
