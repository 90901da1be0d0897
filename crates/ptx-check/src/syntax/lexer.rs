//! Cuts a text into tokens.

use super::{Error, Position, Problem};

/// A token and its place.
#[derive(Copy, Clone, Debug)]
pub(super) struct Token<'a> {
    pub(super) kind: TokenKind,
    pub(super) text: &'a str,
    /// Its first byte.
    pub(super) start: usize,
    pub(super) at: Position,
}

impl Token<'_> {
    /// Returns that something is wrong with its text.
    pub(super) fn fault(self, problem: fn(String) -> Problem) -> Error {
        Error { at: self.at, problem: problem(self.text.to_owned()) }
    }
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A name with the parts after its dots: `ld.global.b32`, `%tid.x` or `$L_1`.
    Word,
    /// A dot and a name: `.loc`.
    Directive,
    Number,
    Text,
    /// Any other character that the language has.
    Mark,
    End,
}

const fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%')
}

/// Cuts `text` into tokens, of which the last one is [`TokenKind::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, Error> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let (mut index, mut line, mut line_start) = (0, 1, 0);
    let byte = |index: usize| bytes.get(index).copied().unwrap_or(0);
    while index < bytes.len() {
        let start = index;
        let at = Position { line, column: start - line_start + 1 };
        let kind = match (bytes[index], byte(index + 1)) {
            (b'\n', _) => {
                index += 1;
                (line, line_start) = (line + 1, index);
                continue;
            }
            (b' ' | b'\t' | b'\r', _) => {
                index += 1;
                continue;
            }
            (b'/', b'/') => {
                index = bytes[index..]
                    .iter()
                    .position(|&b| b == b'\n')
                    .map_or(bytes.len(), |to| index + to);
                continue;
            }
            (b'/', b'*') => {
                let end = text[index + 2..]
                    .find("*/")
                    .ok_or(Error { at, problem: Problem::Unfinished("a comment") })?;
                let after = index + 2 + end + 2;
                for (i, _) in text[index..after].match_indices('\n') {
                    (line, line_start) = (line + 1, index + i + 1);
                }
                index = after;
                continue;
            }
            (b'"', _) => {
                let end =
                    text[index + 1..].find(['"', '\n']).filter(|end| byte(index + 1 + end) == b'"');
                index += end.ok_or(Error { at, problem: Problem::Unfinished("a string") })? + 2;
                TokenKind::Text
            }
            (b'0'..=b'9', _) => {
                while byte(index).is_ascii_alphanumeric()
                    || byte(index) == b'.'
                    || matches!(byte(index), b'+' | b'-') && is_exponent(&text[start..index])
                {
                    index += 1;
                }
                TokenKind::Number
            }
            (b'.', next) if is_of_word(next) => {
                index += 1;
                while is_of_word(byte(index)) {
                    index += 1;
                }
                TokenKind::Directive
            }
            (first, _) if is_of_word(first) => {
                loop {
                    index += match (byte(index), byte(index + 1), byte(index + 2)) {
                        (b'.', next, _) if is_of_word(next) => 1,
                        (b':', b':', next) if is_of_word(next) => 2,
                        (next, ..) if is_of_word(next) => 1,
                        _ => break,
                    };
                }
                TokenKind::Word
            }
            (
                b'{' | b'}' | b'(' | b')' | b'[' | b']' | b'<' | b'>' | b',' | b';' | b':' | b'@'
                | b'!' | b'|' | b'+' | b'-' | b'=',
                _,
            ) => {
                index += 1;
                TokenKind::Mark
            }
            _ => {
                let character = text[index..].chars().next().unwrap_or_default();
                return Err(Error { at, problem: Problem::Character(character) });
            }
        };
        tokens.push(Token { kind, text: &text[start..index], start, at });
    }
    let at = Position { line, column: bytes.len() - line_start + 1 };
    tokens.push(Token { kind: TokenKind::End, text: "", start: bytes.len(), at });
    Ok(tokens)
}

/// Returns whether a number so far ends with the sign of its decimal exponent.
fn is_exponent(number: &str) -> bool {
    let has_bits = ["0x", "0X", "0f", "0d"].iter().any(|prefix| number.starts_with(prefix));
    number.ends_with(['e', 'E']) && !has_bits
}
