//! What is written down: one JSON object a line.

use serde::{Deserialize, Serialize};

use crate::record::{KeyUse, Operation, Record};

/// The time of products that follow one another, on data that is on the device.
pub(super) const PRODUCTS: &str = "products";
/// The time of one launch of products, from its call to its end.
pub(super) const PRODUCTS_ALONE: &str = "products alone";
/// The time of an encryption, of one kernel or several, on data that is on the device.
pub(super) const ENCRYPTION: &str = "encryption";
/// The time of a batch in chunks side by side, one for each thread.
pub(super) const STREAMS: &str = "streams";
/// The time of the same chunks one after the other.
pub(super) const SEQUENTIAL: &str = "sequential";
/// The time of a batch of an engine, transfers included.
pub(super) const BATCH: &str = "batch";
/// The time of a chunk's kernels, on data that is on the device.
pub(super) const ON_DEVICE: &str = "on device";
/// What the machine can do in the best case; `op` is the unit of the operations.
pub(super) const CEILING: &str = "ceiling";

/// Operations of the ceilings, by the names that [`CEILING`] records have.
pub(super) mod unit {
    pub(crate) const BYTES_TO_DEVICE: &str = "bytes to the device";
    pub(crate) const BYTES_FROM_DEVICE: &str = "bytes from the device";
    pub(crate) const BYTES_BOTH_WAYS: &str = "bytes both ways";
    pub(crate) const BYTES_OF_DEVICE: &str = "bytes of device memory";
    pub(crate) const PERMUTATIONS: &str = "permutations";
    pub(crate) const BYTE_PRODUCTS: &str = "byte products";
}

/// A measurement, or what was counted.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(untagged)]
pub(super) enum Line {
    Time(Record),
    Cost(Cost),
    Resources(Resources),
    Load(Load),
}

/// What an operation needs of the machine, on average over a chunk.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Cost {
    pub(super) set: String,
    pub(super) op: String,
    pub(super) keys: KeyUse,
    /// Operations of the chunk.
    pub(super) batch: usize,
    /// Bytes copied to the device.
    pub(super) uploaded: f64,
    /// Bytes copied from the device.
    pub(super) downloaded: f64,
    /// Permutations of Keccak.
    pub(super) permutations: f64,
    /// Products of polynomials with coefficients of one byte.
    pub(super) byte_products: f64,
    /// Bytes of device memory that its kernels read and write, each element once a kernel.
    pub(super) memory_bytes: f64,
}

/// What a kernel takes of a multiprocessor.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Resources {
    pub(super) set: String,
    pub(super) kernel: String,
    /// Registers of a thread.
    pub(super) registers: u32,
    /// Bytes of a thread's local memory.
    pub(super) local_bytes: u32,
    /// Bytes of a block's shared memory.
    pub(super) shared_bytes: u32,
    /// Threads of a block.
    pub(super) threads: u32,
    /// Blocks that a multiprocessor holds.
    pub(super) blocks: u32,
}

/// What the engine takes while it works, a key for each operation.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Load {
    pub(super) set: String,
    pub(super) op: String,
    /// Bytes of device memory that the engine holds.
    pub(super) device_bytes: usize,
    /// Bytes of pinned host memory that the engine holds, the caller's not counted.
    pub(super) pinned_bytes: usize,
    /// Watts that `nvidia-smi` told; none if there is no such program.
    pub(super) watts: Vec<f64>,
}

/// All that was measured.
#[derive(Debug, Default)]
pub(super) struct Lines(pub(super) Vec<Line>);

impl Lines {
    /// The times of one kind.
    pub(super) fn times(&self, bench: &str) -> impl Iterator<Item = &Record> {
        let times = self.0.iter().filter_map(|line| match line {
            Line::Time(record) => Some(record),
            _ => None,
        });
        times.filter(move |record| record.bench == bench)
    }

    pub(super) fn costs(&self) -> impl Iterator<Item = &Cost> {
        self.0.iter().filter_map(|line| match line {
            Line::Cost(cost) => Some(cost),
            _ => None,
        })
    }

    pub(super) fn resources(&self) -> impl Iterator<Item = &Resources> {
        self.0.iter().filter_map(|line| match line {
            Line::Resources(resources) => Some(resources),
            _ => None,
        })
    }

    pub(super) fn loads(&self) -> impl Iterator<Item = &Load> {
        self.0.iter().filter_map(|line| match line {
            Line::Load(load) => Some(load),
            _ => None,
        })
    }

    /// The times of an operation of a set.
    pub(super) fn of<'a>(
        &'a self,
        bench: &str,
        set: &str,
        operation: Operation,
        keys: KeyUse,
    ) -> impl Iterator<Item = &'a Record> {
        self.times(bench).filter(move |record| {
            record.set == set && record.op == operation.name() && record.keys == keys
        })
    }
}

/// The values of `items`, each once, in the order in which they come.
pub(super) fn distinct<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    items.fold(Vec::new(), |mut found, item| {
        if !found.contains(&item) {
            found.push(item);
        }
        found
    })
}
