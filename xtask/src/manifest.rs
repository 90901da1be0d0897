//! The manifest of a committed PTX file: its compiler, flags, and hashes of its sources.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::compiler::Version;
use crate::{Error, IoContext, Result, ptx, sources};

/// The folder of the PTX and its manifest, below the root of the workspace.
const FOLDER: &str = "crates/ctru-gpu-kernels/ptx";

/// The target of the compiler.
pub const TARGET: &str = "nvptx64-nvidia-cuda";
/// The oldest architecture that has all instructions of the machine.
pub const ARCH: &str = "sm_80";

/// Returns the folder of the KEM's PTX in the workspace at `root`.
#[must_use]
pub fn folder(root: &Path) -> PathBuf {
    root.join(FOLDER)
}

/// Returns the path of its manifest in the workspace at `root`.
#[must_use]
pub fn path(root: &Path) -> PathBuf {
    root.join(FOLDER).join("manifest.json")
}

/// The description of committed PTX. `ctru_gpu_kernels::ptx` reads that of the KEM, too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of the compiler.
    pub rustc: String,
    /// The version of its LLVM.
    pub llvm: String,
    /// The target of the compiler.
    pub target: String,
    /// The oldest architecture that runs the PTX.
    pub arch: String,
    /// The version of the PTX language. The driver must support it.
    pub ptx_isa: String,
    /// Further flags of the compiler.
    pub flags: Vec<String>,
    /// The SHA-256 of the sources, by package or by file.
    pub sources_sha256: BTreeMap<String, String>,
    /// The SHA-256 of the PTX.
    pub ptx_sha256: String,
    /// The names of the entry points.
    pub kernels: Vec<String>,
}

/// What the PTX of a manifest was compiled from, except for the compiler.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The oldest architecture that runs the PTX.
    pub arch: String,
    /// Further flags of the compiler.
    pub flags: Vec<String>,
    /// The SHA-256 of sources.
    pub sources_sha256: BTreeMap<String, String>,
}

impl Manifest {
    /// Returns the manifest of the PTX `text`, which `compiler` made.
    ///
    /// # Errors
    /// If the text is no PTX.
    pub fn new(text: &str, compiler: &Version, origin: Origin) -> Result<Self> {
        let module = ptx::parse(text)?;
        Ok(Self {
            rustc: compiler.rustc.clone(),
            llvm: compiler.llvm.clone(),
            target: TARGET.into(),
            arch: origin.arch,
            ptx_isa: module.version.into(),
            flags: origin.flags,
            sources_sha256: origin.sources_sha256,
            ptx_sha256: sources::sha256(text.as_bytes()),
            kernels: ptx::entries(&module).into_iter().map(Into::into).collect(),
        })
    }

    /// Reads a committed manifest.
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).at("read", path)?;
        serde_json::from_str(&text)
            .map_err(|source| Error::Json { what: path.display().to_string(), source })
    }

    /// Writes the manifest.
    pub fn write(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self)
            .map_err(|source| Error::Json { what: path.display().to_string(), source })?;
        fs::write(path, text + "\n").at("write", path)
    }

    /// Returns the compiler.
    #[must_use]
    pub fn compiler(&self) -> Version {
        Version { rustc: self.rustc.clone(), llvm: self.llvm.clone() }
    }

    /// Compares the committed text `ptx` and its present origin with this manifest. Returns one
    /// line for each difference.
    ///
    /// # Errors
    /// If the text is no PTX.
    pub fn differences(&self, ptx: &str, origin: Origin) -> Result<Vec<String>> {
        let expected = Self::new(ptx, &self.compiler(), origin)?;
        let mut differences = Vec::new();
        for (name, hash) in &expected.sources_sha256 {
            if self.sources_sha256.get(name) != Some(hash) {
                differences.push(format!("the sources of {name} have changed"));
            }
        }
        if self.ptx_sha256 != expected.ptx_sha256 {
            differences.push("the PTX is not the one that was built".into());
        }
        let settings = |of: &Self| (of.target.clone(), of.arch.clone(), of.flags.clone());
        if settings(self) != settings(&expected) {
            differences.push("it was built for another target or with other flags".into());
        }
        if differences.is_empty() && *self != expected {
            differences.push("the manifest has been edited".into());
        }
        Ok(differences)
    }
}

/// Returns the flags of the compiler for kernels with these arguments of LLVM. The assembly is the
/// result, so nothing is linked.
pub(crate) fn flags<'a>(llvm: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let llvm = llvm.into_iter().map(|argument| format!("-Cllvm-args={argument}"));
    ["--emit=asm", "-Clinker=true"].map(str::to_owned).into_iter().chain(llvm).collect()
}

impl Origin {
    /// Returns the origin of the KEM's PTX in the workspace at `root`. It runs on Ampere and all
    /// later architectures.
    pub fn of_kem(root: &Path) -> Result<Self> {
        // A thread's arrays live in registers only if the loops over them are unrolled. LLVM's
        // default threshold is too low for the base multiplication of the ring 653. A much higher
        // one unrolls Keccak's rounds, for which ptxas takes minutes.
        let flags = flags(["-unroll-threshold=1000"]);
        Ok(Self { arch: ARCH.into(), flags, sources_sha256: sources::hashes(root)? })
    }
}
