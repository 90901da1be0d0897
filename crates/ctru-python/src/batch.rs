//! The rows that a batch reads and writes.

use std::ops::Range;
use std::sync::Arc;

use ctru_kem::Parameters;
use ctru_kem::engine::EngineError;
use pyo3::prelude::*;

use crate::arrays::{Kind, Output, Reading, Results, View, begin, view};
use crate::errors::{row_error, value_error};
use crate::gpu::Gpu;
use crate::part::{Part, PartMut};

/// Rows that a batch reads, as the caller gave them.
pub(crate) struct Input<'py> {
    name: &'static str,
    view: View<'py>,
    kind: Kind<'py>,
    row_bytes: usize,
    rows: usize,
}

impl<'py> Input<'py> {
    /// Returns the row that is a key object, which is the argument `name`. `parts` returns its
    /// parameters and its bytes.
    ///
    /// # Errors
    /// `ValueError` if the key belongs to another set than the engine.
    pub(crate) fn of_key<T: 'py>(
        name: &'static str,
        key: &Bound<'py, T>,
        parts: for<'a> fn(&'a Bound<'py, T>) -> (Parameters, &'a [u8]),
        of_engine: Parameters,
    ) -> PyResult<Self> {
        let (parameters, bytes) = parts(key);
        if parameters == of_engine {
            let view = View::of_object(key.clone(), |key| parts(key).1);
            return Ok(Self { name, view, kind: Kind::Numpy, row_bytes: bytes.len(), rows: 1 });
        }
        Err(value_error(format!(
            "{name} is a key of '{}' with '{}', the engine computes with '{}' and '{}'",
            parameters.set().id(),
            parameters.encoding(),
            of_engine.set().id(),
            of_engine.encoding()
        )))
    }

    /// Returns the rows of an array, which is the argument `name`.
    ///
    /// # Errors
    /// `TypeError` if it is no array of bytes. `ValueError` if it has no such rows, or if it is
    /// neither on the host nor on `gpu`.
    pub(crate) fn of_array(
        name: &'static str,
        object: &Bound<'py, PyAny>,
        gpu: Option<&Gpu>,
        row_bytes: usize,
    ) -> PyResult<Self> {
        let view = view(object, name, gpu, Some(row_bytes))?;
        let rows = view.rows(name, row_bytes)?;
        let kind = Kind::of(object, &view)?;
        Ok(Self { name, view, kind, row_bytes, rows })
    }

    /// Returns the number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the kind of results beside these rows.
    pub(crate) fn kind(&self) -> &Kind<'py> {
        &self.kind
    }

    /// Checks that the rows are where the results are, which have this name. A key that serves all
    /// operations may be on the host.
    ///
    /// # Errors
    /// `ValueError` if they are in another place.
    fn check_place(&self, is_key: bool, name: &str, result: &View<'_>) -> PyResult<()> {
        let place = self.view.place();
        let (own, of_result) = (place.gpu(), result.place().gpu());
        if own == of_result || (is_key && own.is_none() && self.rows == 1) {
            return Ok(());
        }
        Err(value_error(format!("{} is {place}, and {name} is {}", self.name, result.place())))
    }
}

/// Rows that a batch reads while it runs: one row for each operation, or one that serves all.
struct Rows<'py> {
    name: &'static str,
    array: Reading<'py>,
    row_bytes: usize,
    serves_all: bool,
}

impl Rows<'_> {
    /// Returns the bytes of the rows of some operations.
    fn of(&self, operations: &Range<usize>) -> Part<'_> {
        let all = self.array.part();
        if self.serves_all {
            return all;
        }
        all.range(operations.start * self.row_bytes..operations.end * self.row_bytes)
    }
}

/// A batch: the arrays that it reads, with the keys first, and those for its results. It has noted
/// that it uses them. If it fails, its results are wiped.
pub(crate) struct Batch<'py, const R: usize, const W: usize> {
    inputs: [Rows<'py>; R],
    outputs: [Results<'py>; W],
}

impl<'py, const R: usize, const W: usize> Batch<'py, R, W> {
    /// Begins a batch. `names` are those of the arrays that are written, and `gpu` is that of the
    /// engine.
    ///
    /// # Errors
    /// `ValueError` if the arrays are in several places, if a result cannot be written, or if an
    /// array shares memory with another one that is written.
    pub(crate) fn begin(
        py: Python<'py>,
        gpu: Option<&Arc<Gpu>>,
        inputs: [Input<'py>; R],
        names: [&'static str; W],
        outputs: [Output<'py>; W],
    ) -> PyResult<Self> {
        let (first, others) = outputs.split_first().expect("a batch has results");
        for (number, input) in inputs.iter().enumerate() {
            input.check_place(number == 0, names[0], first.view())?;
        }
        for (output, name) in others.iter().zip(&names[1..]) {
            let (place, of_first) = (output.view().place(), first.view().place());
            if place.gpu() != of_first.gpu() {
                return Err(value_error(format!(
                    "{} is {of_first}, and {name} is {place}",
                    names[0]
                )));
            }
        }
        let mut reads = Vec::new();
        let inputs = inputs.map(|Input { name, view, row_bytes, rows, .. }| {
            reads.push((name, view));
            (name, row_bytes, rows == 1)
        });
        let mut writes = Vec::new();
        let outputs = outputs.map(|output| {
            let (view, results) = output.split(gpu.cloned());
            writes.push((names[writes.len()], view));
            results
        });
        let (reads, writes) = begin(py, reads, writes)?;
        let (mut reads, mut writes) = (reads.into_iter(), writes.into_iter());
        let inputs = inputs.map(|(name, row_bytes, serves_all)| {
            let array = reads.next().expect("each array is noted");
            Rows { name, array, row_bytes, serves_all }
        });
        let outputs = outputs.map(|results| results(writes.next().expect("each array is noted")));
        Ok(Self { inputs, outputs })
    }

    /// Calls `compute` for one chunk of `count` operations after the other, without the GIL, with
    /// the numbers of the operations, the rows that they read and the rows for their results. Calls
    /// `between` before each chunk but the first one. An empty batch is one empty chunk.
    ///
    /// # Errors
    /// The exceptions for the errors of `compute`, and those of `between`.
    pub(crate) fn compute<C>(
        &mut self,
        py: Python<'py>,
        (count, chunk): (usize, usize),
        between: impl Fn() -> PyResult<()>,
        mut compute: C,
    ) -> PyResult<()>
    where
        C: FnMut(Range<usize>, [Part<'_>; R], [PartMut<'_>; W]) -> Result<(), EngineError> + Send,
    {
        let mut first = 0usize;
        loop {
            let next = count.min(first.saturating_add(chunk));
            let given = self.inputs.each_ref().map(|input| input.of(&(first..next)));
            let results = self.outputs.each_mut().map(|output| output.rows_mut(first..next));
            py.detach(|| compute(first..next, given, results)).map_err(|error| {
                let keys = self.inputs.first().map(|keys| (keys.name, keys.serves_all));
                let (name, serves_all) = keys.unwrap_or_default();
                row_error(&error, name, if serves_all { 0 } else { first })
            })?;
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
    pub(crate) fn finish(mut self) -> PyResult<[Bound<'py, PyAny>; W]> {
        let objects: Vec<_> = self.outputs.iter().map(Results::object).collect::<PyResult<_>>()?;
        self.outputs.iter_mut().for_each(Results::hand_over);
        Ok(objects.try_into().expect("one object for each array"))
    }
}
