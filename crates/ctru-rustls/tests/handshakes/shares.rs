//! Shares that an end must refuse.

use rustls::crypto::{ActiveKeyExchange, CompletedKeyExchange, SharedSecret, SupportedKxGroup};
use rustls::{AlertDescription, Error, NamedGroup, PeerMisbehaved};

use crate::ends::{Ends, client, server};
use crate::negotiation::ours;

/// A change of a share.
type Alter = fn(&mut Vec<u8>);

/// A group whose shares are altered before they are sent.
#[derive(Debug)]
struct Altered {
    group: &'static dyn SupportedKxGroup,
    alter: Alter,
}

/// The client's side of [`Altered`].
struct Started {
    exchange: Box<dyn ActiveKeyExchange>,
    share: Vec<u8>,
}

impl SupportedKxGroup for Altered {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let exchange = self.group.start()?;
        let mut share = exchange.pub_key().to_vec();
        (self.alter)(&mut share);
        Ok(Box::new(Started { exchange, share }))
    }

    fn start_and_complete(&self, share: &[u8]) -> Result<CompletedKeyExchange, Error> {
        let mut completed = self.group.start_and_complete(share)?;
        (self.alter)(&mut completed.pub_key);
        Ok(completed)
    }

    fn name(&self) -> NamedGroup {
        self.group.name()
    }
}

impl ActiveKeyExchange for Started {
    fn complete(self: Box<Self>, share: &[u8]) -> Result<SharedSecret, Error> {
        self.exchange.complete(share)
    }

    fn pub_key(&self) -> &[u8] {
        &self.share
    }

    fn group(&self) -> NamedGroup {
        self.exchange.group()
    }
}

/// Returns a group whose shares are altered.
fn altered(group: &'static dyn SupportedKxGroup, alter: Alter) -> &'static dyn SupportedKxGroup {
    Box::leak(Box::new(Altered { group, alter }))
}

/// A fatal alert in plain text: illegal_parameter.
const ILLEGAL_PARAMETER: [u8; 7] = [21, 3, 3, 0, 2, 2, 47];

/// Checks that the server refuses the altered share of a client.
fn server_refuses(group: &'static dyn SupportedKxGroup, what: &str, alter: Alter) {
    let mut ends = Ends::new(&client(&[altered(group, alter)]), &server(&[group]));
    ends.talk();
    let refused = Error::PeerMisbehaved(PeerMisbehaved::InvalidKeyShare);
    assert_eq!(ends.server.error, Some(refused), "{group:?}: {what}");
    assert!(ends.server.sent.ends_with(&ILLEGAL_PARAMETER), "{group:?}: {what}");
    let alert = Error::AlertReceived(AlertDescription::IllegalParameter);
    assert_eq!(ends.client.error, Some(alert), "{group:?}: {what}");
}

/// Checks that the client refuses the altered share of a server.
fn client_refuses(group: &'static dyn SupportedKxGroup, what: &str, alter: Alter) {
    let mut ends = Ends::new(&client(&[group]), &server(&[altered(group, alter)]));
    ends.talk();
    let refused = Error::PeerMisbehaved(PeerMisbehaved::InvalidKeyShare);
    assert_eq!(ends.client.error, Some(refused), "{group:?}: {what}");
    assert!(ends.client.sent.ends_with(&ILLEGAL_PARAMETER), "{group:?}: {what}");
    assert!(!ends.server.is_done(), "{group:?}: {what}");
}

/// Overwrites the part of X25519.
fn set_point(share: &mut [u8], point: [u8; 32]) {
    *share.last_chunk_mut().unwrap() = point;
}

/// Alterations that both ends refuse: other lengths, and points whose product with every private
/// key is zero.
const OF_BOTH: [(&str, Alter); 13] = [
    ("one byte", |share| share.truncate(1)),
    ("the part of the KEM only", |share| share.truncate(share.len() - 32)),
    ("a byte less", |share| share.truncate(share.len() - 1)),
    ("a byte more", |share| share.push(0)),
    ("twice the share", |share| share.extend_from_within(..)),
    ("the length of 653", |share| share.resize(if share.len() > 1000 { 930 } else { 1026 }, 1)),
    ("the length of 1277", |share| share.resize(if share.len() > 1800 { 1629 } else { 2099 }, 1)),
    ("the point 0", |share| set_point(share, [0; 32])),
    ("the point 1", |share| set_point(share, std::array::from_fn(|i| u8::from(i == 0)))),
    ("the point p - 1", |share| set_point(share, near_p(0xec))),
    ("the point p", |share| set_point(share, near_p(0xed))),
    ("the point p + 1", |share| set_point(share, near_p(0xee))),
    ("a point of order 8", |share| set_point(share, OF_ORDER_8)),
];

/// Returns a point whose lowest byte is `low` and whose other bytes are those of p = 2^255 - 19.
fn near_p(low: u8) -> [u8; 32] {
    let mut point = [0xff; 32];
    (point[0], point[31]) = (low, 0x7f);
    point
}

/// A point of order 8.
const OF_ORDER_8: [u8; 32] = [
    0xe0, 0xeb, 0x7a, 0x7c, 0x3b, 0x41, 0xb8, 0xae, 0x16, 0x56, 0xe3, 0xfa, 0xf1, 0x9f, 0xc4, 0x6a,
    0xda, 0x09, 0x8d, 0xeb, 0x9c, 0x32, 0xb1, 0xfd, 0x86, 0x62, 0x05, 0x16, 0x5f, 0x49, 0xb8, 0x00,
];

/// Returns our groups, on each library of rustls that is there.
fn groups() -> impl Iterator<Item = &'static dyn SupportedKxGroup> {
    let groups = ours().into_iter().map(|(group, ..)| group);
    #[cfg(feature = "aws-lc-rs")]
    let groups = groups
        .chain(ctru_rustls::aws_lc_rs::provider().kx_groups.into_iter().take(3))
        .chain([ctru_rustls::aws_lc_rs::X25519MLKEM768]);
    groups
}

#[test]
fn servers_refuse() {
    for group in groups() {
        for (what, alter) in OF_BOTH {
            server_refuses(group, what, alter);
        }
        if group.name() != NamedGroup::X25519MLKEM768 {
            server_refuses(group, "the key 0", |share| {
                let ctru = share.len() - 32;
                share[..ctru].fill(0);
            });
        }
        server_refuses(group, "a key that is no encoding", |share| {
            let ctru = share.len() - 32;
            share[..ctru].fill(0xff);
        });
    }
}

#[test]
fn clients_refuse() {
    for group in groups() {
        for (what, alter) in OF_BOTH {
            client_refuses(group, what, alter);
        }
    }
}

/// Writes `value` as coefficient `index` of a public key of ML-KEM: 12 bits, the lowest first.
fn set_coefficient(share: &mut [u8], index: usize, value: u16) {
    let pair = &mut share[index / 2 * 3..][..3];
    if index.is_multiple_of(2) {
        pair[0] = value as u8;
        pair[1] = pair[1] & 0xf0 | (value >> 8) as u8;
    } else {
        pair[1] = pair[1] & 0x0f | (value << 4) as u8;
        pair[2] = (value >> 4) as u8;
    }
}

/// Public keys of ML-KEM with a coefficient of q or more are refused (FIPS 203, section 7.2), and
/// those with q - 1 are not.
#[test]
fn coefficients_of_ml_kem_are_reduced() {
    const OF: [(&str, Alter); 4] = [
        ("the first coefficient is q", |share| set_coefficient(share, 0, 3329)),
        ("a coefficient in the middle is q + 1", |share| set_coefficient(share, 301, 3330)),
        ("the last coefficient is q", |share| set_coefficient(share, 767, 3329)),
        ("the last coefficient is 4095", |share| set_coefficient(share, 767, 4095)),
    ];
    for group in groups().filter(|group| group.name() == NamedGroup::X25519MLKEM768) {
        for (what, alter) in OF {
            server_refuses(group, what, alter);
        }
        // The secrets differ, but the share itself is good.
        let good = altered(group, |share| set_coefficient(share, 767, 3328));
        let mut ends = Ends::new(&client(&[good]), &server(&[group]));
        ends.talk();
        assert!(ends.client.error.is_some());
        let refused = Error::PeerMisbehaved(PeerMisbehaved::InvalidKeyShare);
        assert!(ends.server.error.is_some_and(|error| error != refused));
    }
}
