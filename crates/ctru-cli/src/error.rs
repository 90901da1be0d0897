//! The errors of the program. Each message names the file and the problem.

use std::{fmt, io};

use ctru_kem::WrongAnswer;
use ctru_kem::engine::EngineError;
#[cfg(feature = "cuda")]
use ctru_kem::engine::RuntimeError;
use ctru_math::backend::{Unavailable, UnknownBackend};
use thiserror::Error;

use crate::problem::Problem;

/// The reason why a command failed.
#[derive(Debug, Error)]
pub(crate) enum Error {
    /// A file could not be read.
    #[error("{file}: cannot be read: {source}")]
    Read { file: String, source: io::Error },
    /// A file could not be written.
    #[error("{file}: cannot be written: {source}")]
    Write { file: String, source: io::Error },
    /// Another command replaces several files in the same folder, and does not end.
    #[cfg(unix)]
    #[error("{file}: another ctru has locked it for a long time; it belongs to {owner}")]
    Locked { file: String, owner: String },
    /// The file of a lock belongs to another user, who alone can lock it. An interrupted command
    /// may have left it.
    #[cfg(unix)]
    #[error("{file}: this lock belongs to {owner}, who has to delete it if no ctru of theirs runs")]
    OthersLock { file: String, owner: String },
    /// An output exists already, and `--force` was not given.
    #[error("{file}: exists already; --force replaces it")]
    Exists { file: String },
    /// An output is a folder.
    #[error("{file}: is not a regular file or a link to one, so it is not replaced")]
    NotRegular { file: String },
    /// Two outputs name the same file.
    #[error("{file}: named for two outputs")]
    SameOutput { file: String },
    /// An output names a file that the command has read.
    #[error("{file}: named for an input and an output")]
    InputAsOutput { file: String },
    /// The command failed after it had written files.
    #[error("{error}; written all the same: {files}")]
    AfterWriting {
        error: Box<Self>,
        /// The names of the new files, and of the old files that were kept.
        files: String,
    },
    /// One of several files could not be written, and the old version of another file could not be
    /// restored.
    #[error("{error}; {file} is new all the same: {source}{}", kept(previous.as_deref()))]
    NotUndone {
        /// The error of the file that could not be written.
        error: Box<Self>,
        /// The file that is new.
        file: String,
        source: io::Error,
        /// The name under which the old version still exists, if there was one.
        previous: Option<String>,
    },
    /// Two inputs name standard input.
    #[error("standard input is named for two inputs; give - once")]
    SameInput,
    /// `--out -` or the name of a stream was given for a key pair, which is two files.
    #[error("a key pair is two files: --out needs a name, not - or that of a stream")]
    KeyPairToStream,
    /// The keys of the set do not have the encoding.
    #[error(transparent)]
    Parameters(#[from] ctru_kem::NoSuchParameters),
    /// `--format pkcs8` was given with another encoding than the one of such files.
    #[error("PKCS#8 files hold keys in mixed-radix encoding only; leave --encoding out")]
    Pkcs8Encoding,
    /// A file has wrong contents.
    #[error("{file}: {problem}")]
    Contents { file: String, problem: Problem },
    /// The file of a public key does not hold the one of the private key beside it.
    #[error("{public}: not the public key of {private}")]
    OtherPair { public: String, private: String },
    /// A line of a file is not a measurement.
    #[error("{file}:{line}: not a measurement: {problem}")]
    Measurement { file: String, line: usize, problem: String },
    /// A line of a file is longer than any record.
    #[error("{file}:{line}: more than {limit} bytes in one line, which no record has")]
    LongLine { file: String, line: usize, limit: usize },
    /// A file of lines is text in UTF-16.
    #[error("{file}: text in UTF-16; save it as UTF-8")]
    Utf16 { file: String },
    /// A file of records has none.
    #[error("{file}: no records")]
    NoRecords { file: String },
    /// A file of measurements has nothing that the figures show.
    #[error("{file}: no rates of key generation, encapsulation or decapsulation")]
    NoRates { file: String },
    /// The operating system provided no randomness.
    #[error("the operating system gives no randomness: {0}")]
    Randomness(#[from] getrandom::Error),
    /// The program was built without the engine on GPUs.
    #[cfg(not(feature = "cuda"))]
    #[error("this program was built without GPUs: build ctru-cli with the feature `cuda`")]
    WithoutGpu,
    /// The chosen engine has no device whose memory could hold the data, or several.
    #[error("--on-device needs the engine on one GPU: --engine gpu, and --gpu once at most")]
    OnDeviceWithoutDevice,
    /// The system does not give the memory for the batches of a measurement.
    #[error("--batch {batch} --callers {callers}: too little memory for the keys and results")]
    BatchMemory { batch: usize, callers: usize },
    /// The command line or `CTRU_BACKEND` names no backend.
    #[error("--backend {name}: {source}")]
    UnknownBackend { name: String, source: UnknownBackend },
    /// This CPU lacks the instructions of the chosen backend.
    #[error(transparent)]
    Backend(#[from] Unavailable),
    /// This machine computes wrongly.
    #[error(transparent)]
    WrongAnswer(#[from] WrongAnswer),
    /// An engine failed.
    #[error("engine: {0}")]
    Engine(#[from] EngineError),
    /// The report could not be written.
    #[error("standard output: {0}")]
    Report(#[from] io::Error),
}

impl Error {
    /// Returns that a file has contents with which an operation cannot begin.
    pub(crate) fn contents(file: &dyn fmt::Display, problem: impl Into<Problem>) -> Self {
        Self::Contents { file: file.to_string(), problem: problem.into() }
    }
}

/// Returns the end of a message that names the old version of a file, if it still exists.
fn kept(previous: Option<&str>) -> String {
    previous.map_or_else(String::new, |name| format!("; what it replaced is {name}"))
}

#[cfg(feature = "cuda")]
impl From<RuntimeError> for Error {
    fn from(error: RuntimeError) -> Self {
        Self::Engine(error.into())
    }
}
