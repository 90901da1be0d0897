//! Reads and writes files.
//!
//! Files appear complete or not at all. The program writes a temporary file, `.ctru-*`, in the same
//! folder, and then renames it. An old file keeps its name until that moment.
//!
//! An output that is not a regular file, such as a pipe, a device or an open stream, is written in
//! place; see [`sink`](crate::sink).
//!
//! Of several outputs, either all are written or none. The program gives each old file except the
//! last one a second name, `.ctru-*.old`, until all new files have their names. If a new file
//! cannot get its name, the old files get their names back. If the new names may not survive a
//! power cut, the old files keep their second names, and the error names them.
//!
//! On Unix, only one program at a time replaces several files in a folder; see `lock`. Otherwise,
//! two programs could leave a private key and a public key of different pairs.
//!
//! On Unix, the program delays signals during these steps, so only `SIGKILL` or a crash of the
//! machine can interrupt them. After such an interruption, some of the files can be new and the
//! others old. Nothing is lost if the file system keeps the order of changes: each old and each new
//! file still has its name, a temporary name or a second name. On other systems, any interruption
//! can have this effect.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
#[cfg(unix)]
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
#[cfg(not(unix))]
use std::path::PathBuf;

use ctru_program::visible;
#[cfg(unix)]
use nix::sys::signal::{SigSet, SigmaskHow};
use tempfile::{NamedTempFile, TempPath};
use zeroize::Zeroizing;

use crate::error::Error;
#[cfg(unix)]
use crate::lock::Lock;
use crate::names::{PathOrStdio, directory};
use crate::problem::{Kind, Problem};
use crate::sink::{STDIN, STDOUT, Sink, duplicate};

/// The largest number of bytes of a file. All objects are shorter in all forms, even with text
/// around a PEM form.
const LONGEST_FILE: usize = 64 * 1024;

/// The prefix of temporary files. If a crash leaves such a file, its name shows the program.
const TEMPORARY_PREFIX: &str = ".ctru-";

/// Reads a file and calls `parse` with its contents. `wanted` lists the kinds of objects that the
/// caller accepts. The error for a file that is too long names them.
///
/// # Errors
/// [`Error::Read`] if the file cannot be read, [`Error::Contents`] if it is too long or if `parse`
/// fails.
pub(crate) fn read<T>(
    from: &PathOrStdio,
    wanted: &'static [Kind],
    parse: impl FnOnce(Zeroizing<Vec<u8>>) -> Result<T, Problem>,
) -> Result<T, Error> {
    let contents = match from {
        PathOrStdio::Stdio => duplicate(STDIN).and_then(read_limited),
        PathOrStdio::Path(path) => File::open(path).and_then(read_limited),
    };
    let contents = contents.map_err(|source| Error::Read { file: from.to_string(), source })?;
    let parsed = if contents.len() > LONGEST_FILE {
        Err(Problem::TooLong { wanted, limit: LONGEST_FILE })
    } else {
        parse(contents)
    };
    parsed.map_err(|problem| Error::contents(from, problem))
}

/// Reads at most [`LONGEST_FILE`] bytes and one more, which shows that the file is too long. The
/// vector never grows, because its old memory would keep a copy of secrets.
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

/// Warns on standard error if others than the owner may use the file of a private key.
pub(crate) fn warn_of_readers(file: &PathOrStdio) {
    #[cfg(unix)]
    if let PathOrStdio::Path(path) = file
        && let Ok(there) = fs::metadata(path)
        && there.is_file()
        && there.mode() & 0o077 != 0
    {
        let mode = there.mode() & 0o7777;
        ctru_program::tell(
            "warning",
            &format_args!(
                "{file}: its mode {mode:04o} opens this private key to others; mode 0600 closes it"
            ),
        );
    }
    #[cfg(not(unix))]
    let _ = file;
}

/// A file to be written.
pub(crate) struct Output<'a> {
    pub(crate) to: &'a PathOrStdio,
    pub(crate) contents: Zeroizing<Vec<u8>>,
    /// Whether only the owner may read the file. This holds on Unix; other systems have no modes.
    pub(crate) secret: bool,
}

/// Writes all regular files or none, and then the other outputs. Fails if an output would replace
/// one of the `inputs`.
///
/// # Errors
/// [`Error`]. If an output fails that is no file, the error names the files that have been written.
pub(crate) fn write(
    inputs: &[&PathOrStdio],
    outputs: &[Output<'_>],
    force: bool,
) -> Result<(), Error> {
    let sinks = outputs.iter().map(|output| Sink::of(output.to, force));
    let sinks = sinks.collect::<Result<Vec<_>, _>>()?;
    check_names(inputs, outputs, &sinks)?;
    let mut files = Vec::new();
    for (output, sink) in outputs.iter().zip(&sinks) {
        if let (PathOrStdio::Path(path), Sink::File) = (output.to, sink) {
            files.push((path.as_path(), output));
        }
    }
    uninterrupted(|| {
        let mut staged = Vec::new();
        for &(path, output) in &files {
            staged.push((path, stage(path, output, force)?));
        }
        // Other systems do not tell whether a name still denotes a locked file.
        #[cfg(unix)]
        let _locks = lock(&staged, force)?;
        publish_all(staged, force)
    })?;
    for (output, sink) in outputs.iter().zip(sinks) {
        sink.write(output.to, &output.contents).map_err(|error| {
            after_writing(files.iter().map(|(path, _)| visible(path)).collect(), error)
        })?;
    }
    Ok(())
}

/// Adds to an error the names of files that were written before it.
fn after_writing(files: Vec<String>, error: Error) -> Error {
    if files.is_empty() {
        error
    } else {
        Error::AfterWriting { error: error.into(), files: files.join(", ") }
    }
}

/// Delays signals until `action` has ended. Otherwise, a signal could end the program while there
/// are temporary files with secrets, or while only one of two files has its name.
///
/// The action should be short. It is enough to block the signals of this thread, because no command
/// that writes keys has a second thread.
fn uninterrupted<T>(action: impl FnOnce() -> T) -> T {
    #[cfg(unix)]
    let before = SigSet::all().thread_swap_mask(SigmaskHow::SIG_BLOCK);
    let result = action();
    #[cfg(unix)]
    let _ = before.and_then(|before| before.thread_set_mask());
    result
}

/// Checks that no two outputs are one file or stream, and that no output replaces an input.
///
/// # Errors
/// [`Error::SameOutput`] or [`Error::InputAsOutput`].
fn check_names(
    inputs: &[&PathOrStdio],
    outputs: &[Output<'_>],
    sinks: &[Sink],
) -> Result<(), Error> {
    let inputs: Vec<_> = inputs.iter().map(|input| Target::of(input, STDIN)).collect();
    let mut earlier = Vec::new();
    for (Output { to, .. }, sink) in outputs.iter().zip(sinks) {
        let file = || to.to_string();
        let target = Target::of(to, STDOUT);
        if earlier.iter().any(|&(other, ref its)| other == *to || target.is(its)) {
            return Err(Error::SameOutput { file: file() });
        }
        if matches!(sink, Sink::File) && inputs.iter().any(|input| target.is(input)) {
            return Err(Error::InputAsOutput { file: file() });
        }
        earlier.push((*to, target));
    }
    Ok(())
}

/// The file that a path denotes, independent of the spelling of the path.
struct Target {
    /// The folder, and the name of the file in it.
    name: Option<(FileId, OsString)>,
    /// The file under that name, if it exists.
    file: Option<FileId>,
}

impl Target {
    fn of(path: &PathOrStdio, standard: u32) -> Self {
        match path {
            PathOrStdio::Stdio => Self { name: None, file: stream_id(standard) },
            PathOrStdio::Path(path) => Self {
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

/// The device and the inode of a file.
#[cfg(unix)]
pub(crate) type FileId = (u64, u64);
/// The path without links. On these systems, the standard library offers no numbers of files.
#[cfg(not(unix))]
pub(crate) type FileId = PathBuf;

#[cfg(unix)]
fn identity(there: &fs::Metadata) -> FileId {
    (there.dev(), there.ino())
}

/// Returns what tells the file that a path denotes from others, if it exists.
pub(crate) fn file_id(path: &Path) -> Option<FileId> {
    #[cfg(unix)]
    return fs::metadata(path).ok().as_ref().map(identity);
    #[cfg(not(unix))]
    return fs::canonicalize(path).ok();
}

/// Returns the file to which a standard stream is redirected.
fn stream_id(stream: u32) -> Option<FileId> {
    #[cfg(unix)]
    return duplicate(stream).and_then(|file| file.metadata()).ok().as_ref().map(identity);
    #[cfg(not(unix))]
    {
        let _ = stream;
        None
    }
}

/// Returns a builder of temporary files with the prefix of this program.
fn temporary() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(TEMPORARY_PREFIX);
    builder
}

/// Writes the output to a temporary file in the folder of `path`. The temporary file gets its mode
/// when it is created, and is deleted when dropped.
fn stage(path: &Path, output: &Output<'_>, force: bool) -> Result<NamedTempFile, Error> {
    // This check only saves work. `publish` makes sure that nothing is overwritten.
    if !force && fs::symlink_metadata(path).is_ok() {
        return Err(Error::Exists { file: visible(path) });
    }
    #[cfg_attr(not(unix), allow(unused_mut))] // Only Unix has these permissions.
    let mut builder = temporary();
    // The umask removes further permissions.
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
    write().map_err(|source| Error::Write { file: visible(path), source })
}

/// A new file that already has its final name.
struct Published<'a> {
    path: &'a Path,
    /// The open file. While it is open, no other file gets its inode number.
    file: File,
    /// The second name of the replaced file. It is deleted when dropped.
    previous: Option<TempPath>,
}

/// Locks the folders of several files that replace others. One file needs no lock. Without `force`,
/// no lock is needed either, because a program fails if another one has published its file before.
#[cfg(unix)]
fn lock(staged: &[(&Path, NamedTempFile)], force: bool) -> Result<Vec<Lock>, Error> {
    if !force || staged.len() < 2 {
        return Ok(Vec::new());
    }
    let mut folders: Vec<_> =
        staged.iter().map(|(path, _)| (file_id(directory(path)), directory(path))).collect();
    // All programs lock several folders in the same order, so that they do not wait for each other.
    folders.sort();
    folders.dedup_by(|one, other| one.0 == other.0);
    let locks = folders.into_iter().map(|(_, folder)| Lock::of(folder).transpose());
    locks.flatten().collect()
}

/// Renames all staged files. If one cannot be renamed, restores the old state of the others.
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

/// Makes sure that the new names survive a power cut, and deletes the old files. If this fails,
/// keeps the old files, because after a power cut only they may exist.
fn settle(published: Vec<Published<'_>>) -> Result<(), Error> {
    let synchronised = published.iter().try_for_each(|done| sync_folder(directory(done.path)));
    synchronised.map_err(|error| {
        let files = published.into_iter().map(Published::with_previous);
        after_writing(files.collect(), error)
    })
}

/// Renames one staged file to `path`. If `force`, gives an old file a second name before, unless
/// the staged file is the last one.
fn publish<'a>(
    path: &'a Path,
    file: NamedTempFile,
    force: bool,
    is_last: bool,
    earlier: &[Published<'_>],
) -> Result<Published<'a>, Error> {
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::AlreadyExists => Error::Exists { file: visible(path) },
        _ => Error::Write { file: visible(path), source },
    };
    if !force {
        let file = file.persist_noclobber(path).map_err(|error| failed(error.error))?;
        return Ok(Published { path, file, previous: None });
    }
    // The file system may treat two different names as one, for example if it ignores case. This
    // shows only now, when the earlier files exist.
    let there = file_id(path);
    if there.is_some() && earlier.iter().any(|done| file_id(done.path) == there) {
        return Err(Error::SameOutput { file: visible(path) });
    }
    // The old version of the last file is not kept: no later step can fail in such a way that
    // `publish_all` would restore it.
    let previous = if is_last { None } else { keep(path).map_err(failed)? };
    let file = file.persist(path).map_err(|error| failed(error.error))?;
    Ok(Published { path, file, previous })
}

impl Published<'_> {
    /// Restores the old state after `error`. Returns the error to report.
    fn undo(self, error: Error) -> Error {
        let Self { path, file, previous } = self;
        let undone = match previous {
            Some(previous) => {
                // Some systems do not replace an open file.
                drop(file);
                previous.persist(path).map_err(|failed| (failed.error, Some(retain(failed.path))))
            }
            None => remove(path, &file).map_err(|source| (source, None)),
        };
        match undone {
            Ok(()) => error,
            Err((source, previous)) => {
                Error::NotUndone { error: error.into(), file: visible(path), source, previous }
            }
        }
    }

    /// Keeps the old file. Returns a text with the names of both files.
    fn with_previous(self) -> String {
        let name = visible(self.path);
        match self.previous {
            Some(previous) => format!("{name} (the old one is {})", retain(previous)),
            None => name,
        }
    }
}

/// Removes a file, unless its name is gone or now belongs to another file.
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

/// Keeps a file that would otherwise be deleted when dropped. Returns its name.
fn retain(mut kept: TempPath) -> String {
    kept.disable_cleanup(true);
    visible(&kept)
}

/// Gives a file a second name before it is replaced. Returns the second name, which is deleted when
/// dropped, or `None` if there is no such file.
fn keep(path: &Path) -> io::Result<Option<TempPath>> {
    let mut builder = temporary();
    builder.suffix(".old");
    match builder.make_in(directory(path), |second| fs::hard_link(path, second)) {
        Ok(kept) => Ok(Some(kept.into_temp_path())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        // The file system has no hard links, or refuses them to this user.
        Err(_) => copy(path, &builder).map(Some),
    }
}

/// Copies a file with its permissions. The copy survives a power cut.
fn copy(path: &Path, builder: &tempfile::Builder<'_, '_>) -> io::Result<TempPath> {
    let mut old = File::open(path)?;
    let mut copy = builder.tempfile_in(directory(path))?;
    io::copy(&mut old, copy.as_file_mut())?;
    copy.as_file().set_permissions(old.metadata()?.permissions())?;
    copy.as_file().sync_all()?;
    Ok(copy.into_temp_path())
}

/// Makes the names in a folder survive a power cut, if the system can do this.
fn sync_folder(folder: &Path) -> Result<(), Error> {
    // Other systems cannot open folders.
    if !cfg!(unix) {
        return Ok(());
    }
    let opened = match File::open(folder) {
        // A user may be allowed to write into a folder but not to read it.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(()),
        opened => opened,
    };
    match opened.and_then(|folder| folder.sync_all()) {
        // The file system does not synchronise folders.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        done => done.map_err(|source| Error::Write { file: visible(folder), source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns two outputs with the contents `new`.
    fn outputs(to: &[PathOrStdio; 2]) -> [Output<'_>; 2] {
        to.each_ref().map(|to| Output { to, contents: b"new".to_vec().into(), secret: true })
    }

    fn staged<'a>(outputs: &'a [Output<'_>; 2], force: bool) -> Vec<(&'a Path, NamedTempFile)> {
        let staged = outputs.iter().map(|output| {
            let path = output.to.path().unwrap();
            (path, stage(path, output, force).unwrap())
        });
        staged.collect()
    }

    fn names(directory: &Path) -> Vec<OsString> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    }

    /// Checks that a file that appears between staging and renaming is not overwritten, and that
    /// the other file of the pair disappears again.
    #[test]
    fn race_lost() {
        let directory = tempfile::tempdir().unwrap();
        let (first, second) = (directory.path().join("a"), directory.path().join("b"));
        let paths = [&first, &second].map(|path| PathOrStdio::Path(path.clone()));
        let outputs = outputs(&paths);
        let staged = staged(&outputs, false);
        fs::write(&second, "theirs").unwrap();
        assert!(matches!(publish_all(staged, false), Err(Error::Exists { .. })));
        assert_eq!(names(directory.path()), ["b"]);
        assert_eq!(fs::read(&second).unwrap(), b"theirs");
    }

    /// Checks that with `--force`, too, an old file stays if the new pair cannot be written.
    #[test]
    fn forced_pair_undone() {
        let directory = tempfile::tempdir().unwrap();
        let (first, second) = (directory.path().join("a"), directory.path().join("b"));
        let paths = [&first, &second].map(|path| PathOrStdio::Path(path.clone()));
        let outputs = outputs(&paths);
        fs::write(&first, "old").unwrap();
        let staged = staged(&outputs, true);
        // The second file cannot take its name: its temporary file is gone.
        fs::remove_file(staged[1].1.path()).unwrap();
        assert!(matches!(publish_all(staged, true), Err(Error::Write { .. })));
        assert_eq!(names(directory.path()), ["a"]);
        assert_eq!(fs::read(&first).unwrap(), b"old");
        write(&[], &outputs, true).unwrap();
        assert_eq!(names(directory.path()), ["a", "b"]);
        assert_eq!(fs::read(&first).unwrap(), b"new");
    }

    /// Checks that the second file does not replace the first one if the file system treats their
    /// names as one.
    #[test]
    fn spellings_that_only_the_file_system_knows() {
        let directory = tempfile::tempdir().unwrap();
        let (first, second) = (directory.path().join("a"), directory.path().join(".").join("a"));
        let paths = [&first, &second].map(|path| PathOrStdio::Path(path.clone()));
        let outputs = outputs(&paths);
        for old in [None, Some(b"old")] {
            if let Some(old) = old {
                fs::write(&first, old).unwrap();
            }
            let published = publish_all(staged(&outputs, true), true);
            assert!(matches!(published, Err(Error::SameOutput { .. })));
            assert_eq!(fs::read(&first).ok().as_deref(), old.map(|old| &old[..]));
            assert_eq!(names(directory.path()).len(), usize::from(old.is_some()));
        }
    }

    /// Checks that the old file keeps its second name if it cannot be restored, and that the
    /// error tells this name.
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
        let (message, second_name) = (error.to_string(), visible(&second));
        assert!(message.contains(&second_name) && second_name.ends_with(".old"), "{message}");
        assert_eq!(fs::read(&second).unwrap(), b"old");
    }

    /// Checks that the old file stays and that the error names it if the new names may not survive
    /// a power cut.
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
        let [first, second_name, last] = [&first, &second, &last].map(visible);
        let files = format!("all the same: {first} (the old one is {second_name}), {last}");
        assert!(message.ends_with(&files), "{message}");
        assert_eq!(fs::read(&second).unwrap(), b"old");
    }

    /// Checks that a folder that may not be read is no error, but that a missing folder is one.
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
        assert!(error.starts_with(&visible(&gone)), "{error}");
    }

    /// Checks that `undo` does not remove a file that another program has put in place of the
    /// new file.
    #[cfg(unix)]
    #[test]
    fn what_others_publish_is_not_undone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        let to = [(); 2].map(|()| PathOrStdio::Path(path.clone()));
        let [output, _] = outputs(&to);
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

    /// Checks that a hard link and a copy both keep the content and the permissions of the old
    /// file. A file system without hard links needs the copy.
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
