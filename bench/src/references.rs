//! The figures that are known: the paper's on an RTX 3060 Ti, and others as measured on one NVIDIA H200 (driver 580, CUDA 13.0,
//! 1980 MHz, pinned memory) on 2026-11-20.
//!
//! "Authors" is the paper's public code at commit f864f6a of 2024-11: keys packed in 13 bits, every operation with its own, the
//! transfers of its own pinned buffers included; repaired where it crashed. At n = 653 it is the code whose product does not copy
//! its operands to local memory, which as published is five times slower. Its decapsulation does not perform implicit rejection.
//!
//! "CUDA-PQC" is ICICLE's ML-KEM-768, the fastest open lattice KEM on GPUs, in batches of 2^20 with a key each.

use ctru_measure::Operation;

/// Products a second.
pub(crate) struct KnownProducts {
    pub(crate) set: &'static str,
    pub(crate) who: &'static str,
    /// Products of a launch, where it is known.
    pub(crate) batch: Option<usize>,
    pub(crate) per_second: f64,
}

/// Source: the paper's time of 256 products, 14.53 us; the authors' kernels on an H200.
pub(crate) const PRODUCTS: [KnownProducts; 6] = [
    KnownProducts { set: "653", who: "authors, H200: NTT", batch: None, per_second: 67e6 },
    KnownProducts {
        set: "653",
        who: "authors, H200: tensor cores",
        batch: None,
        per_second: 0.8e6,
    },
    KnownProducts {
        set: "653",
        who: "authors, H200: tensor cores, same key",
        batch: Some(2048),
        per_second: 36.6e6,
    },
    KnownProducts {
        set: "761",
        who: "paper, RTX 3060 Ti: NTT",
        batch: Some(256),
        per_second: 256.0 / 14.53e-6,
    },
    KnownProducts { set: "761", who: "authors, H200: NTT", batch: None, per_second: 76e6 },
    KnownProducts { set: "1277", who: "authors, H200: NTT", batch: None, per_second: 39e6 },
];

/// What the authors' fused encryption saves of the time of the unfused one, in percent, by batch. Source: their table 5 on an H200.
pub(crate) const FUSION_SAVES: [(usize, f64); 3] = [(1, 42.0), (1024, 65.0), (65536, 82.0)];

/// Streams of [`STREAMS_SAVE`].
pub(crate) const STREAMS: usize = 8;

/// What the authors' streams save of the time of as many sequential runs, in percent: n = 761, 16,384 operations, on an H200.
#[must_use]
pub(crate) fn streams_save(operation: Operation) -> f64 {
    match operation {
        Operation::Keygen => 5.0,
        Operation::Encaps => 33.0,
        Operation::Decaps => 62.0,
    }
}

/// Of a kernel for products.
pub(crate) struct KnownResources {
    pub(crate) registers: u32,
    pub(crate) shared_kilobytes: f64,
    pub(crate) blocks: u32,
}

/// Source: the authors' product on an H200.
pub(crate) const RESOURCES: KnownResources =
    KnownResources { registers: 40, shared_kilobytes: 18.4, blocks: 8 };

/// The authors' code draws so many watts of an H200, from the least to the most.
pub(crate) const WATTS: (u32, u32) = (411, 612);

/// Operations a second.
pub(crate) struct KnownOperations {
    /// On an RTX 3060 Ti, transfers included. Source: the paper's table 7.
    pub(crate) paper: f64,
    /// The authors' code on an H200, transfers included.
    pub(crate) authors: f64,
    /// The same without transfers.
    pub(crate) authors_on_device: f64,
    /// CUDA-PQC on an H200, transfers included, beside n = 761.
    pub(crate) peer: Option<f64>,
    /// The best of its tuning knobs, without transfers.
    pub(crate) peer_on_device: Option<f64>,
}

/// What is known of an operation of a set.
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
