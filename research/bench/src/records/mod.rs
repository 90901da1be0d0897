//! Files of measurements: one [`Record`] per line, as JSON.
//!
//! The value of [`Record::bench`] tells the kind of a measurement. Kinds with numbers besides times
//! keep these in [`Record::figures`], under the names of the module [`figure`].

mod file;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use ctru_measure::{KeyUse, Operation, Record, SeedUse, cpu_name};
use serde::de::DeserializeOwned;

use crate::error::Error;

/// Kinds of measurements.
pub(crate) mod kind {
    /// The methods of the key types, one operation per call.
    pub(crate) const SINGLE: &str = "single";
    /// Batches on an engine, transfers included.
    pub(crate) const BATCH: &str = "batch";
    /// Batches on an engine, whose data stays on the device.
    pub(crate) const ON_DEVICE: &str = "on device";
    /// Launches of multiplication kernels in a row, measured with the device's clock.
    pub(crate) const PRODUCTS: &str = "products";
    /// One launch of a multiplication kernel from its call to its end, measured with the host's
    /// clock.
    pub(crate) const PRODUCTS_ALONE: &str = "products alone";
    /// A product on one core of the CPU.
    pub(crate) const PRODUCT_ON_CPU: &str = "product on the CPU";
    /// The kernels of an encryption on data on the device.
    pub(crate) const ENCRYPTION: &str = "encryption";
    /// Sampling of secret polynomials on data on the device.
    pub(crate) const SAMPLING: &str = "sampling";
    /// The kernels of an encryption after the product, on data on the device.
    pub(crate) const AFTER_PRODUCT: &str = "after the product";
    /// Inversions of elements of `R_q` on data on the device.
    pub(crate) const INVERSION: &str = "inversion";
    /// Counters of a kernel's launches from Nsight Compute, without times.
    pub(crate) const COUNTERS: &str = "counters";
    /// Chunks in parallel, one per stream.
    pub(crate) const STREAMS: &str = "streams";
    /// The same chunks one after the other.
    pub(crate) const SEQUENTIAL: &str = "sequential";
    /// The best rate of the machine in one unit, which `op` names.
    pub(crate) const CEILING: &str = "ceiling";
    /// The work of an operation, as counts without times.
    pub(crate) const COST: &str = "cost";
    /// The resources of a multiprocessor that a kernel uses, as counts without times.
    pub(crate) const RESOURCES: &str = "resources";
    /// Power and memory of an engine under load, without times.
    pub(crate) const LOAD: &str = "load";
    /// The copies of the host for batches in pageable memory, alone.
    pub(crate) const HOST_COPIES: &str = "host copies";
    /// Plain copies between pinned memory and GPUs of the bytes that an operation moves.
    pub(crate) const LINK: &str = "link";
    /// The energy of a GPU for batches of operations, by its counter.
    pub(crate) const ENERGY: &str = "energy";
    /// One kernel of the KEM on random data on the device.
    #[cfg(feature = "cuda")]
    pub(crate) const KERNEL: &str = "kernel";
    /// Chains of modular products by the method `op`.
    pub(crate) const CHAIN: &str = "chain";
    /// A copy of an array, for comparison: of the size that chains work on, or of `len` numbers per
    /// product of a batch.
    pub(crate) const COPY: &str = "copy";
    /// Products of polynomials modulo `x^n - 1` by the method `op`.
    pub(crate) const CYCLIC: &str = "cyclic";
    /// One product modulo `x^n - 1` from its call to its end, measured with the host's clock.
    pub(crate) const CYCLIC_ALONE: &str = "cyclic alone";
    /// Products modulo `x^n - 1` whose launches one call issues.
    pub(crate) const CYCLIC_GRAPH: &str = "cyclic graph";
    /// The same, one product from its call to its end, measured with the host's clock.
    pub(crate) const CYCLIC_GRAPH_ALONE: &str = "cyclic graph alone";
    /// Batches of products modulo `x^n - 1` in chunks on one or several queues.
    pub(crate) const CYCLIC_CHUNKS: &str = "cyclic chunks";
    /// The same, with kernels that run two passes of different chunks at once.
    pub(crate) const CYCLIC_MIXED: &str = "cyclic mixed";
    /// Products modulo `x^n - 1` with one launch per layer of the transform.
    #[cfg(feature = "cuda")]
    pub(crate) const LAYERS_APART: &str = "layers apart";
    /// The same, one product from its call to its end, measured with the host's clock.
    pub(crate) const LAYERS_ALONE: &str = "layers alone";
    /// The same, and the host waits for each launch before it issues the next one.
    pub(crate) const LAYERS_SYNCHRONISED: &str = "layers synchronised";
    /// The rate of decryption failures by the model `op`.
    pub(crate) const FAILURE_RATE: &str = "failure rate";
    /// The failure rates of sampled keys or messages.
    pub(crate) const FAILURE_SPREAD: &str = "failure spread";
    /// The failure rate that only few keys or messages exceed.
    pub(crate) const FAILURE_RANK: &str = "failure rank";
    /// Counted decryption failures.
    pub(crate) const FAILURES: &str = "failures";
    /// Sampled covariances of the noise of decryption, compared with the model.
    pub(crate) const NOISE_COVARIANCE: &str = "noise covariance";
    /// The products of the KEM's rings.
    #[cfg(feature = "cuda")]
    pub(crate) const RING_PRODUCT: &str = "ring product";
}

/// The names of methods in the field `op` of records that the tables compare with known results.
pub(crate) mod method {
    /// The product by the paper's transform, on CUDA cores.
    pub(crate) const NTT: &str = "NTT";
    /// The product that the engine uses by default.
    pub(crate) const POLYPHASE: &str = "polyphase, tensor cores";
    /// The paper's product on tensor cores for operands that share one large polynomial.
    pub(crate) const ONE_KEY: &str = "one key, tensor cores";
    /// The paper's general product on tensor cores.
    pub(crate) const SCHOOLBOOK: &str = "schoolbook, tensor cores";
    /// The steps after the product in one kernel.
    pub(crate) const FUSED: &str = "fused";
    /// The steps after the product in three kernels.
    pub(crate) const UNFUSED: &str = "unfused";
    /// One inversion per element.
    pub(crate) const INVERT_EACH: &str = "each";
    /// Montgomery's trick, one product after the other.
    pub(crate) const INVERT_CHAIN: &str = "serial chain";
    /// Montgomery's trick as a tree of products.
    pub(crate) const INVERT_TREE: &str = "tree";
    /// One inversion per element by powers.
    pub(crate) const INVERT_EACH_BY_POWERS: &str = "Itoh-Tsujii, each";
    /// Montgomery's trick as a tree whose root is inverted by powers.
    pub(crate) const INVERT_TREE_BY_POWERS: &str = "tree with Itoh-Tsujii root";
}

/// The names of a record's further numbers.
pub(crate) mod figure {
    /// Bytes per operation to the device.
    pub(crate) const UPLOADED: &str = "uploaded";
    /// Bytes per operation from the device.
    pub(crate) const DOWNLOADED: &str = "downloaded";
    /// Permutations of Keccak per operation.
    pub(crate) const PERMUTATIONS: &str = "permutations";
    /// Products of polynomials whose coefficients are bytes, per operation.
    pub(crate) const BYTE_PRODUCTS: &str = "byte_products";
    /// Bytes of device memory per operation that kernels read and write.
    pub(crate) const MEMORY_BYTES: &str = "memory_bytes";
    /// Registers per thread.
    pub(crate) const REGISTERS: &str = "registers";
    /// Bytes of local memory per thread.
    pub(crate) const LOCAL_BYTES: &str = "local_bytes";
    /// Bytes of shared memory per block.
    pub(crate) const SHARED_BYTES: &str = "shared_bytes";
    /// Blocks that fit on a multiprocessor.
    pub(crate) const BLOCKS: &str = "blocks";
    /// The theoretical occupancy: the warps that fit on a multiprocessor beside each other, as a
    /// percentage of those that it can hold.
    pub(crate) const OCCUPANCY: &str = "occupancy";
    /// The achieved occupancy in percent, under the name that Nsight Compute gives it.
    pub(crate) const WARPS_ACTIVE: &str = "sm__warps_active.avg.pct_of_peak_sustained_active";
    /// The launches over which counters are medians.
    pub(crate) const LAUNCHES: &str = "launches";
    /// Bytes of device memory that an engine holds.
    pub(crate) const DEVICE_BYTES: &str = "device_bytes";
    /// Bytes of pinned host memory that an engine holds, without the caller's.
    pub(crate) const PINNED_BYTES: &str = "pinned_bytes";
    /// The number of GPUs that work at the same time.
    pub(crate) const GPUS: &str = "gpus";
    /// Median power in watts.
    pub(crate) const WATTS: &str = "watts";
    /// Energy per operation in joules.
    pub(crate) const JOULES: &str = "joules";
    /// Largest power in watts.
    pub(crate) const MOST_WATTS: &str = "most_watts";
    /// The modulus.
    pub(crate) const MODULUS: &str = "modulus";
    /// Elements of an array, or coefficients of a polynomial.
    pub(crate) const LEN: &str = "len";
    /// Bytes of the arrays that a launch reads and writes, without tables of factors, or bytes that
    /// the host copies per operation.
    pub(crate) const BYTES: &str = "bytes";
    /// Products per launch of a batch in chunks.
    pub(crate) const CHUNK: &str = "chunk";
    /// Queues of a batch in chunks.
    pub(crate) const QUEUES: &str = "queues";
    /// The factor by which noise is multiplied.
    pub(crate) const SCALE: &str = "scale";
    /// Logarithm of a rate to the base 2.
    pub(crate) const LOG2: &str = "log2";
    /// Number of samples.
    pub(crate) const SAMPLES: &str = "samples";
    /// Number of compared values.
    pub(crate) const COMPARED: &str = "compared";
    /// Largest difference of a sampled value from the expected one, in standard errors.
    pub(crate) const STANDARD_ERRORS: &str = "standard_errors";
    /// Mean of logarithms to the base 2.
    pub(crate) const MEAN: &str = "mean";
    /// Standard deviation of logarithms to the base 2.
    pub(crate) const DEVIATION: &str = "deviation";
    /// Least of several logarithms to the base 2.
    pub(crate) const LEAST: &str = "least";
    /// Middle one of several logarithms to the base 2.
    pub(crate) const MEDIAN: &str = "median";
    /// Largest of several logarithms to the base 2.
    pub(crate) const MOST: &str = "most";
    /// A number `k` that stands for one key, or message, in `2^k`.
    pub(crate) const RARITY: &str = "rarity";
    /// A value that a formula extrapolates, as a logarithm to the base 2.
    pub(crate) const EXTRAPOLATED: &str = "extrapolated";
    /// A sampled value for comparison, as a logarithm to the base 2.
    pub(crate) const SAMPLED: &str = "sampled";
    /// Counted failures.
    pub(crate) const FAILURES: &str = "failures";
    /// Decapsulations in which failures were counted.
    pub(crate) const DECAPSULATIONS: &str = "decapsulations";
    /// Instructions that warps execute, under the name that Nsight Compute gives them.
    pub(crate) const WARP_INSTRUCTIONS: &str = "smsp__inst_executed.sum";
    /// Instructions that threads execute, under the name that Nsight Compute gives them.
    pub(crate) const THREAD_INSTRUCTIONS: &str = "smsp__thread_inst_executed.sum";
}

/// Reads the lines of a file, also from the archives in `research/records`.
pub(crate) fn lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, Error> {
    let text = file::read(path)?;
    let parse = |(number, line)| {
        serde_json::from_str(line).map_err(|source| Error::Record {
            file: path.display().to_string(),
            line: number + 1,
            source,
        })
    };
    text.lines().enumerate().map(parse).collect()
}

/// Measurements.
#[derive(Debug, Default)]
pub(crate) struct Records(pub(crate) Vec<Record>);

impl Records {
    /// Reads files of measurements, also from the archives in `research/records`.
    pub(crate) fn read(paths: &[PathBuf]) -> Result<Self, Error> {
        let mut records = Vec::new();
        for path in paths {
            records.extend(lines(path)?);
        }
        Ok(Self(records))
    }

    /// Returns the measurements of one kind.
    pub(crate) fn of_kind(&self, kind: &str) -> impl Iterator<Item = &Record> {
        self.0.iter().filter(move |record| record.bench == kind)
    }

    /// Returns the measurements of an operation of a parameter set, in which the engine derives the
    /// seeds of a batch from one.
    pub(crate) fn of<'a>(
        &'a self,
        kind: &str,
        set: &str,
        operation: Operation,
        keys: KeyUse,
    ) -> impl Iterator<Item = &'a Record> {
        self.of_kind(kind).filter(move |record| {
            record.set == set
                && record.op == operation.name()
                && record.keys == keys
                && record.seeds == SeedUse::Expanded
        })
    }
}

/// Takes measurements one by one.
pub(crate) type Report<'a> = &'a mut dyn FnMut(Record) -> Result<(), Error>;

/// Collects the measurements that `measure` reports, and writes each to `json` at once, if that is
/// given.
pub(crate) fn collect(
    json: Option<&Path>,
    measure: impl FnOnce(Report<'_>) -> Result<(), Error>,
) -> Result<Records, Error> {
    let mut records = Records::default();
    let open = |path| File::create(path).map(BufWriter::new).map_err(Error::write(path));
    let mut file = json.map(|path| Ok::<_, Error>((path, open(path)?))).transpose()?;
    measure(&mut |record| {
        if let Some((path, file)) = &mut file {
            record.write_line(&mut *file).map_err(Error::write(path))?;
        }
        records.0.push(record);
        Ok(())
    })?;
    if let Some((path, mut file)) = file {
        file.flush().map_err(Error::write(path))?;
    }
    Ok(records)
}

/// Splits the name of a kernel into the operation and the parameter set. The set is empty if the
/// name does not end with one.
pub(crate) fn operation_and_set(kernel: &str) -> (&str, &str) {
    let split = kernel.rsplit_once('_');
    split.filter(|(_, set)| ["653", "761", "1277"].contains(set)).unwrap_or((kernel, ""))
}

/// Returns each value of `items` once, in the order of their first appearance.
pub(crate) fn distinct<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    items.fold(Vec::new(), |mut found, item| {
        if !found.contains(&item) {
            found.push(item);
        }
        found
    })
}

/// Returns a record of this kind about one thread and data of the CPU.
pub(crate) fn on_cpu(kind: &str, set: &str, op: &str) -> Record {
    Record {
        bench: kind.to_owned(),
        engine: "cpu".to_owned(),
        device: cpu_name(),
        set: set.to_owned(),
        op: op.to_owned(),
        transfers: "none".to_owned(),
        threads: 1,
        ..Record::default()
    }
}

/// Returns a record of this kind about one thread and data of the GPU with this name.
pub(crate) fn on_gpu(kind: &str, device: &str, set: &str, op: &str) -> Record {
    Record {
        engine: "gpu".to_owned(),
        device: device.to_owned(),
        backend: "cuda".to_owned(),
        ..on_cpu(kind, set, op)
    }
}

/// Returns the median and the largest of power readings in watts. Without readings, the list is
/// empty.
pub(crate) fn watts(mut watts: Vec<f64>) -> Vec<(&'static str, f64)> {
    watts.sort_by(f64::total_cmp);
    let (median, most) = (watts.get(watts.len() / 2), watts.last());
    [(figure::WATTS, median), (figure::MOST_WATTS, most)]
        .into_iter()
        .filter_map(|(name, value)| Some((name, *value?)))
        .collect()
}
