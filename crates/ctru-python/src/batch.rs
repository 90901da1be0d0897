//! The rows that a batch reads and writes.

use std::ops::Range;

use ctru_kem::engine::RowError;
use pyo3::prelude::*;

use crate::arrays::{InUse, Kind, Output, View, view};
use crate::errors::{row_error, value_error};
use crate::sets::Set;

/// The keys of a batch, as the caller gave them: rows, or a key object.
pub(crate) enum KeyRows<'a, 'py> {
    /// The bytes of one key.
    One(&'a [u8]),
    /// An array with a number of rows.
    Array { view: View<'py>, rows: usize, kind: Kind<'py> },
}

impl<'a, 'py> KeyRows<'a, 'py> {
    /// Returns the row that is a key object, which is the argument `name`.
    ///
    /// # Errors
    /// `ValueError` if the key belongs to another set than the engine.
    pub(crate) fn of_object(
        name: &str,
        (set, bytes): (Set, &'a [u8]),
        of_engine: Set,
    ) -> PyResult<Self> {
        if set == of_engine {
            return Ok(Self::One(bytes));
        }
        Err(value_error(format!(
            "{name} is a key of '{}' with '{}', the engine computes with '{}' and '{}'",
            set.name(),
            set.encoding(),
            of_engine.name(),
            of_engine.encoding()
        )))
    }

    /// Returns the rows of an array, which is the argument `name`.
    ///
    /// # Errors
    /// `TypeError` if it is no array of bytes. `ValueError` if it has no such rows.
    pub(crate) fn of_array(
        name: &str,
        object: &Bound<'py, PyAny>,
        row_bytes: usize,
    ) -> PyResult<Self> {
        let view = view(object, name)?;
        let rows = view.rows(name, row_bytes)?;
        let kind = Kind::of(object, &view)?;
        Ok(Self::Array { view, rows, kind })
    }

    /// Returns the number of keys.
    pub(crate) fn count(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Array { rows, .. } => *rows,
        }
    }

    /// Returns the array, if the keys are one.
    pub(crate) fn view(&self) -> Option<&View<'py>> {
        match self {
            Self::One(_) => None,
            Self::Array { view, .. } => Some(view),
        }
    }

    /// Returns the kind of results beside these keys.
    pub(crate) fn kind(&self) -> &Kind<'py> {
        match self {
            Self::One(_) => &Kind::Numpy,
            Self::Array { kind, .. } => kind,
        }
    }

    /// Returns the bytes of the keys.
    pub(crate) fn rows(&self, row_bytes: usize) -> Rows<'_> {
        let bytes = match self {
            Self::One(bytes) => bytes,
            Self::Array { view, .. } => view.bytes(),
        };
        Rows { bytes, row_bytes, serves_all: self.count() == 1 }
    }
}

/// The bytes of rows: one row for each operation of a batch, or one that serves all.
#[derive(Copy, Clone)]
pub(crate) struct Rows<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) row_bytes: usize,
    pub(crate) serves_all: bool,
}

impl<'a> Rows<'a> {
    /// Returns the bytes of the rows of some operations.
    pub(crate) fn of(self, operations: &Range<usize>) -> &'a [u8] {
        if self.serves_all {
            return self.bytes;
        }
        &self.bytes[operations.start * self.row_bytes..operations.end * self.row_bytes]
    }
}

/// A batch: the arrays for its results, and a note of the memory that it uses. If the batch fails,
/// its results are wiped.
pub(crate) struct Batch<'py, const N: usize> {
    // Dropped before the arrays, because memory that is free must not be noted.
    _in_use: InUse<'py>,
    outputs: [Output<'py>; N],
}

impl<const N: usize> Drop for Batch<'_, N> {
    /// Wipes results while their memory is still noted.
    fn drop(&mut self) {
        self.outputs.iter_mut().for_each(Output::wipe);
    }
}

impl<'py, const N: usize> Batch<'py, N> {
    /// Begins a batch that reads and writes these arrays. `names` are those of the arrays that are
    /// written.
    ///
    /// # Errors
    /// `ValueError` if an array shares memory with another one that is written.
    pub(crate) fn begin(
        py: Python<'py>,
        reads: &[(&str, &View<'_>)],
        names: [&str; N],
        outputs: [Output<'py>; N],
    ) -> PyResult<Self> {
        let views = outputs.each_ref().map(Output::view);
        let writes: Vec<_> = names.into_iter().zip(views).collect();
        let in_use = InUse::begin(py, reads, &writes)?;
        Ok(Self { _in_use: in_use, outputs })
    }

    /// Calls `compute` for one chunk of `count` operations after the other, without the GIL, with
    /// the numbers of the operations and the rows for their results. Calls `between` before each
    /// chunk but the first one. An empty batch is one empty chunk. `keys` is the name of the
    /// argument with the keys, and `one` says whether one key serves all operations.
    ///
    /// # Errors
    /// The exceptions for the errors of `compute`, and those of `between`.
    pub(crate) fn compute(
        &mut self,
        py: Python<'py>,
        (count, chunk): (usize, usize),
        (keys, one): (&str, bool),
        between: impl Fn() -> PyResult<()>,
        mut compute: impl FnMut(Range<usize>, [&mut [u8]; N]) -> Result<(), RowError> + Send,
    ) -> PyResult<()> {
        let mut first = 0usize;
        loop {
            let next = count.min(first.saturating_add(chunk));
            let results = self.outputs.each_mut().map(|output| output.rows_mut(first..next));
            py.detach(|| compute(first..next, results))
                .map_err(|error| row_error(&error, keys, if one { 0 } else { first }))?;
            if next == count {
                return Ok(());
            }
            first = next;
            between()?;
        }
    }

    /// Returns the objects that the caller gets.
    ///
    /// # Errors
    /// The exception of the package of an array.
    pub(crate) fn finish(mut self) -> PyResult<[Bound<'py, PyAny>; N]> {
        let objects: Vec<_> = self.outputs.iter().map(Output::object).collect::<PyResult<_>>()?;
        self.outputs.iter_mut().for_each(Output::hand_over);
        Ok(objects.try_into().expect("one object for each array"))
    }
}
