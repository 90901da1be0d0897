//! The versions of NVIDIA's programs with which the checks were developed.

/// The version of the assembler. The checks know the machine code that it writes.
pub(crate) const PTXAS_VERSION: &str = "13.0.88";
/// The version of the disassembler. The checks know the form of its listings.
pub(crate) const NVDISASM_VERSION: &str = "13.5.37";
