//! What can go wrong in a job.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use crate::versions::{NVDISASM_VERSION, PTXAS_VERSION};

/// Result of a job.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a job failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder could not be read or written.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// With what.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// A program could not be started.
    #[error("cannot start {program}")]
    Start {
        /// The program.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// A program failed.
    #[error("{command}: {status}\n{output}")]
    Failed {
        /// The command line.
        command: String,
        /// Its exit status.
        status: ExitStatus,
        /// What it wrote.
        output: String,
    },
    /// A file in JSON is not what it should be.
    #[error("{what} is not as expected")]
    Json {
        /// The file.
        what: String,
        /// Where and why.
        source: serde_json::Error,
    },
    /// A compiler cannot build the device crate.
    #[error("{}: {reason}", rustc.display())]
    UnusableCompiler {
        /// The compiler.
        rustc: PathBuf,
        /// Why.
        reason: String,
    },
    /// There is no compiler that can build the device crate.
    #[error(
        "no compiler for the device crate: it needs rustc with the source of its library. \
         Get one by\n  \
         rustup toolchain install nightly --component rust-src\nor, on Debian, by\n  \
         apt-get install rustc-web rust-web-src\nor name one with --compiler.{}",
        refused.iter().map(|line| format!("\nNot usable: {line}")).collect::<String>()
    )]
    NoCompiler {
        /// The compilers that were looked at, each with the reason against it.
        refused: Vec<String>,
    },
    /// The assembly contains what no kernel may contain.
    #[error(
        "the PTX contains what no kernel may contain:{}",
        faults.iter().map(|line| format!("\n  {line}")).collect::<String>()
    )]
    Forbidden {
        /// Where and what.
        faults: Vec<String>,
    },
    /// A kernel would show a secret, or is not understood.
    #[error(
        "kernels show what they read:{}",
        faults.iter().map(|line| format!("\n  {line}")).collect::<String>()
    )]
    Leaks {
        /// Which instructions, and how the secrets come there.
        faults: Vec<String>,
    },
    /// Leaks that were planted on purpose were not found.
    #[error(
        "planted leaks were not found:{}",
        missed.iter().map(|line| format!("\n  {line}")).collect::<String>()
    )]
    Missed {
        /// Which.
        missed: Vec<String>,
    },
    /// The committed PTX is not that of the sources.
    #[error(
        "the committed PTX is out of date; run cargo xtask build-ptx:{}",
        differences.iter().map(|line| format!("\n  {line}")).collect::<String>()
    )]
    OutOfDate {
        /// What differs.
        differences: Vec<String>,
    },
    /// A program of the CUDA toolkit is needed and not there.
    #[error(
        "{program} is not there: set {variable}, put it on the PATH, or get it by\n  \
         pip install nvidia-cuda-nvcc=={PTXAS_VERSION} nvidia-cuda-nvdisasm=={NVDISASM_VERSION}"
    )]
    NoTool {
        /// The program.
        program: &'static str,
        /// The environment variable that can name it.
        variable: &'static str,
    },
    /// A program wrote what this one does not understand.
    #[error("{program} wrote nothing about {what}")]
    Unreadable {
        /// The program.
        program: &'static str,
        /// What was looked for.
        what: String,
    },
    /// The workspace is not built as it should be.
    #[error(
        "the structure of the workspace is broken:{}",
        faults.iter().map(|line| format!("\n  {line}")).collect::<String>()
    )]
    Structure {
        /// Where and how.
        faults: Vec<String>,
    },
    /// A kernel uses what no kernel may use.
    #[error(
        "kernels use what they may not use:{}",
        faults.iter().map(|line| format!("\n  {line}")).collect::<String>()
    )]
    BadKernels {
        /// Which, on which architecture, and what.
        faults: Vec<String>,
    },
}

/// Adds the action and the path to an I/O error.
pub trait IoContext<T> {
    /// `action` reads as in "cannot `action` `path`".
    fn at(self, action: &'static str, path: &Path) -> Result<T>;
}

impl<T> IoContext<T> for io::Result<T> {
    fn at(self, action: &'static str, path: &Path) -> Result<T> {
        self.map_err(|source| Error::Io { action, path: path.to_owned(), source })
    }
}
