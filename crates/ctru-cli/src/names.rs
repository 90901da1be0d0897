//! The names of inputs and outputs.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use ctru_program::visible;

use crate::error::Error;

/// An input or output on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PathOrStdio {
    /// Standard input or output, written as `-`.
    Stdio,
    /// A file.
    Path(PathBuf),
}

impl PathOrStdio {
    /// Returns the path of a file.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Stdio => None,
            Self::Path(path) => Some(path),
        }
    }
}

impl From<OsString> for PathOrStdio {
    fn from(name: OsString) -> Self {
        if name == "-" { Self::Stdio } else { Self::Path(name.into()) }
    }
}

impl fmt::Display for PathOrStdio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio => f.write_str("-"),
            Self::Path(path) => f.write_str(&visible(path)),
        }
    }
}

/// Returns the name of the public key that belongs to a private key: `.pub` is appended.
pub(crate) fn public_name(private: &Path) -> PathBuf {
    let mut name = private.to_owned().into_os_string();
    name.push(".pub");
    name.into()
}

/// Checks that at most one input is standard input, which can be read only once.
///
/// # Errors
/// [`Error::SameInput`].
pub(crate) fn check_inputs<'a>(
    inputs: impl IntoIterator<Item = &'a PathOrStdio>,
) -> Result<(), Error> {
    let inputs = inputs.into_iter();
    match inputs.filter(|&input| *input == PathOrStdio::Stdio).count() {
        0 | 1 => Ok(()),
        _ => Err(Error::SameInput),
    }
}

/// Returns the folder of a file.
pub(crate) fn directory(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
