//! Checks that the program wipes secrets in its memory.

use std::fs;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::FileExt;
use std::process::Child;
use std::thread;
use std::time::Duration;

use super::Sandbox;
use super::files::full_pipe;

/// Waits until a program sleeps because the pipe that it writes to is full.
fn wait_until_blocked(child: &Child) {
    let mut asleep = 0;
    while asleep < 20 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
        let state = stat.rsplit(") ").next().unwrap();
        asleep = if state.starts_with('S') { asleep + 1 } else { 0 };
        thread::sleep(Duration::from_millis(10));
    }
}

/// Returns the heap of a program that waits, if this user may read it: the program lets root only.
fn heap(child: &Child) -> Option<Vec<u8>> {
    wait_until_blocked(child);
    let process = format!("/proc/{}", child.id());
    let maps = match fs::read_to_string(format!("{process}/maps")) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            eprintln!("only root can read the memory of the program");
            return None;
        }
        maps => maps.unwrap(),
    };
    let line = maps.lines().find(|line| line.ends_with("[heap]")).unwrap();
    let (start, end) = line.split(' ').next().unwrap().split_once('-').unwrap();
    let [start, end] = [start, end].map(|hex| u64::from_str_radix(hex, 16).unwrap());
    let mut heap = vec![0; (end - start) as usize];
    fs::File::open(format!("{process}/mem")).unwrap().read_exact_at(&mut heap, start).unwrap();
    Some(heap)
}

fn occurrences(heap: &[u8], bytes: &[u8]) -> usize {
    heap.windows(bytes.len()).filter(|window| *window == bytes).count()
}

/// Checks the heap while the program waits to write its error message, after its work with the key.
#[test]
fn damaged_private_keys_are_wiped() {
    let sandbox = Sandbox::with_keys("");
    let text = sandbox.read("k");
    let (label, key) = pem_rfc7468::decode_vec(&text).unwrap();
    // The file is much longer than a key, so the error message does not reuse the memory that held
    // the end of the file.
    let long = key.repeat(10);
    let text = pem_rfc7468::encode_string(label, pem_rfc7468::LineEnding::LF, &long).unwrap();
    // The third Base64 line from the end gets a character that Base64 does not have.
    let at = text.rfind("\n-----END").unwrap() - 150;
    let damaged = format!("{}!{}", &text[..at], &text[at + 1..]);
    let name = "a-name-that-the-message-has";
    sandbox.write(name, &damaged);

    let (_reader, writer) = full_pipe();
    let mut decaps = sandbox
        .command(&format!("decaps --key {name} --ciphertext c --secret t"))
        .stderr(writer)
        // The allocator of glibc then keeps free memory. If it returned the memory to the system,
        // the system would wipe it, and the test would find nothing.
        .env("MALLOC_TRIM_THRESHOLD_", "1000000000")
        .spawn()
        .unwrap();
    let heap = heap(&decaps);
    decaps.kill().unwrap();
    decaps.wait().unwrap();
    let Some(heap) = heap else { return };
    // The error owns the name of the file while the program writes the message. So the name shows
    // that this is the heap of that moment.
    assert_ne!(occurrences(&heap, name.as_bytes()), 0, "not the heap of the program");
    let decoded = &key[key.len() - 500..key.len() - 450];
    assert_eq!(occurrences(&heap, decoded), 0, "bytes of the key are in memory");
    let line = damaged.lines().nth_back(8).unwrap();
    assert_eq!(occurrences(&heap, line.as_bytes()), 0, "the text of the key is in memory");
}

/// Checks that standard output has no buffer that keeps a secret.
#[test]
fn secrets_are_not_copied_to_a_buffer() {
    let sandbox = Sandbox::new();
    sandbox.succeed("keygen --set 653 --out k");
    let (mut reader, writer) = full_pipe();
    let mut encaps = sandbox
        .command("encaps --key k.pub --ciphertext c --secret - --raw")
        .stdout(writer)
        .spawn()
        .unwrap();
    let heap = heap(&encaps);
    let mut output = Vec::new();
    reader.read_to_end(&mut output).unwrap();
    assert!(encaps.wait().unwrap().success());
    let Some(heap) = heap else { return };
    let secret = &output[output.len() - 32..];
    assert_eq!(occurrences(&heap, secret), 1, "only what is being written is in memory");
}
