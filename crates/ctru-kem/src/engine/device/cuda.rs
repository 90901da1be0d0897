//! The device engine on NVIDIA GPUs.

use std::string::String;
use std::vec::Vec;

use ctru_gpu_kernels::kernel::Kernels;
use ctru_gpu_kernels::{ptx, table};
pub use ctru_gpu_runtime::cuda::{CudaDevice, DeviceInfo, cuda_version, devices};
use ctru_math::Ring;

use super::DeviceEngine;
use crate::engine::EngineError;

/// Runs batches on an NVIDIA GPU.
pub type CudaEngine<P> = DeviceEngine<P, CudaDevice>;

/// The kernels of each operation as the engine runs it by default: encapsulation, which is compiled at once, decapsulation and key
/// generation, neither of which waits for the other's.
static PARTS: [&[&Kernels]; 3] = [
    &[
        &table::DECODE_MIXED_RADIX,
        &table::DECODE_PACKED13,
        &table::EXPAND_SEEDS,
        &table::DERIVE_ENCAPSULATION,
        &table::DERIVE_ENCAPSULATION_SMALL,
        &table::FUSED_ENCRYPT,
    ],
    &[
        &table::UNPACK_SECRET_KEY_MIXED_RADIX,
        &table::UNPACK_SECRET_KEY_PACKED13,
        &table::REJECTION_SECRET,
        &table::REJECTION_SECRET_SMALL,
        &table::FUSED_DECRYPT,
        &table::DERIVE_DECAPSULATION,
        &table::DERIVE_DECAPSULATION_SMALL,
        &table::FUSED_VERIFY,
    ],
    &[
        &table::EXPAND_KEY_PAIR_SEEDS,
        &table::DERIVE_KEY_PAIR,
        &table::SAMPLE_SECRET,
        &table::SAMPLE,
        &table::MULTIPLY_LEAVES,
        &table::MULTIPLY_NODES,
        &table::INVERT,
        &table::DIVIDE_NODES,
        &table::DIVIDE_LEAVES,
        &table::POLYPHASE_SMALL,
        &table::PACK_SECRET_KEY_MIXED_RADIX,
        &table::PACK_SECRET_KEY_PACKED13,
        &table::ENCODE_MIXED_RADIX,
        &table::ENCODE_PACKED13,
    ],
];

/// The kernels of the ring `R` in parts: those of the operations, and the others.
fn parts<R: Ring>() -> Vec<String> {
    let mut parts: Vec<Vec<&str>> =
        PARTS.iter().map(|part| part.iter().map(|kernels| kernels.of::<R>().name).collect()).collect();
    let all = table::ALL.iter().map(|kernels| kernels.of::<R>().name);
    let others = all.filter(|name| !parts.iter().flatten().any(|known| known == name)).collect();
    parts.push(others);
    let text: String = ptx::of::<R>().collect();
    parts.iter().map(|part| ptx::of_kernels(&text, |name| part.contains(&name)).collect()).collect()
}

/// Opens GPU number `index` with the kernels of the ring `R`. The driver compiles those of encapsulation now, and others when they
/// are needed, once for each process.
///
/// # Errors
/// [`EngineError::Device`] if there is no driver or no such GPU, or if the driver does not compile the kernels.
pub fn open<R: Ring>(index: u32) -> Result<CudaDevice, EngineError> {
    CudaDevice::open_in_parts(index, parts::<R>()).map_err(EngineError::device)
}

#[cfg(test)]
mod tests {
    use ctru_math::{R653, R761, R1277};

    use super::*;

    /// Every kernel of a ring stands in one part.
    fn check<R: Ring>() {
        let parts = parts::<R>();
        for kernels in table::ALL {
            let entry = std::format!(".entry {}(", kernels.of::<R>().name);
            assert_eq!(parts.iter().map(|part| part.matches(&entry).count()).sum::<usize>(), 1, "{entry}");
        }
        let entries = parts.iter().map(|part| part.matches(".entry ").count()).sum::<usize>();
        assert_eq!(entries, table::ALL.len());
    }

    #[test]
    fn every_kernel_is_in_one_part() {
        check::<R653>();
        check::<R761>();
        check::<R1277>();
    }
}
