//! Compresses the PTX of the families of kernels, so that programs hold a fifth of its bytes.

use std::path::Path;
use std::{env, fs, io};

/// The folder of the PTX.
const FOLDER: &str = "ptx";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed={FOLDER}");
    let files = fs::read_dir(FOLDER)?.map(|entry| Ok(entry?.path()));
    let mut files = files.collect::<io::Result<Vec<_>>>()?;
    // The text that all kernels share stays as it is: it begins the module.
    files.retain(|path| path.extension() == Some("ptx".as_ref()) && !path.ends_with("shared.ptx"));
    files.sort();
    let mut text = Vec::new();
    for path in files {
        text.extend(fs::read(path)?);
    }
    let out = env::var_os("OUT_DIR").expect("cargo sets it");
    let packed = miniz_oxide::deflate::compress_to_vec(&text, 9);
    fs::write(Path::new(&out).join("families.deflate"), packed)
}
