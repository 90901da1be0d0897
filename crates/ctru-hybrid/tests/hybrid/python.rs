//! Compares the crate with `tests/hybrid.py`, an implementation in Python that shares no code with
//! it. Without `python3`, these tests only say that they did nothing.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, thread};

use ctru_hybrid::{Ciphertext, ParameterSet, X25519_BYTES};

use crate::{coins, degree, key};

every_set!(
    #[ignore = "takes long; CI runs it"]
    vectors_can_be_made_again,
    #[ignore = "takes long; CI runs it"]
    answers_to_altered_ciphertexts,
);

/// Runs the program with arguments and an input. Returns its output, or `None` without `python3`.
fn python(arguments: &[&str], input: String) -> Option<String> {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hybrid.py");
    let started = Command::new("python3")
        .arg(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut child) = started else {
        eprintln!("python3 is missing, so nothing is compared with the implementation in Python");
        return None;
    };
    let mut stdin = child.stdin.take().unwrap();
    let writer = thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    // The program does not read its input for some arguments.
    let _ = writer.join().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", output.status);
    Some(String::from_utf8(output.stdout).unwrap())
}

/// Checks lines from both ends and from the middle of the file of vectors.
fn vectors_can_be_made_again<P: ParameterSet>() {
    let n = degree::<P>().to_string();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let file: PathBuf = root.join(format!("tests/vectors/x25519-ctru-prime-{n}.jsonl"));
    let lines = fs::read_to_string(file).unwrap();
    let lines: Vec<_> = lines.split_inclusive('\n').collect();
    for first in [0, 49, 98] {
        if let Some(made) = python(&["vectors", &n, &first.to_string(), "2"], String::new()) {
            assert_eq!(made, lines[first..first + 2].concat());
        }
    }
}

/// Public keys of X25519 whose product with every private key is zero: 0, 1, a point of order 8,
/// p - 1, p and p + 1, where p = 2^255 - 19, and 0 with the bit set that X25519 ignores.
pub(crate) const POINTS_OF_LOW_ORDER: [&str; 7] = [
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "0000000000000000000000000000000000000000000000000000000000000080",
];

/// The public keys 9 and p + 9 of X25519, which are the same point.
const ONE_POINT: [&str; 2] = [
    "0900000000000000000000000000000000000000000000000000000000000000",
    "f6ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
];

/// Checks that both implementations give the same secret for ciphertexts with a flipped bit, with a
/// point of low order, and with a point that has two encodings.
fn answers_to_altered_ciphertexts<P: ParameterSet>() {
    let key = key::<P>(3);
    let (sent, secret) = key.encapsulation_key().encapsulate_deterministic(&coins(4));
    let last = P::CIPHERTEXT_BYTES - 1;
    let point = P::CIPHERTEXT_BYTES - X25519_BYTES;
    let flips = [(0, 1), (point / 2, 0x10), (point - 1, 0x80), (point, 1), (last, 0x80)];
    let flipped = flips.map(|(byte, flip)| {
        let mut bytes = sent.as_ref().to_vec();
        bytes[byte] ^= flip;
        bytes
    });
    let replaced = POINTS_OF_LOW_ORDER
        .iter()
        .chain(&ONE_POINT)
        .map(|point| const_hex::decode(point).unwrap())
        .map(|bytes| [&sent.as_ref()[..point], &bytes[..]].concat());
    let ciphertexts: Vec<_> = flipped.into_iter().chain(replaced).collect();

    let mut input = String::new();
    let mut answers = String::new();
    for bytes in &ciphertexts {
        let private = const_hex::encode(key.as_bytes());
        input += &format!("{private} {}\n", const_hex::encode(bytes));
        let answer = key.decapsulate(&Ciphertext::from_bytes(bytes).unwrap());
        assert_ne!(answer, secret);
        answers += &format!("{}\n", const_hex::encode(answer.as_bytes()));
    }
    assert_eq!(answers.lines().collect::<std::collections::HashSet<_>>().len(), ciphertexts.len());
    if let Some(theirs) = python(&["decapsulate", &degree::<P>().to_string()], input) {
        assert_eq!(theirs, answers);
    }
}
