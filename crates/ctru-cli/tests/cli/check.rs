//! Tests `ctru check`.

use std::fs;

use super::{Sandbox, assert_contains, stderr, stdout};

/// Checks that the program checks every file, even after a wrong one.
#[test]
fn wrong_keys_are_told_from_right_ones() {
    let sandbox = Sandbox::new();
    for name in ["k", "other"] {
        sandbox.succeed(&format!("keygen --set 653 --out {name} --raw"));
    }
    sandbox.succeed("encaps --key k.pub --ciphertext c --secret s --raw");
    let (mut key, public, other) =
        (sandbox.read("k"), sandbox.read("k.pub"), sandbox.read("other.pub"));
    let at = key.windows(public.len()).position(|window| window == public).unwrap();
    key[at..at + other.len()].copy_from_slice(&other);
    sandbox.write("foreign", &key);
    sandbox.write("ones.pub", [255; 994]);
    sandbox.write("short", &key[1..]);

    let files = "missing foreign k ones.pub c short s k.pub";
    let output = sandbox.run(&format!("check {files}"));
    assert_eq!(output.status.code(), Some(1));
    let valid = "k: valid CTRU-Prime-653 mixed-radix private key\n\
                 k.pub: valid CTRU-Prime-653 mixed-radix public key\n";
    assert_eq!(stdout(&output), valid);
    let errors = stderr(&output);
    let errors: Vec<_> = errors.lines().filter(|line| line.starts_with("error: ")).collect();
    let expected = [
        "missing: cannot be read",
        "foreign: not a valid private key: the secret polynomial and h do not belong together",
        "ones.pub: not a valid public key",
        "c: a CTRU-Prime-653 ciphertext, not a public key or private key",
        "short: 1352 bytes are no public key or private key; expected 994 for a CTRU-Prime-653",
        "s: 32 bytes are no public key or private key",
    ];
    assert_eq!(errors.len(), expected.len(), "{errors:?}");
    for (error, expected) in errors.iter().zip(expected) {
        assert_contains(error, &[&format!("error: {expected}")]);
    }
}

/// Checks that a private key and a public key of other pairs are told from those of one pair, in
/// any order of the files. Keys whose names do not belong together are not compared.
#[test]
fn keys_of_different_pairs_are_found() {
    let sandbox = Sandbox::new();
    sandbox.succeed("keygen --set 653 --out k");
    sandbox.succeed("keygen --set 653 --format pkcs8 --out other");
    sandbox.succeed("keygen --set 653 --encoding packed13 --out packed");
    assert_eq!(
        sandbox.succeed("check k k.pub other other.pub packed.pub packed").lines().count(),
        6
    );
    for public in ["other.pub", "packed.pub"] {
        assert_eq!(sandbox.succeed(&format!("check k {public}")).lines().count(), 2);
        fs::copy(sandbox.path(public), sandbox.path("k.pub")).unwrap();
        for files in ["k k.pub", "k.pub other other.pub k", "./k k.pub"] {
            let output = sandbox.run(&format!("check {files}"));
            assert_eq!(output.status.code(), Some(1), "{files}");
            let private = if files.starts_with('.') { "./k" } else { "k" };
            let error = format!("error: k.pub: not the public key of {private}\n");
            assert_eq!(stderr(&output), error);
            assert_eq!(stdout(&output).lines().count(), files.split(' ').count());
        }
    }
}

#[test]
fn a_key_can_come_from_standard_input() {
    let sandbox = Sandbox::new();
    sandbox.succeed("keygen --set 761 --out k");
    let output = sandbox.run_on("k.pub", "check -");
    assert!(output.status.success() && output.stderr.is_empty());
    assert_eq!(output.stdout, b"-: valid CTRU-Prime-761 mixed-radix public key\n");
}
