//! The parameters that a command line or a file names.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use ctru_kem::{Encoding, Set};

/// Returns a parser of the names of parameter sets.
pub(crate) fn set_parser() -> impl TypedValueParser<Value = Set> {
    PossibleValuesParser::new(Set::ALL.iter().map(|set| set.id())).try_map(|id| id.parse::<Set>())
}

/// Returns a parser of the names of encodings.
pub(crate) fn encoding_parser() -> impl TypedValueParser<Value = Encoding> {
    let names = Encoding::ALL.iter().map(|encoding| encoding.name());
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Encoding>())
}

/// Calls an operation with the type of parameters, after a test of this machine with known answers.
/// Every command that works with keys of users does this before the first operation.
macro_rules! tested {
    ($parameters:expr, $P:ident => $operation:expr) => {{
        let parameters: ctru_kem::Parameters = $parameters;
        parameters
            .known_answer_test()
            .map(|()| ctru_kem::with_parameters!(parameters, $P => $operation))
    }};
}
pub(crate) use tested;
