//! Parameter sets and encodings chosen at run time.
//!
//! The types of `ctru-kem` carry both as type parameters. [`Suite::run`] is the one place where a value becomes a
//! type: what is to be done is a [`Task`], generic over the parameter set.

use std::fmt;

use clap::ValueEnum;
use ctru_kem::{
    CtruPrime653, CtruPrime761, CtruPrime1277, MixedRadix, Packed13, ParameterSet,
    PublicKeyEncoding,
};

/// A parameter set.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
pub enum Set {
    /// CTRU-Prime-653.
    #[value(name = "653")]
    N653,
    /// CTRU-Prime-761.
    #[value(name = "761")]
    N761,
    /// CTRU-Prime-1277.
    #[value(name = "1277")]
    N1277,
}

/// How the coefficients of a public key become bytes.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
pub enum Encoding {
    /// The shorter keys.
    MixedRadix,
    /// Thirteen bits a coefficient: faster to read and write.
    Packed13,
}

/// A parameter set with a public-key encoding: what a key belongs to.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Suite {
    /// The parameter set.
    pub set: Set,
    /// The encoding.
    pub encoding: Encoding,
}

/// Something to do with a parameter set that is known only at run time.
pub trait Task {
    /// What comes of it.
    type Output;
    /// Does it.
    fn run<P: ParameterSet>(self) -> Self::Output;
}

/// Bytes of what a suite makes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Of a public key.
    pub public_key: usize,
    /// Of a private key.
    pub private_key: usize,
    /// Of a ciphertext.
    pub ciphertext: usize,
}

impl Set {
    /// All sets.
    pub const ALL: [Self; 3] = [Self::N653, Self::N761, Self::N1277];

    /// The degree, which is also how the command line and records call the set.
    #[must_use]
    pub fn degree(self) -> &'static str {
        match self {
            Self::N653 => "653",
            Self::N761 => "761",
            Self::N1277 => "1277",
        }
    }
}

impl fmt::Display for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CTRU-Prime-{}", self.degree())
    }
}

impl Encoding {
    /// Both encodings.
    pub const ALL: [Self; 2] = [Self::MixedRadix, Self::Packed13];

    /// How the command line and records call the encoding.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::MixedRadix => MixedRadix::NAME,
            Self::Packed13 => Packed13::NAME,
        }
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Suite {
    /// All suites.
    pub fn all() -> impl Iterator<Item = Self> {
        Set::ALL.into_iter().flat_map(|set| Encoding::ALL.map(|encoding| Self { set, encoding }))
    }

    /// Runs a task for this suite.
    pub fn run<T: Task>(self, task: T) -> T::Output {
        match (self.set, self.encoding) {
            (Set::N653, Encoding::MixedRadix) => task.run::<CtruPrime653<MixedRadix>>(),
            (Set::N653, Encoding::Packed13) => task.run::<CtruPrime653<Packed13>>(),
            (Set::N761, Encoding::MixedRadix) => task.run::<CtruPrime761<MixedRadix>>(),
            (Set::N761, Encoding::Packed13) => task.run::<CtruPrime761<Packed13>>(),
            (Set::N1277, Encoding::MixedRadix) => task.run::<CtruPrime1277<MixedRadix>>(),
            (Set::N1277, Encoding::Packed13) => task.run::<CtruPrime1277<Packed13>>(),
        }
    }

    /// The sizes of this suite.
    #[must_use]
    pub fn sizes(self) -> Sizes {
        struct Measure;
        impl Task for Measure {
            type Output = Sizes;
            fn run<P: ParameterSet>(self) -> Sizes {
                Sizes {
                    public_key: P::ENCAPSULATION_KEY_BYTES,
                    private_key: P::DECAPSULATION_KEY_BYTES,
                    ciphertext: P::CIPHERTEXT_BYTES,
                }
            }
        }
        self.run(Measure)
    }
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.set, self.encoding)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Name;
    impl Task for Name {
        type Output = String;
        fn run<P: ParameterSet>(self) -> String {
            format!("{} {}", P::NAME, P::Encoding::NAME)
        }
    }

    #[test]
    fn names_are_those_of_the_types() {
        for suite in Suite::all() {
            assert_eq!(suite.to_string(), suite.run(Name));
        }
    }

    /// The command line takes the names that records and messages show.
    #[test]
    fn names_are_those_of_the_command_line() {
        for set in Set::ALL {
            assert_eq!(Set::from_str(set.degree(), false), Ok(set));
        }
        for encoding in Encoding::ALL {
            assert_eq!(Encoding::from_str(encoding.name(), false), Ok(encoding));
        }
    }
}
