//! Where an output goes: into a file of its own, or into something that exists and stays.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
#[cfg(unix)]
use std::os::fd::{BorrowedFd, RawFd};
#[cfg(unix)]
use std::os::unix::fs::FileTypeExt;
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use ctru_program::visible;

use crate::error::Error;
use crate::names::{PathOrStdio, directory};

/// The number of standard input.
pub(crate) const STDIN: u32 = 0;
/// The number of standard output.
pub(crate) const STDOUT: u32 = 1;

/// The largest number of links that lead to a file, as on Linux.
const MOST_LINKS: usize = 40;

/// Where an output goes.
#[derive(Debug)]
pub(crate) enum Sink {
    /// A regular file, or none yet: the output gets this name when it is complete.
    File,
    /// A stream that this process has open. A second handle shares its position, so that the output
    /// comes after what others have written.
    Open { number: u32, stream: File },
    /// A pipe, a device, or what another process has open. The output is appended, so that nothing
    /// is lost if it is a file.
    Special,
    /// A socket of this machine.
    #[cfg(unix)]
    Socket,
}

impl Sink {
    /// Finds out where an output goes. Follows links one by one, because a link below `/proc/*/fd`
    /// stands for an open stream, and not for the file that it names.
    ///
    /// # Errors
    /// [`Error::NotRegular`] for a folder, [`Error::Exists`] for a device that stores blocks
    /// without `force`, [`Error::Report`] if standard output is closed, [`Error::Write`] if another
    /// stream is closed or if the system does not tell where the path leads.
    pub(crate) fn of(to: &PathOrStdio, force: bool) -> Result<Self, Error> {
        // Other systems have no files for such devices.
        #[cfg(not(unix))]
        let _ = force;
        let PathOrStdio::Path(path) = to else { return open(STDOUT).map_err(Error::Report) };
        let failed = |source| Error::Write { file: visible(path), source };
        match end(path).map_err(failed)? {
            End::Stream(number) => {
                open(number).map_err(|source| Self::error(to, Some(number), source))
            }
            End::Other => Ok(Self::Special),
            End::Nothing => Ok(Self::File),
            End::There(there) if there.is_file() => Ok(Self::File),
            End::There(there) if there.is_dir() => Err(Error::NotRegular { file: visible(path) }),
            #[cfg(unix)]
            End::There(there) if there.file_type().is_block_device() && !force => {
                Err(Error::Exists { file: visible(path) })
            }
            #[cfg(unix)]
            End::There(there) if there.file_type().is_socket() => Ok(Self::Socket),
            End::There(_) => Ok(Self::Special),
        }
    }

    /// Writes an output into what exists. A file is not written here.
    ///
    /// # Errors
    /// [`Error::Report`] for standard output, [`Error::Write`] for everything else.
    pub(crate) fn write(self, to: &PathOrStdio, contents: &[u8]) -> Result<(), Error> {
        let mut number = None;
        let written = match (self, to) {
            (Self::File, _) => Ok(()),
            (Self::Open { number: its, mut stream }, _) => {
                number = Some(its);
                stream.write_all(contents)
            }
            // The options create nothing.
            (Self::Special, PathOrStdio::Path(path)) => {
                let opened = OpenOptions::new().append(true).open(path);
                opened.and_then(|mut file| file.write_all(contents))
            }
            #[cfg(unix)]
            (Self::Socket, PathOrStdio::Path(path)) => {
                UnixStream::connect(path).and_then(|mut socket| socket.write_all(contents))
            }
            (_, PathOrStdio::Stdio) => unreachable!("standard output is open"),
        };
        written.map_err(|source| Self::error(to, number, source))
    }

    fn error(to: &PathOrStdio, number: Option<u32>, source: io::Error) -> Error {
        match number {
            Some(STDOUT) => Error::Report(source),
            _ => Error::Write { file: to.to_string(), source },
        }
    }
}

/// Returns whether a path leads to a stream that a process has open.
pub(crate) fn is_stream(path: &Path) -> bool {
    matches!(end(path), Ok(End::Stream(_) | End::Other))
}

/// The end of a chain of links.
enum End {
    /// The stream with this number in this process.
    Stream(u32),
    /// A stream of another process, or the name of a stream that is not open.
    Other,
    /// Nothing.
    Nothing,
    /// A file of any type.
    There(fs::Metadata),
}

/// Follows links.
fn end(path: &Path) -> io::Result<End> {
    let mut at = path.to_owned();
    for _ in 0..=MOST_LINKS {
        if let Some(stream) = stream(&at) {
            return Ok(stream);
        }
        match fs::symlink_metadata(&at) {
            Ok(there) if there.is_symlink() => at = directory(&at).join(fs::read_link(&at)?),
            Ok(there) => return Ok(End::There(there)),
            // Without the file system of processes, these links lead to nothing.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let is_of_system = at.starts_with("/proc") || at.starts_with("/dev/fd");
                return Ok(if is_of_system { End::Other } else { End::Nothing });
            }
            Err(error) => return Err(error),
        }
    }
    // The system names the reason.
    fs::metadata(path).and(Err(io::Error::other("too many links")))
}

/// Returns the stream that a path names in a folder of open streams: `/proc/*/fd`,
/// `/proc/*/task/*/fd` or `/dev/fd`.
fn stream(path: &Path) -> Option<End> {
    let number = path.file_name()?.to_str()?.parse().ok()?;
    let folder = fs::canonicalize(directory(path)).ok()?;
    let own = fs::canonicalize("/proc/self").unwrap_or_else(|_| PathBuf::from("/dev/fd"));
    if folder.starts_with(&own) && folder.ends_with("fd") || folder == Path::new("/dev/fd") {
        return Some(End::Stream(number));
    }
    (folder.starts_with("/proc") && folder.ends_with("fd")).then_some(End::Other)
}

fn open(number: u32) -> io::Result<Sink> {
    ctru_program::check_open(number)?;
    Ok(Sink::Open { number, stream: duplicate(number)? })
}

/// Returns a second handle of an open stream, without the buffer of the standard library, which
/// would keep secrets.
#[cfg(unix)]
#[allow(unsafe_code)] // The standard library has no other way from a number to a handle.
pub(crate) fn duplicate(number: u32) -> io::Result<File> {
    let number = RawFd::try_from(number).map_err(io::Error::other)?;
    // SAFETY: the handle lives for one system call, which fails if there is no such stream. Nothing
    // closes streams in the meantime: no command that writes keys has a second thread.
    let stream = unsafe { BorrowedFd::borrow_raw(number) };
    stream.try_clone_to_owned().map(File::from)
}

#[cfg(not(unix))]
pub(crate) fn duplicate(number: u32) -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    let owned = match number {
        STDIN => io::stdin().as_handle().try_clone_to_owned(),
        _ => io::stdout().as_handle().try_clone_to_owned(),
    };
    owned.map(File::from)
}
