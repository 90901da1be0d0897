//! How files are read and written.
//!
//! What is written appears under its name complete or not at all: it is written to a temporary file
//! beside it, `.ctru-*`, which then takes the name. A file that is replaced keeps its name until
//! that moment. Outputs that belong together are all written or none is: each file that is replaced
//! before the last is kept under a second name, `.ctru-*.old`, until all have theirs, and gets its
//! name back if one fails. If the new names may not survive a power cut, it keeps the second name,
//! and the error says which that is.
//!
//! On Unix, signals wait while this goes on, so only `SIGKILL` or a crash of the machine can end it
//! halfway. Then some of the files can be new and the others old. Nothing is lost: what has not its
//! own name, old or new, has a temporary or a second one, if the file system keeps such changes in
//! order. Elsewhere an interruption can do the same.

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read, Write};
#[cfg(unix)]
use std::os::fd::AsFd as AsStream;
#[cfg(unix)]
use std::os::unix::fs::{MetadataExt, PermissionsExt};
#[cfg(windows)]
use std::os::windows::io::AsHandle as AsStream;
use std::path::{Path, PathBuf};

#[cfg(unix)]
use nix::sys::signal::{SigSet, SigmaskHow};
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

/// Reads what should be one of `wanted` and parses it.
pub(crate) fn read<T>(
    place: &Place,
    wanted: &'static [Kind],
    parse: impl FnOnce(Zeroizing<Vec<u8>>) -> Result<T, Problem>,
) -> Result<T, Error> {
    let contents = match place {
        Place::Standard => unbuffered(io::stdin()).and_then(read_limited),
        Place::File(path) => File::open(path).and_then(read_limited),
    };
    let contents = contents.map_err(|source| Error::Read { file: place.to_string(), source })?;
    let parsed = if contents.len() > LONGEST_FILE {
        Err(Problem::TooLong { wanted, limit: LONGEST_FILE })
    } else {
        parse(contents)
    };
    parsed.map_err(|problem| Error::Contents { file: place.to_string(), problem })
}

/// Up to one byte more than the longest file, in a vector that never moves: moving would leave
/// secrets behind.
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

/// A standard stream without the buffer of the standard library, which would keep secrets.
fn unbuffered(stream: impl AsStream) -> io::Result<File> {
    #[cfg(unix)]
    let owned = stream.as_fd().try_clone_to_owned();
    #[cfg(windows)]
    let owned = stream.as_handle().try_clone_to_owned();
    owned.map(File::from)
}

/// Says on standard error that a private key's file is open to others than its owner, if it is.
pub(crate) fn warn_of_readers(place: &Place) {
    #[cfg(unix)]
    if let Place::File(path) = place
        && let Ok(there) = fs::metadata(path)
        && there.is_file()
        && there.mode() & 0o077 != 0
    {
        let mode = there.mode() & 0o7777;
        crate::tell(
            "warning",
            &format_args!(
                "{place}: its mode {mode:04o} opens this private key to others; mode 0600 closes it"
            ),
        );
    }
    #[cfg(not(unix))]
    let _ = place;
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

/// Writes all outputs or none, except that standard output comes last: if it fails, the files are
/// there, and the error says so.
///
/// None of the `inputs` is replaced.
pub(crate) fn write(inputs: &[&Place], outputs: &[Output<'_>], force: bool) -> Result<(), Error> {
    check_names(inputs, outputs)?;
    uninterrupted(|| {
        let mut staged = Vec::new();
        for output in outputs {
            if let Place::File(path) = output.place {
                staged.push((path.as_path(), stage(path, output, force)?));
            }
        }
        publish_all(staged, force)
    })?;
    for output in outputs {
        if *output.place == Place::Standard {
            let stdout = unbuffered(io::stdout());
            stdout.and_then(|mut stdout| stdout.write_all(&output.contents)).map_err(|source| {
                let files = outputs.iter().filter_map(|output| match output.place {
                    Place::Standard => None,
                    Place::File(path) => Some(display(path)),
                });
                after_writing(files.collect(), source.into())
            })?;
        }
    }
    Ok(())
}

/// The error of what failed after these files had been written.
fn after_writing(files: Vec<String>, error: Error) -> Error {
    if files.is_empty() {
        error
    } else {
        Error::AfterWriting { error: error.into(), files: files.join(", ") }
    }
}

/// Lets signals wait until `action` has ended. Otherwise they could end the program while temporary
/// files with secrets are there, or while one of two files has its name.
///
/// It is for writing a few kilobytes. The signals of this thread are all of the program's: no
/// command that writes keys has a second thread.
fn uninterrupted<T>(action: impl FnOnce() -> T) -> T {
    #[cfg(unix)]
    let before = SigSet::all().thread_swap_mask(SigmaskHow::SIG_BLOCK);
    let result = action();
    #[cfg(unix)]
    let _ = before.and_then(|before| before.thread_set_mask());
    result
}

/// Refuses outputs that would replace each other or an input.
fn check_names(inputs: &[&Place], outputs: &[Output<'_>]) -> Result<(), Error> {
    let inputs: Vec<_> = inputs.iter().map(|place| Target::of(place, io::stdin())).collect();
    let mut earlier = Vec::new();
    for Output { place, .. } in outputs {
        let file = || place.to_string();
        let target = Target::of(place, io::stdout());
        if earlier.iter().any(|&(other, ref its)| other == *place || target.is(its)) {
            return Err(Error::SameOutput { file: file() });
        }
        if **place != Place::Standard && inputs.iter().any(|input| target.is(input)) {
            return Err(Error::InputAsOutput { file: file() });
        }
        earlier.push((*place, target));
    }
    Ok(())
}

/// What a place is to the file system, however it is spelled.
struct Target {
    /// The folder and the name in it.
    name: Option<(FileId, OsString)>,
    /// The file that is there, if one is.
    file: Option<FileId>,
}

impl Target {
    fn of(place: &Place, standard: impl AsStream) -> Self {
        match place {
            Place::Standard => Self { name: None, file: stream_id(standard) },
            Place::File(path) => Self {
                name: file_id(directory(path)).zip(path.file_name().map(ToOwned::to_owned)),
                file: file_id(path),
            },
        }
    }

    fn is(&self, other: &Self) -> bool {
        let same_name = self.name.is_some() && self.name == other.name;
        same_name || (self.file.is_some() && self.file == other.file)
    }
}

/// Device and inode.
#[cfg(unix)]
type FileId = (u64, u64);
/// The path without links, where the standard library gives no number.
#[cfg(not(unix))]
type FileId = PathBuf;

#[cfg(unix)]
fn identity(there: &fs::Metadata) -> FileId {
    (there.dev(), there.ino())
}

fn file_id(path: &Path) -> Option<FileId> {
    #[cfg(unix)]
    return fs::metadata(path).ok().as_ref().map(identity);
    #[cfg(not(unix))]
    return fs::canonicalize(path).ok();
}

/// The file that a standard stream is redirected to.
fn stream_id(stream: impl AsStream) -> Option<FileId> {
    #[cfg(unix)]
    return unbuffered(stream).and_then(|file| file.metadata()).ok().as_ref().map(identity);
    #[cfg(not(unix))]
    {
        let _ = stream;
        None
    }
}

/// A temporary file that tells where it is from.
fn temporary() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(TEMPORARY_PREFIX);
    builder
}

/// Writes a temporary file beside `path`, which has its mode from the beginning. It is deleted when
/// dropped.
fn stage(path: &Path, output: &Output<'_>, force: bool) -> Result<NamedTempFile, Error> {
    // To fail here saves the work; that nothing is overwritten is made sure of when the file takes
    // its name.
    match fs::symlink_metadata(path) {
        Ok(_) if !force => return Err(Error::Exists { file: display(path) }),
        Ok(there) if !there.is_file() && !there.is_symlink() => {
            return Err(Error::NotRegular { file: display(path) });
        }
        _ => {}
    }
    let mut builder = temporary();
    // The umask takes from this what the user does not want others to have.
    #[cfg(unix)]
    builder.permissions(fs::Permissions::from_mode(if output.secret { 0o600 } else { 0o666 }));
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

/// A file that has its name.
struct Published<'a> {
    path: &'a Path,
    /// While it is open, no other file gets its number.
    file: File,
    /// What had the name before, under a second name. It is deleted when dropped.
    previous: Option<TempPath>,
}

/// Gives all staged files their names; if one does not get it, the others lose theirs again.
fn publish_all(staged: Vec<(&Path, NamedTempFile)>, force: bool) -> Result<(), Error> {
    let mut published: Vec<Published<'_>> = Vec::new();
    let last = staged.len();
    for (path, file) in staged {
        let is_last = published.len() + 1 == last;
        match publish(path, file, force, is_last, &published) {
            Ok(done) => published.push(done),
            Err(error) => {
                return Err(published
                    .into_iter()
                    .rev()
                    .fold(error, |error, done| done.undo(error)));
            }
        }
    }
    settle(published)
}

/// Makes the names last, and lets the old files go. If the names may not last, the old files stay:
/// after a power cut, one of them may be all that there is.
fn settle(published: Vec<Published<'_>>) -> Result<(), Error> {
    let synchronised = published.iter().try_for_each(|done| sync_folder(directory(done.path)));
    synchronised.map_err(|error| {
        let files = published.into_iter().map(Published::with_previous);
        after_writing(files.collect(), error)
    })
}

fn publish<'a>(
    path: &'a Path,
    file: NamedTempFile,
    force: bool,
    is_last: bool,
    earlier: &[Published<'_>],
) -> Result<Published<'a>, Error> {
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::AlreadyExists => Error::Exists { file: display(path) },
        _ => Error::Write { file: display(path), source },
    };
    if !force {
        let file = file.persist_noclobber(path).map_err(|error| failed(error.error))?;
        return Ok(Published { path, file, previous: None });
    }
    // Two names that differ may be one for the file system, which may ignore case. It shows now.
    let there = file_id(path);
    if there.is_some() && earlier.iter().any(|done| file_id(done.path) == there) {
        return Err(Error::SameOutput { file: display(path) });
    }
    // After the last nothing can fail that would bring the old file back.
    let previous = if is_last { None } else { keep(path).map_err(failed)? };
    let file = file.persist(path).map_err(|error| failed(error.error))?;
    Ok(Published { path, file, previous })
}

impl Published<'_> {
    /// Puts back what was there, because of `error`. Comes back with what is to be reported.
    fn undo(self, error: Error) -> Error {
        let Self { path, file, previous } = self;
        let undone = match previous {
            Some(previous) => {
                // Not every system replaces a file that is open.
                drop(file);
                previous.persist(path).map_err(|failed| (failed.error, Some(retain(failed.path))))
            }
            None => remove(path, &file).map_err(|source| (source, None)),
        };
        match undone {
            Ok(()) => error,
            Err((source, previous)) => {
                Error::NotUndone { error: error.into(), file: display(path), source, previous }
            }
        }
    }

    /// Leaves the old file where it is. Comes back with the names of both.
    fn with_previous(self) -> String {
        let name = display(self.path);
        match self.previous {
            Some(previous) => format!("{name} (the old one is {})", retain(previous)),
            None => name,
        }
    }
}

/// Removes a file, unless its name is gone or another file's by now.
fn remove(path: &Path, file: &File) -> io::Result<()> {
    #[cfg(unix)]
    match fs::symlink_metadata(path) {
        Ok(there) if identity(&there) == identity(&file.metadata()?) => {}
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    }
    #[cfg(not(unix))]
    let _ = file;
    fs::remove_file(path)
}

/// Keeps a file that would be deleted. Comes back with its name.
fn retain(mut kept: TempPath) -> String {
    kept.disable_cleanup(true);
    display(&kept)
}

/// Gives a file that is about to be replaced a second name, under which it is deleted when dropped.
fn keep(path: &Path) -> io::Result<Option<TempPath>> {
    let mut builder = temporary();
    builder.suffix(".old");
    match builder.make_in(directory(path), |second| fs::hard_link(path, second)) {
        Ok(kept) => Ok(Some(kept.into_temp_path())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        // The file system has no second names, or does not give them to everybody.
        Err(_) => copy(path, &builder).map(Some),
    }
}

/// Makes a copy with the same permissions, which survives a power cut.
fn copy(path: &Path, builder: &tempfile::Builder<'_, '_>) -> io::Result<TempPath> {
    let mut old = File::open(path)?;
    let mut copy = builder.tempfile_in(directory(path))?;
    io::copy(&mut old, copy.as_file_mut())?;
    copy.as_file().set_permissions(old.metadata()?.permissions())?;
    copy.as_file().sync_all()?;
    Ok(copy.into_temp_path())
}

/// Makes the names in a folder last, where the system can.
fn sync_folder(folder: &Path) -> Result<(), Error> {
    // Other systems do not open folders.
    if !cfg!(unix) {
        return Ok(());
    }
    let opened = match File::open(folder) {
        // Who may write into a folder need not be one who may read it.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(()),
        opened => opened,
    };
    match opened.and_then(|folder| folder.sync_all()) {
        // The file system does not do it for folders.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        done => done.map_err(|source| Error::Write { file: display(folder), source }),
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
        let contents = || Zeroizing::new(b"new".to_vec());
        [first, second].map(|place| Output { place, contents: contents(), secret: true })
    }

    fn names(directory: &Path) -> Vec<OsString> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    }

    /// A file that appears between staging and publishing is not overwritten, and its companion
    /// disappears again.
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
        write(&[], &outputs, true).unwrap();
        assert_eq!(names(directory.path()), ["a", "b"]);
        assert_eq!(fs::read(&first).unwrap(), b"new");
    }

    /// Where the file system knows one name for both, the first file is not replaced by the second.
    #[test]
    fn spellings_that_only_the_file_system_knows() {
        let directory = tempfile::tempdir().unwrap();
        let (first, second) = (directory.path().join("a"), directory.path().join(".").join("a"));
        let places = [&first, &second].map(|path| Place::File(path.clone()));
        let outputs = outputs(&places[0], &places[1]);
        for old in [None, Some(b"old")] {
            if let Some(old) = old {
                fs::write(&first, old).unwrap();
            }
            let staged = [&first, &second].into_iter().zip(&outputs);
            let staged =
                staged.map(|(path, output)| (path.as_path(), stage(path, output, true).unwrap()));
            assert!(matches!(publish_all(staged.collect(), true), Err(Error::SameOutput { .. })));
            assert_eq!(fs::read(&first).ok().as_deref(), old.map(|old| &old[..]));
            assert_eq!(names(directory.path()).len(), usize::from(old.is_some()));
        }
    }

    /// If what was replaced cannot be put back, the error says where it is, and it stays there.
    #[test]
    fn what_cannot_be_put_back_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        fs::write(&path, "old").unwrap();
        let previous = keep(&path).unwrap().unwrap();
        let second = previous.to_path_buf();
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        let file = tempfile::tempfile().unwrap();
        let published = Published { path: &path, file, previous: Some(previous) };
        let error = published.undo(Error::SameInput);
        assert!(matches!(error, Error::NotUndone { .. }));
        let (message, second_name) = (error.to_string(), display(&second));
        assert!(message.contains(&second_name) && second_name.ends_with(".old"), "{message}");
        assert_eq!(fs::read(&second).unwrap(), b"old");
    }

    /// Where names may not last, what was replaced stays, and the error says where.
    #[cfg(unix)]
    #[test]
    fn old_files_stay_if_the_folder_cannot_be_synchronised() {
        let directory = tempfile::tempdir().unwrap();
        let old = directory.path().join("a");
        fs::write(&old, "old").unwrap();
        let previous = keep(&old).unwrap().unwrap();
        let second = previous.to_path_buf();
        // A folder that is gone cannot be opened, so it cannot be synchronised.
        let gone = directory.path().join("gone");
        let (first, last) = (gone.join("a"), gone.join("b"));
        let published = [(&first, Some(previous)), (&last, None)].map(|(path, previous)| {
            Published { path, file: tempfile::tempfile().unwrap(), previous }
        });
        let error = settle(published.into()).unwrap_err();
        assert!(matches!(error, Error::AfterWriting { .. }));
        let message = error.to_string();
        let [first, second_name, last] = [&first, &second, &last].map(|path| display(path));
        let files = format!("all the same: {first} (the old one is {second_name}), {last}");
        assert!(message.ends_with(&files), "{message}");
        assert_eq!(fs::read(&second).unwrap(), b"old");
    }

    /// Only a folder that is there and may not be read goes without.
    #[cfg(unix)]
    #[test]
    fn folders_are_synchronised() {
        let directory = tempfile::tempdir().unwrap();
        sync_folder(directory.path()).unwrap();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o300)).unwrap();
        sync_folder(directory.path()).unwrap();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o700)).unwrap();
        let gone = directory.path().join("gone");
        let error = sync_folder(&gone).unwrap_err().to_string();
        assert!(error.starts_with(&display(&gone)), "{error}");
    }

    /// What another program has put under the name of a new file by then is not removed with it.
    #[cfg(unix)]
    #[test]
    fn what_others_publish_is_not_undone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        let place = Place::File(path.clone());
        let [output, _] = outputs(&place, &place);
        let publish = || {
            let staged = stage(&path, &output, false).unwrap();
            publish(&path, staged, false, false, &[]).unwrap()
        };
        assert!(matches!(publish().undo(Error::SameInput), Error::SameInput));
        assert!(names(directory.path()).is_empty());

        let published = publish();
        fs::remove_file(&path).unwrap();
        fs::write(&path, "theirs").unwrap();
        assert!(matches!(published.undo(Error::SameInput), Error::SameInput));
        assert_eq!(fs::read(&path).unwrap(), b"theirs");

        fs::remove_file(&path).unwrap();
        let published = publish();
        fs::remove_file(&path).unwrap();
        assert!(matches!(published.undo(Error::SameInput), Error::SameInput));
    }

    /// A file system without hard links has copies instead.
    #[test]
    fn copies_are_kept_like_links() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        assert!(keep(&path).unwrap().is_none());
        fs::write(&path, "old").unwrap();
        let permissions = fs::metadata(&path).unwrap().permissions();
        for kept in [keep(&path).unwrap().unwrap(), copy(&path, &temporary()).unwrap()] {
            assert_eq!(fs::read(&kept).unwrap(), b"old");
            assert_eq!(fs::metadata(&kept).unwrap().permissions(), permissions);
        }
        assert_eq!(names(directory.path()), ["a"]);
    }
}
