//! Ten times more load than the server can carry: its memory stays bounded, it says why it refuses,
//! and it recovers.
//!
//! The environment variable `CTRU_OVERLOAD_SECONDS` says how long the load lasts, 5 seconds if it
//! is not set.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ctru_server::proto::GenerateKeysRequest;
use ctru_server::proto::kem_client::KemClient;
use tokio::sync::mpsc;
use tonic::Code;
use tonic::transport::Channel;

use crate::common::{encapsulate, get, pair, scheme};
use crate::program::{Served, client};

/// The operations of each call.
const OPERATIONS: u32 = 500;
/// The memory that the server gives messages, in KiB.
const MESSAGES: usize = 64 << 10;
/// What the server may take beside its memory when idle and that of messages, in KiB: what the
/// engine computes, the buffers of 16 connections, and what the allocator keeps.
const BESIDE: usize = 64 << 10;

/// Returns a number of the kernel's account of a process, in KiB.
fn memory(process: u32, name: &str) -> usize {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Calls the server one call after the other for a second, and returns the calls per second.
async fn capacity(calls: &KemClient<Channel>, callers: usize) -> f64 {
    let pair = pair(&mut calls.clone()).await;
    let start = Instant::now();
    let tasks = (0..callers).map(|_| {
        let (mut calls, request) = (calls.clone(), encapsulate(&pair, OPERATIONS));
        tokio::spawn(async move {
            let mut count = 0;
            while start.elapsed() < Duration::from_secs(1) {
                calls.encapsulate(request.clone()).await.unwrap();
                count += 1;
            }
            count
        })
    });
    let mut count = 0;
    for task in tasks.collect::<Vec<_>>() {
        count += task.await.unwrap();
    }
    f64::from(count) / start.elapsed().as_secs_f64()
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_times_more_load_than_capacity() {
    let seconds = std::env::var("CTRU_OVERLOAD_SECONDS").map_or(5, |text| text.parse().unwrap());
    let messages = format!("{MESSAGES}KiB");
    let arguments = ["--max-memory", &messages, "--threads", "1"];
    let mut server = Served::start(&arguments).await;
    let (port, admin) = (server.port, server.admin);
    let mut flood = Vec::new();
    for _ in 0..16 {
        flood.push(KemClient::connect(format!("http://127.0.0.1:{port}")).await.unwrap());
    }
    let polite = client(port);
    let pair = pair(&mut polite.calls()).await;
    let capacity = capacity(&flood[0], 8).await;
    let idle = memory(server.program.id(), "VmRSS");

    // Calls begin at fixed times, whether or not earlier ones have ended: ten times as many as the
    // server could do at first, or as it has done since, whichever is more.
    let (sender, mut ended) = mpsc::unbounded_channel();
    let (start, end) = (Instant::now(), Duration::from_secs(seconds));
    let [offered, answered, good] = [(); 3].map(|()| Arc::new(AtomicUsize::new(0)));
    let begin = {
        let [offered, answered, good] = [&offered, &answered, &good].map(Arc::clone);
        let request = encapsulate(&pair, OPERATIONS);
        async move {
            // Calls that wait in the server may be served after the last one has begun. On a slow
            // machine, they are many beside those that have been served, so the load goes on.
            let is_enough = || {
                let begun = offered.load(Ordering::Relaxed);
                let waiting = begun - answered.load(Ordering::Relaxed);
                begun >= 8 * (good.load(Ordering::Relaxed) + waiting)
            };
            while start.elapsed() < end || (start.elapsed() < 10 * end && !is_enough()) {
                let planned = (capacity * start.elapsed().as_secs_f64()) as usize;
                let due = 10 * planned.max(good.load(Ordering::Relaxed));
                for number in offered.swap(due, Ordering::Relaxed)..due {
                    let mut calls = flood[number % flood.len()].clone();
                    let (sender, request) = (sender.clone(), request.clone());
                    tokio::spawn(async move {
                        let answer = calls.encapsulate(request).await;
                        let _ =
                            sender.send(answer.map_or_else(|status| status.code(), |_| Code::Ok));
                    });
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        }
    };
    let count = async {
        let mut codes = BTreeMap::new();
        while let Some(code) = ended.recv().await {
            *codes.entry(code as i32).or_insert(0) += 1;
            if code == Code::Ok {
                good.fetch_add(1, Ordering::Relaxed);
            }
            answered.fetch_add(1, Ordering::Relaxed);
        }
        codes
    };
    // A client with few calls is served all the while.
    let few = async {
        let (mut done, mut slowest) = (0, Duration::ZERO);
        while start.elapsed() < end {
            let begin = Instant::now();
            done += usize::from(polite.encapsulate(encapsulate(&pair, 1)).await.is_ok());
            slowest = slowest.max(begin.elapsed());
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        (done, slowest)
    };
    let ((), codes, (done, slowest)) = tokio::join!(begin, count, few);

    let peak = memory(server.program.id(), "VmHWM");
    let offered = offered.load(Ordering::Relaxed);
    println!(
        "capacity {capacity:.0} calls/s; {offered} calls offered in {seconds} s; \
         by code {codes:?}; other client: {done} calls, slowest {slowest:?}; \
         memory {idle} KiB before, {peak} at most"
    );
    let (good, refused) = (Code::Ok as i32, Code::ResourceExhausted as i32);
    assert!(codes.keys().all(|&code| code == good || code == refused), "{codes:?}");
    assert!(codes[&good] > 0 && offered >= 8 * codes[&good], "{codes:?}");
    assert!(peak < idle + MESSAGES + BESIDE, "{peak} KiB, {idle} before");
    assert!(done > 2 && slowest < Duration::from_secs(5), "{done} calls, {slowest:?}");

    let start = Instant::now();
    let request = GenerateKeysRequest { scheme: scheme(), count: 1, plain: false };
    client(port).calls().generate_keys(request).await.unwrap();
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    let metrics = get(admin, "/metrics").await;
    assert!(metrics.contains("ctru_message_bytes 0\n"), "{metrics}");
    assert!(metrics.contains("code=\"RESOURCE_EXHAUSTED\""), "{metrics}");
    server.program.end();
}
