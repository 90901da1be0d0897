//! Known results of others that we measured ourselves, in the units of this project's records.
//! [`sources`] has the figures that others published.
//!
//! "Authors" is the paper's public code, `cuCTRU_Prime`, at commit f864f6a of 2024-11. It was
//! measured on one NVIDIA H200 (driver 580, CUDA 13.0, 1980 MHz, pinned memory) on 2026-11-20: keys
//! packed in 13 bits, each operation with its own key, transfers of its pinned buffers included.
//! The code was repaired where it crashed. At n = 653, a variant was measured whose product does
//! not copy its operands to local memory; the published product is more than ten times slower. The
//! decapsulation of this code performs no implicit rejection.
//!
//! "CUDA-PQC" is ICICLE's ML-KEM-768, the fastest open lattice KEM on GPUs that we found. It was
//! measured on the same card and day, in batches of 2^20, each operation with its own key.

use ctru_measure::Operation;

use crate::records::method;
use crate::sources;

/// A rate of products.
pub(crate) struct KnownProducts {
    pub(crate) author: &'static str,
    /// The method, as records name it.
    pub(crate) method: &'static str,
    /// Products per launch, if it is known.
    pub(crate) batch: Option<usize>,
    pub(crate) per_second: f64,
}

/// Returns the rates of the authors' products for a parameter set, on an H200.
#[must_use]
pub(crate) fn authors_products(set: &str) -> Vec<KnownProducts> {
    let known =
        |method, batch, per_second| KnownProducts { author: "authors", method, batch, per_second };
    match set {
        "653" => vec![
            known(method::NTT, None, 67e6),
            known(method::SCHOOLBOOK, None, 0.8e6),
            known(method::ONE_KEY, Some(2048), 36.6e6),
        ],
        "761" => vec![known(method::NTT, None, 76e6)],
        "1277" => vec![known(method::NTT, None, 39e6)],
        _ => Vec::new(),
    }
}

/// Returns the known rates of products for a parameter set: those of the authors' code on an H200,
/// and the paper's best one.
#[must_use]
pub(crate) fn products(set: &str) -> Vec<KnownProducts> {
    let factors = sources::paper().figure_6.iter().find(|factors| factors.set == set);
    let paper =
        factors.zip(sources::paper().products_per_second(set)).map(|(factors, per_second)| {
            KnownProducts {
                author: "paper",
                method: method::NTT,
                batch: factors.best_batch,
                per_second,
            }
        });
    authors_products(set).into_iter().chain(paper).collect()
}

/// The percentage of time that fusion saves in the authors' encryption, by batch, on an H200, in
/// the setting of the paper's table 5.
pub(crate) const FUSION_SAVES: [(usize, f64); 3] = [(1, 42.0), (1024, 65.0), (65536, 82.0)];

/// The numbers of operations and of streams of [`streams_save`].
pub(crate) const STREAMED: (usize, usize) = (16384, 8);

/// Returns the percentage of time that streams save in the authors' code, compared with the same
/// number of sequential runs: n = 761, [`STREAMED`], on an H200.
#[must_use]
pub(crate) fn streams_save(operation: Operation) -> f64 {
    match operation {
        Operation::Keygen => 5.0,
        Operation::Encaps => 33.0,
        Operation::Decaps => 62.0,
    }
}

/// The resources of a kernel.
pub(crate) struct KnownResources {
    pub(crate) registers: u32,
    pub(crate) shared_kilobytes: f64,
    pub(crate) blocks: u32,
}

/// The resources of the authors' product on an H200.
pub(crate) const RESOURCES: KnownResources =
    KnownResources { registers: 40, shared_kilobytes: 18.4, blocks: 8 };

/// The least and the largest power of an H200 under the authors' code, in watts.
pub(crate) const WATTS: (u32, u32) = (411, 612);

/// Known rates in operations per second.
pub(crate) struct KnownOperations {
    /// The authors' code on an H200, transfers included.
    pub(crate) authors: f64,
    /// The authors' code on an H200 without transfers.
    pub(crate) authors_on_device: f64,
    /// CUDA-PQC on an H200, transfers included. Given only for n = 761, whose security is similar.
    pub(crate) peer: Option<f64>,
    /// CUDA-PQC on an H200 without transfers, with the best of its tuning parameters.
    pub(crate) peer_on_device: Option<f64>,
}

/// Returns the known rates of an operation of a parameter set.
#[must_use]
pub(crate) fn operations(set: &str, operation: Operation) -> Option<KnownOperations> {
    let (authors, authors_on_device) = match (set, operation) {
        ("653", Operation::Keygen) => (0.285, 0.285),
        ("653", Operation::Encaps) => (26.5, 25.6),
        ("653", Operation::Decaps) => (13.4, 15.2),
        ("761", Operation::Keygen) => (0.224, 0.223),
        ("761", Operation::Encaps) => (27.0, 26.3),
        ("761", Operation::Decaps) => (12.2, 15.8),
        ("1277", Operation::Keygen) => (0.095, 0.095),
        ("1277", Operation::Encaps) => (15.8, 16.8),
        ("1277", Operation::Decaps) => (7.5, 9.7),
        _ => return None,
    };
    let (peer, peer_on_device) = match operation {
        Operation::Keygen => (14.3, 14.9),
        Operation::Encaps => (11.7, 12.3),
        Operation::Decaps => (11.25, 11.9),
    };
    let beside = |rate: f64| (set == "761").then_some(rate * 1e6);
    Some(KnownOperations {
        authors: authors * 1e6,
        authors_on_device: authors_on_device * 1e6,
        peer: beside(peer),
        peer_on_device: beside(peer_on_device),
    })
}

/// The bytes of a ciphertext: FIPS 203, table 3, and the NTRU Prime submission of round 3.
pub(crate) const CIPHERTEXT_BYTES: [(&str, usize); 2] = [("ML-KEM-768", 1088), ("sntrup761", 1039)];
/// The bytes of a public key, from the same documents.
pub(crate) const PUBLIC_KEY_BYTES: [(&str, usize); 2] = [("ML-KEM-768", 1184), ("sntrup761", 1158)];
