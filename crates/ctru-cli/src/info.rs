//! `ctru info`: shows parameter sets, sizes, security status, and the backend of this CPU.

use std::io::Write;

use ctru_kem::{Parameters, SHARED_SECRET_BYTES, Set, Sizes};
use ctru_math::backend::{self, Backend};
use ctru_measure::table;

use crate::error::Error;

/// The failure rate: the probability that an honest ciphertext decapsulates to a wrong secret, as a
/// binary logarithm.
struct FailureRate {
    /// The claim of the founding paper.
    claimed: i32,
    /// The mean over keys and messages; docs/security.md derives it.
    mean: i32,
    /// The rate of the middle one of random keys, from the same derivation.
    median: i32,
}

/// Returns the failure rate of a set, if it is known.
fn failure_rate(set: Set) -> Option<FailureRate> {
    Some(match set {
        Set::CtruPrime653 => FailureRate { claimed: -166, mean: -268, median: -384 },
        Set::CtruPrime761 => FailureRate { claimed: -170, mean: -153, median: -202 },
        Set::CtruPrime1277 => FailureRate { claimed: -279, mean: -109, median: -126 },
        _ => return None,
    })
}

/// Returns the warning for users who generate a key of this set, or `None` if the mean failure rate
/// is at most 2^-128.
pub(crate) fn warning(set: Set) -> Option<String> {
    let FailureRate { claimed, mean, .. } = failure_rate(set)?;
    (mean > -128).then(|| {
        format!(
            "nothing shows that {set} fails to decapsulate less often than once in 2^128: its \
             paper's 2^{claimed} does not hold, and by the analysis of this project the mean over \
             keys and messages is 2^{mean}. Let a key decapsulate at most 2^40 ciphertexts; see \
             `ctru info`."
        )
    })
}

const STATUS: &str = "\
CTRU-Prime is not standardised. It is published research; the authors of its family now put forward
other parameters. Use it for studies and measurements. Where you must rely on it, combine it with an
established KEM.

A failure rate is the probability that an honest ciphertext gives the wrong secret, as a logarithm
to base 2. An attacker who can cause or find failures learns about the private key. The claims are
the paper's; they treat neighbouring coefficients as independent, which is wrong. The means over
random keys and messages, and the rates of the middle one of random keys, are this project's for the
exact decoder; nobody else has reviewed them. Nothing shows that CTRU-Prime-1277 fails less often
than once in 2^128, so let each of its keys decapsulate at most 2^40 ciphertexts. By the same
analysis, no honest ciphertext then fails, except with a chance of 2^-40, for all keys but one in
2^40. One GPU decapsulates as many in ten hours. Replace a key if you suspect a single failure.
";

/// Runs the command.
///
/// # Errors
/// [`Error::Report`] if standard output fails.
pub(crate) fn run(out: &mut dyn Write) -> Result<(), Error> {
    let mut sizes = table::markdown(
        ["set", "encoding", "n", "q", "public key", "private key", "ciphertext", "secret"],
        2..8,
    );
    for parameters in Parameters::ALL {
        let Sizes { encapsulation_key, decapsulation_key, ciphertext } = parameters.sizes();
        sizes.add_row([
            parameters.set().to_string(),
            parameters.encoding().to_string(),
            parameters.degree().to_string(),
            parameters.modulus().to_string(),
            encapsulation_key.to_string(),
            decapsulation_key.to_string(),
            ciphertext.to_string(),
            SHARED_SECRET_BYTES.to_string(),
        ]);
    }
    let mut rates = table::markdown(["set", "claimed", "mean", "middle key"], 1..4);
    for &set in Set::ALL {
        let Some(FailureRate { claimed, mean, median }) = failure_rate(set) else { continue };
        rates.add_row([set.to_string(), claimed.to_string(), mean.to_string(), median.to_string()]);
    }
    let available: Vec<&str> = backend::available().map(Backend::name).collect();
    let (in_use, available) = (backend::in_use(), available.join(", "));
    write!(out, "Sizes in bytes\n\n{sizes}\n\nFailure rates, log2\n\n{rates}\n\n{STATUS}\n")?;
    writeln!(out, "This CPU: backend {in_use} in use, of {available}")?;
    Ok(())
}
