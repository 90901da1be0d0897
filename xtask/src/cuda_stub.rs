//! A library that stands for the NVIDIA driver while programs are built.
//!
//! The build script of `cust` looks for a `libcuda` in the folder of a CUDA toolkit. On Linux
//! (x86-64 and 64-bit Arm) nothing is taken from it: `ctru-gpu-runtime` defines the driver's
//! functions itself and passes them on to the driver that it opens at run time. So an empty archive
//! is enough to build on a machine without driver and toolkit.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{IoContext, Result, workspace};

/// An `ar` archive without members.
const EMPTY_ARCHIVE: &str = "!<arch>\n";

/// Makes a stand-in for the NVIDIA driver's library, enough to build on Linux without driver and
/// CUDA toolkit
///
/// Build with CUDA_LIBRARY_PATH=FOLDER. The programs look for the driver when they need it.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Where `lib64/libcuda.a` goes [default: target/cuda-stub]
    #[arg(value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

/// Does the job.
///
/// # Errors
/// [`Error::Io`](crate::Error::Io) if the folder cannot be written.
pub fn run(options: &Options) -> Result<()> {
    let folder = match &options.folder {
        Some(folder) => std::path::absolute(folder).at("resolve", folder)?,
        None => default_folder(),
    };
    make(&folder)?;
    println!("build with CUDA_LIBRARY_PATH={}", folder.display());
    Ok(())
}

/// Where the library goes if nobody says otherwise.
#[must_use]
pub fn default_folder() -> PathBuf {
    workspace::target().join("cuda-stub")
}

/// Makes the library below `folder`.
///
/// # Errors
/// [`Error::Io`](crate::Error::Io) if the folder cannot be written.
pub fn make(folder: &Path) -> Result<()> {
    let lib64 = folder.join("lib64");
    fs::create_dir_all(&lib64).at("create", &lib64)?;
    let library = lib64.join("libcuda.a");
    fs::write(&library, EMPTY_ARCHIVE).at("write", &library)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn makes_an_archive_where_cust_looks_for_it() {
        let folder = tempfile::tempdir().unwrap();
        make(folder.path()).unwrap();
        assert_eq!(
            fs::read_to_string(folder.path().join("lib64/libcuda.a")).unwrap(),
            EMPTY_ARCHIVE
        );
    }
}
