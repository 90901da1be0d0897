//! `ctru keygen`: a new key pair.

use std::path::PathBuf;

use ctru_kem::{DecapsulationKey, ParameterSet, SEED_BYTES};
use zeroize::Zeroizing;

use crate::error::Error;
use crate::files::{self, Output, Place};
use crate::format::{self, Kind};
use crate::info;
use crate::set::{Encoding, Set, Suite, Task};

/// Generate a key pair
///
/// The private key goes to the file that --out names, readable by its owner alone, and the public key to the same name
/// with .pub appended. Both files are written or neither.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Parameter set
    #[arg(long, value_enum)]
    set: Set,
    /// How the public key is encoded
    #[arg(long, value_enum, default_value = "mixed-radix")]
    encoding: Encoding,
    /// File of the private key
    #[arg(long, short, value_name = "FILE")]
    out: Place,
    /// Write bare bytes, not PEM
    #[arg(long)]
    raw: bool,
    /// Test that the private key decapsulates what the public key encapsulates, before they are
    /// written
    #[arg(long)]
    check: bool,
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
    let Place::File(path) = &args.out else { return Err(Error::KeyPairToStandardOutput) };
    let mut public_path = path.clone().into_os_string();
    public_path.push(".pub");
    let public_place = Place::File(PathBuf::from(public_path));

    let suite = Suite { set: args.set, encoding: args.encoding };
    let (private, public) = suite.run(Generate { args })?;
    let contents = |kind, bytes| format::contents(kind, suite, bytes, args.raw);
    let outputs = [
        Output { place: &args.out, contents: contents(Kind::PrivateKey, private), secret: true },
        Output { place: &public_place, contents: contents(Kind::PublicKey, public), secret: false },
    ];
    files::write(&[], &outputs, args.force)?;
    if let Some(warning) = info::warning(args.set) {
        crate::tell("warning", &warning);
    }
    Ok(())
}

struct Generate<'a> {
    args: &'a Args,
}

impl Task for Generate<'_> {
    /// Private and public key.
    type Output = Result<(Zeroizing<Vec<u8>>, Zeroizing<Vec<u8>>), Error>;

    fn run<P: ParameterSet>(self) -> Self::Output {
        let key = DecapsulationKey::<P>::try_generate()?;
        if self.args.check {
            let mut seed = Zeroizing::new([0; SEED_BYTES]);
            getrandom::fill(&mut *seed)?;
            key.pairwise_test(&seed).map_err(|error| Error::Contents {
                file: self.args.out.to_string(),
                problem: error.into(),
            })?;
        }
        let public = key.encapsulation_key();
        Ok((Zeroizing::new(key.as_ref().to_vec()), Zeroizing::new(public.as_ref().to_vec())))
    }
}
