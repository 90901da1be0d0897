//! Private keys, secrets and sealing keys do not stay in the memory of a server.
//!
//! The server runs in a process of its own, whose memory is searched. Its engine keeps keys and
//! secrets of batches until it is wiped, as engines for devices do; that wiping such an engine
//! leaves nothing is a test of ctru-kem.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bytes::Bytes;
use ctru_kem::{CtruPrime653, DecapsulationKey, MixedRadix};
use ctru_server::proto::kem_client::KemClient;
use ctru_server::proto::{DecapsulateRequest, Scheme, SealKeysRequest, decapsulate_request};
use ctru_server::{Address, ClientTls, SealingKeys, Server, ServerOptions};
use tonic::Code;

use crate::authority::{Authority, dns, write_private};
use crate::common::{Slots, TestEngine, decapsulate, encapsulate, engines, pair, start_fast};

/// Where the process finds the folder of its sealing keys and of its files of TLS.
const VARIABLE: &str = "CTRU_SERVER_TEST_KEYS";
/// More sealing keys than a list has room for at first.
const SEALING_KEYS: usize = 9;
/// Bytes of a string that does not occur by chance.
const WORD: usize = 8;

/// The server in a process of its own: it ends with its standard input.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
#[ignore = "`nothing_stays` starts it in another process"]
async fn served_elsewhere() {
    let Some(folder) = std::env::var_os(VARIABLE).map(PathBuf::from) else { return };
    let tls = ClientTls { ca: folder.join("tls.pem"), identity: None, name: None };
    let _client = tls.endpoint("https://localhost").unwrap();
    let mut engine = TestEngine::new(Duration::ZERO);
    engine.slots = Some(Slots::default());
    let options = ServerOptions {
        listen: vec![Address::Tcp(([127, 0, 0, 1], 0).into())],
        sealing_keys: Some(folder.join("keys")),
        ..ServerOptions::default()
    };
    let server = Server::start(options, engines(engine)).await.unwrap();
    println!("\nat {}", server.addresses()[0]);
    let end = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
    let _ = end.await;
}

/// A server in another process.
struct Elsewhere {
    process: Child,
    address: String,
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Elsewhere {
    /// Starts a server that reads these sealing keys from a pipe, and this file of TLS.
    fn start(sealing_keys: &str, tls: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("keys");
        write_private(&folder.path().join("tls.pem"), tls.as_bytes());
        let mode = nix::sys::stat::Mode::S_IRUSR | nix::sys::stat::Mode::S_IWUSR;
        nix::unistd::mkfifo(&pipe, mode).unwrap();
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["wiping::served_elsewhere", "--exact", "--ignored", "--nocapture"])
            .env(VARIABLE, folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        File::options()
            .write(true)
            .open(&pipe)
            .unwrap()
            .write_all(sealing_keys.as_bytes())
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let address = lines
            .map(Result::unwrap)
            .find_map(|line| line.strip_prefix("at ").map(|address| format!("http://{address}")));
        Self { process, address: address.unwrap() }
    }

    /// Counts the places in the memory of the process where any of the words begins.
    fn find(&self, words: &[u64]) -> usize {
        let process = self.process.id();
        let memory = File::open(format!("/proc/{process}/mem")).unwrap();
        let maps = std::fs::read_to_string(format!("/proc/{process}/maps")).unwrap();
        let mut found = 0;
        let mut page = [0; 4096];
        for line in maps.lines() {
            let mut fields = line.split_whitespace();
            let (range, rights) = (fields.next().unwrap(), fields.next().unwrap());
            if !rights.starts_with("rw") {
                continue;
            }
            let (begin, end) = range.split_once('-').unwrap();
            let [begin, end] = [begin, end].map(|end| u64::from_str_radix(end, 16).unwrap());
            let mut word = 0_u64;
            for place in (begin..end).step_by(page.len()) {
                // Pages may have gone since the list was made.
                if memory.read_exact_at(&mut page, place).is_err() || page == [0; 4096] {
                    word = 0;
                    continue;
                }
                for byte in page {
                    word = word >> 8 | u64::from(byte) << 56;
                    found += usize::from(words.contains(&word));
                }
            }
        }
        found
    }
}

/// Returns words that occur in a secret and nowhere else.
fn words(secret: &[u8]) -> Vec<u64> {
    let words = secret.chunks_exact(WORD).take(4);
    words.map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_stays() {
    let lines: Vec<_> = (0..SEALING_KEYS).map(|_| SealingKeys::fresh_line().unwrap()).collect();
    let lines: String = lines.iter().map(|line| line.as_str()).collect();
    // A server in this process seals the key, so that the other one never sees it plain.
    let here = start_fast(|options| {
        std::fs::write(options.sealing_keys.as_ref().unwrap(), &lines).unwrap();
        options.service.allow_plain_keys = true;
    })
    .await;
    let key = DecapsulationKey::<CtruPrime653<MixedRadix>>::try_generate().unwrap();
    let (ciphertext, secret) = key.encapsulation_key().try_encapsulate().unwrap();
    let plain: &[u8] = key.as_ref();
    let scheme = Some(Scheme { set: 1, encoding: 1 });
    let request = SealKeysRequest { scheme, private_keys: Bytes::copy_from_slice(plain) };
    let mut calls = here.calls().await;
    let sealed = calls.seal_keys(request).await.unwrap().into_inner().private_keys;
    let other = pair(&mut calls).await;
    let sent = calls.encapsulate(encapsulate(&other, 1)).await.unwrap().into_inner();

    let (certificate, tls_key) = Authority::new().sign(vec![dns("localhost")]);
    // A file of certificates may have a key, too. Other work overwrites the memory of a short file.
    let tls = [certificate, "\n".repeat(600), tls_key.clone()].concat();
    let there = Elsewhere::start(&lines, &tls);
    let base64 = words(tls_key.lines().nth(1).unwrap().as_bytes());
    // `f` comes first in a private key, and `z` last.
    let [f, z] = [words(plain), words(&plain[plain.len() - 32..])];
    let of_secret = words(secret.as_bytes());
    let mut calls = KemClient::connect(there.address.clone()).await.unwrap();
    let request = DecapsulateRequest {
        scheme,
        key: Some(decapsulate_request::Key::PrivateKey(sealed.clone())),
        ciphertexts: Bytes::copy_from_slice(ciphertext.as_ref()),
    };
    let start = Instant::now();
    loop {
        let answer = calls.decapsulate(request.clone()).await.unwrap().into_inner();
        assert_eq!(answer.shared_secrets, &secret.as_bytes()[..]);
        // On a busy machine, the search may come after the engine is wiped.
        if [&f, &z, &of_secret].into_iter().all(|words| there.find(words) > 0) {
            break;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "the search finds nothing");
    }
    // The last of many keys is damaged. Those before it are open when it is refused.
    let mut keys = sealed.repeat(30);
    *keys.last_mut().unwrap() ^= 1;
    let request = DecapsulateRequest {
        scheme,
        key: Some(decapsulate_request::Key::PrivateKeys(keys.into())),
        ciphertexts: ciphertext.as_ref().repeat(30).into(),
    };
    assert_eq!(calls.decapsulate(request).await.unwrap_err().code(), Code::InvalidArgument);
    drop(calls);
    let hexadecimal: Vec<u64> =
        lines.lines().flat_map(|line| words(line.split_once(' ').unwrap().1.as_bytes())).collect();
    let raw: Vec<u64> = lines
        .lines()
        .flat_map(|line| words(&const_hex::decode(line.split_once(' ').unwrap().1).unwrap()))
        .collect();
    let start = Instant::now();
    loop {
        // Other work overwrites the stacks of threads, and uses another engine.
        let mut calls = KemClient::connect(there.address.clone()).await.unwrap();
        for _ in 0..45 {
            let request = decapsulate(&other, sent.ciphertexts.clone());
            calls.decapsulate(request).await.unwrap();
        }
        tokio::time::sleep(Duration::from_millis(1500)).await;
        let found =
            [&f, &z, &of_secret, &hexadecimal, &raw, &base64].map(|words| there.find(words));
        // Parts of an answer may stay in the buffers of HTTP/2. Each sealing key has one copy,
        // which seals.
        let [f, z, secret, hexadecimal, raw_keys, base64] = found;
        let is_wiped = [f, z, hexadecimal, base64] == [0; 4] && secret < of_secret.len();
        if is_wiped && raw_keys == raw.len() {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(20), "{found:?}");
    }
}
