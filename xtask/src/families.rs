//! The committed PTX of the KEM, in one file for each family of kernels.
//!
//! The file `shared.ptx` has what all kernels share: the header and the tables. A family is a
//! module of `ctru_gpu_kernels::kernels`, as the list in its `table.rs` names it. The files one
//! after the other, in the order of [`FILES`], are the text that the driver gets.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{Error, IoContext, Result, manifest, workspace};

/// The files without their ending.
pub const FILES: [&str; 8] =
    ["shared", "hash", "invert", "keys", "ntruprime", "product", "scheme", "whole"];

/// The list of the kernels, below the root of the workspace.
const LIST: &str = "crates/ctru-gpu-kernels/src/table.rs";

/// Reads all files in `folder` as one text.
pub fn read(folder: &Path) -> Result<String> {
    FILES.iter().try_fold(String::new(), |text, file| {
        let path = folder.join(file).with_extension("ptx");
        Ok(text + &fs::read_to_string(&path).at("read", &path)?)
    })
}

/// Writes the committed PTX as one file below `target`, for tools that read one. Returns its path.
pub fn saved() -> Result<PathBuf> {
    let folder = workspace::target().join("ptx");
    fs::create_dir_all(&folder).at("create", &folder)?;
    let path = folder.join("ctru.ptx");
    fs::write(&path, read(&manifest::folder(&workspace::root()))?).at("write", &path)?;
    Ok(path)
}

/// Writes `text`, which [`arranged`] has returned, to the files in `folder`.
pub fn write(folder: &Path, text: &str) -> Result<()> {
    for (file, part) in FILES.iter().zip(parts(text, &list()?)?) {
        let path = folder.join(file).with_extension("ptx");
        fs::write(&path, part).at("write", &path)?;
    }
    Ok(())
}

/// Returns the text with its kernels in the order of [`FILES`].
pub fn arranged(text: &str) -> Result<String> {
    Ok(parts(text, &list()?)?.concat())
}

fn list() -> Result<String> {
    let path = workspace::root().join(LIST);
    fs::read_to_string(&path).at("read", &path)
}

/// Returns the part of the text that belongs into each of [`FILES`].
fn parts(text: &str, list: &str) -> Result<[String; FILES.len()]> {
    let mut parts = [const { String::new() }; FILES.len()];
    let mut file = 0;
    for line in text.split_inclusive('\n') {
        if let Some(entry) = line.strip_prefix(".visible .entry ") {
            let entry = entry.trim_end_matches(['(', '\n']);
            file = family(entry, list)
                .and_then(|family| FILES.iter().position(|&file| file == family))
                .ok_or_else(|| Error::Faults {
                    what: "no family: the list of kernels does not name".into(),
                    faults: vec![entry.into()],
                })?;
        }
        parts[file].push_str(line);
        if line.starts_with('}') {
            file = 0;
        }
    }
    Ok(parts)
}

/// Returns the family of an entry point: the first module after its name in the list. The list has
/// the whole name if the kernel is that of every ring.
fn family<'a>(entry: &str, list: &'a str) -> Option<&'a str> {
    let (name, _) = entry.rsplit_once('_')?;
    let of = |name: &str, of: &str| list.split_once(&format!("\"{name}\"{of} ="));
    let (_, after) = of(name, "").or_else(|| of(entry, " for every ring"))?;
    after.trim_start().split("::").next()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "\
        NAME \"name\" =\n    whole::mixed_radix::name(\n\
        OTHER \"other_name\" =\n    hash::derive::name(\n\
        EVERY \"every_name\" for every ring =\n    keys::mixed_radix::name(\n";

    fn kernel(name: &str) -> String {
        format!(".visible .entry {name}(\n\t.param .u64 p\n)\n{{\n\tret;\n}}\n")
    }

    #[test]
    fn kernels_are_in_the_file_of_their_family() {
        let [name, other, every] = ["name_653", "other_name_1277", "every_name"].map(kernel);
        let [before, after] = [".version 7.0\n", ".global .b8 table[1];\n"];
        let parts = parts(&[before, &name, after, &every, &other].concat(), LIST).unwrap();
        assert_eq!(parts[0], [before, after].concat());
        assert_eq!((&parts[1], &parts[3], &parts[7]), (&other, &every, &name));
        assert!([2, 4, 5, 6].iter().all(|&part: &usize| parts[part].is_empty()));
    }

    #[test]
    fn kernels_that_no_list_names_are_refused() {
        assert!(matches!(
            parts(&kernel("unknown_761"), LIST),
            Err(Error::Faults { faults, .. }) if faults == ["unknown_761"]
        ));
    }
}
