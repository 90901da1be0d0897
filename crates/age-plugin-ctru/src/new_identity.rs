//! A new identity as text, and where it goes.

use std::fmt;
#[cfg(unix)]
use std::fs::File;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
#[cfg(unix)]
use std::os::fd::AsFd;
#[cfg(unix)]
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use bech32::{Bech32Writer, ToBase32, Variant};
use chrono::{Local, SecondsFormat};
use zeroize::Zeroizing;

use crate::keys::Identity;
use crate::plugin::NAME;

/// Returns the lines of an identity file: when the identity was made and its recipient, in
/// comments, and the identity.
pub(crate) fn text(identity: &Identity) -> Zeroizing<String> {
    let (private, public) = (identity.to_bytes(), identity.recipient().to_bytes());
    let created = Local::now().to_rfc3339_opts(SecondsFormat::Secs, true);
    // More than the text takes, which has 8 letters for 5 bytes. The text never grows, because its
    // old memory would keep a copy of the private key.
    let capacity = 256 + 2 * (private.len() + public.len());
    let mut text = Zeroizing::new(String::with_capacity(capacity));
    text.push_str(&format!("# created: {created}\n# recipient: "));
    encode(&mut text, &format!("age1{NAME}"), &public).expect("text can be appended");
    text.push('\n');
    let start = text.len();
    encode(&mut text, &format!("age-plugin-{NAME}-"), &private).expect("text can be appended");
    text[start..].make_ascii_uppercase();
    text.push('\n');
    debug_assert!(text.len() <= capacity);
    text
}

/// Appends bytes in Bech32, without a copy of them elsewhere.
fn encode(text: &mut String, prefix: &str, bytes: &[u8]) -> fmt::Result {
    let mut writer = Bech32Writer::new(prefix, Variant::Bech32, text)?;
    bytes.write_base32(&mut writer)?;
    writer.finalize()
}

/// Writes the text to standard output.
///
/// # Errors
/// If it cannot be written.
pub(crate) fn print(text: &str) -> io::Result<()> {
    // At once: the text ends with a line, so none of it stays in the buffer of standard output.
    let mut output = ctru_program::stdout()?.lock();
    output.write_all(text.as_bytes())?;
    output.flush()
}

/// Writes the text to a new file, which only its owner can read where files have such modes.
///
/// # Errors
/// If there is something with this name, or the file cannot be written. No new file is left then.
pub(crate) fn save(text: &str, path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    options.mode(0o600);
    let mut file = options.open(path)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    if written.is_err() {
        // A part of an identity is of no use. The first error is the one to be told.
        let _ = fs::remove_file(path);
    }
    written
}

/// Warns on standard error if standard output is a file that others than its owner may use. The
/// shell has made it, so the program cannot choose its mode.
pub(crate) fn warn_of_readers() {
    #[cfg(unix)]
    if let Ok(output) = io::stdout().as_fd().try_clone_to_owned()
        && let Ok(file) = File::from(output).metadata()
        && file.is_file()
        && file.mode() & 0o077 != 0
    {
        let mode = file.mode() & 0o7777;
        ctru_program::tell(
            "warning",
            &format_args!(
                "the mode {mode:04o} of standard output opens this identity to others; \
                 --output FILE makes a file that only you can read"
            ),
        );
    }
}

#[cfg(test)]
mod tests {
    use bech32::FromBase32;

    use ctru_hybrid::Set;

    use super::*;
    use crate::keys::Recipient;

    #[test]
    fn the_text_has_the_identity_and_its_recipient() {
        for &set in Set::ALL {
            let identity = Identity::generate(set).unwrap();
            let text = text(&identity);
            let [created, recipient, secret] = text.lines().collect::<Vec<_>>()[..] else {
                panic!("three lines: {}", *text)
            };
            assert!(created.starts_with("# created: 2") && text.ends_with('\n'));
            let decode = |text: &str, prefix: &str| {
                let (found, data, variant) = bech32::decode(text).unwrap();
                assert_eq!((&found[..], variant), (prefix, Variant::Bech32));
                Vec::from_base32(&data).unwrap()
            };
            let recipient = decode(recipient.strip_prefix("# recipient: ").unwrap(), "age1ctru");
            assert_eq!(Recipient::from_bytes(&recipient), Ok(identity.recipient()));
            assert_eq!(secret, secret.to_uppercase());
            let secret = decode(&secret.to_lowercase(), "age-plugin-ctru-");
            assert_eq!(secret, *identity.to_bytes());
        }
    }
}
