//! The packages whose arrays this one takes and makes. It imports none before it makes an array.

use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// Returns whether an object is a numpy array. Does not import numpy.
pub(super) fn is_numpy(object: &Bound<'_, PyAny>) -> bool {
    static NDARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = object.py();
    let find = || PyResult::Ok(loaded(py, "numpy")?.getattr("ndarray")?.unbind());
    let is_one = |ndarray: &Py<PyAny>| object.is_instance(ndarray.bind(py));
    NDARRAY.get_or_try_init(py, find).and_then(is_one).unwrap_or(false)
}

/// Returns a module that the program has imported.
pub(super) fn loaded<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("sys")?.getattr("modules")?.get_item(name)
}

/// Imports a package that this one needs for some kinds of arrays only.
pub(super) fn import<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyModule>> {
    py.import(name).map_err(|error| {
        let message = format!("arrays of this kind need the package {name}: {error}");
        PyImportError::new_err(message)
    })
}

/// Returns the name of the package that defines the type of an object.
pub(super) fn package_of(object: &Bound<'_, PyAny>) -> PyResult<String> {
    let module: String = object.get_type().getattr("__module__")?.extract()?;
    Ok(module.split('.').next().unwrap_or_default().to_owned())
}
