//! Processes and their forks, which the system makes by a call of its own, around the C library.
#![allow(unsafe_code)]

use nix::libc;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;

use super::*;

/// Returns what a function returns in a new process, which has a copy of the memory, or `None` if
/// the system makes none. Locks of other threads, such as that of the allocator, stay locked there
/// forever, so the function takes none.
fn in_child(flags: libc::c_int, function: impl FnOnce() -> u8) -> Option<i32> {
    let flags = libc::c_long::from(flags | libc::SIGCHLD);
    // SAFETY: without a stack and without `CLONE_VM`, this is a fork. The child calls a
    // function of this file, which takes no lock, and ends.
    match unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) } {
        -1 => None,
        // SAFETY: this ends the process at once.
        0 => unsafe { libc::_exit(function().into()) },
        child => {
            let child = Pid::from_raw(child.try_into().expect("numbers of processes fit"));
            match waitpid(child, None).expect("the process has this child") {
                WaitStatus::Exited(_, status) => Some(status),
                other => panic!("the child ended with {other:?}"),
            }
        }
    }
}

#[test]
fn a_process_is_the_same_at_each_call() {
    let process = Process::current();
    assert!(process.is_current());
    let other = std::thread::spawn(Process::current).join().unwrap();
    assert_eq!(process, other);
}

#[test]
fn forks_differ_in_more_than_their_number() {
    let process = Process::current();
    let status = in_child(0, || {
        let child = Process::current();
        let differs = child.number != process.number && child.is_current();
        let grandchild = in_child(0, || {
            let number = Process::current().number;
            u8::from(number != child.number && number != process.number)
        });
        u8::from(differs && grandchild == Some(1))
    });
    assert_eq!(status, Some(1));
    assert!(process.is_current());
}

/// As in a container whose first process makes another one.
#[test]
fn a_fork_with_the_same_number_differs() {
    let inside = |flags| {
        in_child(flags, || {
            let first = Process::current();
            let in_first = process::id();
            let same =
                in_child(flags, || u8::from(process::id() == in_first && !first.is_current()));
            u8::from(in_first == 1 && same == Some(1))
        })
    };
    let flags = [libc::CLONE_NEWPID, libc::CLONE_NEWPID | libc::CLONE_NEWUSER];
    match flags.into_iter().find_map(inside) {
        Some(status) => assert_eq!(status, 1),
        None => eprintln!("skipped: the system gives this process no PID namespace"),
    }
}
