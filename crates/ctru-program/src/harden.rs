//! The protection of the memory of a process.

/// Keeps the memory of this process out of core dumps. On Linux, other processes of the same user
/// can then neither read the memory nor attach a debugger; root can. Children get the limit of core
/// dumps, and lose the rest when they start another program.
///
/// A process that has a debugger already keeps it. If the system refuses a step, a warning goes to
/// standard error: a program in a sandbox is of more use than none.
pub fn harden() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

        let none = Rlimit { current: Some(0), maximum: Some(0) };
        // A sandbox that has set the limit may forbid the call that sets it.
        if getrlimit(Resource::Core) != none {
            warn_unless_done(setrlimit(Resource::Core, none));
        }
    }
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};

        warn_unless_done(set_dumpable_behavior(DumpableBehavior::NotDumpable));
    }
}

#[cfg(unix)]
fn warn_unless_done(step: rustix::io::Result<()>) {
    if let Err(error) = step {
        let message = format_args!("the memory of this process may be dumped: {error}");
        crate::tell("warning", &message);
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use rustix::process::{DumpableBehavior, Resource, dumpable_behavior, getrlimit};

    use super::*;

    #[test]
    fn a_hardened_process_is_not_dumped() {
        assert_eq!(dumpable_behavior(), Ok(DumpableBehavior::Dumpable));
        harden();
        harden();
        let limit = getrlimit(Resource::Core);
        assert_eq!((limit.current, limit.maximum), (Some(0), Some(0)));
        assert_eq!(dumpable_behavior(), Ok(DumpableBehavior::NotDumpable));
    }
}
