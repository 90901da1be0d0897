//! The contents of files: the PEM and raw forms of keys, ciphertexts and shared secrets.
//!
//! A PEM label names the parameter set, the encoding and the kind of object. Raw bytes have no
//! label. Their length determines the kind and the parameter set, and for keys the encoding,
//! because all these lengths differ for CTRU-Prime. Some are those of NTRU Prime, too, whose raw
//! keys are read only where the command line names the set. If a file has the length of a raw
//! ciphertext for the key in use, it is read as a raw ciphertext, whatever its bytes are.

use ctru_kem::pem::{self, Block};
use ctru_kem::pkcs8::{self, spki};
use pem_rfc7468::LineEnding;
use zeroize::Zeroizing;

use crate::found;
use crate::key_file;
use crate::problem::{Kind, Object, Problem};
use ctru_kem::{Encoding, Parameters, Scheme, Set};

/// An object of a file, and its bytes.
type Parsed = (Object, Zeroizing<Vec<u8>>);

/// Returns the label of an object's PEM form. The label has no hyphens, because many readers refuse
/// them.
fn label(kind: Kind, parameters: Parameters) -> String {
    let id = parameters.set().id();
    match (parameters.set().scheme(), parameters.encoding()) {
        (Scheme::CtruPrime, Encoding::MixedRadix) => format!("CTRU PRIME {id} MIXED RADIX {kind}"),
        (Scheme::CtruPrime, Encoding::Packed13) => format!("CTRU PRIME {id} PACKED13 {kind}"),
        _ => format!("{id} {kind}"),
    }
    .to_uppercase()
}

/// Returns the label of a key of PKCS#8 or SubjectPublicKeyInfo.
fn pkcs8_label(kind: Kind) -> String {
    kind.to_string().to_uppercase()
}

/// Returns a PEM form.
fn armour(label: &str, bytes: &[u8]) -> Zeroizing<Vec<u8>> {
    let text = pem_rfc7468::encode_string(label, LineEnding::LF, bytes);
    Zeroizing::new(text.expect("the label is well formed and memory suffices").into_bytes())
}

/// Returns the contents of an object's file: its PEM form or its bytes.
pub(crate) fn contents(
    kind: Kind,
    parameters: Parameters,
    bytes: Zeroizing<Vec<u8>>,
    raw: bool,
) -> Zeroizing<Vec<u8>> {
    if raw { bytes } else { armour(&label(kind, parameters), &bytes) }
}

/// Returns the contents of the file of a key of PKCS#8 or SubjectPublicKeyInfo: its PEM form or its
/// DER.
pub(crate) fn pkcs8_contents(kind: Kind, der: Zeroizing<Vec<u8>>, raw: bool) -> Zeroizing<Vec<u8>> {
    if raw { der } else { armour(&pkcs8_label(kind), &der) }
}

/// What a command accepts.
struct Wanted {
    kinds: &'static [Kind],
    /// The parameters of the key in use, if there is one.
    key: Option<Parameters>,
    /// The set that the command line names.
    set: Option<Set>,
}

impl Wanted {
    /// Checks that an object is of a wanted kind, for the key in use, and of the set.
    fn check(&self, found: Object) -> Result<(), Problem> {
        if !self.kinds.contains(&found.kind) {
            return Err(Problem::Kind { wanted: self.kinds, found });
        }
        let fits = |key: Parameters| {
            let encoding = found.encoding.unwrap_or(key.encoding());
            (found.set, encoding) == (key.set(), key.encoding())
        };
        match (self.key, self.set) {
            (Some(key), _) if !fits(key) => Err(Problem::OtherParameters { key, found }),
            (_, Some(set)) if set != found.set => Err(Problem::OtherSet { set, found }),
            _ => Ok(()),
        }
    }
}

/// Parses a key of one of the kinds, of `set` if that is given. Returns its kind, its parameters
/// and its bytes. Of several blocks, those of another set are passed over.
///
/// # Errors
/// [`Problem`] if the contents are not a key of these kinds, or one of another set.
pub(crate) fn parse_key(
    kinds: &'static [Kind],
    set: Option<Set>,
    contents: Zeroizing<Vec<u8>>,
) -> Result<(Kind, Parameters, Zeroizing<Vec<u8>>), Problem> {
    let (object, bytes) = parse(&Wanted { kinds, key: None, set }, contents)?;
    let encoding = object.encoding.expect("the length of a key tells its encoding");
    let parameters = Parameters::new(object.set, encoding).expect("the object is in the list");
    Ok((object.kind, parameters, bytes))
}

/// Parses a ciphertext for a key of `parameters`. Returns its bytes.
///
/// # Errors
/// [`Problem`] if the contents are not a ciphertext, or belong to another parameters.
pub(crate) fn parse_ciphertext(
    parameters: Parameters,
    contents: Zeroizing<Vec<u8>>,
) -> Result<Zeroizing<Vec<u8>>, Problem> {
    let wanted = Wanted { kinds: &[Kind::Ciphertext], key: Some(parameters), set: None };
    Ok(parse(&wanted, contents)?.1)
}

/// Parses what is wanted. The returned bytes of a key or a ciphertext have the right length.
fn parse(wanted: &Wanted, contents: Zeroizing<Vec<u8>>) -> Result<Parsed, Problem> {
    let named = wanted.key.map(Parameters::set).or(wanted.set);
    let raw = named.and_then(|set| identify(contents.len(), Some(set)));
    let raw = raw.or_else(|| identify(contents.len(), None));
    // Raw bytes of the right length are accepted first, even if they look like PEM. The sender
    // chooses the bytes of a ciphertext, so they must not decide whether it is accepted.
    let fits = |object: &Object| wanted.key.is_some() && wanted.check(*object).is_ok();
    if let Some(object) = raw.filter(fits) {
        return Ok((object, contents));
    }
    if pem::blocks(&contents).next().is_some() {
        return first_that_fits(wanted, &contents);
    }
    let (object, bytes) = match raw {
        Some(object) => (object, contents),
        None if key_file::is_sequence(&contents) => parse_der(&contents)?,
        None => {
            let (wanted, actual) = (wanted.kinds, contents.len());
            return Err(match found::text(&contents) {
                Some(found) => Problem::Foreign { wanted, found: found.to_owned() },
                None => Problem::Length { wanted, expected: lengths(wanted, named), actual },
            });
        }
    };
    wanted.check(object).map(|()| (object, bytes))
}

/// Parses the first block that holds what is wanted. The error names what the other blocks hold.
fn first_that_fits(wanted: &Wanted, text: &[u8]) -> Result<Parsed, Problem> {
    let mut problems = Vec::new();
    for block in pem::blocks(text) {
        match parse_block(wanted, &block, text.len())? {
            Ok(fits) => return Ok(fits),
            Err(problem) => problems.push(problem),
        }
    }
    // What nearly fits says more than a list.
    let nearly = |problem: &Problem| {
        matches!(problem, Problem::OtherParameters { .. } | Problem::OtherSet { .. })
    };
    if let Some(place) = problems.iter().position(nearly).or((problems.len() == 1).then_some(0)) {
        return Err(problems.swap_remove(place));
    }
    let mut found: Vec<String> = Vec::new();
    for problem in problems {
        let name = match problem {
            Problem::Foreign { found, .. } => found,
            Problem::Algorithm { kind, algorithm } => format!("a {kind} of {algorithm}"),
            Problem::Kind { found, .. } => format!("a {found}"),
            other => other.to_string(),
        };
        if !found.contains(&name) {
            found.push(name);
        }
    }
    let more = found.len().saturating_sub(MOST_NAMES);
    found.truncate(MOST_NAMES);
    if more > 0 {
        found.push(format!("{more} more"));
    }
    Err(Problem::Foreign { wanted: wanted.kinds, found: found.join(", ") })
}

/// The largest number of blocks that a message names.
const MOST_NAMES: usize = 4;

/// Parses a block. The inner result says whether it fits what is wanted; a block that should fit
/// and is damaged is an error. `length` is that of the whole text.
fn parse_block(
    wanted: &Wanted,
    block: &Block<'_>,
    length: usize,
) -> Result<Result<Parsed, Problem>, Problem> {
    let foreign = |found| Ok(Err(Problem::Foreign { wanted: wanted.kinds, found }));
    let is_pkcs8 = |kind: &Kind| block.label() == pkcs8_label(*kind);
    if let Some(kind) = [Kind::PublicKey, Kind::PrivateKey].into_iter().find(is_pkcs8) {
        let parsed = block
            .decode()
            .map_err(|source| Problem::Pkcs8Pem { kind, source })
            .and_then(|der| parse_key_file(kind, &der));
        return match parsed {
            Ok(parsed) => Ok(wanted.check(parsed.0).map(|()| parsed)),
            Err(problem @ Problem::Algorithm { .. }) => Ok(Err(problem)),
            Err(problem) if wanted.kinds.contains(&kind) => Err(problem),
            Err(_) => foreign(format!("the label of a {kind} around something else")),
        };
    }
    let own = Kind::ALL
        .into_iter()
        .flat_map(|kind| Parameters::ALL.iter().copied().map(move |parameters| (kind, parameters)))
        .find(|&(kind, parameters)| block.label() == label(kind, parameters));
    let Some((kind, its)) = own else { return foreign(found::block(block.label())) };
    let object = Object { kind, set: its.set(), encoding: Some(its.encoding()) };
    match wanted.check(object) {
        Ok(()) => decode_own(kind, its, block, length).map(|bytes| Ok((object, bytes))),
        Err(other) => Ok(Err(other)),
    }
}

/// Decodes a block with a label of this program.
fn decode_own(
    kind: Kind,
    parameters: Parameters,
    block: &Block<'_>,
    actual: usize,
) -> Result<Zeroizing<Vec<u8>>, Problem> {
    let bytes = block.decode().map_err(|source| match source {
        pem::Error::PostEncapsulationBoundary => {
            let bytes = kind.length(parameters).unwrap_or(ctru_kem::SHARED_SECRET_BYTES);
            let expected = armour(&label(kind, parameters), &vec![0; bytes]).len();
            Problem::Truncated { kind, parameters, expected, actual }
        }
        source => Problem::Pem { kind, parameters, source },
    })?;
    match kind.length(parameters) {
        Some(expected) if expected != bytes.len() => {
            Err(Problem::PemLength { kind, parameters, expected, actual: bytes.len() })
        }
        _ => Ok(bytes),
    }
}

/// Parses a key of PKCS#8 or SubjectPublicKeyInfo in DER. The error is that of a private key.
fn parse_der(der: &[u8]) -> Result<Parsed, Problem> {
    match parse_key_file(Kind::PublicKey, der) {
        Err(Problem::Pkcs8(_)) => parse_key_file(Kind::PrivateKey, der),
        parsed => parsed,
    }
}

/// Parses a key of this kind in DER. The key of another algorithm is [`Problem::Algorithm`].
fn parse_key_file(kind: Kind, der: &[u8]) -> Result<Parsed, Problem> {
    let parsed = match kind {
        Kind::PrivateKey => key_file::decode_private(der),
        _ => key_file::decode_public(der),
    };
    match parsed {
        Ok((parameters, bytes)) => {
            let (set, encoding) = (parameters.set(), Some(parameters.encoding()));
            Ok((Object { kind, set, encoding }, bytes))
        }
        Err(Problem::Pkcs8(pkcs8::Error::PublicKey(spki::Error::OidUnknown { oid }))) => {
            Err(Problem::Algorithm { kind, algorithm: found::algorithm(oid) })
        }
        Err(problem) => Err(problem),
    }
}

/// Returns the objects that a raw form can be, with their lengths: those of `set`, or else of all
/// sets of CTRU-Prime.
fn raw_objects(set: Option<Set>) -> impl Iterator<Item = (usize, Object)> {
    let is_candidate = move |parameters: &&Parameters| match set {
        Some(set) => parameters.set() == set,
        None => parameters.set().scheme() == Scheme::CtruPrime,
    };
    Kind::ALL.into_iter().flat_map(move |kind| {
        Parameters::ALL.iter().filter(is_candidate).filter_map(move |&parameters| {
            let encoding = (kind != Kind::Ciphertext).then_some(parameters.encoding());
            Some((kind.length(parameters)?, Object { kind, set: parameters.set(), encoding }))
        })
    })
}

/// Returns the description of the object whose raw form has this length, if there is one.
fn identify(length: usize, set: Option<Set>) -> Option<Object> {
    raw_objects(set).find(|&(its, _)| its == length).map(|(_, object)| object)
}

/// Returns a list of the lengths of raw objects for a message.
fn lengths(kinds: &[Kind], set: Option<Set>) -> String {
    let objects = raw_objects(set).filter(|(_, object)| kinds.contains(&object.kind));
    let mut lengths: Vec<_> =
        objects.map(|(length, object)| format!("{length} for a {object}")).collect();
    lengths.dedup();
    if set.is_none() {
        lengths.push("or a key of NTRU Prime and its --set".to_owned());
    }
    lengths.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects() -> impl Iterator<Item = (Kind, Parameters, usize)> {
        Kind::ALL.into_iter().filter(|&kind| kind != Kind::SharedSecret).flat_map(|kind| {
            Parameters::ALL.iter().copied().map(move |parameters| {
                (kind, parameters, kind.length(parameters).expect("not a shared secret"))
            })
        })
    }

    /// Checks that the lengths of raw objects differ. Raw files can be read only because of this
    /// property.
    #[test]
    fn raw_lengths_tell_objects_apart() {
        for (kind, parameters, length) in objects() {
            let set = parameters.set();
            let named = (set.scheme() != Scheme::CtruPrime).then_some(set);
            let object = identify(length, named).expect("a known length");
            assert_eq!((object.kind, object.set), (kind, parameters.set()));
            match object.encoding {
                Some(encoding) => assert_eq!(encoding, parameters.encoding()),
                None => assert_eq!(kind, Kind::Ciphertext),
            }
        }
    }

    #[test]
    fn pem_round_trip() {
        for (kind, parameters, length) in objects() {
            let bytes: Vec<u8> = (0..length).map(|i| i as u8).collect();
            let text = armour(&label(kind, parameters), &bytes);
            let crlf = String::from_utf8(text.to_vec()).expect("text").replace('\n', "\r\n");
            let with_preamble = [b"some words\n", &text[..]].concat();
            for text in [text.to_vec(), crlf.into_bytes(), with_preamble] {
                let wanted = Wanted { kinds: &Kind::ALL, key: None, set: None };
                let (object, read) = parse(&wanted, Zeroizing::new(text)).expect("well formed");
                assert_eq!((object.kind, object.set), (kind, parameters.set()));
                assert_eq!(object.encoding, Some(parameters.encoding()));
                assert_eq!(*read, bytes);
            }
        }
    }

    /// Checks that no PEM form of CTRU-Prime has the length of a raw object of CTRU-Prime, and none
    /// that of a raw object of its own set.
    #[test]
    fn pem_forms_have_no_raw_length() {
        for kind in Kind::ALL {
            for parameters in Parameters::ALL.iter().copied() {
                let bytes =
                    vec![0; kind.length(parameters).unwrap_or(ctru_kem::SHARED_SECRET_BYTES)];
                let text = armour(&label(kind, parameters), &bytes);
                let lines = text.iter().filter(|&&byte| byte == b'\n').count();
                for length in [text.len(), text.len() + lines] {
                    if parameters.set().scheme() == Scheme::CtruPrime {
                        assert_eq!(identify(length, None), None, "{kind} of {parameters}");
                    }
                    let of_set = identify(length, Some(parameters.set()));
                    assert_eq!(of_set, None, "{kind} of {parameters}");
                }
            }
        }
    }

    /// Checks that a PEM file without its complete last line is refused. If it has the length of a
    /// raw ciphertext, it is read as one.
    #[test]
    fn truncated_pem() {
        let parameters = Parameters::new(Set::CtruPrime653, Encoding::Packed13).unwrap();
        let text = armour(&label(Kind::Ciphertext, parameters), &[1; 898]);
        for length in 0..text.len() - 1 {
            let cut = Zeroizing::new(text[..length].to_vec());
            let result = parse_ciphertext(parameters, cut);
            assert_eq!(result.is_err(), length != parameters.sizes().ciphertext, "{length} bytes");
        }
    }
}
