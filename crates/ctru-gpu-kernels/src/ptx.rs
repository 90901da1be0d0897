//! The kernels as PTX, which `cargo xtask build-ptx` makes of them and the NVIDIA driver compiles for the GPU at hand.

use ctru_math::Ring;

/// The PTX of all kernels of [`table`](crate::table), by their names.
pub const TEXT: &str = include_str!("../ptx/ctru.ptx");

/// The lines of [`TEXT`] that the ring `R` needs: the driver takes a third of the time to compile them.
pub fn of<R: Ring>() -> impl Iterator<Item = &'static str> {
    let own = match R::N {
        653 => "_653",
        761 => "_761",
        _ => "_1277",
    };
    of_kernels(TEXT, move |name| name.ends_with(own))
}

/// The lines of `text`, which is [`TEXT`] or a part of it, that kernels need, by their names.
pub fn of_kernels(text: &str, is_wanted: impl Fn(&str) -> bool) -> impl Iterator<Item = &str> {
    // An entry point ends with a brace at the beginning of a line.
    text.split_inclusive('\n')
        .scan(true, move |wanted, line| {
            if let Some(entry) = line.strip_prefix(".visible .entry ") {
                *wanted = is_wanted(entry.trim_end().trim_end_matches('('));
            }
            let kept = wanted.then_some(line);
            *wanted |= line.starts_with('}');
            Some(kept)
        })
        .flatten()
}

/// What it was made of, as JSON: [`MANIFEST`] and the hashes by which `cargo xtask build-ptx --check` finds that the sources
/// have changed.
pub const MANIFEST_JSON: &str = include_str!("../ptx/manifest.json");

/// What the PTX was made by, and what it runs on.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Version of the compiler.
    pub rustc: &'static str,
    /// Version of its LLVM.
    pub llvm: &'static str,
    /// The least architecture of a GPU that runs the PTX, like `sm_80`.
    pub arch: &'static str,
    /// The version of the PTX language, which the driver has to know.
    pub ptx_isa: &'static str,
    /// SHA-256 of [`TEXT`].
    pub ptx_sha256: &'static str,
}

/// The manifest of [`TEXT`].
pub const MANIFEST: Manifest = Manifest {
    rustc: string("rustc"),
    llvm: string("llvm"),
    arch: string("arch"),
    ptx_isa: string("ptx_isa"),
    ptx_sha256: string("ptx_sha256"),
};

/// The string that follows `"key": "` in the manifest; fails to compile if there is none.
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
