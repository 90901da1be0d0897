//! Reads keys in PEM, as section 2 of RFC 7468 asks of readers.
//!
//! Lines may have any length and end with CR, LF or both. White space may stand before and after
//! each line and between them. Other text may stand around the blocks, and a byte order mark before
//! it. Everything else that is not Base64 is refused, although the RFC lets readers pass over it:
//! whoever damages a key should learn of it.
//!
//! The labels and the places of white space are public. Base64 is decoded in constant time.

use alloc::vec;
use alloc::vec::Vec;

use base64ct::{Base64, Encoding};
use pkcs8::{DecodePrivateKey, DecodePublicKey, der, spki};
use zeroize::Zeroizing;

pub use pkcs8::der::pem::Error;

/// The byte order mark, with which some editors begin a text in UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";
const HYPHENS: &[u8] = b"-----";
const BEGIN: &[u8] = b"-----BEGIN ";
const END: &[u8] = b"-----END ";

/// A block of a text: what is between the line with BEGIN and the line with END.
#[derive(Copy, Clone)]
pub struct Block<'a> {
    label: &'a str,
    body: &'a [u8],
    /// Whether the line with END follows, and has the same label.
    is_complete: bool,
}

/// Returns the blocks of a text. Each begins on a line of its own.
pub fn blocks(text: &[u8]) -> impl Iterator<Item = Block<'_>> {
    // What comes before `line` belongs to lines that have been read. No block begins before `next`.
    let mut line = if text.starts_with(MARK) { MARK.len() } else { 0 };
    let mut next = line;
    core::iter::from_fn(move || {
        loop {
            let begin = next + find(&text[next..], BEGIN)?;
            next = begin + BEGIN.len();
            let before = text[line..begin].rsplit(|&byte| is_line_end(byte)).next();
            let before = before.unwrap_or_default();
            if !before.strip_prefix(MARK).unwrap_or(before).iter().all(is_white_space) {
                // Nor does a later block begin on this line, which may be long.
                next += text[next..].iter().position(|&byte| is_line_end(byte))?;
                continue;
            }
            let after = &text[next..];
            let Some(label) = find(after, HYPHENS).and_then(|end| label(&after[..end])) else {
                continue;
            };
            let body = &after[label.len() + HYPHENS.len()..];
            let body = &body[..find(body, HYPHENS).unwrap_or(body.len())];
            next += label.len() + HYPHENS.len() + body.len();
            let end = text[next..].strip_prefix(END);
            let end = end.and_then(|end| end.strip_prefix(label.as_bytes()));
            let is_complete = end.is_some_and(|end| end.starts_with(HYPHENS));
            if is_complete {
                next += END.len() + label.len() + HYPHENS.len();
            }
            line = next;
            return Some(Block { label, body, is_complete });
        }
    })
}

impl<'a> Block<'a> {
    /// Returns the label of the line with BEGIN.
    #[must_use]
    pub fn label(&self) -> &'a str {
        self.label
    }

    /// Decodes the block.
    ///
    /// # Errors
    /// - [`Error::PostEncapsulationBoundary`] if no line with END and the same label follows.
    /// - [`Error::HeaderDisallowed`] if the block has headers, as encrypted keys of old forms have.
    /// - [`Error::Base64`] if the rest of the block is not Base64 with its padding.
    pub fn decode(&self) -> Result<Zeroizing<Vec<u8>>, Error> {
        if self.body.contains(&b':') {
            return Err(Error::HeaderDisallowed);
        }
        if !self.is_complete {
            return Err(Error::PostEncapsulationBoundary);
        }
        // The vectors never grow, because their old memory would keep parts of a key.
        let mut text = Zeroizing::new(Vec::with_capacity(self.body.len()));
        text.extend(self.body.iter().filter(|byte| !is_white_space(byte)));
        let mut bytes = Zeroizing::new(vec![0; text.len()]);
        let length = Base64::decode(&*text, &mut bytes)?.len();
        bytes.truncate(length);
        Ok(bytes)
    }
}

impl core::fmt::Debug for Block<'_> {
    /// Shows the label alone.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Block").field("label", &self.label).finish_non_exhaustive()
    }
}

/// Reads the first private key of the type `K` in a text.
///
/// # Errors
/// [`pkcs8::Error`] of the first block with a private key. If there is none,
/// [`Error::UnexpectedTypeLabel`] inside [`pkcs8::Error::Asn1`].
pub fn private_key<K: DecodePrivateKey>(text: &str) -> pkcs8::Result<K> {
    let is_other =
        |error: &_| matches!(error, pkcs8::Error::PublicKey(spki::Error::OidUnknown { .. }));
    first(text, "PRIVATE KEY", K::from_pkcs8_der, is_other)
}

/// Reads the first public key of the type `K` in a text.
///
/// # Errors
/// [`spki::Error`] of the first block with a public key. If there is none,
/// [`Error::UnexpectedTypeLabel`] inside [`spki::Error::Asn1`].
pub fn public_key<K: DecodePublicKey>(text: &str) -> spki::Result<K> {
    let is_other = |error: &_| matches!(error, spki::Error::OidUnknown { .. });
    first(text, "PUBLIC KEY", K::from_public_key_der, is_other)
}

/// Reads the first block with this label that is not the key of another algorithm.
fn first<K, E: From<der::Error>>(
    text: &str,
    label: &'static str,
    parse: impl Fn(&[u8]) -> Result<K, E>,
    is_other: impl Fn(&E) -> bool,
) -> Result<K, E> {
    let mut other = None;
    for block in blocks(text.as_bytes()).filter(|block| block.label == label) {
        match parse(&block.decode().map_err(der::Error::from)?) {
            Err(error) if is_other(&error) => other = other.or(Some(error)),
            read => return read,
        }
    }
    let none = Error::UnexpectedTypeLabel { expected: label };
    Err(other.unwrap_or_else(|| der::Error::from(none).into()))
}

/// Returns the place of the first occurrence.
fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|window| window == wanted)
}

/// Returns a label if its letters are those of labels.
fn label(bytes: &[u8]) -> Option<&str> {
    let text = core::str::from_utf8(bytes).ok()?;
    bytes.iter().all(|byte| matches!(byte, b' '..=b'~')).then_some(text)
}

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\r' | b'\n')
}

fn is_white_space(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\x0b' | b'\x0c' | b'\r')
}
