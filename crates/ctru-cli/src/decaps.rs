//! `ctru decaps`: the shared secret of a ciphertext.

use ctru_kem::{Ciphertext, DecapsulationKey, ParameterSet};
use zeroize::Zeroizing;

use crate::error::Error;
use crate::files::{self, Output, Place};
use crate::format::{self, Kind};
use crate::set::Task;

/// Recover the shared secret of a ciphertext
///
/// A ciphertext that was not made for this key, or was changed on the way, is no error: it gives another secret, which
/// its sender does not know. Only its length and its PEM form can be wrong.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Private key, PEM or raw, - for standard input
    #[arg(long, short, value_name = "FILE")]
    key: Place,
    /// Ciphertext, PEM or raw, - for standard input
    #[arg(long, short, value_name = "FILE")]
    ciphertext: Place,
    /// Where the shared secret goes, - for standard output
    #[arg(long, short, value_name = "FILE")]
    secret: Place,
    /// Write bare bytes, not PEM
    #[arg(long)]
    raw: bool,
    /// Replace a file that exists
    #[arg(long)]
    force: bool,
}

/// Runs the command.
///
/// # Errors
/// [`Error`]; then no file has been written or replaced, except those that
/// [`Error::AfterWriting`] and [`Error::NotUndone`] name.
pub fn run(args: &Args) -> Result<(), Error> {
    if args.key == Place::Standard && args.ciphertext == Place::Standard {
        return Err(Error::SameInput);
    }
    const WANTED: &[Kind] = &[Kind::PrivateKey];
    let (_, suite, key) =
        files::read(&args.key, WANTED, |contents| format::parse_key(WANTED, contents))?;
    files::warn_of_readers(&args.key);
    let ciphertext = files::read(&args.ciphertext, &[Kind::Ciphertext], |contents| {
        format::parse_ciphertext(suite, contents)
    })?;
    let secret = suite.run(Decapsulate { args, key: &key, ciphertext: &ciphertext })?;
    let contents = format::contents(Kind::SharedSecret, suite, secret, args.raw);
    let outputs = [Output { place: &args.secret, contents, secret: true }];
    files::write(&[&args.key, &args.ciphertext], &outputs, args.force)
}

struct Decapsulate<'a> {
    args: &'a Args,
    key: &'a [u8],
    ciphertext: &'a [u8],
}

impl Task for Decapsulate<'_> {
    /// The shared secret.
    type Output = Result<Zeroizing<Vec<u8>>, Error>;

    fn run<P: ParameterSet>(self) -> Self::Output {
        let Self { args, key, ciphertext } = self;
        let key = DecapsulationKey::<P>::from_bytes(key).map_err(|error| Error::Contents {
            file: args.key.to_string(),
            problem: error.into(),
        })?;
        let ciphertext = Ciphertext::from_bytes(ciphertext).map_err(|error| Error::Contents {
            file: args.ciphertext.to_string(),
            problem: error.into(),
        })?;
        Ok(Zeroizing::new(key.decapsulate(&ciphertext).as_bytes().to_vec()))
    }
}
