//! `ctru keygen`: generates a key pair.

use std::path::PathBuf;

use ctru_kem::{DecapsulationKey, ParameterSet, SEED_BYTES};
use zeroize::Zeroizing;

use crate::error::Error;
use crate::files::{self, Output, PathOrStdio};
use crate::format::{self, Kind};
use crate::info;
use crate::selection::{Encoding, Selection, Set, Visitor};

/// Generate a key pair
///
/// The private key goes to the file that --out names; only its owner may read it. The public key
/// goes to the same name with .pub appended. Either both files are written or neither.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Parameter set
    #[arg(long, value_enum)]
    set: Set,
    /// Encoding of the public key
    #[arg(long, value_enum, default_value = "mixed-radix")]
    encoding: Encoding,
    /// File of the private key
    #[arg(long, short, value_name = "FILE")]
    out: PathOrStdio,
    /// Write bare bytes, not PEM
    #[arg(long)]
    raw: bool,
    /// Test that the private key decapsulates what the public key encapsulates, before both are
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
/// [`Error`]. Then no file was written or replaced, except for those that [`Error::AfterWriting`]
/// and [`Error::NotUndone`] name.
pub(crate) fn run(args: &Args) -> Result<(), Error> {
    let PathOrStdio::Path(path) = &args.out else { return Err(Error::KeyPairToStandardOutput) };
    let mut public_path = path.clone().into_os_string();
    public_path.push(".pub");
    let public_file = PathOrStdio::Path(PathBuf::from(public_path));

    let selection = Selection { set: args.set, encoding: args.encoding };
    let (private, public) = selection.accept(Generate { args })?;
    let contents = |kind, bytes| format::contents(kind, selection, bytes, args.raw);
    let outputs = [
        Output { to: &args.out, contents: contents(Kind::PrivateKey, private), secret: true },
        Output { to: &public_file, contents: contents(Kind::PublicKey, public), secret: false },
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

impl Visitor for Generate<'_> {
    /// The private key and the public key.
    type Output = Result<(Zeroizing<Vec<u8>>, Zeroizing<Vec<u8>>), Error>;

    fn visit<P: ParameterSet>(self) -> Self::Output {
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
