//! Measures kernels on random data on the device: tables 4, 5 and 6 and figure 6.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use ctru_gpu_kernels::descriptor::{Batch, Kernel, RingKernels};
use ctru_gpu_kernels::table;
use ctru_gpu_runtime::cuda::{CudaDevice, CudaMemory, CudaQueue};
use ctru_gpu_runtime::{Device, Queue, RuntimeError};
use ctru_math::Ring;
use ctru_measure::{KeyUse, Record};
use research_paper::table as compared;

use super::session::Session;
use crate::error::Error;
use crate::gpu::{self, Array};
use crate::records::{figure, kind, method};

/// A method to multiply elements of `R_q` by small ones.
struct Method {
    name: &'static str,
    kernels: &'static RingKernels,
    /// Tells whether each product has its own large operand or all products share one.
    keys: KeyUse,
}

/// The methods of table 4.
static METHODS: [Method; 4] = [
    Method { name: method::NTT, kernels: &compared::MULTIPLY_SAMPLED, keys: KeyUse::Each },
    Method { name: method::POLYPHASE, kernels: &compared::POLYPHASE_SMALL, keys: KeyUse::Each },
    Method {
        name: method::ONE_KEY,
        kernels: &compared::SAME_PUBLIC_KEY_MULTIPLY,
        keys: KeyUse::One,
    },
    Method { name: method::SCHOOLBOOK, kernels: &compared::SCHOOLBOOK_SMALL, keys: KeyUse::Each },
];

/// Products per launch: the paper's batches up to 1024, that of the authors' products with one key,
/// and larger ones.
const PRODUCT_BATCHES: [u32; 15] =
    [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 16384, 65536];

/// A sequence of kernels that computes ciphertexts from coins and messages.
struct Path {
    name: &'static str,
    kernels: &'static [&'static RingKernels],
}

/// The paths of whole encryptions. The savings are relative to the first one.
static PATHS: [Path; 4] = [
    Path {
        name: "NTT, five kernels",
        kernels: &[
            &compared::SAMPLE,
            &compared::MULTIPLY_SAMPLED,
            &compared::UNFUSED_ENCODE_MESSAGE,
            &compared::UNFUSED_COMPRESS_AND_ADD,
            &compared::UNFUSED_PACK_CIPHERTEXT,
        ],
    },
    Path {
        name: "NTT, three kernels",
        kernels: &[&compared::SAMPLE, &compared::MULTIPLY_SAMPLED, &compared::ENCRYPT],
    },
    Path {
        name: "polyphase, five kernels",
        kernels: &[
            &compared::SAMPLE,
            &compared::POLYPHASE_SMALL,
            &compared::UNFUSED_ENCODE_MESSAGE,
            &compared::UNFUSED_COMPRESS_AND_ADD,
            &compared::UNFUSED_PACK_CIPHERTEXT,
        ],
    },
    Path { name: "polyphase, one kernel", kernels: &[&table::FUSED_ENCRYPT] },
];

/// The paths of sampling secret polynomials. The savings are relative to the first one.
static SAMPLING: [Path; 2] = [
    Path {
        name: "two kernels",
        kernels: &[&compared::SAMPLE, &compared::UNFUSED_DOUBLE_AND_ADD_ONE],
    },
    Path { name: "one kernel", kernels: &[&compared::SAMPLE_SECRET] },
];

/// Encryptions, or secret polynomials, per launch.
const PATH_BATCHES: [u32; 3] = [1, 1024, 65536];

/// The paths of table 5. Both compute ciphertexts from products and messages: they encode the
/// message, compress the sum and pack it.
static AFTER_PRODUCT: [Path; 2] = [
    Path { name: method::FUSED, kernels: &[&compared::ENCRYPT] },
    Path {
        name: method::UNFUSED,
        kernels: &[
            &compared::UNFUSED_ENCODE_MESSAGE,
            &compared::UNFUSED_COMPRESS_AND_ADD,
            &compared::UNFUSED_PACK_CIPHERTEXT,
        ],
    },
];

/// Ciphertexts per launch: the paper's batches, and one that fills a GPU.
const AFTER_PRODUCT_BATCHES: [u32; 12] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 65536];

/// The kernels of table 6 besides those of [`METHODS`].
static OTHERS: [&RingKernels; 9] = [
    &table::FUSED_ENCRYPT,
    &table::FUSED_VERIFY,
    &table::FUSED_DECRYPT,
    &table::MULTIPLY_NODES,
    &table::DIVIDE_NODES,
    &table::INVERT,
    &table::DERIVE_ENCAPSULATION,
    &table::DERIVE_DECAPSULATION,
    &table::REJECTION_SECRET,
];

/// One GPU with two modules: the engine's kernels, and the kernels that are compared with them.
#[derive(Copy, Clone)]
pub(super) struct Devices {
    pub(super) engine: CudaDevice,
    pub(super) compared: CudaDevice,
}

impl Devices {
    /// Returns the GPU with the module of this kernel.
    pub(super) fn with(&self, kernel: &Kernel) -> &CudaDevice {
        if kernel.is_of(&compared::MODULE) { &self.compared } else { &self.engine }
    }
}

/// Measures table 4 and figure 6: the methods of multiplication.
pub(super) fn products<R: Ring>(session: &mut Session<'_>, devices: Devices) -> Result<(), Error> {
    let most = PRODUCT_BATCHES.into_iter().max().unwrap_or(1);
    for Method { name, kernels, keys } in &METHODS {
        let kernel = kernels.of::<R>();
        let queue = &devices.with(kernel).queue()?;
        let arrays = Arrays::new(queue, [kernel], most)?;
        for count in PRODUCT_BATCHES {
            let batch =
                if *keys == KeyUse::One { Batch::shared(count) } else { Batch::each(count) };
            let launch = || arrays.launch(queue, kernel, batch);
            let in_a_row = gpu::time_in_a_row(queue, launch)?;
            let alone = gpu::time_alone(queue, launch)?;
            for (bench, statistics) in [(kind::PRODUCTS, in_a_row), (kind::PRODUCTS_ALONE, alone)] {
                let record = Record { keys: *keys, ..on_device(bench, name, count) };
                session.time(statistics, f64::from(count), record)?;
            }
        }
    }
    Ok(())
}

/// Measures table 5, the kernels after the product, whole encryptions, and the sampling of secret
/// polynomials.
pub(super) fn fusion<R: Ring>(session: &mut Session<'_>, devices: Devices) -> Result<(), Error> {
    paths::<R>(session, devices, kind::AFTER_PRODUCT, &AFTER_PRODUCT, &AFTER_PRODUCT_BATCHES)?;
    paths::<R>(session, devices, kind::ENCRYPTION, &PATHS, &PATH_BATCHES)?;
    paths::<R>(session, devices, kind::SAMPLING, &SAMPLING, &PATH_BATCHES)
}

/// Measures sequences of kernels in batches.
fn paths<R: Ring>(
    session: &mut Session<'_>,
    devices: Devices,
    bench: &str,
    paths: &[Path],
    batches: &[u32],
) -> Result<(), Error> {
    let most = batches.iter().copied().max().unwrap_or(1);
    for Path { name, kernels } in paths {
        let kernels: Vec<&Kernel> = kernels.iter().map(|kernels| kernels.of::<R>()).collect();
        let queue = &devices.with(kernels[0]).queue()?;
        let arrays = Arrays::new(queue, kernels.iter().copied(), most)?;
        for &count in batches {
            let launch = || {
                kernels
                    .iter()
                    .try_for_each(|kernel| arrays.launch(queue, kernel, Batch::each(count)))
            };
            let statistics = gpu::time_in_a_row(queue, launch)?;
            session.time(statistics, f64::from(count), on_device(bench, name, count))?;
        }
    }
    Ok(())
}

/// Makes a record of kernels on data on the device.
pub(super) fn on_device(bench: &str, op: &str, count: u32) -> Record {
    Record {
        bench: bench.to_owned(),
        op: op.to_owned(),
        batch: count as usize,
        transfers: "none".to_owned(),
        threads: 1,
        ..Record::default()
    }
}

/// Reports the first half of table 6: the resources that kernels use.
pub(super) fn resources<R: Ring>(session: &mut Session<'_>, devices: Devices) -> Result<(), Error> {
    for kernels in METHODS.iter().map(|method| method.kernels).chain(OTHERS) {
        let kernel = kernels.of::<R>();
        let device = devices.with(kernel);
        let resources = device.resources(kernel)?;
        let held = threads_of_multiprocessor(device.info()?.compute_capability);
        let occupancy = held.map(|held| {
            // A block takes whole warps.
            let threads = kernel.shape().threads().next_multiple_of(WARP);
            let running = f64::from(resources.blocks * threads);
            (figure::OCCUPANCY, 100.0 * running / f64::from(held))
        });
        let record = Record {
            bench: kind::RESOURCES.to_owned(),
            op: kernel.name().trim_end_matches(&format!("_{}", R::N)).to_owned(),
            threads: kernel.shape().threads() as usize,
            ..Record::default()
        };
        let record = record.with_figures([
            (figure::REGISTERS, resources.registers.into()),
            (figure::LOCAL_BYTES, resources.local_bytes.into()),
            (figure::SHARED_BYTES, resources.shared_bytes.into()),
            (figure::BLOCKS, resources.blocks.into()),
        ]);
        session.count(record.with_figures(occupancy))?;
    }
    Ok(())
}

/// The threads of a warp.
const WARP: u32 = 32;

/// Returns the number of threads that a multiprocessor can hold, if it is known for this compute
/// capability. Source: CUDA C++ Programming Guide, technical specifications per compute capability.
fn threads_of_multiprocessor(compute_capability: (u32, u32)) -> Option<u32> {
    match compute_capability {
        (7, 5) => Some(1024),
        (8, 6..=9) | (12, _) => Some(1536),
        (7 | 8, 0) | (9 | 10, 0) => Some(2048),
        _ => None,
    }
}

/// The arrays of random elements for a sequence of kernels, by the name of their contents.
struct Arrays(HashMap<&'static str, Array>);

impl Arrays {
    /// Makes arrays of `rows` rows.
    fn new<'a>(
        queue: &CudaQueue,
        kernels: impl IntoIterator<Item = &'a Kernel>,
        rows: u32,
    ) -> Result<Self, RuntimeError> {
        let mut arrays = HashMap::new();
        for parameter in kernels.into_iter().flat_map(|kernel| kernel.parameters()) {
            if let Entry::Vacant(place) = arrays.entry(content(parameter.name())) {
                place.insert(Array::new(queue, parameter.element_bytes(), rows)?);
            }
        }
        Ok(Self(arrays))
    }

    /// Launches one of the kernels on its arrays.
    fn launch(&self, queue: &CudaQueue, kernel: &Kernel, batch: Batch) -> Result<(), RuntimeError> {
        let memory = kernel
            .parameters()
            .iter()
            .filter_map(|parameter| self.0.get(content(parameter.name())));
        let memory: Vec<&CudaMemory> = memory.map(Array::memory).collect();
        queue.launch(kernel, &memory, batch)
    }
}

/// Returns the name of a parameter's contents. A kernel that reads the output of the preceding
/// kernel may have another name for it.
fn content(parameter: &'static str) -> &'static str {
    match parameter {
        "product" => "sigma",
        other => other,
    }
}
