//! The errors of the jobs.

use std::io;
use std::path::{Path, PathBuf};

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
    /// Another program did no work.
    #[error(transparent)]
    Program(#[from] tools::Error),
    /// What was checked has faults.
    #[error("{what}:{}", faults.iter().map(|line| format!("\n  {line}")).collect::<String>())]
    Faults {
        /// What was checked, and the rule that it breaks.
        what: String,
        /// One line or more for each fault.
        faults: Vec<String>,
    },
    /// The newest section of `CHANGELOG.md` is not that of the version.
    #[error("the newest section of CHANGELOG.md is not that of version {version} in Cargo.toml")]
    NoNotes {
        /// The version of the workspace.
        version: String,
    },
    /// A text is not the JSON that this program expects.
    #[error("{what} is not the expected JSON")]
    Json {
        /// The file or program that the text comes from.
        what: String,
        /// The place and the reason.
        source: serde_json::Error,
    },
    /// A compiler cannot build the device crate, or a file of cargo's configuration cannot be read
    /// or would change kernels.
    #[error("{}: {reason}", path.display())]
    Unusable {
        /// The compiler or the file.
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
}

impl Error {
    /// Returns [`Faults`](Self::Faults) if there are any.
    pub(crate) fn unless_none(what: &str, faults: Vec<String>) -> Result<()> {
        if faults.is_empty() { Ok(()) } else { Err(Self::Faults { what: what.to_owned(), faults }) }
    }
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
