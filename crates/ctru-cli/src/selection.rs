//! The choice of a parameter set at run time: of a degree and of an encoding of public keys.
//!
//! The types of `ctru-kem` carry both as type parameters. [`Selection::accept`] is the only place
//! where a choice becomes a type: it calls a [`Visitor`], which is generic over the parameter set.

use std::fmt;

use clap::ValueEnum;
use ctru_kem::{
    CtruPrime653, CtruPrime761, CtruPrime1277, MixedRadix, Packed13, ParameterSet,
    PublicKeyEncoding, WrongAnswer, known_answer_test,
};

/// The degree of a parameter set.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Set {
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

/// An encoding of public keys.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Encoding {
    /// The mixed-radix encoding: shorter keys.
    MixedRadix,
    /// 13 bits per coefficient: faster to read and write.
    Packed13,
}

/// A parameter set as a value. Each key and each ciphertext belongs to one selection.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Selection {
    pub(crate) set: Set,
    pub(crate) encoding: Encoding,
}

/// An action that needs the parameter set as a type.
pub(crate) trait Visitor {
    /// The result of the action.
    type Output;
    /// Performs the action.
    fn visit<P: ParameterSet>(self) -> Self::Output;
}

/// The sizes of keys and ciphertexts in bytes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    pub(crate) public_key: usize,
    pub(crate) private_key: usize,
    pub(crate) ciphertext: usize,
}

impl Set {
    /// All parameter sets.
    pub(crate) const ALL: [Self; 3] = [Self::N653, Self::N761, Self::N1277];

    /// Returns the degree `n`, the name of the set on the command line and in records.
    pub(crate) fn degree(self) -> &'static str {
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
    pub(crate) const ALL: [Self; 2] = [Self::MixedRadix, Self::Packed13];

    /// Returns the name on the command line and in records.
    pub(crate) fn name(self) -> &'static str {
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

impl Selection {
    /// Returns all parameter sets with both encodings.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        Set::ALL.into_iter().flat_map(|set| Encoding::ALL.map(|encoding| Self { set, encoding }))
    }

    /// Calls `visitor` with the type of this parameter set.
    pub(crate) fn accept<V: Visitor>(self, visitor: V) -> V::Output {
        match (self.set, self.encoding) {
            (Set::N653, Encoding::MixedRadix) => visitor.visit::<CtruPrime653<MixedRadix>>(),
            (Set::N653, Encoding::Packed13) => visitor.visit::<CtruPrime653<Packed13>>(),
            (Set::N761, Encoding::MixedRadix) => visitor.visit::<CtruPrime761<MixedRadix>>(),
            (Set::N761, Encoding::Packed13) => visitor.visit::<CtruPrime761<Packed13>>(),
            (Set::N1277, Encoding::MixedRadix) => visitor.visit::<CtruPrime1277<MixedRadix>>(),
            (Set::N1277, Encoding::Packed13) => visitor.visit::<CtruPrime1277<Packed13>>(),
        }
    }

    /// Tests this machine with known answers, and then calls `visitor`. Every command that works
    /// with keys of users does this before the first operation.
    ///
    /// # Errors
    /// [`WrongAnswer`] if this machine or this build computes wrongly.
    pub(crate) fn tested<V: Visitor>(self, visitor: V) -> Result<V::Output, WrongAnswer> {
        struct Test;
        impl Visitor for Test {
            type Output = Result<(), WrongAnswer>;
            fn visit<P: ParameterSet>(self) -> Self::Output {
                known_answer_test::<P>()
            }
        }
        self.accept(Test)?;
        Ok(self.accept(visitor))
    }

    /// Returns the sizes of keys and ciphertexts.
    pub(crate) fn sizes(self) -> Sizes {
        struct Measure;
        impl Visitor for Measure {
            type Output = Sizes;
            fn visit<P: ParameterSet>(self) -> Sizes {
                Sizes {
                    public_key: P::ENCAPSULATION_KEY_BYTES,
                    private_key: P::DECAPSULATION_KEY_BYTES,
                    ciphertext: P::CIPHERTEXT_BYTES,
                }
            }
        }
        self.accept(Measure)
    }
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.set, self.encoding)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Name;
    impl Visitor for Name {
        type Output = String;
        fn visit<P: ParameterSet>(self) -> String {
            format!("{} {}", P::NAME, P::Encoding::NAME)
        }
    }

    #[test]
    fn names_are_those_of_the_types() {
        for selection in Selection::all() {
            assert_eq!(selection.to_string(), selection.accept(Name));
        }
    }

    /// Checks that the command line accepts the names that records and messages show.
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
