//! The errors of the jobs.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use ptx_check::tools;

/// The result of a job.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why a job failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder could not be read or written.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// The operation that failed, as a verb.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The list of the KEM's kernels lacks an entry point.
    #[error("no family: the list of kernels does not name {kernel}")]
    NoFamily {
        /// The entry point.
        kernel: String,
    },
    /// Another program did no work.
    #[error(transparent)]
    Program(#[from] tools::Error),
    /// The newest section of `CHANGELOG.md` is not that of the version.
    #[error("the newest section of CHANGELOG.md is not that of version {version} in Cargo.toml")]
    NoNotes {
        /// The version of the workspace.
        version: String,
    },
    /// A check of the arithmetic failed.
    #[error("a check of the arithmetic failed ({status})")]
    Exhaust {
        /// The exit status of the tests.
        status: ExitStatus,
    },
    /// A text is not the JSON that this program expects.
    #[error("{what} is not the expected JSON")]
    Json {
        /// The file or program that the text comes from.
        what: String,
        /// The place and the reason.
        source: serde_json::Error,
    },
    /// A compiler cannot build the device crate.
    #[error("{}: {reason}", rustc.display())]
    UnusableCompiler {
        /// The compiler.
        rustc: PathBuf,
        /// The reason.
        reason: String,
    },
    /// A file of cargo's configuration cannot be read, or would change kernels.
    #[error("{}: {reason}", path.display())]
    Configuration {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// There is no compiler that can build the device crate.
    #[error(
        "no compiler can build the device crate: it needs rustc with the source of its library. \
         Install one with\n  \
         rustup toolchain install nightly --component rust-src\nor, on Debian, with\n  \
         apt-get install rustc-web rust-web-src\nor name one with --compiler.{}",
        refused.iter().map(|line| format!("\nNot usable: {line}")).collect::<String>()
    )]
    NoCompiler {
        /// The compilers that were tried, each with the reason why it cannot be used.
        refused: Vec<String>,
    },
    /// A package that is compiled for a GPU needs the standard library.
    #[error(
        "GPUs have no standard library, which {package} or one of its dependencies needs. Kernels \
         are compiled with all dependencies of their package. So write #![no_std] into its \
         library, and put a program that launches the kernels into a package of its own, or what \
         only the program uses under \
         [target.'cfg(not(target_arch = \"nvptx64\"))'.dependencies]; see \
         docs/kernels.md.\n{output}"
    )]
    NeedsSystem {
        /// The package with the kernels.
        package: String,
        /// The messages of the compiler.
        output: String,
    },
    /// A crate has no library, so it has no kernels.
    #[error(
        "{} is not the Cargo.toml of a package with a library: kernels are in a library, and a \
         program that launches them uses it; see docs/kernels.md",
        path.display()
    )]
    NoLibrary {
        /// Its `Cargo.toml`.
        path: PathBuf,
    },
    /// The PTX contains instructions that are forbidden in kernels.
    #[error(
        "the PTX contains instructions that are forbidden in kernels:{}",
        faults.iter().map(|line| format!("\n  {line}")).collect::<String>()
    )]
    Forbidden {
        /// The kernels and their forbidden instructions.
        faults: Vec<String>,
    },
    /// The PTX is not what the compiler writes for this architecture without debug information.
    #[error(
        "the PTX is not what kernels become for {arch}:{}",
        deviations.iter().map(|line| format!("\n  {line}")).collect::<String>()
    )]
    Deviates {
        /// The architecture.
        arch: String,
        /// What is different.
        deviations: Vec<String>,
    },
    /// A kernel leaks a secret, or contains an instruction that the decoder does not know.
    #[error(
        "kernels leak secrets, or contain unknown instructions:{}",
        faults.iter().map(|line| format!("\n  {line}")).collect::<String>()
    )]
    Leaks {
        /// The instructions, each with the path of the secret to it.
        faults: Vec<String>,
    },
    /// The analysis did not find all leaks that were planted on purpose.
    #[error(
        "the analysis did not find all planted leaks:{}",
        missed.iter().map(|line| format!("\n  {line}")).collect::<String>()
    )]
    Missed {
        /// The leaks that it did not find.
        missed: Vec<String>,
    },
    /// The committed PTX does not belong to the present sources.
    #[error(
        "the committed PTX is out of date; run cargo xtask build-ptx:{}",
        differences.iter().map(|line| format!("\n  {line}")).collect::<String>()
    )]
    OutOfDate {
        /// One line for each difference.
        differences: Vec<String>,
    },
    /// The output of another program lacks a name that this program looks for.
    #[error("the output of {program} says nothing about {what}")]
    Unreadable {
        /// The program.
        program: &'static str,
        /// The name that this program looked for.
        what: String,
    },
    /// Files of a release come from a commit, and some differ from the last one.
    #[error("these files differ from the last commit:\n{changes}")]
    Uncommitted {
        /// The output of `git status --porcelain`.
        changes: String,
    },
    /// Files of a release contain a path of this machine.
    #[error("these files contain the path of a folder of this machine:\n{files}")]
    LocalPaths {
        /// The files, each in a line.
        files: String,
    },
    /// The workspace breaks a rule of its structure.
    #[error(
        "the workspace breaks the rules of its structure:{}",
        faults.iter().map(|line| format!("\n  {line}")).collect::<String>()
    )]
    Structure {
        /// The places, and the rules that they break.
        faults: Vec<String>,
    },
    /// Machine code divides, or lanes of vectors decide branches or addresses, or the search for
    /// them does not work.
    #[error(
        "the machine code of the library breaks rules:{}",
        faults.iter().map(|line| format!("\n  {line}")).collect::<String>()
    )]
    MachineCode {
        /// The functions, and what they do.
        faults: Vec<String>,
    },
    /// The machine code of a kernel leaks a secret or uses a forbidden resource.
    #[error(
        "the machine code of kernels breaks rules:{}",
        faults.iter().map(|line| format!("\n  {line}")).collect::<String>()
    )]
    BadKernels {
        /// The kernels, with the architecture and the fault.
        faults: Vec<String>,
    },
}

/// Adds the action and the path to an I/O error.
pub trait IoContext<T> {
    /// Converts the error. Its message says "cannot `action` `path`".
    fn at(self, action: &'static str, path: &Path) -> Result<T>;
}

impl<T> IoContext<T> for io::Result<T> {
    fn at(self, action: &'static str, path: &Path) -> Result<T> {
        self.map_err(|source| Error::Io { action, path: path.to_owned(), source })
    }
}
