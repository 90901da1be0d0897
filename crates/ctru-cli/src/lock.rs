//! Lets only one program at a time replace several files in a folder.
//!
//! Without this, two programs that replace the same pair of files could take turns, and leave one
//! file of each.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use ctru_program::visible;
use nix::libc::{O_NOFOLLOW, O_NONBLOCK};
use nix::unistd::{Uid, User};

use crate::error::Error;

/// The name of the file that is locked. The folder itself could be locked too, but then everybody
/// who may read it could lock it.
const NAME: &str = ".ctru-lock";

/// The time after which a program stops waiting for others. They hold a lock while they rename a
/// few files.
const PATIENCE: Duration = Duration::from_secs(10);

/// A locked file. It is deleted and unlocked when dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    /// The open file, which holds the lock.
    file: File,
}

impl Lock {
    /// Waits until no other program has locked the folder, and locks it. Returns `None` if the file
    /// system has no locks.
    ///
    /// Signals may be blocked in the meantime, so the time is limited.
    ///
    /// # Errors
    /// [`Error::Write`] if the file of the lock cannot be opened, [`Error::OthersLock`] if that is
    /// because it belongs to another user, [`Error::Locked`] if another program keeps the lock.
    pub(crate) fn of(folder: &Path) -> Result<Option<Self>, Error> {
        Self::within(folder, PATIENCE)
    }

    fn within(folder: &Path, patience: Duration) -> Result<Option<Self>, Error> {
        let path = folder.join(NAME);
        let name = || visible(&path);
        let failed = |source| Error::Write { file: name(), source };
        let start = Instant::now();
        loop {
            let file = open(&path).map_err(|source| match owner(&path) {
                Some(owner) if source.kind() == io::ErrorKind::PermissionDenied => {
                    Error::OthersLock { file: name(), owner }
                }
                _ => failed(source),
            })?;
            match file.try_lock() {
                // The program that had the lock may have deleted this file. Then it protects
                // nothing.
                Ok(()) if !is_at(&file, &path).map_err(failed)? => continue,
                Ok(()) => return Ok(Some(Self { path, file })),
                Err(TryLockError::WouldBlock) if start.elapsed() > patience => {
                    let owner = owner(&path).unwrap_or_else(|| "nobody now".to_owned());
                    return Err(Error::Locked { file: name(), owner });
                }
                Err(TryLockError::WouldBlock) => sleep(Duration::from_millis(1)),
                Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(TryLockError::Error(_)) => {
                    drop(Self { path, file });
                    return Ok(None);
                }
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // It comes before the lock ends, so it cannot delete the file of another program's lock. If
        // it fails, the file stays, and the next program deletes it. What has contents is no lock:
        // an output can have this name.
        let is_empty = self.file.metadata().is_ok_and(|opened| opened.len() == 0);
        if is_empty && is_at(&self.file, &self.path).is_ok_and(|is_at| is_at) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Opens the file of a lock, and creates it if it is missing. Only its owner can lock it. A link or
/// a pipe that somebody put there has no effect.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.mode(0o600).custom_flags(O_NOFOLLOW | O_NONBLOCK).open(path)
}

/// Returns the name and the number of the user to whom a file belongs, if it exists.
fn owner(path: &Path) -> Option<String> {
    let number = fs::symlink_metadata(path).ok()?.uid();
    Some(match User::from_uid(Uid::from_raw(number)) {
        Ok(Some(user)) => format!("{} (user {number})", visible(user.name)),
        _ => format!("user {number}"),
    })
}

/// Returns whether the path still denotes an open file.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let opened = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (opened.dev(), opened.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::thread;

    use super::*;

    /// Checks that no two threads hold the lock at the same time, although each deletes the file.
    #[test]
    fn one_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let holders = AtomicU32::new(0);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let lock = Lock::of(folder.path()).unwrap();
                        assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0);
                        thread::yield_now();
                        holders.fetch_sub(1, Ordering::SeqCst);
                        drop(lock);
                    }
                });
            }
        });
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    /// Checks that the error names the file if the lock is never free, and that the file that an
    /// interrupted program left does not matter.
    #[test]
    fn a_lock_is_not_awaited_forever() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(NAME), "").unwrap();
        let lock = Lock::of(folder.path()).unwrap();
        assert!(lock.is_some());
        let error = Lock::within(folder.path(), Duration::from_millis(10)).unwrap_err();
        assert!(matches!(&error, Error::Locked { .. }) && error.to_string().contains(NAME));
        drop(lock);
        assert!(Lock::within(folder.path(), Duration::ZERO).unwrap().is_some());
    }

    /// Checks that a file with contents keeps the name of the lock, which it had or came to have.
    #[test]
    fn what_is_no_lock_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (key, name) = (folder.path().join("key"), folder.path().join(NAME));
        let lock = Lock::of(folder.path()).unwrap();
        fs::write(&key, "key").unwrap();
        fs::rename(&key, &name).unwrap();
        drop(lock);
        assert_eq!(fs::read(&name).unwrap(), b"key");
        drop(Lock::of(folder.path()).unwrap());
        assert_eq!(fs::read(&name).unwrap(), b"key");
    }

    #[test]
    fn links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        symlink("elsewhere", folder.path().join(NAME)).unwrap();
        assert!(matches!(Lock::of(folder.path()), Err(Error::Write { .. })));
        assert!(!folder.path().join("elsewhere").exists());
    }
}
