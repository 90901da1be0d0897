//! The command line and environment variables.

use std::env;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

use crate::messages::{printable, tell, visible};
use crate::streams::stdout;

/// Reads the command line. Otherwise, returns the exit status: 0 if a text was asked for and has
/// been written, 1 if it could not be written, and 2 for a wrong command line.
///
/// # Errors
/// The exit status with which the program has to end.
pub fn parse<C: Parser>() -> Result<C, ExitCode> {
    C::try_parse().map_err(|end| {
        if !end.use_stderr() {
            // The flush of the standard library at the end of a program tells nobody of a failure.
            let written = stdout().and_then(|mut stdout| {
                end.print()?;
                stdout.flush()
            });
            return match written {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => {
                    // If the reader closed the pipe, it does not expect more output.
                    if error.kind() != io::ErrorKind::BrokenPipe {
                        tell("error", &format_args!("standard output: {error}"));
                    }
                    ExitCode::FAILURE
                }
            };
        }
        // The message repeats arguments.
        let shown = C::try_parse_from(env::args_os().map(visible));
        let message = shown.err().filter(|error| error.use_stderr()).unwrap_or(end);
        // The exit status tells the caller even if a write to standard error fails.
        let _ = io::stderr().write_all(printable(&message.render().to_string()).as_bytes());
        ExitCode::from(2)
    })
}

/// Returns the name of an environment variable for an option of clap, or `None` if the variable is
/// empty. For many programs that start others, this is the way to unset it.
#[must_use]
pub fn variable(name: &'static str) -> Option<&'static str> {
    env::var_os(name).is_none_or(|value| !value.is_empty()).then_some(name)
}
