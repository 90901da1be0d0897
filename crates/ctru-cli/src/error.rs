//! What can go wrong. Messages name the file and what is wrong with it.

use std::io;

use ctru_kem::engine::EngineError;
#[cfg(feature = "cuda")]
use ctru_kem::engine::RuntimeError;
use ctru_math::backend::Unavailable;
use ctru_math::ntt::cyclic::CyclicError;
use thiserror::Error;

use crate::format::Problem;

/// Why a command did not do what it was asked for.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read.
    #[error("{file}: cannot be read: {source}")]
    Read {
        /// Which file.
        file: String,
        /// What the system says.
        source: io::Error,
    },
    /// A file could not be written.
    #[error("{file}: cannot be written: {source}")]
    Write {
        /// Which file.
        file: String,
        /// What the system says.
        source: io::Error,
    },
    /// A file is there already.
    #[error("{file}: exists already; --force replaces it")]
    Exists {
        /// Which file.
        file: String,
    },
    /// Even `--force` replaces nothing but files.
    #[error("{file}: is not a regular file, so it is not replaced")]
    NotRegular {
        /// What is no file.
        file: String,
    },
    /// Two outputs have the same name.
    #[error("{file}: named for two outputs")]
    SameOutput {
        /// The name.
        file: String,
    },
    /// An output would replace what the command has read.
    #[error("{file}: named for an input and an output")]
    InputAsOutput {
        /// The name of the output.
        file: String,
    },
    /// Something failed after files had been written.
    #[error("{error}; written all the same: {files}")]
    AfterWriting {
        /// What failed.
        error: Box<Self>,
        /// Which files are written, and where the old ones are that had to stay.
        files: String,
    },
    /// A file of several could not be written, and another that had been could not be taken back.
    #[error("{error}; {file} is new all the same: {source}{}", kept(previous.as_deref()))]
    NotUndone {
        /// What failed first.
        error: Box<Self>,
        /// Which file is new.
        file: String,
        /// What the system says.
        source: io::Error,
        /// Where the file is that it replaced, if it replaced one.
        previous: Option<String>,
    },
    /// Two inputs are to come from standard input.
    #[error("standard input cannot be both key and ciphertext")]
    SameInput,
    /// Two files of one name cannot go to standard output.
    #[error("a key pair is two files: --out needs a name, not -")]
    KeyPairToStandardOutput,
    /// A file does not contain what it should.
    #[error("{file}: {problem}")]
    Contents {
        /// Which file.
        file: String,
        /// What is wrong with it.
        problem: Problem,
    },
    /// A file of known-answer records has none.
    #[error("{file}: no records")]
    NoRecords {
        /// Which file.
        file: String,
    },
    /// The operating system gave no randomness.
    #[error("the operating system gives no randomness: {0}")]
    Randomness(#[from] getrandom::Error),
    /// The program was built without GPUs.
    #[error(
        "this program was built without GPUs: build ctru-cli with the feature `cuda`, which is on by default"
    )]
    WithoutGpu,
    /// This CPU lacks the instructions that were asked for.
    #[error(transparent)]
    Backend(#[from] Unavailable),
    /// The paper's tables are made of measurements on a GPU.
    #[error(
        "the paper's tables are measured on an NVIDIA GPU, or made --from a file of measurements: {0}"
    )]
    NeedsGpu(#[source] Box<Self>),
    /// A line of a file of measurements is none.
    #[error("{file}:{line}: no measurement: {reason}")]
    Measurement {
        /// Which file.
        file: String,
        /// Number of the line, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// An engine refused to work.
    #[error("engine: {0}")]
    Engine(#[from] EngineError),
    /// The laboratory asked for a transform that there is not.
    #[error("transform: {0}")]
    Transform(#[from] CyclicError),
    /// A drawing could not be made.
    #[error("{file}: cannot be drawn: {reason}")]
    Drawing {
        /// Which file.
        file: String,
        /// What the library says.
        reason: String,
    },
    /// A report could not be written.
    #[error("standard output: {0}")]
    Report(#[from] io::Error),
}

fn kept(previous: Option<&str>) -> String {
    previous.map_or_else(String::new, |name| format!("; what it replaced is {name}"))
}

#[cfg(feature = "cuda")]
impl From<RuntimeError> for Error {
    fn from(error: RuntimeError) -> Self {
        Self::Engine(EngineError::Device { error, done: Vec::new() })
    }
}
