//! The engine's kernels as PTX. `cargo xtask build-ptx` builds this text, and the NVIDIA driver
//! compiles it for the GPU of the machine.

pub use ctru_simt::ptx::Module;

/// The module of the kernels in [`table`](crate::table), which has one file for each family of
/// kernels.
pub static MODULE: Module = Module::with_deflated(
    include_str!("../ptx/shared.ptx"),
    include_bytes!(concat!(env!("OUT_DIR"), "/families.deflate")),
);

/// The origin of [`MODULE`] as JSON: the fields of [`MANIFEST`], and hashes of the sources. `cargo
/// xtask build-ptx --check` compares these hashes to detect changed sources.
pub const MANIFEST_JSON: &str = include_str!("../ptx/manifest.json");

/// The compiler of a module, and the devices that run it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Version of the compiler.
    pub rustc: &'static str,
    /// Version of its LLVM.
    pub llvm: &'static str,
    /// The oldest GPU architecture that runs the PTX, such as `sm_80`.
    pub arch: &'static str,
    /// The version of the PTX language. The driver must support it.
    pub ptx_isa: &'static str,
    /// SHA-256 of the module's text.
    pub ptx_sha256: &'static str,
}

/// The manifest of [`MODULE`].
pub const MANIFEST: Manifest = Manifest {
    rustc: string("rustc"),
    llvm: string("llvm"),
    arch: string("arch"),
    ptx_isa: string("ptx_isa"),
    ptx_sha256: string("ptx_sha256"),
};

/// Returns the string value of `key` in the manifest. If there is none, compilation fails.
const fn string(key: &str) -> &'static str {
    let (json, key) = (MANIFEST_JSON, key.as_bytes());
    let mut start = 1;
    while !(json.as_bytes()[start - 1] == b'"' && begins_with(json.as_bytes(), start, key)) {
        start += 1;
    }
    start += key.len();
    assert!(begins_with(json.as_bytes(), start, b"\": \""), "the key must have a string value");
    let (_, value) = json.split_at(start + 4);
    let mut end = 0;
    while value.as_bytes()[end] != b'"' {
        end += 1;
    }
    value.split_at(end).0
}

const fn begins_with(text: &[u8], start: usize, what: &[u8]) -> bool {
    let mut i = 0;
    while i < what.len() {
        if start + i >= text.len() || text[start + i] != what[i] {
            return false;
        }
        i += 1;
    }
    true
}
