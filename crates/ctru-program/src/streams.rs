//! Standard streams that were closed when the program started.

use std::io::{self, Write};

/// The standard streams that were closed before the standard library opened `/dev/null` in their
/// place.
#[cfg(unix)]
#[allow(unsafe_code)] // The place of `LOOK` makes the loader call it.
mod start {
    use std::sync::atomic::{AtomicU8, Ordering};

    use rustix::io::{Errno, fcntl_getfd};
    use rustix::stdio;

    /// One bit for each standard stream that was closed.
    static CLOSED: AtomicU8 = AtomicU8::new(0);

    /// Calls `look` before `main`. Nothing can tell afterwards: a caller may have opened
    /// `/dev/null`, too.
    // SAFETY: the loader calls the functions in this section once, before there are other threads.
    // `look` uses system calls and an atomic number alone, and cannot panic.
    #[used]
    #[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
    #[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
    static LOOK: extern "C" fn() = look;

    extern "C" fn look() {
        for (stream, bit) in [(stdio::stdin(), 1), (stdio::stdout(), 2), (stdio::stderr(), 4)] {
            if fcntl_getfd(stream) == Err(Errno::BADF) {
                CLOSED.fetch_or(bit, Ordering::Relaxed);
            }
        }
    }

    pub(super) fn was_closed(stream: u32) -> bool {
        stream < 3 && CLOSED.load(Ordering::Relaxed) >> stream & 1 == 1
    }
}

/// Checks that a standard stream was open when the program started: 0 is the input, 1 the output
/// and 2 that of errors. For other numbers, the check passes.
///
/// # Errors
/// If it was closed, on Unix. The standard library then has `/dev/null` in its place, where a write
/// succeeds and loses the data.
pub fn check_open(stream: u32) -> io::Result<()> {
    #[cfg(unix)]
    if start::was_closed(stream) {
        return Err(io::Error::other("it is closed"));
    }
    #[cfg(not(unix))]
    let _ = stream;
    Ok(())
}

/// Returns standard output.
///
/// # Errors
/// If it was closed when the program started.
pub fn stdout() -> io::Result<io::Stdout> {
    check_open(1)?;
    Ok(io::stdout())
}

/// Standard output of a program that may write nothing. The first write fails if it was closed when
/// the program started.
#[derive(Debug)]
pub struct Output;

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        stdout()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stdout().flush()
    }
}
