//! Names what a file holds if it is nothing of this program.

use const_oid::db::DB;
use ctru_kem::Set;
use ctru_kem::key_file::oid;
use ctru_kem::pkcs8::ObjectIdentifier;
use ctru_program::visible;

/// The largest number of letters of a label in a message.
const LONGEST_LABEL: usize = 64;

/// Returns the name of a block with a label of other programs.
pub(crate) fn block(label: &str) -> String {
    let other = |kind: &str| label.strip_suffix(kind).map(str::trim_end);
    match label {
        "CERTIFICATE" | "X509 CERTIFICATE" | "TRUSTED CERTIFICATE" => "a certificate".into(),
        "CERTIFICATE REQUEST" | "NEW CERTIFICATE REQUEST" => "a request for a certificate".into(),
        "X509 CRL" => "a list of revoked certificates".into(),
        "ENCRYPTED PRIVATE KEY" => "an encrypted private key".into(),
        "OPENSSH PRIVATE KEY" => "an OpenSSH key".into(),
        "AGE ENCRYPTED FILE" => "a file that age has encrypted".into(),
        _ if label.starts_with("PGP ") => "an OpenPGP key or message".into(),
        _ if label.starts_with("CTRU PRIME ") || label.starts_with("SNTRUP") => unknown(label),
        _ => match (other("PRIVATE KEY"), other("PUBLIC KEY")) {
            (Some(algorithm), _) => format!("a private key of {}", short(algorithm)),
            (_, Some(algorithm)) => format!("a public key of {}", short(algorithm)),
            _ => unknown(label),
        },
    }
}

fn unknown(label: &str) -> String {
    format!("a PEM block with the label {:?}", short(label))
}

fn short(label: &str) -> String {
    visible(label.chars().take(LONGEST_LABEL).collect::<String>())
}

/// Returns the name of an algorithm of keys.
pub(crate) fn algorithm(identifier: ObjectIdentifier) -> String {
    let is_hybrid = |set: &&Set| oid::x25519_ctru_prime(**set) == identifier;
    if let Some(set) = Set::CTRU_PRIME.iter().find(is_hybrid) {
        return format!("{set} with X25519 ({identifier})");
    }
    match DB.by_oid(&identifier) {
        Some(name) => format!("{name} ({identifier})"),
        None => format!("the algorithm {identifier}"),
    }
}

/// Returns the name of a text without blocks, if it is of a known form.
pub(crate) fn text(contents: &[u8]) -> Option<&'static str> {
    const UTF_16: &str = "text in UTF-16; save it as UTF-8";
    let begin = "-----BEGIN ";
    let contains = |text: &[u8]| contents.windows(text.len()).any(|window| window == text);
    let wide = |bytes: fn(u16) -> [u8; 2]| begin.encode_utf16().flat_map(bytes).collect::<Vec<_>>();
    if [b"\xff\xfe", b"\xfe\xff"].iter().any(|mark| contents.starts_with(&mark[..]))
        || contains(&wide(u16::to_le_bytes))
        || contains(&wide(u16::to_be_bytes))
    {
        return Some(UTF_16);
    }
    let text = contents.strip_prefix(b"\xef\xbb\xbf").unwrap_or(contents).trim_ascii_start();
    let forms: [(&[&str], &str); 6] = [
        (&["ssh-", "ecdsa-sha2-", "sk-ssh-", "sk-ecdsa-"], "an OpenSSH public key"),
        (&["---- BEGIN SSH2 "], "an SSH2 key"),
        (&["PuTTY-User-Key-File"], "a PuTTY key"),
        (&["age1"], "a recipient of age"),
        (&["AGE-", "# created: ", "# public key: age1"], "an identity of age"),
        (&["age-encryption.org/"], "a file that age has encrypted"),
    ];
    let starts = |starts: &&str| text.starts_with(starts.as_bytes());
    forms.into_iter().find(|(of, _)| of.iter().any(starts)).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn algorithms_have_names() {
        let ml_kem = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.4.2");
        assert_eq!(algorithm(ml_kem), "id-alg-ml-kem-768 (2.16.840.1.101.3.4.4.2)");
        let hybrid = oid::x25519_ctru_prime(Set::CtruPrime761);
        assert!(algorithm(hybrid).starts_with("CTRU-Prime-761 with X25519"));
    }
}
