//! The arrays for the results of a batch: before the batch, and while it runs.

use std::ops::Range;
use std::sync::Arc;

use ctru_fork::Process;
use ctru_kem::SHARED_SECRET_BYTES;
use pyo3::prelude::*;
use pyo3::types::PyMemoryView;
use zeroize::Zeroize;

use super::in_use::Writing;
use super::packages::import;
use super::view::View;
use crate::calls;
use crate::errors::value_error;
use crate::gpu::Gpu;
use crate::part::PartMut;

/// An array for results.
pub(crate) struct Output<'py> {
    view: View<'py>,
    finish: Finish<'py>,
    row_bytes: usize,
}

/// How the object that the caller gets is made from the object that has the memory.
pub(super) enum Finish<'py> {
    /// It is the same object.
    Same(Bound<'py, PyAny>),
    /// It is a memoryview of the rows.
    Rows(Bound<'py, PyAny>, (usize, usize)),
    /// It is an Arrow array over the buffer.
    Arrow(Bound<'py, PyAny>, (usize, usize)),
    /// A function makes it from a numpy array.
    Tensor(Bound<'py, PyAny>, Bound<'py, PyAny>),
}

/// An array to which a batch writes results. If the caller does not get them, they are wiped.
pub(crate) struct Results<'py> {
    rows: Writing<'py>,
    finish: Finish<'py>,
    row_bytes: usize,
    /// The rows before this one may have results that the caller has not got.
    open_rows: usize,
    /// The process that writes the results. A fork of it can share their memory.
    process: Process,
    /// The GPU of the engine.
    gpu: Option<Arc<Gpu>>,
}

impl<'py> Output<'py> {
    pub(super) fn new(view: View<'py>, finish: Finish<'py>, row_bytes: usize) -> Self {
        Self { view, finish, row_bytes }
    }

    /// Returns an array of the caller's for `count` rows, which is the argument `name`, as the
    /// result itself.
    ///
    /// # Errors
    /// `TypeError` if it is no array of bytes. `ValueError` if it has another shape or place.
    pub(crate) fn of_caller(
        object: &Bound<'py, PyAny>,
        name: &str,
        gpu: Option<&Gpu>,
        count: usize,
        row_bytes: usize,
    ) -> PyResult<Self> {
        let view = super::view(object, name, gpu, Some(row_bytes))?;
        let rows = view.rows(name, row_bytes)?;
        if rows != count {
            return Err(value_error(format!("{name} has {rows} rows, the batch has {count}")));
        }
        let is_on_gpu = view.place().gpu().is_some();
        if is_on_gpu && row_bytes == SHARED_SECRET_BYTES && !view.is_aligned() {
            return Err(value_error(format!(
                "{name} begins at an address that is not a multiple of 8, which secrets on a GPU \
                 need"
            )));
        }
        Ok(Self::new(view, Finish::Same(object.clone()), row_bytes))
    }

    /// Returns the memory.
    pub(crate) fn view(&self) -> &View<'py> {
        &self.view
    }

    /// Returns the memory, and a function that turns it into results once it is noted as in use.
    pub(crate) fn split(
        self,
        gpu: Option<Arc<Gpu>>,
    ) -> (View<'py>, impl FnOnce(Writing<'py>) -> Results<'py>) {
        let Self { view, finish, row_bytes } = self;
        let process = Process::current();
        (view, move |rows| Results { rows, finish, row_bytes, open_rows: 0, process, gpu })
    }
}

impl<'py> Results<'py> {
    /// Returns rows for writing.
    pub(crate) fn rows_mut(&mut self, rows: Range<usize>) -> PartMut<'_> {
        self.open_rows = self.open_rows.max(rows.end);
        self.rows.part().range(rows.start * self.row_bytes..rows.end * self.row_bytes)
    }

    /// Returns the object that the caller gets.
    ///
    /// # Errors
    /// The exception of the package of the array.
    pub(crate) fn object(&self) -> PyResult<Bound<'py, PyAny>> {
        match &self.finish {
            Finish::Same(object) => Ok(object.clone()),
            Finish::Rows(array, (count, row_bytes)) => {
                let view = PyMemoryView::from(array)?.into_any();
                // A view of no rows has no second dimension: `cast` refuses it.
                match count {
                    0 => Ok(view),
                    _ => calls::method(&view, "cast", ("B", (count, row_bytes))),
                }
            }
            Finish::Arrow(buffer, (count, row_bytes)) => {
                let py = buffer.py();
                let pyarrow = import(py, "pyarrow")?;
                let of_rows = calls::method(&pyarrow, "binary", (row_bytes,))?;
                let buffers = [py.None(), buffer.clone().unbind()];
                let array = calls::attribute(&pyarrow, "FixedSizeBinaryArray")?;
                calls::method(&array, "from_buffers", (of_rows, count, buffers))
            }
            Finish::Tensor(from, array) => calls::call(from, (array,), None),
        }
    }

    /// Leaves the results to the caller.
    pub(crate) fn hand_over(&mut self) {
        self.open_rows = 0;
    }
}

impl Drop for Results<'_> {
    /// Wipes results that were written and that the caller does not get, while their memory is
    /// still noted. Leaves them alone in a fork, where wiping could zero the results of the process
    /// that goes on with the batch.
    fn drop(&mut self) {
        if self.open_rows == 0 || !self.process.is_current() {
            return;
        }
        match (self.rows.part().range(0..self.open_rows * self.row_bytes), &self.gpu) {
            (PartMut::Host(bytes), _) => bytes.zeroize(),
            (PartMut::Gpu(bytes), Some(gpu)) => gpu.wipe(bytes),
            (PartMut::Gpu(_), None) => unreachable!("an engine without a GPU takes no such array"),
        }
    }
}
