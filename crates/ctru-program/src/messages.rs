//! Messages on standard error.

use std::ffi::OsStr;
use std::fmt::{Display, Write as _};
use std::io::{self, Write as _};

/// Writes `kind: message` to standard error, and ignores a failed write. Control characters become
/// escapes, except for the ends of lines.
pub fn tell(kind: &str, message: &dyn Display) {
    let text = printable(&format!("{kind}: {message}\n"));
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Returns a text from outside, such as the name of a file, for a line of a message. Control
/// characters, marks that reorder text and bytes that are not UTF-8 become escapes. A terminal
/// would obey the first two, and an end of line would begin another message.
#[must_use]
pub fn visible(text: impl AsRef<OsStr>) -> String {
    escaped(text.as_ref().as_encoded_bytes(), is_odd)
}

/// Returns a text of several lines whose control characters are escapes.
pub(crate) fn printable(text: &str) -> String {
    escaped(text.as_bytes(), |letter| !matches!(letter, '\n' | '\t') && is_odd(letter))
}

/// Returns whether a terminal obeys this letter instead of showing it.
pub(crate) fn is_odd(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}')
        || matches!(letter, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn escaped(bytes: &[u8], is_odd: impl Fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for letter in chunk.valid().chars() {
            if is_odd(letter) {
                shown.extend(letter.escape_default());
            } else {
                shown.push(letter);
            }
        }
        for byte in chunk.invalid() {
            write!(shown, "\\x{byte:02x}").expect("a string takes all text");
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_no_control_characters() {
        for (name, shown) in [
            ("k", "k"),
            ("schlüssel 鍵.pub", "schlüssel 鍵.pub"),
            ("a\nerror: b", "a\\nerror: b"),
            ("\u{1b}[2J\u{7f}\u{9b}\r\t", "\\u{1b}[2J\\u{7f}\\u{9b}\\r\\t"),
            ("a\u{202e}bup.k", "a\\u{202e}bup.k"),
        ] {
            assert_eq!(visible(name), shown);
        }
        #[cfg(unix)]
        {
            use std::os::unix::ffi::OsStrExt;
            assert_eq!(visible(OsStr::from_bytes(b"a\xffb\xc3")), "a\\xffb\\xc3");
        }
    }

    #[test]
    fn messages_keep_their_lines() {
        assert_eq!(printable("a\n\tb\u{1b}c\r\n"), "a\n\tb\\u{1b}c\\r\n");
    }
}
