//! Backends: the sets of vector instructions for which this crate has arithmetic.
//!
//! The first use selects the widest backend that the CPU has. Only this module asks the CPU which
//! instructions it has, and only this module makes tokens. A token proves that the CPU has the
//! instructions of a backend.
//!
//! A build with `RUSTFLAGS='--cfg ctru_backend="NAME"'` has one backend and does not ask the CPU.
//! Such a build compiles only if the target (`-C target-cpu`, `-C target-feature`) is known to have
//! that backend.

#[cfg(all(target_arch = "x86_64", not(target_env = "sgx")))]
use core::arch::x86_64::__cpuid;
use core::fmt;
use core::str::FromStr;
use core::sync::atomic::{AtomicU8, Ordering};

/// A set of vector instructions for which this crate has arithmetic.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Backend {
    /// Plain Rust: every CPU.
    Portable,
    /// NEON, vectors of 128 bits: 64-bit Arm, little-endian.
    Neon,
    /// The proposal simd128 of WebAssembly, vectors of 128 bits.
    Simd128,
    /// SSE2, vectors of 128 bits: every x86-64.
    Sse2,
    /// AVX2, vectors of 256 bits.
    Avx2,
    /// AVX-512 with the parts F, BW, DQ, VL, VBMI and VBMI2, vectors of 512 bits: Intel since Ice
    /// Lake, AMD since Zen 4.
    Avx512,
}

impl Backend {
    /// All backends, the narrowest first.
    pub const ALL: [Self; 6] =
        [Self::Portable, Self::Neon, Self::Simd128, Self::Sse2, Self::Avx2, Self::Avx512];

    /// Returns the name that records, the command line and `--cfg ctru_backend` use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Neon => "neon",
            Self::Simd128 => "simd128",
            Self::Sse2 => "sse2",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    /// Returns whether this build can run the backend on this CPU.
    #[must_use]
    pub fn is_available(self) -> bool {
        match FIXED {
            Some(fixed) => self == fixed,
            None => cpu_has(self),
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The text names no backend.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct UnknownBackend;

impl fmt::Display for UnknownBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the backends are portable, neon, simd128, sse2, avx2 and avx512")
    }
}

impl core::error::Error for UnknownBackend {}

impl FromStr for Backend {
    type Err = UnknownBackend;

    fn from_str(name: &str) -> Result<Self, UnknownBackend> {
        Self::ALL.into_iter().find(|backend| backend.name() == name).ok_or(UnknownBackend)
    }
}

/// This build cannot run the backend on this CPU.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Unavailable(pub Backend);

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match FIXED {
            Some(fixed) => write!(f, "this build has no backend but {fixed}, so not {}", self.0),
            None => write!(f, "this CPU cannot run the backend {}", self.0),
        }
    }
}

impl core::error::Error for Unavailable {}

/// Returns the backends that this build can run on this CPU, the narrowest first.
pub fn available() -> impl Iterator<Item = Backend> {
    Backend::ALL.into_iter().filter(|backend| backend.is_available())
}

/// Returns the backend in use.
#[inline]
#[must_use]
pub fn in_use() -> Backend {
    match FIXED {
        Some(fixed) => fixed,
        // `Relaxed` is enough, because no other memory depends on this variable.
        None => Backend::ALL
            .get(usize::from(IN_USE.load(Ordering::Relaxed)))
            .copied()
            .unwrap_or_else(select_widest),
    }
}

/// Returns the backend for loops in which half of the loads are not aligned. This is the backend in
/// use, except that a Zen 4 takes AVX2 in place of AVX-512 if the build has both. A load of 64
/// bytes that is not aligned crosses a cache line on every CPU, and this costs a Zen 4 more than a
/// Xeon: with division steps on AVX-512, a key pair takes 1.25 to 1.5 times as long there.
pub(crate) fn for_unaligned_loads() -> Backend {
    match in_use() {
        #[cfg(all(target_arch = "x86_64", not(target_env = "sgx")))]
        Backend::Avx512 if FIXED.is_none() && is_zen4() => Backend::Avx2,
        backend => backend,
    }
}

/// Returns whether the CPU is a Zen 4. Keeps the answer, because a hypervisor may answer slowly.
/// The first calls of several threads may each ask, and get the same answer. In an enclave of SGX,
/// which no Zen 4 has, nobody may ask.
#[cfg(all(target_arch = "x86_64", not(target_env = "sgx")))]
fn is_zen4() -> bool {
    static KNOWN: AtomicU8 = AtomicU8::new(u8::MAX);
    match KNOWN.load(Ordering::Relaxed) {
        u8::MAX => {
            let (vendor, version) = (__cpuid(0), __cpuid(1));
            let vendor = [vendor.ebx, vendor.edx, vendor.ecx];
            let is_zen4 = vendor == AMD && family(version.eax) == 25;
            KNOWN.store(is_zen4.into(), Ordering::Relaxed);
            is_zen4
        }
        known => known == 1,
    }
}

/// The name of the vendor, as the CPU gives it: "AuthenticAMD".
#[cfg(all(target_arch = "x86_64", not(target_env = "sgx")))]
const AMD: [u32; 3] =
    [u32::from_le_bytes(*b"Auth"), u32::from_le_bytes(*b"enti"), u32::from_le_bytes(*b"cAMD")];

/// Returns the family of a CPU from the number of its version: the sum of two fields, of which the
/// upper one is 0 unless the lower one is 15. Of AMD's family 25, only Zen 4 has AVX-512. A Zen 5
/// is of family 26.
#[cfg(all(target_arch = "x86_64", not(target_env = "sgx")))]
fn family(version: u32) -> u32 {
    (version >> 8 & 0xf) + (version >> 20 & 0xff)
}

/// Selects the backend that all threads use from now on. Results never depend on the backend. On a
/// Zen 4, inversion modulo `q` runs on AVX2 if AVX-512 is selected.
///
/// The function is for tests, measurements and programs that let users choose. Operations that have
/// begun finish on their backend.
///
/// # Errors
/// Returns [`Unavailable`] if this build cannot run `backend` on this CPU. Then nothing changes.
pub fn select(backend: Backend) -> Result<(), Unavailable> {
    if !backend.is_available() {
        return Err(Unavailable(backend));
    }
    IN_USE.store(backend as u8, Ordering::Relaxed);
    Ok(())
}

/// Whether all CPUs of the target have NEON, in the byte order that the backend is written for.
const NEON: bool =
    cfg!(all(target_arch = "aarch64", target_endian = "little", target_feature = "neon"));

/// Whether the target has the vectors of WebAssembly.
const SIMD128: bool = cfg!(all(target_arch = "wasm32", target_feature = "simd128"));

/// The backend that this build always uses: the one that `--cfg ctru_backend` names, or the
/// portable one on a target that has no other. `None` if the backend is chosen at run time.
pub(crate) const FIXED: Option<Backend> =
    if cfg!(ctru_backend = "portable") || !(cfg!(target_arch = "x86_64") || NEON || SIMD128) {
        Some(Backend::Portable)
    } else if cfg!(ctru_backend = "neon") {
        Some(Backend::Neon)
    } else if cfg!(ctru_backend = "simd128") {
        Some(Backend::Simd128)
    } else if cfg!(ctru_backend = "sse2") {
        Some(Backend::Sse2)
    } else if cfg!(ctru_backend = "avx2") {
        Some(Backend::Avx2)
    } else if cfg!(ctru_backend = "avx512") {
        Some(Backend::Avx512)
    } else {
        None
    };

#[cfg(all(
    ctru_backend = "neon",
    not(all(target_arch = "aarch64", target_endian = "little", target_feature = "neon"))
))]
compile_error!("ctru_backend=\"neon\" needs a target with NEON: 64-bit Arm, little-endian");
#[cfg(all(ctru_backend = "simd128", not(all(target_arch = "wasm32", target_feature = "simd128"))))]
compile_error!("ctru_backend=\"simd128\" needs wasm32 with -C target-feature=+simd128");
#[cfg(all(ctru_backend = "sse2", not(target_feature = "sse2")))]
compile_error!("ctru_backend=\"sse2\" needs a target with SSE2: every x86-64 is one");
#[cfg(all(ctru_backend = "avx2", not(target_feature = "avx2")))]
compile_error!("ctru_backend=\"avx2\" needs a target CPU with AVX2: -C target-feature=+avx2");
#[cfg(all(
    ctru_backend = "avx512",
    not(all(
        target_feature = "avx512bw",
        target_feature = "avx512dq",
        target_feature = "avx512vl",
        target_feature = "avx512vbmi",
        target_feature = "avx512vbmi2"
    ))
))]
compile_error!(
    "ctru_backend=\"avx512\" needs a target CPU with AVX-512: \
     -C target-feature=+avx512bw,+avx512dq,+avx512vl,+avx512vbmi,+avx512vbmi2"
);

#[cfg(target_arch = "x86_64")]
cpufeatures::new!(cpu_avx2, "avx2");
#[cfg(target_arch = "x86_64")]
cpufeatures::new!(
    cpu_avx512,
    "avx2",
    "avx512f",
    "avx512bw",
    "avx512dq",
    "avx512vl",
    "avx512vbmi",
    "avx512vbmi2"
);

/// Proves nothing: every CPU runs plain Rust.
#[derive(Copy, Clone)]
pub(crate) struct Portable;

/// Proves that the CPU has NEON.
#[cfg(all(target_arch = "aarch64", target_endian = "little", target_feature = "neon"))]
#[derive(Copy, Clone)]
pub(crate) struct Neon(());

#[cfg(all(target_arch = "aarch64", target_endian = "little", target_feature = "neon"))]
impl Neon {
    /// Returns the token: the target has NEON.
    pub(crate) const fn of_target() -> Self {
        Self(())
    }
}

/// Proves that the target has the vectors of WebAssembly.
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
#[derive(Copy, Clone)]
pub(crate) struct Simd128(());

#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
impl Simd128 {
    /// Returns the token: the target has the vectors. A module with vectors runs only where they
    /// exist.
    pub(crate) const fn of_target() -> Self {
        Self(())
    }
}

/// Proves that the CPU has SSE2.
#[cfg(target_arch = "x86_64")]
#[derive(Copy, Clone)]
pub(crate) struct Sse2(());

#[cfg(target_arch = "x86_64")]
impl Sse2 {
    /// Returns the token: the x86-64 baseline includes SSE2.
    pub(crate) const fn of_target() -> Self {
        Self(())
    }
}

/// Proves that the CPU has AVX2.
#[cfg(target_arch = "x86_64")]
#[derive(Copy, Clone)]
pub(crate) struct Avx2(());

#[cfg(target_arch = "x86_64")]
impl Avx2 {
    /// Returns the token if the CPU has AVX2.
    #[inline(always)]
    pub(crate) fn detect() -> Option<Self> {
        if cpu_avx2::get() { Some(Self(())) } else { None }
    }
}

/// Proves that the CPU has AVX2 and the parts of AVX-512 that [`Backend::Avx512`] names.
#[cfg(target_arch = "x86_64")]
#[derive(Copy, Clone)]
pub(crate) struct Avx512(());

#[cfg(target_arch = "x86_64")]
impl Avx512 {
    /// Returns the token if the CPU has AVX2 and these parts of AVX-512.
    #[inline(always)]
    pub(crate) fn detect() -> Option<Self> {
        if cpu_avx512::get() { Some(Self(())) } else { None }
    }
}

/// Returns whether the CPU has the instructions of a backend.
fn cpu_has(backend: Backend) -> bool {
    match backend {
        Backend::Portable => true,
        Backend::Neon => NEON,
        Backend::Simd128 => SIMD128,
        Backend::Sse2 => cfg!(target_arch = "x86_64"),
        #[cfg(target_arch = "x86_64")]
        Backend::Avx2 => Avx2::detect().is_some(),
        #[cfg(target_arch = "x86_64")]
        Backend::Avx512 => Avx512::detect().is_some(),
        #[cfg(not(target_arch = "x86_64"))]
        Backend::Avx2 | Backend::Avx512 => false,
    }
}

/// Index in [`Backend::ALL`] of the backend in use, or an index past its end before the first use.
static IN_USE: AtomicU8 = AtomicU8::new(u8::MAX);

#[cold]
fn select_widest() -> Backend {
    let widest = Backend::ALL.into_iter().rev().find(|&backend| cpu_has(backend));
    let widest = widest.unwrap_or(Backend::Portable);
    IN_USE.store(widest as u8, Ordering::Relaxed);
    widest
}

#[cfg(all(test, target_arch = "x86_64", not(target_env = "sgx")))]
mod tests {
    use super::*;

    #[test]
    fn families() {
        // Versions of a Zen 3, a Zen 4, a Zen 5 and a Xeon.
        let versions = [0x00a2_0f10, 0x00a1_0f11, 0x00b4_0f40, 0x000c_06f2];
        assert_eq!(versions.map(family), [25, 25, 26, 6]);
    }
}
