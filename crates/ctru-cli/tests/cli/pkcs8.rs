//! Tests keys as PKCS#8 and SubjectPublicKeyInfo: `ctru keygen --format pkcs8`.

use std::process::Command;

use super::{SETS, Sandbox, assert_contains};

#[test]
fn keys_serve_like_native_ones() {
    for set in SETS {
        for raw in ["", "--raw"] {
            let sandbox = Sandbox::new();
            sandbox.succeed(&format!("keygen --set {set} --format pkcs8 --out k {raw}"));
            assert_eq!(sandbox.names(), ["k", "k.pub"]);
            let suite = format!("CTRU-Prime-{set} mixed-radix");
            assert_eq!(
                sandbox.succeed("check k k.pub"),
                format!("k: valid {suite} private key\nk.pub: valid {suite} public key\n")
            );
            sandbox.succeed("encaps --key k.pub --ciphertext c --secret s1");
            sandbox.succeed("decaps --key k --ciphertext c --secret s2");
            assert_eq!(sandbox.read("s1"), sandbox.read("s2"));
            let (private, public) = (sandbox.read("k"), sandbox.read("k.pub"));
            if raw.is_empty() {
                assert!(private.starts_with(b"-----BEGIN PRIVATE KEY-----\n"));
                assert!(public.starts_with(b"-----BEGIN PUBLIC KEY-----\n"));
            } else {
                assert_eq!((private.len(), private[0], public[0]), (55, 0x30, 0x30));
            }
            assert_contains(
                &sandbox.fail("encaps --key k --ciphertext d --secret t"),
                &[&format!("k: a {suite} private key, not a public key")],
            );
        }
    }
}

/// Runs `openssl asn1parse`. Without it, the test only says that it did nothing.
#[test]
fn openssl_reads_the_files() {
    let sandbox = Sandbox::new();
    for (number, set) in (1..).zip(SETS) {
        sandbox.succeed(&format!("keygen --set {set} --format pkcs8 --out k --force"));
        sandbox.succeed(&format!("keygen --set {set} --format pkcs8 --out der --raw --force"));
        for arguments in ["-in k", "-in k.pub", "-inform DER -in der", "-inform DER -in der.pub"] {
            let mut openssl = Command::new("openssl");
            openssl.current_dir(sandbox.0.path()).arg("asn1parse");
            let Ok(output) = openssl.args(arguments.split(' ')).output() else {
                eprintln!("openssl is missing, so it does not read the files");
                return;
            };
            assert!(output.status.success(), "{arguments}: {}", super::stderr(&output));
            let lines = super::stdout(&output);
            let oid = format!("1.3.6.1.4.1.32473.1.{number}");
            let string = if arguments.ends_with("pub") { "BIT STRING" } else { "OCTET STRING" };
            assert_contains(&lines, &["SEQUENCE", &oid, string]);
        }
    }
}

#[test]
fn other_encodings_and_other_files_are_errors() {
    let sandbox = Sandbox::new();
    assert_contains(
        &sandbox.fail("keygen --set 761 --encoding packed13 --format pkcs8 --out k"),
        &["mixed-radix", "--encoding"],
    );
    sandbox.succeed("keygen --set 761 --format pkcs8 --out k --raw");
    sandbox.succeed("keygen --set 761 --format pkcs8 --out pem");
    let der = sandbox.read("k");
    sandbox.write("cut", &der[..der.len() - 1]);
    sandbox.write("long", [&der[..], &[0]].concat());
    let text = String::from_utf8(sandbox.read("pem")).unwrap();
    sandbox.write("cut-pem", &text[..text.len() - 3]);
    sandbox.write("cut-base64", text.replacen("\n", "\n!", 1));
    // The last byte of the identifier becomes 9, which no set has.
    let mut other = der.clone();
    let end = other.windows(2).position(|bytes| bytes == [1, 2]).unwrap();
    other[end + 1] = 9;
    sandbox.write("other", other);
    for (name, message) in [
        ("cut", "54 bytes are no public key or private key"),
        ("long", "56 bytes are no public key or private key"),
        ("cut-pem", "is damaged"),
        ("cut-base64", "is damaged"),
        ("other", "no key of CTRU-Prime"),
        ("other", "1.3.6.1.4.1.32473.1.9"),
    ] {
        let error = sandbox.fail(&format!("check {name}"));
        assert_contains(&error, &[&format!("error: {name}: "), message]);
    }
}

/// Checks that a file from before seeds were bound to a set is refused, in both forms, with a word
/// that says why.
#[test]
fn unbound_seeds_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.succeed("keygen --set 761 --format pkcs8 --out k --raw");
    // Three lengths are before the seed: of the document, of the octet string and of the seed.
    let with_seed = |length: u8| {
        let mut der = sandbox.read("k");
        let seed = der.len() - 32;
        der[1] = der[1] - 32 + length;
        der[seed - 3] = length + 2;
        der[seed - 1] = length;
        der.resize(seed + usize::from(length), 7);
        der
    };
    sandbox.write("der", with_seed(64));
    let pem =
        pem_rfc7468::encode_string("PRIVATE KEY", pem_rfc7468::LineEnding::LF, &with_seed(64));
    sandbox.write("pem", pem.unwrap());
    sandbox.write("short", with_seed(31));
    for (name, message) in [
        ("der", "64 bytes are a private key from before 2026-11, which is not bound to a"),
        ("pem", "64 bytes are a private key from before 2026-11, which is not bound to a"),
        ("short", "expected 32 bytes, got 31"),
    ] {
        let error = sandbox.fail(&format!("check {name}"));
        assert_contains(&error, &[&format!("error: {name}: not a valid private key: {message}")]);
    }
}
