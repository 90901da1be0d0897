//! The versions of NVIDIA's programs that the checks were made with.

/// The version of the assembler that makes the machine code that the checks know.
pub(crate) const PTXAS_VERSION: &str = "13.0.88";
/// The version of the disassembler whose listings the checks know.
pub(crate) const NVDISASM_VERSION: &str = "13.5.37";
