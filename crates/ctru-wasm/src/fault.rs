//! Errors, with the codes that JavaScript sees.

use ctru_kem::engine::EngineError;
use thiserror::Error;
use wasm_bindgen::JsValue;

use crate::js::Array;

/// The reason why a batch was not computed.
#[derive(Debug, Error)]
pub enum Fault {
    /// There is no such parameter set.
    #[error("there is no such parameter set")]
    Set,
    /// The engine refused the batch.
    #[error("{}", without_row(.0))]
    Engine(#[from] EngineError),
    /// There is no memory for an output, or for a copy of an input, whose rows have one byte.
    #[error("there is no memory for {count} rows of {row_bytes} bytes")]
    Memory {
        /// The number of rows.
        count: usize,
        /// The number of bytes of a row.
        row_bytes: usize,
    },
    /// The host gives no randomness.
    #[error("crypto.getRandomValues gives no randomness: {0}")]
    Randomness(#[from] getrandom::Error),
}

/// Returns the text of an error. That of a refused key follows a number, which the package adds,
/// because it knows of which batch the rows are a part.
fn without_row(error: &EngineError) -> String {
    match error {
        EngineError::EncapsulationKey { error, .. } => format!("not an encapsulation key: {error}"),
        EngineError::DecapsulationKey { error, .. } => format!("not a decapsulation key: {error}"),
        error => error.to_string(),
    }
}

impl Fault {
    /// Returns the code, and the row that is refused.
    fn code(&self) -> (&'static str, Option<usize>) {
        match self {
            Self::Set => ("set", None),
            Self::Engine(EngineError::EncapsulationKey { row, .. }) => {
                ("encapsulation-key", Some(*row))
            }
            Self::Engine(EngineError::DecapsulationKey { row, .. }) => {
                ("decapsulation-key", Some(*row))
            }
            Self::Engine(_) | Self::Memory { .. } => ("length", None),
            Self::Randomness(_) => ("randomness", None),
        }
    }
}

/// Returns what is thrown: code, text, and row or `undefined`.
impl From<Fault> for JsValue {
    fn from(fault: Fault) -> Self {
        let (code, row) = fault.code();
        let row = row.map_or(Self::UNDEFINED, |row| Self::from_f64(row as f64));
        Array::triple(&code.into(), &fault.to_string().into(), &row).into()
    }
}
