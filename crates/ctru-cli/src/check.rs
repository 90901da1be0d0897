//! `ctru check`: whether files of keys hold what they should.

use std::io::Write;

use ctru_kem::{DecapsulationKey, EncapsulationKey, ParameterSet};

use crate::error::Error;
use crate::files::{self, Place};
use crate::format::{self, Kind, Problem};
use crate::set::Task;

/// Check public and private keys
///
/// A key must be well formed, and both parts of a private key must belong together, so that it
/// decapsulates what its public key encapsulates. A line for each file says what it is. Keys that
/// are wrong are reported as errors, and the others are checked all the same.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Keys, PEM or raw, - for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<Place>,
}

/// Runs the command. The result says whether all keys are right.
///
/// # Errors
/// [`Error::Report`].
pub fn run(args: &Args, out: &mut dyn Write) -> Result<bool, Error> {
    let mut all_right = true;
    for place in &args.files {
        match check(place) {
            Ok(key) => writeln!(out, "{place}: valid {key}")?,
            Err(error) => {
                all_right = false;
                crate::tell("error", &error);
            }
        }
    }
    Ok(all_right)
}

/// Checks one file. Comes back with what it is.
fn check(place: &Place) -> Result<String, Error> {
    const WANTED: &[Kind] = &[Kind::PublicKey, Kind::PrivateKey];
    let (kind, suite, key) =
        files::read(place, WANTED, |contents| format::parse_key(WANTED, contents))?;
    if kind == Kind::PrivateKey {
        files::warn_of_readers(place);
    }
    let checked = suite.run(Check { kind, key: &key });
    checked.map_err(|problem| Error::Contents { file: place.to_string(), problem })?;
    Ok(format!("{suite} {kind}"))
}

struct Check<'a> {
    kind: Kind,
    key: &'a [u8],
}

impl Task for Check<'_> {
    type Output = Result<(), Problem>;

    fn run<P: ParameterSet>(self) -> Self::Output {
        if self.kind == Kind::PrivateKey {
            DecapsulationKey::<P>::from_bytes(self.key)?.check()?;
        } else {
            EncapsulationKey::<P>::from_bytes(self.key)?;
        }
        Ok(())
    }
}
