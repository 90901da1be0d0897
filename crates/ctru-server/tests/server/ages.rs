//! The age of sealed keys.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use ctru_server::proto::kem_client::KemClient;
use ctru_server::proto::{DecapsulateRequest, SealKeysRequest, decapsulate_request};
use tokio_stream::StreamExt;
use tonic::transport::Channel;
use tonic::{Code, Status};

use crate::common::{Running, decapsulate, encapsulate, load_private, pair, scheme, start_fast};

/// Returns the time in a sealed key, in seconds since 1970.
fn birth(sealed: &[u8]) -> u64 {
    u64::from_be_bytes(sealed[9..17].try_into().unwrap())
}

/// Starts a server with the sealing keys of another.
async fn beside(other: &Running, max_key_age: Duration) -> Running {
    let keys = other.sealing_keys.path().to_owned();
    start_fast(|options| {
        options.sealing_keys = Some(keys);
        options.max_key_age = Some(max_key_age);
    })
    .await
}

async fn load(calls: &mut KemClient<Channel>, private: &Bytes) -> Result<String, Status> {
    Ok(calls.load_keys(load_private(private)).await?.into_inner().name)
}

/// Old keys are sealed again with their age, and do nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn old_keys_are_refused() {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let server = start_fast(|_| ()).await;
    let mut calls = server.calls().await;
    let begin = now();
    let pair = pair(&mut calls).await;
    let made = birth(&pair.private);
    assert!((begin..=now()).contains(&made), "{made}");
    let sent = calls.encapsulate(encapsulate(&pair, 1)).await.unwrap().into_inner();
    let one = decapsulate(&pair, sent.ciphertexts.clone());
    let each = DecapsulateRequest {
        key: Some(decapsulate_request::Key::PrivateKeys(pair.private.clone())),
        ..one.clone()
    };
    // While it is young, it can be used and loaded.
    let strict = beside(&server, Duration::from_secs(6)).await;
    let mut strict = strict.calls().await;
    let name = load(&mut strict, &pair.private).await.unwrap();
    let key = Some(decapsulate_request::Key::Loaded(name));
    let loaded = DecapsulateRequest { key, ..one.clone() };
    for request in [&one, &each, &loaded] {
        let received = strict.decapsulate(request.clone()).await.unwrap().into_inner();
        assert_eq!(received.shared_secrets, sent.shared_secrets);
    }
    while now() <= made + 7 {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    for request in [one.clone(), each, loaded] {
        let refused = strict.decapsulate(request.clone()).await.unwrap_err();
        assert_eq!(refused.code(), Code::FailedPrecondition, "{refused}");
        let messages = tokio_stream::iter([request]);
        let mut stream = strict.decapsulate_stream(messages).await.unwrap().into_inner();
        let refused = stream.next().await.unwrap().unwrap_err();
        assert_eq!(refused.code(), Code::FailedPrecondition, "{refused}");
        assert!(refused.message().contains("older than 6s"), "{refused}");
    }
    let refused = load(&mut strict, &pair.private).await.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition, "{refused}");
    // To seal it again does not make it younger.
    let request = SealKeysRequest { scheme: scheme(), private_keys: pair.private.clone() };
    let again = strict.seal_keys(request).await.unwrap().into_inner().private_keys;
    assert_ne!(again, pair.private);
    assert_eq!(birth(&again), made);
    let refused = load(&mut strict, &again).await.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition, "{refused}");
    assert!(calls.decapsulate(one).await.is_ok());
}

/// A key that came plain is as old as its first sealed form.
#[tokio::test(flavor = "multi_thread")]
async fn plain_keys_get_their_age_when_they_are_sealed() {
    let server = start_fast(|options| options.service.allow_plain_keys = true).await;
    let mut calls = server.calls().await;
    let request =
        ctru_server::proto::GenerateKeysRequest { scheme: scheme(), count: 2, plain: true };
    let made = calls.generate_keys(request).await.unwrap().into_inner();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let request = SealKeysRequest { scheme: scheme(), private_keys: made.private_keys };
    let sealed = calls.seal_keys(request).await.unwrap().into_inner().private_keys;
    let (one, two) = sealed.split_at(sealed.len() / 2);
    assert!(birth(one).abs_diff(now) <= 5 && birth(two) == birth(one));
}
