//! Known results, in the units of this project's records.
//!
//! "Paper" is the founding paper of CTRU-Prime on GPUs, measured on an RTX 3060 Ti.
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

/// A rate of products.
pub(crate) struct KnownProducts {
    pub(crate) set: &'static str,
    /// Author, device and method.
    pub(crate) who: &'static str,
    /// The method, as records name it.
    pub(crate) method: &'static str,
    /// Products per launch, if the source states it.
    pub(crate) batch: Option<usize>,
    pub(crate) per_second: f64,
}

/// The method names of the records.
const NTT: &str = "NTT";
const SCHOOLBOOK: &str = "schoolbook, tensor cores";
const ONE_KEY: &str = "one key, tensor cores";

/// Rates of products.
///
/// The paper compares rates with those of a product in C, which takes 13.98 us for n = 653, 14.53
/// us for 761 and 26.32 us for 1277. With the best batch, the rates are higher by the factors
/// 11.08, 256.13 and 256.98. For n = 653, the size of this batch is not known.
pub(crate) const PRODUCTS: [KnownProducts; 8] = [
    KnownProducts {
        set: "653",
        who: "authors, H200: NTT",
        method: NTT,
        batch: None,
        per_second: 67e6,
    },
    KnownProducts {
        set: "653",
        who: "authors, H200: tensor cores",
        method: SCHOOLBOOK,
        batch: None,
        per_second: 0.8e6,
    },
    KnownProducts {
        set: "653",
        who: "authors, H200: tensor cores, same key",
        method: ONE_KEY,
        batch: Some(2048),
        per_second: 36.6e6,
    },
    KnownProducts {
        set: "653",
        who: "paper, RTX 3060 Ti: NTT",
        method: NTT,
        batch: None,
        per_second: 11.08 / 13.98e-6,
    },
    KnownProducts {
        set: "761",
        who: "authors, H200: NTT",
        method: NTT,
        batch: None,
        per_second: 76e6,
    },
    KnownProducts {
        set: "761",
        who: "paper, RTX 3060 Ti: NTT",
        method: NTT,
        batch: Some(1024),
        per_second: 256.13 / 14.53e-6,
    },
    KnownProducts {
        set: "1277",
        who: "authors, H200: NTT",
        method: NTT,
        batch: None,
        per_second: 39e6,
    },
    KnownProducts {
        set: "1277",
        who: "paper, RTX 3060 Ti: NTT",
        method: NTT,
        batch: Some(1024),
        per_second: 256.98 / 26.32e-6,
    },
];

/// The times of launches of products by batch.
pub(crate) struct KnownLaunches {
    pub(crate) set: &'static str,
    pub(crate) who: &'static str,
    /// The method, as records name it.
    pub(crate) method: &'static str,
    /// Pairs of the number of products and the microseconds of all kernels together.
    pub(crate) microseconds: &'static [(usize, f64)],
}

/// Times of tensor-core products. Source: the paper, table 4, sums over its four kernels.
pub(crate) const LAUNCHES: [KnownLaunches; 2] = [
    KnownLaunches {
        set: "653",
        who: "paper, RTX 3060 Ti: tensor cores",
        method: SCHOOLBOOK,
        microseconds: &[
            (1, 22.07),
            (2, 23.45),
            (4, 32.73),
            (8, 54.91),
            (16, 117.28),
            (32, 249.41),
            (64, 610.02),
            (128, 1196.36),
            (256, 2368.19),
            (512, 4706.46),
        ],
    },
    KnownLaunches {
        set: "653",
        who: "paper, RTX 3060 Ti: tensor cores, same key",
        method: ONE_KEY,
        microseconds: &[
            (16, 21.60),
            (32, 21.57),
            (64, 22.17),
            (128, 23.74),
            (256, 28.80),
            (512, 40.38),
        ],
    },
];

/// The percentage of time that fusion saves in the authors' encryption, by batch. Source: our
/// measurement of the authors' code on an H200, in the setting of the paper's table 5.
pub(crate) const FUSION_SAVES: [(usize, f64); 3] = [(1, 42.0), (1024, 65.0), (65536, 82.0)];

/// The number of streams of [`streams_save`].
pub(crate) const STREAMS: usize = 8;

/// Returns the percentage of time that [`STREAMS`] streams save in the authors' code, compared with
/// the same number of sequential runs: n = 761, 16,384 operations, on an H200.
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

/// The time of one product of polynomials with 131,072 coefficients modulo 469762049, in
/// milliseconds.
pub(crate) struct KnownCyclic {
    pub(crate) who: &'static str,
    pub(crate) milliseconds: f64,
}

/// Times of products of such polynomials. Source: two student reports on NTTs on GPUs. Each value
/// is the best one of its report. It is not known whether the times contain more than kernels.
pub(crate) const CYCLIC: [KnownCyclic; 2] = [
    KnownCyclic { who: "report, Tesla T4", milliseconds: 6.65 },
    KnownCyclic { who: "report, RTX 3050 Ti", milliseconds: 19.5 },
];

/// Known rates in operations per second.
pub(crate) struct KnownOperations {
    /// The paper's table 7: RTX 3060 Ti, transfers included.
    pub(crate) paper: f64,
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
    let (paper, authors, authors_on_device) = match (set, operation) {
        ("653", Operation::Keygen) => (0.0636, 0.285, 0.285),
        ("653", Operation::Encaps) => (0.636, 26.5, 25.6),
        ("653", Operation::Decaps) => (0.352, 13.4, 15.2),
        ("761", Operation::Keygen) => (0.0544, 0.224, 0.223),
        ("761", Operation::Encaps) => (2.745, 27.0, 26.3),
        ("761", Operation::Decaps) => (2.622, 12.2, 15.8),
        ("1277", Operation::Keygen) => (0.0162, 0.095, 0.095),
        ("1277", Operation::Encaps) => (1.601, 15.8, 16.8),
        ("1277", Operation::Decaps) => (1.525, 7.5, 9.7),
        _ => return None,
    };
    let (peer, peer_on_device) = match operation {
        Operation::Keygen => (14.3, 14.9),
        Operation::Encaps => (11.7, 12.3),
        Operation::Decaps => (11.25, 11.9),
    };
    let beside = |rate: f64| (set == "761").then_some(rate * 1e6);
    Some(KnownOperations {
        paper: paper * 1e6,
        authors: authors * 1e6,
        authors_on_device: authors_on_device * 1e6,
        peer: beside(peer),
        peer_on_device: beside(peer_on_device),
    })
}
