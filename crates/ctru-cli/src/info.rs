//! `ctru info`: parameter sets, sizes, security status, what this CPU runs.

use std::io::Write;

use comfy_table::{CellAlignment, Table, presets};
use ctru_kem::{ParameterSet, SHARED_SECRET_BYTES};
use ctru_math::Ring;
use ctru_math::backend::{self, Backend};

use crate::error::Error;
use crate::set::{Set, Suite, Task};

/// Show parameter sets, sizes, security status and the instructions that this CPU is used with
#[derive(Debug, clap::Args)]
pub struct Args {}

/// The probability that decapsulation of an honest ciphertext gives the wrong secret, as binary logarithms.
struct FailureRate {
    /// What the founding paper claims.
    claimed: i32,
    /// What follows from an upper bound that takes account of correlated coefficients (ePrint 2026/1350).
    bound: i32,
    /// This project's estimate for the exact decoder.
    estimate: i32,
}

fn failure_rate(set: Set) -> FailureRate {
    match set {
        Set::N653 => FailureRate { claimed: -166, bound: -315, estimate: -357 },
        Set::N761 => FailureRate { claimed: -170, bound: -163, estimate: -188 },
        Set::N1277 => FailureRate { claimed: -279, bound: -103, estimate: -122 },
    }
}

/// What somebody who makes a key of this set must know.
#[must_use]
pub fn warning(set: Set) -> Option<String> {
    let FailureRate { claimed, bound, estimate } = failure_rate(set);
    (estimate.max(bound) > -128).then(|| {
        format!(
            "nothing shows that {set} fails to decapsulate less often than once in 2^128: its paper's 2^{claimed} is \
             not established, the best upper bound is 2^{bound}, this project's estimate 2^{estimate}. Limit how many \
             ciphertexts a key decapsulates; see `ctru info`."
        )
    })
}

const STATUS: &str = "\
CTRU-Prime is not standardised. It is published research; the authors of its family now put forward other parameters.
Use it to study and to measure, and beside an established KEM where you must rely on it.

Failure rates are logarithms to base 2 of the probability that an honest ciphertext gives the wrong secret. Who can
cause or find failures learns about the private key. None of these rates is established. The claims are the paper's and
take neighbouring coefficients for independent, which they are not; the bounds are upper bounds of a later analysis
(ePrint 2026/1350); the estimates are this project's for the exact decoder, which nobody has reviewed. Nothing shows
that CTRU-Prime-1277 fails less often than once in 2^128, so limit the number of ciphertexts that one of its keys
decapsulates.
";

/// Runs the command.
///
/// # Errors
/// [`Error::Report`].
pub fn run(_: &Args, out: &mut dyn Write) -> Result<(), Error> {
    let mut sizes = new_table(
        ["set", "encoding", "n", "q", "public key", "private key", "ciphertext", "secret"],
        2..8,
    );
    for suite in Suite::all() {
        sizes.add_row(suite.run(Row(suite)));
    }
    let mut rates = new_table(["set", "claimed", "bound", "estimate"], 1..4);
    for set in Set::ALL {
        let FailureRate { claimed, bound, estimate } = failure_rate(set);
        rates.add_row([
            set.to_string(),
            claimed.to_string(),
            bound.to_string(),
            estimate.to_string(),
        ]);
    }
    let available: Vec<&str> = backend::available().map(Backend::name).collect();
    let (in_use, available) = (backend::in_use(), available.join(", "));
    write!(out, "Sizes in bytes\n\n{sizes}\n\nFailure rates, log2\n\n{rates}\n\n{STATUS}\n")?;
    writeln!(out, "This CPU: backend {in_use} in use, of {available}")?;
    Ok(())
}

struct Row(Suite);

impl Task for Row {
    type Output = [String; 8];

    fn run<P: ParameterSet>(self) -> [String; 8] {
        [
            P::NAME.to_owned(),
            self.0.encoding.to_string(),
            P::Ring::N.to_string(),
            P::Ring::Q.to_string(),
            P::ENCAPSULATION_KEY_BYTES.to_string(),
            P::DECAPSULATION_KEY_BYTES.to_string(),
            P::CIPHERTEXT_BYTES.to_string(),
            SHARED_SECRET_BYTES.to_string(),
        ]
    }
}

/// A table that can be pasted into Markdown, with the columns of numbers to the right.
pub(crate) fn new_table(
    header: impl Into<comfy_table::Row>,
    numbers: std::ops::Range<usize>,
) -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN).set_header(header);
    for column in numbers {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}
