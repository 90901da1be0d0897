//! `ctru encaps`: a fresh shared secret for the holder of a private key.

use ctru_kem::{EncapsulationKey, ParameterSet};
use zeroize::Zeroizing;

use crate::error::Error;
use crate::files::{self, Output, Place};
use crate::format::{self, Kind};
use crate::set::Task;

/// Make a shared secret and the ciphertext that carries it
///
/// The shared secret is 32 bytes, in a file that only its owner may read. Both files are written or neither.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Public key, PEM or raw, - for standard input
    #[arg(long, short, value_name = "FILE")]
    key: Place,
    /// Where the ciphertext goes, - for standard output
    #[arg(long, short, value_name = "FILE")]
    ciphertext: Place,
    /// Where the shared secret goes, - for standard output
    #[arg(long, short, value_name = "FILE")]
    secret: Place,
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
/// [`Error`]; then no file has been written or replaced, except those that
/// [`Error::AfterWriting`] and [`Error::NotUndone`] name.
pub fn run(args: &Args) -> Result<(), Error> {
    const WANTED: &[Kind] = &[Kind::PublicKey];
    let (_, suite, key) =
        files::read(&args.key, WANTED, |contents| format::parse_key(WANTED, contents))?;
    let (ciphertext, secret) = suite.run(Encapsulate { args, key: &key })?;
    let contents = |kind, bytes| format::contents(kind, suite, bytes, args.raw);
    let outputs = [
        Output {
            place: &args.ciphertext,
            contents: contents(Kind::Ciphertext, ciphertext),
            secret: false,
        },
        Output {
            place: &args.secret,
            contents: contents(Kind::SharedSecret, secret),
            secret: true,
        },
    ];
    files::write(&[&args.key], &outputs, args.force)
}

struct Encapsulate<'a> {
    args: &'a Args,
    key: &'a [u8],
}

impl Task for Encapsulate<'_> {
    /// Ciphertext and shared secret.
    type Output = Result<(Zeroizing<Vec<u8>>, Zeroizing<Vec<u8>>), Error>;

    fn run<P: ParameterSet>(self) -> Self::Output {
        let key = EncapsulationKey::<P>::from_bytes(self.key).map_err(|error| Error::Contents {
            file: self.args.key.to_string(),
            problem: error.into(),
        })?;
        let (ciphertext, secret) = key.try_encapsulate()?;
        Ok((
            Zeroizing::new(ciphertext.as_ref().to_vec()),
            Zeroizing::new(secret.as_bytes().to_vec()),
        ))
    }
}
