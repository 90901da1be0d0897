//! What the committed PTX was made of, and by what.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::compiler::Version;
use crate::{Error, IoContext, Result, ptx, sources};

/// Folder of PTX and manifest, below the root of the workspace.
const FOLDER: &str = "crates/ctru-gpu-kernels/ptx";

/// Path of a recipe's PTX in the workspace at `root`.
#[must_use]
pub fn ptx_path(root: &Path, recipe: &Recipe) -> PathBuf {
    root.join(FOLDER).join(recipe.ptx)
}

/// Path of its manifest in the workspace at `root`.
#[must_use]
pub fn path(root: &Path, recipe: &Recipe) -> PathBuf {
    root.join(FOLDER).join(recipe.manifest)
}

/// What the committed PTX was made of, and by what. `ctru_gpu_kernels::ptx` reads it too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of the compiler.
    pub rustc: String,
    /// Version of its LLVM.
    pub llvm: String,
    /// Target of the compiler.
    pub target: String,
    /// The least architecture that runs the PTX.
    pub arch: String,
    /// Version of the PTX language, which the driver has to know.
    pub ptx_isa: String,
    /// Further flags of the compiler.
    pub flags: Vec<String>,
    /// SHA-256 of each package's sources.
    pub sources_sha256: BTreeMap<String, String>,
    /// SHA-256 of the PTX.
    pub ptx_sha256: String,
    /// Names of the entry points.
    pub kernels: Vec<String>,
}

impl Manifest {
    /// Returns the manifest of `text`, which `compiler` made of the sources below `root`.
    pub fn new(root: &Path, text: &str, compiler: &Version, recipe: &Recipe) -> Result<Self> {
        Ok(Self {
            rustc: compiler.rustc.clone(),
            llvm: compiler.llvm.clone(),
            target: recipe.target.into(),
            arch: recipe.arch.into(),
            ptx_isa: ptx::isa(text).unwrap_or_default().into(),
            flags: recipe.flags.iter().map(|&flag| flag.into()).collect(),
            sources_sha256: sources::hashes(root)?,
            ptx_sha256: sources::sha256(text.as_bytes()),
            kernels: ptx::entries(text).into_iter().map(Into::into).collect(),
        })
    }

    /// Reads the committed manifest.
    pub fn read(root: &Path, recipe: &Recipe) -> Result<Self> {
        let path = path(root, recipe);
        let text = fs::read_to_string(&path).at("read", &path)?;
        serde_json::from_str(&text)
            .map_err(|source| Error::Json { what: path.display().to_string(), source })
    }

    /// Writes it to its place.
    pub fn write(&self, root: &Path, recipe: &Recipe) -> Result<()> {
        let path = path(root, recipe);
        let text = serde_json::to_string_pretty(self)
            .map_err(|source| Error::Json { what: path.display().to_string(), source })?;
        fs::write(&path, text + "\n").at("write", &path)
    }

    /// Returns the compiler.
    #[must_use]
    pub fn compiler(&self) -> Version {
        Version { rustc: self.rustc.clone(), llvm: self.llvm.clone() }
    }

    /// Returns how the workspace at `root` differs from this manifest, one line for each
    /// difference.
    ///
    /// `ptx` is the committed text.
    pub fn differences(&self, root: &Path, ptx: &str, recipe: &Recipe) -> Result<Vec<String>> {
        let expected = Self::new(root, ptx, &self.compiler(), recipe)?;
        let mut differences = Vec::new();
        for (package, hash) in &expected.sources_sha256 {
            if self.sources_sha256.get(package) != Some(hash) {
                differences.push(format!("the sources of {package} have changed"));
            }
        }
        if self.ptx_sha256 != expected.ptx_sha256 {
            differences.push("the PTX is not the one that was built".into());
        }
        let flags = |manifest: &Self| {
            (manifest.target.clone(), manifest.arch.clone(), manifest.flags.clone())
        };
        if flags(self) != flags(&expected) {
            differences.push("it was built for another target or with other flags".into());
        }
        if differences.is_empty() && *self != expected {
            differences.push("the manifest has been edited".into());
        }
        Ok(differences)
    }
}

/// How a file of committed PTX is built.
#[derive(Copy, Clone, Debug)]
pub struct Recipe {
    /// Name of the file.
    pub ptx: &'static str,
    /// Name of its manifest.
    pub manifest: &'static str,
    /// Features of the device crate.
    pub features: &'static str,
    /// Target of the compiler.
    pub target: &'static str,
    /// Architecture.
    pub arch: &'static str,
    /// Further flags of the compiler.
    pub flags: &'static [&'static str],
}

/// How the KEM's PTX is built. Every architecture after Ampere runs it, too.
pub const RECIPE: Recipe = Recipe {
    ptx: "ctru.ptx",
    manifest: "manifest.json",
    features: "",
    target: "nvptx64-nvidia-cuda",
    arch: "sm_80",
    flags: &[
        // The assembly is the result; there is nothing to link.
        "--emit=asm",
        "-Clinker=true",
        // A thread's arrays live in registers, which needs the loops over them to be unrolled.
        // LLVM's own threshold is too low for the leaves of the ring 653. Much higher ones unroll
        // Keccak's rounds, and ptxas takes minutes for it.
        "-Cllvm-args=-unroll-threshold=1000",
    ],
};

/// How the reduction laboratory's PTX is built. Its kernels are larger, and loops over their arrays
/// How the PTX of the kernels is built that are compared with the engine's: in the same way.
pub const COMPARED: Recipe =
    Recipe { ptx: "compared.ptx", manifest: "compared.json", features: "compared", ..RECIPE };

/// must be unrolled, too.
pub const LABORATORY: Recipe = Recipe {
    ptx: "lab.ptx",
    manifest: "lab.json",
    features: "lab",
    flags: &["--emit=asm", "-Clinker=true", "-Cllvm-args=-unroll-threshold=5000"],
    ..RECIPE
};

/// How every module is built.
pub const RECIPES: [&Recipe; 3] = [&RECIPE, &COMPARED, &LABORATORY];
