//! `ctru keygen`: generates a key pair.

use clap::ValueEnum;
use ctru_kem::{Encoding, KeyPairSeed, ParameterSet, Parameters, SEED_BYTES, Set};
use zeroize::Zeroizing;

use crate::error::Error;
use crate::files::{self, Output};
use crate::format;
use crate::info;
use crate::key_file;
use crate::names::{self, PathOrStdio};
use crate::parameters::{encoding_parser, set_parser, tested};
use crate::problem::Kind;
use crate::sink;

/// Generate a key pair
///
/// The private key goes to the file that --out names. On Unix, only its owner may read it; on other
/// systems, the folder decides who may. The public key goes to the same name with .pub appended.
/// Either both files are written or neither, and only after a test that the private key
/// decapsulates what the public key encapsulates.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Parameter set
    #[arg(long, value_parser = set_parser())]
    set: Set,
    /// Encoding of the public key
    #[arg(long, value_parser = encoding_parser(), default_value = "mixed-radix")]
    encoding: Encoding,
    /// Form of the files
    #[arg(long, value_enum, default_value = "native")]
    format: Format,
    /// File of the private key
    #[arg(long, short, value_name = "FILE")]
    out: PathOrStdio,
    /// Write bare bytes, or DER with --format pkcs8, not PEM
    #[arg(long)]
    raw: bool,
    /// Replace files that exist
    #[arg(long)]
    force: bool,
}

/// The form of key files.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// The form of this program
    Native,
    /// PKCS#8 and SubjectPublicKeyInfo; the private key is a seed of 32 bytes. The object
    /// identifiers are placeholders, so no other program knows these keys
    Pkcs8,
}

/// Runs the command.
///
/// # Errors
/// [`Error`]. Then no file was written or replaced, except for those that [`Error::AfterWriting`]
/// and [`Error::NotUndone`] name.
pub(crate) fn run(args: &Args) -> Result<(), Error> {
    let path = match &args.out {
        PathOrStdio::Path(path) if !sink::is_stream(path) => path,
        _ => return Err(Error::KeyPairToStream),
    };
    let public_file = PathOrStdio::Path(names::public_name(path));

    let parameters = Parameters::new(args.set, args.encoding)?;
    if args.format == Format::Pkcs8 && args.encoding != Encoding::MixedRadix {
        return Err(Error::Pkcs8Encoding);
    }
    let [seed, private, public] = tested!(parameters, P => generate::<P>(args))??;
    let [private, public] = match args.format {
        Format::Native => [(Kind::PrivateKey, private), (Kind::PublicKey, public)]
            .map(|(kind, bytes)| format::contents(kind, parameters, bytes, args.raw)),
        Format::Pkcs8 => [
            (Kind::PrivateKey, key_file::encode_private(args.set, &seed)),
            (Kind::PublicKey, key_file::encode_public(args.set, &public)),
        ]
        .map(|(kind, der)| format::pkcs8_contents(kind, der, args.raw)),
    };
    let outputs = [
        Output { to: &args.out, contents: private, secret: true },
        Output { to: &public_file, contents: public, secret: false },
    ];
    files::write(&[], &outputs, args.force)?;
    if let Some(warning) = info::warning(args.set) {
        ctru_program::tell("warning", &warning);
    }
    Ok(())
}

/// Returns the seed, the private key and the public key.
fn generate<P: ParameterSet>(args: &Args) -> Result<[Zeroizing<Vec<u8>>; 3], Error> {
    let pair = KeyPairSeed::<P>::try_generate()?;
    let key = pair.decapsulation_key();
    let mut seed = Zeroizing::new([0; SEED_BYTES]);
    getrandom::fill(&mut *seed)?;
    key.pairwise_test(&seed).map_err(|error| Error::contents(&args.out, error))?;
    let public = key.encapsulation_key();
    Ok([pair.as_ref(), key.as_ref(), public.as_ref()].map(|bytes| Zeroizing::new(bytes.to_vec())))
}
