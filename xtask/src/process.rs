//! Runs other programs.

use std::process::{Command, Output};

use crate::{Error, Result};

/// Runs `command` to its end and returns its output. An exit status other than 0 is an error.
pub(crate) fn output(command: &mut Command) -> Result<Output> {
    let output = command.output().map_err(|source| Error::Start {
        program: command.get_program().to_string_lossy().into(),
        source,
    })?;
    if output.status.success() {
        return Ok(output);
    }
    let text = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text)).concat();
    Err(Error::Failed { command: line(command), status: output.status, output: text })
}

/// Runs `command` and returns the text of its standard output.
pub(crate) fn text(command: &mut Command) -> Result<String> {
    // Listings are large, and nearly always take the first way, which is faster.
    Ok(String::from_utf8(output(command)?.stdout)
        .unwrap_or_else(|invalid| String::from_utf8_lossy(invalid.as_bytes()).into_owned()))
}

/// Returns a command for the cargo that runs this program.
pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Returns the command as one line for messages.
fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
