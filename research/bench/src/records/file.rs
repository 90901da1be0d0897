//! Reads files, also those of the archives in `research/records`.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use flate2::read::GzDecoder;
use tar::Archive;

use crate::error::Error;

/// Reads a text file. If the folder of `path` does not exist, the file is an entry of the archive
/// beside it: `records/h200/paper.jsonl` is `h200/paper.jsonl` in `records/h200.tar.gz`.
pub(super) fn read(path: &Path) -> Result<String, Error> {
    let archive = path.parent().filter(|folder| !folder.is_dir()).map(Path::to_owned);
    let archive = archive.map(|mut folder| {
        folder.as_mut_os_string().push(".tar.gz");
        folder
    });
    match archive.filter(|archive| archive.is_file()) {
        Some(archive) => unpack(&archive, path).map_err(Error::read(path)),
        None => fs::read_to_string(path).map_err(Error::read(path)),
    }
}

/// Reads the entry of an archive whose last two parts are those of `path`.
fn unpack(archive: &Path, path: &Path) -> io::Result<String> {
    let mut archive = Archive::new(GzDecoder::new(File::open(archive)?));
    for entry in archive.entries()? {
        let mut entry = entry?;
        let name = entry.path()?;
        if name.components().count() == 2 && path.ends_with(&name) {
            let mut text = String::new();
            entry.read_to_string(&mut text)?;
            return Ok(text);
        }
    }
    Err(io::Error::new(io::ErrorKind::NotFound, "the archive has no such file"))
}
