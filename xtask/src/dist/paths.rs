//! Searches the files of a release for paths of this machine.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::workshop::Workshop;
use crate::{Error, IoContext, Result, isolated, sources, workspace};

/// Unpacks all archives, and searches what was in them.
pub(super) fn search(shop: &Workshop) -> Result<()> {
    let folder = tempfile::tempdir().at("create", &std::env::temp_dir())?;
    for (number, file) in sources::files(&shop.out)?.into_iter().enumerate() {
        let to = folder.path().join(number.to_string());
        std::fs::create_dir(&to).at("create", &to)?;
        unpack(shop, &file, &to)?;
    }
    let places = [workspace::root(), isolated::home_of("cargo"), isolated::home_of("rustup")];
    let mut arguments: Vec<OsString> = ["-rlaF"].map(Into::into).to_vec();
    arguments.extend(places.into_iter().flat_map(|place| ["-e".into(), place.into()]));
    arguments.push(folder.path().into());
    // grep fails if it finds nothing.
    let script = ["-c", "grep \"$@\" || [[ $? -eq 1 ]]", "grep"].map(OsString::from);
    let found = shop.call("bash", script.into_iter().chain(arguments))?;
    let files = found.lines().map(Into::into).collect();
    Error::unless_none("these files contain the path of a folder of this machine", files)
}

/// Unpacks an archive, or copies another file.
fn unpack(shop: &Workshop, file: &Path, to: &Path) -> Result<()> {
    let ending = file.extension().and_then(OsStr::to_str).unwrap_or_default();
    let (program, first, between): (_, &[&str], _) = match ending {
        "crate" | "tgz" | "gz" => ("tar", &["-xf"], Some("-C")),
        "whl" => ("python3", &["-m", "zipfile", "-e"], None),
        "deb" => ("dpkg-deb", &["-R"], None),
        _ => ("cp", &[], None),
    };
    let arguments = first.iter().map(OsStr::new).chain([file.as_os_str()]);
    shop.call(program, arguments.chain(between.map(OsStr::new)).chain([to.as_os_str()])).map(drop)
}
