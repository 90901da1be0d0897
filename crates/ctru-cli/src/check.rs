//! `ctru check`: checks key files.

use std::io::Write;

use ctru_kem::{DecapsulationKey, EncapsulationKey, ParameterSet};

use crate::error::Error;
use crate::files::{self, PathOrStdio};
use crate::format::{self, Kind, Problem};
use crate::selection::Visitor;

/// Check public and private keys
///
/// A key must be well formed. A private key must also belong to the public key inside it, so that
/// it decapsulates what the public key encapsulates. The report has one line per valid key. Wrong
/// keys are reported as errors on standard error, and do not stop the check of the other files.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Keys, PEM or raw, - for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathOrStdio>,
}

/// Runs the command. Returns whether all keys are right.
///
/// # Errors
/// [`Error::Report`] if standard output fails.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<bool, Error> {
    let mut all_right = true;
    for file in &args.files {
        match check(file) {
            Ok(key) => writeln!(out, "{file}: valid {key}")?,
            Err(error) => {
                all_right = false;
                crate::tell("error", &error);
            }
        }
    }
    Ok(all_right)
}

/// Checks one file. Returns a description of the key, such as `CTRU-Prime-761 mixed-radix private
/// key`.
fn check(file: &PathOrStdio) -> Result<String, Error> {
    const WANTED: &[Kind] = &[Kind::PublicKey, Kind::PrivateKey];
    let (kind, selection, key) =
        files::read(file, WANTED, |contents| format::parse_key(WANTED, contents))?;
    if kind == Kind::PrivateKey {
        files::warn_of_readers(file);
    }
    let checked = selection.accept(Check { kind, key: &key });
    checked.map_err(|problem| Error::Contents { file: file.to_string(), problem })?;
    Ok(format!("{selection} {kind}"))
}

struct Check<'a> {
    kind: Kind,
    key: &'a [u8],
}

impl Visitor for Check<'_> {
    type Output = Result<(), Problem>;

    fn visit<P: ParameterSet>(self) -> Self::Output {
        if self.kind == Kind::PrivateKey {
            DecapsulationKey::<P>::from_bytes(self.key)?.check()?;
        } else {
            EncapsulationKey::<P>::from_bytes(self.key)?;
        }
        Ok(())
    }
}
