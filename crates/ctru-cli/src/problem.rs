//! The kinds of objects in files, and what can be wrong with the contents of a file.

use std::fmt;

use ctru_kem::pem;
use ctru_kem::pkcs8;
use ctru_kem::{
    InvalidDecapsulationKey, InvalidEncapsulationKey, InvalidLength, InvalidSeed, WrongAnswer,
};
use thiserror::Error;

use ctru_kem::{Encoding, Parameters, Set};

/// A kind of object in a file.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The key with which everybody can encapsulate.
    PublicKey,
    /// The key with which its owner decapsulates.
    PrivateKey,
    /// The ciphertext that encapsulation sends.
    Ciphertext,
    /// The secret that both sides share.
    SharedSecret,
}

impl Kind {
    pub(crate) const ALL: [Self; 4] =
        [Self::PublicKey, Self::PrivateKey, Self::Ciphertext, Self::SharedSecret];

    /// Returns the number of bytes of an object of this kind. Returns `None` for a shared secret,
    /// whose length does not tell the parameter set.
    pub(crate) fn length(self, parameters: Parameters) -> Option<usize> {
        let sizes = parameters.sizes();
        match self {
            Self::PublicKey => Some(sizes.encapsulation_key),
            Self::PrivateKey => Some(sizes.decapsulation_key),
            Self::Ciphertext => Some(sizes.ciphertext),
            Self::SharedSecret => None,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PublicKey => "public key",
            Self::PrivateKey => "private key",
            Self::Ciphertext => "ciphertext",
            Self::SharedSecret => "shared secret",
        })
    }
}

/// The reason why a file has wrong contents.
#[derive(Debug, Error)]
pub(crate) enum Problem {
    /// No object of the wanted kinds has this length.
    #[error("{actual} bytes are no {}; expected {expected}", any_of(wanted))]
    Length { wanted: &'static [Kind], expected: String, actual: usize },
    /// The file is longer than any object.
    #[error("more than {limit} bytes, so no {}", any_of(wanted))]
    TooLong { wanted: &'static [Kind], limit: usize },
    /// The file holds something of other programs. `found` names it with its article.
    #[error("{found}, not a {}", any_of(wanted))]
    Foreign { wanted: &'static [Kind], found: String },
    /// The file holds a key of PKCS#8 or SubjectPublicKeyInfo for another algorithm.
    #[error("a {kind} of {algorithm}, so no key of CTRU-Prime or NTRU Prime")]
    Algorithm { kind: Kind, algorithm: String },
    /// The PEM form has no last line, or one with another label. `expected` is the number of bytes
    /// of the form, `actual` that of the file.
    #[error(
        "the PEM form of a {parameters} {kind} is cut off; expected {expected} bytes of text, \
         the file has {actual}"
    )]
    Truncated { kind: Kind, parameters: Parameters, expected: usize, actual: usize },
    /// The PEM form is damaged.
    #[error("the PEM form of a {parameters} {kind} is damaged: {source}")]
    Pem { kind: Kind, parameters: Parameters, source: pem::Error },
    /// The number of bytes inside the PEM form does not fit its label.
    #[error("the PEM form of a {parameters} {kind} holds {actual} bytes, expected {expected}")]
    PemLength { kind: Kind, parameters: Parameters, expected: usize, actual: usize },
    /// The PEM form of a key of PKCS#8 or SubjectPublicKeyInfo is damaged.
    #[error("the PEM form of a PKCS#8 {kind} is damaged: {source}")]
    Pkcs8Pem { kind: Kind, source: pem::Error },
    /// The file has the form of PKCS#8 or SubjectPublicKeyInfo, but no key of this program.
    #[error("the label or form of a PKCS#8 key, but no key of CTRU-Prime or NTRU Prime: {0}")]
    Pkcs8(#[from] pkcs8::Error),
    /// The file contains an object of another kind.
    #[error("a {found}, not a {}", any_of(wanted))]
    Kind { wanted: &'static [Kind], found: Object },
    /// The ciphertext belongs to another parameter set or encoding than the key.
    #[error("a {found}, but the key is of {key}")]
    OtherParameters { key: Parameters, found: Object },
    /// The key belongs to another parameter set than the command line says.
    #[error("a {found}, but --set is {}", set.id())]
    OtherSet { set: Set, found: Object },
    /// The bytes are not a valid public key.
    #[error("not a valid public key: {0}")]
    PublicKey(#[from] InvalidEncapsulationKey),
    /// The bytes are not a valid private key.
    #[error("not a valid private key: {0}")]
    PrivateKey(#[from] InvalidDecapsulationKey),
    /// The seed in a file of PKCS#8 is not that of a private key.
    #[error("not a valid private key: {0}")]
    Seed(#[from] InvalidSeed),
    /// This machine computes wrongly, so it cannot generate the private key of a seed.
    #[error(transparent)]
    WrongAnswer(#[from] WrongAnswer),
    /// The bytes are not a ciphertext.
    #[error("not a ciphertext: {0}")]
    Ciphertext(#[from] InvalidLength),
}

/// Returns a list of kinds for a message.
fn any_of(kinds: &[Kind]) -> String {
    kinds.iter().map(Kind::to_string).collect::<Vec<_>>().join(" or ")
}

/// A description of an object, from its label or its length.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Object {
    pub(crate) kind: Kind,
    pub(crate) set: Set,
    /// `None` for a raw ciphertext, whose length does not depend on the encoding.
    pub(crate) encoding: Option<Encoding>,
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.encoding {
            Some(encoding) => write!(f, "{} {encoding} {}", self.set, self.kind),
            None => write!(f, "{} {}", self.set, self.kind),
        }
    }
}
