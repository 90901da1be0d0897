//! The plugin `age-plugin-ctru`, which clients of age start.
//!
//! - [`keys`]: recipients and identities as bytes, and file keys in stanzas.
//! - [`new_identity`]: a new identity as text, and where it goes.
//! - [`plugin`]: the two sides of the plugin's protocol.

mod keys;
mod new_identity;
mod plugin;

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use ctru_hybrid::Set;
use ctru_program::{tell, visible};
use thiserror::Error;

use crate::keys::Identity;
use crate::plugin::Ctru;

/// Encrypt files of age to keys of CTRU-Prime with X25519
///
/// Without arguments of a client of age, the program generates an identity and writes it to a new
/// file or to standard output, with its recipient in a comment. CTRU-Prime is not standardised.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// Parameter set of the new identity
    #[arg(long, value_parser = set_parser(), value_name = "SET", default_value = "761")]
    set: Set,
    /// New file for the identity, which only its owner can read; standard output if absent
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Run a state machine of the plugin protocol, as clients of age do
    #[arg(long, value_name = "STATE_MACHINE", hide = true, conflicts_with = "output")]
    age_plugin: Option<String>,
}

/// Returns a parser of the names of parameter sets.
fn set_parser() -> impl TypedValueParser<Value = Set> {
    PossibleValuesParser::new(Set::ALL.iter().map(|set| set.id())).try_map(|id| id.parse::<Set>())
}

/// The reason why the program has failed.
#[derive(Debug, Error)]
enum Error {
    /// The client of age or the connection to it is at fault.
    #[error("the protocol of plugins: {0}")]
    Protocol(#[source] io::Error),
    /// There is no identity, because the operating system gives no randomness.
    #[error("no identity: {0}")]
    Generate(String),
    /// The identity cannot be written to standard output.
    #[error("standard output: {0}")]
    Output(#[source] io::Error),
    /// The file of the identity cannot be made. It may exist.
    #[error("{}: {source}", visible(file))]
    File { file: PathBuf, source: io::Error },
}

/// Runs the program. Errors go to standard error. The exit status is 0 for success, 1 for errors,
/// and 2 for a wrong command line.
fn main() -> ExitCode {
    ctru_program::harden();
    let arguments = match ctru_program::parse() {
        Ok(arguments) => arguments,
        Err(status) => return status,
    };
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tell("error", &error);
            ExitCode::FAILURE
        }
    }
}

fn run(Arguments { set, output, age_plugin }: Arguments) -> Result<(), Error> {
    if let Some(state_machine) = age_plugin {
        return age_plugin::run_state_machine(&state_machine, Ctru).map_err(Error::Protocol);
    }
    let identity = Identity::generate(set).map_err(Error::Generate)?;
    let text = new_identity::text(&identity);
    let Some(file) = output else {
        new_identity::print(&text).map_err(Error::Output)?;
        new_identity::warn_of_readers();
        return Ok(());
    };
    new_identity::save(&text, &file).map_err(|source| Error::File { file, source })
}
