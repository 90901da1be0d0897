//! One end of a connection of SSH up to its key exchange (RFC 4253), without encryption.

use std::io::{self, BufRead, BufReader, Error, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use ctru_hybrid::ssh::SharedSecret;
use sha2::{Digest, Sha512};

const KEXINIT: u8 = 20;
pub(crate) const NEWKEYS: u8 = 21;
pub(crate) const KEX_ECDH_INIT: u8 = 30;
pub(crate) const KEX_ECDH_REPLY: u8 = 31;

/// What a side sends before the key exchange: its version and its SSH_MSG_KEXINIT.
pub(crate) struct Opening {
    version: Vec<u8>,
    kexinit: Vec<u8>,
}

/// A connection on which both sides have sent their [`Opening`].
pub(crate) struct Connection {
    stream: BufReader<TcpStream>,
    pub(crate) ours: Opening,
    pub(crate) theirs: Opening,
}

/// Returns bytes with their length before them.
pub(crate) fn string(bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).unwrap();
    [&length.to_be_bytes(), bytes].concat()
}

/// Takes a string from the beginning of bytes.
pub(crate) fn take_string<'a>(bytes: &mut &'a [u8]) -> &'a [u8] {
    let (length, rest) = bytes.split_first_chunk().unwrap();
    let (string, rest) = rest.split_at(u32::from_be_bytes(*length) as usize);
    *bytes = rest;
    string
}

/// Returns the exchange hash (RFC 5656, section 4), with K as a string, of the public key of the
/// host and the shares of client and server.
pub(crate) fn exchange_hash(
    client: &Opening,
    server: &Opening,
    [host_key, client_share, server_share]: [&[u8]; 3],
    k: &SharedSecret,
) -> [u8; 64] {
    let openings = [&client.version, &server.version, &client.kexinit, &server.kexinit];
    let mut hash = Sha512::new();
    openings.iter().for_each(|part| hash.update(string(part)));
    for part in [host_key, client_share, server_share, k.as_bytes()] {
        hash.update(string(part));
    }
    hash.finalize().into()
}

/// Returns SSH_MSG_KEXINIT with one method. The ciphers are never used.
fn kexinit(method: &str) -> Vec<u8> {
    let mut message = [&[KEXINIT][..], &[7; 16]].concat();
    let (cipher, mac, compression) = ("aes128-ctr", "hmac-sha2-256", "none");
    let ciphers = [cipher, cipher, mac, mac, compression, compression];
    for list in [&[method, "ssh-ed25519"][..], &ciphers, &["", ""]].concat() {
        message.extend(string(list.as_bytes()));
    }
    // No packet follows that is a guess, and four bytes are reserved.
    message.extend([0; 5]);
    message
}

impl Connection {
    pub(crate) fn open(stream: TcpStream, method: &str) -> io::Result<Self> {
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        // Packets are small, and the other side waits for each of them.
        stream.set_nodelay(true)?;
        let mut connection = Self {
            stream: BufReader::new(stream),
            ours: Opening { version: b"SSH-2.0-ctru".to_vec(), kexinit: kexinit(method) },
            theirs: Opening { version: Vec::new(), kexinit: Vec::new() },
        };
        let version = [&connection.ours.version[..], b"\r\n"].concat();
        connection.stream.get_mut().write_all(&version)?;
        connection.stream.read_until(b'\n', &mut connection.theirs.version)?;
        connection.theirs.version.truncate(connection.theirs.version.trim_ascii_end().len());
        connection.send(&kexinit(method))?;
        connection.theirs.kexinit = connection.receive(KEXINIT)?;
        Ok(connection)
    }

    /// Ends the connection, and leaves the two [`Opening`]s.
    pub(crate) fn end(&self) {
        // The other side may have ended it.
        let _ = self.stream.get_ref().shutdown(Shutdown::Both);
    }

    /// Sends a packet.
    pub(crate) fn send(&mut self, payload: &[u8]) -> io::Result<()> {
        // With its length and 4 to 11 bytes of padding, a packet is a multiple of eight bytes.
        let padding = 11 - (4 + 1 + payload.len() + 3) % 8;
        let mut packet = vec![u8::try_from(padding).unwrap()];
        packet.extend(payload);
        packet.resize(packet.len() + padding, 0);
        self.stream.get_mut().write_all(&string(&packet))
    }

    /// Receives a packet of a kind. Another packet, such as SSH_MSG_DISCONNECT, is an error.
    pub(crate) fn receive(&mut self, kind: u8) -> io::Result<Vec<u8>> {
        let mut length = [0; 4];
        self.stream.read_exact(&mut length)?;
        let mut packet = vec![0; u32::from_be_bytes(length) as usize];
        self.stream.read_exact(&mut packet)?;
        let payload = packet[1..packet.len() - usize::from(packet[0])].to_vec();
        if payload[0] == kind {
            Ok(payload)
        } else {
            let message = String::from_utf8_lossy(&payload);
            Err(Error::new(ErrorKind::InvalidData, message))
        }
    }
}
