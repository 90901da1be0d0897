//! The exceptions of the package, and the errors of the engine as exceptions.

use ctru_kem::engine::EngineError;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyMemoryError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;

create_exception!(
    ctru,
    InvalidKey,
    PyValueError,
    "Bytes are not a key. The message names the first bad row of a batch."
);
create_exception!(ctru, DeviceError, PyException, "The GPU or its driver failed, or is missing.");

/// Returns a `ValueError`.
pub(crate) fn value_error(message: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(message.to_string())
}

/// Returns a `TypeError`.
pub(crate) fn type_error(message: impl std::fmt::Display) -> PyErr {
    PyTypeError::new_err(message.to_string())
}

/// Returns the name of the type of an object, for messages.
pub(crate) fn type_name(object: &Bound<'_, PyAny>) -> String {
    object.get_type().name().map_or_else(|_| "object".to_owned(), |name| name.to_string())
}

/// Returns `named`, with the exception of other code as its cause. Returns the cause itself if it
/// is not about the argument: if it is an interrupt or a `MemoryError`.
pub(crate) fn caused_by(py: Python<'_>, named: PyErr, cause: PyErr) -> PyErr {
    if !cause.is_instance_of::<PyException>(py) || cause.is_instance_of::<PyMemoryError>(py) {
        return cause;
    }
    named.set_cause(py, Some(cause));
    named
}

/// Returns the exception for an engine that cannot be made or that failed.
pub(crate) fn engine_error(error: &EngineError) -> PyErr {
    let message = error.to_string();
    match error {
        EngineError::Length { .. } | EngineError::Rows { .. } | EngineError::RowOverflow { .. } => {
            value_error(message)
        }
        EngineError::Threads(_) => PyRuntimeError::new_err(message),
        _ => DeviceError::new_err(message),
    }
}

/// Returns the exception for a batch whose keys are the argument `keys`, and whose first operation
/// has the row `first` of that argument.
pub(crate) fn row_error(error: &EngineError, keys: &str, first: usize) -> PyErr {
    let invalid = |row: usize, error: &dyn std::fmt::Display| {
        InvalidKey::new_err(format!("row {} of {keys} is not a key: {error}", first + row))
    };
    match error {
        EngineError::EncapsulationKey { row, error } => invalid(*row, error),
        EngineError::DecapsulationKey { row, error } => invalid(*row, error),
        error => engine_error(error),
    }
}
