//! What a file contains: the PEM and raw forms of keys, ciphertexts and shared secrets.
//!
//! A PEM label names set, encoding and kind. Raw bytes have no label, but no two kinds of any two suites have the same
//! length, except that the encoding of the public key does not show in a ciphertext.
//! A file as long as a raw ciphertext for the key in use is one, whatever its bytes are.

use std::fmt;

use ctru_kem::{InvalidDecapsulationKey, InvalidEncapsulationKey, InvalidLength};
use pem_rfc7468::LineEnding;
use thiserror::Error;
use zeroize::Zeroizing;

use crate::set::{Encoding, Set, Suite};

/// What a file can contain.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The key that encapsulates.
    PublicKey,
    /// The key that decapsulates.
    PrivateKey,
    /// What encapsulation sends.
    Ciphertext,
    /// What both sides share.
    SharedSecret,
}

impl Kind {
    const ALL: [Self; 4] =
        [Self::PublicKey, Self::PrivateKey, Self::Ciphertext, Self::SharedSecret];

    /// Bytes of this kind, where they tell it from other kinds.
    fn length(self, suite: Suite) -> Option<usize> {
        let sizes = suite.sizes();
        match self {
            Self::PublicKey => Some(sizes.public_key),
            Self::PrivateKey => Some(sizes.private_key),
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

/// Why a file does not contain what it should.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Problem {
    /// No object of the wanted kind has this length.
    #[error("{actual} bytes are no {}; expected {expected}", any_of(wanted))]
    Length {
        /// What was wanted, one of these.
        wanted: &'static [Kind],
        /// Which lengths there are.
        expected: String,
        /// Bytes of the file.
        actual: usize,
    },
    /// The file is larger than anything that could be meant.
    #[error("more than {limit} bytes, so no {}", any_of(wanted))]
    TooLong {
        /// What was wanted, one of these.
        wanted: &'static [Kind],
        /// How much is read at most.
        limit: usize,
    },
    /// The PEM form is of another program.
    #[error("a PEM file, but its label is none of this program's")]
    Label,
    /// The PEM form has no last line.
    #[error(
        "the PEM form of a {suite} {kind} is cut off; expected {expected} bytes of text, the file has {actual}"
    )]
    Truncated {
        /// What the label says it is.
        kind: Kind,
        /// For which suite.
        suite: Suite,
        /// Bytes of the whole form as this program writes it.
        expected: usize,
        /// Bytes of the file.
        actual: usize,
    },
    /// The PEM form is damaged.
    #[error(
        "the PEM form of a {suite} {kind} is damaged: {source}; expected {expected} bytes of text, the file has {actual}"
    )]
    Pem {
        /// What the label says it is.
        kind: Kind,
        /// For which suite.
        suite: Suite,
        /// What the decoder says.
        source: pem_rfc7468::Error,
        /// Bytes of the intact form as this program writes it.
        expected: usize,
        /// Bytes of the file.
        actual: usize,
    },
    /// The PEM form holds another number of bytes than its label says.
    #[error("the PEM form of a {suite} {kind} holds {actual} bytes, expected {expected}")]
    PemLength {
        /// What the label says it is.
        kind: Kind,
        /// For which suite.
        suite: Suite,
        /// Bytes of such an object.
        expected: usize,
        /// Bytes inside.
        actual: usize,
    },
    /// The file contains something else.
    #[error("a {found}, not a {}", any_of(wanted))]
    Kind {
        /// What was wanted, one of these.
        wanted: &'static [Kind],
        /// What it is.
        found: Object,
    },
    /// The ciphertext belongs to another suite than the key.
    #[error("a {found}, but the key is of {key}")]
    Suite {
        /// The suite of the key.
        key: Suite,
        /// What it is.
        found: Object,
    },
    /// The bytes are no public key.
    #[error("not a valid public key: {0}")]
    PublicKey(#[from] InvalidEncapsulationKey),
    /// The bytes are no private key.
    #[error("not a valid private key: {0}")]
    PrivateKey(#[from] InvalidDecapsulationKey),
    /// The bytes are no ciphertext.
    #[error("not a ciphertext: {0}")]
    Ciphertext(#[from] InvalidLength),
}

/// Names the kinds in a message.
fn any_of(kinds: &[Kind]) -> String {
    kinds.iter().map(Kind::to_string).collect::<Vec<_>>().join(" or ")
}

/// What bytes are, as far as a label or their length tells.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Object {
    kind: Kind,
    set: Set,
    /// Unknown for a raw ciphertext.
    encoding: Option<Encoding>,
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.encoding {
            Some(encoding) => write!(f, "{} {encoding} {}", self.set, self.kind),
            None => write!(f, "{} {}", self.set, self.kind),
        }
    }
}

/// The label of an object's PEM form. Hyphens are left out: many readers refuse them.
fn label(kind: Kind, suite: Suite) -> String {
    let encoding = match suite.encoding {
        Encoding::MixedRadix => "MIXED RADIX",
        Encoding::Packed13 => "PACKED13",
    };
    format!("CTRU PRIME {} {encoding} {kind}", suite.set.degree()).to_uppercase()
}

/// An object's PEM form.
fn armour(kind: Kind, suite: Suite, bytes: &[u8]) -> Zeroizing<Vec<u8>> {
    let text = pem_rfc7468::encode_string(&label(kind, suite), LineEnding::LF, bytes);
    Zeroizing::new(text.expect("the label is well formed and memory suffices").into_bytes())
}

/// The contents of an object's file: its PEM form or its bare bytes.
pub(crate) fn contents(
    kind: Kind,
    suite: Suite,
    bytes: Zeroizing<Vec<u8>>,
    raw: bool,
) -> Zeroizing<Vec<u8>> {
    if raw { bytes } else { armour(kind, suite, &bytes) }
}

/// Reads a key of one of the kinds `wanted`; kind and suite show in its label or its length.
pub(crate) fn parse_key(
    wanted: &'static [Kind],
    contents: Zeroizing<Vec<u8>>,
) -> Result<(Kind, Suite, Zeroizing<Vec<u8>>), Problem> {
    let (object, bytes) = parse(wanted, None, contents)?;
    let encoding = object.encoding.expect("the length of a key tells its encoding");
    Ok((object.kind, Suite { set: object.set, encoding }, bytes))
}

/// Reads a ciphertext for a key of `suite`.
pub(crate) fn parse_ciphertext(
    suite: Suite,
    contents: Zeroizing<Vec<u8>>,
) -> Result<Zeroizing<Vec<u8>>, Problem> {
    let (object, bytes) = parse(&[Kind::Ciphertext], Some(suite), contents)?;
    if object.set == suite.set && object.encoding.is_none_or(|encoding| encoding == suite.encoding)
    {
        Ok(bytes)
    } else {
        Err(Problem::Suite { key: suite, found: object })
    }
}

/// Reads an object of one of the kinds `wanted`. What comes back has the right length for what it
/// is.
fn parse(
    wanted: &'static [Kind],
    suite: Option<Suite>,
    contents: Zeroizing<Vec<u8>>,
) -> Result<(Object, Zeroizing<Vec<u8>>), Problem> {
    const BEGIN: &[u8] = b"-----BEGIN ";
    let raw = identify(contents.len());
    // Who sends a ciphertext chooses its bytes, so they must not decide whether it is refused.
    let expected = |object: &Object| suite.is_some_and(|suite| object.set == suite.set);
    if let Some(object) = raw.filter(|object| wanted.contains(&object.kind) && expected(object)) {
        return Ok((object, contents));
    }
    let pem = contents.windows(BEGIN.len()).position(|window| window == BEGIN);
    let (object, bytes) = match pem {
        Some(start) => parse_pem(&contents, &contents[start + BEGIN.len()..])?,
        None => {
            let object = raw.ok_or_else(|| Problem::Length {
                wanted,
                expected: lengths(wanted, suite),
                actual: contents.len(),
            })?;
            (object, contents)
        }
    };
    if wanted.contains(&object.kind) {
        Ok((object, bytes))
    } else {
        Err(Problem::Kind { wanted, found: object })
    }
}

/// Reads the PEM form `text`, in which `from_label` is what follows the word BEGIN.
fn parse_pem(text: &[u8], from_label: &[u8]) -> Result<(Object, Zeroizing<Vec<u8>>), Problem> {
    let (kind, suite) = Kind::ALL
        .into_iter()
        .flat_map(|kind| Suite::all().map(move |suite| (kind, suite)))
        .find(|&(kind, suite)| {
            from_label.starts_with(format!("{}-----", label(kind, suite)).as_bytes())
        })
        .ok_or(Problem::Label)?;
    let length = kind.length(suite);
    let expected =
        || armour(kind, suite, &vec![0; length.unwrap_or(ctru_kem::SHARED_SECRET_BYTES)]).len();
    let last_line = format!("-----END {}-----", label(kind, suite));
    // The decoder would call it an error of the first line.
    if !text.windows(last_line.len()).any(|window| window == last_line.as_bytes()) {
        return Err(Problem::Truncated { kind, suite, expected: expected(), actual: text.len() });
    }
    // More than enough; `decode_vec` would leave the first bytes of a damaged key in memory.
    let mut bytes = Zeroizing::new(vec![0; text.len()]);
    let decoded = pem_rfc7468::decode(text, &mut bytes).map(|(_, decoded)| decoded.len());
    let actual = decoded.map_err(|source| Problem::Pem {
        kind,
        suite,
        source,
        expected: expected(),
        actual: text.len(),
    })?;
    bytes.truncate(actual);
    match length {
        Some(expected) if expected != bytes.len() => {
            Err(Problem::PemLength { kind, suite, expected, actual: bytes.len() })
        }
        _ => Ok((Object { kind, set: suite.set, encoding: Some(suite.encoding) }, bytes)),
    }
}

/// What raw bytes of this length are.
fn identify(length: usize) -> Option<Object> {
    let mut objects =
        Kind::ALL.into_iter().flat_map(|kind| Suite::all().map(move |suite| (kind, suite)));
    let (kind, Suite { set, encoding }) =
        objects.find(|&(kind, suite)| kind.length(suite) == Some(length))?;
    Some(Object { kind, set, encoding: (kind != Kind::Ciphertext).then_some(encoding) })
}

/// The lengths that an object can have, for a message.
fn lengths(kinds: &[Kind], suite: Option<Suite>) -> String {
    let length = |kind: Kind, suite| kind.length(suite).unwrap_or(ctru_kem::SHARED_SECRET_BYTES);
    let of_kind = |&kind: &Kind| match suite {
        Some(suite) => vec![format!("{} for {}", length(kind, suite), suite.set)],
        None => Suite::all().map(|suite| format!("{} for {suite}", length(kind, suite))).collect(),
    };
    kinds.iter().flat_map(of_kind).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects() -> impl Iterator<Item = (Kind, Suite, usize)> {
        Kind::ALL.into_iter().filter(|&kind| kind != Kind::SharedSecret).flat_map(|kind| {
            Suite::all()
                .map(move |suite| (kind, suite, kind.length(suite).expect("not a shared secret")))
        })
    }

    /// The invariant that raw files rest on.
    #[test]
    fn raw_lengths_tell_objects_apart() {
        for (kind, suite, length) in objects() {
            let object = identify(length).expect("a known length");
            assert_eq!((object.kind, object.set), (kind, suite.set));
            match object.encoding {
                Some(encoding) => assert_eq!(encoding, suite.encoding),
                None => assert_eq!(kind, Kind::Ciphertext),
            }
        }
    }

    #[test]
    fn pem_round_trip() {
        for (kind, suite, length) in objects() {
            let bytes: Vec<u8> = (0..length).map(|i| i as u8).collect();
            let text = armour(kind, suite, &bytes);
            let crlf = String::from_utf8(text.to_vec()).expect("text").replace('\n', "\r\n");
            let with_preamble = [b"some words\n", &text[..]].concat();
            for text in [text.to_vec(), crlf.into_bytes(), with_preamble] {
                let (object, read) =
                    parse(&Kind::ALL, None, Zeroizing::new(text)).expect("well formed");
                assert_eq!((object.kind, object.set), (kind, suite.set));
                assert_eq!(object.encoding, Some(suite.encoding));
                assert_eq!(*read, bytes);
            }
        }
    }

    /// What is raw by its length is never a PEM form that this program has written.
    #[test]
    fn pem_forms_have_no_raw_length() {
        for kind in Kind::ALL {
            for suite in Suite::all() {
                let bytes = vec![0; kind.length(suite).unwrap_or(ctru_kem::SHARED_SECRET_BYTES)];
                let text = armour(kind, suite, &bytes);
                let lines = text.iter().filter(|&&byte| byte == b'\n').count();
                for length in [text.len(), text.len() + lines] {
                    assert_eq!(identify(length), None, "{kind} of {suite}");
                }
            }
        }
    }

    /// Wherever a PEM file is cut off before its last line is complete, that is noticed, unless
    /// what is left is as long as a raw ciphertext.
    #[test]
    fn truncated_pem() {
        let suite = Suite { set: Set::N653, encoding: Encoding::Packed13 };
        let text = armour(Kind::Ciphertext, suite, &[1; 898]);
        for length in 0..text.len() - 1 {
            let cut = Zeroizing::new(text[..length].to_vec());
            let result = parse(&[Kind::Ciphertext], Some(suite), cut);
            assert_eq!(result.is_err(), length != suite.sizes().ciphertext, "{length} bytes");
        }
    }
}
