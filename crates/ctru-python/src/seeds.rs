//! The arguments `seed`, `context` and `first`, from which the seeds of a batch are derived.

use std::ops::RangeInclusive;

use ctru_kem::SEED_BYTES;
use ctru_kem::engine::{Context, Expand};
use pyo3::prelude::*;
use pyo3::types::PyString;
use zeroize::Zeroizing;

use crate::arrays::{copy_of, copy_to};
use crate::calls;
use crate::errors::{caused_by, type_error, type_name, value_error};

/// A master seed of the caller, or a random one.
pub(crate) struct MasterSeed {
    // In a box, because a value that is moved leaves a copy behind, which nothing wipes.
    seed: Box<Zeroizing<[u8; SEED_BYTES]>>,
    context: Context,
    first: u64,
}

impl MasterSeed {
    /// Reads the arguments. Without `seed`, the operating system makes the master seed.
    ///
    /// # Errors
    /// - `ValueError` if `seed` does not have 32 bytes, if `context` is missing beside `seed` or
    ///   has more than 32 bytes, or if one of the others is given without `seed`.
    /// - `UnicodeEncodeError`, a `ValueError`, if `context` is text that UTF-8 does not have.
    /// - `TypeError` if an argument has a wrong type, `OSError` if there is no randomness.
    pub(crate) fn new(
        seed: Option<&Bound<'_, PyAny>>,
        context: Option<&Bound<'_, PyAny>>,
        first: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let first = first.map_or(Ok(0), |first| whole_number(first, "first", 0..=u64::MAX))?;
        let mut master = Self { seed: Box::default(), context: Context::EMPTY, first };
        let Some(seed) = seed else {
            if context.is_some() || first != 0 {
                return Err(value_error("context and first have a meaning with a seed only"));
            }
            fill_randomly(&mut **master.seed)?;
            return Ok(master);
        };
        let Some(context) = context else {
            return Err(value_error("a seed needs a context: the name of what it is used for"));
        };
        copy_to(seed, "seed", &mut **master.seed)?;
        let context = match context.cast::<PyString>() {
            // An error, and no replacement, for what UTF-8 does not have: with replacements, other
            // contexts would give the same seeds.
            Ok(text) => Context::new(text.to_str()?.as_bytes()),
            Err(_) => Context::new(&copy_of(context, "context")?),
        };
        master.context = context.map_err(value_error)?;
        Ok(master)
    }

    /// Checks that the row of every operation of a batch fits 64 bits.
    ///
    /// # Errors
    /// `ValueError` if one does not.
    pub(crate) fn check(&self, count: usize) -> PyResult<()> {
        match self.first.checked_add(count.saturating_sub(1) as u64) {
            Some(_) => Ok(()),
            None => Err(value_error(format!(
                "first is {}, and rows of a batch of {count} do not fit 64 bits",
                self.first
            ))),
        }
    }

    /// Returns the source of seeds of a chunk whose first operation has number `index` in a batch
    /// that [`check`](Self::check) has accepted.
    pub(crate) fn of_chunk(&self, index: usize) -> Expand<'_> {
        let Self { seed, context, first } = self;
        Expand { seed, context: *context, first: first + index as u64 }
    }
}

/// Returns the integer that an argument is. The message does not show it: Python refuses to write
/// integers of thousands of digits.
///
/// # Errors
/// `TypeError` if it is not an integer, `ValueError` if it is not in `range`.
pub(crate) fn whole_number(
    value: &Bound<'_, PyAny>,
    name: &str,
    range: RangeInclusive<u64>,
) -> PyResult<u64> {
    let number = calls::integer(value).map_err(|error| {
        let named = type_error(format!("{name} is a {}, not an integer", type_name(value)));
        caused_by(value.py(), named, error)
    })?;
    let number = number.extract().ok().filter(|number| range.contains(number));
    number.ok_or_else(|| value_error(format!("{name} is not in {range:?}")))
}

/// Fills bytes with the operating system's randomness.
///
/// # Errors
/// `OSError` if the system provides none.
pub(crate) fn fill_randomly(bytes: &mut [u8]) -> PyResult<()> {
    getrandom::fill(bytes).map_err(|error| pyo3::exceptions::PyOSError::new_err(error.to_string()))
}
