//! The choice of a parameter set and an encoding at run time.
//!
//! [`Scheme::accept`] is the only place where the choice becomes a type of `ctru-kem`.

use std::fmt;

use ctru_kem::engine::RowSizes;
use ctru_kem::{
    CtruPrime653, CtruPrime761, CtruPrime1277, MixedRadix, Packed13, ParameterSet,
    PublicKeyEncoding,
};

use crate::fault::Fault;
use crate::proto;

/// A parameter set with an encoding of public keys.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scheme {
    set: proto::ParameterSet,
    encoding: proto::PublicKeyEncoding,
}

/// An action that needs the scheme as a type.
pub(crate) trait Visitor {
    /// The result of the action.
    type Output;
    /// Performs the action.
    fn visit<P: ParameterSet>(self) -> Self::Output;
}

impl Scheme {
    /// The number of schemes.
    pub(crate) const COUNT: usize = 6;

    /// Returns all schemes: each set with each encoding.
    pub fn all() -> impl Iterator<Item = Self> {
        use proto::{ParameterSet as Set, PublicKeyEncoding as Encoding};
        let sets = [Set::CtruPrime653, Set::CtruPrime761, Set::CtruPrime1277];
        let encodings = [Encoding::MixedRadix, Encoding::Packed13];
        sets.into_iter().flat_map(move |set| encodings.map(|encoding| Self { set, encoding }))
    }

    /// Reads the scheme of a request.
    ///
    /// # Errors
    /// [`Fault::Invalid`] if the set or the encoding is unknown, or if there is no set.
    pub(crate) fn read(scheme: Option<proto::Scheme>) -> Result<Self, Fault> {
        use proto::{ParameterSet as Set, PublicKeyEncoding as Encoding};
        let proto::Scheme { set, encoding } = scheme.unwrap_or_default();
        let set = match Set::try_from(set) {
            Ok(Set::Unspecified) => {
                return Err(Fault::invalid("scheme.set", None, "there is no parameter set"));
            }
            Ok(set) if Self::all().any(|scheme| scheme.set == set) => set,
            Ok(set) => {
                let reason = format!("this server does not compute {}", set.as_str_name());
                return Err(Fault::invalid("scheme.set", None, reason));
            }
            Err(_) => {
                let reason = format!("there is no parameter set with number {set}");
                return Err(Fault::invalid("scheme.set", None, reason));
            }
        };
        let encoding = match Encoding::try_from(encoding) {
            Ok(Encoding::Unspecified) => Encoding::MixedRadix,
            Ok(encoding) => encoding,
            Err(_) => {
                let reason = format!("there is no encoding with number {encoding}");
                return Err(Fault::invalid("scheme.encoding", None, reason));
            }
        };
        Ok(Self { set, encoding })
    }

    /// Returns the index of the scheme in tables with one element per scheme.
    pub(crate) fn index(self) -> usize {
        let [set, encoding] = self.numbers();
        2 * usize::from(set - 1) + usize::from(encoding - 1)
    }

    /// Returns the numbers of the set and of the encoding in `kem.proto`.
    pub(crate) fn numbers(self) -> [u8; 2] {
        [self.set as u8, self.encoding as u8]
    }

    /// Returns the most decapsulations that a private key should do, if that number can be reached:
    /// docs/security.md says why. For 761 it is 2^64, which would take a GPU 47,000 years.
    pub(crate) fn max_decapsulations(self) -> Option<u64> {
        match self.set {
            proto::ParameterSet::CtruPrime1277 => Some(1 << 40),
            _ => None,
        }
    }

    /// Returns the scheme as a message.
    #[must_use]
    pub fn message(self) -> proto::Scheme {
        proto::Scheme { set: self.set.into(), encoding: self.encoding.into() }
    }

    /// Calls `visitor` with the type of this scheme.
    pub(crate) fn accept<V: Visitor>(self, visitor: V) -> V::Output {
        match self.index() {
            0 => visitor.visit::<CtruPrime653<MixedRadix>>(),
            1 => visitor.visit::<CtruPrime653<Packed13>>(),
            2 => visitor.visit::<CtruPrime761<MixedRadix>>(),
            3 => visitor.visit::<CtruPrime761<Packed13>>(),
            4 => visitor.visit::<CtruPrime1277<MixedRadix>>(),
            _ => visitor.visit::<CtruPrime1277<Packed13>>(),
        }
    }

    /// Returns the sizes of keys and ciphertexts.
    pub(crate) fn sizes(self) -> RowSizes {
        struct Measure;
        impl Visitor for Measure {
            type Output = RowSizes;
            fn visit<P: ParameterSet>(self) -> RowSizes {
                RowSizes::of::<P>()
            }
        }
        self.accept(Measure)
    }
}

impl fmt::Display for Scheme {
    /// Writes the name of the set and of the encoding, such as `CTRU-Prime-761 mixed-radix`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        struct Name;
        impl Visitor for Name {
            type Output = [&'static str; 2];
            fn visit<P: ParameterSet>(self) -> [&'static str; 2] {
                [P::NAME, P::Encoding::NAME]
            }
        }
        let [set, encoding] = self.accept(Name);
        write!(f, "{set} {encoding}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scheme_has_its_place_and_its_type() {
        let schemes: Vec<Scheme> = Scheme::all().collect();
        assert_eq!(schemes.len(), Scheme::COUNT);
        for (index, scheme) in schemes.iter().enumerate() {
            assert_eq!(scheme.index(), index);
            assert_eq!(Scheme::read(Some(scheme.message())).unwrap(), *scheme);
        }
        let names: Vec<String> = schemes.iter().map(Scheme::to_string).collect();
        assert_eq!(names[0], "CTRU-Prime-653 mixed-radix");
        assert_eq!(names[5], "CTRU-Prime-1277 packed13");
        assert_eq!(schemes[2].sizes().decapsulation_key, 1571);
    }

    #[test]
    fn unknown_schemes_are_refused() {
        let read = |set, encoding| Scheme::read(Some(proto::Scheme { set, encoding }));
        assert!(Scheme::read(None).is_err());
        assert!(read(0, 1).is_err() && read(4, 1).is_err() && read(-1, 1).is_err());
        // Sets of the interface that this server does not have.
        for set in 11..=16 {
            let Err(Fault::Invalid { reason, .. }) = read(set, 1) else { panic!("{set} is read") };
            assert!(reason.contains("SNTRUP"), "{reason}");
        }
        assert!(read(2, 3).is_err());
        assert_eq!(read(2, 0).unwrap(), read(2, 1).unwrap());
    }
}
