//! `ctru-research copies`: measures what the host copies for batches in pageable memory.
//!
//! An engine copies keys and ciphertexts of such a batch to pinned memory, and the results back.
//! Here the same bytes are copied while no GPU reads or writes memory.

use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::Instant;

use ctru_kem::{CtruPrime653, CtruPrime761, CtruPrime1277, CtruPrimeSet, SharedSecret};
use ctru_math::NtruPrimeRing;
use ctru_measure::{CASES, KeyUse, Operation, Record, Statistics, cpu_name, table};

use crate::error::Error;
use crate::records::{self, Report, figure, kind};

/// Measure how fast the host copies what batches in pageable memory contain
///
/// Threads copy the inputs of chunks to memory of their own, and the results of chunks from there.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Operations per batch
    #[arg(
        long,
        value_name = "N",
        default_value_t = 65536,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    batch: u32,
    /// Threads that copy [default: one for each CPU]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    threads: Option<u32>,
    /// Write one JSON object per measurement to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Operations per chunk.
const CHUNK: usize = 2048;
/// The number of samples, and the number of batches of each.
const SAMPLES: usize = 11;
const BATCHES: usize = 20;

/// Runs the command.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<(), Error> {
    let threads = match args.threads {
        Some(threads) => threads as usize,
        None => thread::available_parallelism().map_or(1, usize::from),
    };
    let batch = args.batch as usize;
    let measured = records::collect(args.json.as_deref(), |report| {
        measure::<CtruPrime653>(batch, threads, report)?;
        measure::<CtruPrime761>(batch, threads, report)?;
        measure::<CtruPrime1277>(batch, threads, report)
    })?;
    let mut table = table::markdown(["set", "op", "keys", "M/s", "GB/s", "spread"], 3..6);
    for record in &measured.0 {
        let bytes = record.figure(figure::BYTES).unwrap_or(f64::NAN);
        table.add_row([
            record.set.clone(),
            record.op.clone(),
            record.keys.name().to_owned(),
            format!("{:.1}", record.ops_per_s / 1e6),
            format!("{:.1}", bytes * record.ops_per_s / 1e9),
            format!("{:.1} %", record.spread * 100.0),
        ]);
    }
    writeln!(out, "{table}")?;
    Ok(())
}

/// Measures the operations of a parameter set.
fn measure<P: CtruPrimeSet>(batch: usize, threads: usize, report: Report<'_>) -> Result<(), Error> {
    for (operation, keys) in CASES.into_iter().filter(|&(_, keys)| keys != KeyUse::Resident) {
        let [inputs, results] = bytes_of::<P>(operation, keys);
        let record = Record {
            bench: kind::HOST_COPIES.to_owned(),
            engine: "cpu".to_owned(),
            device: cpu_name(),
            set: P::Ring::N.to_string(),
            pk_encoding: "mixed-radix".to_owned(),
            op: operation.name().to_owned(),
            keys,
            batch,
            threads,
            ..Record::default()
        };
        let times = time(inputs, results, batch, threads);
        let record = record.timed(times, (batch * BATCHES) as f64);
        report(record.with_figures([(figure::BYTES, (inputs + results) as f64)]))?;
    }
    Ok(())
}

/// Returns the bytes per operation that a batch gives to an engine, and those that it takes back.
/// The seeds are expanded from one, and one key for all operations counts nothing.
pub(crate) fn bytes_of<P: CtruPrimeSet>(operation: Operation, keys: KeyUse) -> [usize; 2] {
    let (public, private) = (P::ENCAPSULATION_KEY_BYTES, P::DECAPSULATION_KEY_BYTES);
    let (ciphertext, secret) = (P::CIPHERTEXT_BYTES, size_of::<SharedSecret>());
    match (operation, keys) {
        (Operation::Keygen, KeyUse::Private) => [0, private],
        (Operation::Keygen, _) => [0, private + public],
        (Operation::Encaps, KeyUse::Each) => [public, ciphertext + secret],
        (Operation::Encaps, _) => [0, ciphertext + secret],
        (Operation::Decaps, KeyUse::Each) => [private + ciphertext, secret],
        (Operation::Decaps, _) => [ciphertext, secret],
    }
}

/// Times the copies of [`BATCHES`] batches. The host copies `inputs` bytes of each operation to
/// memory of a thread, and `results` bytes from there.
fn time(inputs: usize, results: usize, batch: usize, threads: usize) -> Statistics {
    // Not zeros, whose pages the system may share.
    let (given, mut received) = (vec![1; batch * inputs], vec![1; batch * results]);
    let chunk = |row: usize| (CHUNK * row).max(1);
    let given: Vec<&[u8]> = given.chunks(chunk(inputs)).collect();
    let received: Vec<_> = received.chunks_mut(chunk(results)).map(Mutex::new).collect();
    let count = batch.div_ceil(CHUNK);
    let staged = || (vec![1; CHUNK * inputs], vec![1; CHUNK * results]);
    let mut staged: Vec<(Vec<u8>, Vec<u8>)> = (0..threads).map(|_| staged()).collect();
    let mut sample = || {
        let next = AtomicUsize::new(0);
        let start = Barrier::new(threads);
        let copy = |(to, from): &mut (Vec<u8>, Vec<u8>)| {
            start.wait();
            let begin = Instant::now();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count * BATCHES {
                    return (begin, Instant::now());
                }
                if let Some(chunk) = given.get(number % count) {
                    to[..chunk.len()].copy_from_slice(chunk);
                }
                if let Some(chunk) = received.get(number % count) {
                    // No thread panics while it holds the lock.
                    let mut chunk = chunk.lock().expect("the lock is not poisoned");
                    let len = chunk.len();
                    chunk.copy_from_slice(&from[..len]);
                }
            }
        };
        let times: Vec<(Instant, Instant)> = thread::scope(|scope| {
            let copy = &copy;
            let threads: Vec<_> =
                staged.iter_mut().map(|staged| scope.spawn(move || copy(staged))).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        let begin = times.iter().map(|&(begin, _)| begin).min();
        let end = times.iter().map(|&(_, end)| end).max();
        begin.zip(end).map_or(f64::NAN, |(begin, end)| (end - begin).as_nanos() as f64)
    };
    // The first sample warms up.
    sample();
    Statistics::of((0..SAMPLES).map(|_| sample()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_of_batches_of_all_sizes_are_timed() {
        for (inputs, results) in [(3, 5), (0, 5), (3, 0)] {
            for batch in [1, CHUNK, CHUNK + 1] {
                let Statistics { median, samples, .. } = time(inputs, results, batch, 2);
                assert!(median > 0.0 && samples == SAMPLES);
            }
        }
    }

    #[test]
    fn every_operation_has_a_record_with_its_bytes() {
        let mut records = Vec::new();
        measure::<CtruPrime761>(100, 2, &mut |record| {
            records.push(record);
            Ok(())
        })
        .unwrap();
        let bytes: Vec<_> = records.iter().map(|record| record.figure(figure::BYTES)).collect();
        let expected = [2729, 1571, 984, 2142, 984, 2555].map(|bytes| Some(f64::from(bytes)));
        assert_eq!(bytes, expected);
    }
}
