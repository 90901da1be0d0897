//! The errors of the program. Each message names the file and the problem.

use std::io;
use std::path::Path;

use ctru_gpu_runtime::RuntimeError;
use ctru_kem::engine::EngineError;
use ctru_math::backend::Unavailable;
use research_arithmetic::ntt::cyclic::CyclicError;
use thiserror::Error;

/// The reason why a command failed.
#[derive(Debug, Error)]
pub(crate) enum Error {
    /// A file could not be read.
    #[error("{file}: cannot be read: {source}")]
    Read { file: String, source: io::Error },
    /// A file could not be written.
    #[error("{file}: cannot be written: {source}")]
    Write { file: String, source: io::Error },
    /// A line of a file is not a record.
    #[error("{file}:{line}: not a record: {source}")]
    Record { file: String, line: usize, source: serde_json::Error },
    /// A file of counters is not a table.
    #[error("{file}: not a table: {source}")]
    Table { file: String, source: csv::Error },
    /// A table of counters lacks a column.
    #[error("{file}: no column `{column}`")]
    Column { file: String, column: String },
    /// A counter of a launch is not a number.
    #[error("{file}: launch {launch}, column `{column}`: `{text}` is not a number")]
    Counter { file: String, launch: String, column: String, text: String },
    /// A file lacks the records for a table or a picture.
    #[error("{file}: no records for {output}")]
    Missing { file: String, output: String },
    /// The paper's tables need measurements on a GPU.
    #[error(
        "the paper's tables need an NVIDIA GPU, or measurements from a file (--from FILE): {0}"
    )]
    NeedsGpu(#[source] Box<Self>),
    /// The program was built without support for GPUs.
    #[cfg(not(feature = "cuda"))]
    #[error(
        "this program was built without support for GPUs: build ctru-research with --features cuda"
    )]
    WithoutGpu,
    /// This CPU lacks the instructions of the chosen backend.
    #[error(transparent)]
    Backend(#[from] Unavailable),
    /// An engine failed.
    #[error("engine: {0}")]
    Engine(#[from] EngineError),
    /// A device failed.
    #[error("device: {0}")]
    Device(#[from] RuntimeError),
    /// There is no transform of this length modulo this prime, or an array has the wrong length.
    #[error("transform: {0}")]
    Transform(#[from] CyclicError),
    /// The report could not be written.
    #[error("standard output: {0}")]
    Report(#[from] io::Error),
}

impl Error {
    /// Makes the error of a failure to read `path`.
    pub(crate) fn read(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let file = path.display().to_string();
        move |source| Self::Read { file, source }
    }

    /// Makes the error of a file that lacks the records for a table or a picture.
    pub(crate) fn missing(path: &Path, output: &str) -> Self {
        Self::Missing { file: path.display().to_string(), output: output.to_owned() }
    }

    /// Makes the error of a failure to write `path`.
    pub(crate) fn write(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let file = path.display().to_string();
        move |source| Self::Write { file, source }
    }
}
