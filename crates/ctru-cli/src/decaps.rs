//! `ctru decaps`: recovers the shared secret of a ciphertext.

use ctru_kem::{Ciphertext, DecapsulationKey, ParameterSet, Set};
use zeroize::Zeroizing;

use crate::error::Error;
use crate::files::{self, Output};
use crate::format;
use crate::names::{self, PathOrStdio};
use crate::parameters::{set_parser, tested};
use crate::problem::Kind;

/// Recover the shared secret of a ciphertext
///
/// A ciphertext that was made for another key or changed on the way is not an error. It gives
/// another secret, which its sender does not know. Only a wrong length or PEM form is an error.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Private key, PEM or raw, - for standard input
    #[arg(long, short, value_name = "FILE")]
    key: PathOrStdio,
    /// Parameter set of the key; without it, the length of a raw key tells a set of CTRU-Prime
    #[arg(long, value_name = "SET", value_parser = set_parser())]
    set: Option<Set>,
    /// Ciphertext, PEM or raw, - for standard input
    #[arg(long, short, value_name = "FILE")]
    ciphertext: PathOrStdio,
    /// File for the shared secret, - for standard output
    #[arg(long, short, value_name = "FILE")]
    secret: PathOrStdio,
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
/// [`Error`]. Then no file was written or replaced, except for those that [`Error::AfterWriting`]
/// and [`Error::NotUndone`] name.
pub(crate) fn run(args: &Args) -> Result<(), Error> {
    names::check_inputs([&args.key, &args.ciphertext])?;
    const WANTED: &[Kind] = &[Kind::PrivateKey];
    let (_, parameters, key) =
        files::read(&args.key, WANTED, |contents| format::parse_key(WANTED, args.set, contents))?;
    files::warn_of_readers(&args.key);
    let ciphertext = files::read(&args.ciphertext, &[Kind::Ciphertext], |contents| {
        format::parse_ciphertext(parameters, contents)
    })?;
    let secret = tested!(parameters, P => decapsulate::<P>(args, &key, &ciphertext))??;
    let contents = format::contents(Kind::SharedSecret, parameters, secret, args.raw);
    let outputs = [Output { to: &args.secret, contents, secret: true }];
    files::write(&[&args.key, &args.ciphertext], &outputs, args.force)
}

/// Returns the shared secret.
fn decapsulate<P: ParameterSet>(
    args: &Args,
    key: &[u8],
    ciphertext: &[u8],
) -> Result<Zeroizing<Vec<u8>>, Error> {
    let key = DecapsulationKey::<P>::from_bytes(key)
        .map_err(|error| Error::contents(&args.key, error))?;
    let ciphertext = Ciphertext::from_bytes(ciphertext)
        .map_err(|error| Error::contents(&args.ciphertext, error))?;
    Ok(Zeroizing::new(key.decapsulate(&ciphertext).as_bytes().to_vec()))
}
