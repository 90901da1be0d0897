//! How files are read and written.
//!
//! What is written appears under its name complete or not at all: it is written to a temporary file beside it, which
//! then takes the name. Outputs that belong together are all written or none is.

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, TempPath};
use zeroize::Zeroizing;

use crate::error::Error;
use crate::format::{Kind, Problem};

/// More than any key or ciphertext has in any form, with room for text around its PEM form.
const LONGEST_FILE: usize = 64 * 1024;

/// Temporary files begin like this, so that one that a crash left behind tells where it is from.
const TEMPORARY_PREFIX: &str = ".ctru-";

/// Where something is read from or written to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Standard input or output: `-`.
    Standard,
    /// A file.
    File(PathBuf),
}

impl From<OsString> for Place {
    fn from(name: OsString) -> Self {
        if name == "-" { Self::Standard } else { Self::File(name.into()) }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Standard => f.write_str("-"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

/// Reads what should be a `wanted` and parses it.
pub(crate) fn read<T>(
    place: &Place,
    wanted: Kind,
    parse: impl FnOnce(Zeroizing<Vec<u8>>) -> Result<T, Problem>,
) -> Result<T, Error> {
    let contents = match place {
        Place::Standard => read_limited(io::stdin().lock()),
        Place::File(path) => fs::File::open(path).and_then(read_limited),
    };
    let contents = contents.map_err(|source| Error::Read { file: place.to_string(), source })?;
    let parsed = if contents.len() > LONGEST_FILE {
        Err(Problem::TooLong { wanted, limit: LONGEST_FILE })
    } else {
        parse(contents)
    };
    parsed.map_err(|problem| Error::Contents { file: place.to_string(), problem })
}

/// Up to one byte more than the longest file, in a vector that never moves: moving would leave secrets behind.
fn read_limited(reader: impl Read) -> io::Result<Zeroizing<Vec<u8>>> {
    let limit = LONGEST_FILE + 1;
    let mut contents = Zeroizing::new(vec![0; limit]);
    let mut reader = reader.take(limit as u64);
    let mut length = 0;
    loop {
        match reader.read(&mut contents[length..]) {
            Ok(0) => break,
            Ok(count) => length += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    contents.truncate(length);
    Ok(contents)
}

/// Something to be written.
pub(crate) struct Output<'a> {
    /// Where to.
    pub(crate) place: &'a Place,
    /// What.
    pub(crate) contents: Zeroizing<Vec<u8>>,
    /// Whether only the owner may read it.
    pub(crate) secret: bool,
}

/// Writes all outputs or none.
pub(crate) fn write(outputs: &[Output<'_>], force: bool) -> Result<(), Error> {
    check_names(outputs)?;
    let mut staged = Vec::new();
    for output in outputs {
        if let Place::File(path) = output.place {
            staged.push((path.as_path(), stage(path, output, force)?));
        }
    }
    for output in outputs {
        if *output.place == Place::Standard {
            let mut stdout = io::stdout();
            stdout.write_all(&output.contents).and_then(|()| stdout.flush())?;
        }
    }
    publish_all(staged, force)
}

/// Two outputs with the same name would overwrite each other.
fn check_names(outputs: &[Output<'_>]) -> Result<(), Error> {
    let name = |place: &Place| match place {
        Place::Standard => Place::Standard,
        Place::File(path) => Place::File(std::path::absolute(path).unwrap_or_else(|_| path.clone())),
    };
    for (i, output) in outputs.iter().enumerate() {
        if outputs[..i].iter().any(|earlier| name(earlier.place) == name(output.place)) {
            return Err(Error::SameOutput { file: output.place.to_string() });
        }
    }
    Ok(())
}

/// Writes a temporary file beside `path`, which has its mode from the beginning. It is deleted when dropped.
fn stage(path: &Path, output: &Output<'_>, force: bool) -> Result<NamedTempFile, Error> {
    // To fail here saves the work; that nothing is overwritten is made sure of when the file takes its name.
    match fs::symlink_metadata(path) {
        Ok(_) if !force => return Err(Error::Exists { file: display(path) }),
        Ok(there) if !there.is_file() && !there.is_symlink() => {
            return Err(Error::NotRegular { file: display(path) });
        }
        _ => {}
    }
    let mut builder = tempfile::Builder::new();
    builder.prefix(TEMPORARY_PREFIX);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The umask takes from this what the user does not want others to have.
        builder.permissions(fs::Permissions::from_mode(if output.secret { 0o600 } else { 0o666 }));
    }
    #[cfg(not(unix))]
    let _ = output.secret;
    let write = || {
        let mut file = builder.tempfile_in(directory(path))?;
        file.write_all(&output.contents)?;
        file.as_file().sync_all()?;
        Ok(file)
    };
    write().map_err(|source| Error::Write { file: display(path), source })
}

/// A file that has its name, and what had the name before.
struct Published<'a> {
    path: &'a Path,
    previous: Option<TempPath>,
}

/// Gives all staged files their names; if one does not get it, the others lose theirs again.
fn publish_all(staged: Vec<(&Path, NamedTempFile)>, force: bool) -> Result<(), Error> {
    let mut published = Vec::new();
    for (path, file) in staged {
        match publish(path, file, force) {
            Ok(done) => published.push(done),
            Err(error) => {
                published.into_iter().for_each(Published::undo);
                return Err(error);
            }
        }
    }
    Ok(())
}

fn publish(path: &Path, file: NamedTempFile, force: bool) -> Result<Published<'_>, Error> {
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::AlreadyExists => Error::Exists { file: display(path) },
        _ => Error::Write { file: display(path), source },
    };
    if !force {
        file.persist_noclobber(path).map_err(|error| failed(error.error))?;
        return Ok(Published { path, previous: None });
    }
    let previous = set_aside(path).map_err(failed)?;
    match (file.persist(path), previous) {
        (Ok(_), previous) => Ok(Published { path, previous }),
        (Err(error), None) => Err(failed(error.error)),
        (Err(error), previous) => {
            Published { path, previous }.undo();
            Err(failed(error.error))
        }
    }
}

impl Published<'_> {
    /// Puts back what was there. There is an error to report already, so this one's own errors are not.
    fn undo(self) {
        let _ = match self.previous {
            Some(previous) => previous.persist(self.path).map_err(|error| error.error),
            None => fs::remove_file(self.path),
        };
    }
}

/// Moves a file that is about to be replaced to a temporary name, under which it is deleted when dropped.
fn set_aside(path: &Path) -> io::Result<Option<TempPath>> {
    let moved = tempfile::Builder::new()
        .prefix(TEMPORARY_PREFIX)
        .make_in(directory(path), |temporary| fs::rename(path, temporary));
    match moved {
        Ok(moved) => Ok(Some(moved.into_temp_path())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn directory(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn display(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outputs<'a>(first: &'a Place, second: &'a Place) -> [Output<'a>; 2] {
        [first, second].map(|place| Output { place, contents: Zeroizing::new(b"new".to_vec()), secret: true })
    }

    fn names(directory: &Path) -> Vec<OsString> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    }

    /// A file that appears between staging and publishing is not overwritten, and its companion disappears again.
    #[test]
    fn race_lost() {
        let directory = tempfile::tempdir().unwrap();
        let (first, second) = (directory.path().join("a"), directory.path().join("b"));
        let places = [&first, &second].map(|path| Place::File(path.clone()));
        let outputs = outputs(&places[0], &places[1]);
        let staged = vec![
            (first.as_path(), stage(&first, &outputs[0], false).unwrap()),
            (second.as_path(), stage(&second, &outputs[1], false).unwrap()),
        ];
        fs::write(&second, "theirs").unwrap();
        assert!(matches!(publish_all(staged, false), Err(Error::Exists { .. })));
        assert_eq!(names(directory.path()), ["b"]);
        assert_eq!(fs::read(&second).unwrap(), b"theirs");
    }

    /// With `--force`, too, a pair that cannot be written leaves the old pair.
    #[test]
    fn forced_pair_undone() {
        let directory = tempfile::tempdir().unwrap();
        let (first, second) = (directory.path().join("a"), directory.path().join("b"));
        let places = [&first, &second].map(|path| Place::File(path.clone()));
        let outputs = outputs(&places[0], &places[1]);
        fs::write(&first, "old").unwrap();
        let staged = vec![
            (first.as_path(), stage(&first, &outputs[0], true).unwrap()),
            (second.as_path(), stage(&second, &outputs[1], true).unwrap()),
        ];
        // The second file cannot take its name: its temporary file is gone.
        fs::remove_file(staged[1].1.path()).unwrap();
        assert!(matches!(publish_all(staged, true), Err(Error::Write { .. })));
        assert_eq!(names(directory.path()), ["a"]);
        assert_eq!(fs::read(&first).unwrap(), b"old");
        write(&outputs, true).unwrap();
        assert_eq!(names(directory.path()), ["a", "b"]);
        assert_eq!(fs::read(&first).unwrap(), b"new");
    }
}
