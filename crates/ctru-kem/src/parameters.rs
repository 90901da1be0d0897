//! The parameter sets as values, for programs that choose one at run time.

use core::fmt;
use core::str::FromStr;

use thiserror::Error;

/// Passes the list of parameter sets of CTRU-Prime to another macro: the type and the ring of each
/// set, its number, its short and its full name, and, for each encoding, the result of the
/// known-answer test, as an implementation in Python has computed it.
macro_rules! ctru_prime_sets {
    ($then:ident! $($argument:tt)*) => {
        $then! {
            $($argument)*
            /// CTRU-Prime with n = 653, q = 4621, q2 = 2048, eta = 3.
            CtruPrime653(R653) = 1: "653", "CTRU-Prime-653" {
                MixedRadix => 0x7681a6cc5f12db67695b8f3e1725f8fe;
                Packed13 => 0x5f91b6cb11d9a0513abc4e6678bd3d0a;
            }
            /// CTRU-Prime with n = 761, q = 4591, q2 = 1024, eta = 2.
            CtruPrime761(R761) = 2: "761", "CTRU-Prime-761" {
                MixedRadix => 0xc3cc5d0856e9368a3e4aa0172c99a15a;
                Packed13 => 0x96af8df167bfb5cc3ae811212c0d3bea;
            }
            /// CTRU-Prime with n = 1277, q = 7879, q2 = 1024, eta = 2.
            ///
            /// The published failure rate of this set does not hold; see `docs/security.md` in the
            /// repository.
            CtruPrime1277(R1277) = 3: "1277", "CTRU-Prime-1277" {
                MixedRadix => 0x50c9a22368601f6699b2824e8b8203b6;
                Packed13 => 0x54049654fc4b991fc9f6db484355be7e;
            }
        }
    };
}

/// Passes the list of parameter sets of Streamlined NTRU Prime to another macro, after its
/// arguments and entries of another list. Their public keys have one encoding.
macro_rules! ntru_prime_sets {
    ($then:ident! $($argument:tt)*) => { ntru_prime_sets! { [$then! $($argument)*] } };
    ([$then:ident! $($argument:tt)*] $($entry:tt)*) => {
        $then! {
            $($argument)*
            $($entry)*
            /// Streamlined NTRU Prime with n = 653, q = 4621, weight 288.
            Sntrup653(R653) = 11: "sntrup653", "sntrup653" {
                MixedRadix => 0xf303ca8416d3b06029f622604bcc3699;
            }
            /// Streamlined NTRU Prime with n = 761, q = 4591, weight 286.
            Sntrup761(R761) = 12: "sntrup761", "sntrup761" {
                MixedRadix => 0x114f7a1cc38db02f8d025e403213975f;
            }
            /// Streamlined NTRU Prime with n = 857, q = 5167, weight 322.
            Sntrup857(R857) = 13: "sntrup857", "sntrup857" {
                MixedRadix => 0xec4701d0d540d3ef32ace5e14856063f;
            }
            /// Streamlined NTRU Prime with n = 953, q = 6343, weight 396.
            Sntrup953(R953) = 14: "sntrup953", "sntrup953" {
                MixedRadix => 0x88d5cf09c9256d6910e1a3a06ff2c8dc;
            }
            /// Streamlined NTRU Prime with n = 1013, q = 7177, weight 448.
            Sntrup1013(R1013) = 15: "sntrup1013", "sntrup1013" {
                MixedRadix => 0x8aac9a0dc89a417dc4106c881f1598d6;
            }
            /// Streamlined NTRU Prime with n = 1277, q = 7879, weight 492.
            Sntrup1277(R1277) = 16: "sntrup1277", "sntrup1277" {
                MixedRadix => 0x42afa62efd087066e2f598f50cc03af5;
            }
        }
    };
}

/// Passes the list of all parameter sets to another macro.
macro_rules! sets {
    ($($then:tt)*) => { ctru_prime_sets! { ntru_prime_sets! [$($then)*] } };
}

/// Defines [`Set`], and what [`Parameters`] knows of each set.
macro_rules! values {
    ($($(#[$doc:meta])* $name:ident($ring:ident) = $code:literal: $number:literal, $text:literal {
        $($encoding:ident => $known_answer:literal;)*
    })+) => {
        /// A parameter set as a value. Its [name](Self::id) on command lines and in records is
        /// such as `761` or `sntrup761`.
        #[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Set {
            $($(#[$doc])* $name,)+
        }

        impl Set {
            /// All parameter sets.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// Returns the number of the set in object identifiers and in messages. It never
            /// changes.
            #[must_use]
            pub const fn number(self) -> u8 {
                match self {
                    $(Self::$name => $code,)+
                }
            }

            /// Returns the name on command lines and in records, such as `761` or `sntrup761`.
            #[must_use]
            pub const fn id(self) -> &'static str {
                match self {
                    $(Self::$name => $number,)+
                }
            }

            /// Returns the full name, such as `CTRU-Prime-761` or `sntrup761`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)+
                }
            }
        }

        impl Parameters {
            /// Each set with each of its encodings.
            pub const ALL: &[Self] =
                &[$($(Self { set: Set::$name, encoding: Encoding::$encoding }),*),+];
        }
    };
}
sets!(values!);

/// A key encapsulation mechanism on the rings `Z_q[x]/(x^n - x - 1)`.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Scheme {
    /// CTRU-Prime.
    CtruPrime,
    /// Streamlined NTRU Prime, as in the third round of NIST's standardisation.
    NtruPrime,
}

/// Defines [`Set::scheme`].
macro_rules! schemes {
    ($($(#[$doc:meta])* $name:ident($ring:ident) = $code:literal: $number:literal, $text:literal {
        $($encoding:ident => $known_answer:literal;)*
    })+) => {
        impl Set {
            /// The parameter sets of CTRU-Prime.
            pub const CTRU_PRIME: &[Self] = &[$(Self::$name),+];

            /// Returns the scheme of the set.
            #[must_use]
            pub const fn scheme(self) -> Scheme {
                match self {
                    $(Self::$name)|+ => Scheme::CtruPrime,
                    _ => Scheme::NtruPrime,
                }
            }
        }
    };
}
ctru_prime_sets!(schemes!);

/// Defines [`with_parameters`]. `$d` is a dollar sign.
macro_rules! dispatch {
    ($d:tt
    $($(#[$doc:meta])* $name:ident($ring:ident) = $code:literal: $number:literal, $text:literal {
        $($encoding:ident => $known_answer:literal;)*
    })+) => {
        /// Evaluates an expression in which a name is the type of [`Parameters`], a
        /// [`ParameterSet`](crate::ParameterSet). The compiler compiles the expression once for
        /// each of them, so it should only call a function.
        ///
        /// ```
        /// use ctru_kem::{DecapsulationKey, Encoding, ParameterSet, Parameters, with_parameters};
        ///
        /// fn generate<P: ParameterSet>() -> Result<Vec<u8>, getrandom::Error> {
        ///     Ok(DecapsulationKey::<P>::try_generate()?.as_ref().to_vec())
        /// }
        ///
        /// let parameters = Parameters::new("761".parse()?, Encoding::Packed13)?;
        /// let key = with_parameters!(parameters, P => generate::<P>())?;
        /// assert_eq!(key.len(), parameters.sizes().decapsulation_key);
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        #[macro_export]
        macro_rules! with_parameters {
            ($d parameters:expr, $d P:ident => $d body:expr) => {{
                let parameters: $d crate::Parameters = $d parameters;
                match (parameters.set(), parameters.encoding()) {
                    $($(
                        ($d crate::Set::$name, $d crate::Encoding::$encoding) => {
                            type $d P = $d crate::$name<$d crate::$encoding>;
                            $d body
                        }
                    )*)+
                    _ => panic!("all parameters are in the list"),
                }
            }};
        }
    };
}
sets!(dispatch! $);

/// Defines [`with_ctru_prime_set`]. `$d` is a dollar sign.
macro_rules! dispatch_ctru_prime {
    ($d:tt
    $($(#[$doc:meta])* $name:ident($ring:ident) = $code:literal: $number:literal, $text:literal {
        $($encoding:ident => $known_answer:literal;)*
    })+) => {
        /// Evaluates an expression in which a name is the type of a [`Set`] of CTRU-Prime with keys
        /// in mixed-radix encoding, like [`with_parameters`], or another expression if the set is
        /// not of CTRU-Prime.
        #[macro_export]
        macro_rules! with_ctru_prime_set {
            ($d set:expr, $d P:ident => $d body:expr, _ => $d other:expr) => {
                match $d set {
                    $(
                        $d crate::Set::$name => {
                            type $d P = $d crate::$name;
                            $d body
                        }
                    )+
                    _ => $d other,
                }
            };
        }
    };
}
ctru_prime_sets!(dispatch_ctru_prime! $);

/// Defines [`for_each_set`] and [`for_each_ctru_prime_set`]. `$d` is a dollar sign.
macro_rules! export {
    (
        $d:tt
        $macro:ident
        $(#[$first_doc:meta])*
        $first:ident($first_ring:ident) = $a:literal: $b:literal, $c:literal {
            $($of_first:ident => $e:literal;)*
        }
        $($(#[$doc:meta])*
        $name:ident($ring:ident) = $code:literal: $number:literal, $text:literal {
            $($encoding:ident => $known_answer:literal;)*
        })*
    ) => {
        /// Calls the macro `$callback` for each set in the list:
        /// `$callback! { smallest TYPE NAME ENCODING... }` for the first one, and
        /// `$callback! { larger TYPE NAME ENCODING... }` for the others.
        ///
        /// This macro is for the crates of this workspace. It may change at any time.
        #[doc(hidden)]
        #[macro_export]
        macro_rules! $macro {
            ($d callback:ident) => {
                $d callback! { smallest $first $c $($of_first)* }
                $($d callback! { larger $name $text $($encoding)* })*
            };
        }
    };
}
sets!(export! $ for_each_set);
ctru_prime_sets!(export! $ for_each_ctru_prime_set);

/// An encoding of encapsulation keys as a value. The numbers are part of the input from which seeds
/// are derived.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Encoding {
    /// [`MixedRadix`](crate::MixedRadix): shorter keys.
    #[default]
    MixedRadix = 1,
    /// [`Packed13`](crate::Packed13): keys that are faster to read and write.
    Packed13 = 2,
}

impl Encoding {
    /// Both encodings.
    pub const ALL: &[Self] = &[Self::MixedRadix, Self::Packed13];

    /// Returns the name on command lines and in records, such as `mixed-radix`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::MixedRadix => "mixed-radix",
            Self::Packed13 => "packed13",
        }
    }
}

/// A parameter set with an encoding of encapsulation keys. Each key and each ciphertext belongs to
/// one of them. The type of the same parameters implements
/// [`ParameterSet`](crate::ParameterSet).
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Parameters {
    pub(crate) set: Set,
    pub(crate) encoding: Encoding,
}

impl Parameters {
    /// Returns the parameters of a set and an encoding.
    ///
    /// # Errors
    /// [`NoSuchParameters`] if the keys of the set do not have this encoding.
    pub fn new(set: Set, encoding: Encoding) -> Result<Self, NoSuchParameters> {
        let parameters = Self { set, encoding };
        if Self::ALL.contains(&parameters) {
            Ok(parameters)
        } else {
            Err(NoSuchParameters { set, encoding })
        }
    }

    /// Returns the parameter set.
    #[must_use]
    pub const fn set(self) -> Set {
        self.set
    }

    /// Returns the encoding of encapsulation keys.
    #[must_use]
    pub const fn encoding(self) -> Encoding {
        self.encoding
    }

    /// Returns the position in [`ALL`](Self::ALL), for tables with an element for each.
    #[must_use]
    pub fn index(self) -> usize {
        Self::ALL.iter().position(|&other| other == self).expect("all are in the list")
    }
}

impl From<Set> for Parameters {
    /// Returns the parameters of a set with the default encoding, which each set has.
    fn from(set: Set) -> Self {
        Self { set, encoding: Encoding::default() }
    }
}

impl fmt::Display for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.set, self.encoding)
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CtruPrime => "CTRU-Prime",
            Self::NtruPrime => "Streamlined NTRU Prime",
        })
    }
}

/// The keys of a parameter set do not have an encoding.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Error)]
#[error("the keys of {set} have no {encoding} encoding")]
pub struct NoSuchParameters {
    /// The parameter set.
    pub set: Set,
    /// The encoding.
    pub encoding: Encoding,
}

/// There is no parameter set with a name.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no such parameter set; the sets are{}", Names(Set::ALL, Set::id))]
pub struct UnknownSet;

/// There is no encoding with a name.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no such encoding; the encodings are{}", Names(Encoding::ALL, Encoding::name))]
pub struct UnknownEncoding;

impl FromStr for Set {
    type Err = UnknownSet;

    /// Returns the set with this [name](Self::id).
    fn from_str(id: &str) -> Result<Self, UnknownSet> {
        Self::ALL.iter().copied().find(|set| set.id() == id).ok_or(UnknownSet)
    }
}

impl FromStr for Encoding {
    type Err = UnknownEncoding;

    /// Returns the encoding with this [name](Self::name).
    fn from_str(name: &str) -> Result<Self, UnknownEncoding> {
        let named = Self::ALL.iter().copied().find(|encoding| encoding.name() == name);
        named.ok_or(UnknownEncoding)
    }
}

/// Writes the names of all values, each after a space.
struct Names<T: 'static>(&'static [T], fn(T) -> &'static str);

impl<T: Copy> fmt::Display for Names<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|&value| write!(f, " {}", (self.1)(value)))
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for &set in Set::ALL {
            assert_eq!(set.id().parse(), Ok(set));
        }
        for &encoding in Encoding::ALL {
            assert_eq!(encoding.to_string().parse(), Ok(encoding));
        }
        for &set in Set::ALL {
            assert!(Parameters::ALL.contains(&set.into()));
            let is_ctru_prime = set.scheme() == Scheme::CtruPrime;
            assert_eq!(Parameters::new(set, Encoding::Packed13).is_ok(), is_ctru_prime);
            assert_eq!(Set::CTRU_PRIME.contains(&set), is_ctru_prime);
        }
        let names = Set::ALL.iter().map(|set| set.id()).collect::<std::vec::Vec<_>>().join(" ");
        let error = "762".parse::<Set>().unwrap_err().to_string();
        assert_eq!(error, std::format!("there is no such parameter set; the sets are {names}"));
        assert!("CTRU-Prime-761".parse::<Set>().is_err() && "packed".parse::<Encoding>().is_err());
    }
}
