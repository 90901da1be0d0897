//! `ctru kat check`: checks files of known-answer vectors.
//!
//! A file holds one JSON object per line, with the fields that `ctru kat check --help` lists. Each
//! record is checked by the methods of the key types. If the engine has the set, it is also checked
//! by an engine that receives the keys with each batch, and by one that has loaded the keys. A file
//! can also be a response file of NTRU Prime, whose records are checked by the methods of the key
//! types.
//!
//! Vectors are not secret. So the report shows bytes of them, and the text of a file and the seeds
//! are not wiped. Keys and shared secrets are wiped all the same, as everywhere in this program.

mod drbg;
mod response;

use std::io::Write;

use clap::Subcommand;
use ctru_kem::engine::BatchEngine;
use ctru_kem::{
    Ciphertext, DecapsulationKey, EncapsulationKey, Encoding, ParameterSet, Parameters, SEED_BYTES,
    Scheme, Set, with_parameters,
};
use ctru_program::visible;
use serde::Deserialize;
use zeroize::Zeroizing;

use crate::engine::{Chosen, EngineArgs};
use crate::error::Error;
use crate::lines::{self, Lines};
use crate::names::{self, PathOrStdio};
use crate::transcript::{ApiPath, Bytes, Inputs, Transcript, transcripts};
use response::Taken;

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Check files of known-answer records
    ///
    /// A file holds one JSON object per line with the fields n, pk_encoding, keygen_seed, z, pk,
    /// sk, encaps_seed, ct, ss, bad_ct and bad_ss. Records of NTRU Prime have the field set, such
    /// as sntrup761, and no n, pk_encoding and z; a file can also be a response file (.rsp) of the
    /// submission of NTRU Prime. Byte strings are hexadecimal. Each record is checked by the
    /// methods of the key types and, if it has the set, by the engine. The last line of the report
    /// is "N passed, M failed". A file that has no records, cannot be read or has a line of more
    /// than 65536 bytes counts as one more failure.
    ///
    /// Records are not secret: the report shows bytes of fields that are wrong, and not all of them
    /// are wiped in memory.
    Check {
        #[command(flatten)]
        engine: EngineArgs,
        /// Files to check, - for standard input
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathOrStdio>,
    },
}

/// What is wrong with a record: the field, or `None` if it is the whole line, and a message.
type Wrong = (Option<&'static str>, String);

/// The number of the line of a record, and all that is wrong with the record.
type Checked = (usize, Vec<Wrong>);

/// Runs the command. Returns whether all records passed.
///
/// # Errors
/// [`Error`] if several files are standard input, or if the engine or standard output fails.
pub(crate) fn run(action: &Action, out: &mut dyn Write) -> Result<bool, Error> {
    let Action::Check { engine, files } = action;
    names::check_inputs(files)?;
    check_files(files, &engine.start()?, out)
}

fn check_files(files: &[PathOrStdio], chosen: &Chosen, out: &mut dyn Write) -> Result<bool, Error> {
    let (mut passed, mut failed) = (0, 0);
    for file in files {
        let mut count = [0, 0];
        match check_file(file, chosen, &mut count, out) {
            Ok(()) => {
                let [right, wrong] = count;
                writeln!(out, "{file}: {} records, {wrong} wrong", right + wrong)?;
            }
            Err(
                error @ (Error::Read { .. }
                | Error::LongLine { .. }
                | Error::Utf16 { .. }
                | Error::NoRecords { .. }),
            ) => {
                writeln!(out, "{error}")?;
                failed += 1;
            }
            Err(error) => return Err(error),
        }
        passed += count[0];
        failed += count[1];
    }
    writeln!(out, "{passed} passed, {failed} failed")?;
    Ok(failed == 0)
}

/// Checks one file. Adds the numbers of right and of wrong records to `count`, and writes what is
/// wrong after each batch, so that memory need not hold it for a whole file.
///
/// # Errors
/// [`Error::Read`] if the file cannot be read, [`Error::LongLine`] if a line is too long,
/// [`Error::Utf16`] if a line begins with a byte order mark of UTF-16,
/// [`Error::NoRecords`] if there are no records, [`Error::Engine`] if the engine fails,
/// [`Error::Report`] if standard output fails.
fn check_file(
    file: &PathOrStdio,
    chosen: &Chosen,
    count: &mut [usize; 2],
    out: &mut dyn Write,
) -> Result<(), Error> {
    let mut lines = lines::open(file)?;
    let mut responses = response::Reader::default();
    loop {
        let (mut records, mut checked) = (Vec::new(), Vec::new());
        let is_more = read_batch(&mut lines, &mut responses, &mut records, &mut checked);
        while let Some(parameters) = records.last().map(|(_, record)| record.parameters) {
            let batch = records.extract_if(.., |(_, record)| record.parameters == parameters);
            check_records(batch.collect(), chosen.open()?.engine(), parameters, &mut checked)?;
        }
        checked.sort_by_key(|(line, _)| *line);
        for (line, wrong) in checked {
            for (field, problem) in &wrong {
                let field = field.map_or_else(String::new, |field| format!("{field}: "));
                writeln!(out, "{file}:{line}: {field}{}", visible(problem))?;
            }
            count[usize::from(!wrong.is_empty())] += 1;
        }
        if !is_more? {
            let has_records = *count != [0, 0];
            return has_records.then_some(()).ok_or(Error::NoRecords { file: file.to_string() });
        }
    }
}

/// Reads a batch of records, or checks those that no engine checks. Returns `false` at the end of
/// the file.
fn read_batch(
    lines: &mut Lines,
    responses: &mut response::Reader,
    records: &mut Vec<(usize, Record)>,
    checked: &mut Vec<Checked>,
) -> Result<bool, Error> {
    while records.len() + checked.len() < RECORDS_PER_BATCH {
        // The number of the next line that is not blank is known once it is read.
        let Some(line) = lines.next()?.map(<[u8]>::to_vec) else {
            checked.extend(responses.unfinished().map(|response| response.check()));
            return Ok(false);
        };
        match responses.take(&line, lines.number) {
            Taken::Part => {}
            Taken::Whole(response) => checked.push(response.check()),
            Taken::Other => match Record::parse(&line) {
                Ok(record) => records.push((lines.number, record)),
                Err(wrong) => checked.push((lines.number, vec![wrong])),
            },
        }
    }
    Ok(true)
}

/// The number of records that are checked together. It is enough to occupy all cores.
const RECORDS_PER_BATCH: usize = 256;

/// A record as the file holds it.
#[derive(Deserialize)]
struct Line<'a> {
    /// The parameter set, or the degree of its ring.
    set: Option<&'a str>,
    n: Option<u32>,
    pk_encoding: Option<&'a str>,
    keygen_seed: &'a str,
    z: Option<&'a str>,
    pk: &'a str,
    sk: &'a str,
    encaps_seed: &'a str,
    ct: &'a str,
    ss: &'a str,
    bad_ct: &'a str,
    bad_ss: &'a str,
}

/// A key pair, an encapsulation, its decapsulation, and the decapsulation of a changed ciphertext.
struct Record {
    parameters: Parameters,
    /// The inputs. The first of the ciphertexts and the keys are also the outputs that must result.
    inputs: Inputs,
    /// The secrets of the two ciphertexts.
    secrets: [Bytes; 2],
}

impl Record {
    fn parse(line: &[u8]) -> Result<Self, Wrong> {
        let line: Line<'_> = serde_json::from_slice(line).map_err(|error| {
            (None, format!("not a known-answer record: {}", lines::problem(&error)))
        })?;
        let set: Set = match (line.set, line.n) {
            (Some(set), _) => set.parse().map_err(|error| invalid("set", error))?,
            (None, Some(n)) => n.to_string().parse().map_err(|error| invalid("n", error))?,
            (None, None) => return Err((None, "the record names no parameter set".into())),
        };
        if line.n.is_some_and(|n| n as usize != Parameters::from(set).degree()) {
            return Err((Some("n"), format!("is not that of {set}")));
        }
        let encoding = line.pk_encoding.map_or(Ok(Encoding::default()), str::parse);
        let encoding = encoding.map_err(|error| invalid("pk_encoding", error))?;
        let parameters =
            Parameters::new(set, encoding).map_err(|error| invalid("pk_encoding", error))?;
        let z = match (set.scheme(), line.z) {
            (_, Some(z)) => seed("z", z)?,
            (Scheme::CtruPrime, None) => return Err((Some("z"), "is missing".into())),
            // This scheme has no z.
            _ => [0; SEED_BYTES],
        };
        let inputs = Inputs {
            keygen_seed: seed("keygen_seed", line.keygen_seed)?,
            z,
            encapsulation_key: bytes("pk", line.pk)?,
            encaps_seed: seed("encaps_seed", line.encaps_seed)?,
            decapsulation_key: bytes("sk", line.sk)?,
            ciphertexts: [bytes("ct", line.ct)?, bytes("bad_ct", line.bad_ct)?],
        };
        with_parameters!(parameters, P => check_values::<P>(&inputs))?;
        let secrets = [bytes("ss", line.ss)?, bytes("bad_ss", line.bad_ss)?];
        Ok(Self { parameters, inputs, secrets })
    }
}

/// Checks that keys are well-formed, and that ciphertexts have the right length.
fn check_values<P: ParameterSet>(inputs: &Inputs) -> Result<(), Wrong> {
    EncapsulationKey::<P>::from_bytes(&inputs.encapsulation_key)
        .map_err(|error| invalid("pk", error))?;
    DecapsulationKey::<P>::from_bytes(&inputs.decapsulation_key)
        .map_err(|error| invalid("sk", error))?;
    for (field, bytes) in ["ct", "bad_ct"].into_iter().zip(&inputs.ciphertexts) {
        Ciphertext::<P>::from_bytes(bytes).map_err(|error| invalid(field, error))?;
    }
    Ok(())
}

/// Returns the name of each field of a record that differs from the transcript, and a text that
/// describes the difference.
fn compare(
    inputs: &Inputs,
    [ss, bad_ss]: &[Bytes; 2],
    transcript: &Transcript,
) -> Vec<(&'static str, String)> {
    let [decapsulated, rejected] = &transcript.decapsulated;
    [
        ("pk", "KeyGen", &inputs.encapsulation_key, &transcript.encapsulation_key),
        ("sk", "KeyGen", &inputs.decapsulation_key, &transcript.decapsulation_key),
        ("ct", "Encaps", &inputs.ciphertexts[0], &transcript.ciphertext),
        ("ss", "Encaps", ss, &transcript.shared_secret),
        ("ss", "Decaps(ct)", ss, decapsulated),
        ("bad_ss", "Decaps(bad_ct)", bad_ss, rejected),
    ]
    .into_iter()
    .filter_map(|(field, operation, expected, actual)| {
        let difference = difference(expected, actual)?;
        Some((field, format!("{operation} gives other bytes: {difference}")))
    })
    .collect()
}

fn invalid(field: &'static str, error: impl std::error::Error) -> Wrong {
    (Some(field), error.to_string())
}

fn bytes(field: &'static str, hex: &str) -> Result<Bytes, Wrong> {
    let hex = hex.strip_prefix("0x").unwrap_or(hex);
    // `decode` would not wipe the first bytes of a damaged key.
    let mut bytes = Zeroizing::new(vec![0; hex.len() / 2]);
    const_hex::decode_to_slice(hex, &mut bytes).map_err(|error| invalid(field, error))?;
    Ok(bytes)
}

fn seed(field: &'static str, hex: &str) -> Result<[u8; SEED_BYTES], Wrong> {
    let bytes = bytes(field, hex)?;
    let seed = bytes.as_slice().try_into();
    seed.map_err(|_| (Some(field), format!("expected {SEED_BYTES} bytes, got {}", bytes.len())))
}

/// Returns a description of the first difference of two byte strings, if they differ.
fn difference(expected: &[u8], actual: &[u8]) -> Option<String> {
    if expected.len() != actual.len() {
        return Some(format!("{} in the record, {} computed", expected.len(), actual.len()));
    }
    let at = expected.iter().zip(actual).position(|(expected, actual)| expected != actual)?;
    let shown = |bytes: &[u8]| const_hex::encode(&bytes[at..bytes.len().min(at + 8)]);
    Some(format!("from byte {at} on {} in the record, {} computed", shown(expected), shown(actual)))
}

/// Checks records of these parameters. Each record comes with its line number.
fn check_records(
    records: Vec<(usize, Record)>,
    engine: &dyn BatchEngine,
    parameters: Parameters,
    checked: &mut Vec<Checked>,
) -> Result<(), Error> {
    let (outputs, inputs): (Vec<_>, Vec<_>) = records
        .into_iter()
        .map(|(line, Record { inputs, secrets, .. })| ((line, secrets), inputs))
        .unzip();
    // If several API paths give the same difference, it is reported once, with all their names.
    let mut differences: Vec<Vec<(&'static str, String, Vec<String>)>> =
        vec![Vec::new(); inputs.len()];
    let supported = engine.supports(parameters);
    for path in ApiPath::ALL.into_iter().filter(|&path| supported || path == ApiPath::KeyTypes) {
        let transcripts = transcripts(path, engine, parameters, &inputs)?;
        for (row, transcript) in transcripts.iter().enumerate() {
            let told = &mut differences[row];
            for (field, problem) in compare(&inputs[row], &outputs[row].1, transcript) {
                match told.iter_mut().find(|(f, p, _)| *f == field && *p == problem) {
                    Some((_, _, paths)) => paths.push(path.to_string()),
                    None => told.push((field, problem, vec![path.to_string()])),
                }
            }
        }
    }
    checked.extend(outputs.into_iter().zip(differences).map(|((line, _), told)| {
        let wrong = told.into_iter().map(|(field, problem, paths)| {
            (Some(field), format!("{problem} ({})", paths.join(", ")))
        });
        (line, wrong.collect())
    }));
    Ok(())
}
