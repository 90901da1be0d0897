//! Profiles on the address of metrics and probes.

use crate::common::{encapsulate, get_bytes, pair};
use crate::program::{Served, finds};

/// A server under load tells which functions take its time, to one client at a time.
#[tokio::test(flavor = "multi_thread")]
async fn profiles_name_functions() {
    let Served { mut program, admin, client, .. } = Served::start(&[]).await;
    let pair = pair(&mut client.calls()).await;
    let load = tokio::spawn(async move {
        loop {
            client.encapsulate(encapsulate(&pair, 1000)).await.unwrap();
        }
    });
    let wrong = get_bytes(admin, "/debug/pprof/profile?seconds=1000").await;
    assert!(wrong.starts_with(b"HTTP/1.1 400"), "{}", wrong.escape_ascii());
    // Either of the two may come first.
    let path = "/debug/pprof/profile?seconds=3";
    let (one, other) = tokio::join!(get_bytes(admin, path), get_bytes(admin, path));
    let (profile, refused) =
        if one.starts_with(b"HTTP/1.1 200") { (one, other) } else { (other, one) };
    assert!(profile.starts_with(b"HTTP/1.1 200"));
    assert!(refused.starts_with(b"HTTP/1.1 409"));
    assert!(finds(&profile, b"ctru_kem::") && finds(&profile, b"nanoseconds"));
    load.abort();
    program.end();
}
