//! Tests how the program reads PEM and lines that others have changed in harmless ways, and what it
//! says of files of other programs.

use super::{Sandbox, assert_contains, stderr};

const MARK: &str = "\u{feff}";

/// Returns forms of a PEM text that RFC 7468 lets readers accept.
fn forms(text: &str) -> Vec<(&'static str, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let [begin, body @ .., end] = &lines[..] else { panic!("{text}") };
    let joined = body.concat();
    let wrap = |width: usize| {
        let letters: Vec<char> = joined.chars().collect();
        let lines = letters.chunks(width).map(|line| line.iter().collect::<String>());
        format!("{begin}\n{}\n{end}\n", lines.collect::<Vec<_>>().join("\n"))
    };
    let with = |each: fn(&&str) -> String| {
        format!("{begin}\n{}\n{end}\n", body.iter().map(each).collect::<Vec<_>>().join("\n"))
    };
    vec![
        ("as it is", text.to_owned()),
        ("spaces at the ends", text.replace('\n', "  \n")),
        ("tabs at the ends", text.replace('\n', "\t\n")),
        ("an indented body", with(|line| format!(" \t{line}"))),
        ("everything indented", lines.iter().map(|line| format!("  {line}\n")).collect()),
        ("blank after BEGIN", text.replacen('\n', "\n\n \n", 1)),
        ("blank before END", text.replace(end, &format!("\n \n{end}"))),
        ("blank lines between", text.replace('\n', "\n\n")),
        ("blank at the end", format!("{text}\n\n")),
        ("no end of the last line", text.trim_end().to_owned()),
        ("CRLF", text.replace('\n', "\r\n")),
        ("CR", text.replace('\n', "\r")),
        ("ends of all kinds", text.replacen('\n', "\r\n", 3).replacen('\n', "\r", 2)),
        ("vertical tabs and form feeds", text.replace('\n', "\x0b\n\x0c")),
        ("76 letters", wrap(76)),
        ("20 letters", wrap(20)),
        ("1 letter", wrap(1)),
        ("one line", wrap(joined.len())),
        ("all on one line", format!("{begin}{joined}{end}")),
        ("text around", format!("Subject: a key\n\n{text}\nand more: text\n")),
        ("text that mentions the form", format!("it begins with {begin} and ends\n{text}{end}")),
        ("a mark", format!("{MARK}{text}")),
        ("a mark after a text", format!("text\n{MARK}{text}")),
    ]
}

/// Checks each kind of file, in this program's form and in PKCS#8.
#[test]
fn white_space_and_text_around_do_not_matter() {
    let sandbox = Sandbox::new();
    for format in ["native", "pkcs8"] {
        sandbox.succeed(&format!("keygen --set 653 --format {format} --out k --force"));
        sandbox.succeed("encaps --key k.pub --ciphertext c --secret s --force");
        for name in ["k", "k.pub", "c"] {
            let text = String::from_utf8(sandbox.read(name)).unwrap();
            for (form, text) in forms(&text) {
                sandbox.write("form", &text);
                let command = match name {
                    "c" => "decaps --key k --ciphertext form --secret t --force",
                    _ => "check form",
                };
                let output = sandbox.run(command);
                assert!(output.status.success(), "{name}, {form}: {}", stderr(&output));
                if name == "c" {
                    assert_eq!(sandbox.read("s"), sandbox.read("t"), "{form}");
                }
            }
        }
    }
}

/// Checks that a command takes the first block that fits.
#[test]
fn the_first_block_that_fits_is_taken() {
    let sandbox = Sandbox::new();
    sandbox.succeed("keygen --set 653 --out k");
    sandbox.succeed("keygen --set 761 --out k2");
    sandbox.succeed("encaps --key k.pub --ciphertext c --secret s");
    sandbox.succeed("encaps --key k2.pub --ciphertext c2 --secret s2");
    let certificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let rsa = "-----BEGIN PUBLIC KEY-----\nMB0wDQYJKoZIhvcNAQEBBQADDAAwCQICAMECAwEAAQ==\n\
               -----END PUBLIC KEY-----\n";
    let all = [certificate, rsa]
        .map(|text| text.as_bytes().to_vec())
        .into_iter()
        .chain(["c2", "k", "k.pub", "c", "k2"].map(|name| sandbox.read(name)))
        .collect::<Vec<_>>()
        .concat();
    sandbox.write("all", &all);
    sandbox.write("joined", String::from_utf8(all).unwrap().replace("-----\n-", "------"));
    for name in ["all", "joined"] {
        let check = sandbox.succeed(&format!("check {name}"));
        assert_contains(&check, &["CTRU-Prime-653 mixed-radix private key"]);
        sandbox.succeed(&format!("encaps --key {name} --ciphertext d --secret t --force"));
        sandbox.succeed("decaps --key k --ciphertext d --secret u --force");
        assert_eq!(sandbox.read("t"), sandbox.read("u"));
        sandbox.succeed(&format!("decaps --key {name} --ciphertext {name} --secret u --force"));
        assert_eq!(sandbox.read("u"), sandbox.read("s"));
    }
}

#[test]
fn what_does_not_fit_is_named() {
    let sandbox = Sandbox::new();
    sandbox.succeed("keygen --set 653 --out k");
    sandbox.succeed("keygen --set 653 --format pkcs8 --out k8");
    sandbox.succeed("keygen --set 761 --out k2");
    sandbox.succeed("encaps --key k2.pub --ciphertext c2 --secret s");
    let block = |label: &str| format!("-----BEGIN {label}-----\nAAAA\n-----END {label}-----\n");
    let text = String::from_utf8(sandbox.read("k.pub")).unwrap();
    let wide = |bytes: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(bytes).collect::<Vec<_>>();
    sandbox.write("utf16", [&b"\xff\xfe"[..], &wide(u16::to_le_bytes)].concat());
    sandbox.write("utf16-without-mark", wide(u16::to_le_bytes));
    sandbox.write("utf16-big-endian", [b"x\n", &wide(u16::to_be_bytes)[..]].concat());
    sandbox.write("certificate", block("CERTIFICATE"));
    sandbox.write("encrypted", block("ENCRYPTED PRIVATE KEY"));
    sandbox.write("openssh", block("OPENSSH PRIVATE KEY"));
    sandbox.write("rsa", block("RSA PRIVATE KEY"));
    sandbox.write("pgp", block("PGP PUBLIC KEY BLOCK"));
    sandbox.write("ssh.pub", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA me@here\n");
    sandbox.write("two", [block("CERTIFICATE"), block("EC PRIVATE KEY")].concat());
    sandbox.write("strange", block("CTRU PRIME 762 MIXED RADIX PUBLIC KEY"));
    let ed25519 = "-----BEGIN PUBLIC KEY-----\n\
                   MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n\
                   -----END PUBLIC KEY-----\n";
    sandbox.write("ed25519", ed25519);
    for (name, message) in [
        ("utf16", "UTF-16"),
        ("utf16-without-mark", "UTF-16"),
        ("utf16-big-endian", "UTF-16"),
        ("certificate", "a certificate, not a public key"),
        ("encrypted", "an encrypted private key, not a public key"),
        ("openssh", "an OpenSSH key, not a public key"),
        ("rsa", "a private key of RSA, not a public key"),
        ("pgp", "an OpenPGP key or message, not a public key"),
        ("ssh.pub", "an OpenSSH public key, not a public key"),
        ("two", "a certificate, a private key of EC, not a public key"),
        ("strange", "\"CTRU PRIME 762 MIXED RADIX PUBLIC KEY\""),
        ("ed25519", "a public key of id-Ed25519 (1.3.101.112), so no key of CTRU-Prime"),
        ("k", "a CTRU-Prime-653 mixed-radix private key, not a public key"),
        ("k8", "a CTRU-Prime-653 mixed-radix private key, not a public key"),
    ] {
        let error = sandbox.fail(&format!("encaps --key {name} --ciphertext d --secret t"));
        assert_contains(&error, &[&format!("error: {name}: "), message]);
    }
    let error = sandbox.fail("decaps --key k --ciphertext c2 --secret t");
    assert_contains(&error, &["a CTRU-Prime-761 mixed-radix ciphertext, but the key is of"]);
}

/// Checks that what changes the bytes of a key is refused.
#[test]
fn damaged_blocks_are_refused() {
    let sandbox = Sandbox::new();
    for format in ["native", "pkcs8"] {
        sandbox.succeed(&format!("keygen --set 653 --format {format} --out k --force"));
        let text = String::from_utf8(sandbox.read("k.pub")).unwrap();
        let (begin, rest) = text.split_once('\n').unwrap();
        let end = text.lines().last().unwrap();
        for (damage, text) in [
            ("no END", text.replace(end, "")),
            ("another END", text.replace(end, "-----END PUBLIC KEYS-----")),
            ("a short END", text.trim_end().trim_end_matches('-').to_owned()),
            ("a letter less", format!("{begin}\n{}", &rest[1..])),
            ("a letter of other alphabets", format!("{begin}\n_{}", &rest[1..])),
            ("no-break space", format!("{begin}\n\u{a0}{rest}")),
            ("a header", format!("{begin}\nProc-Type: 4,ENCRYPTED\n\n{rest}")),
            ("padding in the middle", format!("{begin}\nAA==\n{rest}")),
            ("an empty body", format!("{begin}\n{end}\n")),
            ("BEGIN twice", format!("{begin}\n{text}")),
        ] {
            sandbox.write("damaged", &text);
            let output = sandbox.run("check damaged");
            assert_eq!(output.status.code(), Some(1), "{damage}: {}", stderr(&output));
            assert_contains(&stderr(&output), &["error: damaged: "]);
        }
    }
}

/// Checks that files of lines may begin with a mark, and have lines that end in any way.
#[test]
fn lines_may_end_in_any_way() {
    let sandbox = Sandbox::new();
    let records = std::fs::read_to_string(super::first_vectors()).unwrap();
    let records: String = records.lines().take(2).map(|line| format!("{line}\n")).collect();
    let bench = "bench --json --engine cpu --set 653 --op encaps --batch 2 --seconds 0.001";
    let measured = sandbox.succeed(bench);
    for (form, change) in [
        ("mark", (|text| format!("{MARK}{text}")) as fn(&str) -> String),
        ("mark and CRLF", |text| format!("{MARK}\r\n{}", text.replace('\n', "\r\n"))),
        ("CR", |text| text.replace('\n', "\r")),
        ("blank lines", |text| format!("\n \n{}\n\n", text.replace('\n', "\n\t\n"))),
    ] {
        sandbox.write("records", change(&records));
        let report = sandbox.succeed("kat check --engine cpu records");
        assert_contains(&report, &["records: 2 records, 0 wrong\n"]);
        sandbox.write("measured", change(&measured));
        let output = sandbox.run("report --out figures measured --force");
        assert!(output.status.success(), "{form}: {}", stderr(&output));
    }
    // CRLF ends one line.
    sandbox.write("records", records.replace('\n', "\r\n") + "\r\nno record\r\n");
    assert_contains(&sandbox.find_wrong("records"), &["records:4: not a known-answer"]);

    let wide: Vec<u8> = records.encode_utf16().flat_map(u16::to_le_bytes).collect();
    sandbox.write("wide", [&b"\xff\xfe"[..], &wide].concat());
    assert_contains(&sandbox.fail("report --out f wide"), &["wide: text in UTF-16"]);
    assert_contains(&sandbox.find_wrong("wide"), &["wide: text in UTF-16"]);
}
