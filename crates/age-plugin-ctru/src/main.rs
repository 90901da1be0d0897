//! The plugin `age-plugin-ctru`, which clients of age start.
//!
//! - [`keys`]: recipients and identities as bytes, and file keys in stanzas.
//! - [`plugin`]: the two sides of the plugin's protocol.

mod keys;
mod plugin;

use std::io;

use clap::Parser;

use crate::keys::{Identity, Set};
use crate::plugin::Ctru;

/// Encrypt files of age to keys of CTRU-Prime with X25519
///
/// Without arguments of a client of age, the program generates an identity and writes it to
/// standard output, with its recipient in a comment. CTRU-Prime is not standardised.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// Parameter set of the new identity
    #[arg(long, value_enum, default_value = "761")]
    set: Set,
    /// Run a state machine of the plugin protocol, as clients of age do
    #[arg(long, value_name = "STATE_MACHINE", hide = true)]
    age_plugin: Option<String>,
}

fn main() -> io::Result<()> {
    let Arguments { set, age_plugin } = Arguments::parse();
    if let Some(state_machine) = age_plugin {
        return age_plugin::run_state_machine(&state_machine, Ctru);
    }
    let identity = Identity::generate(set).map_err(io::Error::other)?;
    age_plugin::print_new_identity(
        plugin::NAME,
        &identity.to_bytes(),
        &identity.recipient().to_bytes(),
    );
    Ok(())
}
