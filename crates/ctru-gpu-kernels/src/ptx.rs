//! The engine's kernels as PTX, which `cargo xtask build-ptx` builds and the NVIDIA driver compiles
//! for the GPU at hand.

use core::fmt;

/// A text of PTX.
///
/// A device is opened with a module and runs the kernels of that module, see
/// [`Kernel::is_of`](crate::descriptor::Kernel::is_of). The descriptors of kernels say which arrays
/// an entry point takes, so every text is a module.
pub struct Module {
    text: &'static str,
}

impl Module {
    /// Makes a module of this PTX.
    #[must_use]
    pub const fn new(text: &'static str) -> Self {
        Self { text }
    }

    /// Returns the PTX.
    #[must_use]
    pub const fn text(&self) -> &'static str {
        self.text
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Module({} bytes of PTX)", self.text.len())
    }
}

/// The kernels of [`table`](crate::table), by their names.
pub static MODULE: Module = Module::new(include_str!("../ptx/ctru.ptx"));

/// The origin of [`MODULE`] as JSON: [`MANIFEST`], and the hashes by which `cargo xtask build-ptx
/// --check` finds that the sources have changed.
pub const MANIFEST_JSON: &str = include_str!("../ptx/manifest.json");

/// The compiler of a module, and the devices that run it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Version of the compiler.
    pub rustc: &'static str,
    /// Version of its LLVM.
    pub llvm: &'static str,
    /// The least architecture of a GPU that runs the PTX, such as `sm_80`.
    pub arch: &'static str,
    /// The version of the PTX language, which the driver has to know.
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

/// Returns the string that follows `"key": "` in the manifest. Without one, compilation fails.
const fn string(key: &str) -> &'static str {
    let (json, key) = (MANIFEST_JSON, key.as_bytes());
    let mut start = 1;
    while !(json.as_bytes()[start - 1] == b'"' && begins_with(json.as_bytes(), start, key)) {
        start += 1;
    }
    start += key.len();
    assert!(begins_with(json.as_bytes(), start, b"\": \""), "the key must have a string");
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
