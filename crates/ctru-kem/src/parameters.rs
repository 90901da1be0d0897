//! The parameter sets as values, for programs that choose one at run time.

use core::fmt;
use core::str::FromStr;

use thiserror::Error;

/// Passes the list of parameter sets to another macro: the type and the ring of each set, its
/// number, its short and its full name, and, for each encoding, the result of the known-answer
/// test, as an implementation in Python has computed it.
macro_rules! sets {
    ($then:ident! $($argument:tt)*) => {
        $then! {
            $($argument)*
            /// n = 653, q = 4621, q2 = 2048, eta = 3.
            CtruPrime653(R653) = 1: "653", "CTRU-Prime-653" {
                MixedRadix => 0x7681a6cc5f12db67695b8f3e1725f8fe;
                Packed13 => 0x5f91b6cb11d9a0513abc4e6678bd3d0a;
            }
            /// n = 761, q = 4591, q2 = 1024, eta = 2.
            CtruPrime761(R761) = 2: "761", "CTRU-Prime-761" {
                MixedRadix => 0xc3cc5d0856e9368a3e4aa0172c99a15a;
                Packed13 => 0x96af8df167bfb5cc3ae811212c0d3bea;
            }
            /// n = 1277, q = 7879, q2 = 1024, eta = 2.
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
/// Defines [`Set`], and what [`Parameters`] knows of each set.
macro_rules! values {
    ($($(#[$doc:meta])* $name:ident($ring:ident) = $code:literal: $number:literal, $text:literal {
        $($encoding:ident => $known_answer:literal;)*
    })+) => {
        /// A parameter set as a value. Its name on command lines and in records is the degree of
        /// its ring, such as `761`.
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

            /// Returns the name on command lines and in records, such as `761`.
            #[must_use]
            pub const fn id(self) -> &'static str {
                match self {
                    $(Self::$name => $number,)+
                }
            }

            /// Returns the full name, such as `CTRU-Prime-761`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)+
                }
            }
        }

        impl Parameters {
            /// Each set with each encoding.
            pub const ALL: &[Self] =
                &[$($(Self { set: Set::$name, encoding: Encoding::$encoding }),*),+];
        }
    };
}
sets!(values!);

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
        /// let parameters = Parameters { set: "761".parse()?, encoding: Encoding::Packed13 };
        /// let key = with_parameters!(parameters, P => generate::<P>())?;
        /// assert_eq!(key.len(), parameters.sizes().decapsulation_key);
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        #[macro_export]
        macro_rules! with_parameters {
            ($d parameters:expr, $d P:ident => $d body:expr) => {{
                let $d crate::Parameters { set, encoding } = $d parameters;
                match (set, encoding) {
                    $($(
                        ($d crate::Set::$name, $d crate::Encoding::$encoding) => {
                            type $d P = $d crate::$name<$d crate::$encoding>;
                            $d body
                        }
                    )*)+
                    // Other crates see that there may be more sets one day.
                    #[allow(unreachable_patterns)]
                    _ => unreachable!("all sets are in the list"),
                }
            }};
        }
    };
}
sets!(dispatch! $);

/// Defines [`with_set`]. `$d` is a dollar sign.
macro_rules! dispatch_sets {
    ($d:tt
    $($(#[$doc:meta])* $name:ident($ring:ident) = $code:literal: $number:literal, $text:literal {
        $($encoding:ident => $known_answer:literal;)*
    })+) => {
        /// Evaluates an expression in which a name is the type of a [`Set`] with keys in
        /// mixed-radix encoding, like [`with_parameters`].
        #[macro_export]
        macro_rules! with_set {
            ($d set:expr, $d P:ident => $d body:expr) => {
                match $d set {
                    $(
                        $d crate::Set::$name => {
                            type $d P = $d crate::$name;
                            $d body
                        }
                    )+
                    // Other crates see that there may be more sets one day.
                    #[allow(unreachable_patterns)]
                    _ => unreachable!("all sets are in the list"),
                }
            };
        }
    };
}
sets!(dispatch_sets! $);

/// Defines [`for_each_set`]. `$d` is a dollar sign.
macro_rules! export {
    (
        $d:tt
        $(#[$first_doc:meta])*
        $first:ident($first_ring:ident) = $a:literal: $b:literal, $c:literal {
            $($of_first:ident => $e:literal;)*
        }
        $($(#[$doc:meta])*
        $name:ident($ring:ident) = $code:literal: $number:literal, $text:literal {
            $($encoding:ident => $known_answer:literal;)*
        })*
    ) => {
        /// Calls the macro `$callback` for each set:
        /// `$callback! { smallest TYPE NAME ENCODING... }` for the first one, and
        /// `$callback! { larger TYPE NAME ENCODING... }` for the others.
        ///
        /// This macro is for the crates of this workspace. It may change at any time.
        #[doc(hidden)]
        #[macro_export]
        macro_rules! for_each_set {
            ($d callback:ident) => {
                $d callback! { smallest $first $c $($of_first)* }
                $($d callback! { larger $name $text $($encoding)* })*
            };
        }
    };
}
sets!(export! $);

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
    /// The parameter set.
    pub set: Set,
    /// The encoding of encapsulation keys.
    pub encoding: Encoding,
}

impl Parameters {
    /// Returns the position in [`ALL`](Self::ALL), for tables with an element for each.
    #[must_use]
    pub fn index(self) -> usize {
        Self::ALL.iter().position(|&other| other == self).expect("all are in the list")
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
        assert_eq!(Parameters::ALL.len(), Set::ALL.len() * Encoding::ALL.len());
        let names = Set::ALL.iter().map(|set| set.id()).collect::<std::vec::Vec<_>>().join(" ");
        let error = "762".parse::<Set>().unwrap_err().to_string();
        assert_eq!(error, std::format!("there is no such parameter set; the sets are {names}"));
        assert!("CTRU-Prime-761".parse::<Set>().is_err() && "packed".parse::<Encoding>().is_err());
    }
}
