//! `ctru check`: checks key files.

use std::io::Write;

use ctru_kem::{DecapsulationKey, EncapsulationKey, ParameterSet, Parameters, Set};

use crate::error::Error;
use crate::files::{self, file_id};
use crate::format;
use crate::names::{self, PathOrStdio};
use crate::parameters::{set_parser, tested};
use crate::problem::{Kind, Problem};

/// Check public and private keys
///
/// A key must be well formed. A private key must also belong to the public key inside it, so that
/// it decapsulates what the public key encapsulates. If a private key and the file of the same name
/// with .pub appended are given, both must hold the same public key. The report has one line per
/// valid key. Wrong keys are reported as errors on standard error, and do not stop the check of the
/// other files.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Keys, PEM or raw, - for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathOrStdio>,
    /// Parameter set of the keys; without it, the length of a raw key tells a set of CTRU-Prime
    #[arg(long, value_name = "SET", value_parser = set_parser())]
    set: Option<Set>,
}

/// A valid key.
struct Valid<'a> {
    file: &'a PathOrStdio,
    kind: Kind,
    parameters: Parameters,
    /// The public key, or the one in the private key.
    public: Vec<u8>,
}

/// Runs the command. Returns whether all keys are right.
///
/// # Errors
/// [`Error::SameInput`] if several files are standard input, [`Error::Report`] if standard output
/// fails.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<bool, Error> {
    names::check_inputs(&args.files)?;
    let mut valid = Vec::new();
    let mut all_right = true;
    let mut wrong = |error: Error| {
        all_right = false;
        ctru_program::tell("error", &error);
    };
    for file in &args.files {
        match check(file, args.set) {
            Ok(key) => {
                writeln!(out, "{file}: valid {} {}", key.parameters, key.kind)?;
                valid.push(key);
            }
            Err(error) => wrong(error),
        }
    }
    for (private, public) in pairs(&valid) {
        if (public.parameters, &public.public) != (private.parameters, &private.public) {
            let [public, private] = [public, private].map(|key| key.file.to_string());
            wrong(Error::OtherPair { public, private });
        }
    }
    Ok(all_right)
}

/// Returns all private keys with the public keys that have the same names with `.pub` appended, in
/// any spelling.
fn pairs<'a>(keys: &'a [Valid<'a>]) -> impl Iterator<Item = (&'a Valid<'a>, &'a Valid<'a>)> {
    let of = |kind| keys.iter().filter(move |key| key.kind == kind);
    of(Kind::PrivateKey).flat_map(move |private| {
        let belongs = private.file.path().and_then(|path| file_id(&names::public_name(path)));
        let is_it = move |key: &&Valid<'_>| {
            belongs.is_some() && key.file.path().and_then(file_id) == belongs
        };
        of(Kind::PublicKey).filter(is_it).map(move |public| (private, public))
    })
}

/// Checks one file, which holds a key of `set` if that is given.
fn check(file: &PathOrStdio, set: Option<Set>) -> Result<Valid<'_>, Error> {
    const WANTED: &[Kind] = &[Kind::PublicKey, Kind::PrivateKey];
    let (kind, parameters, key) =
        files::read(file, WANTED, |contents| format::parse_key(WANTED, set, contents))?;
    if kind == Kind::PrivateKey {
        files::warn_of_readers(file);
    }
    let checked = tested!(parameters, P => check_key::<P>(kind, &key))?;
    let public = checked.map_err(|problem| Error::contents(file, problem))?;
    Ok(Valid { file, kind, parameters, public })
}

/// Checks a key, and returns the public key.
fn check_key<P: ParameterSet>(kind: Kind, key: &[u8]) -> Result<Vec<u8>, Problem> {
    let public = if kind == Kind::PrivateKey {
        let private = DecapsulationKey::<P>::from_bytes(key)?;
        private.check()?;
        private.encapsulation_key()
    } else {
        EncapsulationKey::<P>::from_bytes(key)?
    };
    Ok(public.as_ref().to_vec())
}
