//! Draws the picture at the head of the README: rates on one core of a CPU and on a GPU, and sizes,
//! beside those of other KEMs of similar security.

use ctru_kem::{CtruPrime761, ParameterSet};
use ctru_measure::chart::{Axis, Bar, Chart, Colour};
use ctru_measure::{KeyUse, Operation, Record};

use super::palette;
use crate::records::{Records, kind};
use crate::references;

/// The parameter set beside the other KEMs.
const SET: &str = "761";

/// The other KEMs on a CPU: the name of the library in records, and the name in the picture.
const LIBRARIES: [(&str, &str); 3] = [
    ("aws-lc-rs", "ML-KEM-768, aws-lc"),
    ("libcrux-ml-kem", "ML-KEM-768, libcrux"),
    ("pqcrypto-ntruprime", "sntrup761, PQClean"),
];

const CTRU: &str = "CTRU-Prime-761";

/// Draws a row of charts for each operation, and one for the sizes.
pub(super) fn draw(records: &Records) -> Vec<Chart> {
    let rows = [
        (Operation::Encaps, "Encapsulations"),
        (Operation::Decaps, "Decapsulations"),
        (Operation::Keygen, "Key generations"),
    ];
    let rates = rows.into_iter().flat_map(|(operation, name)| {
        [on_cpu(records, operation, name), on_gpu(records, operation, name)]
    });
    let sizes = [
        sizes(
            "Bytes of a ciphertext",
            <CtruPrime761>::CIPHERTEXT_BYTES,
            references::CIPHERTEXT_BYTES,
        ),
        sizes(
            "Bytes of a public key",
            <CtruPrime761>::ENCAPSULATION_KEY_BYTES,
            references::PUBLIC_KEY_BYTES,
        ),
    ];
    rates.chain(sizes).collect()
}

fn bar(name: &str, colour: Colour, value: f64) -> Bar {
    Bar { name: name.to_owned(), colour, value }
}

fn chart(title: String, bars: Vec<Bar>) -> Chart {
    Chart { title, x: Axis::default(), bars, ..Chart::default() }
}

/// Draws the rates of single operations.
fn on_cpu(records: &Records, operation: Operation, name: &str) -> Chart {
    let of = |engine: &str, set: &str| {
        let is_wanted = |record: &&Record| {
            record.engine == engine
                && record.op == operation.name()
                && record.pk_encoding != "packed13"
                && (set.is_empty() || record.set == set)
        };
        records.of_kind(kind::SINGLE).find(is_wanted).map(|record| record.ops_per_s)
    };
    let ours = of("ctru", SET).map(|rate| bar(CTRU, palette::OURS, rate));
    let others = LIBRARIES
        .iter()
        .filter_map(|(engine, name)| Some(bar(name, palette::OTHERS, of(engine, "")?)));
    let title = format!("{name} per second on one CPU core\nAMD EPYC (Zen 5), one at a time");
    chart(title, ours.into_iter().chain(others).collect())
}

/// Draws the rates of batches in which each operation has its own key.
fn on_gpu(records: &Records, operation: Operation, name: &str) -> Chart {
    let ours = records.of(kind::BATCH, SET, operation, KeyUse::Each);
    let ours = ours.max_by_key(|record| record.batch);
    let ours = ours.map(|record| bar(CTRU, palette::OURS, record.ops_per_s));
    let known = references::operations(SET, operation);
    let peer = known.as_ref().and_then(|known| known.peer);
    let peer = peer.map(|rate| bar("ML-KEM-768, ICICLE", palette::OTHERS, rate));
    let authors = known.map(|known| bar("authors' CUDA code", palette::AUTHORS, known.authors));
    let title = format!(
        "{name} per second on one GPU\nNVIDIA H200, batches with a key each, transfers included"
    );
    chart(title, ours.into_iter().chain(peer).chain(authors).collect())
}

/// Draws the sizes of this and of other KEMs.
fn sizes(title: &str, ours: usize, others: [(&str, usize); 2]) -> Chart {
    let ours = bar(CTRU, palette::OURS, ours as f64);
    let others = others.map(|(name, bytes)| bar(name, palette::OTHERS, bytes as f64));
    chart(title.to_owned(), [ours].into_iter().chain(others).collect())
}
