//! The packages whose arrays this one takes and makes. It imports none before it makes an array.

use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};

use crate::calls;
use crate::errors::{type_error, type_name};

/// The types of numpy's arrays.
struct Numpy {
    array: Py<PyType>,
    /// An array in a file.
    mapped: Py<PyType>,
}

/// Returns the types of numpy's arrays, if the program has imported numpy.
fn numpy(py: Python<'_>) -> Option<&'static Numpy> {
    static NUMPY: PyOnceLock<Numpy> = PyOnceLock::new();
    let find = || {
        let numpy = loaded(py, "numpy")?;
        let of = |name| PyResult::Ok(calls::attribute(&numpy, name)?.cast_into()?.unbind());
        PyResult::Ok(Numpy { array: of("ndarray")?, mapped: of("memmap")? })
    };
    NUMPY.get_or_try_init(py, find).ok()
}

/// Returns whether an object is a numpy array. Does not import numpy.
pub(super) fn is_numpy(object: &Bound<'_, PyAny>) -> bool {
    let py = object.py();
    numpy(py)
        .is_some_and(|numpy| object.get_type().is_subclass(numpy.array.bind(py)).unwrap_or(false))
}

/// Checks that a numpy array, the argument `name`, is fully described by its elements. A subclass
/// can hide elements, as a masked array does, or give them a unit.
///
/// # Errors
/// `TypeError` if the array is of such a class.
pub(super) fn check_numpy(object: &Bound<'_, PyAny>, name: &str) -> PyResult<()> {
    let py = object.py();
    let Some(numpy) = numpy(py).filter(|_| is_numpy(object)) else { return Ok(()) };
    let kind = object.get_type();
    if kind.is(&numpy.array) || kind.is(&numpy.mapped) {
        return Ok(());
    }
    Err(type_error(format!(
        "{name} is a {}, which is more than its elements, as a masked array is; pass a \
         numpy.ndarray, such as numpy.asarray makes of it",
        type_name(object)
    )))
}

/// Returns a module that the program has imported.
pub(super) fn loaded<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let modules = calls::attribute(&calls::import(py, "sys")?, "modules")?;
    let module = modules.cast::<PyDict>()?.as_any();
    calls::method(module, "__getitem__", (name,))
}

/// Imports a package that this one needs for some kinds of arrays only.
pub(super) fn import<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    calls::import(py, name).map_err(|error| {
        let text = calls::text_of(py, &error);
        let message = format!("arrays of this kind need the package {name}: {text}");
        PyImportError::new_err(message)
    })
}

/// Returns the name of the package that defines the type of an object, if the type says it.
pub(super) fn package_of(object: &Bound<'_, PyAny>) -> PyResult<String> {
    let module = calls::attribute(object.get_type().as_any(), "__module__")?;
    let module = module.extract::<String>().unwrap_or_default();
    Ok(module.split('.').next().unwrap_or_default().to_owned())
}
