//! A library that stands for the NVIDIA driver while programs are linked.
//!
//! `cust` links `libcuda.so`, which comes with the driver or, as a stub, with the CUDA toolkit. This job makes a stub where
//! there is neither: it exports the names that `cust_raw` declares. A program linked with it looks for `libcuda.so.1` when
//! it starts, and finds the driver's there. Where there is no driver, `LD_LIBRARY_PATH=<folder>/no-driver` lets it start, too:
//! every call then fails with `CUDA_ERROR_STUB_LIBRARY`. That folder is not `lib64`, because cargo puts the folders of
//! libraries that it finds in `target` before the system's when it runs a program, and would hide the driver.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{IoContext, Result, process, workspace};

/// The functions that `cust_raw` 0.11.3 declares.
const NAMES: &str = include_str!("cuda_stub/names.txt");

/// What the driver's library is called at run time.
const SONAME: &str = "libcuda.so.1";

/// Makes a stub of the NVIDIA driver, enough to build on a machine without driver and CUDA toolkit
///
/// Build with CUDA_LIBRARY_PATH=FOLDER. Programs then start where there is a driver, and elsewhere with
/// LD_LIBRARY_PATH=FOLDER/no-driver, to find no device.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Where `lib64/libcuda.so` goes [default: target/cuda-stub]
    #[arg(value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

/// Does the job.
pub fn run(options: &Options) -> Result<()> {
    let folder = match &options.folder {
        Some(folder) => std::path::absolute(folder).at("resolve", folder)?,
        None => workspace::target().join("cuda-stub"),
    };
    let library = make(&folder)?;
    println!("{} exports {} functions; build with", library.display(), NAMES.lines().count());
    println!("  CUDA_LIBRARY_PATH={}", folder.display());
    Ok(())
}

/// Makes the library below `folder` and returns its path.
pub fn make(folder: &Path) -> Result<PathBuf> {
    let lib64 = folder.join("lib64");
    fs::create_dir_all(&lib64).at("create", &lib64)?;
    let source = folder.join("libcuda.c");
    fs::write(&source, c_source()).at("write", &source)?;

    let library = lib64.join("libcuda.so");
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    process::output(
        Command::new(compiler)
            .args(["-shared", "-fPIC", "-nostdlib", &format!("-Wl,-soname,{SONAME}"), "-o"])
            .args([&library, &source]),
    )?;
    let no_driver = folder.join("no-driver");
    fs::create_dir_all(&no_driver).at("create", &no_driver)?;
    let copy = no_driver.join(SONAME);
    fs::copy(&library, &copy).at("write", &copy)?;
    Ok(library)
}

/// Every function returns what NVIDIA's own stub returns: `CUDA_ERROR_STUB_LIBRARY`.
fn c_source() -> String {
    let mut source = "/* Made by cargo xtask cuda-stub. */\n".to_owned();
    for name in NAMES.lines() {
        // Writing to a string cannot fail.
        let _ = writeln!(source, "int {name}(void) {{ return 34; }}");
    }
    source
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exports_every_name_under_the_driver_s_soname() {
        let folder = tempfile::tempdir().unwrap();
        let library = fs::read(make(folder.path()).unwrap()).unwrap();
        let contains = |name: &[u8]| library.windows(name.len()).any(|window| window == name);
        assert!(contains(b"\0libcuda.so.1\0"));
        for name in NAMES.lines() {
            assert!(contains(format!("\0{name}\0").as_bytes()), "{name}");
        }
    }
}
