//! `ctru encaps`: makes a shared secret, and the ciphertext from which the holder of the private
//! key recovers it.

use ctru_kem::{EncapsulationKey, ParameterSet, Set};
use zeroize::Zeroizing;

use crate::error::Error;
use crate::files::{self, Output};
use crate::format;
use crate::names::PathOrStdio;
use crate::parameters::{set_parser, tested};
use crate::problem::Kind;

/// Make a shared secret and the ciphertext that carries it
///
/// The shared secret has 32 bytes. On Unix, only the owner of its file may read it; on other
/// systems, the folder decides who may. Either both files are written or neither.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Public key, PEM or raw, - for standard input
    #[arg(long, short, value_name = "FILE")]
    key: PathOrStdio,
    /// Parameter set of the key; without it, the length of a raw key tells a set of CTRU-Prime
    #[arg(long, value_name = "SET", value_parser = set_parser())]
    set: Option<Set>,
    /// File for the ciphertext, - for standard output
    #[arg(long, short, value_name = "FILE")]
    ciphertext: PathOrStdio,
    /// File for the shared secret, - for standard output
    #[arg(long, short, value_name = "FILE")]
    secret: PathOrStdio,
    /// Write bare bytes, not PEM
    #[arg(long)]
    raw: bool,
    /// Replace files that exist
    #[arg(long)]
    force: bool,
}

/// Runs the command.
///
/// # Errors
/// [`Error`]. Then no file was written or replaced, except for those that [`Error::AfterWriting`]
/// and [`Error::NotUndone`] name.
pub(crate) fn run(args: &Args) -> Result<(), Error> {
    const WANTED: &[Kind] = &[Kind::PublicKey];
    let (_, parameters, key) =
        files::read(&args.key, WANTED, |contents| format::parse_key(WANTED, args.set, contents))?;
    let [ciphertext, secret] = tested!(parameters, P => encapsulate::<P>(args, &key))??;
    let contents = |kind, bytes| format::contents(kind, parameters, bytes, args.raw);
    let outputs = [
        Output {
            to: &args.ciphertext,
            contents: contents(Kind::Ciphertext, ciphertext),
            secret: false,
        },
        Output { to: &args.secret, contents: contents(Kind::SharedSecret, secret), secret: true },
    ];
    files::write(&[&args.key], &outputs, args.force)
}

/// Returns the ciphertext and the shared secret.
fn encapsulate<P: ParameterSet>(args: &Args, key: &[u8]) -> Result<[Zeroizing<Vec<u8>>; 2], Error> {
    let key = EncapsulationKey::<P>::from_bytes(key)
        .map_err(|error| Error::contents(&args.key, error))?;
    let (ciphertext, secret) = key.try_encapsulate()?;
    Ok([ciphertext.as_ref(), secret.as_bytes()].map(|bytes| Zeroizing::new(bytes.to_vec())))
}
