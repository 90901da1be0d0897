//! Calls that may run code of Python's: of exporters, of other packages, of the system of imports.
//!
//! When Python before 3.14 ends, it ends each other thread that takes the GIL, by `pthread_exit`,
//! and a thread that runs code of Python's takes it again and again. `pthread_exit` unwinds the
//! stack, and Rust aborts the process when that reaches functions of Rust that must not unwind. So
//! the functions of this module keep the thread here forever, which is what Python 3.14 does with
//! such threads. PyO3 does the same where a thread takes the GIL after it has released it.
//!
//! All other files call Python's code by this module only; `clippy.toml` names what they must not
//! use instead.
#![allow(unsafe_code)]

use std::hint::black_box;
use std::mem;
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyAttributeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyString, PyTuple};

/// Stops the thread when it is dropped.
struct Stop;

impl Drop for Stop {
    fn drop(&mut self) {
        loop {
            thread::sleep(Duration::from_secs(60));
        }
    }
}

/// Writes a function that calls a function in C, which may run code of Python's and end the thread.
macro_rules! guarded {
    ($name:ident: $($argument:ident $type:ident),*) => {
        /// Calls a function that may end the thread, and stops the thread then.
        ///
        /// # Safety
        /// As for the function. The thread is attached to the interpreter.
        #[inline(never)]
        pub(crate) unsafe fn $name<$($type,)* R>(
            function: unsafe extern "C" fn($($type),*) -> R,
            $($argument: $type),*
        ) -> R {
            type Ending<$($type,)* R> = unsafe extern "C-unwind" fn($($type),*) -> R;
            // The compiler must not see which function this is: as declared, it does not unwind.
            let function = black_box(function);
            // SAFETY: the two types are the same, but for unwinding.
            let function: Ending<$($type,)* R> = unsafe { mem::transmute(function) };
            let stop = Stop;
            // SAFETY: the caller promises what the function needs.
            let result = unsafe { function($($argument),*) };
            mem::forget(stop);
            result
        }
    };
}

guarded!(run0:);
guarded!(run1: a A);
guarded!(run2: a A, b B);
guarded!(run3: a A, b B, c C);

/// Returns the object of a new reference, or the exception that Python has raised.
///
/// # Safety
/// The pointer is null with an exception, or a new reference.
unsafe fn object(py: Python<'_>, new: *mut ffi::PyObject) -> PyResult<Bound<'_, PyAny>> {
    // SAFETY: the caller promises the same.
    unsafe { Bound::from_owned_ptr_or_err(py, new) }
}

/// Calls an object.
///
/// # Errors
/// Its exceptions.
pub(crate) fn call<'py>(
    callable: &Bound<'py, PyAny>,
    arguments: impl IntoPyObject<
        'py,
        Target = PyTuple,
        Output = Bound<'py, PyTuple>,
        Error: Into<PyErr>,
    >,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = callable.py();
    let arguments = arguments.into_pyobject(py).map_err(Into::into)?;
    let options = options.map_or(std::ptr::null_mut(), |options| options.as_ptr());
    // SAFETY: the pointers are those of live objects, a tuple and a dictionary or null, and the
    // result is a new reference.
    unsafe { object(py, run3(ffi::PyObject_Call, callable.as_ptr(), arguments.as_ptr(), options)) }
}

/// Calls a method.
///
/// # Errors
/// Its exceptions, and `AttributeError` if there is none.
pub(crate) fn method<'py>(
    object: &Bound<'py, PyAny>,
    name: &str,
    arguments: impl IntoPyObject<
        'py,
        Target = PyTuple,
        Output = Bound<'py, PyTuple>,
        Error: Into<PyErr>,
    >,
) -> PyResult<Bound<'py, PyAny>> {
    call(&attribute(object, name)?, arguments, None)
}

/// Returns an attribute.
///
/// # Errors
/// `AttributeError` if there is none, and the exceptions of the object.
pub(crate) fn attribute<'py>(
    object: &Bound<'py, PyAny>,
    name: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    let name = PyString::intern(py, name);
    // SAFETY: the pointers are those of live objects, and the result is a new reference.
    unsafe { self::object(py, run2(ffi::PyObject_GetAttr, object.as_ptr(), name.as_ptr())) }
}

/// Returns an attribute, or `None` if there is none.
///
/// # Errors
/// Other exceptions of the object than `AttributeError`.
pub(crate) fn attribute_if_any<'py>(
    object: &Bound<'py, PyAny>,
    name: &str,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    match attribute(object, name) {
        Err(error) if error.is_instance_of::<PyAttributeError>(object.py()) => Ok(None),
        found => found.map(Some),
    }
}

/// Imports a module.
///
/// # Errors
/// Those of the import.
pub(crate) fn import<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let name = PyString::new(py, name);
    // SAFETY: the pointer is that of a live object, and the result is a new reference.
    unsafe { object(py, run1(ffi::PyImport_Import, name.as_ptr())) }
}

/// Returns the integer that an object stands for.
///
/// # Errors
/// `TypeError` if it stands for none, and the exceptions of the object.
pub(crate) fn integer<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyInt>> {
    // SAFETY: the pointer is that of a live object, and the result is a new reference.
    let number = unsafe { object(value.py(), run1(ffi::PyNumber_Index, value.as_ptr()))? };
    Ok(number.cast_into()?)
}

/// Returns the name of the type of an exception and its text.
pub(crate) fn text_of(py: Python<'_>, error: &PyErr) -> String {
    let value = error.value(py);
    let kind = crate::errors::type_name(value);
    // SAFETY: the pointer is that of a live object, and the result is a new reference.
    let text = unsafe { object(py, run1(ffi::PyObject_Str, value.as_ptr())) };
    match text.and_then(|text| Ok(text.cast_into::<PyString>()?.to_cow()?.into_owned())) {
        Ok(text) => format!("{kind}: {text}"),
        Err(_) => kind,
    }
}

/// Calls the handlers of signals that have come.
///
/// # Errors
/// The exceptions of the handlers, such as `KeyboardInterrupt`.
pub(crate) fn check_signals(py: Python<'_>) -> PyResult<()> {
    // SAFETY: this thread is attached.
    match unsafe { run0(ffi::PyErr_CheckSignals) } {
        -1 => Err(PyErr::fetch(py)),
        _ => Ok(()),
    }
}
