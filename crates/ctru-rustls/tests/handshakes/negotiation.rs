//! Handshakes that complete, and the groups that they take.

use std::sync::Arc;

use ctru_rustls::ring::{
    X25519_CTRU_PRIME_653, X25519_CTRU_PRIME_761, X25519_CTRU_PRIME_1277, X25519MLKEM768, provider,
    standard_provider,
};
use rustls::crypto::SupportedKxGroup;
use rustls::crypto::ring::kx_group::{SECP256R1, X25519};
use rustls::{ClientConfig, HandshakeKind, NamedGroup, ProtocolVersion, ServerConfig};

use crate::ends::{
    Ends, Groups, client, client_with_certificate, server, server_with_client_certificates,
};

/// Our groups with their numbers and the lengths of both shares.
pub(crate) fn ours() -> [(&'static dyn SupportedKxGroup, u16, [usize; 2]); 4] {
    [
        (X25519_CTRU_PRIME_653, 0xfec1, [1026, 930]),
        (X25519_CTRU_PRIME_761, 0xfec2, [1190, 984]),
        (X25519_CTRU_PRIME_1277, 0xfec3, [2099, 1629]),
        (X25519MLKEM768, 0x11ec, [1216, 1120]),
    ]
}

/// Connects, and checks group and kind of the handshake on both ends. Returns the ends.
fn connect(
    (client, server): (&Arc<ClientConfig>, &Arc<ServerConfig>),
    group: NamedGroup,
    kind: HandshakeKind,
) -> Ends {
    let mut ends = Ends::new(client, server);
    ends.talk();
    ends.check_connected();
    for end in [&ends.client, &ends.server] {
        let found = end.connection.negotiated_key_exchange_group().unwrap();
        assert_eq!((found.name(), end.connection.handshake_kind()), (group, Some(kind)));
    }
    ends
}

fn check(of_client: Groups<'_>, of_server: Groups<'_>, group: NamedGroup, kind: HandshakeKind) {
    connect((&client(of_client), &server(of_server)), group, kind);
}

/// The server takes the first group of the client that it has, whatever it prefers itself.
#[test]
fn both_orders_of_preference() {
    for (group, number, _) in ours() {
        assert_eq!(u16::from(group.name()), number);
        for of_server in [&[group, X25519], &[X25519, group]] {
            check(&[group, X25519], of_server, group.name(), HandshakeKind::Full);
            check(&[X25519, group], of_server, NamedGroup::X25519, HandshakeKind::Full);
        }
        check(&[group], &[group], group.name(), HandshakeKind::Full);
    }
}

#[test]
fn hello_retry_request() {
    let kind = HandshakeKind::FullWithHelloRetryRequest;
    for (group, ..) in ours() {
        check(&[SECP256R1, group], &[group], group.name(), kind);
        check(&[X25519, group], &[group, SECP256R1], group.name(), kind);
        // The share of the client is for our group, and the server does not know it.
        check(&[group, SECP256R1], &[SECP256R1], NamedGroup::secp256r1, kind);
    }
    // Two of our groups: the client sends a share for the first one only.
    check(
        &[X25519_CTRU_PRIME_761, X25519_CTRU_PRIME_653],
        &[X25519_CTRU_PRIME_653],
        NamedGroup::Unknown(0xfec1),
        kind,
    );
}

/// A client that lists X25519 sends its share at once, so a server without our groups needs no
/// second round trip.
#[test]
fn x25519_travels_with_the_first_flight() {
    for (group, ..) in ours() {
        check(&[group, X25519], &[X25519], NamedGroup::X25519, HandshakeKind::Full);
        let ends = connect(
            (&client(&[group, X25519]), &server(&[group])),
            group.name(),
            HandshakeKind::Full,
        );
        // The share of X25519 alone is also the end of the share of our group.
        let hello = &ends.client.sent;
        let alone = share_in(hello, 0x1d, 32);
        let share = &hello[alone..alone + 32];
        assert_eq!(hello.windows(32).filter(|window| *window == share).count(), 2);
    }
}

/// Returns the place of the share of a group, by its number and its length, which occur once.
pub(crate) fn share_in(sent: &[u8], number: u16, length: usize) -> usize {
    let marker = [number, length.try_into().unwrap()].map(u16::to_be_bytes).concat();
    let mut places = sent.windows(marker.len()).enumerate().filter(|(_, at)| *at == marker);
    let (place, _) = places.next().unwrap();
    assert_eq!(places.next(), None);
    place + marker.len()
}

#[test]
fn shares_have_their_lengths() {
    for (group, number, [of_client, of_server]) in ours() {
        let ends =
            connect((&client(&[group]), &server(&[group])), group.name(), HandshakeKind::Full);
        for (sent, length) in [(&ends.client.sent, of_client), (&ends.server.sent, of_server)] {
            share_in(sent, number, length);
        }
    }
}

/// Keys are fresh: two connections of one client have different shares.
#[test]
fn each_connection_has_its_own_key() {
    for (group, number, [length, _]) in ours() {
        let [first, second] = [(); 2].map(|()| {
            let ends =
                connect((&client(&[group]), &server(&[group])), group.name(), HandshakeKind::Full);
            let share = share_in(&ends.client.sent, number, length);
            ends.client.sent[share..share + length].to_vec()
        });
        assert_ne!(first[..33], second[..33]);
        assert_ne!(first[length - 32..], second[length - 32..]);
    }
}

#[test]
fn resumption() {
    for (group, ..) in ours() {
        let (client, server) = (client(&[group, X25519]), server(&[group, X25519]));
        connect((&client, &server), group.name(), HandshakeKind::Full);
        for _ in 0..2 {
            connect((&client, &server), group.name(), HandshakeKind::Resumed);
        }
    }
}

#[test]
fn client_certificates() {
    for (group, ..) in ours() {
        let server = server_with_client_certificates(&[group]);
        let client = client_with_certificate(&[group]);
        let ends = connect((&client, &server), group.name(), HandshakeKind::Full);
        assert!(ends.server.connection.peer_certificates().is_some());

        // A client without a certificate is refused.
        let mut ends = Ends::new(&crate::ends::client(&[group]), &server);
        ends.talk();
        assert!(ends.server.error.is_some());
    }
}

/// The provider offers our groups first, and none of them in TLS 1.2.
#[test]
fn the_provider_has_all_groups() {
    let names: Vec<_> = provider().kx_groups.iter().map(|group| group.name()).collect();
    assert_eq!(names[..3], [0xfec2, 0xfec3, 0xfec1].map(NamedGroup::Unknown));
    assert!(names.contains(&NamedGroup::X25519));
    for (group, ..) in ours() {
        assert!(group.usable_for_version(ProtocolVersion::TLSv1_3));
        assert!(!group.usable_for_version(ProtocolVersion::TLSv1_2));
        assert!(!group.fips() && group.ffdhe_group().is_none());
    }
    assert_eq!(format!("{X25519_CTRU_PRIME_761:?}"), "X25519 with CTRU-Prime-761");
    assert_eq!(format!("{X25519MLKEM768:?}"), "X25519 with ML-KEM-768");
}

/// The provider without CTRU-Prime prefers X25519MLKEM768, and has each group once.
#[test]
fn the_standard_provider_prefers_ml_kem() {
    let providers = [
        standard_provider(),
        #[cfg(feature = "aws-lc-rs")]
        ctru_rustls::aws_lc_rs::standard_provider(),
    ];
    for provider in providers {
        let names: Vec<_> = provider.kx_groups.iter().map(|group| group.name()).collect();
        assert_eq!(names[..2], [NamedGroup::X25519MLKEM768, NamedGroup::X25519]);
        assert!(names[1..].iter().all(|name| *name != NamedGroup::X25519MLKEM768));
    }
}

/// Connects the groups of both libraries, in both directions.
#[cfg(feature = "aws-lc-rs")]
#[test]
fn libraries_understand_each_other() {
    for group in &ctru_rustls::aws_lc_rs::provider().kx_groups[..3] {
        let (of_ring, ..) = ours().into_iter().find(|of| of.0.name() == group.name()).unwrap();
        check(&[*group], &[of_ring], group.name(), HandshakeKind::Full);
        check(&[of_ring], &[*group], group.name(), HandshakeKind::Full);
        check(&[*group], &[*group], group.name(), HandshakeKind::Full);
    }
}

/// Connects X25519MLKEM768 of this crate with that of aws-lc-rs, in both directions.
#[cfg(feature = "aws-lc-rs")]
#[test]
fn ml_kem_of_aws_lc_rs() {
    use rustls::crypto::aws_lc_rs::kx_group;
    let theirs = kx_group::X25519MLKEM768;
    let ours = [X25519MLKEM768, ctru_rustls::aws_lc_rs::X25519MLKEM768];
    for group in ours {
        check(&[theirs], &[group], group.name(), HandshakeKind::Full);
        check(&[group], &[theirs], group.name(), HandshakeKind::Full);
        check(&[group, X25519], &[kx_group::X25519], NamedGroup::X25519, HandshakeKind::Full);
        check(&[theirs, kx_group::X25519], &[X25519], NamedGroup::X25519, HandshakeKind::Full);
    }
}
