//! The native module `ctru._ctru` of the Python package `ctru`.
//!
//! `keys` has single operations, `engine` and `batch` have batches, `arrays` has the arrays that
//! batches read and write. What `help` shows in Python are the comments on the classes and methods
//! here. The package around it, in the folder `python`, re-exports this module and has what is
//! written in Python. It also has the types of the interface, in `_ctru.pyi`.

mod arrays;
mod batch;
mod calls;
mod digest;
mod engine;
mod errors;
mod gpu;
mod keys;
mod part;
mod run;
mod seeds;
mod sets;

use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// CTRU-Prime, compiled.
#[pymodule(gil_used = false)]
fn _ctru(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("SETS", PyTuple::new(py, ctru_kem::Set::ALL.iter().map(|set| set.id()))?)?;
    module.add("InvalidKey", py.get_type::<errors::InvalidKey>())?;
    module.add("DeviceError", py.get_type::<errors::DeviceError>())?;
    module.add_class::<sets::Parameters>()?;
    module.add_class::<keys::PrivateKey>()?;
    module.add_class::<keys::PublicKey>()?;
    module.add_class::<keys::HybridPrivateKey>()?;
    module.add_class::<keys::HybridPublicKey>()?;
    module.add_class::<engine::Engine>()?;
    module.add_function(wrap_pyfunction!(sets::parameters, module)?)?;
    module.add_function(wrap_pyfunction!(sets::has_kernels, module)?)?;
    module.add_function(wrap_pyfunction!(digest::digest, module)?)
}
