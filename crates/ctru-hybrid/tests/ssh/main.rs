//! The key exchange of SSH with OpenSSH on the other side, as server and as client.
//!
//! `.ci/ssh` names an Ed25519 key of OpenSSH in the variable `OPENSSH_HOST_KEY`. Without it, these
//! tests do nothing. OpenSSH ends with the connection, so no process is left behind.
#![cfg(unix)]
// Tests may unwrap: a test must fail if its input cannot be built.
#![allow(clippy::unwrap_used)]

mod connection;

use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::{env, fs, io};

use ctru_hybrid::X25519_BYTES;
use ctru_hybrid::ssh::{
    CLIENT_SHARE_BYTES, Client, NAME, OPENSSH_NAME, SERVER_SHARE_BYTES, Server, SharedSecret,
};
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};

use connection::{
    Connection, KEX_ECDH_INIT, KEX_ECDH_REPLY, NEWKEYS, exchange_hash, string, take_string,
};

const EXCHANGES: usize = 50;
/// OpenSSH is called with every seventh byte of a share altered: each call takes a process.
const STEP: usize = 7;
/// What OpenSSH says of a signature that does not fit, and of a share of a wrong length.
const INCORRECT: &str = "incorrect signature";
/// What OpenSSH says if X25519 gives zero.
const LOW_ORDER: &str = "invalid elliptic curve value";

/// Returns the private key of OpenSSH's server.
fn openssh_host_key() -> Option<PathBuf> {
    env::var_os("OPENSSH_HOST_KEY").map(PathBuf::from)
}

/// Returns whether OpenSSH is not to be called, and says so.
fn openssh_is_missing() -> bool {
    let missing = openssh_host_key().is_none();
    if missing {
        eprintln!("the variable OPENSSH_HOST_KEY is missing, so OpenSSH is not called");
    }
    missing
}

/// Returns a connection from this process to itself.
fn loopback() -> [TcpStream; 2] {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    [ours, listener.accept().unwrap().0]
}

/// What a client knows after the answer of OpenSSH's server.
struct Answer {
    connection: Connection,
    host_key: Vec<u8>,
    client_share: Vec<u8>,
    server_share: Vec<u8>,
    signature: Vec<u8>,
}

impl Answer {
    /// Sends a share and waits for the answer.
    fn to(stream: TcpStream, method: &str, client_share: &[u8]) -> io::Result<Self> {
        let mut connection = Connection::open(stream, method)?;
        connection.send(&[&[KEX_ECDH_INIT][..], &string(client_share)].concat())?;
        let reply = connection.receive(KEX_ECDH_REPLY)?;
        connection.receive(NEWKEYS)?;
        let rest = &mut &reply[1..];
        let [host_key, server_share, signature] = [(); 3].map(|()| take_string(rest).to_vec());
        let client_share = client_share.to_vec();
        Ok(Self { connection, host_key, client_share, server_share, signature })
    }

    /// Returns whether the host key has signed the exchange with this secret.
    fn is_signed(&self, k: &SharedSecret) -> bool {
        let hash = exchange_hash(
            &self.connection.ours,
            &self.connection.theirs,
            [&self.host_key, &self.client_share, &self.server_share],
            k,
        );
        let [key, signature] = [&self.host_key, &self.signature].map(|bytes| {
            let rest = &mut &bytes[..];
            assert_eq!(take_string(rest), b"ssh-ed25519");
            take_string(rest)
        });
        let key = VerifyingKey::from_bytes(key.try_into().unwrap()).unwrap();
        key.verify_strict(&hash, &Signature::from_slice(signature).unwrap()).is_ok()
    }
}

/// Sends a share to OpenSSH's server. Returns the answer, or what the server says.
fn ask_openssh(method: &str, share: &[u8]) -> Result<Answer, String> {
    let host_key = openssh_host_key().unwrap();
    let [ours, theirs] = loopback();
    let output: OwnedFd = theirs.try_clone().unwrap().into();
    let server = Command::new("/usr/sbin/sshd")
        .args(["-i", "-e", "-f", "/dev/null", "-o", "UsePAM=no", "-o"])
        .arg(format!("KexAlgorithms={method}"))
        .arg("-h")
        .arg(&host_key)
        .stdin(OwnedFd::from(theirs))
        .stdout(output)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let answer = Answer::to(ours, method, share);
    if let Ok(answer) = &answer {
        answer.connection.end();
    }
    let output = server.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    answer.map_err(|error| format!("{error}\n{said}"))
}

/// Answers a client with an altered share and the unaltered secret, and waits until the client
/// accepts the signature of a host key.
fn serve(stream: TcpStream, method: &str, alter: impl Fn(&mut Vec<u8>)) -> io::Result<()> {
    let mut connection = Connection::open(stream, method)?;
    let request = connection.receive(KEX_ECDH_INIT)?;
    let client_share = take_string(&mut &request[1..]);
    let (share, k) = Server::try_generate().unwrap().answer(client_share).unwrap();
    let mut share = share.to_vec();
    alter(&mut share);

    let signing_key = SigningKey::from_bytes(&[9; 32]);
    let with_name = |bytes: &[u8]| [string(b"ssh-ed25519"), string(bytes)].concat();
    let host_key = with_name(signing_key.verifying_key().as_bytes());
    let (client, server) = (&connection.theirs, &connection.ours);
    let hash = exchange_hash(client, server, [&host_key, client_share, &share], &k);
    let signature = with_name(&signing_key.sign(&hash).to_bytes());
    let reply = [string(&host_key), string(&share), string(&signature)].concat();
    connection.send(&[&[KEX_ECDH_REPLY][..], &reply].concat())?;
    connection.receive(NEWKEYS).map(|_| ())
}

/// Answers a call of OpenSSH's client as [`serve`] does. Returns an error with what the client says
/// if it does not accept.
fn answer_openssh(method: &str, alter: impl Fn(&mut Vec<u8>)) -> Result<(), String> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let options = [
        &format!("KexAlgorithms={method}"),
        "BatchMode=yes",
        "GlobalKnownHostsFile=/dev/null",
        "StrictHostKeyChecking=no",
        "UserKnownHostsFile=/dev/null",
    ];
    let client = Command::new("ssh")
        .args(["-F", "none", "-p", &listener.local_addr().unwrap().port().to_string()])
        .args(options.iter().flat_map(|option| ["-o", option]))
        .arg("127.0.0.1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let accepted = serve(listener.accept().unwrap().0, method, alter);
    let output = client.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    accepted.map_err(|error| format!("{error}\n{said}"))
}

/// Returns the client whose coins are all 3.
fn client() -> Client {
    Client::generate_deterministic(&[3; 64])
}

/// Checks that OpenSSH's server signs what both sides have computed.
#[test]
fn openssh_answers_our_client() {
    if openssh_is_missing() {
        return;
    }
    let host_key = fs::read(openssh_host_key().unwrap().with_extension("blob")).unwrap();
    for method in [NAME, OPENSSH_NAME] {
        for _ in 0..EXCHANGES {
            let client = Client::try_generate().unwrap();
            let answer = ask_openssh(method, &client.share()).unwrap();
            assert_eq!(answer.host_key, host_key);
            assert!(answer.is_signed(&client.finish(&answer.server_share).unwrap()), "{method}");
        }
    }
}

/// Checks that the signature of OpenSSH's server does not fit if one bit of a byte of its share, or
/// of ours, was altered on the way. The hash has what each side sent, so that only K differs.
#[test]
fn openssh_signs_no_altered_share() {
    if openssh_is_missing() {
        return;
    }
    let answer = ask_openssh(NAME, &client().share()).unwrap();
    assert!(answer.is_signed(&client().finish(&answer.server_share).unwrap()));
    for byte in 0..SERVER_SHARE_BYTES {
        let mut share = answer.server_share.clone();
        share[byte] ^= 1 << (byte % 7);
        assert!(!answer.is_signed(&client().finish(&share).unwrap()), "byte {byte}");
    }
    for byte in (0..CLIENT_SHARE_BYTES).step_by(STEP) {
        let mut share = client().share();
        share[byte] ^= 1 << (byte % 7);
        let answer = ask_openssh(NAME, &share).unwrap();
        assert!(!answer.is_signed(&client().finish(&answer.server_share).unwrap()), "byte {byte}");
    }
}

/// Checks that OpenSSH's server ends the connection if our share has a wrong length, or a point of
/// low order.
#[test]
fn openssh_refuses_shares_of_our_client() {
    if openssh_is_missing() {
        return;
    }
    let refused = |share: &[u8], why: &str| {
        let said = ask_openssh(NAME, share).err().expect("the share is refused");
        assert!(said.contains(why), "{} bytes: {said}", share.len());
    };
    let mut share = client().share();
    for length in [0, 1, CLIENT_SHARE_BYTES - 1, CLIENT_SHARE_BYTES + 1, 2 * CLIENT_SHARE_BYTES] {
        let share: Vec<u8> = share.into_iter().cycle().take(length).collect();
        refused(&share, INCORRECT);
    }
    share[CLIENT_SHARE_BYTES - X25519_BYTES..].fill(0);
    refused(&share, LOW_ORDER);
}

/// Checks that OpenSSH's client accepts our signature over what both sides have computed.
#[test]
fn openssh_accepts_our_server() {
    if openssh_is_missing() {
        return;
    }
    for method in [NAME, OPENSSH_NAME] {
        for _ in 0..EXCHANGES {
            answer_openssh(method, |_| ()).unwrap();
        }
    }
}

/// Checks that OpenSSH's client refuses our signature if the share has one altered bit, or is not a
/// share.
#[test]
fn openssh_refuses_shares_of_our_server() {
    if openssh_is_missing() {
        return;
    }
    let refused = |alter: &dyn Fn(&mut Vec<u8>), why: &str| {
        let said = answer_openssh(NAME, alter).unwrap_err();
        assert!(said.contains(why), "{said}");
    };
    for byte in (0..SERVER_SHARE_BYTES).step_by(STEP) {
        refused(&|share| share[byte] ^= 1 << (byte % 7), INCORRECT);
    }
    for length in [0, 1, SERVER_SHARE_BYTES - 1, SERVER_SHARE_BYTES + 1, 2 * SERVER_SHARE_BYTES] {
        refused(&|share| share.resize(length, 7), INCORRECT);
    }
    refused(&|share| share[SERVER_SHARE_BYTES - X25519_BYTES..].fill(0), LOW_ORDER);
}
